"""How far do few labelled photographs go, by the 36 features and by the embedding?

1NN on the corel photographs with 10, 20 and 30 labelled, as many of each category; and
what k-means and neighbours find without any. "likewise" learns from the pairs of
labelled pictures.

Usage: LIKEWISE_DATA=folder python benchmarks/pictures.py [n_splits]
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from likewise import ActiveMetric, BayesianMetric
from likewise.features.choosing import find_embedding
from likewise.features.embedding import embed_items
from likewise.features.projection import fit_projection
from likewise.features.reading import open_picture, read_bytes

N_LABELLED = (10, 20, 30)


def read_corel():
    """Paths and categories."""
    folder = Path(os.environ.get("LIKEWISE_DATA", "data"), "corel")
    paths = sorted(folder.glob("*/*.jpg"))
    if not paths:
        sys.exit(f"No pictures in {folder}. Name their folder in LIKEWISE_DATA.")
    return paths, np.unique([path.parent.name for path in paths], return_inverse=True)[
        1
    ]


def made(name, paths):
    """What the model is given of the pictures."""
    embedding = find_embedding(name, "picture")
    start = time.perf_counter()
    pictures = [open_picture(read_bytes(path)) for path in paths]
    vectors = embed_items(pictures, embedding)
    seconds = time.perf_counter() - start
    projection = fit_projection(vectors, is_direction=embedding.is_direction)
    X = projection(vectors)
    print(
        f"{name}: {vectors.shape[1]:,} numbers, {X.shape[1]} given to the model "
        f"({projection.share:.0%} of the variance), "
        f"{1000 * seconds / len(paths):.0f} ms a picture"
    )
    return X


def draw(y, n_labelled, seed):
    """Rows of labelled pictures, as many of each category, and the rest."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    classes = np.unique(y)
    each = n_labelled // len(classes)
    known = np.concatenate([order[y[order] == k][:each] for k in classes])
    return known, np.setdiff1d(order, known)


def nearest(Z, y, known, rest):
    """Share of pictures whose nearest labelled one has their category."""
    squared = (Z[known] ** 2).sum(axis=1) - 2 * Z[rest] @ Z[known].T
    return np.mean(y[known][squared.argmin(axis=1)] == y[rest])


def like_neighbours(X, y):
    """How many of the eight nearest pictures of each have its category."""
    squared = (X**2).sum(axis=1) - 2 * X @ X.T
    np.fill_diagonal(squared, np.inf)
    return (y[np.argsort(squared, axis=1)[:, :8]] == y[:, None]).sum(axis=1)


def sorted_before(X, y):
    """How many groups are found before any answer, and the share that lies right.

    Right is a picture in a group that is mostly of its own category.
    """
    groups = ActiveMetric(X, acquisition="groups", random_state=0).groups()
    most = [np.bincount(y[groups.labels == k]).max() for k in range(groups.n_groups)]
    return groups.n_groups, sum(most) / len(y)


def learned(X, y, known):
    """Where the learned metric puts the pictures."""
    i, j = np.triu_indices(len(known), 1)
    labels = np.where(y[known][i] == y[known][j], 1, -1)
    pairs = np.column_stack([known[i], known[j]])
    metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)
    return metric.transform(X)


def main():
    n_splits = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    paths, y = read_corel()
    counts = []
    for name in ("paper", "builtin"):
        X = made(name, paths)
        counts.append(like_neighbours(X, y))
        print(f"    of the eight nearest {counts[-1].mean():.1f} have the category")
        groups = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(X)
        agreed = adjusted_rand_score(y, groups)
        print(f"    k-means finds the categories: ARI {agreed:.2f}")
        n_groups, share = sorted_before(X, y)
        print(f"    {n_groups} groups before any answer, {share:.0%} in a right one")
        for n_labelled in N_LABELLED:
            splits = [draw(y, n_labelled, seed) for seed in range(n_splits)]
            plain = [nearest(X, y, *split) for split in splits]
            after = [nearest(learned(X, y, k), y, k, rest) for k, rest in splits]
            print(
                f"    {n_labelled} labelled: 1NN {np.mean(plain):.3f}, with likewise "
                f"{np.mean(after):.3f} (worst of {n_splits}: {min(after):.3f})",
                flush=True,
            )
    more, fewer = (np.sum(sign * (counts[1] - counts[0]) > 0) for sign in (1, -1))
    print(f"{more} pictures have more of them by the embedding, {fewer} have fewer")


if __name__ == "__main__":
    main()
