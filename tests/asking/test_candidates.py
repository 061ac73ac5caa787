"""Searching all pairs in blocks gives what looking at every pair gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking import candidates as search
from likewise.asking.candidates import Pool
from likewise.model import fitting
from likewise.model.basis import fit_basis
from likewise.model.climbing import Rules
from likewise.model.fitting import Told
from likewise.model.priors import Choices, look_at
from likewise.pairs import all_pairs


def everything(pairs):
    return np.ones(len(pairs), dtype=bool)


def make_pool(rng, n_items=90, prior="evidence", item_noise=0.8):
    """Items in three classes, twelve pairs of which were told."""
    y = np.arange(n_items) % 3
    X = rng.normal(size=(n_items, 4)) * [1, 2, 1, 3] + 50
    X[:, 0] += 3 * y
    choices = Choices("full", None, prior, 1.0, 0.5, item_noise)
    frames = look_at(X, np.ones(n_items), choices, rng)
    pairs = all_pairs(n_items)
    pairs = pairs[rng.permutation(len(pairs))[:12]]
    is_same = (y[pairs[:, 0]] == y[pairs[:, 1]]).astype(float)
    fit = fitting.fit(
        frames, Told(pairs, is_same, np.ones(12), np.zeros(12, bool)), Rules()
    )
    return Pool(fit.belief, frames.basis, frames.coordinates), pairs


@pytest.fixture
def pool(rng):
    """Several members, and items that are known to lie off their features."""
    made, _ = make_pool(rng)
    assert len(made.belief.members) > 1
    return made


def test_blocks_cover_every_row_once():
    """No row lost or seen twice, also in the last, shorter block."""
    seen = np.concatenate([np.arange(5000)[b] for b in search.row_blocks(5000, 5000)])

    assert_array_equal(seen, np.arange(5000))


def test_mapping_in_blocks_is_mapping_at_once(rng, monkeypatch):
    """The block's size changes nothing."""
    X = rng.normal(size=(40, 3))
    basis = fit_basis(X, "eigen", None, np.ones(40))
    Z, pairs = basis.project(X), all_pairs(40)
    features = basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]])
    at_once = features.sum(axis=1) + pairs[:, 1]

    monkeypatch.setattr(search, "BLOCK_SIZE", 100)
    for n_threads in (1, 2):
        in_blocks = search.map_features(
            lambda features, block: features.sum(axis=1) + block[:, 1],
            basis,
            Z,
            pairs,
            width=1,
            n_threads=n_threads,
        )
        assert_allclose(in_blocks, at_once)


def test_a_wide_function_gets_smaller_blocks(rng):
    """What it holds for each pair cuts the blocks: their memory stays the same."""
    Z, pairs = rng.normal(size=(200, 2)), all_pairs(200)
    basis = fit_basis(Z, "axes", None, np.ones(200))
    sizes = []

    def apply(features, block):
        sizes.append(len(block))
        return np.zeros(len(block))

    search.map_features(apply, basis, Z, pairs, width=1000)

    assert max(sizes) * 1000 <= search.BLOCK_SIZE
    assert sum(sizes) == len(pairs)


def test_a_pool_knows_the_items_of_its_pairs(pool, rng, monkeypatch):
    """In blocks, with the numbers of the items; new items are told apart otherwise."""
    pairs = all_pairs(90)
    monkeypatch.setattr(search, "BLOCK_SIZE", 2000)

    p_same = pool.probability_same(pairs)

    features = pool.features(pairs)
    assert_allclose(p_same, pool.belief.probability_same(features, pairs))
    assert np.abs(p_same - pool.belief.probability_same(features)).max() > 0.01


def test_best_rows_come_best_first_and_ties_by_the_seed():
    """Highest scores; among equals every one has its chance, repeatably."""
    scores = np.array([1.0, 5.0, 3.0, 3.0, 3.0, 0.0])

    firsts = [search.best_rows(scores, 2, np.random.RandomState(s)) for s in range(40)]

    assert {tuple(rows) for rows in firsts} == {(1, 2), (1, 3), (1, 4)}
    again = search.best_rows(scores, 2, np.random.RandomState(3))
    assert_array_equal(again, firsts[3])
    assert len(search.best_rows(scores, 99, np.random.RandomState(0))) == 6
    assert len(search.best_rows(scores[:0], 3, np.random.RandomState(0))) == 0
