"""Answers that others had settled already: what they tell of who errs how often.

A pair that follows from a chain of answers and is asked all the same puts the chain to
the test: it comes out as implied unless an odd number of all these answers is wrong.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Most people are careful: a share of wrong answers near 1 in 30. One in ten may have
# any up to a coin's, and a few in a hundred do toss a coin.
SLIPS, CARELESS, COIN = 1 / 30, 0.1, 0.03
RATES = np.linspace(0.0, 0.5, 101)  # where the posterior of a rate is looked at
N_ROUNDS = 30  # each person's rate by the others'; they hardly move after ten


class Trial(NamedTuple):
    """An answer on what was known, and who gave it and those it was known from."""

    place: int  # of the answer in the history
    people: tuple[str | None, ...]
    agrees: bool


def flip_rates(
    trials: Sequence[Trial], annotators: Sequence[str | None]
) -> dict[str | None, float]:
    """The share of each person's answers that are wrong; 0 while no trial disagrees.

    Posterior means, each person's with the others' held at theirs. A trial of n answers
    agrees with probability (1 + (1 - 2 e_1) ... (1 - 2 e_n)) / 2.
    """
    rates: dict[str | None, float] = dict.fromkeys(annotators, 0.0)
    if all(trial.agrees for trial in trials):
        return rates
    tried = {who: float(SLIPS) for trial in trials for who in trial.people}
    counts = [Counter(trial.people) for trial in trials]
    for _ in range(N_ROUNDS):
        for who in tried:
            tried[who] = _mean_rate(who, tried, trials, counts)
    return rates | tried


def _mean_rate(
    who: str | None,
    rates: dict[str | None, float],
    trials: Sequence[Trial],
    counts: list[Counter[str | None]],
) -> float:
    log_density = np.log(_prior())
    for trial, times in zip(trials, counts, strict=True):
        if who in times:
            others = [
                (1 - 2 * rates[other]) ** n
                for other, n in times.items()
                if other != who
            ]
            kept = (1 - 2 * RATES) ** times[who] * np.prod(others)
            # A coin's answer never speaks for certain, nor does any other.
            log_density += np.log((1 + np.where(trial.agrees, kept, -kept)) / 2 + 1e-3)
    density = np.exp(log_density - log_density.max())
    return float(density @ RATES / density.sum())


def _prior() -> Array:
    """Probabilities of the rates: Beta with mean SLIPS, any rate alike, or a coin's."""
    careful = (1 - RATES) ** (1 / SLIPS - 2)
    anything = np.full(len(RATES), 1 / len(RATES))
    prior = (1 - CARELESS) * careful / careful.sum() + CARELESS * anything
    prior *= 1 - COIN
    prior[-1] += COIN
    return np.asarray(prior)
