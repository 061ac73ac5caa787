"""Which pairs a metric learns classes from, and how much each counts. Pure.

Few items: all of their pairs. Many: pairs at random say how often "same" is at which
distance, pairs at the border between classes say which neighbours are classmates.
"""

import numpy as np
from numpy.typing import NDArray

from likewise.model.classes import Labelled, border_pairs
from likewise.model.climbing import MAX_PLACED
from likewise.model.fitting import Told
from likewise.model.priors import Frames, MatrixPrior
from likewise.pairs import pairs_from_classes

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Classes = NDArray[np.intp]

# Pairs of classes that are looked at where something else than classes makes the prior:
# all of them, or a sample of so many.
MAX_PAIRS = MAX_PLACED
# Up to so many pairs (35 items) all are looked at, and items have noise. With 40 items
# either way finds neighbours as well, and this one takes fifty times as long.
FEW_PAIRS = 600
# Of the pairs that are drawn from classes, what the rarer kind counts at least.
RARE = 0.05
# Pairs drawn at random, and items whose nearest of their own and of another class are
# looked at, where classes have made the prior: it has seen every item, and the pairs
# need only say how P(same) falls with distance, and where the prior errs. Twice as many
# measure alike and take five times as long.
N_RANDOM, MAX_BORDER = 300, 150


def has_many(classes: Classes) -> bool:
    """Whether classes should make the prior: for more pairs than a few, some same.

    Where items without a class have something to say, a few are more.
    """
    known = classes[classes >= 0]
    has_mates = bool((np.bincount(known) > 1).any())
    few = FEW_PAIRS if len(known) == len(classes) else MAX_PAIRS
    return has_mates and len(known) * (len(known) - 1) // 2 > few


def sample_pairs(
    classes: Classes, item_weights: Array, max_pairs: int, rng: np.random.RandomState
) -> Told:
    """All pairs of the items that have a class, or as many drawn at random.

    The sample has as many same as different pairs, as far as there are any; they are
    weighed back to how often either is.
    """
    known = np.flatnonzero(classes >= 0)
    classes, item_weights = classes[known], item_weights[known]
    n_items = len(classes)
    pairs, labels = pairs_from_classes(classes, max_pairs, rng)
    weights = item_weights[pairs].prod(axis=1)
    if len(pairs) < n_items * (n_items - 1) // 2:
        weights = _weighed_back(weights, labels, classes, item_weights)
    return _told(known[pairs], labels, weights, is_chosen=False)


def draw_pairs(
    frames: Frames, classes: Classes, item_weights: Array, rng: np.random.RandomState
) -> Told:
    """Pairs at random and at the border, for a prior that classes have made.

    Items are fewer than their pairs: together the random pairs count no more often than
    there are items, nor do those at the border, which have a threshold of their own:
    they were chosen by their label.
    """
    (prior,) = frames.priors.values()
    assert isinstance(prior, MatrixPrior)
    known = np.flatnonzero(classes >= 0)
    items = Labelled(frames.coordinates, classes, item_weights).at(known)
    root = prior.frame * np.sqrt(prior.centre)
    pairs, labels = border_pairs(items, root, MAX_BORDER, rng)
    weights = items.weights[pairs].prod(axis=1)
    border = _told(known[pairs], labels, weights, is_chosen=True)
    parts = sample_pairs(classes, item_weights, N_RANDOM, rng), border
    tempered = [_tempered(part, float(items.weights.sum())) for part in parts]
    certain = [each[:4] for each in tempered]
    return Told(*map(np.concatenate, zip(*certain, strict=True)))


def _told(pairs: Pairs, labels: Array, weights: Array, *, is_chosen: bool) -> Told:
    return Told(pairs, (labels + 1) / 2, weights, np.full(len(pairs), is_chosen))


def _tempered(told: Told, n_items: float) -> Told:
    """The same pairs, which count no more often together than there are items."""
    share = n_items / max(float(told.weights.sum()), np.finfo(float).tiny)
    return told._replace(weights=told.weights * min(1.0, share))


def _weighed_back(
    weights: Array, labels: Array, classes: Classes, item_weights: Array
) -> Array:
    """Weights of drawn pairs, with the share of "same" that all pairs have.

    The rarer kind keeps a share of RARE: without it there is nothing to learn.
    """
    of_classes = np.bincount(classes, item_weights)
    by_itself = float(item_weights @ item_weights)
    everything = float(item_weights.sum()) ** 2 - by_itself
    share = (float(of_classes @ of_classes) - by_itself) / everything
    share = min(max(share, RARE), 1 - RARE)
    drawn = float(weights[labels > 0].sum() / weights.sum())
    if not 0 < drawn < 1:
        return weights
    factors = np.where(labels > 0, share / drawn, (1 - share) / (1 - drawn))
    return np.asarray(weights * factors)
