"""Labelled pairs in, a belief out: every prior fitted, the evidence weighs them. Pure.

Chooses no questions and checks no input. How one prior is fitted is in climbing.py.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from likewise.memory import keep_memory
from likewise.model import matrix
from likewise.model.belief import Belief, Member
from likewise.model.climbing import (
    MOST_AHEAD,
    Climb,
    MemberFit,
    Rules,
    maximise_likelihood,
    n_products,
)
from likewise.model.parts import Features
from likewise.model.posterior import MetricPosterior, PairPosterior, WeightPosterior
from likewise.model.priors import Frames, MatrixPrior, Prior, WeightPrior
from likewise.model.solvers import LabelledPairs
from likewise.threads import side_by_side, threads_for

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Item = TypeVar("Item")
Result = TypeVar("Result")
# A member with less evidence than the best, by so many nats, is not looked at further
# (before its settings are searched for), and has no weight (after).
HOPELESS, NEGLIGIBLE = 10.0, 7.0
# Where one sweep over the pairs takes more products than this, some tenths of a second,
# N_FIRST of the pairs choose the member and its settings, and all pairs fit that one.
COSTLY, N_FIRST = 1e9, 600
# Pairs or entries of the matrix, the fewer of the two, up to which a sweep takes no
# longer for all pairs than for half of them.
SMALL_SIDE = 150


class Told(NamedTuple):
    """What was said of pairs: the probability of "same", and how much each counts."""

    pairs: Pairs  # (n_pairs, 2)
    p_same: Array  # (n_pairs,)
    weights: Array  # (n_pairs,)
    implied: NDArray[np.bool_]  # (n_pairs,): whether it follows from other answers
    # (n_pairs,): how likely what was said is right, above 1/2; None: all is certain.
    right: Array | None = None

    def that_count(self) -> "Told":
        """The pairs that have a weight."""
        return self._at(self.weights > 0)

    def answered(self) -> "Told":
        """The pairs that were answered, without what follows."""
        return self._at(~self.implied)

    def _at(self, chosen: NDArray[np.bool_]) -> "Told":
        pairs, p_same, weights, implied, right = self
        return Told(
            pairs[chosen],
            p_same[chosen],
            weights[chosen],
            implied[chosen],
            None if right is None else right[chosen],
        )

    @property
    def is_doubted(self) -> bool:
        """Whether any answer may be wrong."""
        return self.right is not None

    def labelled(self, features: Features) -> LabelledPairs:
        """The same pairs with their features."""
        targets = self.weights * (self.p_same - 0.5)
        implied = self.implied.astype(float)
        return LabelledPairs(
            features, targets, self.weights, self.pairs, implied, self.right
        )


@dataclass(frozen=True)
class Fit:
    """What was learned by every prior that is left, heaviest first."""

    members: dict[str, MemberFit]
    belief: Belief
    # P(same) of answered pairs, each by all other answers, where some may be wrong.
    by_others: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @property
    def best(self) -> MemberFit:
        """The member of most evidence."""
        return next(iter(self.members.values()))

    @property
    def leaves_out(self) -> bool:
        """Whether it can tell what all others make of a pair."""
        return isinstance(self.best.prior, MatrixPrior)

    @property
    def has_converged(self) -> bool:
        """Whether every member did."""
        return all(member.has_converged for member in self.members.values())


def fit(frames: Frames, told: Told, rules: Rules, start: Fit | None = None) -> Fit:
    """Learn from labelled pairs, by every prior; the evidence weighs them.

    `start` is a fit of nearly the same pairs: its members are kept, at their settings.
    """
    return fit_labelled(frames, label_pairs(frames, told), rules, start)


def fit_drawn(frames: Frames, told: Told, rules: Rules) -> Fit:
    """Learn from pairs that are a sample of many: half of them choose the settings.

    Unless so few dimensions are left that a sweep takes no time.
    """
    keep_memory()
    labelled = label_pairs(frames, told)
    n_pairs = len(labelled.targets)
    sides = [min(n_pairs, _n_entries(prior)) for prior in frames.priors.values()]
    if max(sides) <= SMALL_SIDE:
        return fit_labelled(frames, labelled, rules)
    with threads_for(n_pairs):
        fits = _weigh_by_few(labelled, frames, rules, n_pairs // 2)
    return _assemble(fits, frames.log_shares)


def by_others(frames: Frames, told: Told, fitted: Fit) -> dict[tuple[int, int], float]:
    """P(same) of each pair by what was told of the others, in a fit of them all."""
    told = told.that_count()
    Z, pairs = frames.coordinates, told.pairs
    features = frames.basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]])
    found = np.zeros(len(pairs))
    for member in fitted.belief.members:
        moments = member.posterior.left_out(features, pairs)
        found += member.weight * matrix.predictive_probability(*moments)
    return {(i, j): p for (i, j), p in zip(pairs.tolist(), found.tolist(), strict=True)}


def fit_labelled(
    frames: Frames, labelled: LabelledPairs, rules: Rules, start: Fit | None = None
) -> Fit:
    """Learn from labelled pairs whose features are known, wherever these are."""
    keep_memory()
    width = max(_width(prior) for prior in frames.priors.values())
    with threads_for(len(labelled.targets), width):
        return _assemble(_fits(labelled, frames, rules, start), frames.log_shares)


def _width(prior: Prior) -> float:
    """Columns of what a sweep multiplies; no fewer than there are pairs, it may be."""
    return len(prior.mean) if isinstance(prior, WeightPrior) else math.inf


def _n_entries(prior: Prior) -> int:
    return len(prior.mean) if isinstance(prior, WeightPrior) else prior.n_entries


def _fits(
    labelled: LabelledPairs, frames: Frames, rules: Rules, start: Fit | None
) -> dict[str, MemberFit]:
    """A fit of each prior that may matter."""
    if start is not None:
        follow = partial(_follow, labelled, frames=frames, rules=rules)
        return _for_each(follow, start.members, labelled)
    if len(labelled.targets) == 0:
        return {name: _unmoved(prior) for name, prior in frames.priors.items()}
    if rules.inference == "mle":
        name, prior = next(iter(frames.priors.items()))
        return {name: maximise_likelihood(labelled, prior, rules)}
    return _weigh(labelled, frames, rules)


def label_pairs(frames: Frames, told: Told) -> LabelledPairs:
    """What was told of the pairs that count, with their features."""
    told = told.that_count()
    return told.labelled(frames.basis.labelled(frames.coordinates, told.pairs))


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
    n_pairs = len(labelled.targets)
    if any(n_products(prior, n_pairs) > COSTLY for prior in frames.priors.values()):
        return _weigh_by_few(labelled, frames, rules, N_FIRST)
    climb_by = partial(Climb, labelled, settings=frames.settings, rules=rules)
    climbs = _for_each(climb_by, frames.priors, labelled)
    if len(climbs) == 1:
        return {name: climb.begin_better().search() for name, climb in climbs.items()}
    first = _for_each(methodcaller("begin"), climbs, labelled)
    best = max(first, key=lambda name: first[name])
    leader = climbs[best].begin_better().search()
    others = {
        name: climb
        for name, climb in climbs.items()
        if name != best and first[name] >= first[best] - HOPELESS
    }
    follow = methodcaller("search", climbs[best])
    return {best: leader, **_for_each(follow, others, labelled)}


def _for_each(
    work: Callable[[Item], Result], items: Mapping[str, Item], labelled: LabelledPairs
) -> dict[str, Result]:
    """What `work` gives for each prior by its name, side by side where that helps."""
    if isinstance(labelled.features, np.ndarray):
        found = side_by_side(work, items.values(), len(labelled.targets))
    else:  # on a cluster the parts are side by side
        found = [work(item) for item in items.values()]
    return dict(zip(items, found, strict=True))


def _weigh_by_few(
    labelled: LabelledPairs, frames: Frames, rules: Rules, n_first: int
) -> dict[str, MemberFit]:
    """Fit all pairs by the one prior that the first of them speak for.

    What few of so many pairs say against a member, all of them say louder.
    """
    chosen = labelled.some(n_first)
    priors = {name: _without_noise(prior) for name, prior in frames.priors.items()}
    first = replace(frames, priors=priors)
    fit = _assemble(_weigh(chosen, first, rules), first.log_shares)
    name, member = next(iter(fit.members.items()))
    climb = Climb(labelled, member.prior, frames.settings, rules)
    n_some = len(labelled.targets) // 20
    if n_some <= n_first:
        climb.follow(member)
    else:
        # Sweeps of a twentieth take a twentieth, and leave fewer for all.
        roughly = rules._replace(tol=100 * rules.tol)
        some = Climb(labelled.some(n_some), climb.prior, (), roughly)
        some.begin_at(member.posterior)
        climb.begin_at(some.settle(some.prior).solution.posterior())
    return {name: climb.finish(climb.settle(climb.prior))}


def _without_noise(prior: Prior) -> Prior:
    if isinstance(prior, MatrixPrior):
        return replace(prior, item_noise=0.0)
    return prior


def _follow(
    labelled: LabelledPairs, member: MemberFit, frames: Frames, rules: Rules
) -> MemberFit:
    """Fit at the settings of before, starting from the posterior of before."""
    climb = Climb(labelled, member.prior, frames.settings, rules)
    climb.follow(member)
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
    return MemberFit(prior, posterior, np.zeros(1), 0, True, MOST_AHEAD)
