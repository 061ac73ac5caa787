"""How many digits of what was learned are kept.

The last digits of a sum tell of its order, not of the data. Without them a number that
follows from others follows to the last bit, and a file need not hold it.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Of 53: one part in 10^10, a hundred thousand times finer than fits converge (`tol`),
# and a hundred thousand times coarser than the rounding of sums.
BITS = 36
# So many bits below the last one of the largest number all is that number's rounding.
FLOOR_BITS = 10


def rounded(values: Array, bits: int = BITS) -> Array:
    """The nearest numbers of so many bits; the same on every machine."""
    exponents = np.frexp(values)[1]
    largest = np.frexp(np.abs(values).max(initial=0.0))[1]
    steps = np.maximum(exponents - bits, largest - bits - FLOOR_BITS)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -steps)), steps))
