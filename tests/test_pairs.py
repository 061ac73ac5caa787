"""Pairs: checks that name the fault, draws that are fair, splits that are clean."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise import pairs as module
from likewise.errors import InputError


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 1, 2]], r"shape \(n_pairs, 2\). Got \(1, 3\)"),
        ([0, 1], r"shape \(n_pairs, 2\). Got \(2,\)"),
        ([[0, 1], [2]], "unequal length"),
        ([[0, 1], [3, 812]], r"Pair \(3, 812\) points outside X, which has 500 rows"),
        ([[0, -1]], r"Pair \(0, -1\) points outside X"),
        ([[4, 5], [7, 7]], r"two different items. Got \(7, 7\) at position 1"),
        ([[0.0, 1.0]], "integers.* Got dtype float64"),
        ([["a", "b"]], "integers.* Got dtype <U1"),
        ([[True, False]], "integers.* Got dtype bool"),
    ],
)
def test_bad_pairs_are_named(pairs, message):
    """The thing, the rule and the value got."""
    with pytest.raises(InputError, match=message):
        module.check_pairs(pairs, 500)


def test_pairs_come_back_in_order():
    """i < j, whichever way they were given."""
    assert_array_equal(module.check_pairs([[5, 2], [0, 9]], 10), [[2, 5], [0, 9]])


@pytest.mark.parametrize(
    ("labels", "soft", "message"),
    [
        ([1, 2, -1], False, r"\+1 \(same\) or -1 \(different\). Got 2 at position 1"),
        ([1, np.nan, -1], False, "Got nan at position 1"),
        ([0.2, 1.5, 0], True, "between 0 and 1. Got 1.5 at position 1"),
        ([1, -1], False, r"each of the 3 pairs. Got shape \(2,\)"),
        (["same", "x", "y"], False, "'labels' must be numbers"),
    ],
)
def test_bad_labels_are_named(labels, soft, message):
    """The position and the value."""
    with pytest.raises(InputError, match=message):
        module.check_labels(labels, 3, soft=soft)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2], "not negative. Got -2 at position 1"),
        ([np.inf, 1], "finite.* Got inf at position 0"),
        ([0, 0], "zero everywhere"),
        ([1], r"each of the 2 pairs. Got shape \(1,\)"),
    ],
)
def test_bad_weights_are_named(weights, message):
    """The rule and the value."""
    with pytest.raises(InputError, match=message):
        module.check_weights(weights, 2)


def test_a_pair_labelled_both_ways_is_named():
    """Also when the two stand far apart."""
    pairs = np.array([[1, 4], [0, 2], [3, 7], [0, 2]])

    with pytest.raises(InputError, match=r"Pair \(0, 2\) is labelled both"):
        module.check_agreement(pairs, np.array([1.0, 1.0, -1.0, -1.0]))


@pytest.mark.parametrize("n_items", [2, 3, 7, 40])
def test_numbers_and_pairs_are_each_others_inverse(n_items):
    """The k-th pair of the ordered list, and back."""
    pairs = module.all_pairs(n_items)
    numbers = np.arange(len(pairs))

    assert_array_equal(module.pair_at(numbers, n_items), pairs)
    assert_array_equal(module.pair_number(pairs, n_items), numbers)


def test_pairs_are_found_among_others(rng):
    """Wherever they are, and not where they are not."""
    among = rng.permutation(module.all_pairs(9))[:20]
    wanted = module.all_pairs(10)
    places = {tuple(pair): place for place, pair in enumerate(among.tolist())}

    found = module.find_pairs(wanted, among)

    assert_array_equal(found, [places.get(tuple(pair), -1) for pair in wanted.tolist()])
    assert_array_equal(module.find_pairs(wanted, among[:0]), -1)
    assert len(module.find_pairs(wanted[:0], among)) == 0


def test_pair_numbers_stay_exact_for_a_million_items(rng):
    """Rounding of the root is mended."""
    n_items = 1_000_000
    last = n_items * (n_items - 1) // 2 - 1
    numbers = np.concatenate([[0, 1, last - 1, last], rng.randint(0, 2**38, 1000)])

    pairs = module.pair_at(numbers, n_items)

    assert_array_equal(module.pair_number(pairs, n_items), numbers)
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_drawn_pairs_are_different_and_uniform(rng):
    """No pair twice in a draw; over many draws each as often as another."""
    counts = np.zeros(45, dtype=int)
    for _ in range(2000):
        drawn = module.draw_pairs(10, 9, rng)
        numbers = module.pair_number(drawn, 10)
        assert len(np.unique(numbers)) == 9
        counts[numbers] += 1

    assert abs(counts - 400).max() < 5 * np.sqrt(400)


def test_drawing_more_than_there_are_gives_all(rng):
    """A small pool ends politely."""
    drawn = module.draw_pairs(4, 100, rng)

    assert_array_equal(np.sort(module.pair_number(drawn, 4)), np.arange(6))


def test_classes_give_every_pair_up_to_the_bound(rng):
    """All pairs, labelled by whether the classes agree."""
    pairs, labels = module.pairs_from_classes(np.array([0, 1, 0]), 3, rng)

    assert_array_equal(pairs, [[0, 1], [0, 2], [1, 2]])
    assert_array_equal(labels, [-1, 1, -1])


def test_beyond_the_bound_the_sample_is_balanced(rng):
    """Half same, half different, no pair twice, labels right."""
    classes = rng.randint(0, 7, 300)

    pairs, labels = module.pairs_from_classes(classes, 1000, rng)

    assert_array_equal(labels > 0, classes[pairs[:, 0]] == classes[pairs[:, 1]])
    assert (labels > 0).sum() == 500
    assert len(np.unique(module.pair_number(pairs, 300))) == 1000


def test_rare_same_pairs_are_all_taken(rng):
    """Where there are few same pairs the rest of the sample is different."""
    classes = np.arange(200)
    classes[1] = 0

    pairs, labels = module.pairs_from_classes(classes, 1000, rng)

    assert_array_equal(pairs[labels > 0], [[0, 1]])
    assert len(pairs) == 1000


class CountingSource(np.random.RandomState):
    """A source of chance that counts the numbers it has drawn."""

    n_drawn = 0

    def randint(self, *args, size, **options):
        self.n_drawn += size
        return super().randint(*args, size=size, **options)

    def permutation(self, n):
        self.n_drawn += n
        return super().permutation(n)


def test_one_item_of_its_own_costs_no_more_than_its_pairs():
    """Among 20,000: pairs with it are numbered and drawn, not waited for."""
    classes = np.zeros(20_000, dtype=int)
    classes[7_000] = 1
    rng = CountingSource(0)

    pairs, labels = module.pairs_from_classes(classes, 1500, rng)

    assert (labels > 0).sum() == (labels < 0).sum() == 750
    assert (pairs[labels < 0] == 7_000).any(axis=1).all()
    assert not (pairs[labels > 0] == 7_000).any()
    assert rng.n_drawn <= 4 * 1500


def test_different_pairs_are_uniform(rng):
    """Over classes of unequal size each is drawn as often as another."""
    classes = np.array([2, 0, 0, 0, 1, 1, 2, 3])
    counts = np.zeros(28, dtype=int)
    for _ in range(2000):
        drawn = module._draw_different(classes, 6, rng)
        numbers = module.pair_number(drawn, 8)
        assert len(np.unique(numbers)) == 6
        counts[numbers] += 1

    pairs = module.all_pairs(8)
    differ = classes[pairs[:, 0]] != classes[pairs[:, 1]]
    expected = 2000 * 6 / differ.sum()
    assert not counts[~differ].any()
    assert abs(counts[differ] - expected).max() < 5 * np.sqrt(expected)


def test_tuples_become_rows_and_pairs():
    """metric-learn's array of points gives X and pairs with the same gaps."""
    tuples = np.array([[[0.0, 1], [2, 3]], [[2, 3], [4, 5]]])

    X, pairs = module.from_tuples(tuples)

    assert len(X) == 3
    for (left, right), (i, j) in zip(tuples, pairs, strict=True):
        assert_array_equal(np.abs(X[i] - X[j]), np.abs(left - right))
    with pytest.raises(InputError, match=r"Got \(2, 2\)"):
        module.from_tuples([[1, 2], [3, 4]])


def test_split_by_item_shares_no_item(rng):
    """What is tested was not seen, not even one item of a pair."""
    pairs = module.all_pairs(30)

    train, test = module.split_by_item(pairs, 30, 0.3, rng)

    assert not set(pairs[train].ravel()) & set(pairs[test].ravel())
    assert len(test) == 9 * 8 // 2
    assert len(train) == 21 * 20 // 2
    with pytest.raises(InputError, match="Got 1.2"):
        module.split_by_item(pairs, 30, 1.2, rng)
