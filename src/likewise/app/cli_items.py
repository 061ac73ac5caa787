"""The command that adds items to a project."""

from pathlib import Path

import click

from likewise import InputError
from likewise.app.adding import add_files
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
from likewise.app.holding import only_server
from likewise.app.trouble import check_writable


@click.command()
@project_argument
@file_option("--images", "A folder of pictures.")
@file_option("--audio", "A folder of wav files.")
@features_option
@download_option
@as_json
def add(
    project: Path,
    images: Path | None,
    audio: Path | None,
    features: str | None,
    download: bool,
    is_json: bool,
) -> None:
    """Add the pictures or sounds of a folder that a project does not have yet.

    They get their numbers by the features of the project; others are refused.

    Example: likewise add photos.likewise --images ~/holiday
    """
    if (images is None) == (audio is None):
        raise InputError("Items must come from one of --images and --audio.")
    kind, folder = ("picture", images) if images is not None else ("sound", audio)
    assert folder is not None
    check_writable(project)
    with only_server(project):
        added = add_files(
            project,
            folder,
            kind,
            progress_bar,
            features=features,
            is_download=download,
        )
    if is_json:
        skipped = [{"name": name, "reason": why} for name, why in added.skipped]
        print_json(project=str(project), n_added=added.n_items, skipped=skipped)
        return
    print_skipped(added.skipped)
    click.echo(f"{project}: {added.n_items:,} items added.")
