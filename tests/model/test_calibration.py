"""The calibration curve against labels whose chance is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise import BayesianMetric, InputError, calibration_curve
from likewise.model import matrix
from likewise.model.calibration import Level, learn_calibration
from likewise.pairs import all_pairs


@pytest.fixture
def fitted(blobs):
    X, y = blobs
    pairs = all_pairs(60)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric(basis="eigen").fit_pairs(X, pairs[::7], labels[::7])
    return metric, X, pairs, labels


def test_labels_drawn_from_the_probabilities_are_calibrated(fitted, rng):
    """The error is what chance leaves, and vanishes as pairs grow."""
    metric, X, pairs, _ = fitted
    many = np.repeat(pairs, 30, axis=0)
    p_same = metric.pair_probability(X, many)
    drawn = np.where(rng.uniform(size=len(many)) < p_same, 1, -1)

    curve = calibration_curve(metric, X, many, drawn)

    assert curve.error < 0.01
    assert curve.n_pairs.sum() == len(many)


def test_the_curve_is_the_means_of_each_bin(fitted):
    """By hand, bin by bin; the last bin holds 1 itself."""
    metric, X, pairs, labels = fitted
    p_same = metric.pair_probability(X, pairs)

    curve = calibration_curve(metric, X, pairs, labels, n_bins=4)

    edges = np.array([0, 0.25, 0.5, 0.75, 1.0000001])
    expected = []
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        inside = (p_same >= low) & (p_same < high)
        expected.append((p_same[inside].mean(), (labels[inside] > 0).mean()))
    assert_allclose(np.column_stack([curve.p_same, curve.share_same]), expected)
    gaps = np.abs(curve.p_same - curve.share_same)
    assert_allclose(curve.error, gaps @ curve.n_pairs / len(pairs))


def test_the_plot_is_a_picture(fitted, tmp_path):
    """A PNG of a sensible size."""
    metric, X, pairs, labels = fitted

    calibration_curve(metric, X, pairs, labels).save_plot(tmp_path / "c.png", "blobs")

    written = (tmp_path / "c.png").read_bytes()
    assert written.startswith(b"\x89PNG")
    assert len(written) > 5000


def test_bad_calls_are_named(fitted):
    """Bins and labels."""
    metric, X, pairs, labels = fitted

    with pytest.raises(InputError, match="'n_bins' must be at least 1. Got 0"):
        calibration_curve(metric, X, pairs, labels, n_bins=0)
    with pytest.raises(InputError, match="at least one pair"):
        calibration_curve(metric, X, np.empty((0, 2), int), [])


def test_a_level_that_is_known_well_is_reached(rng):
    """Without answers: the nearest correction that gives the mean its level."""
    said = matrix.sigmoid(rng.normal(-1, 1, 500))
    nothing = np.empty(0)

    exact = learn_calibration(nothing, nothing, 0.25, Level(said, 0.4, 1e-4))
    none = learn_calibration(nothing, nothing, 0.25, Level(said, 0.4, 1e3))

    assert_allclose(exact.correct(said).mean(), 0.4, atol=1e-4)
    assert_allclose([none.shift, none.slope], [0, 1], atol=1e-6)


def test_a_level_counts_as_far_as_it_is_known(rng):
    """The most probable shift and slope, by a search over both."""
    said = matrix.sigmoid(rng.normal(-1, 1, 200))
    asked, is_same = said[:12], (rng.uniform(size=12) < 0.6).astype(float)
    level = Level(said, 0.45, 0.05)

    found = learn_calibration(asked, is_same, 0.25, level)

    def log_posterior(shift, log_slope):
        slope = np.exp(log_slope)
        p_same = matrix.corrected_probability(asked, shift, slope)
        fit = np.log(np.where(is_same > 0, p_same, 1 - p_same)).sum()
        mean = matrix.corrected_probability(said, shift, slope).mean()
        off = (mean - level.share) / level.deviation
        return fit - (off**2 + (shift / 0.25) ** 2 + (log_slope / 0.25) ** 2) / 2

    best = log_posterior(found.shift, np.log(found.slope))
    for shift, log_slope in rng.normal(0, 0.02, (50, 2)):
        other = log_posterior(found.shift + shift, np.log(found.slope) + log_slope)
        assert other < best
