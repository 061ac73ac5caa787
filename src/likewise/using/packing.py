"""Arrays of a metric in few bytes, and every bit of them back.

Much of a belief follows from the rest of it (see guesses.py). Stored is what the guess
is wrong by, a few bits a number.
"""

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.using.algebra import MOST_CLAIMED, MOST_SHARE
from likewise.using.guesses import Arrays, Shapes, guess, is_helper, turn

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# zlib makes no more of a byte than 1,032: a claim to hold more is a lie.
MOST_OF_A_BYTE = 1_032
# Numbers in a block whose last bits are kept as they are, how many bits of their mean
# are not, and how many may be; what begins with SPLIT, as no zlib does, is kept so.
BLOCK, BITS_LEFT, MOST_SHIFTED, SPLIT = 32, 6, 56, b"\x01"


def pack(arrays: Arrays, plain: Arrays, about: Shapes) -> Arrays:
    """Every array, the helpers among them, in few bytes; a reader knows the plain."""
    known = arrays | plain
    return {name: packed(arrays[name], guess(name, known, about)) for name in arrays}


def apart(every: Bytes, names: Iterable[str], sizes: list[int]) -> Arrays:
    """What was packed, by its names in their order, from all of it."""
    is_size = all(type(size) is int and size >= 0 for size in sizes)
    if not is_size or every.shape != (sum(sizes),):
        raise ValueError(f"its {every.size:,} packed bytes are not those of its parts")
    parts = np.split(every, np.cumsum(sizes)[:-1])
    return dict(zip(sorted(names), parts, strict=True))


def unpack(arrays: Arrays, about: Shapes) -> Arrays:
    """What was packed, without the helpers, and all other arrays as they are."""
    sizes = [np.prod(np.array(each, dtype=object)) for each in about.shapes.values()]
    n_bytes = sum(array.nbytes for array in arrays.values())
    if 8 * sum(sizes) > max(MOST_CLAIMED, MOST_SHARE * n_bytes):
        raise ValueError(
            f"its {n_bytes:,} bytes are said to hold {sum(sizes):,} numbers"
        )
    known = {name: array for name, array in arrays.items() if name not in about.shapes}
    for name in sorted(about.shapes, key=turn):
        guessed = guess(name, known, about)
        shape, kind = about.shapes[name], about.kinds[name]
        known[name] = unpacked(arrays[name], shape, kind, guessed)
    return {name: array for name, array in known.items() if not is_helper(name)}


def single(values: Array) -> NDArray[np.float32]:
    """The nearest numbers of single precision."""
    limits = np.finfo(np.float32)
    return np.clip(values, limits.min, limits.max).astype(np.float32)


def packed(values: NDArray[Any], guessed: NDArray[Any] | None) -> Bytes:
    """Numbers of eight bytes as what they differ from the guess by, compressed."""
    off = _ordered(values)
    if guessed is not None:
        off = off - _ordered(guessed)
    folded = ((off << 1) ^ (off >> 63)).view(np.uint64)  # small, whatever the sign
    whole = zlib.compress(_by_place(folded), 9)
    if values.dtype.kind == "i":
        whole = min(whole, _split(folded), key=len)
    return np.frombuffer(whole, dtype=np.uint8)


def _split(folded: NDArray[np.uint64]) -> bytes:
    """Last bits as they are: noise is no shorter for being compressed, but hides."""
    shifts = _noise(folded)
    shift = np.repeat(shifts, BLOCK)[: folded.size]
    first = zlib.compress(shifts.tobytes() + _by_place(folded >> shift), 9)
    return SPLIT + first + _low_bits(folded, shift)


def _by_place(numbers: NDArray[np.uint64]) -> bytes:
    """The first bytes of all numbers, then their second ones: most are zero."""
    return numbers.astype("<u8").view(np.uint8).reshape(-1, 8).T.tobytes()


def _noise(numbers: NDArray[np.uint64]) -> Bytes:
    """Bits at the end of a block's numbers of which nothing is known."""
    padded = np.zeros(-(-numbers.size // BLOCK) * BLOCK)
    padded[: numbers.size] = numbers
    n_bits = np.frexp(padded.reshape(-1, BLOCK).mean(axis=1))[1]
    return np.asarray(np.clip(n_bits - BITS_LEFT, 0, MOST_SHIFTED), dtype=np.uint8)


def _low_bits(numbers: NDArray[np.uint64], shift: Bytes) -> bytes:
    """So many bits of each number: the last of all, then those before them."""
    planes = [
        (numbers[shift > place] >> np.uint64(place)) & np.uint64(1)
        for place in range(int(shift.max(initial=0)))
    ]
    return np.packbits(np.concatenate([[], *planes]).astype(np.uint8)).tobytes()


def _with_low_bits(
    numbers: NDArray[np.uint64], shift: Bytes, data: bytes
) -> NDArray[np.uint64]:
    """The numbers again of which `_low_bits` wrote the last bits."""
    n_bits = int(shift.sum(dtype=np.int64))
    if len(data) != -(-n_bits // 8) or shift.max(initial=0) > MOST_SHIFTED:
        raise ValueError(f"{len(data):,} bytes are said to hold {n_bits:,} bits")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    result, start = numbers << shift, 0
    for place in range(int(shift.max(initial=0))):
        rows = np.flatnonzero(shift > place)
        found = bits[start : start + len(rows)].astype(np.uint64)
        result[rows] |= found << np.uint64(place)
        start += len(rows)
    return np.asarray(result)


def unpacked(
    data: Bytes, shape: tuple[int, ...], kind: str, guessed: NDArray[Any] | None
) -> NDArray[Any]:
    """The numbers of `packed`; refuses what cannot hold so many."""
    size = int(np.prod(np.array(shape, dtype=object)))
    if 8 * size > MOST_OF_A_BYTE * len(data):
        raise ValueError(f"{len(data):,} bytes are said to hold {shape!r:.40}")
    folded = _folded(data.tobytes(), size)
    off = (folded >> np.uint64(1)).astype(np.int64) ^ -(folded & np.uint64(1)).astype(
        np.int64
    )
    if guessed is not None:
        if guessed.shape != shape:
            raise ValueError(f"its shapes do not fit: {guessed.shape} and {shape}")
        off = off + _ordered(guessed)
    return _disordered(off, kind).reshape(shape)


def _folded(data: bytes, size: int) -> NDArray[np.uint64]:
    """So many whole numbers, as `packed` compressed them."""
    is_split = data.startswith(SPLIT)
    n_blocks = -(-size // BLOCK) if is_split else 0
    n_bytes = n_blocks + 8 * size
    unzip = zlib.decompressobj()
    try:
        plain = unzip.decompress(data.removeprefix(SPLIT), n_bytes + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(plain) != n_bytes or not unzip.eof:
        raise ValueError(f"its packed numbers are not {n_bytes:,} bytes")
    every = np.frombuffer(plain, dtype=np.uint8)
    by_place = np.ascontiguousarray(every[n_blocks:].reshape(8, -1).T)
    folded = by_place.view("<u8").ravel().astype(np.uint64)
    if not is_split:
        return folded
    shift = np.repeat(every[:n_blocks], BLOCK)[:size]
    return _with_low_bits(folded, shift, unzip.unused_data)


def _ordered(values: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers in the order of the values: neighbours differ by one."""
    bits = np.ascontiguousarray(values).ravel().view(np.int64)
    return bits if values.dtype.kind == "i" else bits ^ ((bits >> 63) & _MOST)


def _disordered(whole: NDArray[np.int64], kind: str) -> NDArray[Any]:
    if kind == "i":
        return whole
    return (whole ^ ((whole >> 63) & _MOST)).view(np.float64)


_MOST = np.int64(2**63 - 1)
