"""scikit-learn's own checks, all of them, none expected to fail."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise import BayesianMetric
from likewise.model import drawing


@parametrize_with_checks([BayesianMetric(), BayesianMetric(basis="axes")])
def test_scikit_learns_check(estimator, check, monkeypatch):
    """Every check of the installed release; they look at manners, not at numbers."""
    monkeypatch.setattr(drawing, "FEW_PAIRS", 300)
    monkeypatch.setattr(drawing, "MAX_PAIRS", 300)

    check(estimator)


def test_a_pipeline_and_a_grid_search_choose_by_accuracy():
    """The metric is one step among others."""
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(BayesianMetric(random_state=0), KNeighborsClassifier(3))

    search = GridSearchCV(
        model, {"bayesianmetric__basis": ["eigen", "axes"]}, cv=3
    ).fit(X, y)

    assert search.best_score_ > 0.93


def test_a_metric_alone_is_scored_by_its_pairs():
    """cross_val_score holds rows out and takes the AUC of their pairs."""
    X, y = (part[::4] for part in load_iris(return_X_y=True))
    split = StratifiedKFold(2)

    scores = cross_val_score(BayesianMetric(random_state=0), X, y, cv=split)

    [(train, test), _] = split.split(X, y)
    metric = BayesianMetric(random_state=0).fit(X[train], y[train])
    assert_allclose(scores[0], metric.score(X[test], y[test]))
    assert scores.min() > 0.9


def test_pandas_in_and_pandas_out():
    """Feature names go in, names of components come out."""
    X, y = (part[::5] for part in load_iris(return_X_y=True, as_frame=True))

    metric = BayesianMetric(random_state=0).set_output(transform="pandas")
    out = metric.fit(X, y).transform(X)

    assert isinstance(out, pd.DataFrame)
    names = [f"bayesianmetric{k}" for k in range(metric.components_.shape[0])]
    assert list(out.columns) == names
    plain = BayesianMetric(random_state=0).fit(X.to_numpy(), y)
    assert_allclose(out, plain.transform(X.to_numpy()))


def test_sample_weight_is_routed_through_a_pipeline():
    """A weight of zero, routed, is an item left out."""
    X, y = (part[::5] for part in load_iris(return_X_y=True))
    weight = np.where(np.arange(30) % 3 == 0, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        metric = BayesianMetric(random_state=0).set_fit_request(sample_weight=True)
        model = make_pipeline(metric, KNeighborsClassifier(3))
        model.fit(X, y, sample_weight=weight)

    alone = BayesianMetric(random_state=0).fit(X[weight > 0], y[weight > 0])
    assert_allclose(model[0].get_mahalanobis_matrix(), alone.get_mahalanobis_matrix())


def test_clone_keeps_parameters_and_forgets_what_was_learned(blobs):
    """A clone is new."""
    metric = BayesianMetric(prior_precision=0.3).fit(*(part[::3] for part in blobs))

    copy = clone(metric)

    assert copy.get_params() == metric.get_params()
    assert not hasattr(copy, "components_")
