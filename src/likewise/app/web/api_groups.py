"""The groups under /api: found, named and corrected; and what is asked for."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from likewise.app.grouping import MAX_NAME, Group
from likewise.app.inputs import MAX_INSTRUCTIONS, MAX_QUESTION
from likewise.app.web.api import ERRORS, Annotator, DeskHere, Number
from likewise.app.web.desk import AnswerView, Desk, view_answer

router = APIRouter(prefix="/api", responses=ERRORS)

# Items that one request may speak of, and items that may stand for a group: each is
# told against each.
MAX_ITEMS, MAX_OTHERS = 200, 10
Item = Annotated[int, Field(ge=0, lt=2**53)]


class GroupView(BaseModel):
    """A group: its members by how sure they are, the most doubtful last."""

    number: int
    name: str
    size: int
    confidence: float = Field(description="Expected share of members that belong.")
    representatives: list[int] = Field(description="The most typical members.")
    items: list[int]


class GroupsReply(BaseModel):
    """All groups, largest first, and how many items are probably sorted right."""

    n_groups: int
    share_right: float
    low: float
    high: float
    groups: list[GroupView]


class GroupNameRequest(BaseModel):
    """A name for a group; an empty one takes it away."""

    name: str = Field(max_length=MAX_NAME)


class GroupAnswerRequest(BaseModel):
    """What someone says of items and those that stand for a group."""

    items: list[Item] = Field(min_length=1, max_length=MAX_ITEMS)
    others: list[Item] = Field(min_length=1, max_length=MAX_OTHERS)
    answer: Literal["same", "different"]


class PurposeView(BaseModel):
    """What the questions are for."""

    purpose: Literal["groups", "metric"]


class TaskView(BaseModel):
    """The question that is put to people, and what explains it."""

    question: str = Field(max_length=MAX_QUESTION)
    instructions: str = Field("", max_length=MAX_INSTRUCTIONS)


@router.get("/groups")
def get_groups(
    desk: DeskHere, q: Annotated[str, Query(max_length=200)] = ""
) -> GroupsReply:
    """Give the groups by all that is known now; `q` looks for words in names."""
    found = desk.insight.grouping.found()
    low, high = found.interval
    return GroupsReply(
        n_groups=len(found.groups),
        share_right=found.share_right,
        low=low,
        high=high,
        groups=[view_group(group) for group in found.search(q)],
    )


@router.get("/groups/of/{number}")
def get_group(number: Number, desk: DeskHere) -> GroupView:
    """Give the group that an item is in."""
    return view_group(group_of(desk, number))


@router.put("/groups/of/{number}/name")
def put_group_name(
    number: Number, given: GroupNameRequest, desk: DeskHere, annotator: Annotator
) -> GroupView:
    """Name the group that an item is in."""
    return view_group(desk.insight.grouping.rename(number, given.name, annotator))


@router.post("/groups/answers", status_code=201)
def post_group_answers(
    given: GroupAnswerRequest, desk: DeskHere, annotator: Annotator
) -> list[AnswerView]:
    """Say that items are the same as those of a group, or not."""
    grouping = desk.insight.grouping
    if given.answer == "same":
        answers = grouping.join([given.items, given.others], annotator)
    else:
        answers = grouping.part(given.items, given.others, annotator)
    return [view_answer(desk.project, answer) for answer in answers]


@router.delete("/answers/{number}")
def delete_answer(number: Number, desk: DeskHere, annotator: Annotator) -> AnswerView:
    """Take back one of your own answers; it stays recorded."""
    undone = desk.project.take_back(number, annotator)
    return view_answer(desk.project, undone)


@router.get("/purpose")
def get_purpose(desk: DeskHere) -> PurposeView:
    """Give what the questions are for."""
    purpose: Literal["groups", "metric"] = (
        "groups" if desk.project.purpose == "groups" else "metric"
    )
    return PurposeView(purpose=purpose)


@router.put("/purpose")
def put_purpose(given: PurposeView, desk: DeskHere) -> PurposeView:
    """Ask for groups or for the metric from now on."""
    desk.project.set_purpose(given.purpose)
    return given


@router.get("/task")
def get_task(desk: DeskHere) -> TaskView:
    """Give the question that is put to people, and what explains it."""
    question, instructions = desk.project.task
    return TaskView(question=question, instructions=instructions)


@router.put("/task")
def put_task(given: TaskView, desk: DeskHere) -> TaskView:
    """Change the question that is put to people."""
    desk.project.set_task(given.question, given.instructions)
    return get_task(desk)


def group_of(desk: Desk, number: int) -> Group:
    """The group of an item, once it is known to be there."""
    desk.project.item(number)
    return desk.insight.grouping.found().of(number)


def view_group(group: Group) -> GroupView:
    """Describe a group."""
    return GroupView(
        number=group.number,
        name=group.name,
        size=group.size,
        confidence=group.confidence,
        representatives=group.representatives,
        items=group.surest,
    )
