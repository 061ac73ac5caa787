"""Coordinates: their unit, their directions, and what they do with hard data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.digits import GRID_PAIRS, gaps_on_grid
from likewise.errors import InputError
from likewise.model.basis import (
    MOST_LOST,
    check_basis,
    feature_deviations,
    fit_basis,
)


def fit(X, kind="eigen", n_basis=None, weights=None):
    return fit_basis(X, kind, n_basis, np.ones(len(X)) if weights is None else weights)


def mean_squared_distance(Z):
    i, j = np.triu_indices(len(Z), 1)
    return ((Z[i] - Z[j]) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("kind", ["eigen", "axes"])
def test_mean_squared_distance_over_all_pairs_is_one(rng, kind):
    """The unit in which prior mean and precision have their meaning."""
    X = rng.normal(size=(30, 4)) * [100, 3, 1e-3, 7] + 1e5

    Z = fit(X, kind).project(X)

    assert_allclose(mean_squared_distance(Z), 1)


def test_eigen_directions_are_the_covariances_eigenvectors(rng):
    """Top first, orthogonal, and each an eigenvector."""
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    covariance = np.cov(X.T)

    V = fit(X).directions

    unit = V / np.linalg.norm(V, axis=0)
    values = np.diag(unit.T @ covariance @ unit)
    assert_allclose(covariance @ unit, unit * values, atol=1e-10)
    assert (np.diff(values) < 0).all()


def squares(basis, X):
    return (basis.project(X) ** 2).sum(axis=0)


@pytest.mark.parametrize("shape", [(30, 6), (8, 20)])
def test_a_turned_basis_has_the_same_distances(rng, shape):
    """Of items in it: a rotation takes the old coordinates to the new ones."""
    X = rng.normal(size=shape) * np.logspace(0, -3, shape[1])
    basis = fit(X, "full")

    found, rotation = basis.turned(squares(basis, X))

    k = rotation.shape[1]
    assert_allclose(rotation.T @ rotation, np.eye(k), atol=1e-9)
    Z = basis.project(X)
    assert_allclose(found.project(X), Z @ rotation, rtol=1e-7, atol=1e-9)


def test_features_that_all_vary_are_their_own_basis(rng):
    """But for those that are constant: a file need not hold the axes."""
    X = rng.normal(size=(50, 5)) * [1.0, 1e-4, 1e3, 0.0, 1.0]
    basis = fit(X, "full")

    found = basis.turned(squares(basis, X))[0]

    unit = np.abs(found.directions).max()
    assert_array_equal(np.abs(found.directions), unit * np.eye(5)[:, [0, 1, 2, 4]])


def test_features_that_hide_a_direction_are_turned(rng):
    """On the axes' grid little would be left of what 20 features have apart."""
    X = rng.normal(size=(50, 1)) + 1e-4 * rng.normal(size=(50, 20))
    basis = fit(X, "full")

    found, rotation = basis.turned(squares(basis, X))

    assert np.count_nonzero(found.directions) == 400
    shares, variances = rotation**2, squares(basis, X)
    lost = np.sqrt((shares @ (variances @ shares)) / variances).max()
    assert 1 < lost <= MOST_LOST
    assert np.abs(rotation - np.eye(20)).max() > 2.0**-18


def test_a_basis_of_no_direction_is_not_turned():
    """Two equal items of three features."""
    basis = fit(np.ones((2, 3)), "full")

    found, rotation = basis.turned(np.zeros(1))

    assert_array_equal(found.directions, basis.directions)
    assert_array_equal(rotation, np.eye(1))


def test_labelled_features_are_on_a_grid_for_few_pairs_by_a_whole_matrix(rng):
    """Of many pairs, or weights, they are as they were."""
    X = rng.normal(size=(90, 3))
    few, many = (rng.randint(0, 90, (n, 2)) for n in (GRID_PAIRS, GRID_PAIRS + 1))
    gaps = X[many[:, 0]] - X[many[:, 1]]

    full, eigen = fit(X, "full"), fit(X, "eigen")
    assert_array_equal(full.labelled(X, few), gaps_on_grid(X, few))
    assert_array_equal(full.labelled(X, many), gaps)
    assert_array_equal(eigen.labelled(X, many), eigen.features(gaps))


def test_wide_data_gives_the_same_coordinates_as_tall(rng):
    """More features than items goes through the other Gram matrix."""
    X = rng.normal(size=(12, 40))
    gaps = X[:, None] - X[None]

    Z = fit(X).project(X)

    assert Z.shape == (12, 11)
    squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    truth = (gaps**2).sum(axis=2)
    assert_allclose(squared, truth / truth[np.triu_indices(12, 1)].mean(), atol=1e-12)


def test_axes_leave_out_constant_features(rng):
    """One weight for each feature that varies, in their order."""
    X = np.column_stack([rng.normal(size=20), np.full(20, 7.0), rng.normal(size=20)])

    basis = fit(X, "axes")

    assert_array_equal(
        basis.directions != 0, [[True, False], [False, False], [False, True]]
    )


def test_number_or_share_of_basis_vectors(rng):
    """An int counts; a float keeps that share of the variance."""
    X = rng.normal(size=(2000, 3)) * [3, 1, 0.1]

    assert fit(X, n_basis=2).directions.shape == (3, 2)
    assert fit(X, n_basis=0.85).directions.shape == (3, 1)
    assert fit(X, n_basis=0.95).directions.shape == (3, 2)
    assert fit(X, n_basis=1.0).directions.shape == (3, 3)
    assert fit(X, n_basis=99).directions.shape == (3, 3)


def test_weights_count_like_repeated_rows(rng):
    """An item of weight three is three items."""
    X = rng.normal(size=(8, 3))
    times = np.array([1, 3, 1, 2, 1, 1, 4, 1])

    weighted = fit(X, weights=times.astype(float))
    repeated = fit(np.repeat(X, times, axis=0))

    assert_allclose(weighted.directions, repeated.directions, atol=1e-12)
    assert_allclose(weighted.centre, repeated.centre)


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("kind", ["eigen", "axes"])
def test_coordinates_do_not_depend_on_the_unit_of_x(rng, kind, scale):
    """Inches or light years: the same coordinates."""
    X = rng.normal(size=(10, 3))

    assert_allclose(fit(X * scale, kind).project(X * scale), fit(X, kind).project(X))


@pytest.mark.parametrize("kind", ["eigen", "axes"])
def test_items_that_are_all_equal_have_coordinate_zero(kind):
    """Nothing varies, nothing breaks."""
    X = np.full((4, 3), 2.5)

    assert_array_equal(fit(X, kind).project(X), np.zeros((4, 1)))


def test_deviations_are_those_of_the_features(rng):
    """As numpy finds them, whatever their units; infinite where nothing varies."""
    X = np.column_stack([rng.normal(size=(40, 3)) * [1e6, 1, 1e-4], np.full(40, 7.1)])

    deviations = feature_deviations(X, X.mean(axis=0), np.ones(40))

    assert_allclose(deviations[:3], X[:, :3].std(axis=0))
    assert deviations[3] == np.inf


def test_features_in_small_units_keep_their_coordinates(rng):
    """Directions have fewer digits than numbers can: faint ones are kept."""
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) * [1, 1, 1e-6, 1e-6]
    centred = X - X.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)

    Z = fit(X).project(X)

    expected = left * sizes / np.sqrt(2 * (sizes**2).sum() / (len(X) - 1))
    signs = np.sign((Z * expected).sum(axis=0))
    assert_allclose(
        Z / Z.std(axis=0), signs * expected / expected.std(axis=0), atol=1e-4
    )


def test_deviations_count_weights_like_repeated_rows(rng):
    """An item of weight three is three items."""
    X, times = rng.normal(size=(8, 3)), np.array([1, 3, 1, 2, 1, 1, 4, 1])
    repeated = np.repeat(X, times, axis=0)

    deviations = feature_deviations(X, repeated.mean(axis=0), times.astype(float))

    assert_allclose(deviations, repeated.std(axis=0))


def test_items_that_are_all_equal_have_deviations_to_divide_by():
    """None of them infinite: that would leave no metric at all."""
    X = np.full((4, 3), 0.1)

    assert_array_equal(feature_deviations(X, X.mean(axis=0), np.ones(4)), 1)


@pytest.mark.parametrize(
    ("kind", "n_basis", "message"),
    [
        ("eigne", None, "'basis' must be one of .* Got 'eigne'"),
        ("eigen", 0, "'n_basis' must be None, .* Got 0"),
        ("eigen", 1.5, "Got 1.5"),
        ("eigen", "3", "Got '3'"),
        ("eigen", True, "Got True"),
    ],
)
def test_bad_choices_are_named(kind, n_basis, message):
    """The parameter, the rule and the value."""
    with pytest.raises(InputError, match=message):
        check_basis(kind, n_basis)
