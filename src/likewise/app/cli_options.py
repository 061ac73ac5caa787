"""Options that several commands share, and how commands print."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_ANNOTATOR = "me"
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


def print_json(**values: Any) -> None:
    """Print one line of JSON for programs."""
    click.echo(json.dumps({"ok": True, **values}, ensure_ascii=False))


def print_skipped(skipped: list[tuple[str, str]]) -> None:
    """List on stderr what became no item."""
    for name, reason in skipped:
        click.echo(f"Skipped {name}: {reason}", err=True)


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
