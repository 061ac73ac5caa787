"""The commands that give out what was sorted."""

from pathlib import Path

import click

from likewise import InputError, StoreError
from likewise.app.cli_options import (
    as_json,
    file_option,
    print_json,
    progress_bar,
    project_argument,
)
from likewise.app.exchange import write_new
from likewise.app.folders import Written, check_empty, fill_folders, new_folder
from likewise.app.grouping import Found, Grouping
from likewise.app.project import Project
from likewise.app.results import group_lists, group_rows, write_results
from likewise.app.trouble import is_writable

FORMATS = (".csv", ".json", ".parquet")
N_LISTED = 20  # groups printed; the rest are counted


@click.command()
@project_argument
@file_option("--out", "A file of all items and their groups: .csv, .json or .parquet.")
@file_option("--folders", "A new folder, to get a folder of files for each group.")
@click.option(
    "--copy/--link",
    "is_copy",
    default=True,
    help="Copy the files into the folders, or link to them. [copy]",
)
@as_json
def groups(
    project: Path, out: Path | None, folders: Path | None, is_copy: bool, is_json: bool
) -> None:
    """Print the groups that the items are in; write them to a file or to folders.

    Nothing that is there is overwritten.

    Example: likewise groups photos.likewise --folders sorted
    """
    _check_out(out)
    if folders is not None:
        check_empty(folders)
    with Project.open(project, read_only=not is_writable(project)) as opened:
        found = Grouping(opened).found()
        if out is not None:
            is_lists = out.suffix.lower() == ".json"
            make = group_lists if is_lists else group_rows
            write_new(make(opened, found), out)
        written = None
        if folders is not None:
            with new_folder(folders) as place:
                written = fill_folders(opened, found, place, not is_copy, progress_bar)
        if is_json:
            print_json(project=str(project), **group_lists(opened, found))
            return
    click.echo(describe(found))
    if out is not None:
        click.echo(f"{out}: {len(found.labels):,} items.")
    if written is not None:
        click.echo(describe_folders(folders, written))


@click.command()
@project_argument
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="A new folder for all of it.",
)
@click.option(
    "--copy/--link",
    "is_copy",
    default=True,
    help="Copy the files into the folders of their groups, or link to them. [copy]",
)
@as_json
def finish(project: Path, out: Path, is_copy: bool, is_json: bool) -> None:
    """Write everything that a project has become into a new folder.

    Groups as tables and as folders of files, likely duplicates, answers, vectors in
    the learned space, the metric, and a report of one page.

    Example: likewise finish photos.likewise --out results
    """
    check_empty(out)
    with Project.open(project, read_only=not is_writable(project)) as opened:
        written, left_out = write_results(
            opened, out, is_link=not is_copy, progress=progress_bar
        )
    names = sorted(file.name for file in out.iterdir())
    if is_json:
        print_json(
            project=str(project), folder=str(out), files=names, left_out=left_out
        )
        return
    for words in left_out:
        click.echo(f"Left out {words}", err=True)
    click.echo(f"{out}: {', '.join(names)}")
    click.echo(describe_folders(out / "groups", written))
    click.echo(f"Open {out / 'report.html'} to see it.")


def _check_out(out: Path | None) -> None:
    """Refuse what could not be written before anything else is."""
    if out is None:
        return
    if out.suffix.lower() not in FORMATS:
        raise InputError(
            f"Groups must go to a .csv, .json or .parquet file. Got {out.name}."
        )
    if out.exists():
        raise StoreError(f"{out} exists already. Choose another name.")


def describe(found: Found) -> str:
    """The groups in a few lines, the largest first."""
    low, high = found.interval
    lines = [
        f"{len(found.groups):,} groups of {len(found.labels):,} items; "
        f"in their right group: {found.share_right:.0%} ({low:.0%} to {high:.0%})"
    ]
    for group in found.groups[:N_LISTED]:
        items = "item" if group.size == 1 else "items"
        lines.append(
            f"  {group.title}: {group.size:,} {items}, {group.confidence:.0%} sure"
        )
    n_left = len(found.groups) - N_LISTED
    return "\n".join([*lines, *([f"  and {n_left:,} more"] if n_left > 0 else [])])


def describe_folders(folder: Path | None, written: Written) -> str:
    """What was written, and what could not be the original."""
    words = f"{folder}: {written.n_files:,} files in {written.n_groups:,} folders."
    if written.n_shown:
        words += (
            f" {written.n_shown:,} of them are the small versions that the project "
            "keeps: the originals were not found."
        )
    return words
