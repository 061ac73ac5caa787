"""What is run: the cells of the tables, the figures and the readings."""

import functools
import itertools
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from likewise.experiments import methods, readings, strategies
from likewise.experiments.datasets import TESTBEDS, draw_items, read_source
from likewise.experiments.protocol import SIZES, draw_split, score_space
from likewise.experiments.runs import Experiment, Row, fingerprint


class TableCell(NamedTuple):
    """One method on one split."""

    testbed: str
    n_labelled: int
    seed: int
    method: str


class CurveCell(NamedTuple):
    """One strategy's whole run of questions."""

    testbed: str
    n_initial: int
    seed: int
    strategy: str


def table_experiment(out: Path) -> Experiment[TableCell]:
    """Tables 1 and 2."""
    columns = ("split", "accuracy_labelled", "accuracy_rest", "auc", "seconds")
    return Experiment(
        out / "tables.csv",
        TableCell,
        (*columns, "settings", "error"),
        1,
        functools.partial(_run_table_cell, out),
    )


def table_cells(testbed: str, n_repeats: int, names: Iterable[str]) -> list[TableCell]:
    """Repeat by repeat, so that a run cut short has whole repeats."""
    seeds, names = range(n_repeats), list(names)
    return [
        TableCell(testbed, n_labelled, seed, name)
        for seed, n_labelled, name in itertools.product(seeds, SIZES, names)
    ]


def _run_table_cell(out: Path, cell: TableCell) -> list[Row]:
    source = read_source(out / f"{cell.testbed}-items.npz")
    X, y = draw_items(source, cell.seed)
    split = draw_split(y, cell.n_labelled, cell.seed)
    start = time.perf_counter()
    learned = methods.METHODS[cell.method](X, y, split)
    seconds = time.perf_counter() - start
    scores = {
        k: round(v, 6) for k, v in asdict(score_space(learned.Z, y, split)).items()
    }
    return [
        {
            **scores,
            "split": fingerprint(split.labelled, split.test),
            "seconds": round(seconds, 3),
            "settings": learned.settings,
        }
    ]


def curve_experiment(out: Path) -> Experiment[CurveCell]:
    """Figures 1 and 2."""
    columns = ("round", "n_answers", "n_known", "split")
    scores = ("accuracy_rest", "accuracy_pool", "auc", "seconds", "error")
    return Experiment(
        out / "figures.csv",
        CurveCell,
        (*columns, *scores),
        strategies.N_ROUNDS + 1,
        functools.partial(_run_curve_cell, out),
    )


def curve_cells(
    testbed: str, n_repeats: int, sizes: Iterable[int] = SIZES
) -> list[CurveCell]:
    """Repeat by repeat, as for the tables."""
    seeds, sizes = range(n_repeats), list(sizes)
    return [
        CurveCell(testbed, n_initial, seed, name)
        for seed, n_initial, name in itertools.product(
            seeds, sizes, strategies.STRATEGIES
        )
    ]


def _run_curve_cell(out: Path, cell: CurveCell) -> list[Row]:
    source = read_source(out / f"{cell.testbed}-items.npz")
    X, y = draw_items(source, cell.seed)
    split = draw_split(y, strategies.POOL_SIZE, cell.seed)
    curve = strategies.run_strategy(
        cell.strategy, X, y, split, n_initial=cell.n_initial, seed=cell.seed
    )
    label = fingerprint(split.labelled, split.test)
    return [{**row, "split": label} for row in curve]


class ReadingCell(NamedTuple):
    """All readings of the paper's model on one split."""

    testbed: str
    n_labelled: int
    seed: int


def reading_experiment(out: Path) -> Experiment[ReadingCell]:
    """What the paper leaves open, tried out."""
    settings = ("inference", "n_basis", "delta", "gamma_0")
    scores = ("evidence", "accuracy_labelled", "accuracy_rest", "auc", "seconds")
    return Experiment(
        out / "readings.csv",
        ReadingCell,
        (*settings, *scores, "error"),
        readings.N_READINGS,
        functools.partial(_run_reading_cell, out),
    )


def reading_cells(n_repeats: int) -> list[ReadingCell]:
    """Repeat by repeat, as for the tables."""
    return [
        ReadingCell(testbed, n_labelled, seed)
        for seed, testbed, n_labelled in itertools.product(
            range(n_repeats), TESTBEDS, SIZES
        )
    ]


def _run_reading_cell(out: Path, cell: ReadingCell) -> list[Row]:
    source = read_source(out / f"{cell.testbed}-items.npz")
    X, y = draw_items(source, cell.seed)
    split = draw_split(y, cell.n_labelled, cell.seed)
    return readings.run_readings(cell.testbed, X, y, split)
