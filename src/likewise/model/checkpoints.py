"""Fits of a growing number of answers: from scratch now and then, else from there."""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likewise.model import fitting
from likewise.model.fitting import Fit, Rules, Told
from likewise.model.priors import Frames

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# The metric is fitted from scratch when the answers have grown by this factor; in
# between a fit starts from there, so that it depends on the answers only.
GROWTH = 1.05


class Log(Protocol):
    """What was answered: how many, and what it tells."""

    def __len__(self) -> int: ...

    def first(self, n_answers: int) -> Self:
        """The log as it was after so many answers."""
        ...

    def evidence(
        self, rng: np.random.RandomState
    ) -> tuple[Pairs, Array, Array, NDArray[np.bool_]]:
        """Pairs, P(same), weights, and which are implied."""
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

    def fit(self, log: Log, rng: np.random.RandomState) -> Fit:
        """The fit of the answers so far."""
        n_answers = len(log)
        if n_answers not in self._fits:
            place = checkpoint(n_answers)
            base = self.fit_at(place, log)
            if place != n_answers:
                told = Told(*log.evidence(rng))
                self._keep(n_answers, self.learn(told, start=base))
        return self._fits[n_answers]

    def fit_at(self, n_answers: int, log: Log) -> Fit:
        """The fit of the first answers, made from scratch."""
        if n_answers not in self._fits:
            rng = np.random.RandomState([self._seed, n_answers])
            told = Told(*log.first(n_answers).evidence(rng))
            self._keep(n_answers, self.learn(told))
        return self._fits[n_answers]

    def learn(self, told: Told, start: Fit | None = None) -> Fit:
        """A fit of what was told, not kept."""
        return fitting.fit_doubted(self._frames, told, self._rules, start)

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
