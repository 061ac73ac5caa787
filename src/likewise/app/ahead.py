"""The next question for each possible answer, computed while the person looks."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import LikewiseError
from likewise.app.learner import Learner
from likewise.app.store import Question

# Seconds to wait first, so that the question just given is drawn without delay.
HEAD_START = 0.06

Pair = tuple[int, int]
Key = tuple[Any, ...]  # state, annotator, pair and label


@dataclass(frozen=True)
class Ready:
    """A learner that has been told an answer, and what it asks then."""

    learner: Learner
    pair: Pair | None


class Ahead:
    """Keeps, for each annotator, what would follow each possible answer."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="ahead")
        self._waiting: dict[str, dict[Key, Future[Ready]]] = {}
        self._next: dict[str, Pair | None] = {}

    def prepare(
        self,
        learner: Learner,
        state: tuple[int, int],
        question: Question,
        elsewhere: NDArray[np.intp],
    ) -> None:
        """Start computing what follows each answer to this question."""
        pair = question.pair
        keys = {label: (state, question.annotator, pair, label) for label in (1, -1, 0)}
        old = self._waiting.get(question.annotator, {})
        if keys[1] in old:
            return
        _cancel(old)
        self._next.pop(question.annotator, None)
        self._waiting[question.annotator] = {
            key: self._pool.submit(
                _follow, learner.copy(), pair, label, question.annotator, elsewhere
            )
            for label, key in keys.items()
        }

    def take(self, key: Key) -> Ready | None:
        """What was computed for this answer; None if it was not."""
        annotator: str = key[1]
        futures = self._waiting.pop(annotator, {})
        self._next.pop(annotator, None)
        # Where someone else has answered meanwhile, the question prepared before is
        # still a good one; the learner behind it is not.
        found = next((known for known in futures if known[1:] == key[1:]), None)
        chosen = futures.pop(found) if found is not None else None
        _cancel(futures)
        try:
            ready = None if chosen is None else chosen.result()
        except LikewiseError:
            return None  # the caller computes it again, and reports it
        if ready is None:
            return None
        self._next[annotator] = ready.pair
        return ready if found == key else None

    def next_pair(self, annotator: str) -> Pair | None:
        """The question computed for after the last answer; given once."""
        return self._next.pop(annotator, None)

    def close(self) -> None:
        """Drop what has not begun and wait for the rest."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _follow(
    learner: Learner,
    pair: Pair,
    label: int,
    annotator: str,
    elsewhere: NDArray[np.intp],
) -> Ready:
    time.sleep(HEAD_START)
    learner.tell([pair], [label], annotator)
    found = learner.ask(1, exclude=elsewhere)
    return Ready(learner, (int(found[0, 0]), int(found[0, 1])) if len(found) else None)


def _cancel(futures: dict[Key, "Future[Ready]"]) -> None:
    for future in futures.values():
        future.cancel()
