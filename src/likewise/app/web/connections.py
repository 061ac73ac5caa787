"""How many connections there are, and for how long they may keep us waiting.

A connection that sends nothing, or a byte now and then, costs its sender nothing. Those
without a complete request are closed after some seconds; where there are too many, the
oldest of those who were never let in gives way, so that a person can always come in.
"""

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from likewise.app.web.guard import Application, Receive, Scope, Send

# Connections at the same time. A browser opens six; a system may allow 256 files.
MOST = 128
# Seconds for a complete request, for all of its body, and for taking part of a reply.
IDLE, BODY, REPLY = 15.0, 20.0, 60.0


@dataclass
class Line:
    """One connection."""

    transport: asyncio.Transport
    since: float  # when it was opened, or last had a request
    n_requests: int = 0  # at work now
    is_known: bool = False  # was let in by the guard

    def cut(self) -> None:
        """Close it at once, whatever is on its way."""
        self.transport.abort()


class Connections:
    """All open connections; stands between the server and the guard."""

    def __init__(
        self, application: Application, most: int = MOST, idle: float = IDLE
    ) -> None:
        self.application = application
        self.most = most
        self.idle = idle
        self._lines: dict[Any, Line] = {}  # by the address of the other end
        self._is_watching = False

    def protocol(self) -> Any:
        """The protocol of the server, reporting connections to this object."""
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        watcher = self

        class Watched(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                watcher.opened(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                watcher.closed(self.client)
                super().connection_lost(exc)

        return Watched

    def opened(self, client: Any, transport: asyncio.Transport) -> None:
        """Take note of a connection; another one may have to go for it."""
        if len(self._lines) >= self.most:
            self._make_room()
        loop = asyncio.get_running_loop()
        self._lines[client] = Line(transport, loop.time())
        if not self._is_watching:
            self._is_watching = True
            loop.call_later(1.0, self._watch)

    def closed(self, client: Any) -> None:
        """Take note of the end of a connection."""
        self._lines.pop(client, None)

    def _make_room(self) -> None:
        """Cut the oldest connection of a stranger; of a visitor, if there is none."""
        lines = sorted(
            self._lines.items(),
            key=lambda one: (one[1].is_known, one[1].n_requests > 0, one[1].since),
        )
        client, line = lines[0]
        line.cut()
        self.closed(client)

    def _watch(self) -> None:
        """Cut what has been waiting for too long, every second while there is any."""
        loop = asyncio.get_running_loop()
        for line in list(self._lines.values()):
            if line.n_requests == 0 and loop.time() - line.since > self.idle:
                line.cut()
        self._is_watching = bool(self._lines)
        if self._is_watching:
            loop.call_later(1.0, self._watch)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with limits on how long its sender may take."""
        line = self._lines.get(scope.get("client"))
        if scope["type"] != "http" or line is None:
            await self.application(scope, receive, send)
            return
        line.n_requests += 1
        try:
            await self.application(
                scope, _in_time(line, receive), _taken_in_time(line, send)
            )
        finally:
            line.n_requests -= 1
            line.since = asyncio.get_running_loop().time()
            line.is_known = line.is_known or "session" in scope.get("state", {})


def _in_time(line: Line, receive: Receive) -> Receive:
    """Wait for the body, but not for ever; then the sender counts as gone."""
    deadline = asyncio.get_running_loop().time() + BODY
    is_whole = False

    async def received() -> MutableMapping[str, Any]:
        nonlocal is_whole
        if is_whole:  # what comes now is the end of the connection
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            line.cut()
            return {"type": "http.disconnect"}
        is_whole = not message.get("more_body", False)
        return message

    return received


def _taken_in_time(line: Line, send: Send) -> Send:
    """Cut a connection whose other end does not read."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        try:
            async with asyncio.timeout(REPLY):
                await send(message)
        except TimeoutError:
            line.cut()

    return sent
