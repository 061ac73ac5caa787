"""What is believed before any answer: Gaussians over a metric, one or several.

Knows items and coordinates, never labels. How items shape a metric is unlabelled.py's.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likewise.digits import rounded, turn_steps, turned
from likewise.model import matrix, surroundings, unlabelled
from likewise.model.basis import Basis, feature_deviations, fit_basis
from likewise.model.classes import Labelled, class_metric
from likewise.model.surroundings import (
    Surroundings,
    seen_rows,
    surround,
    surround_nearby,
)
from likewise.threads import one_thread

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Classes = NDArray[np.intp]
Rows = NDArray[np.intp]

# The threshold of the whole matrix, mean and deviation, beyond the squared distance of
# nearest neighbours; and the deviation of its scale, as a share of the scale itself.
THRESHOLD = (1.0, 2.0)
SCALE_DEVIATION = 0.25
# Deviation of the shift of implied pairs: a pair is implied because of its label (two
# groups that were told apart imply all "different" between them), so that the share of
# "same" among implied pairs says nothing of other pairs. As wide as the threshold's.
IMPLIED_SHIFT = THRESHOLD[1]
# Plain distance has half of the weight before any answer, and the others share the
# rest: it is what a person has without us, and answers must speak for leaving it.
UNIT_SHARE = 0.5
# Metrics whose squared distances correlate as much are one: what is there twice before
# any answer has twice the weight.
ALIKE = 0.998
# Nearest neighbours lie at most at this share of the mean squared distance: where all
# distances are alike, a scale measured from there would have no bound.
FARTHEST_NEIGHBOURS = 0.95


class Setting(NamedTuple):
    """A number of the prior that the evidence chooses: log-normal before any answer."""

    name: str  # the field of the prior
    median: float
    spread: float  # deviation of its logarithm; infinite where anything goes
    lowest: float
    highest: float

    def log_density(self, value: float) -> float:
        """Log density of the value's logarithm; 0 where anything goes."""
        if np.isinf(self.spread):
            return 0.0
        off = np.log(value / self.median) / self.spread
        return float(-(off**2) / 2 - np.log(self.spread * np.sqrt(2 * np.pi)))

    def slope(self, value: float) -> float:
        """Derivative of `log_density` in the logarithm of the value."""
        return float(-np.log(value / self.median) / self.spread**2)


# Medians and spreads are those of most evidence over many data sets: the table and the
# command that prints it are in docs/math.md.
DELTA = Setting("precision", 0.2, float(np.log(5)), 1e-4, 1e4)
SCALE = Setting("scale", 5.0, 1.0, 0.05, 500.0)
ITEM_NOISE = Setting("item_noise", 0.2, float(np.log(5)), 1e-3, 1e3)
# Where the search begins, beside the medians: answers that distance does not explain
# may speak of noisy items or of another metric, and between the two lies a ridge.
NOISY_START = {"precision": 0.5, "item_noise": 5.0}
# The paper's delta has no prior, only a first guess.
PAPER_DELTA = Setting("precision", 0.25, float("inf"), 1e-4, 1e4)


@dataclass(frozen=True)
class WeightPrior:
    """Independent Gaussians over the threshold and one weight a basis vector: (7)."""

    mean: Array  # (1 + n_basis,)
    precision: float  # delta

    @property
    def precisions(self) -> Array:
        """Delta once per weight."""
        return np.full(len(self.mean), self.precision)


@dataclass(frozen=True)
class MatrixPrior:
    """Gaussian over the whole matrix: s A_0 + free matrix, and a threshold.

    f = s (d^2 - o) / (1 - o) + u'Du - t, with d^2 = u'A_0 u the squared distance by the
    prior metric and o that of nearest neighbours: s says how much less likely "same" is
    at a typical distance than next door, whatever the number of dimensions. D is the
    free matrix, held at zero by `precision`; with `free_directions` it is zero outside
    of them. Items lie where their features say, give or take `item_noise`.
    """

    frame: Array  # (n_basis, n_basis): takes gaps to where A_0 is diagonal
    centre: Array  # (n_basis,): the diagonal of A_0 there
    offset: float = 0.0  # o
    precision: float = DELTA.median  # delta
    scale: float = SCALE.median  # mean of s
    item_noise: float = 0.0  # nu: how far items' features may mislead
    # (n_basis, n_free), orthonormal: where D may differ from zero; None is everywhere.
    free_directions: Array | None = None

    def gaps(self, features: Array) -> Array:
        """The gaps of pairs in the frame's coordinates."""
        return np.asarray(features @ self.frame)

    def free_gaps(self, gaps: Array) -> Array:
        """What the free matrix sees of gaps in the frame's coordinates."""
        if self.free_directions is None:
            return gaps
        return np.asarray(gaps @ self.free_directions)

    @property
    def n_free(self) -> int:
        """Directions in which the matrix is free."""
        free = self.free_directions
        return len(self.centre) if free is None else free.shape[1]

    def spread_out(self, free: Array) -> Array:
        """Free matrices, (..., n_free, n_free), in the frame's coordinates."""
        if self.free_directions is None:
            return free
        return np.asarray(self.free_directions @ free @ self.free_directions.T)

    @property
    def fixed_deviations(self) -> Array:
        """Deviations of threshold and scale, which no precision holds."""
        return np.array([THRESHOLD[1], SCALE_DEVIATION * self.scale])

    @property
    def room(self) -> float:
        """From nearest neighbours to the mean squared distance: 1 - o."""
        return 1.0 - self.offset

    @property
    def parameter_mean(self) -> Array:
        """Means of threshold, scale and the entries of the free matrix."""
        fixed = [THRESHOLD[0], self.scale]
        return np.concatenate([fixed, np.zeros(self.n_entries)])

    @property
    def parameter_variance(self) -> Array:
        """Variances of threshold, scale and the entries of the free matrix."""
        free = np.full(self.n_entries, 1 / self.precision)
        return np.concatenate([self.fixed_deviations**2, free])

    @property
    def n_entries(self) -> int:
        """Entries of the free matrix, which is symmetric."""
        return self.n_free * (self.n_free + 1) // 2

    def squared_distance(self, gaps: Array) -> Array:
        """d^2 = u'A_0 u of each pair."""
        return np.asarray(gaps**2 @ self.centre)

    def relative_distance(self, gaps: Array) -> Array:
        """What s is multiplied by: 0 at nearest neighbours, 1 at the mean distance."""
        return np.asarray((self.squared_distance(gaps) - self.offset) / self.room)

    def latent(self, gaps: Array) -> Array:
        """Prior mean of f for each pair."""
        return np.asarray(self.scale * self.relative_distance(gaps) - THRESHOLD[0])

    def covariance(self, gaps: Array, others: Array) -> Array:
        """Prior covariance of f between pairs, their items' noise aside."""
        result = np.asarray(self.free_gaps(gaps) @ self.free_gaps(others).T)
        result *= result
        result /= self.precision
        threshold, scale = self.fixed_deviations**2
        scaled = scale * self.relative_distance(gaps)
        result += np.outer(scaled, self.relative_distance(others))
        result += threshold
        return result

    def variance(self, gaps: Array) -> Array:
        """The diagonal of `covariance`."""
        free = self.free_variance(gaps)
        threshold, scale = self.fixed_deviations**2
        return np.asarray(free + scale * self.relative_distance(gaps) ** 2 + threshold)

    def free_variance(self, gaps: Array) -> Array:
        """The free matrix's part of `variance`."""
        seen = self.free_gaps(gaps)
        return np.asarray(np.einsum("ij,ij->i", seen, seen) ** 2 / self.precision)

    def greatest_variance(self, squared_gap: float) -> float:
        """No pair with a gap of at most this square has a greater variance of f."""
        farthest = squared_gap * float(self.centre.max(initial=0.0))
        relative = max(abs(farthest - self.offset), abs(self.offset)) / self.room
        threshold, scale = self.fixed_deviations**2
        free = squared_gap
        if self.free_directions is not None:
            free *= float(np.linalg.norm(self.free_directions, 2)) ** 2
        metric = free**2 / self.precision + scale * relative**2 + threshold
        return float(metric + 2 * self.item_noise * farthest)

    def item_variance(self, gaps: Array) -> Array:
        """Variance of f for two items off their features, apart from all others."""
        return np.asarray(2 * self.item_noise * self.squared_distance(gaps))

    def item_covariance(self, gaps: Array, pairs: Pairs) -> Array:
        """What pairs have in common by an item that they share, for a noise of 1.

        f gains (e_i - e_j)'u with u the gap of items i and j, e ~ N(0, A_0) an item:
        an item that lies h off its features has e = 2 A h, to first order.
        """
        shared = shared_items(pairs, pairs).toarray()
        shared *= (gaps * self.centre) @ gaps.T
        return np.asarray(shared)

    def item_cross(
        self, gaps: Array, pairs: Pairs, others: Array, other_pairs: Pairs
    ) -> csr_array:
        """`item_covariance` between two lists of pairs, few of which share an item."""
        shared = shared_items(pairs, other_pairs)
        rows = np.repeat(np.arange(len(pairs)), np.diff(shared.indptr))
        weighed = (gaps * self.centre)[rows]
        shared.data *= np.einsum("ij,ij->i", weighed, others[shared.indices])
        return shared


def shared_items(pairs: Pairs, others: Pairs) -> csr_array:
    """+1 for an item on the same side of two pairs, -1 for one on opposite sides."""
    n_items = 1 + max(int(pairs.max(initial=0)), int(others.max(initial=0)))
    return csr_array(_incidence(pairs, n_items) @ _incidence(others, n_items).T)


def _incidence(pairs: Pairs, n_items: int) -> csr_array:
    """A row for each pair: +1 at its first item, -1 at its second."""
    signs = np.tile([1.0, -1.0], len(pairs))
    starts = np.arange(0, 2 * len(pairs) + 1, 2)
    return csr_array((signs, pairs.ravel(), starts), shape=(len(pairs), n_items))


Prior = WeightPrior | MatrixPrior
PRIORS = ("evidence", "unlabelled", "unit")


def with_settings(prior: Prior, settings: tuple[Setting, ...], values: Array) -> Prior:
    """The same prior at these values of its settings."""
    named = zip(settings, values.tolist(), strict=True)
    chosen: dict[str, Any] = {each.name: value for each, value in named}
    return replace(prior, **chosen)


@dataclass(frozen=True)
class Frames:
    """What depends on the items only: their coordinates, and priors by name."""

    basis: Basis
    coordinates: Array  # (n_items, n_basis)
    priors: dict[str, Prior]
    # Those of a prior's numbers that the evidence chooses.
    settings: tuple[Setting, ...]
    n_seen: int  # items that the priors' metrics were estimated from

    @property
    def log_shares(self) -> dict[str, float]:
        """Log weight of each prior before any answer."""
        n_others = len(self.priors) - ("unit" in self.priors)
        if n_others in (0, len(self.priors)):
            return dict.fromkeys(self.priors, -float(np.log(len(self.priors))))
        other = float(np.log((1 - UNIT_SHARE) / n_others))
        shares = dict.fromkeys(self.priors, other)
        return shares | {"unit": float(np.log(UNIT_SHARE))}


# Items up to which one thread finds the priors. On two busy cores two threads wait for
# each other in every search for neighbours: 4,000 items took 9.8 s instead of 2.0 s.
ONE_THREAD = 5_000


class Choices(NamedTuple):
    """What a user chooses of the prior; None lets the evidence choose."""

    basis: str
    n_basis: int | float | None
    prior: str
    prior_mean: float
    prior_precision: float | None
    item_noise: float | None


def look_at(
    X: Array,
    item_weights: Array,
    choices: Choices,
    rng: np.random.RandomState,
    classes: Classes | None = None,
) -> Frames:
    """Find coordinates of the items, and the priors in them.

    `classes`, below zero for items without one, replaces what neighbours say by what
    classes say.
    """
    basis = fit_basis(X, choices.basis, choices.n_basis, item_weights)
    coordinates = basis.project(X)
    deviations = feature_deviations(X, basis.centre, item_weights)
    with one_thread() if len(X) <= ONE_THREAD else nullcontext():
        rows = seen_rows(len(X), rng)
        items = _Items(coordinates, item_weights, basis, deviations, rows)
        if classes is None:
            metrics = _metrics(choices.prior, items, rng)
        else:
            metrics = {"classes": _Found(_class_metric(items, classes, rng))}
        priors = {
            name: _prior(found, items, choices, rng) for name, found in metrics.items()
        }
    n_seen = len(X) if items.is_whole else surroundings.MAX_SEEN
    if basis.kind == "full":
        squares = np.einsum("ij,ij->j", coordinates, coordinates)
        del items, coordinates  # X has no other copy
        basis, rotation = basis.turned(squares)
        coordinates = basis.project(X)
        priors = {name: _turned(prior, rotation) for name, prior in priors.items()}
    return Frames(basis, coordinates, priors, _settings(choices), n_seen)


class _Items(NamedTuple):
    """Items in the basis' coordinates, and how they were given."""

    coordinates: Array  # (n_items, n_basis)
    weights: Array  # (n_items,)
    basis: Basis
    deviations: Array  # (n_features,)
    rows: Rows | slice  # those that moments are taken over

    @property
    def is_whole(self) -> bool:
        """Whether moments are taken over all items."""
        return isinstance(self.rows, slice)

    @property
    def seen(self) -> tuple[Array, Array]:
        """Coordinates and weights of the items that moments are taken over."""
        return self.coordinates[self.rows], self.weights[self.rows]

    def around(self, root: Array, rng: np.random.RandomState) -> Surroundings:
        """Some items and those that may be their neighbours in a metric's root."""
        if self.is_whole:
            return surround(self.coordinates, self.weights, rng)
        return surround_nearby(self.coordinates, self.weights, root, rng)

    def standard(self) -> Array:
        """The metric of each feature divided by its deviation, in the usual unit."""
        metric = unlabelled.standard_metric(self.basis, self.deviations)
        return unlabelled.scaled_metric(metric, self.coordinates, self.weights)


class _Found(NamedTuple):
    """A metric, and who may be near whom in it: None where that was not looked at."""

    metric: Array
    around: Surroundings | None = None


def _class_metric(items: _Items, classes: Classes, rng: np.random.RandomState) -> Array:
    """The one metric that classes speak for.

    Where some items have no class, what neighbours agree on has a say too.
    """
    is_known = classes >= 0
    labelled = Labelled(items.coordinates, classes, items.weights).at(is_known)
    unit = np.eye(items.coordinates.shape[1])
    plain = [unit]
    if not is_known.all():
        named = _metrics("evidence", items, rng)
        named.pop("standard", None)  # it comes last
        plain = [found.metric for found in named.values()]
    return class_metric(labelled, [*plain, items.standard()], rng)


def with_free_directions(
    prior: MatrixPrior, scatter: Array, n_free: int
) -> MatrixPrior:
    """The same prior with its free matrix held to where gaps are largest.

    `scatter` is the sum of their squares, in the basis' coordinates.
    """
    if n_free >= prior.n_free:
        return prior
    moments = prior.frame.T @ scatter @ prior.frame
    vectors = np.linalg.eigh(moments)[1]
    return replace(prior, free_directions=vectors[:, ::-1][:, :n_free])


def _prior(
    found: _Found, items: _Items, choices: Choices, rng: np.random.RandomState
) -> Prior:
    if choices.basis != "full":
        return _weight_prior(found.metric, choices)
    root = unlabelled.distance_root(found.metric)
    around = found.around or items.around(root, rng)
    distance = unlabelled.neighbour_distance(around, root)
    return matrix_prior(found.metric, distance, choices)


def _turned(prior: Prior, rotation: Array) -> Prior:
    """The same in coordinates that were turned, its frame told by few bits."""
    assert isinstance(prior, MatrixPrior)
    if (prior.centre == prior.centre[0]).all():
        return prior  # the same whichever way it is turned
    lengths = np.sqrt(1.0 / (2.0 - prior.centre))  # see matrix_prior
    # The heaviest first: what is left after them is more and more alike.
    columns = (rotation.T @ (prior.frame / lengths))[:, ::-1]
    frame = turned(columns, turn_steps(prior.centre[::-1]))[:, ::-1] * lengths
    return replace(prior, frame=rounded(frame))


def _metrics(
    prior: str, items: _Items, rng: np.random.RandomState
) -> dict[str, _Found]:
    """The metrics to believe in before any answer, by name; no two the same."""
    coordinates, item_weights = items.seen
    scatter = np.atleast_2d(np.cov(coordinates.T, ddof=0, aweights=item_weights))
    unit = np.eye(coordinates.shape[1])
    if prior == "unit":
        return {"unit": _Found(unit)}
    if prior == "unlabelled":
        return {"far": _Found(unlabelled.far_metric(coordinates, item_weights, rng))}
    standard = unlabelled.standard_metric(items.basis, items.deviations)
    white = unlabelled.white_metric(coordinates)
    found: dict[str, _Found] = {}
    for way, base in {"": unit, ", standard": standard, ", white": white}.items():
        base = unlabelled.scaled_metric(base, coordinates, item_weights)
        root = unlabelled.metric_root(base)
        around = None if items.is_whole else items.around(root, rng)
        mapped = coordinates @ root
        # First, for where neighbours add nothing the plain name is the true one.
        if way != ", white":
            name = way.removeprefix(", ") or "unit"
            _add(found, name, _Found(base, around), scatter)
        nearby = None if around is None else around.mapped(root)
        near = unlabelled.near_metric(mapped, item_weights, rng, nearby)
        _add(found, f"near{way}", _Found(root @ near @ root.T, around), scatter)
        if way != ", white":
            far = unlabelled.far_metric(mapped, item_weights, rng)
            _add(found, f"far{way}", _Found(root @ far @ root.T, around), scatter)
    return found


def _add(found: dict[str, _Found], name: str, new: _Found, scatter: Array) -> None:
    """Add a metric, unless one like it is there."""
    alike = (
        matrix.distance_correlation(new.metric, other.metric, scatter)
        for other in found.values()
    )
    if all(correlation < ALIKE for correlation in alike):
        found[name] = new


def _weight_prior(metric: Array, choices: Choices) -> WeightPrior:
    mean = choices.prior_mean * np.r_[1.0, np.diag(metric)]
    return WeightPrior(mean, choices.prior_precision or PAPER_DELTA.median)


def matrix_prior(
    metric: Array, neighbour_distance: float, choices: Choices
) -> MatrixPrior:
    """Coordinates half way between the items' unit and the prior metric's.

    There the prior metric is diagonal, and a free matrix as large in every direction
    is one that the prior metric finds likely and unit distance too.
    """
    values, vectors = np.linalg.eigh(metric)
    values = np.maximum(values, 0.0)
    half_way = (1 + values) / 2
    noise = choices.item_noise
    return MatrixPrior(
        rounded(vectors * np.sqrt(half_way)),
        values / half_way,
        min(neighbour_distance, FARTHEST_NEIGHBOURS),
        choices.prior_precision or DELTA.median,
        SCALE.median * choices.prior_mean,
        ITEM_NOISE.median if noise is None else noise,
    )


def _settings(choices: Choices) -> tuple[Setting, ...]:
    """What the evidence chooses: that which was not given."""
    delta = DELTA if choices.basis == "full" else PAPER_DELTA
    chosen = [delta] if choices.prior_precision is None else []
    if choices.basis == "full":
        chosen.append(SCALE._replace(median=SCALE.median * choices.prior_mean))
        if choices.item_noise is None:
            chosen.append(ITEM_NOISE)
    return tuple(chosen)
