"""Shared arrangements of the tests."""

import os

# Before scipy is imported: otherwise scikit-learn skips its array API check.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Tests run side by side: threads of one that wait for those of another cost ten times
# the work itself.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

# A slow or busy machine is no reason to fail.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="seed of the tests that draw")


@pytest.fixture
def seed(request):
    return request.config.getoption("--seed")


@pytest.fixture
def rng(seed):
    return np.random.RandomState(seed)


@pytest.fixture
def blobs(rng):
    """Three classes that differ along two of five features of unequal scale."""
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 5)) * [1.0, 1.0, 3.0, 2.0, 0.5]
    X[:, 0] += 4 * y
    X[:, 1] -= 3 * (y == 1)
    return X, y
