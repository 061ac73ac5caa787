"""Run by the interpreter of the peers' environment: groups by COBRAS and by MPCKMeans.

Usage: groups_peer.py METHOD TASK.npz RESULT.npz. The task holds X, the true groups y,
the marks, the share of wrong answers and a seed; the result holds the groups found at
each mark, a row each.
"""

import sys

import numpy as np


class Person:
    """Answers about pairs, a share of them wrong; groups are noted at the marks."""

    def __init__(self, y, flipped, rng):
        self.y, self.flipped, self.rng = y, flipped, rng
        self.n_answers = 0

    def answer(self, i, j):
        self.n_answers += 1
        return bool((self.y[i] == self.y[j]) != (self.rng.random() < self.flipped))


def cobras(X, person, marks):
    """Groups after each mark; what COBRAS notes after each answer."""
    np.int = int  # gone from numpy; cobras_ts 0.1.3 needs it
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    class Querier:
        def query_points(self, i, j):
            return person.answer(i, j)

        def continue_cluster_process(self):
            return True

        def update_clustering(self, clustering):
            pass

    found = COBRAS_kmeans(X, Querier(), marks[-1]).cluster()
    noted = found[1]
    return [noted[min(mark, len(noted)) - 1] for mark in marks]


def mpckmeans(X, person, marks):
    """Groups after each mark: questions by NPU, the true number of groups given."""
    from active_semi_clustering import MPCKMeans
    from active_semi_clustering.active.pairwise_constraints import NPU
    from active_semi_clustering.active.pairwise_constraints import (
        example_oracle as oracles,
    )

    learner = MPCKMeans(n_clusters=len(np.unique(person.y)))
    noted = []

    class Oracle:
        def query(self, i, j):
            if (
                person.n_answers in marks
                and len(noted) < marks.index(person.n_answers) + 1
            ):
                noted.append(np.array(learner.labels_))
            if person.n_answers >= marks[-1]:
                raise oracles.MaximumQueriesExceeded
            return person.answer(i, j)

    NPU(learner).fit(X, oracle=Oracle())
    return noted


def main(method, task_path, result_path):
    task = np.load(task_path)
    seed = int(task["seed"])
    np.random.seed(seed)
    person = Person(task["y"], float(task["flipped"]), np.random.default_rng(seed))
    methods = {"COBRAS": cobras, "MPCKMeans": mpckmeans}
    found = methods[method](task["X"], person, task["marks"].tolist())
    np.savez(result_path, found=np.array(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
