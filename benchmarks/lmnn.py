"""How much faster is a fit than LMNN's? 435 pairs of 30 letters, 200 dimensions.

Usage: make peers; LIKEWISE_DATA=folder python benchmarks/lmnn.py
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from speed import best

from likewise import BayesianMetric
from likewise.experiments import peers
from likewise.experiments.datasets import draw_items, prepare_source, read_source
from likewise.experiments.protocol import draw_split, pairs_among

LMNN = """
import sys, time, warnings
import numpy as np
from metric_learn import LMNN
warnings.simplefilter("ignore")
task, times = np.load(sys.argv[1]), []
for _ in range(3):
    start = time.perf_counter()
    LMNN(init="identity", n_neighbors=2, random_state=0).fit(task["X"], task["y"])
    times.append(time.perf_counter() - start)
print(min(times))
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        X, y = draw_items(read_source(prepare_source("isolet", Path(folder))), 0)
        split = draw_split(y, 30, 0)
        task = Path(folder) / "task.npz"
        np.savez(task, X=X[split.labelled], y=y[split.labelled])
        command = [str(peers.interpreter()), "-c", LMNN, str(task)]
        theirs = float(subprocess.run(command, capture_output=True, check=True).stdout)
    pairs, labels = pairs_among(split.labelled, y)
    metric, rows = BayesianMetric(random_state=0), np.sort(split.labelled)
    few = np.searchsorted(rows, pairs)
    for what, ours in {
        "the 30 letters": best(lambda: metric.fit_pairs(X[rows], few, labels)),
        "all 1,000 items, for the prior": best(
            lambda: metric.fit_pairs(X, pairs, labels)
        ),
    }.items():
        print(f"{what}: {ours:.2f} s, LMNN {theirs:.1f} s: {theirs / ours:.0f} times")


if __name__ == "__main__":
    main()
