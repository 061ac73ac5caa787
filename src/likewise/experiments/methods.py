"""The rows of the tables: each method turns labelled examples into a space.

Every method meets the same split, and looks at the classes of its labelled rows only.
Those that learn from pairs get all pairs of the labelled rows.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise import BayesianMetric
from likewise.errors import InferenceError
from likewise.experiments import peers
from likewise.experiments.protocol import Split, pairs_among

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# What the evidence may choose from for the paper's model, which leaves delta and
# gamma_0 open. In units where the mean squared distance of two items is 1.
PRECISIONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MEANS = (0.0, 1.0, 3.0, 10.0)
# The paper's bound rises slowly where its prior is weak.
MAX_SWEEPS = 1_000


@dataclass(frozen=True)
class Learned:
    """The space a method found, and what it settled on by itself."""

    Z: Array  # (n_items, n_components)
    settings: str = ""


Method = Callable[[Array, Rows, Split], Learned]


def euclid(X: Array, y: Rows, split: Split) -> Learned:
    """Leave the items where they are."""
    return Learned(X)


def mle(X: Array, y: Rows, split: Split) -> Learned:
    """Learn the weights of greatest likelihood: section 5.2's baseline."""
    return Learned(
        paper_mle().fit_pairs(X, *pairs_among(split.labelled, y)).transform(X)
    )


def nca(X: Array, y: Rows, split: Split) -> Learned:
    """Neighbourhood components analysis, scikit-learn's, from the identity."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X = in_unit(X, 3.0)
    analysis = NeighborhoodComponentsAnalysis(init="identity", random_state=0)
    return Learned(analysis.fit(X[split.labelled], y[split.labelled]).transform(X))


def lmnn(X: Array, y: Rows, split: Split) -> Learned:
    """Large margin nearest neighbour, metric-learn's, in its own environment."""
    X = in_unit(X, 1.0)
    return Learned(X @ peers.learn("LMNN", X, y, split.labelled).T)


def itml(X: Array, y: Rows, split: Split) -> Learned:
    """Information-theoretic metric learning, metric-learn's, likewise."""
    X = in_unit(X, 1.0)
    return Learned(X @ peers.learn("ITML", X, y, split.labelled).T)


def bayes(X: Array, y: Rows, split: Split) -> Learned:
    """Learn the paper's model, its delta and gamma_0 chosen by the evidence."""
    metric = choose_by_evidence(X, *pairs_among(split.labelled, y))
    return Learned(metric.transform(X), describe_prior(metric))


def ours(X: Array, y: Rows, split: Split) -> Learned:
    """Learn with the defaults of BayesianMetric."""
    metric = BayesianMetric(random_state=0)
    return Learned(metric.fit_pairs(X, *pairs_among(split.labelled, y)).transform(X))


def ours_unseen(X: Array, y: Rows, split: Split) -> Learned:
    """Learn with the defaults, the test items kept away even without their classes."""
    seen = np.sort(np.concatenate([split.labelled, split.rest]))
    pairs, labels = pairs_among(split.labelled, y)
    metric = BayesianMetric(random_state=0)
    metric.fit_pairs(X[seen], np.searchsorted(seen, pairs), labels)
    return Learned(metric.transform(X))


def in_unit(X: Array, root_mean_square: float) -> Array:
    """Scale the items so that distances of pairs have this root mean square.

    NCA, LMNN and ITML depend on the unit of the data. Each gets the one that served it
    best among the data as they are, 1 and 3, judged by test accuracy: in their favour.
    """
    mean_square = 2 * X.var(axis=0, ddof=1).sum()
    return np.asarray(X * (root_mean_square / np.sqrt(mean_square)))


UNSEEN = "likewise, test unseen"
METHODS: dict[str, Method] = {
    "EUCLID": euclid,
    "MLE": mle,
    "NCA": nca,
    "LMNN": lmnn,
    "ITML": itml,
    "BAYES": bayes,
    "likewise": ours,
    UNSEEN: ours_unseen,
}
PEER_METHODS = ("LMNN", "ITML")


def paper_mle() -> BayesianMetric:
    """The paper's non-Bayesian baseline."""
    return BayesianMetric(
        basis="eigen", prior="unit", prior_precision=1.0, inference="mle"
    )


def paper_bayes(
    prior_precision: float,
    prior_mean: float,
    *,
    inference: str = "variational",
    n_basis: int | float | None = None,
) -> BayesianMetric:
    """The paper's model with its two open numbers set."""
    return BayesianMetric(
        basis="eigen",
        n_basis=n_basis,
        prior="unit",
        prior_mean=prior_mean,
        prior_precision=prior_precision,
        inference=inference,
        max_iter=MAX_SWEEPS,
    )


def choose_by_evidence(
    X: Array,
    pairs: Rows,
    labels: Rows,
    precisions: tuple[float, ...] = PRECISIONS,
    means: tuple[float, ...] = MEANS,
    *,
    inference: str = "variational",
    n_basis: int | float | None = None,
) -> BayesianMetric:
    """Fit the paper's model with each delta and gamma_0; keep the best evidence.

    No test item's class is looked at, nor any label but those of the pairs. A setting
    whose numbers do not work out is passed over.
    """
    best: BayesianMetric | None = None
    for precision, mean in itertools.product(precisions, means):
        metric = paper_bayes(precision, mean, inference=inference, n_basis=n_basis)
        try:
            metric.fit_pairs(X, pairs, labels)
        except InferenceError:
            continue
        if best is None or metric.evidence_[-1] > best.evidence_[-1]:
            best = metric
    if best is None:
        raise InferenceError("The paper's model could not be fitted with any prior.")
    return best


def describe_prior(metric: BayesianMetric) -> str:
    """Delta and gamma_0, for the record."""
    return f"delta={metric.prior_precision:g} gamma_0={metric.prior_mean:g}"
