"""P(same) of pairs beyond memory, by the command line."""

import json

import numpy as np
import pytest
from distributed import LocalCluster
from numpy.testing import assert_allclose
from pyarrow import parquet

from likewise import BayesianMetric, scale
from likewise.__main__ import main


@pytest.fixture
def files(tmp_path, rng):
    """A metric, items, and pairs in files."""
    y = rng.randint(0, 3, 90)
    X = rng.normal(size=(90, 4)) + 3 * y[:, None]
    pairs = np.array([[i, i + 7] for i in range(80)])
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric("eigen", prior="unit", prior_precision=1.0)
    metric.fit_pairs(X, pairs, labels).save(tmp_path / "a.metric")
    np.save(tmp_path / "items.npy", X)
    np.save(tmp_path / "pairs.npy", pairs)
    return metric, X, pairs


def run(tmp_path, capsys, *options):
    names = [str(tmp_path / name) for name in ("a.metric", "items.npy", "out")]
    with pytest.raises(SystemExit, match=r"^[012]$") as stopped:
        main(["probabilities", *names, *map(str, options), "--json"])
    return stopped.value.code, json.loads(capsys.readouterr().out)


def test_given_pairs_are_written_in_partitions(files, tmp_path, capsys, monkeypatch):
    """The numbers are those of the metric itself."""
    monkeypatch.setattr(scale, "PARTITION", 50)
    metric, X, pairs = files

    code, said = run(tmp_path, capsys, "--pairs", tmp_path / "pairs.npy")

    assert (code, said["n_pairs"], len(said["files"])) == (0, 80, 2)
    table = parquet.read_table(tmp_path / "out").to_pandas()
    expected = metric.pair_probability(X, table[["i", "j"]].to_numpy())
    assert_allclose(table["p_same"], expected, atol=1e-8)


def test_workers_of_a_scheduler_do_it_alike(files, tmp_path, capsys):
    """Each item with its nearest, on a cluster of two."""
    metric, X, _ = files
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address
        code, said = run(tmp_path, capsys, "--near", 2, "--dask", address)

    pairs, _ = scale.near_pairs(metric, X, 2)
    assert (code, said["n_pairs"]) == (0, len(pairs))
    table = parquet.read_table(tmp_path / "out").to_pandas()
    assert_allclose(table["p_same"], metric.pair_probability(X, pairs), atol=1e-8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Either --pairs or --near must be given"),
        (["--near", 2, "--dask", "tcp://127.0.0.1:9"], "There is no Dask scheduler"),
        (["--pairs", "nowhere.npy"], "nowhere.npy holds no array"),
    ],
)
def test_what_is_missing_is_said(files, tmp_path, capsys, options, words):
    """In one sentence."""
    code, said = run(tmp_path, capsys, *options)

    assert code == 1
    assert words in said["error"]
