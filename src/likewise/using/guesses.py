"""What arrays of a belief should be by the rest of it.

The gaps of pairs by one prior follow from those by another, the root of a covariance
from what it is the covariance of, L from the members' matrices. A guess must be the
same on every machine, not right: algebra.py has its sums.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.digits import (
    BITS,
    LENGTH_BITS,
    MOST_COLUMNS,
    SINGLE_BITS,
    on_steps,
    rounded,
    settled,
)
from likewise.using.algebra import eigenvectors, inverse_root, product
from likewise.using.tree import MOST_PAIRS, along_tree, off_tree, placed
from likewise.using.turns import (
    LARGEST,
    NEAR,
    matrix_of,
    orthogonal,
    told,
)

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

# What is added to be guessed from: rotations as whole numbers, the lengths of the
# basis' columns, and gaps of pairs in the basis' coordinates, in steps that are powers
# of two.
HALF, LENGTHS, FLAT, STEPS = ".reflectors", "basis.lengths", "flat_gaps", "flat_steps"
# The same in the features' own units, where these have few digits, and their unit.
# Format 3 and below had them in single precision, in "raw_gaps".
OWN, UNIT, RAW = "own_gaps", "own_unit", "raw_gaps"
UNITS = np.array([10.0**-n for n in range(4)] + [2.0**-n for n in range(1, 9)])
# L, and L in single precision: what others read, and what it is guessed from.
WHOLE, SINGLE = "components.whole", "components"
FREE = "free_directions"  # see MatrixPrior
# Beside a prior's own numbers: deviations of threshold, scale and implied pairs' shift.
DEVIATIONS = ("threshold_deviation", "scale_deviation", "shift_deviation")


class Shapes(NamedTuple):
    """How arrays lie in memory, and the numbers that each member was fitted with."""

    shapes: Mapping[str, tuple[int, ...]]  # of the packed ones, as they are stored
    kinds: Mapping[str, str]  # "f" or "i", of eight bytes each
    by_column: frozenset[str]  # stored as their transpose
    # 3 rounds guesses as digits.py does; 4 has flat gaps; 5 has whole rotations.
    form: int
    priors: Mapping[str, Mapping[str, float]]  # by the member's name
    weights: Mapping[str, float]  # of all members, in their order


def is_helper(name: str) -> bool:
    """Whether an array is only there for others to be guessed from."""
    return name.endswith(HALF) or name in (LENGTHS, RAW, FLAT, STEPS, OWN, UNIT)


def turn(name: str) -> tuple[int, str]:
    """When an array can be unpacked: after those that it is guessed from."""
    late = {"frame": 2, "directions": 2, FLAT: 3, "gaps": 4}
    late |= {"inverse_root": 5, "whole": 6}
    first = 0 if is_helper(name) else 1
    return late.get(name.rpartition(".")[2], first), name


def helpers(arrays: Arrays, by_column: frozenset[str]) -> Arrays:
    """Small arrays that larger ones can be guessed from."""
    true = _upright(arrays, by_column)
    found: Arrays = {}
    for name, array in true.items():
        start = name.rpartition(".")[0]
        if name.endswith("prior.frame"):
            centre = true[f"{start}.centre"]
            found |= _told(name, (array / _lengths(centre))[:, ::-1])
        if name == "basis.directions":
            found[LENGTHS] = rounded(_column_lengths(array), LENGTH_BITS)
            found |= _told(name, array / found[LENGTHS])
    if "member.0.gaps" in true and "member.0.prior.frame" in true:
        found |= _flat_helpers(true | found)
    return found


def _told(name: str, columns: Array) -> Arrays:
    numbers = told(columns)
    return {} if numbers is None else {name + HALF: numbers}


def _flat_helpers(true: Arrays) -> Arrays:
    """Gaps of pairs as whole numbers; nothing where they are not on a grid."""
    gaps, pairs = true["member.0.gaps"], true["member.0.pairs"]
    if len(gaps) > MOST_PAIRS:
        return {}
    frame, centre = true["member.0.prior.frame"], true["member.0.prior.centre"]
    flat = product(gaps, _inverse(frame, centre))
    steps = _steps_of(flat)
    if steps is None:
        return {}
    whole = np.rint(np.ldexp(flat, -steps)).astype(np.int64)
    found = {FLAT: along_tree(whole, pairs), STEPS: steps.astype(np.int64)}
    directions = true["basis.directions"]
    if LENGTHS in true:
        lengths = true[LENGTHS]
        own = product(on_steps(flat, steps) / lengths, (directions / lengths).T)
        unit = _unit_of(own)
        if unit is not None:
            whole = np.rint(own / unit).astype(np.int64)
            found |= {OWN: along_tree(whole, pairs), UNIT: np.array([unit])}
    return found


def _steps_of(flat: Array) -> NDArray[np.int32] | None:
    """The largest power of two, for each column, of which all numbers are multiples."""
    if not len(flat):
        return None
    largest = np.frexp(np.abs(flat).max(axis=0))[1]
    steps = largest + 1
    is_found = ~flat.any(axis=0)
    for _ in range(BITS):
        steps[~is_found] -= 1
        scaled = np.ldexp(flat, -steps)
        is_found |= (np.abs(scaled - np.rint(scaled)) < NEAR).all(axis=0)
        if is_found.all():
            return np.asarray(steps)
    return None


def _unit_of(own: Array) -> float | None:
    """What features of few digits are multiples of."""
    for unit in UNITS:
        whole = own / unit
        if (np.abs(whole - np.rint(whole)) < NEAR).all():
            # Any number above these is a whole one.
            return float(unit) if np.abs(whole).max() < LARGEST else None
    return None


def guess(name: str, known: Arrays, about: Shapes) -> NDArray[Any] | None:
    """What an array should be by those that are known; None if nothing is."""
    true = _upright(known, about.by_column)
    start, _, last = name.rpartition(".")
    with np.errstate(all="ignore"):  # a forged file may hold any numbers
        if name == WHOLE and SINGLE in known:
            return known[SINGLE].astype(np.float64)
        if about.form > 3 and (name == FLAT or last in ("pairs", "implied")):
            is_flat = name == FLAT
            return (
                _flat_guess(true, about.form) if is_flat else _first(start, last, known)
            )
        made = _made(name, true, about)
    if made is None:
        return None
    if about.form > 2:
        made = rounded(made, SINGLE_BITS if name == WHOLE else BITS)
    return np.ascontiguousarray(made.T) if name in about.by_column else made


def _made(name: str, true: Arrays, about: Shapes) -> Array | None:
    start, _, last = name.rpartition(".")
    if name + HALF in true:
        return _from_half(name, true, about)
    if last == "gaps":
        return _gaps(start, true)
    if last == "inverse_root":
        return _root(start, true, about)
    return _components(true, about) if name == WHOLE else None


def _from_half(name: str, true: Arrays, about: Shapes) -> Array:
    shape = about.shapes[name]
    shape = shape[::-1] if name in about.by_column else shape
    half, is_frame = true[name + HALF], name.endswith("frame")
    made = matrix_of(half, shape) if about.form > 4 else orthogonal(half, shape)
    if not is_frame:
        return made * true[LENGTHS]
    made = made[:, ::-1] if about.form > 4 else made
    return made * _lengths(true[name.removesuffix("frame") + "centre"])


def _first(start: str, last: str, known: Arrays) -> NDArray[Any] | None:
    """The first member's, for the pairs are the same."""
    return None if start == "member.0" else known.get(f"member.0.{last}")


def _flat_guess(true: Arrays, form: int) -> NDArray[np.int64] | None:
    if OWN not in true:
        return None
    if true[UNIT].shape != (1,):
        raise ValueError("its gaps have no unit")
    pairs = true["member.0.pairs"]
    own = off_tree(true[OWN], pairs)
    if form < 5:
        return along_tree(_on_grid(own, true), pairs)
    first, second = (_on_grid(each, true) for each in placed(own, pairs))
    return along_tree(first - second, pairs)


def _on_grid(own: NDArray[np.int64], true: Arrays) -> NDArray[np.int64]:
    """Places or gaps in the features' own units, in steps of the basis' coordinates."""
    flat = product(own.astype(np.float64) * true[UNIT], true["basis.directions"])
    whole = np.rint(np.ldexp(flat, -_steps(true, flat.shape[1])))
    # Larger ones are no whole numbers, and every processor makes others of them.
    return np.clip(whole, -LARGEST, LARGEST).astype(np.int64)


def _steps(true: Arrays, n_columns: int) -> NDArray[np.int32]:
    if true[STEPS].shape != (n_columns,):
        raise ValueError("its gaps are on no grid")
    return np.asarray(np.clip(true[STEPS], -2_000, 2_000).astype(np.int32))


def _gaps(start: str, true: Arrays) -> Array | None:
    """From the flat ones; without these, from the raw ones or the first member's."""
    frame = true[f"{start}.prior.frame"]
    if FLAT in true:
        whole = off_tree(true[FLAT], true["member.0.pairs"])
        flat = np.ldexp(whole.astype(float), _steps(true, true[FLAT].shape[1]))
        return product(flat, frame)
    if start == "member.0":
        if RAW not in true:
            return None
        return product(product(true[RAW], true["basis.directions"]), frame)
    if "member.0.gaps" not in true or "member.0.prior.frame" not in true:
        return None
    first = true["member.0.prior.frame"], true["member.0.prior.centre"]
    return product(true["member.0.gaps"], product(_inverse(*first), frame))


def _root(start: str, true: Arrays, about: Shapes) -> Array | None:
    """The rows of the lower triangle of B^(-1/2): see PairPosterior."""
    if len(about.shapes[f"{start}.inverse_root"]) != 1:
        return None
    covariance = _covariance(start, true, about)
    if covariance is None:
        return None
    half = true[f"{start}.half"]
    B = half[:, None] * covariance * half + np.eye(len(half))
    return np.asarray(inverse_root(B)[np.tril_indices(len(B))])


def _covariance(start: str, true: Arrays, about: Shapes) -> Array | None:
    """Of f between the labelled pairs, before any answer; None for very many."""
    gaps, pairs = true[f"{start}.gaps"], true[f"{start}.pairs"]
    is_small = 0 < len(gaps) <= MOST_PAIRS
    if not is_small or f"{start}.prior.{FREE}" in true:
        return None
    numbers, centre = about.priors[start], true[f"{start}.prior.centre"]
    implied = true[f"{start}.implied"]
    threshold, scale, shift = (numbers[name] for name in DEVIATIONS)
    covariance = product(gaps, gaps.T)
    covariance = covariance * covariance / numbers["precision"]
    distance = _relative(gaps, centre, numbers)
    covariance += scale * scale * (distance[:, None] * distance)
    covariance += threshold * threshold
    covariance += shift * shift * (implied[:, None] * implied)
    shared = sum(
        np.where(pairs[:, None, a] == pairs[None, :, b], sign, 0.0)
        for a, b, sign in ((0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0), (1, 0, -1.0))
    )
    covariance += numbers["item_noise"] * (shared * product(gaps * centre, gaps.T))
    return np.asarray(covariance)


def _relative(gaps: Array, centre: Array, numbers: Mapping[str, float]) -> Array:
    """See MatrixPrior.relative_distance."""
    squared = product(gaps * gaps, centre[:, None])[:, 0]
    return np.asarray((squared - numbers["offset"]) / (1.0 - numbers["offset"]))


def _times(matrix: Array, vector: Array) -> Array:
    return product(matrix, vector[:, None])[:, 0]


def _components(true: Arrays, about: Shapes) -> Array | None:
    """L: see Belief.root and BayesianMetric.take_fit."""
    directions, (n_rows, n_columns) = true["basis.directions"], about.shapes[WHOLE]
    size = directions.shape[1]
    if size > MOST_COLUMNS or not 0 < n_rows <= size or n_columns != len(directions):
        return None
    values, vectors = eigenvectors(_mean_matrix(true, about))
    order = np.argsort(values, kind="stable")
    values, vectors = values[order], settled(values[order], vectors[order].T)
    heaviest = slice(size - 1, size - n_rows - 1 if n_rows < size else None, -1)
    roots = np.sqrt(np.maximum(values[heaviest], 0.0))
    made = product(roots[:, None] * vectors.T[heaviest], directions.T)
    largest = np.take_along_axis(made, np.abs(made).argmax(axis=1)[:, None], axis=1)
    return np.asarray(np.where(largest < 0, -made, made))


def _mean_matrix(true: Arrays, about: Shapes) -> Array:
    """See Belief.mean_matrix."""
    members = [_member_matrix(start, true, about) for start in about.weights]
    weights = np.array(list(about.weights.values()))
    shares = weights / np.array([unit for unit, _ in members])
    total = shares[0] * members[0][1]
    for share, (_, each) in zip(shares[1:], members[1:], strict=True):
        total = total + share * each
    # Python's own sum is another from version 3.12 on.
    weight, share = (np.add.accumulate(each)[-1] for each in (weights, shares))
    return np.asarray(total * (weight / share))


def _member_matrix(start: str, true: Arrays, about: Shapes) -> tuple[float, Array]:
    """The unit of a member's metric, and its mean matrix in the basis' coordinates."""
    if start not in about.priors:
        return 1.0, np.diag(true[f"{start}.mean"][1:])
    numbers, centre = about.priors[start], true[f"{start}.prior.centre"]
    room = 1.0 - numbers["offset"]
    scale, free = _scale_and_free(start, true, numbers)
    if f"{start}.prior.{FREE}" in true:
        spread = true[f"{start}.prior.{FREE}"]
        free = product(product(spread, free), spread.T)
    frame = true[f"{start}.prior.frame"]
    inner = free + np.diag(scale / room * centre)
    return numbers["scale"] / room, product(product(frame, inner), frame.T)


def _scale_and_free(
    start: str, true: Arrays, numbers: Mapping[str, float]
) -> tuple[float, Array]:
    """See MatrixPosterior.parameters."""
    if f"{start}.alpha" not in true:
        parameters, free = (
            true[f"{start}.parameter_mean"],
            true[f"{start}.prior.centre"],
        )
        size = true.get(f"{start}.prior.{FREE}", free[None]).shape[1]
        rows, columns = np.triu_indices(size)
        entries = parameters[2:]
        matrix = np.zeros((size, size))
        matrix[rows, columns] = matrix[columns, rows] = np.where(
            rows == columns, entries, entries / np.sqrt(2.0)
        )
        return float(parameters[1]), matrix
    alpha, gaps = true[f"{start}.alpha"], true[f"{start}.gaps"]
    distance = _relative(gaps, true[f"{start}.prior.centre"], numbers)
    deviation = numbers[DEVIATIONS[1]]
    moved = deviation * deviation * _times(alpha[None], distance)[0]
    if f"{start}.prior.{FREE}" in true:
        gaps = product(gaps, true[f"{start}.prior.{FREE}"])
    free = product((gaps * (alpha / numbers["precision"])[:, None]).T, gaps)
    return float(numbers["scale"] + moved), free


def _lengths(centre: Array) -> Array:
    """Of the columns of a frame: see priors.matrix_prior."""
    return np.asarray(np.sqrt(1.0 / (2.0 - centre)))


def _column_lengths(matrix: Array) -> Array:
    size = float(np.abs(matrix).max()) or 1.0
    squares = np.add.accumulate((matrix / size) ** 2, axis=0)[-1]
    return np.asarray(np.where(squares > 0, np.sqrt(squares) * size, 1.0))


def _inverse(frame: Array, centre: Array) -> Array:
    """Of a frame, whose columns are at right angles."""
    return np.asarray(frame.T * (2.0 - centre)[:, None])


def _upright(arrays: Arrays, by_column: frozenset[str]) -> Arrays:
    return {
        name: array.T if name in by_column else array for name, array in arrays.items()
    }
