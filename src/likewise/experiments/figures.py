"""Figures 1 and 2: how the metric improves with the answers, strategy by strategy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from likewise.experiments.strategies import PER_ROUND, STRATEGIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which the colour-blind tell apart; ours is the strongest.
STYLES: dict[str, dict[str, Any]] = {
    "MLE+RAND": {"color": "#999999", "linestyle": ":", "marker": "s"},
    "MLE+ACT": {"color": "#666666", "linestyle": "--", "marker": "s"},
    "BAYES+RAND": {"color": "#56b4e9", "linestyle": ":", "marker": "^"},
    "BAYES+ACT": {"color": "#0072b2", "linestyle": "--", "marker": "^"},
    "BAYES+VAR": {"color": "#009e73", "linestyle": "-.", "marker": "v"},
    "likewise+RAND": {"color": "#e69f00", "linestyle": ":", "marker": "o"},
    "likewise": {"color": "#d55e00", "linestyle": "-", "marker": "o"},
}
SCORES = {
    "accuracy_rest": "1NN accuracy\n(reference: all other items)",
    "accuracy_pool": "1NN accuracy\n(reference: the pool)",
    "auc": "AUC of same\nagainst different",
}


def curve(runs: pd.DataFrame, score: str) -> pd.DataFrame:
    """Mean and standard error of a score after each round, over the repeats."""
    groups = runs.groupby("round")[score]
    spread: pd.Series[float] = groups.std().fillna(0.0) / np.sqrt(groups.count())
    return pd.DataFrame({"mean": groups.mean(), "error": spread})


def draw_figure(
    runs: pd.DataFrame, testbed: str, title: str, stem: Path
) -> tuple[Path, Path]:
    """Draw all panels of a testbed; give the paths of the PNG and the SVG."""
    runs = runs[(runs["testbed"] == testbed) & (runs["error"] == "")]
    sizes = [int(size) for size in sorted(runs["n_initial"].unique())]
    figure, panels = _make_panels(sizes)
    for (score, size), axes in panels.items():
        _draw_panel(axes, runs[runs["n_initial"] == size], score, size)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False
    )
    figure.suptitle(title, fontsize=13)
    return _save(figure, stem)


def _make_panels(sizes: list[int]) -> "tuple[Figure, dict[tuple[str, int], Axes]]":
    """A row a score and a column a start; a single start has its scores in a row."""
    from matplotlib.figure import Figure

    if len(sizes) == 1:
        figure = Figure(figsize=(11.5, 4.2), layout="constrained")
        grid = figure.subplots(1, len(SCORES), squeeze=False).T
    else:
        figure = Figure(figsize=(3.7 * len(sizes) + 0.6, 9.6), layout="constrained")
        grid = figure.subplots(len(SCORES), len(sizes), sharey="row", squeeze=False)
    panels = {}
    for row, (score, label) in zip(grid, SCORES.items(), strict=True):
        row[0].set_ylabel(label)
        for k, (axes, size) in enumerate(zip(row, sizes, strict=True)):
            axes.set_title(f"({'abc'[k]}) {size} answers to start with", fontsize=10)
            axes.set_xlabel("answers")
            panels[score, size] = axes
    if len(sizes) > 1:
        for axes in grid[1:].flat:
            axes.set_title("")
        for axes in grid[:-1].flat:
            axes.set_xlabel("")
    return figure, panels


def _save(figure: "Figure", stem: Path) -> tuple[Path, Path]:
    """Write PNG and SVG; no date inside, so that equal runs give equal files."""
    import matplotlib

    png, svg = stem.with_suffix(".png"), stem.with_suffix(".svg")
    with matplotlib.rc_context({"svg.hashsalt": "likewise"}):
        figure.savefig(png, dpi=150)
        figure.savefig(svg, metadata={"Date": None})
    return png, svg


def _draw_panel(axes: "Axes", runs: pd.DataFrame, score: str, size: int) -> None:
    """Curves of all strategies, with a band of one standard error."""
    for name in _strategies_in(runs):
        drawn = curve(runs[runs["strategy"] == name], score)
        answers = size + PER_ROUND * drawn.index.to_numpy()
        style = {**STYLES[name], "markersize": 3.5, "linewidth": 1.5}
        is_ours = name == "likewise"
        axes.plot(
            answers, drawn["mean"], label=name, zorder=4 if is_ours else 3, **style
        )
        axes.fill_between(
            answers,
            drawn["mean"] - drawn["error"],
            drawn["mean"] + drawn["error"],
            color=style["color"],
            alpha=0.15,
            linewidth=0,
        )
    axes.set_xticks(range(size, int(answers[-1]) + 1, 2 * PER_ROUND))
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _strategies_in(runs: pd.DataFrame) -> Sequence[str]:
    present = set(runs["strategy"])
    return [name for name in STRATEGIES if name in present]
