"""Connections that say little or nothing keep nobody out."""

import asyncio
import contextlib
import socket

import httpx
import pytest

from likewise.app.web.connections import Connections
from tests.app.web.test_server import answer

N_SILENT = 300  # more than are kept at once


@contextlib.contextmanager
def silent(server, sent, n=N_SILENT):
    """So many connections, each of which sends this and waits."""
    place = httpx.URL(server.origin)
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(n):
            with contextlib.suppress(OSError):
                one = socket.create_connection((place.host, place.port), timeout=60)
                opened.append(stack.enter_context(one))
                one.sendall(sent)
        yield opened


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x",  # never ends
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n",
    ],
    ids=["nothing", "half a request", "no body"],
)
def test_hundreds_that_wait_keep_nobody_out(path, serve, sent):
    """The page answers while they wait, new browsers come in, nothing is logged."""
    server = serve(path)
    with silent(server, sent):
        assert answer(server.client, "same")[0].status_code == 201
        guest = server.enter(server.client.post("/api/invitations").json()["url"])
        assert answer(guest, "different")[0].status_code == 201

    assert server.stop()[1] == ""


def test_who_says_nothing_is_cut_off_and_who_was_let_in_stays():
    """With real connections and short times: strangers go first, the oldest first."""

    async def go():
        async def application(scope, receive, send):
            scope.setdefault("state", {})["session"] = "let in"

        connections = Connections(application, most=3, idle=1e9)
        ends = []

        class Reports(asyncio.Protocol):
            def connection_made(self, transport):
                self.client = transport.get_extra_info("peername")
                connections.opened(self.client, transport)

            def connection_lost(self, error):
                connections.closed(self.client)
                ends.append(self.client)

        loop = asyncio.get_running_loop()
        served = await loop.create_server(Reports, "127.0.0.1", 0)
        port = served.sockets[0].getsockname()[1]
        names, writers = [], []
        for number in range(5):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            names.append(writer.get_extra_info("sockname"))
            while names[-1] not in connections._lines:
                await asyncio.sleep(0.01)
            if number == 0:
                scope = {"type": "http", "client": names[0]}
                await connections(scope, None, None)
        crowded = list(connections._lines)
        connections.idle = 0.0
        while connections._lines:
            await asyncio.sleep(0.05)
        served.close()
        for writer in writers:
            writer.close()
        return names, crowded, ends

    names, crowded, ends = asyncio.run(asyncio.wait_for(go(), 60))

    assert crowded == [names[0], names[3], names[4]]
    assert set(ends) == set(names)
