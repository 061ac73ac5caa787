"""Ways from answer to answer: what a pair follows from, and where answers disagree."""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
SAME, DIFFERENT, UNSURE = 1, -1, 0


class Contradiction(NamedTuple):
    """The shortest cycle of answers that disagree: one "different", the rest "same"."""

    pairs: NDArray[np.intp]  # (n_answers, 2), in their order; the "different" is last
    labels: NDArray[np.int8]  # (n_answers,)


class Chains(NamedTuple):
    """The answers as ways between items, and between components of items."""

    component: NDArray[np.intp]  # of each item
    joined: dict[int, list[int]]  # for each item those it was answered to be same as
    # The answers "different" between each two components, from one to the other.
    apart: dict[Pair, list[Pair]]

    @classmethod
    def of(cls, answers: Mapping[Pair, int], component: NDArray[np.intp]) -> Self:
        """The ways that these answers open."""
        chains = cls(component, {}, {})
        for (i, j), label in answers.items():
            if label == SAME:
                chains.joined.setdefault(i, []).append(j)
                chains.joined.setdefault(j, []).append(i)
            elif label == DIFFERENT:
                a, b = int(component[i]), int(component[j])
                chains.apart.setdefault((a, b), []).append((i, j))
                chains.apart.setdefault((b, a), []).append((j, i))
        return chains

    def same(self, i: int, j: int) -> list[Pair]:
        """The fewest answers that make two items the same."""
        return _steps(self._path(i, j))

    def different(self, i: int, j: int) -> list[Pair]:
        """The fewest answers that make two items different."""
        between = self.apart[int(self.component[i]), int(self.component[j])]
        ways = [
            [*self.same(i, near), *_steps([near, far]), *self.same(far, j)]
            for near, far in between
        ]
        return min(ways, key=len)

    def contradiction(self, i: int, j: int) -> Contradiction:
        """The answers "same" that speak against a "different", and this one."""
        around = np.array(self._path(i, j), dtype=np.intp)
        pairs = np.sort(np.column_stack([around, np.roll(around, -1)]), axis=1)
        labels = np.full(len(around), SAME, dtype=np.int8)
        labels[-1] = DIFFERENT
        return Contradiction(pairs, labels)

    def _path(self, start: int, end: int) -> list[int]:
        """The items on a shortest way from start to end, breadth first."""
        came_from = {start: start}
        waiting = deque([start])
        while end not in came_from:
            item = waiting.popleft()
            for neighbour in self.joined[item]:
                if neighbour not in came_from:
                    came_from[neighbour] = item
                    waiting.append(neighbour)
        path = [end]
        while path[-1] != start:
            path.append(came_from[path[-1]])
        return path[::-1]


def _steps(path: list[int]) -> list[Pair]:
    """The answers along a path of items."""
    pairs = zip(path[:-1], path[1:], strict=True)
    return [(min(pair), max(pair)) for pair in pairs]
