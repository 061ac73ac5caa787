"""Cells of an experiment, run on all cores, each kept as soon as it is done.

A cell is a named tuple of what makes it different from all others. Its rows go to the
end of one CSV file, in the cells' order; what an interruption left half written is cut
off and run again, so that a resumed run ends in the file of an undisturbed one.
"""

import csv
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from likewise.errors import InputError, LikewiseError

Row = dict[str, Any]
Cell = TypeVar("Cell", bound=tuple[Any, ...])
# What numerical code raises when its input is too much for it.
FAILURES = (LikewiseError, ValueError, ArithmeticError, RuntimeError, MemoryError)


class Experiment(NamedTuple, Generic[Cell]):
    """What to run for a cell, and how its rows are written."""

    path: Path
    cell_type: type[Cell]  # the first columns are its fields
    columns: Sequence[str]  # the other columns
    n_rows: int  # rows of a cell that did not fail
    work: Callable[[Cell], list[Row]]

    @property
    def header(self) -> list[str]:
        """Names of all columns."""
        return [*self.cell_type._fields, *self.columns]  # type: ignore[attr-defined]


def run_cells(
    experiment: Experiment[Any],
    cells: Sequence[Any],
    *,
    n_jobs: int = -1,
    done: Callable[[int], None] = lambda n_cells: None,
) -> None:
    """Run the cells that have no rows yet.

    `done` is told how many cells are finished: at once, and after each cell.
    """
    from joblib import Parallel, delayed, parallel_config

    finished = _mend(experiment)
    missing = [cell for cell in cells if _key(cell) not in finished]
    n_done = len(cells) - len(missing)
    done(n_done)
    if not missing:
        return
    with (
        parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1),
        experiment.path.open("a", newline="") as file,
    ):
        writer = csv.DictWriter(file, experiment.header, lineterminator="\n")
        tasks = (delayed(_attempt)(experiment, cell) for cell in missing)
        for cell, rows in zip(
            missing, Parallel(return_as="generator")(tasks), strict=True
        ):
            writer.writerows({**cell._asdict(), **row} for row in rows)
            file.flush()
            n_done += 1
            done(n_done)


def _attempt(experiment: Experiment[Any], cell: Any) -> list[Row]:
    """Do the work of a cell; a failure becomes its one row."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return experiment.work(cell)
    except FAILURES as error:
        seconds = round(time.perf_counter() - start, 3)
        return [{"seconds": seconds, "error": _one_line(error)}]


def _one_line(error: BaseException) -> str:
    kind = "" if isinstance(error, LikewiseError) else f"{type(error).__name__}: "
    return kind + " ".join(str(error).split())


def _key(cell: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(part) for part in cell)


def _mend(experiment: Experiment[Any]) -> set[tuple[str, ...]]:
    """Cut a half-written end off the file; give the keys of the finished cells."""
    path, header = experiment.path, experiment.header
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    if not lines:
        lines = [",".join(header) + "\n"]
    elif lines[0] != ",".join(header) + "\n":
        raise InputError(
            f"{path} must begin with the columns {','.join(header)}. It was written "
            "by another version: use another --out, or --fresh to start over."
        )
    finished, n_kept = set(), 1
    for key, rows in _groups(lines, len(experiment.cell_type._fields)):
        has_failed = len(rows) == 1 and rows[0][-1]
        if len(rows) == experiment.n_rows or has_failed:
            finished.add(key)
            n_kept += len(rows)
    kept = "".join(lines[:n_kept])
    if kept != text:
        path.write_text(kept)
    return finished


def _groups(
    lines: list[str], n_key: int
) -> Iterator[tuple[tuple[str, ...], list[list[str]]]]:
    """Rows that follow one another and have the same key."""
    group: list[list[str]] = []
    for row in csv.reader(lines[1:]):
        if group and group[0][:n_key] != row[:n_key]:
            yield tuple(group[0][:n_key]), group
            group = []
        group.append(row)
    if group:
        yield tuple(group[0][:n_key]), group


def fingerprint(*parts: Any) -> str:
    """Eight hex digits that tell one split from another."""
    import zlib

    joined = np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])
    return f"{zlib.crc32(joined.tobytes()):08x}"
