"""The commands of the tool: each parses, calls and prints.

Results go to stdout, progress to stderr.
"""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from likewise import InputError
from likewise.app.cli_new import new
from likewise.app.cli_options import (
    DEFAULT_ANNOTATOR,
    annotator_option,
    as_json,
    print_json,
    project_argument,
)
from likewise.app.inputs import (
    LABELS,
    check_annotator,
    check_seconds,
    folded_name,
)
from likewise.app.insight import Insight, Progress
from likewise.app.project import Project
from likewise.app.records import Question, describe_features
from likewise.app.trouble import is_writable


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
    from likewise.app.web.launching import LeadingPage
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
            leading.open(addresses[0])

    with LeadingPage(project) as leading:
        serve(project, host=host, port=port, annotators=names, announce=announce)


def _check_names(given: tuple[str, ...]) -> list[str]:
    """Names of the annotators, each once: a person takes "Ada" and "ada" for one."""
    names = [check_annotator(name) for name in given or (DEFAULT_ANNOTATOR,)]
    folded = [folded_name(name) for name in names]
    doubled = (k for k, name in enumerate(folded) if name in folded[:k])
    twice = next((names[k] for k in doubled), None)
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
    if progress.checked:
        lines.append(progress.checked)
    for who in progress.looks_random:
        lines.append(f"The answers of {who} look random")
    for who in progress.unseen:
        lines.append(f"What {who} means is hardly seen in these items")
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
