"""The pages about groups: all of them, one of them, and what people say of them."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from likewise import InputError
from likewise.app.grouping import Group
from likewise.app.web.api import Annotator, DeskHere
from likewise.app.web.api_groups import group_of
from likewise.app.web.desk import Desk, ItemView, view_item
from likewise.app.web.rendering import go, page

router = APIRouter(include_in_schema=False)

N_CARDS, N_MEMBERS, N_SINGLES = 48, 200, 120  # shown on one page
N_TYPICAL = 5  # items on a card
# An item below this is in doubt, as in the verdict on groups.
DOUBTFUL = 0.9
# A field with the numbers of a few items: at most three, as representatives are.
NUMBERS = re.compile(r"\d{1,15}(,\d{1,15}){0,9}")
PageNumber = Annotated[int, Query(alias="page", ge=1, le=10**6)]
ItemNumber = Annotated[int, Query(ge=0, lt=2**53)]
Chosen = Annotated[list[str], Form(max_length=200)]


@router.get("/groups")
def groups_page(
    request: Request,
    desk: DeskHere,
    number: PageNumber = 1,
    q: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show a card for each group, the largest first."""
    found = desk.insight.grouping.found()
    wanted = _matching(desk, q)
    large = [group for group in wanted if group.size > 1]
    first = (number - 1) * N_CARDS
    shown = large[first : first + N_CARDS]
    singles = [group for group in wanted if group.size == 1]
    return page(
        request,
        "groups.html",
        found=found,
        cards=[(group, _views(desk, group.typical[:N_TYPICAL])) for group in shown],
        singles=_views(desk, [group.typical[0] for group in singles[:N_SINGLES]]),
        n_singles=len(singles),
        n_found=len(wanted),
        q=q,
        number=number,
        has_more=len(large) > first + N_CARDS,
    )


@router.get("/group")
def group_page(
    request: Request,
    desk: DeskHere,
    item: ItemNumber,
    number: PageNumber = 1,
) -> Response:
    """Show all members of a group, the doubtful ones last."""
    group, found = group_of(desk, item), desk.insight.grouping.found()
    first = (number - 1) * N_MEMBERS
    shown = group.surest[first : first + N_MEMBERS]
    members = [(view_item(desk.project, k), float(found.confidence[k])) for k in shown]
    return page(
        request,
        "group.html",
        found=found,
        group=group,
        anchor=item,
        sure_ones=[one for one in members if one[1] >= DOUBTFUL],
        doubtful=[one for one in members if one[1] < DOUBTFUL],
        others=[other for other in found.groups if other.number != group.number],
        number=number,
        has_more=len(group.surest) > first + N_MEMBERS,
    )


@router.post("/group-name")
def name_form(
    desk: DeskHere,
    annotator: Annotator,
    item: Annotated[int, Form(ge=0, lt=2**53)],
    name: Annotated[str, Form(max_length=500)] = "",
    back: Annotated[str, Form()] = "group",
) -> Response:
    """Name a group."""
    desk.insight.grouping.rename(item, name, annotator)
    return go("./groups" if back == "groups" else f"./group?item={item}")


@router.post("/group-same")
def same_form(desk: DeskHere, annotator: Annotator, group: Chosen) -> Response:
    """Say that the chosen groups are one; each is told by its representatives."""
    chosen = [_numbers(one) for one in group]
    desk.insight.grouping.join(chosen, annotator)
    return go(f"./group?item={chosen[0][0]}")


@router.post("/group-members")
def members_form(
    desk: DeskHere,
    annotator: Annotator,
    item: Chosen,
    here: Annotated[str, Form(max_length=200)],
    act: Annotated[str, Form(pattern="^(apart|move)$")],
    there: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Say of the chosen items that they do not belong here, or belong there."""
    grouping, stay = desk.insight.grouping, _numbers(here)
    items = [_numbers(one)[0] for one in item]
    if act == "move":
        grouping.move(items, stay, _numbers(there), annotator)
    else:
        grouping.part(items, stay, annotator)
    left = [number for number in stay if number not in items]
    return go(f"./group?item={left[0] if left else items[0]}")


def _matching(desk: Desk, q: str) -> list[Group]:
    """Groups with these words in their name, or with an item of this name."""
    found = desk.insight.grouping.found()
    groups = {group.number for group in found.search(q)}
    if q.strip():
        names = desk.project.names
        groups |= {int(found.labels[k]) for k, name in enumerate(names) if q in name}
    return [found.groups[number] for number in sorted(groups)]


def _views(desk: Desk, items: list[int]) -> list[ItemView]:
    return [view_item(desk.project, item) for item in items]


def _numbers(given: str) -> list[int]:
    """The numbers of items in a field of a form."""
    if not NUMBERS.fullmatch(given):
        raise InputError(f"Items must be given by their numbers. Got {given!r:.60}.")
    return [int(number) for number in given.split(",")]


def purpose_values(desk: Desk) -> dict[str, Any]:
    """What the page says about the task and what is asked for."""
    question, instructions = desk.project.task
    return {
        "task": question,
        "instructions": instructions,
        "purpose": desk.project.purpose,
    }
