"""Rotations as whole numbers: the reflections that they are products of.

digits.py rounds each reflection to steps that are a power of two; here they are found
again. Where there are none, many digits of the reflections are kept.
"""

import numpy as np
from numpy.typing import NDArray

from likewise.digits import BITS, MOST_COLUMNS, NO_TURN

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# What a reflection is kept with that is on no grid: fewer bits than these, and the
# matrix is guessed wrong; more, and the reflection is what weighs.
HALF_BITS = BITS + 4
# As near as this to a whole number of steps is on them, if no rounding of the matrix
# would be as far off.
NEAR, ON_GRID = 1 / 16, 2.0**-28
STEPS = np.arange(NO_TURN, -BITS, -1)
# Whole numbers above LARGEST and steps beyond FARTHEST are of a forged file.
LARGEST, FARTHEST = 2**50, 2_000


def told(matrix: Array) -> Whole | None:
    """Whole numbers that tell orthonormal columns, nearly; None for too many.

    How many rows are empty, and which; the power of two that each reflection is a
    multiple of; and the reflections, end to end.
    """
    empty = np.flatnonzero(~matrix.any(axis=1))
    left = np.delete(matrix, empty, axis=0)
    if left.shape[1] > min(MOST_COLUMNS, len(left)):
        return None
    steps, parts = [], []
    for j in range(left.shape[1]):
        step, whole = _reflection(left[j:, j : j + 2])
        steps.append(step)
        parts.append(whole)
        _reflect(left[j:, j:], _vector(whole, step))
    return np.concatenate([[len(empty)], empty, steps, *parts]).astype(np.int64)


def matrix_of(numbers: Whole, shape: tuple[int, ...]) -> Array:
    """The matrix with orthonormal columns that was told by whole numbers."""
    n_empty = int(numbers[0]) if numbers.ndim == 1 and numbers.size else -1
    if len(shape) != 2 or not 0 <= n_empty <= shape[0]:
        raise ValueError(f"no orthonormal columns have the shape {shape!r:.40}")
    n_rows, n_columns = shape[0] - n_empty, shape[1]
    _check_columns(n_rows, n_columns)
    sizes = n_rows - np.arange(n_columns)
    if numbers.size != 1 + n_empty + n_columns + sizes.sum():
        raise ValueError(f"{numbers.size} numbers cannot be turned into {shape!r:.40}")
    _, empty, steps, whole = np.split(
        numbers, np.cumsum([1, n_empty, n_columns]).tolist()
    )
    is_full = np.ones(shape[0], dtype=bool)
    is_full[np.clip(empty, 0, shape[0] - 1)] = False
    if is_full.sum() != n_rows:
        raise ValueError("its empty rows are none")
    parts = np.split(np.clip(whole, -LARGEST, LARGEST), np.cumsum(sizes)[:-1])
    steps = np.clip(steps, -FARTHEST, NO_TURN)
    result = np.zeros(shape)
    result[is_full] = product_of(list(map(_vector, parts, steps.tolist())))
    return result + 0.0  # digits.turned leaves no zero below zero either


def orthogonal(vectors: Array, shape: tuple[int, ...]) -> Array:
    """The same from the vectors themselves, end to end, as format 4 had them."""
    if len(shape) != 2:
        raise ValueError(f"no orthonormal columns have the shape {shape!r:.40}")
    _check_columns(*shape)
    sizes = shape[0] - np.arange(shape[1])
    if vectors.size != sizes.sum():
        raise ValueError(f"{vectors.size} numbers cannot be turned into {shape!r:.40}")
    return product_of(np.split(vectors, np.cumsum(sizes)[:-1]))


def product_of(vectors: list[Array]) -> Array:
    """The first columns of the product of reflections, each one shorter."""
    result = np.eye(len(vectors[0]), len(vectors))
    for j, v in reversed(list(enumerate(vectors))):
        # The column was turned onto -1 or 1.
        result[j, j] = -1.0 if v[0] >= 0 else 1.0
        _reflect(result[j:, j:], v)
    return result


def _check_columns(n_rows: int, n_columns: int) -> None:
    if not 0 < n_columns <= min(n_rows, MOST_COLUMNS):
        raise ValueError(f"no orthonormal columns have the shape {n_rows, n_columns}")


def _reflection(columns: Array) -> tuple[int, Whole]:
    """The reflection that turns a column onto an axis: a step, and multiples of it.

    That which turns farther, unless only the other is on a grid. At right angles to
    the axis both may be: then that which leaves the next column on the coarser one.
    """
    column = columns[:, 0]
    sign = -1.0 if column[0] < 0 else 1.0
    far, near = _way(column, sign), _way(column, -sign)
    if abs(column[0]) < ON_GRID and columns.shape[1] > 1:
        return max(far, near, key=lambda way: _next_step(columns[:, 1:], way))
    return far if far[0] > -HALF_BITS or near[0] <= -HALF_BITS else near


def _way(column: Array, sign: float) -> tuple[int, Whole]:
    v = column.copy()
    v[0] += sign
    if v[0] == 0:  # there already
        return -HALF_BITS, np.zeros(len(v), dtype=np.int64)
    v = v / abs(v[0])
    step = _step(v[1:])
    whole = np.rint(np.ldexp(v, -step))
    whole[0] = v[0]
    return step, np.clip(whole, -LARGEST, LARGEST).astype(np.int64)


def _next_step(column: Array, way: tuple[int, Whole]) -> int:
    left = column.copy()
    _reflect(left, _vector(way[1], way[0]))
    return max(_way(left[1:, 0], sign)[0] for sign in (1.0, -1.0))


def _step(values: Array) -> int:
    """The largest power of two of which all are multiples, or one that is small."""
    scaled = np.ldexp(values[:, None], -STEPS)
    off = np.abs(scaled - np.rint(scaled)).max(axis=0, initial=0.0)
    fits = (off < NEAR) & (np.ldexp(off, STEPS) < ON_GRID)
    return int(STEPS[np.argmax(fits)]) if fits.any() else -HALF_BITS


def _vector(whole: Whole, step: int) -> Array:
    """A reflection's vector; its first number is a sign."""
    v = np.ldexp(whole.astype(np.float64), step)
    v[0] = 1.0 if whole[0] >= 0 else -1.0
    return np.asarray(v)


def _reflect(matrix: Array, v: Array) -> None:
    """(I - 2 v v' / v'v) matrix, in place."""
    # Accumulated, not summed: each sum stands on the one before it.
    squares = np.add.accumulate(v * v)[-1]
    if squares > 0:
        along = np.add.accumulate(v[:, None] * matrix, axis=0)[-1]
        matrix -= v[:, None] * (along * (2.0 / squares))
