"""The highest place of a smooth function of a few numbers, each look at which is dear.

A quasi-Newton ascent in a box: what it expects of a step it tells the function, which
may look the less closely the more there is to gain.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# No step changes a number by more than this, and the first by no more than FIRST_STEP.
LONGEST_STEP, FIRST_STEP = 2.0, 1.0
# Places looked at, at most.
MAX_LOOKS = 15
# What is left of a curvature where the slope rises along the step.
LEAST_CURVATURE = 0.1


class Look(NamedTuple):
    """A place, the value there and its slope."""

    place: Array
    value: float
    slope: Array


# Of a place and of what it is expected to gain on the highest one so far.
Function = Callable[[Array, float], Look]


def ascend(
    function: Function,
    start: Look,
    curvature: Array,
    box: tuple[Array, Array],
    worthless: float,
) -> Array:
    """Look at higher and higher places until none promises more than is worthless.

    Begins with a guess of the curvature; gives what was found of it.
    """
    here, reach = start, FIRST_STEP
    for _ in range(MAX_LOOKS):
        step = _step(here, curvature, box, reach)
        expected = float(here.slope @ step - step @ curvature @ step / 2)
        if expected < worthless:
            break
        there = function(here.place + step, expected)
        curvature = _updated(curvature, step, here.slope - there.slope)
        length = float(np.abs(step).max())
        if there.value > here.value:
            here = there
            reach = min(LONGEST_STEP, max(reach, 2 * length))
        else:
            reach = length / 2
    return curvature


def _step(
    here: Look, curvature: Array, box: tuple[Array, Array], reach: float
) -> Array:
    """Towards the top by slope and curvature, within reach and within the box."""
    at_end = here.place <= box[0], here.place >= box[1]
    is_free = np.ones(len(here.place), dtype=bool)
    while True:
        step = np.zeros(len(here.place))
        step[is_free] = np.linalg.solve(
            curvature[np.ix_(is_free, is_free)], here.slope[is_free]
        )
        leaves = (at_end[0] & (step < 0)) | (at_end[1] & (step > 0))
        if not leaves.any():
            break
        is_free &= ~leaves
    room = np.where(step > 0, box[1] - here.place, here.place - box[0])
    room = np.minimum(room, reach)
    shares = room / np.maximum(np.abs(step), np.finfo(float).tiny)
    return np.asarray(step * min(1.0, float(shares.min())))


def _updated(curvature: Array, step: Array, fall: Array) -> Array:
    """BFGS's: as the slope fell along the step, or flatter where it rose."""
    seen, by_model = float(step @ fall), float(step @ curvature @ step)
    if seen < LEAST_CURVATURE * by_model:  # Powell's damping
        share = (1 - LEAST_CURVATURE) * by_model / (by_model - seen)
        fall = share * fall + (1 - share) * (curvature @ step)
        seen = float(step @ fall)
    along = curvature @ step
    return np.asarray(
        curvature - np.outer(along, along) / by_model + np.outer(fall, fall) / seen
    )
