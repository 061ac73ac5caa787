"""Arrays in few bytes: every bit comes back, and guesses are near."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import likewise
from likewise import BayesianMetric
from likewise.model import equations
from likewise.pairs import all_pairs
from likewise.using import packing

DOUBLES = st.lists(st.floats(allow_nan=False, width=64), min_size=0, max_size=20)


@given(DOUBLES, DOUBLES)
def test_every_bit_comes_back_whatever_the_guess(values, guessed):
    """Signs of zero, infinities and the smallest numbers, with a guess and without."""
    values = np.array(values, dtype=float)
    guessed = np.resize(np.array([*guessed, 1.0]), values.shape)

    for guess in (None, guessed):
        data = packing.packed(values, guess)
        again = packing.unpacked(data, values.shape, "f", guess)
        assert_array_equal(again.view(np.int64), values.view(np.int64))


def test_whole_numbers_come_back(rng):
    """Row numbers of items."""
    pairs = rng.randint(0, 10**8, (30, 2))

    data = packing.packed(pairs, None)

    assert_array_equal(packing.unpacked(data, (30, 2), "i", None), pairs)


def test_a_near_guess_takes_few_bytes(rng):
    """A bit or two a number where only the last bits are wrong."""
    values = rng.standard_normal(1000)
    guess = np.nextafter(values, rng.choice([-9.0, 9.0], 1000))

    assert len(packing.packed(values, guess)) < 400
    assert len(packing.packed(values, None)) > 7000


def test_a_product_is_that_of_numpy_to_rounding(rng):
    """And its sums have one order: the first terms by themselves come first."""
    a, b = rng.standard_normal((7, 5)), rng.standard_normal((5, 4))
    slowly = [[0.0] * 4 for _ in range(7)]
    for i in range(7):
        for j in range(4):
            for k in range(5):
                slowly[i][j] += float(a[i, k]) * float(b[k, j])

    assert_allclose(packing.product(a, b), a @ b, rtol=1e-12, atol=1e-14)
    assert_array_equal(packing.product(a, b), slowly)
    with pytest.raises(ValueError, match=r"do not fit: \(7, 5\) and \(4, 5\)"):
        packing.product(a, b.T)


def test_an_inverse_root_is_that_of_the_fit(rng):
    """To rounding; of what is not positive definite there is none."""
    A = rng.standard_normal((60, 60))
    matrix = A @ A.T + np.eye(60)

    expected = equations.inverse_root(matrix)[0]
    assert_allclose(packing.inverse_root(matrix), expected, atol=1e-12)
    assert_array_equal(packing.inverse_root(-matrix), np.zeros((60, 60)))


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (9, 4)])
def test_half_of_an_orthogonal_matrix_tells_the_rest(rng, shape):
    """With columns of either sign, and those that need no turning."""
    turned = np.linalg.qr(rng.standard_normal(shape))[0]

    for matrix in (turned, -turned, np.eye(*shape)):
        vectors = packing.reflectors(matrix)
        n_rows, n_columns = shape
        assert len(vectors) == n_rows * n_columns - n_columns * (n_columns - 1) // 2
        assert_allclose(packing.orthogonal(vectors, shape), matrix, atol=1e-14)


def test_gaps_round_a_circle_are_nothing(rng):
    """The third side of a triangle follows, either way round; so does a pair again."""
    places = rng.randint(-(10**6), 10**6, (6, 3))
    pairs = np.array([(0, 1), (2, 3), (1, 2), (0, 3), (3, 1), (5, 5), (4, 5), (1, 0)])
    gaps = places[pairs[:, 0]] - places[pairs[:, 1]]
    gaps[7] += 1  # rounded by itself

    left = packing.along_tree(gaps, pairs)

    assert_array_equal(left[[0, 1, 2, 6]], gaps[[0, 1, 2, 6]])
    assert_array_equal(left[[3, 4, 5]], 0)
    assert_array_equal(left[7], 1)
    assert_array_equal(packing.off_tree(left, pairs), gaps)
    with pytest.raises(ValueError, match=r"do not fit: \(8, 3\) and \(7, 2\)"):
        packing.off_tree(left, pairs[:7])
    with pytest.raises(ValueError, match="it has flat gaps of 1,000 pairs"):
        packing.off_tree(np.tile(gaps, (125, 1)), np.tile(pairs, (125, 1)))


def test_bytes_that_cannot_hold_so_much_are_refused(rng):
    """Too few, too many, no zlib, or a claim that none could meet."""
    data = packing.packed(rng.standard_normal(10), None)

    with pytest.raises(ValueError, match="are not 88 bytes"):
        packing.unpacked(data, (11,), "f", None)
    with pytest.raises(ValueError, match="are not 72 bytes"):
        packing.unpacked(data, (9,), "f", None)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        packing.unpacked(data[5:], (10,), "f", None)
    with pytest.raises(ValueError, match=r"are said to hold \(1000000,\)"):
        packing.unpacked(data, (10**6,), "f", None)
    with pytest.raises(ValueError, match=r"do not fit: \(2, 5\) and \(10,\)"):
        packing.unpacked(data, (10,), "f", np.zeros((2, 5)))
    with pytest.raises(ValueError, match="cannot be turned into"):
        packing.orthogonal(np.ones(3), (4, 4))
    with pytest.raises(ValueError, match="no orthonormal columns"):
        packing.orthogonal(np.ones(3), (2, 4))


def test_a_product_larger_than_a_file_may_claim_is_refused():
    """A column of a million numbers times a row of as many."""
    with pytest.raises(ValueError, match="claims a product of shape"):
        packing.product(np.zeros((1_000_000, 1)), np.zeros((1, 1_000_000)))


@pytest.mark.parametrize("scale", [1e-200, 1e20, 1e150])
def test_gaps_on_any_scale_come_back(rng, tmp_path, scale):
    """Large numbers are no whole ones, though floats above 2^53 are."""
    X = scale * rng.normal(size=(20, 3))
    pairs, labels = all_pairs(20)[::9], np.resize([1, -1, -1], 22)
    metric = BayesianMetric(prior="unit", random_state=0).fit_pairs(X, pairs, labels)
    metric.save(tmp_path / "scaled.metric")

    again = likewise.load(tmp_path / "scaled.metric")

    p_same = metric.pair_probability(X, pairs)
    assert 0 < p_same.min() < p_same.max() < 1
    assert_array_equal(again.pair_probability(X, pairs), p_same)
