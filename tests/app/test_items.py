"""From files to items: pictures, sounds, digits."""

import io
import os
import time
from functools import partial

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from likewise import InputError
from likewise.app import items
from likewise.app.store import Store
from likewise.app.writer import Writer
from likewise.features import sounds
from likewise.features.choosing import of_paper
from likewise.features.embedding import Embedding, as_embedding
from likewise.features.pictures import square_pixels
from tests import memory
from tests.features.test_reading import bomb, largest
from tests.features.test_sounds import tone


def plainly(things, n_things):
    """No progress bar."""
    return things


def build(path, make, folder, features):
    """Make a project; gives what was built and the open store."""
    with Writer(path) as writer:
        built = make(folder, writer, plainly, features)
        settings = {"kind": built.kind, "seed": 1, "acquisition": "groups"}
        settings["features"] = built.features
        writer.finish(built.vectors, settings, built.projection)
    return built, Store.open(path)


def colours(pictures):
    """A small embedding: the mean colour of each picture."""
    return [np.asarray(picture).mean(axis=(0, 1)) for picture in pictures]


COLOURS = as_embedding(colours)


def test_pictures_become_items_and_broken_files_are_listed(tmp_path, picture_folder):
    """Thirty good ones in natural order; three skipped, each with its reason."""
    built, store = build(
        tmp_path / "p.likewise", items.from_images, picture_folder, COLOURS
    )

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
    built, store = build(
        tmp_path / "p.likewise", items.from_images, picture_folder, of_paper()
    )
    X, names = built.vectors, store.item_names()
    colour = X[:, :9]  # edges and textures are noise here
    squared = ((colour[:, None] - colour) ** 2).sum(axis=2) + 1e9 * np.eye(len(X))

    assert_allclose(X.mean(axis=0), 0, atol=1e-9)
    colours = np.array([name.split("/")[0] for name in names])
    assert (colours[squared.argmin(axis=1)] == colours).all()
    store.close()


def test_a_picture_is_kept_small_and_upright(tmp_path):
    """At most 1,024 pixels a side, turned as the camera says."""
    file = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    Image.new("RGB", (3200, 1600), "white").save(file, exif=exif)

    result = items.read_picture(file)

    sizes = {
        medium.role: Image.open(io.BytesIO(medium.data)).size for medium in result.media
    }
    assert sizes == {"picture": (512, 1024), "thumbnail": (80, 160)}


def test_many_pictures_are_read_on_all_cores_in_order(tmp_path, picture_folder):
    """Parallel and plain reading give the same."""
    paths = items.find_files(picture_folder, items.PICTURES)
    assert len(paths) >= items.MIN_PARALLEL

    calls = [partial(items.read_picture, path, square_pixels) for path in paths]
    parallel = list(items.call_all(calls))

    plain = [items.read_picture(path, square_pixels) for path in paths]
    assert [one.path for one in parallel] == paths
    for one, other in zip(parallel, plain, strict=True):
        assert one.problem == other.problem
        if not other.problem:
            assert_array_equal(one.prepared, other.prepared)


def mark(folder, number):
    (folder / str(number)).touch()
    return number


def test_files_are_not_read_far_ahead(tmp_path):
    """A slow embedding does not let the pictures of a large folder pile up."""
    n_calls = 3 * items.MAX_AHEAD
    results = items.call_all([partial(mark, tmp_path, k) for k in range(n_calls)])

    first = [next(results) for _ in range(5)]
    time.sleep(1)

    assert first == [0, 1, 2, 3, 4]
    assert len(list(tmp_path.iterdir())) <= items.MAX_AHEAD + 5
    assert list(results) == list(range(5, n_calls))


def test_other_work_on_all_cores_goes_on_afterwards():
    """The workers of one are not taken for those of another."""
    results = items.call_all([partial(abs, -k) for k in range(items.MIN_PARALLEL)])
    assert list(results) == list(range(items.MIN_PARALLEL))

    found = joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(-k) for k in range(3))

    assert found == [0, 1, 2]


def test_an_empty_folder_is_an_error(tmp_path):
    """The folder and the kinds of files are named."""
    with pytest.raises(InputError, match="No picture was found in .*png"):
        build(tmp_path / "p.likewise", items.from_images, tmp_path, COLOURS)


def test_a_missing_folder_is_an_error(tmp_path):
    """By its name."""
    with pytest.raises(InputError, match="There is no folder .*nowhere"):
        build(tmp_path / "p.likewise", items.from_images, tmp_path / "nowhere", COLOURS)


def test_one_picture_is_not_enough(tmp_path):
    """The count of good and broken files is told."""
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"no")

    with pytest.raises(InputError, match="at least two items. .* gave 1 and 1 broken"):
        build(tmp_path / "p.likewise", items.from_images, tmp_path, COLOURS)


def test_names_that_are_not_text_are_kept_apart(tmp_path):
    """Bytes that are no UTF-8 become readable names, each its own."""
    for number, raw in enumerate([b"\xff.png", b"\xfe.png"]):
        with open(
            tmp_path.joinpath(raw.decode("utf-8", "surrogateescape")), "wb"
        ) as file:
            Image.new("RGB", (9, 9), (number * 200, 0, 0)).save(file, "PNG")

    _, store = build(tmp_path / "p.likewise", items.from_images, tmp_path, COLOURS)

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
        settings = {"kind": built.kind, "seed": 1, "acquisition": "groups"}
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

    built, store = build(
        tmp_path / "s.likewise", items.from_audio, tmp_path, sounds.builtin()
    )

    assert store.item_names() == ["0.wav", "1.wav", "2.wav"]
    assert [name for name, _ in built.skipped] == ["bad.wav"]
    assert store.medium(2, "sound").data == tone(1500)
    near = ((built.vectors - built.vectors[0]) ** 2).sum(axis=1)
    assert near[1] < near[2]
    store.close()


def test_the_model_is_given_principal_components_of_directions(
    tmp_path, picture_folder
):
    """Three colours of length 1 lie near a plane: two numbers keep 95%."""
    built, store = build(
        tmp_path / "p.likewise", items.from_images, picture_folder, COLOURS
    )

    assert built.vectors.shape == (30, 2)
    kept = store.settings()["features"]
    assert (kept["n_numbers"], kept["n_components"]) == (3, 2)
    assert 0.95 <= kept["share"] <= 1
    assert_allclose(built.vectors.mean(axis=0), 0, atol=1e-9)
    assert_allclose(
        store.projection().components, built.projection.components, rtol=1e-6
    )
    store.close()


def test_hostile_files_are_skipped_and_listed(tmp_path):
    """A pipe, a device, a bomb, a text and a cut picture beside two good ones."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, colour in enumerate(["red", "blue"]):
        Image.new("RGB", (30, 20), colour).save(folder / f"{number}.png")
    os.mkfifo(folder / "pipe.jpg")
    (folder / "device.png").symlink_to("/dev/zero")
    (folder / "bomb.png").write_bytes(bomb(40_000, 40_000))
    (folder / "text.gif").write_text("hello")
    (folder / "cut.png").write_bytes((folder / "0.png").read_bytes()[:60])

    built, store = build(tmp_path / "p.likewise", items.from_images, folder, COLOURS)

    assert store.item_names() == ["0.png", "1.png"]
    reasons = dict(built.skipped)
    assert reasons["pipe.jpg"] == reasons["device.png"] == "not a regular file"
    assert reasons["bomb.png"] == "too many pixels"
    assert reasons["text.gif"] == "not a picture, or damaged"
    assert reasons["cut.png"].startswith("cannot be read")
    store.close()


class Stops:
    """An embedding that is interrupted in its third batch; counts what it embeds."""

    def __init__(self, n_batches):
        self.n_batches, self.n_embedded = n_batches, 0

    def __call__(self, pictures):
        if self.n_batches == 0:
            raise KeyboardInterrupt("stopped by hand")
        self.n_batches -= 1
        self.n_embedded += len(pictures)
        return colours(pictures)


def many_pictures(folder, n_pictures):
    for number in range(n_pictures):
        colour = (number, 255 - number, 2 * number)
        Image.new("RGB", (16, 16), colour).save(folder / f"{number}.png")


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    """Vectors of whole batches are kept, and the result is that of one run."""
    folder = tmp_path / "folder"
    folder.mkdir()
    many_pictures(folder, 100)
    first, second, whole = Stops(2), Stops(9), Stops(9)
    with pytest.raises(KeyboardInterrupt, match="stopped by hand"):
        build(tmp_path / "p.likewise", items.from_images, folder, named(first))
    assert not (tmp_path / "p.likewise").exists()

    built, store = build(
        tmp_path / "p.likewise", items.from_images, folder, named(second)
    )

    assert (first.n_embedded, second.n_embedded) == (64, 36)
    store.close()
    other, store = build(
        tmp_path / "q.likewise", items.from_images, folder, named(whole)
    )
    assert_array_equal(built.vectors, other.vectors)
    store.close()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"folder", "p.likewise", "q.likewise"}


def named(call):
    return Embedding("stops", "1", "none", call)


def test_vectors_of_another_model_are_not_taken_up(tmp_path):
    """Nor those of a file that changed meanwhile."""
    folder = tmp_path / "folder"
    folder.mkdir()
    many_pictures(folder, 64)
    with pytest.raises(KeyboardInterrupt, match="stopped by hand"):
        build(tmp_path / "p.likewise", items.from_images, folder, named(Stops(1)))
    Image.new("RGB", (9, 9), "red").save(folder / "3.png")
    again, other = Stops(9), Stops(9)
    part = tmp_path / "p.likewise.vectors"
    kept = part.read_bytes()

    build(tmp_path / "p.likewise", items.from_images, folder, named(again))[1].close()
    part.with_name("q.likewise.vectors").write_bytes(kept)
    embedding = Embedding("stops", "2", "none", other)
    build(tmp_path / "q.likewise", items.from_images, folder, embedding)[1].close()

    assert (again.n_embedded, other.n_embedded) == (33, 64)


def test_given_vectors_take_the_place_of_an_embedding(tmp_path, picture_folder):
    """One a file, in the order of the files; those of broken files are left out."""
    paths = items.find_files(picture_folder, items.PICTURES)
    given = np.random.RandomState(0).normal(size=(len(paths), 4))

    built, store = build(
        *(tmp_path / "p.likewise", items.from_images, picture_folder),
        items.Ready("v.npy", "1", given),
    )

    used = [str(path.relative_to(picture_folder)) for path in paths]
    rows = [used.index(name) for name in store.item_names()]
    expected = given[rows] / np.linalg.norm(given[rows], axis=1, keepdims=True)
    assert_allclose(distances(built.vectors), distances(expected), atol=1e-6)
    store.close()


def distances(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


def test_too_few_given_vectors_are_refused(tmp_path, picture_folder):
    """With both counts."""
    ready = items.Ready("v.npy", "1", np.eye(5))

    with pytest.raises(InputError, match="v.npy must have one .* the 33 .* Got 5"):
        build(tmp_path / "p.likewise", items.from_images, picture_folder, ready)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["WEBP", "greys of 16 bits", "transparent"])
def test_an_item_of_the_largest_picture_takes_no_gigabyte(tmp_path, form):
    """From its bytes to what is embedded and what is shown, in a process of its own."""
    (tmp_path / "largest").write_bytes(largest(form))
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from likewise.app.items import read_picture\n"
        "from likewise.features.choosing import find_embedding\n"
        "prepare = find_embedding('builtin', 'picture', is_download=False).prepare\n"
        "print(len(read_picture(Path(sys.argv[1]), prepare).media))\n"
    )

    n_media, kilobytes = memory.run(program, tmp_path / "largest")

    assert n_media == 2
    assert kilobytes < 2**20
