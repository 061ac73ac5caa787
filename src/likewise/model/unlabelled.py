"""Metrics learned from the items alone: no label, no answer.

Three ways to measure items (as they are given, each feature alike, each direction
alike), and what neighbours say beyond that, at short and at long range. Where they say
no more than they would by chance, the way to measure is left as it is.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likewise.model import matrix
from likewise.model.basis import Basis
from likewise.model.surroundings import Surroundings, nearest, surround

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
# Items where distances are measured, and whitened: second moments of the smoothed
# items, and the share of them that is chance.
Smooth = Callable[[Array, Array], tuple[Array, float]]

# Neighbours an item is smoothed over; 6 to 15 have as much evidence (docs/math.md).
N_NEIGHBOURS = 10
# Rounds in which neighbours are found anew in the metric that came out.
NEAR_ROUNDS, FAR_ROUNDS = 3, 6
# Steps of the walk at long range, over neighbours of neighbours of neighbours.
FAR_STEPS = 3
# Whitening divides by variances; this share of their mean is added to each first, for
# a variance near zero is not known that well.
RIDGE = 0.1
# Items that take part at long range, where groups are large enough to be sampled.
MAX_WALKED = 4_000


def standard_metric(basis: Basis, deviations: Array) -> Array:
    """Squared distance with each feature divided by its deviation.

    A feature that does not vary has an infinite deviation and counts for nothing.
    """
    # The directions are orthogonal: their inverse is their transpose, scaled. Their
    # squares may leave the range of floats: divide first. Where the items do not vary
    # there may be no direction at all.
    size = float(np.abs(basis.directions).max()) or 1.0
    directions = basis.directions / size
    lengths = np.einsum("ij,ij->j", directions, directions)
    lengths = np.where(lengths > 0, lengths, 1.0)
    features = (directions / lengths).T / (size * deviations)
    return np.asarray(features @ features.T)


def white_metric(coordinates: Array) -> Array:
    """Squared distance with each direction divided by its deviation.

    The covariance is Ledoit and Wolf's: as sure of each variance as the items allow.
    """
    covariance = shrunk_covariance(coordinates - coordinates.mean(axis=0))
    values, vectors = np.linalg.eigh(covariance)
    # Items that do not vary have no deviation to divide by.
    lowest = values.max() * np.finfo(float).eps or 1.0
    values = np.maximum(values, lowest)
    return np.asarray((vectors / values) @ vectors.T)


def shrunk_covariance(centred: Array) -> Array:
    """Ledoit and Wolf's covariance of items around zero."""
    covariance = np.dot(centred.T, centred) / len(centred)
    shrinkage = matrix.ledoit_wolf_shrinkage(centred, covariance)
    mean = np.trace(covariance) / len(covariance)
    covariance = (1 - shrinkage) * covariance
    covariance[np.diag_indices_from(covariance)] += shrinkage * mean
    return np.asarray(covariance)


def near_metric(
    coordinates: Array,
    item_weights: Array,
    rng: np.random.RandomState,
    around: Surroundings | None = None,
) -> Array:
    """What the nearest neighbours of an item agree on: for groups of any size.

    Chance is Ledoit and Wolf's shrinkage: how much of what sets directions apart would
    be otherwise for other items, given how few neighbourhoods are independent.
    `around` holds items beyond those given, where these are a sample.
    """
    if around is None:
        around = surround(coordinates, item_weights, rng)
    rows, weights = around.rows, around.weights

    def smooth(mapped: Array, white: Array) -> tuple[Array, float]:
        walk = _step(around.nearest(mapped, N_NEIGHBOURS), len(mapped))
        means = walk @ white
        means = means - _mean(means, weights)
        scatter = means.T @ means / len(means)
        chance = matrix.ledoit_wolf_shrinkage(means, scatter)
        return _moments(means, weights), chance * len(rows) / _n_independent(walk)

    return _refined(coordinates, item_weights, around.items, smooth, NEAR_ROUNDS)


def far_metric(
    coordinates: Array, item_weights: Array, rng: np.random.RandomState
) -> Array:
    """What a walk over neighbours leaves in place: for a few large groups.

    Chance is what the same walk leaves in a cloud of one Gaussian, which has no groups.
    """
    rows = rng.permutation(len(coordinates))[:MAX_WALKED]
    coordinates, item_weights = coordinates[rows], item_weights[rows]
    cloud, whitening = (
        make(coordinates, item_weights) for make in (_cloud, _whitening)
    )
    chance: list[float] = []

    def smooth(mapped: Array, white: Array) -> tuple[Array, float]:
        moments = _walked(mapped, white, item_weights)
        if not chance:
            by_chance = _walked(cloud, cloud @ whitening, item_weights)
            chance.append(float(np.trace(by_chance) / np.trace(moments)))
        return moments, chance[0]

    return _refined(coordinates, item_weights, coordinates, smooth, FAR_ROUNDS)


def neighbour_distance(around: Surroundings, root: Array) -> float:
    """Mean squared distance of an item to the one nearest to it; 0 for one alone.

    Measured after `root`.
    """
    if len(around.items) < 2:
        return 0.0
    mapped = around.items @ root
    gaps = mapped[around.rows] - mapped[around.nearest(mapped, 1)[:, 0]]
    return float(np.einsum("ij,ij->", gaps, gaps) / len(around.rows))


def metric_root(metric: Array) -> Array:
    """A map after which Euclidean distance is the metric."""
    values, vectors = np.linalg.eigh(metric)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def distance_root(metric: Array) -> Array:
    """The same by a triangle where there is one, which takes a tenth of the time."""
    try:
        return np.asarray(np.linalg.cholesky(metric))
    except np.linalg.LinAlgError:
        return metric_root(metric)


def scaled_metric(metric: Array, coordinates: Array, item_weights: Array) -> Array:
    """The metric in the unit in which the mean squared distance of the items is 1."""
    return _scaled(metric, item_covariance(coordinates, item_weights))


def item_covariance(coordinates: Array, item_weights: Array) -> Array:
    """Covariance of the items."""
    centred = coordinates - _mean(coordinates, item_weights)
    degrees = max(float(item_weights.sum()) - 1, 1.0)
    return np.asarray(_moments(centred, item_weights) * item_weights.sum() / degrees)


def _scaled(metric: Array, covariance: Array) -> Array:
    return metric / (2 * float(np.vdot(metric, covariance)) or 1.0)


def _refined(
    coordinates: Array,
    item_weights: Array,
    smoothed: Array,
    smooth: Smooth,
    n_rounds: int,
) -> Array:
    """Unit distance, blended with what neighbours agree on as far as it is not chance.

    Whiten the items, smooth them over their neighbours, and weigh each direction by the
    share of its variance that is left. Neighbours are found in the coordinates first,
    then anew in the metric that came out.
    """
    covariance = item_covariance(coordinates, item_weights)
    unit = _scaled(np.eye(coordinates.shape[1]), covariance)
    if len(coordinates) <= N_NEIGHBOURS + 1 or (coordinates == coordinates[0]).all():
        return unit  # every item is every other's neighbour
    whitening = _whitening(coordinates, item_weights)
    white, metric = smoothed @ whitening, unit
    for _ in range(n_rounds):
        moments, chance = smooth(smoothed @ distance_root(metric), white)
        if chance >= 1:
            return unit
        shares, vectors = np.linalg.eigh(moments)
        agreement = matrix.agreement_weights(np.clip(shares, 0.0, 1.0))
        factor = whitening @ (vectors * np.sqrt(agreement))
        found = _scaled(factor @ factor.T, covariance)
        metric = chance * unit + (1 - chance) * found
    return metric


def _whitening(coordinates: Array, item_weights: Array) -> Array:
    """A map to coordinates whose second moments are the identity, nearly."""
    moments = _moments(coordinates - _mean(coordinates, item_weights), item_weights)
    size = len(moments)
    ridge = RIDGE * np.trace(moments) / size or 1.0
    values, vectors = np.linalg.eigh(moments + ridge * np.eye(size))
    return np.asarray(vectors / np.sqrt(values))


def _cloud(coordinates: Array, item_weights: Array) -> Array:
    """As many items of one Gaussian with the items' covariance.

    Drawn from a source that knows their number only: a metric depends on its items.
    """
    rng = np.random.RandomState(coordinates.shape)
    centred = coordinates - _mean(coordinates, item_weights)
    root = metric_root(_moments(centred, item_weights))
    return np.asarray(rng.standard_normal(coordinates.shape) @ root.T)


def _walked(mapped: Array, white: Array, item_weights: Array) -> Array:
    """Second moments of the items after a walk over the graph of neighbours."""
    walk, smooth = _walk(mapped), white
    for _ in range(FAR_STEPS):
        smooth = walk @ smooth
    return _moments(smooth - _mean(smooth, item_weights), item_weights)


def _walk(mapped: Array) -> csr_array:
    """One step of a random walk: to any neighbour, as likely as another.

    Two items are neighbours if either is among the other's nearest.
    """
    n_items = len(mapped)
    found = nearest(mapped, np.arange(n_items), N_NEIGHBOURS)
    starts = np.repeat(np.arange(n_items), found.shape[1])
    ends = found.ravel()
    edges = np.unique(np.r_[starts * n_items + ends, ends * n_items + starts])
    starts, ends = np.divmod(edges, n_items)
    n_edges = np.bincount(starts, minlength=n_items)
    shares = (1.0 / np.maximum(n_edges, 1))[starts]
    steps = (shares, ends, np.r_[0, np.cumsum(n_edges)])
    return csr_array(steps, shape=(n_items, n_items))


def _step(found: Rows, n_items: int) -> csr_array:
    """From each row to its nearest items, as likely one as another."""
    n_rows, n_nearest = found.shape
    shares = np.full(found.size, 1 / n_nearest)
    starts = np.arange(0, found.size + 1, n_nearest)
    return csr_array((shares, found.ravel(), starts), shape=(n_rows, n_items))


def _n_independent(walk: csr_array) -> float:
    """As many independent rows have as noisy a covariance as these smoothed ones."""
    shared = walk @ walk.T
    return float(shared.diagonal().sum() ** 2 / (shared.data**2).sum())


def _mean(mapped: Array, item_weights: Array) -> Array:
    return np.asarray(item_weights @ mapped / item_weights.sum())


def _moments(mapped: Array, item_weights: Array) -> Array:
    weighed = mapped * (item_weights / item_weights.sum())[:, None]
    return np.asarray(weighed.T @ mapped)
