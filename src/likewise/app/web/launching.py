"""Opens the browser without telling other programs the token."""

import html
import os
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Self

import click


class LeadingPage:
    """A page beside the project that leads to an address; it goes at the end.

    Everybody on a computer can read the command lines of all programs: a browser is
    started with the name of this page, which only its owner can read.
    """

    def __init__(self, project: Path) -> None:
        self.path = project.with_name(project.name + "-open.html")
        self._is_ours = False  # and not that of a server that runs already

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_ours:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def open(self, address: str) -> None:
        """Write the page, and open it in the browser."""
        try:
            self._write(address)
        except OSError as error:
            click.echo(
                f"The browser was not opened: {self.path} cannot be written "
                f"({error.strerror}). Open the address above.",
                err=True,
            )
            return
        name = self.path.absolute().as_uri()
        if click.launch(name) != 0:
            webbrowser.open(name)

    def _write(self, address: str) -> None:
        self.path.unlink(missing_ok=True)
        number = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._is_ours = True
        with open(number, "w", encoding="utf-8") as file:
            goal = html.escape(address, quote=True)
            file.write(
                '<!doctype html><meta charset="utf-8"><title>likewise</title>'
                f'<meta http-equiv="refresh" content="0;url={goal}">'
                f'<a href="{goal}">Open the page</a>\n'
            )
