"""Whether P(same) means what it says: of pairs called 70%, 70% should be the same.

And how what came true corrects it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError, MissingExtraError
from likewise.model import matrix
from likewise.pairs import check_labels

Array = NDArray[np.float64]

# Deviations of shift and of the slope's logarithm before any answer came true: those of
# most evidence over the data sets of benchmarks/meanings.py (by hand: docs/math.md).
SHIFT_DEVIATION, SLOPE_DEVIATION = 0.25, 0.75
# Predictions nearer to 0 or 1 are held to say no more than this.
SUREST = 1e-4
MAX_STEPS = 50  # of Newton's method, which needs some five


@dataclass(frozen=True)
class Calibration:
    """What answers that came true make of P(same): sigma(shift + slope logit P)."""

    shift: float = 0.0
    slope: float = 1.0
    # Of the shift and of the slope's logarithm: how well the two are known.
    covariance: tuple[tuple[float, float], tuple[float, float]] = (
        (0.0, 0.0),
        (0.0, 0.0),
    )

    def correct(self, p_same: Array) -> Array:
        """P(same) as it comes true."""
        if self.shift == 0 and self.slope == 1:
            return p_same
        return matrix.corrected_probability(p_same, self.shift, self.slope)

    def sample(self, n_samples: int, rng: np.random.RandomState) -> "list[Calibration]":
        """Draw corrections that the answers leave likely."""
        mean = (self.shift, float(np.log(self.slope)))
        draws = rng.multivariate_normal(mean, self.covariance, n_samples)
        return [Calibration(float(a), float(np.exp(b))) for a, b in draws]


class Level(NamedTuple):
    """P(same) of pairs drawn at random, and how common "same" is among all pairs."""

    said: Array
    share: float
    deviation: float  # of the share, as far as it is known


def learn_calibration(
    said: Array,
    is_same: Array,
    slope_deviation: float = SLOPE_DEVIATION,
    level: Level | None = None,
) -> Calibration:
    """The correction that predictions, made before the answers came, ask for.

    And one that brings the mean of P(same) to its level, where that is given. The most
    probable one under Gaussian priors, by Newton's method, and the curvature there.
    """
    deviations = np.array([SHIFT_DEVIATION, slope_deviation])
    logits = _logits(said)
    if level is not None:
        level = level._replace(said=_logits(level.said))

    def slope_at(place: Array) -> tuple[Array, Array]:
        """Slope of the log posterior in shift and log slope, and Fisher's curvature."""
        p_same, jacobian = _corrected(place, logits)
        weighed = jacobian * (p_same * (1 - p_same))[:, None]
        slope = jacobian.T @ (is_same - p_same) - place / deviations**2
        curvature = weighed.T @ jacobian + np.diag(1 / deviations**2)
        if level is not None:
            p_same, jacobian = _corrected(place, level.said)
            rise = (p_same * (1 - p_same)) @ jacobian / len(p_same) / level.deviation
            slope += rise * (level.share - p_same.mean()) / level.deviation
            curvature += np.outer(rise, rise)
        return slope, curvature

    place = np.zeros(2)
    for _ in range(MAX_STEPS):
        slope, curvature = slope_at(place)
        move = np.linalg.solve(curvature, slope)
        # A step beyond the priors' deviations leaves where the curvature was taken.
        move /= max(1.0, float(np.abs(move / deviations).max()))
        place = place + move
        if np.abs(move).max() < 1e-8:
            break
    (a, b), (c, d) = np.linalg.inv(slope_at(place)[1]).tolist()
    return Calibration(float(place[0]), float(np.exp(place[1])), ((a, b), (c, d)))


def _logits(said: Array) -> Array:
    return np.asarray(matrix.logit(np.clip(said, SUREST, 1 - SUREST)))


def _corrected(place: Array, logits: Array) -> tuple[Array, Array]:
    """P(same) as corrected, and what its logit gains with shift and log slope."""
    scaled = np.exp(place[1]) * logits
    jacobian = np.column_stack([np.ones(len(logits)), scaled])
    return matrix.sigmoid(place[0] + scaled), jacobian


class Metric(Protocol):
    """Whatever gives P(same) of pairs: a fitted BayesianMetric."""

    def pair_probability(self, X: ArrayLike, pairs: ArrayLike) -> Array:
        """P(same) of each pair."""
        ...


@dataclass(frozen=True)
class CalibrationCurve:
    """P(same) beside what came true, in bins of equal width; empty bins left out."""

    p_same: Array  # (n_bins,): mean P(same) of the bin's pairs
    share_same: Array  # (n_bins,): share of them that are the same
    n_pairs: NDArray[np.int64]  # (n_bins,)

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap, weighted by pairs."""
        gaps = np.abs(self.p_same - self.share_same)
        return float(np.average(gaps, weights=self.n_pairs))

    def save_plot(self, path: str | Path, title: str = "") -> None:
        """Save a reliability plot: the curve, and how many pairs are behind it."""
        try:
            from matplotlib.figure import Figure
        except ModuleNotFoundError as error:
            raise MissingExtraError("A reliability plot", "bench") from error
        figure = Figure(figsize=(4.6, 4.6), layout="constrained")
        panel = figure.subplots()
        panel.plot([0, 1], [0, 1], color="#999999", ls="--", lw=1)
        sizes = 20 + 380 * self.n_pairs / self.n_pairs.max()
        panel.plot(self.p_same, self.share_same, color="#0b6e4f", lw=1.5)
        panel.scatter(self.p_same, self.share_same, s=sizes, color="#0b6e4f", alpha=0.6)
        panel.set(
            title=f"{title}\n" * bool(title) + f"calibration error {self.error:.3f}",
            xlabel="P(same), as said",
            ylabel="share that is the same",
            xlim=(-0.03, 1.03),
            ylim=(-0.03, 1.03),
            aspect="equal",
        )
        panel.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=130)


def calibration_curve(
    metric: Metric,
    X: ArrayLike,
    pairs: ArrayLike,
    labels: ArrayLike,
    *,
    n_bins: int = 10,
) -> CalibrationCurve:
    """Compare P(same) with labels of pairs that the metric has not learned from.

    Parameters
    ----------
    metric : BayesianMetric
        Fitted.
    X, pairs, labels
        Items, row numbers into them and +1 / -1, as `BayesianMetric.fit_pairs` takes.
    n_bins : int
        Bins of equal width between 0 and 1.
    """
    if n_bins < 1:
        raise InputError(f"'n_bins' must be at least 1. Got {n_bins}.")
    p_same = metric.pair_probability(X, pairs)
    is_same = check_labels(labels, len(p_same)) > 0
    if len(p_same) == 0:
        raise InputError("'pairs' must hold at least one pair. Got none.")
    place = np.minimum((p_same * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(place, minlength=n_bins)
    held = counts > 0
    return CalibrationCurve(
        np.bincount(place, p_same, n_bins)[held] / counts[held],
        np.bincount(place, is_same, n_bins)[held] / counts[held],
        counts[held],
    )
