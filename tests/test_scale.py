"""Items beyond memory: Dask gives the numbers of NumPy, whatever dies on the way."""

import os
import signal
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet
from sklearn.base import clone

from likewise import BayesianMetric, InputError, blocks, scale
from likewise.asking import acquisition as acquisitions
from likewise.model import climbing
from likewise.pairs import all_pairs, draw_pairs

MODELS = {
    "paper": BayesianMetric("eigen", prior="unit", prior_precision=1.0),
    "defaults": BayesianMetric(random_state=0),
}


def slow_probability(metric, X, pairs):
    """P(same) at once, after a while: long enough to be killed."""
    time.sleep(0.3)
    return metric.pair_probability(X, pairs)


@pytest.fixture(scope="module")
def cluster():
    """Two processes of one thread each."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
        ) as made,
        Client(made) as client,
    ):
        yield client


@pytest.fixture
def items(rng):
    y = rng.randint(0, 3, 240)
    return rng.normal(size=(240, 4)) * [1, 2, 1, 3] + 2 * y[:, None], y


def learned(items, rng, name="paper", X=None):
    numbers, y = items
    pairs = draw_pairs(240, 40, rng)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    if X is None:
        return MODELS[name].fit_pairs(numbers, pairs, labels)
    return scale.fit_pairs(MODELS[name], X, pairs, labels)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_of_blocks_is_the_fit_in_memory(items, name):
    """To the last digits, however the items are cut."""
    X = da.from_array(items[0], chunks=(70, 2))
    expected = learned(items, np.random.RandomState(1), name).get_mahalanobis_matrix()

    found = learned(items, np.random.RandomState(1), name, X)

    assert_allclose(found.get_mahalanobis_matrix(), expected, atol=1e-8)


@pytest.mark.parametrize("name", [*MODELS, "limited"])
def test_a_fit_of_partitions_is_the_fit_in_memory(
    items, rng, cluster, monkeypatch, name
):
    """Sums over partitions of pairs, with two workers: whatever the model."""
    monkeypatch.setattr(scale, "PARTITION", 700)
    monkeypatch.setattr(climbing, "MAX_PLACED", 500)
    if name == "limited":  # the free matrix is held to fewer directions
        monkeypatch.setattr(climbing, "MAX_SIDE", 5)
        monkeypatch.setattr(climbing, "N_FREE", 2)
    X, y = items
    pairs = all_pairs(240)[rng.permutation(28_680)[:2000]]
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    weights = rng.randint(0, 3, 2000)
    metric = clone(MODELS.get(name, MODELS["defaults"]))
    expected = clone(metric).fit_pairs(X, pairs, labels, weights)

    found = scale.fit_pairs(metric, da.from_array(X, chunks=50), pairs, labels, weights)

    assert found.n_free_ == expected.n_free_ == (2 if name == "limited" else 4)
    assert found.members_ == pytest.approx(expected.members_, abs=1e-8)
    assert_allclose(found.evidence_[-1], expected.evidence_[-1], atol=1e-8)
    assert_allclose(
        found.pair_probability(X, pairs), expected.pair_probability(X, pairs), atol=1e-8
    )


def test_nearest_rows_of_blocks_are_those_of_all(items, rng, cluster):
    """Each row with its three nearest by the metric, each pair once."""
    X, _ = items
    metric = learned(items, rng)
    Z = metric.transform(X)
    far = np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2))
    np.fill_diagonal(far, np.inf)
    near = np.argsort(far, axis=1)[:, :3]
    expected = np.sort(np.column_stack([np.repeat(np.arange(240), 3), near.ravel()]), 1)

    pairs, distances = scale.near_pairs(metric, da.from_array(X, chunks=70), 3)

    assert_array_equal(pairs, np.unique(expected, axis=0))
    assert_allclose(distances, far[pairs[:, 0], pairs[:, 1]], atol=1e-6)


def test_a_file_that_was_cut_short_is_named(items, tmp_path):
    """Rows that are no longer there are not made up."""
    np.save(tmp_path / "items.npy", items[0])
    mapped = np.load(tmp_path / "items.npy", mmap_mode="r")
    rows = blocks.Mapped(mapped)
    assert_array_equal(rows[np.array([5, 6, 2])], items[0][[5, 6, 2]])
    assert_array_equal(rows[10:20, 1:3], items[0][10:20, 1:3])
    os.truncate(tmp_path / "items.npy", 4000)

    with pytest.raises(InputError, match="items.npy ends before its last row"):
        rows[200:240]


def test_of_many_items_some_are_seen(items, rng):
    """Those of the pairs among them; the metric is one of the same items."""
    X, y = items
    pairs = draw_pairs(240, 60, rng)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric("eigen", prior="unit", random_state=0)

    found = scale.fit_pairs(metric, X, pairs, labels, n_seen=150)

    auc = found.pair_auc(X, pairs, labels)
    assert auc > 0.9 * metric.fit_pairs(X, pairs, labels).pair_auc(X, pairs, labels)


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_in_partitions_are_those_at_once(items, rng, monkeypatch, name):
    """Pairs in any order, rows of X in blocks."""
    monkeypatch.setattr(scale, "PARTITION", 300)
    metric = learned(items, rng, name)
    pairs = all_pairs(240)[rng.permutation(28_680)[:1000]]

    lazy = scale.pair_probability(metric, da.from_array(items[0], chunks=50), pairs)

    assert lazy.chunks == ((300, 300, 300, 100),)
    expected = metric.pair_probability(items[0], pairs)
    assert_allclose(lazy.compute(), expected, atol=1e-8)
    assert scale.pair_probability(metric, items[0], pairs[:0]).compute().shape == (0,)


@pytest.mark.parametrize("name", ["entropy", "mean-entropy"])
def test_the_best_pairs_of_blocks_are_those_of_brute_force(items, rng, name):
    """All two blocks of rows, exactly; the numbers are those of rows of X."""
    metric = learned(items, rng)
    X = da.from_array(items[0], chunks=70)

    found = scale.best_pairs(metric, X, 25, name, tolerance=0.0, random_state=0)

    pairs = all_pairs(240)
    gaps = metric.basis_.project(items[0])
    features = metric.basis_.features(gaps[pairs[:, 0]] - gaps[pairs[:, 1]])
    acquisition = acquisitions.find_acquisition(name)
    every = acquisition(metric.posterior_, features)
    assert_allclose(found.scores, np.sort(every)[::-1][:25], atol=1e-8)
    place = {tuple(pair): at for at, pair in enumerate(pairs.tolist())}
    places = [place[tuple(pair)] for pair in found.pairs.tolist()]
    assert_allclose(every[places], found.scores, atol=1e-8)
    assert found.searched.n_seen == found.searched.n_pairs == 28_680
    assert found.searched.shortfall == 0


def test_a_search_of_blocks_ends_when_nothing_can_be_better(items, rng, monkeypatch):
    """With a tolerance, most blocks are never read."""
    monkeypatch.setattr(scale, "WAVE", 1)
    monkeypatch.setattr(blocks, "WAVE", 1)
    metric = learned(items, rng)
    X = da.from_array(items[0], chunks=60)

    found = scale.best_pairs(metric, X, 1, tolerance=1e-3, random_state=0)

    assert found.searched.n_seen < found.searched.n_pairs / 2
    assert np.log(2) - found.scores[0] <= found.searched.shortfall <= 1e-3


def test_a_worker_killed_in_the_middle_changes_nothing(
    cluster, items, rng, monkeypatch
):
    """Its blocks are computed again elsewhere."""
    monkeypatch.setattr(scale, "PARTITION", 100)
    monkeypatch.setattr(scale, "_probability_of", slow_probability)
    metric = learned(items, rng)
    pairs = all_pairs(240)[rng.permutation(28_680)[:1000]]
    X = da.from_array(items[0], chunks=80)

    future = cluster.compute(scale.pair_probability(metric, X, pairs))
    pids = list(cluster.run(os.getpid).values())
    os.kill(pids[0], signal.SIGKILL)

    expected = metric.pair_probability(items[0], pairs)
    assert_allclose(future.result(timeout=120), expected, atol=1e-8)
    best = scale.best_pairs(metric, X, 5, tolerance=0.0, random_state=0)
    here = scale.best_pairs(metric, items[0], 5, tolerance=0.0, random_state=1)
    assert_allclose(best.scores, here.scores, atol=1e-8)


def test_what_was_written_is_not_computed_again(items, rng, monkeypatch, tmp_path):
    """A run that was stopped goes on where it was, and leaves no half files."""
    monkeypatch.setattr(scale, "PARTITION", 400)
    metric, X = learned(items, rng), items[0]
    pairs = all_pairs(240)[rng.permutation(28_680)[:1000]]
    told = []

    def stop(done, total):
        told.append((done, total))
        if len(told) == 2:
            raise RuntimeError("the machine stops here")

    with pytest.raises(RuntimeError, match="stops here"):
        scale.write_probabilities(metric, X, pairs, tmp_path, stop)
    first = (tmp_path / "part-000000.parquet").stat().st_mtime_ns
    paths = scale.write_probabilities(metric, X, pairs, tmp_path, lambda *a: None)

    assert told == [(1, 3), (2, 3)]
    assert sorted(tmp_path.iterdir()) == paths
    assert paths[0].stat().st_mtime_ns == first
    table = parquet.read_table(tmp_path)
    assert_array_equal(np.column_stack([table["i"], table["j"]]), np.sort(pairs))
    expected = metric.pair_probability(X, pairs)
    assert_allclose(table["p_same"], expected, atol=1e-8)


def test_a_file_on_disk_is_searched_in_blocks(items, rng, tmp_path):
    """A memory-mapped array, cut as Dask sees fit."""
    np.save(tmp_path / "items.npy", items[0])
    mapped = np.load(tmp_path / "items.npy", mmap_mode="r")
    metric = learned(items, rng)

    found = scale.best_pairs(metric, mapped, 3, tolerance=0.0, random_state=0)

    here = scale.best_pairs(metric, items[0], 3, tolerance=0.0, random_state=0)
    assert_array_equal(found.pairs, here.pairs)
    pairs = draw_pairs(200, 50, rng)
    lazy = scale.pair_probability(metric, mapped[40:], pairs)
    assert_allclose(lazy.compute(), metric.pair_probability(items[0], pairs + 40))


def test_what_cannot_be_searched_is_named(items, rng):
    metric = learned(items, rng)

    with pytest.raises(InputError, match="must have two dimensions. Got 1"):
        scale.best_pairs(metric, np.zeros(3))
    with pytest.raises(InputError, match="at least two rows. Got 1"):
        scale.best_pairs(metric, items[0][:1])
