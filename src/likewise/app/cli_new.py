"""The command that makes a project file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from likewise import InputError
from likewise.app import arrays, items, tables
from likewise.app.cli_options import (
    as_json,
    download_option,
    features_option,
    file_option,
    print_json,
    print_skipped,
    progress_bar,
    project_argument,
)
from likewise.app.inputs import PURPOSES, check_task
from likewise.app.items import Built, Features
from likewise.app.records import describe_features
from likewise.app.rows import now
from likewise.app.writer import Writer
from likewise.features.choosing import find_embedding

ONE_SOURCE = (
    "A project must have one source: --images FOLDER, --audio FOLDER, --table FILE, "
    "--texts FILE, --vectors FILE, or --digits to try it out."
)


@click.command()
@project_argument
@file_option("--images", "A folder of pictures.")
@file_option("--vectors", "Ready numbers: .npy, .npz, .parquet or .csv.")
@file_option("--table", "Rows to compare: .csv, .tsv, .xlsx or .parquet.")
@file_option("--audio", "A folder of wav files.")
@file_option("--texts", "A file with a text a line, or a table with --column.")
@click.option("--column", help="With --texts: the column of the table with the texts.")
@click.option("--sep", help="What separates the cells of a table. [found]")
@click.option("--encoding", help="How a table or text is encoded. [found]")
@click.option("--digits", is_flag=True, help="Handwritten digits, to try it out.")
@file_option("--thumbnails", "With --vectors: a folder with a picture a row.")
@click.option("--text", help="With --vectors: a column, or a file of lines, to show.")
@click.option("--id", "id_column", help="The column that names the items.")
@features_option
@download_option
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), help="Fixes all questions. [random]"
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(list(PURPOSES)),
    help="What the questions are for: items in groups, or a metric. [groups]",
)
@click.option("--acquisition", help="How pairs are chosen. [by --for]")
@click.option("--question", default="", help="What to ask, such as: Same person?")
@click.option("--instructions", default="", help="What explains the question.")
@as_json
def new(project: Path, is_json: bool, **options: Any) -> None:
    """Make a project file from pictures, vectors, a table, sounds or texts.

    If it is interrupted, the same command goes on where it stopped.

    Example: likewise new photos.likewise --images ~/holiday
    """
    seed = options.pop("seed")
    settings = {
        "seed": _random_seed() if seed is None else seed,
        "acquisition": _check_acquisition(
            options.pop("purpose"), options.pop("acquisition")
        ),
        **check_task(options.pop("question"), options.pop("instructions")),
        "likewise": version("likewise"),
        "created": now(),
    }
    with Writer(project) as writer, _resumable():
        built = _build(writer, **options)
        settings |= {
            "kind": built.kind,
            "feature_names": built.feature_names,
            "features": built.features,
        }
        folder = options["images"] or options["audio"]
        if folder is not None:
            settings["folder"] = items.readable(str(folder.absolute()))
        writer.finish(built.vectors, settings, built.projection)
    print_skipped(built.skipped)
    settings["n_features"] = built.vectors.shape[1]
    n_items, n_features = built.vectors.shape
    if is_json:
        print_json(
            project=str(project),
            kind=built.kind,
            n_items=n_items,
            n_features=n_features,
            features=built.features,
            skipped=[{"name": name, "reason": why} for name, why in built.skipped],
        )
        return
    skipped = f", {len(built.skipped)} skipped" if built.skipped else ""
    click.echo(f"{project}: {n_items:,} items of {n_features} numbers{skipped}.")
    click.echo(f"Features: {describe_features(settings)}")
    click.echo(f"Next: likewise label {project}")


@contextmanager
def _resumable() -> Iterator[None]:
    """Say that nothing is lost when a person interrupts.

    A system that ends the program asks for the same: no half file stays behind.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Stopped. The same command goes on from here.", err=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def choose_features(name: str | None, kind: str, is_download: bool) -> Features:
    """What a name given to --features stands for."""
    name = "builtin" if name is None else name
    if name.startswith("column:"):
        raise InputError(f"'--features {name}' needs '--table'.")
    if Path(name).suffix.lower() in arrays.VECTOR_FILES and ":" not in name:
        return arrays.read_ready(Path(name))
    return find_embedding(name, kind, is_download=is_download)


def _build(
    writer: Writer,
    *,
    images: Path | None,
    vectors: Path | None,
    table: Path | None,
    audio: Path | None,
    texts: Path | None,
    column: str | None,
    sep: str | None,
    encoding: str | None,
    digits: bool,
    thumbnails: Path | None,
    text: str | None,
    id_column: str | None,
    features: str | None,
    download: bool,
) -> Built:
    sources = [images, vectors, table, audio, texts, digits or None]
    n_sources = sum(source is not None for source in sources)
    if n_sources > 1:
        raise InputError(f"{ONE_SOURCE} Got several.")
    if column is not None and texts is None:
        raise InputError("'--column' needs '--texts'.")
    if (sep or encoding) is not None and (table or texts or vectors) is None:
        raise InputError("'--sep' and '--encoding' need --table, --texts or --vectors.")
    form = {"sep": sep, "encoding": encoding}
    if features is not None and (images or table or audio or texts) is None:
        raise InputError("'--features' needs --images, --table, --audio or --texts.")
    if (thumbnails is not None or text is not None) and vectors is None:
        raise InputError("'--thumbnails' and '--text' need '--vectors'.")
    if id_column is not None and vectors is None and table is None:
        raise InputError("'--id' needs '--vectors' or '--table'.")
    if images is not None:
        chosen = choose_features(features, "picture", download)
        return items.from_images(images, writer, progress_bar, chosen)
    if audio is not None:
        chosen = choose_features(features, "sound", download)
        return items.from_audio(audio, writer, progress_bar, chosen)
    if texts is not None:
        chosen = choose_features(features, "text", download)
        return tables.from_texts(texts, writer, chosen, column=column, **form)
    if table is not None:
        return _build_table(table, writer, features, download, id_column, form)
    if vectors is not None:
        return tables.from_vectors(
            vectors,
            writer,
            progress_bar,
            text=text,
            thumbnails=thumbnails,
            id_column=id_column,
            **form,
        )
    if not digits:
        raise InputError(f"{ONE_SOURCE} Got none.")
    return items.from_digits(writer)


def _build_table(
    path: Path,
    writer: Writer,
    features: str | None,
    download: bool,
    id_column: str | None,
    form: dict[str, str | None],
) -> Built:
    given: dict[str, Any] = {"id_column": id_column, **form}
    if features is not None and features.startswith("column:"):
        column = features.removeprefix("column:")
        return tables.from_table(path, writer, column=column, **given)
    chosen = None
    if features is not None:
        chosen = choose_features(features, "text", download)
    return tables.from_table(path, writer, features=chosen, **given)


def _random_seed() -> int:
    import secrets

    return secrets.randbelow(2**31 - 1)


def _check_acquisition(purpose: str | None, name: str | None) -> str:
    """How pairs are chosen; refuses now what the learner would refuse later."""
    import numpy as np

    from likewise import ActiveMetric

    if name is None:
        return PURPOSES[purpose or "groups"]
    if purpose is not None and (purpose == "groups") != (name == "groups"):
        raise InputError(
            f"'--acquisition {name}' does not ask for '--for {purpose}'. Give one."
        )
    ActiveMetric(np.eye(2), acquisition=name)
    return name
