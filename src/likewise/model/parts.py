"""Sums over pairs, part by part: in blocks of memory, or wherever the parts are.

What runs over features runs the same over an array and over parts of one that lie
elsewhere; which part comes first does not matter, for sums are additive.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Rowwise = NDArray[Any]  # as many rows as there are pairs

# Bytes of a block of pairs' entries: small beside any machine's memory, and large
# enough that a product of blocks is as fast as one of the whole.
BLOCK_BYTES = 1 << 25


class Parts(Protocol):
    """Rows of an array that is not in memory as a whole."""

    shape: tuple[int, int]

    def __getitem__(self, rows: Rows) -> Array:
        """Some of the rows."""
        ...

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """All of them."""
        ...

    def map(self, work: Callable[..., Any], *vectors: Rowwise) -> list[Any]:
        """What `work` gives for each part, and its share of vectors of all rows."""
        ...

    def derive(self, work: Callable[[Array], Array], width: int) -> "Parts":
        """What `work` makes of each part, kept where the part is."""
        ...


Features = Array | Parts


def over(
    features: Features,
    work: Callable[..., Any],
    *vectors: Rowwise,
    width: int | None = None,
) -> list[Any]:
    """What `work` gives for each part of the features, in order.

    An array is cut where a block of `width` columns would be too large; without
    `width` it is one part.
    """
    if not isinstance(features, np.ndarray):
        return features.map(work, *vectors)
    rows = [slice(None)] if width is None else blocks(len(features), width)
    return [work(features[at], *(each[at] for each in vectors)) for at in rows]


def derive(features: Features, work: Callable[[Array], Array], width: int) -> Features:
    """What `work` makes of the features, row by row, `width` columns."""
    if not isinstance(features, np.ndarray):
        return features.derive(work, width)
    return np.concatenate(over(features, work, width=features.shape[1]))


def joined(parts: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Vectors of all rows, from those of each part."""
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def gram(features: Array) -> Array:
    """The products of all columns, summed over rows."""
    return np.asarray(features.T @ features)


def blocks(n_rows: int, width: int) -> list[slice]:
    """Rows in blocks of so many that a block of this width has BLOCK_BYTES."""
    size = max(1, BLOCK_BYTES // (8 * width))
    return [slice(start, start + size) for start in range(0, max(n_rows, 1), size)]
