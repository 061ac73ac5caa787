"""How much faster is a fit than LMNN's? 435 pairs of 30 letters, 200 dimensions.

Five splits, on each first LMNN, then ours ten times; the ratio of the medians.

Usage: make peers; LIKEWISE_DATA=folder python benchmarks/lmnn.py
"""

import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from speed import times

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


def main():
    theirs, ours = [], {"the 30 letters": [], "all 1,000 items, for the prior": []}
    with tempfile.TemporaryDirectory() as folder:
        X, y = draw_items(read_source(prepare_source("isolet", Path(folder))), 0)
        for seed in range(N_SPLITS):
            rows = np.sort(draw_split(y, 30, seed).labelled)
            pairs, labels = pairs_among(rows, y)
            theirs.append(time_lmnn(X[rows], y[rows], folder))
            few = np.searchsorted(rows, pairs)
            metric = BayesianMetric(random_state=0)
            for what, task in zip(ours, ((X[rows], few), (X, pairs)), strict=True):
                fit = partial(metric.fit_pairs, *task, labels)
                ours[what].extend(times(fit, N_FITS))
    lmnn = np.median(theirs)
    for what, taken in ours.items():
        ratio = lmnn / np.median(taken)
        print(f"{what}: {lmnn / ratio:.3f} s, LMNN {lmnn:.2f} s: {ratio:.0f} times")


if __name__ == "__main__":
    main()
