"""Fits of a growing number of answers: from scratch now and then, else from there.

Answers may be wrong: each is compared with what all the others make of its pair.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likewise.model import fitting
from likewise.model.climbing import Rules
from likewise.model.fitting import Fit, Told
from likewise.model.priors import Frames

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# The metric is fitted from scratch when the answers have grown by this factor; in
# between a fit starts from there, so that it depends on the answers only.
GROWTH = 1.05
# How often answers that may be wrong are weighed anew by a fit of them as weighed
# before; they hardly move after that.
N_WEIGHED = 3


class Log(Protocol):
    """What was answered: how many, and what it tells."""

    def __len__(self) -> int: ...

    def first(self, n_answers: int) -> Self:
        """The log as it was after so many answers."""
        ...

    def evidence(
        self,
        rng: np.random.RandomState,
        by_others: Mapping[tuple[int, int], float] | None = None,
    ) -> tuple[Pairs, Array, Array, NDArray[np.bool_], Array]:
        """Pairs, P(same), weights, which are implied, how likely each is right.

        `by_others` is P(same) of answered pairs, each by all other answers.
        """
        ...


class Checkpoints:
    """The fits of one log of answers, kept by how many answers they are of."""

    def __init__(self, frames: Frames, rules: Rules, seed: int) -> None:
        self._frames, self._rules, self._seed = frames, rules, seed
        self._fits: dict[int, Fit] = {}

    def __contains__(self, n_answers: int) -> bool:
        return n_answers in self._fits

    def copy(self) -> "Checkpoints":
        """The same fits, to be added to independently."""
        twin = Checkpoints(self._frames, self._rules, self._seed)
        twin._fits = dict(self._fits)
        return twin

    def forget_after(self, n_answers: int) -> None:
        """Drop the fits of more answers."""
        self._fits = {n: fit for n, fit in self._fits.items() if n <= n_answers}

    def fit(self, log: Log) -> Fit:
        """The fit of the answers so far."""
        n_answers = len(log)
        if n_answers not in self._fits:
            place = checkpoint(n_answers)
            base = self.fit_at(place, log)
            if place != n_answers:
                told = self._told(log, base.by_others)
                fitted = fitting.fit(self._frames, told, self._rules, start=base)
                self._keep(n_answers, replace(fitted, by_others=base.by_others))
        return self._fits[n_answers]

    def fit_at(self, n_answers: int, log: Log) -> Fit:
        """The fit of the first answers, made from scratch."""
        if n_answers not in self._fits:
            self._keep(n_answers, self.learn(log.first(n_answers)))
        return self._fits[n_answers]

    def learn(self, log: Log) -> Fit:
        """A fit of what was told, not kept.

        What follows from an answer speaks for it: whether it is wrong is for the other
        answers to say, and for these alone.
        """
        told = self._told(log)
        fitted = fitting.fit(self._frames, told, self._rules)
        if len(told.pairs) == 0 or not fitted.leaves_out:
            return fitted
        by_others = self._by_others(log, fitted)
        weighed = self._told(log, by_others)
        if told.is_doubted or weighed.is_doubted:
            fitted = fitting.fit(self._frames, weighed, self._rules)
        return replace(fitted, by_others=by_others)

    def _by_others(self, log: Log, fitted: Fit) -> Mapping[tuple[int, int], float]:
        """P(same) of each answered pair by all other answers, themselves so weighed."""
        found: Mapping[tuple[int, int], float] = {}
        for _ in range(N_WEIGHED):
            told = self._told(log, found).answered()
            fitted = fitting.fit(self._frames, told, self._rules, start=fitted)
            found = fitting.by_others(self._frames, told, fitted)
            if not self._told(log, found).is_doubted:
                break
        return found

    def _told(
        self, log: Log, by_others: Mapping[tuple[int, int], float] | None = None
    ) -> Told:
        rng = np.random.RandomState([self._seed, len(log)])
        pairs, p_same, weights, implied, right = log.evidence(rng, by_others)
        is_doubted = bool((right < 1).any())
        return Told(pairs, p_same, weights, implied, right if is_doubted else None)

    def _keep(self, n_answers: int, fitted: Fit) -> None:
        """Keep a fit, and of the others the last checkpoints: undo goes back there."""
        oldest = checkpoint(int(n_answers / 1.5))
        for other in list(self._fits):
            if other < oldest or checkpoint(other) != other:
                del self._fits[other]
        self._fits[n_answers] = fitted


def checkpoint(n_answers: int) -> int:
    """The largest number of answers up to this one that is fitted from scratch."""
    place = 0
    while place < n_answers:
        larger = max(place + 1, int(place * GROWTH))
        if larger > n_answers:
            break
        place = larger
    return place
