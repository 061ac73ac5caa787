"""How sure the groups are: the share of items in their right group, and each item's.

Right is an item whose group, as well as groups found and true ones can be matched one
to one, is the true one. The weights are fitted to 78 data sets (docs/groups.md).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from likewise.asking.candidates import row_blocks
from likewise.threads import over_blocks

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What the log odds of the share rest on: a constant and those of `Signs.features`.
SHARE = np.array([-0.27, 0.69, 1.80, -41.1, 0.43, 1.32, 0.72])
# 90% of data sets, each left out in turn, lay within this far below and above, in log
# odds.
BELOW, ABOVE = 1.25, 2.0
# How far an item is surer for each unit of its margin, and for having been asked about.
MARGIN, ASKED = 0.8, 0.9
MARGINS = (-2.0, 4.0)  # larger ones tell no more
NO_DISTANCE, NO_END = 1e-9, 1e9  # squared distances are kept between these
SMALL, TINY = 5, 2  # items of a group that is small, or hardly a group
# A slope below 2 is a flat one, and below 1.5 as good as none.
FLAT = (0.0, 0.3)
# Items whose nearest one is looked for: the share of them is known to .015.
N_TRIED = 1_000
# Costs of joins are compared over numbers of groups that differ by this factor.
WINDOW = 1.4


@dataclass(frozen=True)
class Signs:
    """What tells how well items are sorted."""

    agreement: float  # the adjusted Rand index that is expected
    steepness: float  # the logarithm of the slope of the curve of joins
    fit: float  # mean log P of the answers, each by the curve of the others
    knee: float  # see the function of this name
    own_nearest: float  # share of items whose nearest one is in their group
    near: Array  # (n_items, 2): squared distance to the nearest own and other piece
    sizes: NDArray[np.intp]  # (n_items,): of the group that each item is in

    def margins(self) -> Array:
        """How much farther another group is than the own one, (n_items,).

        An item alone is its own centre, which says nothing.
        """
        own, other = np.clip(self.near, NO_DISTANCE, NO_END).T
        margins = np.clip(np.log(other / own), *MARGINS)
        return np.where(self.sizes == 1, 0.0, margins)

    def features(self) -> Array:
        """What the share rests on.

        The agreement expected; and whether cost tells right joins from wrong ones where
        groups are small: in a steep curve small groups are families, in a flat one they
        are what is left of larger groups. Then how well nearest items, answers and the
        costs of joins bear the groups out.
        """
        agreement, nearest = np.clip([self.agreement, self.own_nearest], 0.01, 0.99)
        flatness = np.clip(np.log(2) - self.steepness, *FLAT)
        return np.array(
            [
                1.0,
                logit(agreement),
                np.mean(self.sizes <= SMALL) * self.steepness,
                np.mean(self.sizes <= TINY) * flatness,
                logit(nearest),
                self.fit,
                self.knee,
            ]
        )

    def share(self) -> float:
        """The expected share of items in their right group: one of them at least."""
        return max(float(expit(self.features() @ SHARE)), 1 / len(self.sizes))

    def confidence(self, share: float, asked: Mask) -> Array:
        """The probability that each item is right; their mean is the share."""
        odds = MARGIN * self.margins() + ASKED * asked

        def excess(level: float) -> float:
            return float(expit(level + odds).mean()) - share

        level = brentq(excess, -50.0, 50.0)
        return np.asarray(expit(level + odds))


def own_nearest(space: Array, labels: NDArray[np.intp]) -> float:
    """The share of items whose nearest one is in their group; of some of them."""
    if len(space) < 2:
        return 1.0
    space = (space - space.mean(axis=0)).astype(np.float32)
    squares = np.einsum("ij,ij->i", space, space)
    tried = np.arange(0, len(space), -(-len(space) // N_TRIED))
    is_own = np.empty(len(tried), dtype=bool)

    def work(block: slice) -> None:
        rows = tried[block]
        squared = squares - 2 * space[rows] @ space.T
        squared[np.arange(len(rows)), rows] = np.inf
        is_own[block] = labels[squared.argmin(axis=1)] == labels[rows]

    over_blocks(work, row_blocks(len(tried), len(space)))
    return float(is_own.mean())


def knee(costs: Array, n_groups: int) -> float:
    """How far costs jump where joining stopped, beyond how they rise before and after.

    The mean log cost of the joins that led to so many groups, and of the next ones,
    over a stretch in which the number of groups falls by a factor; 0 where the
    stretches hold no join.
    """
    x = np.log(np.maximum(np.sort(costs), NO_DISTANCE))
    left = np.arange(len(x), 0, -1)  # groups after each join
    edges = n_groups * WINDOW ** np.array([2.0, 1.0, 0.0, -1.0, -2.0])
    means = [
        x[(left < more) & (left >= fewer)].mean()
        if ((left < more) & (left >= fewer)).any()
        else np.nan
        for more, fewer in pairwise(edges)
    ]
    before, jump, after = np.diff(means)
    around = [rise for rise in (before, after) if np.isfinite(rise)]
    if not np.isfinite(jump):
        return 0.0
    return float(jump - np.mean(around)) if around else float(jump)


def share_interval(share: float, n_items: int) -> tuple[float, float]:
    """90% of the share of items in their right group, by how data sets differ."""
    if share == 1:
        return 1.0, 1.0
    low, high = expit(logit(share) + np.array([-BELOW, ABOVE]))
    # Less than half an item short of all is all, and one item is always right.
    return max(float(low), 1 / n_items), 1.0 if high > 1 - 0.5 / n_items else float(
        high
    )
