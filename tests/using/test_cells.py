"""Neighbours by cells: nearly all of the true ones, whatever the points are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import NearestNeighbors

from likewise.using.cells import MAX_EXACT, _least, near_rows


@pytest.mark.parametrize("n_points", [50, 700])
def test_few_points_have_their_true_neighbours(rng, n_points):
    """As many as are looked at all at once, far from zero as well as near."""
    points = 100 + rng.normal(size=(n_points, 2))

    found = near_rows(points, 4)

    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    expected = np.argsort(squared, axis=1)[:, :5]
    assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


@pytest.mark.parametrize("n_columns", [200, 256, 1_000])
@pytest.mark.parametrize("k", [1, 5, 130])
def test_the_least_of_a_row_are_found(rng, n_columns, k):
    """As sorting finds them, where many are equal too."""
    for table in (
        rng.normal(size=(30, n_columns)),
        rng.randint(4, size=(30, n_columns)),
    ):
        found = _least(table.astype(np.float32), k)

        assert all(len(set(row)) == k for row in found.tolist())
        values = np.take_along_axis(table, found, axis=1)
        assert_array_equal(np.sort(values, axis=1), np.sort(table, axis=1)[:, :k])


@pytest.mark.parametrize("n_groups", [40, 3_000])
def test_of_many_points_nearly_all_neighbours_are_found(rng, n_groups):
    """In large groups and in small ones; each point is among its own."""
    centres = rng.normal(size=(n_groups, 10))
    points = np.repeat(centres, 12_000 // n_groups, axis=0)
    points += 0.1 * rng.normal(size=points.shape)
    assert len(points) > MAX_EXACT

    found = near_rows(points, 3)

    tried = np.arange(0, len(points), 40)
    search = NearestNeighbors(n_neighbors=4).fit(points)
    true = search.kneighbors(points[tried], return_distance=False)
    shares = [np.isin(a, b).mean() for a, b in zip(true, found[tried], strict=True)]
    assert np.mean(shares) > 0.9
    assert (found == np.arange(len(points))[:, None]).any(axis=1).mean() > 0.99


def test_points_that_are_all_equal_have_neighbours():
    """Cells that would hold everything are cut: no block has all distances."""
    found = near_rows(np.zeros((MAX_EXACT + 1, 2)), 5)

    assert found.shape == (MAX_EXACT + 1, 6)
    assert all(len(set(row)) == 6 for row in found[::500].tolist())
