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
N_ROUNDS = 10  # each person's rate by the others'; they hardly move after that
MAX_SUSPECTS = 8  # people of whom each is tried as the one who tosses a coin


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
    counts = [Counter(trial.people) for trial in trials]
    careful = {who: float(SLIPS) for trial in trials for who in trial.people}
    # Whoever is suspected first may stay so: everybody is, once, and the likeliest
    # story is told.
    starts = [careful, *(careful | {who: 0.5} for who in list(careful)[:MAX_SUSPECTS])]
    stories = [_settled(start, trials, counts) for start in starts]
    return rates | max(stories, key=lambda each: _log_posterior(each, trials))


def _settled(
    rates: dict[str | None, float],
    trials: Sequence[Trial],
    counts: list[Counter[str | None]],
) -> dict[str | None, float]:
    """Each person's mean rate, the others' given, until they hardly move."""
    rates = dict(rates)
    for _ in range(N_ROUNDS):
        for who in rates:
            rates[who] = _mean_rate(who, rates, trials, counts)
    return rates


def _log_posterior(rates: dict[str | None, float], trials: Sequence[Trial]) -> float:
    """Log density of these rates, up to a constant."""
    places = np.searchsorted(RATES, list(rates.values()))
    total = float(np.log(_prior()[places]).sum())
    for trial in trials:
        kept = np.prod([1 - 2 * rates[who] for who in trial.people])
        total += float(np.log((1 + (kept if trial.agrees else -kept)) / 2 + 1e-3))
    return total


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
