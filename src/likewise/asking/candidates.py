"""The best pairs among the candidates or among all pairs, in blocks.

Memory follows the block and the shortlist, never the number of pairs.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from likewise.model.basis import Basis

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]
Single = NDArray[np.float32]

# Numbers in a block of features: 4 MiB; smaller ones starve the second core.
BLOCK_SIZE = 2**19
# Items along each side of a tile of all pairs: 2 MiB in single precision.
TILE = 724
# Up to this many pairs every one is scored; beyond, those nearest the threshold.
MAX_SCORED = 200_000
SHORTLIST = 3_000


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows of `width` numbers into blocks that fit the cache."""
    step = max(64, BLOCK_SIZE // max(width, 1))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def map_features(
    apply: Callable[[Array], Array],
    basis: Basis,
    coordinates: Array,
    pairs: Pairs,
    *,
    n_threads: int = 1,
) -> Array:
    """Apply a function of features to all pairs, block by block; a number a pair.

    Half of the work is not matrix products: several threads with one core each keep
    all cores busy, where BLAS alone would not.
    """
    result = np.empty(len(pairs))

    def work(block: slice) -> None:
        gaps = coordinates.take(pairs[block, 0], axis=0)
        gaps -= coordinates.take(pairs[block, 1], axis=0)
        result[block] = apply(basis.features(gaps))

    blocks = list(row_blocks(len(pairs), coordinates.shape[1]))
    if n_threads == 1 or len(blocks) < 2 * n_threads:
        for block in blocks:
            work(block)
    else:
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, blocks))
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
    left, right = _margin_factors(mapped, threshold)
    kept = np.empty((0, 2), dtype=np.intp)
    margins = np.empty(0, dtype=np.float32)
    limit = np.float32(np.inf)
    for rows, columns in _tiles(len(mapped), TILE):
        margin = left[rows] @ right[:, columns]
        np.abs(margin, out=margin)
        if rows.start == columns.start:
            margin[np.tril_indices(len(margin))] = np.inf
        i, j = np.divmod(np.flatnonzero(margin < limit), margin.shape[1])
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


def _margin_factors(mapped: Array, threshold: float) -> tuple[Single, Single]:
    """Two factors whose product is squared distance minus threshold, all of it.

    Norms and threshold ride along as two more columns: one product, no further pass.
    """
    Z = mapped - mapped.mean(axis=0)
    norms = np.einsum("ij,ij->i", Z, Z) - threshold / 2
    ones = np.ones(len(Z))
    left = np.column_stack([-2 * Z, norms, ones])
    right = np.vstack([Z.T, ones, norms])
    return left.astype(np.float32), right.astype(np.float32)


def _tiles(n_items: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Cut the upper triangle of all pairs into squares."""
    starts = range(0, n_items, size)
    for row in starts:
        for column in starts:
            if column >= row:
                yield slice(row, row + size), slice(column, column + size)
