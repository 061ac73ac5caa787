"""The commands that take answers in and give them out."""

from pathlib import Path

import click

from likewise import InputError
from likewise.app.cli_options import as_json, print_json, project_argument
from likewise.app.exchange import (
    CONVERTERS,
    answer_rows,
    write_answers,
)
from likewise.app.importing import parse_labels, read_answers, read_links
from likewise.app.inputs import check_annotator
from likewise.app.project import Project
from likewise.app.trouble import is_writable

IMPORTED = "imported"


@click.command()
@project_argument
@click.argument("answers", type=click.Path(path_type=Path))
@click.option("--implied", is_flag=True, help="Add what the answers imply.")
@click.option(
    "--as",
    "form",
    type=click.Choice(list(CONVERTERS)),
    default="likewise",
    show_default=True,
    help="splink: its label table; links: must-link and cannot-link lists (.json).",
)
@as_json
def export(
    project: Path, answers: Path, implied: bool, form: str, is_json: bool
) -> None:
    """Write the answers to a .csv, .jsonl or .parquet file.

    Example: likewise export photos.likewise answers.csv
    """
    with Project.open(project, read_only=not is_writable(project)) as opened:
        rows = answer_rows(opened, implied=implied)
    write_answers(rows, answers, form)
    if is_json:
        print_json(file=str(answers), n_answers=len(rows))
    else:
        click.echo(f"{answers}: {len(rows):,} answers.")


@click.command("import")
@project_argument
@click.argument("answers", required=False, type=click.Path(path_type=Path))
@click.option(
    "--must-link", type=click.Path(path_type=Path), help="Two items a line: same."
)
@click.option(
    "--cannot-link",
    type=click.Path(path_type=Path),
    help="Two items a line: different.",
)
@click.option("--annotator", default=IMPORTED, show_default=True, metavar="NAME")
@click.option(
    "--labels",
    multiple=True,
    metavar="VALUE=WORD",
    help="What a label of the file means, like 0=different; may be repeated.",
)
@as_json
def import_(
    project: Path,
    answers: Path | None,
    must_link: Path | None,
    cannot_link: Path | None,
    annotator: str,
    labels: tuple[str, ...],
    is_json: bool,
) -> None:
    """Take answers from a file, all of them or none.

    It may be a .csv, .jsonl or .parquet file that `likewise export` wrote, a label
    table of Splink, or a training file (.json) of dedupe.

    Example: likewise import photos.likewise answers.csv
    """
    if answers is None and must_link is None and cannot_link is None:
        raise InputError("Name a file of answers, --must-link or --cannot-link.")
    annotator, meanings = check_annotator(annotator), parse_labels(labels)
    with Project.open(project) as opened:
        rows = []
        if answers is not None:
            rows += read_answers(answers, opened, annotator, meanings)
        if must_link is not None:
            rows += read_links(must_link, 1, opened, annotator)
        if cannot_link is not None:
            rows += read_links(cannot_link, -1, opened, annotator)
        n_rows = opened.import_answers(rows)
    if is_json:
        print_json(project=str(project), n_answers=n_rows)
    else:
        words = "answer" if n_rows == 1 else "answers"
        click.echo(f"{project}: {n_rows:,} {words} imported.")
