"""Weights without PyTorch: what is read, and what is refused."""

import io
import os
import pickle
import struct
from collections import OrderedDict

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.errors import InputError
from likewise.features.checkpoint import MAGIC, VERSION, read_checkpoint

SYSTEM = {"protocol_version": VERSION, "little_endian": True, "type_sizes": {}}


class Named:
    """Pickles as a name in a module that need not exist."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Storage:
    """Pickles as PyTorch's persistent id of a storage."""

    def __init__(self, kind, key, length):
        self.pid = ("storage", Named("torch", kind), key, "cpu", length, None)


class Tensor:
    """Pickles as a call of PyTorch's function that makes a tensor."""

    def __init__(self, storage, offset, shape, strides):
        self.arguments = (storage, offset, shape, strides, False, OrderedDict())


class Pickler(pickle._Pickler):
    """Writes the stand-ins above as torch.save writes the real ones."""

    def persistent_id(self, thing):
        return thing.pid if isinstance(thing, Storage) else None

    def save(self, thing, save_persistent_id=True):
        if isinstance(thing, Named):
            self.write(f"c{thing.module}\n{thing.name}\n".encode())
        elif isinstance(thing, Tensor):
            self.save(Named("torch._utils", "_rebuild_tensor_v2"))
            self.save(thing.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(thing, save_persistent_id)


def pickled(thing):
    stream = io.BytesIO()
    Pickler(stream, protocol=2).dump(thing)
    return stream.getvalue()


def file_of(tensors, storages, magic=MAGIC, keys=None):
    """A file of tensors in storages, as the old torch.save would write it."""
    head = [magic, VERSION, SYSTEM, tensors, list(storages) if keys is None else keys]
    raw = [struct.pack("<q", len(a)) + a.tobytes() for a in storages.values()]
    return b"".join([pickled(part) for part in head] + raw)


NUMBERS = np.arange(12, dtype="<f4")
COUNTS = np.array([7, 8], dtype="<i8")


def good_file():
    floats = Storage("FloatStorage", "k1", 12)
    tensors = OrderedDict(
        whole=Tensor(floats, 0, (3, 4), (4, 1)),
        turned=Tensor(floats, 0, (4, 3), (1, 4)),
        part=Tensor(floats, 5, (2,), (3,)),
        counts=Tensor(Storage("LongStorage", "k2", 2), 0, (2,), (1,)),
    )
    return file_of(tensors, {"k1": NUMBERS, "k2": COUNTS})


def test_tensors_are_read_as_they_lie_in_their_storage():
    """Shapes, strides, offsets, shared storages and both kinds of numbers."""
    weights = read_checkpoint(good_file())

    assert_array_equal(weights["whole"], NUMBERS.reshape(3, 4))
    assert_array_equal(weights["turned"], NUMBERS.reshape(3, 4).T)
    assert_array_equal(weights["part"], [5, 8])
    assert_array_equal(weights["counts"], COUNTS)
    assert weights["counts"].dtype == np.int64


@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("builtins", "eval"), ("torch", "load"), ("numpy", "array")],
)
def test_any_other_name_is_refused(module, name):
    """A pickle that names something else is told by that name."""
    data = file_of({"a": Named(module, name)}, {})

    with pytest.raises(
        InputError, match=rf"numbers alone. Got the name {module}.{name}"
    ):
        read_checkpoint(data)


def test_a_call_in_the_pickle_is_not_made(tmp_path):
    """A file that would run a command runs nothing."""
    trace = tmp_path / "trace"

    class Command:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    with pytest.raises(InputError, match="Got the name posix.mkdir|nt.mkdir"):
        read_checkpoint(pickle.dumps(Command(), protocol=2))
    assert not trace.exists()


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [(0, (13,), (1,)), (10, (3,), (1,)), (0, (4, 4), (4, 1)), (0, (2,), (-1,)),
     (-1, (2,), (1,)), (0, (-2,), (1,))],
)  # fmt: skip
def test_a_tensor_outside_its_storage_is_refused(offset, shape, strides):
    """Memory beside the file is never read."""
    tensor = Tensor(Storage("FloatStorage", "k1", 12), offset, shape, strides)

    with pytest.raises(InputError, match="points outside its storage of 12 numbers"):
        read_checkpoint(file_of({"a": tensor}, {"k1": NUMBERS}))


def test_another_format_is_refused():
    """Its magic number and version are told."""
    with pytest.raises(InputError, match="format of before 1.6.* Got magic number 5,"):
        read_checkpoint(file_of({}, {}, magic=5))


@pytest.mark.parametrize("n_bytes", [0, 1, 10, 60, 200, -1, -9, -30])
def test_a_cut_file_is_one_sentence(n_bytes):
    """Wherever it ends."""
    with pytest.raises(InputError, match="The weights (cannot be read|end early)"):
        read_checkpoint(good_file()[:n_bytes])
