"""What is asked again: joins on which much hangs, by who may be wrong."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from likewise.using.groups import group
from likewise.using.questions import doubted_joins, error_rate


class Plain:
    """A belief in plain distance."""

    def root(self):
        return np.eye(1)


def test_errors_are_thought_rarer_the_more_is_confirmed():
    """Until some are caught."""
    assert_allclose(error_rate(0.0, 5), error_rate(0.0, 0) / 2)
    assert error_rate(0.2, 100) == 0.2


def test_a_long_bridge_is_doubted_and_what_is_said_twice_is_not():
    """Two groups joined once; within each, three answers say the same."""
    X = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2])[:, None]
    pairs = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]])
    groups = group(Plain(), X, (pairs, np.ones(7)))

    again, worth = doubted_joins(groups, np.ones(7, dtype=bool), 0.1)

    assert_array_equal(again, [[2, 3]])
    assert worth[0] > 0


def test_what_was_asked_twice_is_not_asked_a_third_time():
    """`once` is false for it."""
    X = np.array([0.0, 9.0])[:, None]
    groups = group(Plain(), X, (np.array([[0, 1]]), np.ones(1)))

    again, _ = doubted_joins(groups, np.zeros(1, dtype=bool), 0.1)

    assert len(again) == 0
