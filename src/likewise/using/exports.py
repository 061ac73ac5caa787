"""The metric and the items' places in files that other tools read.

A metric is a linear map: numpy's .npz, .json, .onnx or SQL for pgvector say the same.
Places are what `transform` gives; indexes of faiss and usearch hold them ready.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError, MissingExtraError, StoreError
from likewise.using.neighbours import EXACT, usearch_index

Array = NDArray[np.float64]
PathLike = str | os.PathLike[str]

METRIC_FILES = (".npz", ".json", ".onnx", ".metric", ".sql")
VECTOR_FILES = (".npy", ".parquet", ".faiss", ".usearch")
# What pgvector takes: numbers in a vector, and in one that an index holds.
MAX_VECTOR, MAX_INDEXED = 16_000, 2_000
ROWS_AN_INSERT = 200
# Links a place has in faiss' graph, which serves above EXACT items.
N_LINKS = 32


class Metric(Protocol):
    """What an export needs of a fitted metric."""

    components_: Array
    threshold_: float

    def transform(self, X: ArrayLike) -> Array:
        """Map items to where Euclidean distance is the learned metric."""

    def save(self, path: PathLike) -> None:
        """Write everything to a file."""


def export_metric(
    metric: Metric,
    path: PathLike,
    *,
    X: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Write a metric to a .npz, .json, .onnx, .metric or .sql file.

    Parameters
    ----------
    metric : BayesianMetric
        A fitted one.
    path : str or path
        Its suffix says what is written.
    X : array of shape (n_items, n_features), optional
        Items that the SQL puts into its table.
    names : sequence of str, optional
        Their names; by default their row numbers.
    extra : dict, optional
        Further values and arrays that .npz and .json keep, such as what an embedding's
        vectors went through before.
    """
    path = _check_suffix(path, METRIC_FILES)
    if path.suffix == ".metric":
        metric.save(path)
    elif path.suffix == ".npz":
        _write(path, lambda: np.savez(path, **_contents(metric, extra)))
    elif path.suffix == ".json":
        contents = {k: _listed(v) for k, v in _contents(metric, extra).items()}
        _write(path, lambda: path.write_text(json.dumps(contents, allow_nan=False)))
    elif path.suffix == ".onnx":
        data = onnx_map(metric)
        _write(path, lambda: path.write_bytes(data))
    else:
        parts = pgvector_sql(metric, X, names)
        _write(path, lambda: _write_parts(path, parts))


def export_vectors(
    vectors: ArrayLike, path: PathLike, names: Sequence[str] | None = None
) -> list[Path]:
    """Write places to a .npy or .parquet file, or an index (.faiss, .usearch).

    In single precision, a row an item. Only .parquet holds names; beside the others
    stands a list of them, FILE.names.json. Gives the files that were written.
    """
    path = _check_suffix(path, VECTOR_FILES)
    places = np.ascontiguousarray(vectors, dtype=np.float32)
    names = _check_names(names, len(places))
    if path.suffix == ".parquet":
        _write_parquet(path, places, names)
        return [path]
    if path.suffix == ".npy":
        _write(path, lambda: np.save(path, places))
    elif path.suffix == ".faiss":
        _write_faiss(path, places)
    else:
        index = usearch_index(np.asarray(vectors, dtype=float))
        _write(path, lambda: index.save(str(path)))
    beside = path.with_name(path.name + ".names.json")
    text = json.dumps(list(names), ensure_ascii=False)
    _write(beside, lambda: beside.write_text(text, encoding="utf-8"))
    return [path, beside]


def onnx_map(metric: Metric) -> bytes:
    """The linear map as an ONNX model: "items" (n, d) to "places" (n, r).

    Both in single precision; the product is formed in double.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ModuleNotFoundError as error:
        raise MissingExtraError("Writing ONNX", "embed") from error
    L = np.asarray(metric.components_, dtype=np.float64)
    nodes = [
        helper.make_node("Cast", ["items"], ["wide"], to=TensorProto.DOUBLE),
        helper.make_node("MatMul", ["wide", "map"], ["product"]),
        helper.make_node("Cast", ["product"], ["places"], to=TensorProto.FLOAT),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in (("items", L.shape[1]), ("places", L.shape[0]))
    ]
    weights = [numpy_helper.from_array(np.ascontiguousarray(L.T), "map")]
    graph = helper.make_graph(nodes, "likewise", ends[:1], ends[1:], weights)
    model = helper.make_model(
        graph,
        producer_name="likewise",
        producer_version=version("likewise"),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,  # what runtimes of some years ago read too
    )
    helper.set_model_props(model, {"threshold": repr(float(metric.threshold_))})
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


def pgvector_sql(
    metric: Metric, X: ArrayLike | None = None, names: Sequence[str] | None = None
) -> Iterator[str]:
    """SQL for PostgreSQL with pgvector, part by part: the map, a table, a search.

    `likewise_map(vector)` maps an item, `likewise_search(vector, k)` finds the nearest.
    With X the table holds these items.
    """
    n_components, n_features = metric.components_.shape
    if n_features > MAX_VECTOR:
        raise InputError(
            f"A vector of pgvector has at most {MAX_VECTOR:,} numbers. "
            f"Got items of {n_features:,}."
        )
    yield SCHEMA.format(version=version("likewise"), d=n_features, r=n_components)
    rows = ((str(number), row) for number, row in enumerate(metric.components_))
    yield from _inserts("likewise_components (number, weights)", rows)
    if X is not None:
        items = np.asarray(X, dtype=float)
        told = map(_quoted, _check_names(names, len(items)))
        pairs = zip(told, items, strict=True)
        yield from _inserts("likewise_items (name, features)", pairs)
    if n_components <= MAX_INDEXED:
        yield INDEX
    yield "COMMIT;\n" + EXAMPLES


SCHEMA = """\
-- Written by likewise {version}. Needs PostgreSQL with pgvector 0.5 or newer.
-- Euclidean distance between places is the learned metric.
BEGIN;
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE likewise_components (
    number integer PRIMARY KEY,
    weights vector({d}) NOT NULL
);

-- The linear map: an item's features to its place.
CREATE FUNCTION likewise_map(vector) RETURNS vector
LANGUAGE sql STABLE STRICT AS $$
    SELECT array_agg(-(weights <#> $1) ORDER BY number)::vector
    FROM likewise_components
$$;

CREATE TABLE likewise_items (
    name text PRIMARY KEY,
    features vector({d}) NOT NULL,
    place vector({r})
);

-- Every item gets its place by itself, now and later.
CREATE FUNCTION likewise_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.place := likewise_map(NEW.features);
    RETURN NEW;
END
$$;
CREATE TRIGGER likewise_place BEFORE INSERT OR UPDATE OF features ON likewise_items
FOR EACH ROW EXECUTE FUNCTION likewise_place();

-- The nearest items, whether the one asked about is in the table or not.
CREATE FUNCTION likewise_search(vector, integer)
RETURNS TABLE (name text, distance double precision)
LANGUAGE sql STABLE AS $$
    SELECT item.name, item.place <-> likewise_map($1)
    FROM likewise_items AS item
    ORDER BY item.place <-> likewise_map($1)
    LIMIT $2
$$;

"""
INDEX = """
CREATE INDEX likewise_places ON likewise_items USING hnsw (place vector_l2_ops);
"""
EXAMPLES = """
-- The 12 nearest to an item of the table, itself included:
--   SELECT * FROM likewise_search(
--       (SELECT features FROM likewise_items WHERE name = 'a name'), 12);
"""


def _inserts(into: str, rows: Iterable[tuple[str, Array]]) -> Iterator[str]:
    """INSERT statements of some rows each; the first value is SQL already."""
    waiting: list[str] = []
    for first, numbers in rows:
        vector = ",".join(f"{number:.9g}" for number in numbers.tolist())
        waiting.append(f"({first}, '[{vector}]')")
        if len(waiting) == ROWS_AN_INSERT:
            yield f"INSERT INTO {into} VALUES\n" + ",\n".join(waiting) + ";\n"
            waiting = []
    if waiting:
        yield f"INSERT INTO {into} VALUES\n" + ",\n".join(waiting) + ";\n"


def _quoted(name: str) -> str:
    """A text of SQL, whatever it holds; PostgreSQL has no place for NUL."""
    plain = name.replace("\0", "").replace("'", "''").replace("\\", "\\\\")
    return f"E'{plain}'"


def _contents(metric: Metric, extra: dict[str, Any] | None) -> dict[str, Any]:
    contents = {
        "components": metric.components_,
        "threshold": float(metric.threshold_),
        "likewise": version("likewise"),
    }
    names = getattr(metric, "feature_names_in_", None)
    if names is not None:
        contents["feature_names"] = np.asarray(names, dtype=str)
    return contents | (extra or {})


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _write_parquet(path: Path, places: NDArray[np.float32], names: Any) -> None:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError("Writing parquet", "parquet") from error
    flat = arrow.array(places.ravel())
    vectors = arrow.FixedSizeListArray.from_arrays(flat, places.shape[1])
    table = arrow.table({"name": arrow.array(list(names)), "vector": vectors})
    _write(path, lambda: parquet.write_table(table, path))


def _write_faiss(path: Path, places: NDArray[np.float32]) -> None:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise MissingExtraError("An index of faiss", "ann") from error
    size = places.shape[1]
    is_large = len(places) > EXACT
    index = faiss.IndexHNSWFlat(size, N_LINKS) if is_large else faiss.IndexFlatL2(size)
    index.add(places)
    _write(path, lambda: path.write_bytes(faiss.serialize_index(index).tobytes()))


def _write_parts(path: Path, parts: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(parts)


def _write(path: Path, write: Any) -> None:
    """Write, or say in a sentence why not."""
    try:
        write()
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"{path} cannot be written: {reason}.") from error


def _check_suffix(path: PathLike, known: tuple[str, ...]) -> Path:
    path = Path(path)
    if path.suffix not in known:
        raise InputError(
            f"The file must end in one of {', '.join(known)}. Got {path.name!r}."
        )
    return path


def _check_names(names: Sequence[str] | None, n_items: int) -> Sequence[str]:
    if names is None:
        return [str(number) for number in range(n_items)]
    if len(names) != n_items:
        raise InputError(
            f"There must be a name for each of the {n_items} items. Got {len(names)}."
        )
    return names
