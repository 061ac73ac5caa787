"""Who errs how often, by answers that others had settled and by answers that surprise.

A pair that follows from a chain of answers and is asked all the same puts the chain to
the test: it comes out as implied unless an odd number of all these answers is wrong.
And who flips a share e of the answers gives one that all others make p likely with
probability (1 - e) p + e (1 - p).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Most people are careful: a share of wrong answers near 1 in 30. One in ten may have
# any up to a coin's, and a few in a hundred do toss a coin.
SLIPS, CARELESS, COIN = 1 / 30, 0.1, 0.03
RATES = np.linspace(0.0, 0.5, 101)  # where the posterior of a rate is looked at
N_ROUNDS = 10  # each person's rate by the others'; they hardly move after that
NEVER = 1e-3  # nothing that was said is taken for less likely: no belief is certain
STRONG = 10.0  # times as likely: strong evidence by Jeffreys
MAX_SUSPECTS = 8  # people of whom each is tried as the one who tosses a coin


class Trial(NamedTuple):
    """An answer on what was known, and who gave it and those it was known from."""

    place: int  # of the answer in the history
    people: tuple[str | None, ...]
    agrees: bool


class Heard(NamedTuple):
    """An answer, and how likely it was by what is believed without it."""

    annotator: str | None
    p_answer: float
    again: tuple[bool, ...] = ()  # asked again: whether each later answer agreed


def flip_rates(
    trials: Sequence[Trial],
    annotators: Sequence[str | None],
    heard: Sequence[Heard] = (),
) -> dict[str | None, float]:
    """The share of each person's answers that are wrong.

    Posterior means, each person's with the others' held at theirs. A trial of n answers
    agrees with probability (1 + (1 - 2 e_1) ... (1 - 2 e_n)) / 2. All are 0 while no
    trial disagrees, nobody says otherwise when asked again, and everybody is more
    likely careful than not.
    """
    rates: dict[str | None, float] = dict.fromkeys(annotators, 0.0)
    surprise = {who: _surprise(who, heard) for who in rates}
    if all(trial.agrees for trial in trials) and all(all(h.again) for h in heard):
        if all(_is_careful(each) for each in surprise.values()):
            return rates
    tried = {who: float(SLIPS) for trial in trials for who in trial.people}
    careful = dict.fromkeys(rates, float(SLIPS)) | tried if heard else tried
    # Whoever is suspected first may stay so: everybody is, once, and the likeliest
    # story is told.
    starts = [careful, *(careful | {who: 0.5} for who in list(careful)[:MAX_SUSPECTS])]
    stories = [_settled(start, trials, surprise) for start in starts]
    likeliest = max(stories, key=lambda each: _log_posterior(each, trials, surprise))
    return rates | likeliest


def steady_people(
    trials: Sequence[Trial], again: Sequence[Heard] = ()
) -> frozenset[str | None]:
    """Whose answers bear each other out, as those of a coin would hardly do.

    Where a coin takes part, every trial agrees as often as not, and a second answer is
    as often the first as the other.
    """
    found: Counter[str | None] = Counter()
    for trial in trials:
        kept = (1 - 2 * SLIPS) ** len(trial.people)
        for who in set(trial.people):
            found[who] += np.log(1 + kept if trial.agrees else 1 - kept)
    for heard in again:
        kept = (1 - 2 * SLIPS) ** 2
        for agrees in heard.again:
            found[heard.annotator] += np.log(1 + kept if agrees else 1 - kept)
    return frozenset(who for who, gain in found.items() if gain > np.log(STRONG))


def believed_answer(told: Array, p_same: Array) -> Array:
    """P(same) of a pair told to be the same with probability t, by all the others p.

    t p / (t p + (1 - t) (1 - p)): who flips a share e of the answers says "same" with
    probability e + (1 - 2 e) p, a mixture of the answer and its opposite. With
    t = 1 - e this is the share of the answer itself in it.
    """
    same, different = told * p_same, (1 - told) * (1 - p_same)
    return same / np.maximum(same + different, np.finfo(float).tiny)


def _surprise(who: str | None, heard: Sequence[Heard]) -> Array:
    """Log likelihood of a person's answers at each rate, as far as it is for errors.

    A belief that is not surprised may have too many doubts to be: never against them.
    What somebody says who is asked again speaks for errors and against them.
    """
    own = [each for each in heard if each.annotator == who]
    p_answer = np.array([each.p_answer for each in own])
    rates = RATES[::5]  # smooth: a fifth of the places tell
    right, wrong = np.outer(1 - rates, p_answer), np.outer(rates, 1 - p_answer)
    likely = np.log(right + wrong + NEVER).sum(axis=1)
    likely = np.maximum.accumulate(likely)
    for each in own:
        if each.again:
            likely += np.log(_agreement(rates, each) + NEVER)
    return np.interp(RATES, rates, likely)


def _agreement(rates: Array, heard: Heard) -> Array:
    """How likely what somebody says who is asked again is, after the first answer.

    An answer that was right is repeated with probability 1 - e each time, and one that
    was wrong with e.
    """
    n_agree, n_again = sum(heard.again), len(heard.again)
    right = (1 - rates) * heard.p_answer
    wrong = rates * (1 - heard.p_answer)
    kept = (1 - rates) ** n_agree * rates ** (n_again - n_agree)
    turned = rates**n_agree * (1 - rates) ** (n_again - n_agree)
    return np.asarray((right * kept + wrong * turned) / (right + wrong + 1e-12))


def _is_careful(surprise: Array) -> bool:
    """Whether a person is one of the careful, more likely than not."""
    likely = np.exp(surprise - surprise.max())
    return float(likely @ _careful()) > 0.5 * float(likely @ prior())


def _settled(
    rates: dict[str | None, float],
    trials: Sequence[Trial],
    surprise: Mapping[str | None, Array],
) -> dict[str | None, float]:
    """Each person's mean rate, the others' given, until they hardly move."""
    rates = dict(rates)
    counts = [Counter(trial.people) for trial in trials]
    for _ in range(N_ROUNDS):
        for who in rates:
            log_density = np.log(prior()) + surprise.get(who, 0.0)
            rates[who] = _mean_rate(who, rates, trials, counts, log_density)
    return rates


def _log_posterior(
    rates: dict[str | None, float],
    trials: Sequence[Trial],
    surprise: Mapping[str | None, Array],
) -> float:
    """Log density of these rates, up to a constant."""
    places = dict(zip(rates, np.searchsorted(RATES, list(rates.values())), strict=True))
    total = float(np.log(prior()[list(places.values())]).sum())
    total += sum(
        float(surprise[who][at]) for who, at in places.items() if who in surprise
    )
    for trial in trials:
        kept = np.prod([1 - 2 * rates[who] for who in trial.people])
        total += float(np.log((1 + (kept if trial.agrees else -kept)) / 2 + NEVER))
    return total


def _mean_rate(
    who: str | None,
    rates: dict[str | None, float],
    trials: Sequence[Trial],
    counts: list[Counter[str | None]],
    log_density: Array,
) -> float:
    """The mean of a rate whose log density, without the trials, is given."""
    for trial, times in zip(trials, counts, strict=True):
        if who in times:
            others = [
                (1 - 2 * rates[other]) ** n
                for other, n in times.items()
                if other != who
            ]
            kept = (1 - 2 * RATES) ** times[who] * np.prod(others)
            agreed = np.where(trial.agrees, kept, -kept)
            log_density = log_density + np.log((1 + agreed) / 2 + NEVER)
    density = np.exp(log_density - log_density.max())
    return float(density @ RATES / density.sum())


def prior() -> Array:
    """Probabilities of the rates: Beta with mean SLIPS, any rate alike, or a coin's."""
    anything = np.full(len(RATES), 1 / len(RATES))
    found = _careful() + (1 - COIN) * CARELESS * anything
    found[-1] += COIN
    return np.asarray(found)


def _careful() -> Array:
    """What of the prior is that of careful people."""
    careful = (1 - RATES) ** (1 / SLIPS - 2)
    return np.asarray((1 - COIN) * (1 - CARELESS) * careful / careful.sum())
