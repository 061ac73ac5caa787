"""Items and classes as callers give them: tables, single precision, unlabelled rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_matrix
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

from likewise import ActiveMetric, BayesianMetric, InputError, estimators
from likewise.inputs import class_numbers
from likewise.pairs import all_pairs

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table({name: X[:, k] for k, name in enumerate(NAMES)}),
}


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::8], y[::8]


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_items_and_keep_their_names(iris, kind):
    """What is learned is what the array teaches; the columns are known by name."""
    X, y = iris
    table = TABLES[kind](X)

    metric = BayesianMetric(random_state=0).fit(table, y)
    learner = ActiveMetric(table, random_state=0)

    plain = BayesianMetric(random_state=0).fit(X, y)
    assert_array_equal(metric.transform(table), plain.transform(X))
    assert list(metric.feature_names_in_) == NAMES
    assert_array_equal(learner.ask(3), ActiveMetric(X, random_state=0).ask(3))
    assert any(name in str(learner.why([0, 12])) for name in NAMES)


def test_columns_in_another_order_are_refused(iris):
    """Names are there to be held to."""
    X, y = iris
    table = TABLES["pandas"](X)
    metric = BayesianMetric(random_state=0).fit(table, y)

    with pytest.raises(InputError, match="same order"):
        metric.transform(table[NAMES[::-1]])


@pytest.mark.parametrize("make", [csr_matrix, coo_array])
def test_sparse_items_get_a_sentence(iris, make):
    """It names the shape and what to do."""
    X, y = iris
    message = r"X must be dense. Got .* shape \(19, 4\). Take X.toarray\(\)"

    for use in (BayesianMetric().fit, lambda X, _: ActiveMetric(X)):
        with pytest.raises(InputError, match=message):
            use(make(X), y)


def test_columns_of_text_get_a_sentence(iris):
    """It quotes the text and says what to do."""
    X, y = iris
    table = TABLES["pandas"](X).assign(colour="red")

    with pytest.raises(InputError, match="must hold numbers.*'red'.*OneHotEncoder"):
        BayesianMetric().fit(table, y)


def test_single_precision_stays_single(iris):
    """The map is summed in double precision and rounded once."""
    X, y = iris
    single = X.astype(np.float32)

    metric = BayesianMetric(random_state=0).fit(single, y)
    out = metric.transform(single)

    assert out.dtype == np.float32
    exact = single.astype(float) @ metric.components_.T
    assert_array_equal(out, exact.astype(np.float32))
    assert metric.transform(X).dtype == np.float64
    assert metric.transform(X.astype(int)).dtype == np.float64


def test_unlabelled_rows_shape_the_prior(rng):
    """Where neighbours lie along loud features only all rows show it."""
    y = np.repeat(np.arange(4), 40)
    quiet = 2 * rng.normal(size=(4, 3))[y] + 0.3 * rng.normal(size=(160, 3))
    X = np.column_stack([quiet, 6 * rng.normal(size=(160, 5))])
    few = np.flatnonzero(np.arange(160) % 40 < 2)
    y_seen = np.full(160, -1)
    y_seen[few] = y[few]

    alone = BayesianMetric(random_state=0).fit(X[few], y[few])
    helped = BayesianMetric(random_state=0).fit(X, y_seen)

    assert helped.score(X, y) > alone.score(X, y) + 0.1


def test_unlabelled_rows_are_in_no_pair(iris):
    """Labelled pairs are those of the labelled rows: fit_pairs learns the same."""
    X, y = iris
    order = np.lexsort(X.T[::-1])  # the order in which fit looks at rows
    X, y = X[order], y[order].copy()
    y[::3] = -1
    labelled = np.flatnonzero(y != -1)
    pairs = labelled[all_pairs(len(labelled))]
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)

    by_class = BayesianMetric(random_state=0).fit(X, y)
    by_pair = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)

    assert_allclose(
        by_class.get_mahalanobis_matrix(), by_pair.get_mahalanobis_matrix(), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("y", "numbers"),
    [
        ([3, -1, 5, 3], [0, -1, 1, 0]),
        ([3.0, -1.0, 5.0, 3.0], [0, -1, 1, 0]),
        (["b", "-1", "a", "b"], [2, 0, 1, 2]),
        (np.array(["b", -1, "a", "b"], dtype=object), [1, -1, 0, 1]),
        ([True, False, True, False], [1, 0, 1, 0]),
        (pd.Series(["b", "a", "a", "b"], dtype="category"), [1, 0, 0, 1]),
    ],
)
def test_only_the_number_minus_one_means_unlabelled(y, numbers):
    """Words are classes, whatever they say."""
    assert_array_equal(class_numbers(y), numbers)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([4, 4, 4], "at least two classes.* Got one class\\."),
        ([1, -1, 1], "Got one class besides -1, which means unlabelled"),
        ([-1, -1, -1], "Got no class besides -1"),
    ],
)
def test_one_class_gets_a_sentence(y, message):
    """Nothing can be told apart; -1 and 1 are not taken for two classes."""
    with pytest.raises(InputError, match=message):
        BayesianMetric().fit(np.arange(6.0).reshape(3, 2), y)


def test_the_score_is_the_auc_of_pairs_of_classes(iris, monkeypatch):
    """Of all pairs, unlabelled rows aside; a sample is close to it."""
    X, y = iris
    metric = BayesianMetric(random_state=0).fit(X[::2], y[::2])
    y = np.where(np.arange(19) % 7 == 0, -1, y)
    labelled = np.flatnonzero(y >= 0)
    pairs = labelled[all_pairs(len(labelled))]
    is_same = y[pairs[:, 0]] == y[pairs[:, 1]]

    score = metric.score(X, y)

    expected = roc_auc_score(is_same, metric.pair_probability(X, pairs))
    assert_allclose(score, expected)
    monkeypatch.setattr(estimators, "MAX_SCORED", 60)
    assert abs(metric.score(X, y) - expected) < 0.1


def test_a_weight_in_the_score_is_a_pair_of_rows(iris):
    """A weight of zero is a row left out."""
    X, y = iris
    metric = BayesianMetric(random_state=0).fit(X[::2], y[::2])
    weight = (np.arange(19) % 3 > 0).astype(float)

    score = metric.score(X, y, sample_weight=weight)

    assert_allclose(score, metric.score(X[weight > 0], y[weight > 0]))
