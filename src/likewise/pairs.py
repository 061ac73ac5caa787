"""Pairs as index arrays: check, order, draw, split by item.

A pair is two row numbers i < j, always beside the X they point into. Labels are
+1 (same) and -1 (different).
"""

from collections.abc import Collection
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError

Pairs = NDArray[np.intp]
Array = NDArray[np.float64]


def check_pairs(pairs: ArrayLike, n_items: int) -> Pairs:
    """Return pairs as (n_pairs, 2) row numbers with i < j, or say what is wrong."""
    array = _whole_numbers(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"'pairs' must have shape (n_pairs, 2). Got {array.shape}.")
    outside = np.flatnonzero(((array < 0) | (array >= n_items)).any(axis=1))
    if len(outside):
        raise InputError(
            f"Pair {_show(array[outside[0]])} points outside X, "
            f"which has {n_items} rows."
        )
    alone = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(alone):
        raise InputError(
            f"A pair must have two different items. Got {_show(array[alone[0]])} "
            f"at position {alone[0]}."
        )
    return np.sort(array.astype(np.intp), axis=1)


def _whole_numbers(pairs: ArrayLike) -> NDArray[np.integer]:
    try:
        array = np.asarray(pairs)
    except ValueError as error:
        raise InputError(
            "'pairs' must have shape (n_pairs, 2). Got rows of unequal length."
        ) from error
    if array.size == 0 and array.ndim <= 2:
        return np.empty((0, 2), dtype=np.intp)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"'pairs' must hold row numbers (integers). Got dtype {array.dtype}."
        )
    return array


def check_labels(labels: ArrayLike, n_pairs: int, *, soft: bool = False) -> Array:
    """Return labels as floats: +1 / -1, or P(same) in [0, 1] where `soft`."""
    array = _numbers(labels, "labels", n_pairs)
    bad = ~((array >= 0) & (array <= 1)) if soft else np.abs(array) != 1
    if bad.any():
        position = int(np.flatnonzero(bad)[0])
        rule = (
            "Soft labels must be probabilities of 'same' between 0 and 1."
            if soft
            else "Pair labels must be +1 (same) or -1 (different)."
        )
        raise InputError(f"{rule} Got {array[position]:g} at position {position}.")
    return array


def check_weights(weights: ArrayLike | None, n_rows: int, rows: str = "pairs") -> Array:
    """Return 'sample_weight' as finite floats >= 0; ones where None."""
    if weights is None:
        return np.ones(n_rows)
    array = _numbers(weights, "sample_weight", n_rows, rows)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise InputError(
            "'sample_weight' must be finite and not negative. "
            f"Got {array[bad[0]]:g} at position {bad[0]}."
        )
    if not array.any():
        raise InputError("'sample_weight' must not be zero everywhere.")
    return array


def _numbers(values: ArrayLike, name: str, n_rows: int, rows: str = "pairs") -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"'{name}' must be numbers. Got {values!r:.60}.") from error
    if array.shape != (n_rows,):
        raise InputError(
            f"'{name}' must have one entry for each of the {n_rows} {rows}. "
            f"Got shape {array.shape}."
        )
    return array


def check_agreement(pairs: Pairs, labels: Array) -> None:
    """Refuse a pair that is labelled both +1 and -1, naming it."""
    order = np.lexsort((labels, pairs[:, 1], pairs[:, 0]))
    ordered, given = pairs[order], labels[order]
    repeated = (ordered[1:] == ordered[:-1]).all(axis=1)
    clash = np.flatnonzero(repeated & (given[1:] != given[:-1]))
    if len(clash):
        raise InputError(
            f"Pair {_show(ordered[clash[0]])} is labelled both +1 and -1. "
            "Keep one label, or give a probability with soft=True."
        )


def _show(pair: NDArray[np.integer]) -> str:
    return "(" + ", ".join(str(int(row)) for row in pair) + ")"


def all_pairs(n_items: int) -> Pairs:
    """Every pair of n_items, in order; for small n_items only."""
    return np.column_stack(np.triu_indices(n_items, 1))


def draw_pairs(n_items: int, n_pairs: int, rng: np.random.RandomState) -> Pairs:
    """Draw different pairs at random, without listing all of them."""
    n_all = n_items * (n_items - 1) // 2
    return pair_at(_draw_numbers(n_all, n_pairs, rng), n_items)


def _draw_numbers(
    n_all: int, n_drawn: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw different numbers below n_all; all of them, shuffled, if fewer."""
    if n_drawn > n_all // 3:
        return rng.permutation(n_all)[:n_drawn]
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n_drawn:
        more = rng.randint(0, n_all, size=2 * (n_drawn - len(drawn)), dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:n_drawn]


def pair_at(number: NDArray[np.integer], n_items: int) -> Pairs:
    """Give the pairs at these places of the ordered list of all pairs."""
    # Counting from the end, row i starts at a triangular number: invert it.
    rest = n_items * (n_items - 1) // 2 - 1 - number.astype(np.int64)
    back = ((np.sqrt(8.0 * rest + 1) - 1) // 2).astype(np.int64)
    back -= back * (back + 1) // 2 > rest  # the root is rounded: mend it by one
    back += (back + 1) * (back + 2) // 2 <= rest
    i = n_items - 2 - back
    j = n_items - 1 - (rest - back * (back + 1) // 2)
    return np.column_stack([i, j]).astype(np.intp)


def pair_array(pairs: Collection[tuple[int, int]]) -> Pairs:
    """Tuples of row numbers as an array of shape (n_pairs, 2)."""
    rows = np.fromiter(chain.from_iterable(pairs), np.intp, 2 * len(pairs))
    return rows.reshape(-1, 2)


def find_pairs(wanted: Pairs, among: Pairs) -> NDArray[np.intp]:
    """The place of each wanted pair among others, no two of them alike; -1 if none."""
    size = 1 + max(int(wanted.max(initial=0)), int(among.max(initial=0)))
    keys, sought = (pairs[:, 0] * size + pairs[:, 1] for pairs in (among, wanted))
    order = np.argsort(keys)
    places = np.append(order, -1)[np.searchsorted(keys, sought, sorter=order)]
    found = np.append(keys, -1)[places]
    return np.where(found == sought, places, -1)


def pair_number(pairs: Pairs, n_items: int) -> NDArray[np.int64]:
    """Give each pair its place in the ordered list of all pairs."""
    i, j = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    return i * (2 * n_items - i - 1) // 2 + (j - i - 1)


def pairs_from_classes(
    classes: NDArray[np.integer], max_pairs: int, rng: np.random.RandomState
) -> tuple[Pairs, Array]:
    """All pairs of the items and their labels; above `max_pairs` a balanced sample.

    The sample has as many same as different pairs, as far as there are any.
    """
    n_items = len(classes)
    if n_items * (n_items - 1) // 2 <= max_pairs:
        pairs = all_pairs(n_items)
        return pairs, np.where(classes[pairs[:, 0]] == classes[pairs[:, 1]], 1.0, -1.0)
    same = _draw_same(classes, max_pairs // 2, rng)
    different = _draw_different(classes, max_pairs - len(same), rng)
    labels = np.repeat([1.0, -1.0], [len(same), len(different)])
    return np.concatenate([same, different]), labels


def _draw_same(
    classes: NDArray[np.integer], n_pairs: int, rng: np.random.RandomState
) -> Pairs:
    """Draw different pairs within classes, every such pair as likely as another."""
    order = np.argsort(classes, kind="stable")
    sizes = np.unique(classes, return_counts=True)[1]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    number = np.sort(_draw_numbers(int(ends[-1]), n_pairs, rng))
    group = np.searchsorted(ends, number, side="right")
    within = number - (ends[group] - sizes[group] * (sizes[group] - 1) // 2)
    local = np.empty((len(number), 2), dtype=np.intp)
    for size in np.unique(sizes[group]):
        chosen = sizes[group] == size
        local[chosen] = pair_at(within[chosen], int(size))
    return np.sort(order[local + starts[group][:, None]], axis=1)


def _draw_different(
    classes: NDArray[np.integer], n_pairs: int, rng: np.random.RandomState
) -> Pairs:
    """Draw different pairs across classes, every such pair as likely as another.

    In the order of classes, an item differs from all items after its own class: these
    pairs are numbered one item after another, and numbers are drawn.
    """
    order = np.argsort(classes, kind="stable")
    sizes = np.unique(classes, return_counts=True)[1]
    ends = np.repeat(np.cumsum(sizes), sizes)  # where the item's class ends
    n_after = len(classes) - ends
    totals = np.cumsum(n_after)
    number = _draw_numbers(int(totals[-1]), n_pairs, rng)
    first = np.searchsorted(totals, number, side="right")
    second = ends[first] + number - (totals - n_after)[first]
    return np.sort(order[np.column_stack([first, second])], axis=1)


def from_tuples(tuples: ArrayLike) -> tuple[Array, Pairs]:
    """Convert metric-learn's (n_pairs, 2, n_features) array to X and pairs."""
    array = np.asarray(tuples, dtype=float)
    if array.ndim != 3 or array.shape[1] != 2:
        raise InputError(
            f"'tuples' must have shape (n_pairs, 2, n_features). Got {array.shape}."
        )
    X, rows = np.unique(array.reshape(-1, array.shape[2]), axis=0, return_inverse=True)
    return X, check_pairs(rows.reshape(-1, 2), len(X))


def split_by_item(
    pairs: Pairs, n_items: int, test_share: float, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of training and of test pairs that share no item.

    Pairs with one item on each side are in neither: a metric must be judged on items
    that it has not seen.
    """
    if not 0 < test_share < 1:
        raise InputError(f"'test_share' must be between 0 and 1. Got {test_share}.")
    is_test = np.zeros(n_items, dtype=bool)
    is_test[rng.permutation(n_items)[: max(2, round(test_share * n_items))]] = True
    sides = is_test[pairs]
    return np.flatnonzero(~sides.any(axis=1)), np.flatnonzero(sides.all(axis=1))
