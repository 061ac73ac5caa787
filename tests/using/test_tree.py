"""Gaps of pairs that share items."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.using import tree


def test_gaps_round_a_circle_are_nothing(rng):
    """The third side of a triangle follows, either way round; so does a pair again."""
    places = rng.randint(-(10**6), 10**6, (6, 3))
    pairs = np.array([(0, 1), (2, 3), (1, 2), (0, 3), (3, 1), (5, 5), (4, 5), (1, 0)])
    gaps = places[pairs[:, 0]] - places[pairs[:, 1]]
    gaps[7] += 1  # rounded by itself

    left = tree.along_tree(gaps, pairs)

    assert_array_equal(left[[0, 1, 2, 6]], gaps[[0, 1, 2, 6]])
    assert_array_equal(left[[3, 4, 5]], 0)
    assert_array_equal(left[7], 1)
    assert_array_equal(tree.off_tree(left, pairs), gaps)
    with pytest.raises(ValueError, match=r"do not fit: \(8, 3\) and \(7, 2\)"):
        tree.off_tree(left, pairs[:7])
    with pytest.raises(ValueError, match="it has flat gaps of 1,000 pairs"):
        tree.off_tree(np.tile(gaps, (125, 1)), np.tile(pairs, (125, 1)))


def test_items_are_placed_beside_the_first_of_their_group(rng):
    """Whatever the order in which gaps put groups together."""
    places = rng.randint(-(10**6), 10**6, (8, 3))
    pairs = np.array([(4, 5), (2, 3), (5, 2), (7, 1), (3, 4), (6, 6)])
    gaps = places[pairs[:, 0]] - places[pairs[:, 1]]

    made = tree.placed(gaps, pairs)

    origins = np.array([2, 2, 2, 1, 2, 6])
    assert_array_equal(made, places[pairs.T] - places[origins])
    with pytest.raises(ValueError, match=r"do not fit: \(6, 3\) and \(5, 2\)"):
        tree.placed(gaps, pairs[:5])
