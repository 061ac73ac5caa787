"""How many digits of what was learned are kept.

The last digits of a sum tell of its order, not of the data. Without them a number that
follows from others follows to the last bit, and a file need not hold it. What it must
hold has fewer: no answer tells a direction to more than a few.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dorgqr

Array = NDArray[np.float64]

# Of 53: one part in 10^10, a hundred thousand times finer than fits converge (`tol`),
# and a hundred thousand times coarser than the rounding of sums.
BITS = 36
# So many bits below the last one of the largest number all is that number's rounding.
FLOOR_BITS = 10
# Of L: what single precision holds.
SINGLE_BITS = 24
# Of the reflections that make a rotation; of pairs' gaps, beside the mean of each axis.
TURN_BITS, GRID_BITS = 22, 20
# Gaps of more pairs are as they are: a file is not small that keeps what they taught.
GRID_PAIRS = 800
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


def on_grid(gaps: Array) -> Array:
    """Each column on steps of its own, beside which the largest gap counts as one."""
    means = np.abs(gaps).sum(axis=0) / max(len(gaps), 1)
    return on_steps(gaps, np.frexp(means)[1] - GRID_BITS)


def rounded_turns(reflectors: Array) -> Array:
    """Reflectors of few bits; small ones are known as nearly as by all of them."""
    return rounded(reflectors, TURN_BITS, BITS + FLOOR_BITS - TURN_BITS)


def turned(columns: Array) -> Array:
    """Orthonormal columns, turned a little: to where few bits tell them all.

    A product of reflections is a rotation whatever they are: it is these that are
    rounded, and the columns are as orthonormal as before.
    """
    if columns.shape[1] > len(columns):
        raise ValueError(f"{columns.shape} are no orthonormal columns")
    columns = rounded(columns) + 0.0  # zeros have no sign that would decide
    reflectors = rounded_turns(np.tril(qr(columns, mode="raw")[0][0], -1))
    scales = 2.0 / (1.0 + np.einsum("ij,ij->j", reflectors, reflectors))
    made = dorgqr(np.asfortranarray(reflectors), scales)[0]
    signs = np.sign(np.einsum("ij,ij->j", made, columns))
    return np.ascontiguousarray(made * signs)
