"""The items nearest to others, and how sure that is.

Search is exact, in blocks of matrix products, up to EXACT items; beyond, usearch finds
a shortlist, and only that is measured. Nothing here knows of files or fitting.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise.errors import InputError, MissingExtraError
from likewise.fingerprint import fingerprint
from likewise.model.basis import Basis
from likewise.model.belief import Belief
from likewise.model.posterior import PairPosterior

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]

# Up to so many items a search looks at each of them.
EXACT = 50_000
# Items that are ranked anew under every draw, as multiples of k: 16, where that is at
# most MOST items, else 4. Where the metric is in doubt, many of the true k nearest lie
# beyond 4 k by the mean metric, and a confidence among so few is too high.
NARROW, WIDE, FEWEST, MOST = 4, 16, 64, 320
# Draws from the belief: a confidence then has a deviation of .035 at most.
N_DRAWS = 200
# How widely usearch looks around; docs/search.md has the recall that it gives.
EXPANSION = 128
INDEXES = ("auto", "exact", "usearch")
# Neighbours of each item that are looked at for questions, and items on which it is
# measured how many of them are the true ones.
NEAR, TRIED = 10, 100
# Numbers in a block of distances: 32 MiB.
BLOCK_SIZE = 2**22


class Metric(Protocol):
    """What a search needs of a fitted metric."""

    random_state: Any
    basis_: Basis
    posterior_: Belief
    fingerprint_: str

    def check_items(self, X: ArrayLike) -> Array:
        """Return items as numbers, or say what is wrong with them."""


class Found(NamedTuple):
    """The nearest items of each query, nearest first; all of shape (n_queries, k)."""

    rows: Rows  # row numbers into X
    distances: Array
    p_same: Array
    confidence: Array  # probability to be one of the true k nearest


class Places(NamedTuple):
    """Where items lie."""

    mapped: Array  # (n, n_components): Euclidean distance is the mean metric
    coordinates: Array  # (n, n_basis)
    numbers: Rows  # (n,): as the belief knows them

    def at(self, rows: Rows | slice) -> "Places":
        """Those of some of the items."""
        return Places(self.mapped[rows], self.coordinates[rows], self.numbers[rows])


class Neighbours:
    """Nearest items by a learned metric, with P(same) and how sure the ranking is.

    Items that were asked about are known: distance, P(same) and confidence hold what
    the answers said of them, not only what their features say. That needs the X that
    the metric was fitted to with pairs; any others are new items.

    Parameters
    ----------
    metric : BayesianMetric
        A fitted one.
    X : array of shape (n_items, n_features)
        The items to search among.
    index : {"auto", "exact", "usearch"}
        Look at every item, or have usearch find a shortlist; by default the first up
        to 50,000 items.
    random_state : int, RandomState or None
        Draws from the belief; None takes the metric's. The same query gives the same
        numbers every time.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import BayesianMetric, Neighbours
    >>> X = np.array([[0.0, 5.0], [0.1, 1.0], [3.0, 4.9], [3.1, 1.2]])
    >>> metric = BayesianMetric(random_state=0)
    >>> metric = metric.fit_pairs(X, [[0, 1], [2, 3], [0, 2], [1, 3]], [1, 1, -1, -1])
    >>> Neighbours(metric, X).query([0, 2], k=1).rows.tolist()
    [[1], [3]]
    """

    def __init__(
        self,
        metric: Metric,
        X: ArrayLike,
        *,
        index: str = "auto",
        random_state: Any = None,
    ) -> None:
        check_is_fitted(metric)
        if index not in INDEXES:
            raise InputError(f"'index' must be one of {INDEXES}. Got {index!r}.")
        self._metric, self._belief = metric, metric.posterior_
        chance = metric.random_state if random_state is None else random_state
        self._seed = int(check_random_state(chance).randint(2**31 - 1))
        self._root = self._belief.root()
        X = metric.check_items(X)
        is_known = fingerprint(X) == metric.fingerprint_
        self._items = self._place(X, 0 if is_known else _beyond(self._belief))
        self._asked, self._moved = self._items_asked(is_known)
        is_large = len(X) > EXACT
        self._index: Any = None
        if index == "usearch" or (index == "auto" and is_large):
            self._index = usearch_index(self._items.mapped)

    def __len__(self) -> int:
        """How many items there are to search among."""
        return len(self._items.mapped)

    def query(self, items: ArrayLike, k: int = 10, *, n_draws: int = N_DRAWS) -> Found:
        """Find the k nearest of each item.

        Parameters
        ----------
        items : array of int, shape (n,), or of float, shape (n, n_features)
            Row numbers into X, or items of their own. A row is no neighbour of itself.
        k : int
            How many; fewer come back where there are fewer.
        n_draws : int
            Draws from the belief for the confidence; 0 leaves it out (NaN).
        """
        k, n_draws = _check_count("k", k, 1), _check_count("n_draws", n_draws, 0)
        queries, rows = self._check_queries(items)
        most = len(self) if rows is None else len(self) - 1
        k, n_near = min(k, most), min(_reach(k), most)
        near = np.empty((len(queries.mapped), n_near), dtype=np.intp)
        squared = np.empty(near.shape)
        p_same = np.empty((len(near), k))
        for block in self._blocks(len(near), n_near):
            some = queries.at(block)
            own = None if rows is None else rows[block]
            near[block], squared[block] = self._nearest(some, own, n_near)
            p_same[block] = self._p_same(some, near[block, :k])
        confidence = np.full(p_same.shape, np.nan)
        if n_draws and k:
            confidence = self._confidence(queries, near, k, n_draws)
        distances = np.sqrt(np.maximum(squared[:, :k], 0.0))
        return Found(near[:, :k], distances, p_same, confidence)

    # Where items lie

    def _place(self, X: Array, first: int) -> Places:
        coordinates = self._metric.basis_.project(X)
        numbers = np.arange(first, first + len(X), dtype=np.intp)
        return Places(coordinates @ self._root.T, coordinates, numbers)

    def _items_asked(self, is_known: bool) -> tuple[Rows, Array]:
        """Rows of the items that answers moved, and how far: g of docs/math.md."""
        n_items, n_basis = self._items.coordinates.shape
        moved = np.zeros((n_items if is_known else 0, n_basis))
        belief = self._belief
        for weight, member in zip(belief.metric_weights, belief.members, strict=True):
            off = member.posterior.moved_items(n_items) if is_known else None
            if off is not None:
                moved += weight * off
        asked = np.flatnonzero(moved.any(axis=1))
        return asked, moved[asked]

    def _check_queries(self, items: ArrayLike) -> tuple[Places, Rows | None]:
        """Where the queries lie; their rows, if rows were given."""
        given = np.asarray(items)
        if given.ndim == 1 and np.issubdtype(given.dtype, np.integer):
            rows = _check_rows(given, len(self))
            return self._items.at(rows), rows
        if given.ndim != 2:
            raise InputError(
                "'items' must be row numbers, shape (n,), or items, shape "
                f"(n, n_features). Got {given.dtype} of shape {given.shape}."
            )
        first = int(self._items.numbers[-1]) + 1
        return self._place(self._metric.check_items(items), first), None

    def _blocks(self, n_queries: int, n_near: int) -> Iterator[slice]:
        """Blocks of queries: memory does not follow their number."""
        n_components = self._items.mapped.shape[1]
        width = max(len(self), n_near * max(n_components, self._belief.width))
        step = max(1, BLOCK_SIZE // width)
        return (slice(start, start + step) for start in range(0, n_queries, step))

    # Search

    def _nearest(
        self, queries: Places, rows: Rows | None, n_near: int
    ) -> tuple[Rows, Array]:
        """The nearest items of each query and their squared distances, in order."""
        moved = self._moved_rows(rows, len(queries.mapped))
        if self._index is None:
            near = self._look_at_all(queries, rows, moved, n_near)
        else:
            near = self._look_up(queries, rows, moved, n_near)
        squared = self._measure(queries, moved, near)
        order = np.lexsort((near, squared), axis=-1)
        near = np.take_along_axis(near, order, axis=1)
        return near, np.take_along_axis(squared, order, axis=1)

    def _moved_rows(self, rows: Rows | None, n_queries: int) -> Array:
        """How far the queries themselves were moved, (n_queries, n_basis)."""
        moved = np.zeros((n_queries, self._items.coordinates.shape[1]))
        if rows is not None and len(self._asked):
            place = np.minimum(np.searchsorted(self._asked, rows), len(self._asked) - 1)
            known = self._asked[place] == rows
            moved[known] = self._moved[place[known]]
        return moved

    def _look_at_all(
        self, queries: Places, rows: Rows | None, moved: Array, n_near: int
    ) -> Rows:
        """The nearest of all items, in any order: |a - b|^2 by one matrix product."""
        items, asked = self._items, self._asked
        squared = -2.0 * (queries.mapped @ items.mapped.T)  # (n_queries, n_items)
        squared += np.einsum("ij,ij->i", items.mapped, items.mapped)
        # (g_q - g_j)'(z_q - z_j), but for what is the same for all items.
        own = np.einsum("ij,ij->i", self._moved, items.coordinates[asked])
        squared[:, asked] += own - queries.coordinates @ self._moved.T
        known = np.flatnonzero(moved.any(axis=1))
        squared[known] -= moved[known] @ items.coordinates.T
        if rows is not None:
            squared[np.arange(len(rows)), rows] = np.inf
        if n_near >= squared.shape[1]:
            return np.tile(np.arange(squared.shape[1]), (len(squared), 1))
        return np.argpartition(squared, n_near - 1, axis=1)[:, :n_near]

    def _look_up(
        self, queries: Places, rows: Rows | None, moved: Array, n_near: int
    ) -> Rows:
        """What usearch finds near each query, and the items asked about."""
        wanted = min(n_near + 1, len(self))
        matches = self._index.search(queries.mapped.astype(np.float32), wanted)
        found = np.atleast_2d(matches.keys).astype(np.intp)
        asked = np.tile(self._asked, (len(found), 1))
        near = np.sort(np.concatenate([found, asked], axis=1), axis=1)
        # Twice the same, or the query itself: they come last, and are cut off.
        is_idle = np.zeros(near.shape, dtype=bool)
        is_idle[:, 1:] = near[:, 1:] == near[:, :-1]
        if rows is not None:
            is_idle |= near == rows[:, None]
        squared = self._measure(queries, moved, near)
        squared[is_idle] = np.inf
        return np.take_along_axis(near, np.argsort(squared, axis=1), 1)[:, :n_near]

    def _measure(self, queries: Places, moved: Array, near: Rows) -> Array:
        """Squared distances to some items, by all that is known: (n_queries, n)."""
        squared = np.empty(near.shape)
        place = np.searchsorted(self._asked, near)
        for q, rows in enumerate(near):
            gaps = self._items.mapped[rows] - queries.mapped[q]
            squared[q] = np.einsum("ij,ij->i", gaps, gaps)
            if not len(self._asked):
                continue
            here = np.minimum(place[q], len(self._asked) - 1)
            is_asked = self._asked[here] == rows
            off = moved[q] - self._moved[here] * is_asked[:, None]
            apart = queries.coordinates[q] - self._items.coordinates[rows]
            squared[q] += np.einsum("ij,ij->i", off, apart)
        return squared

    # What is believed of those found

    def _pairs(self, queries: Places, near: Rows) -> tuple[Array, Pairs]:
        """Features and numbers of each query with each item near it, in one list."""
        gaps = queries.coordinates[:, None] - self._items.coordinates[near]
        features = self._metric.basis_.features(gaps.reshape(-1, gaps.shape[2]))
        ends = np.broadcast_arrays(queries.numbers[:, None], self._items.numbers[near])
        return features, np.column_stack([end.ravel() for end in ends])

    def _p_same(self, queries: Places, near: Rows) -> Array:
        features, pairs = self._pairs(queries, near)
        return self._belief.probability_same(features, pairs).reshape(near.shape)

    def _confidence(self, queries: Places, near: Rows, k: int, n_draws: int) -> Array:
        rng = np.random.RandomState(self._seed)
        confidence = np.empty((len(near), k))
        for q in range(len(near)):
            one = queries.at(slice(q, q + 1))
            features, pairs = self._pairs(one, near[q : q + 1])
            shares = share_in_top(self._belief, features, pairs, k, n_draws, rng)
            confidence[q] = shares[:k]
        return confidence


def share_in_top(
    belief: Belief,
    features: Array,
    pairs: Pairs,
    k: int,
    n_draws: int,
    rng: np.random.RandomState,
) -> Array:
    """Share of draws from the belief in which each pair is among the k nearest.

    A draw is one of squared distances: theirs are jointly Gaussian under each member,
    so that no matrix is drawn. The threshold moves all alike and changes no rank.
    """
    counts = rng.multinomial(n_draws, belief.weights / belief.weights.sum())
    hits = np.zeros(len(pairs))
    for member, n_drawn in zip(belief.members, counts.tolist(), strict=True):
        if n_drawn:
            mean = member.posterior.latent_mean(features, pairs)
            covariance = member.posterior.latent_covariance(features, pairs)
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            draws = mean + rng.standard_normal((n_drawn, len(mean))) @ root.T
            top = np.argpartition(draws, min(k, len(mean)) - 1, axis=1)[:, :k]
            hits += np.bincount(top.ravel(), minlength=len(mean))
    return hits / n_draws


def near_pairs(mapped: Array, rng: np.random.RandomState) -> tuple[Pairs, float]:
    """Each item with its NEAR nearest by usearch, and the share of the true ones.

    The share is measured on TRIED items, whose distances to all others are computed.
    """
    index = usearch_index(mapped)
    found = index.search(mapped.astype(np.float32), NEAR + 1).keys.astype(np.intp)
    rows = np.repeat(np.arange(len(found)), found.shape[1])
    pairs = np.sort(np.column_stack([rows, found.ravel()]), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    numbers = np.unique(pairs[:, 0] * len(mapped) + pairs[:, 1])
    return np.column_stack(np.divmod(numbers, len(mapped))), _recall(mapped, found, rng)


def _recall(mapped: Array, found: Rows, rng: np.random.RandomState) -> float:
    tried = rng.permutation(len(mapped))[:TRIED]
    squares = np.einsum("ij,ij->i", mapped, mapped)
    distances = squares - 2 * mapped[tried] @ mapped.T
    distances[np.arange(len(tried)), tried] = -np.inf
    true = np.argpartition(distances, NEAR, axis=1)[:, : NEAR + 1]
    shares = [np.isin(a, b).mean() for a, b in zip(true, found[tried], strict=True)]
    return float(np.mean(shares))


def usearch_index(mapped: Array) -> Any:
    """An index of usearch by Euclidean distance; keys are row numbers."""
    try:
        from usearch.index import Index
    except ModuleNotFoundError as error:
        raise MissingExtraError("Search by usearch", "ann") from error
    index = Index(
        ndim=mapped.shape[1],
        metric="l2sq",
        dtype="f32",
        expansion_add=EXPANSION,
        expansion_search=EXPANSION,
    )
    index.add(np.arange(len(mapped)), mapped.astype(np.float32))
    return index


def _reach(k: int) -> int:
    """How many items are ranked anew, to see which are among the k nearest."""
    return max(NARROW * k, min(WIDE * k, MOST), FEWEST)


def _beyond(belief: Belief) -> int:
    """A number that no item has that was asked about."""
    asked = [
        member.posterior.pairs.max(initial=-1)
        for member in belief.members
        if isinstance(member.posterior, PairPosterior)
    ]
    return 1 + int(max(asked, default=-1))


def _check_rows(rows: NDArray[np.integer[Any]], n_items: int) -> Rows:
    outside = np.flatnonzero((rows < 0) | (rows >= n_items))
    if len(outside):
        raise InputError(
            f"Row {rows[outside[0]]} points outside X, which has {n_items} rows."
        )
    return rows.astype(np.intp)


def _check_count(name: str, value: int, least: int) -> int:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise InputError(
            f"'{name}' must be a whole number of at least {least}. Got {value!r}."
        )
    return int(value)
