"""Who may talk to the page. Refuses by default.

Which attack each check stops:

- Host must be ours: a foreign name that is made to point at this machine (DNS
  rebinding) would otherwise let its page read the answers.
- A cookie, got for a one-time token in the printed address: other people and programs
  on this machine can reach the port, but do not know the token. It is used up by the
  first browser, so that an address left in a history or a log opens nothing.
- Every address lies below a secret path of this run. Browsers do not tell ports apart
  when they send cookies: what else listens on this machine could receive ours and send
  it here. The cookie belongs to the path, so that it is not sent elsewhere; and without
  the path, which no cookie carries, a stolen cookie reads nothing and answers nothing.
- HttpOnly, SameSite=Strict: no script reads the cookie, no other site sends it.
- Unsafe methods need Sec-Fetch-Site: same-origin or our Origin: a form on another site
  cannot answer in the person's name (CSRF), even in a browser without SameSite.
- A limit on the body: nobody fills the memory.
- The headers of every response: scripts and styles from one folder only, which holds
  nothing of the project file; no framing (clickjacking), no guessing of types, no
  address told to other sites.
"""

import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.exceptions import HTTPException

from likewise.app.web.sessions import Sessions, is_equal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY = 1024 * 1024
SAFE_METHODS = {"GET", "HEAD"}
STRANGER = (
    "This page is not from this run of likewise. "
    "Open the address printed in the terminal."
)
# What strangers are sent needs nothing; the page that leads on shows its icon.
NOTHING = "default-src 'none'; frame-ancestors 'none'"
HEADERS = {
    "content-security-policy": NOTHING,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": with it browsers send forms with "Origin: null".
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


# A page that leads on, not a redirect: after one that came from another program, a
# browser holds a SameSite=Strict cookie back.
LEADING_ON = (
    b'<!doctype html><meta charset="utf-8"><title>likewise</title>'
    b'<link rel="icon" href="./static/icon.svg">'
    b'<meta http-equiv="refresh" content="0;url=./"><a href="./">likewise</a>'
)


@dataclass(frozen=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    words: str


TOO_LARGE = Refusal(413, f"A request must have at most {MAX_BODY} bytes.")


class _TooLargeError(HTTPException):
    """A body grew beyond the limit without having said so.

    Of this kind, because the application takes any other for a body it cannot parse.
    """

    def __init__(self) -> None:
        super().__init__(TOO_LARGE.status, TOO_LARGE.words)


class Guard:
    """Stands before the application and lets only our own browsers through.

    Parameters
    ----------
    application : callable
        What is guarded, by the rules of ASGI.
    sessions : Sessions
        Who may come in.
    names : set of str
        The names and addresses that this server goes by.
    port : int
        Where it listens.
    key : str
        The secret first part of every path.
    is_open : bool
        Whether it listens on all addresses of this machine.
    """

    def __init__(
        self,
        application: Application,
        sessions: Sessions,
        names: set[str],
        port: int,
        key: str,
        *,
        is_open: bool = False,
    ) -> None:
        self.application = application
        self.sessions = sessions
        self.names = names
        self.port = port
        self.key = key
        self.is_open = is_open
        # Cookies ignore the port: two projects open at once need two names.
        self.cookie = f"likewise_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        refusal = self.refuse(scope["method"], headers)
        if refusal is None and not self._is_below_key(scope["path"]):
            refusal = Refusal(403, STRANGER)
        if refusal is not None:
            await _refuse(send, scope, refusal)
            return
        if scope["path"] == f"/{self.key}":  # links on the page need the slash
            leading = {"location": f"/{self.key}/"}
            await _reply(send, 307, ("text/plain; charset=utf-8", b""), leading)
            return
        scope["root_path"] = f"/{self.key}"
        session = self._session(headers)
        if self._is_entrance(scope):
            await self._enter(scope, send, session)
        elif session is None:
            await _refuse(send, scope, Refusal(403, STRANGER))
        else:
            await self._admit(scope, receive, send, session)

    async def _admit(
        self, scope: Scope, receive: Receive, send: Send, session: str
    ) -> None:
        annotator = self.sessions.annotator(session)
        scope.setdefault("state", {}).update(annotator=annotator, session=session)
        policy = self._policy(_headers(scope)["host"])
        try:
            await self.application(scope, _limited(receive), _dressed(send, policy))
        except _TooLargeError:
            await _refuse(send, scope, TOO_LARGE)

    def refuse(self, method: str, headers: dict[str, str]) -> Refusal | None:
        """Check host, origin and size; None lets the request through."""
        if not self.is_our_host(headers.get("host", "")):
            return Refusal(403, STRANGER)
        if method not in SAFE_METHODS and not self._is_own_request(headers):
            return Refusal(403, "Only the page itself may send answers.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            return TOO_LARGE
        return None

    def is_our_host(self, given: str) -> bool:
        """Whether a Host header names this server."""
        name, port = _split_host(given)
        if port != self.port:
            return False
        # Listening on all addresses: a bare address cannot be rebound, a name can.
        return name in self.names or (self.is_open and _is_address(name))

    def _is_own_request(self, headers: dict[str, str]) -> bool:
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site != "same-origin":
            return False
        if origin is not None:
            return origin == f"http://{headers.get('host', '')}"
        return site == "same-origin"

    def _is_below_key(self, path: str) -> bool:
        return is_equal(self.key, path.removeprefix("/").partition("/")[0])

    def _session(self, headers: dict[str, str]) -> str | None:
        """The session of a visitor; another program may have set further cookies."""
        given = _cookies(headers.get("cookie", ""), self.cookie)
        return next((one for one in given if self.sessions.annotator(one)), None)

    def _policy(self, host: str) -> str:
        """What a page may load: scripts and styles from our own folder alone."""
        ours = f"http://{host}/{self.key}/static/"
        return (
            f"default-src 'none'; script-src {ours}; style-src {ours}; "
            "img-src 'self'; media-src 'self'; connect-src 'self'; "
            "form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
        )

    def _is_entrance(self, scope: Scope) -> bool:
        query = scope.get("query_string", b"")
        return bool(scope["path"] == f"/{self.key}/" and query.startswith(b"token="))

    async def _enter(self, scope: Scope, send: Send, session: str | None) -> None:
        """Exchange a token for a cookie; a browser that has one is only led on."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        token = query.get("token", [""])[0]
        is_looking = scope["method"] == "HEAD"  # a preview, not a person
        new = None if is_looking else self.sessions.exchange(token)
        if new is None and session is None:
            if not (is_looking and self.sessions.is_token(token)):
                await _refuse(send, scope, Refusal(403, STRANGER))
                return
        extra = {}
        if new is not None:
            extra["set-cookie"] = (
                f"{self.cookie}={new}; HttpOnly; SameSite=Strict; Path=/{self.key}/"
            )
        extra["content-security-policy"] = f"img-src 'self'; {NOTHING}"
        await _reply(send, 200, ("text/html; charset=utf-8", LEADING_ON), extra)


def address(host: str, port: int, key: str, token: str) -> str:
    """The address that lets one browser in."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{key}/?{urlencode({'token': token})}"


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by lower-case name; of a repeated one all values, so that none hides."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _cookies(header: str, name: str) -> list[str]:
    """All values given for one name."""
    parts = (
        part.strip().partition("=") for part in header.replace(",", ";").split(";")
    )
    return [value for given, equals, value in parts if given == name and equals]


def _split_host(given: str) -> tuple[str, int]:
    name, colon, port = given.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = given, "80"
    return name.strip("[]").lower(), int(port) if port.isdigit() else -1


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _limited(receive: Receive) -> Receive:
    """Stop a body as soon as it grows beyond the limit."""
    received = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY:
            raise _TooLargeError
        return message

    return limited


def _dressed(send: Send, policy: str = NOTHING) -> Send:
    """Add our headers to every response."""
    wanted = {**HEADERS, "content-security-policy": policy}

    async def dressed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = list(message["headers"]) + [
                (name.encode(), value.encode())
                for name, value in wanted.items()
                if name.encode() not in present
            ]
        await send(message)

    return dressed


async def _refuse(send: Send, scope: Scope, refusal: Refusal) -> None:
    """Say why not: as JSON to programs, in plain words to people."""
    if "/api/" in scope["path"]:
        said = {"ok": False, "error": refusal.words}
        body = "application/json", json.dumps(said).encode()
    else:
        body = "text/plain; charset=utf-8", (refusal.words + "\n").encode()
    await _reply(send, refusal.status, body)


async def _reply(
    send: Send,
    status: int,
    body: tuple[str, bytes],
    extra: dict[str, str] | None = None,
) -> None:
    headers = {
        "content-type": body[0],
        "content-length": str(len(body[1])),
        "connection": "close",
        **(extra or {}),
    }
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }
    await _dressed(send)(start)
    await send({"type": "http.response.body", "body": body[1]})
