"""Which joins to make: how likely each is right, and where to stop."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise.asking.candidates import row_blocks
from likewise.using.joining import Joins

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]

# A join of log cost x is right with probability sigma(slope (level - x)). Before any
# answer: mean and deviation of the level, median of the slope and deviation of its
# logarithm, as found over 19 data sets (docs/groups.md).
LEVEL, SLOPE = (0.3, 1.2), (1.3, 0.5)
# The share of answers that say nothing of the curve, for they are wrong or about odd
# items: without it one wrong answer about a costly join makes every join likely.
SLIPS = 0.05
# Costs below this are rounding: the mean squared distance of two items is 1.
NO_COST = 1e-9
NO_END = 1e12  # costs above this are as good as infinite


class JoinCurve:
    """How likely a join is right, by its cost: a logistic curve that answers move."""

    def __init__(self, costs: Array, labels: NDArray[np.int64]) -> None:
        levels = LEVEL[0] + LEVEL[1] * np.linspace(-4.0, 4.0, 61)
        slopes = SLOPE[0] * np.exp(SLOPE[1] * np.linspace(-2.5, 2.5, 9))
        self._level, self._slope = (
            each.ravel() for each in np.meshgrid(levels, slopes, indexing="ij")
        )
        log = -(((self._level - LEVEL[0]) / LEVEL[1]) ** 2) / 2
        log -= (np.log(self._slope / SLOPE[0]) / SLOPE[1]) ** 2 / 2
        for x, label in zip(_log_cost(costs), labels, strict=True):
            agreed = expit(label * self._slope * (self._level - x))
            log += np.log(SLIPS + (1 - 2 * SLIPS) * agreed)
        weights = np.exp(log - log.max())
        self._weights = weights / weights.sum()

    def steepness(self) -> float:
        """The logarithm of the slope: how well cost tells right from wrong joins."""
        return float(np.log(self._slope) @ self._weights)

    def left_out(self, costs: Array, labels: NDArray[np.int64]) -> Array:
        """P(label) of each of the answers, by the curve of all the others.

        Never below what odd items make of it: over 18 data sets, labels of which the
        bare curve says 1% are the true ones in 5%, and 2 to 5% in 9%.
        """
        signed = labels[:, None] * (self._level - _log_cost(costs)[:, None])
        agreed = expit(self._slope * signed)  # (n_pairs, n_curves)
        mixed = SLIPS + (1 - 2 * SLIPS) * agreed
        others = self._weights / mixed
        return np.asarray(self._weights.sum() / others.sum(axis=1))

    def fit(self, costs: Array, labels: NDArray[np.int64]) -> float:
        """The mean log P of the answers, by the curve of the others."""
        if len(labels) == 0:
            return float(np.log(0.5))
        return float(np.log(self.left_out(costs, labels)).mean())

    def probability(self, costs: Array, rivals: Array | None = None) -> Array:
        """P(right) of joins of these costs, doubt about the curve included.

        A piece that could as well be joined with one that is known to be apart from
        the first belongs to either, or to none: `rivals` are the costs of that.
        """
        x = _log_cost(costs)
        ahead = None if rivals is None else x - _log_cost(rivals)
        result = np.empty(len(x))
        for rows in row_blocks(len(x), len(self._level)):
            against = np.exp(-self._slope * (self._level - x[rows, None]))
            if ahead is not None:
                against += np.exp(np.minimum(self._slope * ahead[rows, None], 50.0))
            result[rows] = (1 / (1 + against)) @ self._weights
        return result


def _log_cost(costs: Array) -> Array:
    return np.log(np.clip(costs, NO_COST, NO_END))


@dataclass(frozen=True)
class Walk:
    """Joins that made one family of two: the decisions there are to make."""

    steps: Rows  # (n,): which joins they are
    n_joins: int  # all joins, those within a family too
    families: Pairs  # (n, 2): the second became part of the first
    sizes: Array  # (n, 2): items of the two families
    p_right: Array  # (n,)
    n_same: float  # pairs of items that are the same before any join

    def stop(self, n_items: int) -> tuple[int, float]:
        """After how many decisions to stop, and the agreement expected there.

        The agreement is the adjusted Rand index of expected counts of pairs. One group
        alone, or none, agrees with the truth if that is so, and else not at all: if
        the least likely join is right, or every one wrong.
        """
        pairs = self.sizes.prod(axis=1)
        joined = np.r_[self.n_same, self.n_same + np.cumsum(pairs)]
        right = np.r_[self.n_same, self.n_same + np.cumsum(pairs * self.p_right)]
        n_all, n_same = n_items * (n_items - 1) / 2, right[-1]
        by_chance = joined * n_same / max(n_all, 1.0)
        room = (joined + n_same) / 2 - by_chance
        agreement = (right - by_chance) / np.maximum(room, NO_COST)
        if joined[-1] >= n_all:
            agreement[-1] = self.p_right.min(initial=1.0)
        if joined[0] == 0:
            agreement[0] = np.exp(np.log1p(-self.p_right).sum())
        best = int(agreement.argmax())
        return best, float(np.clip(agreement[best], 0.0, 1.0))

    def until(self, n_decisions: int) -> int:
        """How many joins are made when so many decisions are."""
        if n_decisions < len(self.steps):
            return int(self.steps[n_decisions])
        return self.n_joins

    def labels(self, families: Rows, n_decisions: int) -> Rows:
        """The group of each item after so many decisions."""
        names = np.arange(len(families))
        for a, b in self.families[:n_decisions][::-1].tolist():
            names[b] = names[a]
        # A family may have been renamed after it took others in: the last name counts.
        return np.unique(names[families], return_inverse=True)[1]


def walk(joins: Joins, families: Rows, p_right: Array) -> Walk:
    """Go through the joins and note those of two families."""
    names, sizes = np.arange(len(families)), np.bincount(families).astype(float)
    sizes = np.r_[sizes, np.zeros(len(families) - len(sizes))]
    n_same = float((sizes * (sizes - 1) / 2).sum())
    of_piece = np.r_[families, np.zeros(len(joins.pieces), dtype=np.intp)]
    steps, united, parts = [], [], []
    for step, (a, b) in enumerate(joins.pieces.tolist()):
        one, other = (_name(names, int(of_piece[each])) for each in (a, b))
        of_piece[len(families) + step] = one
        if one != other:
            steps.append(step)
            united.append((one, other))
            parts.append((sizes[one], sizes[other]))
            names[other] = one
            sizes[one] += sizes[other]
    return Walk(
        np.array(steps, dtype=np.intp),
        len(joins.pieces),
        np.array(united, dtype=np.intp).reshape(-1, 2),
        np.array(parts).reshape(-1, 2),
        p_right[steps] if steps else np.empty(0),
        n_same,
    )


def _name(names: Rows, family: int) -> int:
    while names[family] != family:
        names[family] = names[names[family]]
        family = int(names[family])
    return family
