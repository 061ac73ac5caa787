"""Sweeps of one prior, and the settings that the evidence chooses for it.

One loop serves all models: a pair's likelihood is replaced by a Gaussian site, the
Gaussian posterior of the sites is solved for, and the sites are found anew where the
posterior now lies. What differs is the bound (Jaakkola's, as in the paper, or the tight
one) and the solver.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from likewise.model import equations, matrix
from likewise.model.ascent import Look, ascend
from likewise.model.equations import Sites
from likewise.model.parts import gram, joined, over
from likewise.model.posterior import MetricPosterior, WeightPosterior
from likewise.model.priors import (
    NOISY_START,
    MatrixPrior,
    Prior,
    Setting,
    WeightPrior,
    with_free_directions,
    with_settings,
)
from likewise.model.solvers import (
    LabelledPairs,
    Solution,
    Solver,
    WeightSolver,
    matrix_solver,
)
from likewise.pairs import find_pairs

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
# Of targets, weights and moments of f: a lower bound of the log likelihood, and sites.
Bound = Callable[[Array, Array, Array, Array], tuple[float, Sites]]


# Nats of evidence that are left lying when the settings of a prior are searched for.
WORTHLESS = 0.01
# Sweeps at settings that are but tried may leave this share of what the settings were
# expected to gain; where the search begins, so many nats.
SLACK, ROUGHLY = 0.1, 0.5
# Of what a sweep gained the next one is taken to gain no less, and no more.
LEAST_AHEAD, MOST_AHEAD = 0.1, 0.5
# Entries and pairs, the fewer of which decide how long a sweep takes: above so many the
# free matrix is held to N_FREE directions, those in which the pairs differ most. What
# that costs is in docs/math.md.
MAX_SIDE, N_FREE = 1_500, 40
# Up to this many pairs items may lie off their features: the time of a fit grows with
# the third power of the pairs then, whatever the number of dimensions.
MAX_PLACED = 1_500


class Rules(NamedTuple):
    """How a fit is made."""

    inference: str = "variational"
    max_iter: int = 100
    tol: float = 1e-4


@dataclass(frozen=True)
class MemberFit:
    """One prior at the settings chosen, its posterior, and how it was reached."""

    prior: Prior
    posterior: MetricPosterior
    # (n_iter,): the lower bound after each sweep that raised it, and the log density
    # of the settings that it chose.
    evidence: Array
    n_sweeps: int
    has_converged: bool
    share: float  # of what a sweep gained the next one does
    # The pairs, and mean and variance of f of each; None before any answer.
    seen: tuple[Pairs, Array, Array] | None = None


class Settled(NamedTuple):
    """Where sweeps at one prior have ended."""

    prior: Prior
    evidence: float  # the lower bound, and the log density of the settings
    solution: Solution
    has_converged: bool
    sites: Sites  # of the solution
    wanted: Sites  # that follow it


class Climb:
    """Sweeps of one prior, which keep their sites from one setting to the next."""

    def __init__(
        self,
        labelled: LabelledPairs,
        prior: Prior,
        settings: tuple[Setting, ...],
        rules: Rules,
    ) -> None:
        if isinstance(prior, MatrixPrior):
            prior = _affordable(prior, labelled)
        else:
            labelled = labelled.tempered()
        self.prior = prior
        self.settings = tuple(each for each in settings if getattr(prior, each.name))
        self.bound: Bound
        self._solver: Solver
        if isinstance(prior, WeightPrior):
            sign = "clipped" if rules.inference == "variational-clip" else "held"
            self._solver = WeightSolver(labelled, sign)
            self.bound = equations.jaakkola_bound
        else:
            self._solver = matrix_solver(labelled, prior)
            self.bound = partial(matrix.tight_bound, right=labelled.right)
        self._labelled, self._rules = labelled, rules
        self._told = labelled.targets, labelled.weights
        # The first sites are Jaakkola's: they exist wherever f may lie.
        moments = self._solver.start(prior)
        self.sites = equations.jaakkola_bound(*self._told, *moments)[1]
        self._share = self.expected_share = MOST_AHEAD
        self._n_sweeps = 0
        self._trace: list[float] = []
        self.highest: Settled | None = None
        # Of the bound, in the logarithms of the settings: as a search has found it.
        self.curvature = np.zeros((0, 0))

    def begin_at(self, posterior: MetricPosterior) -> None:
        """Begin with the sites that follow a posterior of some of the pairs."""
        told, width = self._labelled, posterior.width
        moments = over(told.features, posterior.latent, told.pairs, width=width)
        self.sites = equations.jaakkola_bound(*self._told, *joined(moments))[1]

    def follow(self, member: MemberFit) -> None:
        """Begin where a fit of nearly the same pairs has ended."""
        if member.seen is None:
            self.begin_at(member.posterior)
            return
        pairs, *moments = member.seen
        told = self._labelled
        place = find_pairs(told.pairs, pairs)
        mean, variance = (each[place] for each in moments)
        new = np.flatnonzero(place < 0)
        if len(new):
            latent = member.posterior.latent(told.features[new], told.pairs[new])
            mean[new], variance[new] = latent
        followed = self.bound(*self._told, mean, variance)[1]
        # Where a pair is new its moments are not those of a posterior that knows it.
        first = equations.jaakkola_bound(*self._told, mean, variance)[1]
        for sites, kept in zip(followed, first, strict=True):
            sites[new] = kept[new]
        self.sites = followed
        self.expected_share = member.share

    def begin(self) -> float:
        """Evidence of the prior as it is, give or take ROUGHLY."""
        return self.look(self.prior, slack=ROUGHLY).evidence

    def search(self, leader: "Climb | None" = None) -> MemberFit:
        """Let the evidence choose the settings.

        The search begins where that of a leader has ended, if there is one.
        """
        if not self.settings:
            return self.finish(self.settle(self.prior))
        self.look(self.prior, slack=ROUGHLY)
        self.curvature = self._expected_curvature()
        if leader is not None:
            values = self._values(leader._best.prior)
            self.look(self._prior_at(values), slack=ROUGHLY)
            self.curvature = leader.curvature
        start = self._as_look(self._best)
        ends = [(each.lowest, each.highest) for each in self.settings]
        box = tuple(np.log(np.transpose(ends)))
        self.curvature = ascend(self._look_at, start, self.curvature, box, WORTHLESS)
        best = self._best
        return self.finish(self.settle(best.prior, before=best))

    @property
    def _best(self) -> Settled:
        """Where the highest bound was found."""
        assert self.highest is not None
        return self.highest

    def _prior_at(self, values: Array) -> Prior:
        return with_settings(self.prior, self.settings, values)

    def _expected_curvature(self) -> Array:
        slopes = self._best.solution.slopes()
        found = [slopes[e.name].curvature + 1 / e.spread**2 for e in self.settings]
        return np.diag(np.maximum(found, WORTHLESS))

    def begin_better(self) -> "Climb":
        """Begin with noisy items, if that has more evidence than the prior as it is."""
        chosen = {each.name for each in self.settings}
        if NOISY_START.keys() <= chosen:
            values: dict[str, Any] = NOISY_START
            self.look(self.prior, slack=ROUGHLY)
            self.look(replace(self.prior, **values), slack=ROUGHLY)
            self.prior = self._best.prior
        return self

    def look(self, prior: Prior, slack: float) -> Settled:
        """Settle roughly at a prior, unless that is where the highest bound is."""
        if self.highest is not None:
            if prior is self.highest.prior:
                return self.highest
            self.sites = self.highest.wanted
        settled = self.settle(prior, slack)
        if self.highest is None or settled.evidence > self.highest.evidence:
            self.highest = settled
        return settled

    def _look_at(self, place: Array, expected: float) -> Look:
        """Evidence and slopes at these logarithms of the settings.

        Sweeps end early where what they gain is little beside what was expected.
        """
        prior = self._prior_at(np.exp(place))
        return self._as_look(self.look(prior, SLACK * expected))

    def _as_look(self, settled: Settled) -> Look:
        place = np.log(self._values(settled.prior))
        return Look(place, settled.evidence, self._slopes(settled))

    def settle(
        self, prior: Prior, slack: float = 0.0, before: Settled | None = None
    ) -> Settled:
        """Sweep at this prior until the bound has less than `tol` of its size to gain.

        Or less than `slack`. Goes on from where sweeps at this prior ended `before`.
        Only Jaakkola's bound rises by itself: elsewhere a step after which the bound
        would fall is shortened.
        """
        density = self._log_density(prior)
        rises = self.bound is equations.jaakkola_bound
        sites, wanted, step, has_converged = self.sites, self.sites, 1.0, False
        # The first sites are no posterior's: what one sweep gains tells nothing there.
        n_telling = 3 if self.highest is None else 2
        bounds: list[float] = []
        best: Solution | None = None
        if before is not None:
            if before.has_converged:
                return before
            sites, wanted, best = before.sites, before.wanted, before.solution
            bounds.append(before.evidence - density)
        for _ in range(self._rules.max_iter):
            tried = _between(sites, wanted, step)
            solution = self._solver.solve(tried, prior)
            expected, followed = self.bound(
                *self._told, solution.latent_mean, solution.latent_variance
            )
            self._n_sweeps += 1
            value = expected - solution.divergence
            if bounds and value < bounds[-1] and not rises:
                step, has_converged = step / 2, step < 0.1
                is_enough = has_converged
            else:
                sites, best, wanted = tried, solution, followed
                bounds.append(value)
                self._record(value + density)
                ahead = self._gain_ahead(bounds, is_whole=step == 1.0)
                has_converged = ahead <= self._rules.tol * max(1.0, abs(value))
                is_rough = ahead <= slack and len(bounds) >= n_telling
                is_enough = has_converged or is_rough
                step = min(1.0, 2 * step)
            if is_enough:
                break
        assert best is not None
        self.sites = wanted
        evidence = bounds[-1] + density
        return Settled(prior, evidence, best, has_converged, sites, wanted)

    def finish(self, settled: Settled) -> MemberFit:
        """The fit of where the sweeps have ended."""
        solution = settled.solution
        return MemberFit(
            settled.prior,
            solution.posterior(),
            np.array(self._trace),
            self._n_sweeps,
            settled.has_converged,
            self._share,
            (self._labelled.pairs, solution.latent_mean, solution.latent_variance),
        )

    def _values(self, prior: Prior) -> Array:
        return np.array([getattr(prior, each.name) for each in self.settings])

    def _log_density(self, prior: Prior) -> float:
        values = self._values(prior)
        pairs = zip(self.settings, values, strict=True)
        return sum(each.log_density(value) for each, value in pairs)

    def _slopes(self, settled: Settled) -> Array:
        slopes, values = settled.solution.slopes(), self._values(settled.prior)
        return np.array(
            [
                slopes[each.name].value + each.slope(value)
                for each, value in zip(self.settings, values, strict=True)
            ]
        )

    def _gain_ahead(self, bounds: list[float], *, is_whole: bool) -> float:
        """What further sweeps may gain, each the same share of the one before.

        Three whole steps show the share; before, it is the one expected.
        """
        gains = np.abs(np.diff(bounds[-3:]))
        if len(gains) == 0:
            return np.inf
        if not is_whole:
            return float(gains[-1])
        share = self.expected_share
        if len(gains) == 2:
            share = gains[1] / max(gains[0], 1e-300)
            share = self._share = float(np.clip(share, LEAST_AHEAD, MOST_AHEAD))
        return float(gains[-1] * share / (1 - share))

    def _record(self, evidence: float) -> None:
        if not self._trace or evidence > self._trace[-1]:
            self._trace.append(evidence)


def _affordable(prior: MatrixPrior, labelled: LabelledPairs) -> MatrixPrior:
    """The prior itself, or what of it so many pairs leave time for."""
    n_pairs = len(labelled.targets)
    if n_pairs > MAX_PLACED:
        prior = replace(prior, item_noise=0.0)
        if min(n_pairs, prior.n_entries) > MAX_SIDE:
            scatter = sum(over(labelled.features, gram))
            prior = with_free_directions(prior, scatter, N_FREE)
    return prior


def n_products(prior: Prior, n_pairs: int) -> float:
    """Products that a sweep takes where pairs are many; few for all others."""
    if n_pairs <= MAX_PLACED or not isinstance(prior, MatrixPrior):
        return 0.0
    n_entries = prior.n_entries
    if min(n_pairs, n_entries) > MAX_SIDE:
        n_entries = N_FREE * (N_FREE + 1) // 2
    return n_pairs * float(min(n_pairs, n_entries)) ** 2


def _between(sites: Sites, wanted: Sites, step: float) -> Sites:
    if step == 1.0:
        return wanted
    return (
        sites[0] + step * (wanted[0] - sites[0]),
        sites[1] + step * (wanted[1] - sites[1]),
    )


def maximise_likelihood(
    labelled: LabelledPairs, prior: Prior, rules: Rules
) -> MemberFit:
    """Find the weights >= 0 of greatest likelihood: section 5.2's MLE.

    On separable pairs they have no limit; `max_iter` and `tol` end the climb. The
    posterior is a point: its covariance is zero.
    """
    assert isinstance(prior, WeightPrior)
    reached: list[float] = []
    features, scale = np.asarray(labelled.features), labelled.weights.sum()

    def objective(weights: Array) -> tuple[float, Array]:
        value, slope = equations.likelihood_objective(
            weights, features, labelled.targets, labelled.weights
        )
        return value / scale, slope / scale

    found = minimize(
        objective,
        np.maximum(prior.mean, 0.0),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(prior.mean),
        callback=lambda weights: reached.append(-objective(weights)[0] * scale),
        options={"maxiter": rules.max_iter, "ftol": rules.tol, "gtol": 1e-8},
    )
    weights = np.maximum(found.x, 0.0)
    point = WeightPosterior(weights, np.zeros((len(weights), len(weights))))
    evidence = np.array(reached or [-found.fun * scale])
    return MemberFit(prior, point, evidence, len(evidence), True, MOST_AHEAD)
