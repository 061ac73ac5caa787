"""What the figures say in numbers: means over the rounds, and answers saved."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from likewise.experiments.pages import Table
from likewise.experiments.strategies import PER_ROUND, STRATEGIES
from likewise.experiments.tables import OURS, Comparison, compare, comparison_cell

Array = NDArray[np.float64]

SCORES = {
    "accuracy_rest": "1NN accuracy, all other items as reference",
    "accuracy_pool": "1NN accuracy, the pool as reference",
    "auc": "AUC of same against different",
}
# What the paper concludes from its figures: the first does better than the second.
CLAIMS = (
    ("MLE+ACT", "MLE+RAND"),
    ("BAYES+ACT", "MLE+ACT"),
    ("BAYES+VAR", "BAYES+ACT"),
)
YARDSTICKS = ("likewise+RAND", "BAYES+RAND")


def curve_table(runs: pd.DataFrame, testbed: str, score: str) -> Table:
    """A row a strategy; for each panel the mean over the rounds after the first.

    `+` marks what likewise beats and `-` what beats it, paired over the repeats.
    """
    runs = runs[(runs["testbed"] == testbed) & (runs["error"] == "")]
    sizes = sorted(runs["n_initial"].unique())
    heads = ["strategy"]
    for size in sizes:
        heads += [f"from {size}", "last"]
    present = set(runs["strategy"])
    rows = [
        [
            f"**{name}**" if name == OURS else name,
            *(cell for size in sizes for cell in _cells(runs, size, name, score)),
        ]
        for name in STRATEGIES
        if name in present
    ]
    return Table(heads, rows)


def claims_table(runs: pd.DataFrame, testbed: str) -> Table:
    """What section 5.3 says of the figures, tested on ours by its own score."""
    runs = runs[(runs["testbed"] == testbed) & (runs["error"] == "")]
    sizes = sorted(runs["n_initial"].unique())
    rows = []
    for better, worse in CLAIMS:
        found = [_compare(runs, size, better, worse, "accuracy_rest") for size in sizes]
        rows.append([f"{better} minus {worse}", *map(comparison_cell, found)])
    return Table(["the paper's claim", *(f"{size} to start" for size in sizes)], rows)


def _compare(
    runs: pd.DataFrame, size: int, first: str, second: str, score: str
) -> Comparison:
    """Means over the rounds, paired over the repeats that both have."""
    both = pd.concat(
        [mean_over_rounds(runs, size, name, score) for name in (first, second)],
        axis=1,
        join="inner",
    ).to_numpy()
    return compare(both[:, 0], both[:, 1])


def mean_over_rounds(
    runs: pd.DataFrame, n_initial: int, strategy: str, score: str
) -> "pd.Series[float]":
    """One number a repeat: the mean of a score over the rounds after the start."""
    chosen = runs[
        (runs["n_initial"] == n_initial)
        & (runs["strategy"] == strategy)
        & (runs["round"] > 0)
    ]
    return chosen.groupby("seed")[score].mean()


def saving(runs: pd.DataFrame, testbed: str) -> str:
    """In words: the answers likewise needs for what random asking ends with."""
    runs = runs[(runs["testbed"] == testbed) & (runs["error"] == "")]
    size = int(runs["n_initial"].min())
    runs = runs[runs["n_initial"] == size]
    means = runs.pivot_table(index="round", columns="strategy", values="auc")
    if not {OURS, *YARDSTICKS} <= set(means):
        return f"Questions on {testbed}: the figure is not complete."
    answers = size + PER_ROUND * means.index.to_numpy()
    parts = []
    for name in YARDSTICKS:
        goal = float(means[name].iloc[-1])
        needed = answers_needed(answers, means[OURS].to_numpy(), goal)
        told = f"{needed:.0f}" if np.isfinite(needed) else f"more than {answers[-1]}"
        parts.append(f"what {name} has then, {goal:.3f}, takes likewise {told} answers")
    return (
        f"Questions on {testbed}: after {answers[-1]} answers likewise has an AUC of "
        f"{means[OURS].iloc[-1]:.3f}; {'; '.join(parts)}. {_known(runs)}"
    )


def _known(runs: pd.DataFrame) -> str:
    """In words: what likewise asked in all, and how many pairs that settled."""
    last = runs[(runs["strategy"] == OURS) & (runs["round"] == runs["round"].max())]
    return (
        f"By the last round likewise had asked {last['n_answers'].mean():.0f} "
        f"questions and knew {last['n_known'].mean():.0f} of the pairs; once it knows "
        "all it asks no more, and its curve is level."
    )


def answers_needed(answers: Array, scores: Array, goal: float) -> float:
    """Where a curve first reaches the goal, between its points; inf if never."""
    reached = np.flatnonzero(scores >= goal)
    if not len(reached):
        return float("inf")
    k = int(reached[0])
    if k == 0:
        return float(answers[0])
    return float(np.interp(goal, scores[k - 1 : k + 1], answers[k - 1 : k + 1]))


def _cells(runs: pd.DataFrame, size: int, strategy: str, score: str) -> tuple[str, str]:
    """The mean over the rounds with its mark, and the mean after the last round."""
    theirs = mean_over_rounds(runs, size, strategy, score)
    last = runs[
        (runs["n_initial"] == size)
        & (runs["strategy"] == strategy)
        & (runs["round"] == runs["round"].max())
    ][score]
    mark = ""
    if strategy != OURS:
        found = _compare(runs, size, OURS, strategy, score)
        mark = {"better": " +", "worse": " -", "": ""}[found.verdict]
    return f"{theirs.mean():.3f}{mark}", f"{last.mean():.3f}"
