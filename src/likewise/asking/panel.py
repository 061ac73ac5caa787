"""A few items drawn at random and sorted wholly, to tell how common "same" is.

What follows from the answers is known too, so that few answers tell as much of that
share as many about pairs drawn one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from likewise.asking.candidates import Pool
from likewise.asking.checks import MOST, STANDARD_ERROR, mixed
from likewise.model.calibration import Level
from likewise.pairs import draw_pairs

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Items = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Items of a panel: the share is known as closely as it is to be from fewer.
MOST_ITEMS = 100
# Before any answer: two groups to 300, each factor as likely, whose shares of the items
# follow a symmetric Dirichlet distribution with one of these parameters: from a few
# groups that have nearly all to nearly equal ones.
N_GROUPS = np.unique(np.geomspace(2.0, 300.0, 40).round())
EVENNESS = np.array([0.25, 1.0, 4.0, 16.0])
# Pairs drawn to tell what share of all a belief expects to be the same: by chance it
# is off by some .01, a fifth of what it is compared with is.
N_FOR_LEVEL = 1000


class Share(NamedTuple):
    """How common "same" is among all pairs, and how well that is known."""

    mean: float
    deviation: float


def share_by_groups(sizes: Array) -> Share:
    """The share of "same" among all items, by some of them that fell in such groups.

    Mean and deviation of sum p_g^2, p_g the shares of the groups: exact for each number
    of groups and evenness, and these are as likely as they make the groups seen.
    """
    n_groups, evenness = (each.ravel() for each in np.meshgrid(N_GROUPS, EVENNESS))
    n_seen, n_items, total = len(sizes), sizes.sum(), n_groups * evenness
    n_unseen = np.maximum(n_groups - n_seen, 0.0)
    log_weights = gammaln(n_groups + 1) - gammaln(n_unseen + 1)
    log_weights += gammaln(total) - gammaln(total + n_items)
    log_weights += (gammaln(sizes[:, None] + evenness) - gammaln(evenness)).sum(axis=0)
    log_weights[n_groups < n_seen] = -np.inf
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()

    def of_groups(moment: Callable[[Array], Array]) -> Array:
        seen = moment(sizes[:, None] + evenness).sum(axis=0)
        return np.asarray(seen + n_unseen * moment(evenness))

    # Two further items are of one group, or four in two pairs.
    total = total + n_items
    both, four = of_groups(_twice), of_groups(lambda a: _twice(a) * _twice(a + 2))
    squared = of_groups(lambda a: _twice(a) ** 2)
    mean = float(weights @ (both / _twice(total)))
    two_pairs = (four + both**2 - squared) / (_twice(total) * _twice(total + 2))
    return Share(mean, float(np.sqrt(max(weights @ two_pairs - mean**2, 0.0))))


def _twice(a: Array) -> Array:
    return a * (a + 1)


def panel_items(n_items: int, seed: int) -> Items:
    """The items of the panel, in their order, by the seed alone."""
    keys = mixed(np.arange(n_items, dtype=np.uint64), seed)
    first = np.argpartition(keys, min(MOST_ITEMS, n_items) - 1)[:MOST_ITEMS]
    return np.asarray(first[np.argsort(keys[first])])


@dataclass(frozen=True)
class Panel:
    """Items in their order, and what is known of their pairs."""

    items: Items  # (n_items,)
    relations: NDArray[np.int8]  # (n_items, n_items): +1, -1, or 0 where not known
    may_ask: Mask  # (n_items, n_items): which pairs may be asked

    @cached_property
    def _places(self) -> tuple[Items, Items]:
        """Places of items known of all before them, and of those that are to be asked.

        An item waits while it may be asked about with any that does not.
        """
        is_open = (self.relations == 0) & self.may_ask
        placed: list[int] = []
        waiting: list[int] = []
        for place in range(len(self.items)):
            (waiting if is_open[place, placed].any() else placed).append(place)
        return np.array(placed, np.intp), np.array(waiting, np.intp)

    def share(self) -> Share:
        """How common "same" is, by the items before the first one that waits.

        Of those after it the ones that are the same as others are known soonest.
        """
        placed, waiting = self._places
        placed = placed[placed < waiting.min(initial=len(self.items))]
        return share_by_groups(self._sizes(placed))

    def _sizes(self, places: Items) -> Array:
        """How many of these items each group has; those most in doubt are left out."""
        in_doubt = (self.relations[np.ix_(places, places)] == 0).sum(axis=1)
        groups: list[list[int]] = []
        for place in places[np.argsort(in_doubt, kind="stable")].tolist():
            relations = [self.relations[place, group] for group in groups]
            if all(each.all() and (each == each[0]).all() for each in relations):
                own = [group for group in groups if self.relations[place, group[0]] > 0]
                if own:
                    own[0].append(place)
                else:
                    groups.append([place])
        return np.array([len(group) for group in groups], float)

    def level(self, items: Pool, seed: int) -> Level | None:
        """How common "same" is, beside how common a belief takes it to be."""
        n_items = len(items.coordinates)
        if n_items < 2:
            return None
        pairs = draw_pairs(n_items, N_FOR_LEVEL, np.random.RandomState(seed))
        return Level(items.probability_same(pairs), *self.share())

    def n_wanted(self, n_asked: int, asked: Pairs) -> int:
        """How many of so many questions are for the panel, beyond those asked.

        None once the share is known; each may be for the panel or drawn at random.
        """
        if self.share().deviation <= STANDARD_ERROR:
            return 0
        waiting = self._places[1]
        among = self.items[: int(waiting[0]) + 1] if len(waiting) else self.items
        n_spent = int(np.isin(asked, among).all(axis=1).sum())
        return max(int(MOST * n_asked) - n_spent, 0)

    def questions(
        self,
        n_pairs: int,
        is_open: Callable[[Pairs], Mask],
        probability_same: Callable[[Pairs], Array],
    ) -> Pairs:
        """For so many items that wait, each and the one it is likeliest the same as."""
        found: list[Pairs] = []
        placed, waiting = self._places
        for place in waiting.tolist():
            if len(found) == n_pairs:
                break
            others = placed[placed < place]
            is_unknown = self.relations[place, others] == 0
            others = others[is_unknown & self.may_ask[place, others]]
            item = np.full(len(others), self.items[place])
            pairs = np.sort(np.column_stack([item, self.items[others]]), axis=1)
            if is_open(pairs).all():  # else somebody is asked about this item now
                found.append(pairs[np.argmax(probability_same(pairs))])
        return np.array(found, np.intp).reshape(-1, 2)
