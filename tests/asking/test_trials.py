import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from likewise.asking.trials import (
    CARELESS,
    COIN,
    SLIPS,
    Heard,
    Trial,
    believed_answer,
    flip_rates,
    steady_people,
)


def tried(rng, rates, n_trials):
    """Trials of three or four answers by people who err at these rates."""
    found = []
    for place in range(n_trials):
        people = rng.randint(len(rates), size=rng.randint(3, 5))
        n_wrong = sum(rng.uniform() < rates[who] for who in people)
        names = tuple("abc"[who] for who in people)
        found.append(Trial(place, names, n_wrong % 2 == 0))
    return found


def test_who_never_disagrees_never_errs():
    """Nothing speaks of slips: nobody is believed less."""
    trials = [Trial(place, ("a", "a", "b"), True) for place in range(5)]

    assert flip_rates(trials, ["a", "b", "c"]) == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_one_persons_rate_is_the_mean_of_the_posterior():
    """Against an integral: five trials of three answers, two of which disagree."""

    def likelihood(rate):
        agrees = (1 + (1 - 2 * rate) ** 3) / 2
        return agrees**3 * (1 - agrees) ** 2

    def density(rate):
        n_right = 1 / SLIPS - 1
        careful = n_right * (1 - rate) ** (n_right - 1)
        return ((1 - CARELESS) * careful + CARELESS * 2) * (1 - COIN)

    coin = COIN * likelihood(0.5)
    whole = quad(lambda rate: likelihood(rate) * density(rate), 0, 0.5)[0] + coin
    mean = quad(lambda rate: rate * likelihood(rate) * density(rate), 0, 0.5)[0]
    trials = [Trial(place, ("a",) * 3, place > 1) for place in range(5)]

    found = flip_rates(trials, ["a"])["a"]

    assert_allclose(found, (mean + 0.5 * coin) / whole, rtol=0.03)


@pytest.mark.parametrize("rate", [0.05, 0.1])
def test_the_rate_of_one_person_is_found(rate, rng):
    """Forty trials tell it to within a twentieth, in the mean of thirty runs."""
    found = [flip_rates(tried(rng, [rate], 40), ["a"])["a"] for _ in range(30)]

    assert abs(np.mean(found) - rate) < 0.05


def test_who_tosses_a_coin_is_found_among_three(rng):
    """The other two are still believed."""
    runs = [
        flip_rates(tried(rng, [0.0, 0.0, 0.5], 40), ["a", "b", "c"]) for _ in range(10)
    ]

    assert np.median([rates["c"] for rates in runs]) > 0.35
    assert np.median([max(rates["a"], rates["b"]) for rates in runs]) < 0.06


def test_nobody_is_suspected_for_being_looked_at_first(rng):
    """Whoever is named first: the same person is found to toss a coin."""
    trials = tried(rng, [0.0, 0.0, 0.5], 30)
    names = str.maketrans("abc", "cab")
    turned = [
        trial._replace(people=tuple(who.translate(names) for who in trial.people))
        for trial in trials
    ]

    rates, other = flip_rates(trials, "abc"), flip_rates(turned[::-1], "abc")

    assert_allclose([rates["a"], rates["c"]], [other["c"], other["b"]], atol=0.01)


def test_answers_that_surprise_tell_of_a_coin(rng):
    """No trial at all: two people are believed, the third answers like a coin."""
    p_same = rng.beta(0.5, 0.5, size=180)
    truth = rng.uniform(size=180) < p_same
    said = np.where(np.arange(180) % 3 == 2, rng.uniform(size=180) < 0.5, truth)
    heard = [
        Heard("abc"[k % 3], p if same else 1 - p)
        for k, (p, same) in enumerate(zip(p_same, said, strict=True))
    ]

    rates = flip_rates([], "abc", heard)

    assert rates["c"] > 0.35
    assert max(rates["a"], rates["b"]) < 0.1


def asked_again(rng, rate, n_pairs):
    """Answers of somebody who errs at a rate, each given three times."""
    heard = []
    for _ in range(n_pairs):
        p_same = rng.uniform(0.05, 0.95)
        is_same = rng.uniform() < p_same
        said = [is_same != (rng.uniform() < rate) for _ in range(3)]
        p_answer = p_same if said[0] else 1 - p_same
        heard.append(Heard("a", p_answer, tuple(s == said[0] for s in said[1:])))
    return heard


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5])
def test_who_is_asked_again_shows_how_often_he_errs(rate, rng):
    """Sixty answers given three times tell it, although nobody else answered."""
    found = [flip_rates([], ["a"], asked_again(rng, rate, 60))["a"] for _ in range(10)]

    assert abs(np.mean(found) - rate) < 0.04


def test_who_repeats_what_surprises_was_right(rng):
    """Answers like a coin's, to the belief; but each is given again, word for word."""
    p_answer = rng.uniform(0.15, 0.5, size=60)
    once = [Heard("a", p) for p in p_answer]
    twice = [Heard("a", p, (True, True)) for p in p_answer]

    assert flip_rates([], ["a"], once)["a"] > 0.3
    assert flip_rates([], ["a"], twice)["a"] < 0.1


def test_who_is_rather_careful_never_errs(rng):
    """Answers that come as often as they were predicted: all are believed outright."""
    p_same = rng.beta(0.5, 0.5, size=100)
    truth = rng.uniform(size=100) < p_same
    heard = [
        Heard("a", p if same else 1 - p) for p, same in zip(p_same, truth, strict=True)
    ]

    assert flip_rates([], ["a"], heard) == {"a": 0.0}


@pytest.mark.parametrize(("n_trials", "is_steady"), [(3, False), (4, True)])
def test_who_is_borne_out_four_times_tosses_no_coin(n_trials, is_steady):
    """A trial of three answers agrees with 1 + .93^3 times a coin's probability."""
    trials = [Trial(place, ("ann", "bo", "ann"), True) for place in range(n_trials)]
    assert ((1 + (1 - 2 / 30) ** 3) ** n_trials > 10) == is_steady

    found = steady_people([*trials, Trial(9, ("cy", "di"), True)])

    assert found == ({"ann", "bo"} if is_steady else frozenset())
    assert steady_people([*trials, Trial(9, ("ann", "bo"), False)]) == frozenset()


def test_who_repeats_himself_tosses_no_coin():
    """Four times out of four; who does not each time may."""
    again = [Heard("ann", 0.5, (True, True)), Heard("ann", 0.5, (True, True))]
    fickle = [Heard("bo", 0.5, (True, False)), Heard("bo", 0.5, (True, True))]

    assert steady_people([], [*again, *fickle]) == {"ann"}


def test_a_coin_is_hardly_ever_borne_out(rng):
    """At most once in ten, whenever one looks; a careful person nearly always."""
    coins = [
        steady_people([Trial(k, ("a", "a"), rng.rand() < 0.5) for k in range(10)])
        for _ in range(400)
    ]
    careful = [
        steady_people([Trial(k, ("a", "a"), rng.rand() < 0.936) for k in range(10)])
        for _ in range(400)
    ]

    assert np.mean([len(each) for each in coins]) < 0.1
    assert np.mean([len(each) for each in careful]) > 0.85


def test_a_doubted_answer_is_believed_as_the_mixture_says():
    """Bayes' rule, written out: the answer itself, or its opposite."""
    told, p_same = np.array([0.9, 0.1, 1.0, 0.5]), np.array([0.02, 0.02, 0.02, 0.3])

    believed = believed_answer(told, p_same)

    truth = [0.9 * 0.02 / (0.9 * 0.02 + 0.1 * 0.98), 0.1 * 0.02 / 0.884, 1.0, 0.3]
    assert_allclose(believed, truth)
