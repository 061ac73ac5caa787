"""The pages at the end: what to take away, and likely duplicates to confirm."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from likewise.app.inputs import LABELS
from likewise.app.records import NotThereError
from likewise.app.results import FILES
from likewise.app.web.api import Annotator, DeskHere, Said
from likewise.app.web.desk import view_item
from likewise.app.web.rendering import go, page

router = APIRouter(include_in_schema=False)
ItemField = Annotated[int, Form(ge=0, lt=2**53)]

SECTIONS = [
    ("Groups", "", ["groups.csv", "groups.json", "groups.zip"]),
    (
        "Likely the same",
        "Pairs that are probably the same, for cleaning up copies.",
        ["duplicates.csv"],
    ),
    (
        "For further work",
        "What was learned and what was said.",
        ["answers.csv", "vectors.csv", "vectors.npz", "learned.metric"],
    ),
    ("To show", "", ["report.html"]),
]


@router.get("/results")
def results_page(request: Request, desk: DeskHere) -> Response:
    """Show what to take away."""
    return page(
        request,
        "results.html",
        found=desk.insight.grouping.found(),
        n_answers=len(desk.project.current_answers()),
        sections=SECTIONS,
        files={name: words for name, (words, _) in FILES.items()},
        project_file=desk.project.store.path.name,
    )


@router.get("/results/{name}")
def download(name: str, desk: DeskHere) -> Response:
    """Give one file, made of what is known now."""
    if name not in FILES:
        raise NotThereError(f"There is no result {name!r:.60}.")
    folder = Path(tempfile.mkdtemp(prefix="likewise-"))
    try:
        FILES[name][1](desk.project, desk.insight.grouping.found(), folder / name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        folder / name,
        filename=f"{desk.project.store.path.stem}-{name}",
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


@router.get("/duplicates")
def duplicates_page(request: Request, desk: DeskHere) -> Response:
    """Show the likeliest pair that nobody has confirmed."""
    waiting = [pair for pair in desk.insight.likely_pairs() if not pair.known]
    if not waiting:
        return page(request, "duplicates.html", pair=None)
    first = waiting[0]
    return page(
        request,
        "duplicates.html",
        pair=first,
        n_left=len(waiting),
        left=view_item(desk.project, first.left, first.right),
        right=view_item(desk.project, first.right, first.left),
    )


@router.post("/duplicates")
def confirm_form(
    desk: DeskHere,
    annotator: Annotator,
    left: ItemField,
    right: ItemField,
    answer: Annotated[Said, Form()],
) -> Response:
    """Say of a likely pair whether it is the same."""
    desk.project.tell([(left, right, LABELS[answer])], annotator)
    return go("./duplicates")
