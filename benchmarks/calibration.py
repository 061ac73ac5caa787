"""Is P(same) to be believed? 130 random answers, then all pairs of 100 unseen items.

Usage: LIKEWISE_DATA=folder python benchmarks/calibration.py [picture.png]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from likewise import BayesianMetric, CalibrationCurve, calibration_curve
from likewise.experiments.datasets import draw_items, prepare_source, read_source
from likewise.experiments.protocol import draw_split, pairs_among

N_REPEATS, N_ANSWERS, N_BINS = 10, 130, 10


def error(p_same, is_same):
    """Expected calibration error of probabilities that come from elsewhere."""
    place = np.minimum((p_same * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(place, p_same, N_BINS) - np.bincount(place, is_same, N_BINS)
    return np.abs(gaps).sum() / len(p_same)


def platt(metric, X, answered, labels, pairs):
    """Probabilities of a logistic regression on the learned squared distance."""
    known, unseen = (
        metric.pair_distance(X, p)[:, None] ** 2 for p in (answered, pairs)
    )
    model = LogisticRegression(C=1e4, max_iter=1000).fit(known, labels > 0)
    return model.predict_proba(unseen)[:, 1]


def run(source, seed):
    """P(same), Platt's probabilities and the truth for the pairs of one repeat."""
    X, y = draw_items(source, seed)
    split = draw_split(y, 50, seed)
    candidates, labels = pairs_among(split.labelled, y)
    told = np.random.default_rng(seed).choice(len(candidates), N_ANSWERS, replace=False)
    metric = BayesianMetric(random_state=0)
    metric.fit_pairs(X, candidates[told], labels[told])
    pairs, truth = pairs_among(split.test, y)
    curve = calibration_curve(metric, X, pairs, truth, n_bins=N_BINS)
    scaled = platt(metric, X, candidates[told], labels[told], pairs)
    return curve, error(scaled, truth > 0)


def draw(panel, name, curves: list[CalibrationCurve], ours, theirs):
    panel.plot([0, 1], [0, 1], color="#999999", ls="--", lw=1)
    for curve in curves:
        panel.plot(curve.p_same, curve.share_same, color="#0b6e4f", alpha=0.25, lw=1)
    p, s, n = (
        np.concatenate([getattr(c, part) for c in curves])
        for part in ("p_same", "share_same", "n_pairs")
    )
    place = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    total = np.bincount(place, n, N_BINS)
    held = total > 0
    mean_p, mean_s = (
        np.bincount(place, x * n, N_BINS)[held] / total[held] for x in (p, s)
    )
    total = total[held]
    panel.plot(mean_p, mean_s, "-", color="#0b6e4f", lw=2)
    panel.scatter(mean_p, mean_s, s=20 + 300 * total / total.max(), color="#0b6e4f")
    panel.set(
        title=f"{name}: error {ours:.3f} (Platt scaling {theirs:.3f})",
        xlabel="P(same), as said",
        ylabel="share that is the same",
        aspect="equal",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )
    panel.spines[["top", "right"]].set_visible(False)


def main():
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    panels = figure.subplots(1, 2)
    with tempfile.TemporaryDirectory() as folder:
        for panel, name in zip(panels, ("corel", "isolet"), strict=True):
            source = read_source(prepare_source(name, Path(folder)))
            runs = [run(source, seed) for seed in range(N_REPEATS)]
            curves = [curve for curve, _ in runs]
            ours = np.mean([curve.error for curve in curves])
            theirs = np.mean([scaled for _, scaled in runs])
            print(f"{name}: calibration error {ours:.4f}, Platt scaling {theirs:.4f}")
            draw(panel, name, curves, ours, theirs)
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=130)


if __name__ == "__main__":
    main()
