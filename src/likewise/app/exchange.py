"""Answers to files: csv, jsonl, parquet, and the forms of other tools.

Our own form has one row an answer: left_id, right_id, label (same, different, unsure),
annotator, timestamp, seconds, model_version, seed, source.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from likewise import InputError, StoreError
from likewise.app.inputs import WORDS
from likewise.app.project import Project
from likewise.errors import MissingExtraError

Row = dict[str, Any]

COLUMNS = (
    "left_id",
    "right_id",
    "label",
    "annotator",
    "timestamp",
    "seconds",
    "model_version",
    "seed",
    "source",
)
FORMATS = (".csv", ".jsonl", ".parquet", ".json")
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def answer_rows(project: Project, *, implied: bool = False) -> list[Row]:
    """The answers that count, one row each; with `implied`, what they imply too."""
    seed = project.settings["seed"]
    rows = [
        dict(
            zip(
                COLUMNS,
                (
                    project.names[answer.left],
                    project.names[answer.right],
                    WORDS[answer.label],
                    answer.annotator,
                    answer.answered,
                    answer.seconds,
                    answer.model_version,
                    seed,
                    answer.source,
                ),
                strict=True,
            )
        )
        for answer in project.current_answers()
    ]
    return rows + (_implied_rows(project, seed) if implied else [])


def _implied_rows(project: Project, seed: int) -> list[Row]:
    known = project.learner().known_pairs()
    return [
        {
            **dict.fromkeys(COLUMNS),
            "left_id": project.names[i],
            "right_id": project.names[j],
            "label": WORDS[int(label)],
            "model_version": project.version,
            "seed": seed,
            "source": "implied",
        }
        for (i, j), label, source in zip(*known, strict=True)
        if source == "implied"
    ]


def write_answers(rows: list[Row], path: Path, form: str = "likewise") -> None:
    """Write rows in the format that the name ends with."""
    converted = CONVERTERS[form](rows)
    suffix = path.suffix.lower()
    if isinstance(converted, dict) != (suffix == ".json"):
        wanted = ".json" if isinstance(converted, dict) else ".csv, .jsonl or .parquet"
        raise InputError(f"This form must go to a {wanted} file. Got {path.name}.")
    if suffix not in FORMATS:
        raise InputError(
            f"Answers must go to a .csv, .jsonl or .parquet file. Got {path.name}."
        )
    write_new(converted, path)


def write_new(value: Any, path: Path) -> None:
    """Write rows, or what JSON can say, to a file that is not there yet."""
    if path.exists():
        raise StoreError(f"{path} exists already. Choose another name.")
    try:
        _WRITERS[path.suffix.lower()](value, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error


def _write_csv(rows: list[Row], path: Path) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else COLUMNS)
        writer.writeheader()
        writer.writerows(
            {name: safe_cell(cell) for name, cell in row.items()} for row in rows
        )


def safe_cell(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: those get an apostrophe."""
    is_formula = isinstance(cell, str) and cell.startswith(FORMULA)
    return f"'{cell}" if is_formula else cell


def _write_jsonl(rows: list[Row], path: Path) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def _write_json(value: Any, path: Path) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _write_parquet(rows: list[Row], path: Path) -> None:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError("Writing parquet", "parquet") from error
    names = list(rows[0]) if rows else list(COLUMNS)
    table = arrow.table({name: [row[name] for row in rows] for name in names})
    parquet.write_table(table, path)


_WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
    ".json": _write_json,
}


def _to_splink(rows: list[Row]) -> list[Row]:
    """Splink's table of clerical labels; what is unsure has no place in it."""
    return [
        {
            "unique_id_l": row["left_id"],
            "unique_id_r": row["right_id"],
            "clerical_match_score": 1.0 if row["label"] == "same" else 0.0,
        }
        for row in rows
        if row["label"] != "unsure"
    ]


def _to_links(rows: list[Row]) -> Row:
    """Two lists of pairs of names."""
    pairs: Row = {"must_link": [], "cannot_link": []}
    for row in rows:
        if row["label"] != "unsure":
            key = "must_link" if row["label"] == "same" else "cannot_link"
            pairs[key].append([row["left_id"], row["right_id"]])
    return pairs


CONVERTERS: dict[str, Callable[[list[Row]], Any]] = {
    "likewise": lambda rows: rows,
    "splink": _to_splink,
    "links": _to_links,
}
