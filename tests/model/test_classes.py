"""A metric from classes: its formulas against loops, and what it must find."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.model import classes, matrix
from likewise.model.classes import (
    Labelled,
    border_pairs,
    class_metric,
    neighbour_weights,
    scatter_metrics,
)
from likewise.model.classes import Neighbours as Candidates


def neighbour_likelihood(weights, candidates):
    """The sum written out: over queries, over candidates."""
    total = 0.0
    for query, times in enumerate(candidates.weights):
        same = everyone = 0.0
        for place, count in enumerate(candidates.counts[query]):
            distance = candidates.squared_distances[query, place] @ weights
            everyone += count * np.exp(-distance)
            same += count * np.exp(-distance) * candidates.is_same[query, place]
        total += times * np.log(same / everyone)
    return total


@pytest.fixture
def candidates(rng):
    is_same = rng.random_sample((6, 5)) < 0.5
    is_same[:, 0] = True
    counts = rng.randint(0, 3, (6, 5)).astype(float)
    counts[:, 0] = 1.0
    distances = rng.gamma(2.0, 0.3, (6, 5, 3))
    return Candidates(distances, counts, is_same, rng.gamma(2.0, 1.0, 6))


def test_the_likelihood_of_neighbours_is_the_sum_written_out(candidates):
    """Value and slope."""
    weights = np.array([2.0, 0.5, 1.0])

    value, slope = matrix.neighbour_likelihood(weights, *candidates)

    assert_allclose(value, neighbour_likelihood(weights, candidates))
    steps = 1e-6 * np.eye(3)
    slopes = [
        neighbour_likelihood(weights + step, candidates)
        - neighbour_likelihood(weights - step, candidates)
        for step in steps
    ]
    assert_allclose(slope, np.array(slopes) / 2e-6, rtol=1e-5)


def test_a_classmate_out_of_reach_leaves_the_likelihood_finite():
    """A thousand nats away there is no slope, and no infinity."""
    far = Candidates(
        np.array([[[0.0], [1000.0]]]),
        np.ones((1, 2)),
        np.array([[False, True]]),
        np.ones(1),
    )

    value, slope = matrix.neighbour_likelihood(np.array([50.0]), *far)

    assert np.isfinite(value)
    assert np.isfinite(slope).all()


def test_the_metric_that_finds_classmates_gets_the_weight(rng):
    """Of two metrics one knows the classes."""
    is_same = rng.random_sample((200, 8)) < 0.5
    is_same[:, 0] = True
    telling = np.where(is_same, 0.1, 1.0) * rng.gamma(5.0, 0.2, (200, 8))
    other = rng.gamma(5.0, 0.2, (200, 8))
    distances = np.stack([other, telling], axis=2)

    weights = neighbour_weights(
        Candidates(distances, np.ones((200, 8)), is_same, np.ones(200))
    )

    assert weights[1] > 10 * weights[0]


def test_scatter_is_that_within_classes(rng):
    """The inverse of the pooled covariance; and only where means differ."""
    root = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.3, 0.5]])
    classes = np.repeat([0, 1], 20_000)
    Z = rng.normal(size=(40_000, 3)) @ root.T
    Z[classes == 1] += [3.0, 0.0, 0.0]

    within, between = scatter_metrics(Labelled(Z, classes, np.ones(40_000)))

    inverse = np.linalg.inv(root @ root.T)
    assert_allclose(within, inverse, rtol=0.05, atol=0.05)
    # Fisher's direction, weighed by l / (1 + l), l the squared gap over four.
    direction = inverse @ [1.0, 0.0, 0.0]
    ratio = 9 * inverse[0, 0] / 4
    expected = np.outer(direction, direction) / inverse[0, 0] * ratio / (1 + ratio)
    assert_allclose(between, expected, rtol=0.05, atol=0.05)


def test_loud_directions_are_silenced(rng):
    """Two features tell ten classes apart, eight loud ones nothing."""
    classes = np.arange(200) % 10
    Z = rng.normal(size=(200, 10)) * np.r_[0.3, 0.3, np.full(8, 4.0)]
    Z[:, :2] += 3 * rng.normal(size=(10, 2))[classes]
    items = Labelled(Z, classes, np.ones(200))

    metric = class_metric(items, [np.eye(10), np.diag(1 / Z.var(axis=0))], rng)

    loud = np.diag(metric)[2:].max()
    assert np.diag(metric)[:2].min() > 20 * loud


def test_where_plain_distance_is_right_it_stays(rng):
    """One Gaussian a class, equal in all directions: nothing to learn."""
    classes = np.arange(300) % 30
    Z = rng.normal(size=(30, 6))[classes] + 0.4 * rng.normal(size=(300, 6))

    metric = class_metric(
        Labelled(Z, classes, np.ones(300)), [np.eye(6), np.diag(1 / Z.var(axis=0))], rng
    )

    values = np.linalg.eigvalsh(metric)
    assert values.max() < 3 * values.min()


@pytest.mark.parametrize(
    "classes",
    [np.zeros(60, int), np.r_[0, 0, np.arange(1, 59)], np.r_[0, np.ones(59, int)]],
    ids=["one class", "one pair", "one alone"],
)
def test_odd_classes_still_give_a_metric(rng, classes):
    """One class only, a single pair of classmates, an item alone in its class."""
    Z = rng.normal(size=(60, 3))

    metric = class_metric(
        Labelled(Z, classes, np.ones(60)), [np.eye(3), np.eye(3)], rng
    )

    assert np.isfinite(metric).all()
    # In the unit in which the mean squared distance is 1.
    assert_allclose(2 * np.vdot(metric, np.cov(Z.T)), 1.0)


def test_pairs_at_the_border_are_the_nearest_of_either_kind(rng):
    """Against distances sorted by hand, in a metric that is not Euclid's."""
    Z, classes = rng.normal(size=(40, 2)), np.arange(40) % 3
    root = np.diag([1.0, 3.0])

    pairs, labels = border_pairs(Labelled(Z, classes, np.ones(40)), root, 40, rng)

    expected = set()
    for i in range(40):
        order = np.argsort(((Z - Z[i]) ** 2 @ root**2).sum(axis=1))
        same = next(j for j in order if j != i and classes[j] == classes[i])
        other = next(j for j in order if classes[j] != classes[i])
        expected |= {tuple(sorted((i, same))), tuple(sorted((i, other)))}
    assert {tuple(pair) for pair in pairs.tolist()} == expected
    assert_array_equal(labels > 0, classes[pairs[:, 0]] == classes[pairs[:, 1]])


@pytest.mark.parametrize("n_columns", [9, 90, 300, 1104])
def test_the_smallest_are_found_by_groups(rng, n_columns):
    """The same columns as by sorting, those beyond the last group too."""
    values = rng.normal(size=(30, n_columns))

    found = classes._smallest(values, 8)

    expected = np.argsort(values, axis=1)[:, :8]
    assert (np.sort(found, axis=1) == np.sort(expected, axis=1)).all()
