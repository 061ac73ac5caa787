"""What every route has at hand, and how items and questions are described."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request
from pydantic import BaseModel, Field

from likewise.app.inputs import WORDS
from likewise.app.insight import Insight
from likewise.app.project import Project
from likewise.app.records import Answer, Question
from likewise.app.web.sessions import Sessions


@dataclass
class Desk:
    """What the routes work with."""

    project: Project
    insight: Insight
    sessions: Sessions
    invite: Callable[[], str]


def desk_of(request: Request) -> Desk:
    """The desk of the application that got this request."""
    desk: Desk = request.app.state.desk
    return desk


def annotator_of(request: Request) -> str:
    """Who asks, as the guard found out."""
    annotator: str = request.state.annotator
    return annotator


def route_of(request: Request) -> str:
    """The path of a request without the secret part that this run lies below."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))


class FieldView(BaseModel):
    """One cell of an item from a table."""

    name: str
    value: str
    differs: bool = Field(description="Whether the other item has another value.")


class ItemView(BaseModel):
    """An item, with the addresses of what shows it, as seen from a page."""

    number: int
    name: str
    text: str | None = None
    picture: str | None = None
    thumbnail: str | None = None
    sound: str | None = None
    waveform: str | None = None
    fields: list[FieldView] = []


class QuestionView(BaseModel):
    """Two items, as they are shown."""

    id: int
    left: ItemView
    right: ItemView
    asked: str
    model_version: int
    is_flagged: bool
    is_again: bool = Field(description="Whether the same person answered it before.")


class AnswerView(BaseModel):
    """What someone said about two items."""

    id: int
    question: int | None
    left: ItemView
    right: ItemView
    answer: str
    annotator: str
    answered: str
    seconds: float | None
    source: str
    undone: bool


def view_item(project: Project, number: int, other: int | None = None) -> ItemView:
    """Describe an item; beside another one, with the differing cells marked."""
    item = project.item(number)
    facing = project.item(other).fields if other is not None else None
    fields = [
        FieldView(
            name=name,
            value=value,
            differs=facing is not None and facing.get(name) != value,
        )
        for name, value in (item.fields or {}).items()
    ]
    version = project.settings["fingerprint"][:8]
    base = f"api/items/{number}"
    picture, sound = project.kind == "picture", project.kind == "sound"
    return ItemView(
        number=number,
        name=item.name,
        text=item.text,
        fields=fields,
        picture=f"{base}/picture?v={version}" if picture else None,
        thumbnail=f"{base}/thumbnail?v={version}" if picture else None,
        sound=f"{base}/sound?v={version}" if sound else None,
        waveform=f"{base}/waveform?v={version}" if sound else None,
    )


def view_question(project: Project, question: Question) -> QuestionView:
    """Describe a question as it is shown."""
    return QuestionView(
        id=question.id,
        left=view_item(project, question.left, question.right),
        right=view_item(project, question.right, question.left),
        asked=question.asked,
        model_version=question.model_version,
        is_flagged=question.id in project.flagged(),
        is_again=any(
            (answer.pair, answer.annotator) == (question.pair, question.annotator)
            for answer in project.current_answers()
        ),
    )


def view_answer(project: Project, answer: Answer) -> AnswerView:
    """Describe an answer."""
    return AnswerView(
        id=answer.id,
        question=answer.question,
        left=view_item(project, answer.left, answer.right),
        right=view_item(project, answer.right, answer.left),
        answer=WORDS[answer.label],
        annotator=answer.annotator,
        answered=answer.answered,
        seconds=answer.seconds,
        source=answer.source,
        undone=answer.undone,
    )
