"""Some items, and the items among which their neighbours are looked for.

Up to MAX_SEEN items these are all of them. Of more, what is estimated from items is
estimated from as many drawn at random, and each of MAX_ROWS of them has its neighbours
looked for among those that lie nearest to it of all. Knows no metric but those given.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Items that have their neighbours looked for.
MAX_ROWS = 2_000
# Items that moments are taken over: with five times MAX_ROWS, by far the most of what
# chance there is in a metric from neighbours comes of the rows, not of the moments.
MAX_SEEN = 5 * MAX_ROWS
# Of very many items, how many may be the neighbours of a row: five times as many as it
# is smoothed over, for they are found anew in each metric that is refined.
N_NEARBY = 50
# Directions in which these are found: those along which items differ most.
N_LEADING = 256
# Rows whose items nearby are compared at once.
BLOCK = 128


def seen_rows(n_items: int, rng: np.random.RandomState) -> Rows | slice:
    """Which items to take moments over: all, or MAX_SEEN drawn of more."""
    if n_items <= MAX_SEEN:
        return slice(None)
    return np.sort(rng.choice(n_items, MAX_SEEN, replace=False))


@dataclass(frozen=True)
class Surroundings:
    """Items, some rows of them, and which items may be the neighbours of a row."""

    items: Array  # (n_items, n_coordinates)
    rows: Rows  # (n_rows,)
    weights: Array  # (n_rows,): how often each row counts
    nearby: Rows | None = None  # (n_rows, n_nearby): rows of items; None is any

    def mapped(self, root: Array) -> "Surroundings":
        """The same, in the coordinates that `root` maps to."""
        return replace(self, items=self.items @ root)

    def nearest(self, mapped: Array, n_nearest: int) -> Rows:
        """The items nearest to each of the rows, where `mapped` has the items."""
        if self.nearby is None:
            return nearest(mapped, self.rows, n_nearest)
        blocks = [
            _nearest_of(
                mapped, self.rows[at : at + BLOCK], self.nearby[at : at + BLOCK]
            )
            for at in range(0, len(self.rows), BLOCK)
        ]
        return np.concatenate(blocks)[:, :n_nearest]


def surround(
    items: Array, item_weights: Array, rng: np.random.RandomState
) -> Surroundings:
    """Surroundings where any item may be a neighbour."""
    rows = rng.permutation(len(items))[:MAX_ROWS]
    return Surroundings(items, rows, item_weights[rows])


def surround_nearby(
    everyone: Array, item_weights: Array, root: Array, rng: np.random.RandomState
) -> Surroundings:
    """Surroundings of some of many items, as near as they are after `root`.

    What lies near a row is found along the N_LEADING directions in which the items
    differ most after `root`; up to so many dimensions none is missed.
    """
    rows = rng.permutation(len(everyone))[:MAX_ROWS]
    leading = root @ _leading(everyone[seen_rows(len(everyone), rng)] @ root)
    found = nearest(everyone @ leading, rows, N_NEARBY)
    kept, places = np.unique(np.column_stack([rows, found]), return_inverse=True)
    places = places.reshape(len(rows), -1)
    at, nearby = places[:, 0], places[:, 1:]
    return Surroundings(everyone[kept], at, item_weights[rows], nearby)


def nearest(mapped: Array, rows: Rows, n_nearest: int) -> Rows:
    """The items nearest to each of the rows, itself aside."""
    n_nearest = min(n_nearest, len(mapped) - 1)
    Z = mapped.astype(np.float32)
    search = NearestNeighbors(n_neighbors=n_nearest + 1).fit(Z)
    found = search.kneighbors(Z[rows], return_distance=False)
    is_other = found != rows[:, None]
    # Where equal items crowd a row out of its own list, the last one gives way.
    is_other[is_other.all(axis=1), -1] = False
    return np.asarray(found[is_other].reshape(len(rows), n_nearest))


def _nearest_of(mapped: Array, rows: Rows, nearby: Rows) -> Rows:
    """The items nearby, nearest first."""
    gaps = mapped[nearby] - mapped[rows][:, None]  # (n_rows, n_nearby, n_coordinates)
    squared = np.einsum("ijk,ijk->ij", gaps, gaps)
    order = np.argsort(squared, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(nearby, order, axis=1))


def _leading(mapped: Array) -> Array:
    """The directions in which items differ most, (n_coordinates, N_LEADING or less)."""
    centred = mapped - mapped.mean(axis=0)
    vectors = np.linalg.eigh(centred.T @ centred)[1]
    return np.asarray(vectors[:, ::-1][:, :N_LEADING])
