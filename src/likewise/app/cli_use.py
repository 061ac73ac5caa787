"""The commands that use what was learned: search, the metric and places in files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise import BayesianMetric, Neighbours
from likewise.app.cli_options import (
    as_json,
    download_option,
    print_json,
    project_argument,
)
from likewise.app.project import Project
from likewise.app.records import Item
from likewise.app.searching import find_start
from likewise.app.trouble import is_writable
from likewise.using.exports import export_metric as write_metric
from likewise.using.exports import export_vectors

# Letters of a text that are shown beside its name.
SHOWN = 60


@click.command()
@project_argument
@click.argument("item")
@click.option(
    "-k", "k", type=click.IntRange(1), default=12, show_default=True, help="How many."
)
@download_option
@as_json
def search(project: Path, item: str, k: int, download: bool, is_json: bool) -> None:
    """Print the items nearest to one, or to a new file, by the learned metric.

    ITEM is the name of an item or a file; a file gets its numbers as the items of the
    project got theirs.

    Example: likewise search photos.likewise ~/new/bird.jpg -k 12
    """
    with _opened(project) as opened:
        start = find_start(opened, item, is_download=download)
        neighbours = Neighbours(_learned(opened), opened.X)
        rows, *numbers = neighbours.query(start.asked, k)
        items = [opened.item(int(row)) for row in rows[0]]
    found = [
        {"name": near.name, "distance": far, "p_same": p_same, "confidence": sure}
        for near, far, p_same, sure in zip(
            items, *(column[0].tolist() for column in numbers), strict=True
        )
    ]
    if is_json:
        print_json(item=start.name, is_new=start.row is None, found=found)
        return
    click.echo(f"Nearest to {start.name}{' (new)' if start.row is None else ''}:")
    click.echo(f"{'distance':>10}  P(same)  in true top {len(found)}")
    for one, near in zip(found, items, strict=True):
        click.echo(
            f"{one['distance']:10.3f}  {one['p_same']:7.2f}  {one['confidence']:14.2f}"
            f"  {_told(near)}"
        )


def _told(item: Item) -> str:
    """The name of an item, and the beginning of what it says where it is text."""
    words = item.text or ", ".join((item.fields or {}).values())
    words = " ".join(words.split())
    if not words or words == item.name:
        return item.name
    return f"{item.name}: {words if len(words) <= SHOWN else words[: SHOWN - 1] + '…'}"


@click.command()
@project_argument
@click.argument("file", type=click.Path(path_type=Path))
@as_json
def export_metric(project: Path, file: Path, is_json: bool) -> None:
    """Write the learned metric to a .npz, .json, .onnx, .metric or .sql file.

    .metric holds all, for likewise.load; the others hold the linear map. .sql makes
    tables and a search for PostgreSQL with pgvector, the items included.

    Example: likewise export-metric photos.likewise photos.onnx
    """
    with _opened(project) as opened:
        metric = _learned(opened)
        names, X, extra = opened.names, opened.X, _ways(opened)
    write_metric(metric, file, X=X, names=names, extra=extra)
    n_components, n_features = metric.components_.shape
    if is_json:
        print_json(file=str(file), n_features=n_features, n_components=n_components)
    else:
        click.echo(f"{file}: {n_features} numbers an item to {n_components}.")


@click.command()
@project_argument
@click.argument("file", type=click.Path(path_type=Path))
@as_json
def vectors(project: Path, file: Path, is_json: bool) -> None:
    """Write where all items lie by the learned metric: Euclidean distance is it.

    To a .npy or .parquet file, or into a ready index: .faiss or .usearch. The items'
    names stand in the .parquet file, else in FILE.names.json beside it.

    Example: likewise vectors photos.likewise photos.parquet
    """
    with _opened(project) as opened:
        places, names = _learned(opened).transform(opened.X), opened.names
    written = export_vectors(places, file, names)
    if is_json:
        print_json(files=[str(one) for one in written], shape=list(places.shape))
    else:
        n_items, size = places.shape
        shown = " and ".join(str(one) for one in written)
        click.echo(f"{shown}: {n_items:,} items of {size} numbers.")


def _opened(project: Path) -> Project:
    return Project.open(project, read_only=not is_writable(project))


def _learned(project: Project) -> BayesianMetric:
    """The metric of all answers; learning may take a while, and says so."""
    with _waiting(f"Learning from {len(project.current_answers())} answers"):
        return project.learner().metric_


@contextmanager
def _waiting(words: str) -> Iterator[None]:
    """Show on a terminal that something is being done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


def _ways(project: Project) -> dict[str, Any]:
    """What the vectors of an embedding went through before the metric saw them."""
    extra: dict[str, Any] = {}
    settings, projection = project.settings, project.store.projection()
    if settings.get("feature_names"):
        extra["feature_names"] = np.array(settings["feature_names"], dtype=str)
    if settings.get("features"):
        extra["embedding"] = settings["features"]["name"]
        extra["embedding_digest"] = settings["features"]["digest"]
    if projection is not None:
        extra["embedding_is_direction"] = projection.is_direction
        extra["embedding_mean"] = projection.mean
        extra["embedding_components"] = projection.components
    return extra
