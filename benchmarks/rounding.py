"""How far does it move P(same) that rotations and gaps have few bits?

300 digits; the same with noise; 500 items of 128 numbers; and 8 clusters of 400 items
whose 30 features have units that differ by up to 10^6, as they are or turned. 120 pairs
are told, 3,000 others predicted. Printed are the largest differences from P(same) and
of distances, as a share of each, from those with 36 bits of rotations and 40 of gaps in
the basis of eigenvectors, over priors of one metric and of several.

Usage: python benchmarks/rounding.py
"""

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from likewise import BayesianMetric, digits
from likewise.model import basis
from likewise.pairs import draw_pairs

FINE = (36, 40)
BITS = [(22, 40), (36, 20), (20, 18), (22, 20), (24, 22)]
COARSE = basis.COARSE


def sets():
    rng = np.random.RandomState(0)
    X, y = load_digits(return_X_y=True)
    noisy = X + rng.standard_normal(X.shape)
    group, centres = rng.randint(0, 8, 400), rng.standard_normal((8, 30))
    blobs = centres[group] + 0.8 * rng.standard_normal((400, 30))
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    return {
        "digits": (X[:300], y[:300]),
        "noisy digits": (noisy[:300], y[:300]),
        "128 numbers": make_blobs(500, 128, centers=20, cluster_std=8, random_state=0),
        "units of 1 to 10^6": (blobs * np.logspace(0, -6, 30), group),
        "units of 1 to 10^4, turned": (blobs * np.logspace(0, -4, 30) @ turn, group),
    }


def predicted(X, y, prior, bits):
    digits.TURN_BITS, digits.GRID_BITS = bits
    basis.COARSE = () if bits == FINE else COARSE
    pairs = draw_pairs(len(X), 120, np.random.RandomState(1))
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric(random_state=0, prior=prior, prior_precision=0.07)
    others = draw_pairs(len(X), 3_000, np.random.RandomState(2))
    metric.fit_pairs(X, pairs, labels)
    return metric.pair_probability(X, others), metric.pair_distance(X, others)


def moved(found, fine):
    (p_same, distance), (p_fine, distance_fine) = found, fine
    share = np.abs(distance / distance_fine - 1).max()
    return f"{np.abs(p_same - p_fine).max():.1e} ({share:.1e})"


def main():
    print("bits of rotations, gaps:", *BITS)
    for name, (X, y) in sets().items():
        for prior in ("unit", "unlabelled", "evidence"):
            fine = predicted(X, y, prior, FINE)
            print(
                f"{name}, {prior}:",
                *(moved(predicted(X, y, prior, b), fine) for b in BITS),
            )


if __name__ == "__main__":
    main()
