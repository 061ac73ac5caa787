"""What is asked again: answers on which much hangs, by who may be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.asking.closure import Closure
from likewise.asking.trials import RATES, prior
from likewise.using.groups import Untaught, group
from likewise.using.questions import Given, _cut, choose_questions, doubted_answers


class Plain:
    """A belief in plain distance."""

    def root(self):
        return np.eye(1)


def answered(X, pairs, labels, n_times=None, changed=None, **others):
    """Groups of items, and the answers about them by someone who errs once in ten."""
    pairs, labels = np.array(pairs), np.array(labels)
    closure = Closure(len(X))
    for (i, j), label in zip(pairs.tolist(), labels.tolist(), strict=True):
        closure.tell(i, j, label)
    told = Given(
        pairs,
        labels,
        Untaught(Plain(), X).misfits(pairs, labels),
        np.ones(len(pairs), np.intp) if n_times is None else np.array(n_times),
        np.zeros(len(pairs), bool) if changed is None else np.array(changed, bool),
        others.get("is_left", np.zeros(len(pairs), bool)),
        closure.components(),
        others.get("flip_rate", 0.1),
        others.get("n_open", 1),
    )
    return group(Plain(), X, (pairs, labels)), told, closure


TWO_GROUPS = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2])[:, None]
WITHIN = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]


def repeated(n_times, changed, flip_rate=0.0):
    """Ten answers about a row of items, some of them asked for again."""
    X, pairs = np.arange(11.0)[:, None], [[0, k] for k in range(1, 11)]
    return answered(X, pairs, np.ones(10), n_times, changed, flip_rate=flip_rate)[1]


def test_the_rate_of_errors_is_its_mean_by_what_was_asked_again():
    """Of one answer repeated and one changed, summed over all rates."""
    told = repeated([2, 2] + [1] * 8, [0, 1] + [0] * 8)

    log = np.log(prior())
    for misfit, changed in ((told.misfits[0], False), (1 / told.misfits[1], True)):
        for k, rate in enumerate(RATES):
            wrong = rate * misfit / (1 - rate + rate * misfit)
            agrees = wrong * rate + (1 - wrong) * (1 - rate)
            log[k] += np.log(max(1 - agrees if changed else agrees, 1e-9))
    expected = np.exp(log) @ RATES / np.exp(log).sum()
    assert_allclose(told.error_rate, expected)


def test_errors_are_thought_rarer_the_more_is_confirmed():
    """And commoner once some are caught, whether by repeats or by contradictions."""
    once, confirmed = repeated([1] * 10, None), repeated([2] * 5 + [1] * 5, None)
    changed = repeated([2] * 5 + [1] * 5, [1] * 3 + [0] * 7)

    assert once.error_rate == pytest.approx(prior() @ RATES / prior().sum())
    assert confirmed.error_rate < once.error_rate / 2 < 0.1 < changed.error_rate
    assert repeated([2] * 5 + [1] * 5, None, 0.2).error_rate == 0.2
    assert confirmed.caught == 0.0
    assert changed.caught == changed.error_rate


def test_an_unlikely_answer_that_is_repeated_tells_more_of_who_gave_it():
    """A long "same" that is confirmed could well have been a slip."""
    n_times = np.ones(10, np.intp)
    likely, unlikely = (np.where(np.arange(10) == k, 2, n_times) for k in (0, 9))

    assert repeated(unlikely, None).error_rate < repeated(likely, None).error_rate


def test_what_was_corrected_or_is_resting_is_left_alone():
    """As is everything once all is known, while nobody was found to err."""
    X = np.array([0.0, 9.0])[:, None]

    def n_again(**others):
        groups, told, _ = answered(X, [[0, 1]], [1], **others)
        return len(doubted_answers(groups, told)[0])

    assert n_again() == 1
    assert n_again(is_left=np.ones(1, bool)) == 0
    assert n_again(n_open=0) == 1
    assert n_again(n_open=0, flip_rate=0.0) == 0


def test_a_long_bridge_is_doubted_and_what_is_said_twice_is_not():
    """Two groups joined once; within each, three answers say the same."""
    groups, told, _ = answered(TWO_GROUPS, [*WITHIN, [2, 3]], np.ones(7))

    again, worth = doubted_answers(groups, told)

    assert_array_equal(again, [[2, 3]])
    wrong = told.p_wrong()[-1]
    assert_allclose(worth, wrong * 9**0.8)


def test_what_alone_keeps_two_groups_apart_is_doubted():
    """Six items in a row, halved by one "different": it may have been a slip."""
    X = np.linspace(0.0, 0.5, 6)[:, None]
    pairs, labels = [[0, 1], [1, 2], [3, 4], [4, 5], [2, 3]], [1, 1, 1, 1, -1]
    groups, told, _ = answered(X, pairs, labels)
    twice, told_twice, _ = answered(X, [*pairs, [0, 5]], [*labels, -1])

    again, worth = doubted_answers(groups, told)

    assert [2, 3] in again.tolist()
    place = again.tolist().index([2, 3])
    assert_allclose(worth[place], told.p_wrong()[-1] * 9**0.8)
    assert [2, 3] not in doubted_answers(twice, told_twice)[0].tolist()


def test_one_item_may_have_been_told_apart_by_mistake():
    """Other answers keep the groups apart: what hangs on it is the item's own place."""
    X = np.r_[TWO_GROUPS, [[0.15]]]
    pairs, labels = [*WITHIN, [0, 3], [2, 6], [3, 6]], [1] * 6 + [-1, -1, -1]
    groups, told, _ = answered(X, pairs, labels)

    again, worth = doubted_answers(groups, told)

    assert again[worth.argmax()].tolist() == [2, 6]
    assert_allclose(worth.max(), told.p_wrong()[7] * 3**0.8)


@settings(deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000))
def test_a_cut_join_leaves_two_parts_or_none(n_items, seed):
    """As counted by taking each join out of the graph."""
    rng = np.random.RandomState(seed)
    every = np.column_stack(np.triu_indices(n_items, 1))
    joins = every[rng.permutation(len(every))[: rng.randint(1, 2 * n_items)]]

    below, whole = _cut(joins)

    def reached(start, links):
        graph = coo_array((np.ones(len(links)), links.T), shape=(n_items, n_items))
        names = connected_components(graph, directed=False)[1]
        return names == names[start]

    for row, (i, j) in enumerate(joins):
        part = reached(i, np.delete(joins, row, axis=0))
        parts = 0 if part[j] else part.sum() * (reached(i, joins).sum() - part.sum())
        assert below[row] * (whole[row] - below[row]) == parts


def test_a_careful_person_is_asked_again_only_what_is_likely_wrong():
    """One answer in ten, as long as no error was found; then one in a hundred."""
    X = np.array([0.0, 1.0, 2.0])[:, None]

    def asked(flip_rate):
        groups, told, _ = answered(X, [[0, 1], [1, 2]], [1, 1], flip_rate=flip_rate)
        return told.p_wrong(), len(doubted_answers(groups, told)[0])

    wrong, n_again = asked(0.0)
    caught, n_caught = asked(0.1)

    assert ((0.01 < wrong) & (wrong < 0.1)).all()
    assert n_again == 0
    assert (caught > 0.01).all()
    assert n_caught == 2


@pytest.mark.parametrize(
    ("n_times", "changed", "is_asked"),
    [(1, False, True), (2, False, False), (2, True, True), (3, True, False)],
)
def test_of_two_answers_that_differ_a_third_decides(n_times, changed, is_asked):
    """What was confirmed, or asked three times, is not asked again."""
    X = np.array([0.0, 9.0])[:, None]
    groups, told, _ = answered(X, [[0, 1]], [1], [n_times], [changed])

    again, _ = doubted_answers(groups, told)

    assert len(again) == is_asked


def test_who_errs_is_not_asked_what_is_surer_than_an_answer():
    """A small doubt about much comes first only while no answer was found wrong."""
    groups, _, closure = answered(TWO_GROUPS, [[0, 1]], [1])
    again = (np.array([[0, 1]]), np.array([1e-6]))

    def first(caught):
        chosen = choose_questions(
            groups, 1, closure, lambda pairs: np.ones(len(pairs), bool), again, caught
        )
        return chosen.tolist()

    assert first(0.0) != [[0, 1]]
    assert first(groups.doubt.max()) == [[0, 1]]


@pytest.mark.parametrize(("flip_rate", "n_alike"), [(0.45, 5), (0.1, 10)])
def test_who_repeats_every_answer_is_not_taken_for_a_coin(flip_rate, n_alike):
    """Some alike refute a coin's rate, more are needed for a small one."""

    def caught(n_again):
        n_times = [2] * n_again + [1] * (10 - n_again)
        return repeated(n_times, None, flip_rate).caught

    assert caught(0) == caught(1) == flip_rate
    assert (caught(n_alike) == 0) == (flip_rate == 0.45)


def test_a_repeat_does_not_fill_a_batch_for_want_of_others():
    """It is asked only if it is worth more than the questions it would displace."""
    groups, _, closure = answered(TWO_GROUPS, [[0, 1]], [1])
    every = groups.doubts
    little, much = groups.gains[2] / 2, groups.gains[0] * 2

    def asked(worth):
        return choose_questions(
            groups,
            3,
            closure,
            lambda pairs: np.ones(len(pairs), bool),
            (np.array([[0, 1]]), np.array([worth])),
        ).tolist()

    assert len(every) > 3
    assert [0, 1] not in asked(little)
    assert asked(much)[0] == [0, 1]
