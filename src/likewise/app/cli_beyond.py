"""The command for items beyond memory: P(same) of pairs to Parquet files."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise import InputError, load, scale
from likewise.app.cli_options import as_json, file_option, print_json
from likewise.errors import MissingExtraError


@click.command()
@click.argument("metric", type=click.Path(path_type=Path))
@click.argument("items", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@file_option("--pairs", "A .npy file of pairs: two row numbers each.")
@click.option("--near", type=click.IntRange(1), help="Or each item with so many.")
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler: tcp://HOST:8786.")
@as_json
def probabilities(
    metric: Path,
    items: Path,
    folder: Path,
    pairs: Path | None,
    near: int | None,
    dask: str | None,
    is_json: bool,
) -> None:
    """Write P(same) of pairs of items to Parquet files in FOLDER.

    METRIC is a .metric file, ITEMS a .npy file of their numbers, which need not fit in
    memory. A run that was stopped goes on where it was. With --dask the work is done by
    the workers of a scheduler, which must see the files by the same names.

    Example: likewise probabilities photos.metric items.npy p_same --near 10
    """
    if (pairs is None) == (near is None):
        raise InputError("Either --pairs or --near must be given, and not both.")
    learned, X = load(metric), _mapped(items)
    with _client(dask):
        some = _mapped(pairs) if pairs is not None else _near(learned, X, near or 1)
        shows = sys.stderr.isatty()
        written = scale.write_probabilities(
            learned, X, some, folder, _report if shows else lambda done, total: None
        )
    if is_json:
        print_json(files=[str(each) for each in written], n_pairs=len(some))
    else:
        click.echo(f"{folder}: {len(some):,} pairs in {len(written)} files.")


def _near(metric: Any, X: Any, n_near: int) -> Any:
    return scale.near_pairs(metric, X, n_near)[0]


def _mapped(path: Path) -> Any:
    """The array of a file, which is not read into memory."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} holds no array of numbers: {error}") from error


def _client(address: str | None) -> AbstractContextManager[Any]:
    """A connection to a scheduler, or none."""
    if address is None:
        return nullcontext()
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("Work on a Dask cluster", "dask") from error
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"There is no Dask scheduler at {address}: {error}. "
            "Start one with: dask scheduler."
        ) from error


def _report(done: int, total: int) -> None:
    click.echo(f"\r{done:,} of {total:,} files", err=True, nl=done == total)
