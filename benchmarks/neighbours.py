"""Is the confidence of a search right, and what does usearch miss?

Learners are told classes and asked for the ten nearest of 60 items. Nobody knows the
true metric of digits or letters. Two stand in its place: the one that 600 answers
teach, which has its prior in common with the one that is judged, and that of linear
discriminants of all classes, which has not. Where a known metric makes the answers, it
is the truth. P(same) is compared with the classes, or with what made the answers.

With "metrics": is it the draws that are no metrics? Matrices are drawn instead, as they
come and with their negative eigenvalues set to zero, on further data sets too.

Usage: LIKEWISE_DATA=folder python benchmarks/neighbours.py [picture.png]
       LIKEWISE_DATA=folder python benchmarks/neighbours.py metrics
       python benchmarks/neighbours.py recall
"""

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import scale

from likewise import ActiveMetric, BayesianMetric, Neighbours
from likewise.experiments.datasets import draw_items, prepare_source, read_source
from likewise.model import matrix
from likewise.pairs import draw_pairs

N_REPEATS, N_ITEMS, K, N_QUERIES, N_REFERENCE, N_BINS = 3, 500, 10, 60, 600, 5
N_ANSWERS = (20, 60)
N_LARGE, NOISE = 100_000, 2.0
N_MATRICES = 60
# Of the known metric: numbers an item, mean squared distance, share that is "same".
N_NUMBERS, TYPICAL, SHARE_SAME = 12, 10.0, 0.1
COLOURS, STYLES = ("#0b6e4f", "#c8553d"), ("-", ":")


def is_same(y, pairs):
    return y[pairs[:, 0]] == y[pairs[:, 1]]


def labels_of(y, pairs):
    return np.where(is_same(y, pairs), 1, -1)


def by_class(X, y, seed):
    """Items, answers and P(same) by class, and where they lie by two metrics."""
    rng = np.random.RandomState(seed)
    discriminants = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
    discriminants.fit(X, y)
    rows = rng.permutation(len(X))[:N_ITEMS]
    X, y = X[rows], y[rows]
    many = draw_pairs(len(X), N_REFERENCE, rng)
    reference = BayesianMetric(random_state=seed).fit_pairs(X, many, labels_of(y, many))
    places = {
        f"by {N_REFERENCE} answers": reference.transform(X),
        "by discriminants": discriminants.transform(X),
    }
    return X, partial(labels_of, y), partial(is_same, y), places


def by_metric(seed):
    """The same of items and answers that a known metric makes, drawn at random."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N_ITEMS, N_NUMBERS))
    X *= np.exp(rng.normal(0, 0.5, N_NUMBERS))
    turn = np.linalg.qr(rng.standard_normal((N_NUMBERS, N_NUMBERS)))[0]
    places = X @ (turn * np.exp(rng.normal(0, 0.7, N_NUMBERS)))
    squared = ((places[:, None] - places) ** 2).sum(axis=2)
    places *= np.sqrt(TYPICAL / squared.mean())
    threshold = np.quantile(squared, SHARE_SAME) * TYPICAL / squared.mean()

    def p_same(pairs):
        gaps = places[pairs[:, 0]] - places[pairs[:, 1]]
        return expit(threshold - (gaps**2).sum(axis=1))

    def answer(pairs):
        return np.where(rng.random_sample(len(pairs)) < p_same(pairs), 1, -1)

    return X, answer, p_same, {"in truth": places}


def nearest(places, queries):
    squared = ((places[queries][:, None] - places) ** 2).sum(axis=2)
    squared[np.arange(len(queries)), queries] = np.inf
    return np.argsort(squared, axis=1)[:, :K]


def run(X, answer, p_same, places, seed, is_transitive):
    """What was said and what came true, by number of answers and by measure."""
    queries = np.random.RandomState(seed).permutation(len(X))[:N_QUERIES]
    true = {name: nearest(each, queries) for name, each in places.items()}
    learner = ActiveMetric(X, random_state=seed, equivalence=is_transitive)
    results = {}
    for n_answers in N_ANSWERS:
        while len(learner.history()) < n_answers:
            pairs = learner.ask(10)
            learner.tell(pairs, answer(pairs))
        found = learner.neighbours().query(queries, K)
        pairs = np.column_stack([np.repeat(queries, K), found.rows.ravel()])
        results[n_answers, "P(same)", ""] = found.p_same.ravel(), p_same(pairs)
        for name, rows in true.items():
            hits = [np.isin(a, b) for a, b in zip(found.rows, rows, strict=True)]
            said = found.confidence.ravel()
            results[n_answers, "confidence", name] = said, np.ravel(hits)
    return results


def binned(said, came_true):
    """Mean of what was said, share that came true and count, for each bin."""
    place = np.minimum((said * N_BINS).astype(int), N_BINS - 1)
    count = np.bincount(place, minlength=N_BINS)
    held = count > 0
    sums = [np.bincount(place, each, N_BINS)[held] for each in (said, came_true)]
    return sums[0] / count[held], sums[1] / count[held], count[held]


def report(name, results, panels):
    """Print what was said and came true; draw it."""
    for n_answers, what, by in results[0]:
        parts = zip(*(each[n_answers, what, by] for each in results), strict=True)
        said, came_true = (np.concatenate(part) for part in parts)
        mean, share, count = binned(said, came_true)
        error = np.average(np.abs(mean - share), weights=count)
        print(
            f"{name}, {n_answers} answers: {what} said {said.mean():.3f}, came true "
            f"{by}{' ' * bool(by)}{came_true.mean():.3f}, error {error:.3f}",
            flush=True,
        )
        panel = panels[int(what == "P(same)")]
        colour = COLOURS[N_ANSWERS.index(n_answers)]
        style = STYLES[int(by == "by discriminants")]
        label = f"{n_answers} answers{', ' * bool(by)}{by}"
        panel.plot(mean, share, style, color=colour, lw=2, label=label)
        panel.scatter(mean, share, s=15 + 120 * count / count.max(), color=colour)


def dress(panel, title, x, y):
    panel.plot([0, 1], [0, 1], color="#999999", ls="--", lw=1)
    panel.set(title=title, xlabel=x, ylabel=y, aspect="equal")
    panel.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    panel.legend(frameon=False, loc="best", fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)


def sources():
    """Names, what makes items and answers, and whether "same" is transitive."""
    yield "a known metric", by_metric, False
    X, y = load_digits(return_X_y=True)
    yield "digits", lambda seed: by_class(X, y, seed), True
    with tempfile.TemporaryDirectory() as folder:
        source = read_source(prepare_source("isolet", Path(folder)))
    yield "letters", lambda seed: by_class(*draw_items(source, seed), seed), True


def confidence():
    figure = Figure(figsize=(13, 8.6), layout="constrained")
    panels = figure.subplots(2, 3)
    for column, (name, make, is_transitive) in zip(panels.T, sources(), strict=True):
        results = [run(*make(seed), seed, is_transitive) for seed in range(N_REPEATS)]
        report(name, results, column)
        dress(
            column[0],
            f"{name}: one of the {K} nearest",
            "confidence, as said",
            f"share that is one of the {K} nearest",
        )
        dress(
            column[1],
            f"{name}: the same as what was searched for",
            "P(same) of those found, as said",
            "share that is the same",
        )
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=110)


def further_sources():
    """The same of data sets that nothing here was chosen on."""
    yield from sources()
    for name, load in (("wine", load_wine), ("tumours", load_breast_cancer)):
        X, y = load(return_X_y=True)
        yield name, partial(by_class, scale(X), y), True
    X, y = make_blobs(800, 200, centers=20, cluster_std=4.0, random_state=0)
    yield "blobs of 200 numbers", partial(by_class, X, y), True


def metrics():
    """Confidence by distances drawn, by matrices drawn, and by their positive part."""
    for name, make, is_transitive in further_sources():
        for n_answers in N_ANSWERS:
            rows = []
            for seed in range(N_REPEATS):
                X, answer, _, places = make(seed)
                queries = np.random.RandomState(seed).permutation(len(X))[:N_QUERIES]
                learner = ActiveMetric(X, random_state=seed, equivalence=is_transitive)
                while len(learner.history()) < n_answers:
                    pairs = learner.ask(10)
                    learner.tell(pairs, answer(pairs))
                found = learner.neighbours().query(queries, K)
                hits = [
                    [np.isin(*pair) for pair in zip(found.rows, true, strict=True)]
                    for true in (nearest(each, queries) for each in places.values())
                ]
                drawn = by_matrices(learner.metric_, X, queries, found.rows)
                said = [found.confidence.mean(), *drawn]
                rows.append([*said, *(np.mean(each) for each in hits)])
            words = ["said", "matrices", "positive part", "negative share", *places]
            figures = zip(words, np.mean(rows, axis=0), strict=True)
            told = ", ".join(f"{word} {value:.3f}" for word, value in figures)
            print(f"{name}, {n_answers} answers: {told}", flush=True)


def by_matrices(metric, X, queries, found):
    """Mean confidence of what was found, and how negative the matrices are."""
    Z = metric.basis_.project(X)
    draws = metric.posterior_.sample(N_MATRICES, np.random.RandomState(0))
    hits, negative = np.zeros(2), 0.0
    for entries in draws[:, 1:]:
        values, vectors = np.linalg.eigh(
            matrix.symmetric_matrix(entries[None], Z.shape[1])[0]
        )
        negative -= values[values < 0].sum() / values[values > 0].sum() / len(draws)
        for kind, kept in enumerate((values, np.maximum(values, 0))):
            mapped = Z @ (vectors * kept) @ vectors.T
            squared = (mapped * Z).sum(axis=1) - 2 * mapped[queries] @ Z.T
            squared[np.arange(len(queries)), queries] = np.inf
            top = np.argpartition(squared, K - 1, axis=1)[:, :K]
            pairs = zip(found, top, strict=True)
            hits[kind] += np.mean([np.isin(*pair) for pair in pairs]) / len(draws)
    return *hits, negative


def recall():
    """Digits, each copied with noise, until there are more than 50,000."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.RandomState(0)
    rows = np.r_[np.arange(len(X)), rng.randint(len(X), size=N_LARGE - len(X))]
    many = X[rows] + NOISE * rng.standard_normal((N_LARGE, X.shape[1]))
    pairs = draw_pairs(len(X), 60, rng)
    metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels_of(y, pairs))
    queries, found = rng.permutation(N_LARGE)[:500], {}
    for index in ("exact", "usearch"):
        start = time.perf_counter()
        search = Neighbours(metric, many, index=index)
        made = time.perf_counter()
        found[index] = search.query(queries, K, n_draws=0).rows
        taken = time.perf_counter() - made
        print(
            f"{index}: {N_LARGE:,} items of {len(metric.components_)} numbers, made "
            f"in {made - start:.1f} s, {1000 * taken / len(queries):.1f} ms a query"
        )
    hits = [np.isin(*pair).mean() for pair in zip(*found.values(), strict=True)]
    print(f"recall of usearch among the {K} nearest: {np.mean(hits):.4f}")


if __name__ == "__main__":
    {"recall": recall, "metrics": metrics}.get(" ".join(sys.argv[1:]), confidence)()
