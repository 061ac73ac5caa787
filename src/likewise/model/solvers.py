"""Gaussian posteriors of Gaussian sites: by weights, pairs, or entries of the matrix.

One sweep of fitting is one `solve`. Nothing here knows where sites come from, or when
to stop.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likewise.digits import SITE_BITS, rounded
from likewise.errors import InferenceError
from likewise.model import equations, matrix
from likewise.model.equations import Sites
from likewise.model.parts import Features, blocks, derive, joined, over
from likewise.model.posterior import (
    EntryPosterior,
    MetricPosterior,
    PairPosterior,
    WeightPosterior,
)
from likewise.model.priors import IMPLIED_SHIFT, MatrixPrior, Prior, WeightPrior

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# A sweep by pairs takes an eighth of one by as many entries, which has a covariance to
# multiply out; but P(same) of other pairs takes the square of either.
PAIRS_AHEAD = 1.5


# The share of two pairs that have an item in common, up to which sums over these alone
# are quicker: at .03 half the time of sums over all, at .002 a fifth.
SPARSE = 0.03


@dataclass(frozen=True)
class LabelledPairs:
    """Labelled pairs as the bounds need them."""

    features: Features  # (n_pairs, n_features): what the basis gives
    targets: Array  # (n_pairs,): weight * (P(same) - 1/2), so weight * label / 2
    weights: Array  # (n_pairs,)
    pairs: Pairs  # (n_pairs, 2): numbers of the items
    # (n_pairs,): 1 for pairs known because of their labels, which have a threshold of
    # their own; 0 for the others.
    implied: Array
    # (n_pairs,): how likely each label is right, above 1/2; None where all are certain.
    right: Array | None = None

    def tempered(self) -> "LabelledPairs":
        """The same, a label that is right with probability q counting 2q - 1."""
        if self.right is None:
            return self
        kept = 2 * self.right - 1
        targets, weights = kept * self.targets, kept * self.weights
        return replace(self, targets=targets, weights=weights, right=None)

    def some(self, n_pairs: int) -> "LabelledPairs":
        """So many of the pairs, from first to last."""
        places = np.linspace(0, len(self.targets) - 1, n_pairs)
        return self.at(places.astype(np.intp))

    def at(self, rows: NDArray[np.intp]) -> "LabelledPairs":
        """Some of the pairs."""
        return LabelledPairs(
            self.features[rows],
            self.targets[rows],
            self.weights[rows],
            self.pairs[rows],
            self.implied[rows],
            None if self.right is None else self.right[rows],
        )


class Slope(NamedTuple):
    """How the lower bound changes with the logarithm of a setting."""

    value: float
    # Of how much the slope falls along the setting, as is to be expected.
    curvature: float


@dataclass(frozen=True)
class Solution:
    """The Gaussian posterior of some sites."""

    latent_mean: Array
    latent_variance: Array
    divergence: float
    # Slope of the lower bound in the logarithm of each setting of the prior.
    slopes: Callable[[], Mapping[str, Slope]]
    posterior: Callable[[], MetricPosterior]  # built only for the last one


class Solver(Protocol):
    """Gaussian posteriors of sites, under a prior at any of its settings."""

    def solve(self, sites: Sites, prior: Prior) -> Solution:
        """Give the posterior of the sites."""
        ...

    def start(self, prior: Prior) -> tuple[Array, Array]:
        """Moments of f before any answer."""
        ...


@dataclass
class WeightSolver:
    """Threshold and weights, as many dimensions as there are weights: (9), (10)."""

    told: LabelledPairs
    sign: str = "held"  # the mean: "held" >= 0, or "clipped" at 0 as in the paper

    def __post_init__(self) -> None:
        self._free = np.ones(self.told.features.shape[1], dtype=bool)

    def start(self, prior: Prior) -> tuple[Array, Array]:
        """See Solver."""
        assert isinstance(prior, WeightPrior)
        latent, squares = joined(
            over(self.told.features, partial(_weight_start, prior.mean))
        )
        return latent, squares / prior.precision

    def solve(self, sites: Sites, prior: Prior) -> Solution:
        """See Solver."""
        assert isinstance(prior, WeightPrior)
        features, precisions = self.told.features, prior.precisions
        sums = over(features, _pair_sums, sites[0] / 2, -sites[1])
        inverse, pull = (sum(each[1:], each[0]) for each in zip(*sums, strict=True))
        inverse[np.diag_indices_from(inverse)] += precisions
        n_pairs = features.shape[0]
        covariance, root, log_determinant = _invert(inverse, n_pairs, prior.precision)
        mean = equations.posterior_mean(covariance, prior.mean, precisions, pull)
        mean = self._nonnegative(mean, inverse, precisions * prior.mean + pull)
        latent, variance = joined(over(features, partial(_moments_by, mean, root)))
        divergence = equations.gaussian_divergence(
            mean, covariance, log_determinant, prior.mean, precisions
        )
        n_determined = len(mean) - prior.precision * float(np.trace(covariance))
        norm = float(np.sum((mean - prior.mean) ** 2))
        slope = Slope(
            matrix.precision_slope(n_determined, norm, prior.precision),
            matrix.part_curvature(n_determined),
        )
        return Solution(
            latent,
            variance,
            divergence,
            lambda: {"precision": slope},
            lambda: WeightPosterior(mean, covariance),
        )

    def _nonnegative(self, mean: Array, inverse: Array, pull: Array) -> Array:
        if (mean >= 0).all():
            return mean
        if self.sign == "clipped":
            return equations.clipped_mean(mean)
        mean = equations.nonnegative_mean(inverse, pull, self._free)
        self._free = mean > 0
        return mean


def _weight_start(mean: Array, features: Array) -> tuple[Array, Array]:
    """Prior mean of f, and the squares that its variance is made of."""
    return features @ mean, np.einsum("ij,ij->i", features, features)


def _pair_sums(features: Array, curvature: Array, pull: Array) -> tuple[Array, Array]:
    """What pairs add to the posterior's precision, and their pull."""
    nothing = np.zeros(features.shape[1])
    return (
        equations.posterior_precision(features, curvature, nothing),
        equations.evidence_pull(features, pull),
    )


def _moments_by(mean: Array, root: Array, features: Array) -> tuple[Array, Array]:
    return equations.latent_moments_by_root(features, mean, root)


def _invert(
    inverse: Array, n_pairs: int, precision: float
) -> tuple[Array, Array, float]:
    try:
        return equations.posterior_covariance(inverse)
    except np.linalg.LinAlgError as error:
        raise InferenceError(
            f"The posterior covariance is not positive definite with {n_pairs} pairs. "
            f"Raise 'prior_precision' (now {precision:.3g})."
        ) from error


def matrix_solver(told: LabelledPairs, prior: MatrixPrior) -> Solver:
    """The solver of the smaller side: pairs, or entries of the matrix.

    Items off their features are known to the pairs' side only.
    """
    n_pairs = PAIRS_AHEAD * (2 + prior.n_entries)
    if prior.item_noise > 0 or len(told.targets) <= n_pairs:
        return PairSolver(told, prior)
    return EntrySolver(told, prior)


class PairSolver:
    """The whole matrix in as many dimensions as there are pairs.

    The covariance of f before any answer has three parts: of the free matrix, of what
    is fixed (threshold, scale and the shift of implied pairs), and of the items off
    their features.
    """

    def __init__(self, told: LabelledPairs, prior: MatrixPrior) -> None:
        self._pairs, self._implied = told.pairs, told.implied
        self._gaps = rounded(prior.gaps(np.asarray(told.features)))
        self._distance = prior.relative_distance(self._gaps)
        seen = prior.free_gaps(self._gaps)
        self._free = np.asarray(seen @ seen.T)
        self._free *= self._free
        self._items = (
            prior.item_covariance(self._gaps, told.pairs)
            if prior.item_noise > 0
            else np.empty((0, 0))
        )
        # The same, as its few entries where hardly any two pairs share an item.
        self._shared: Array | csr_array = self._items
        if np.count_nonzero(self._items) < SPARSE * self._items.size:
            self._shared = csr_array(self._items)
        self._kept: tuple[MatrixPrior | None, Array] = None, self._free

    def start(self, prior: Prior) -> tuple[Array, Array]:
        """See Solver."""
        assert isinstance(prior, MatrixPrior)
        variance = prior.variance(self._gaps) + prior.item_variance(self._gaps)
        return prior.latent(self._gaps), variance + IMPLIED_SHIFT**2 * self._implied

    def solve(self, sites: Sites, prior: Prior) -> Solution:
        """See Solver."""
        assert isinstance(prior, MatrixPrior)
        half = rounded(np.sqrt(sites[0]), SITE_BITS)
        curvature, pull = half**2, sites[1]
        covariance, latent = self._covariance(prior), prior.latent(self._gaps)
        alpha, root, log_determinant = matrix.pair_posterior(
            covariance, latent, curvature, pull
        )
        variance = matrix.pair_variance(covariance, curvature, root)
        moved = covariance @ alpha
        divergence = matrix.pair_divergence(
            float(alpha @ moved), log_determinant, curvature, variance
        )
        return Solution(
            latent + moved,
            variance,
            divergence,
            lambda: self._slopes(prior, alpha, root, half),
            lambda: PairPosterior(
                prior,
                rounded(alpha),
                self._gaps,
                rounded(root),
                half,
                self._pairs,
                self._implied,
            ),
        )

    def _covariance(self, prior: MatrixPrior) -> Array:
        """Covariance of f over the pairs; kept, for most sweeps have the last one's."""
        if prior is not self._kept[0]:
            plain = self._plain(prior)
            covariance = self._free / prior.precision
            covariance += plain @ plain.T
            if prior.item_noise > 0:
                covariance += prior.item_noise * self._items
            self._kept = prior, covariance
        return self._kept[1]

    def _plain(self, prior: MatrixPrior) -> Array:
        """What threshold, scale and shift multiply, times their deviations."""
        columns = [np.ones(len(self._gaps)), self._distance, self._implied]
        deviations = np.r_[prior.fixed_deviations, IMPLIED_SHIFT]
        return np.asarray(np.column_stack(columns) * deviations)

    def _slopes(
        self, prior: MatrixPrior, alpha: Array, root: Array, half: Array
    ) -> dict[str, Slope]:
        """The traces of W B^-1 W F for each part F; together they are n - tr B^-1."""
        known = root @ (half[:, None] * self._plain(prior))
        fixed = np.einsum("ij,ij->j", known, known)
        n_free = len(half) - float(np.vdot(root, root) + fixed.sum())
        slopes = {}
        if prior.item_noise > 0:
            trace = matrix.determined_trace(self._shared, half, root)
            determined = prior.item_noise * trace
            form = prior.item_noise * float(alpha @ (self._items @ alpha))
            slopes["item_noise"] = _part_slope(form, determined)
            n_free -= determined
        free_form = float(alpha @ self._free @ alpha) / prior.precision
        slopes["precision"] = _part_slope(free_form, n_free, sign=-1)
        deviation = prior.fixed_deviations[1]
        moved = deviation**2 * float(alpha @ self._distance)
        variance = deviation**2 * (1 - float(fixed[1]))
        slopes["scale"] = _scale_slope(prior, prior.scale + moved, variance)
        return slopes


def _part_slope(form: float, determined: float, sign: int = 1) -> Slope:
    return Slope(
        sign * matrix.part_slope(form, determined), matrix.part_curvature(determined)
    )


def _scale_slope(prior: MatrixPrior, mean: float, variance: float) -> Slope:
    deviation = prior.fixed_deviations[1]
    return Slope(
        matrix.scale_slope(mean, variance, prior.scale, deviation),
        matrix.scale_curvature(variance, prior.scale, deviation),
    )


class EntrySolver:
    """The whole matrix in as many dimensions as its free part has entries.

    Sums over pairs are taken in blocks: entries x pairs are never in memory at once,
    unless they are few.
    """

    def __init__(self, told: LabelledPairs, prior: MatrixPrior) -> None:
        self._implied = told.implied
        # What the free matrix sees of the gaps, and last the distance.
        self._seen = derive(told.features, partial(_seen_by, prior), prior.n_free + 1)
        self._width = 3 + prior.n_entries
        self._kept: Array | None = None
        if isinstance(self._seen, np.ndarray):
            if len(blocks(len(self._seen), self._width)) == 1:
                self._kept = _entry_features(self._seen, self._implied)

    def start(self, prior: Prior) -> tuple[Array, Array]:
        """See Solver."""
        assert isinstance(prior, MatrixPrior)
        squares, distance = joined(over(self._seen, _entry_start))
        threshold, scale = prior.fixed_deviations**2
        variance = squares**2 / prior.precision + scale * distance**2 + threshold
        latent = prior.scale * distance - prior.parameter_mean[0]
        return latent, variance + IMPLIED_SHIFT**2 * self._implied

    def solve(self, sites: Sites, prior: Prior) -> Solution:
        """See Solver."""
        assert isinstance(prior, MatrixPrior)
        mean = np.r_[0.0, prior.parameter_mean]
        precisions = 1 / np.r_[IMPLIED_SHIFT**2, prior.parameter_variance]
        inverse, pull = self._sums(sites, precisions)
        n_pairs = self._seen.shape[0]
        covariance, root, log_determinant = _invert(inverse, n_pairs, prior.precision)
        parameters = equations.posterior_mean(covariance, mean, precisions, pull)
        latent, variance = joined(self._over(partial(_moments_by, parameters, root)))
        divergence = equations.gaussian_divergence(
            parameters, covariance, log_determinant, mean, precisions
        )
        return Solution(
            latent,
            variance,
            divergence,
            lambda: _entry_slopes(prior, parameters[1:], np.diag(covariance)[1:]),
            lambda: EntryPosterior(prior, parameters[1:], covariance[1:, 1:]),
        )

    def _sums(self, sites: Sites, precisions: Array) -> tuple[Array, Array]:
        """The posterior's precision, and the pull of the pairs: sums over all pairs."""
        inverse, pull = np.diag(precisions), np.zeros(len(precisions))
        for part in self._over(_pair_sums, sites[0] / 2, -sites[1]):
            inverse += part[0]
            pull += part[1]
        return inverse, pull

    def _over(self, work: Callable[..., Any], *vectors: Array) -> list[Any]:
        """What `work` gives for the entries of each part."""
        if self._kept is not None:
            return [work(self._kept, *vectors)]
        return over(
            self._seen,
            partial(_with_entries, work),
            self._implied,
            *vectors,
            width=self._width,
        )


def _seen_by(prior: MatrixPrior, features: Array) -> Array:
    """What the free matrix sees of the gaps of pairs, and their distance."""
    gaps = prior.gaps(features)
    return np.column_stack([prior.free_gaps(gaps), prior.relative_distance(gaps)])


def _entry_start(seen: Array) -> tuple[Array, Array]:
    """Squares of what the free matrix sees, and the distance."""
    return np.einsum("ij,ij->i", seen[:, :-1], seen[:, :-1]), seen[:, -1]


def _entry_features(seen: Array, implied: Array) -> Array:
    """What the parameters multiply; the first one is the shift of implied pairs."""
    fixed = implied, -np.ones(len(seen)), seen[:, -1]
    return matrix.matrix_features(seen[:, :-1], *fixed)


def _with_entries(
    work: Callable[..., Any], seen: Array, implied: Array, *vectors: Array
) -> Any:
    return work(_entry_features(seen, implied), *vectors)


def _entry_slopes(
    prior: MatrixPrior, parameters: Array, variance: Array
) -> dict[str, Slope]:
    free, norm = variance[2:], float(parameters[2:] @ parameters[2:])
    n_determined = len(free) - prior.precision * float(free.sum())
    return {
        "precision": Slope(
            matrix.precision_slope(n_determined, norm, prior.precision),
            matrix.part_curvature(n_determined),
        ),
        "scale": _scale_slope(prior, float(parameters[1]), float(variance[1])),
    }
