"""Items that move to the nearest piece, once the groups are found."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from sklearn.covariance import ledoit_wolf

from likewise.asking.candidates import row_blocks
from likewise.threads import over_blocks

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Rounds in which items move to the nearest piece; more change nothing.
N_MOVES = 6
# Variances within groups below this share of their mean are not known that well.
NARROWEST = 1e-3


def scaled(space: Array) -> Array:
    """In the unit in which the mean squared distance of two items is 1."""
    variance = float(space.var(axis=0).sum()) if len(space) else 0.0
    return space / np.sqrt(2 * variance) if variance > 0 else space


def moved(
    space: Array, labels: Rows, pieces: Rows, asked: Mask
) -> tuple[Rows, Array, Array]:
    """Let items move to the nearest piece, those asked about aside.

    Distances are measured where items of a group scatter alike in all directions. Back
    come the groups, squared distances to the nearest piece of the own and of another
    group, (n_items, 2), and the items as they were measured.
    """
    whitened = _whitened(space, labels)
    _, first, piece = np.unique(pieces, return_index=True, return_inverse=True)
    group_of = labels[first]
    for _ in range(N_MOVES):
        sizes = np.bincount(piece, minlength=len(group_of))
        wanted = _nearest(whitened, piece, group_of)[0]
        stays = asked | (sizes[piece] == 1)
        wanted[stays] = piece[stays]
        if (wanted == piece).all():
            break
        piece = wanted
    return group_of[piece], _nearest(whitened, piece, group_of)[1], whitened


def _nearest(space: Array, piece: Rows, group_of: Rows) -> tuple[Rows, Array]:
    """The nearest piece, and squared distances to those of the own and other groups.

    The centre of an item's own piece is that of the others in it. In blocks.
    """
    n_pieces = len(group_of)
    sizes = np.bincount(piece, minlength=n_pieces)
    centres = means(space, piece, n_pieces)
    squares = np.einsum("ij,ij->i", centres, centres)
    without = ((sizes / np.maximum(sizes - 1, 1)) ** 2)[piece]
    nearest, near = np.empty(len(space), dtype=np.intp), np.empty((len(space), 2))

    def work(block: slice) -> None:
        Z, own = space[block], piece[block]
        squared = np.einsum("ij,ij->i", Z, Z)[:, None] - 2 * Z @ centres.T + squares
        np.maximum(squared, 0.0, out=squared)
        squared[np.arange(len(Z)), own] *= without[block]
        squared[:, sizes == 0] = np.inf
        nearest[block] = squared.argmin(axis=1)
        is_own = group_of[own][:, None] == group_of
        for side, among in enumerate((is_own, ~is_own)):
            near[block, side] = np.where(among, squared, np.inf).min(axis=1)

    over_blocks(work, row_blocks(len(space), n_pieces))
    return nearest, near


def _whitened(space: Array, labels: Rows) -> Array:
    """Where the items of a group scatter alike in every direction, nearly.

    The scatter within groups is shrunk as Ledoit and Wolf do.
    """
    sizes = np.bincount(labels)
    centres = means(space, labels, len(sizes))
    shared = sizes[labels] > 1
    if shared.sum() < 3:
        return space
    off = (space - centres[labels]) * np.sqrt(sizes / np.maximum(sizes - 1, 1))[
        labels, None
    ]
    if not off.any():
        return space
    values, vectors = np.linalg.eigh(ledoit_wolf(off[shared], assume_centered=True)[0])
    values = np.maximum(values, NARROWEST * values.mean())
    return scaled(space @ (vectors / np.sqrt(values)))


def means(space: NDArray[np.floating[Any]], piece: Rows, n_pieces: int) -> Array:
    """The centre of each piece, (n_pieces, n_dimensions)."""
    sums = coo_array(
        (np.ones(len(piece)), (piece, np.arange(len(piece)))),
        shape=(n_pieces, len(piece)),
    )
    sizes = np.maximum(np.bincount(piece, minlength=n_pieces), 1)
    return np.asarray((sums.tocsr() @ space) / sizes[:, None])
