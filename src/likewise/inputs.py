"""Items, classes and options as a caller gives them, checked once.

Numpy arrays, and tables of pandas, polars or Arrow, whose column names are kept. What
is wrong gets a sentence. Knows nothing of pairs or of the model.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from likewise.errors import InputError

Array = NDArray[np.float64]

# What stands for "no class is known" in y, here as in scikit-learn.
UNLABELLED = -1


def check_items(
    estimator: BaseEstimator, X: ArrayLike, *, is_first: bool, dtype: Any = float
) -> Array:
    """Return X as finite numbers; `is_first` lets the estimator take its columns."""
    _check_dense(X)
    try:
        checked: Array = validate_data(
            estimator, X, reset=is_first, dtype=dtype, ensure_all_finite=False
        )
    except ValueError as error:
        raise InputError(_explained(error)) from error
    check_finite(checked)
    return checked


def check_classes(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, is_first: bool
) -> tuple[Array, NDArray[np.intp]]:
    """Return X, and for each row the number of its class; -1 where it has none."""
    _check_dense(X)
    try:
        checked, y = validate_data(
            estimator,
            X,
            y,
            reset=is_first,
            dtype=float,
            ensure_all_finite=False,
            ensure_min_samples=2,
        )
        classes = class_numbers(y)
    except ValueError as error:
        raise InputError(_explained(error)) from error
    check_finite(checked)
    return checked, classes


def class_numbers(y: ArrayLike) -> NDArray[np.intp]:
    """Give each row the number of its class, and -1 where y is -1: unlabelled."""
    given = np.asarray(y)
    labelled = ~_is_unlabelled(given)
    numbers = np.full(len(given), UNLABELLED, dtype=np.intp)
    if labelled.any():
        check_classification_targets(given[labelled])
        names, numbers[labelled] = np.unique(given[labelled], return_inverse=True)
    if not labelled.any() or len(names) < 2:
        has_gaps = not labelled.all()
        raise InputError(
            "'y' must have at least two classes: what is the same can only be told "
            f"from what differs. Got {'one class' if labelled.any() else 'no class'}"
            + (" besides -1, which means unlabelled." if has_gaps else ".")
        )
    return numbers


def _is_unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Where y is the number -1; a class that is called "-1" is a class."""
    if y.dtype.kind == "O":
        flags = [not isinstance(each, str) and each == UNLABELLED for each in y]
        return np.array(flags, dtype=bool)
    if y.dtype.kind in "if":
        return np.asarray(y == UNLABELLED)
    return np.zeros(len(y), dtype=bool)


def _check_dense(X: ArrayLike) -> None:
    if issparse(X):
        raise InputError(
            f"X must be dense. Got a sparse matrix of shape {X.shape}. "
            "Take X.toarray() if it is small, or "
            "sklearn.decomposition.TruncatedSVD(100).fit_transform(X) first."
        )


def _explained(error: ValueError) -> str:
    """What scikit-learn says, and what to do about columns of text."""
    if "could not convert string to float" in str(error):
        return (
            f"X must hold numbers. Got text ({error}). Leave such columns out, or "
            "encode them first, for instance by sklearn.preprocessing.OneHotEncoder."
        )
    return str(error)


def check_finite(X: Array) -> None:
    """Refuse NaN and infinity, naming the place."""
    if np.isfinite(X).all():
        return
    row, column = np.argwhere(~np.isfinite(X))[0]
    value = "NaN" if np.isnan(X[row, column]) else "infinity"
    raise InputError(
        f"X must be finite. Got {value} at row {row}, column {column}."
        + (" Fill missing values first." if value == "NaN" else "")
    )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse an option that is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"'{name}' must be one of {choices}. Got {value!r}.")


def check_number(
    name: str, value: Any, rule: str, holds: Callable[[float], bool]
) -> None:
    """Refuse an option that is no number or breaks the rule."""
    is_number = isinstance(value, (int, float, np.number)) and np.isfinite(value)
    if not is_number or isinstance(value, bool) or not holds(value):
        raise InputError(f"'{name}' must be a number {rule}. Got {value!r}.")
