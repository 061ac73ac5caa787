"""Run by the interpreter of the peers' environment, never imported by likewise.

Usage: peer_script.py METHOD TASK.npz RESULT.npz. The task holds X, the classes y and
the labelled rows; the result holds the components or the error.
"""

import sys
import traceback

import numpy as np
from numpy.typing import NDArray


def learn(
    method: str,
    X: "NDArray[np.float64]",
    y: "NDArray[np.intp]",
    labelled: "NDArray[np.intp]",
) -> "NDArray[np.float64]":
    """Components of the metric that a method of metric-learn finds."""
    per_class = np.bincount(y[labelled])
    if method == "LMNN":
        from metric_learn import LMNN

        # Each example needs this many others of its class; three is LMNN's own choice.
        n_neighbors = max(1, min(3, per_class[per_class > 0].min() - 1))
        learner = LMNN(init="identity", n_neighbors=n_neighbors, random_state=0)
        return np.asarray(learner.fit(X[labelled], y[labelled]).components_)
    if method == "ITML":
        from metric_learn import ITML

        i, j = np.triu_indices(len(labelled), 1)
        pairs = np.stack([X[labelled[i]], X[labelled[j]]], axis=1)
        same = np.where(y[labelled[i]] == y[labelled[j]], 1, -1)
        return np.asarray(ITML(random_state=0).fit(pairs, same).components_)
    raise ValueError("unknown method: " + method)


def main(method: str, task_path: str, result_path: str) -> None:
    """Learn, and write what came of it."""
    task = np.load(task_path)
    try:
        components = learn(method, task["X"], task["y"], task["labelled"])
        if not np.isfinite(components).all():
            raise FloatingPointError("the components are not finite")
        np.savez(result_path, components=components)
    # A rival may fail in any way; the table must show how.
    except Exception as error:
        traceback.print_exc()
        np.savez(result_path, error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
