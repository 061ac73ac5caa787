"""Which pairs to ask about next, so that the items are sorted fastest."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.asking.closure import Closure, Forest
from likewise.asking.trials import RATES, STRONG, prior
from likewise.using.groups import REACH, Groups

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]

# An answer is not asked for again that is wrong with a probability below this: while no
# error was found, for one repeat in ten to find one; and after that.
UNTRIED, SURE_ENOUGH = 0.1, 0.01


@dataclass(frozen=True)
class Given:
    """The answers in force, and how far each can be trusted."""

    pairs: Pairs  # (n, 2)
    labels: Array  # (n,): +1 or -1
    misfits: Array  # (n,): P(wrong) / e of each, where errors are as rare as e
    n_times: NDArray[np.intp]  # (n,): how often the pair was answered
    is_changed: Mask  # (n,): whether the second answer was not the first
    # (n,): whether the pair is left alone: its answer was corrected by who had given
    # it, or somebody was unsure not long ago.
    is_left: Mask
    families: Rows  # (n_items,): equal for items that answers have made one
    flip_rate: float  # of answers, as the learner estimates it; 0 if all are believed
    n_open: int  # pairs that may be asked and are not known

    @property
    def error_rate(self) -> float:
        """How often answers are wrong, by the learner and by those asked again."""
        rates, weights = self._rates()
        return float(weights @ rates)

    @property
    def caught(self) -> float:
        """The same, as long as no answer was found to be wrong 0."""
        is_caught = self._flip_rate(self._tried()) > 0 or self.is_changed.any()
        return self.error_rate if is_caught else 0.0

    def p_wrong(self) -> Array:
        """How likely each answer is wrong, if it may be asked for again; or else 0.

        Two answers that differ leave even odds, and a third one decides. Nothing is
        asked again once all is known and nobody was found to err.
        """
        if self.n_open == 0 and self.caught == 0:
            return np.zeros(len(self.pairs))
        rates, weights = self._rates()
        once = weights @ _first_wrong(rates, self.misfits)
        changed = self.misfits / (1 + self.misfits)
        is_open = (self.n_times == 1) | (self.is_changed & (self.n_times == 2))
        wrong = np.where(self.is_changed, changed, once)
        return np.where(is_open & ~self.is_left, wrong, 0.0)

    def _rates(self) -> tuple[Array, Array]:
        """Rates of errors, and how likely each is."""
        weights = self._tried()
        flip_rate = self._flip_rate(weights)
        if weights @ RATES < flip_rate:
            return np.array([flip_rate]), np.ones(1)
        return RATES, weights

    def _flip_rate(self, weights: Array) -> float:
        """The learner's rate, unless answers asked again speak against it.

        Truthful answers that features do not show surprise a belief as a coin's do. A
        coin's rate is given up after four or five answers that were repeated alike, one
        in ten after two dozen or more.
        """
        place = int(np.abs(RATES - self.flip_rate).argmin())
        is_refuted = STRONG * weights[place] < prior()[place]
        return 0.0 if is_refuted else self.flip_rate

    def _tried(self) -> Array:
        """How likely each of RATES is by the answers asked for again.

        A second answer is as the first if both are right or both wrong; and the less
        the first was to be expected, the more it says of the rate that it was repeated.
        """
        again = self.n_times > 1
        is_changed = self.is_changed[again]
        # Of an answer that was changed, the first was the other one.
        misfits = self.misfits[again] ** np.where(is_changed, -1, 1)
        wrong = _first_wrong(RATES, misfits)
        agrees = (1 - wrong) * (1 - RATES[:, None]) + wrong * RATES[:, None]
        likelihood = np.where(is_changed, 1 - agrees, agrees)  # (n_rates, n_again)
        log = np.log(prior()) + np.log(np.maximum(likelihood, 1e-9)).sum(axis=1)
        weights = np.exp(log - log.max())
        return np.asarray(weights / weights.sum())


def _first_wrong(rates: Array, misfits: Array) -> Array:
    """P(wrong) of answers given once, by the rate of errors: (n_rates, n)."""
    odds = (rates / (1 - rates))[:, None] * misfits
    return odds / (1 + odds)


def choose_questions(
    groups: Groups,
    n_pairs: int,
    closure: Closure,
    may_ask: Callable[[Pairs], Mask],
    again: tuple[Pairs, Array],
    caught: float = 0.0,
) -> Pairs:
    """The pairs worth most, none that the others could imply, best first.

    `again` are answers to ask for again, and what that is worth. No group known by
    answers is asked about twice, as far as there are others: an item is never asked
    against two groups of which only one can be its own. Where a share `caught` of the
    answers was found to be wrong, an answer leaves that much doubt.
    """
    pairs, gains = groups.doubts, groups.gains * (1 - caught / groups.doubt)
    is_open = may_ask(pairs)
    pairs = np.concatenate([again[0], pairs[is_open]])
    gains = np.r_[again[1], gains[is_open]]
    order = np.argsort(-gains, kind="stable")
    # A repeat is asked for what it is worth, not for want of others that fit a batch.
    order = order[(order >= len(again[0])) | (np.arange(len(order)) < n_pairs)]
    kept = _apart(pairs[order], order < len(again[0]), n_pairs, closure)
    return pairs[order][kept]


def doubted_answers(groups: Groups, given: Given) -> tuple[Pairs, Array]:
    """Answers that may be wrong, and what it is worth to ask for them again."""
    wrong = given.p_wrong()
    worth = wrong * _hanging(given, groups) ** REACH
    enough = SURE_ENOUGH if given.caught > 0 else UNTRIED
    kept = (wrong >= enough) & (worth > 0)
    return given.pairs[kept], worth[kept]


def _hanging(given: Given, groups: Groups) -> Array:
    """Pairs of items that would change sides if an answer was wrong."""
    i, j = given.pairs.T
    together = groups.labels[i] == groups.labels[j]
    is_join, is_split = together & (given.labels > 0), ~together & (given.labels < 0)
    hanging = np.zeros(len(given.pairs))
    hanging[is_join] = _swallowed(given.pairs[is_join], groups)
    hanging[is_split] = _split(given.pairs[is_split], given.families, groups)
    return hanging


def _split(splits: Pairs, families: Rows, groups: Groups) -> Array:
    """Pairs of items that hang on each split: none where other splits say the same.

    Where nothing else keeps two groups apart, these; or else those of a family, which
    answers have made one, and the other group.
    """
    labels = groups.labels
    sizes, members = np.bincount(labels), np.bincount(families)
    hanging = np.zeros(len(splits))
    i, j = splits.T
    lower, upper = np.sort(labels[splits], axis=1).T
    for one, other, size in (
        (lower, upper, sizes[lower]),
        (families[i], labels[j], members[families[i]]),
        (families[j], labels[i], members[families[j]]),
    ):
        only = _is_single(one * len(sizes) + other)
        hanging = np.maximum(hanging, np.where(only, size * sizes[other], 0))
    return hanging


def _is_single(numbers: Rows) -> Mask:
    """Which of the numbers come once."""
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] == 1)


def _swallowed(joins: Pairs, groups: Groups) -> Array:
    """Pairs of items that hang on each join: none where other joins say the same.

    Without it the group falls in two; the items that nobody asked about go with those
    that were, in equal shares.
    """
    below, whole = _cut(joins)
    asked = np.zeros(len(groups.labels), dtype=bool)
    asked[joins.ravel()] = True
    sizes = np.bincount(groups.labels)
    share = sizes / np.maximum(np.bincount(groups.labels, asked), 1)
    return np.asarray(below * (whole - below) * share[groups.labels[joins[:, 0]]] ** 2)


def _cut(joins: Pairs) -> tuple[Rows, Rows]:
    """Items on one side of each join if it were cut, 0 if other ways are left; and all.

    Joins are walked as trees; each further one marks the two ways from its ends to the
    root, and a join that no mark stays on is the only way.
    """
    linked: dict[int, list[tuple[int, int]]] = {}
    for row, (i, j) in enumerate(joins.tolist()):
        linked.setdefault(i, []).append((j, row))
        linked.setdefault(j, []).append((i, row))
    below, whole = np.zeros((2, len(joins)), dtype=np.intp)
    up: dict[int, tuple[int, int]] = {}  # by item: the one above it, and the join
    for root in linked:
        if root in up:
            continue
        up[root] = (root, -1)
        order = [root]
        for item in order:  # which grows
            for other, row in linked[item]:
                if other not in up:
                    up[other] = (item, row)
                    order.append(other)
        rows = np.unique([row for item in order for _, row in linked[item]])
        further = np.setdiff1d(rows, [up[item][1] for item in order])
        marks, sizes = dict.fromkeys(order, 0), dict.fromkeys(order, 1)
        for bit, row in enumerate(further.tolist()):
            for item in joins[row].tolist():
                marks[item] ^= 1 << bit
        for item in order[:0:-1]:
            above, row = up[item]
            sizes[above] += sizes[item]
            marks[above] ^= marks[item]
            below[row] = 0 if marks[item] else sizes[item]
        whole[rows] = len(order)
    return below, whole


def _apart(pairs: Pairs, is_again: Mask, n_pairs: int, closure: Closure) -> list[int]:
    """Places of the first pairs that do not touch each other, then of any others."""
    components, forest = closure.components(), Forest(closure)
    touched: set[int] = set()
    first: list[int] = []
    later: list[int] = []
    for place, (i, j) in enumerate(pairs.tolist()):
        if len(first) == n_pairs:
            break
        ends = {int(components[i]), int(components[j])}
        if ends & touched:
            later.append(place)
        elif is_again[place] or forest.join(i, j):
            first.append(place)
            touched |= ends
    for place in later:
        if len(first) == n_pairs:
            break
        if not is_again[place] and forest.join(*pairs[place].tolist()):
            first.append(place)
    return first
