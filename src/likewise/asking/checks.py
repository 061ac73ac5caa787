"""Pairs set aside to judge by: asked at random, never for what is believed of them.

And how many of them: as many as tell how common "same" is.

Which pairs these are follows from the seed alone, so nobody has to remember it, and
what comes true of them is what would come true of any pair.
"""

import numpy as np
from numpy.typing import NDArray

# The share of all pairs that is set aside: more than anybody will answer, and few
# enough that no question worth asking is missed for long.
SET_ASIDE = 0.05
# How closely the share of "same" among all pairs is to be known, as a standard error:
# P(same) cannot be right where that share is wrong. Chosen with MOST by the log loss of
# P(same) on unseen items, over the data sets of benchmarks/meanings.py (docs/math.md).
STANDARD_ERROR = 0.05
# No more than this share of the questions, whatever is unknown.
MOST = 1 / 3
# What is believed of that share before any answer: Beta(1, 9), one pair in ten.
SAME_BEFORE, ANSWERS_BEFORE = 1, 10


def is_set_aside(pairs: NDArray[np.intp], seed: int) -> NDArray[np.bool_]:
    """Whether each pair is one to judge by, however many further items there are."""
    low, high = np.sort(pairs, axis=1).astype(np.uint64).T
    number = high * (high - np.uint64(1)) // np.uint64(2) + low
    return np.asarray(mixed(number, seed) < np.uint64(SET_ASIDE * 2**64))


def mixed(numbers: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Numbers that look drawn at random, the same ones for the same seed."""
    mixed = numbers + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    # Bits shifted and multiplied (the finish of splitmix64): pairs of one item, whose
    # numbers are neighbours, come out as far apart as any two.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def n_wanted(n_asked: int, share: float, is_same: NDArray[np.float64]) -> int:
    """How many of so many questions are to be drawn at random.

    `share` of them at least; more while the answers to those drawn so far, 1 for
    "same", do not tell how common "same" is.
    """
    p_same = (is_same.sum() + SAME_BEFORE) / (len(is_same) + ANSWERS_BEFORE)
    telling = p_same * (1 - p_same) / STANDARD_ERROR**2
    return int(max(share * n_asked, min(MOST * n_asked, telling)))
