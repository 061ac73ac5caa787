"""Models that a person brings: ONNX files, and fakes of the large libraries."""

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
        ("timm:resnet18", "picture", "needs timm, .* pip install timm"),
        ("st:mini", "text", "needs sentence-transformers, .* pip install sentence-tr"),
        ("timm:resnet18", "text", "is for pictures. Got texts"),
        ("st:mini", "sound", "is for texts and pictures. Got sounds"),
        ("magic", "picture", "'features' must be builtin, paper, .* Got 'magic'"),
        ("onnx:", "text", "Got 'onnx:'"),
    ],
)
def test_what_is_not_there_says_what_to_do(name, kind, words):
    """Neither library is installed with likewise."""
    with pytest.raises(InputError, match=words):
        find_embedding(name, kind)


FAKE_TENSOR = """
import os
import numpy as np

class Tensor(np.ndarray):
    def cpu(self): return self
    def numpy(self): return np.asarray(self)

def tensor(values): return np.asarray(values, dtype=float).view(Tensor)

def check(allowed):
    if not allowed and os.environ.get("HF_HUB_OFFLINE") != "1":
        raise AssertionError("the network would have been asked")
"""
FAKE_TORCH = """
from contextlib import nullcontext
from fake_tensor import tensor
def inference_mode(): return nullcontext()
def stack(tensors): return tensor(tensors)
"""
FAKE_TIMM = """
import numpy as np
from fake_tensor import check, tensor
from . import data

class Model:
    def eval(self): pass
    def state_dict(self): return {"w": tensor([1.0, 2.0])}
    def __call__(self, batch): return tensor(np.asarray(batch) * 2)

def create_model(name, pretrained, num_classes, pretrained_cfg_overlay=None):
    assert pretrained and num_classes == 0
    check(pretrained_cfg_overlay is None)
    if name != "here" and pretrained_cfg_overlay is not None:
        raise RuntimeError("no weights for " + name)
    return Model()
"""
FAKE_TIMM_DATA = """
import numpy as np
def resolve_model_data_config(model): return {"input_size": (3, 4, 4)}
def create_transform(input_size, is_training):
    return lambda picture: np.asarray(picture).mean(axis=(0, 1))
"""
FAKE_SENTENCES = """
from fake_tensor import check, tensor

class SentenceTransformer:
    def __init__(self, name, local_files_only, device):
        check(not local_files_only)
        if name != "here" and local_files_only:
            raise OSError("no file config.json for " + name)
    def state_dict(self): return {"w": tensor([3.0])}
    def encode(self, items, show_progress_bar):
        return tensor([[len(item), 1] for item in items])
"""


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """Stand-ins of torch, timm and sentence-transformers that can be imported."""
    for name, code in {
        "fake_tensor.py": FAKE_TENSOR,
        "torch.py": FAKE_TORCH,
        "timm/__init__.py": FAKE_TIMM,
        "timm/data.py": FAKE_TIMM_DATA,
        "sentence_transformers.py": FAKE_SENTENCES,
    }.items():
        path = tmp_path / "libraries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "libraries")
    yield
    fakes = ("fake_tensor", "torch", "timm", "sentence_transformers")
    for name in [*sys.modules]:
        if name.split(".")[0] in fakes:
            del sys.modules[name]


def test_timm_and_sentence_transformers_are_used_where_they_are(libraries):
    """Local weights, off the network; the digest is that of the weights."""
    from_timm = find_embedding("timm:here", "picture")
    from_sentences = find_embedding("st:here", "text")

    assert_allclose(from_timm(PICTURES), [[510, 0, 0], [0, 0, 510]])
    assert_allclose(from_sentences(["a", "abc"]), [[1, 1], [3, 1]])
    assert len({from_timm.digest, from_sentences.digest}) == 2
    assert "input_size" in from_timm.preparation


@pytest.mark.parametrize(
    ("name", "kind"), [("timm:away", "picture"), ("st:away", "text")]
)
def test_weights_that_are_not_there_are_fetched_only_if_allowed(libraries, name, kind):
    """The sentence names the option; with it, the library may fetch."""
    with pytest.raises(InputError, match="cannot be loaded: no .* with --download"):
        find_embedding(name, kind)

    assert find_embedding(name, kind, is_download=True).name == name
