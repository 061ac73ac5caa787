"""Weights in PyTorch's old file format, read without PyTorch.

Such a file is a stream of pickles (magic number, version, system, the places of the
tensors, the keys of the storages), followed by the raw storages in the order of their
keys. A pickle can name any function to be called, so only the four names that such a
file needs are known here; whatever else one names is refused, and nothing of it is run.
"""

import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError

Weights = dict[str, NDArray[Any]]

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
# What damaged pickles and storages raise.
_BROKEN = (
    pickle.UnpicklingError,
    struct.error,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
)


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: in which storage, and how its numbers are laid out."""

    storage: tuple[Any, ...]  # "storage", dtype, key, device, length, view
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in numbers, not bytes


def read_checkpoint(data: bytes) -> Weights:
    """Arrays by name, from the bytes of a file that `torch.save` wrote before 1.6."""
    stream = io.BytesIO(data)
    try:
        return _read(stream)
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"The weights cannot be read: {error}.") from error


def _read(stream: io.BytesIO) -> Weights:
    magic, version, system = (_Unpickler(stream).load() for _ in range(3))
    if (magic, version) != (MAGIC, VERSION) or not system["little_endian"]:
        raise InputError(
            "The weights must be in PyTorch's format of before 1.6, little-endian. "
            f"Got magic number {magic!r:.40}, version {version!r:.40}."
        )
    places = _Unpickler(stream).load()
    keys = _Unpickler(stream).load()
    dtypes = {place.storage[2]: place.storage[1] for place in places.values()}
    storages = {key: _read_storage(stream, dtypes[key]) for key in keys}
    return {name: _view(place, storages) for name, place in places.items()}


def _read_storage(stream: io.BytesIO, dtype: str) -> NDArray[Any]:
    """The next storage: its length in eight bytes, then the numbers."""
    (length,) = struct.unpack("<q", stream.read(8))
    n_bytes = length * np.dtype(dtype).itemsize
    data = stream.read(max(0, n_bytes))
    if length < 0 or len(data) != n_bytes:
        raise InputError(f"The weights end early: {n_bytes} bytes, {len(data)} there.")
    return np.frombuffer(data, dtype=dtype)


def _view(place: Place, storages: Weights) -> NDArray[Any]:
    """The tensor as an array of its own; never reads outside its storage."""
    storage = storages[place.storage[2]]
    last = place.offset + sum(
        (size - 1) * stride
        for size, stride in zip(place.shape, place.strides, strict=True)
    )
    if min(place.offset, *place.shape, *place.strides, 0) < 0 or last >= len(storage):
        raise InputError(
            f"A tensor of shape {place.shape} points outside its storage of "
            f"{len(storage)} numbers."
        )
    steps = [stride * storage.itemsize for stride in place.strides]
    view = np.lib.stride_tricks.as_strided(
        storage[place.offset :], place.shape, steps, writeable=False
    )
    return np.ascontiguousarray(view)


def _rebuild_tensor(
    storage: Any, offset: Any, shape: Iterable[Any], strides: Iterable[Any], *_: Any
) -> Place:
    """Stands in for the function that a tensor's pickle names."""
    return Place(tuple(storage), int(offset), _whole(shape), _whole(strides))


def _whole(numbers: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(number) for number in numbers)


ADMITTED: dict[tuple[str, str], str | Callable[..., Any]] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch", "FloatStorage"): "<f4",
    ("torch", "LongStorage"): "<i8",
}


class _Unpickler(pickle.Unpickler):
    """Knows the names of `ADMITTED` and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Give what stands in for a name, or refuse it."""
        if (module, name) not in ADMITTED:
            raise InputError(
                f"Weights must hold numbers alone. Got the name {module}.{name}."
            )
        return ADMITTED[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """A storage is named by a tuple; its numbers come later in the file."""
        return pid
