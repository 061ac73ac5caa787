"""Items from tables, texts and ready vectors: csv, xlsx, parquet, npy, npz, txt."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import InputError
from likewise.app.arrays import (
    cell_vectors,
    check_matrix,
    listed,
    matrix_of,
    read_arrays,
)
from likewise.app.items import (
    PICTURES,
    Built,
    Features,
    Progress,
    Ready,
    find_files,
    finish_vectors,
    read_picture,
    readable,
)
from likewise.app.records import Medium
from likewise.app.sheets import SHEETS, read_sheet, read_text
from likewise.app.writer import Writer
from likewise.features import texts
from likewise.features.embedding import embed_items
from likewise.features.tables import Columns, encode_columns


def from_table(
    path: Path,
    writer: Writer,
    *,
    features: Features | None = None,
    column: str | None = None,
    id_column: str | None = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> Built:
    """Make an item of every row: all its cells, one column alone, or given vectors.

    Without `features` the built-in way is taken; with an embedding, it takes the place
    of the built-in one for texts.
    """
    columns = read_sheet(path, sep, encoding)
    names = _names(columns, id_column, path)
    used = {name: cells for name, cells in columns.items() if name != id_column}
    built = _encode_rows(path, used, features, column)
    for number, name in enumerate(names):
        writer.add(name, fields={key: _shown(used[key][number]) for key in used})
    return built


def _encode_rows(
    path: Path, columns: Columns, features: Features | None, column: str | None
) -> Built:
    if column is not None:
        return _encode_column(path, columns, column)
    n_rows = len(next(iter(columns.values()), []))
    if isinstance(features, Ready):
        return finish_vectors("row", _check_ready(features, n_rows, "rows"), features)
    embedding = texts.builtin() if features is None else features
    vectors, feature_names = encode_columns(columns, embedding)
    kept = {
        **embedding.record(),
        "preparation": "numbers scaled, categories one-hot, texts by the features",
        "n_numbers": vectors.shape[1],
        "is_direction": False,
        "n_components": vectors.shape[1],
        "share": 1.0,
    }
    return Built("row", vectors, feature_names=feature_names, features=kept)


def _encode_column(path: Path, columns: Columns, column: str) -> Built:
    """One column alone: the vectors in its cells, or its texts."""
    if column not in columns:
        raise InputError(f"{path} has no column '{column}'. Got {listed(columns)}.")
    vectors = cell_vectors(columns[column])
    if vectors is None:
        told = [_cell(cell) for cell in columns[column]]
        return finish_vectors("row", texts.builtin()(told), texts.builtin())
    check_matrix(vectors, path)
    digest = hashlib.sha256(vectors.tobytes()).hexdigest()
    return finish_vectors("row", vectors, Ready(f"column:{column}", digest, vectors))


def from_texts(
    path: Path,
    writer: Writer,
    features: Features,
    *,
    column: str | None = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> Built:
    """Make an item of every line of a file, or of every cell of a table's column."""
    if column is not None or path.suffix.lower() in SHEETS:
        told = _column_texts(path, column, sep, encoding)
        what = "row"
    else:
        lines = read_text(path, encoding).splitlines()
        told = {k: line.strip() for k, line in enumerate(lines, start=1)}
        what = "line"
    told = {k: words for k, words in told.items() if words}
    if len(told) < 2:
        raise InputError(f"A project needs at least two items. {path} has {len(told)}.")
    if isinstance(features, Ready):
        vectors = _check_ready(features, len(told), f"{what}s with text")
    else:
        vectors = embed_items(list(told.values()), features)
    for number, words in told.items():
        writer.add(f"{what} {number}", text=words)
    return finish_vectors("text", vectors, features)


def _column_texts(
    path: Path, column: str | None, sep: str | None, encoding: str | None
) -> dict[int, str]:
    """Texts of a table's column, by the number of the row as a person counts."""
    columns = read_sheet(path, sep, encoding)
    if column is None:
        raise InputError(
            f"{path} is a table: name the column of the texts with --column. "
            f"It has {listed(columns)}."
        )
    if column not in columns:
        raise InputError(f"{path} has no column '{column}'. Got {listed(columns)}.")
    return {k: _cell(cell).strip() for k, cell in enumerate(columns[column], start=1)}


def _check_ready(ready: Ready, n_items: int, what: str) -> NDArray[np.float64]:
    if len(ready.vectors) != n_items:
        raise InputError(
            f"{ready.name} must have one vector for each of the {n_items} {what}. "
            f"Got {len(ready.vectors)}."
        )
    return ready.vectors


def from_vectors(
    path: Path,
    writer: Writer,
    progress: Progress,
    *,
    text: str | None = None,
    thumbnails: Path | None = None,
    id_column: str | None = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> Built:
    """Make an item of every row of ready vectors, shown as a picture or a text."""
    arrays = read_arrays(path, sep, encoding)
    lines = _texts(arrays, text)
    given = arrays.pop(id_column, None) if id_column is not None else None
    if id_column is not None and given is None:
        raise InputError(f"{path} has no column '{id_column}'. Got {listed(arrays)}.")
    vectors = matrix_of(arrays, path)
    names = _check_names(
        [f"row {k}" for k in range(len(vectors))] if given is None else given, path
    )
    if lines is not None and len(lines) != len(vectors):
        raise InputError(
            f"There must be one text for each of the {len(vectors)} vectors. "
            f"Got {len(lines)}."
        )
    skipped: list[tuple[str, str]] = []
    pictures = None
    if thumbnails is not None:
        pictures = _thumbnails(thumbnails, names, given is not None)
    for number in progress(range(len(vectors)), len(vectors)):
        media: tuple[Medium, ...] = ()
        if pictures is not None:
            result = read_picture(pictures[number])
            media = result.media
            if result.problem:
                skipped.append((readable(pictures[number].name), result.problem))
        writer.add(
            names[number],
            text=None if lines is None else _cell(lines[number]),
            media=media,
        )
    return Built("text" if pictures is None else "picture", vectors, skipped)


def _texts(arrays: dict[str, Any], text: str | None) -> list[Any] | None:
    """The texts to show: a column, or the lines of a file."""
    if text is None:
        return None
    if text in arrays:
        return list(arrays.pop(text))
    if Path(text).is_file():
        return read_text(Path(text)).splitlines()
    raise InputError(
        f"'--text' must be a column or a file of lines. Got {text!r}; "
        f"columns are {listed(arrays)}."
    )


def _thumbnails(folder: Path, names: list[str], is_named: bool) -> list[Path]:
    """One picture a row: by the row's name, else in the order of the file names."""
    files = find_files(folder, PICTURES)
    if is_named:
        known = {path.name: path for path in files}
        known |= {path.stem: path for path in files}
        missing = [name for name in names if name not in known]
        if missing:
            raise InputError(
                f"{folder} must have a picture for every item. "
                f"None for {missing[0]!r} and {len(missing) - 1} others."
            )
        return [known[name] for name in names]
    if len(files) != len(names):
        raise InputError(
            f"{folder} must have one picture for each of the {len(names)} vectors. "
            f"Got {len(files)}."
        )
    return files


def _names(columns: Columns, id_column: str | None, path: Path) -> list[str]:
    if id_column is None:
        n_rows = len(next(iter(columns.values())))
        if n_rows < 2:
            raise InputError(
                f"A project needs at least two items. {path} has {n_rows}."
            )
        return [f"row {number}" for number in range(n_rows)]
    if id_column not in columns:
        raise InputError(f"{path} has no column '{id_column}'. Got {listed(columns)}.")
    return _check_names(columns[id_column], path)


def _check_names(values: Any, path: Path) -> list[str]:
    names = [_cell(value) for value in values]
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(
            f"Every item of {path} must have its own id. Got {twice!r} twice."
        )
    return names


def _shown(value: Any) -> str:
    """A cell as it is shown: of a long vector, its beginning."""
    words = _cell(value)
    is_vector = isinstance(value, (list, np.ndarray)) and len(words) > 40
    return words[:40] + "…" if is_vector else words


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
