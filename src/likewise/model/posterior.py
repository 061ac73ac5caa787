"""What one prior has learned about the metric: frozen, it answers, it never fits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise.model import equations, matrix
from likewise.model.priors import IMPLIED_SHIFT, MatrixPrior

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Moments = tuple[Array, Array]  # mean and variance


class MetricPosterior:
    """Gaussian belief about the threshold and the metric.

    Never changes after it is made: more answers give a new posterior. `features` is
    what the basis gives for pairs. With `pairs`, the numbers of their items, it knows
    the items that were asked about; without, they are new.
    """

    mean: Array  # (1 + n_weights,): the threshold first
    covariance: Array  # (1 + n_weights, 1 + n_weights)

    @property
    def threshold(self) -> float:
        """Squared distance, at the mean metric, where P(same) is 1/2."""
        return float(self.mean[0])

    @property
    def unit(self) -> float:
        """Mean squared distance of the items by the metric that the prior expects."""
        return 1.0

    @property
    def width(self) -> int:
        """Numbers that a prediction holds for each pair."""
        raise NotImplementedError

    def latent(self, features: Array, pairs: Pairs | None = None) -> Moments:
        """Mean and variance of squared distance minus threshold, for each pair."""
        raise NotImplementedError

    def latent_mean(self, features: Array, pairs: Pairs | None = None) -> Array:
        """Squared distance minus threshold at the mean metric, for each pair."""
        raise NotImplementedError

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """Covariance of squared distance minus threshold between all the pairs."""
        raise NotImplementedError

    def greatest_variance(self, coordinates: Array) -> float:
        """No pair of these items has a greater variance of f."""
        raise NotImplementedError

    def squared_distance(self, features: Array) -> Moments:
        """Mean and variance of the squared distance, for each pair."""
        raise NotImplementedError

    def laplace_latent(self, features: Array) -> tuple[Array, Array]:
        """omega'gamma+ and omega'gamma- at the points of (15), for each pair."""
        raise NotImplementedError

    def mean_matrix(self) -> Array:
        """The mean metric's symmetric matrix, in the basis' coordinates."""
        raise NotImplementedError

    def moved_items(self, n_items: int) -> Array | None:
        """How far each of the items is known to lie off its features: g of math.md.

        A row for each in the basis' coordinates: f gains (g_i - g_j)'(z_i - z_j). None
        where no item was asked about.
        """
        return None

    def left_out(self, features: Array, pairs: Pairs) -> Moments:
        """Mean and variance of f of the labelled pairs, each by all the others.

        As by all of them where one among so many changes nothing.
        """
        return self.latent(features, pairs)

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw thresholds and weights, shape (n_samples, 1 + n_weights)."""
        raise NotImplementedError

    def probability_same(self, features: Array, pairs: Pairs | None = None) -> Array:
        """P(same) of each pair, doubt about the metric included."""
        return matrix.predictive_probability(*self.latent(features, pairs))


@dataclass(frozen=True)
class WeightPosterior(MetricPosterior):
    """Belief about one weight for each basis vector; it knows of no items."""

    mean: Array
    covariance: Array

    @property
    def width(self) -> int:
        """See MetricPosterior."""
        return len(self.mean)

    def latent(self, features: Array, pairs: Pairs | None = None) -> Moments:
        """See MetricPosterior."""
        mean, variance = equations.latent_moments(features, self.mean, self.covariance)
        return mean, np.maximum(variance, 0.0)

    def latent_mean(self, features: Array, pairs: Pairs | None = None) -> Array:
        """See MetricPosterior."""
        return np.asarray(features @ self.mean)

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """See MetricPosterior."""
        return np.asarray(features @ self.covariance @ features.T)

    def greatest_variance(self, coordinates: Array) -> float:
        """See MetricPosterior: no more than the longest features, most in doubt."""
        most = equations.pair_features(np.ptp(coordinates, axis=0)[None])[0]
        added = float(np.abs(most) @ np.sqrt(np.diag(self.covariance))) ** 2
        return min(added, float(most @ most * np.linalg.norm(self.covariance, 2)))

    def squared_distance(self, features: Array) -> Moments:
        """See MetricPosterior."""
        mean, variance = equations.latent_moments(
            features[:, 1:], self.mean[1:], self.covariance[1:, 1:]
        )
        return mean, np.maximum(variance, 0.0)

    def laplace_latent(self, features: Array) -> tuple[Array, Array]:
        """See MetricPosterior."""
        points = equations.laplace_points(self.mean, self.covariance, features)
        plus, minus = (np.einsum("ij,ij->i", features, point) for point in points)
        return plus, minus

    def mean_matrix(self) -> Array:
        """See MetricPosterior."""
        return np.asarray(np.diag(self.mean[1:]))

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """See MetricPosterior."""
        return _gaussian_draws(self.mean, self.covariance, n_samples, rng)


@dataclass(frozen=True)
class MatrixPosterior(MetricPosterior):
    """Belief about the whole symmetric matrix; `features` are the gaps themselves.

    Its parameters are the threshold, the scale of the prior metric and the free matrix
    in the prior's frame (see MatrixPrior). `mean`, `covariance` and draws speak of the
    threshold and the entries of the matrix in the basis' coordinates, as
    matrix.matrix_features orders them.
    """

    prior: MatrixPrior

    @property
    def parameters(self) -> Array:
        """Means of threshold, scale and free entries, (2 + n_entries,)."""
        raise NotImplementedError

    @cached_property
    def centre(self) -> Array:
        """The mean matrix A in the prior's frame."""
        parameters, prior = self.parameters, self.prior
        free = matrix.symmetric_matrix(parameters[2:], prior.n_free)
        return np.asarray(
            prior.spread_out(free) + np.diag(parameters[1] / prior.room * prior.centre)
        )

    @property
    def unit(self) -> float:
        """See MetricPosterior."""
        return self.prior.scale / self.prior.room

    @cached_property
    def threshold(self) -> float:
        """See MetricPosterior."""
        parameters, prior = self.parameters, self.prior
        return float(parameters[0] + parameters[1] * prior.offset / prior.room)

    def latent(self, features: Array, pairs: Pairs | None = None) -> Moments:
        """See MetricPosterior."""
        gaps = self.prior.gaps(features)
        return self._latent_mean(gaps, pairs), self._variance(gaps, pairs)

    def latent_mean(self, features: Array, pairs: Pairs | None = None) -> Array:
        """See MetricPosterior."""
        return self._latent_mean(self.prior.gaps(features), pairs)

    def greatest_variance(self, coordinates: Array) -> float:
        """See MetricPosterior; answers never add to the prior's."""
        placed = self.prior.gaps(coordinates - coordinates.mean(axis=0))
        squares = np.einsum("ij,ij->i", placed, placed)
        return self.prior.greatest_variance(4 * float(squares.max()))

    def squared_distance(self, features: Array) -> Moments:
        """See MetricPosterior."""
        gaps = self.prior.gaps(features)
        mean = matrix.quadratic_form(gaps, self.centre)
        return mean, self._distance_variance(gaps)

    def laplace_latent(self, features: Array) -> tuple[Array, Array]:
        """See MetricPosterior; a matrix has no entries to clip."""
        mean, variance = self.latent(features)
        p_plus, p_minus = equations.laplace_slopes(mean)
        return mean - p_plus * variance, mean + p_minus * variance

    def mean_matrix(self) -> Array:
        """See MetricPosterior."""
        frame = self.prior.frame
        return np.asarray(frame @ self.centre @ frame.T)

    @property
    def mean(self) -> Array:  # type: ignore[override]
        """See MetricPosterior."""
        return np.asarray(self._entries(self.parameters[None])[0])

    @property
    def covariance(self) -> Array:  # type: ignore[override]
        """See MetricPosterior; of as many rows as the matrix has entries."""
        # The map to entries is linear: apply it to the rows, then to the columns.
        half = self._entries(self._parameter_covariance())
        return self._entries(half.T)

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """See MetricPosterior."""
        return self._entries(self._parameter_draws(n_samples, rng))

    def _entries(self, parameters: Array) -> Array:
        """Threshold and entries, in the basis' coordinates, of rows of parameters."""
        prior, frame = self.prior, self.prior.frame
        scales = parameters[:, 1] / prior.room
        thresholds = parameters[:, 0] + scales * prior.offset
        free = matrix.symmetric_matrix(parameters[:, 2:], prior.n_free)
        free = prior.spread_out(free)
        free += scales[:, None, None] * np.diag(prior.centre)
        entries = matrix.matrix_entries(frame @ free @ frame.T)
        return np.column_stack([thresholds, entries])

    def _latent_mean(self, gaps: Array, pairs: Pairs | None) -> Array:
        return np.asarray(matrix.quadratic_form(gaps, self.centre) - self.threshold)

    def _variance(self, gaps: Array, pairs: Pairs | None) -> Array:
        """Variance of f; of items that are new where `pairs` is None."""
        raise NotImplementedError

    def _distance_variance(self, gaps: Array) -> Array:
        raise NotImplementedError

    def _parameter_covariance(self) -> Array:
        raise NotImplementedError

    def _parameter_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        raise NotImplementedError


@dataclass(frozen=True)
class EntryPosterior(MatrixPosterior):
    """The whole matrix by the covariance of its parameters: for many pairs."""

    parameter_mean: Array
    parameter_covariance: Array

    @property
    def parameters(self) -> Array:
        """See MatrixPosterior."""
        return self.parameter_mean

    @property
    def width(self) -> int:
        """See MetricPosterior."""
        return len(self.parameter_mean)

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """See MetricPosterior."""
        given = parameter_features(self.prior, self.prior.gaps(features))
        return np.asarray(given @ self.parameter_covariance @ given.T)

    def _variance(self, gaps: Array, pairs: Pairs | None) -> Array:
        given = parameter_features(self.prior, gaps)
        return _spread(given, self.parameter_covariance)

    def _distance_variance(self, gaps: Array) -> Array:
        given = distance_features(self.prior, gaps)
        return _spread(given, self.parameter_covariance[1:, 1:])

    def _parameter_covariance(self) -> Array:
        return self.parameter_covariance

    def _parameter_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        return _gaussian_draws(
            self.parameters, self.parameter_covariance, n_samples, rng
        )


@dataclass(frozen=True)
class PairPosterior(MatrixPosterior):
    """The whole matrix by the labelled pairs themselves: for few pairs.

    The mean of f is the prior's plus C'alpha, C its covariance with the labelled pairs;
    its covariance shrinks by (root C)'(root C), with root = B^(-1/2) diag(half).
    """

    alpha: Array  # (n_pairs,)
    gaps: Array  # (n_pairs, n_basis), in the prior's frame
    inverse_root: Array  # (n_pairs, n_pairs): B^(-1/2), lower triangular
    half: Array  # (n_pairs,): square roots of the curvatures
    pairs: Pairs  # (n_pairs, 2): which items they are of
    implied: Array  # (n_pairs,): 1 for a pair with the implied pairs' own threshold

    @cached_property
    def parameters(self) -> Array:
        """See MatrixPosterior."""
        prior, alpha = self.prior, self.alpha
        threshold, scale = prior.fixed_deviations**2
        seen = prior.free_gaps(self.gaps)
        free = (seen * (alpha / prior.precision)[:, None]).T @ seen
        parameters = prior.parameter_mean
        parameters[0] -= threshold * alpha.sum()
        parameters[1] += scale * (alpha @ prior.relative_distance(self.gaps))
        parameters[2:] += matrix.matrix_entries(free)
        return parameters

    @property
    def width(self) -> int:
        """See MetricPosterior."""
        return max(len(self.prior.centre), len(self.pairs))

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """See MetricPosterior."""
        gaps, prior = self.prior.gaps(features), self.prior
        known = self._known(self._cross(gaps, pairs))
        before = prior.covariance(gaps, gaps)
        if prior.item_noise > 0:
            before += prior.item_noise * prior.item_covariance(gaps, pairs)
        return np.asarray(before - known.T @ known)

    def left_out(self, features: Array, pairs: Pairs) -> Moments:
        """See MetricPosterior: the site of a pair is divided out of its marginal.

        Of implied pairs it does not know the shift that they share.
        """
        mean, variance = self.latent(features, pairs)
        kept = np.maximum(1 - self.half**2 * variance, 1e-6)
        variance = variance / kept
        return mean - self.alpha * variance, variance

    def moved_items(self, n_items: int) -> Array | None:
        """See MetricPosterior."""
        if not self._knows_items:
            return None
        items, moved = self._moved_items
        every = np.zeros((n_items, len(self.prior.centre)))
        every[items] = moved @ self.prior.frame.T
        return every

    def _latent_mean(self, gaps: Array, pairs: Pairs | None) -> Array:
        latent = super()._latent_mean(gaps, pairs)
        if pairs is not None and self._knows_items:
            items, moved = self._moved_items
            first, second = (_look_up(items, moved, each) for each in pairs.T)
            latent += np.einsum("ij,ij->i", first - second, gaps)
        return latent

    @property
    def _knows_items(self) -> bool:
        return self.prior.item_noise > 0 and len(self.pairs) > 0

    @cached_property
    def _moved_items(self) -> tuple[NDArray[np.intp], Array]:
        """The items asked about, and how far each lies off its features: E e."""
        items, place = np.unique(self.pairs, return_inverse=True)
        pulled = self.gaps * self.alpha[:, None]
        moved = np.zeros((len(items), self.gaps.shape[1]))
        place = place.reshape(self.pairs.shape)
        np.add.at(moved, place[:, 0], pulled)
        np.subtract.at(moved, place[:, 1], pulled)
        return items, moved * (self.prior.item_noise * self.prior.centre)

    def _variance(self, gaps: Array, pairs: Pairs | None) -> Array:
        before = self.prior.variance(gaps) + self.prior.item_variance(gaps)
        known = self._known(self._cross(gaps, pairs))
        variance = before - np.einsum("ij,ij->j", known, known)
        return np.asarray(np.maximum(variance, 0.0))

    def _cross(self, gaps: Array, pairs: Pairs | None) -> Array:
        """Covariance of f, before any answer, of the labelled pairs with others."""
        cross = self.prior.covariance(self.gaps, gaps)
        if pairs is not None and self._knows_items:
            shared = self.prior.item_cross(self.gaps, self.pairs, gaps, pairs)
            rows = np.repeat(np.arange(len(self.pairs)), np.diff(shared.indptr))
            cross[rows, shared.indices] += self.prior.item_noise * shared.data
        return cross

    def _known(self, cross: Array) -> Array:
        halves = self.half[:, None] * cross
        return equations.triangle_product(self.inverse_root, halves)

    def _distance_variance(self, gaps: Array) -> Array:
        prior = self.prior
        scale = prior.fixed_deviations[1] ** 2
        given = prior.squared_distance(gaps) / prior.room
        seen = prior.free_gaps(self.gaps), prior.free_gaps(gaps)
        cross = np.asarray(seen[0] @ seen[1].T) ** 2 / prior.precision
        scaled = scale * prior.relative_distance(self.gaps)
        known = self._known(cross + np.outer(scaled, given))
        before = prior.free_variance(gaps) + scale * given**2
        return np.asarray(np.maximum(before - np.einsum("ij,ij->j", known, known), 0.0))

    def _parameter_covariance(self) -> Array:
        variance = self.prior.parameter_variance
        known = self._known(parameter_features(self.prior, self.gaps) * variance)
        return np.asarray(np.diag(variance) - known.T @ known)

    def _parameter_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw from the prior and correct by the pairs: Matheron's rule."""
        variance = self.prior.parameter_variance
        features = parameter_features(self.prior, self.gaps)
        draws = np.sqrt(variance) * rng.standard_normal((n_samples, len(variance)))
        latent = draws @ features.T + self._item_draws(n_samples, rng)
        shifts = IMPLIED_SHIFT * rng.standard_normal((n_samples, 1))
        latent += shifts * self.implied
        noise = rng.standard_normal((n_samples, len(self.gaps)))
        # half (f + noise / half) = half f + noise: no division by zero.
        surprise = latent * self.half + noise
        inner = surprise @ self.inverse_root.T @ self.inverse_root
        correction = (inner * self.half) @ (features * variance)
        return np.asarray(self.parameters + draws - correction)

    def _item_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """What items drawn off their features add to f of the labelled pairs."""
        if self.prior.item_noise == 0:
            return np.zeros((n_samples, len(self.gaps)))
        items, place = np.unique(self.pairs, return_inverse=True)
        place = place.reshape(self.pairs.shape)
        scaled = self.gaps * np.sqrt(self.prior.item_noise * self.prior.centre)
        moved = rng.standard_normal((n_samples, len(items), self.gaps.shape[1]))
        gap = moved[:, place[:, 0]] - moved[:, place[:, 1]]
        return np.asarray(np.einsum("npk,pk->np", gap, scaled))


def parameter_features(prior: MatrixPrior, gaps: Array) -> Array:
    """What threshold, scale and free entries are multiplied by: f is linear in them."""
    fixed = -np.ones(len(gaps)), prior.relative_distance(gaps)
    return matrix.matrix_features(prior.free_gaps(gaps), *fixed)


def distance_features(prior: MatrixPrior, gaps: Array) -> Array:
    """What scale and free entries are multiplied by in the squared distance."""
    squared = prior.squared_distance(gaps) / prior.room
    return matrix.matrix_features(prior.free_gaps(gaps), squared)


def _spread(features: Array, covariance: Array) -> Array:
    zeros = np.zeros(len(covariance))
    return np.maximum(equations.latent_moments(features, zeros, covariance)[1], 0.0)


def _look_up(items: NDArray[np.intp], moved: Array, wanted: NDArray[np.intp]) -> Array:
    """The rows of wanted items; zeros for one that is not among them."""
    place = np.minimum(np.searchsorted(items, wanted), len(items) - 1)
    return np.where((items[place] == wanted)[:, None], moved[place], 0.0)


def _gaussian_draws(
    mean: Array, covariance: Array, n_samples: int, rng: np.random.RandomState
) -> Array:
    # Not Cholesky: the covariance of a point estimate is zero.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = rng.standard_normal((n_samples, len(mean)))
    return np.asarray(mean + noise @ root.T)
