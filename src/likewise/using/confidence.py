"""How sure the groups are: the share of items in their right group, and each item's.

Right is an item whose group, as well as groups found and true ones can be matched one
to one, is the true one. The weights are fitted to 70 data sets (docs/groups.md).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What the log odds of the share rest on: a constant and the four of `Signs.features`.
SHARE = np.array([-0.70, 0.76, 1.78, 2.76, -46.4])
# 90% of data sets, each left out in turn, lay within this far below and above, in log
# odds.
BELOW, ABOVE = 1.6, 2.35
# How far an item is surer for each unit of its margin, and for having been asked about.
MARGIN, ASKED = 0.8, 0.9
MARGINS = (-2.0, 4.0)  # larger ones tell no more
NO_DISTANCE, NO_END = 1e-9, 1e9  # squared distances are kept between these
SMALL, TINY = 5, 2  # items of a group that is small, or hardly a group
# A slope below 2 is a flat one, and below 1.5 as good as none.
FLAT = (0.0, 0.3)


@dataclass(frozen=True)
class Signs:
    """What tells how well items are sorted."""

    agreement: float  # the adjusted Rand index that is expected
    steepness: float  # the logarithm of the slope of the curve of joins
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

        The agreement expected; how near other groups are; and whether cost tells right
        joins from wrong ones where groups are small: in a steep curve small groups are
        families, in a flat one they are what is left of larger groups.
        """
        agreement = np.clip(self.agreement, 0.01, 0.99)
        flatness = np.clip(np.log(2) - self.steepness, *FLAT)
        return np.array(
            [
                1.0,
                logit(agreement),
                np.quantile(self.margins(), 0.25),
                np.mean(self.sizes <= SMALL) * self.steepness,
                np.mean(self.sizes <= TINY) * flatness,
            ]
        )

    def share(self) -> float:
        """The expected share of items in their right group."""
        return float(expit(self.features() @ SHARE))

    def confidence(self, share: float, asked: Mask) -> Array:
        """The probability that each item is right; their mean is the share."""
        odds = MARGIN * self.margins() + ASKED * asked

        def excess(level: float) -> float:
            return float(expit(level + odds).mean()) - share

        level = brentq(excess, -50.0, 50.0)
        return np.asarray(expit(level + odds))


def share_interval(share: float, n_items: int) -> tuple[float, float]:
    """90% of the share of items in their right group, by how data sets differ."""
    if share == 1:
        return 1.0, 1.0
    low, high = expit(logit(share) + np.array([-BELOW, ABOVE]))
    # Less than half an item short of all is all.
    return float(low), 1.0 if high > 1 - 0.5 / n_items else float(high)
