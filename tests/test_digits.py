"""Fewer digits: near, the same twice, and the same for any order of a sum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.digits import (
    BITS,
    FLOOR_BITS,
    GRID_BITS,
    TURN_BITS,
    on_grid,
    rounded,
    rounded_turns,
    turned,
)
from likewise.using.packing import reflectors


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


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (40, 40), (50, 7)])
def test_a_turned_matrix_is_orthonormal_and_told_by_few_bits(rng, shape):
    """As near as its reflections' bits; of these every one has few."""
    columns = np.linalg.qr(rng.standard_normal(shape))[0]

    lying = np.vstack([np.zeros(shape[1]), columns])  # a feature that is constant
    for given in (columns, -columns, lying, np.eye(*shape), np.eye(*shape)[:, ::-1]):
        made = turned(given)

        assert_allclose(made.T @ made, np.eye(shape[1]), atol=1e-14)
        assert_allclose(made, given, atol=4 * 2.0**-TURN_BITS)
        told = reflectors(made)
        assert_allclose(rounded_turns(told), told, rtol=1e-9, atol=1e-13)
        if given is not lying:
            assert_allclose(turned(made), made, atol=1e-10)
    with pytest.raises(ValueError, match=r"\(2, 3\) are no orthonormal columns"):
        turned(np.ones((2, 3)))


def test_gaps_on_a_grid_are_off_by_half_a_step(rng):
    """Of each column's own, a power of two; nothing moves that is on it."""
    gaps = rng.standard_normal((30, 4)) * [1.0, 1e-6, 1e6, 0.0]

    made = on_grid(gaps)

    means = np.abs(gaps).mean(axis=0)
    assert (np.abs(made - gaps) <= 2.0**-GRID_BITS * means).all()
    steps = 2.0 ** (np.frexp(means)[1] - GRID_BITS)
    assert_array_equal(made / steps, np.rint(made / steps))
    assert_array_equal(on_grid(made)[:, 3], 0)
    assert on_grid(np.empty((0, 2))).shape == (0, 2)


def test_the_sign_of_a_zero_turns_nothing(rng):
    """Of a constant feature a sum may leave any sign, or a rounding."""
    columns = np.linalg.qr(rng.standard_normal((8, 5)))[0]
    noise = [[0.0], [-0.0], [1e-17], [-1e-17]]

    made = [turned(np.vstack([np.full((1, 5), tiny), columns])) for tiny in noise]

    for each in made[1:]:
        assert_allclose(each, made[0], atol=1e-13)
