"""Pictures to numbers: known pictures have known features."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from likewise.errors import InputError
from likewise.features.paper import (
    FEATURE_NAMES,
    _working_size,
    file_features,
    folder_features,
    picture_features,
)

COLOUR, EDGES, TEXTURE = slice(0, 9), slice(9, 27), slice(27, 36)


def picture(values, mode="RGB"):
    """A picture from numbers 0..255."""
    return Image.fromarray(np.asarray(values, dtype=np.uint8), mode=None).convert(mode)


def stripes(period=16, side=128):
    """Upright black and white stripes."""
    row = np.where(np.arange(side) // (period // 2) % 2, 255, 0)
    return np.tile(row, (side, 1))


def test_names_belong_to_the_numbers():
    """There is one name a feature, and no two are equal."""
    features = picture_features(picture(stripes()))

    assert len(FEATURE_NAMES) == len(set(FEATURE_NAMES)) == 36
    assert features.shape == (36,)
    assert np.isfinite(features).all()


def test_flat_colour_has_its_hue_and_nothing_else():
    """One colour: its hue, saturation, value; no spread, no edges, no texture."""
    features = picture_features(Image.new("RGB", (100, 80), (0, 128, 0)))

    assert_allclose(features[:3], [1 / 3, 1, 128 / 255])
    assert_allclose(features[3:], 0, atol=1e-7)


def test_half_black_half_white_has_the_moments_of_a_coin():
    """Value is 0 or 1 with equal shares: mean 1/2, deviation 1/2, no skew."""
    values = np.zeros((96, 128))
    values[:, 64:] = 255
    features = picture_features(picture(values))

    assert_allclose(features[[2, 5, 8]], [0.5, 0.5, 0], atol=1e-6)


def test_rare_white_is_skewed_upwards():
    """One white pixel in eight: third moment p(1-p)(1-2p), cube-rooted."""
    values = np.zeros((128, 128))
    values[:, :16] = 255
    p = 1 / 8

    skew = picture_features(picture(values))[8]

    assert_allclose(skew, np.cbrt(p * (1 - p) * (1 - 2 * p)))


def test_upright_stripes_have_edges_to_the_left_and_right_only():
    """Gradients point along the rows: the bins at 0 and 180 degrees hold them all."""
    edges = picture_features(picture(stripes()))[EDGES]

    assert_allclose(edges.sum(), 1)
    # The directions 0 and 180 degrees stand on the border of two bins each.
    assert edges[[0, 8, 9, 17]].sum() > 0.95


def test_turning_the_stripes_turns_the_edges():
    """Lying stripes have their gradients at 90 and 270 degrees."""
    edges = picture_features(picture(stripes().T))[EDGES]

    assert edges[[4, 13]].sum() > 0.95


def test_gradient_has_no_edges_and_a_wide_value():
    """A slow ramp: value spread like a uniform draw, not one Canny edge."""
    ramp = np.tile(np.linspace(0, 255, 256), (128, 1))
    features = picture_features(picture(ramp))

    assert_allclose(features[5], 1 / np.sqrt(12), atol=0.01)
    assert_allclose(features[EDGES], 0)


def test_noise_everywhere_has_more_entropy_than_noise_in_a_corner():
    """An evenly spread band has the entropy of its size; a corner has less."""
    rng = np.random.RandomState(0)
    noise = rng.randint(0, 256, (128, 128))
    corner = np.full((128, 128), 128)
    corner[:32, :32] = noise[:32, :32]

    everywhere, local = (
        picture_features(picture(values))[TEXTURE] for values in (noise, corner)
    )

    assert (everywhere > local + 1).all()
    assert (everywhere[6:] < np.log2(68**2)).all()


def test_transparent_counts_as_white():
    """What cannot be seen takes no colour of its own."""
    glass = Image.new("RGBA", (80, 80), (255, 0, 0, 0))

    assert_allclose(
        picture_features(glass), picture_features(Image.new("RGB", (80, 80), "white"))
    )


@pytest.mark.parametrize("mode", ["L", "P", "1", "CMYK", "LA"])
def test_every_kind_of_picture_is_read(mode):
    """Greys, palettes and print colours go through RGB."""
    features = picture_features(picture(stripes()).convert(mode))

    assert np.isfinite(features).all()
    assert_allclose(features[2], 0.5, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "worked"),
    [((384, 256), (384, 256)), ((4000, 3000), (384, 288)), ((20, 30), (64, 64))],
)
def test_pictures_are_brought_to_a_like_size(size, worked):
    """Corel's own size stays; larger shrinks in proportion; too small grows."""
    assert _working_size(*size) == worked


def test_folder_features_keeps_the_order_and_tells_progress(tmp_path):
    """Rows follow the paths; progress counts to the end."""
    paths = []
    for k, colour in enumerate(["red", "lime", "blue"]):
        paths.append(tmp_path / f"{k}.png")
        Image.new("RGB", (64, 64), colour).save(paths[-1])
    told = []

    features = folder_features(paths, progress=lambda *done: told.append(done))

    assert_allclose(features[:, 0], [0, 1 / 3, 2 / 3])
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_both_cores_give_what_one_gives(tmp_path):
    """More processes change nothing but the time."""
    rng = np.random.RandomState(0)
    paths = [tmp_path / f"{k}.png" for k in range(40)]
    for path in paths:
        picture(rng.randint(0, 256, (64, 64, 3))).save(path)

    assert_allclose(folder_features(paths, n_jobs=2), folder_features(paths, n_jobs=1))


def test_a_broken_file_is_named(tmp_path):
    """The message says which file could not be read."""
    path = tmp_path / "broken.jpg"
    path.write_bytes(b"not a picture")

    with pytest.raises(InputError, match=r"Cannot read the picture .*broken\.jpg"):
        file_features(path)


def test_a_missing_library_names_the_extra():
    """Without scikit-image the error says what to install."""
    code = (
        "import sys; sys.modules['skimage.color'] = None\n"
        "from PIL import Image; from likewise.features.paper import picture_features\n"
        "picture_features(Image.new('RGB', (80, 80)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert "pip install 'likewise[images]'" in run.stderr
