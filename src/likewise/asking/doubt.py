"""How doubtful pairs are, nearly: one product of matrices for a tile of pairs.

In single precision, block of items by block of items, each prepared when it is first
needed. Whoever looks for the best pairs begins here (search.py).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.asking.candidates import Pool, row_blocks
from likewise.model.belief import Belief, Member

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Pairs = NDArray[np.intp]
Rows = NDArray[np.intp]


# Members that have no more weight than that in all are not asked where the order of
# pairs need not be exact.
LIGHT = 0.03


class _Block(NamedTuple):
    """Items as one member sees them: products of two blocks are the mean of f."""

    left: Single  # (n, n_basis + 2): norms and threshold ride along as columns
    right: Single  # coordinates first
    moved_rows: Rows  # those of the items known to lie off their features
    moved: Single  # where to: g of math.md


class Doubt:
    """Certainty |2 P - 1| of pairs, P the probability of "same" by the mean metrics."""

    def __init__(self, pool: Pool, *, is_exact: bool = True) -> None:
        belief = pool.belief if is_exact else _heavy(pool.belief)
        self._pool, self._belief = pool, belief
        self.n_items = len(pool.coordinates)
        self._members = [_Margins(each, pool) for each in belief.members]
        self._weights = belief.weights.astype(np.float32)

    @property
    def width(self) -> int:
        """Multiplications that a pair takes."""
        return len(self._members) * int(self._pool.coordinates.shape[1])

    def tile(self, rows: Rows, columns: Rows) -> Single:
        """A measure of certainty, (n_rows, n_columns); see `certainty`."""
        Z = self._pool.coordinates
        ones, others = (
            [each.block(Z, items) for each in self._members]
            for items in (rows, columns)
        )
        return self._mix([_product(a, b) for a, b in zip(ones, others, strict=True)])

    def of_pairs(self, pairs: Pairs) -> Single:
        """The same measure for given pairs, in blocks."""
        result = np.empty(len(pairs), dtype=np.float32)
        Z = self._pool.coordinates
        for block in row_blocks(len(pairs), Z.shape[1]):
            some = pairs[block]
            gaps = Z.take(some[:, 0], axis=0) - Z.take(some[:, 1], axis=0)
            single = gaps.astype(np.float32)
            result[block] = self._mix(
                [each.of_gaps(single, some) for each in self._members]
            )
        return result

    def certainty(self, measure: Array) -> Array:
        """|2 P - 1| from what `tile` gives: of one member that is |f|, which is faster.

        Any measure would do that orders pairs alike.
        """
        return np.tanh(measure / 2) if len(self._weights) == 1 else measure

    def measure(self, certainty: float) -> float:
        """The inverse of `certainty`."""
        if len(self._weights) > 1 or certainty >= 1:
            return certainty if certainty < 1 else np.inf
        return float(2 * np.arctanh(certainty))

    def rounding(self) -> float:
        """No measure is wrong by more, of all pairs of the blocks seen so far."""
        worst = max(each.rounding() for each in self._members)
        return worst if len(self._weights) == 1 else worst / 2 + 1e-6

    def _mix(self, margins: list[Single]) -> Single:
        if len(margins) == 1:
            return np.abs(margins[0], out=margins[0])
        # 2 P - 1 is -tanh(f / 2), which takes a tenth of the time of P.
        total = np.zeros_like(margins[0])
        for weight, margin in zip(self._weights, margins, strict=True):
            margin *= np.float32(0.5)
            np.tanh(margin, out=margin)
            margin *= weight
            total += margin
        return np.abs(total, out=total)


class _Margins:
    """What one member makes of blocks of items, each block prepared once."""

    def __init__(self, member: Member, pool: Pool) -> None:
        self._matrix = member.posterior.mean_matrix()
        self._threshold = member.posterior.threshold
        self._moved: Array | None = None
        if pool.are_known:
            self._moved = member.posterior.moved_items(len(pool.coordinates))
        if self._moved is not None:
            self._is_moved = np.asarray(self._moved.any(axis=1))
        self._blocks: dict[int, _Block] = {}
        self._longest = 0.0

    def block(self, coordinates: Array, items: Rows) -> _Block:
        """The block of these items; a block is known by its first one."""
        if int(items[0]) not in self._blocks:
            self._blocks[int(items[0])] = self._prepare(coordinates, items)
        return self._blocks[int(items[0])]

    def of_gaps(self, gaps: Single, pairs: Pairs) -> Single:
        """The mean of f of pairs with these gaps, u'Au - t and what moved them."""
        single = self._matrix.astype(np.float32)
        margins = np.einsum("ij,ij->i", gaps @ single, gaps)
        margins -= np.float32(self._threshold)
        # |u|^2 |A| is the most that any sum on the way to u'Au can be.
        farthest = float(np.linalg.norm(gaps, axis=1).max(initial=0))
        size = 2 * farthest**2 * float(np.linalg.norm(single))
        if self._moved is not None:
            is_moved = self._is_moved[pairs[:, 0]] | self._is_moved[pairs[:, 1]]
            one, other = pairs[is_moved].T
            moved = (self._moved[one] - self._moved[other]).astype(np.float32)
            margins[is_moved] += np.einsum("ij,ij->i", moved, gaps[is_moved])
            size += float(np.linalg.norm(moved, axis=1).max(initial=0) * farthest)
        self._longest = max(self._longest, (size + abs(self._threshold)) ** 0.5)
        return np.asarray(margins)

    def rounding(self) -> float:
        """What a product in single precision may be wrong by: n eps |a| |b|."""
        n_columns = len(self._matrix) + 4
        if self._moved is not None:
            n_columns += len(self._matrix)
        return n_columns * float(np.finfo(np.float32).eps) * self._longest**2

    def _prepare(self, coordinates: Array, items: Rows) -> _Block:
        Z = coordinates[items]
        mapped, ones = Z @ self._matrix, np.ones((len(Z), 1))
        norms = np.einsum("ij,ij->i", mapped, Z) - self._threshold / 2
        left = -2 * mapped
        rows, moved = np.empty(0, np.intp), Z[:0]
        if self._moved is not None:
            moved = self._moved[items]
            rows = np.flatnonzero(moved.any(axis=1))
            norms += np.einsum("ij,ij->i", moved, Z)
            left -= moved
            moved = moved[rows]
        factors = (
            np.hstack([left, norms[:, None], ones]),
            np.hstack([Z, ones, norms[:, None]]),
        )
        for each in (*factors, moved):
            squares = np.einsum("ij,ij->i", each, each)
            self._longest = max(self._longest, float(squares.max(initial=0)) ** 0.5)
        single = [each.astype(np.float32) for each in (*factors, moved)]
        return _Block(single[0], single[1], rows, single[2])


def _heavy(belief: Belief) -> Belief:
    """The belief without its lightest members; the heaviest come first."""
    n_kept = 1 + int(np.searchsorted(np.cumsum(belief.weights), 1 - LIGHT))
    return replace(belief, members=belief.members[:n_kept])


def _product(one: _Block, other: _Block) -> Single:
    """The mean of f of every pair of an item of one block and one of another.

    f gains (g_i - g_j)'(z_i - z_j): all of it but g_j'z_i is in the factors, and few
    items j were asked about.
    """
    margins = one.left @ other.right.T
    if len(other.moved_rows):
        margins[:, other.moved_rows] -= one.right[:, :-2] @ other.moved.T
    return margins
