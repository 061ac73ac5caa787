"""Models that a person brings in ONNX files; those of libraries: test_libraries.py."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from onnx import TensorProto, helper
from PIL import Image

from likewise.errors import InputError
from likewise.features import pictures
from likewise.features.choosing import find_embedding

PICTURES = [Image.new("RGB", (30, 20), colour) for colour in ("red", "blue")]


def save_model(path, nodes, wanted, given, **options):
    """A small ONNX model in a file."""
    graph = helper.make_graph(nodes, "small", [wanted], [given])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, **options
    )
    path.write_bytes(model.SerializeToString())
    return path


def mean_model(path, shape=("n", 3, 8, 8), kind=TensorProto.FLOAT, out=None):
    """The mean of each colour, in a map of one pixel."""
    return save_model(
        path,
        [helper.make_node("GlobalAveragePool", ["x"], ["y"])],
        helper.make_tensor_value_info("x", kind, list(shape)),
        helper.make_tensor_value_info("y", kind, out or [shape[0], 3, 1, 1]),
    )


def test_an_onnx_file_is_run_on_pictures(tmp_path):
    """Colours are scaled as most models expect; maps become one vector."""
    path = mean_model(tmp_path / "mean.onnx")

    embedding = find_embedding(f"onnx:{path}", "picture")

    mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    expected = (np.array([[1, 0, 0], [0, 0, 1]]) - mean) / deviation
    assert_allclose(embedding(PICTURES), expected, rtol=1e-5)
    assert embedding.name == "onnx:mean.onnx"
    assert embedding.record()["place"] == f"onnx:{path}"
    assert "8 pixels" in embedding.preparation


def test_a_model_that_takes_one_at_a_time_is_called_for_each(tmp_path):
    """A fixed batch of one is common in exported files."""
    path = mean_model(tmp_path / "one.onnx", shape=(1, 3, 8, 8))

    assert find_embedding(f"onnx:{path}", "picture")(PICTURES).shape == (2, 3)


def test_the_builtin_network_can_be_brought_as_a_file(tmp_path):
    """Bytes in rows of pixels: the same vectors as by its own name."""
    path = tmp_path / "lite0.onnx"
    path.write_bytes(pictures.graph_bytes(pictures.cache_folder()))

    embedding = find_embedding(f"onnx:{path}", "picture")

    assert_allclose(embedding(PICTURES), pictures.builtin()(PICTURES), atol=1e-5)


def test_a_model_of_strings_is_for_texts(tmp_path):
    """This one gives how many texts there are, for each."""
    one = helper.make_tensor("one", TensorProto.INT64, [1], [1])
    path = save_model(
        tmp_path / "texts.onnx",
        [
            helper.make_node("Constant", [], ["one"], value=one),
            helper.make_node("Shape", ["x"], ["n"]),
            helper.make_node("Cast", ["n"], ["count"], to=TensorProto.FLOAT),
            helper.make_node("Expand", ["count", "n"], ["counts"]),
            helper.make_node("Unsqueeze", ["counts", "one"], ["y"]),
        ],
        helper.make_tensor_value_info("x", TensorProto.STRING, ["n"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1]),
    )

    assert_allclose(find_embedding(f"onnx:{path}", "text")(["a", "b"]), [[2], [2]])
    with pytest.raises(InputError, match="must take pictures. Its input 'x' is"):
        find_embedding(f"onnx:{path}", "picture")


def test_an_onnx_file_of_another_shape_is_refused(tmp_path):
    """With the shape that it has."""
    path = mean_model(tmp_path / "a.onnx", shape=("n", 5, 8, 8), out=["n", 5, 1, 1])

    with pytest.raises(
        InputError, match=r"must have the shape .* Got \('n', 5, 8, 8\)"
    ):
        find_embedding(f"onnx:{path}", "picture")


def test_a_file_that_is_no_model_is_one_sentence(tmp_path):
    """And a missing one is told by its name."""
    (tmp_path / "bad.onnx").write_bytes(b"nothing")

    with pytest.raises(InputError, match="bad.onnx is no ONNX model that can be run"):
        find_embedding(f"onnx:{tmp_path / 'bad.onnx'}", "picture")
    with pytest.raises(InputError, match="There is no file .*none.onnx"):
        find_embedding(f"onnx:{tmp_path / 'none.onnx'}", "picture")


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("timm:resnet18", "text", "is for pictures. Got texts"),
        ("st:mini", "sound", "is for texts and pictures. Got sounds"),
        ("st:./mini", "text", "There is no folder mini"),
        ("timm:local-dir:mini", "picture", "There is no folder mini"),
        ("magic", "picture", "'features' must be builtin, paper, .* Got 'magic'"),
        ("onnx:", "text", "Got 'onnx:'"),
    ],
)
def test_what_is_not_there_is_told(name, kind, words):
    """By what was asked for."""
    with pytest.raises(InputError, match=words):
        find_embedding(name, kind)


@pytest.mark.parametrize(
    ("library", "name", "kind"),
    [
        ("timm", "timm:resnet18", "picture"),
        ("sentence_transformers", "st:mini", "text"),
    ],
)
def test_a_library_that_is_not_there_says_what_to_do(library, name, kind, monkeypatch):
    """Neither is installed with likewise; None in its place is how Python says so."""
    monkeypatch.setitem(sys.modules, library, None)
    package = library.replace("_", "-")

    with pytest.raises(InputError, match=f"needs {package}, .* pip install {package}"):
        find_embedding(name, kind)
