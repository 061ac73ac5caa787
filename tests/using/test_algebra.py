"""Sums of one order: near those of numpy, and refused where they would be vast."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.model import equations
from likewise.using import algebra


def test_a_product_is_that_of_numpy_to_rounding(rng):
    """And its sums have one order: the first terms by themselves come first."""
    a, b = rng.standard_normal((7, 5)), rng.standard_normal((5, 4))
    slowly = [[0.0] * 4 for _ in range(7)]
    for i in range(7):
        for j in range(4):
            for k in range(5):
                slowly[i][j] += float(a[i, k]) * float(b[k, j])

    assert_allclose(algebra.product(a, b), a @ b, rtol=1e-12, atol=1e-14)
    assert_array_equal(algebra.product(a, b), slowly)
    with pytest.raises(ValueError, match=r"do not fit: \(7, 5\) and \(4, 5\)"):
        algebra.product(a, b.T)


def test_an_inverse_root_is_that_of_the_fit(rng):
    """To rounding; of what is not positive definite there is none."""
    A = rng.standard_normal((60, 60))
    matrix = A @ A.T + np.eye(60)

    expected = equations.inverse_root(matrix)[0]
    assert_allclose(algebra.inverse_root(matrix), expected, atol=1e-12)
    assert_array_equal(algebra.inverse_root(-matrix), np.zeros((60, 60)))


def test_a_product_larger_than_a_file_may_claim_is_refused():
    """A column of a million numbers times a row of as many."""
    with pytest.raises(ValueError, match="claims a product of shape"):
        algebra.product(np.zeros((1_000_000, 1)), np.zeros((1, 1_000_000)))


@pytest.mark.parametrize("size", [1, 2, 3, 30, 61])
def test_eigenvectors_are_those_of_lapack(rng, size):
    """Values, and vectors that are orthonormal and take the matrix to its diagonal."""
    A = rng.standard_normal((size, size))
    matrix = A + A.T

    values, vectors = algebra.eigenvectors(matrix)

    assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), atol=1e-13 * size)
    assert_allclose(vectors @ vectors.T, np.eye(size), atol=1e-13)
    made = vectors @ matrix @ vectors.T
    assert_allclose(made, np.diag(values), atol=1e-13 * size)


@pytest.mark.parametrize("scale", [1e-310, 1e-150, 1.0, 1e150, 1e300])
def test_eigenvectors_on_any_scale(scale):
    """Equal eigenvalues among them."""
    matrix = scale * (np.ones((5, 5)) + np.eye(5))

    values, vectors = algebra.eigenvectors(matrix)

    assert_allclose(np.sort(values) / scale, [1, 1, 1, 1, 6], rtol=1e-12)
    assert_allclose(vectors @ vectors.T, np.eye(5), atol=1e-13)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_no_matrix_of_numbers_has_no_eigenvectors(number):
    """A forged file may hold any."""
    values, vectors = algebra.eigenvectors(np.array([[1.0, number], [number, 1.0]]))

    assert_array_equal(values, [0, 0])
    assert_array_equal(vectors, np.zeros((2, 2)))
