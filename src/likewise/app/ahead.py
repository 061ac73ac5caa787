"""The next question for each possible answer, computed while the person looks."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import ActiveMetric, LikewiseError
from likewise.app.records import Question

# Seconds to wait first, so that the question just given is drawn without delay.
HEAD_START = 0.06

Pair = tuple[int, int]
Key = tuple[Any, ...]  # state, annotator, pair and label


@dataclass(frozen=True)
class Ready:
    """A learner that has been told an answer, and what it asks then."""

    learner: ActiveMetric
    pair: Pair | None
    p_same: float | None  # of that pair


class Following(NamedTuple):
    """A question computed ahead, and whether all answers were known then."""

    pair: Pair | None
    p_same: float | None
    is_exact: bool


class Turn:
    """One question being looked at: whether an answer came, and which."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.chosen: Key | None = None
        self.futures: dict[Key, Future[Ready | None]] = {}

    def end(self, chosen: Key | None = None) -> None:
        """Let go of all computations but the chosen one, which must hurry."""
        self.chosen = chosen
        self.is_over.set()
        for key, future in self.futures.items():
            if key != chosen:
                future.cancel()

    def follow_each(
        self, learner: ActiveMetric, elsewhere: NDArray[np.intp], said: float | None
    ) -> None:
        """Compute what follows each answer, one after the other.

        Side by side they would wait for each other, and the first be ready late.
        """
        self.is_over.wait(HEAD_START)
        for key, future in self.futures.items():
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._follow(key, learner, elsewhere, said))
                except Exception as error:  # for whoever takes the result
                    future.set_exception(error)

    def _follow(
        self,
        key: Key,
        learner: ActiveMetric,
        elsewhere: NDArray[np.intp],
        said: float | None,
    ) -> Ready | None:
        """Compute what is asked after one answer, unless another one was given."""
        if self.is_over.is_set() and self.chosen != key:
            return None
        _, annotator, pair, label = key
        learner = learner.copy()
        learner.tell([pair], [label], annotator, said=[said])
        found = learner.ask(1, exclude=elsewhere)
        if len(found) == 0:
            return Ready(learner, None, None)
        p_same = float(learner.predicted(found)[0])
        return Ready(learner, (int(found[0, 0]), int(found[0, 1])), p_same)


class Ahead:
    """Keeps, for each annotator, what would follow each possible answer."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="ahead")
        self._turns: dict[str, Turn] = {}
        self._next: dict[str, Following] = {}

    def prepare(
        self,
        learner: ActiveMetric,
        state: tuple[int, int],
        question: Question,
        elsewhere: NDArray[np.intp],
    ) -> None:
        """Start computing what follows each answer, the likeliest first."""
        name = question.annotator
        is_likely = question.p_same is None or question.p_same >= 0.5
        labels = (1, -1, 0) if is_likely else (-1, 1, 0)
        keys: list[Key] = [(state, name, question.pair, label) for label in labels]
        if name in self._turns:
            if keys[0] in self._turns[name].futures:
                return
            self._turns[name].end()
        self._next.pop(name, None)
        turn = self._turns[name] = Turn()
        turn.futures = {key: Future() for key in keys}
        self._pool.submit(turn.follow_each, learner, elsewhere, question.p_same)

    def take(self, key: Key) -> Ready | None:
        """What was computed for this answer; None if it was not."""
        name: str = key[1]
        self._next.pop(name, None)
        turn = self._turns.pop(name, None)
        if turn is None:
            return None
        # Where someone else has answered meanwhile, the question prepared before is
        # still a good one; the learner behind it is not.
        found = next((known for known in turn.futures if known[1:] == key[1:]), None)
        turn.end(found)
        if found is None or turn.futures[found].cancel():
            return None  # not begun: the caller is as fast
        try:
            ready = turn.futures[found].result()
        except LikewiseError:
            return None  # the caller computes it again, and reports it
        if ready is None:
            return None
        self._next[name] = Following(ready.pair, ready.p_same, found == key)
        return ready if found == key else None

    def next_pair(self, annotator: str) -> Following:
        """The question computed for after the last answer; given once."""
        return self._next.pop(annotator, Following(None, None, False))

    def drop(self) -> None:
        """Let go of all that has not begun: too many answer for it to be of use."""
        for turn in self._turns.values():
            turn.end()
        self._turns.clear()
        self._next.clear()

    def close(self) -> None:
        """Drop what has not begun and wait for the rest."""
        self.drop()
        self._pool.shutdown(wait=True, cancel_futures=True)
