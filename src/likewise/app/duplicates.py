"""Pairs that are likely the same, by what is believed now."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.app.inputs import WORDS
from likewise.app.project import Project

# Neighbours of each item that are looked at, and of all such pairs the nearest: P(same)
# of a pair costs more than its distance.
N_NEIGHBOURS, N_PAIRS = 10, 3000
LIKELY = 0.5


@dataclass(frozen=True)
class LikelyPair:
    """Two items that are probably the same."""

    left: int
    right: int
    p_same: float
    known: str  # "same", "different" or "unsure" where it was said or follows


def likely_pairs(project: Project, learner: Any) -> list[LikelyPair]:
    """Pairs above one half, the likeliest first."""
    pairs = _near_pairs(np.asarray(learner.metric_.transform(project.X)))
    if len(pairs) == 0:
        return []
    p_same = learner.pair_probability(pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -p_same))
    said = {answer.pair: WORDS[answer.label] for answer in project.current_answers()}
    families = _families(said, len(project.names))
    found = []
    for k in order[p_same[order] >= LIKELY].tolist():
        left, right = pairs[k].tolist()
        follows = "same" if families[left] == families[right] else ""
        known = said.get((left, right), follows)
        found.append(LikelyPair(left, right, float(p_same[k]), known))
    return found


def _near_pairs(Z: NDArray[np.float64]) -> NDArray[np.intp]:
    """Pairs of near neighbours, i < j, the nearest of all."""
    from sklearn.neighbors import NearestNeighbors

    n_neighbours = min(N_NEIGHBOURS, len(Z) - 1)
    if n_neighbours < 1:
        return np.empty((0, 2), dtype=np.intp)
    search = NearestNeighbors(n_neighbors=n_neighbours).fit(Z)
    distances, others = search.kneighbors()  # an item is no neighbour of itself
    rows = np.repeat(np.arange(len(Z)), n_neighbours)
    pairs = np.sort(np.column_stack([rows, others.ravel()]), axis=1)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    order = np.argsort(distances.ravel()[first], kind="stable")[:N_PAIRS]
    return np.asarray(pairs[order], dtype=np.intp)


def _families(said: dict[tuple[int, int], str], n_items: int) -> NDArray[np.int32]:
    """A number for each item, equal where answers "same" lead from one to another."""
    pairs = [pair for pair, word in said.items() if word == "same"]
    i, j = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    links = coo_array((np.ones(len(pairs)), (i, j)), shape=(n_items, n_items))
    return np.asarray(connected_components(links, directed=False)[1])
