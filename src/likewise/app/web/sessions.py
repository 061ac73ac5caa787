"""The browsers that were let in, and under which names they answer."""

import hmac
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from likewise import InputError
from likewise.app.inputs import folded_name

# More browsers than this are not let in.
MAX_SESSIONS = 1000


@dataclass
class Visitor:
    """One browser: its name now, and the names that it has answered under."""

    name: str
    is_owner: bool
    names: set[str] = field(default_factory=set)


class Sessions:
    """The tokens not used yet, and the browsers that were let in.

    Parameters
    ----------
    annotators : list of str
        Names for the first addresses; the first of them is who started the server.
    used_names : callable
        Gives the names that the project's answers were given under.
    """

    def __init__(
        self,
        annotators: list[str],
        used_names: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[str, Visitor] = {}
        self._visitors: dict[str, Visitor] = {}
        self._free_names = list(annotators)
        self._owner = annotators[0] if annotators else None
        self._reserved = set(annotators)
        self._used_names = used_names
        self._n_guests = 0

    def invite(self) -> str:
        """Make a one-time token, for the next of the annotators or a new guest."""
        used = set(self._used_names())
        token = secrets.token_urlsafe(32)
        with self._lock:
            is_owner = bool(self._free_names) and self._free_names[0] == self._owner
            name = self._next_name(used)
            self._tokens[token] = Visitor(name, is_owner, {name})
        return token

    def _next_name(self, used: set[str]) -> str:
        if self._free_names:
            return self._free_names.pop(0)
        # A guest of an earlier run has answered as "guest 1": that was someone else.
        while True:
            self._n_guests += 1
            name = f"guest {self._n_guests}"
            if name not in used | self._names():
                return name

    def _names(self) -> set[str]:
        """Names that somebody has, or will have once let in."""
        known = [*self._visitors.values(), *self._tokens.values()]
        return self._reserved | {visitor.name for visitor in known}

    def is_token(self, given: str) -> bool:
        """Whether a token would let someone in."""
        with self._lock:
            return find_secret(self._tokens, given) is not None

    def exchange(self, given: str) -> str | None:
        """Use a token up; gives the value of the cookie, or None."""
        with self._lock:
            known = find_secret(self._tokens, given)
            if known is None or len(self._visitors) >= MAX_SESSIONS:
                return None
            session = secrets.token_urlsafe(32)
            self._visitors[session] = self._tokens.pop(known)
            return session

    def annotator(self, session: str) -> str | None:
        """The annotator behind a cookie; None for a stranger."""
        with self._lock:
            known = find_secret(self._visitors, session)
            return None if known is None else self._visitors[known].name

    def rename(self, session: str, annotator: str) -> None:
        """Let a browser answer under another name, if that is nobody else's.

        Under another's name it could take that person's answers back. Who started the
        server may take up a name of an earlier run; guests are given an address.
        """
        used = {folded_name(name) for name in self._used_names()}
        with self._lock:
            visitor = self._visitors[session]
            if annotator in visitor.names:
                visitor.name = annotator
                return
            others = {folded_name(name) for name in self._names() - {visitor.name}}
            is_used = folded_name(annotator) in used and not visitor.is_owner
            if is_used or folded_name(annotator) in others:
                raise InputError(
                    f"Somebody else answers as {annotator!r}. Choose another name, or "
                    "have an address made for it: likewise label --annotator NAME."
                )
            visitor.name = annotator
            visitor.names.add(annotator)


def find_secret(known: Iterable[str], given: str) -> str | None:
    """The one of the secrets that was given, found without telling how near it was."""
    return next((one for one in known if is_equal(one, given)), None)


def is_equal(one: str, other: str) -> bool:
    """Compare two secrets in a time that tells nothing."""
    return hmac.compare_digest(one.encode(), other.encode("utf-8", "replace"))
