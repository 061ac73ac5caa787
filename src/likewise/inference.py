"""Labelled pairs in, MetricPosterior out: the loops, the evidence, when to stop.

Chooses no questions and checks no input. One loop serves all models: a pair's
likelihood is replaced by a Gaussian site, the Gaussian posterior of the sites is
solved for, and the sites are found anew where the posterior now lies. What differs is
the bound (Jaakkola's, as in the paper, or the tight one) and the solver.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from likewise import equations
from likewise.posterior import MetricPosterior, PairPosterior, WeightPosterior
from likewise.prior import MatrixPrior, WeightPrior
from likewise.solvers import (
    Evidence,
    Sites,
    Solution,
    Solver,
    WeightSolver,
    matrix_solver,
)

Array = NDArray[np.float64]

# Where the evidence chooses the prior precision, it starts here and stays within.
FIRST_PRECISION = 0.25
PRECISIONS = (1e-4, 1e4)
# A secant's step is at most so many of MacKay's.
LONGEST_STEP = 8.0
# A gain of the evidence, in nats, for which the prior precision is not moved.
WORTHLESS = 0.05


@dataclass(frozen=True)
class Fit:
    """A posterior and how it was reached."""

    posterior: MetricPosterior
    evidence: Array  # (n_iter,): the lower bound after each sweep
    prior_precision: float


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
    is_clipped: bool = False,
    max_iter: int,
    tol: float,
) -> Fit:
    """Find the variational posterior; `precision` None lets the evidence choose it.

    Weights follow the paper, (9) to (11), with the mean held non-negative
    (`is_clipped`: by the paper's clip, which may lower the bound). The whole matrix
    takes the tight bound. `start` is a fit near the answer, for instance of fewer
    pairs; the prior precision that it chose is kept.
    """
    if len(evidence.targets) == 0:
        return _unmoved(prior, precision or FIRST_PRECISION)
    solver: Solver
    if isinstance(prior, WeightPrior):
        solver = WeightSolver(evidence, prior, "clipped" if is_clipped else "held")
        bound = JAAKKOLA
    else:
        solver = matrix_solver(evidence, prior)
        bound = TIGHT
    if precision is None and start is not None:
        precision = start.prior_precision
    return _climb(
        solver, bound, evidence, precision, start=start, max_iter=max_iter, tol=tol
    )


def centre_evidence(evidence: Evidence, prior: MatrixPrior, max_iter: int) -> float:
    """The evidence of the prior metric itself: scale and threshold, nothing free."""
    (threshold, deviation), (scale, spread) = prior.threshold, prior.scale
    # In a unit in which both have one deviation, for the solver knows one only.
    unit = deviation / spread
    squared = prior.squared_distance(evidence.features) / unit
    features = np.column_stack([-np.ones(len(squared)), squared])
    plain = WeightPrior(np.array([threshold, scale * unit]), np.ones(2))
    told = Evidence(features, evidence.targets, evidence.weights)
    solver, firmness = WeightSolver(told, plain, sign="free"), 1 / deviation**2
    fit = _climb(solver, TIGHT, told, firmness, start=None, max_iter=max_iter, tol=1e-3)
    return float(fit.evidence[-1])


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
    """Sweep until the bound gains less than `tol` of its size.

    Sites and prior precision move together. Only Jaakkola's bound at a given precision
    rises by itself: elsewhere a step after which the bound would fall is shortened.
    """
    told = evidence.targets, evidence.weights
    precision = given or FIRST_PRECISION
    if start is None:
        moments = solver.start(precision)
    else:
        moments = start.posterior.latent(evidence.features)
    # The first sites are Jaakkola's: they exist wherever f may lie.
    sites = (JAAKKOLA if start is None else bound).sites(*told, *moments)
    search = PrecisionSearch(precision)
    wanted, step = sites, 1.0
    bounds: list[float] = []
    best: Solution | None = None
    for _ in range(max_iter):
        tried = _between(sites, wanted, step)
        tried_precision = precision * (search.goal / precision) ** step
        solution = solver.solve(tried, tried_precision)
        moments = solution.latent_mean, solution.latent_variance
        value = bound.expectation(*told, *moments) - solution.divergence
        gain = value - bounds[-1] if bounds else np.inf
        if gain < 0 and not (bound is JAAKKOLA and given):
            step /= 2
            if step < 0.05:
                break
            continue
        sites, precision, best = tried, tried_precision, solution
        bounds.append(value)
        enough = tol * max(1.0, abs(value))
        hoped = 0.0 if given else search.look(solution, precision, gain)
        if abs(gain) <= enough and hoped <= max(enough, WORTHLESS):
            break
        wanted = bound.sites(*told, *moments)
        step = min(1.0, 2 * step)
    assert best is not None
    return Fit(best.posterior(), np.array(bounds), precision)


def _between(sites: Sites, wanted: Sites, step: float) -> Sites:
    if step == 1.0:
        return wanted
    return (
        sites[0] + step * (wanted[0] - sites[0]),
        sites[1] + step * (wanted[1] - sites[1]),
    )


class PrecisionSearch:
    """Where the evidence wants the prior precision: a secant in logarithms.

    The bound's slope in log delta is (n - delta |gamma - gamma_0|^2) / 2, n the number
    of weights determined: zero where MacKay's step leads to itself.
    """

    def __init__(self, precision: float) -> None:
        self.goal = precision
        self._place = self._drift = np.nan

    def look(self, solution: Solution, precision: float, gain: float) -> float:
        """Set the goal; give what the bound may hope to gain by it.

        While sweeps gain more than that they are worth more, and the goal stays.
        """
        evident = equations.evident_precision(
            solution.n_determined, solution.squared_norm
        )
        low, high = np.log(PRECISIONS)
        place = float(np.log(precision))
        drift = float(np.clip(np.log(max(evident, PRECISIONS[0])), low, high)) - place
        slope = (drift - self._drift) / (place - self._place or np.nan)
        factor = 2.0 if not np.isfinite(slope) else -1 / min(slope, -1 / LONGEST_STEP)
        move = float(np.clip(place + factor * drift, low, high)) - place
        steep = solution.n_determined - precision * solution.squared_norm
        # Without a secant, hope for the longest step: a gentle slope may go on far.
        far = 1.0 if np.isfinite(slope) else LONGEST_STEP / 2
        hoped = abs(move * steep) * far / 4
        self.goal = precision
        if hoped > max(gain, WORTHLESS):
            self.goal = float(np.exp(place + move))
            self._place, self._drift = place, drift
        return hoped


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
