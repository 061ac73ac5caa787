"""Neighbours of very many points, nearly all of them, without all distances.

Points are put into cells around some of them, and looked for in the cells nearest to
their own. Nothing is drawn: the same points in the same order give the same neighbours.
"""

import numpy as np
from numpy.typing import NDArray

from likewise.asking.candidates import row_blocks
from likewise.threads import over_blocks
from likewise.using.moving import means

Single = NDArray[np.float32]
Rows = NDArray[np.intp]

# Up to so many points all distances are looked at: half a second for 128 numbers each.
MAX_EXACT = 10_000
# Points of a cell, and cells in which its points look for their neighbours. Of 40,000
# points in 300 groups these are 91% of the true ones; in 50 numbers of noise 31%.
CELL_SIZE, N_CELLS = 200, 16
N_ROUNDS = 2  # in which cells follow their points
N_CLASSES = (
    128  # of columns, whose least numbers bound the nearest: 128 to 512 are alike
)
LARGEST = 5  # times the size of a cell; among equal points one cell would hold all


def near_rows(points: NDArray[np.float64], n_nearest: int) -> Rows:
    """Rows of each point's nearest, itself among them: (n_points, n_nearest + 1)."""
    Z = (points - points.mean(axis=0)).astype(np.float32)  # small numbers round less
    if len(Z) <= MAX_EXACT:
        return _nearest(Z, Z, n_nearest + 1)
    members, centres = _cells(Z)
    found = np.repeat(np.arange(len(Z)), n_nearest + 1).reshape(-1, n_nearest + 1)
    for own, cells in enumerate(_nearest(centres, centres, N_CELLS).tolist()):
        among = np.concatenate([members[each] for each in {own, *cells}])
        rows = members[own]
        k = min(n_nearest + 1, len(among))
        found[rows, :k] = among[_nearest(Z[rows], Z[among], k)]
    return found


def _cells(Z: Single) -> tuple[list[Rows], Single]:
    """The rows of each cell, and its centre; large cells are cut as rows follow."""
    centres = Z[::CELL_SIZE]
    for _ in range(N_ROUNDS):
        cell = _nearest(Z, centres, 1)[:, 0]
        kept, cell = np.unique(cell, return_inverse=True)
        centres = means(Z, cell, len(kept)).astype(np.float32)
    order = np.argsort(cell, kind="stable")
    starts = np.r_[0, np.cumsum(np.bincount(cell))]
    cuts = [
        start
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        for start in range(first, last, LARGEST * CELL_SIZE)
    ]
    return np.split(order, cuts[1:]), centres[cell[order[cuts]]]


def _nearest(Z: Single, others: Single, k: int) -> Rows:
    """The k nearest of the others to each point, in no order."""
    k = min(k, len(others))
    squares = np.einsum("ij,ij->i", others, others)
    twice = np.ascontiguousarray(-2 * others.T)  # else each block turns all of it anew
    found = np.empty((len(Z), k), dtype=np.intp)

    def work(block: slice) -> None:
        squared = Z[block] @ twice
        squared += squares
        found[block] = _least(squared, k)

    over_blocks(work, row_blocks(len(Z), len(others)))
    return found


def _least(table: Single, k: int) -> Rows:
    """Columns of the k least numbers of each row, in no order."""
    n_rows, n_columns = table.shape
    if k == 1:
        return np.asarray(table.argmin(axis=1)[:, None])
    if k > N_CLASSES or n_columns < 2 * N_CLASSES:
        return np.argpartition(table, k - 1, axis=1)[:, :k]
    # Of the least of each class of columns the k-th bounds the k-th of all: few numbers
    # are below it, and a comparison is quicker than a partition.
    whole = table[:, : n_columns - n_columns % N_CLASSES]
    least = whole.reshape(n_rows, -1, N_CLASSES).min(axis=1)
    bounds = np.partition(least, k - 1, axis=1)[:, k - 1]
    # Flat: np.nonzero takes seven times as long to find rows and columns.
    rows, columns = np.divmod(np.flatnonzero(table <= bounds[:, None]), n_columns)
    order = np.lexsort((table[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(n_rows))
    return np.asarray(columns[order][starts[:, None] + np.arange(k)])
