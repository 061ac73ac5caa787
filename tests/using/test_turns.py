"""Rotations as whole numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.digits import MOST_COLUMNS, NO_TURN, turned
from likewise.using import turns


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (9, 4), (40, 40)])
@pytest.mark.parametrize("step", [NO_TURN, -4, -22])
def test_a_turned_matrix_is_told_by_few_numbers(rng, shape, step):
    """Half of them, and multiples of the step; with columns of either sign."""
    columns = np.linalg.qr(rng.standard_normal(shape))[0]
    lying = np.vstack([np.zeros(shape[1]), columns])  # a feature that is constant

    for given in (columns, -columns, lying, np.eye(*shape)):
        matrix = np.zeros_like(given)
        matrix[given.any(axis=1)] = turned(given[given.any(axis=1)], step)
        numbers = turns.told(matrix)

        n_empty, n = int((~matrix.any(axis=1)).sum()), shape[1]
        n_told = (len(given) - n_empty) * n - n * (n - 1) // 2
        assert len(numbers) == 1 + n_empty + n + n_told
        # Of one or two numbers, coarser ones may be multiples by chance.
        assert (numbers[1 + n_empty :][: n - 2] >= step).all()
        assert np.abs(numbers[1 + n_empty :]).max() <= 2.0 ** max(-step, 4) * 2
        assert_allclose(turns.matrix_of(numbers, given.shape), matrix, atol=1e-14)


def test_any_rotation_is_told_nearly(rng):
    """On no grid: by more bits than a matrix is rounded to."""
    matrix = np.linalg.qr(rng.standard_normal((12, 12)))[0]

    numbers = turns.told(matrix)

    assert_allclose(turns.matrix_of(numbers, (12, 12)), matrix, atol=2.0**-26)


def test_more_columns_than_rows_are_not_told():
    """Nor so many that it would take seconds."""
    assert turns.told(np.eye(3, 4)) is None
    assert turns.told(np.eye(MOST_COLUMNS + 1)) is None


@pytest.mark.parametrize(
    ("numbers", "shape", "message"),
    [
        ([0, 1, 1, 1], (4, 4), "4 numbers cannot be turned into"),
        ([0, 1, 1, 1], (2, 4), "no orthonormal columns"),
        ([0, 1, 1, 1], (4,), "no orthonormal columns"),
        ([7, 1, 1, 1], (4, 1), "no orthonormal columns"),
        ([-1, 1, 1, 1], (4, 1), "no orthonormal columns"),
        ([], (1, 1), "no orthonormal columns"),
        ([2, 0, 0, 1, 1, 0], (4, 1), "its empty rows are none"),
        ([0, 1], (401, 401), "no orthonormal columns"),
    ],
)
def test_numbers_that_tell_no_rotation_are_refused(numbers, shape, message):
    """Whatever a forged file says."""
    with pytest.raises(ValueError, match=message):
        turns.matrix_of(np.array(numbers, dtype=np.int64), shape)


def test_vast_steps_and_numbers_do_no_harm():
    """They tell some rotation, or none."""
    numbers = np.array([0, 2**62, -(2**62), 1, 2**62, 1, -(2**63)], dtype=np.int64)

    with np.errstate(all="ignore"):
        assert turns.matrix_of(numbers[[0, 1, 3, 4]], (2, 1)).shape == (2, 1)


def test_vectors_of_format_4_tell_their_matrix(rng):
    """End to end, as they are."""
    v = rng.standard_normal(3)
    expected = (np.eye(3) - 2 * np.outer(v, v) / (v @ v))[:, :1] * -np.sign(v[0])

    assert_allclose(turns.orthogonal(v, (3, 1)), expected, atol=1e-15)
    with pytest.raises(ValueError, match="3 numbers cannot be turned into"):
        turns.orthogonal(v, (4, 4))
    with pytest.raises(ValueError, match="no orthonormal columns"):
        turns.orthogonal(v, (2, 4))
    with pytest.raises(ValueError, match="no orthonormal columns"):
        turns.orthogonal(v, (2,))
