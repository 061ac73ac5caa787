"""The ascent: where it ends, how many looks it takes, and what it never does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.model import ascent
from likewise.model.ascent import Look, ascend

WIDE = np.full(2, -20.0), np.full(2, 20.0)


class Hill:
    """-(x - top)' H (x - top) / 2, and the places that were looked at."""

    def __init__(self, top, curvature):
        self.top, self.curvature = np.array(top), np.array(curvature)
        self.places, self.expected = [], []

    def look(self, place, expected=0.0):
        self.places.append(place)
        self.expected.append(expected)
        fall = self.curvature @ (place - self.top)
        return Look(place, float(-(place - self.top) @ fall / 2), -fall)

    def climb(self, box=WIDE, curvature=None, worthless=1e-6):
        start = self.look(np.zeros(2))
        guess = np.eye(2) if curvature is None else curvature
        return ascend(self.look, start, guess, box, worthless)

    @property
    def best(self):
        places, self.places = self.places, []
        best = max(places, key=lambda place: self.look(place).value)
        self.places = places
        return best


def test_a_known_curvature_takes_one_step():
    """And the gain expected of it is the gain."""
    curvature = np.array([[4.0, 1.0], [1.0, 2.0]])
    hill = Hill([0.3, -0.4], curvature)

    found = hill.climb(curvature=curvature)

    assert len(hill.places) == 2
    assert_allclose(hill.places[1], [0.3, -0.4])
    assert_allclose(hill.expected[1], -hill.look(np.zeros(2)).value)
    assert_allclose(found, curvature)


@pytest.mark.parametrize("size", [0.05, 1.0, 40.0])
def test_the_top_is_found_whatever_the_guess(size):
    """Far from the start, with a curvature guessed twenty times too low or high."""
    hill = Hill([3.0, -5.0], np.array([[2.0, 0.5], [0.5, 1.0]]) * size)

    found = hill.climb()

    assert_allclose(hill.best, [3.0, -5.0], atol=2e-2)
    assert len(hill.places) <= ascent.MAX_LOOKS
    assert_allclose(found, found.T)


def test_no_step_is_longer_than_allowed():
    """The first by one, others by two."""
    hill = Hill([15.0, 0.0], 0.1 * np.eye(2))

    hill.climb()

    steps = np.abs(np.diff(hill.places[:5], axis=0)).max(axis=1)
    assert steps[0] == ascent.FIRST_STEP
    assert steps.max() == ascent.LONGEST_STEP


def test_what_leaves_the_box_is_held_at_its_border():
    """And the other number has its best there."""
    curvature = np.array([[2.0, 1.0], [1.0, 2.0]])
    hill = Hill([3.0, 0.0], curvature)
    box = np.array([-1.0, -9.0]), np.array([1.0, 9.0])

    hill.climb(box)

    assert_allclose(hill.best, [1.0, 1.0], atol=1e-3)
    assert max(place[0] for place in hill.places) <= 1.0


def test_where_there_is_nothing_to_gain_nobody_looks():
    """A slope whose gain is worthless ends the ascent."""
    hill = Hill([0.1, 0.0], np.eye(2))

    hill.climb(worthless=0.01)

    assert len(hill.places) == 1


def test_a_step_too_far_is_taken_back():
    """Where the slope changes fast, from the higher place, half as far at most."""

    def bend(place, expected=0.0):
        value = place[0] - np.exp(3 * place[0])
        looked.append(float(place[0]))
        return Look(place, float(value), 1 - 3 * np.exp(3 * place))

    looked = []
    start = bend(np.array([-2.0]))

    ascend(bend, start, 0.1 * np.eye(1), (np.array([-9.0]), np.array([9.0])), 1e-6)

    best = max(looked, key=lambda x: x - np.exp(3 * x))
    assert_allclose(best, -np.log(3) / 3, atol=1e-3)
    assert len(looked) < 12


def test_where_the_slope_rises_the_curvature_stays_positive():
    """A convex stretch says nothing of the top, but that it is not here."""
    step = np.array([1.0, 0.5])

    found = ascent._updated(np.eye(2), step, np.array([-3.0, -1.0]))

    assert (np.linalg.eigvalsh(found) > 0).all()
    assert_allclose(step @ found @ step, 0.1 * step @ step)
