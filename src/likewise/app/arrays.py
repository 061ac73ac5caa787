"""Ready vectors as files hold them: npy, npz, or columns of a table."""

import hashlib
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import InputError
from likewise.app.items import Ready
from likewise.app.sheets import SHEETS, check_file, read_sheet
from likewise.features.tables import Columns, is_number

VECTOR_FILES = {".npy", ".npz", ".csv", ".parquet"}
# Bytes that the arrays of an .npz may unpack to: they are all in memory at once.
MAX_UNPACKED = 2 * 2**30


def read_ready(path: Path) -> Ready:
    """Vectors of a file, to be used in place of an embedding."""
    vectors = np.asarray(matrix_of(read_arrays(path), path), dtype=np.float64)
    return Ready(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), vectors)


def read_arrays(
    path: Path, sep: str | None = None, encoding: str | None = None
) -> dict[str, Any]:
    """Read a file of vectors into named columns or arrays."""
    check_file(path)
    suffix = path.suffix.lower()
    try:
        if suffix == ".npy":
            return {"vectors": np.load(path, allow_pickle=False, mmap_mode="r")}
        if suffix == ".npz":
            _check_packed(path)
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
    except InputError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        told = str(error).rstrip(".")
        raise InputError(f"{path} cannot be read: {told}.") from error
    if suffix in SHEETS:
        return dict(read_sheet(path, sep, encoding))
    raise InputError(
        "'--vectors' must be a .npy, .npz, .parquet, .csv or .xlsx file. "
        f"Got {path.name}."
    )


def _check_packed(path: Path) -> None:
    """Refuse arrays that would unpack to too much, or not to what they claim."""
    from numpy.lib import format as npy

    with zipfile.ZipFile(path) as packed:
        n_bytes = sum(one.file_size for one in packed.infolist())
        if n_bytes > MAX_UNPACKED:
            raise InputError(
                f"{path} unpacks to {n_bytes // 2**20:,} MB; at most "
                f"{MAX_UNPACKED // 2**20:,} are read. Save large vectors as .npy."
            )
        for one in packed.infolist():
            with packed.open(one) as file:
                major, _ = npy.read_magic(file)
                read = npy.read_array_header_1_0 if major == 1 else _header_2_0
                shape, _, kind = read(file)
            if math.prod(shape) * kind.itemsize > one.file_size:
                raise InputError(
                    f"{path} cannot be read: {one.filename} claims to have the shape "
                    f"{shape}, which is more than there is."
                )


def _header_2_0(file: Any) -> Any:
    from numpy.lib import format as npy

    return npy.read_array_header_2_0(file)


def matrix_of(arrays: dict[str, Any], path: Path) -> NDArray[Any]:
    """The one matrix among arrays, or the columns that hold numbers."""
    matrices = [a for a in arrays.values() if isinstance(a, np.ndarray) and a.ndim == 2]
    if len(matrices) == 1:
        vectors = matrices[0]
    elif matrices or any(isinstance(a, np.ndarray) for a in arrays.values()):
        shapes = {f"{name} {np.shape(a)}": a for name, a in arrays.items()}
        raise InputError(
            f"{path} must hold one matrix (n_items, n_features). Got {listed(shapes)}."
        )
    else:
        vectors = _matrix(arrays, path)
    if not np.issubdtype(vectors.dtype, np.number):
        raise InputError(f"The vectors of {path} must be numbers. Got {vectors.dtype}.")
    check_matrix(vectors, path)
    return vectors


def check_matrix(vectors: NDArray[Any], path: Path) -> None:
    """Refuse too few vectors, and numbers that are not finite."""
    if len(vectors) < 2 or vectors.shape[1] < 1:
        raise InputError(
            f"A project needs at least two vectors of one number. {path} has shape "
            f"{vectors.shape}."
        )
    limit = np.finfo(np.float32).max
    for first in range(0, len(vectors), 10_000):
        block = vectors[first : first + 10_000]
        bad = np.argwhere(~(np.abs(block) <= limit))
        if len(bad):
            row, column = bad[0]
            raise InputError(
                f"The vectors of {path} must be finite. Got {block[row, column]} at "
                f"row {first + row}, column {column}."
            )


def _matrix(columns: Columns, path: Path) -> NDArray[Any]:
    """Columns that hold only numbers, or one column of lists, as a matrix."""
    lists = [c for c in columns.values() if isinstance(c[0], (list, np.ndarray))]
    if len(lists) == 1:
        if len({len(cell) for cell in lists[0]}) != 1:
            raise InputError(f"The vectors of {path} must have one length.")
        return np.array(lists[0], dtype=float)
    numbers = [
        [float(cell) for cell in cells]
        for cells in columns.values()
        if all(cell is not None and is_number(str(cell)) for cell in cells)
    ]
    if not numbers:
        raise InputError(
            f"{path} has no column of numbers without gaps. Got {listed(columns)}."
        )
    return np.array(numbers).T


def cell_vectors(cells: list[Any]) -> NDArray[np.float64] | None:
    """Cells as vectors: lists, or numbers with commas or spaces; None for texts."""
    rows = [_numbers(cell) for cell in cells]
    if any(row is None for row in rows):
        return None
    lengths = {len(row) for row in rows if row is not None}
    if len(lengths) != 1:
        raise InputError(f"Vectors in cells must have one length. Got {lengths}.")
    return np.array(rows, dtype=np.float64)


def _numbers(cell: Any) -> list[float] | None:
    if isinstance(cell, str):
        parts: Any = cell.strip().removeprefix("[").removesuffix("]")
        parts = parts.replace(",", " ").split()
    else:
        parts = cell if isinstance(cell, (list, np.ndarray)) else [cell]
    if len(parts) == 0 or not all(part is not None for part in parts):
        return None
    if not all(is_number(str(part)) for part in parts):
        return None
    return [float(part) for part in parts]


def listed(columns: dict[str, Any]) -> str:
    """The first of the names, to be told what there is."""
    names = list(columns)
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
