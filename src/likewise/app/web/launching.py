"""Opens the browser without telling other programs the token."""

import html
import os
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click


@contextmanager
def leading_page(project: Path) -> Iterator[Path]:
    """Name a page beside the project that leads to an address; it goes at the end.

    Everybody on a computer can read the command lines of all programs: a browser is
    started with the name of this page, which only its owner can read.
    """
    path = project.with_name(project.name + "-open.html")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def launch(path: Path, address: str) -> None:
    """Write the page that leads to an address, and open it in the browser."""
    path.unlink(missing_ok=True)
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(number, "w", encoding="utf-8") as file:
        goal = html.escape(address, quote=True)
        file.write(
            '<!doctype html><meta charset="utf-8"><title>likewise</title>'
            f'<meta http-equiv="refresh" content="0;url={goal}">'
            f'<a href="{goal}">Open the page</a>\n'
        )
    name = path.absolute().as_uri()
    if click.launch(name) != 0:
        webbrowser.open(name)
