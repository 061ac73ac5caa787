"""Gaps of pairs that share items: whole numbers, of which later ones follow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.digits import GRID_PAIRS

# Pairs up to which gaps are taken along a tree: it takes seconds beyond.
MOST_PAIRS = GRID_PAIRS


class _Places:
    """Where items lie, as far as gaps say: beside each other, in groups."""

    def __init__(self) -> None:
        self._places: dict[int, NDArray[np.int64]] = {}
        self._groups: dict[int, list[int]] = {}

    def gap(self, i: int, j: int) -> NDArray[np.int64] | None:
        """What earlier gaps say of a pair; None if they say nothing."""
        if i not in self._groups or self._groups[i] is not self._groups.get(j):
            return None
        return self._places[i] - self._places[j]

    def beside_first(self, item: int) -> NDArray[np.int64]:
        """How far an item lies from the first one of its group."""
        return self._places[item] - self._places[min(self._groups[item])]

    def learn(self, i: int, j: int, gap: NDArray[np.int64]) -> None:
        """Put two groups together by the gap of a pair."""
        for item in (i, j):
            if item not in self._groups:
                self._groups[item], self._places[item] = [item], np.zeros_like(gap)
        if self._groups[i] is self._groups[j]:
            return  # an item and itself
        shift = self._places[j] + gap - self._places[i]
        moved, kept = self._groups[i], self._groups[j]
        if len(moved) > len(kept):
            moved, kept, shift = kept, moved, -shift
        for item in moved:
            self._places[item] = self._places[item] + shift
            self._groups[item] = kept
        kept += moved


def placed(gaps: NDArray[np.int64], pairs: NDArray[Any]) -> NDArray[np.int64]:
    """Where both items of each pair lie, (2, n_pairs, n_columns).

    Beside the first of all items that chains of pairs lead to.
    """
    _check(gaps, pairs)
    places = _Places()
    for (i, j), gap in zip(pairs.tolist(), gaps, strict=True):
        if places.gap(i, j) is None:
            places.learn(i, j, gap)
    found = [[places.beside_first(item) for item in each] for each in pairs.T.tolist()]
    return np.array(found, dtype=np.int64).reshape(2, *gaps.shape)


def along_tree(gaps: NDArray[np.int64], pairs: NDArray[Any]) -> NDArray[np.int64]:
    """Rows of whole numbers less what the rows before say of the same pair."""
    return _on_tree(gaps, pairs, is_less=False)


def off_tree(left: NDArray[np.int64], pairs: NDArray[Any]) -> NDArray[np.int64]:
    """The rows again, of which `along_tree` left these."""
    return _on_tree(left, pairs, is_less=True)


def _on_tree(
    rows: NDArray[np.int64], pairs: NDArray[Any], is_less: bool
) -> NDArray[np.int64]:
    _check(rows, pairs)
    places, result = _Places(), rows.copy()
    for row, (i, j) in enumerate(pairs.tolist()):
        said = places.gap(i, j)
        if said is not None:
            result[row] += said if is_less else -said
        else:
            places.learn(i, j, result[row])
    return result


def _check(rows: NDArray[np.int64], pairs: NDArray[Any]) -> None:
    if pairs.shape != (len(rows), 2):
        raise ValueError(f"its shapes do not fit: {rows.shape} and {pairs.shape}")
    if len(rows) > MOST_PAIRS:
        raise ValueError(f"it has flat gaps of {len(rows):,} pairs")
