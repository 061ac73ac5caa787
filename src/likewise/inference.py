"""Labelled pairs in, MetricPosterior out: the loops, the evidence, when to stop.

Chooses no questions and checks no input. One loop serves all models: a pair's
likelihood is replaced by a Gaussian site, the Gaussian posterior of the sites is
solved for, and the sites are found anew where the posterior now lies. What differs is
the bound (Jaakkola's, as in the paper, or the tight one) and the solver.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

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

# Where the evidence chooses the prior precision, it starts here and stays within.
FIRST_PRECISION = 0.25
PRECISIONS = (1e-4, 1e4)
# It moves by this factor until the evidence is best, then by ever smaller ones.
FIRST_FACTOR, LAST_FACTOR = 4.0, 1.5


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


@dataclass(frozen=True)
class Fit:
    """A posterior and how it was reached."""

    posterior: MetricPosterior
    evidence: Array  # (n_iter,): the lower bound after each sweep
    prior_precision: float


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


@dataclass(frozen=True)
class Bound:
    """A lower bound of the log likelihood: its sites and its expectation."""

    sites: Callable[[Array, Array, Array, Array], Sites]
    expectation: Callable[[Array, Array, Array, Array], float]


def _jaakkola_expectation(
    targets: Array, weights: Array, mean: Array, variance: Array
) -> float:
    xi = equations.bound_points(mean, variance)
    return equations.expected_log_likelihood_bound(targets, weights, mean, variance, xi)


JAAKKOLA = Bound(equations.jaakkola_sites, _jaakkola_expectation)
TIGHT = Bound(equations.tight_sites, equations.expected_log_likelihood)


def infer(
    evidence: Evidence,
    prior: WeightPrior | MatrixPrior,
    precision: float | None,
    *,
    start: Fit | None = None,
    keeps_precision: bool = False,
    is_clipped: bool = False,
    max_iter: int,
    tol: float,
) -> Fit:
    """Find the variational posterior; `precision` None lets the evidence choose it.

    Weights follow the paper, (9) to (11), with the mean held non-negative
    (`is_clipped`: by the paper's clip, which may lower the bound). The whole matrix
    takes the tight bound. `start` is a fit near the answer, for instance of fewer
    pairs; `keeps_precision` holds on to the prior precision that it chose.
    """
    if len(evidence.targets) == 0:
        return _unmoved(prior, precision or FIRST_PRECISION)
    solver: Solver
    if isinstance(prior, WeightPrior):
        solver = WeightSolver(evidence, prior, is_clipped)
        bound = JAAKKOLA
    else:
        solver = matrix_solver(evidence, prior)
        bound = TIGHT
    if precision is None and start is not None and keeps_precision:
        precision = start.prior_precision
    return _climb(
        solver, bound, evidence, precision, start=start, max_iter=max_iter, tol=tol
    )


def _unmoved(prior: WeightPrior | MatrixPrior, precision: float) -> Fit:
    """The prior itself: what is known before any answer."""
    prior = prior.with_precision(precision)
    posterior: MetricPosterior
    if isinstance(prior, WeightPrior):
        posterior = WeightPosterior(prior.mean, np.diag(1 / prior.precision))
    else:
        none = np.empty((0, len(prior.centre)))
        mean = prior.parameter_mean
        posterior = PairPosterior(prior, mean, none, np.empty((0, 0)), np.empty(0))
    return Fit(posterior, np.zeros(1), precision)


def _climb(
    solver: Solver,
    bound: Bound,
    evidence: Evidence,
    given: float | None,
    *,
    start: Fit | None,
    max_iter: int,
    tol: float,
) -> Fit:
    """Sweep until the bound gains less than `tol` of its size."""
    told = evidence.targets, evidence.weights
    precision = given or (start.prior_precision if start else FIRST_PRECISION)
    factor = 1.0 if given else (LAST_FACTOR if start else FIRST_FACTOR)
    checked = given  # the precision that was found best with the sites as they are
    if start is None:
        moments = solver.start(precision)
    else:
        moments = start.posterior.latent(evidence.features)
    # The first sites are Jaakkola's: they exist wherever f may lie.
    sites = (JAAKKOLA if start is None else bound).sites(*told, *moments)
    wanted, step = sites, 1.0
    bounds: list[float] = []
    best: Solution | None = None
    for _ in range(max_iter):
        tried = _between(sites, wanted, step)
        moved = _best_precision(solver, tried, precision, factor)
        solution = solver.solve(tried, moved)
        moments = solution.latent_mean, solution.latent_variance
        value = bound.expectation(*told, *moments) - solution.divergence
        if best is not None and value < bounds[-1] and bound is TIGHT:
            # The tight bound has no monotone sweep of its own: shorten the step.
            step, factor = step / 2, 1.0 if step < 0.5 else factor
            if step < 0.05:
                break
            continue
        gain = value - bounds[-1] if bounds else np.inf
        has_moved, precision = moved != precision, moved
        sites, best = tried, solution
        bounds.append(value)
        wanted = bound.sites(*told, *moments)
        step = min(1.0, 1.5 * step)
        if has_moved:
            continue
        if factor > 1.0:
            # Best where it is: look closer, in the end leave it there.
            factor = np.sqrt(factor) if factor > LAST_FACTOR else 1.0
        elif abs(gain) <= tol * max(1.0, abs(value)):
            if checked == precision:
                break
            factor, checked = LAST_FACTOR, precision
    assert best is not None
    return Fit(best.posterior(), np.array(bounds), precision)


def _between(sites: Sites, wanted: Sites, step: float) -> Sites:
    if step == 1.0:
        return wanted
    return (
        sites[0] + step * (wanted[0] - sites[0]),
        sites[1] + step * (wanted[1] - sites[1]),
    )


def _best_precision(
    solver: Solver, sites: Sites, precision: float, factor: float
) -> float:
    """The best by the evidence among precision and its two neighbours."""
    if factor == 1.0:
        return precision
    low, high = PRECISIONS
    tried = np.clip([precision, precision / factor, precision * factor], low, high)
    values = [solver.log_evidence(sites, float(value)) for value in tried]
    return float(tried[int(np.argmax(values))])


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
    factor, failed = lapack.dpotrf(inverse, lower=1)
    if failed:
        return -np.inf
    half = lapack.dtrtrs(factor, bracket, lower=1)[0]
    return (
        float(
            half @ half
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
        known = half[:, None] * covariance
        if len(root):  # LAPACK complains on stdout of empty arrays
            known = lapack.dtrtrs(root, known, lower=1)[0]
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
            inverse_root = np.asarray(lapack.dtrtri(root, lower=1)[0])
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


def maximise_likelihood(
    evidence: Evidence, prior: WeightPrior, *, max_iter: int, tol: float
) -> Fit:
    """Find the weights >= 0 of greatest likelihood: section 5.2's MLE.

    On separable pairs they have no limit; `max_iter` and `tol` end the climb. The
    posterior is a point: its covariance is zero.
    """
    reached: list[float] = []
    scale = evidence.weights.sum()

    def objective(weights: Array) -> tuple[float, Array]:
        value, slope = equations.likelihood_objective(
            weights, evidence.features, evidence.targets, evidence.weights
        )
        return value / scale, slope / scale

    found = minimize(
        objective,
        np.maximum(prior.mean, 0.0),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(prior.mean),
        callback=lambda weights: reached.append(-objective(weights)[0] * scale),
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-8},
    )
    weights = np.maximum(found.x, 0.0)
    point = WeightPosterior(weights, np.zeros((len(weights), len(weights))))
    return Fit(point, np.array(reached or [-found.fun * scale]), 0.0)
