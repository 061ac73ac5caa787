"""The same estimator and search for items that do not fit in memory, on Dask.

X is a `dask.array` (or anything with rows that Dask can cut into blocks, such as a
memory-mapped array). Work is cut into blocks of rows or of pairs; each block runs what
runs in memory, here, in threads or wherever a `distributed.Client` sends it, and gives
the same numbers. A block that is lost is computed again.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise.asking import search
from likewise.asking.acquisition import Acquisition, ceiling, find_acquisition
from likewise.asking.candidates import Pool
from likewise.asking.search import Ranked, Searched, Wanted
from likewise.blocks import WAVE, Spread, as_blocks, call, dask_part, in_waves, take
from likewise.errors import InputError, MissingExtraError
from likewise.estimators import BayesianMetric, check_told
from likewise.model import fitting
from likewise.model.basis import Basis
from likewise.model.parts import Features
from likewise.pairs import check_pairs

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Items that basis and prior are found from, where there are more.
N_SEEN = 50_000
# Pairs in a partition.
PARTITION = 50_000


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

    Up to `n_seen` items it is the same fit. Of more, basis and prior are found from so
    many drawn by `metric.random_state`: the numbers then differ as those of any two
    samples do. Of more than PARTITION pairs the features stay in partitions, with the
    workers where there are any, and each sweep sums over them; pairs and labels are
    here, some hundred bytes a pair.
    """
    rows = as_blocks(X)
    told = check_told(pairs, labels, sample_weight, n_items=len(rows), soft=soft)
    _, frames = metric.prepare(_seen(metric, X, rows, n_seen))
    told = told.that_count()
    labelled = told.labelled(_features(frames.basis, X, rows, told.pairs))
    fit = fitting.fit_labelled(frames, labelled, metric.rules)
    return metric.take_fit(frames.basis, fit)


def _seen(metric: BayesianMetric, X: Any, rows: Any, n_seen: int) -> Array:
    """The items that basis and prior are found from."""
    kept = np.arange(len(rows))
    if len(rows) > n_seen:
        rng = check_random_state(metric.random_state)
        kept = np.sort(rng.choice(len(rows), n_seen, replace=False))
    return np.asarray(take(X, rows, kept).compute(), dtype=float)


def _features(basis: Basis, X: Any, rows: Any, pairs: Pairs) -> Features:
    """Features of the pairs: in partitions, unless they are few."""
    if len(pairs) <= PARTITION:
        few = _lazy(partial(_labelled_of, basis), X, rows, pairs)
        return np.asarray(few.compute())
    parts = [
        _lazy(partial(_features_of, basis), X, rows, pairs[start : start + PARTITION])
        for start in range(0, len(pairs), PARTITION)
    ]
    if basis.kind != "full":  # a sweep works on them as they are
        parts = list(dask_part("base").persist(*parts))
    sizes = [min(PARTITION, len(pairs) - at) for at in range(0, len(pairs), PARTITION)]
    width = basis.directions.shape[1] + (basis.kind != "full")
    return Spread(parts, sizes, width)


def _labelled_of(basis: Basis, X: Array, places: Pairs) -> Array:
    return basis.labelled(basis.project(np.asarray(X, dtype=float)), places)


def _features_of(basis: Basis, X: Array, places: Pairs) -> Array:
    Z = basis.project(np.asarray(X, dtype=float))
    return basis.features(Z[places[:, 0]] - Z[places[:, 1]])


def _lazy(work: Callable[[Array, Pairs], Array], X: Any, rows: Any, pairs: Any) -> Any:
    """What work makes of the items that some pairs name, and of their places there."""
    items, places = np.unique(pairs, return_inverse=True)
    # Places keep the order of rows: i < j still.
    return dask_part("delayed").delayed(work)(
        take(X, rows, items), places.reshape(-1, 2)
    )


def pair_probability(metric: BayesianMetric, X: Any, pairs: Any) -> Any:
    """P(same) of each pair, a lazy `dask.array`; see `BayesianMetric.pair_probability`.

    `pairs` is an array of shape (n_pairs, 2) in memory or on disk; each partition reads
    the rows that its pairs name.
    """
    check_is_fitted(metric)
    rows, array = as_blocks(X), dask_part("array")
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
    return _lazy(partial(_probability_of, metric), X, rows, pairs)


def _probability_of(metric: BayesianMetric, X: Array, places: Pairs) -> Array:
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
    for result in in_waves(tasks):
        found.append(result)
        if len(found) % WAVE and len(found) < len(two):
            continue
        highest = ceiling(score) if len(found) < len(two) else -np.inf
        best = _merged(found, n_pairs, n_all, highest)
        if best.searched.shortfall <= tolerance:
            break
    return best


def near_pairs(metric: BayesianMetric, X: Any, n_near: int = 10) -> tuple[Pairs, Array]:
    """Every row of X with its nearest by the mean metric, and their distances.

    What may be the same as what: candidates for groups, or for P(same). Exact, every
    two blocks of rows compared. Each pair once, i < j.
    """
    check_is_fitted(metric)
    rows = as_blocks(X)
    blocks, delayed = _block_places(rows), dask_part("delayed").delayed
    work = delayed(partial(_nearest_between, metric, n_near), pure=False)
    found: list[tuple[Pairs, Array]] = []
    for start, end in blocks:
        tasks = (
            delayed(call)(work, rows[start:end], rows[first:last], start, first)
            for first, last in blocks
        )
        found.append(_nearest_of(list(in_waves(tasks)), n_near, start))
    pairs, distances = (np.concatenate(each) for each in zip(*found, strict=True))
    pairs, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    return pairs, distances[first]


def _nearest_between(
    metric: BayesianMetric, n_near: int, X: Array, others: Array, start: int, first: int
) -> tuple[Array, Pairs]:
    """Distances and numbers of the rows of one block nearest to those of another."""
    Z, to = (metric.transform(np.asarray(each, dtype=float)) for each in (X, others))
    n_near = min(n_near + (start == first), len(to))
    search = NearestNeighbors(n_neighbors=n_near, algorithm="brute").fit(to)
    distances, found = search.kneighbors(Z)
    numbers = found + first
    itself = numbers == (np.arange(len(Z)) + start)[:, None]
    return np.where(itself, np.inf, distances), numbers


def _nearest_of(
    found: list[tuple[Array, Pairs]], n_near: int, start: int
) -> tuple[Pairs, Array]:
    """Pairs of each row and its nearest among all blocks, and their distances."""
    distances, numbers = (
        np.concatenate(each, axis=1) for each in zip(*found, strict=True)
    )
    order = np.argsort(distances, axis=1, kind="stable")[:, :n_near]
    distances, numbers = (
        np.take_along_axis(each, order, axis=1) for each in (distances, numbers)
    )
    here = np.broadcast_to(np.arange(len(numbers))[:, None] + start, numbers.shape)
    there = np.isfinite(distances)
    return np.column_stack([here[there], numbers[there]]), distances[there]


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
    delayed = dask_part("delayed").delayed
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


def _parquet() -> tuple[Any, Any]:
    try:
        from pyarrow import parquet, table
    except ImportError as error:
        raise MissingExtraError("Writing Parquet files", "parquet") from error
    return parquet, table
