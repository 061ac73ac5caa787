"""Groups: every item sorted, the answers respected, the number of groups found.

Items are joined in the mean metric, cheapest first (joining.py). The answers say how
likely a join of some cost is right; of all places to stop, that of the highest
expected agreement with the truth is taken. docs/groups.md has the figures.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.asking.verdicts import Estimate
from likewise.errors import InputError
from likewise.pairs import check_labels, check_pairs
from likewise.threads import one_thread
from likewise.using.confidence import Signs, knee, own_nearest, share_interval
from likewise.using.decisions import NO_COST, JoinCurve, walk
from likewise.using.joining import Joining, Joins
from likewise.using.known import Known, believed
from likewise.using.moving import moved, scaled

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]

# A question about two pieces is worth its doubt times the pairs of items between them
# to this power: at 1 the last doubt about large pieces is asked before small ones are
# looked at, at 0.6 small ones come too early (docs/groups.md).
REACH = 0.8
N_DOUBTS = 2_000  # questions kept, best first
# Sorting may stop when this share of the items should be in their right group; an item
# is in doubt below this confidence.
ENOUGH_SORTED, DOUBTFUL = 0.98, 0.9


@dataclass(frozen=True)
class Groups:
    """Items sorted into groups, and how sure that is."""

    labels: NDArray[np.int64]  # (n_items,): 0 is the largest group
    confidence: Array  # (n_items,): probability that an item is in its right group
    share_right: float  # expected share of items in their right group
    interval: tuple[float, float]  # 90% of it
    doubts: Pairs  # (n, 2): the pairs that would change most if answered, best first
    gains: Array  # (n,): what each is worth
    doubt: Array  # (n,): how likely it is not as the groups have it
    disbelieved: list[tuple[int, int, int]]  # answers that contradict believed ones
    spread: Array  # (n_items,): squared distance of an item to the centre of its piece

    @property
    def n_groups(self) -> int:
        """How many groups were found."""
        return int(self.labels.max(initial=-1)) + 1

    def members(self, group: int) -> Rows:
        """The items of a group, the most typical first."""
        if not 0 <= group < self.n_groups:
            raise InputError(
                f"'group' must be from 0 to {self.n_groups - 1}. Got {group}."
            )
        rows = np.flatnonzero(self.labels == group)
        return rows[np.argsort(self.spread[rows], kind="stable")]

    def __str__(self) -> str:
        low, high = self.interval
        text = (
            f"{_in_words(self.n_groups)} of {len(self.labels):,} items; "
            f"in their right group: {self.share_right:.0%} ({low:.0%} to {high:.0%})."
        )
        if self.disbelieved:
            n_out = len(self.disbelieved)
            text += f" {n_out} of the answers contradict others and are not believed."
        return text


def group(
    belief: Any, X: ArrayLike, known_pairs: tuple[ArrayLike, ArrayLike] | None = None
) -> Groups:
    """Sort items into groups by a learned metric and known pairs.

    Parameters
    ----------
    belief : BayesianMetric or Belief
        A fitted metric; or a belief, with X in the coordinates of its basis.
    X : array of shape (n_items, n_features)
    known_pairs : tuple of pairs and labels, optional
        What is known of pairs of rows of X: (n, 2) and +1 or -1, or `KnownPairs`.

    Examples
    --------
    >>> from likewise import BayesianMetric
    >>> from likewise.using.groups import group
    >>> X = np.array([[0.0, 5.0], [0.1, 1.0], [3.0, 4.9], [3.1, 1.2]])
    >>> metric = BayesianMetric().fit_pairs(X, [[0, 1], [0, 2]], [1, -1])
    >>> group(metric, X, ([[0, 1], [0, 2], [2, 3]], [1, -1, 1])).labels
    array([0, 0, 1, 1])
    """
    if hasattr(belief, "basis_"):
        coordinates = belief.basis_.project(np.asarray(X, dtype=float))
        belief = belief.posterior_
    else:
        coordinates = np.asarray(X, dtype=float)
    told: tuple[ArrayLike, ArrayLike] = ((), ()) if known_pairs is None else known_pairs
    pairs = check_pairs(told[0], len(coordinates))
    labels = check_labels(told[1], len(pairs)).astype(int)
    with one_thread():  # and blocks side by side, wherever there are many
        space = scaled(coordinates @ belief.root().T)
        known = believed(pairs, labels, space)
        order, place = _own_order(space)
        sorted_known = Known(
            np.sort(place[known.pairs], axis=1), known.labels, known.disbelieved
        )
        return _unsorted(_sort_out(space[order], sorted_known), order, place)


def _own_order(space: Array) -> tuple[Rows, Rows]:
    """An order that items have whatever order they are given in; the place of each.

    Joins of equal cost are made in the order of rows. The last number decides, and the
    others only where it is equal.
    """
    last = space[:, -1]
    order = np.argsort(last, kind="stable")
    is_next = np.diff(last[order]) == 0
    if is_next.any():
        equal = np.append(is_next, False) | np.append(False, is_next)
        rows = order[equal]
        order[equal] = rows[np.lexsort(space[rows].T)]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return order, place


class Untaught:
    """The items as they would be joined before any answer: made once, then asked."""

    def __init__(self, belief: Any, coordinates: Array) -> None:
        with one_thread():
            space = scaled(coordinates @ belief.root().T)
            order, self._place = _own_order(space)
            families = np.arange(len(space))
            nothing = np.empty((0, 2), dtype=np.intp)
            self._joins = Joining(space[order], families, nothing).free()

    def misfits(self, pairs: Pairs, labels: NDArray[np.int64]) -> Array:
        """How ill each answer fits: P(wrong) is e times that where e is small.

        A belief that has learned from a wrong answer finds it right: this one has not.
        """
        heights = self._joins.heights(np.sort(self._place[pairs], axis=1))
        p_label = JoinCurve(heights, labels).left_out(heights, labels)
        return np.asarray((1 - p_label) / p_label)


def _sort_out(space: Array, known: Known) -> Groups:
    """Groups of items in the order of their rows."""
    n_items = len(space)
    families, apart = known.families(n_items)
    joining = Joining(space, families, apart)
    free = joining.free()
    heights = free.heights(known.pairs)
    curve = JoinCurve(heights, known.labels)
    asked = np.zeros(n_items, dtype=bool)
    asked[known.pairs.ravel()] = True
    joins = joining.held()
    decisions = walk(joins, families, curve.probability(joins.costs))
    n_joins, agreement = decisions.stop(n_items)
    labels = decisions.labels(families, n_joins)
    # All joins of one family's pieces, up to the first that was not made.
    pieces = joins.tops(decisions.until(n_joins))
    labels, near, whitened = moved(space, labels, pieces, asked)
    share, confidence = 1.0, np.ones(n_items)
    if len(decisions.steps) > 0:  # or else nothing is left to decide
        signs = Signs(
            agreement,
            curve.steepness(),
            curve.fit(heights, known.labels),
            knee(free.costs, len(np.unique(labels))),
            own_nearest(whitened, labels),
            near,
            np.bincount(labels)[labels],
        )
        share = signs.share()
        confidence = signs.confidence(share, asked)
    p_right = curve.probability(joins.costs, joins.rivals)[decisions.steps]
    doubts, gains, doubt = _doubts(space, joins, decisions.steps, p_right, asked)
    return Groups(
        _largest_first(labels),
        confidence,
        share,
        share_interval(share, n_items),
        doubts,
        gains,
        doubt,
        known.disbelieved,
        near[:, 0],
    )


def _unsorted(groups: Groups, order: Rows, place: Rows) -> Groups:
    """The same groups for items in the order in which they were given."""
    labels = groups.labels[place]
    return Groups(
        _largest_first(labels),
        groups.confidence[place],
        groups.share_right,
        groups.interval,
        np.sort(order[groups.doubts], axis=1),
        groups.gains,
        groups.doubt,
        groups.disbelieved,
        groups.spread[place],
    )


def _largest_first(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Groups by their size, those of one size by their first item."""
    _, first, inverse, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return np.asarray(rank[inverse.ravel()])


@dataclass(frozen=True)
class GroupVerdict:
    """Whether to stop, why, and how much is probably sorted right."""

    stop: bool
    reason: str
    sorted_right: Estimate  # share of items in their right group

    @property
    def figure(self) -> Estimate:
        """The figure to show first."""
        return self.sorted_right

    @property
    def words(self) -> str:
        """The verdict for people, the figure aside."""
        return f"{'Stop' if self.stop else 'Go on'}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.words} Items in their right group: {self.sorted_right}."


def judge_groups(groups: Groups) -> GroupVerdict:
    """Decide from how much is sorted right, and whether a question is left."""
    n_left, share = len(groups.doubts), groups.share_right
    found = _in_words(groups.n_groups)
    if n_left == 0:
        stop, reason = True, f"{found}, and every pair is known."
    elif share >= ENOUGH_SORTED:
        stop, reason = True, f"{found}, and hardly an item is in doubt."
    else:
        n_doubtful = int((groups.confidence < DOUBTFUL).sum())
        stop, reason = False, f"{found}, and {n_doubtful:,} items are in doubt."
    return GroupVerdict(stop, reason, Estimate(share, *groups.interval))


def _in_words(n_groups: int) -> str:
    return "1 group" if n_groups == 1 else f"{n_groups:,} groups"


def _doubts(
    space: Array, joins: Joins, steps: Rows, p_right: Array, asked: Mask
) -> tuple[Pairs, Array, Array]:
    """For each decision a pair that settles it, those worth most first.

    Two pieces are asked about by an item of each: one that was asked about before, for
    answers about it say more, or else the one nearest the centre.
    """
    n_items = len(space)
    centres, sizes = _piece_centres(space, joins)
    chosen = joins.pieces[steps]
    doubt = np.clip(np.minimum(p_right, 1 - p_right), NO_COST, None)
    gains = doubt * sizes[chosen].prod(axis=1) ** REACH
    best = np.argsort(-gains, kind="stable")[:N_DOUBTS]
    under = _Under(joins)
    pairs = [
        [_speaker(space, under.items(piece), centres[piece], asked) for piece in both]
        for both in chosen[best].tolist()
    ]
    found = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    assert (found < n_items).all()
    return np.sort(found, axis=1), gains[best], doubt[best]


def _piece_centres(space: Array, joins: Joins) -> tuple[Array, Array]:
    n_items, n_joins = len(space), len(joins.pieces)
    centres = np.vstack([space, np.zeros((n_joins, space.shape[1]))])
    sizes = np.r_[np.ones(n_items), np.zeros(n_joins)]
    for made, (a, b) in enumerate(joins.pieces.tolist(), n_items):
        sizes[made] = sizes[a] + sizes[b]
        share = sizes[b] / sizes[made]
        centres[made] = centres[a] + share * (centres[b] - centres[a])
    return centres, sizes


class _Under:
    """The items of each piece: a stretch of one order of all items."""

    def __init__(self, joins: Joins) -> None:
        n_items, n_joins = joins.n_items, len(joins.pieces)
        sizes = np.r_[np.ones(n_items, np.intp), np.zeros(n_joins, np.intp)]
        for made, (a, b) in enumerate(joins.pieces.tolist(), n_items):
            sizes[made] = sizes[a] + sizes[b]
        starts = np.full(n_items + n_joins, -1)
        end = 0
        for piece in range(n_items + n_joins - 1, -1, -1):
            if starts[piece] < 0:  # in no larger piece
                starts[piece], end = end, end + sizes[piece]
            if piece >= n_items:
                a, b = joins.pieces[piece - n_items]
                starts[a], starts[b] = starts[piece], starts[piece] + sizes[a]
        self._order = np.empty(n_items, dtype=np.intp)
        self._order[starts[:n_items]] = np.arange(n_items)
        self._starts, self._sizes = starts, sizes

    def items(self, piece: int) -> Rows:
        start = self._starts[piece]
        return self._order[start : start + self._sizes[piece]]


def _speaker(space: Array, items: Rows, centre: Array, asked: Mask) -> int:
    """The item that stands for a piece."""
    if len(items) == 1:
        return int(items[0])
    if asked[items].any():
        items = items[asked[items]]
    gaps = space[items] - centre
    return int(items[np.einsum("ij,ij->i", gaps, gaps).argmin()])
