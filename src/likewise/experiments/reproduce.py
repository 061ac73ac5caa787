"""The command `likewise reproduce`: run what is missing, then write it all up."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from likewise.experiments import cells, peers, report, runs
from likewise.experiments.datasets import (
    TESTBEDS,
    fetch_isolet,
    prepare_source,
    read_source,
)
from likewise.experiments.methods import METHODS, PEER_METHODS
from likewise.experiments.protocol import SIZES

PARTS = ("table1", "table2", "figure1", "figure2", "readings")
TESTBED_OF = {"1": "corel", "2": "isolet"}
QUICK_REPEATS = 2


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    parts: tuple[str, ...]
    n_repeats: int
    out: Path
    is_quick: bool
    is_offline: bool
    n_jobs: int

    @property
    def testbeds(self) -> list[str]:
        """The testbeds that the parts need."""
        if "readings" in self.parts:
            return list(TESTBEDS)
        return [TESTBED_OF[end] for end in sorted({part[-1] for part in self.parts})]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The panels of a figure; a quick run draws the first alone."""
        return SIZES[:1] if self.is_quick else SIZES


@click.command()
@click.argument("what", type=click.Choice([*PARTS, "all"]))
@click.option("--repeats", default=10, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--out",
    default="results",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the results; a run cut short goes on from what is there.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A two-minute taste: 2 repeats, panel (a), no readings.",
)
@click.option("--fresh", is_flag=True, help="Forget the runs that are in the folder.")
@click.option("--offline", is_flag=True, help="Fetch nothing, build nothing.")
@click.option("--jobs", default=-1, help="Processes; -1 for one a core.")
@click.option(
    "--docs",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that also gets reproduction.md and its pictures.",
)
def reproduce(
    what: str,
    repeats: int,
    out: Path,
    quick: bool,
    fresh: bool,
    offline: bool,
    jobs: int,
    docs: Path | None,
) -> None:
    """Run the paper's tables and figures against the tools in use today.

    LIKEWISE_DATA names the folder with the data (isolet.npz, and corel/ with a folder
    of pictures a category). Without it isolet is fetched from OpenML.

    Example: likewise reproduce all --out results/
    """
    parts = (what,) if what != "all" else PARTS[:4] if quick else PARTS
    n_repeats = min(repeats, QUICK_REPEATS) if quick else repeats
    plan = Plan(parts, n_repeats, out, quick, offline, jobs)
    if fresh:
        _forget(out)
    start = time.perf_counter()
    console = Console(stderr=True)
    try:
        _run(plan, console)
    except KeyboardInterrupt:
        console.print("Interrupted. The same command goes on from here.")
        raise SystemExit(130) from None
    seconds = time.perf_counter() - start
    paths = report.write(out, n_repeats, docs)
    report.print_summary(Console(), out, n_repeats, parts)
    console.print(f"{seconds:.0f} seconds. " + ", ".join(str(p) for p in paths))


def _forget(out: Path) -> None:
    for name in ("tables.csv", "figures.csv", "readings.csv"):
        (out / name).unlink(missing_ok=True)
    for testbed in TESTBEDS:
        (out / f"{testbed}-items.npz").unlink(missing_ok=True)


def _run(plan: Plan, console: Console) -> None:
    """Prepare the items, then run every part's missing cells."""
    _prepare(plan, console)
    names = _methods_to_run(plan, console)
    with _bars(console) as progress:
        jobs = [(part, *_cells_of(part, plan, names)) for part in plan.parts]
        bars = [progress.add_task(part, total=len(todo)) for part, _, todo in jobs]
        for bar, (_, experiment, todo) in zip(bars, jobs, strict=True):
            runs.run_cells(
                experiment, todo, n_jobs=plan.n_jobs, done=_advance(progress, bar)
            )


def _advance(progress: Progress, bar: Any) -> Callable[[int], None]:
    """Move a bar; what an earlier run did says nothing of the time left."""
    is_first = True

    def move(n_done: int) -> None:
        nonlocal is_first
        if is_first:
            progress.reset(bar, completed=n_done)
        progress.update(bar, completed=n_done)
        is_first = False

    return move


def _cells_of(
    part: str, plan: Plan, names: list[str]
) -> tuple[runs.Experiment[Any], list[Any]]:
    """The experiment that a part belongs to, and its cells."""
    if part == "readings":
        return (
            cells.reading_experiment(plan.out),
            cells.reading_cells(plan.n_repeats),
        )
    testbed = TESTBED_OF[part[-1]]
    if part.startswith("table"):
        todo: list[Any] = cells.table_cells(testbed, plan.n_repeats, names)
        return cells.table_experiment(plan.out), todo
    todo = cells.curve_cells(testbed, plan.n_repeats, plan.sizes)
    return cells.curve_experiment(plan.out), todo


def _prepare(plan: Plan, console: Console) -> None:
    with _bars(console) as progress:
        for testbed in plan.testbeds:
            bar = progress.add_task(f"{testbed} items", total=None)
            path = prepare_source(
                testbed,
                plan.out,
                say=lambda text: console.print(text, style="yellow"),
                progress=lambda done, n: progress.update(bar, completed=done, total=n),  # noqa: B023
                fetch=None if plan.is_offline else fetch_isolet,
            )
            progress.update(bar, completed=1, total=1)
            console.print(f"{testbed}: {read_source(path).origin}.")


def _methods_to_run(plan: Plan, console: Console) -> list[str]:
    """All methods; those of metric-learn only where its environment can be had."""
    if not any(part.startswith("table") for part in plan.parts) or peers.is_ready():
        return list(METHODS)
    if not plan.is_offline:
        console.print(f"Building metric-learn's environment in {peers.folder()}.")
        try:
            peers.build()
            return list(METHODS)
        except (peers.PeerError, OSError) as error:
            console.print(str(error), style="yellow")
    console.print("LMNN and ITML are not run. Build them with: make peers")
    return [name for name in METHODS if name not in PEER_METHODS]


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    with Progress(
        TextColumn("{task.description:14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        yield progress
