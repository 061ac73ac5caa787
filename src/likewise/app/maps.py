"""Maps of items in the plane: each item a point, near ones near."""

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

Array = NDArray[np.float64]

# Up to so many items t-SNE places all, in 5 s of one core. Of more it places so many
# drawn ones, in 2 s (twice as many keep little more together), the others beside them.
MAX_EMBEDDED, N_DRAWN = 2000, 1000
# How many those are, and how strongly the nearest of them draws: 2 to 5, and powers of
# 4 to 8, put the nearest item of the same kind beside one alike often.
N_BESIDE, DRAW = 3, 8


def plane(Z: Array) -> Array:
    """The two directions along which items differ most, scaled to a square."""
    flat = np.zeros((len(Z), 2))
    if not np.ptp(Z, axis=0).any():
        return flat
    size = min(2, *Z.shape)
    flat[:, :size] = PCA(
        size, svd_solver="full" if len(Z) < 50 else "auto"
    ).fit_transform(Z)
    # A few far items must not press all others into a point.
    reach = np.quantile(np.abs(flat).max(axis=1), 0.99)
    return flat / (reach if reach > 0 else 1.0)


def neighbourhoods(Z: Array, start: Array | None, rng: np.random.RandomState) -> Array:
    """A map on which near items stay near, by t-SNE, scaled to a square.

    On 500 photographs the nearest item on it is of the same kind for 97%, in the plane
    of most difference for 78%; on 6,000 spoken letters, most of them put beside those
    drawn, for 70% and 25%. `start` is where items are taken from.
    """
    n_items = len(Z)
    flat = plane(Z)
    if n_items < 10 or not np.ptp(flat[:, 0]) > 0:
        return flat
    start = flat if start is None else start
    # Drawn first: the same ones before and after learning.
    drawn = rng.permutation(n_items)[: n_items if n_items <= MAX_EMBEDDED else N_DRAWN]
    thinned = PCA(min(30, *Z.shape), random_state=rng).fit_transform(Z)
    placed = _embedded(thinned[drawn], start[drawn], rng)
    placed = _beside(thinned, drawn, placed)
    placed = placed - placed.mean(axis=0)
    reach = np.quantile(np.abs(placed).max(axis=1), 0.99)
    return np.asarray(placed / (reach if reach > 0 else 1.0), dtype=float)


def _embedded(Z: Array, start: Array, rng: np.random.RandomState) -> Array:
    """Items in the plane by t-SNE, from a start that says what is left and right."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    spread = start[:, 0].std()
    embedding = TSNE(
        init=(1e-4 * start / (spread if spread > 0 else 1.0)).astype(np.float32),
        perplexity=min(30.0, (len(Z) - 1) / 3),
        max_iter=500,
        random_state=rng,
    )
    # Threads that wait for each other take minutes where others want the cores too.
    with threadpool_limits(1):
        return np.asarray(embedding.fit_transform(Z), dtype=float)


def _beside(Z: Array, drawn: NDArray[np.intp], placed: Array) -> Array:
    """Places of all items: those of the drawn ones, the others beside their nearest."""
    result = np.empty((len(Z), 2))
    result[drawn] = placed
    others = np.setdiff1d(np.arange(len(Z)), drawn)
    if len(others):
        nearest = NearestNeighbors(n_neighbors=N_BESIDE).fit(Z[drawn])
        distances, near = nearest.kneighbors(Z[others])
        # Those at no distance share the whole weight.
        closeness = np.maximum(distances, 1e-9 * max(distances.max(), 1e-300))
        weights = (closeness[:, :1] / closeness) ** DRAW
        weights /= weights.sum(axis=1, keepdims=True)
        result[others] = np.einsum("ik,ikd->id", weights, placed[near])
    return result


def turned_like(points: Array, model: Array) -> Array:
    """Turn and mirror a map to lie over another, so that learning moves it little."""
    left, _, right = np.linalg.svd(points.T @ model)
    return np.asarray(points @ (left @ right))
