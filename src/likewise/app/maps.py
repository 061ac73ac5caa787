"""Maps of items in the plane: each item a point, near ones near."""

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

Array = NDArray[np.float64]

# Up to this many items the map keeps neighbourhoods (t-SNE, about a second for 500);
# above it is the two directions of most difference, at once.
MAX_EMBEDDED = 2000


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
    of most difference for 78%. `start` is where items are taken from.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    flat = plane(Z)
    if len(Z) < 10 or not np.ptp(flat[:, 0]) > 0:
        return flat
    start = flat if start is None else start
    thinned = PCA(min(30, *Z.shape), random_state=rng).fit_transform(Z)
    embedding = TSNE(
        init=(1e-4 * start / start[:, 0].std()).astype(np.float32),
        perplexity=min(30.0, (len(Z) - 1) / 3),
        max_iter=500,
        random_state=rng,
    )
    # Threads that wait for each other take minutes where others want the cores too.
    with threadpool_limits(1):
        placed = embedding.fit_transform(thinned)
    placed = placed - placed.mean(axis=0)
    reach = np.quantile(np.abs(placed).max(axis=1), 0.99)
    return np.asarray(placed / (reach if reach > 0 else 1.0), dtype=float)


def turned_like(points: Array, model: Array) -> Array:
    """Turn and mirror a map to lie over another, so that learning moves it little."""
    left, _, right = np.linalg.svd(points.T @ model)
    return np.asarray(points @ (left @ right))
