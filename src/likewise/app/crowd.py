"""Questions for many people at once: each fit chooses more pairs than one.

What follows each answer can be computed ahead for one or two people. For more there is
a reserve: pairs worth asking by a fit of some answers ago, renewed again and again.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

Pair = tuple[int, int]

# Up to so many people have their next question computed for each of their answers.
FEW = 2
# Seconds after which somebody who asked for nothing counts as gone.
RECENT = 20.0
# Pairs that one fit chooses where many answer: as many as are used up during a fit, at
# hundreds of answers a second.
N_RESERVE = 400
# Pairs left at which more are chosen without a rest.
N_LOW = 200


class Crowd:
    """Who answers at present, and pairs in reserve for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}
        self._reserve: list[tuple[Pair, float]] = []
        self._is_exhausted = False
        self._rests_until = 0.0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="reserve")
        self._renewal: Future[None] | None = None

    def saw(self, annotator: str) -> None:
        """Take note that somebody wants a question."""
        with self._lock:
            self._seen[annotator] = time.monotonic()

    @property
    def is_large(self) -> bool:
        """Whether more people answer than could be computed ahead for."""
        oldest = time.monotonic() - RECENT
        with self._lock:
            return sum(at > oldest for at in self._seen.values()) > FEW

    def take(self, is_free: Callable[[Pair], bool]) -> tuple[Pair, float] | None:
        """The next pair in reserve that nobody has; each is given once."""
        with self._lock:
            while self._reserve:
                pair, p_same = self._reserve.pop(0)
                if is_free(pair):
                    return pair, p_same
        return None

    @property
    def is_exhausted(self) -> bool:
        """Whether the last fit found nothing to ask."""
        return self._is_exhausted

    def fill(self, chosen: list[tuple[Pair, float]]) -> None:
        """Put pairs in reserve, in the place of those that were left."""
        with self._lock:
            self._reserve, self._is_exhausted = chosen, not chosen

    def empty(self) -> None:
        """Forget the reserve: what is asked for has changed."""
        with self._lock:
            self._reserve, self._is_exhausted = [], False

    def renew(self, choose: Callable[[], None]) -> None:
        """Choose new pairs in the background, unless that is being done.

        Half of the time nothing is chosen while enough is in reserve: people who wait
        for a page need the cores too.
        """
        with self._lock:
            is_busy = self._renewal is not None and not self._renewal.done()
            is_resting = time.monotonic() < self._rests_until
            if not is_busy and not (is_resting and len(self._reserve) > N_LOW):
                self._renewal = self._pool.submit(self._choose, choose)

    def _choose(self, choose: Callable[[], None]) -> None:
        start = time.monotonic()
        choose()
        end = time.monotonic()
        with self._lock:
            self._rests_until = end + (end - start)

    def close(self) -> None:
        """Wait for what has begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
