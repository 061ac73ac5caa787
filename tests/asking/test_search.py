"""The best of all pairs, found in tiles, are those of looking at every pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking import acquisition as acquisitions
from likewise.asking import search
from likewise.asking.candidates import Pool
from likewise.asking.doubt import Doubt
from likewise.asking.search import Searched, Wanted
from likewise.model.basis import fit_basis
from likewise.model.belief import Belief, Member
from likewise.model.posterior import WeightPosterior
from likewise.pairs import all_pairs, pair_number
from tests.asking.test_candidates import everything, make_pool


def certainty(pool, pairs):
    """|2 P - 1|, pair by pair, by the mean metrics."""
    return np.abs(2 * pool.belief.mean_probability(pool.features(pairs), pairs) - 1)


@pytest.fixture
def small(monkeypatch):
    """Many tiles and a short shortlist of few items."""
    monkeypatch.setattr(search, "TILE", 17)
    monkeypatch.setattr(search, "SHORTLIST", 20)
    monkeypatch.setattr(search, "RESERVE", 40)
    monkeypatch.setattr(search, "FIRST_SCORED", 4)


@pytest.fixture
def pool(rng):
    """Several members, and items that are known to lie off their features."""
    made, _ = make_pool(rng)
    assert len(made.belief.members) > 1
    return made


@pytest.mark.parametrize("prior", ["evidence", "unit"])
@pytest.mark.parametrize("item_noise", [0.0, 0.8])
def test_tiles_hold_the_certainty_of_their_pairs(rng, prior, item_noise):
    """Of one member or several, items off their features or not, within rounding."""
    pool, _ = make_pool(rng, 60, prior, item_noise)
    doubt = Doubt(pool)
    rows, columns = np.arange(0, 60, 2), np.arange(1, 60, 2)

    tile = doubt.certainty(doubt.tile(rows, columns).astype(float))

    pairs = np.array([(i, j) for i in rows for j in columns])
    ordered = np.sort(pairs, axis=1)
    exact = certainty(pool, ordered)
    assert_allclose(tile.ravel(), exact, atol=1e-5)
    listed = doubt.certainty(doubt.of_pairs(ordered).astype(float))
    assert_allclose(listed, exact, atol=1e-5)
    measures = [doubt.measure(each) for each in exact]
    off = np.abs(doubt.tile(rows, columns).ravel() - measures)
    assert off.max() <= doubt.rounding()
    fresh = Doubt(pool)
    assert np.abs(fresh.of_pairs(ordered) - measures).max() <= fresh.rounding() < 0.05


def test_light_members_are_left_out_where_order_need_not_be_exact(pool):
    """What they weigh is all that it can be wrong by."""
    members = (*pool.belief.members[:1], *pool.belief.members[1:2])
    heavy, light = (
        Member(each.name, weight, each.posterior)
        for each, weight in zip(members, (0.98, 0.02), strict=True)
    )
    both = Pool(Belief((heavy, light)), pool.basis, pool.coordinates)
    pairs = all_pairs(90)

    near = Doubt(both, is_exact=False)

    gap = near.certainty(near.of_pairs(pairs)) * 0.98 - certainty(both, pairs)
    assert 1e-4 < np.abs(gap).max() <= 0.021


def weighed(seed, n_items, n_basis, spread):
    """Items and a belief of one member about a weight for each direction."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n_items, n_basis)) * rng.uniform(0.2, 3, n_basis)
    basis = fit_basis(X, "eigen", None, np.ones(n_items))
    n_weights = basis.directions.shape[1] + 1
    root = spread * rng.normal(size=(n_weights, n_weights))
    posterior = WeightPosterior(rng.uniform(0, 2, n_weights), root @ root.T)
    belief = Belief((Member("unit", 1.0, posterior),))
    return Pool(belief, basis, basis.project(X))


@pytest.mark.parametrize("name", ["entropy", "mean-entropy"])
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_items=st.integers(2, 60),
    n_basis=st.integers(1, 4),
    spread=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    n_pairs=st.integers(1, 25),
)
def test_the_best_pairs_are_those_of_brute_force(
    name, seed, n_items, n_basis, spread, n_pairs
):
    """Whatever the doubt about the metric: no pair with a higher score is missed."""
    pool = weighed(seed, n_items, n_basis, spread)
    acquisition = acquisitions.find_acquisition(name)
    every = pool.map(acquisition, all_pairs(n_items))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "TILE", 13)
        patch.setattr(search, "SHORTLIST", 5)
        patch.setattr(search, "FIRST_SCORED", 2)
        ranked = search.best_pairs(
            pool,
            acquisition,
            Wanted(n_pairs, tolerance=0.0),
            everything,
            np.random.RandomState(seed),
        )

    best = np.sort(ranked.scores)[::-1][:n_pairs]
    assert_allclose(best, np.sort(every)[::-1][:n_pairs], atol=1e-12)
    numbers = pair_number(ranked.pairs, n_items)
    assert len(np.unique(numbers)) == len(numbers)
    assert_allclose(ranked.scores, every[numbers], atol=1e-12)
    assert_allclose(ranked.searched.shortfall, 0, atol=1e-12)


def test_by_one_member_of_the_whole_matrix_nothing_is_missed(rng, small):
    """The variance of f has a bound there too."""
    pool, _ = make_pool(rng, 90, "unit")
    pairs = all_pairs(90)
    variances = pool.belief.latent(pool.features(pairs), pairs)[1]
    bound = pool.belief.members[0].posterior.greatest_variance(pool.coordinates)
    assert variances.max() <= bound < 1e3 * variances.max()

    wanted = Wanted(12, tolerance=0.0)
    ranked = search.best_pairs(pool, acquisitions.entropy, wanted, everything, rng)

    every = np.sort(pool.map(acquisitions.entropy, pairs))[::-1]
    assert_allclose(np.sort(ranked.scores)[::-1][:12], every[:12], atol=1e-12)


def test_a_search_ends_when_nothing_can_be_better(small, rng):
    """Within the tolerance of a coin's toss, with most pairs never looked at."""
    pool = weighed(3, 400, 2, 0.3)

    wanted = Wanted(3, tolerance=1e-3)
    ranked = search.best_pairs(pool, acquisitions.entropy, wanted, everything, rng)

    searched = ranked.searched
    assert searched.n_pairs == 400 * 399 // 2
    assert searched.n_seen < searched.n_pairs / 3
    third = np.sort(ranked.scores)[-3]
    assert np.log(2) - third == searched.shortfall <= 1e-3


@pytest.mark.parametrize("name", ["entropy", "information", "laplace-entropy"])
def test_of_several_members_the_most_doubtful_are_scored(pool, small, rng, name):
    """As good as all pairs for entropy here; what is not known is said."""
    acquisition = acquisitions.find_acquisition(name)

    ranked = search.best_pairs(pool, acquisition, Wanted(1), everything, rng)

    pairs = all_pairs(90)
    nearest = np.sort(certainty(pool, pairs))[19]
    assert certainty(pool, ranked.pairs).max() <= max(nearest, search.NEAR) + 1e-5
    best = pool.map(acquisition, pairs).max()
    shortfall = ranked.searched.shortfall
    assert best - ranked.scores.max() <= shortfall
    assert np.isinf(shortfall) == (name == "information")


def test_pairs_between_two_lots_of_items_are_searched_alone(small, rng):
    """One of the first items, one of the rest; none within either."""
    pool = weighed(7, 80, 3, 0.2)
    wanted = Wanted(9, tolerance=0.0)

    ranked = search.best_pairs(
        pool, acquisitions.entropy, wanted, everything, rng, n_first=30
    )

    pairs = all_pairs(80)
    across = pairs[(pairs[:, 0] < 30) & (pairs[:, 1] >= 30)]
    assert ranked.searched.n_pairs == ranked.searched.n_seen == 30 * 50 == len(across)
    assert (ranked.pairs[:, 0] < 30).all() and (ranked.pairs[:, 1] >= 30).all()
    every = np.sort(pool.map(acquisitions.entropy, across))[::-1]
    assert_allclose(np.sort(ranked.scores)[::-1][:9], every[:9], atol=1e-12)


def test_what_is_not_open_is_left_out(small, rng):
    """However many: the next ones come instead."""
    pool = weighed(5, 60, 3, 0.2)
    pairs = all_pairs(60)
    scores = pool.map(acquisitions.entropy, pairs)
    closed = np.argsort(-scores)[:1500]

    ranked = search.best_pairs(
        pool,
        acquisitions.entropy,
        Wanted(5, tolerance=0.0),
        lambda given: ~np.isin(pair_number(given, 60), closed),
        rng,
    )

    assert not np.isin(pair_number(ranked.pairs, 60), closed).any()
    expected = np.sort(np.delete(scores, closed))[::-1][:5]
    assert_allclose(np.sort(ranked.scores)[::-1][:5], expected, atol=1e-12)


def test_nothing_open_nothing_found(pool, small, rng):
    """An empty list of pairs, not an error."""
    ranked = search.best_pairs(
        pool, acquisitions.entropy, Wanted(3), lambda p: np.zeros(len(p), bool), rng
    )

    assert ranked.pairs.shape == (0, 2)
    assert ranked.searched.shortfall == 0


def test_given_pairs_are_all_scored_or_the_most_doubtful_of_them(pool, rng, small):
    """The whole matrix costs more: of it, as many as it takes."""
    pairs = all_pairs(90)
    among = pairs[rng.permutation(len(pairs))[:500]]
    wanted = Wanted(1, n_scored=20)

    ranked = search.best_of(pool, acquisitions.entropy, wanted, everything, among)

    expected = np.sort(certainty(pool, among))[:20]
    assert_allclose(np.sort(certainty(pool, ranked.pairs)), expected, atol=1e-5)
    single = weighed(1, 90, 3, 0.1)
    whole = search.best_of(single, acquisitions.entropy, wanted, everything, among)
    assert_array_equal(whole.pairs, among)
    assert whole.searched == Searched(500, 500, 500, 0.0)


def no_neighbours(pool):
    raise AssertionError("neighbours are not needed")


def test_the_reserve_holds_the_most_doubtful_pairs(pool, small, rng):
    """The same as sorting all of them; some of all is not taken for all."""
    found = search.doubtful_pairs(pool, everything, rng, no_neighbours)

    expected = np.sort(certainty(pool, all_pairs(90)))[:40]
    worst = np.sort(certainty(pool, found.pairs))
    assert np.all(worst <= np.maximum(expected, search.HARDLY) + 0.03)
    ranked = search.best_of(pool, acquisitions.entropy, Wanted(1), everything, found)
    assert ranked.searched.n_pairs == 4005
    assert ranked.searched.n_seen == found.n_seen <= 4005
    assert_allclose(
        ranked.searched.shortfall, np.log(2) - ranked.scores.max(), atol=1e-12
    )


def test_the_reserve_is_of_a_share_where_all_would_take_too_long(
    rng, small, monkeypatch
):
    """After the work of some tiles it ends, and says how many pairs were seen."""
    monkeypatch.setattr(search, "HARDLY", 1e-9)
    pool = weighed(9, 300, 3, 0.2)
    whole = search.doubtful_pairs(pool, everything, rng, no_neighbours)
    monkeypatch.setattr(search, "MOST_WORK", 10_000.0)

    found = search.doubtful_pairs(pool, everything, rng, no_neighbours)

    assert whole.n_seen == 300 * 299 // 2
    assert 10_000 / 3 < found.n_seen < whole.n_seen / 2
    assert len(found.pairs) == search.RESERVE


def test_of_very_many_items_a_share_and_neighbours_are_looked_at(
    rng, small, monkeypatch
):
    """Where a random share of the tiles has too little doubt; it is said."""
    monkeypatch.setattr(search, "MAX_ITEMS", 100)
    monkeypatch.setattr(search, "MOST_TILES", 3)
    monkeypatch.setattr(search, "HARDLY", 1e-9)
    pool = weighed(9, 300, 3, 0.2)
    near = np.array([(0, 1), (2, 200), (5, 7)])

    found = search.doubtful_pairs(pool, everything, rng, lambda pool: (near, 0.97))

    assert 3 < found.n_seen <= 3 * 17**2 + 3
    assert found.recall == 0.97
    alone = search.doubtful_pairs(
        pool,
        lambda pairs: np.isin(pair_number(pairs, 300), pair_number(near, 300)),
        np.random.RandomState(0),
        lambda pool: (near, 0.97),
    )
    assert {tuple(pair) for pair in alone.pairs.tolist()} == {(0, 1), (2, 200), (5, 7)}
    wanted = Wanted(1)
    ranked = search.best_of(pool, acquisitions.entropy, wanted, everything, found)
    assert "a random share, and neighbours with a recall of 0.97" in str(
        ranked.searched
    )
    whole = search.best_pairs(pool, acquisitions.entropy, wanted, everything, rng)
    assert whole.searched.n_seen < whole.searched.n_pairs


@pytest.mark.parametrize(
    ("searched", "words"),
    [
        (
            Searched(100, 100, 20, 0.0),
            "All 100 pairs were looked at, 20 scored; no other is better.",
        ),
        (
            Searched(10_000, 512, 20, 2e-7),
            "512 of 10,000 pairs were looked at, 20 scored; "
            "no other is better by more than 2e-07 nats.",
        ),
        (
            Searched(10_000, 512, 20, float("inf")),
            "512 of 10,000 pairs were looked at, 20 scored; others may be better.",
        ),
    ],
)
def test_a_search_says_what_it_saw(searched, words):
    assert str(searched) == words
