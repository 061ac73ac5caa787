"""The log of answers: whom to believe, what joins the likelihood."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking.answers import AnswerLog


def heard(*said, n_items=10, equivalence=True):
    """A log that heard (i, j, label, who), one after the other."""
    log = AnswerLog(n_items, equivalence)
    for i, j, label, who in said:
        log.tell(np.array([[i, j]]), np.array([float(label)]), who, [None])
    return log


def tell(log, pairs, labels, who=None):
    log.tell(np.array(pairs), np.array(labels, dtype=float), who, [None] * len(pairs))


def test_answers_that_agree_have_no_flips():
    """Repeating oneself is no error, and unsure is no answer to judge by."""
    log = heard((0, 1, 1, "a"), (0, 1, 1, "b"), (0, 2, 0, "a"), (0, 2, -1, "a"))

    assert log.flip_rates() == {"a": 0.0, "b": 0.0}


def test_a_persons_own_correction_is_no_flip(rng):
    """The last word stands, alone and believed outright."""
    log = heard((0, 1, 1, "a"), (0, 1, -1, "a"), (2, 3, 1, "a"))

    assert log.flip_rates() == {"a": 0.0}
    assert_array_equal(log.evidence(rng)[1], [0.0, 1.0])


def test_an_answer_told_anew_unasked_is_a_correction():
    """It counts as said once; asked for, or by another, it is a second answer."""
    log = AnswerLog(10, True)
    for pair, label, who, said in (
        ((0, 1), 1, "a", 0.6),
        ((2, 3), 1, "a", 0.7),
        ((4, 5), 1, "a", 0.8),
        ((0, 1), -1, "a", None),
        ((2, 3), -1, "a", 0.5),
        ((4, 5), -1, "b", None),
    ):
        log.tell(np.array([pair]), np.array([float(label)]), who, [said])

    assert log.said() == {(0, 1): [-1], (2, 3): [1, -1], (4, 5): [1, -1]}
    assert log.corrected() == {(0, 1)}
    came_true = [(each.said, each.label) for each in log.predicted()]
    assert came_true == [(0.6, -1), (0.7, 1), (0.8, 1), (0.5, -1)]
    tell(log, [[0, 1]], [0], "a")
    assert [each.said for each in log.predicted()] == [0.7, 0.8, 0.5]
    assert (0, 1) not in log.said()


def test_unsure_withdraws_ones_own_answer_only(rng):
    """What someone else said of the pair stands; without it nothing does."""
    log = heard((0, 1, 1, "a"), (1, 2, 1, "a"), (0, 2, -1, "a"), (0, 1, 0, "b"))
    assert len(log.cycles()) == 1

    tell(log, [[0, 1]], [0], "a")

    assert log.cycles() == []
    assert_array_equal(log.evidence(rng)[0][:2], [[1, 2], [0, 2]])
    log.undo()
    assert len(log.cycles()) == 1
    assert_array_equal(log.evidence(rng)[0], [[0, 1], [1, 2], [0, 2]])


def test_two_people_who_disagree_leave_a_pair_open(rng):
    """The mean of what they said, by how far each is believed, hardly says anything."""
    log = heard((0, 1, 1, "a"), (0, 1, -1, "b"), (2, 3, 1, "a"), equivalence=False)

    rates = log.flip_rates()

    assert_allclose(rates["a"], rates["b"], rtol=1e-6)
    assert 0.05 < rates["a"] < 0.15
    told = log.evidence(rng)
    assert_allclose(2 * told.right[0] - 1, abs(rates["b"] - rates["a"]), atol=1e-12)
    assert_allclose((told.p_same[1], told.right[1]), (1, 1 - rates["a"]))


def test_what_doubtful_answers_imply_is_doubtful(rng):
    """A pair that follows from two answers believed to 1 - e: (1 - 2e)^2."""
    quarrels = [(4, 5, (-1) ** t, f"{t}") for t in range(6)]
    log = heard((0, 1, 1, "0"), (1, 2, 1, "0"), *quarrels)
    rate = log.flip_rates()["0"]

    pairs, p_same, weights, implied, _ = log.evidence(rng)

    assert rate > 0.01
    assert_array_equal(pairs[implied], [[0, 2]])
    assert_array_equal(p_same[implied], 1)
    assert_allclose(weights[implied], (1 - 2 * rate) ** 2)
    assert (weights <= 1).all()


def test_an_answer_on_what_follows_is_a_trial_of_all_it_follows_from():
    """Who gave the chain and who gave the answer are all tried, until it is undone."""
    log = heard((0, 1, 1, "a"), (1, 2, 1, "b"), (2, 3, -1, "c"))
    assert log.n_upset == 0

    tell(log, [[0, 3]], [1], "d")

    rates = log.flip_rates()
    assert log.n_upset == 1
    assert_allclose([rates["a"], rates["b"], rates["c"]], rates["d"], rtol=1e-6)
    assert rates["d"] > 0.03
    log.undo()
    assert log.n_upset == 0
    assert log.flip_rates() == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_trials_survive_copies_and_prefixes():
    """A copy knows what disagreed, and the log of before does not."""
    log = heard((0, 1, 1, "a"), (1, 2, 1, "a"), (0, 2, -1, "a"))

    assert log.copy().flip_rates() == log.flip_rates()
    assert log.flip_rates()["a"] > 0
    assert log.first(2).flip_rates() == {"a": 0.0}


def test_evidence_is_what_was_said_and_what_follows(rng):
    """Answered pairs count one each, without doubt; all implied ones half as much."""
    log = AnswerLog(8, True)
    chain = np.array([[i, i + 1] for i in range(7)])
    tell(log, chain, np.ones(7))

    pairs, p_same, weights, implied, right = log.evidence(rng)

    assert_array_equal(right, 1)
    assert_array_equal(pairs[:7], chain)
    assert len(pairs) == 8 * 7 // 2
    assert_array_equal(p_same, 1)
    assert_array_equal(weights[:7], 1)
    assert_allclose(weights[7:], 3.5 / 21)
    assert_array_equal(implied, np.repeat([False, True], [7, 21]))


def test_an_annotator_who_contradicts_is_believed_less(rng):
    """An answer is the likelier a slip, the higher the flip rate of who gave it."""
    log = heard(*[(0, j, 1, "wild") for j in range(2, 9)], equivalence=False)
    for j in range(2, 9):
        tell(log, [[0, j]], [-1], "calm")
    tell(log, [[0, 1], [1, 2]], [1, 1], "calm")
    tell(log, [[1, 9]], [1], "wild")

    told = log.evidence(rng)

    right = dict(zip(map(tuple, told.pairs.tolist()), told.right, strict=True))
    rates = log.flip_rates()
    assert_allclose(right[0, 1], 1 - rates["calm"])
    assert_allclose(right[1, 9], 1 - rates["wild"])
    assert rates["wild"] > 0.2
    assert_array_equal(told.weights, 1)
    assert not told.implied.any()


def test_a_coins_answers_say_nothing(rng):
    """Two people take the opposite side of each other: their pair has no weight."""
    log = heard((0, 1, 1, "a"), (0, 1, -1, "b"), equivalence=False)

    told = log.evidence(rng)

    assert_allclose(told.right, 0.5, atol=1e-12)
    assert_array_equal(told.weights, told.right > 0.5)


def test_unsure_pairs_rest_and_come_back():
    """Not asked again soon, but not never."""
    log = AnswerLog(300, True)
    tell(log, [[0, 1]], [0])
    assert_array_equal(log.resting(), [[0, 1]])

    for k in range(2, 102):
        tell(log, [[0, k]], [-1])

    assert len(log.resting()) == 0


def test_the_first_answers_are_a_log_of_their_own():
    """As it was then, whatever came after."""
    log = AnswerLog(5, True)
    tell(log, [[0, 1], [1, 2]], [1, 1], "a")
    tell(log, [[2, 3]], [1], "a")

    early = log.first(2)

    assert early.history() == log.history()[:2]
    assert (early.n_implied(), log.n_implied()) == (1, 3)


def test_who_bears_himself_out_is_steady():
    """By what follows from his answers, and by what he repeats."""
    log = AnswerLog(6, True)

    def tell(i, j):
        log.tell(np.array([[i, j]]), np.ones(1), "ann", [0.5])
        return log.steady_people()

    first = [tell(*pair) for pair in ((0, 1), (1, 2), (3, 4))]
    again = [tell(*pair) for pair in ((0, 2), (0, 1), (1, 2), (3, 4), (0, 2))]

    assert first == [frozenset()] * 3
    assert again == [frozenset()] * 3 + [{"ann"}] * 2
    log.undo()
    log.undo()
    assert log.steady_people() == frozenset()


def test_who_contradicts_himself_when_asked_again_errs():
    """Twelve pairs, asked twice, half of them answered otherwise: like a coin."""
    pairs = np.array([[2 * k, 2 * k + 1] for k in range(12)])
    log, own = AnswerLog(24, True), AnswerLog(24, True)
    first, second = np.ones(12), np.where(np.arange(12) < 6, -1.0, 1.0)

    log.tell(pairs, first, "a", [0.5] * 12)
    log.tell(pairs, second, "a", [0.5] * 12)
    own.tell(pairs, first, "a", [0.5] * 12)
    own.tell(pairs, second, "a", [None] * 12)  # told anew without being asked

    assert log.flip_rates()["a"] > 0.3
    assert own.flip_rates()["a"] == 0.0


def test_what_several_people_said_comes_in_its_order():
    """Not each person's answers together."""
    log = AnswerLog(2, True)
    for who, label in (("a", 1.0), ("b", -1.0), ("a", 1.0)):
        log.tell(np.array([[0, 1]]), np.array([label]), who, [0.5])

    assert log.said() == {(0, 1): [1, -1, 1]}
