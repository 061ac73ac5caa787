"""What is known about the metric: frozen, answers questions, never fits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise.model import equations, matrix
from likewise.model.priors import MatrixPrior

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]


class MetricPosterior:
    """Gaussian belief about the threshold and the metric.

    Never changes after it is made: more answers give a new posterior. `features` is
    what the basis gives for pairs.
    """

    mean: Array  # (1 + n_weights,): the threshold first
    covariance: Array  # (1 + n_weights, 1 + n_weights)

    @property
    def threshold(self) -> float:
        """Squared distance, at the mean metric, where P(same) is 1/2."""
        return float(self.mean[0])

    def latent(self, features: Array) -> tuple[Array, Array]:
        """Mean and variance of squared distance minus threshold, for each pair."""
        raise NotImplementedError

    def latent_mean(self, features: Array) -> Array:
        """Squared distance minus threshold at the mean metric, for each pair."""
        raise NotImplementedError

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """Covariance of squared distance minus threshold between all the pairs."""
        raise NotImplementedError

    def squared_distance(self, features: Array) -> tuple[Array, Array]:
        """Mean and variance of the squared distance, for each pair."""
        raise NotImplementedError

    def laplace_latent(self, features: Array) -> tuple[Array, Array]:
        """omega'gamma+ and omega'gamma- at the points of (15), for each pair."""
        raise NotImplementedError

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw thresholds and weights, shape (n_samples, 1 + n_weights)."""
        raise NotImplementedError

    def matrix(self, weights: Array) -> Array:
        """The symmetric matrix, in the basis' coordinates, of weights like `mean`."""
        raise NotImplementedError

    def root(self) -> Array:
        """L with L'L the mean metric, in the basis' coordinates, heaviest row first.

        Negative eigenvalues, which no distance can have, count as zero and are left
        out.
        """
        values, vectors = np.linalg.eigh(self.matrix(self.mean))
        kept = max(1, int(np.sum(values > 1e-12 * np.abs(values).max())))
        values, vectors = values[::-1][:kept], vectors[:, ::-1][:, :kept]
        return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)

    def probability_same(self, features: Array) -> Array:
        """P(same) of each pair, doubt about the metric included."""
        return matrix.predictive_probability(*self.latent(features))


@dataclass(frozen=True)
class WeightPosterior(MetricPosterior):
    """Belief about one weight for each basis vector."""

    mean: Array
    covariance: Array

    def latent(self, features: Array) -> tuple[Array, Array]:
        """See MetricPosterior."""
        mean, variance = equations.latent_moments(features, self.mean, self.covariance)
        return mean, np.maximum(variance, 0.0)

    def latent_mean(self, features: Array) -> Array:
        """See MetricPosterior."""
        return np.asarray(features @ self.mean)

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """See MetricPosterior."""
        return np.asarray(features @ self.covariance @ features.T)

    def squared_distance(self, features: Array) -> tuple[Array, Array]:
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

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """See MetricPosterior."""
        return _gaussian_draws(self.mean, self.covariance, n_samples, rng)

    def matrix(self, weights: Array) -> Array:
        """See MetricPosterior."""
        return np.asarray(np.diag(weights[1:]))


@dataclass(frozen=True)
class MatrixPosterior(MetricPosterior):
    """Belief about the whole symmetric matrix; `features` are the gaps themselves.

    Its parameters are the threshold, the scale of the prior's centre and the free
    matrix (see MatrixPrior). `mean` and `covariance` speak of the threshold and the
    entries of the matrix as matrix.matrix_features orders them.
    """

    prior: MatrixPrior
    parameters: Array  # (2 + n_entries,): means of threshold, scale, free entries

    @cached_property
    def centre(self) -> Array:
        """The mean matrix A."""
        free = matrix.symmetric_matrix(self.parameters[2:], len(self.prior.centre))
        return np.asarray(free + self.parameters[1] * np.diag(self.prior.centre))

    @property
    def threshold(self) -> float:
        """See MetricPosterior."""
        return float(self.parameters[0])

    def latent(self, features: Array) -> tuple[Array, Array]:
        """See MetricPosterior."""
        variance = self._variance(features, with_threshold=True)
        variance += self.prior.place_variance(features)
        return self.latent_mean(features), variance

    def latent_covariance(self, features: Array, pairs: Pairs) -> Array:
        """See MetricPosterior."""
        places = self.prior.place_covariance(features, pairs)
        return self._covariance(features) + self.prior.item_noise * places

    def latent_mean(self, features: Array) -> Array:
        """See MetricPosterior."""
        squared = matrix.quadratic_form(features, self.centre)
        return np.asarray(squared - self.threshold)

    def squared_distance(self, features: Array) -> tuple[Array, Array]:
        """See MetricPosterior."""
        mean = matrix.quadratic_form(features, self.centre)
        return mean, self._variance(features, with_threshold=False)

    def laplace_latent(self, features: Array) -> tuple[Array, Array]:
        """See MetricPosterior; a matrix has no entries to clip."""
        mean, variance = self.latent(features)
        p_plus, p_minus = equations.laplace_slopes(mean)
        return mean - p_plus * variance, mean + p_minus * variance

    @property
    def mean(self) -> Array:  # type: ignore[override]
        """See MetricPosterior."""
        return np.asarray(self._entries(self.parameters[None])[0])

    @property
    def covariance(self) -> Array:  # type: ignore[override]
        """See MetricPosterior; of as many rows as the matrix has entries."""
        # Both maps are linear: apply one to the rows, then to the columns.
        half = self._entries(self._parameter_covariance())
        return self._entries(half.T)

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """See MetricPosterior."""
        return self._entries(self._parameter_draws(n_samples, rng))

    def matrix(self, weights: Array) -> Array:
        """See MetricPosterior."""
        return matrix.symmetric_matrix(weights[1:], len(self.prior.centre))

    def _entries(self, parameters: Array) -> Array:
        """Threshold and matrix entries of rows of parameters."""
        centre: Array = matrix_entries(np.diag(self.prior.centre))
        entries = parameters[:, 2:] + parameters[:, 1:2] * centre
        return np.column_stack([parameters[:, 0], entries])

    def _variance(self, gaps: Array, *, with_threshold: bool) -> Array:
        raise NotImplementedError

    def _covariance(self, gaps: Array) -> Array:
        raise NotImplementedError

    def _parameter_covariance(self) -> Array:
        raise NotImplementedError

    def _parameter_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        raise NotImplementedError


@dataclass(frozen=True)
class EntryPosterior(MatrixPosterior):
    """The whole matrix by the covariance of its parameters: for many pairs."""

    parameter_covariance: Array

    def _variance(self, gaps: Array, *, with_threshold: bool) -> Array:
        features = parameter_features(self.prior, gaps)
        covariance = self.parameter_covariance
        if not with_threshold:
            features, covariance = features[:, 1:], covariance[1:, 1:]
        zeros = np.zeros(len(covariance))
        return np.maximum(equations.latent_moments(features, zeros, covariance)[1], 0.0)

    def _covariance(self, gaps: Array) -> Array:
        given = parameter_features(self.prior, gaps)
        return np.asarray(given @ self.parameter_covariance @ given.T)

    def _parameter_covariance(self) -> Array:
        return self.parameter_covariance

    def _parameter_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        return _gaussian_draws(
            self.parameters, self.parameter_covariance, n_samples, rng
        )


@dataclass(frozen=True)
class PairPosterior(MatrixPosterior):
    """The whole matrix by the labelled pairs themselves: for few pairs.

    The covariance is the prior's less what the pairs took away: the covariance of f
    shrinks by (root C)'(root C), with root = B^(-1/2) diag(half).
    """

    gaps: Array  # (n_pairs, n_basis)
    inverse_root: Array  # (n_pairs, n_pairs): B^(-1/2), lower triangular
    half: Array  # (n_pairs,): square roots of the curvatures
    pairs: Pairs  # (n_pairs, 2): which items they are of

    def _variance(self, gaps: Array, *, with_threshold: bool) -> Array:
        cross = self.prior.covariance(self.gaps, gaps, with_threshold=with_threshold)
        known = self.inverse_root @ (self.half[:, None] * cross)
        before = self.prior.variance(gaps, with_threshold=with_threshold)
        variance = before - np.einsum("ij,ij->j", known, known)
        return np.asarray(np.maximum(variance, 0.0))

    def _covariance(self, gaps: Array) -> Array:
        cross = self.prior.covariance(self.gaps, gaps, with_threshold=True)
        known = self.inverse_root @ (self.half[:, None] * cross)
        before = self.prior.covariance(gaps, gaps, with_threshold=True)
        return np.asarray(before - known.T @ known)

    def _parameter_covariance(self) -> Array:
        variance = self.prior.parameter_variance
        cross = parameter_features(self.prior, self.gaps) * variance
        known = self.inverse_root @ (self.half[:, None] * cross)
        return np.asarray(np.diag(variance) - known.T @ known)

    def _parameter_draws(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw from the prior and correct by the pairs: Matheron's rule."""
        variance = self.prior.parameter_variance
        features = parameter_features(self.prior, self.gaps)
        draws = np.sqrt(variance) * rng.standard_normal((n_samples, len(variance)))
        latent = draws @ features.T
        if self.prior.item_noise > 0:
            places = self.prior.place_features(self.gaps, self.pairs)
            moved = rng.standard_normal((n_samples, places.shape[1]))
            latent += np.sqrt(self.prior.item_noise) * moved @ places.T
        noise = rng.standard_normal((n_samples, len(self.gaps)))
        # half (f + noise / half) = half f + noise: no division by zero.
        surprise = latent * self.half + noise
        inner = surprise @ self.inverse_root.T @ self.inverse_root
        correction = (inner * self.half) @ (features * variance)
        return np.asarray(self.parameters + draws - correction)


def parameter_features(prior: MatrixPrior, gaps: Array) -> Array:
    """What threshold, scale and free entries are multiplied by: f is linear in them."""
    return np.column_stack(
        [
            -np.ones(len(gaps)),
            prior.squared_distance(gaps),
            matrix.matrix_features(gaps),
        ]
    )


def matrix_entries(matrix: Array) -> Array:
    """Entries of a symmetric matrix as matrix.matrix_features orders them."""
    rows, columns = np.triu_indices(len(matrix))
    factor = np.where(rows == columns, 1.0, np.sqrt(2))
    return np.asarray(matrix[rows, columns] * factor)


def _gaussian_draws(
    mean: Array, covariance: Array, n_samples: int, rng: np.random.RandomState
) -> Array:
    # Not Cholesky: the covariance of a point estimate is zero.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = rng.standard_normal((n_samples, len(mean)))
    return np.asarray(mean + noise @ root.T)
