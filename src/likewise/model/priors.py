"""The metric before any answer: Euclidean, or learned from the items' neighbours.

Knows items and coordinates, never labels.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likewise.model import matrix
from likewise.model.basis import Basis

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

PRIORS = ("unit", "unlabelled")
# Neighbours are found among all items up to this many, then among so many drawn.
MAX_ITEMS = 20_000
N_NEIGHBOURS = 10
N_STEPS = 3
N_ROUNDS = 6
BLOCK_ROWS = 512
# Whitening divides by variances; this share of their mean is added first.
RIDGE = 0.1
# Rounds after which units are compared by how far neighbours agree.
N_ROUNDS_COMPARED = 2


@dataclass(frozen=True)
class WeightPrior:
    """Independent Gaussians over the threshold and one weight a basis vector: (7)."""

    mean: Array  # (1 + n_basis,)
    precision: Array  # (1 + n_basis,)

    def with_precisions(self, precisions: Array) -> Self:
        """The same prior, held as firmly as the one number says: delta."""
        return replace(self, precision=np.full(len(self.mean), precisions[0]))


@dataclass(frozen=True)
class MatrixPrior:
    """Gaussian over the whole matrix: scale * centre + free matrix, and a threshold.

    The scale of the centre is most likely positive, as a metric's must be; evidence
    over eighteen data sets chose its mean and deviation, and the threshold's
    (docs/design-notes.md). `precision` says how firmly the free matrix is held at zero.
    Items lie where their features say, give or take `item_noise`.
    """

    centre: Array  # (n_basis,): the diagonal of A_0, which has nothing beside it
    mean: float  # gamma_0
    precision: float  # delta
    item_noise: float = 0.0  # nu: how far items' features may mislead

    @property
    def threshold(self) -> tuple[float, float]:
        """Mean and deviation of the threshold."""
        return 2.0 * self.mean, 2.0

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and deviation of the scale of the centre."""
        return 5.0 * self.mean, 2.5

    def with_precisions(self, precisions: Array) -> Self:
        """The same prior, held as firmly as these say: delta, then 1 / item_noise."""
        noise = 1 / float(precisions[1]) if len(precisions) > 1 else 0.0
        return replace(self, precision=float(precisions[0]), item_noise=noise)

    @property
    def parameter_mean(self) -> Array:
        """Means of threshold, scale and the entries of the free matrix."""
        fixed = [self.threshold[0], self.scale[0]]
        return np.concatenate([fixed, np.zeros(self._n_entries)])

    @property
    def parameter_variance(self) -> Array:
        """Variances of threshold, scale and the entries of the free matrix."""
        free = np.full(self._n_entries, 1 / self.precision)
        fixed = [self.threshold[1] ** 2, self.scale[1] ** 2]
        return np.concatenate([fixed, free])

    @property
    def _n_entries(self) -> int:
        return len(self.centre) * (len(self.centre) + 1) // 2

    def squared_distance(self, gaps: Array) -> Array:
        """u'A_0u of each pair, before it is scaled."""
        return np.asarray(gaps**2 @ self.centre)

    def latent(self, gaps: Array) -> Array:
        """Prior mean of f for each pair."""
        latent = self.scale[0] * self.squared_distance(gaps) - self.threshold[0]
        return np.asarray(latent)

    def covariance(self, gaps: Array, others: Array, *, with_threshold: bool) -> Array:
        """Prior covariance of f (or of the squared distance) between pairs."""
        result = np.asarray(gaps @ others.T)
        result *= result
        result /= self.precision
        result += np.outer(
            self.scale[1] ** 2 * self.squared_distance(gaps),
            self.squared_distance(others),
        )
        return result + self.threshold[1] ** 2 if with_threshold else result

    def variance(self, gaps: Array, *, with_threshold: bool) -> Array:
        """The diagonal of `covariance`."""
        free = np.einsum("ij,ij->i", gaps, gaps) ** 2 / self.precision
        scaled = (self.scale[1] * self.squared_distance(gaps)) ** 2
        constant = self.threshold[1] ** 2 if with_threshold else 0.0
        return np.asarray(free + scaled + constant)

    def place_variance(self, gaps: Array) -> Array:
        """Variance of f for not knowing the places of two items, apart from others."""
        return np.asarray(2 * self.item_noise * self.squared_distance(gaps))

    def place_covariance(self, gaps: Array, pairs: Pairs) -> Array:
        """What pairs have in common by an item that they share, for a noise of 1.

        f gains (e_i - e_j)'u with u the gap of items i and j, e ~ N(0, A_0) an item:
        an item that lies h off its features has e = 2 A h, to first order.
        """
        first, second = pairs.T
        alike = (first[:, None] == first).astype(float)
        alike += second[:, None] == second
        crossed = first[:, None] == second
        alike -= crossed
        alike -= crossed.T
        return np.asarray(alike * ((gaps * self.centre) @ gaps.T))

    def place_features(self, gaps: Array, pairs: Pairs) -> Array:
        """Columns whose products are `place_covariance`: as many for each item as gaps.

        Item after item, in the order of their numbers.
        """
        items, place = np.unique(pairs, return_inverse=True)
        first, second = place.reshape(pairs.shape).T
        rows, scaled = np.arange(len(pairs)), gaps * np.sqrt(self.centre)
        features = np.zeros((len(pairs), len(items), gaps.shape[1]))
        features[rows, first] = scaled
        features[rows, second] = -scaled
        return features.reshape(len(pairs), -1)


def matrix_frame(basis: Basis, metric: Array, mean: float) -> tuple[Basis, MatrixPrior]:
    """Coordinates half way between the items' unit and the prior metric's.

    There the prior metric is diagonal, and a free matrix as large in every direction
    is one that the prior metric finds likely and unit distance too.
    """
    values, vectors = np.linalg.eigh(metric)
    values = np.maximum(values, 0.0)
    half_way = (1 + values) / 2
    basis = basis.stretched(vectors * np.sqrt(half_way))
    return basis, MatrixPrior(values / half_way, mean, 1.0)


def unlabelled_metric(
    coordinates: Array, item_weights: Array, rng: np.random.RandomState
) -> Array:
    """A_0 of mean squared distance 1, from neighbours among the items.

    A direction counts as much as neighbours agree along it: whiten the items, smooth
    each whitened direction over the neighbour graph, and weigh it by the share of its
    variance that is left. Neighbours are found in the plain coordinates first, then
    anew in the metric that came out.
    """
    if len(coordinates) > MAX_ITEMS:
        rows = rng.permutation(len(coordinates))[:MAX_ITEMS]
        coordinates, item_weights = coordinates[rows], item_weights[rows]
    factor, _ = _agreement_map(coordinates, item_weights, N_ROUNDS)
    return np.asarray(factor @ factor.T)


def neighbour_agreement(coordinates: Array, item_weights: Array) -> float:
    """In how many directions neighbours agree: the sum of the shares.

    Says without a label which units tell more of the items.
    """
    return _agreement_map(coordinates, item_weights, N_ROUNDS_COMPARED)[1]


def _agreement_map(
    coordinates: Array, item_weights: Array, n_rounds: int
) -> tuple[Array, float]:
    """A factor of A_0, and the sum of the shares in its last round."""
    whitening = _whitening(coordinates, item_weights)
    white = coordinates @ whitening
    mapped, factor, shares = coordinates, np.eye(len(whitening)), np.empty(0)
    for _ in range(n_rounds):
        shares, vectors = _agreement(white, mapped, item_weights)
        factor = vectors * np.sqrt(matrix.agreement_weights(shares))
        mapped = white @ factor
        unit = np.sqrt(2 * _total_variance(mapped, item_weights)) or 1.0
        factor, mapped = factor / unit, mapped / unit
    return whitening @ factor, float(shares.sum())


def _whitening(coordinates: Array, item_weights: Array) -> Array:
    """A map to coordinates whose second moments are the identity, nearly."""
    moments = (coordinates * item_weights[:, None]).T @ coordinates
    size = len(moments)
    ridge = RIDGE * np.trace(moments) / size or 1.0
    values, vectors = np.linalg.eigh(moments + ridge * np.eye(size))
    return np.asarray(vectors / np.sqrt(values))


def _agreement(white: Array, mapped: Array, item_weights: Array) -> tuple[Array, Array]:
    """Whitened directions, and the share of each that smoothing leaves.

    Items are neighbours by `mapped`.
    """
    walk = _neighbour_walk(mapped)
    smooth = white
    for _ in range(N_STEPS):
        smooth = walk @ smooth
    smooth = smooth - _mean(smooth, item_weights)
    shares, vectors = np.linalg.eigh((smooth * item_weights[:, None]).T @ smooth)
    return np.clip(shares, 0.0, 1.0), vectors


def _neighbour_walk(mapped: Array) -> csr_array:
    """One step of a random walk: to any neighbour, as likely as another.

    Two items are neighbours if either is among the other's nearest.
    """
    n_items = len(mapped)
    nearest = _nearest(mapped, min(N_NEIGHBOURS, n_items - 1))
    starts = np.repeat(np.arange(n_items), nearest.shape[1])
    ends = nearest.ravel()
    edges = np.unique(np.r_[starts * n_items + ends, ends * n_items + starts])
    starts, ends = np.divmod(edges, n_items)
    n_edges = np.bincount(starts, minlength=n_items)
    shares = (1.0 / np.maximum(n_edges, 1))[starts]
    steps = (shares, ends, np.r_[0, np.cumsum(n_edges)])
    return csr_array(steps, shape=(n_items, n_items))


def _nearest(mapped: Array, n_neighbours: int) -> NDArray[np.intp]:
    """Rows of the nearest other items, in blocks of single precision."""
    Z = mapped.astype(np.float32)
    norms = np.einsum("ij,ij->i", Z, Z)
    nearest = np.empty((len(Z), n_neighbours), dtype=np.intp)
    for start in range(0, len(Z), BLOCK_ROWS):
        block = Z[start : start + BLOCK_ROWS] @ Z.T
        block *= -2
        block += norms
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        found = np.argpartition(block, n_neighbours - 1, axis=1)[:, :n_neighbours]
        nearest[start : start + BLOCK_ROWS] = found
    return nearest


def _mean(mapped: Array, item_weights: Array) -> Array:
    return np.asarray(item_weights @ mapped / item_weights.sum())


def _total_variance(mapped: Array, item_weights: Array) -> float:
    centred = mapped - _mean(mapped, item_weights)
    total = float(item_weights @ (centred**2).sum(axis=1))
    return total / max(float(item_weights.sum()) - 1, 1.0)
