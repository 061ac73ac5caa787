"""Labelled pairs in, MetricPosterior out: the loops, the evidence, when to stop.

Chooses no questions and checks no input.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from likewise import equations
from likewise.errors import InferenceError
from likewise.posterior import MetricPosterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """Labelled pairs as the bound needs them."""

    features: Array  # (n_pairs, 1 + n_basis)
    targets: Array  # (n_pairs,): weight * (P(same) - 1/2), so weight * label / 2
    weights: Array  # (n_pairs,)


@dataclass(frozen=True)
class Prior:
    """Gaussian prior over the threshold and the weights, entries independent."""

    mean: Array  # (1 + n_basis,)
    precision: Array  # (1 + n_basis,)

    def posterior(self) -> MetricPosterior:
        """What is known before any answer."""
        return MetricPosterior(self.mean, np.diag(1 / self.precision))


@dataclass(frozen=True)
class Fit:
    """A posterior and how it was reached."""

    posterior: MetricPosterior
    evidence: Array  # (n_iter,): the lower bound after each sweep


def infer(
    evidence: Evidence,
    prior: Prior,
    *,
    start: MetricPosterior | None = None,
    is_clipped: bool = False,
    max_iter: int,
    tol: float,
) -> Fit:
    """Find the variational posterior by sweeps of (9), (10), (11).

    Stops when a sweep raises the lower bound by less than `tol` of its size. `start`
    is a posterior near the answer, for instance from fewer pairs. `is_clipped` takes
    the paper's clip of the mean instead of the constrained maximum; then the bound may
    fall.
    """
    pull = equations.evidence_pull(evidence.features, evidence.targets)
    posterior = prior.posterior() if start is None else start
    moments = posterior.latent(evidence.features)
    xi = equations.bound_points(*moments)
    bounds: list[float] = []
    free = np.ones(len(pull), dtype=bool)
    for _ in range(max_iter):
        curvature = evidence.weights * equations.bound_curvature(xi)
        precision = equations.posterior_precision(
            evidence.features, curvature, prior.precision
        )
        covariance, log_determinant = _invert(precision, len(xi), prior)
        mean = equations.posterior_mean(covariance, prior.mean, prior.precision, pull)
        if (mean < 0).any():
            if is_clipped:
                mean = equations.clipped_mean(mean)
            else:
                target = prior.precision * prior.mean + pull
                mean = equations.nonnegative_mean(precision, target, free)
                free = mean > 0
        posterior = MetricPosterior(mean, covariance)
        moments = posterior.latent(evidence.features)
        xi = equations.bound_points(*moments)
        bound = equations.expected_log_likelihood_bound(
            evidence.targets, evidence.weights, *moments, xi
        ) - equations.gaussian_divergence(
            mean, covariance, log_determinant, prior.mean, prior.precision
        )
        bounds.append(bound)
        if len(bounds) > 1 and abs(bound - bounds[-2]) <= tol * max(1.0, abs(bound)):
            break
    return Fit(posterior, np.array(bounds))


def _invert(precision: Array, n_pairs: int, prior: Prior) -> tuple[Array, float]:
    try:
        return equations.posterior_covariance(precision)
    except np.linalg.LinAlgError as error:
        raise InferenceError(
            f"The posterior covariance is not positive definite with {n_pairs} pairs. "
            f"Raise 'prior_precision' (now {prior.precision.min():.3g})."
        ) from error


def maximise_likelihood(
    evidence: Evidence, prior: Prior, *, max_iter: int, tol: float
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
    point = MetricPosterior(weights, np.zeros((len(weights), len(weights))))
    return Fit(point, np.array(reached or [-found.fun * scale]))
