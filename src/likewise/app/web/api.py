"""The REST interface under /api: everything that the page can do."""

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from likewise.app.checking import medium_type
from likewise.app.inputs import LABELS, MAX_NAME, check_annotator
from likewise.app.insight import Legend, Neighbour, Progress
from likewise.app.people import Person
from likewise.app.records import Estimate, NotThereError
from likewise.app.web.charts import N_BARS, waveform_svg
from likewise.app.web.desk import (
    AnswerView,
    Desk,
    ItemView,
    QuestionView,
    annotator_of,
    desk_of,
    view_answer,
    view_item,
    view_question,
)
from likewise.features import sounds


class ErrorView(BaseModel):
    """Why a request was not done."""

    ok: Literal[False] = False
    error: str


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorView, "description": words}
    for status, words in {
        400: "The request breaks a rule.",
        403: "The request is not from this run of likewise.",
        404: "There is no such thing.",
        409: "The question is not open to this answer.",
        413: "The request is too large.",
        422: "The request cannot be read.",
        507: "The file cannot be written or read.",
    }.items()
}

router = APIRouter(prefix="/api", responses=ERRORS)

DeskHere = Annotated[Desk, Depends(desk_of)]
Annotator = Annotated[str, Depends(annotator_of)]
Number = Annotated[int, Path(ge=0, lt=2**53)]
Said = Literal["same", "different", "unsure"]


class ProjectView(BaseModel):
    """What the project is made of."""

    kind: str
    n_items: int
    n_features: int
    seed: int
    acquisition: str
    fingerprint: str
    likewise: str = Field(description="The version that made the file.")
    created: str


class QuestionReply(BaseModel):
    """The open question; null once every pair is known."""

    question: QuestionView | None


class AnswerRequest(BaseModel):
    """An answer to an open question."""

    question: int = Field(ge=0, lt=2**53)
    answer: Said
    seconds: float | None = Field(None, ge=0, description="How long it took.")


class AnswerReply(BaseModel):
    """The answer as it was stored, and the question that follows."""

    answer: AnswerView
    question: QuestionView | None


class ChangeRequest(BaseModel):
    """Another answer on an old pair."""

    answer: Said


class FlagRequest(BaseModel):
    """Whether to set a question aside."""

    flagged: bool


class NameRequest(BaseModel):
    """The name to answer under."""

    name: str = Field(min_length=1, max_length=MAX_NAME)


class NameReply(BaseModel):
    """The name that answers are given under."""

    name: str


class Reason(BaseModel):
    """A feature that sets two items apart."""

    name: str
    share: float


class WhyReply(BaseModel):
    """Why a pair is asked."""

    words: str
    p_same: float
    spread: float
    rank: int
    n_candidates: int
    reasons: list[Reason]
    settles_if_same: int
    settles_if_different: int


class MapReply(BaseModel):
    """Every item in the plane, before and after learning."""

    version: int
    before: list[list[float]]
    after: list[list[float]]
    groups: list[int]
    legend: list[Legend]
    names: list[str]


class NeighboursReply(BaseModel):
    """The items nearest to one, before and after learning."""

    before: list[Neighbour]
    after: list[Neighbour]


class InvitationReply(BaseModel):
    """An address that lets one more browser in, once."""

    url: str


@router.get("/project")
def get_project(desk: DeskHere) -> ProjectView:
    """Give what the project is made of."""
    return ProjectView(**desk.project.settings)


@router.get("/progress")
def get_progress(desk: DeskHere) -> Progress:
    """Give counts, how well it probably goes, and the stop signal."""
    return desk.insight.progress()


@router.get("/curve")
def get_curve(desk: DeskHere) -> list[Estimate]:
    """Give the first figure after so many answers."""
    return desk.insight.curve()


@router.get("/question")
def get_question(desk: DeskHere, annotator: Annotator) -> QuestionReply:
    """Give the open question of this annotator; asking again gives the same."""
    return QuestionReply(question=_question(desk, annotator))


@router.get("/questions/{number}/why")
def get_why(number: Number, desk: DeskHere) -> WhyReply:
    """Say why the pair of a question is asked."""
    why = desk.project.why(desk.project.asked(number).pair)
    return WhyReply(
        words=str(why),
        p_same=why.p_same,
        spread=why.spread,
        rank=why.rank,
        n_candidates=why.n_candidates,
        reasons=[Reason(name=name, share=share) for name, share in why.reasons],
        settles_if_same=why.settles_if_same,
        settles_if_different=why.settles_if_different,
    )


@router.put("/questions/{number}/flag")
def put_flag(
    number: Number, flag: FlagRequest, desk: DeskHere, annotator: Annotator
) -> FlagRequest:
    """Set a question aside for a second look, or no longer."""
    desk.project.flag(number, annotator, flag.flagged)
    return flag


@router.post("/answers", status_code=201)
def post_answer(
    given: AnswerRequest, desk: DeskHere, annotator: Annotator
) -> AnswerReply:
    """Answer the open question; the reply comes once it is on disk."""
    answer = desk.project.answer(
        given.question, LABELS[given.answer], annotator, given.seconds
    )
    return AnswerReply(
        answer=view_answer(desk.project, answer), question=_question(desk, annotator)
    )


@router.get("/answers")
def get_answers(
    desk: DeskHere,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**53)] = None,
) -> list[AnswerView]:
    """Give answers, undone ones too, latest first."""
    answers = [a for a in desk.project.answers() if before is None or a.id < before]
    return [view_answer(desk.project, answer) for answer in answers[: -limit - 1 : -1]]


@router.put("/answers/{number}")
def put_answer(
    number: Number, change: ChangeRequest, desk: DeskHere, annotator: Annotator
) -> AnswerView:
    """Change an old answer; the old one stays recorded."""
    answer = desk.project.change(number, LABELS[change.answer], annotator)
    return view_answer(desk.project, answer)


@router.post("/undo")
def post_undo(desk: DeskHere, annotator: Annotator) -> AnswerReply:
    """Take back the last answer; its question opens again."""
    undone = desk.project.undo(annotator)
    return AnswerReply(
        answer=view_answer(desk.project, undone), question=_question(desk, annotator)
    )


@router.get("/contradictions")
def get_contradictions(desk: DeskHere) -> list[list[AnswerView]]:
    """Give answers that cannot all be true, one list for each clash."""
    return [
        [view_answer(desk.project, answer) for answer in clash]
        for clash in desk.insight.contradictions()
    ]


@router.get("/map")
def get_map(desk: DeskHere) -> MapReply:
    """Give every item in the plane, before and after learning."""
    return MapReply(**desk.insight.map())


@router.get("/items/{number}")
def get_item(number: Number, desk: DeskHere) -> ItemView:
    """Describe one item."""
    return view_item(desk.project, number)


@router.get("/items/{number}/neighbours")
def get_neighbours(
    number: Number, desk: DeskHere, n: Annotated[int, Query(ge=1, le=100)] = 8
) -> NeighboursReply:
    """Give the items nearest to one, before and after learning."""
    return NeighboursReply(**desk.insight.neighbours(number, n))


@router.get("/items/{number}/waveform", response_class=Response)
def get_waveform(number: Number, desk: DeskHere) -> Response:
    """Draw how loud the sound of an item is from its beginning to its end."""
    medium = desk.project.medium(number, "sound")
    if medium is None:
        raise NotThereError(f"There is no sound of item {number}.")
    headers = {"cache-control": "private, max-age=86400"}
    drawing = waveform_svg(sounds.envelope(medium.data, N_BARS))
    return Response(drawing, media_type="image/svg+xml", headers=headers)


@router.get("/items/{number}/{role}", response_class=Response)
def get_medium(
    number: Number,
    role: Literal["picture", "thumbnail", "sound"],
    request: Request,
    desk: DeskHere,
) -> Response:
    """Give the picture, thumbnail or sound of an item, from the project file."""
    medium = desk.project.medium(number, role)
    if medium is None:
        raise NotThereError(f"There is no {role} of item {number}.")
    mime, is_shown = medium_type(role, medium.mime)
    headers = {
        "cache-control": "private, max-age=86400",
        "accept-ranges": "bytes",
        # Opened by itself, whatever it is, it can do nothing.
        "content-security-policy": "default-src 'none'; sandbox",
    }
    if not is_shown:
        headers["content-disposition"] = f'attachment; filename="item-{number}.bin"'
    part = _byte_range(request.headers.get("range", ""), len(medium.data))
    if part is None:
        return Response(medium.data, media_type=mime, headers=headers)
    first, last = part
    headers["content-range"] = f"bytes {first}-{last}/{len(medium.data)}"
    return Response(
        medium.data[first : last + 1], 206, media_type=mime, headers=headers
    )


@router.get("/annotators")
def get_annotators(desk: DeskHere) -> list[Person]:
    """Give every annotator, with how far the others and the metric agree."""
    return desk.insight.people()


@router.get("/annotator")
def get_annotator(annotator: Annotator) -> NameReply:
    """Give the name that this browser answers under."""
    return NameReply(name=annotator)


@router.put("/annotator")
def put_annotator(given: NameRequest, request: Request, desk: DeskHere) -> NameReply:
    """Answer under another name from now on."""
    name = check_annotator(given.name)
    desk.sessions.rename(request.state.session, name)
    return NameReply(name=name)


@router.post("/invitations", status_code=201)
def post_invitation(desk: DeskHere) -> InvitationReply:
    """Make an address that lets one more browser in, once."""
    return InvitationReply(url=desk.invite())


def _question(desk: Desk, annotator: str) -> QuestionView | None:
    question = desk.project.question(annotator)
    return None if question is None else view_question(desk.project, question)


def _byte_range(header: str, size: int) -> tuple[int, int] | None:
    """First and last byte of a single range that can be given; else None."""
    match = re.fullmatch(r"bytes=(\d{1,15})-(\d{0,15})", header)
    if match is None:
        return None
    first = int(match[1])
    last = min(int(match[2]), size - 1) if match[2] else size - 1
    return (first, last) if first <= last else None
