"""Who may talk to the page. Refuses by default.

Which attack each check stops:

- Host must be ours: a foreign name that is made to point at this machine (DNS
  rebinding) would otherwise let its page read the answers.
- A cookie, got for a one-time token in the printed address: other people and programs
  on this machine can reach the port, but do not know the token. It is used up by the
  first browser, so that an address left in a history or a log opens nothing.
- HttpOnly, SameSite=Strict: no script reads the cookie, no other site sends it.
- Unsafe methods need Sec-Fetch-Site: same-origin or our Origin: a form on another site
  cannot answer in the person's name (CSRF), even in a browser without SameSite.
- A limit on the body: nobody fills the memory.
- The headers of every response: no script, style or picture but ours, no framing
  (clickjacking), no guessing of types, no address told to other sites.
"""

import hmac
import ipaddress
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY = 1024 * 1024
MAX_SESSIONS = 1000
SAFE_METHODS = {"GET", "HEAD"}
STRANGER = (
    "This page is not from this run of likewise. "
    "Open the address printed in the terminal."
)
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": with it browsers send forms with "Origin: null".
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    words: str


TOO_LARGE = Refusal(413, f"A request must have at most {MAX_BODY} bytes.")


class _TooLargeError(Exception):
    """A body grew beyond the limit without having said so."""


class Sessions:
    """The tokens not used yet, and the browsers that were let in, by their names."""

    def __init__(self, annotators: list[str]) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._free_names = list(annotators)
        self._n_guests = 0

    def invite(self, annotator: str | None = None) -> str:
        """Make a one-time token, for this annotator or a new guest."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[token] = annotator or self._next_name()
        return token

    def _next_name(self) -> str:
        if self._free_names:
            return self._free_names.pop(0)
        self._n_guests += 1
        return f"guest {self._n_guests}"

    def exchange(self, given: str) -> str | None:
        """Use a token up; gives the value of the cookie, or None."""
        with self._lock:
            known = next((t for t in self._tokens if _equal(t, given)), None)
            if known is None or len(self._names) >= MAX_SESSIONS:
                return None
            session = secrets.token_urlsafe(32)
            self._names[session] = self._tokens.pop(known)
            return session

    def annotator(self, session: str) -> str | None:
        """The annotator behind a cookie; None for a stranger."""
        with self._lock:
            known = next((s for s in self._names if _equal(s, session)), None)
            return None if known is None else self._names[known]

    def rename(self, session: str, annotator: str) -> None:
        """Let a browser answer under another name from now on."""
        with self._lock:
            if session in self._names:
                self._names[session] = annotator


class Guard:
    """Stands before the application and lets only our own browsers through."""

    def __init__(
        self, application: Application, sessions: Sessions, host: str, port: int
    ) -> None:
        self.application = application
        self.sessions = sessions
        self.host = host
        self.port = port
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
        if refusal is None and self._is_entrance(scope):
            await self._enter(scope, send)
            return
        session = _cookie(headers, self.cookie)
        annotator = self.sessions.annotator(session) if session else None
        if refusal is None and annotator is None:
            refusal = Refusal(403, STRANGER)
        if refusal is not None:
            await _reply(send, refusal.status, _body(scope, refusal))
            return
        scope.setdefault("state", {}).update(annotator=annotator, session=session)
        try:
            await self.application(scope, _limited(receive), _dressed(send))
        except _TooLargeError:
            await _reply(send, TOO_LARGE.status, _body(scope, TOO_LARGE))

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
        if name in {self.host, "localhost", "127.0.0.1", "::1"}:
            return True
        # Listening on all addresses: a bare address cannot be rebound, a name can.
        return self.host in {"0.0.0.0", "::"} and _is_address(name)

    def _is_own_request(self, headers: dict[str, str]) -> bool:
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site != "same-origin":
            return False
        if origin is not None:
            return origin == f"http://{headers.get('host', '')}"
        return site == "same-origin"

    def _is_entrance(self, scope: Scope) -> bool:
        query = scope.get("query_string", b"")
        return bool(scope["path"] == "/" and query.startswith(b"token="))

    async def _enter(self, scope: Scope, send: Send) -> None:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        session = self.sessions.exchange(query.get("token", [""])[0])
        if session is None:
            await _reply(send, 403, _body(scope, Refusal(403, STRANGER)))
            return
        cookie = f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/"
        # A page that leads on, not a redirect: after one that came from another
        # program, a browser holds a SameSite=Strict cookie back.
        page = (
            '<!doctype html><meta charset="utf-8"><title>likewise</title>'
            '<link rel="icon" href="/static/icon.svg">'
            '<meta http-equiv="refresh" content="0;url=/"><a href="/">likewise</a>'
        )
        extra = {"set-cookie": cookie}
        await _reply(send, 200, ("text/html; charset=utf-8", page.encode()), extra)


def address(host: str, port: int, token: str) -> str:
    """The address that lets one browser in."""
    if host in {"0.0.0.0", "::"}:
        host = "127.0.0.1"
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?{urlencode({'token': token})}"


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode("utf-8", "replace"))


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by lower-case name; of a repeated one all values, so that none hides."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _cookie(headers: dict[str, str], name: str) -> str | None:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if morsel is None else morsel.value


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


def _dressed(send: Send) -> Send:
    """Add our headers to every response."""

    async def dressed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = list(message["headers"]) + [
                (name.encode(), value.encode())
                for name, value in {**HEADERS, "cache-control": "no-store"}.items()
                if name.encode() not in present
            ]
        await send(message)

    return dressed


def _body(scope: Scope, refusal: Refusal) -> tuple[str, bytes]:
    if scope["path"].startswith("/api"):
        said = {"ok": False, "error": refusal.words}
        return "application/json", json.dumps(said).encode()
    return "text/plain; charset=utf-8", (refusal.words + "\n").encode()


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
