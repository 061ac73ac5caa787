"""What do 128 numbers an item cost, beside 36, where there are 5,000 pictures?

The corel photographs by the embedding and by the 36 features; between each and others
of its category further items are placed, until there are 5,000. Processor time of one
core: `ask` and `tell` together, over as many answers in a row, and a fit from scratch.

Usage: LIKEWISE_DATA=folder python benchmarks/width.py [n_answers]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time

import numpy as np
from pictures import made, read_corel

from likewise import ActiveMetric
from likewise.pairs import draw_pairs

N_ITEMS, N_ANSWERS, N_PAIRS = 5_000, 100, 100
FARTHEST = 0.6  # of the way to another picture of the category


def enlarged(X, y):
    rng = np.random.RandomState(0)
    rows = np.resize(np.arange(len(X)), N_ITEMS)
    mates = np.array([rng.choice(np.flatnonzero(y == y[row])) for row in rows])
    share = rng.uniform(0, FARTHEST, (N_ITEMS, 1))
    share[: len(X)] = 0
    return (1 - share) * X[rows] + share * X[mates], y[rows]


def label(y, pairs):
    return np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def main():
    n_answers = int(sys.argv[1]) if len(sys.argv) > 1 else N_ANSWERS
    paths, categories = read_corel()
    for name in ("paper", "builtin"):
        X, y = enlarged(made(name, paths), categories)
        learner, seconds = ActiveMetric(X, random_state=0), []
        for _ in range(n_answers):
            start = time.process_time()
            pairs = learner.ask()
            learner.tell(pairs, label(y, pairs))
            seconds.append(time.process_time() - start)
        pairs = draw_pairs(len(X), N_PAIRS, np.random.RandomState(1))
        learner = ActiveMetric(X, random_state=0)
        learner.tell(pairs, label(y, pairs))
        start = time.process_time()
        assert learner.metric_.n_iter_ > 0  # fitted here
        fit = time.process_time() - start
        print(
            f"{X.shape[1]} numbers: a question takes {np.median(seconds):.3f} s in the "
            f"median, {np.mean(seconds):.3f} s in the mean and {max(seconds):.2f} s at "
            f"most; a fit of {N_PAIRS} pairs {fit:.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
