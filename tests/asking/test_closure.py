"""What answers imply, against the boolean closure by matrix, written slowly."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from likewise.asking.closure import Closure, Forest

N_ITEMS = 7
ALL_PAIRS = np.column_stack(np.triu_indices(N_ITEMS, 1))


@st.composite
def answers(draw, labels=(1, -1, 0)):
    """Return a history of answers about seven items, any of which may disagree."""
    pair = st.sampled_from(ALL_PAIRS.tolist())
    return draw(st.lists(st.tuples(pair, st.sampled_from(labels)), max_size=25))


@st.composite
def agreeing_answers(draw):
    """Return answers that are all true of one grouping of the items."""
    group = draw(st.lists(st.integers(0, 3), min_size=N_ITEMS, max_size=N_ITEMS))
    pairs = draw(st.lists(st.sampled_from(ALL_PAIRS.tolist()), max_size=15))
    return [((i, j), 1 if group[i] == group[j] else -1) for i, j in pairs]


def told(history):
    """Return a closure that heard the whole history."""
    closure = Closure(N_ITEMS)
    for (i, j), label in history:
        closure.tell(i, j, label)
    return closure


def labels_in_force(history):
    """Return the last label of each pair, unless that is "unsure"."""
    last = {tuple(pair): label for pair, label in history}
    return {pair: label for pair, label in last.items() if label}


def joined_matrix(history):
    """Return which items are joined by "same": reachability, by matrix powers."""
    reach = np.eye(N_ITEMS, dtype=int)
    for (i, j), label in labels_in_force(history).items():
        if label > 0:
            reach[i, j] = reach[j, i] = 1
    return np.linalg.matrix_power(reach, N_ITEMS) > 0


def slow_relations(history):
    """Return the label of every pair, +1, -1 or 0, as an (n, n) matrix."""
    joined = joined_matrix(history)
    apart = np.zeros((N_ITEMS, N_ITEMS), dtype=int)
    for (i, j), label in labels_in_force(history).items():
        if label < 0:
            apart[i, j] = apart[j, i] = 1
    apart = (joined.astype(int) @ apart @ joined.astype(int)) > 0
    dirty = np.diag(apart)  # an item that differs from itself
    relation = joined.astype(int) - (apart & ~joined).astype(int)
    relation[dirty] = 0
    relation[:, dirty] = 0
    for (i, j), label in labels_in_force(history).items():
        relation[i, j] = relation[j, i] = label
    return relation


def state(closure):
    """Return all that can be seen of a closure."""
    cycles = [(c.pairs.tolist(), c.labels.tolist()) for c in closure.contradictions()]
    return (
        closure.relations(ALL_PAIRS).tolist(),
        closure.n_known(),
        closure.n_answered(),
        closure.gain(ALL_PAIRS, 1).tolist(),
        closure.gain(ALL_PAIRS, -1).tolist(),
        sorted((len(pairs), pairs[-1]) for pairs, _ in cycles),
        closure.is_contradicted().tolist(),
        [closure.components()[i] == closure.components()[j] for i, j in ALL_PAIRS],
    )


@given(answers())
def test_relations_are_those_of_the_matrix_closure(history):
    """Answered, implied and unknown pairs are as brute force finds them."""
    expected = slow_relations(history)[ALL_PAIRS[:, 0], ALL_PAIRS[:, 1]]

    closure = told(history)

    assert_array_equal(closure.relations(ALL_PAIRS), expected)
    assert_array_equal(closure.relations(ALL_PAIRS[:, ::-1]), expected)
    assert [closure.relation(i, j) for i, j in ALL_PAIRS] == expected.tolist()
    assert [closure.relation(j, i) for i, j in ALL_PAIRS] == expected.tolist()


@given(answers())
def test_known_pairs_are_counted_without_being_listed(history):
    """The closed form, the listing and brute force agree."""
    relation = slow_relations(history)
    closure = told(history)

    pairs, labels, n_implied = closure.implied_pairs(None, np.random.RandomState(0))

    assert len(np.unique(pairs, axis=0)) == len(pairs) == n_implied
    assert n_implied == closure.n_known() - closure.n_answered()
    assert closure.n_known() == np.count_nonzero(np.triu(relation, 1))
    assert_array_equal(relation[tuple(pairs.T)], labels)
    assert not closure.is_answered(pairs).any()
    assert closure.n_answered() == len(labels_in_force(history))
    assert closure.is_answered(ALL_PAIRS).sum() == closure.n_answered()


def test_a_limit_draws_implied_pairs_evenly():
    """Each implied pair is as likely as another to be among the few."""
    closure = told([((0, 1), 1), ((1, 2), 1), ((2, 3), 1), ((3, 4), -1), ((4, 5), 1)])
    everything = closure.implied_pairs(None, np.random.RandomState(0))[0]
    counts = dict.fromkeys(map(tuple, everything.tolist()), 0)
    for seed in range(600):
        few = closure.implied_pairs(3, np.random.RandomState(seed))[0]
        assert 1 <= len(few) <= 3
        for pair in few.tolist():
            counts[tuple(pair)] += 1

    expected = sum(counts.values()) / len(counts)
    assert all(abs(n - expected) < 5 * np.sqrt(expected) for n in counts.values())


@given(answers(), st.data())
def test_undo_leaves_no_trace(history, data):
    """After telling all and undoing some, all is as if those were never told."""
    keep = data.draw(st.integers(0, len(history)))
    closure = told(history)

    closure.undo(len(history) - keep)

    assert state(closure) == state(told(history[:keep]))


@given(answers(), answers(), st.data())
def test_undo_then_tell_is_as_if_told_at_once(history, more, data):
    """What is told after an undo stands on the right state."""
    keep = data.draw(st.integers(0, len(history)))
    closure = told(history)
    closure.undo(len(history) - keep)

    for (i, j), label in more:
        closure.tell(i, j, label)

    assert state(closure) == state(told(history[:keep] + more))


@given(answers(), answers(), st.data())
def test_a_copy_and_its_original_go_their_own_ways(history, more, data):
    """Either may undo and be told more: the other does not notice."""
    keep = data.draw(st.integers(0, len(history)))
    closure = told(history)
    twin = closure.copy()

    twin.undo(len(history) - keep)
    for (i, j), label in more:
        twin.tell(i, j, label)

    assert state(closure) == state(told(history))
    closure.undo(len(history) - keep)
    assert state(twin) == state(told(history[:keep] + more))
    assert state(closure) == state(told(history[:keep]))


@given(answers())
def test_gain_is_the_change_in_known_pairs(history):
    """Where nothing disagrees, gain is what telling would add to `n_known`."""
    closure = told(history)
    contradicted = closure.is_contradicted()
    unknown = closure.relations(ALL_PAIRS) == 0
    for label in (1, -1):
        gain = closure.gain(ALL_PAIRS, label)
        for place, (i, j) in enumerate(ALL_PAIRS):
            before = closure.n_known()
            closure.tell(i, j, label)
            newly = closure.n_known() - before
            closure.undo()

            if not unknown[place]:
                assert gain[place] == 0
            elif contradicted[i] or contradicted[j]:
                assert gain[place] == 1
            else:
                assert gain[place] == newly


def test_shared_opponents_are_summed_alike_in_blocks(monkeypatch):
    """Small blocks give the same gain as one large block."""
    closure = Closure(40)
    rng = np.random.default_rng(0)
    group = rng.integers(5, size=40)
    for i, j in rng.integers(40, size=(60, 2)):
        if i != j:
            closure.tell(i, j, 1 if group[i] == group[j] else -1)
    pairs = np.column_stack(np.triu_indices(40, 1))
    whole = closure.gain(pairs, 1)

    monkeypatch.setattr("likewise.asking.closure.BLOCK", 7)

    assert_array_equal(closure.gain(pairs, 1), whole)
    assert whole.max() > 40


def slow_shortest(history, i, j):
    """Return the fewest answers "same" that lead from i to j, or None."""
    step = np.eye(N_ITEMS, dtype=int)
    for (a, b), label in labels_in_force(history).items():
        if label > 0:
            step[a, b] = step[b, a] = 1
    for length in range(1, N_ITEMS):
        if np.linalg.matrix_power(step, length)[i, j]:
            return length
    return None


@given(answers(labels=(1, 1, -1)))
def test_contradictions_are_the_shortest_cycles(history):
    """One cycle per "different" inside "same", of real answers, none shorter."""
    in_force = labels_in_force(history)
    found = told(history).contradictions()

    for cycle in found:
        ends = cycle.pairs[-1]
        assert [in_force[tuple(pair)] for pair in cycle.pairs.tolist()] == (
            cycle.labels.tolist()
        )
        assert cycle.labels.tolist().count(-1) == 1 and cycle.labels[-1] == -1
        assert_array_equal(np.bincount(cycle.pairs.ravel())[np.unique(cycle.pairs)], 2)
        assert len(cycle.pairs) == slow_shortest(history, *ends) + 1
    disagreeing = {
        pair
        for pair, label in in_force.items()
        if label < 0 and slow_shortest(history, *pair)
    }
    assert {tuple(cycle.pairs[-1].tolist()) for cycle in found} == disagreeing


@given(agreeing_answers())
def test_true_answers_never_contradict(history):
    """Answers of one grouping disagree nowhere and imply only what is true."""
    assert told(history).contradictions() == []
    assert not told(history).is_contradicted().any()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_answering_again_settles_a_contradiction(place):
    """The later answer about a pair of the cycle replaces the earlier."""
    cycle = [((0, 1), 1), ((1, 2), 1), ((0, 2), -1)]
    closure = told([*cycle, ((2, 3), -1)])
    assert closure.relation(0, 3) == 0

    (i, j), label = cycle[place]
    closure.tell(i, j, -label)

    assert closure.contradictions() == []
    assert closure.relation(i, j) == -label
    assert closure.relation(0, 3) == (-1 if place == 2 else 0)


def test_unsure_withdraws_an_answer_and_can_be_undone():
    """What followed from the answer is gone with it, and comes back with it."""
    closure = told([((0, 1), 1), ((1, 2), -1), ((0, 3), 0), ((0, 1), 0)])
    assert closure.relation(0, 1) == 0
    assert closure.relation(0, 2) == 0
    assert closure.n_answered() == 1

    closure.undo()

    assert closure.relation(0, 1) == 1
    assert closure.relation(0, 2) == -1
    closure.undo(3)
    assert closure.relation(0, 1) == 0


def test_a_contradiction_silences_only_its_own_component():
    """Answers stand as given; elsewhere implied pairs are still drawn."""
    closure = told([((0, 1), 1), ((1, 2), 1), ((0, 2), -1), ((3, 4), 1), ((4, 5), -1)])

    assert closure.relation(3, 5) == -1
    assert [closure.relation(*pair) for pair in ((0, 1), (1, 2), (0, 2))] == [1, 1, -1]
    assert_array_equal(closure.is_contradicted(), [1, 1, 1, 0, 0, 0, 0])


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_a_spanning_tree_settles_everything(seed):
    """With k groups of m items, k(m-1) same and k(k-1)/2 different say it all."""
    rng = np.random.default_rng(seed)
    n_groups, n_each = 4, 5
    closure = Closure(n_groups * n_each)
    name = rng.permutation(n_groups * n_each).reshape(n_groups, n_each)
    for group in name:
        for one, other in itertools.pairwise(group):
            closure.tell(one, other, 1)
    for one, other in itertools.combinations(name[:, 0], 2):
        closure.tell(one, other, -1)

    assert closure.n_answered() == 16 + 6
    assert closure.n_known() == 20 * 19 // 2


@given(agreeing_answers(), st.permutations(ALL_PAIRS.tolist()))
def test_a_forest_joins_what_nothing_else_could_settle(history, batch):
    """Pair after pair: as if each one joined had been answered "same"."""
    closure, forest = told(history), Forest(told(history))
    for i, j in batch:
        is_open = closure.relation(i, j) == 0

        assert forest.join(i, j) == is_open
        if is_open:
            closure.tell(i, j, 1)


def test_a_forest_leaves_the_answers_alone():
    """What would follow is only thought of."""
    closure = told([((0, 1), 1), ((1, 2), -1)])
    before = state(closure)
    forest = Forest(closure)

    assert [forest.join(*pair) for pair in ((2, 3), (3, 0), (4, 5))] == [
        True,
        False,
        True,
    ]
    assert state(closure) == before


def test_a_chain_leads_to_what_follows():
    """The fewest answers that imply a pair; none for what is open or answered."""
    closure = Closure(7)
    for i, j, label in [(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 1), (3, 4, -1)]:
        closure.tell(i, j, label)
    closure.tell(4, 5, 1)

    assert closure.chain(0, 2) in ([(0, 1), (1, 2)], [(0, 3), (2, 3)])
    assert closure.chain(5, 0) == [(4, 5), (3, 4), (0, 3)]
    assert closure.chain(0, 1) == []
    assert closure.chain(0, 6) == []
