"""A metric from the classes of items: what makes an item's neighbours its classmates.

Ways to measure items (as they are given, each feature alike, by the scatter within
classes, and by where class means differ) are weighed against each other by one
question: how likely is a neighbour of the same class? Items are asked about whose class
had no part in the metric. No pair is judged here, and no distribution comes out: this
is the centre of a prior.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from likewise.model import matrix
from likewise.model.unlabelled import metric_root, scaled_metric, shrunk_covariance

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Parts the items are split into: the classes of one are found by the metric of the
# others. Three and five measure alike.
N_PARTS = 3
# Items whose neighbours are looked at: the weights of four metrics need no more.
MAX_JUDGED = 1_000
# Nearest items in each metric that may be an item's neighbour.
N_NEAREST = 8
# A weight before any class is seen, as a factor of the squared distance whose mean is
# 1: median and deviation of its logarithm. Wide: 20 to 60 are usual in all.
WEIGHT = (3.0, 3.0)
# Queries looked at in one go.
BLOCK = 256
# Columns of a group in which the smallest value stands for all.
GROUP = 16


class Labelled(NamedTuple):
    """Items with their classes."""

    coordinates: Array  # (n_items, n_basis)
    classes: Rows  # (n_items,)
    weights: Array  # (n_items,): how often each counts

    def at(self, rows: Rows | Mask | slice) -> "Labelled":
        """Some of the items."""
        return Labelled(self.coordinates[rows], self.classes[rows], self.weights[rows])


class Neighbours(NamedTuple):
    """Items that may be nearest to some others."""

    squared_distances: Array  # (n_queries, n_candidates, n_metrics)
    counts: Array  # (n_queries, n_candidates): how often each counts; 0 for a double
    is_same: Mask  # (n_queries, n_candidates)
    weights: Array  # (n_queries,): how often each query counts


def class_metric(
    items: Labelled, plain: list[Array], rng: np.random.RandomState
) -> Array:
    """The mixture of metrics in which neighbours are most likely classmates.

    `plain` holds the metrics that know no classes; the last of them is the one in whose
    unit the scatter of classes is measured. Some items must have a classmate.
    """
    parts = [
        _neighbours(items, plain, is_query) for is_query in _split(items.classes, rng)
    ]
    together = Neighbours(*map(np.concatenate, zip(*parts, strict=True)))
    weights = neighbour_weights(together)
    metrics = _metrics(items, plain)
    mixed = np.tensordot(weights, np.array(metrics), axes=1)
    return scaled_metric(mixed, items.coordinates, items.weights)


def scatter_metrics(items: Labelled) -> tuple[Array, Array]:
    """Distance by the scatter within classes: everywhere, and where means differ.

    With l the scatter of the means along a direction over that within classes, beyond
    what chance makes of it, the second weighs the direction by l / (1 + l).
    """
    means, sizes = _class_means(items)
    inner = items.coordinates - means[items.classes]
    values, vectors = np.linalg.eigh(shrunk_covariance(inner))
    lowest = values.max() * np.finfo(float).eps * len(values) or 1.0
    whitening = vectors / np.sqrt(np.maximum(values, lowest))
    centre = sizes @ means / sizes.sum()
    mapped = (means - centre) @ whitening
    between = (mapped * (sizes / sizes.sum())[:, None]).T @ mapped
    ratios, directions = np.linalg.eigh(between)
    chance = (np.count_nonzero(sizes) - 1) / len(inner)
    ratios = np.maximum(ratios - chance, 0.0)
    found = whitening @ directions
    shares = ratios / (1 + ratios)
    return np.asarray(found @ found.T), np.asarray((found * shares) @ found.T)


def neighbour_weights(neighbours: Neighbours) -> Array:
    """The weights of metrics that make neighbours of the same class most likely.

    P(j is the neighbour of i) is proportional to exp(-squared distance), as in
    neighbourhood components analysis; the weights are log-normal before.
    """
    n_metrics = neighbours.squared_distances.shape[2]
    middle = np.full(n_metrics, np.log(WEIGHT[0]))

    def objective(logs: Array) -> tuple[float, Array]:
        weights = np.exp(logs)
        value, slope = matrix.neighbour_likelihood(weights, *neighbours)
        off = (logs - middle) / WEIGHT[1]
        return float(off @ off / 2 - value), off / WEIGHT[1] - slope * weights

    found = minimize(
        objective, middle + 0.5, jac=True, method="L-BFGS-B", options={"ftol": 1e-5}
    )
    return np.asarray(np.exp(found.x))


def _split(classes: Rows, rng: np.random.RandomState) -> list[Mask]:
    """Which items are asked about in each part: every class in all of them."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    parts = np.empty(len(classes), dtype=np.intp)
    parts[order] = np.arange(len(classes)) % N_PARTS
    has_mate = np.bincount(classes)[classes] > 1
    judged = rng.permutation(np.flatnonzero(has_mate))[:MAX_JUDGED]
    is_judged = np.zeros(len(classes), dtype=bool)
    is_judged[judged] = True
    return [is_judged & (parts == part) for part in range(N_PARTS)]


def _neighbours(items: Labelled, plain: list[Array], is_query: Mask) -> Neighbours:
    """Candidates of one part's queries among the items of the others."""
    others = items.at(~is_query)
    queries = items.at(is_query & np.isin(items.classes, others.classes))
    metrics = _metrics(others, plain)
    roots = [metric_root(metric) for metric in metrics]
    mapped = [others.coordinates @ root for root in roots]
    blocks = [
        _nearest(queries.at(slice(start, start + BLOCK)), others, roots, mapped)
        for start in range(0, max(len(queries.classes), 1), BLOCK)
    ]
    return Neighbours(*map(np.concatenate, zip(*blocks, strict=True)))


def _nearest(
    queries: Labelled, others: Labelled, roots: list[Array], mapped: list[Array]
) -> Neighbours:
    """The nearest items in any metric, and each one's nearest classmate.

    `mapped` holds the others after each of the roots.
    """
    is_other = queries.classes[:, None] != others.classes
    n_nearest = min(N_NEAREST, len(others.classes))
    distances, found = [], []
    for root, there in zip(roots, mapped, strict=True):
        squared = _squared_distances(queries.coordinates @ root, there)
        among_mates = squared.copy()
        among_mates[is_other] = np.inf
        found += [_smallest(squared, n_nearest), among_mates.argmin(axis=1)[:, None]]
        distances.append(squared)
    candidates = np.sort(np.concatenate(found, axis=1), axis=1)
    # As many columns in every block: a missing one is a double, and counts nothing.
    missing = (N_NEAREST - n_nearest) * len(roots)
    candidates = np.pad(candidates, [(0, 0), (missing, 0)], mode="edge")
    counts = others.weights[candidates]
    counts[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = 0.0
    return Neighbours(
        np.stack([np.take_along_axis(d, candidates, 1) for d in distances], axis=2),
        counts,
        ~np.take_along_axis(is_other, candidates, 1),
        queries.weights,
    )


def _smallest(values: Array, n_smallest: int) -> Rows:
    """Columns of the smallest values of each row, in any order.

    Columns are taken in groups: each of the smallest lies in one of as many groups,
    those whose own smallest value is smallest. Three times as fast as one partition.
    """
    n_rows, n_columns = values.shape
    n_groups = n_columns // GROUP
    if n_groups <= n_smallest:
        return np.argpartition(values, n_smallest - 1, axis=1)[:, :n_smallest]
    whole = values[:, : n_groups * GROUP].reshape(n_rows, GROUP, n_groups)
    groups = np.argpartition(whole.min(axis=1), n_smallest - 1, axis=1)
    members = np.arange(GROUP) * n_groups
    columns = groups[:, :n_smallest, None] + members
    rest = np.arange(n_groups * GROUP, n_columns)
    columns = np.hstack(
        [columns.reshape(n_rows, -1), np.broadcast_to(rest, (n_rows, len(rest)))]
    )
    there = np.take_along_axis(values, columns, 1)
    best = np.argpartition(there, n_smallest - 1, axis=1)[:, :n_smallest]
    return np.take_along_axis(columns, best, 1)


def _squared_distances(mapped: Array, others: Array) -> Array:
    squared = np.asarray((-2 * mapped) @ others.T)
    squared += np.einsum("ij,ij->i", mapped, mapped)[:, None]
    squared += np.einsum("ij,ij->i", others, others)
    return np.maximum(squared, 0.0, out=squared)


def _metrics(items: Labelled, plain: list[Array]) -> list[Array]:
    """All metrics, in the unit in which the mean squared distance of the items is 1."""
    root = metric_root(plain[-1])
    mapped = items._replace(coordinates=items.coordinates @ root)
    by_classes = [root @ metric @ root.T for metric in scatter_metrics(mapped)]
    return [
        scaled_metric(metric, items.coordinates, items.weights)
        for metric in (*plain, *by_classes)
    ]


def _class_means(items: Labelled) -> tuple[Array, Array]:
    """Mean and size of each class."""
    sizes = np.bincount(items.classes, items.weights).astype(float)
    sums = np.zeros((len(sizes), items.coordinates.shape[1]))
    np.add.at(sums, items.classes, items.coordinates * items.weights[:, None])
    return sums / np.where(sizes > 0, sizes, 1.0)[:, None], sizes


def border_pairs(
    items: Labelled, root: Array, max_items: int, rng: np.random.RandomState
) -> tuple[Rows, Array]:
    """Items with their nearest of the same and of another class, and the labels.

    `root` maps the coordinates to where distance is measured.
    """
    mapped, classes = items.coordinates @ root, items.classes
    chosen = rng.permutation(len(classes))[:max_items]
    found = []
    for start in range(0, len(chosen), BLOCK):
        rows = chosen[start : start + BLOCK]
        squared = _squared_distances(mapped[rows], mapped)
        squared[np.arange(len(rows)), rows] = np.inf
        is_same = classes[rows][:, None] == classes
        for is_kind in (is_same, ~is_same):
            masked = np.where(is_kind, squared, np.inf)
            nearest = masked.argmin(axis=1)
            there = np.isfinite(masked[np.arange(len(rows)), nearest])
            found.append(np.column_stack([rows, nearest])[there])
    pairs = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return pairs, np.where(same, 1.0, -1.0)
