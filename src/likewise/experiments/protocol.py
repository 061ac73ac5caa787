"""Who is labelled, who is tested, and how well a metric does: sections 5.1 to 5.3.

Every method meets the same split: it depends on the classes, the number of labelled
examples and the seed alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import roc_auc_score

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

N_TEST = 100
SIZES = (10, 20, 30)  # labelled examples of a table, first answers of a panel
# Draws of items are seeded by the repeat, splits by the repeat and this, so that the
# two draws do not share their random numbers.
SPLIT_SEED = 1000


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts; no row is in two of them."""

    labelled: Rows
    test: Rows
    rest: Rows


@dataclass(frozen=True)
class Scores:
    """How well a space separates the classes of the test items."""

    accuracy_labelled: float  # 1NN, the labelled examples as reference
    accuracy_rest: float  # 1NN, the remaining examples as reference
    auc: float  # "same" told from "different" by distance, all pairs of test items


def draw_split(y: Rows, n_labelled: int, seed: int) -> Split:
    """Draw the labelled examples, equally many a class, and 100 to test."""
    rng = np.random.default_rng(SPLIT_SEED + seed)
    classes = np.unique(y)
    per_class = n_labelled // len(classes)
    labelled = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in classes]
    )
    others = np.setdiff1d(np.arange(len(y)), labelled)
    rng.shuffle(others)
    return Split(labelled, others[:N_TEST], others[N_TEST:])


def pairs_among(rows: Rows, y: Rows) -> tuple[Rows, Rows]:
    """Every pair of these rows, the smaller row first, and its label."""
    i, j = np.triu_indices(len(rows), 1)
    pairs = np.sort(np.column_stack([rows[i], rows[j]]), axis=1)
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def score_space(Z: Array, y: Rows, split: Split) -> Scores:
    """Score the space Z, in which a metric is Euclidean distance."""
    return Scores(
        nearest_accuracy(Z, y, split.labelled, split.test),
        nearest_accuracy(Z, y, split.rest, split.test),
        pair_auc(Z, y, split.test),
    )


def nearest_accuracy(Z: Array, y: Rows, reference: Rows, test: Rows) -> float:
    """Share of test rows whose nearest reference row is of their class."""
    nearest = cdist(Z[test], Z[reference], "sqeuclidean").argmin(axis=1)
    return float(np.mean(y[reference[nearest]] == y[test]))


def pair_auc(Z: Array, y: Rows, rows: Rows) -> float:
    """Area under the ROC curve of "same" by distance, over all pairs of the rows."""
    _, labels = pairs_among(rows, y)
    return float(roc_auc_score(labels > 0, -pdist(Z[rows], "sqeuclidean")))
