"""Pairs that may be asked, of all of them those worth scoring, in blocks.

Memory follows the block and the shortlist, never the number of pairs.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.model.basis import Basis
from likewise.model.belief import Belief, Member
from likewise.threads import one_thread

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]
Single = NDArray[np.float32]

# Numbers in a block of features: 4 MiB; smaller ones starve the second core.
BLOCK_SIZE = 2**19
# Items along each side of a tile of all pairs: 2 MiB in single precision.
TILE = 724
# Pairs that are scored exactly, of the many that may be asked.
SHORTLIST = 3_000


@dataclass(frozen=True)
class Pool:
    """The items that may be asked about, as a belief sees them."""

    belief: Belief
    basis: Basis
    coordinates: Array  # (n_items, n_basis)

    def features(self, pairs: Pairs) -> Array:
        """What the metric weighs, for each pair."""
        Z = self.coordinates
        return self.basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]])

    def map(self, apply: Callable[[Belief, Array], Array], pairs: Pairs) -> Array:
        """Apply a function of belief and features to all pairs, in blocks."""
        return map_features(
            lambda features, block: apply(self.belief.knowing(block), features),
            self.basis,
            self.coordinates,
            pairs,
            width=self.belief.width,
        )

    def probability_same(self, pairs: Pairs) -> Array:
        """P(same) of each pair of these items, with what is known of them."""
        return self.map(lambda belief, given: belief.probability_same(given), pairs)


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows of `width` numbers into blocks that fit the cache."""
    step = max(64, BLOCK_SIZE // max(width, 1))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def map_features(
    apply: Callable[[Array, Pairs], Array],
    basis: Basis,
    coordinates: Array,
    pairs: Pairs,
    *,
    width: int,
    n_threads: int = 1,
) -> Array:
    """Apply a function of features and pairs to all, in blocks; a number a pair.

    `width` is how many numbers the function holds for each pair: it cuts the blocks.
    Half of the work is not matrix products: several threads with one core each keep
    all cores busy, where BLAS alone would not.
    """
    result = np.empty(len(pairs))

    def work(block: slice) -> None:
        gaps = coordinates.take(pairs[block, 0], axis=0)
        gaps -= coordinates.take(pairs[block, 1], axis=0)
        result[block] = apply(basis.features(gaps), pairs[block])

    blocks = list(row_blocks(len(pairs), width))
    if n_threads == 1 or len(blocks) < 2 * n_threads:
        for block in blocks:
            work(block)
    else:
        with one_thread(), ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, blocks))
    return result


def best_rows(scores: Array, n_best: int, rng: np.random.RandomState) -> Pairs:
    """Rows of the highest scores, best first, ties broken by `rng`."""
    n_best = min(n_best, len(scores))
    if n_best == 0:
        return np.empty(0, dtype=np.intp)
    lowest = np.partition(scores, -n_best)[-n_best]
    rows = np.flatnonzero(scores >= lowest)
    order = np.lexsort((rng.permutation(len(rows)), -scores[rows]))
    return rows[order[:n_best]]


def most_doubtful(
    pool: Pool, n_pairs: int, is_open: Callable[[Pairs], Mask], among: Pairs | None
) -> Pairs:
    """The open pairs whose P(same), by the mean metrics, is nearest 1/2.

    Among all pairs of the items, or among those given.
    """
    factors = [_margin_factors(each, pool.coordinates) for each in pool.belief.members]
    weights = pool.belief.weights.astype(np.float32)
    if among is None:
        with one_thread():  # tiles are small
            return _doubtful_of_all(factors, weights, n_pairs, is_open)
    among = among[is_open(among)]
    if len(among) <= n_pairs:
        return among
    margins = [_margins_of(*each, among) for each in factors]
    certainty = _certainty(margins, weights)
    return among[np.sort(np.argpartition(certainty, n_pairs)[:n_pairs])]


def _doubtful_of_all(
    factors: list[tuple[Single, Single]],
    weights: Single,
    n_pairs: int,
    is_open: Callable[[Pairs], Mask],
) -> Pairs:
    """One pass of matrix products over the upper triangle, in single precision.

    What is kept never exceeds a few blocks.
    """
    kept = np.empty((0, 2), dtype=np.intp)
    certainty = np.empty(0, dtype=np.float32)
    limit = np.float32(np.inf)
    for rows, columns in _tiles(len(factors[0][0]), TILE):
        margins = [left[rows] @ right[columns].T for left, right in factors]
        tile = _certainty(margins, weights)
        if rows.start == columns.start:
            tile[np.tril_indices(len(tile))] = np.inf
        i, j = np.divmod(np.flatnonzero(tile < limit), tile.shape[1])
        found = np.column_stack([i + rows.start, j + columns.start])
        values = tile[i, j]
        is_new = is_open(found)
        kept = np.concatenate([kept, found[is_new]])
        certainty = np.concatenate([certainty, values[is_new]])
        if len(kept) > 2 * n_pairs:
            nearest = np.argpartition(certainty, n_pairs)[:n_pairs]
            kept, certainty = kept[nearest], certainty[nearest]
            limit = certainty.max()
    return kept[np.argsort(certainty, kind="stable")[:n_pairs]]


def _certainty(margins: list[Single], weights: Single) -> Single:
    """How far P(same) is from 1/2, in any measure that orders pairs alike."""
    if len(margins) == 1:
        return np.abs(margins[0], out=margins[0])
    # P(same) - 1/2 is -tanh(f / 2) / 2, which takes a tenth of the time of P(same).
    total = np.zeros_like(margins[0])
    for weight, margin in zip(weights, margins, strict=True):
        margin *= np.float32(0.5)
        np.tanh(margin, out=margin)
        margin *= weight
        total += margin
    return np.abs(total, out=total)


def _margin_factors(member: Member, coordinates: Array) -> tuple[Single, Single]:
    """Two factors, (n_items, n), whose products are the mean of f of all pairs.

    Norms, threshold and items off their features ride along as further columns: one
    product, no further pass.
    """
    centre = coordinates.mean(axis=0)
    Z = coordinates - centre
    mapped, ones = Z @ member.posterior.mean_matrix(), np.ones(len(Z))
    norms = np.einsum("ij,ij->i", mapped, Z) - member.posterior.threshold / 2
    left, right = [-2 * mapped], [Z]
    moved = member.posterior.moved_items(len(Z))
    if moved is not None:
        norms += np.einsum("ij,ij->i", moved, Z)
        left, right = [-2 * mapped - moved, -Z], [Z, moved]
    left, right = (
        [*left, norms[:, None], ones[:, None]],
        [*right, ones[:, None], norms[:, None]],
    )
    return np.hstack(left).astype(np.float32), np.hstack(right).astype(np.float32)


def _margins_of(left: Single, right: Single, pairs: Pairs) -> Single:
    """The mean of f of the given pairs, in blocks."""
    margins = np.empty(len(pairs), dtype=np.float32)
    for block in row_blocks(len(pairs), left.shape[1]):
        i, j = pairs[block].T
        margins[block] = np.einsum("ij,ij->i", left[i], right[j])
    return margins


def _tiles(n_items: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Cut the upper triangle of all pairs into squares."""
    starts = range(0, n_items, size)
    for row in starts:
        for column in starts:
            if column >= row:
                yield slice(row, row + size), slice(column, column + size)
