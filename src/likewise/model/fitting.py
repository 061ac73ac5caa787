"""Labelled pairs in, MetricPosterior out: the loops, the evidence, when to stop.

Chooses no questions and checks no input. One loop serves all models: a pair's
likelihood is replaced by a Gaussian site, the Gaussian posterior of the sites is
solved for, and the sites are found anew where the posterior now lies. What differs is
the bound (Jaakkola's, as in the paper, or the tight one) and the solver.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from likewise.model import equations, matrix
from likewise.model.equations import Sites
from likewise.model.posterior import MetricPosterior, PairPosterior, WeightPosterior
from likewise.model.priors import MatrixPrior, WeightPrior
from likewise.model.solvers import (
    Evidence,
    Solution,
    Solver,
    WeightSolver,
    matrix_solver,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Of targets, weights and moments of f: a lower bound of the log likelihood, and sites.
Bound = Callable[[Array, Array, Array, Array], tuple[float, Sites]]

# Where the evidence chooses the precisions of the whole matrix: the logarithm of delta
# has a normal prior, that of 1 / item_noise is anywhere between its bounds. Both are
# near those of most evidence over many data sets (docs/design-notes.md). The paper's
# delta has no prior, only a first guess.
DELTA, DELTA_SPREAD, FIRST_DELTA = 0.1, np.log(10), 0.25
# Bounds of delta, and of 1 / item_noise, which starts half way in logarithms.
LOWEST, HIGHEST = np.array([1e-4, 1 / 3]), np.array([1e4, 30.0])
FIRM_PLACES = float(np.sqrt(LOWEST[1] * HIGHEST[1]))
# A secant's step is at most so many of MacKay's, and no step, in logarithms, longer.
LONGEST_STEP, FARTHEST = 8.0, 1.5
# A gain of the evidence, in nats, for which a precision is not moved.
WORTHLESS = 0.02
# Precisions wait while a sweep gains more nats than this, or so many times more than
# they would.
WORTH_A_SWEEP, PATIENCE = 3.0, 10.0
# Less noise than this is none.
NO_NOISE = 1e-9
# Up to so many pairs items may lie elsewhere than their features say.
MAX_PLACED = 1_500


@dataclass(frozen=True)
class Fit:
    """A posterior and how it was reached."""

    posterior: MetricPosterior
    # (n_iter,): the lower bound after each sweep, and the log prior of the precisions
    # that it chose, less that at its centre.
    evidence: Array
    precisions: Array  # of the prior: delta, and 1 / item_noise where there is one

    @property
    def prior_precision(self) -> float:
        """Delta, as given or chosen."""
        return float(self.precisions[0])

    @property
    def item_noise(self) -> float:
        """How far items' features may mislead; 0 where they are taken as they are."""
        return 1 / float(self.precisions[1]) if len(self.precisions) > 1 else 0.0


@dataclass(frozen=True)
class Firmness:
    """What is known of the prior's precisions before any answer."""

    centre: Array  # delta, and 1 / item_noise where there is one
    spread: Array  # of their logarithms: 0 if given, infinite if anything goes

    @property
    def is_free(self) -> Mask:
        """Which precisions the evidence chooses."""
        return np.asarray(self.spread > 0)

    def off(self, precisions: Array) -> Array:
        """How far off the centre, in logarithms, over the squared spread."""
        spread = np.where(self.is_free, self.spread, np.inf)
        return np.asarray(np.log(precisions / self.centre) / spread**2)

    def log_prior(self, precisions: Array) -> float:
        """Log density of the precisions' logarithms, less that at the centre."""
        return -float(np.log(precisions / self.centre) @ self.off(precisions)) / 2


def firmness(
    prior: WeightPrior | MatrixPrior, precision: float | None, item_noise: float | None
) -> Firmness:
    """Precisions as given; None lets the evidence choose."""
    if isinstance(prior, WeightPrior):
        choices = [(precision, FIRST_DELTA, np.inf)]
    else:
        choices = [(precision, DELTA, DELTA_SPREAD)]
        if item_noise is None or item_noise > NO_NOISE:
            firm = None if item_noise is None else 1 / item_noise
            choices.append((firm, FIRM_PLACES, np.inf))
    return Firmness(
        np.array([first if given is None else given for given, first, _ in choices]),
        np.array([spread if given is None else 0.0 for given, _, spread in choices]),
    )


def infer(
    evidence: Evidence,
    prior: WeightPrior | MatrixPrior,
    precision: float | None,
    *,
    item_noise: float | None = 0.0,
    start: Fit | None = None,
    is_clipped: bool = False,
    max_iter: int,
    tol: float,
) -> Fit:
    """Find the variational posterior.

    `precision` and `item_noise` are what the evidence chooses if None. Weights follow
    the paper, (9) to (11), with the mean held non-negative (`is_clipped`: by the
    paper's clip, which may lower the bound). The whole matrix takes the tight bound;
    above MAX_PLACED pairs its items lie where their features say. `start` is a fit
    near the answer, for instance of fewer pairs; what was chosen for it is kept, if it
    had item noise as this one does.
    """
    if len(evidence.targets) > MAX_PLACED:
        item_noise = 0.0
    firm = firmness(prior, precision, item_noise)
    if start is not None and len(start.precisions) == len(firm.centre):
        firm = Firmness(start.precisions, np.zeros(len(firm.centre)))
    if len(evidence.targets) == 0:
        return _unmoved(prior, firm)
    solver: Solver
    bound: Bound
    if isinstance(prior, WeightPrior):
        solver = WeightSolver(evidence, prior, "clipped" if is_clipped else "held")
        bound = equations.jaakkola_bound
    else:
        solver = matrix_solver(evidence, prior, with_places=len(firm.centre) > 1)
        bound = matrix.tight_bound
    return _climb(
        solver, bound, evidence, firm, start=start, max_iter=max_iter, tol=tol
    )


def centre_evidence(evidence: Evidence, prior: MatrixPrior, max_iter: int) -> float:
    """The evidence of the prior metric itself: scale and threshold, nothing free."""
    (threshold, deviation), (scale, spread) = prior.threshold, prior.scale
    # In a unit in which both have one deviation, for the solver knows one only.
    unit = deviation / spread
    squared = prior.squared_distance(evidence.features) / unit
    features = np.column_stack([-np.ones(len(squared)), squared])
    plain = WeightPrior(np.array([threshold, scale * unit]), np.ones(2))
    told = replace(evidence, features=features)
    firm = firmness(plain, 1 / deviation**2, 0.0)
    solver = WeightSolver(told, plain, sign="free")
    fit = _climb(
        solver,
        matrix.tight_bound,
        told,
        firm,
        start=None,
        max_iter=max_iter,
        tol=1e-3,
    )
    return float(fit.evidence[-1])


def _unmoved(prior: WeightPrior | MatrixPrior, firm: Firmness) -> Fit:
    """The prior itself: what is known before any answer."""
    prior = prior.with_precisions(firm.centre)
    posterior: MetricPosterior
    if isinstance(prior, WeightPrior):
        posterior = WeightPosterior(prior.mean, np.diag(1 / prior.precision))
    else:
        none = np.empty((0, len(prior.centre)))
        mean = prior.parameter_mean
        no_pairs = np.empty((0, 2), dtype=np.intp)
        posterior = PairPosterior(
            prior, mean, none, np.empty((0, 0)), np.empty(0), no_pairs
        )
    return Fit(posterior, np.zeros(1), firm.centre)


def _climb(
    solver: Solver,
    bound: Bound,
    evidence: Evidence,
    firm: Firmness,
    *,
    start: Fit | None,
    max_iter: int,
    tol: float,
) -> Fit:
    """Sweep until the bound has less than `tol` of its size to gain.

    Sites and precisions move together. Only Jaakkola's bound at a given precision
    rises by itself: elsewhere a step after which the bound would fall is shortened.
    """
    told = evidence.targets, evidence.weights
    precisions = firm.centre
    if start is None:
        moments = solver.start(precisions)
    else:
        moments = start.posterior.latent(evidence.features)
    # The first sites are Jaakkola's: they exist wherever f may lie.
    first = equations.jaakkola_bound if start is None else bound
    sites = first(*told, *moments)[1]
    search = PrecisionSearch(firm)
    rises = bound is equations.jaakkola_bound and not firm.is_free.any()
    wanted, step = sites, 1.0
    bounds: list[float] = []
    best: Solution | None = None
    for _ in range(max_iter):
        tried = _between(sites, wanted, step)
        tried_precisions = precisions * (search.goal / precisions) ** step
        solution = solver.solve(tried, tried_precisions)
        moments = solution.latent_mean, solution.latent_variance
        expected, followed = bound(*told, *moments)
        value = expected - solution.divergence + firm.log_prior(tried_precisions)
        gain = value - bounds[-1] if bounds else np.inf
        if gain < 0 and not rises:
            step /= 2
            if step < 0.05:
                break
            continue
        sites, precisions, best = tried, tried_precisions, solution
        bounds.append(value)
        enough = tol * max(1.0, abs(value))
        hoped = search.look(solution, precisions, gain)
        ahead = _gain_ahead(bounds) if step == 1.0 else abs(gain)
        if ahead <= enough and hoped <= max(enough, WORTHLESS):
            break
        wanted = followed
        step = min(1.0, 2 * step)
    assert best is not None
    return Fit(best.posterior(), np.array(bounds), precisions)


def _gain_ahead(bounds: list[float]) -> float:
    """What further sweeps may gain, each the same share of the one before.

    The share lies between a tenth and a half.
    """
    if len(bounds) < 3:
        return abs(bounds[-1] - bounds[-2]) if len(bounds) == 2 else np.inf
    before, last = np.abs(np.diff(bounds[-3:]))
    share = np.clip(last / max(before, 1e-300), 0.1, 0.5)
    return float(last * share / (1 - share))


def _between(sites: Sites, wanted: Sites, step: float) -> Sites:
    if step == 1.0:
        return wanted
    return (
        sites[0] + step * (wanted[0] - sites[0]),
        sites[1] + step * (wanted[1] - sites[1]),
    )


class PrecisionSearch:
    """Where the evidence wants the prior's precisions: a secant in logarithms, each.

    MacKay's step leads to where what speaks for more precision and what speaks for
    less would be equal if nothing else changed; at the goal it leads to itself.
    """

    def __init__(self, firm: Firmness) -> None:
        self.goal = firm.centre
        self._firm = firm
        self._place = self._drift = np.full(len(firm.centre), np.nan)

    def look(self, solution: Solution, precisions: Array, gain: float) -> float:
        """Set the goal; give what the bound may hope to gain by it.

        While sweeps gain much more than that, the goal stays.
        """
        self.goal = precisions
        if not self._firm.is_free.any():
            return 0.0
        if gain > WORTH_A_SWEEP:
            return np.inf
        more, less = matrix.precision_slope(
            *solution.determined(), precisions, self._firm.off(precisions)
        )
        n_precisions = len(precisions)
        low, high = np.log(LOWEST[:n_precisions]), np.log(HIGHEST[:n_precisions])
        place = np.log(precisions)
        evident = place + np.log(np.maximum(more, 1e-290) / np.maximum(less, 1e-290))
        drift = np.clip(evident, low, high) - place
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (drift - self._drift) / (place - self._place)
        has_secant = np.isfinite(slope)
        secant = -1 / np.minimum(np.where(has_secant, slope, -1), -1 / LONGEST_STEP)
        step = np.clip(np.where(has_secant, secant, 1.0) * drift, -FARTHEST, FARTHEST)
        move = np.clip(place + step, low, high) - place
        # Without a secant, hope for half the longest step: a slope may go on far.
        far = np.where(has_secant, 1.0, LONGEST_STEP / 2)
        hoped = self._firm.is_free * np.abs(move * (more - less)) * far / 4
        moves = hoped > max(gain / PATIENCE, WORTHLESS)
        self.goal = np.where(moves, np.exp(place + move), precisions)
        self._place = np.where(moves, place, self._place)
        self._drift = np.where(moves, drift, self._drift)
        return float(hoped.max())


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
    return Fit(point, np.array(reached or [-found.fun * scale]), np.zeros(1))
