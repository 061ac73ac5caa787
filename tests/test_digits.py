"""Fewer digits: near, the same twice, and the same for any order of a sum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.digits import (
    BITS,
    FLOOR_BITS,
    GRID_BITS,
    NO_TURN,
    TURN_BITS,
    gaps_on_grid,
    grid_bits,
    rounded,
    settled,
    turn_steps,
    turned,
)


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
def test_a_turned_matrix_is_orthonormal_and_near(rng, shape):
    """As near as its reflections' steps; turned again it stays."""
    columns = np.linalg.qr(rng.standard_normal(shape))[0]

    lying = np.vstack([np.zeros(shape[1]), columns])  # a feature that is constant
    for given in (columns, -columns, lying, np.eye(*shape), np.eye(*shape)[:, ::-1]):
        made = turned(given)

        assert_allclose(made.T @ made, np.eye(shape[1]), atol=1e-14)
        assert_allclose(made, given, atol=8 * 2.0**-TURN_BITS)
        if given is not lying:
            assert_allclose(turned(made), made, atol=1e-10)
    with pytest.raises(ValueError, match=r"\(2, 3\) are no orthonormal columns"):
        turned(np.ones((2, 3)))


def test_nothing_is_left_of_a_turn_by_the_coarsest_step(rng):
    """Only the axes are."""
    columns = np.linalg.qr(rng.standard_normal((6, 6)))[0]

    assert_array_equal(np.abs(turned(columns, NO_TURN)), np.eye(6))


def test_a_frame_is_turned_as_far_as_distances_bear(rng):
    """By one part in a million at most, whatever the prior's weights of directions.

    Hardly any bits tell directions of almost the same weight apart.
    """
    for values in (
        np.r_[np.full(30, 0.5), np.linspace(0.5, 0.5001, 20), 5.0, 90.0],
        np.logspace(-3, 9, 30),
        np.full(20, 3.0),
    ):
        centre = 2 * values / (1 + values)
        vectors = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
        gaps = rng.standard_normal((500, len(values))) @ (vectors / np.sqrt(values)).T
        steps = turn_steps(centre[::-1])

        made = turned(vectors[:, ::-1], steps)[:, ::-1]

        before, after = ((gaps @ each) ** 2 @ values for each in (vectors, made))
        lengths = before + (gaps**2).sum(axis=1)
        assert (np.abs(after - before) / lengths).max() < 1e-6
    assert_array_equal(steps, NO_TURN)
    assert turn_steps(np.array([0.5, 0.5, 1.5]))[0] == NO_TURN
    # (1.5 - 0.5) / sqrt(0.5 * 1.5) is between 1 and 2.
    assert turn_steps(np.array([0.5, 0.5, 1.5]))[2] == -TURN_BITS - 1


def test_gaps_on_a_grid_are_off_by_a_step(rng):
    """Of each column's own, a power of two; a constant column has none."""
    items = rng.standard_normal((30, 4)) * [1.0, 1e-6, 1e6, 0.0] + 5.0
    pairs = rng.randint(0, 30, (40, 2))

    made = gaps_on_grid(items, pairs)

    gaps = items[pairs[:, 0]] - items[pairs[:, 1]]
    means = np.abs(gaps).mean(axis=0)
    steps = 2.0 ** (np.frexp(means)[1] - grid_bits(4))
    assert (np.abs(made - gaps) <= steps).all()
    assert_array_equal(made / steps, np.rint(made / steps))
    assert_array_equal(made[:, 3], 0)
    assert gaps_on_grid(items, np.empty((0, 2), int)).shape == (0, 4)


def test_gaps_on_a_grid_add_up(rng):
    """Round a triangle; wherever the items lie; the same for pairs the other way."""
    items = rng.standard_normal((6, 3))
    pairs = np.array([(1, 2), (2, 4), (4, 1), (3, 5)])

    made = gaps_on_grid(items, pairs)

    assert_array_equal(made[:3].sum(axis=0), 0)
    assert_array_equal(gaps_on_grid(items + 2.0**20, pairs)[3], made[3])
    assert_array_equal(gaps_on_grid(items, pairs[:, ::-1]), -made)


def test_more_columns_need_fewer_bits_of_each():
    """Their errors average out: half a bit less for twice as many."""
    assert [grid_bits(n) for n in (1, 3, 4, 15, 16, 100, 128)] == [
        GRID_BITS - less for less in (0, 0, 1, 1, 2, 3, 3)
    ]


def test_vectors_of_equal_eigenvalues_are_settled(rng):
    """Alike for any rotation of them; the others stay, and all are orthonormal."""
    values = np.array([0.0, 2.0, 2.0, 2.0 + 1e-12, 3.0, 5.0, 5.0])
    vectors = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    other = vectors.copy()
    for span in (slice(1, 4), slice(5, 7)):
        size = span.stop - span.start
        other[:, span] @= np.linalg.qr(rng.standard_normal((size, size)))[0]

    one, two = settled(values, vectors), settled(values, other)

    assert_allclose(one, two, atol=1e-14)
    assert_allclose(one.T @ one, np.eye(7), atol=1e-14)
    assert_array_equal(one[:, [0, 4]], vectors[:, [0, 4]])
    matrix = (vectors * values) @ vectors.T
    assert_allclose((one * values) @ one.T, matrix, atol=1e-11)
    assert_allclose(settled(np.ones(7), vectors), np.eye(7), atol=1e-14)
    graded = np.r_[1.0, 1.1, 2.0, 1e5, 1e6, 1e7, 1e12]
    assert_array_equal(settled(graded, vectors), vectors)


def test_the_sign_of_a_zero_turns_nothing(rng):
    """Of a constant feature a sum may leave any sign, or a rounding."""
    columns = np.linalg.qr(rng.standard_normal((8, 5)))[0]
    noise = [[0.0], [-0.0], [1e-17], [-1e-17]]

    made = [turned(np.vstack([np.full((1, 5), tiny), columns])) for tiny in noise]

    for each in made[1:]:
        assert_allclose(each, made[0], atol=1e-13)
