"""Search: what is nearest, what is known of it, how sure the ranking is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise import ActiveMetric, BayesianMetric, InputError, Neighbours
from likewise.model import matrix
from likewise.using.neighbours import near_pairs, share_in_top


@pytest.fixture
def learner(blobs, rng):
    """A learner of three classes, after 30 answers drawn at random."""
    X, y = blobs
    pairs = np.sort(np.array([rng.choice(60, 2, replace=False) for _ in range(30)]))
    pairs = np.unique(pairs, axis=0)
    learner = ActiveMetric(X, random_state=0)
    learner.tell(pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1))
    return learner


@pytest.fixture
def metric(learner):
    return learner.metric_


def with_each(query, rows):
    return np.column_stack([np.full(len(rows), query), rows])


def test_new_items_find_what_is_nearest_after_transform(metric, rng):
    """Against all distances, sorted; by rows and by vectors alike."""
    X, items = rng.normal(size=(300, 5)), rng.normal(size=(7, 5))

    found = Neighbours(metric, X).query(items, k=6)

    gaps = metric.transform(items)[:, None] - metric.transform(X)
    distances = np.linalg.norm(gaps, axis=2)
    assert_array_equal(found.rows, np.argsort(distances, axis=1)[:, :6])
    assert_allclose(found.distances, np.sort(distances, axis=1)[:, :6], atol=1e-12)


def test_a_row_is_no_neighbour_of_itself(metric, rng):
    """Asked by its number it is left out; asked as a vector it is found at 0."""
    X = rng.normal(size=(50, 5))
    search = Neighbours(metric, X)

    by_row, by_vector = search.query([3, 9], k=4), search.query(X[[3, 9]], k=5)

    assert_array_equal(by_vector.rows[:, 0], [3, 9])
    assert_allclose(by_vector.distances[:, 0], 0, atol=1e-12)
    assert_array_equal(by_row.rows, by_vector.rows[:, 1:])
    assert_allclose(by_row.p_same, by_vector.p_same[:, 1:])


def test_p_same_of_new_items_is_the_metrics(metric, rng):
    """X of another time: nothing is known of its rows but their features."""
    X = rng.normal(size=(50, 5)) * 3

    found = Neighbours(metric, X).query([0], k=8)

    pairs = with_each(0, found.rows[0])
    assert_allclose(found.p_same[0], metric.pair_probability(X, pairs), rtol=1e-9)
    assert_allclose(found.distances[0], metric.pair_distance(X, pairs), rtol=1e-9)


def test_p_same_of_items_asked_about_is_the_learners(learner):
    """What the answers said of an item itself is in it."""
    items = learner.known_pairs().pairs[:5, 0]

    found = learner.neighbours().query(items, k=8)

    for item, rows, p_same in zip(items, found.rows, found.p_same, strict=True):
        expected = learner.pair_probability(with_each(item, rows))
        assert_allclose(p_same, expected, rtol=1e-9)


def test_distance_knows_what_was_said_of_the_items(blobs):
    """Next door, but told apart: farther than the features say; and as f does."""
    X, y = blobs
    learner = ActiveMetric(X, metric=BayesianMetric(item_noise=5.0), random_state=0)
    plain = np.linalg.norm(X[:, None] - X, axis=2)
    i, j = np.argwhere(np.triu(plain < np.sort(plain[plain > 0])[4], 1))[0]
    learner.tell([[i, j], [0, 30], [1, 50], [2, 3]], [-1, -1, -1, 1])

    found = learner.neighbours().query([i], k=59)

    metric, belief = learner.metric_, learner.metric_.posterior_
    place = found.rows[0].tolist().index(j)
    assert found.distances[0, place] > 1.1 * metric.pair_distance(X, [[i, j]])[0]
    Z = metric.basis_.project(X)
    pairs = with_each(i, found.rows[0])
    latent = belief.latent_mean(Z[i] - Z[found.rows[0]], pairs)
    squared = belief.metric_weights @ latent + belief.threshold
    assert_allclose(found.distances[0] ** 2, np.maximum(squared, 0), atol=1e-9)


def test_confidence_is_the_share_of_drawn_metrics(blobs, rng):
    """Without noise of the items, against ranks under drawn matrices."""
    X, y = blobs
    pairs = np.array([[0, 1], [2, 3], [0, 30], [25, 50], [24, 26], [40, 45]])
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric(item_noise=0.0, random_state=0).fit_pairs(X, pairs, labels)
    search = Neighbours(metric, X, random_state=rng.randint(99))

    found = search.query([7], k=5, n_draws=4000)

    near = search.query([7], k=59, n_draws=0).rows[0]
    Z = metric.basis_.project(X)
    draws = metric.posterior_.sample(4000, rng)[:, 1:]
    squared = draws @ matrix.matrix_features(Z[7] - Z[near]).T  # (n_draws, 59)
    top = np.argsort(squared, axis=1)[:, :5]
    share = np.bincount(top.ravel(), minlength=59)[:5] / 4000
    assert_allclose(found.confidence[0], share, atol=0.05)
    assert 0.2 < share.min() < 0.9


def test_all_shares_add_up_to_k(metric, rng):
    """k places in every draw."""
    features, pairs = rng.normal(size=(20, 5)), np.arange(100, 140).reshape(20, 2)

    shares = share_in_top(metric.posterior_, features, pairs, 6, 50, rng)

    assert_allclose(shares.sum(), 6)


def test_a_metric_without_doubt_is_sure(blobs):
    """A point estimate ranks the same way every time."""
    X, y = blobs
    metric = BayesianMetric(basis="axes", inference="mle", prior_precision=1.0)
    metric.fit(X, y)

    found = Neighbours(metric, X).query([0, 30], k=4)

    assert_allclose(found.confidence, 1.0)


def test_the_same_query_gives_the_same_numbers(learner):
    """One by one or together, now or later; the ranking and P(same) always."""
    search = learner.neighbours()

    together, again = search.query([4, 8], k=3), search.query([4, 8], k=3)

    assert_array_equal(together.confidence, again.confidence)
    for place, item in enumerate([4, 8]):
        alone = search.query([item], k=3)
        assert_array_equal(together.rows[place], alone.rows[0])
        assert_allclose(together.p_same[place], alone.p_same[0])


def test_no_more_neighbours_than_items(metric, rng):
    """All the others; all of them among the nearest for sure."""
    X = rng.normal(size=(4, 5))

    found = Neighbours(metric, X).query([1], k=10)

    assert sorted(found.rows[0]) == [0, 2, 3]
    assert_allclose(found.confidence, 1.0)
    assert Neighbours(metric, X[:1]).query([0], k=3).rows.shape == (1, 0)


def test_usearch_finds_what_is_nearest(learner, blobs):
    """On few items its graph misses nothing; items asked about are known there too."""
    pytest.importorskip("usearch")
    rows = np.arange(60)

    exact = learner.neighbours().query(rows, k=5)

    by_index = Neighbours(learner.metric_, blobs[0], index="usearch")
    found = by_index.query(rows, k=5)
    assert_array_equal(found.rows, exact.rows)
    assert_allclose(found.distances, exact.distances, atol=1e-12)
    assert_allclose(found.p_same, exact.p_same)


def test_single_precision_finds_the_same(learner, blobs):
    """Items in it are the same items: known, and measured in double."""
    X = blobs[0].astype(np.float32)
    learner = ActiveMetric.replay(X, learner.history(), random_state=0)

    found = Neighbours(learner.metric_, X).query([3], k=5)

    exact = learner.neighbours().query([3], k=5)
    assert_array_equal(found.rows, exact.rows)
    assert_array_equal(found.distances, exact.distances)
    expected = learner.pair_probability(with_each(3, found.rows[0]))
    assert_allclose(found.p_same[0], expected)


def test_items_that_came_later_are_found(learner, rng):
    """Those asked about stay known, by their numbers."""
    learner.add_items(rng.normal(size=(5, 5)))

    found = learner.neighbours().query([0, 62], k=64)

    for item, rows, p_same in zip([0, 62], found.rows, found.p_same, strict=True):
        assert sorted([item, *rows]) == list(range(65))
        assert_allclose(p_same, learner.pair_probability(with_each(item, rows)))


def test_no_draws_no_confidence(metric, rng):
    """NaN, not a number that was not computed."""
    found = Neighbours(metric, rng.normal(size=(9, 5))).query([0], k=2, n_draws=0)

    assert np.isnan(found.confidence).all()


@pytest.mark.parametrize(
    ("items", "options", "words"),
    [
        ([60], {}, "Row 60 points outside X, which has 60 rows"),
        ([-1], {}, "Row -1 points outside X"),
        ([0.5], {}, r"'items' must be row numbers.*Got float64 of shape \(1,\)"),
        (np.zeros((1, 4)), {}, "X has 4 features, but BayesianMetric is expecting 5"),
        ([0], {"k": 0}, "'k' must be a whole number of at least 1. Got 0"),
        ([0], {"n_draws": 1.5}, "'n_draws' must be a whole number of at least 0"),
    ],
)
def test_wrong_questions_get_a_sentence(metric, blobs, items, options, words):
    """Rows outside, floats as rows, features that are missing, no count."""
    with pytest.raises(InputError, match=words):
        Neighbours(metric, blobs[0]).query(items, **options)


def test_an_unknown_index_is_refused(metric, blobs):
    """The three that there are."""
    with pytest.raises(InputError, match="'index' must be one of .*Got 'faiss'"):
        Neighbours(metric, blobs[0], index="faiss")


def test_near_pairs_are_the_nearest_with_their_recall(rng):
    """Each item with its ten nearest; the recall is that of looking at all."""
    Z = rng.normal(size=(400, 5))

    pairs, recall = near_pairs(Z, rng)

    distances = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :10]
    true = {tuple(sorted((i, int(j)))) for i in range(400) for j in nearest[i]}
    found = {tuple(pair) for pair in pairs.tolist()}
    assert len(found) == len(pairs)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(found & true) > 0.95 * len(true)
    assert recall > 0.95
