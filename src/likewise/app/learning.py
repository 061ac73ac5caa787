"""What the answers taught: a learner that follows the file.

The lock covers the file and what was told, never a fit: the learner kept here is only
told and copied, its copies compute.
"""

import threading
from itertools import takewhile
from typing import Any, NamedTuple

from likewise import ActiveMetric
from likewise.app.learners import batches_of, new_learner
from likewise.app.records import Answer
from likewise.app.store import Store

State = tuple[int, int]


class Snapshot(NamedTuple):
    """A learner to compute with, and what it was told."""

    learner: ActiveMetric
    state: State
    told: list[tuple[int, str]]
    n_begun: int


class Learning:
    """The answers of a project file, and a learner that was told them.

    Parameters
    ----------
    store : Store
        The open file.
    lock : threading.RLock
        Held by whoever calls, wherever several threads may.
    """

    def __init__(self, store: Store, lock: "threading.RLock") -> None:
        self.store = store
        self.lock = lock
        # Held by what nobody waits for: two at once would keep people waiting.
        self.background = threading.Lock()
        self.settings = store.settings()
        self.X = store.vectors()
        self.answers: list[Answer] = []
        self.learner = new_learner(self.X, self.settings)
        self.untaught = self.learner.copy()
        self.n_begun = 0  # how often the learner began anew
        self._shared: tuple[Any, ActiveMetric] | None = None  # state and learner
        self._told: list[tuple[int, str]] = []  # batches and annotators, as told
        self._seen: int | None = None

    @property
    def version(self) -> int:
        """How many answers, or lists of imported answers, the metric stands on."""
        return len(self._told)

    @property
    def state(self) -> State:
        """A key that changes with every answer, undo and import."""
        last = self.answers[-1].id if self.answers else 0
        return last, sum(answer.undone for answer in self.answers)

    def shared(self) -> ActiveMetric:
        """The learner, up to date. Copy it before telling it anything."""
        with self.lock:
            self.sync()
            key = (self.state, self.n_begun)
            if self._shared is None or self._shared[0] != key:
                self._shared = key, self.learner.copy()
            return self._shared[1]

    def snapshot(self) -> Snapshot:
        """A learner of one's own, with what it was told."""
        return Snapshot(self.learner.copy(), self.state, list(self._told), self.n_begun)

    def answered(self) -> set[tuple[int, int]]:
        """Pairs that somebody has answered."""
        return {answer.pair for answer in self.answers if not answer.undone}

    def take(self, answer: Answer) -> None:
        """Tell the learner an answer just stored."""
        self.answers.append(answer)
        asked = None if answer.is_correction else answer.question
        said = None if asked is None else self.store.question(asked).p_same
        self.learner.tell([answer.pair], [answer.label], answer.annotator, said=[said])
        self._told.append((answer.batch, answer.annotator))

    def adopt(self, computed: Snapshot) -> None:
        """Keep the fits of a learner that has computed; it may have fallen behind."""
        if computed.n_begun != self.n_begun:
            return
        if computed.told == self._told:
            self._shared = (self.state, computed.n_begun), computed.learner
        self.learner = computed.learner.copy()
        self._bring(self.learner, computed.told)

    def sync(self) -> None:
        """Take in what another program has written since."""
        changes = self.store.changes()
        if changes != self._seen:
            self.reload()
            self._seen = changes

    def reload(self) -> None:
        """Take in what the file says now."""
        self._follow_settings()
        self.answers = self.store.answers()
        self._told = self._bring(self.learner, self._told)

    def _bring(
        self, learner: ActiveMetric, told: list[tuple[int, str]]
    ) -> list[tuple[int, str]]:
        """Bring a learner that was told this to what counts now; gives what it was."""
        counted = [answer for answer in self.answers if not answer.undone]
        batches = batches_of(counted)
        numbers = [(batch[0].batch, batch[0].annotator) for batch in batches]
        pairs = zip(numbers, told, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        for _ in range(len(told) - shared):
            learner.undo()
        said = self.store.predictions() if batches[shared:] else {}
        for batch in batches[shared:]:
            learner.tell(
                [answer.pair for answer in batch],
                [answer.label for answer in batch],
                batch[0].annotator,
                said=[
                    None if answer.is_correction else said.get(answer.question)
                    for answer in batch
                ],
            )
        return numbers

    def _follow_settings(self) -> None:
        """Begin anew where questions are for something else by now."""
        before, self.settings = self.settings, self.store.settings()
        if self.settings["acquisition"] != before["acquisition"]:
            self.learner = new_learner(self.X, self.settings)
            self.untaught = self.learner.copy()
            self._told = []
            self.n_begun += 1
