"""Columns of a table to numbers."""

import numpy as np
from numpy.testing import assert_allclose

from likewise.features.tables import encode_columns


def test_numbers_are_scaled_and_categories_one_hot():
    """By hand: an empty number takes the mean, an empty category is one of its own."""
    columns = {
        "height": ["1.5", "2.5", None, "2.0"],
        "colour": ["red", "blue", "red", "red"],
        "note": [None, "x", "x", None],
    }

    X, names = encode_columns(columns)

    assert names == ["height", "colour", "colour", "note", "note"]
    height = np.array([1.5, 2.5, 2.0, 2.0])
    scaled = (height - height.mean()) / height.std()
    one_hot = [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    assert_allclose(X, np.column_stack([scaled, one_hot]))


def test_misspelt_names_are_near(rng):
    """A misspelt name lies nearest to the right one."""
    words = ["".join(rng.choice(list("abcdefgh"), 12)) for _ in range(60)]
    names = words + [words[7][:5] + "x" + words[7][6:]]

    X, _ = encode_columns({"name": names})

    squared = ((X - X[-1]) ** 2).sum(axis=1)
    assert squared[:-1].argmin() == 7
