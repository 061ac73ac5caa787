"""How many digits of what was learned are kept.

The last digits of a sum tell of its order, not of the data. Without them a number that
follows from others follows to the last bit, and a file need not hold it. What it must
hold has fewer: no answer tells a direction to more than a few.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dorgqr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]

# Of 53: one part in 10^10, a hundred thousand times finer than fits converge (`tol`),
# and a hundred thousand times coarser than the rounding of sums.
BITS = 36
# So many bits below the last one of the largest number all is that number's rounding.
FLOOR_BITS = 10
# Of L: what single precision holds.
SINGLE_BITS = 24
# Of what each labelled pair pulls by and how firmly: a fit converges to fewer.
SITE_BITS = 30
# A step of a rotation moves squared distances by one part in so many powers of two; so
# does a step of pairs' gaps, beside the mean of each axis, where there is one axis.
TURN_BITS, GRID_BITS = 22, 20
# Gaps of more pairs are as they are: a file is not small that keeps what they taught.
GRID_PAIRS = 800
# The step at which all of a reflection is rounded away.
NO_TURN = 1
# Eigenvalues of which one is larger by this share are one: of their vectors only the
# span is known to the digits of L.
EQUAL = 1e-8
# Columns up to which a file guesses rotations and L: it takes seconds beyond.
MOST_COLUMNS = 400
# Of the length that every vector of a basis has.
LENGTH_BITS = 30


def rounded(values: Array, bits: int = BITS, floor_bits: int = FLOOR_BITS) -> Array:
    """The nearest numbers of so many bits; the same on every machine."""
    exponents = np.frexp(values)[1]
    largest = np.frexp(np.abs(values).max(initial=0.0))[1]
    steps = np.maximum(exponents - bits, largest - bits - floor_bits)
    return on_steps(values, steps)


def on_steps(values: Array, exponents: NDArray[np.integer]) -> Array:
    """The nearest multiples of these powers of two."""
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponents)), exponents))


def gaps_on_grid(items: Array, pairs: NDArray[np.intp]) -> Array:
    """Gaps of pairs on a grid: each column has steps beside which its mean gap is one.

    It is places of items that are rounded, beside one of those that they are paired
    with: where two gaps make a third, they make it to the last bit.
    """
    first, second = pairs.T
    means = np.abs(items[first] - items[second]).sum(axis=0) / max(len(pairs), 1)
    steps = np.frexp(means)[1] - grid_bits(items.shape[1])
    origin = items[_origins(pairs)]
    places = (on_steps(items[each] - origin, steps) for each in (first, second))
    return next(places) - next(places) + 0.0


def _origins(pairs: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each pair the first of all items that chains of pairs lead to."""
    items, places = np.unique(pairs, return_inverse=True)
    first, second = places.reshape(pairs.shape).T
    links = coo_array((np.ones(len(pairs)), (first, second)), (len(items), len(items)))
    groups = connected_components(links, directed=False)[1]
    starts = np.unique(groups, return_index=True)[1]
    return np.asarray(items[starts[groups[first]]])


def grid_bits(n_columns: int) -> int:
    """Of gaps in so many columns: a distance averages what each is off by."""
    return GRID_BITS - (max(n_columns, 1).bit_length() - 1) // 2


def turn_steps(centre: Array) -> NDArray[np.intp]:
    """Powers of two of which a frame's reflections may be multiples, column by column.

    Turning columns i and j by an angle moves squared distances by its product with
    what sets the two apart: nothing where a prior weighs both alike.
    """
    lowest = float(centre.min())
    apart = (centre - lowest) / np.sqrt((2.0 - centre) * (2.0 - lowest))
    steps = -TURN_BITS - np.frexp(apart)[1]
    return np.where(apart > 0, np.minimum(steps, NO_TURN), NO_TURN)


def turned(columns: Array, steps: NDArray[np.integer] | int = -TURN_BITS) -> Array:
    """Orthonormal columns, turned a little: to where few bits tell them all.

    A product of reflections is a rotation whatever they are: it is these that are
    rounded to steps, and the columns are as orthonormal as before.
    """
    if columns.shape[1] > len(columns):
        raise ValueError(f"{columns.shape} are no orthonormal columns")
    columns = rounded(columns) + 0.0  # zeros have no sign that would decide
    # Written out below the diagonal, where each begins with a one.
    reflectors: Array = np.tril(qr(columns, mode="raw")[0][0], -1)
    reflectors = on_steps(reflectors, np.asarray(steps))
    scales = 2.0 / (1.0 + np.einsum("ij,ij->j", reflectors, reflectors))
    made = dorgqr(np.asfortranarray(reflectors), scales)[0]
    signs = np.where(np.einsum("ij,ij->j", made, columns) < 0, -1.0, 1.0)
    return np.ascontiguousarray(made * signs) + 0.0


def settled(values: Array, vectors: Array) -> Array:
    """Eigenvectors, those of equal eigenvalues chosen alike whoever found them.

    Any rotation of these is as good. The first axes that are not yet spanned are taken.
    """
    sizes = np.abs(values)
    close = np.abs(np.diff(values)) <= EQUAL * np.minimum(sizes[1:], sizes[:-1])
    starts = np.flatnonzero(np.r_[True, ~close])
    ends = np.r_[starts[1:], len(values)]
    if len(starts) == len(values) or len(values) > MOST_COLUMNS:
        return vectors
    result = vectors.copy()
    # The largest last: what is at right angles to all others takes fewer steps.
    for place in np.argsort(ends - starts, kind="stable"):
        span = np.zeros(len(values), dtype=bool)
        span[starts[place] : ends[place]] = True
        if 2 * span.sum() > len(values):
            result[:, span] = _beside(result[:, ~span])
        elif span.sum() > 1:
            result[:, span] = _settled_span(vectors[:, span])
    return result


def _settled_span(vectors: Array) -> Array:
    chosen = np.empty_like(vectors)
    left = vectors.T.copy()  # the axes, as seen in the span
    for j in range(vectors.shape[1]):
        squares = np.add.accumulate(left * left)[-1]
        axis = _first_large(squares)
        unit = left[:, axis] / np.sqrt(squares[axis])
        chosen[:, j] = np.add.accumulate(unit[:, None] * vectors.T)[-1]
        left -= unit[:, None] * chosen[:, j]
    return chosen


def _beside(vectors: Array) -> Array:
    """Orthonormal columns at right angles to some: axes, reflected as these are."""
    left, axes, reflections = vectors.copy(), np.arange(len(vectors)), []
    for j in range(vectors.shape[1]):
        v = left[:, j].copy()
        axis = _first_large(v * v)
        v[axis] += np.copysign(1.0, v[axis])
        reflections.append(v)
        _reflect(left, v)
        axes = axes[axes != axis]
    made = np.eye(len(vectors))[:, axes]
    for v in reversed(reflections):
        _reflect(made, v)
    return made


def _first_large(sizes: Array) -> int:
    return int(np.argmax(sizes >= sizes.max(initial=0.0) / 2))


def _reflect(matrix: Array, v: Array) -> None:
    share = 2.0 / np.add.accumulate(v * v)[-1]
    matrix -= v[:, None] * (np.add.accumulate(v[:, None] * matrix)[-1] * share)
