"""What other tools read is what `transform` gives, to the last digit they keep."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file

from likewise import BayesianMetric, InputError, StoreError
from likewise.using.exports import export_metric, export_vectors, pgvector_sql
from tests.using.postgres import postgres

NAMES = [f"item {k}" for k in range(60)]


@pytest.fixture
def metric(blobs):
    pairs, labels = [[0, 1], [0, 30], [25, 50], [2, 9]], [1, -1, -1, 1]
    return BayesianMetric(random_state=0).fit_pairs(blobs[0], pairs, labels)


def test_numpy_and_json_hold_the_map(metric, blobs, tmp_path):
    """With the threshold, and what else is given."""
    extra = {"embedding": "builtin", "embedding_mean": np.arange(3.0)}

    for suffix in ("npz", "json"):
        export_metric(metric, tmp_path / f"it.{suffix}", extra=extra)

    with np.load(tmp_path / "it.npz", allow_pickle=False) as arrays:
        by_numpy = dict(arrays)
    by_json = json.loads((tmp_path / "it.json").read_text())
    for found in (by_numpy, by_json):
        L = np.array(found["components"])
        assert_array_equal(blobs[0] @ L.T, metric.transform(blobs[0]))
        assert float(found["threshold"]) == metric.threshold_
        assert str(found["embedding"]) == "builtin"
        assert_array_equal(found["embedding_mean"], [0, 1, 2])


def test_names_of_features_are_kept(blobs, tmp_path):
    """Where the metric was fitted to a table."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(blobs[0], columns=list("abcde"))
    metric = BayesianMetric(random_state=0).fit_pairs(table, [[0, 1], [0, 40]], [1, -1])

    export_metric(metric, tmp_path / "it.json")

    assert json.loads((tmp_path / "it.json").read_text())["feature_names"] == [*"abcde"]


def test_a_metric_file_is_the_whole_metric(metric, tmp_path):
    """As `metric.save` writes it."""
    export_metric(metric, tmp_path / "it.metric")
    metric.save(tmp_path / "saved.metric")

    assert_array_equal(
        load_file(tmp_path / "it.metric")["components"],
        metric.components_.astype(np.float32),
    )
    assert (tmp_path / "it.metric").read_bytes() == (
        tmp_path / "saved.metric"
    ).read_bytes()


def test_onnx_gives_what_transform_gives(metric, blobs, tmp_path):
    """In onnxruntime, any number of items at once."""
    runtime = pytest.importorskip("onnxruntime")
    export_metric(metric, tmp_path / "it.onnx")

    session = runtime.InferenceSession(str(tmp_path / "it.onnx"))

    for n_items in (1, 60):
        items = blobs[0][:n_items].astype(np.float32)
        (places,) = session.run(None, {"items": items})
        assert places.dtype == np.float32
        assert_array_equal(places, metric.transform(items).astype(np.float32))
    kept = session.get_modelmeta().custom_metadata_map
    assert float(kept["threshold"]) == metric.threshold_


def test_arrays_and_tables_hold_the_places(metric, blobs, tmp_path):
    """Single precision, in the order of the items, with their names."""
    places = metric.transform(blobs[0])

    written = export_vectors(places, tmp_path / "it.npy", NAMES)
    export_vectors(places, tmp_path / "it.parquet", NAMES)

    assert_array_equal(np.load(written[0]), places.astype(np.float32))
    assert json.loads(written[1].read_text()) == NAMES
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "it.parquet").to_pydict()
    assert table["name"] == NAMES
    assert_array_equal(np.array(table["vector"]), places.astype(np.float32))


def nearest(places, query, k=5):
    return np.argsort(np.linalg.norm(places - places[query], axis=1))[:k]


def test_a_faiss_index_is_ready(metric, blobs, tmp_path):
    """Read by faiss, it finds what is nearest, at squared distances."""
    faiss = pytest.importorskip("faiss")
    places = metric.transform(blobs[0])

    written = export_vectors(places, tmp_path / "it.faiss")

    index = faiss.read_index(str(tmp_path / "it.faiss"))
    squared, rows = index.search(places[[7, 50]].astype(np.float32), 5)
    for query, found, apart in zip((7, 50), rows, squared, strict=True):
        assert_array_equal(found, nearest(places, query))
        gaps = places[found] - places[query]
        assert_allclose(apart, (gaps**2).sum(axis=1), atol=1e-4)
    assert json.loads(written[1].read_text()) == [str(k) for k in range(60)]


def test_a_usearch_index_is_ready(metric, blobs, tmp_path):
    """Restored by usearch, without knowing how it was made."""
    index = pytest.importorskip("usearch.index")
    places = metric.transform(blobs[0])

    export_vectors(places, tmp_path / "it.usearch", NAMES)

    restored = index.Index.restore(str(tmp_path / "it.usearch"))
    found = restored.search(places[7].astype(np.float32), 5)
    assert_array_equal(found.keys, nearest(places, 7))


def test_pgvector_searches_by_the_learned_metric(metric, blobs, tmp_path):
    """In a real server: map, table, search, and an item that comes later."""
    X = blobs[0]
    names = [*NAMES[:58], "it's a 'quote'", "back\\slash; DROP TABLE x; -- ü\n"]
    export_metric(metric, tmp_path / "it.sql", X=X, names=names)

    with postgres() as run:
        run((tmp_path / "it.sql").read_text())

        new = "[" + ",".join(str(x) for x in X[7]) + "]"
        (mapped,) = run(f"SELECT likewise_map('{new}')")
        places = metric.transform(X)
        assert_allclose(json.loads(mapped[0]), places[7], rtol=1e-5, atol=1e-5)
        found = run(f"SELECT * FROM likewise_search('{new}', 5)")
        assert [name for name, _ in found] == [names[k] for k in nearest(places, 7)]
        apart = np.linalg.norm(places[nearest(places, 7)] - places[7], axis=1)
        assert_allclose([float(far) for _, far in found], apart, atol=1e-4)
        kept = run("SELECT to_json(name) FROM likewise_items")
        assert {json.loads(name) for (name,) in kept} == set(names)
        run(f"INSERT INTO likewise_items (name, features) VALUES ('later', '{new}')")
        later = run("SELECT place <-> likewise_map(features) FROM likewise_items")
        assert_allclose([float(off) for (off,) in later], 0, atol=1e-6)
        assert len(later) == 61


def test_sql_without_items_is_map_and_search_alone(metric):
    """An empty table, to be filled from elsewhere."""
    text = "".join(pgvector_sql(metric))

    assert "INSERT INTO likewise_items" not in text
    assert text.count("INSERT INTO likewise_components") == 1
    assert "USING hnsw (place vector_l2_ops)" in text


def test_other_suffixes_and_places_get_a_sentence(metric, tmp_path):
    """What can be written, and where not."""
    with pytest.raises(InputError, match=r"one of .npz, .json, .*Got 'it.xls'"):
        export_metric(metric, tmp_path / "it.xls")
    with pytest.raises(InputError, match=r"one of .npy, .parquet.*Got 'it'"):
        export_vectors(np.eye(2), tmp_path / "it")
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        export_metric(metric, tmp_path / "nowhere" / "it.npz")
    with pytest.raises(InputError, match="a name for each of the 2 items. Got 1"):
        export_vectors(np.eye(2), tmp_path / "it.npy", ["a"])
