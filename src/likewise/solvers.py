"""Gaussian posteriors of Gaussian sites: by weights, pairs, or entries of the matrix.

One sweep of inference is one `solve`. Nothing here knows where sites come from, or
when to stop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from likewise import equations
from likewise.errors import InferenceError
from likewise.posterior import (
    EntryPosterior,
    MetricPosterior,
    PairPosterior,
    WeightPosterior,
    matrix_entries,
    parameter_features,
)
from likewise.prior import MatrixPrior, WeightPrior

Array = NDArray[np.float64]
Sites = tuple[Array, Array]  # curvature and pull of each pair


@dataclass(frozen=True)
class Evidence:
    """Labelled pairs as the bounds need them."""

    features: Array  # (n_pairs, n_features): what the basis gives
    targets: Array  # (n_pairs,): weight * (P(same) - 1/2), so weight * label / 2
    weights: Array  # (n_pairs,)


@dataclass(frozen=True)
class Solution:
    """The Gaussian posterior of some sites."""

    latent_mean: Array
    latent_variance: Array
    divergence: float
    n_determined: float  # how many weights the pairs determine
    squared_norm: float  # of the weights, less their prior mean
    posterior: Callable[[], MetricPosterior]  # built only for the last one


class Solver(Protocol):
    """Gaussian posteriors of sites, at any prior precision."""

    def solve(self, sites: Sites, precision: float) -> Solution:
        """Give the posterior of the sites."""
        ...

    def start(self, precision: float) -> tuple[Array, Array]:
        """Moments of f before any answer."""
        ...


@dataclass
class WeightSolver:
    """Threshold and weights, as many dimensions as there are weights: (9), (10)."""

    evidence: Evidence
    prior: WeightPrior
    sign: str = "held"  # the mean: "held" >= 0, "clipped" at 0 as in the paper, "free"

    def __post_init__(self) -> None:
        self._free = np.ones(len(self.prior.mean), dtype=bool)

    def start(self, precision: float) -> tuple[Array, Array]:
        """See Solver."""
        features = self.evidence.features
        variance = np.einsum("ij,ij->i", features, features) / precision
        return features @ self.prior.mean, variance

    def solve(self, sites: Sites, precision: float) -> Solution:
        """See Solver."""
        features, prior = self.evidence.features, self.prior.with_precision(precision)
        inverse = equations.posterior_precision(features, sites[0] / 2, prior.precision)
        pull = equations.evidence_pull(features, -sites[1])
        covariance, log_determinant = _invert(inverse, len(features), precision)
        mean = equations.posterior_mean(covariance, prior.mean, prior.precision, pull)
        mean = self._nonnegative(mean, inverse, prior.precision * prior.mean + pull)
        moments = equations.latent_moments(features, mean, covariance)
        divergence = equations.gaussian_divergence(
            mean, covariance, log_determinant, prior.mean, prior.precision
        )
        n_determined = len(mean) - precision * float(np.trace(covariance))
        return Solution(
            moments[0],
            np.maximum(moments[1], 0.0),
            divergence,
            n_determined,
            float(np.sum((mean - prior.mean) ** 2)),
            lambda: WeightPosterior(mean, covariance),
        )

    def _nonnegative(self, mean: Array, inverse: Array, pull: Array) -> Array:
        if self.sign == "free" or (mean >= 0).all():
            return mean
        if self.sign == "clipped":
            return equations.clipped_mean(mean)
        mean = equations.nonnegative_mean(inverse, pull, self._free)
        self._free = mean > 0
        return mean


def _invert(inverse: Array, n_pairs: int, precision: float) -> tuple[Array, float]:
    try:
        return equations.posterior_covariance(inverse)
    except np.linalg.LinAlgError as error:
        raise InferenceError(
            f"The posterior covariance is not positive definite with {n_pairs} pairs. "
            f"Raise 'prior_precision' (now {precision:.3g})."
        ) from error


def matrix_solver(evidence: Evidence, prior: MatrixPrior) -> Solver:
    """The solver of the smaller side: pairs, or entries of the matrix."""
    n_pairs, n_parameters = len(evidence.targets), len(prior.parameter_mean)
    if n_pairs <= n_parameters:
        return PairSolver(evidence, prior)
    return EntrySolver(evidence, prior)


@dataclass
class PairSolver:
    """The whole matrix in as many dimensions as there are pairs."""

    evidence: Evidence
    prior: MatrixPrior

    def __post_init__(self) -> None:
        gaps = self.evidence.features
        self._latent = self.prior.latent(gaps)
        self._free = np.asarray(gaps @ gaps.T) ** 2
        deviations = [self.prior.threshold[1], self.prior.scale[1]]
        plain = np.column_stack([np.ones(len(gaps)), self.prior.squared_distance(gaps)])
        self._plain = plain * deviations
        self._fixed = self._plain @ self._plain.T

    def start(self, precision: float) -> tuple[Array, Array]:
        """See Solver."""
        prior = self.prior.with_precision(precision)
        return self._latent, prior.variance(self.evidence.features, with_threshold=True)

    def solve(self, sites: Sites, precision: float) -> Solution:
        """See Solver."""
        curvature, pull = sites
        covariance = np.asarray(self._free / precision + self._fixed)
        alpha, root, log_determinant = equations.pair_posterior(
            covariance, self._latent, curvature, pull
        )
        variance = equations.pair_variance(covariance, curvature, root)
        moved = covariance @ alpha
        divergence = equations.pair_divergence(
            float(alpha @ moved), log_determinant, curvature, variance
        )
        half = np.sqrt(curvature)
        # tr B^-1 (B - I - W F W), F what threshold and scale add to the covariance.
        known = root @ (half[:, None] * self._plain)
        n_determined = len(half) - float(np.sum(root**2) + np.sum(known**2))
        squared_norm = float(alpha @ self._free @ alpha) / precision**2
        return Solution(
            self._latent + moved,
            variance,
            divergence,
            n_determined,
            squared_norm,
            lambda: self._posterior(precision, alpha, root, half),
        )

    def _posterior(
        self, precision: float, alpha: Array, root: Array, half: Array
    ) -> MetricPosterior:
        prior = self.prior.with_precision(precision)
        gaps = self.evidence.features
        free = (gaps * (alpha / precision)[:, None]).T @ gaps
        scale = prior.scale[1] ** 2 * (alpha @ prior.squared_distance(gaps))
        threshold = -(prior.threshold[1] ** 2) * alpha.sum()
        parameters = prior.parameter_mean
        parameters[0] += threshold
        parameters[1] += scale
        parameters[2:] += matrix_entries(free)
        return PairPosterior(prior, parameters, gaps, root, half)


@dataclass
class EntrySolver:
    """The whole matrix in as many dimensions as it has entries."""

    evidence: Evidence
    prior: MatrixPrior

    def __post_init__(self) -> None:
        self._features = parameter_features(self.prior, self.evidence.features)

    def start(self, precision: float) -> tuple[Array, Array]:
        """See Solver."""
        prior, gaps = self.prior.with_precision(precision), self.evidence.features
        return prior.latent(gaps), prior.variance(gaps, with_threshold=True)

    def solve(self, sites: Sites, precision: float) -> Solution:
        """See Solver."""
        prior = self.prior.with_precision(precision)
        mean, firmness = prior.parameter_mean, 1 / prior.parameter_variance
        features = self._features
        inverse = equations.posterior_precision(features, sites[0] / 2, firmness)
        pull = equations.evidence_pull(features, -sites[1])
        covariance, log_determinant = _invert(inverse, len(features), precision)
        parameters = equations.posterior_mean(covariance, mean, firmness, pull)
        moments = equations.latent_moments(features, parameters, covariance)
        divergence = equations.gaussian_divergence(
            parameters, covariance, log_determinant, mean, firmness
        )
        free = slice(2, None)
        n_free = len(mean) - 2
        n_determined = n_free - precision * float(np.diag(covariance)[free].sum())
        return Solution(
            moments[0],
            np.maximum(moments[1], 0.0),
            divergence,
            n_determined,
            float(np.sum(parameters[free] ** 2)),
            lambda: EntryPosterior(prior, parameters, covariance),
        )
