"""The best pairs among the candidates or among all pairs, in blocks.

Memory follows the block and the shortlist, never the number of pairs.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from likewise.basis import Basis

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Numbers in a block of features: 2 MiB, which stays in the cache.
BLOCK_SIZE = 2**18
# Up to this many pairs every one is scored; beyond, those nearest the threshold.
MAX_SCORED = 200_000
SHORTLIST = 20_000


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows of `width` numbers into blocks that fit the cache."""
    step = max(64, BLOCK_SIZE // max(width, 1))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def map_features(
    apply: Callable[[Array], Array], basis: Basis, coordinates: Array, pairs: Pairs
) -> Array:
    """Apply a function of features to all pairs, block by block; a number a pair."""
    result = np.empty(len(pairs))
    for block in row_blocks(len(pairs), coordinates.shape[1]):
        i, j = pairs[block].T
        result[block] = apply(basis.features(coordinates[i] - coordinates[j]))
    return result


def best_rows(scores: Array, n_best: int, rng: np.random.RandomState) -> Pairs:
    """Rows of the highest scores, best first, ties broken by `rng`."""
    n_best = min(n_best, len(scores))
    if n_best == 0:
        return np.empty(0, dtype=np.intp)
    lowest = np.partition(scores, -n_best)[-n_best]
    rows = np.flatnonzero(scores >= lowest)
    order = np.lexsort((rng.permutation(len(rows)), -scores[rows]))
    return rows[order[:n_best]]


def near_threshold(
    mapped: Array, threshold: float, n_pairs: int, is_open: Callable[[Pairs], Mask]
) -> Pairs:
    """Among all pairs, those whose squared distance is nearest the threshold.

    `mapped` holds the items where Euclidean distance is the mean metric's. One pass of
    matrix products over the upper triangle; what is kept never exceeds a few blocks.
    """
    Z = np.ascontiguousarray(mapped, dtype=np.float32)
    half = np.einsum("ij,ij->i", Z, Z) / 2 - np.float32(threshold / 4)
    kept = np.empty((0, 2), dtype=np.intp)
    margins = np.empty(0, dtype=np.float32)
    limit = np.float32(np.inf)
    for rows, columns in _tiles(len(Z), 1024):
        margin = Z[rows] @ Z[columns].T
        np.subtract(half[columns], margin, out=margin)
        margin += half[rows, None]
        np.abs(margin, out=margin)  # |squared distance - threshold| / 2
        if rows.start == columns.start:
            margin[np.tril_indices(*margin.shape[:1])] = np.inf
        i, j = np.nonzero(margin < limit)
        found = np.column_stack([i + rows.start, j + columns.start])
        values = margin[i, j]
        is_new = is_open(found)
        kept = np.concatenate([kept, found[is_new]])
        margins = np.concatenate([margins, values[is_new]])
        if len(kept) > 2 * n_pairs:
            nearest = np.argpartition(margins, n_pairs)[:n_pairs]
            kept, margins = kept[nearest], margins[nearest]
            limit = margins.max()
    return kept[np.argsort(margins, kind="stable")[:n_pairs]]


def _tiles(n_items: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Cut the upper triangle of all pairs into squares."""
    starts = range(0, n_items, size)
    for row in starts:
        for column in starts:
            if column >= row:
                yield slice(row, row + size), slice(column, column + size)
