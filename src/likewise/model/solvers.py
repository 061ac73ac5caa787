"""Gaussian posteriors of Gaussian sites: by weights, pairs, or entries of the matrix.

One sweep of inference is one `solve`. Nothing here knows where sites come from, or
when to stop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InferenceError
from likewise.model import equations, matrix
from likewise.model.equations import Sites
from likewise.model.posterior import (
    EntryPosterior,
    MetricPosterior,
    PairPosterior,
    WeightPosterior,
    matrix_entries,
    parameter_features,
)
from likewise.model.priors import MatrixPrior, WeightPrior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """Labelled pairs as the bounds need them."""

    features: Array  # (n_pairs, n_features): what the basis gives
    targets: Array  # (n_pairs,): weight * (P(same) - 1/2), so weight * label / 2
    weights: Array  # (n_pairs,)
    pairs: NDArray[np.intp]  # (n_pairs, 2): numbers of the items


@dataclass(frozen=True)
class Solution:
    """The Gaussian posterior of some sites."""

    latent_mean: Array
    latent_variance: Array
    divergence: float
    # Of the weights under each precision: how many the pairs determine, and the
    # squared norm of their mean less the prior's. Found only if asked for.
    determined: Callable[[], tuple[Array, Array]]
    posterior: Callable[[], MetricPosterior]  # built only for the last one


class Solver(Protocol):
    """Gaussian posteriors of sites, at any precisions of the prior.

    The first is delta; the whole matrix may have a second, 1 / item_noise.
    """

    def solve(self, sites: Sites, precisions: Array) -> Solution:
        """Give the posterior of the sites."""
        ...

    def start(self, precisions: Array) -> tuple[Array, Array]:
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

    def start(self, precisions: Array) -> tuple[Array, Array]:
        """See Solver."""
        features = self.evidence.features
        variance = np.einsum("ij,ij->i", features, features) / precisions[0]
        return features @ self.prior.mean, variance

    def solve(self, sites: Sites, precisions: Array) -> Solution:
        """See Solver."""
        features, prior = self.evidence.features, self.prior.with_precisions(precisions)
        inverse = equations.posterior_precision(features, sites[0] / 2, prior.precision)
        pull = equations.evidence_pull(features, -sites[1])
        covariance, log_determinant = _invert(inverse, len(features), precisions[0])
        mean = equations.posterior_mean(covariance, prior.mean, prior.precision, pull)
        mean = self._nonnegative(mean, inverse, prior.precision * prior.mean + pull)
        moments = equations.latent_moments(features, mean, covariance)
        divergence = equations.gaussian_divergence(
            mean, covariance, log_determinant, prior.mean, prior.precision
        )
        n_determined = len(mean) - precisions * np.trace(covariance)
        squared_norm = np.array([np.sum((mean - prior.mean) ** 2)])
        return Solution(
            moments[0],
            np.maximum(moments[1], 0.0),
            divergence,
            lambda: (n_determined, squared_norm),
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


def matrix_solver(
    evidence: Evidence, prior: MatrixPrior, *, with_places: bool
) -> Solver:
    """The solver of the smaller side: pairs, or entries of matrix and places."""
    n_parameters = len(prior.parameter_mean)
    if with_places:
        n_parameters += len(np.unique(evidence.pairs)) * len(prior.centre)
    if len(evidence.targets) <= n_parameters:
        return PairSolver(evidence, prior, with_places)
    return EntrySolver(evidence, prior, with_places)


@dataclass
class PairSolver:
    """The whole matrix in as many dimensions as there are pairs."""

    evidence: Evidence
    prior: MatrixPrior
    with_places: bool = False  # whether items may lie off their features

    def __post_init__(self) -> None:
        gaps = self.evidence.features
        self._latent = self.prior.latent(gaps)
        self._free = np.asarray(gaps @ gaps.T) ** 2
        deviations = [self.prior.threshold[1], self.prior.scale[1]]
        plain = np.column_stack([np.ones(len(gaps)), self.prior.squared_distance(gaps)])
        self._plain = plain * deviations
        self._fixed = self._plain @ self._plain.T
        if self.with_places:
            self._places = self.prior.place_covariance(gaps, self.evidence.pairs)
        self._kept = np.empty(0), self._fixed

    def start(self, precisions: Array) -> tuple[Array, Array]:
        """See Solver."""
        return _first_moments(self.prior, self.evidence.features, precisions)

    def solve(self, sites: Sites, precisions: Array) -> Solution:
        """See Solver."""
        curvature, pull = sites
        covariance = self._prior_covariance(precisions)
        alpha, root, log_determinant = matrix.pair_posterior(
            covariance, self._latent, curvature, pull
        )
        variance = matrix.pair_variance(covariance, curvature, root)
        moved = covariance @ alpha
        divergence = matrix.pair_divergence(
            float(alpha @ moved), log_determinant, curvature, variance
        )
        half = np.sqrt(curvature)
        return Solution(
            self._latent + moved,
            variance,
            divergence,
            lambda: self._determined(precisions, alpha, root, half),
            lambda: self._posterior(precisions, alpha, root, half),
        )

    def _prior_covariance(self, precisions: Array) -> Array:
        """Covariance of f over the pairs; kept, for most sweeps have the last one's."""
        if not np.array_equal(precisions, self._kept[0]):
            covariance = self._free / precisions[0]
            covariance += self._fixed
            if self.with_places:
                covariance += self._places / precisions[1]
            self._kept = precisions, covariance
        return self._kept[1]

    def _determined(
        self, precisions: Array, alpha: Array, root: Array, half: Array
    ) -> tuple[Array, Array]:
        """tr B^-1 W F W for each part F of the covariance; all four add up to B - I."""
        known = root @ (half[:, None] * self._plain)
        n_free = len(half) - float(np.vdot(root, root) + np.vdot(known, known))
        free_norm = float(alpha @ self._free @ alpha) / precisions[0] ** 2
        if not self.with_places:
            return np.array([n_free]), np.array([free_norm])
        inverse = np.asarray(root.T @ root)
        inverse *= self._places
        n_placed = float(half @ inverse @ half) / precisions[1]
        norm = float(alpha @ self._places @ alpha) / precisions[1] ** 2
        return np.array([n_free - n_placed, n_placed]), np.array([free_norm, norm])

    def _posterior(
        self, precisions: Array, alpha: Array, root: Array, half: Array
    ) -> MetricPosterior:
        prior = self.prior.with_precisions(precisions)
        gaps = self.evidence.features
        free = (gaps * (alpha / prior.precision)[:, None]).T @ gaps
        scale = prior.scale[1] ** 2 * (alpha @ prior.squared_distance(gaps))
        threshold = -(prior.threshold[1] ** 2) * alpha.sum()
        parameters = prior.parameter_mean
        parameters[0] += threshold
        parameters[1] += scale
        parameters[2:] += matrix_entries(free)
        return PairPosterior(prior, parameters, gaps, root, half, self.evidence.pairs)


@dataclass
class EntrySolver:
    """The whole matrix in as many dimensions as it has entries, and items' places."""

    evidence: Evidence
    prior: MatrixPrior
    with_places: bool = False  # whether items may lie off their features

    def __post_init__(self) -> None:
        gaps = self.evidence.features
        self._features = parameter_features(self.prior, gaps)
        self._n_parameters = self._features.shape[1]
        if self.with_places:
            places = self.prior.place_features(gaps, self.evidence.pairs)
            self._features = np.column_stack([self._features, places])

    def start(self, precisions: Array) -> tuple[Array, Array]:
        """See Solver."""
        return _first_moments(self.prior, self.evidence.features, precisions)

    def solve(self, sites: Sites, precisions: Array) -> Solution:
        """See Solver."""
        prior, features = self.prior.with_precisions(precisions), self._features
        n_parameters = self._n_parameters
        n_places = features.shape[1] - n_parameters
        mean = np.r_[prior.parameter_mean, np.zeros(n_places)]
        firmness = np.r_[
            1 / prior.parameter_variance, np.full(n_places, precisions[-1])
        ]
        inverse = equations.posterior_precision(features, sites[0] / 2, firmness)
        pull = equations.evidence_pull(features, -sites[1])
        covariance, log_determinant = _invert(inverse, len(features), precisions[0])
        parameters = equations.posterior_mean(covariance, mean, firmness, pull)
        moments = equations.latent_moments(features, parameters, covariance)
        divergence = equations.gaussian_divergence(
            parameters, covariance, log_determinant, mean, firmness
        )
        # Threshold and scale come first, under no precision that is searched for.
        starts = [2, n_parameters][: len(precisions)]
        left = np.add.reduceat(np.diag(covariance) * firmness, starts)
        counts = np.add.reduceat(np.ones(len(mean)), starts)
        norms = np.add.reduceat(parameters**2, starts)
        kept = slice(0, n_parameters)
        return Solution(
            moments[0],
            np.maximum(moments[1], 0.0),
            divergence,
            lambda: (counts - left, norms),
            lambda: EntryPosterior(
                prior, parameters[kept], covariance[kept, kept].copy()
            ),
        )


def _first_moments(
    prior: MatrixPrior, gaps: Array, precisions: Array
) -> tuple[Array, Array]:
    prior = prior.with_precisions(precisions)
    variance = prior.variance(gaps, with_threshold=True) + prior.place_variance(gaps)
    return prior.latent(gaps), variance
