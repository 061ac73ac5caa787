"""What is thought of a pair, and whether it is time to stop, in words and numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.asking.candidates import Pool
from likewise.asking.records import Record
from likewise.model import equations
from likewise.model.belief import Belief
from likewise.model.calibration import Calibration
from likewise.threads import one_thread

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Enough is known when this share of the candidates is: asking on then gains nothing in
# any run of benchmarks/asking.py (docs/asking.md).
ENOUGH_KNOWN = 0.995
# Or when neighbours, precision and recall are all above this, as far as can be told.
ENOUGH = 0.9
# Items looked at, others that they are compared with, draws from the belief.
N_ITEMS, N_OTHERS, N_DRAWS = 100, 100, 400
# Pairs drawn to stand for all that are called "same", and for all that are not.
N_DOUBTED = 200


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


class Estimate(NamedTuple):
    """An expected share, and the interval that should hold the truth 9 times in 10."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.0%} ({self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True)
class Verdict:
    """Whether to stop, why, and how good the metric probably is."""

    stop: bool
    reason: str
    neighbours: Estimate  # items whose nearest neighbour is the same
    precision: Estimate  # of pairs called "same", those that are
    recall: Estimate  # of pairs that are the same, those called "same"
    plain_neighbours: float  # as `neighbours`, but nearest by plain distance
    random_annotators: list[str | None]  # whose answers look random
    unseen_annotators: list[str | None]  # whose meaning the features do not show

    @property
    def figure(self) -> Estimate:
        """The figure to show first."""
        return self.neighbours

    @property
    def words(self) -> str:
        """The verdict for people, the first figure aside."""
        sentences = [
            f"{'Stop' if self.stop else 'Go on'}: {self.reason}",
            f"Of pairs called 'same', {self.precision} are;",
            f"of all pairs that are the same, {self.recall} are found.",
            *(_looks_random(who) for who in self.random_annotators),
            *(_is_unseen(who) for who in self.unseen_annotators),
        ]
        return " ".join(sentences)

    def __str__(self) -> str:
        neighbours = f"Nearest neighbours that are the same: {self.neighbours}."
        return f"{self.words} {neighbours}"


def _looks_random(who: str | None) -> str:
    whose = "The answers" if who is None else f"The answers of {who}"
    return (
        f"{whose} look random: they are told no better than by how often they say "
        "'same'. Or the features do not show what is meant."
    )


def _is_unseen(who: str | None) -> str:
    whose = "The answers" if who is None else f"The answers of {who}"
    return (
        f"{whose} bear each other out, but the features hardly show what is meant: "
        "they are told no better than by how often they say 'same'."
    )


def explain(
    pool: Pool,
    pair: Pairs,
    reasons: list[tuple[str, float]],
    rank: int,
    n_candidates: int,
    settles: tuple[int, int],
) -> Why:
    """Put together what is thought of one pair, shape (1, 2)."""
    features = pool.features(pair)
    return Why(
        p_same=float(pool.belief.probability_same(features, pair)[0]),
        spread=float(pool.belief.probability_deviation(features, pair)[0]),
        rank=rank,
        n_candidates=n_candidates,
        reasons=reasons,
        settles_if_same=settles[0],
        settles_if_different=settles[1],
    )


def decisive_features(
    components: Array, gap: Array, names: Array | None
) -> list[tuple[str, float]]:
    """The three features that add most to the squared distance, with their share."""
    parts = gap * (components.T @ (components @ gap))
    total = float(np.abs(parts).sum()) or 1.0
    largest = np.argsort(-np.abs(parts), kind="stable")[:3]
    return [
        (
            str(names[k]) if names is not None else f"feature {k}",
            float(np.abs(parts[k])) / total,
        )
        for k in largest
    ]


class KnownItems(NamedTuple):
    """The items as the belief sees them, what is known of them, and what came true."""

    pool: Pool
    labels_of: Callable[[Pairs], NDArray[np.int8]]  # +1, -1, or 0 where not known
    calibration: Calibration  # by all that came true
    shown: Calibration  # by what came true of random pairs: what people are shown


def judge(
    known_items: KnownItems,
    X: Array,
    record: Record,
    known: float,
    rng: np.random.RandomState,
) -> Verdict:
    """Decide from the belief, from what came true and from what is left to ask.

    `known` is the share of pairs whose label is known.
    """
    rows, pool = rng.permutation(len(X))[:N_ITEMS], known_items.pool
    with one_thread():
        mapped = pool.coordinates @ pool.belief.root().T
        neighbours = _neighbours(known_items, rows, _nearest(mapped, rows), rng)
        plain = _neighbours(known_items, rows, _nearest(X, rows), rng)
        precision, recall = _called_same(known_items, rows, rng)
    enough = min(each.low for each in (neighbours, precision, recall)) >= ENOUGH
    if known == 1:
        stop, reason = True, "every candidate pair is known."
    elif known >= ENOUGH_KNOWN:
        stop, reason = True, f"{known:.1%} of the candidate pairs are known."
    elif enough and neighbours.value > plain.value:
        stop, reason = True, f"all figures are above {ENOUGH:.0%}."
    elif neighbours.value <= plain.value:
        stop, reason = False, "plain distance finds as good neighbours so far."
    else:
        stop, reason = False, f"not all figures are above {ENOUGH:.0%} for sure."
    return Verdict(
        stop,
        reason,
        neighbours,
        precision,
        recall,
        plain.value,
        record.random_annotators(),
        record.unseen_annotators(),
    )


def _neighbours(
    items: KnownItems, rows: Pairs, nearest: Pairs, rng: np.random.RandomState
) -> Estimate:
    """The share of the rows that are the same as the item nearest to them."""
    pairs = np.sort(np.column_stack([rows, nearest]), axis=1)
    labels, belief = items.labels_of(pairs), items.pool.belief
    features = items.pool.features(pairs)
    said = belief.probability_same(features, pairs)
    draws = latent_draws(belief, features, pairs, N_DRAWS, rng)
    # What all pairs have in common by what is not known of the metric.
    drawn = equations.label_probability(np.ones(len(pairs)), draws)
    common = (drawn - said).mean(axis=1)
    corrections = items.calibration.sample(N_DRAWS, rng)
    shares = [_known_or(labels, each.correct(said)).mean() for each in corrections]
    p_same = _known_or(labels, items.calibration.correct(said))
    return _estimate(float(p_same.mean()), np.array(shares) + common, len(rows), rng)


def _called_same(
    items: KnownItems, rows: Pairs, rng: np.random.RandomState
) -> tuple[Estimate, Estimate]:
    """Precision and recall of "same" over pairs of the rows with others."""
    others = rng.permutation(len(items.pool.coordinates))[:N_OTHERS]
    pairs = np.stack(np.meshgrid(rows, others, indexing="ij"), axis=-1).reshape(-1, 2)
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    labels, said = items.labels_of(pairs), items.pool.probability_same(pairs)
    called = _known_or(labels, items.shown.correct(said)) >= 0.5
    corrections = [items.calibration, *items.calibration.sample(N_DRAWS, rng)]
    found = np.empty(len(corrections))  # same pairs among those called "same"
    missed = np.empty(len(corrections))  # same pairs among the others
    for place, each in enumerate(corrections):
        drawn = _known_or(labels, each.correct(said))
        found[place], missed[place] = drawn[called].sum(), drawn[~called].sum()
    is_open = labels == 0
    found[1:] += _doubt(items.pool, pairs, said, called & is_open, rng)
    missed[1:] += _doubt(items.pool, pairs, said, ~called & is_open, rng)
    found, missed = np.maximum(found, 0.0), np.maximum(missed, 0.0)
    same, n_called = found + missed, int(called.sum())
    recall = found / np.maximum(same, 1e-9)
    precision = Estimate(0.0, 0.0, 1.0)  # where no pair is called "same"
    if n_called:
        right = found / n_called
        precision = _estimate(float(right[0]), right[1:], n_called, rng)
    return precision, _estimate(float(recall[0]), recall[1:], float(same[0]), rng)


def _doubt(
    pool: Pool,
    pairs: Pairs,
    said: Array,
    chosen: NDArray[np.bool_],
    rng: np.random.RandomState,
) -> Array:
    """Draws of how many more of the chosen pairs are the same than was said.

    What all pairs have in common by what is not known of the metric. Some pairs stand
    for all, drawn in proportion to P(same): each for sum P / P of them.
    """
    rows = np.flatnonzero(chosen)
    total = float(said[rows].sum())
    if total == 0:
        return np.zeros(N_DRAWS)
    shares = said[rows] / total
    some = np.unique(rng.choice(rows, N_DOUBTED, p=shares), return_counts=True)
    drawn, counts = pairs[some[0]], some[1]
    latent = latent_draws(pool.belief, pool.features(drawn), drawn, N_DRAWS, rng)
    p_same = equations.label_probability(np.ones(len(drawn)), latent)
    return np.asarray((p_same / said[some[0]] - 1) @ counts * total / N_DOUBTED)


def _known_or(labels: NDArray[np.int8], p_same: Array) -> Array:
    """P(same), and 0 or 1 where the label is known."""
    return np.where(labels == 0, p_same, labels > 0)


def _estimate(
    value: float, draws: Array, n_counted: float, rng: np.random.RandomState
) -> Estimate:
    """A share with its interval; so many were counted, each as much a matter of luck.

    One more is counted as not known: a share of 0 or 1 has an interval too.
    """
    n_counted += 1
    middle = (value * n_counted + 0.5) / (n_counted + 1)
    luck = np.sqrt(middle * (1 - middle) / n_counted)
    draws = np.clip(draws + luck * rng.standard_normal(len(draws)), 0.0, 1.0)
    low, high = np.quantile(draws, [0.05, 0.95])
    return Estimate(value, min(float(low), value), max(float(high), value))


def latent_draws(
    belief: Belief,
    features: Array,
    pairs: Pairs,
    n_draws: int,
    rng: np.random.RandomState,
) -> Array:
    """Draws of f of all pairs together, shape (n_draws, n_pairs)."""
    counts = rng.multinomial(n_draws, belief.weights / belief.weights.sum())
    draws = []
    for member, n_drawn in zip(belief.members, counts, strict=True):
        mean = member.posterior.latent_mean(features, pairs)
        covariance = member.posterior.latent_covariance(features, pairs)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws.append(mean + rng.standard_normal((n_drawn, len(mean))) @ root.T)
    return np.concatenate(draws)


def _nearest(Z: Array, rows: Pairs) -> Pairs:
    squared = np.einsum("ij,ij->i", Z, Z) - 2 * Z[rows] @ Z.T
    squared[np.arange(len(rows)), rows] = np.inf
    return np.asarray(np.argmin(squared, axis=1))
