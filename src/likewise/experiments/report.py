"""What came out, written up: Markdown, one HTML page, and the terminal."""

import platform
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as RichTable

from likewise.experiments import (
    curves,
    figures,
    methods,
    readings,
    remarks,
    strategies,
    tables,
)
from likewise.experiments.datasets import (
    TESTBEDS,
    Source,
    data_folder,
    draw_items,
    read_source,
    ready_corel,
)
from likewise.experiments.pages import (
    Block,
    Bullets,
    Heading,
    Picture,
    Table,
    Text,
    to_html,
    to_markdown,
)
from likewise.experiments.protocol import SIZES, draw_split, nearest_accuracy

TITLE = "The paper's tables and figures"
NUMBERS = {"corel": 1, "isolet": 2}  # of the paper's tables and figures


def write(out: Path, n_repeats: int, docs: Path | None) -> list[Path]:
    """Write all pages of what is in the folder; give their paths."""
    blocks = _page(out, n_repeats)
    page, text = out / "reproduction.html", out / "reproduction.md"
    page.write_text(to_html(blocks, TITLE), encoding="utf-8")
    text.write_text(to_markdown(blocks), encoding="utf-8")
    if docs is None:
        return [page, text]
    return [page, text, _write_docs(blocks, docs)]


def _write_docs(blocks: list[Block], docs: Path) -> Path:
    """The page for the documentation, with its pictures in a folder beside it."""
    pictures = docs / "reproduction"
    pictures.mkdir(parents=True, exist_ok=True)
    for block in blocks:
        if isinstance(block, Picture):
            shutil.copy(block.svg.with_suffix(".png"), pictures)
    path = docs / "reproduction.md"
    path.write_text(to_markdown(blocks, "reproduction/"), encoding="utf-8")
    return path


def _page(out: Path, n_repeats: int) -> list[Block]:
    found = {
        name: tables.read_runs(out / f"{name}.csv", n_repeats)
        for name in ("tables", "figures", "readings")
        if (out / f"{name}.csv").exists()
    }
    blocks = _opening(out, n_repeats, _seconds(found))
    if "tables" in found:
        blocks += _in_short(found)
    blocks += [Heading("Protocol"), Bullets(_protocol())]
    blocks += _check_features(out, n_repeats)
    if "tables" in found:
        blocks += _table_blocks(found["tables"])
    if "figures" in found:
        blocks += _figure_blocks(found["figures"], out)
    blocks += [
        Heading("What differs from the paper, and why"),
        Bullets(remarks.DIFFERENCES),
    ]
    if "readings" in found:
        blocks += readings.reading_blocks(found["readings"])
    return [*blocks, Heading("Run it again"), Text(remarks.AGAIN)]


def _opening(out: Path, n_repeats: int, seconds: float) -> list[Block]:
    """Title, what was run on what, and a warning where the items are stand-ins."""
    names = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Text(
            'Yang, Jin and Sukthankar, "Bayesian Active Distance Metric Learning" (UAI '
            f"2007), section 5, run with likewise {version('likewise')}. "
            f"{n_repeats} repeats, {seconds / 60:.0f} minutes of one core; Python "
            f"{platform.python_version()}, {versions}. This page was written by "
            "`likewise reproduce`; all runs are in the CSV files that it leaves."
        ),
    ]
    sources = [read_source(path) for path in sorted(out.glob("*-items.npz"))]
    origins = [f"{source.testbed}: {source.origin}." for source in sources]
    blocks.append(Bullets(origins))
    if any(source.is_standin for source in sources):
        blocks.append(
            Text(
                "**The paper's items were not found. Digits stand in for them: no "
                "number on this page can be compared with the paper's.**"
            )
        )
    return blocks


def _seconds(found: dict[str, pd.DataFrame]) -> float:
    """Seconds of all cells together; a curve's rows count from its beginning."""
    total = sum(runs["seconds"].sum() for runs in found.values())
    if "figures" in found:
        runs = found["figures"]
        total -= runs["seconds"].sum()
        cell = ["testbed", "n_initial", "seed", "strategy"]
        total += runs.groupby(cell)["seconds"].max().sum()
    return float(total)


def _protocol() -> list[str]:
    n_tables = len(methods.PRECISIONS) * len(methods.MEANS)
    n_curves = len(strategies.PRECISIONS) * len(strategies.MEANS)
    counts = {"n_tables": n_tables, "n_curves": n_curves}
    return [line.format(**counts) for line in remarks.PROTOCOL]


def _in_short(found: dict[str, pd.DataFrame]) -> list[Block]:
    """How often likewise wins and loses, counted over the cells of both tables."""
    runs = found["tables"]
    lines = [tables.tally(runs, testbed) for testbed in _testbeds_in(runs)]
    if "figures" in found:
        runs = found["figures"]
        lines += [curves.saving(runs, testbed) for testbed in _testbeds_in(runs)]
    return [Heading("In short"), Bullets(lines)]


def _testbeds_in(runs: pd.DataFrame) -> list[str]:
    present = set(runs["testbed"])
    return [testbed for testbed in TESTBEDS if testbed in present]


def _check_features(out: Path, n_repeats: int) -> list[Block]:
    """Euclid on our features beside Euclid on ready ones, where both are there."""
    ours, ready = out / "corel-items.npz", data_folder() / "corel36.npz"
    if not (ours.exists() and ready.exists()):
        return []
    rows = [
        [name, *(f"{_euclid(source, size, n_repeats):.3f}" for size in SIZES)]
        for name, source in (
            ("this run's items", read_source(ours)),
            ("corel36.npz", ready_corel(ready)),
        )
    ]
    heads = ["Euclid, corel", *(f"{size} labelled" for size in SIZES)]
    return [Heading("Features against ready ones", 3), Table(heads, rows)]


def _euclid(source: Source, n_labelled: int, n_repeats: int) -> float:
    scores = []
    for seed in range(n_repeats):
        X, y = draw_items(source, seed)
        split = draw_split(y, n_labelled, seed)
        scores.append(nearest_accuracy(X, y, split.labelled, split.test))
    return float(np.mean(scores))


def _table_blocks(runs: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = []
    for testbed in _testbeds_in(runs):
        blocks.append(Heading(f"Table {NUMBERS[testbed]}: {testbed}"))
        for score, label in tables.SCORES.items():
            blocks += [Heading(label, 3), tables.score_table(runs, testbed, score)]
        blocks += [
            Heading("Differences of 1NN accuracy (labelled), paired", 3),
            tables.difference_table(runs, testbed, "likewise"),
            tables.difference_table(runs, testbed, "BAYES"),
            Heading("Median seconds of a fit", 3),
            tables.seconds_table(runs, testbed),
            Text(
                "LMNN and ITML include the start of their interpreter, BAYES all its "
                "settings. What the evidence chose for BAYES: "
                + tables.chosen_settings(runs, testbed, "BAYES")
                + "."
            ),
        ]
    failed = tables.failures(runs)
    absent = [name for name in methods.METHODS if name not in set(runs["method"])]
    if absent:
        failed.append(f"Not run: {', '.join(absent)}. Build them with `make peers`.")
    return blocks + ([Heading("Failures"), Bullets(failed)] if failed else [])


def _figure_blocks(runs: pd.DataFrame, out: Path) -> list[Block]:
    blocks: list[Block] = []
    for testbed in _testbeds_in(runs):
        title = f"Figure {NUMBERS[testbed]}: active questions on {testbed}"
        stem = out / f"figure{NUMBERS[testbed]}"
        _, svg = figures.draw_figure(runs, testbed, title, stem)
        caption = (
            f"{title}. Mean over {runs['seed'].nunique()} repeats, bands of one "
            "standard error."
        )
        blocks += [Heading(title), Picture(svg, caption)]
        for score, label in curves.SCORES.items():
            blocks += [
                Heading(f"{label}, mean over the rounds and after the last", 3),
                curves.curve_table(runs, testbed, score),
            ]
        blocks += [
            Heading("What the paper concludes, tested here", 3),
            Text(
                "Section 5.3 says that each of these differences of 1NN accuracy is "
                "above zero. Means over the rounds, all other items as reference."
            ),
            curves.claims_table(runs, testbed),
        ]
    return blocks


def print_summary(
    console: Console, out: Path, n_repeats: int, parts: tuple[str, ...]
) -> None:
    """Print the tables' first score and what the figures say."""
    for part in parts:
        if part == "readings":
            continue
        testbed = TESTBEDS[int(part[-1]) - 1]
        if part.startswith("table"):
            runs = tables.read_runs(out / "tables.csv", n_repeats)
            table = tables.score_table(
                runs, testbed, "accuracy_labelled", is_short=True
            )
            title = f"Table {part[-1]}: {testbed}, 1NN accuracy (labelled reference)"
        else:
            runs = tables.read_runs(out / "figures.csv", n_repeats)
            table = curves.curve_table(runs, testbed, "auc")
            title = f"Figure {part[-1]}: {testbed}, AUC, mean over the rounds"
        console.print(_rich(table, title))


def _rich(table: Table, title: str) -> RichTable:
    shown = RichTable(title=title)
    for k, head in enumerate(table.heads):
        shown.add_column(head, justify="right" if k else "left", no_wrap=True)
    for row in table.rows:
        shown.add_row(*(cell.strip("*") for cell in row))
    return shown
