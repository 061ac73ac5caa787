"""What do 128 numbers an item cost, beside 36, where there are 5,000 pictures?

The corel photographs by the embedding and by the 36 features; between each and others
of its category further items are placed, until there are 5,000. Processor time of one
core: `ask` and `tell` together, for the last ten answers of a number in a row, both
widths by turns; and a fit of 100 pairs from scratch.

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

N_ITEMS, N_ANSWERS, N_TIMED, N_PAIRS = 5_000, 60, 10, 100
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


def question_times(X_by_name, y, acquisition, n_answers):
    """Seconds of each question, by name of the features."""
    learners = {
        name: ActiveMetric(X, acquisition=acquisition, random_state=0)
        for name, X in X_by_name.items()
    }
    seconds = {name: [] for name in learners}
    for _ in range(n_answers):
        for name, learner in learners.items():
            start = time.process_time()
            pairs = learner.ask()
            learner.tell(pairs, label(y, pairs))
            seconds[name].append(time.process_time() - start)
    return seconds


def fit_time(X, y):
    pairs = draw_pairs(len(X), N_PAIRS, np.random.RandomState(1))
    learner = ActiveMetric(X, random_state=0)
    learner.tell(pairs, label(y, pairs))
    start = time.process_time()
    assert learner.metric_.n_iter_ > 0  # fitted here
    return time.process_time() - start


def main():
    n_answers = int(sys.argv[1]) if len(sys.argv) > 1 else N_ANSWERS
    paths, categories = read_corel()
    X_by_name = {}
    for name in ("paper", "builtin"):
        X_by_name[name], y = enlarged(made(name, paths), categories)
    for acquisition in ("entropy", "groups"):
        times = question_times(X_by_name, y, acquisition, n_answers)
        for name, seconds in times.items():
            last = seconds[-N_TIMED:]
            print(
                f"{acquisition}, {X_by_name[name].shape[1]} numbers: a question takes "
                f"{np.median(last):.3f} s in the median of the last {len(last)}, "
                f"{np.mean(seconds):.3f} s in the mean of all {n_answers}",
                flush=True,
            )
    for X in X_by_name.values():
        fits = [fit_time(X, y) for _ in range(5)]
        print(f"{X.shape[1]} numbers: a fit of {N_PAIRS} pairs {np.median(fits):.2f} s")


if __name__ == "__main__":
    main()
