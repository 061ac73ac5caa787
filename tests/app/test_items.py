"""From files to items: pictures, sounds, digits."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from likewise import InputError
from likewise.app import items
from likewise.app.store import Store
from likewise.app.writer import Writer
from tests.features.test_sounds import tone


def plainly(things, n_things):
    """No progress bar."""
    return things


def build(path, make, *arguments):
    """Make a project; gives what was built and the open store."""
    with Writer(path) as writer:
        built = make(*arguments, writer, plainly)
        settings = {"kind": built.kind, "seed": 1, "acquisition": "entropy"}
        writer.finish(built.vectors, settings)
    return built, Store.open(path)


def test_pictures_become_items_and_broken_files_are_listed(tmp_path, picture_folder):
    """Thirty good ones in natural order; three skipped, each with its reason."""
    built, store = build(tmp_path / "p.likewise", items.from_images, picture_folder)

    names = store.item_names()
    assert len(names) == 30
    assert names[:3] == ["blue/0.png", "blue/1.png", "blue/2.png"]
    reasons = dict(built.skipped)
    assert reasons["red/broken.jpg"] == "not a picture, or damaged"
    assert reasons["red/cut.png"].startswith("cannot be read")
    assert reasons["red/copy.png"] == "the same file as red/0.png"
    store.close()


def test_features_of_pictures_are_standardised_and_tell_colours_apart(
    tmp_path, picture_folder
):
    """Mean 0, deviation 1; the nearest picture has the same colour."""
    built, store = build(tmp_path / "p.likewise", items.from_images, picture_folder)
    X, names = built.vectors, store.item_names()
    colour = X[:, :9]  # edges and textures are noise here
    squared = ((colour[:, None] - colour) ** 2).sum(axis=2) + 1e9 * np.eye(len(X))

    assert_allclose(X.mean(axis=0), 0, atol=1e-9)
    colours = np.array([name.split("/")[0] for name in names])
    assert (colours[squared.argmin(axis=1)] == colours).all()
    store.close()


def test_a_picture_is_kept_small_and_upright(tmp_path):
    """At most 512 pixels a side, turned as the camera says."""
    file = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    Image.new("RGB", (1600, 800), "white").save(file, exif=exif)

    result = items.read_picture(file)

    sizes = {
        medium.role: Image.open(io.BytesIO(medium.data)).size for medium in result.media
    }
    assert sizes == {"picture": (256, 512), "thumbnail": (48, 96)}


def test_many_pictures_are_read_on_all_cores_in_order(tmp_path, picture_folder):
    """Parallel and plain reading give the same."""
    paths = items.find_files(picture_folder, items.PICTURES)
    assert len(paths) >= items.MIN_PARALLEL

    parallel = list(items._read_all(items.read_picture, paths))

    plain = [items.read_picture(path) for path in paths]
    assert [one.path for one in parallel] == paths
    for one, other in zip(parallel, plain, strict=True):
        assert one.problem == other.problem
        if other.features is not None:
            assert_allclose(one.features, other.features)


def test_an_empty_folder_is_an_error(tmp_path):
    """The folder and the kinds of files are named."""
    with pytest.raises(InputError, match="No picture was found in .*png"):
        build(tmp_path / "p.likewise", items.from_images, tmp_path)


def test_a_missing_folder_is_an_error(tmp_path):
    """By its name."""
    with pytest.raises(InputError, match="There is no folder .*nowhere"):
        build(tmp_path / "p.likewise", items.from_images, tmp_path / "nowhere")


def test_one_picture_is_not_enough(tmp_path):
    """The count of good and broken files is told."""
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"no")

    with pytest.raises(InputError, match="at least two items. .* gave 1 and 1 broken"):
        build(tmp_path / "p.likewise", items.from_images, tmp_path)


def test_names_that_are_not_text_are_kept_apart(tmp_path):
    """Bytes that are no UTF-8 become readable names, each its own."""
    for number, raw in enumerate([b"\xff.png", b"\xfe.png"]):
        with open(
            tmp_path.joinpath(raw.decode("utf-8", "surrogateescape")), "wb"
        ) as file:
            Image.new("RGB", (9, 9), (number * 200, 0, 0)).save(file, "PNG")

    _, store = build(tmp_path / "p.likewise", items.from_images, tmp_path)

    assert store.item_names() == ["\ufffd.png", "\ufffd.png (2)"]
    store.close()


def test_numbers_in_names_sort_as_numbers():
    """9 comes before 10, and words stay in order."""
    names = ["b10", "b9", "a2c10", "a2c9", "a"]

    assert sorted(names, key=items.natural_key) == ["a", "a2c9", "a2c10", "b9", "b10"]


def test_digits_are_the_ones_that_scikit_learn_ships(tmp_path):
    """All 1,797, with numbers between 0 and 1 and a picture each."""
    path = tmp_path / "d.likewise"
    with Writer(path) as writer:
        built = items.from_digits(writer)
        settings = {"kind": built.kind, "seed": 1, "acquisition": "entropy"}
        writer.finish(built.vectors, settings)

    with Store.open(path) as store:
        assert store.vectors().shape == (1797, 64)
        assert store.vectors().max() == 1
        picture = Image.open(io.BytesIO(store.medium(0, "picture").data))
        # The first digit is a zero: ink on its ring, none in its middle.
        grey = np.asarray(picture)
        assert grey[40, 40] > 200 > 150 > grey[40, 24:36].min()


def test_sounds_become_items_that_can_be_played(tmp_path):
    """The bytes of the file are kept; a broken one is skipped."""
    for number, frequency in enumerate((200, 210, 1500)):
        (tmp_path / f"{number}.wav").write_bytes(tone(frequency))
    (tmp_path / "bad.wav").write_bytes(b"no")

    built, store = build(tmp_path / "s.likewise", items.from_audio, tmp_path)

    assert store.item_names() == ["0.wav", "1.wav", "2.wav"]
    assert [name for name, _ in built.skipped] == ["bad.wav"]
    assert store.medium(2, "sound").data == tone(1500)
    near = ((built.vectors - built.vectors[0]) ** 2).sum(axis=1)
    assert near[1] < near[2]
    store.close()
