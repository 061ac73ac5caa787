"""Tables 1 and 2: means, deviations and paired t-tests, beside the paper's numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from likewise.experiments.methods import METHODS, UNSEEN
from likewise.experiments.pages import Table
from likewise.experiments.protocol import SIZES

Array = NDArray[np.float64]

OURS = "likewise"
LEVEL = 0.05  # of the t-test
FEWEST = 3  # splits; with fewer nothing is tested
# Tables 1 and 2 of the paper: mean and deviation at 10, 20 and 30 labelled examples.
PAPER = {
    "corel": {
        "EUCLID": ((0.449, 0.028), (0.547, 0.019), (0.572, 0.011)),
        "MLE": ((0.439, 0.026), (0.602, 0.009), (0.596, 0.012)),
        "NCA": ((0.484, 0.027), (0.603, 0.021), (0.624, 0.015)),
        "LMNN": ((0.487, 0.026), (0.581, 0.024), (0.619, 0.023)),
        "BAYES": ((0.492, 0.024), (0.610, 0.020), (0.646, 0.015)),
    },
    "isolet": {
        "EUCLID": ((0.608, 0.034), (0.648, 0.018), (0.704, 0.019)),
        "MLE": ((0.659, 0.023), (0.695, 0.012), (0.733, 0.013)),
        "NCA": ((0.663, 0.020), (0.717, 0.017), (0.743, 0.013)),
        "LMNN": ((0.674, 0.023), (0.728, 0.021), (0.761, 0.015)),
        "BAYES": ((0.681, 0.018), (0.731, 0.013), (0.770, 0.020)),
    },
}
SCORES = {
    "accuracy_labelled": "1NN accuracy, labelled examples as reference (the tables)",
    "accuracy_rest": "1NN accuracy, remaining examples as reference (the text)",
    "auc": "AUC of same against different, all pairs of test items",
}


@dataclass(frozen=True)
class Comparison:
    """Two methods on the same splits."""

    difference: float  # mean of first minus second
    p_value: float  # paired t-test, two-sided

    @property
    def verdict(self) -> str:
        """Say "better", "worse", or nothing where it may be chance."""
        if not self.p_value < LEVEL:
            return ""
        return "better" if self.difference > 0 else "worse"


def read_runs(path: Path, n_repeats: int) -> pd.DataFrame:
    """The rows of the first repeats; text columns are never NaN."""
    runs = pd.read_csv(path, dtype={"settings": str, "error": str})
    runs = runs[runs["seed"] < n_repeats]
    text = [name for name in ("settings", "error") if name in runs]
    return runs.assign(**{name: runs[name].fillna("") for name in text})


def compare(first: Array, second: Array) -> Comparison:
    """Paired t-test of scores on the same splits, in the same order."""
    gaps = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if len(gaps) < FEWEST:
        return Comparison(float(gaps.mean()) if len(gaps) else np.nan, np.nan)
    # The same gap on every split leaves no spread to divide by, but for rounding.
    if np.ptp(gaps) < 1e-12:
        return Comparison(float(gaps.mean()), 1.0 if abs(gaps[0]) < 1e-12 else 0.0)
    return Comparison(float(gaps.mean()), float(stats.ttest_1samp(gaps, 0).pvalue))


def scores_of(
    runs: pd.DataFrame, testbed: str, n_labelled: int, method: str, score: str
) -> "pd.Series[float]":
    """One score of a method by seed; runs that failed are left out."""
    chosen = runs[
        (runs["testbed"] == testbed)
        & (runs["n_labelled"] == n_labelled)
        & (runs["method"] == method)
        & (runs["error"] == "")
    ]
    return chosen.set_index("seed")[score].astype(float).sort_index()


def compare_methods(
    runs: pd.DataFrame, testbed: str, size: int, first: str, second: str, score: str
) -> Comparison:
    """Paired t-test over the splits on which both methods gave a metric."""
    both = pd.concat(
        [scores_of(runs, testbed, size, name, score) for name in (first, second)],
        axis=1,
        join="inner",
    ).to_numpy()
    return compare(both[:, 0], both[:, 1])


def score_table(
    runs: pd.DataFrame, testbed: str, score: str, *, is_short: bool = False
) -> Table:
    """A row a method; our mean, what the t-test says, the paper's number.

    `+` marks what likewise beats, and `-` what beats it, at 0.05. The short table has
    no deviations.
    """
    has_paper = score == "accuracy_labelled"
    heads = ["method"]
    for size in SIZES:
        heads.append(str(size) if is_short else f"{size} labelled")
        heads += ["paper"] if has_paper else []
    rows = []
    for method in _methods_in(runs):
        row = [f"**{method}**" if method == OURS else method]
        for k, size in enumerate(SIZES):
            row.append(_score_cell(runs, testbed, size, method, score, is_short))
            if has_paper:
                row.append(_paper_cell(testbed, method, k, is_short))
        rows.append(row)
    return Table(heads, rows)


def difference_table(
    runs: pd.DataFrame, testbed: str, first: str, score: str = "accuracy_labelled"
) -> Table:
    """The difference of a method to each rival, with its p."""
    heads = [f"{first} minus", *(f"{size} labelled" for size in SIZES)]
    rows = []
    for rival in _rivals_in(runs, first):
        found = [
            compare_methods(runs, testbed, size, first, rival, score) for size in SIZES
        ]
        rows.append([rival, *(comparison_cell(one) for one in found)])
    return Table(heads, rows)


def tally(runs: pd.DataFrame, testbed: str, score: str = "accuracy_labelled") -> str:
    """In words: whom likewise beats and who beats it, at which sizes."""
    verdicts: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for rival in _rivals_in(runs, OURS):
        for size in SIZES:
            found = compare_methods(runs, testbed, size, OURS, rival, score)
            if not np.isnan(found.difference):
                verdicts[found.verdict].append(f"{rival} at {size}")
    n_cells = sum(map(len, verdicts.values()))
    lost = f" ({', '.join(verdicts['worse'])})" if verdicts["worse"] else ""
    means = [scores_of(runs, testbed, size, OURS, score).mean() for size in SIZES]
    printed = [mean for mean, _ in PAPER[testbed]["BAYES"]]
    return (
        f"Table of {testbed}: likewise has {_listed(means)} at {_listed(SIZES)} "
        f"labelled examples, where the paper prints {_listed(printed)} for BAYES. Of "
        f"{n_cells} comparisons with rivals, likewise is better in "
        f"{len(verdicts['better'])} and worse in {len(verdicts['worse'])}{lost}; "
        f"{len(verdicts[''])} may be chance."
    )


def _listed(values: Iterable[float]) -> str:
    """Numbers as words would have them: whole as they are, others to three digits."""
    return " / ".join(
        str(value) if isinstance(value, int) else f"{value:.3f}" for value in values
    )


def seconds_table(runs: pd.DataFrame, testbed: str) -> Table:
    """Median seconds of a fit."""
    heads = ["method", *(f"{size} labelled" for size in SIZES)]
    rows = [
        [
            method,
            *(
                _number(scores_of(runs, testbed, size, method, "seconds").median(), 2)
                for size in SIZES
            ),
        ]
        for method in _methods_in(runs)
    ]
    return Table(heads, rows)


def failures(runs: pd.DataFrame) -> list[str]:
    """One sentence for each kind of failure."""
    failed = runs[runs["error"] != ""]
    groups = failed.groupby(["testbed", "n_labelled", "method", "error"], sort=False)
    return [
        f"{method} failed on {testbed}, {size} labelled, in {len(rows)} repeats: "
        f"{error}"
        for (testbed, size, method, error), rows in groups
    ]


def chosen_settings(runs: pd.DataFrame, testbed: str, method: str) -> str:
    """What the evidence chose, with how often, for each size."""
    parts = []
    for size in SIZES:
        chosen = runs[
            (runs["testbed"] == testbed)
            & (runs["n_labelled"] == size)
            & (runs["method"] == method)
        ]["settings"]
        counts = chosen[chosen != ""].value_counts()
        listed = ", ".join(f"{name} ({n} x)" for name, n in counts.items())
        parts.append(f"{size} labelled: {listed}")
    return "; ".join(parts)


def _methods_in(runs: pd.DataFrame) -> list[str]:
    """The methods, in the order of METHODS."""
    present = set(runs["method"])
    return [name for name in METHODS if name in present]


def _rivals_in(runs: pd.DataFrame, first: str) -> list[str]:
    """Whom a method is compared with: not itself, nor ours in another setting."""
    return [name for name in _methods_in(runs) if name not in (first, UNSEEN)]


def _score_cell(
    runs: pd.DataFrame,
    testbed: str,
    size: int,
    method: str,
    score: str,
    is_short: bool,
) -> str:
    scores = scores_of(runs, testbed, size, method, score)
    failed = runs[
        (runs["testbed"] == testbed)
        & (runs["n_labelled"] == size)
        & (runs["method"] == method)
        & (runs["error"] != "")
    ]
    if not len(scores):
        return "failed" if len(failed) else "not run"
    spread = f" ± {scores.std():.3f}" if len(scores) > 1 and not is_short else ""
    mark = ""
    if method not in (OURS, UNSEEN):
        found = compare_methods(runs, testbed, size, OURS, method, score)
        mark = {"better": " +", "worse": " -", "": ""}[found.verdict]
    partly = f" ({len(failed)} failed)" if len(failed) else ""
    return f"{scores.mean():.3f}{spread}{mark}{partly}"


def _paper_cell(testbed: str, method: str, k: int, is_short: bool) -> str:
    if method not in PAPER[testbed]:
        return ""
    mean, deviation = PAPER[testbed][method][k]
    return f"*{mean:.3f}*" if is_short else f"*{mean:.3f} ± {deviation:.3f}*"


def comparison_cell(found: Comparison) -> str:
    """The difference, its p, and the verdict where there is one."""
    if np.isnan(found.difference):
        return "failed"
    chance = ""
    if not np.isnan(found.p_value):
        is_tiny = found.p_value < 0.001
        chance = " (p < 0.001)" if is_tiny else f" (p = {found.p_value:.3f})"
    verdict = f" {found.verdict}" if found.verdict else ""
    return f"{found.difference:+.3f}{chance}{verdict}"


def _number(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"
