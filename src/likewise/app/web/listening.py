"""Where the page listens, and under which name a browser finds it."""

import errno
import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from likewise import InputError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
ALL_ADDRESSES = {"0.0.0.0", "::"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# Connections that may wait to be taken. As many are taken at once, so that this times
# the servers' number must stay far below the files that a program may have open.
BACKLOG = 64
# Seconds until a system that does not know a name counts as not knowing it.
PATIENCE = 1.0


@dataclass
class Place:
    """Open sockets, and the names that lead to them."""

    sockets: list[socket.socket]
    name: str  # for addresses that are printed
    names: set[str]  # that requests may use
    is_open: bool  # on all addresses of this machine

    @property
    def port(self) -> int:
        """The port, also where any free one was taken."""
        return int(self.sockets[0].getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for listener in self.sockets:
            listener.close()


def open_place(
    host: str, port: int | None, is_here: Callable[[str], bool] | None = None
) -> Place:
    """Listen; for this machine alone, under a random name where that can be found.

    Browsers keep the cookies of a name from other names, but send them to every port of
    one: under a name of its own, the page shares them with nobody.
    """
    is_here = resolves_to_here if is_here is None else is_here
    if host == DEFAULT_HOST:
        random_name = f"likewise-{secrets.token_hex(8)}.localhost"
        if is_here(random_name):
            return _open_named(random_name, port)
    if host.endswith(".localhost"):
        return _open_named(host, port)
    listener = _listen(host, port)
    is_open = host in ALL_ADDRESSES
    name = outward_address(host) if is_open else host
    return Place([listener], name, {host.lower(), name.lower(), *LOOPBACK}, is_open)


def _open_named(name: str, port: int | None) -> Place:
    """Listen on both loopback addresses: either may be what a browser tries first.

    What it tries first must be ours: anybody could listen there and get the token.
    """
    with ExitStack() as stack:
        first = stack.enter_context(_listen(DEFAULT_HOST, port))
        sockets = [first]
        try:
            sockets.append(_bind("::1", first.getsockname()[1]))
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                name = DEFAULT_HOST  # somebody else is there
        stack.pop_all()
    return Place(sockets, name, {name.lower(), *LOOPBACK}, is_open=False)


def resolves_to_here(name: str) -> bool:
    """Whether this system finds a name, and finds it on this machine alone."""
    found: list[str] = []

    def look() -> None:
        try:
            answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            found.extend(str(answer[4][0]) for answer in answers)
        except OSError:
            pass

    # In a thread: a system without network may take its time to say no.
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(PATIENCE)
    return bool(found) and all(ipaddress.ip_address(one).is_loopback for one in found)


def outward_address(host: str) -> str:
    """An address of this machine that others can open; its own if there is none."""
    is_six = ":" in host
    family = socket.AF_INET6 if is_six else socket.AF_INET
    # Nothing is sent: the system only says from where it would. The addresses are
    # those set aside for documentation.
    far = "2001:db8::1" if is_six else "192.0.2.1"
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((far, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "::1" if is_six else DEFAULT_HOST


def _listen(host: str, port: int | None) -> socket.socket:
    """Open the port; the usual one may give way to a free one."""
    for wanted in [DEFAULT_PORT, 0] if port is None else [port]:
        try:
            return _bind(host, wanted)
        except OSError as error:
            reason = error
    raise InputError(f"Cannot listen on {host}:{port}: {reason.strerror}.")


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without the protocol's name asyncio leaves small packets waiting for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)  # from now on a browser waits instead of failing
    except OSError:
        listener.close()
        raise
    return listener
