"""Memory is fetched once, not for every block of pairs."""

import sys

import pytest

from tests import memory

FRESH = """
import resource
import numpy as np
from likewise.asking.candidates import map_features
from likewise.model.basis import Basis
from likewise.model.posterior import WeightPosterior

rng = np.random.RandomState(0)
Z = rng.standard_normal((500, 50))
i = rng.randint(0, 499, 100_000)
pairs = np.column_stack([i, rng.randint(i + 1, 500)])
basis = Basis("eigen", np.zeros(50), np.eye(50))
posterior = WeightPosterior(np.ones(51), np.eye(51))

def look():
    apply = lambda features, _: posterior.probability_same(features)
    map_features(apply, basis, Z, pairs, width=51)

look()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
look()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how glibc does it")
def test_blocks_of_pairs_find_the_memory_of_those_before():
    """A hundred megabytes of blocks would be 25,000 pages fetched anew."""
    n_fetched, _ = memory.run(FRESH)

    assert n_fetched < 2_500
