"""What the loop needs of ActiveMetric while the core does not have it yet."""

import copy
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise import ActiveMetric

KnownPairs = namedtuple("KnownPairs", "pairs labels sources")


@dataclass(frozen=True)
class Why:
    """Why a pair is asked."""

    p_same: float
    spread: float
    rank: int
    n_candidates: int
    reasons: list[tuple[str, float]]
    settles_if_same: int
    settles_if_different: int

    def __str__(self) -> str:
        return f"P(same) = {self.p_same:.2f}: an answer says much about the metric."


@dataclass(frozen=True)
class Verdict:
    """Whether to stop."""

    stop: bool
    reason: str
    accuracy: float
    interval: tuple[float, float]


class Learner(ActiveMetric):
    """ActiveMetric with plain stand-ins."""

    def __init__(self, X: ArrayLike, **options: Any) -> None:
        super().__init__(X, **options)
        self._items = np.asarray(X)

    def ask(self, n_pairs: int = 1, exclude: Any = None) -> NDArray[np.intp]:
        excluded = set() if exclude is None else {tuple(map(int, p)) for p in exclude}
        found = super().ask(n_pairs + len(excluded))
        kept = [p for p in found if tuple(map(int, p)) not in excluded]
        return np.array(kept[:n_pairs], dtype=np.intp).reshape(-1, 2)

    def tell(self, pairs: ArrayLike, labels: ArrayLike, annotator: Any = None) -> None:
        super().tell(pairs, labels)

    def copy(self) -> Self:
        other = copy.copy(self)
        other._tells = list(self._tells)
        return other

    def known_pairs(self) -> KnownPairs:
        pairs, labels = self._answers()
        return KnownPairs(pairs, labels, ["asked"] * len(pairs))

    def answers_saved(self) -> int:
        return 0

    def contradictions(self) -> list[list[tuple[int, int, int]]]:
        return []

    def why(self, pair: ArrayLike) -> Why:
        i, j = np.sort(np.asarray(pair))
        p_same = self.metric_.pair_probability(self._items[[i, j]], [[0, 1]])[0]
        return Why(float(p_same), 0.0, 1, 1, [], 0, 0)

    def should_stop(self) -> Verdict:
        rng = np.random.RandomState(self._seed)
        pairs = rng.randint(len(self._items), size=(2000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        p_same = self.metric_.pair_probability(self._items, pairs)
        sure = np.maximum(p_same, 1 - p_same)
        mean, error = sure.mean(), 2 * sure.std() / np.sqrt(1 + len(self._tells))
        low, high = max(0.5, mean - error), min(1.0, mean + error)
        return Verdict(
            False, "Answers still teach the metric.", float(mean), (low, high)
        )
