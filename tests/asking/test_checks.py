"""How many questions are drawn at random."""

import numpy as np
import pytest

from likewise.asking.checks import n_wanted


@pytest.mark.parametrize(
    ("n_same", "n_random", "n_asked", "wanted"),
    [
        (0, 0, 2, 0),
        (0, 0, 3, 1),  # a third, while nothing is known
        (0, 5, 30, 10),  # (1 / 15) (14 / 15) / .05^2 = 24.9 would tell
        (0, 30, 100, 10),  # "same" is rare: 9.75 tell, a tenth is asked anyway
        (8, 30, 100, 33),  # 69.75 would tell: no more than a third
        (8, 30, 1000, 100),
    ],
)
def test_checks_are_asked_until_they_tell_how_common_same_is(
    n_same, n_random, n_asked, wanted
):
    """p (1 - p) / .05^2 of them, between a tenth and a third of the questions."""
    is_same = np.arange(n_random) < n_same

    assert n_wanted(n_asked, 0.1, is_same.astype(float)) == wanted


def test_enough_checks_hold_the_share_to_its_error():
    """Simulated: as many answers as are wanted leave a deviation near .05."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(500):
        answers = rng.random(400) < 0.3
        n_answers = 1
        while n_answers < n_wanted(10_000, 0.0, answers[:n_answers].astype(float)):
            n_answers += 1
        shares.append(answers[:n_answers].mean())

    assert 0.04 < np.std(shares) < 0.07
