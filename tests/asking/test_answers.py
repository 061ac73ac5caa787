"""The log of answers: whom to believe, what joins the likelihood."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking.answers import Answer, AnswerLog, flip_rates


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


def test_evidence_is_what_was_said_and_what_follows(rng):
    """Answered pairs count one each; implied ones share no more than two an answer."""
    log = AnswerLog(8, True)
    chain = np.array([[i, i + 1] for i in range(7)])
    log.tell(chain, np.ones(7), None)

    pairs, p_same, weights = log.evidence(rng)

    assert_array_equal(pairs[:7], chain)
    assert len(pairs) == 8 * 7 // 2
    assert_array_equal(p_same, 1)
    assert_array_equal(weights[:7], 1)
    assert_allclose(weights[7:], 14 / 21)


def test_an_annotator_who_contradicts_is_believed_less(rng):
    """P(same) of an answer falls with the flip rate of who gave it."""
    log = AnswerLog(6, False)
    for t in range(30):
        log.tell(np.array([[0, 1]]), np.array([(-1.0) ** t]), "wild")
    log.tell(np.array([[2, 3]]), np.array([1.0]), "calm")

    pairs, p_same, _ = log.evidence(rng)

    assert_array_equal(pairs, [[0, 1], [2, 3]])
    assert_allclose(p_same, [0.4, 1.0])


def test_unsure_pairs_rest_and_come_back():
    """Not asked again soon, but not never."""
    log = AnswerLog(300, True)
    log.tell(np.array([[0, 1]]), np.zeros(1), None)
    assert_array_equal(log.resting(), [[0, 1]])

    for k in range(2, 102):
        log.tell(np.array([[0, k]]), -np.ones(1), None)

    assert len(log.resting()) == 0


def test_the_first_answers_are_a_log_of_their_own():
    """As it was then, whatever came after."""
    log = AnswerLog(5, True)
    log.tell(np.array([[0, 1], [1, 2]]), np.ones(2), "a")
    log.tell(np.array([[2, 3]]), np.ones(1), "a")

    early = log.first(2)

    assert early.history() == log.history()[:2]
    assert (early.n_implied(), log.n_implied()) == (1, 3)
