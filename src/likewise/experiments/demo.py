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
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from likewise import ActiveMetric, BayesianMetric

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

ROUNDS = (0, 20, 40, 60, 80, 100)
N_ITEMS, N_TEST, N_REFERENCE = 250, 150, 20
STRATEGIES: dict[str, dict[str, object]] = {
    "likewise": {},
    "random": {"acquisition": "random", "equivalence": False},
}


@dataclass(frozen=True)
class Curve:
    """Scores after each round of one run."""

    accuracy: list[float]
    auc: list[float]


@click.command()
@click.option("--seeds", default=6, show_default=True, help="Runs to average over.")
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
    """Ask about pairs of digits, actively and at random, and compare.

    The answers come from the true digits. Under a minute.

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
            for name, options in STRATEGIES.items():
                step = lambda: progress.advance(task)  # noqa: E731
                curves[name].append(run(seed, options, step))
    Console().print(table(curves, plain))
    save_picture(curves, plain, out)
    print(f"Picture: {out}")
    print("Next: answer questions about these digits yourself, in the browser:")
    print("    pip install 'likewise[app]' && likewise demo --serve")


def run(seed: int, options: dict[str, object], step: Callable[[], object]) -> Curve:
    """Ask in rounds about pairs of one half of the items; judge on the other."""
    X, y, pool, test = _items(seed)
    learner = ActiveMetric(
        X[pool],
        metric=BayesianMetric(random_state=0),
        random_state=seed,
        **options,  # type: ignore[arg-type]
    )
    curve = Curve([], [])
    for now, then in zip(ROUNDS, (*ROUNDS[1:], None), strict=True):
        mapped = learner.metric_.transform(X)
        curve.accuracy.append(_accuracy(mapped, y, pool, test))
        curve.auc.append(_auc(mapped, y, test))
        if then:
            pairs = learner.ask(then - now)
            labels = y[pool][pairs]
            learner.tell(pairs, np.where(labels[:, 0] == labels[:, 1], 1, -1))
        step()
    return curve


def plain_distance(seed: int) -> Curve:
    """What Euclidean distance reaches without any answer."""
    X, y, pool, test = _items(seed)
    return Curve([_accuracy(X, y, pool, test)], [_auc(X, y, test)])


def _items(seed: int) -> tuple[Array, Rows, Rows, Rows]:
    """Digits, their classes, and which rows are asked about and which judged on."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.RandomState(seed).permutation(len(X))[: N_ITEMS + N_TEST]
    return X[rows], y[rows], np.arange(N_ITEMS), np.arange(N_ITEMS, len(rows))


def _accuracy(mapped: Array, y: Rows, pool: Rows, test: Rows) -> float:
    """1NN with a few labelled items of the pool."""
    reference = pool[:N_REFERENCE]
    model = KNeighborsClassifier(1).fit(mapped[reference], y[reference])
    return float(model.score(mapped[test], y[test]))


def _auc(mapped: Array, y: Rows, test: Rows) -> float:
    """How well distance tells same from different among unseen items."""
    i, j = np.triu_indices(len(test), 1)
    gaps = mapped[test][i] - mapped[test][j]
    return float(roc_auc_score(y[test][i] == y[test][j], -(gaps**2).sum(axis=1)))


def _mean(runs: list[Curve], part: str, row: int) -> float:
    return float(np.mean([getattr(curve, part)[row] for curve in runs]))


def table(curves: dict[str, list[Curve]], plain: list[Curve]) -> Table:
    """The means over the runs, a row for each round."""
    auc, accuracy = _mean(plain, "auc", 0), _mean(plain, "accuracy", 0)
    result = Table(
        title="Digits: what the same number of answers teaches",
        caption=f"Euclidean distance: AUC {auc:.3f}, accuracy {accuracy:.3f}. "
        f"Mean of {len(plain)} runs; 0 answers: learned from the unlabelled items.",
    )
    result.add_column("answers", justify="right")
    for score in ("pair AUC", "1NN accuracy"):
        for name in curves:
            result.add_column(f"{score}\n{name}", justify="right")
    for row, n_answers in enumerate(ROUNDS):
        cells = [
            f"{_mean(runs, part, row):.3f}"
            for part in ("auc", "accuracy")
            for runs in curves.values()
        ]
        result.add_row(str(n_answers), *cells)
    return result


def save_picture(curves: dict[str, list[Curve]], plain: list[Curve], out: Path) -> None:
    """Draw both scores against answers, with a band for the spread over runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {"auc": "Telling same from different", "accuracy": "Naming the digit"}
    labels = {"auc": "AUC, pairs of unseen items", "accuracy": "1NN accuracy"}
    colours = {"likewise": "#0b6e4f", "random": "#b0483a"}
    for panel, part in zip(panels, titles, strict=True):
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
                va="center",
            )
        level = _mean(plain, part, 0)
        panel.axhline(level, color="#666666", ls="--", lw=1.2)
        panel.annotate(
            "Euclidean distance",
            (ROUNDS[-1], level),
            xytext=(6, 4),
            textcoords="offset points",
            color="#666666",
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
