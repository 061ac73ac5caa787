"""Answers from files: csv, jsonl, parquet, Excel, and the forms of other tools.

All rows of a file are taken, or none: the first that cannot be used is named.
"""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from likewise import InputError
from likewise.app.exchange import FORMULA, Row
from likewise.app.inputs import LABELS, check_annotator, check_seconds
from likewise.app.project import Project
from likewise.app.sheets import SHEETS, read_sheet, read_text

# How other tools write what we call same, different and unsure.
SAID = {
    **{word: label for word, label in LABELS.items()},
    **dict.fromkeys(("1", "+1", "1.0", "true", "yes", "match", "must-link"), 1),
    **dict.fromkeys(("-1", "-1.0", "false", "no", "distinct", "cannot-link"), -1),
    **dict.fromkeys(("0", "0.0", "unknown", "skip"), 0),
}


# Zeros and ones: 0 may stand for different or for unsure.
ZERO, UNEQUAL = {"0", "0.0"}, {"-1", "-1.0"}


def parse_labels(given: Iterable[str]) -> dict[str, int]:
    """What `--labels 0=different` says: a label by what a file writes for it."""
    found = {}
    for one in given:
        value, equals, word = (part.strip().lower() for part in one.partition("="))
        if not value or not equals or word not in LABELS:
            raise InputError(
                "'--labels' must be like 0=different, with same, different or unsure "
                f"behind the equals sign. Got {one!r}."
            )
        found[value] = LABELS[word]
    return found


def read_answers(
    path: Path,
    project: Project,
    annotator: str,
    labels: dict[str, int] | None = None,
) -> list[Row]:
    """Read a file of answers in any form we know; rows as the project takes them.

    Raises InputError, naming the first, where an item is not in the project.
    """
    find = Finder(project)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _from_json(_load_json(path), path, find, annotator)
    if suffix == ".jsonl":
        rows = _load_jsonl(path)
    elif suffix in SHEETS:
        columns = read_sheet(path)
        rows = [
            dict(zip(columns, cells, strict=True))
            for cells in zip(*columns.values(), strict=True)
        ]
    else:
        raise InputError(
            "Answers must come from a .csv, .jsonl, .parquet, .xlsx or .json file. "
            f"Got {path.name}."
        )
    read = Reader(path, find, annotator, _meanings(rows, path, labels or {}))
    return [
        read.row(row, number)
        for number, row in enumerate(rows, start=1)
        if row.get("source") != "implied"
    ]


def _meanings(rows: list[Row], path: Path, given: dict[str, int]) -> dict[str, int]:
    """What each word for a label means; zeros beside ones must be explained."""
    found = {str(row.get("label", "")).strip().lower() for row in rows}
    if found & ZERO and not found & UNEQUAL and not ZERO & given.keys():
        raise InputError(
            f"{path} has the label 0. Say what it means: --labels 0=different, or "
            "--labels 0=unsure."
        )
    more = {f"{value}.0": label for value, label in given.items()}
    return {**SAID, **more, **given}


def read_links(path: Path, label: int, project: Project, annotator: str) -> list[Row]:
    """Read a list of pairs that all have one label: two names a line."""
    find = Finder(project)
    if path.suffix.lower() == ".json":
        pairs = _load_json(path)
    else:
        pairs = _split_lines(path)
    if not isinstance(pairs, list):
        raise InputError(f"{path} must hold a list of pairs. Got {pairs!r:.80}.")
    rows = []
    for number, pair in enumerate(pairs, start=1):
        if not isinstance(pair, list) or len(pair) != 2:
            raise InputError(
                f"Every line of {path} must name two items. Got {pair!r} at {number}."
            )
        rows.append(_row(find.name(pair[0]), find.name(pair[1]), label, annotator))
    return rows


def _split_lines(path: Path) -> list[list[str]]:
    """Lines cut at commas or tabs, or at spaces where they have neither."""
    lines = read_text(path).splitlines()
    mark = "\t" if any("\t" in line for line in lines) else ","
    if not any(mark in line for line in lines):
        return [line.split() for line in lines if line.strip()]
    return [row for row in csv.reader(lines, delimiter=mark) if row]


class Finder:
    """Finds items by name, or by their cells."""

    def __init__(self, project: Project) -> None:
        self._names = {name: k for k, name in enumerate(project.names)}
        self._project = project
        self._by_cells: dict[str, int] | None = None

    def name(self, given: Any) -> int:
        """The item of this name. A number is a name too, never a place in the list."""
        text = str(given)
        if text not in self._names and text[:1] == "'" and text[1:2] in FORMULA:
            text = text[1:]  # as we write it, see safe_cell
        if text in self._names:
            return self._names[text]
        raise InputError(
            f"There is no item {text!r:.80} in the project. "
            f"Its first item is {self._project.names[0]!r:.80}."
        )

    def record(self, cells: Any) -> int:
        """The item whose cells are these."""
        if not isinstance(cells, dict):
            return self.name(cells)
        if self._by_cells is None:
            self._by_cells = {}
            for number in range(len(self._project.names)):
                fields = self._project.item(number).fields or {}
                self._by_cells.setdefault(_cells_key(fields), number)
        known = set(self._project.item(0).fields or {})
        key = _cells_key({k: v for k, v in cells.items() if k in known})
        if key not in self._by_cells:
            raise InputError(f"No row of the project has the cells {cells!r:.120}.")
        return self._by_cells[key]


def _cells_key(fields: Row) -> str:
    cells = {
        name: str(value).strip().lower() for name, value in fields.items() if value
    }
    return json.dumps(sorted(cells.items()))


class Reader:
    """Makes answers of the rows of one file."""

    def __init__(
        self, path: Path, find: Finder, annotator: str, meanings: dict[str, int]
    ) -> None:
        self._path, self._find = path, find
        self._annotator, self._meanings = annotator, meanings

    def row(self, row: Row, number: int) -> Row:
        """One answer; `number` is for what is said of a row that is none."""
        left, right, label = self._said(row, number)
        found = self._find
        result = _row(found.name(left), found.name(right), label, self._annotator)
        if row.get("annotator"):
            result["annotator"] = check_annotator(str(row["annotator"]))
        if row.get("timestamp"):
            result["answered"] = str(row["timestamp"])[:40]
        if row.get("seconds") not in (None, ""):
            result["seconds"] = self._seconds(row["seconds"], number)
        return result

    def _said(self, row: Row, number: int) -> tuple[Any, Any, int]:
        if "unique_id_l" in row and "unique_id_r" in row:
            score = row.get("clerical_match_score")
            label = _splink_label(score, number, self._path)
            return row["unique_id_l"], row["unique_id_r"], label
        if "left_id" in row and "right_id" in row and "label" in row:
            return row["left_id"], row["right_id"], self._label(row["label"], number)
        raise InputError(
            f"{self._path} must have the columns left_id, right_id and label, or "
            "Splink's unique_id_l, unique_id_r and clerical_match_score. "
            f"Got {', '.join(map(str, row))}."
        )

    def _label(self, given: Any, number: int) -> int:
        word = str(given).strip().lower()
        if word not in self._meanings:
            raise InputError(
                f"A label must be same, different or unsure. Got {given!r:.80} in row "
                f"{number} of {self._path}. Other words are explained with --labels."
            )
        return self._meanings[word]

    def _seconds(self, given: Any, number: int) -> float | None:
        try:
            seconds = float(given)
            check_seconds(seconds)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"'seconds' must be a number from 0 to a day. Got {given!r:.80} in row "
                f"{number} of {self._path}."
            ) from error
        return seconds


def _splink_label(given: Any, number: int, path: Path) -> int:
    """Above one half is same, below is different, one half is unsure."""
    try:
        score = float(given)
    except (TypeError, ValueError):
        score = -1.0
    if not 0 <= score <= 1:
        raise InputError(
            "'clerical_match_score' must be between 0 and 1. "
            f"Got {given!r} in row {number} of {path}."
        )
    return 0 if score == 0.5 else (1 if score > 0.5 else -1)


def _from_json(value: Any, path: Path, find: Finder, annotator: str) -> list[Row]:
    """Dedupe's training file, or two lists of links."""
    keys = {"match": 1, "distinct": -1, "must_link": 1, "cannot_link": -1, "unsure": 0}
    if not isinstance(value, dict) or not keys.keys() & value.keys():
        raise InputError(
            f"{path} must have the lists match and distinct, or must_link and "
            "cannot_link."
        )
    rows = []
    for key, label in keys.items():
        if not isinstance(value.get(key, []), list):
            raise InputError(
                f"'{key}' must be a list of pairs in {path}. Got {value[key]!r:.80}."
            )
        for given in value.get(key, []):
            pair = given.get("__value__") if isinstance(given, dict) else given
            if not isinstance(pair, list) or len(pair) != 2:
                raise InputError(
                    f"Every entry of '{key}' must be a pair. Got {given!r:.80}."
                )
            left, right = (find.record(_plain(one)) for one in pair)
            rows.append(_row(left, right, label, annotator))
    return rows


def _plain(value: Any) -> Any:
    """A record without the marks that dedupe adds to what JSON cannot say."""
    if isinstance(value, dict) and "__value__" in value:
        return _plain(value["__value__"])
    if isinstance(value, dict):
        return {name: _plain(cell) for name, cell in value.items()}
    return value


def _row(left: int, right: int, label: int, annotator: str) -> Row:
    return {"left": left, "right": right, "label": label, "annotator": annotator}


def _load_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply to be answers.") from error


def _load_jsonl(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except json.JSONDecodeError as error:
            raise InputError(
                f"Line {number} of {path} is not JSON: {error}."
            ) from error
        except RecursionError as error:
            raise InputError(
                f"Line {number} of {path} is nested too deeply to be an answer."
            ) from error
        if row is not None:
            if not isinstance(row, dict):
                raise InputError(f"Line {number} of {path} must be an object.")
            rows.append(row)
    return rows
