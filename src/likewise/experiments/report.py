"""What came out, written up: Markdown, one HTML page, and the terminal."""

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table as RichTable

from likewise.experiments import figures, tables
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

TITLE = "The paper's tables and figures"


def write(out: Path, n_repeats: int, seconds: float, docs: Path | None) -> list[Path]:
    """Write all pages of what is in the folder; give their paths."""
    blocks = _page(out, n_repeats)
    page, text = out / "reproduction.html", out / "reproduction.md"
    page.write_text(to_html(blocks, TITLE), encoding="utf-8")
    text.write_text(to_markdown(blocks), encoding="utf-8")
    return [page, text]


def _page(out: Path, n_repeats: int) -> list[Block]:
    blocks: list[Block] = [Heading(TITLE, 1)]
    if (out / "tables.csv").exists():
        blocks += _table_blocks(tables.read_runs(out / "tables.csv", n_repeats))
    if (out / "figures.csv").exists():
        blocks += _figure_blocks(tables.read_runs(out / "figures.csv", n_repeats), out)
    return blocks


def _table_blocks(runs: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = []
    for number, testbed in (("1", "corel"), ("2", "isolet")):
        if testbed not in set(runs["testbed"]):
            continue
        blocks.append(Heading(f"Table {number}: {testbed}"))
        for score, label in tables.SCORES.items():
            blocks += [Heading(label, 3), tables.score_table(runs, testbed, score)]
        blocks += [
            Heading("Differences, paired over the splits", 3),
            tables.difference_table(runs, testbed, "likewise"),
            tables.difference_table(runs, testbed, "BAYES"),
            Heading("Median seconds of a fit", 3),
            tables.seconds_table(runs, testbed),
            Text(tables.chosen_settings(runs, testbed, "BAYES")),
        ]
    failed = tables.failures(runs)
    return blocks + ([Bullets(failed)] if failed else [])


def _figure_blocks(runs: pd.DataFrame, out: Path) -> list[Block]:
    blocks: list[Block] = []
    for number, testbed in (("1", "corel"), ("2", "isolet")):
        if testbed not in set(runs["testbed"]):
            continue
        title = f"Figure {number}: {testbed}"
        _, svg = figures.draw_figure(runs, testbed, title, out / f"figure{number}")
        blocks += [Heading(title), Picture(svg, title)]
    return blocks


def print_summary(
    console: Console, out: Path, n_repeats: int, parts: tuple[str, ...]
) -> None:
    """Print the tables' first score."""
    if not (out / "tables.csv").exists():
        return
    runs = tables.read_runs(out / "tables.csv", n_repeats)
    for number, testbed in (("1", "corel"), ("2", "isolet")):
        if f"table{number}" in parts and testbed in set(runs["testbed"]):
            table = tables.score_table(runs, testbed, "accuracy_labelled")
            console.print(_rich(table, f"Table {number}: {testbed}, 1NN accuracy"))


def _rich(table: Table, title: str) -> RichTable:
    shown = RichTable(title=title)
    for k, head in enumerate(table.heads):
        shown.add_column(head, justify="right" if k else "left")
    for row in table.rows:
        shown.add_row(*(cell.strip("*") for cell in row))
    return shown
