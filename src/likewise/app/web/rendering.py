"""How a page is made of a template."""

from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from likewise.app.web.desk import desk_of, route_of

HERE = Path(__file__).parent
templates = Jinja2Templates(HERE / "templates")
templates.env.filters["share"] = lambda share: f"{100 * share:.0f}"
templates.env.filters["count"] = lambda number: f"{number:,}"


def page(request: Request, template: str, **values: Any) -> Response:
    """Render a template with what every page shows."""
    values.setdefault("annotator", getattr(request.state, "annotator", ""))
    project = desk_of(request).project
    values.setdefault("project_name", project.store.path.stem)
    values.setdefault("kind", project.kind)
    values["path"] = route_of(request)
    values["home"] = f"{request.scope.get('root_path', '')}/"
    status = values.get("status", 200)
    return templates.TemplateResponse(request, template, values, status_code=status)


def go(where: str) -> Response:
    """Lead the browser to another page after a form."""
    return RedirectResponse(where, 303)
