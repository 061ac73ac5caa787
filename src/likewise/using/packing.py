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

from likewise.digits import BITS, rounded

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]
Bytes = NDArray[np.uint8]

# zlib makes no more of a byte than 1,032: a claim to hold more is a lie.
MOST_OF_A_BYTE = 1_032
# Bytes that a small file may claim to hold, and a large one for each of its own.
MOST_CLAIMED, MOST_SHARE = 2**28, 64
# Pairs and columns up to which roots and orthogonal matrices are guessed: it takes
# seconds beyond.
MOST_PAIRS, MOST_COLUMNS = 800, 400
# What a product of matrices may be wrong by, beside the largest number in it.
ROUNDING = 1e-10
# What is added to be guessed from: half of an orthogonal matrix, the lengths of the
# basis' columns, and gaps of pairs in the features' own units, in single precision.
HALF, LENGTHS, RAW = ".reflectors", "basis.lengths", "raw_gaps"
# What half of a matrix is kept with: fewer bits than these, and the other is guessed
# wrong; more, and the half is what weighs.
HALF_BITS = BITS + 4
# L, and L in single precision: what others read, and what it is guessed from.
WHOLE, SINGLE = "components.whole", "components"


# Beside a prior's own numbers: deviations of threshold, scale and implied pairs' shift.
DEVIATIONS = ("threshold_deviation", "scale_deviation", "shift_deviation")


class Shapes(NamedTuple):
    """How arrays lie in memory, and the numbers that each member was fitted with."""

    shapes: Mapping[str, tuple[int, ...]]  # of the packed ones, as they are stored
    kinds: Mapping[str, str]  # "f" or "i", of eight bytes each
    by_column: frozenset[str]  # stored as their transpose
    is_rounded: bool  # as digits.py does; files of format 2 were not
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
    return name.endswith(HALF) or name in (LENGTHS, RAW)


def _turn(name: str) -> tuple[int, str]:
    """When an array can be unpacked: after those that it is guessed from."""
    late = {"frame": 2, "directions": 2, "gaps": 3, "inverse_root": 4}
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
            found[LENGTHS] = _column_lengths(array)
            found[name + HALF] = _half(array / found[LENGTHS])
    gaps, frame = true.get("member.0.gaps"), true.get("member.0.prior.frame")
    if gaps is not None and frame is not None and len(gaps) and LENGTHS in found:
        flat = product(gaps, _inverse(frame, true["member.0.prior.centre"]))
        lengths = found[LENGTHS]
        raw = product(flat / (lengths * lengths), true["basis.directions"].T)
        # Features of few digits come back exactly; of others this gains nothing.
        snapped = single(np.where(np.abs(raw) <= _noise_of(raw), 0.0, raw)).astype(
            float
        )
        if np.median(np.abs(raw - snapped)) <= _noise_of(raw):
            found[RAW] = snapped
    return found


def _half(matrix: Array) -> Array:
    return rounded(reflectors(matrix), HALF_BITS)


def _can_be_turned(matrix: Array) -> bool:
    return bool(matrix.shape[1] <= min(MOST_COLUMNS, len(matrix)))


def single(values: Array) -> NDArray[np.float32]:
    """The nearest numbers of single precision."""
    limits = np.finfo(np.float32)
    return np.clip(values, limits.min, limits.max).astype(np.float32)


def _noise_of(raw: Array) -> float:
    return float(ROUNDING * np.abs(raw).max())


def guess(name: str, known: Arrays, about: Shapes) -> Array | None:
    """What an array should be by those that are known; None if nothing is."""
    true = _upright(known, about.by_column)
    start, _, last = name.rpartition(".")
    made: Array | None = None
    with np.errstate(all="ignore"):  # a forged file may hold any numbers
        if name == WHOLE:
            return known[SINGLE].astype(np.float64)
        if name + HALF in known:
            made = _from_half(name, true, about)
        elif last == "gaps":
            made = _gaps(start, true)
        elif last == "inverse_root":
            made = _root(start, true, about)
    if made is None:
        return None
    if about.is_rounded:
        made = rounded(made)
    return np.ascontiguousarray(made.T) if name in about.by_column else made


def _from_half(name: str, true: Arrays, about: Shapes) -> Array:
    shape = about.shapes[name]
    shape = shape[::-1] if name in about.by_column else shape
    made = orthogonal(true[name + HALF], shape)
    if name.endswith("frame"):
        return made * _lengths(true[name.removesuffix("frame") + "centre"])
    return made * true[LENGTHS]


def _gaps(start: str, true: Arrays) -> Array | None:
    """Those of the first member from the raw ones, the others' from the first's."""
    frame = true[f"{start}.prior.frame"]
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


def packed(values: NDArray[Any], guessed: Array | None) -> Bytes:
    """Numbers of eight bytes as what they differ from the guess by, compressed."""
    off = _ordered(values)
    if guessed is not None:
        off = off - _ordered(guessed)
    folded = (off << 1) ^ (off >> 63)  # small, whatever the sign
    # The first bytes of all numbers, then their second ones: most are zero.
    by_place = folded.astype("<i8").view(np.uint8).reshape(-1, 8).T
    return np.frombuffer(zlib.compress(by_place.tobytes(), 9), dtype=np.uint8)


def unpacked(
    data: Bytes, shape: tuple[int, ...], kind: str, guessed: Array | None
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


# Linear algebra whose every rounding is the same on every machine


def product(a: Array, b: Array) -> Array:
    """a @ b, summed from the first to the last."""
    if a.shape[1] != len(b):
        raise ValueError(f"its shapes do not fit: {a.shape} and {b.shape}")
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
        v = left[j:, j].copy()
        v[0] += 1.0 if v[0] >= 0 else -1.0
        found.append(v)
        _reflect(left[j:, j:], v)
    return np.concatenate(found)


def orthogonal(vectors: Array, shape: tuple[int, ...]) -> Array:
    """The matrix with orthonormal columns that `reflectors` took apart."""
    if len(shape) != 2 or shape[0] < shape[1]:
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
    squares = np.add.accumulate(matrix * matrix, axis=0)[-1]
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0)))


def _inverse(frame: Array, centre: Array) -> Array:
    """Of a frame, whose columns are at right angles."""
    return np.asarray(frame.T * (2.0 - centre)[:, None])


def _upright(arrays: Arrays, by_column: frozenset[str]) -> Arrays:
    return {
        name: array.T if name in by_column else array for name, array in arrays.items()
    }
