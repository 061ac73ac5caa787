"""The pages, rendered on the server; every form works without the script.

Every page lies below a secret path, so links have no slash in front: they lead from one
page to another beside it. Pages have one part in their path, like /map.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles

from likewise.app.inputs import LABELS, check_annotator
from likewise.app.records import Question, describe_features
from likewise.app.web import api
from likewise.app.web.api import Annotator, DeskHere, Number, Said
from likewise.app.web.charts import curve_chart, dot_chart
from likewise.app.web.desk import (
    Desk,
    view_answer,
    view_item,
    view_question,
)
from likewise.app.web.pages_groups import purpose_values
from likewise.app.web.rendering import HERE, go, page

router = APIRouter(include_in_schema=False)
PAGE_SIZE = 50


def static_files() -> StaticFiles:
    """The stylesheet and the script."""
    return StaticFiles(directory=HERE / "static")


def render_error(request: Request, status: int, words: str) -> Response:
    """Say in a page what went wrong."""
    return page(request, "error.html", status=status, words=words)


@router.get("/")
def question_page(
    request: Request, desk: DeskHere, annotator: Annotator, why: bool = False
) -> Response:
    """Show the open question."""
    values = {**_question(desk, annotator, why), **_progress(desk)}
    return page(request, "question.html", **values)


@router.get("/fragments/question")
def question_fragment(
    request: Request, desk: DeskHere, annotator: Annotator, why: bool = False
) -> Response:
    """Give the part of the page that changes with every answer."""
    return page(request, "_question.html", **_question(desk, annotator, why))


@router.get("/fragments/progress")
def progress_fragment(request: Request, desk: DeskHere) -> Response:
    """Give counts and curve."""
    return page(request, "_progress.html", **_progress(desk))


@router.post("/answer")
def answer_form(
    desk: DeskHere,
    annotator: Annotator,
    question: Annotated[int, Form(ge=0, lt=2**53)],
    answer: Annotated[Said, Form()],
) -> Response:
    """Take an answer from a browser without the script."""
    asked = datetime.fromisoformat(desk.project.asked(question).asked)
    seconds = (datetime.now(UTC) - asked).total_seconds()
    desk.project.answer(question, LABELS[answer], annotator, seconds)
    return go("./")


@router.post("/undo")
def undo_form(desk: DeskHere, annotator: Annotator) -> Response:
    """Take back the last answer."""
    desk.project.undo(annotator)
    return go("./")


@router.post("/flag")
def flag_form(
    desk: DeskHere,
    annotator: Annotator,
    question: Annotated[int, Form(ge=0, lt=2**53)],
    flagged: Annotated[bool, Form()],
) -> Response:
    """Set a question aside, or no longer."""
    desk.project.flag(question, annotator, flagged)
    return go("./")


@router.get("/history")
def history_page(
    request: Request,
    desk: DeskHere,
    number: Annotated[int, Query(alias="page", ge=1, le=10**6)] = 1,
    flagged: bool = False,
) -> Response:
    """Show all answers, latest first."""
    flags = desk.project.flagged()
    answers = desk.project.answers()[::-1]
    current = {answer.id for answer in desk.project.current_answers()}
    if flagged:
        answers = [answer for answer in answers if answer.question in flags]
    first = (number - 1) * PAGE_SIZE
    shown = answers[first : first + PAGE_SIZE]
    return page(
        request,
        "history.html",
        answers=[view_answer(desk.project, answer) for answer in shown],
        current=current,
        flags=flags,
        flagged=flagged,
        page=number,
        n_answers=len(answers),
        has_more=len(answers) > first + PAGE_SIZE,
    )


@router.post("/history/{number}")
def change_form(
    number: Number,
    desk: DeskHere,
    annotator: Annotator,
    answer: Annotated[Said, Form()],
    back: Annotated[str, Form()] = "history",
) -> Response:
    """Change an old answer."""
    desk.project.change(number, LABELS[answer], annotator)
    return go("../contradictions" if back == "contradictions" else "../history")


@router.post("/history/{number}/undo")
def take_back_form(number: Number, desk: DeskHere, annotator: Annotator) -> Response:
    """Take back one of your own answers."""
    desk.project.take_back(number, annotator)
    return go("../../history")


@router.get("/contradictions")
def contradictions_page(request: Request, desk: DeskHere) -> Response:
    """Show answers that cannot all be true."""
    clashes = [
        [view_answer(desk.project, answer) for answer in clash]
        for clash in desk.insight.contradictions()
    ]
    return page(request, "contradictions.html", clashes=clashes)


@router.get("/map")
def map_page(request: Request, desk: DeskHere) -> Response:
    """Show every item in the learned metric."""
    points = desk.insight.map()
    return page(
        request,
        "map.html",
        dots=dot_chart(points["after"], points["groups"]),
        n_items=len(points["after"]),
        legend=points["legend"],
        first={k: points["groups"].index(k) for k in set(points["groups"])},
        n_groups=len(set(points["groups"])),
        version=desk.project.settings["fingerprint"][:8],
        kind=desk.project.kind,
    )


@router.get("/neighbours")
def neighbours_page(
    request: Request,
    desk: DeskHere,
    item: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    """Show the items nearest to one, before and after learning."""
    number = _find(desk, item)
    found = desk.insight.neighbours(number)
    changed = {near.number for near in found["before"]}
    return page(
        request,
        "neighbours.html",
        item=view_item(desk.project, number),
        columns=[
            (
                when,
                [(view_item(desk.project, near.number), near) for near in found[when]],
            )
            for when in ("before", "after")
        ],
        changed=changed,
        n_items=len(desk.project.names),
    )


@router.get("/status")
def status_page(request: Request, desk: DeskHere) -> Response:
    """Show progress, people and how to let another person in."""
    return page(request, "status.html", **_status(desk))


@router.post("/invitations")
def invitation_form(request: Request, desk: DeskHere) -> Response:
    """Show an address that lets one more browser in."""
    return page(request, "status.html", **_status(desk), invitation=desk.invite())


@router.post("/purpose")
def purpose_form(
    desk: DeskHere, purpose: Annotated[str, Form(max_length=20)]
) -> Response:
    """Ask for groups or for the metric from now on."""
    desk.project.set_purpose(purpose)
    return go("./status")


@router.post("/task")
def task_form(
    desk: DeskHere,
    question: Annotated[str, Form(max_length=2000)] = "",
    instructions: Annotated[str, Form(max_length=20000)] = "",
) -> Response:
    """Change the question that is put to people."""
    desk.project.set_task(question, instructions)
    return go("./")


@router.post("/annotator")
def annotator_form(
    request: Request, desk: DeskHere, name: Annotated[str, Form(max_length=500)]
) -> Response:
    """Answer under another name from now on."""
    desk.sessions.rename(request.state.session, check_annotator(name))
    return go("./")


@router.get("/help")
def help_page(request: Request) -> Response:
    """List the keys."""
    return page(request, "help.html")


def _question(desk: Desk, annotator: str, why: bool) -> dict[str, Any]:
    question = desk.project.question(annotator)
    return {
        **purpose_values(desk),
        "question": None if question is None else view_question(desk.project, question),
        "why": _why(desk, question) if why and question is not None else None,
        "can_undo": desk.project.last_answer(annotator) is not None,
    }


def _why(desk: Desk, question: Question) -> Any:
    return api.get_why(question.id, desk)


def _progress(desk: Desk) -> dict[str, Any]:
    return {
        "progress": desk.insight.progress(),
        "curve": curve_chart(desk.insight.curve(), desk.project.purpose),
    }


def _status(desk: Desk) -> dict[str, Any]:
    return {
        "people": desk.insight.people(),
        "settings": desk.project.settings,
        "features": describe_features(desk.project.settings),
        **purpose_values(desk),
        **_progress(desk),
    }


def _find(desk: Desk, item: str | None) -> int:
    """The item meant by a name, part of a name or a number; the first if none."""
    names = desk.project.names
    if item is None or not item.strip():
        return 0
    if item in names:
        return names.index(item)
    if item.isdecimal() and item.isascii() and int(item) < len(names):
        return int(item)
    like = next((k for k, name in enumerate(names) if item in name), None)
    return desk.project.item_number(item) if like is None else like
