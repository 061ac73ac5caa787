"""How much faster is a fit than LMNN's? 435 pairs of 30 letters, 200 dimensions.

Five splits, on each first LMNN, then ours ten times; the ratio of the medians.

Usage: make peers; LIKEWISE_DATA=folder python benchmarks/lmnn.py
"""

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from likewise import BayesianMetric
from likewise.experiments import peers
from likewise.experiments.datasets import draw_items, prepare_source, read_source
from likewise.experiments.protocol import draw_split, pairs_among

N_SPLITS, N_FITS = 5, 10
LMNN = """
import sys, time, warnings
import numpy as np
from metric_learn import LMNN
warnings.simplefilter("ignore")
task = np.load(sys.argv[1])
start = time.perf_counter()
LMNN(init="identity", n_neighbors=2, random_state=0).fit(task["X"], task["y"])
print(time.perf_counter() - start)
"""


def time_lmnn(X, y, folder):
    task = Path(folder) / "task.npz"
    np.savez(task, X=X, y=y)
    command = [str(peers.interpreter()), "-c", LMNN, str(task)]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def time_ours(X, pairs, labels):
    metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)
    times = []
    for _ in range(N_FITS):
        start = time.perf_counter()
        metric.fit_pairs(X, pairs, labels)
        times.append(time.perf_counter() - start)
    return times


def main():
    theirs, ours = [], {"the 30 letters": [], "all 1,000 items, for the prior": []}
    with tempfile.TemporaryDirectory() as folder:
        X, y = draw_items(read_source(prepare_source("isolet", Path(folder))), 0)
        for seed in range(N_SPLITS):
            rows = np.sort(draw_split(y, 30, seed).labelled)
            pairs, labels = pairs_among(rows, y)
            theirs.append(time_lmnn(X[rows], y[rows], folder))
            few = np.searchsorted(rows, pairs)
            for what, task in zip(ours, ((X[rows], few), (X, pairs)), strict=True):
                ours[what].extend(time_ours(*task, labels))
    lmnn = np.median(theirs)
    for what, times in ours.items():
        fit = np.median(times)
        print(f"{what}: {fit:.3f} s, LMNN {lmnn:.2f} s: {lmnn / fit:.0f} times")


if __name__ == "__main__":
    main()
