"""Tables and texts as people have them: any encoding, any separator, Excel files."""

import codecs
import csv
import io
import re
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

from likewise import InputError
from likewise.errors import MissingExtraError
from likewise.features.reading import read_bytes
from likewise.features.tables import Columns

SEPARATORS = ",;\t|"
SHEETS = {".csv", ".tsv", ".xlsx", ".xlsm", ".parquet"}
# A cell longer than this is no cell but a file that was pasted into one.
MAX_CELL = 2**20
# A table with more columns is one of numbers: those are given with --vectors.
MAX_COLUMNS = 2_000
# Bytes of a table, or of what is packed in an Excel file.
MAX_BYTES = 2**30
# Lines that are looked at to find the separator.
N_LOOKED_AT = 50
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is its beginning
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")


def check_file(path: Path) -> None:
    """Refuse what is no regular file, saying what it is instead."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. A file is needed here.")
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    if not path.is_file():
        raise InputError(f"{path} is a pipe or a device. A file is needed here.")


def read_text(path: Path, encoding: str | None = None) -> str:
    """The text of a file, in the encoding that is given or found."""
    check_file(path)
    try:
        data = read_bytes(path, MAX_BYTES)
    except InputError as error:
        raise InputError(f"{path}: {error}.") from error
    used = encoding or _find_encoding(data)
    try:
        return data.decode(used)
    except LookupError as error:
        raise InputError(f"There is no encoding '{encoding}'.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a text in {used}: byte {error.start} is "
            f"{data[error.start]:#04x}. Name its encoding with --encoding."
        ) from error


def _find_encoding(data: bytes) -> str:
    """By its mark, by where its zeros are, UTF-8 if it is; else that of Windows."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    start = data[:4096]
    if b"\0" in start:
        is_little = start[1::2].count(0) >= start[::2].count(0)
        return "utf-16-le" if is_little else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def read_sheet(
    path: Path, sep: str | None = None, encoding: str | None = None
) -> Columns:
    """Read a table into columns; empty cells are None."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(path)
    if suffix in {".xlsx", ".xlsm"}:
        return _columns(_excel_rows(path), path)
    rows, used = _csv_rows(path, sep, encoding)
    columns = _columns(rows, path)
    return columns if used == "," else _with_points(columns)


def _csv_rows(
    path: Path, sep: str | None, encoding: str | None
) -> tuple[list[list[Any]], str]:
    """Rows of cells, and what separates them."""
    text = read_text(path, encoding)
    used = _check_separator(sep) if sep is not None else find_separator(text)
    rows: list[list[Any]] = []
    before = csv.field_size_limit(MAX_CELL)
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=used):
            rows.append([cell if cell != "" else None for cell in row])
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"A cell must have at most {MAX_CELL:,} characters. Row "
                f"{len(rows) + 1} of {path} has a longer one; is a quote missing?"
            ) from error
        raise InputError(
            f"{path} is not a table: {error} in row {len(rows) + 1}."
        ) from error
    finally:
        csv.field_size_limit(before)
    return [row for row in rows if row], used


def _check_separator(sep: str) -> str:
    sep = {"tab": "\t", "\\t": "\t"}.get(sep, sep)
    if len(sep) != 1 or sep in '"\r\n':
        raise InputError(f"'--sep' must be one character, or tab. Got {sep!r}.")
    return sep


def find_separator(text: str) -> str:
    """What cuts most of the first lines into as many cells as the header has."""
    lines = list(islice(io.StringIO(text, newline=""), N_LOOKED_AT))

    def fit(sep: str) -> tuple[int, int]:
        rows = [row for row in _cut(lines, sep) if row]
        width = len(rows[0]) if rows else 1
        n_alike = sum(len(row) == width for row in rows)
        return (n_alike if width > 1 else 0, width)

    return max(SEPARATORS, key=fit)


def _cut(lines: list[str], sep: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=sep))
    except csv.Error:
        return []


def _columns(rows: list[list[Any]], path: Path) -> Columns:
    """Rows as columns, by the names in the first row."""
    if len(rows) < 2:
        raise InputError(f"{path} must have a header and rows. Got {len(rows)} lines.")
    header = ["" if name is None else str(name).strip() for name in rows[0]]
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f"A table must have at most {MAX_COLUMNS:,} columns. {path} has "
            f"{len(header):,}. Give ready numbers with --vectors."
        )
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InputError(
                f"Every row of {path} must have {len(header)} cells. "
                f"Got {len(row)} in row {number}. Is the separator right (--sep)?"
            )
    used = [k for k, name in enumerate(header) if name or _has_cells(rows, k)]
    names = [header[k] for k in used]
    if len(set(names)) < len(names):
        raise InputError(f"The columns of {path} must have different names.")
    return {header[k]: [row[k] for row in rows[1:]] for k in used}


def _has_cells(rows: list[list[Any]], k: int) -> bool:
    """Whether a column without a name holds anything: spreadsheets leave such."""
    return any(row[k] is not None for row in rows[1:])


def _with_points(columns: Columns) -> Columns:
    """Columns of numbers with a decimal comma, where commas do not separate."""
    return {
        name: [None if cell is None else str(cell).replace(",", ".") for cell in cells]
        if _has_commas(cells)
        else cells
        for name, cells in columns.items()
    }


def _has_commas(cells: list[Any]) -> bool:
    told = [str(cell).strip() for cell in cells if cell is not None]
    return any("," in cell for cell in told) and all(
        _DECIMAL_COMMA.fullmatch(cell) for cell in told
    )


def _excel_rows(path: Path) -> list[list[Any]]:
    """Rows of the first sheet, as values."""
    try:
        import openpyxl
    except ModuleNotFoundError as error:
        raise MissingExtraError("Reading Excel files", "excel") from error
    check_file(path)
    try:
        with zipfile.ZipFile(path) as packed:
            n_bytes = sum(one.file_size for one in packed.infolist())
        if n_bytes > MAX_BYTES:
            raise InputError(f"{path} unpacks to {n_bytes // 2**20:,} MB: too much.")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            rows = [[_excel_cell(cell) for cell in row] for row in _sheet_rows(sheet)]
        finally:
            book.close()
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not an Excel file: {error}.") from error
    rows = [row for row in rows if any(cell is not None for cell in row)]
    # As wide as its cells: the file may claim more.
    width = max((1 + _last(row) for row in rows), default=0)
    return [(row + [None] * width)[:width] for row in rows]


def _last(row: list[Any]) -> int:
    return max(k for k, cell in enumerate(row) if cell is not None)


def _sheet_rows(sheet: Any) -> Any:
    # A sheet may claim a million columns: only as many as are allowed are read.
    return sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS + 1)


def _excel_cell(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value == ""):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    isoformat = getattr(value, "isoformat", None)
    return str(value) if isoformat is None else isoformat()


def _read_parquet(path: Path) -> Columns:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError("Reading parquet", "parquet") from error
    check_file(path)
    try:
        return dict(parquet.read_table(path).to_pydict())
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
