"""Flip rates from answers that disagree."""

from numpy.testing import assert_allclose

from likewise.annotators import Answer, flip_rates


def answers(*said):
    return [Answer(i, j, label, t, who) for t, (i, j, label, who) in enumerate(said)]


def test_answers_that_agree_have_no_flips():
    """Repeating oneself is no error, and unsure is no answer to judge by."""
    told = answers((0, 1, 1, "a"), (0, 1, 1, "b"), (0, 2, 0, "a"), (0, 2, -1, "a"))

    assert flip_rates(told, []) == {"a": 0.0, "b": 0.0}


def test_a_disagreement_is_half_a_flip_for_each():
    """Two answers of each, one disagreement, held back by twenty."""
    told = answers((0, 1, 1, "a"), (0, 1, -1, "b"), (2, 3, 1, "a"), (4, 5, 1, "b"))

    assert flip_rates(told, []) == {"a": 0.5 / 22, "b": 0.5 / 22}


def test_a_cycle_is_one_flip_shared_by_its_answers():
    """Two of three answers are a's: two thirds of a flip are."""
    told = answers((0, 1, 1, "a"), (1, 2, 1, "a"), (0, 2, -1, "b"))

    rates = flip_rates(told, [[(0, 1, 1), (1, 2, 1), (0, 2, -1)]])

    assert_allclose([rates["a"], rates["b"]], [2 / 3 / 22, 1 / 3 / 21])


def test_a_rate_is_never_a_coin_toss():
    """However bad, an answer still points its way."""
    told = answers(*[(0, 1, (-1) ** t, None) for t in range(400)])

    assert flip_rates(told, []) == {None: 0.4}
