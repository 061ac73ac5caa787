"""Whether P(same) means what it says: of pairs called 70%, 70% should be the same."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError, MissingExtraError
from likewise.estimators import BayesianMetric
from likewise.pairs import check_labels

Array = NDArray[np.float64]


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
    metric: BayesianMetric,
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
