"""Items joined by "same", components told apart, and the way back.

What is held follows the answers, not the items: a component of one item is written
down nowhere. Each step returns what undoing it needs, and steps are undone in the
reverse order. closure.py says what answers mean for it.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Items = NDArray[np.intp]


class Join(NamedTuple):
    """What it takes to undo a join: the component that went into a larger one."""

    small: int
    large: int
    moved: list[int]  # the items of the small one
    opponents: dict[int, int]  # the opponents of the small one


class Components:
    """Which items are joined, and how many answers hold two components apart.

    A component is named by one of its items. The smaller one moves into the larger.
    """

    def __init__(self, n_items: int) -> None:
        self.of_item: Items = np.arange(n_items)
        self._items: dict[int, list[int]] = {}  # of components of several items
        # Answers "different" between two components; within one, a contradiction.
        self.opponents: dict[int, dict[int, int]] = {}

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)(0)
        twin.of_item = self.of_item.copy()
        twin._items = {a: list(items) for a, items in self._items.items()}
        twin.opponents = {a: dict(others) for a, others in self.opponents.items()}
        return twin

    def opposes(self, a: int, b: int) -> bool:
        """Whether two components were told apart; one and the same: contradicted."""
        return b in self.opponents.get(a, ())

    def oppose(self, a: int, b: int, n_answers: int) -> None:
        """Add (or with a negative count take away) answers "different" between."""
        for one, other in {(a, b), (b, a)}:
            others = self.opponents.setdefault(one, {})
            others[other] = others.get(other, 0) + n_answers
            if others[other] == 0:
                self._forget(one, other)

    def join(self, a: int, b: int) -> Join:
        """Move the component that is cheaper to move into the other."""
        small, large = (a, b) if self._weight(a) < self._weight(b) else (b, a)
        moved = self._items.pop(small, [small])
        join = Join(small, large, moved, self.opponents.pop(small, {}))
        self._items.setdefault(large, [large]).extend(moved)
        self.of_item[moved] = large
        for other, n_answers in join.opponents.items():
            if other != small:
                self._forget(other, small)
            self.oppose(large, large if other == small else other, n_answers)
        return join

    def split(self, join: Join) -> None:
        """Undo a join; everything after it was undone before."""
        small, large, moved, opponents = join
        for other, n_answers in opponents.items():
            self.oppose(large, large if other == small else other, -n_answers)
            if other != small:
                self.opponents.setdefault(other, {})[small] = n_answers
        del self._items[large][-len(moved) :]
        if len(self._items[large]) == 1:
            del self._items[large]
        # Lists of their own: a copy of these components may undo the same join.
        if len(moved) > 1:
            self._items[small] = list(moved)
        if opponents:
            self.opponents[small] = dict(opponents)
        self.of_item[moved] = small

    def _weight(self, a: int) -> int:
        n_items = len(self._items[a]) if a in self._items else 1
        return n_items + len(self.opponents.get(a, ()))

    def _forget(self, a: int, b: int) -> None:
        del self.opponents[a][b]
        if not self.opponents[a]:
            del self.opponents[a]
