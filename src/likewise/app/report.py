"""A report of one page, pictures and all, that opens without a network."""

import base64
from pathlib import Path
from typing import Any

from likewise.app.duplicates import likely_pairs
from likewise.app.grouping import Found
from likewise.app.project import Project
from likewise.app.records import describe_features

TEMPLATES = Path(__file__).parent / "web" / "templates"
# Groups shown with pictures, pictures of each, and likely duplicates.
N_GROUPS, N_ITEMS, N_DUPLICATES = 60, 12, 24
# Types that may stand in the page; a project of a stranger may claim others.
TYPES = ("image/jpeg", "image/png")


def write_report(project: Project, found: Found, path: Path) -> None:
    """Write the report of a project to a file."""
    path.write_text(render_report(project, found), encoding="utf-8")


def render_report(project: Project, found: Found) -> str:
    """The report as HTML."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    environment.filters["share"] = lambda share: f"{100 * share:.0f}"
    environment.filters["count"] = lambda number: f"{number:,}"
    labels = [answer.label for answer in project.current_answers()]
    pairs = likely_pairs(project, project.learner())
    return environment.get_template("report.html").render(
        title=project.store.path.stem,
        task=project.task[0],
        found=found,
        groups=[
            (group, [_shown(project, item) for item in group.typical[:N_ITEMS]])
            for group in found.groups[:N_GROUPS]
        ],
        pairs=[
            (pair, _shown(project, pair.left), _shown(project, pair.right))
            for pair in pairs
            if not pair.known
        ][:N_DUPLICATES],
        counts={
            "answers": len(labels),
            "same": labels.count(1),
            "different": labels.count(-1),
            "unsure": labels.count(0),
        },
        features=describe_features(project.settings),
        seed=project.settings["seed"],
    )


def _shown(project: Project, item: int) -> dict[str, Any]:
    """An item's name and words, and its picture as part of the page."""
    described = project.item(item)
    fields = (described.fields or {}).items()
    words = described.text or ", ".join(f"{name}: {value}" for name, value in fields)
    medium = project.medium(item, "thumbnail") if project.kind == "picture" else None
    picture = ""
    if medium is not None and medium.mime in TYPES:
        data = base64.b64encode(medium.data).decode("ascii")
        picture = f"data:{medium.mime};base64,{data}"
    return {"name": described.name, "words": words[:300], "picture": picture}
