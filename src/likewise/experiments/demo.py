"""`likewise demo`: the active loop on digits with simulated answers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from threadpoolctl import threadpool_limits

from likewise import ActiveMetric, BayesianMetric

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

ROUNDS = (0, 20, 40, 60, 80, 100)
N_AT_ONCE = 5  # questions between two looks at the answers
N_ITEMS, N_TEST = 250, 150
STRATEGIES = {"likewise": "groups", "random": "random"}


@dataclass(frozen=True)
class Curve:
    """Scores after each round of one run."""

    sorted: list[float]  # adjusted Rand index of the groups found
    auc: list[float]  # of "same", pairs of unseen items


@click.command()
@click.option("--seeds", default=3, show_default=True, help="Runs to average over.")
@click.option(
    "--out",
    default="likewise-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to save the picture.",
)
@click.option(
    "--serve", is_flag=True, help="Open the labelling page on digits instead."
)
def demo(seeds: int, out: Path, serve: bool) -> None:
    """Sort digits by asking about pairs, well chosen or at random, and compare.

    The answers come from the true digits. About a minute.

    Example: likewise demo --seeds 5
    """
    if serve:
        _serve()
        return
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    curves: dict[str, list[Curve]] = {name: [] for name in STRATEGIES}
    plain = [plain_distance(seed) for seed in range(seeds)]
    # The matrices are small: a second thread of BLAS waits more than it works.
    with (
        threadpool_limits(1, "blas"),
        Progress(*columns, console=console) as progress,
    ):
        task = progress.add_task(
            "Asking about digits", total=seeds * len(STRATEGIES) * len(ROUNDS)
        )
        for seed in range(seeds):
            for name, acquisition in STRATEGIES.items():
                step = lambda: progress.advance(task)  # noqa: E731
                curves[name].append(run(seed, acquisition, step))
    Console().print(table(curves, plain))
    save_picture(curves, plain, out)
    print(f"Picture: {out}")
    print("Next: answer questions about these digits yourself, in the browser:")
    print("    pip install '.[app]' && likewise demo --serve    # in the clone")


def run(seed: int, acquisition: str, step: Callable[[], object]) -> Curve:
    """Ask about some items; judge their groups, and the metric on others."""
    X, y, pool, test = _items(seed)
    learner = ActiveMetric(
        X[pool], BayesianMetric(random_state=0), acquisition, random_state=seed
    )
    curve = Curve([], [])
    for n_answers in range(0, ROUNDS[-1] + 1, N_AT_ONCE):
        if n_answers in ROUNDS:
            found = learner.groups().labels
            curve.sorted.append(float(adjusted_rand_score(y[pool], found)))
            curve.auc.append(_auc(learner.metric_.transform(X), y, test))
            step()
        if n_answers < ROUNDS[-1]:
            pairs = learner.ask(N_AT_ONCE)
            labels = y[pool][pairs]
            learner.tell(pairs, np.where(labels[:, 0] == labels[:, 1], 1, -1))
    return curve


def plain_distance(seed: int) -> Curve:
    """What plain distance reaches: k-means told the number of groups, and the AUC."""
    X, y, pool, test = _items(seed)
    told = KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(X[pool])
    return Curve([float(adjusted_rand_score(y[pool], told))], [_auc(X, y, test)])


def _items(seed: int) -> tuple[Array, Rows, Rows, Rows]:
    """Digits, their classes, and which rows are asked about and which judged on."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.RandomState(seed).permutation(len(X))[: N_ITEMS + N_TEST]
    return X[rows], y[rows], np.arange(N_ITEMS), np.arange(N_ITEMS, len(rows))


def _auc(mapped: Array, y: Rows, test: Rows) -> float:
    """How well distance tells same from different among unseen items."""
    i, j = np.triu_indices(len(test), 1)
    gaps = mapped[test][i] - mapped[test][j]
    return float(roc_auc_score(y[test][i] == y[test][j], -(gaps**2).sum(axis=1)))


def _mean(runs: list[Curve], part: str, row: int) -> float:
    return float(np.mean([getattr(curve, part)[row] for curve in runs]))


def table(curves: dict[str, list[Curve]], plain: list[Curve]) -> Table:
    """The means over the runs, a row for each round."""
    auc, told = _mean(plain, "auc", 0), _mean(plain, "sorted", 0)
    result = Table(
        title=f"{N_ITEMS} digits sorted by the same number of answers",
        caption=f"k-means told that there are ten groups: {told:.3f}; "
        f"plain distance: AUC {auc:.3f}. Mean of {len(plain)} runs. Groups: adjusted "
        "Rand index, 1 is right; AUC of 'same' among digits not asked about.",
    )
    result.add_column("answers", justify="right")
    for score in ("groups", "AUC"):
        for name in curves:
            result.add_column(f"{score}\n{name}", justify="right")
    for row, n_answers in enumerate(ROUNDS):
        cells = [
            f"{_mean(runs, part, row):.3f}"
            for part in ("sorted", "auc")
            for runs in curves.values()
        ]
        result.add_row(str(n_answers), *cells)
    return result


def save_picture(curves: dict[str, list[Curve]], plain: list[Curve], out: Path) -> None:
    """Draw both scores against answers, with a band for the spread over runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {
        "sorted": f"{N_ITEMS} digits sorted, the number of groups found",
        "auc": "Telling same from different",
    }
    labels = {"sorted": "adjusted Rand index", "auc": "AUC, pairs of unseen digits"}
    plainly = {"sorted": "k-means, told\nthere are ten", "auc": "plain distance"}
    colours = {"likewise": "#0b6e4f", "random": "#b0483a"}
    for panel, part in zip(panels, titles, strict=True):
        above = max(curves, key=lambda name: _mean(curves[name], part, -1))
        for name, runs in curves.items():
            values = np.array([getattr(curve, part) for curve in runs])
            mean = values.mean(axis=0)
            deviation = values.std(axis=0) / np.sqrt(len(values))
            panel.plot(ROUNDS, mean, "o-", color=colours[name], lw=2)
            panel.fill_between(
                ROUNDS,
                mean - deviation,
                mean + deviation,
                color=colours[name],
                alpha=0.15,
                lw=0,
            )
            said = "likewise asks" if name == "likewise" else "asked at random"
            panel.annotate(
                said,
                (ROUNDS[-1], mean[-1]),
                xytext=(6, 0),
                textcoords="offset points",
                color=colours[name],
                va="bottom" if name == above else "top",  # ends may be as one
            )
        level = _mean(plain, part, 0)
        panel.axhline(level, color="#666666", ls="--", lw=1.2)
        panel.annotate(
            plainly[part],
            (ROUNDS[-1], level),
            xytext=(6, -4),
            textcoords="offset points",
            color="#666666",
            va="top",
        )
        panel.set(title=titles[part], xlabel="answers given", ylabel=labels[part])
        panel.set_xlim(0, ROUNDS[-1] * 1.45)
        panel.set_xticks(ROUNDS)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    figure.savefig(out, dpi=130)


def _serve() -> None:
    """Hand over to the labelling page."""
    from likewise.__main__ import main

    main(["demo-serve"])
