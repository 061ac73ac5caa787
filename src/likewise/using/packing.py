"""Arrays of a metric in few bytes, and every bit of them back.

Much of a belief follows from the rest of it: the gaps of pairs by one prior from those
by another, the root of a covariance from what it is the covariance of, half of an
orthogonal matrix from the other half. Such an array is guessed, and stored is what the
guess is wrong by, a few bits a number. A guess must be the same on every machine, not
right: here sums have one order, and nothing is used but operations that IEEE 754 rounds
alike everywhere.
"""

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.digits import (
    BITS,
    GRID_PAIRS,
    LENGTH_BITS,
    on_steps,
    rounded,
    rounded_turns,
)

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]
Bytes = NDArray[np.uint8]

# zlib makes no more of a byte than 1,032: a claim to hold more is a lie.
MOST_OF_A_BYTE = 1_032
# Bytes that a small file may claim to hold, and a large one for each of its own.
MOST_CLAIMED, MOST_SHARE = 2**28, 64
# Pairs and columns up to which roots and orthogonal matrices are guessed: it takes
# seconds beyond.
MOST_PAIRS, MOST_COLUMNS = GRID_PAIRS, 400
# What is added to be guessed from: half of an orthogonal matrix, the lengths of the
# basis' columns, and gaps of pairs in the basis' coordinates, in steps that are powers
# of two.
HALF, LENGTHS, FLAT, STEPS = ".reflectors", "basis.lengths", "flat_gaps", "flat_steps"
# The same in the features' own units, where these have few digits, and their unit.
# Format 3 and below had them in single precision, in "raw_gaps".
OWN, UNIT, RAW = "own_gaps", "own_unit", "raw_gaps"
UNITS = np.array([10.0**-n for n in range(4)] + [2.0**-n for n in range(1, 9)])
# As near as this to a whole number of steps is on them; floats above LARGEST all are.
NEAR, LARGEST = 1 / 16, 2.0**50
# What half of a matrix is kept with that is not on the grid of `turned`: fewer bits
# than these, and the other is guessed wrong; more, and the half is what weighs.
HALF_BITS = BITS + 4
# On the grid of `turned`, but for the rounding of the matrix.
ON_GRID = 2.0**-28
# Less of a column than this along an axis: rounding may have turned it either way.
RIGHT_ANGLE = 2.0**-16
# L, and L in single precision: what others read, and what it is guessed from.
WHOLE, SINGLE = "components.whole", "components"


# Beside a prior's own numbers: deviations of threshold, scale and implied pairs' shift.
DEVIATIONS = ("threshold_deviation", "scale_deviation", "shift_deviation")


class Shapes(NamedTuple):
    """How arrays lie in memory, and the numbers that each member was fitted with."""

    shapes: Mapping[str, tuple[int, ...]]  # of the packed ones, as they are stored
    kinds: Mapping[str, str]  # "f" or "i", of eight bytes each
    by_column: frozenset[str]  # stored as their transpose
    form: int  # 3 rounds guesses as digits.py does; 4 has flat gaps
    priors: Mapping[str, Mapping[str, float]]  # by the member's name


def pack(arrays: Arrays, plain: Arrays, about: Shapes) -> Arrays:
    """Every array, the helpers among them, in few bytes; a reader knows the plain."""
    known = arrays | plain
    return {name: packed(arrays[name], guess(name, known, about)) for name in arrays}


def unpack(arrays: Arrays, about: Shapes) -> Arrays:
    """What was packed, without the helpers, and all other arrays as they are."""
    sizes = [np.prod(np.array(each, dtype=object)) for each in about.shapes.values()]
    n_bytes = sum(array.nbytes for array in arrays.values())
    if 8 * sum(sizes) > max(MOST_CLAIMED, MOST_SHARE * n_bytes):
        raise ValueError(
            f"its {n_bytes:,} bytes are said to hold {sum(sizes):,} numbers"
        )
    known = {name: array for name, array in arrays.items() if name not in about.shapes}
    for name in sorted(about.shapes, key=_turn):
        guessed = guess(name, known, about)
        shape, kind = about.shapes[name], about.kinds[name]
        known[name] = unpacked(arrays[name], shape, kind, guessed)
    return {name: array for name, array in known.items() if not _is_helper(name)}


def _is_helper(name: str) -> bool:
    return name.endswith(HALF) or name in (LENGTHS, RAW, FLAT, STEPS, OWN, UNIT)


def _turn(name: str) -> tuple[int, str]:
    """When an array can be unpacked: after those that it is guessed from."""
    late = {"frame": 2, "directions": 2, FLAT: 3, "gaps": 4, "inverse_root": 5}
    first = 0 if _is_helper(name) else 1
    return late.get(name.rpartition(".")[2], first), name


def helpers(arrays: Arrays, by_column: frozenset[str]) -> Arrays:
    """Small arrays that larger ones can be guessed from."""
    true = _upright(arrays, by_column)
    found: Arrays = {}
    for name, array in true.items():
        if name.endswith("prior.frame") and _can_be_turned(array):
            centre = true[name.removesuffix("frame") + "centre"]
            found[name + HALF] = _half(array / _lengths(centre))
        if name == "basis.directions" and _can_be_turned(array):
            found[LENGTHS] = rounded(_column_lengths(array), LENGTH_BITS)
            found[name + HALF] = _half(array / found[LENGTHS])
    if "member.0.gaps" in true and "member.0.prior.frame" in true:
        found |= _flat_helpers(true | found)
    return found


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


def _half(matrix: Array) -> Array:
    vectors = reflectors(matrix)
    few = rounded_turns(vectors)
    is_on_grid = np.abs(few - vectors).max(initial=0.0) < ON_GRID
    return few if is_on_grid else rounded(vectors, HALF_BITS)


def _can_be_turned(matrix: Array) -> bool:
    return bool(matrix.shape[1] <= min(MOST_COLUMNS, len(matrix)))


def single(values: Array) -> NDArray[np.float32]:
    """The nearest numbers of single precision."""
    limits = np.finfo(np.float32)
    return np.clip(values, limits.min, limits.max).astype(np.float32)


def guess(name: str, known: Arrays, about: Shapes) -> NDArray[Any] | None:
    """What an array should be by those that are known; None if nothing is."""
    true = _upright(known, about.by_column)
    start, _, last = name.rpartition(".")
    made: Array | None = None
    with np.errstate(all="ignore"):  # a forged file may hold any numbers
        if name == WHOLE:
            return known[SINGLE].astype(np.float64)
        if about.form > 3 and (name == FLAT or last in ("pairs", "implied")):
            return _flat_guess(true) if name == FLAT else _first(start, last, known)
        if name + HALF in known:
            made = _from_half(name, true, about)
        elif last == "gaps":
            made = _gaps(start, true)
        elif last == "inverse_root":
            made = _root(start, true, about)
    if made is None:
        return None
    if about.form > 2:
        made = rounded(made)
    return np.ascontiguousarray(made.T) if name in about.by_column else made


def _from_half(name: str, true: Arrays, about: Shapes) -> Array:
    shape = about.shapes[name]
    shape = shape[::-1] if name in about.by_column else shape
    made = orthogonal(true[name + HALF], shape)
    if name.endswith("frame"):
        return made * _lengths(true[name.removesuffix("frame") + "centre"])
    return made * true[LENGTHS]


def _first(start: str, last: str, known: Arrays) -> NDArray[Any] | None:
    """The first member's, for the pairs are the same."""
    return None if start == "member.0" else known.get(f"member.0.{last}")


def _flat_guess(true: Arrays) -> NDArray[np.int64] | None:
    if OWN not in true:
        return None
    if true[UNIT].shape != (1,):
        raise ValueError("its gaps have no unit")
    pairs = true["member.0.pairs"]
    own = off_tree(true[OWN], pairs).astype(np.float64) * true[UNIT]
    flat = product(own, true["basis.directions"])
    whole = np.rint(np.ldexp(flat, -_steps(true, flat.shape[1])))
    # Larger ones are no whole numbers, and every processor makes others of them.
    return along_tree(np.clip(whole, -LARGEST, LARGEST).astype(np.int64), pairs)


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
    gaps, pairs = true[f"{start}.gaps"], true[f"{start}.pairs"]
    is_small = 0 < len(gaps) <= MOST_PAIRS
    if not is_small or f"{start}.prior.free_directions" in true:
        return None
    if len(about.shapes[f"{start}.inverse_root"]) != 1:
        return None
    numbers, centre = about.priors[start], true[f"{start}.prior.centre"]
    implied, half = true[f"{start}.implied"], true[f"{start}.half"]
    threshold, scale, shift = (numbers[name] for name in DEVIATIONS)
    covariance = product(gaps, gaps.T)
    covariance = covariance * covariance / numbers["precision"]
    squared = product(gaps * gaps, centre[:, None])[:, 0]
    distance = (squared - numbers["offset"]) / (1.0 - numbers["offset"])
    covariance += scale * scale * (distance[:, None] * distance)
    covariance += threshold * threshold
    covariance += shift * shift * (implied[:, None] * implied)
    shared = sum(
        np.where(pairs[:, None, a] == pairs[None, :, b], sign, 0.0)
        for a, b, sign in ((0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0), (1, 0, -1.0))
    )
    covariance += numbers["item_noise"] * (shared * product(gaps * centre, gaps.T))
    B = half[:, None] * covariance * half + np.eye(len(half))
    return np.asarray(inverse_root(B)[np.tril_indices(len(B))])


# Bytes


def packed(values: NDArray[Any], guessed: NDArray[Any] | None) -> Bytes:
    """Numbers of eight bytes as what they differ from the guess by, compressed."""
    off = _ordered(values)
    if guessed is not None:
        off = off - _ordered(guessed)
    folded = (off << 1) ^ (off >> 63)  # small, whatever the sign
    # The first bytes of all numbers, then their second ones: most are zero.
    by_place = folded.astype("<i8").view(np.uint8).reshape(-1, 8).T
    return np.frombuffer(zlib.compress(by_place.tobytes(), 9), dtype=np.uint8)


def unpacked(
    data: Bytes, shape: tuple[int, ...], kind: str, guessed: NDArray[Any] | None
) -> NDArray[Any]:
    """The numbers of `packed`; refuses what cannot hold so many."""
    n_bytes = 8 * int(np.prod(np.array(shape, dtype=object)))
    if n_bytes > MOST_OF_A_BYTE * len(data):
        raise ValueError(f"{len(data):,} bytes are said to hold {shape!r:.40}")
    unzip = zlib.decompressobj()
    try:
        plain = unzip.decompress(data.tobytes(), n_bytes + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(plain) != n_bytes or not unzip.eof:
        raise ValueError(f"its packed numbers are not {n_bytes:,} bytes")
    by_place = np.frombuffer(plain, dtype=np.uint8).reshape(8, -1)
    folded = np.ascontiguousarray(by_place.T).view("<u8").ravel()
    off = (folded >> np.uint64(1)).astype(np.int64) ^ -(folded & np.uint64(1)).astype(
        np.int64
    )
    if guessed is not None:
        if guessed.shape != shape:
            raise ValueError(f"its shapes do not fit: {guessed.shape} and {shape}")
        off = off + _ordered(guessed)
    return _disordered(off, kind).reshape(shape)


def _ordered(values: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers in the order of the values: neighbours differ by one."""
    bits = np.ascontiguousarray(values).ravel().view(np.int64)
    return bits if values.dtype.kind == "i" else bits ^ ((bits >> 63) & _MOST)


def _disordered(whole: NDArray[np.int64], kind: str) -> NDArray[Any]:
    if kind == "i":
        return whole
    return (whole ^ ((whole >> 63) & _MOST)).view(np.float64)


_MOST = np.int64(2**63 - 1)


# Gaps of pairs that share items


class _Places:
    """Where items lie, as far as gaps say: beside each other, in groups."""

    def __init__(self) -> None:
        self._places: dict[int, NDArray[np.int64]] = {}
        self._groups: dict[int, list[int]] = {}

    def gap(self, i: int, j: int) -> NDArray[np.int64] | None:
        """What earlier gaps say of a pair; None if they say nothing."""
        if i not in self._groups or self._groups[i] is not self._groups.get(j):
            return None
        return self._places[i] - self._places[j]

    def learn(self, i: int, j: int, gap: NDArray[np.int64]) -> None:
        """Put two groups together by the gap of a pair."""
        for item in (i, j):
            if item not in self._groups:
                self._groups[item], self._places[item] = [item], np.zeros_like(gap)
        if self._groups[i] is self._groups[j]:
            return  # an item and itself
        shift = self._places[j] + gap - self._places[i]
        moved, kept = self._groups[i], self._groups[j]
        if len(moved) > len(kept):
            moved, kept, shift = kept, moved, -shift
        for item in moved:
            self._places[item] = self._places[item] + shift
            self._groups[item] = kept
        kept += moved


def along_tree(gaps: NDArray[np.int64], pairs: NDArray[Any]) -> NDArray[np.int64]:
    """Rows of whole numbers less what the rows before say of the same pair."""
    return _on_tree(gaps, pairs, is_less=False)


def off_tree(left: NDArray[np.int64], pairs: NDArray[Any]) -> NDArray[np.int64]:
    """The rows again, of which `along_tree` left these."""
    return _on_tree(left, pairs, is_less=True)


def _on_tree(
    rows: NDArray[np.int64], pairs: NDArray[Any], is_less: bool
) -> NDArray[np.int64]:
    if pairs.shape != (len(rows), 2):
        raise ValueError(f"its shapes do not fit: {rows.shape} and {pairs.shape}")
    if len(rows) > MOST_PAIRS:
        raise ValueError(f"it has flat gaps of {len(rows):,} pairs")
    places, result = _Places(), rows.copy()
    for row, (i, j) in enumerate(pairs.tolist()):
        said = places.gap(i, j)
        if said is not None:
            result[row] += said if is_less else -said
        else:
            places.learn(i, j, result[row])
    return result


# Linear algebra whose every rounding is the same on every machine


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


def reflectors(matrix: Array) -> Array:
    """Householder's vectors of a matrix with orthonormal columns, end to end."""
    left, found = matrix.copy(), []
    for j in range(left.shape[1]):
        v = _reflector(left[j:, j])
        found.append(v)
        _reflect(left[j:, j:], v)
    return np.concatenate(found)


def _reflector(column: Array) -> Array:
    """What turns a column onto an axis, whichever way is farther.

    At right angles to it no way is: then the one of few bits, which `turned` took.
    """
    first = 1.0 if column[0] >= 0 else -1.0
    ways: list[Array] = []
    for sign in (first, -first):
        v = column.copy()
        v[0] += sign
        ways.append(np.asarray(v / abs(v[0])))
        if abs(column[0]) > RIGHT_ANGLE:
            return ways[0]
    return min(ways, key=lambda v: float(np.abs(v - rounded_turns(v)).max()))


def orthogonal(vectors: Array, shape: tuple[int, ...]) -> Array:
    """The matrix with orthonormal columns that `reflectors` took apart."""
    if len(shape) != 2 or not shape[1] <= min(shape[0], MOST_COLUMNS):
        raise ValueError(f"no orthonormal columns have the shape {shape!r:.40}")
    sizes = shape[0] - np.arange(shape[1])
    if vectors.size != sizes.sum():
        raise ValueError(f"{vectors.size} numbers cannot be turned into {shape!r:.40}")
    parts = np.split(vectors, np.cumsum(sizes)[:-1])
    result = np.eye(*shape)
    for j, v in reversed(list(enumerate(parts))):
        # The column was turned onto -1 or 1, whichever was farther.
        result[j, j] = -1.0 if v[0] >= 0 else 1.0
        _reflect(result[j:, j:], v)
    return result


def _reflect(matrix: Array, v: Array) -> None:
    """(I - 2 v v' / v'v) matrix, in place."""
    # Accumulated, not summed: each sum stands on the one before it.
    squares = np.add.accumulate(v * v)[-1]
    if squares > 0:
        along = np.add.accumulate(v[:, None] * matrix, axis=0)[-1]
        matrix -= v[:, None] * (along * (2.0 / squares))


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
