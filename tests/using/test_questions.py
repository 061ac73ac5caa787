"""What is asked again: answers on which much hangs, by who may be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.asking.closure import Closure
from likewise.using.groups import Untaught, group
from likewise.using.questions import Given, _cut, choose_questions, doubted_answers


class Plain:
    """A belief in plain distance."""

    def root(self):
        return np.eye(1)


def answered(X, pairs, labels, n_times=None, changed=None):
    """Groups of items, and the answers about them."""
    pairs, labels = np.array(pairs), np.array(labels)
    closure = Closure(len(X))
    for (i, j), label in zip(pairs.tolist(), labels.tolist(), strict=True):
        closure.tell(i, j, label)
    told = Given(
        pairs,
        labels,
        Untaught(Plain(), X).misfits(pairs, labels),
        np.ones(len(pairs), np.intp) if n_times is None else np.array(n_times),
        np.zeros(len(pairs), bool) if changed is None else np.array(changed),
        closure.components(),
    )
    return group(Plain(), X, (pairs, labels)), told, closure


TWO_GROUPS = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2])[:, None]
WITHIN = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]


def test_errors_are_thought_rarer_the_more_is_confirmed():
    """Until some are caught: one answer in two that changes was wrong."""
    X = np.arange(11.0)[:, None]
    pairs = [[0, k] for k in range(1, 11)]
    once = answered(X, pairs, np.ones(10))[1]
    confirmed = answered(X, pairs, np.ones(10), [2] * 5 + [1] * 5)[1]
    changed = answered(X, pairs, np.ones(10), [2] * 5 + [1] * 5, [1] * 3 + [0] * 7)[1]

    assert_allclose(confirmed.error_rate(0.0), once.error_rate(0.0) / 2)
    assert_allclose(changed.error_rate(0.0), (0.25 + 1.5) / 10)
    assert confirmed.error_rate(0.2) == 0.2
    assert confirmed.caught(0.0) == 0.0
    assert changed.caught(0.0) == changed.error_rate(0.0)


def test_a_long_bridge_is_doubted_and_what_is_said_twice_is_not():
    """Two groups joined once; within each, three answers say the same."""
    groups, told, _ = answered(TWO_GROUPS, [*WITHIN, [2, 3]], np.ones(7))

    again, worth = doubted_answers(groups, told, 0.1)

    assert_array_equal(again, [[2, 3]])
    wrong = told.p_wrong(0.1)[-1]
    assert_allclose(worth, wrong * 9**0.8)


def test_what_alone_keeps_two_groups_apart_is_doubted():
    """Six items in a row, halved by one "different": it may have been a slip."""
    X = np.linspace(0.0, 0.5, 6)[:, None]
    pairs, labels = [[0, 1], [1, 2], [3, 4], [4, 5], [2, 3]], [1, 1, 1, 1, -1]
    groups, told, _ = answered(X, pairs, labels)
    twice, told_twice, _ = answered(X, [*pairs, [0, 5]], [*labels, -1])

    again, worth = doubted_answers(groups, told, 0.1)

    assert [2, 3] in again.tolist()
    place = again.tolist().index([2, 3])
    assert_allclose(worth[place], told.p_wrong(0.1)[-1] * 9**0.8)
    assert [2, 3] not in doubted_answers(twice, told_twice, 0.1)[0].tolist()


def test_one_item_may_have_been_told_apart_by_mistake():
    """Other answers keep the groups apart: what hangs on it is the item's own place."""
    X = np.r_[TWO_GROUPS, [[0.15]]]
    pairs, labels = [*WITHIN, [0, 3], [2, 6], [3, 6]], [1] * 6 + [-1, -1, -1]
    groups, told, _ = answered(X, pairs, labels)

    again, worth = doubted_answers(groups, told, 0.1)

    assert again[worth.argmax()].tolist() == [2, 6]
    assert_allclose(worth.max(), told.p_wrong(0.1)[7] * 3**0.8)


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


@pytest.mark.parametrize(
    ("n_times", "changed", "is_asked"),
    [(1, False, True), (2, False, False), (2, True, True), (3, True, False)],
)
def test_of_two_answers_that_differ_a_third_decides(n_times, changed, is_asked):
    """What was confirmed, or asked three times, is not asked again."""
    X = np.array([0.0, 9.0])[:, None]
    groups, told, _ = answered(X, [[0, 1]], [1], [n_times], [changed])

    again, _ = doubted_answers(groups, told, 0.1)

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
