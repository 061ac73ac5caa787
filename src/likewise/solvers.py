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
    posterior: Callable[[], MetricPosterior]  # built only for the last one


class Solver(Protocol):
    """Gaussian posteriors of sites, at any prior precision."""

    def solve(self, sites: Sites, precision: float) -> Solution:
        """Give the posterior of the sites."""
        ...

    def log_evidence(self, sites: Sites, precision: float) -> float:
        """Log of the integral of prior times sites, up to a constant."""
        ...

    def start(self, precision: float) -> tuple[Array, Array]:
        """Moments of f before any answer."""
        ...


@dataclass
class WeightSolver:
    """Threshold and weights, as many dimensions as there are weights: (9), (10)."""

    evidence: Evidence
    prior: WeightPrior
    is_clipped: bool = False

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
        inverse, pull = self._normal_equations(sites, prior)
        covariance, log_determinant = _invert(inverse, len(features), precision)
        mean = equations.posterior_mean(covariance, prior.mean, prior.precision, pull)
        mean = self._nonnegative(mean, inverse, prior.precision * prior.mean + pull)
        moments = equations.latent_moments(features, mean, covariance)
        divergence = equations.gaussian_divergence(
            mean, covariance, log_determinant, prior.mean, prior.precision
        )
        return Solution(
            moments[0],
            np.maximum(moments[1], 0.0),
            divergence,
            lambda: WeightPosterior(mean, covariance),
        )

    def log_evidence(self, sites: Sites, precision: float) -> float:
        """See Solver."""
        prior = self.prior.with_precision(precision)
        inverse, pull = self._normal_equations(sites, prior)
        return _weight_evidence(inverse, prior.mean, prior.precision, pull)

    def _normal_equations(
        self, sites: Sites, prior: WeightPrior
    ) -> tuple[Array, Array]:
        features, (curvature, pull) = self.evidence.features, sites
        inverse = equations.posterior_precision(
            features, curvature / 2, prior.precision
        )
        return inverse, equations.evidence_pull(features, -pull)

    def _nonnegative(self, mean: Array, inverse: Array, pull: Array) -> Array:
        if (mean >= 0).all():
            return mean
        if self.is_clipped:
            return equations.clipped_mean(mean)
        mean = equations.nonnegative_mean(inverse, pull, self._free)
        self._free = mean > 0
        return mean


def _weight_evidence(
    inverse: Array, prior_mean: Array, prior_precision: Array, pull: Array
) -> float:
    """Log integral of prior times sites, by completing the square."""
    bracket = prior_precision * prior_mean + pull
    try:
        factor = np.linalg.cholesky(inverse)
    except np.linalg.LinAlgError:
        return -np.inf
    return (
        float(
            bracket @ np.linalg.solve(inverse, bracket)
            - prior_precision @ prior_mean**2
            + np.sum(np.log(prior_precision))
            - 2 * np.sum(np.log(np.diag(factor)))
        )
        / 2
    )


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
        gaps, unit = self.evidence.features, self.prior.with_precision(1.0)
        self._latent = self.prior.latent(gaps)
        self._free = np.asarray(gaps @ gaps.T) ** 2
        self._fixed = unit.covariance(gaps, gaps, with_threshold=True) - self._free

    def start(self, precision: float) -> tuple[Array, Array]:
        """See Solver."""
        prior = self.prior.with_precision(precision)
        return self._latent, prior.variance(self.evidence.features, with_threshold=True)

    def solve(self, sites: Sites, precision: float) -> Solution:
        """See Solver."""
        covariance = self._covariance(precision)
        alpha, root, log_determinant = equations.pair_posterior(
            covariance, self._latent, *sites
        )
        half = np.sqrt(sites[0])
        known = np.linalg.solve(root, half[:, None] * covariance)
        variance = np.diag(covariance) - np.einsum("ij,ij->j", known, known)
        variance = np.maximum(variance, 0.0)
        moved = covariance @ alpha
        divergence = equations.pair_divergence(
            float(alpha @ moved), log_determinant, sites[0], variance
        )
        return Solution(
            self._latent + moved,
            variance,
            divergence,
            lambda: self._posterior(precision, alpha, root, half),
        )

    def log_evidence(self, sites: Sites, precision: float) -> float:
        """See Solver."""
        curvature, pull = sites
        covariance = self._covariance(precision)
        alpha, _, log_determinant = equations.pair_posterior(
            covariance, self._latent, curvature, pull
        )
        force = pull - curvature * self._latent
        return float(force @ covariance @ alpha - log_determinant) / 2

    def _covariance(self, precision: float) -> Array:
        return np.asarray(self._free / precision + self._fixed)

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
        inverse_root = root
        if len(root):
            inverse_root = np.asarray(np.linalg.inv(root))
        return PairPosterior(prior, parameters, gaps, inverse_root, half)


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
        inverse, pull = self._normal_equations(sites, firmness)
        covariance, log_determinant = _invert(inverse, len(self._features), precision)
        parameters = equations.posterior_mean(covariance, mean, firmness, pull)
        moments = equations.latent_moments(self._features, parameters, covariance)
        divergence = equations.gaussian_divergence(
            parameters, covariance, log_determinant, mean, firmness
        )
        return Solution(
            moments[0],
            np.maximum(moments[1], 0.0),
            divergence,
            lambda: EntryPosterior(prior, parameters, covariance),
        )

    def log_evidence(self, sites: Sites, precision: float) -> float:
        """See Solver."""
        prior = self.prior.with_precision(precision)
        firmness = 1 / prior.parameter_variance
        inverse, pull = self._normal_equations(sites, firmness)
        return _weight_evidence(inverse, prior.parameter_mean, firmness, pull)

    def _normal_equations(self, sites: Sites, firmness: Array) -> tuple[Array, Array]:
        curvature, pull = sites
        inverse = equations.posterior_precision(self._features, curvature / 2, firmness)
        return inverse, equations.evidence_pull(self._features, -pull)
