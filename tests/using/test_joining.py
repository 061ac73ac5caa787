"""Joins: Ward's order, and never against an answer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from likewise.using import joining
from likewise.using.joining import Joining

NOTHING = np.empty((0, 2), dtype=np.intp)


def test_joins_without_answers_are_wards(rng):
    """scipy's Ward gives the same costs, and the same heights of pairs."""
    space = rng.normal(size=(60, 3))
    pairs = np.column_stack(np.triu_indices(60, 1))

    joins = Joining(space, np.arange(60), NOTHING).free()

    tree = linkage(space, "ward")
    assert_allclose(np.sort(joins.costs), np.sort(tree[:, 2] ** 2))
    expected = squareform(cophenet(tree))[pairs[:, 0], pairs[:, 1]] ** 2
    assert_allclose(joins.heights(pairs), expected)


def test_families_apart_are_never_joined():
    """Two items next to each other, told apart, end in different pieces."""
    space = np.array([[0.0], [0.1], [5.0], [5.1]])

    joins = Joining(space, np.arange(4), np.array([[0, 1]])).held()

    tops = joins.tops(len(joins.pieces))
    assert tops[0] != tops[1]
    assert np.isinf(joins.heights(np.array([[0, 1]]))[0])


def test_what_joins_a_family_is_apart_from_its_opponents():
    """1 = 2 elsewhere, 1 # 0: then 2 is never joined with 0 either."""
    space = np.array([[0.0], [9.0], [0.1]])

    joins = Joining(space, np.array([0, 1, 1]), np.array([[0, 1]])).held()

    assert_array_equal(joins.pieces, [[1, 2]])


def test_a_piece_between_two_groups_has_a_rival():
    """The third item could be joined with either of two that are apart."""
    space = np.array([[0.0], [2.1], [1.0]])

    joins = Joining(space, np.arange(3), np.array([[0, 1]])).held()

    assert_array_equal(joins.pieces[0], [0, 2])
    assert_allclose([joins.costs[0], joins.rivals[0]], [1.0, 1.1**2])


def test_many_items_are_joined_in_a_graph_of_neighbours(rng, monkeypatch):
    """With a smaller table, groups that are far apart still come out whole."""
    groups = np.repeat(np.arange(10), 20)
    space = 100.0 * rng.normal(size=(10, 4))[groups] + rng.normal(size=(200, 4))
    monkeypatch.setattr(joining, "MAX_PIECES", 40)

    joins = Joining(space, np.arange(200), NOTHING).free()

    assert len(joins.pieces) == 199
    tops = joins.tops(190)
    assert len(np.unique(np.column_stack([tops, groups]), axis=0)) == 10


@pytest.mark.parametrize("n_items", [0, 1])
def test_nothing_to_join(n_items):
    """No item, or one."""
    joins = Joining(np.zeros((n_items, 2)), np.arange(n_items), NOTHING).held()

    assert len(joins.pieces) == 0


def test_joins_of_neighbours_come_in_the_order_of_their_costs(rng, monkeypatch):
    """A prefix of the joins is what Ward's method has joined by then."""
    centres = rng.normal(size=(60, 4))
    space = np.repeat(centres, 3, axis=0) + 0.05 * rng.normal(size=(180, 4))
    monkeypatch.setattr(joining, "MAX_PIECES", 20)

    joins = Joining(space, np.arange(180), NOTHING).free()

    assert (np.diff(joins.reached()[180:]) >= 0).all()
    # 120 joins make the families of three, though 160 came before the table.
    tops = joins.tops(120).reshape(60, 3)
    assert (tops == tops[:, :1]).all()
    assert len(np.unique(tops)) == 60
