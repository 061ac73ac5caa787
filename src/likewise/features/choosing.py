"""The embedding that a name such as "builtin" or "onnx:birds.onnx" stands for."""

from collections.abc import Callable

import numpy as np

from likewise.errors import InputError
from likewise.features import own, paper, pictures, sounds, texts
from likewise.features.embedding import Embedding

BUILTIN: dict[str, Callable[[], Embedding]] = {
    "picture": pictures.builtin,
    "sound": sounds.builtin,
    "text": texts.builtin,
}


def find_embedding(name: str, kind: str, *, is_download: bool = False) -> Embedding:
    """The embedding of that name for items of a kind.

    Parameters
    ----------
    name : str
        "builtin", "paper" (the 36 features of pictures), "onnx:FILE", "timm:NAME" or
        "st:NAME".
    kind : str
        "picture", "sound" or "text".
    is_download : bool
        Whether weights that are not on the machine may be fetched.
    """
    source, _, rest = name.partition(":")
    if name == "builtin":
        return BUILTIN[kind]()
    if name == "paper" and kind == "picture":
        return of_paper()
    if source == "onnx" and rest:
        return own.from_onnx(rest, kind)
    if source == "timm" and rest:
        return own.from_timm(rest, kind, is_download)
    if source == "st" and rest:
        return own.from_sentence_transformers(rest, kind, is_download)
    raise InputError(
        f"'features' must be {_known(kind)}, a file of vectors or column:NAME. "
        f"Got {name!r}."
    )


def of_paper() -> Embedding:
    """The paper's 36 features of pictures, each with its name."""
    return Embedding(
        "paper",
        "36",
        f"at most {paper.LONGEST_SIDE} pixels a side",
        np.stack,
        paper.picture_features,
        is_direction=False,
        feature_names=paper.FEATURE_NAMES,
    )


def _known(kind: str) -> str:
    own_models = {
        "picture": "paper, onnx:FILE, timm:NAME, st:NAME",
        "text": "onnx:FILE, st:NAME",
    }
    return ", ".join(part for part in ("builtin", own_models.get(kind, "")) if part)
