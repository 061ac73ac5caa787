"""What wrong answers cost, and whether they are found out.

On digits, letters (isolet, where LIKEWISE_DATA names its folder) and families of ten:
AUC of "same" on unseen items after 130 answers, when one in ten or one in five is
flipped, or when one of three people answers by coin; the flip rates found after 200.

Usage: python benchmarks/flips.py [n_seeds]
"""

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from likewise import ActiveMetric, BayesianMetric
from likewise.pairs import all_pairs

SETS = ("digits", "letters", "families")
# Share of answers flipped by each person who answers in turn, ten questions each.
PEOPLE = {
    "nobody errs": (0.0,),
    "one in ten": (0.1,),
    "one in five": (0.2,),
    "a coin of three": (0.0, 0.0, 0.5),
}
ALLOWED = {"one in ten": 0.02, "one in five": 0.04, "a coin of three": 0.02}
AUC_AT, RATES_AT = 130, 200


def items(name, rng):
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "letters":
        stored = np.load(Path(os.environ["LIKEWISE_DATA"]) / "isolet.npz")
        rows = np.flatnonzero(stored["y"] <= 10)
        X = PCA(60, random_state=0).fit_transform(stored["X"][rows].astype(float))
        return X, stored["y"][rows]
    y = np.repeat(np.arange(90), 10)
    X = rng.standard_normal((90, 40))[y] + 0.8 * rng.standard_normal((900, 40))
    return X, y


def halves(name, seed):
    """Items to ask about and items to judge by; families are on one side only."""
    rng = np.random.default_rng(seed)
    X, y = items(name, rng)
    order = rng.permutation(len(X))
    is_pool = y[order] < 60 if name == "families" else np.arange(len(X)) % 2 == 0
    pool = order[is_pool][: 600 if name == "families" else 300]
    unseen = order[~is_pool][:300]
    return X[pool], y[pool], X[unseen], y[unseen]


def labels_of(y, pairs):
    return np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def run(task):
    """AUC after 130 answers, and each person's flip rate as found after 200."""
    name, people, seed = task
    warnings.simplefilter("ignore")
    X, y, X_unseen, y_unseen = halves(name, seed)
    rng = np.random.default_rng(seed)
    learner = ActiveMetric(X, BayesianMetric(random_state=0), random_state=seed)
    told, auc = 0, np.nan
    while told < RATES_AT:
        who = (told // 10) % len(PEOPLE[people])
        asked = learner.ask(10)
        flips = rng.random(len(asked)) < PEOPLE[people][who]
        learner.tell(asked, np.where(flips, -1, 1) * labels_of(y, asked), f"{who}")
        told += 10
        if told == AUC_AT:
            pairs = all_pairs(len(X_unseen))
            p_same = learner.metric_.pair_probability(X_unseen, pairs)
            auc = roc_auc_score(labels_of(y_unseen, pairs) > 0, p_same)
    rates = learner.flip_rates()
    return auc, [rates[f"{who}"] for who in range(len(PEOPLE[people]))]


def main():
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    names = [n for n in SETS if n != "letters" or "LIKEWISE_DATA" in os.environ]
    tasks = [(n, who, seed) for n in names for who in PEOPLE for seed in range(n_seeds)]
    with ProcessPoolExecutor(2) as workers:
        found = dict(zip(tasks, workers.map(run, tasks), strict=True))
    short = 0
    for name in names:
        clean = np.mean([found[name, "nobody errs", s][0] for s in range(n_seeds)])
        for who, truth in PEOPLE.items():
            runs = [found[name, who, seed] for seed in range(n_seeds)]
            auc = np.mean([auc for auc, _ in runs])
            rates = np.mean([rates for _, rates in runs], axis=0)
            lost, off = clean - auc, np.abs(rates - truth).max()
            misses = (lost > ALLOWED.get(who, 0.0)) + (off > 0.05)
            short += misses
            print(
                f"{name:9s} {who:16s} AUC {auc:.3f} (lost {lost:+.3f})  "
                f"flip rates {rates.round(2)} (true {truth})" + "  SHORT" * int(misses),
                flush=True,
            )
    print(f"{short} short")


if __name__ == "__main__":
    main()
