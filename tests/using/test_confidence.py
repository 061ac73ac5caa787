"""How sure the groups are: what raises the share, and how items differ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit

from likewise.using.confidence import (
    ABOVE,
    BELOW,
    Signs,
    knee,
    own_nearest,
    share_interval,
)

EVEN = np.tile([1.0, 4.0], (100, 1))  # squared distances to the own and another group


def signs(near=EVEN, size=20, **others):
    known = {
        "agreement": 0.7,
        "steepness": 0.8,
        "fit": -0.4,
        "knee": 0.1,
        "own_nearest": 0.8,
    }
    return Signs(**known | others, near=near, sizes=np.full(len(near), size))


@pytest.mark.parametrize(
    "worse", [{"agreement": 0.4}, {"fit": -0.6}, {"knee": 0.0}, {"own_nearest": 0.6}]
)
def test_the_share_follows_its_signs(worse):
    """Little agreement, answers or neighbours that do not fit, no place to stop."""
    before = signs().share()

    assert 0 < before < 1
    assert signs(**worse).share() < before


def test_the_nearest_item_is_looked_for_among_all_others():
    """As counted one by one; of many items some are tried."""
    rng = np.random.RandomState(0)
    space, labels = rng.standard_normal((60, 2)), rng.randint(3, size=60)
    squared = ((space[:, None] - space) ** 2).sum(axis=2) + 1e9 * np.eye(60)
    many, of_many = np.repeat(space, 40, axis=0), np.repeat(labels, 40)

    assert own_nearest(space, labels) == np.mean(labels[squared.argmin(1)] == labels)
    assert own_nearest(many, of_many) == 1.0
    assert own_nearest(space[:1], labels[:1]) == 1.0


def test_a_knee_is_a_jump_of_costs_beyond_how_they_rise_elsewhere():
    """Twenty groups of five: joins within cost 1, between them 100."""
    flat = np.r_[np.full(80, 1.0), np.full(19, 100.0)]
    rising = np.exp(-2 * np.log(np.arange(99, 0, -1)))  # by the number of groups

    assert_allclose(knee(flat, 20), np.log(100.0))
    assert knee(flat, 40) < 0.01
    assert abs(knee(rising, 20)) < 0.15
    assert knee(np.ones(1), 1) == 0.0


def test_small_groups_need_a_steep_curve():
    """Then they are families; in a flat one, what is left of larger groups."""
    steep, flat = np.log(4.0), np.log(1.2)

    assert signs(steepness=steep, size=2).share() > signs(steepness=steep).share()
    assert signs(steepness=flat, size=2).share() < signs(steepness=flat).share()


def test_an_item_alone_has_no_margin():
    """It lies at its own centre, which says nothing."""
    alone = np.tile([0.0, 4.0], (10, 1))

    assert_allclose(signs(near=alone, size=1).margins(), 0.0)
    assert_allclose(signs(near=EVEN).margins(), np.log(4.0))


@pytest.mark.parametrize("share", [0.03, 0.5, 0.97])
def test_items_are_as_sure_as_the_share_on_average(share):
    """Those asked about, and those far from other groups, more than others."""
    near = np.column_stack([np.ones(100), np.linspace(1.0, 9.0, 100)])
    asked = np.arange(100) % 10 == 0

    confidence = signs(near=near).confidence(share, asked)

    assert_allclose(confidence.mean(), share)
    assert (np.diff(confidence[~asked]) > 0).all()
    assert confidence[10] > confidence[11]


def test_equal_items_and_single_groups_give_numbers():
    """Where there is no other group, or no distance at all."""
    for near in (np.zeros((4, 2)), np.tile([0.0, np.inf], (4, 1))):
        confidence = signs(near=near).confidence(0.7, np.zeros(4, bool))
        assert_allclose(confidence, 0.7)


def test_one_item_is_always_right():
    """Of two items by themselves, whatever the signs say."""
    flat = signs(near=EVEN[:2], size=1, steepness=0.2, agreement=0.01)

    assert flat.share() == 0.5
    assert share_interval(flat.share(), 2) == (0.5, 1.0)


def test_the_interval_holds_the_share():
    """As far down and up as data sets differ, in log odds; all at most."""
    low, high = share_interval(0.6, 1_000)

    assert_allclose(logit([low, high]) - logit(0.6), [-BELOW, ABOVE])
    assert share_interval(1.0, 10) == (1.0, 1.0)
    assert share_interval(0.99, 10)[1] == 1.0
