"""The same estimator and search for items that do not fit in memory, on Dask.

X is a `dask.array` (or anything with rows that Dask can cut into blocks, such as a
memory-mapped array). Work is cut into blocks of rows or of pairs; each block runs what
runs in memory, here, in threads or wherever a `distributed.Client` sends it, and gives
the same numbers. A block that is lost is computed again.
"""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise.asking import search
from likewise.asking.acquisition import Acquisition, ceiling, find_acquisition
from likewise.asking.candidates import Pool
from likewise.asking.search import Ranked, Searched, Wanted
from likewise.errors import InputError, MissingExtraError
from likewise.estimators import BayesianMetric
from likewise.pairs import check_pairs

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Items that basis and prior are found from, where there are more.
N_SEEN = 50_000
# Pairs in a partition of P(same).
PARTITION = 50_000
# Rows in a block, where X is not cut into blocks already.
BLOCK_ROWS = 50_000
# Blocks of rows compared at once: as many tasks are under way.
WAVE = 8


def fit_pairs(
    metric: BayesianMetric,
    X: Any,
    pairs: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    soft: bool = False,
    n_seen: int = N_SEEN,
) -> BayesianMetric:
    """Learn from labelled pairs of rows of X; see `BayesianMetric.fit_pairs`.

    Up to `n_seen` items it is the same fit. Of more, basis and prior are found from the
    items of the pairs and others drawn by `metric.random_state`, so many in all: the
    numbers then differ as those of any two samples do.
    """
    rows = as_blocks(X)
    pairs = check_pairs(pairs, len(rows))
    items = np.unique(pairs)
    if len(rows) <= n_seen:
        kept = np.arange(len(rows))
    else:
        rng = check_random_state(metric.random_state)
        drawn = rng.choice(len(rows), n_seen, replace=False)
        others = drawn[~np.isin(drawn, items)][: max(n_seen - len(items), 0)]
        kept = np.sort(np.concatenate([items, others]))
    places = np.searchsorted(kept, pairs)
    some = np.asarray(_take(X, rows, kept).compute(), dtype=float)
    return metric.fit_pairs(some, places, labels, sample_weight, soft=soft)


def pair_probability(metric: BayesianMetric, X: Any, pairs: Any) -> Any:
    """P(same) of each pair, a lazy `dask.array`; see `BayesianMetric.pair_probability`.

    `pairs` is an array of shape (n_pairs, 2) in memory or on disk; each partition reads
    the rows that its pairs name.
    """
    check_is_fitted(metric)
    rows, array = as_blocks(X), _dask("array")
    parts = [
        array.from_delayed(
            _probabilities(metric, X, rows, pairs[start : start + PARTITION]),
            (min(PARTITION, len(pairs) - start),),
            float,
        )
        for start in range(0, len(pairs), PARTITION)
    ]
    return array.concatenate(parts) if parts else array.from_array(np.empty(0))


def _probabilities(metric: BayesianMetric, X: Any, rows: Any, pairs: Any) -> Any:
    """The lazy P(same) of one partition."""
    pairs = check_pairs(np.asarray(pairs), len(rows))
    items, places = np.unique(pairs, return_inverse=True)
    delayed = _dask("delayed").delayed
    some = _take(X, rows, items)
    return delayed(_probability_of)(metric, some, places.reshape(-1, 2))


def _probability_of(metric: BayesianMetric, X: Array, places: Pairs) -> Array:
    # Places keep the order of rows: i < j still.
    return metric.pair_probability(X, places)


def write_probabilities(
    metric: BayesianMetric,
    X: Any,
    pairs: Any,
    folder: str | Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Path]:
    """Write i, j and P(same) of all pairs to Parquet files, one for each partition.

    A partition that is there already is not computed again: a run that was stopped goes
    on where it was. `progress` is told how many of how many are there.
    """
    check_is_fitted(metric)
    parquet, table = _parquet()
    folder, rows = Path(folder), as_blocks(X)
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(pairs), PARTITION)
    paths = [folder / f"part-{number:06}.parquet" for number in range(len(starts))]
    for done, (start, path) in enumerate(zip(starts, paths, strict=True), 1):
        if not path.exists():
            some = check_pairs(np.asarray(pairs[start : start + PARTITION]), len(rows))
            p_same = _probabilities(metric, X, rows, some).compute()
            unfinished = path.with_suffix(".unfinished")
            columns = {"i": some[:, 0], "j": some[:, 1], "p_same": p_same}
            parquet.write_table(table(columns), unfinished)
            unfinished.replace(path)  # whole or not there
        progress(done, len(paths))
    return paths


def best_pairs(
    metric: BayesianMetric,
    X: Any,
    n_pairs: int = 1,
    acquisition: str | Acquisition = "entropy",
    *,
    tolerance: float = search.TOLERANCE,
    random_state: Any = None,
) -> Ranked:
    """The pairs of rows of X most worth asking, best first; see `asking.search`.

    Every two blocks of rows are searched as in memory, in a random order, and as there
    it ends when nothing can be better by more than `tolerance` nats. Items are new ones
    to the metric.
    """
    check_is_fitted(metric)
    rows, score = as_blocks(X), find_acquisition(acquisition)
    if len(rows) < 2:
        raise InputError(f"'X' must have at least two rows. Got {len(rows)}.")
    rng = check_random_state(random_state)
    wanted = Wanted(n_pairs, tolerance=tolerance)
    blocks = _block_places(rows)
    two = list(combinations_with_replacement(range(len(blocks)), 2))
    tasks = (
        _search_blocks(metric, rows, blocks[a], blocks[b], score, wanted, seed)
        for (a, b), seed in zip(
            [two[at] for at in rng.permutation(len(two))],
            rng.randint(2**31 - 1, size=len(two)),
            strict=True,
        )
    )
    n_all = len(rows) * (len(rows) - 1) // 2
    found: list[Ranked] = []
    for wave in _waves(tasks):
        found += wave
        highest = ceiling(score) if len(found) < len(two) else -np.inf
        best = _merged(found, n_pairs, n_all, highest)
        if best.searched.shortfall <= tolerance:
            break
    return best


def _block_places(rows: Any) -> list[tuple[int, int]]:
    """Where each block of rows begins and ends."""
    ends = np.cumsum(rows.chunks[0])
    return list(zip((ends - rows.chunks[0]).tolist(), ends.tolist(), strict=True))


def _search_blocks(
    metric: BayesianMetric,
    rows: Any,
    one: tuple[int, int],
    other: tuple[int, int],
    score: Acquisition,
    wanted: Wanted,
    seed: int,
) -> Any:
    """The lazy best pairs of an item of one block and one of another, or of one."""
    delayed = _dask("delayed").delayed
    parts = [rows[one[0] : one[1]]]
    if one != other:
        parts.append(rows[other[0] : other[1]])
    starts = [one[0], other[0]]
    return delayed(_best_between)(metric, parts, starts, score, wanted, seed)


def _best_between(
    metric: BayesianMetric,
    parts: list[Array],
    starts: list[int],
    score: Acquisition,
    wanted: Wanted,
    seed: int,
) -> Ranked:
    Z = metric.basis_.project(np.concatenate([np.asarray(each) for each in parts]))
    # The belief numbers the items of its fit; these are others.
    pool = Pool(metric.posterior_, metric.basis_, Z, are_known=False)
    n_first = len(parts[0]) if len(parts) == 2 else None
    rng = np.random.RandomState(seed)
    found = search.best_pairs(pool, score, wanted, _all_open, rng, n_first)
    numbers = np.arange(len(Z)) + starts[0]
    if n_first is not None:
        numbers[n_first:] += starts[1] - starts[0] - n_first
    best = np.argsort(-found.scores, kind="stable")[: wanted.n_pairs]
    return found._replace(pairs=numbers[found.pairs[best]], scores=found.scores[best])


def _all_open(pairs: Pairs) -> NDArray[np.bool_]:
    return np.ones(len(pairs), dtype=bool)


def _merged(found: list[Ranked], n_pairs: int, n_all: int, highest: float) -> Ranked:
    """The best of several searches; `highest` is what a pair not seen may be worth."""
    pairs = np.concatenate([each.pairs for each in found])
    scores = np.concatenate([each.scores for each in found])
    best = np.argsort(-scores, kind="stable")[:n_pairs]
    searched = [each.searched for each in found]
    # What a search may have missed it may have missed beside better ones.
    shortfall = max(each.shortfall for each in searched)
    if len(best) < n_pairs and highest > 0:
        shortfall = float("inf")
    elif len(best):
        shortfall = max(shortfall, highest - float(scores[best[-1]]))
    n_seen, n_scored = (
        sum(each.n_seen for each in searched),
        sum(each.n_scored for each in searched),
    )
    return Ranked(
        pairs[best], scores[best], Searched(n_all, n_seen, n_scored, shortfall)
    )


def _waves(tasks: Iterator[Any]) -> Iterator[list[Any]]:
    """Results of lazy tasks, some at a time."""
    while wave := list(islice(tasks, WAVE)):
        yield list(_dask("base").compute(*wave))


class Mapped:
    """A memory-mapped array that lets go of what it has read, wherever it is sent."""

    def __init__(self, X: "np.memmap[Any, Any]") -> None:
        self.shape, self.dtype, self.ndim = X.shape, X.dtype, X.ndim
        start = X.__array_interface__["data"][0]
        owner = X
        while isinstance(owner.base, np.memmap):
            owner = owner.base
        within = start - owner.__array_interface__["data"][0]
        self._place = (str(X.filename), int(owner.offset) + within)

    def __getitem__(self, index: Any) -> Any:
        path, offset = self._place
        return np.array(np.memmap(path, self.dtype, "r", offset, self.shape)[index])


def as_blocks(X: Any) -> Any:
    """X as a `dask.array` cut into blocks of whole rows."""
    array = _dask("array")
    if np.ndim(X) != 2:
        raise InputError(f"'X' must have two dimensions. Got {np.ndim(X)}.")
    if isinstance(X, array.Array):
        return X.rechunk({1: -1})
    return array.from_array(_source(X), chunks=(BLOCK_ROWS, -1), asarray=False)


def _source(X: Any) -> Any:
    """What rows are read from: a file that is mapped is opened for each block."""
    if isinstance(X, np.memmap) and X.flags.c_contiguous:
        return Mapped(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _take(X: Any, rows: Any, items: Pairs) -> Any:
    """Lazy rows of X: from a file only these, from blocks the blocks they are in."""
    if isinstance(X, np.memmap):
        return _dask("delayed").delayed(_source(X).__getitem__)(items)
    return rows[items]


def _dask(part: str) -> Any:
    """A module of Dask."""
    from importlib import import_module

    try:
        return import_module(f"dask.{part}")
    except ImportError as error:
        raise MissingExtraError("Work on items beyond memory", "dask") from error


def _parquet() -> tuple[Any, Any]:
    try:
        from pyarrow import parquet, table
    except ImportError as error:
        raise MissingExtraError("Writing Parquet files", "parquet") from error
    return parquet, table
