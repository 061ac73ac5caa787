"""What the model is given: directions, their principal components, what stays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from likewise.features.projection import fit_projection, unit_length


def test_vectors_get_length_one(rng):
    """All but those without a direction."""
    vectors = rng.normal(size=(5, 3)) * [[1], [10], [0.1], [1e6], [0]]

    lengths = np.linalg.norm(unit_length(vectors), axis=1)

    assert_allclose(lengths, [1, 1, 1, 1, 0])


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_components_are_the_principal_ones(rng, shape):
    """Distances are those of scikit-learn's PCA on the same vectors of length 1."""
    vectors = rng.normal(size=shape) * np.geomspace(1, 20, shape[1])
    projection = fit_projection(vectors)

    placed = projection(vectors)
    reference = PCA(placed.shape[1]).fit(unit_length(vectors))
    theirs = reference.transform(unit_length(vectors))

    assert_allclose(np.abs(placed), np.abs(theirs), atol=1e-8)
    assert_allclose(projection.share, reference.explained_variance_ratio_.sum())


def test_as_many_components_as_keep_the_share_and_no_more(rng):
    """95% are kept, and one component less would keep too little."""
    vectors = rng.normal(size=(200, 30)) * np.geomspace(1, 30, 30)

    projection = fit_projection(vectors)

    variances = PCA().fit(unit_length(vectors)).explained_variance_ratio_
    n_kept = len(projection.components)
    assert variances[:n_kept].sum() >= 0.95 > variances[: n_kept - 1].sum()


def test_there_are_at_most_128(rng):
    """The share that they keep is stated, be it less."""
    projection = fit_projection(rng.normal(size=(300, 250)))

    assert projection.components.shape == (128, 250)
    assert 0.5 < projection.share < 0.95


def test_a_new_item_goes_where_its_like_is(rng):
    """The map is one for all: items of later meet those of before."""
    vectors = rng.normal(size=(30, 8))
    projection = fit_projection(vectors)

    assert_allclose(projection(vectors[:1] * 7), projection(vectors)[:1])


def test_equal_vectors_are_no_error():
    """Nothing tells them apart: one component, all zeros."""
    projection = fit_projection(np.ones((4, 3)))

    assert_allclose(projection(np.ones((4, 3))), np.zeros((4, 1)))


def test_numbers_of_their_own_are_standardised(rng):
    """Mean 0, deviation 1, and 0 where there is no difference."""
    vectors = np.column_stack([rng.normal(5, 3, 50), np.full(50, 0.1)])

    placed = fit_projection(vectors, is_direction=False)(vectors)

    assert_allclose(placed.mean(axis=0), 0, atol=1e-12)
    assert_allclose(placed.std(axis=0), [1, 0])
