"""Judging a metric on items that it has not seen.

Pairs that share an item are not independent: a metric that has learned something about
an item knows it again in the next pair. `ItemGroupedPairSplit` keeps the items of
training and test apart, and `PairEstimator` lets scikit-learn's model selection work
with pairs as its rows.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise.errors import InputError
from likewise.estimators import BayesianMetric
from likewise.pairs import check_pairs, split_by_item

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Draws of items before a split is given up: the labels do not allow one.
MAX_DRAWS = 100


class ItemGroupedPairSplit:
    """Split pairs so that no item is in both training and test.

    Each split holds some items out: pairs of two such items are the test, pairs of two
    others the training, and pairs of one and one are in neither. Where labels are
    given, both sides have pairs of both kinds.

    Parameters
    ----------
    n_splits : int
        How many splits, drawn independently.
    test_share : float
        The share of items held out.
    random_state : int, RandomState or None
        Draws the items.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.pairs import all_pairs
    >>> from likewise.using.splits import ItemGroupedPairSplit
    >>> pairs = all_pairs(10)
    >>> split = ItemGroupedPairSplit(n_splits=1, test_share=0.4, random_state=0)
    >>> [(train, test)] = split.split(pairs)
    >>> len(train), len(test), np.intersect1d(pairs[train], pairs[test]).size
    (15, 6, 0)
    """

    def __init__(
        self, n_splits: int = 5, test_share: float = 0.3, random_state: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.test_share = test_share
        self.random_state = random_state

    def split(
        self, X: ArrayLike, y: ArrayLike | None = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Give the places of training and of test pairs, split by split.

        Parameters
        ----------
        X : array of int, shape (n_pairs, 2)
            The pairs.
        y : array of shape (n_pairs,), optional
            Their labels.
        groups : ignored
        """
        pairs = _as_pairs(X)
        labels = None if y is None else np.asarray(y)
        # Items that are in no pair are nobody's to hold out.
        items, numbers = np.unique(pairs, return_inverse=True)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            yield self._draw(numbers.reshape(-1, 2), len(items), labels, rng)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many splits there are."""
        return self.n_splits

    def _draw(
        self,
        pairs: Rows,
        n_items: int,
        labels: NDArray[Any] | None,
        rng: np.random.RandomState,
    ) -> tuple[Rows, Rows]:
        for _ in range(MAX_DRAWS):
            sides = split_by_item(pairs, n_items, self.test_share, rng)
            if all(_is_enough(side, labels) for side in sides):
                return sides
        raise InputError(
            "Training and test must each have pairs of either kind after items are "
            f"held out. Got none such in {MAX_DRAWS} draws from {len(pairs)} pairs of "
            f"{n_items} items. Change 'test_share' (now {self.test_share}), or label "
            "more pairs."
        )


def _is_enough(places: Rows, labels: NDArray[Any] | None) -> bool:
    if labels is None:
        return len(places) > 0
    return len(np.unique(labels[places])) == len(np.unique(labels)) > 1


class PairEstimator(ClassifierMixin, BaseEstimator):
    """A metric as a classifier of pairs: pairs are its rows, the items are bound.

    It lets `cross_val_score`, grid searches and scikit-learn's scorers work with pairs.

    Parameters
    ----------
    items : array of shape (n_items, n_features)
        The items that pairs point into. All of them shape basis and prior, as they do
        in use; of labels a fit sees those of its training pairs alone.
    metric : BayesianMetric, optional
        How to learn; a copy is fitted.

    Attributes
    ----------
    metric_ : BayesianMetric
        The fitted metric.
    classes_ : array
        -1 (different) and 1 (same).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from likewise import BayesianMetric
    >>> from likewise.pairs import all_pairs
    >>> from likewise.using.splits import ItemGroupedPairSplit, PairEstimator
    >>> X, y = (part[::8] for part in load_iris(return_X_y=True))
    >>> pairs = all_pairs(len(X))
    >>> labels = [1 if y[i] == y[j] else -1 for i, j in pairs]
    >>> model = PairEstimator(X, BayesianMetric(random_state=0))
    >>> split = ItemGroupedPairSplit(n_splits=2, test_share=0.5, random_state=0)
    >>> scores = cross_val_score(model, pairs, labels, cv=split)
    >>> scores.shape
    (2,)
    """

    def __init__(
        self,
        items: ArrayLike,
        metric: BayesianMetric | None = None,
    ) -> None:
        self.items = items
        self.metric = metric

    def fit(self, pairs: ArrayLike, labels: ArrayLike) -> Self:
        """Learn from labelled pairs: +1 same, -1 different."""
        metric = BayesianMetric() if self.metric is None else clone(self.metric)
        self.metric_: BayesianMetric = metric.fit_pairs(
            np.asarray(self.items), pairs, labels
        )
        self.classes_ = np.array([-1, 1])
        return self

    def predict(self, pairs: ArrayLike) -> NDArray[np.int64]:
        """+1 where P(same) is at least 1/2, else -1."""
        check_is_fitted(self)
        return self.metric_.predict_pairs(np.asarray(self.items), pairs)

    def predict_proba(self, pairs: ArrayLike) -> Array:
        """P(different) and P(same) of each pair, shape (n_pairs, 2)."""
        check_is_fitted(self)
        p_same = self.metric_.pair_probability(np.asarray(self.items), pairs)
        return np.column_stack([1 - p_same, p_same])

    def score(self, pairs: ArrayLike, labels: ArrayLike) -> float:
        """Area under the ROC curve of P(same): accuracy would praise "different"."""
        check_is_fitted(self)
        return self.metric_.pair_auc(np.asarray(self.items), pairs, labels)


def _as_pairs(X: ArrayLike) -> Rows:
    largest = np.max(X, initial=0)
    return check_pairs(X, int(largest) + 1)
