"""What is known about the metric: frozen, answers questions, never fits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise import equations

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MetricPosterior:
    """Gaussian belief over the threshold and the weights of the metric.

    Never changes after it is made: more answers give a new posterior.
    """

    mean: Array  # (1 + n_basis,)
    covariance: Array  # (1 + n_basis, 1 + n_basis)

    @property
    def threshold(self) -> float:
        """Squared distance, at the mean metric, where P(same) is 1/2."""
        return float(self.mean[0])

    def latent(self, features: Array) -> tuple[Array, Array]:
        """Mean and variance of squared distance minus threshold, for each pair."""
        mean, variance = equations.latent_moments(features, self.mean, self.covariance)
        return mean, np.maximum(variance, 0.0)

    def squared_distance(self, features: Array) -> tuple[Array, Array]:
        """Mean and variance of the squared distance, for each pair."""
        mean, variance = equations.latent_moments(
            features[:, 1:], self.mean[1:], self.covariance[1:, 1:]
        )
        return mean, np.maximum(variance, 0.0)

    def probability_same(self, features: Array) -> Array:
        """P(same) of each pair, doubt about the metric included."""
        return equations.predictive_probability(*self.latent(features))

    def laplace_latent(self, features: Array) -> tuple[Array, Array]:
        """omega'gamma+ and omega'gamma- at the points of (15), for each pair."""
        points = equations.laplace_points(self.mean, self.covariance, features)
        plus, minus = (np.einsum("ij,ij->i", features, point) for point in points)
        return plus, minus

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw weights, shape (n_samples, 1 + n_basis)."""
        # Not Cholesky: the covariance of a point estimate is zero.
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = rng.standard_normal((n_samples, len(self.mean)))
        return np.asarray(self.mean + noise @ root.T)
