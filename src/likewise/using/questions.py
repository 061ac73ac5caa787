"""Which pairs to ask about next, so that the items are sorted fastest."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise.asking.closure import Closure, Forest
from likewise.using.groups import REACH, Groups

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]

# How often an annotator is taken to err who was never caught, and how many answers
# confirmed when asked again it takes to halve that.
RARE_ERRORS, HALVED_AFTER = 0.05, 5


def choose_questions(
    groups: Groups,
    n_pairs: int,
    closure: Closure,
    may_ask: Callable[[Pairs], Mask],
    again: tuple[Pairs, Array],
) -> Pairs:
    """The pairs worth most, none that the others could imply, best first.

    `again` are answers to ask for again, and what that is worth. No group known by
    answers is asked about twice, as far as there are others: an item is never asked
    against two groups of which only one can be its own.
    """
    pairs, gains = groups.doubts, groups.gains
    is_open = may_ask(pairs)
    pairs = np.concatenate([again[0], pairs[is_open]])
    gains = np.r_[again[1], gains[is_open]]
    order = np.argsort(-gains, kind="stable")
    kept = _apart(pairs[order], order < len(again[0]), n_pairs, closure)
    return pairs[order][kept]


def error_rate(flip_rate: float, n_repeated: int) -> float:
    """How often answers are wrong, from those caught and those asked again."""
    return max(flip_rate, RARE_ERRORS * HALVED_AFTER / (HALVED_AFTER + n_repeated))


def doubted_joins(groups: Groups, once: Mask, rate: float) -> tuple[Pairs, Array]:
    """Answers "same", and what it is worth to ask for them again.

    `once` tells which of `groups.doubted` may be asked for again.
    """
    i, j = groups.doubted.T
    is_same = groups.labels[i] == groups.labels[j]
    joins, odds = groups.doubted[is_same], groups.misfits[is_same]
    wrong = rate * odds / (rate * odds + 1 - rate)
    worth = np.minimum(wrong, 1 - wrong) * _swallowed(joins, groups) ** REACH
    kept = once[is_same] & (worth > 0)
    return joins[kept], worth[kept]


def _swallowed(joins: Pairs, groups: Groups) -> Array:
    """Pairs of items that hang on each join: none where other joins say the same.

    Without it the group falls in two; the items that nobody asked about go with those
    that were, in equal shares.
    """
    linked: dict[int, set[int]] = {}
    for i, j in joins.tolist():
        linked.setdefault(i, set()).add(j)
        linked.setdefault(j, set()).add(i)
    asked = np.zeros(len(groups.labels), dtype=bool)
    asked[joins.ravel()] = True
    sizes = np.bincount(groups.labels)
    share = sizes / np.maximum(np.bincount(groups.labels, asked), 1)
    swallowed = np.zeros(len(joins))
    for row, (i, j) in enumerate(joins.tolist()):
        one, other = _reached(linked, i, j), _reached(linked, j, i)
        if j not in one:
            parts = len(one) * len(other) * share[groups.labels[i]] ** 2
            swallowed[row] = parts
    return swallowed


def _reached(linked: dict[int, set[int]], start: int, without: int) -> set[int]:
    """The items that joins lead to, the one between these two aside."""
    reached, waiting = {start}, [start]
    while waiting:
        item = waiting.pop()
        for other in linked[item]:
            is_left_out = item == start and other == without
            if other not in reached and not is_left_out:
                reached.add(other)
                waiting.append(other)
    return reached


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
