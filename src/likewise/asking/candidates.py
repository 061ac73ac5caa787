"""Pairs that may be asked, and functions of them, in blocks.

Memory follows the block, never the number of pairs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.memory import keep_memory
from likewise.model.basis import Basis
from likewise.model.belief import Belief
from likewise.threads import over_blocks, threads_for

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Numbers in a block of features: 4 MiB; smaller ones starve the second core.
BLOCK_SIZE = 2**19


@dataclass(frozen=True)
class Pool:
    """The items that may be asked about, as a belief sees them."""

    belief: Belief
    basis: Basis
    coordinates: Array  # (n_items, n_basis)
    are_known: bool = True  # whether the belief learned from these very items

    def features(self, pairs: Pairs) -> Array:
        """What the metric weighs, for each pair."""
        Z = self.coordinates
        return self.basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]])

    def map(self, apply: Callable[[Belief, Array], Array], pairs: Pairs) -> Array:
        """Apply a function of belief and features to all pairs, in blocks."""
        return map_features(
            lambda features, block: apply(self._knowing(block), features),
            self.basis,
            self.coordinates,
            pairs,
            width=self.belief.width,
        )

    def _knowing(self, pairs: Pairs) -> Belief:
        return self.belief.knowing(pairs) if self.are_known else self.belief

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
    """
    keep_memory()
    result = np.empty(len(pairs))

    def work(block: slice) -> None:
        gaps = coordinates.take(pairs[block, 0], axis=0)
        gaps -= coordinates.take(pairs[block, 1], axis=0)
        result[block] = apply(basis.features(gaps), pairs[block])

    blocks = list(row_blocks(len(pairs), width))
    if n_threads == 1 or len(blocks) < 2 * n_threads:
        with threads_for(len(pairs), width):
            for block in blocks:
                work(block)
    else:
        over_blocks(work, blocks, n_threads)
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
