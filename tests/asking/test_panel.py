"""A panel of items, sorted to tell how common "same" is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking.checks import STANDARD_ERROR
from likewise.asking.panel import (
    EVENNESS,
    MOST_ITEMS,
    N_GROUPS,
    Panel,
    panel_items,
    share_by_groups,
)


def panel_of(relations, may_ask=None):
    """A panel with these relations above the diagonal; every pair may be asked."""
    relations = np.triu(np.array(relations, np.int8), 1)
    n_items = len(relations)
    if may_ask is None:
        may_ask = ~np.eye(n_items, dtype=bool)
    return Panel(np.arange(n_items) * 10, relations + relations.T, may_ask)


def all_open(pairs):
    return np.ones(len(pairs), dtype=bool)


def nearer(pairs):
    return 1.0 / (1.0 + pairs[:, 1] - pairs[:, 0])


def sort_panel(groups, n_answers, rng):
    """A panel of items of these groups after so many answers, guesses being fair."""
    is_same = groups[:, None] == groups
    relations = np.zeros(is_same.shape, np.int8)
    may_ask = ~np.eye(len(groups), dtype=bool)

    def guessed(pairs):
        return is_same[tuple(pairs.T)] + rng.random(len(pairs))

    for _ in range(n_answers):
        panel = Panel(np.arange(len(groups)), relations, may_ask)
        for i, j in panel.questions(1, all_open, guessed):
            mine, other = (
                np.append(np.flatnonzero(relations[k] > 0), k) for k in (i, j)
            )
            if is_same[i, j]:
                mine = other = np.concatenate([mine, other])
                other = np.append(
                    other, np.flatnonzero((relations[mine] < 0).any(axis=0))
                )
            label = np.where(is_same, 1, -1)[np.ix_(mine, other)]
            relations[np.ix_(mine, other)] = label
            relations[np.ix_(other, mine)] = label.T
    return Panel(np.arange(len(groups)), relations, may_ask)


def test_the_items_of_a_panel_follow_from_the_seed():
    """Every item is as likely; further items leave the order of the others."""
    items = panel_items(1000, seed=3)

    assert len(np.unique(items)) == MOST_ITEMS
    assert 400 < items.mean() < 600
    more = panel_items(1010, seed=3)
    assert_array_equal(more[more < 1000], items[: np.sum(more < 1000)])
    assert len(set(items) & set(panel_items(1000, seed=4))) < 30
    assert_array_equal(np.sort(panel_items(3, seed=3)), [0, 1, 2])


def test_an_item_is_asked_with_the_one_it_is_likeliest_the_same_as():
    """Items wait in their order; each is asked about once at a time."""
    panel = panel_of([[0, -1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])

    asked = panel.questions(5, all_open, nearer)

    # The third is unknown of the first two. So is the fourth, which is like the second,
    # of the first.
    assert_array_equal(asked, [[10, 20], [0, 30]])
    assert len(panel.questions(1, all_open, nearer)) == 1

    def not_with_20(pairs):
        return ~(pairs == 20).any(axis=1)

    assert_array_equal(panel.questions(5, not_with_20, nearer), [[0, 30]])


def test_what_may_not_be_asked_keeps_no_item_waiting():
    """Pairs set aside, or somebody was unsure of, are left out."""
    may_ask = ~np.eye(3, dtype=bool)
    may_ask[0, 2] = may_ask[2, 0] = False
    panel = panel_of([[0, -1, 0], [0, 0, 1], [0, 0, 0]], may_ask)

    assert len(panel.questions(5, all_open, nearer)) == 0
    # The third is the same as the second, but in doubt with the first.
    assert panel.share() == share_by_groups(np.array([1.0, 1.0]))


def test_the_share_is_that_of_the_items_before_the_first_that_waits():
    """Those behind it are known the sooner for being the same as others."""
    relations = np.ones((6, 6))
    relations[2] = relations[:, 2] = 0

    share = panel_of(relations).share()

    assert share == share_by_groups(np.array([2.0]))


def test_a_panel_without_answers_says_what_is_believed_before():
    """One item in a group tells nothing: two groups to 300, even or not."""
    n_groups, evenness = np.meshgrid(N_GROUPS, EVENNESS)
    means = (evenness + 1) / (n_groups * evenness + 1)

    share = panel_of(np.zeros((4, 4))).share()

    assert_allclose(share.mean, means.mean())
    assert share.deviation > means.std()
    assert_allclose(share, share_by_groups(np.empty(0)))


def test_the_share_is_what_further_items_of_such_groups_would_show():
    """Simulated: of six items in groups of 3, 2 and 1, and four further ones."""
    rng = np.random.default_rng(0)
    n_groups = rng.choice(N_GROUPS, 200_000).astype(int)
    evenness = rng.choice(EVENNESS, 200_000)
    pairs = []
    for k, a in zip(n_groups[n_groups < 40], evenness[n_groups < 40], strict=True):
        ends = np.cumsum(rng.standard_gamma(a, k))
        groups = np.searchsorted(ends, rng.random(10) * ends[-1])
        if sorted(np.bincount(groups[:6]))[-3:] == [1, 2, 3]:
            pairs.append((groups[6] == groups[7], groups[8] == groups[9]))
    first, second = np.array(pairs).T

    share = share_by_groups(np.array([3.0, 2.0, 1.0]))

    # Of forty groups and more six items are hardly ever so few.
    assert_allclose(share.mean, np.mean([first, second]), atol=0.01)
    squared = np.mean(first & second)
    assert_allclose(share.deviation**2 + share.mean**2, squared, atol=0.01)


def test_ten_items_of_one_group_do_not_tell_that_there_is_no_other():
    """Two groups give them once in eighty: the share may still be .54."""
    share = share_by_groups(np.array([10.0]))

    assert share.mean - 3 * share.deviation < 0.54 < share.mean
    assert share.deviation > 2 * STANDARD_ERROR


@pytest.mark.parametrize("shares", [(0.25,) * 4, (0.5, 0.5), (0.6, 0.3, 0.1)])
def test_the_share_is_known_as_well_as_it_says(shares):
    """Simulated: unbiased but for the prior, and off by its deviation."""
    rng = np.random.default_rng(0)
    truth = float(np.sum(np.square(shares)))
    found = [
        sort_panel(rng.choice(len(shares), 40, p=shares), 25, rng).share()
        for _ in range(150)
    ]
    mean, deviation = np.array(found).T

    assert abs(mean.mean() - truth) < 0.03
    off = (mean - truth) / deviation
    assert 0.3 < np.sqrt(np.mean(off**2)) < 1.3
    # Pairs drawn at random would leave a third more at least.
    assert deviation.mean() < 0.75 * np.sqrt(truth * (1 - truth) / 25)


def test_a_panel_is_sorted_until_the_share_is_known():
    """A third of the questions at most, those asked already counted."""
    groups, rng = np.tile([0, 1], 20), np.random.default_rng(0)
    none = np.empty((0, 2), np.intp)

    unsorted = sort_panel(groups, 0, rng)
    assert unsorted.n_wanted(30, none) == 10
    assert unsorted.n_wanted(30, np.array([[0, 1], [0, 30], [38, 39]])) == 9
    sorted_well = sort_panel(groups, 30, rng)
    assert sorted_well.share().deviation < STANDARD_ERROR
    assert sorted_well.n_wanted(300, none) == 0
