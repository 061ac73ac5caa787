"""X in blocks of whole rows, wherever it lies, and parts of pairs' features.

What Dask is asked for is asked for here. Knows nothing of metrics.
"""

from collections.abc import Callable, Iterator
from io import RawIOBase
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError, MissingExtraError

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Rows in a block, where X is not cut into blocks already.
BLOCK_ROWS = 50_000
# Tasks that are under way at once.
WAVE = 8


class Mapped:
    """Rows of a memory-mapped array, read from its file wherever they are asked for.

    Read, not mapped: pages of a file that are mapped count as memory of the process,
    sixteen for each that is touched.
    """

    def __init__(self, X: "np.memmap[Any, Any]") -> None:
        self.shape, self.dtype, self.ndim = X.shape, X.dtype, X.ndim
        start = X.__array_interface__["data"][0]
        owner = X
        while isinstance(owner.base, np.memmap):
            owner = owner.base
        within = start - owner.__array_interface__["data"][0]
        self._place = (str(X.filename), int(owner.offset) + within)

    def __getitem__(self, index: Any) -> Any:
        rows, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        return self._read(np.asarray(rows))[(slice(None), *rest)]

    def _read(self, rows: Rows) -> NDArray[Any]:
        """Rows by their numbers; those that follow each other in one go."""
        path, offset = self._place
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        size = self.dtype.itemsize * int(np.prod(self.shape[1:]))
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        starts = np.r_[0, breaks][: len(rows)]
        with open(path, "rb", buffering=0) as file:
            for start, end in zip(starts, np.r_[starts[1:], len(rows)], strict=True):
                file.seek(offset + int(rows[start]) * size)
                _fill(file, found[start:end].data.cast("B"), path)
        return found


def _fill(file: RawIOBase, part: memoryview, path: str) -> None:
    """Read until there is no more to fill: one call stops at two gibibytes."""
    while len(part):
        n_read = file.readinto(part)
        if not n_read:
            raise InputError(f"{path} ends before its last row.")
        part = part[n_read:]


def as_blocks(X: Any) -> Any:
    """X as a `dask.array` cut into blocks of whole rows."""
    array = dask_part("array")
    if np.ndim(X) != 2:
        raise InputError(f"'X' must have two dimensions. Got {np.ndim(X)}.")
    if isinstance(X, array.Array):
        return X.rechunk({1: -1})
    return array.from_array(_source(X), chunks=(BLOCK_ROWS, -1), asarray=False)


def _source(X: Any) -> Any:
    """What rows are read from: a file that is mapped is opened for each block."""
    if isinstance(X, np.memmap) and X.flags.c_contiguous:
        return Mapped(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def take(X: Any, rows: Any, items: Rows) -> Any:
    """Lazy rows of X: from a file only these, from blocks the blocks they are in."""
    if isinstance(X, np.memmap):
        return dask_part("delayed").delayed(_source(X).__getitem__)(items)
    return rows[items]


class Spread:
    """Parts of an array of pairs' features, wherever Dask keeps them."""

    def __init__(self, parts: list[Any], sizes: list[int], width: int) -> None:
        self.shape = (sum(sizes), width)
        self._parts, self._sizes = parts, sizes
        ends = np.cumsum(sizes)
        self._places = list(zip(ends - sizes, ends, strict=True))

    def __getitem__(self, rows: Rows) -> Array:
        """Some of the rows."""
        found = np.empty((len(rows), self.shape[1]))
        wanted = [(rows >= start) & (rows < end) for start, end in self._places]
        delayed = dask_part("delayed").delayed
        tasks = [
            delayed(np.take)(part, rows[there] - start, axis=0)
            for part, there, (start, _) in zip(
                self._parts, wanted, self._places, strict=True
            )
        ]
        for there, some in zip(wanted, in_waves(tasks), strict=True):
            found[there] = some
        return found

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """All of them."""
        return self[np.arange(self.shape[0])]

    def map(self, work: Callable[..., Any], *vectors: NDArray[Any]) -> list[Any]:
        """What `work` gives for each part, and its share of vectors of all rows."""
        delayed = dask_part("delayed").delayed
        shared = delayed(work, pure=False)  # sent once, however many parts there are
        tasks = [
            delayed(call)(shared, part, *(each[start:end] for each in vectors))
            for part, (start, end) in zip(self._parts, self._places, strict=True)
        ]
        return list(in_waves(tasks))

    def derive(self, work: Callable[[Array], Array], width: int) -> "Spread":
        """What `work` makes of each part, kept where the part is."""
        delayed = dask_part("delayed").delayed
        kept = dask_part("base").persist(*(delayed(work)(each) for each in self._parts))
        return Spread(list(kept), self._sizes, width)


def call(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work: for work that is lazy itself."""
    return work(*arguments)


def in_waves(tasks: Any) -> Iterator[Any]:
    """Results of lazy tasks in their order, some under way at a time."""
    tasks = iter(tasks)
    # A covariance goes along with the tasks: that a graph is large is no mistake.
    large = {"distributed.admin.large-graph-warning-threshold": "1 GiB"}
    while wave := list(islice(tasks, WAVE)):
        with dask_part("config").set(large):
            results = dask_part("base").compute(*wave)
        yield from results


def dask_part(part: str) -> Any:
    """A module of Dask."""
    from importlib import import_module

    try:
        return import_module(f"dask.{part}")
    except ImportError as error:
        raise MissingExtraError("Work on items beyond memory", "dask") from error
