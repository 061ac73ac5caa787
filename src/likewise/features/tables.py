"""Columns of a table as numbers: scaled, one-hot, or texts by letters and meaning."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError
from likewise.features.projection import fit_projection
from likewise.features.texts import text_vectors

Columns = dict[str, list[Any]]
TextVectors = Callable[[Sequence[str]], ArrayLike]

# A column with more different values than this is compared as texts.
MAX_CATEGORIES = 40
# The most numbers that stand for such a column.
TEXT_SIZE = 48


def encode_columns(
    columns: Columns, embed_texts: TextVectors = text_vectors
) -> tuple[NDArray[np.float64], list[str]]:
    """Columns as numbers: scaled, one-hot, or texts by letters and meaning.

    Also gives, for each number, the column that it stands for.
    """
    from sklearn.compose import ColumnTransformer

    parts, data, used = [], [], []
    for name, cells in columns.items():
        values = [None if cell is None else str(cell) for cell in cells]
        if not any(value is not None for value in values):
            continue
        data.append(np.array(values, dtype=object))
        parts.append(
            (f"{len(data)} {name}", _encoder(values, embed_texts), [len(data) - 1])
        )
        used.append(name)
    if not parts:
        raise InputError("The table has no cell to compare.")
    encoder = ColumnTransformer(parts, sparse_threshold=0)
    vectors = np.asarray(encoder.fit_transform(np.column_stack(data)), dtype=float)
    if not vectors.any():
        raise InputError("All rows of the table are equal: there is nothing to learn.")
    places = [encoder.output_indices_[part[0]] for part in parts]
    widths = [place.stop - place.start for place in places]
    return vectors, [
        name for name, n in zip(used, widths, strict=True) for _ in range(n)
    ]


def _encoder(values: list[str | None], embed_texts: TextVectors) -> Any:
    """The scikit-learn steps that suit the cells of one column."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        OneHotEncoder,
        StandardScaler,
    )

    present = [value for value in values if value is not None]
    if all(is_number(value) for value in present):
        return make_pipeline(
            FunctionTransformer(_to_numbers), SimpleImputer(), StandardScaler()
        )
    if len(set(present)) <= MAX_CATEGORIES:
        return make_pipeline(
            FunctionTransformer(_fill_empty), OneHotEncoder(sparse_output=False)
        )
    return make_pipeline(
        FunctionTransformer(partial(_by_text, embed_texts)),
        StandardScaler(with_std=False),
    )


def is_number(value: str) -> bool:
    """Whether a cell is a finite number."""
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _to_numbers(cells: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([[np.nan if cell is None else float(cell)] for (cell,) in cells])


def _fill_empty(cells: NDArray[Any]) -> NDArray[Any]:
    return np.array([["" if cell is None else cell] for (cell,) in cells], dtype=object)


def _by_text(embed_texts: TextVectors, cells: NDArray[Any]) -> NDArray[np.float64]:
    """What the texts of the cells give, in a few numbers of length about 1."""
    vectors = np.asarray(embed_texts(["" if c is None else str(c) for (c,) in cells]))
    return fit_projection(vectors, most=TEXT_SIZE)(vectors)
