"""Puts the application together and serves it."""

import secrets
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from likewise import LikewiseError, StoreError
from likewise.app.holding import only_server
from likewise.app.insight import Insight
from likewise.app.project import Project
from likewise.app.records import ClosedError, NotThereError
from likewise.app.store import Store
from likewise.app.trouble import check_writable
from likewise.app.web import api, api_groups, pages, pages_groups, pages_results
from likewise.app.web.connections import Connections
from likewise.app.web.desk import Desk, route_of
from likewise.app.web.guard import Guard, address
from likewise.app.web.listening import BACKLOG, open_place
from likewise.app.web.sessions import Sessions


def make_app(desk: Desk) -> FastAPI:
    """Build the application without its guard."""
    app = FastAPI(
        title="likewise",
        version=version("likewise"),
        summary="Questions and answers of one likewise project.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
    )
    app.state.desk = desk
    app.include_router(api.router)
    app.include_router(api_groups.router)
    app.include_router(pages.router)
    app.include_router(pages_groups.router)
    app.include_router(pages_results.router)
    app.mount("/static", pages.static_files())
    app.add_exception_handler(LikewiseError, _say)
    app.add_exception_handler(RequestValidationError, _say_invalid)
    app.add_exception_handler(HTTPException, _say_missing)
    return app


def _said(request: Request, status: int, words: str) -> Response:
    if route_of(request).startswith("/api"):
        return JSONResponse({"ok": False, "error": words}, status)
    return pages.render_error(request, status, words)


def _say(request: Request, error: Exception) -> Response:
    statuses = {NotThereError: 404, ClosedError: 409, StoreError: 507}
    status = next((s for kind, s in statuses.items() if isinstance(error, kind)), 400)
    return _said(request, status, str(error))


def _say_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return _said(request, 422, f"'{place}' cannot be used. {first['msg']}.")


def _say_missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = "There is no such page." if error.status_code == 404 else str(error.detail)
    return _said(request, error.status_code, words)


def serve(
    path: Path,
    *,
    host: str,
    port: int | None,
    annotators: list[str],
    announce: Callable[[list[str]], None],
) -> None:
    """Serve the page until it is interrupted."""
    import uvicorn
    from threadpoolctl import threadpool_limits

    # Requests come between the computations of the threads that look ahead: those
    # must give way often, and each must keep to one core.
    sys.setswitchinterval(0.0005)
    # uvicorn raises the signal again once it has shut down: leave the file in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    check_writable(path)
    with threadpool_limits(1), only_server(path), open_place(host, port) as place:
        project = Project(Store.open(path), is_ahead=True)
        insight = Insight(project, is_live=True)
        sessions = Sessions(annotators, project.annotators)
        key = secrets.token_urlsafe(24)

        def invite() -> str:
            return address(place.name, place.port, key, sessions.invite())

        app = make_app(Desk(project, insight, sessions, invite))
        guard = Guard(
            app, sessions, place.names, place.port, key, is_open=place.is_open
        )
        connections: Any = Connections(guard)
        config = uvicorn.Config(
            connections,
            http=connections.protocol(),
            ws="none",
            log_level="error",  # a line for every bad request would fill a disk
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=5,  # a browser may hold its connection open
        )
        try:
            announce([invite() for _ in annotators])
            uvicorn.Server(config).run(sockets=place.sockets)
        except KeyboardInterrupt:
            pass  # how a server is meant to end
        finally:
            insight.close()
            project.close()
