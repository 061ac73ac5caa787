"""The commands of the tool: each parses, calls and prints.

Results go to stdout, progress to stderr.
"""

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import click

from likewise import InputError
from likewise.app import items, tables
from likewise.app.inputs import (
    LABELS,
    PURPOSES,
    check_annotator,
    check_seconds,
    check_task,
)
from likewise.app.insight import Insight, Progress
from likewise.app.items import Built, Features
from likewise.app.project import Project
from likewise.app.records import Question, describe_features
from likewise.app.store import now
from likewise.app.trouble import is_writable
from likewise.app.writer import Writer
from likewise.features.choosing import find_embedding

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_ANNOTATOR = "me"
ONE_SOURCE = (
    "A project must have one source: --images FOLDER, --audio FOLDER, --table FILE, "
    "--texts FILE, --vectors FILE, or --digits to try it out."
)
as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON.")
annotator_option = click.option(
    "--annotator", default=DEFAULT_ANNOTATOR, metavar="NAME", help="Who answers."
)
project_argument = click.argument("project", type=click.Path(path_type=Path))

features_option = click.option(
    "--features",
    metavar="NAME",
    help="What makes numbers of the items: builtin, paper, onnx:FILE, timm:NAME, "
    "st:NAME, a file of vectors, or column:NAME. [builtin]",
)
download_option = click.option(
    "--download", is_flag=True, help="Allow fetching a model's weights."
)


def file_option(name: str, words: str) -> Callable[[Command], Command]:
    """Make an option that takes a path."""
    return click.option(name, type=click.Path(path_type=Path), help=words)


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


def print_skipped(skipped: list[tuple[str, str]]) -> None:
    """List on stderr what became no item."""
    for name, reason in skipped:
        click.echo(f"Skipped {name}: {reason}", err=True)


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


def choose_features(name: str | None, kind: str, is_download: bool) -> Features:
    """What a name given to --features stands for."""
    name = "builtin" if name is None else name
    if name.startswith("column:"):
        raise InputError(f"'--features {name}' needs '--table'.")
    if Path(name).suffix.lower() in tables.VECTOR_FILES and ":" not in name:
        return tables.read_ready(Path(name))
    return find_embedding(name, kind, is_download=is_download)


def progress_bar(things: Iterable[Any], n_things: int) -> Iterator[Any]:
    """Show on stderr how far the reading has come."""
    from rich.console import Console
    from rich.progress import track

    yield from track(
        things,
        "Reading",
        total=n_things,
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


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


@click.command()
@project_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="[8765, or a free one if taken]"
)
@click.option(
    "--annotator",
    "annotators",
    multiple=True,
    metavar="NAME",
    help="Who answers; repeat it for one address a person.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@as_json
def label(
    project: Path,
    host: str,
    port: int | None,
    annotators: tuple[str, ...],
    no_browser: bool,
    is_json: bool,
) -> None:
    """Open the labelling page of a project in the browser.

    The page is served to this computer alone, until you press Ctrl+C.

    Example: likewise label photos.likewise
    """
    from likewise.app.web.launching import launch, leading_page
    from likewise.app.web.server import serve

    names = _check_names(annotators)

    def announce(addresses: list[str]) -> None:
        if is_json:
            print_json(
                project=str(project), addresses=dict(zip(names, addresses, strict=True))
            )
        else:
            for name, address in zip(names, addresses, strict=True):
                who = f" for {name}" if len(names) > 1 else ""
                click.echo(f"Open{who}: {address}")
            click.echo("Stop with Ctrl+C. Every answer is saved at once.", err=True)
        sys.stdout.flush()
        if not no_browser:
            launch(leading, addresses[0])

    with leading_page(project) as leading:
        serve(project, host=host, port=port, annotators=names, announce=announce)


def _check_names(given: tuple[str, ...]) -> list[str]:
    """Names of the annotators, each once."""
    names = [check_annotator(name) for name in given or (DEFAULT_ANNOTATOR,)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"'--annotator' must name each once. Got {twice!r} twice.")
    return names


@click.command()
@project_argument
@annotator_option
@click.option("--why", is_flag=True, help="Say why this pair is asked.")
@as_json
def ask(project: Path, annotator: str, why: bool, is_json: bool) -> None:
    """Print the open question of a project.

    Example: likewise ask photos.likewise --json
    """
    with Project.open(project) as opened:
        question = opened.question(annotator)
        _print_question(opened, question, why, is_json)


@click.command()
@project_argument
@click.argument("answer", type=click.Choice([*LABELS, "undo"]))
@annotator_option
@click.option("--question", "number", type=int, help="Its number. [the open one]")
@click.option("--seconds", type=float, help="How long the answer took.")
@click.option("--why", is_flag=True, help="Say why the next pair is asked.")
@as_json
def answer(
    project: Path,
    answer: str,
    annotator: str,
    number: int | None,
    seconds: float | None,
    why: bool,
    is_json: bool,
) -> None:
    """Answer the open question and print the next one.

    Example: likewise answer photos.likewise same
    """
    with Project.open(project) as opened:
        if answer == "undo":
            opened.undo(annotator)
        else:
            if number is None:
                question = opened.question(annotator)
                if question is None:
                    raise InputError("Every pair is known: there is nothing to answer.")
                number = question.id
            opened.answer(number, LABELS[answer], annotator, check_seconds(seconds))
        _print_question(opened, opened.question(annotator), why, is_json)


@click.command()
@project_argument
@as_json
def status(project: Path, is_json: bool) -> None:
    """Print how far a project has come, and who answered.

    Example: likewise status photos.likewise
    """
    with Project.open(project, read_only=not is_writable(project)) as opened:
        insight = Insight(opened)
        progress, people = insight.progress(), insight.people()
        if is_json:
            print_json(
                project=str(project),
                **{key: opened.settings[key] for key in ("kind", "n_items", "seed")},
                features=opened.settings.get("features"),
                **asdict(progress),
                annotators=[asdict(person) for person in people],
            )
            return
        click.echo(f"{project}: {opened.settings['n_items']:,} items")
        click.echo(f"Features: {describe_features(opened.settings)}")
        click.echo(_describe(progress))
        for person in people:
            agrees = (
                f", agrees with others on {person.agreement:.0%} of {person.n_shared}"
                if person.agreement is not None
                else ""
            )
            click.echo(f"  {person.name}: {person.n_answers} answers{agrees}")


def _describe(progress: Progress) -> str:
    lines = [
        f"{progress.n_answers} answers: {progress.n_same} same, "
        f"{progress.n_different} different, {progress.n_unsure} unsure; "
        f"{progress.n_saved} known without asking",
    ]
    if progress.n_contradictions:
        lines.append(f"{progress.n_contradictions} contradictions to settle")
    for figure in progress.figures:
        lines.append(
            f"{figure.value:.0%} {figure.words} ({figure.low:.0%} to {figure.high:.0%})"
        )
    for who in progress.looks_random:
        lines.append(f"The answers of {who} look random")
    return "\n".join([*lines, progress.words])


def _print_question(
    project: Project, question: Question | None, why: bool, is_json: bool
) -> None:
    if question is None:
        if is_json:
            print_json(question=None)
        else:
            click.echo("Every pair is known: there is nothing left to ask.")
        return
    left, right = project.item(question.left), project.item(question.right)
    reason = project.why(question.pair) if why else None
    if is_json:
        shown = {
            "id": question.id,
            "left": asdict(left),
            "right": asdict(right),
            "annotator": question.annotator,
            "asked": question.asked,
            "model_version": question.model_version,
        }
        print_json(question=shown, **({"why": str(reason)} if reason else {}))
        return
    click.echo(f"Question {question.id}: same or different?")
    for item in (left, right):
        click.echo(f"  {item.name}")
        for name, value in (item.fields or {}).items():
            click.echo(f"      {name}: {value}")
        if item.text:
            click.echo(f"      {item.text}")
    if reason:
        click.echo(str(reason))


def print_json(**values: Any) -> None:
    """Print one line of JSON for programs."""
    click.echo(json.dumps({"ok": True, **values}, ensure_ascii=False))


@click.command(hidden=True)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen.")
def demo_serve(no_browser: bool, port: int | None) -> None:
    """Open the labelling page on handwritten digits.

    Example: likewise demo-serve
    """
    path = Path("digits.likewise")
    if not path.exists():
        new.main([str(path), "--digits", "--seed", "1"], standalone_mode=False)
    arguments = [str(path)] + ["--no-browser"] * no_browser
    if port is not None:
        arguments += ["--port", str(port)]
    label.main(arguments, standalone_mode=False)
