"""Answers to and from files: csv, jsonl, parquet, and the forms of other tools.

Our own form has one row an answer: left_id, right_id, label (same, different, unsure),
annotator, timestamp, seconds, model_version, seed, source.
"""

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from likewise import InputError, StoreError
from likewise.app.project import LABELS, WORDS, Project, check_annotator
from likewise.app.tables import read_columns
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
# How other tools write what we call same, different and unsure.
SAID = {
    **{word: label for word, label in LABELS.items()},
    **dict.fromkeys(("1", "+1", "1.0", "true", "yes", "match", "must-link"), 1),
    **dict.fromkeys(("-1", "-1.0", "false", "no", "distinct", "cannot-link"), -1),
    **dict.fromkeys(("0", "0.0", "unknown", "skip"), 0),
}


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


def read_answers(path: Path, project: Project, annotator: str) -> list[Row]:
    """Read a file of answers in any form we know; rows as the project takes them.

    Raises InputError, naming the first, where an item is not in the project.
    """
    find = Finder(project)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _from_json(_load_json(path), path, find, annotator)
    if suffix == ".jsonl":
        rows = _load_jsonl(path)
    elif suffix in (".csv", ".parquet"):
        columns = read_columns(path)
        rows = [
            dict(zip(columns, cells, strict=True))
            for cells in zip(*columns.values(), strict=True)
        ]
    else:
        raise InputError(
            "Answers must come from a .csv, .jsonl, .parquet or .json file. "
            f"Got {path.name}."
        )
    return [
        _from_row(row, number, path, find, annotator)
        for number, row in enumerate(rows, start=1)
        if row.get("source") != "implied"
    ]


def read_links(path: Path, label: int, project: Project, annotator: str) -> list[Row]:
    """Read a list of pairs that all have one label: two names a line."""
    find = Finder(project)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    if path.suffix.lower() == ".json":
        pairs = _load_json(path)
    else:
        pairs = _split_lines(path)
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
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    mark = "\t" if any("\t" in line for line in lines) else ","
    if not any(mark in line for line in lines):
        return [line.split() for line in lines if line.strip()]
    return [row for row in csv.reader(lines, delimiter=mark) if row]


class Finder:
    """Finds items by name, by number, or by their cells."""

    def __init__(self, project: Project) -> None:
        self._names = {name: k for k, name in enumerate(project.names)}
        self._project = project
        self._by_cells: dict[str, int] | None = None

    def name(self, given: Any) -> int:
        """The item of this name; else the one of this number."""
        text = str(given)
        if text not in self._names and text[:1] == "'" and text[1:2] in FORMULA:
            text = text[1:]  # as we write it, see safe_cell
        if text in self._names:
            return self._names[text]
        if text.isdecimal() and text.isascii() and int(text) < len(self._names):
            return int(text)
        raise InputError(f"There is no item {text!r} in the project.")

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


def _from_row(row: Row, number: int, path: Path, find: Finder, annotator: str) -> Row:
    if "unique_id_l" in row and "unique_id_r" in row:
        left, right = row["unique_id_l"], row["unique_id_r"]
        label = _splink_label(row.get("clerical_match_score"), number, path)
    elif "left_id" in row and "right_id" in row and "label" in row:
        left, right = row["left_id"], row["right_id"]
        label = _label(row["label"], number, path)
    else:
        raise InputError(
            f"{path} must have the columns left_id, right_id and label, or Splink's "
            f"unique_id_l, unique_id_r and clerical_match_score. "
            f"Got {', '.join(map(str, row))}."
        )
    result = _row(find.name(left), find.name(right), label, annotator)
    if row.get("annotator"):
        result["annotator"] = check_annotator(str(row["annotator"]))
    if row.get("timestamp"):
        result["answered"] = str(row["timestamp"])
    if row.get("seconds") not in (None, ""):
        result["seconds"] = float(row["seconds"])
    return result


def _label(given: Any, number: int, path: Path) -> int:
    word = str(given).strip().lower()
    if word not in SAID:
        raise InputError(
            f"A label must be same, different or unsure. Got {given!r} in row {number} "
            f"of {path}."
        )
    return SAID[word]


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
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not JSON: {error}.") from error


def _load_jsonl(path: Path) -> Iterable[Row]:
    rows = []
    for number, line in enumerate(path.read_text("utf-8-sig").splitlines(), start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except json.JSONDecodeError as error:
            raise InputError(
                f"Line {number} of {path} is not JSON: {error}."
            ) from error
        if row is not None:
            if not isinstance(row, dict):
                raise InputError(f"Line {number} of {path} must be an object.")
            rows.append(row)
    return rows
