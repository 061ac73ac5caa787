"""The curves of the figures: ask, answer by the classes, learn, and ask again.

Section 5.3: a pool of 50 items, so 1,225 pairs; a few answers to start with, the same
for all strategies; then 20 questions a round.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import ActiveMetric, BayesianMetric
from likewise.experiments import methods
from likewise.experiments.protocol import (
    Split,
    nearest_accuracy,
    pair_auc,
    pairs_among,
)
from likewise.experiments.runs import Row

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

POOL_SIZE = 50
PER_ROUND = 20
N_ROUNDS = 8
# The evidence chooses anew in every round, so it has fewer settings to choose from
# than in the tables: those that it mostly chose there.
PRECISIONS = (0.03, 0.1, 0.3, 1.0)
MEANS = (1.0, 3.0)

# Strategy: (how the metric is learned, how pairs are chosen). likewise+RAND has our
# metric without our questions, to tell the worth of the two apart.
STRATEGIES = {
    "MLE+RAND": ("mle", "random"),
    "MLE+ACT": ("mle", "mean-entropy"),
    "BAYES+RAND": ("bayes", "random"),
    "BAYES+ACT": ("bayes", "mean-entropy"),
    "BAYES+VAR": ("bayes", "laplace-entropy"),
    "likewise+RAND": ("ours", "random"),
    "likewise": ("ours", ""),
}


@dataclass
class PaperLoop:
    """The paper's loop: only what was answered counts; pairs are never implied."""

    X: Array
    candidates: Rows
    how: str
    acquisition: str
    seed: int
    pairs: list[Rows] = field(default_factory=list)
    labels: list[Rows] = field(default_factory=list)

    def tell(self, pairs: Rows, labels: Rows) -> None:
        """Take answers."""
        self.pairs.append(pairs)
        self.labels.append(labels)
        self._learner = self._learn()

    def ask(self, n_pairs: int) -> Rows:
        """Give the pairs to ask next."""
        return self._learner.ask(n_pairs)

    @property
    def metric(self) -> BayesianMetric:
        """The metric learned so far."""
        return self._learner.metric_

    @property
    def n_known(self) -> int:
        """How many pairs have a label."""
        return sum(len(told) for told in self.pairs)

    def _learn(self) -> ActiveMetric:
        """Learn from all answers, the prior chosen by the evidence where there is one.

        The seed moves on with the answers, or every round would break ties alike.
        """
        pairs, labels = np.concatenate(self.pairs), np.concatenate(self.labels)
        metric = methods.paper_mle()
        if self.how == "bayes":
            metric = methods.choose_by_evidence(
                self.X, pairs, labels, PRECISIONS, MEANS
            )
        learner = ActiveMetric(
            self.X,
            metric=metric,
            acquisition=self.acquisition,
            equivalence=False,
            candidates=self.candidates,
            random_state=np.random.RandomState([self.seed, len(self.pairs)]),
        )
        learner.tell(pairs, labels)
        return learner


@dataclass
class DefaultLoop:
    """Our loop: ActiveMetric as a user gets it, or asking at random."""

    X: Array
    candidates: Rows
    is_random: bool
    seed: int

    def __post_init__(self) -> None:
        at_random: dict[str, Any] = {"acquisition": "random", "equivalence": False}
        self._learner = ActiveMetric(
            self.X,
            metric=BayesianMetric(random_state=0),
            candidates=self.candidates,
            random_state=self.seed,
            **(at_random if self.is_random else {}),
        )
        self.tell = self._learner.tell
        self.ask = self._learner.ask

    @property
    def metric(self) -> BayesianMetric:
        """The metric learned so far."""
        return self._learner.metric_

    @property
    def n_known(self) -> int:
        """How many pairs have a label, asked or implied."""
        return len(self._learner.known_pairs().pairs)


def run_strategy(
    name: str, X: Array, y: Rows, split: Split, *, n_initial: int, seed: int
) -> list[Row]:
    """Scores after the first answers and after each round, one row each."""
    start = time.perf_counter()
    candidates, _ = pairs_among(split.labelled, y)
    loop = _make_loop(name, X, candidates, seed)
    chosen = np.random.default_rng(seed).choice(
        len(candidates), n_initial, replace=False
    )
    asked = candidates[chosen]
    rows: list[Row] = []
    n_answers = 0
    for k in range(N_ROUNDS + 1):
        if len(asked):
            loop.tell(asked, _answers(asked, y))
        n_answers += len(asked)
        rows.append(
            {
                "round": k,
                "n_answers": n_answers,
                "n_known": loop.n_known,
                **_scores(loop.metric.transform(X), y, split),
                "seconds": round(time.perf_counter() - start, 3),
            }
        )
        if k < N_ROUNDS:
            asked = np.asarray(loop.ask(PER_ROUND))
    return rows


def _answers(pairs: Rows, y: Rows) -> Rows:
    """What someone who knows the classes says."""
    return np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def _make_loop(
    name: str, X: Array, candidates: Rows, seed: int
) -> PaperLoop | DefaultLoop:
    how, acquisition = STRATEGIES[name]
    if how == "ours":
        return DefaultLoop(X, candidates, acquisition == "random", seed)
    return PaperLoop(X, candidates, how, acquisition, seed)


def _scores(Z: Array, y: Rows, split: Split) -> dict[str, float]:
    """As in 5.3: all but the test items are the reference; or the pool alone."""
    everyone = np.concatenate([split.labelled, split.rest])
    return {
        "accuracy_rest": round(nearest_accuracy(Z, y, everyone, split.test), 6),
        "accuracy_pool": round(nearest_accuracy(Z, y, split.labelled, split.test), 6),
        "auc": round(pair_auc(Z, y, split.test), 6),
    }
