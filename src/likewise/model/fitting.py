"""Labelled pairs in, a belief out: the loops, the evidence, when to stop. Pure.

Chooses no questions and checks no input. One loop serves all models: a pair's
likelihood is replaced by a Gaussian site, the Gaussian posterior of the sites is
solved for, and the sites are found anew where the posterior now lies. What differs is
the bound (Jaakkola's, as in the paper, or the tight one) and the solver. Around it the
evidence chooses the prior's settings, and weighs one prior against another.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from likewise.model import equations, matrix
from likewise.model.belief import Belief, Member
from likewise.model.equations import Sites
from likewise.model.parts import Features, gram, over
from likewise.model.posterior import MetricPosterior, PairPosterior, WeightPosterior
from likewise.model.priors import (
    NOISY_START,
    Frames,
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
from likewise.threads import threads_for

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
# Of targets, weights and moments of f: a lower bound of the log likelihood, and sites.
Bound = Callable[[Array, Array, Array, Array], tuple[float, Sites]]

# Nats of evidence that are left lying when the settings of a prior are searched for.
WORTHLESS = 0.02
# A member with less evidence than the best, by so many nats, is not looked at further
# (before its settings are searched for), and has no weight (after).
HOPELESS, NEGLIGIBLE = 10.0, 7.0
# Entries and pairs, the fewer of which decide how long a sweep takes: above so many the
# free matrix is held to N_FREE directions, those in which the pairs differ most. What
# that costs is in docs/math.md.
MAX_SIDE, N_FREE = 1_500, 40
# Where one sweep over the pairs takes more products than this, some tenths of a second,
# N_FIRST of the pairs choose the member and its settings, and all pairs fit that one.
COSTLY, N_FIRST = 1e9, 600
# Up to this many pairs items may lie off their features: the time of a fit grows with
# the third power of the pairs then, whatever the number of dimensions.
MAX_PLACED = 1_500


class Told(NamedTuple):
    """What was said of pairs: the probability of "same", and how much each counts."""

    pairs: Pairs  # (n_pairs, 2)
    p_same: Array  # (n_pairs,)
    weights: Array  # (n_pairs,)
    implied: NDArray[np.bool_]  # (n_pairs,): whether it follows from other answers

    def that_count(self) -> "Told":
        """The pairs that have a weight."""
        counts = self.weights > 0
        pairs, p_same, weights, implied = self
        return Told(pairs[counts], p_same[counts], weights[counts], implied[counts])

    def labelled(self, features: Features) -> LabelledPairs:
        """The same pairs with their features."""
        targets = self.weights * (self.p_same - 0.5)
        implied = self.implied.astype(float)
        return LabelledPairs(features, targets, self.weights, self.pairs, implied)


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


@dataclass(frozen=True)
class Fit:
    """What was learned by every prior that is left, heaviest first."""

    members: dict[str, MemberFit]
    belief: Belief

    @property
    def best(self) -> MemberFit:
        """The member of most evidence."""
        return next(iter(self.members.values()))

    @property
    def has_converged(self) -> bool:
        """Whether every member did."""
        return all(member.has_converged for member in self.members.values())


class Rules(NamedTuple):
    """How a fit is made."""

    inference: str = "variational"
    max_iter: int = 100
    tol: float = 1e-4


def fit(frames: Frames, told: Told, rules: Rules, start: Fit | None = None) -> Fit:
    """Learn from labelled pairs, by every prior; the evidence weighs them.

    `start` is a fit of nearly the same pairs: its members are kept, at their settings.
    """
    return fit_labelled(frames, label_pairs(frames, told), rules, start)


def fit_doubted(
    frames: Frames, told: Told, rules: Rules, start: Fit | None = None
) -> Fit:
    """Learn from answers some of which may be wrong.

    An answer that nobody is sure of is weighed by what all the others make of it, and
    all is learned once more.
    """
    fitted = fit(frames, told, rules, start)
    is_doubted = (told.p_same > 0) & (told.p_same < 1) & ~told.implied
    if not is_doubted.any():
        return fitted
    weighed = matrix.believed_answer(told.p_same, _by_others(frames, told, fitted))
    p_same = np.where(is_doubted, weighed, told.p_same)
    return fit(frames, told._replace(p_same=p_same), rules, start)


def _by_others(frames: Frames, told: Told, fitted: Fit) -> Array:
    """P(same) of each pair by what was told of the other pairs."""
    counts = told.weights > 0
    Z, pairs = frames.coordinates, told.pairs[counts]
    features = frames.basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]])
    found = np.zeros(len(told.p_same))
    for member in fitted.belief.members:
        moments = member.posterior.left_out(features, pairs)
        found[counts] += member.weight * matrix.predictive_probability(*moments)
    return found


def fit_labelled(
    frames: Frames, labelled: LabelledPairs, rules: Rules, start: Fit | None = None
) -> Fit:
    """Learn from labelled pairs whose features are known, wherever these are."""
    with threads_for(len(labelled.targets)):
        return _assemble(_fits(labelled, frames, rules, start), frames.log_shares)


def _fits(
    labelled: LabelledPairs, frames: Frames, rules: Rules, start: Fit | None
) -> dict[str, MemberFit]:
    """A fit of each prior that may matter."""
    if start is not None:
        return {
            name: _follow(labelled, member, frames, rules)
            for name, member in start.members.items()
        }
    if len(labelled.targets) == 0:
        return {name: _unmoved(prior) for name, prior in frames.priors.items()}
    if rules.inference == "mle":
        name, prior = next(iter(frames.priors.items()))
        return {name: maximise_likelihood(labelled, prior, rules)}
    return _weigh(labelled, frames, rules)


def label_pairs(frames: Frames, told: Told) -> LabelledPairs:
    """What was told of the pairs that count, with their features."""
    Z, told = frames.coordinates, told.that_count()
    features = frames.basis.features(Z[told.pairs[:, 0]] - Z[told.pairs[:, 1]])
    return told.labelled(features)


def _assemble(fits: dict[str, MemberFit], log_shares: dict[str, float]) -> Fit:
    """Members by their weight, without those that have none."""
    scores = {
        name: float(member.evidence[-1]) + log_shares[name]
        for name, member in fits.items()
    }
    best = max(scores.values())
    kept = [
        name
        for name in sorted(scores, key=lambda name: -scores[name])
        if scores[name] >= best - NEGLIGIBLE
    ]
    weights = softmax([scores[name] for name in kept])
    members = tuple(
        Member(name, float(weight), fits[name].posterior)
        for name, weight in zip(kept, weights, strict=True)
    )
    return Fit({name: fits[name] for name in kept}, Belief(members))


def _weigh(
    labelled: LabelledPairs, frames: Frames, rules: Rules
) -> dict[str, MemberFit]:
    """Fit every prior, looking closely only at those that may matter.

    The settings found for the best one are where the search for the others begins.
    """
    if any(_is_costly(labelled, prior) for prior in frames.priors.values()):
        return _weigh_by_few(labelled, frames, rules)
    climbs = {
        name: Climb(labelled, prior, frames.settings, rules)
        for name, prior in frames.priors.items()
    }
    if len(climbs) == 1:
        return {
            name: climb.search(near=climb.better_start())
            for name, climb in climbs.items()
        }
    first = {name: climb.settle(climb.prior).evidence for name, climb in climbs.items()}
    best = max(first, key=lambda name: first[name])
    fits = {best: climbs[best].search(near=climbs[best].better_start())}
    for name, climb in climbs.items():
        if name != best and first[name] >= first[best] - HOPELESS:
            fits[name] = climb.search(near=fits[best].prior)
    return fits


def _weigh_by_few(
    labelled: LabelledPairs, frames: Frames, rules: Rules
) -> dict[str, MemberFit]:
    """Fit all pairs by the one prior that a part of them speaks for.

    What few of so many pairs say against a member, all of them say louder.
    """
    chosen = np.linspace(0, len(labelled.targets) - 1, N_FIRST).astype(np.intp)
    priors = {name: _without_noise(prior) for name, prior in frames.priors.items()}
    first = replace(frames, priors=priors)
    fit = _assemble(_weigh(labelled.at(chosen), first, rules), first.log_shares)
    name, member = next(iter(fit.members.items()))
    climb = Climb(labelled, member.prior, frames.settings, rules)
    return {name: climb.finish(climb.settle(climb.prior))}


def _is_costly(labelled: LabelledPairs, prior: Prior) -> bool:
    n_pairs = len(labelled.targets)
    if n_pairs <= MAX_PLACED or not isinstance(prior, MatrixPrior):
        return False
    entries = prior.n_entries
    if min(n_pairs, entries) > MAX_SIDE:
        entries = N_FREE * (N_FREE + 1) // 2
    side = min(n_pairs, entries)
    return n_pairs * float(side) ** 2 > COSTLY


def _without_noise(prior: Prior) -> Prior:
    if isinstance(prior, MatrixPrior):
        return replace(prior, item_noise=0.0)
    return prior


def _follow(
    labelled: LabelledPairs, member: MemberFit, frames: Frames, rules: Rules
) -> MemberFit:
    """Fit at the settings of before, starting from the posterior of before."""
    climb = Climb(labelled, member.prior, frames.settings, rules)
    features = np.asarray(labelled.features)
    moments = member.posterior.latent(features, labelled.pairs)
    climb.sites = climb.bound(labelled.targets, labelled.weights, *moments)[1]
    return climb.finish(climb.settle(climb.prior))


def _unmoved(prior: Prior) -> MemberFit:
    """The prior itself: what is known before any answer."""
    posterior: MetricPosterior
    if isinstance(prior, WeightPrior):
        posterior = WeightPosterior(prior.mean, np.diag(1 / prior.precisions))
    else:
        nothing = np.empty(0)
        posterior = PairPosterior(
            prior,
            alpha=nothing,
            gaps=np.empty((0, len(prior.centre))),
            inverse_root=np.empty((0, 0)),
            half=nothing,
            pairs=np.empty((0, 2), dtype=np.intp),
            implied=nothing,
        )
    return MemberFit(prior, posterior, np.zeros(1), 0, True)


class Settled(NamedTuple):
    """Where sweeps at one prior have ended."""

    prior: Prior
    evidence: float  # the lower bound, and the log density of the settings
    solution: Solution
    has_converged: bool


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
            self.bound = matrix.tight_bound
        self._told, self._rules = (labelled.targets, labelled.weights), rules
        # The first sites are Jaakkola's: they exist wherever f may lie.
        moments = self._solver.start(prior)
        self.sites = equations.jaakkola_bound(*self._told, *moments)[1]
        self._n_sweeps = 0
        self._trace: list[float] = []

    def search(self, near: Prior | None = None) -> MemberFit:
        """Let the evidence choose the settings; the search begins near a prior."""
        if not self.settings:
            return self.finish(self.settle(self.prior))
        if not self._trace:
            self.settle(self.prior)  # so large is the bound: what is nothing beside it
        reached: list[Settled] = []
        widths = np.array([min(each.spread, 1.0) for each in self.settings])

        def objective(place: Array) -> tuple[float, Array]:
            values = np.exp(place * widths)
            settled = self.settle(with_settings(self.prior, self.settings, values))
            reached.append(settled)
            return -settled.evidence, -self._slopes(settled) * widths

        bounds = [
            (np.log(each.lowest) / width, np.log(each.highest) / width)
            for each, width in zip(self.settings, widths, strict=True)
        ]
        start = np.log(self._values(near or self.prior)) / widths
        scale = max(1.0, abs(max(self._trace)))
        minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": WORTHLESS / scale, "gtol": WORTHLESS, "maxiter": 15},
        )
        return self.finish(max(reached, key=lambda settled: settled.evidence))

    def better_start(self) -> Prior:
        """The prior as it is, or with noisy items, whichever has more evidence."""
        chosen = {each.name for each in self.settings}
        if not NOISY_START.keys() <= chosen:
            return self.prior
        values: dict[str, Any] = NOISY_START
        noisy = replace(self.prior, **values)
        before = self.settle(self.prior).evidence
        return noisy if self.settle(noisy).evidence > before else self.prior

    def settle(self, prior: Prior) -> Settled:
        """Sweep at this prior until the bound has less than `tol` of its size to gain.

        Only Jaakkola's bound rises by itself: elsewhere a step after which the bound
        would fall is shortened.
        """
        density = self._log_density(prior)
        rises = self.bound is equations.jaakkola_bound
        sites, wanted, step, has_converged = self.sites, self.sites, 1.0, False
        bounds: list[float] = []
        best: Solution | None = None
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
            else:
                sites, best, wanted = tried, solution, followed
                bounds.append(value)
                self._record(value + density)
                ahead = _gain_ahead(bounds, is_whole=step == 1.0)
                has_converged = ahead <= self._rules.tol * max(1.0, abs(value))
                step = min(1.0, 2 * step)
            if has_converged:
                break
        assert best is not None
        self.sites = wanted
        return Settled(prior, bounds[-1] + density, best, has_converged)

    def finish(self, settled: Settled) -> MemberFit:
        """The fit of where the sweeps have ended."""
        return MemberFit(
            settled.prior,
            settled.solution.posterior(),
            np.array(self._trace),
            self._n_sweeps,
            settled.has_converged,
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
                slopes[each.name] + each.slope(value)
                for each, value in zip(self.settings, values, strict=True)
            ]
        )

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


def _gain_ahead(bounds: list[float], *, is_whole: bool) -> float:
    """What further sweeps may gain, each the same share of the one before.

    The share lies between a tenth and a half; it is known after three whole steps.
    """
    if len(bounds) == 1:
        return np.inf
    if len(bounds) == 2 or not is_whole:
        return abs(bounds[-1] - bounds[-2])
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
    return MemberFit(prior, point, evidence, len(evidence), True)
