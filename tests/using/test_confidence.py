"""How sure the groups are: what raises the share, and how items differ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit

from likewise.using.confidence import ABOVE, BELOW, Signs, share_interval

EVEN = np.tile([1.0, 4.0], (100, 1))  # squared distances to the own and another group


def signs(agreement=0.7, steepness=0.8, near=EVEN, size=20):
    return Signs(agreement, steepness, near, np.full(len(near), size))


def test_the_share_follows_its_signs():
    """Little agreement and near neighbours each speak against it."""
    before = signs().share()

    assert 0 < before < 1
    assert signs(agreement=0.4).share() < before
    assert signs(near=np.tile([1.0, 1.1], (100, 1))).share() < before


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


def test_the_interval_holds_the_share():
    """As far down and up as data sets differ, in log odds; all at most."""
    low, high = share_interval(0.6, 1_000)

    assert_allclose(logit([low, high]) - logit(0.6), [-BELOW, ABOVE])
    assert share_interval(1.0, 10) == (1.0, 1.0)
    assert share_interval(0.99, 10)[1] == 1.0
