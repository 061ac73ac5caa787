"""What is thought of a pair, and whether it is time to stop, in words and numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.estimators import BayesianMetric
from likewise.model import equations, matrix
from likewise.pairs import draw_pairs

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Enough is known when this share of the candidates is: asking on then gains nothing in
# any run of benchmarks/asking.py (docs/asking.md).
ENOUGH_KNOWN = 0.995
# Or when this share of the items keeps its nearest neighbour while a third of the
# answers came in, and the answers are at least so many.
ENOUGH_STABLE, ENOUGH_ANSWERS = 0.99, 50
N_SAMPLED, N_DRAWS = 200, 400


@dataclass(frozen=True)
class Why:
    """What is thought of one pair."""

    p_same: float
    spread: float  # deviation of P(same) over the posterior
    rank: int  # 1: the best question
    n_candidates: int
    reasons: list[tuple[str, float]]  # features that decide, with their share
    settles_if_same: int
    settles_if_different: int

    def __str__(self) -> str:
        decisive = ", ".join(f"{name} ({share:.0%})" for name, share in self.reasons)
        return (
            f"P(same) = {self.p_same:.2f} +- {self.spread:.2f}, "
            f"rank {self.rank:,} of {self.n_candidates:,}. "
            f"What sets the two apart: {decisive}. "
            f"'Same' would settle {self.settles_if_same:,} pairs, "
            f"'different' {self.settles_if_different:,}."
        )


@dataclass(frozen=True)
class Verdict:
    """Whether to stop, why, and how good the metric probably is."""

    stop: bool
    reason: str
    accuracy: float  # expected share of pairs that predict_pairs gets right
    interval: tuple[float, float]  # 90% of the posterior

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{'Stop' if self.stop else 'Go on'}: {self.reason} "
            f"Pairs told right: {self.accuracy:.0%} ({low:.0%} to {high:.0%})."
        )


def explain(
    metric: BayesianMetric,
    X: Array,
    pair: Pairs,
    rank: int,
    n_candidates: int,
    settles: tuple[int, int],
) -> Why:
    """Put together what is thought of one pair, shape (1, 2)."""
    mean, variance = _latent(metric, X, pair)
    return Why(
        p_same=float(matrix.predictive_probability(mean, variance)[0]),
        spread=float(matrix.probability_deviation(mean, variance)[0]),
        rank=rank,
        n_candidates=n_candidates,
        reasons=_reasons(metric, X[pair[0, 0]] - X[pair[0, 1]]),
        settles_if_same=settles[0],
        settles_if_different=settles[1],
    )


def _reasons(metric: BayesianMetric, gap: Array) -> list[tuple[str, float]]:
    """The three features that add most to the squared distance, with their share."""
    names = getattr(metric, "feature_names_in_", None)
    parts = gap * (metric.components_.T @ (metric.components_ @ gap))
    total = float(np.abs(parts).sum()) or 1.0
    largest = np.argsort(-np.abs(parts), kind="stable")[:3]
    return [
        (
            str(names[k]) if names is not None else f"feature {k}",
            float(np.abs(parts[k])) / total,
        )
        for k in largest
    ]


def judge(
    metric: BayesianMetric,
    before: BayesianMetric,
    X: Array,
    n_open: int,
    n_candidates: int,
    n_answers: int,
    rng: np.random.RandomState,
) -> Verdict:
    """Decide from the posterior and from what is left to ask.

    `before` is the metric of two thirds of the answers.
    """
    known = 1 - n_open / n_candidates
    accuracy, interval = _expected_accuracy(metric, X, rng)
    kept = _kept_neighbours(metric, before, X, rng)
    if n_open == 0:
        stop, reason = True, "every candidate pair is known."
    elif known >= ENOUGH_KNOWN:
        stop, reason = True, f"{known:.1%} of the candidate pairs are known."
    elif kept >= ENOUGH_STABLE and n_answers >= ENOUGH_ANSWERS:
        stop = True
        reason = f"the last third of the answers left {kept:.0%} of neighbours alone."
    else:
        stop = False
        reason = (
            f"{known:.0%} of the candidate pairs are known, and the last third of the "
            f"answers left {kept:.0%} of neighbours alone."
        )
    return Verdict(stop, reason, accuracy, interval)


def _expected_accuracy(
    metric: BayesianMetric, X: Array, rng: np.random.RandomState
) -> tuple[float, tuple[float, float]]:
    """The share of random pairs told right, under draws from the posterior."""
    pairs = draw_pairs(len(X), N_SAMPLED, rng)
    features = _features(metric, X, pairs)
    mean = metric.posterior_.latent_mean(features)
    covariance = metric.posterior_.latent_covariance(features, pairs)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = mean + rng.standard_normal((N_DRAWS, len(mean))) @ root.T
    said = np.where(metric.posterior_.probability_same(features) >= 0.5, 1.0, -1.0)
    right = equations.label_probability(said, draws).mean(axis=1)
    low, high = np.quantile(right, [0.05, 0.95])
    return float(right.mean()), (float(low), float(high))


def _kept_neighbours(
    metric: BayesianMetric, before: BayesianMetric, X: Array, rng: np.random.RandomState
) -> float:
    """The share of items whose nearest neighbour is the same in both metrics."""
    rows = rng.permutation(len(X))[:N_SAMPLED]
    now, then = (_nearest(each.transform(X), rows) for each in (metric, before))
    return float(np.mean(now == then))


def _nearest(Z: Array, rows: Pairs) -> Pairs:
    squared = np.einsum("ij,ij->i", Z, Z) - 2 * Z[rows] @ Z.T
    squared[np.arange(len(rows)), rows] = np.inf
    return np.asarray(np.argmin(squared, axis=1))


def _features(metric: BayesianMetric, X: Array, pairs: Pairs) -> Array:
    Z = metric.basis_.project(X[pairs.ravel()]).reshape(len(pairs), 2, -1)
    return metric.basis_.features(Z[:, 0] - Z[:, 1])


def _latent(metric: BayesianMetric, X: Array, pairs: Pairs) -> tuple[Array, Array]:
    return metric.posterior_.latent(_features(metric, X, pairs))
