"""Linear algebra whose every rounding is the same on every machine.

Sums have one order, and nothing is used but operations that IEEE 754 rounds alike
everywhere. Sizes are refused that would fill the memory: they may come from a file.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Bytes that a small file may claim to hold, and a large one for each of its own.
MOST_CLAIMED, MOST_SHARE = 2**28, 64
# Steps for each eigenvalue, on average: it takes 2.0 to 2.3, and no file may take more.
STEPS_A_VALUE = 6
# Of doubles: one part in so many is rounding.
EPSILON = 2.0**-52


def product(a: Array, b: Array) -> Array:
    """a @ b, summed from the first to the last."""
    if a.shape[1] != len(b):
        raise ValueError(f"its shapes do not fit: {a.shape} and {b.shape}")
    if 8 * len(a) * b.shape[1] > max(MOST_CLAIMED, MOST_SHARE * (a.nbytes + b.nbytes)):
        raise ValueError(f"it claims a product of shape {len(a), b.shape[1]}")
    result = np.zeros((len(a), b.shape[1]))
    for k in range(a.shape[1]):
        result += a[:, k, None] * b[k]
    return result


def inverse_root(matrix: Array) -> Array:
    """The inverse of the Cholesky factor of a positive definite matrix."""
    left, size = matrix.copy(), len(matrix)
    root = np.eye(size)
    for j in range(size):
        pivot = left[j, j]
        if not pivot > 0:
            return np.zeros_like(root)
        column = left[j + 1 :, j] / pivot
        left[j + 1 :, j + 1 :] -= column[:, None] * left[j, j + 1 :]
        root[j + 1 :, : j + 1] -= column[:, None] * root[j, : j + 1]
        root[j, : j + 1] /= np.sqrt(pivot)
    return root


def eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, and their vectors in rows; in no order.

    Householder's reflections to three diagonals, then implicit QL. Zeros where the
    matrix is none of numbers.
    """
    largest = float(np.abs(matrix).max(initial=0.0))
    if not largest < np.inf:
        return np.zeros(len(matrix)), np.zeros_like(matrix)
    size = int(np.frexp(largest)[1])  # squares may leave the range of floats
    diagonal, beside, vectors = _three_diagonals(np.ldexp(matrix, -size))
    values, sides = diagonal.tolist(), [*beside.tolist(), 0.0]
    left = STEPS_A_VALUE * len(values)
    for first in range(len(values)):
        while (last := _block_end(values, sides, first)) > first and left > 0:
            _ql_step(values, sides, vectors, first, last)
            left -= 1
    return np.ldexp(np.array(values), size), vectors


def _three_diagonals(matrix: Array) -> tuple[Array, Array, Array]:
    """Diagonal, what is beside it, and the vectors in rows to go back by."""
    left, size = matrix.copy(), len(matrix)
    reflections = []
    for j in range(size - 2):
        v = left[j + 1 :, j].copy()
        largest = float(np.abs(v).max())
        reflections.append(v)
        if not 0 < largest < np.inf:
            v[:] = 0.0
            continue
        v /= largest
        v[0] += np.copysign(np.sqrt(_down(v * v)), v[0])
        v *= np.sqrt(2.0 / _down(v * v))
        below = left[j + 1 :, j + 1 :]
        along = _down(v[:, None] * below)
        along -= v * (_down(along * v) / 2)
        below -= v[:, None] * along
        below -= along[:, None] * v
        first = left[j + 1 :, j]
        first -= v * _down(first * v)
        left[j, j + 1 :] = first
    vectors = np.eye(size)
    for j, v in reversed(list(enumerate(reflections))):
        inner = vectors[j + 1 :, j + 1 :]
        inner -= v[:, None] * _down(v[:, None] * inner)
    return left.diagonal().copy(), left.diagonal(-1).copy(), vectors.T.copy()


def _down(values: Array) -> Array:
    """Sums over the first axis, each standing on the one before it."""
    return np.asarray(np.add.accumulate(values)[-1])


def _block_end(values: list[float], sides: list[float], first: int) -> int:
    """Where what is beside the diagonal is next nothing to it."""
    pairs = pairwise(values[first:])
    for place, (one, other) in enumerate(pairs, first):
        if abs(sides[place]) <= EPSILON * (abs(one) + abs(other)):
            return place
    return len(values) - 1


def _ql_step(
    values: list[float], sides: list[float], vectors: Array, first: int, last: int
) -> None:
    """One step with Wilkinson's shift, in place (EISPACK's tql2)."""
    ahead = (values[first + 1] - values[first]) / (2.0 * sides[first])
    root = math.copysign(math.sqrt(ahead * ahead + 1.0), ahead)
    g = values[last] - values[first] + sides[first] / (ahead + root)
    sine, cosine, p = 1.0, 1.0, 0.0
    carried = vectors[last].copy()
    for i in range(last - 1, first - 1, -1):
        f, b = sine * sides[i], cosine * sides[i]
        r = math.sqrt(f * f + g * g)
        sides[i + 1] = r
        if r == 0.0:
            values[i + 1] -= p
            vectors[i + 1] = carried
            sides[last] = 0.0
            return
        sine, cosine = f / r, g / r
        g = values[i + 1] - p
        r = (values[i] - g) * sine + 2.0 * cosine * b
        p = sine * r
        values[i + 1] = g + p
        g = cosine * r - b
        vectors[i + 1] = sine * vectors[i] + cosine * carried
        carried = cosine * vectors[i] - sine * carried
    vectors[first] = carried
    values[first] -= p
    sides[first] = g
    sides[last] = 0.0
