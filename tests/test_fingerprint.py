"""Which items an array holds, told apart by their numbers."""

import hashlib

import numpy as np

from likewise import BayesianMetric
from likewise.fingerprint import ROWS, fingerprint


def test_it_is_the_sha256_of_shape_and_numbers(rng):
    """Written out; in blocks or at once."""
    X = rng.normal(size=(ROWS + 7, 2))

    assert fingerprint(X) == hashlib.sha256(b"(8199, 2)" + X.tobytes()).hexdigest()


def test_precision_and_order_in_memory_do_not_count(rng):
    """Single precision that becomes double is the same items; so is a Fortran copy."""
    X = rng.normal(size=(30, 4)).astype(np.float32)

    assert fingerprint(X) == fingerprint(np.asfortranarray(X.astype(float)))
    assert fingerprint(-0.0 * X) == fingerprint(0.0 * np.abs(X))


def test_other_items_have_another(rng):
    """One number, one row, or the shape."""
    X = rng.normal(size=(30, 4))
    changed = X.copy()
    changed[29, 3] += 1e-12

    others = [changed, X[:29], X[::-1], X.reshape(60, 2)]

    assert len({fingerprint(each) for each in [X, *others]}) == 5


def test_a_metric_knows_what_it_was_fitted_to(rng):
    """By pairs: the X that they point into."""
    X = rng.normal(size=(8, 3))

    metric = BayesianMetric(random_state=0).fit_pairs(X, [[0, 1], [2, 3]], [1, -1])

    assert metric.fingerprint_ == fingerprint(X)
