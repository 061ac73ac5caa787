"""Models that a person brings: an ONNX file, or one of timm or sentence-transformers.

Nothing is ever downloaded unless the person says so. What cannot be loaded is told in
a sentence that says what to do.
"""

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.features.embedding import Embedding
from likewise.features.pictures import square_pixels, start_session

# Means and deviations of the colours that most published picture models expect.
IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
DEFAULT_SIDE = 224
# What these libraries raise for a model that is not there, or is another's.
UNLOADABLE = (
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
# How timm is told that a model is in a folder.
LOCAL = "local-dir:"
# Pictures wait for their model at this size: larger than any that it may want.
WAITING_SIDE = 640


def from_onnx(file: str, kind: str) -> Embedding:
    """The embedding in an ONNX file, for pictures, or for texts if it takes strings."""
    path = Path(file)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    session = _session(path, data)
    wanted = session.get_inputs()[0]
    name, place = f"onnx:{path.name}", f"onnx:{path.absolute()}"
    if kind == "text" and wanted.type == "tensor(string)":
        run = partial(_run_texts, session)
        return Embedding(name, digest, "none", run, place=place)
    if kind != "picture" or wanted.type not in ("tensor(uint8)", "tensor(float)"):
        raise InputError(
            f"{path} must take {'strings' if kind == 'text' else 'pictures'}. "
            f"Its input '{wanted.name}' is {wanted.type} for {kind}s."
        )
    made = _picture_model(session, wanted, name, digest, path)
    return replace(made, place=place)


def _session(path: Path, data: bytes) -> Any:
    """A session on the file; whatever onnxruntime has against it is one sentence."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    # onnxruntime's exceptions share no base but Exception.
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoModel")
    refusals = tuple(getattr(state, name) for name in (*names, "NotImplemented"))
    try:
        return start_session(data)
    except (*refusals, RuntimeError, ValueError) as error:
        words = str(error).splitlines()[0]
        raise InputError(f"{path} is no ONNX model that can be run: {words}") from error


def _picture_model(
    session: Any, wanted: Any, name: str, digest: str, path: Path
) -> Embedding:
    """Squares of the size, order and scale that the model's input asks for."""
    shape = list(wanted.shape)
    if len(shape) != 4 or 3 not in (shape[1], shape[3]):
        raise InputError(
            f"The input of {path} must have the shape (n, 3, height, width) or "
            f"(n, height, width, 3). Got {tuple(shape)}."
        )
    is_planes = shape[1] == 3
    side = shape[2] if isinstance(shape[2], int) else DEFAULT_SIDE
    is_bytes = wanted.type == "tensor(uint8)"
    scale = "bytes" if is_bytes else "ImageNet's mean 0 and deviation 1"
    run = partial(_run_pictures, session, is_planes=is_planes, is_bytes=is_bytes)
    words = f"square from the middle, {side} pixels by bicubic, {scale}"
    return Embedding(name, digest, words, run, partial(square_pixels, side=side))


def _run_pictures(
    session: Any,
    pixels: Sequence[NDArray[np.uint8]],
    *,
    is_planes: bool,
    is_bytes: bool,
) -> NDArray[Any]:
    batch: NDArray[Any] = np.stack(pixels)
    if not is_bytes:
        numbers = batch.astype(np.float32) / np.float32(255)
        batch = (numbers - IMAGENET_MEAN) / IMAGENET_DEVIATION
    if is_planes:
        batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
    return _run(session, batch)


def _run_texts(session: Any, texts: Sequence[str]) -> NDArray[Any]:
    return _run(session, np.array(list(texts), dtype=object))


def _run(session: Any, batch: NDArray[Any]) -> NDArray[Any]:
    """The model's first output; maps and tokens are averaged to one vector an item."""
    wanted = session.get_inputs()[0]
    if wanted.shape and isinstance(wanted.shape[0], int):  # a fixed number at a time
        size = wanted.shape[0]
        if size != 1:
            raise InputError(
                f"The ONNX model must take any number of items at once, or one. "
                f"It takes {size}."
            )
        rows = [session.run(None, {wanted.name: one[None]})[0] for one in batch]
        result = np.concatenate(rows)
    else:
        result = np.asarray(session.run(None, {wanted.name: batch})[0])
    if result.ndim == 4:  # (n, channels, height, width)
        return np.asarray(result.mean(axis=(2, 3)))
    return np.asarray(result.mean(axis=1)) if result.ndim == 3 else result


def from_timm(name: str, kind: str, is_download: bool) -> Embedding:
    """A picture model of timm, whose weights are on the machine or may be fetched.

    "local-dir:FOLDER" is one that timm saved.
    """
    full = f"timm:{name}"
    if kind != "picture":
        raise InputError(f"'{full}' is for pictures. Got {kind}s.")
    shown, place = _called("timm:", name, LOCAL if name.startswith(LOCAL) else "")
    with _network(is_download):
        timm = _library("timm", full)
        # Without its address, a model is looked for in the hub's local copies alone.
        overlay = {} if is_download else {"pretrained_cfg_overlay": {"url": ""}}
        with _plainly(full, is_download):
            model = timm.create_model(name, pretrained=True, num_classes=0, **overlay)
    model.eval()
    settings = timm.data.resolve_model_data_config(model)
    transform = timm.data.create_transform(**settings, is_training=False)
    run = partial(_run_torch, model, transform)
    words = str({key: settings[key] for key in sorted(settings)})
    return Embedding(shown, _weights_digest(model), words, run, _waiting, place=place)


def _called(source: str, name: str, start: str = "") -> tuple[str, str]:
    """What a model is called, and how to ask for it from anywhere.

    A model in a folder of one's own is called by the folder's own name.
    """
    folder = Path(name.removeprefix(start))
    is_path = bool(start) or folder.is_absolute() or name.startswith(".")
    if is_path and not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    if not folder.is_dir():
        return source + name, source + name
    folder = folder.absolute()
    return f"{source}{start}{folder.name}", f"{source}{start}{folder}"


def _run_torch(model: Any, transform: Any, pictures: Sequence[Any]) -> NDArray[Any]:
    import torch

    with torch.inference_mode():
        batch = torch.stack([transform(picture) for picture in pictures])
        return np.asarray(model(batch).cpu().numpy())


def _waiting(picture: Any) -> Any:
    """The picture, made smaller where it is larger than any model wants it."""
    waiting = picture.copy()
    waiting.thumbnail((2 * WAITING_SIDE, 2 * WAITING_SIDE))
    return waiting


def from_sentence_transformers(name: str, kind: str, is_download: bool) -> Embedding:
    """A model of sentence-transformers, for texts, or for pictures if it can."""
    full = f"st:{name}"
    if kind not in ("text", "picture"):
        raise InputError(f"'{full}' is for texts and pictures. Got {kind}s.")
    shown, place = _called("st:", name)
    with _network(is_download):
        library = _library("sentence_transformers", full)
        with _plainly(full, is_download), _without_bars(is_download):
            model = library.SentenceTransformer(
                name, local_files_only=not is_download, device="cpu"
            )
    prepare = _waiting if kind == "picture" else str
    run = partial(_run_sentences, model)
    digest = _weights_digest(model)
    return Embedding(shown, digest, "the model's own", run, prepare, place=place)


def _run_sentences(model: Any, items: Sequence[Any]) -> NDArray[Any]:
    return np.asarray(model.encode(list(items), show_progress_bar=False))


def _library(name: str, features: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.replace("_", "-")
        raise InputError(
            f"'{features}' needs {package}, which likewise does not install. "
            f"Install it with: pip install {package}"
        ) from error


@contextmanager
def _network(is_download: bool) -> Iterator[None]:
    """Keep Hugging Face's hub, where both libraries look, off the network."""
    if is_download:
        yield
        return
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    # Once imported, the hub's library looks at its constant instead.
    constants = getattr(sys.modules.get("huggingface_hub"), "constants", None)
    was_offline = getattr(constants, "HF_HUB_OFFLINE", None)
    if constants is not None:
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        if constants is not None:
            constants.HF_HUB_OFFLINE = was_offline
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before


@contextmanager
def _without_bars(is_download: bool) -> Iterator[None]:
    """Without the bars that transformers shows where it only reads from the disk."""
    from transformers.utils import logging

    if is_download or not logging.is_progress_bar_enabled():
        yield
        return
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


@contextmanager
def _plainly(features: str, is_download: bool) -> Iterator[None]:
    """Say in a sentence that a model cannot be loaded, and what to do."""
    try:
        yield
    except UNLOADABLE as error:
        first = " ".join(str(error).split()).split(". ")[0]
        advice = (
            "Check its name and the connection."
            if is_download
            else "If its weights are not on this machine, allow fetching them with "
            "--download."
        )
        raise InputError(
            f"'{features}' cannot be loaded: {first[:200].rstrip('.')}. {advice}"
        ) from error


def _weights_digest(model: Any) -> str:
    """The sha256 of a PyTorch model's weights, by name."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        # As bytes: numpy has no type for some that PyTorch has.
        flat = tensor.detach().cpu().contiguous().flatten()
        digest.update(flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
