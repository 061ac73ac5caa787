"""What is known of pairs: families of items, and whom to believe in a contradiction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]

NO_DISTANCE = 1e-9  # shorter squared distances are rounding


@dataclass(frozen=True)
class Known:
    """Answers that agree with each other."""

    pairs: Pairs
    labels: NDArray[np.int64]
    disbelieved: list[tuple[int, int, int]]

    def families(self, n_items: int) -> tuple[Rows, Pairs]:
        """A number for each item, equal for those that are the same; those apart."""
        families = _components(self.pairs[self.labels > 0], n_items)
        apart = np.sort(families[self.pairs[self.labels < 0]], axis=1)
        return families, np.unique(apart, axis=0).reshape(-1, 2)


def believed(pairs: Pairs, labels: NDArray[np.int64], space: Array) -> Known:
    """The answers, or where they contradict each other those that distance believes.

    Of the answers about items that a contradiction touches, the ones of short "same"
    and long "different" are taken first, and what contradicts these is left out.
    """
    families = _components(pairs[labels > 0], len(space))
    within = families[pairs[:, 0]] == families[pairs[:, 1]]
    broken = np.unique(families[pairs[(labels < 0) & within, 0]])
    if len(broken) == 0:
        return Known(pairs, labels, [])
    gaps = space[pairs[:, 0]] - space[pairs[:, 1]]
    squared = np.einsum("ij,ij->i", gaps, gaps)
    rank = np.where(labels > 0, squared, 1 / np.maximum(squared, NO_DISTANCE))
    # Answers that nothing speaks against come first.
    rank[~(within & np.isin(families[pairs[:, 0]], broken))] = -1.0
    kept, union = [], _Union(len(space))
    for row in np.lexsort((pairs[:, 1], pairs[:, 0], rank)).tolist():
        if union.tell(int(pairs[row, 0]), int(pairs[row, 1]), int(labels[row])):
            kept.append(row)
    left = np.setdiff1d(np.arange(len(pairs)), kept)
    told = np.column_stack([pairs[left], labels[left]]).tolist()
    return Known(pairs[kept], labels[kept], [(i, j, label) for i, j, label in told])


def _components(pairs: Pairs, n_items: int) -> Rows:
    """The lowest item among those that each is joined to."""
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(n_items, n_items))
    names = connected_components(links, directed=False)[1]
    lowest = np.full(names.max(initial=0) + 1, n_items)
    np.minimum.at(lowest, names, np.arange(n_items))
    return lowest[names].astype(np.intp)


class _Union:
    """Items made one or kept apart, one answer after another."""

    def __init__(self, n_items: int) -> None:
        self._members = {item: [item] for item in range(n_items)}
        self._name = list(range(n_items))
        self._apart: dict[int, set[int]] = {}

    def tell(self, i: int, j: int, label: int) -> bool:
        """Take an answer in, unless it contradicts those before."""
        a, b = self._name[i], self._name[j]
        if label < 0:
            if a == b:
                return False
            self._apart.setdefault(a, set()).add(b)
            self._apart.setdefault(b, set()).add(a)
            return True
        if b in self._apart.get(a, ()):
            return False
        if a != b:
            self._join(a, b)
        return True

    def _join(self, a: int, b: int) -> None:
        for item in self._members[b]:
            self._name[item] = a
        self._members[a] += self._members.pop(b)
        for other in self._apart.pop(b, ()):
            self._apart[other] = (self._apart[other] - {b}) | {a}
            self._apart.setdefault(a, set()).add(other)
