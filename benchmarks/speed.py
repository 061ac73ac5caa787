"""How near the work is to what the machine can do: ratios, each measured in one run.

Usage: make bench
"""

import time

import numpy as np

from likewise import BayesianMetric


def times(action, repeats=5):
    """Times of several runs, after one to warm up."""
    action()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return taken


def best(action, repeats=5):
    """The shortest of them."""
    return min(times(action, repeats))


def draw(rng, n_pairs, n_items):
    i = rng.integers(0, n_items - 1, n_pairs)
    return np.column_stack([i, rng.integers(i + 1, n_items)])


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200)) * np.linspace(3, 0.3, 200)
    y = rng.integers(0, 20, 3000)
    X += 2 * rng.normal(size=(20, 200))[y]
    pairs = np.unique(draw(rng, 3000, 3000), axis=0)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    paper = BayesianMetric(basis="eigen", prior="unit", prior_precision=1.0)
    paper.fit_pairs(X, pairs, labels)

    many = draw(rng, 200_000, 3000)
    W, S = rng.normal(size=(200_000, 201)), rng.normal(size=(201, 201))
    ratio = best(lambda: paper.pair_probability(X, many)) / best(lambda: W @ S)
    print(f"P(same) of 200,000 pairs, K = 200: {ratio:.2f} bare products")

    F, weight = rng.normal(size=(3000, 201)), rng.random(3000)
    bare = best(lambda: np.linalg.inv(np.eye(201) + (F.T * weight) @ F))
    fit = best(lambda: paper.fit_pairs(X, pairs, labels)) / paper.n_iter_
    print(f"One sweep of 3,000 pairs, K = 200: {fit / bare:.2f} Gram and inverse")

    whole = BayesianMetric(n_basis=30, prior="unit", prior_precision=0.1)
    taken = {}
    for n_pairs in (5000, 10_000, 20_000):
        some = np.unique(draw(rng, n_pairs, 3000), axis=0)
        said = np.where(y[some[:, 0]] == y[some[:, 1]], 1, -1)
        taken[n_pairs] = best(lambda s=some, t=said: whole.fit_pairs(X, s, t), 1)
        taken[n_pairs] /= whole.n_iter_
    print(
        f"Whole matrix, K = 30, a sweep: {taken[10_000] / taken[5000]:.2f} and "
        f"{taken[20_000] / taken[10_000]:.2f} times as long for each doubling of pairs"
    )

    few, said = pairs[:435], labels[:435]
    given = BayesianMetric(prior="unit", prior_precision=0.1)
    chosen = BayesianMetric(prior="unit")
    ratio = best(lambda: chosen.fit_pairs(X, few, said)) / best(
        lambda: given.fit_pairs(X, few, said)
    )
    print(f"Fit with delta by the evidence: {ratio:.2f} fits with delta given")


if __name__ == "__main__":
    main()
