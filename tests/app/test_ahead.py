"""What is computed while a person looks, and in which order."""

import time

import numpy as np
import pytest

from likewise.app.ahead import Ahead
from likewise.app.learners import as_pairs
from likewise.app.records import Question


class Listener:
    """A learner that keeps what it was told, and always asks the same."""

    def __init__(self, told):
        self.told = told

    def copy(self):
        return self

    def tell(self, pairs, labels, annotator, said):
        self.told.append(labels[0])

    def ask(self, n_pairs, exclude):
        return np.array([[2, 3]])

    def predicted(self, pairs):
        return np.array([0.25])


def asked(p_same):
    """A question about the items 0 and 1."""
    return Question(1, 0, 1, "ada", "2026-01-01", 0, p_same, "open")


@pytest.mark.parametrize(
    ("p_same", "labels"),
    [(0.9, [1, -1, 0]), (0.1, [-1, 1, 0]), (None, [1, -1, 0])],
)
def test_the_likeliest_answer_is_followed_first(p_same, labels):
    """One after the other: the last is ready when all are."""
    told, ahead = [], Ahead()
    ahead.prepare(Listener(told), (0, 0), asked(p_same), as_pairs([]))
    while len(told) < 3:
        time.sleep(0.01)
    ready = ahead.take(((0, 0), "ada", (0, 1), 0))

    assert told == labels
    assert (ready.pair, ready.p_same) == ((2, 3), 0.25)
    ahead.close()


def test_what_goes_wrong_ahead_is_left_to_who_asks():
    """A failure of ours is not swallowed; one that is a sentence is computed again."""
    ahead = Ahead()
    learner = Listener([])
    learner.ask = None  # cannot be called
    ahead.prepare(learner, (0, 0), asked(0.9), as_pairs([]))
    while len(learner.told) < 3:
        time.sleep(0.01)

    with pytest.raises(TypeError, match="not callable"):
        ahead.take(((0, 0), "ada", (0, 1), 1))
    ahead.close()
