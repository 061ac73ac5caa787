"""Searching all pairs in blocks gives what looking at every pair gives."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking import candidates as search
from likewise.model.basis import fit_basis
from likewise.pairs import all_pairs, pair_number


def is_open(pairs):
    return np.ones(len(pairs), dtype=bool)


def test_blocks_cover_every_row_once():
    """No row lost or seen twice, also in the last, shorter block."""
    seen = np.concatenate([np.arange(5000)[b] for b in search.row_blocks(5000, 5000)])

    assert_array_equal(seen, np.arange(5000))


def test_mapping_in_blocks_is_mapping_at_once(rng, monkeypatch):
    """The block's size changes nothing."""
    X = rng.normal(size=(40, 3))
    basis = fit_basis(X, "eigen", None, np.ones(40))
    Z, pairs = basis.project(X), all_pairs(40)
    at_once = basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]]).sum(axis=1)

    monkeypatch.setattr(search, "BLOCK_SIZE", 100)
    for n_threads in (1, 2):
        in_blocks = search.map_features(
            lambda f: f.sum(axis=1), basis, Z, pairs, n_threads=n_threads
        )
        assert_allclose(in_blocks, at_once)


def test_best_rows_come_best_first_and_ties_by_the_seed():
    """Highest scores; among equals every one has its chance, repeatably."""
    scores = np.array([1.0, 5.0, 3.0, 3.0, 3.0, 0.0])

    firsts = [search.best_rows(scores, 2, np.random.RandomState(s)) for s in range(40)]

    assert {tuple(rows) for rows in firsts} == {(1, 2), (1, 3), (1, 4)}
    again = search.best_rows(scores, 2, np.random.RandomState(3))
    assert_array_equal(again, firsts[3])
    assert len(search.best_rows(scores, 99, np.random.RandomState(0))) == 6
    assert len(search.best_rows(scores[:0], 3, np.random.RandomState(0))) == 0


def test_near_threshold_finds_what_brute_force_finds(rng, monkeypatch):
    """The same pairs as sorting all of them by their margin, over many tiles."""
    Z = rng.normal(size=(300, 4)) + 50
    pairs = all_pairs(300)
    margins = np.abs(((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1) - 6.0)
    monkeypatch.setattr(search, "TILE", 37)

    found = search.near_threshold(Z, 6.0, 50, is_open)

    expected = np.argsort(margins)[:50]
    assert_array_equal(np.sort(pair_number(found, 300)), np.sort(expected))


def test_near_threshold_leaves_out_what_is_not_open(rng):
    """Answered pairs are skipped and the next nearest come instead."""
    Z = rng.normal(size=(60, 3))
    first = search.near_threshold(Z, 2.0, 20, is_open)
    taken = pair_number(first, 60)

    second = search.near_threshold(
        Z, 2.0, 20, lambda pairs: ~np.isin(pair_number(pairs, 60), taken)
    )

    both = search.near_threshold(Z, 2.0, 40, is_open)
    assert_array_equal(
        np.sort(pair_number(both, 60)),
        np.sort(np.concatenate([taken, pair_number(second, 60)])),
    )
