"""Fewer digits: near, the same twice, and the same for any order of a sum."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from likewise.digits import BITS, FLOOR_BITS, rounded


def test_numbers_keep_so_many_bits(rng):
    """Written out with whole numbers; signs, powers of two and zeros as they are."""
    values = rng.uniform(0.5, 1.0, 200) * 2.0 ** rng.randint(-3, 4, 200)
    slowly = []
    for value in values:
        fraction, exponent = np.frexp(value)
        slowly.append(round(float(fraction) * 2**BITS) / 2**BITS * 2.0**exponent)

    assert_array_equal(rounded(values), slowly)
    assert_array_equal(rounded(-values), -rounded(values))
    exact = np.array([0.0, 0.5, -4.0, 3.0])
    assert_array_equal(rounded(exact), exact)
    assert rounded(np.empty((0, 3))).shape == (0, 3)


def test_the_scale_does_not_matter(rng):
    """Items in nanometres or in light years."""
    values = rng.standard_normal((20, 3))

    for power in (-900, -40, 40, 900):
        assert_array_equal(
            rounded(np.ldexp(values, power)), np.ldexp(rounded(values), power)
        )


def test_what_a_large_number_rounds_away_is_gone():
    """A zero that a sum left as 1e-17 is a zero; small numbers are kept nearly."""
    values = np.array([1.0, 1e-17, 1e-9])

    assert_allclose(
        rounded(values), [1.0, 0.0, 1e-9], rtol=2.0 ** (30 - BITS - FLOOR_BITS)
    )


def test_sums_in_any_order_are_the_same(rng):
    """All but a few: those that lie at the very border of two numbers."""
    A, B = rng.standard_normal((60, 80)), rng.standard_normal((80, 60))

    one, other = rounded(A @ B), rounded(A[:, ::-1] @ B[::-1])

    assert np.mean(A @ B != A[:, ::-1] @ B[::-1]) > 0.5
    assert np.mean(one != other) < 0.001
    assert_array_equal(rounded(one), one)
