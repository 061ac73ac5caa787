"""What is thought of a pair, and when to stop: in numbers that can be checked."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.asking.candidates import Pool
from likewise.asking.records import Record
from likewise.asking.verdicts import (
    KnownItems,
    _doubt,
    decisive_features,
    explain,
    judge,
    latent_draws,
)
from likewise.model import equations
from likewise.model.basis import fit_basis
from likewise.model.belief import Belief, Member
from likewise.model.posterior import WeightPosterior
from likewise.pairs import all_pairs
from tests.asking.test_candidates import make_pool


def sure(*weights):
    """A belief in one metric, without doubt, on features as they are."""
    mean = np.array([1.0, *weights])
    point = WeightPosterior(mean, np.zeros((len(mean), len(mean))))
    return Belief((Member("unit", 1.0, point),))


@pytest.fixture
def pool(rng):
    X = rng.normal(size=(50, 3))
    basis = fit_basis(X, "axes", None, np.ones(50))
    return Pool(sure(5.0, 3.0, 1.0), basis, basis.project(X))


def record(said=(), is_same=(), steady=()):
    """Predictions of one person's answers, and the answers."""
    n_answers = len(said)
    return Record(
        pairs=np.zeros((n_answers, 2), dtype=np.intp),
        said=np.array(said, dtype=float),
        labels=np.where(np.array(is_same, dtype=bool), 1, -1).astype(np.int8),
        annotators=["ann"] * n_answers,
        is_random=np.zeros(n_answers, dtype=bool),
        steady=frozenset(steady),
    )


def unknown(pairs):
    return np.zeros(len(pairs), dtype=np.int8)


def verdict(pool, X=None, labels_of=unknown, came_true=None, known=0.5):
    rng = np.random.RandomState(0)
    X = pool.coordinates if X is None else X
    came_true = came_true or record()
    corrections = came_true.calibration(), came_true.random_calibration()
    known_items = KnownItems(pool, labels_of, *corrections)
    return judge(known_items, X, came_true, known, rng)


def test_a_hundredth_of_the_pool_unknown_is_no_reason_to_stop(pool):
    """What a few last answers change is more than their share of the pairs."""
    nearly, fully, all_of_it = (verdict(pool, known=k) for k in (0.99, 0.996, 1.0))

    assert not nearly.stop
    assert fully.stop
    assert fully.reason == "99.6% of the candidate pairs are known."
    assert all_of_it.stop
    assert all_of_it.reason == "every candidate pair is known."


def nearest_by_brute_force(Z):
    far = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    return far.argmin(axis=1)


def test_neighbours_are_those_of_brute_force(pool):
    """The mean P(same) of every item with the one nearest by the metric, or plainly."""
    metric = pool.coordinates * np.sqrt(np.diag(pool.belief.mean_matrix()))
    X = pool.coordinates * [0.1, 0.1, 9.0]

    said = verdict(pool, X)

    for mapped, share in ((metric, said.neighbours.value), (X, said.plain_neighbours)):
        nearest = nearest_by_brute_force(mapped)
        pairs = np.sort(np.column_stack([np.arange(50), nearest]), axis=1)
        assert_allclose(share, pool.probability_same(pairs).mean())


def test_precision_and_recall_are_those_of_all_pairs(pool):
    """With 50 items nothing is sampled: sums of P(same) over every pair."""
    p_same = pool.probability_same(all_pairs(50))
    called = p_same >= 0.5

    said = verdict(pool)

    assert_allclose(said.precision.value, p_same[called].mean())
    assert_allclose(said.recall.value, p_same[called].sum() / p_same.sum())
    assert said.precision.low < said.precision.value < said.precision.high


def test_known_labels_count_as_known(pool):
    """Where every pair is known to be the same, all are found and right."""

    def everything_is_same(pairs):
        return np.ones(len(pairs), dtype=np.int8)

    said = verdict(pool, labels_of=everything_is_same)

    assert said.neighbours.value == said.precision.value == said.recall.value == 1.0


def test_it_does_not_stop_while_plain_distance_is_as_good(pool):
    """However good all figures are; where plain distance is worse, it does."""
    half = np.arange(50) < 25
    Z = pool.coordinates.copy()
    Z[half, 0] += 100.0
    apart = replace(pool, belief=sure(5.0, 1e-3, 1e-3), coordinates=Z)

    def labels_of(pairs):
        is_same = half[pairs[:, 0]] == half[pairs[:, 1]]
        return np.where(is_same, 1, -1).astype(np.int8)

    as_good = verdict(apart, labels_of=labels_of)
    better = verdict(apart, Z * [1e-9, 1.0, 1.0], labels_of)

    assert as_good.reason == "plain distance finds as good neighbours so far."
    assert not as_good.stop
    assert better.reason == "all figures are above 90%."
    assert better.stop


def test_answers_that_do_not_come_true_lower_the_figures(pool, rng):
    """Coin flips, where the belief was sure, take the figures down and are named."""
    surely = np.where(np.arange(100) < 50, 0.9, 0.1)
    true = record(surely, rng.uniform(size=100) < surely)
    flipped = record(surely, rng.uniform(size=100) < 0.5)

    good, bad = verdict(pool, came_true=true), verdict(pool, came_true=flipped)

    assert bad.neighbours.value < good.neighbours.value - 0.05
    assert good.random_annotators == []
    assert bad.random_annotators == ["ann"]
    assert "The answers of ann look random" in str(bad)


def test_answers_that_bear_each_other_out_are_not_called_random(pool, rng):
    """Features that do not show what is meant are to blame, and the verdict says so."""
    said, is_same = np.full(60, 0.5), rng.uniform(size=60) < 0.5

    found = verdict(pool, came_true=record(said, is_same, steady={"ann"}))
    other = verdict(pool, came_true=record(said, is_same, steady={"bo"}))

    assert (found.random_annotators, found.unseen_annotators) == ([], ["ann"])
    assert (other.random_annotators, other.unseen_annotators) == (["ann"], [])
    assert "The answers of ann bear each other out, but the features" in str(found)


def test_nearly_always_different_does_not_look_random(pool):
    """Few duplicates in a table: the answers are told by how rare "same" is alone."""
    seldom = np.full(60, 0.02)

    always = verdict(pool, came_true=record(seldom, np.zeros(60, dtype=bool)))
    nearly = verdict(pool, came_true=record(seldom, np.arange(60) < 4))
    often = verdict(pool, came_true=record(seldom, np.arange(60) < 20))

    assert always.random_annotators == nearly.random_annotators == []
    assert often.random_annotators == ["ann"]


def test_doubt_about_the_metric_widens_the_interval(pool):
    """Beyond what luck leaves."""
    posterior = pool.belief.members[0].posterior
    doubtful = replace(posterior, covariance=np.diag([1.0, 4.0, 4.0, 4.0]))
    belief = Belief((Member("unit", 1.0, doubtful),))

    narrow, wide = verdict(pool), verdict(replace(pool, belief=belief))

    width = wide.neighbours.high - wide.neighbours.low
    assert width > narrow.neighbours.high - narrow.neighbours.low + 0.02


def test_draws_of_f_have_the_beliefs_moments(rng):
    """Of all pairs together, members and known items included."""
    pool, told = make_pool(rng)
    pairs = np.concatenate([told[:3], all_pairs(6)[:4]])
    features = pool.features(pairs)
    means, variances = pool.belief.latent(features, pairs)
    weights = pool.belief.weights
    mean = weights @ means
    variance = weights @ (variances + (means - mean) ** 2)

    draws = latent_draws(pool.belief, features, pairs, 100_000, rng)

    assert draws.shape == (100_000, 7)
    assert_allclose((draws.mean(axis=0) - mean) / np.sqrt(variance), 0, atol=0.02)
    assert_allclose(draws.var(axis=0), variance, rtol=0.05)
    single = Belief((replace(pool.belief.members[0], weight=1.0),))
    together = single.members[0].posterior.latent_covariance(features, pairs)
    drawn = np.cov(latent_draws(single, features, pairs, 100_000, rng).T)
    size = np.sqrt(np.diag(together))
    assert_allclose((drawn - together) / np.outer(size, size), 0, atol=0.03)


def test_decisive_features_are_those_that_add_most():
    """Shares of the squared distance, largest first, by name where there is one."""
    components = np.diag([1.0, 2.0, 0.0, 3.0])
    gap = np.array([3.0, 1.0, 9.0, 1.0])  # adds 9, 4, 0 and 9

    named = decisive_features(components, gap, np.array(["a", "b", "c", "d"]))

    assert named == [("a", 9 / 22), ("d", 9 / 22), ("b", 4 / 22)]
    first, share = decisive_features(components, np.zeros(4), None)[0]
    assert (first, share) == ("feature 0", 0.0)


def test_a_pair_is_explained_by_what_is_known_of_its_items(rng):
    """P(same) and its deviation are the pool's, not those of new items."""
    pool, told = make_pool(rng)
    pair = told[:1]

    why = explain(pool, pair, [("feature 0", 0.5)], 3, 1200, (4, 1))

    assert_allclose(why.p_same, pool.probability_same(pair)[0])
    new = pool.belief.probability_same(pool.features(pair))[0]
    assert abs(why.p_same - new) > 1e-3
    draws = latent_draws(pool.belief, pool.features(pair), pair, 200_000, rng)
    p = equations.label_probability(np.ones(1), draws)
    assert_allclose(why.spread, p.std(), atol=3e-3)
    assert str(why) == (
        f"P(same) = {why.p_same:.2f} +- {why.spread:.2f}, rank 3 of 1,200. "
        "What sets the two apart: feature 0 (50%). "
        "'Same' would settle 4 pairs, 'different' 1."
    )


def test_a_part_of_the_pairs_tells_what_doubt_of_the_metric_does_to_all(pool):
    """As drawn for every pair: how many more are the same than was said."""
    doubtful = WeightPosterior(np.array([1.0, 5.0, 3.0, 1.0]), 0.3 * np.eye(4))
    pool = replace(pool, belief=Belief((Member("unit", 1.0, doubtful),)))
    pairs = all_pairs(50)
    said = pool.probability_same(pairs)
    chosen, rng = said < 0.5, np.random.RandomState(0)

    some = _doubt(pool, pairs, said, chosen, rng)

    features, others = pool.features(pairs[chosen]), pairs[chosen]
    latent = latent_draws(pool.belief, features, others, 400, rng)
    every = (equations.label_probability(1.0, latent) - said[chosen]).sum(axis=1)
    assert every.std() > 20  # of some 1,000 pairs
    assert_allclose(some.std(), every.std(), rtol=0.25)
    assert abs(some.mean()) < 0.4 * every.std()


def test_what_is_called_same_is_what_is_shown(pool):
    """Pairs are called "same" by P(same) as random answers have corrected it."""
    came_true = record([0.5] * 40, [False] * 40)
    came_true = replace(came_true, is_random=np.ones(40, dtype=bool))

    plain, corrected = verdict(pool), verdict(pool, came_true=came_true)

    assert corrected.recall.value < plain.recall.value - 0.05


def test_what_became_of_random_pairs_is_counted(pool):
    """Only of those drawn at random: the likelier answer, and how many are the same."""
    came_true = Record(
        pairs=np.array([[0, 1], [0, 2], [1, 3], [2, 4], [5, 6]]),
        said=np.array([0.9, 0.2, 0.4, 0.5, 0.1]),
        labels=np.array([1, -1, 1, 1, 1], np.int8),
        annotators=[None] * 5,
        is_random=np.array([True, True, True, True, False]),
    )

    assert came_true.checked == (4, 3, 3)
    assert str(came_true.checked) == (
        "Of 4 pairs drawn at random 3 came out as was thought before the answer; "
        "3 are the same, 1 different."
    )
