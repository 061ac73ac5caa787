"""The loop without a face: question, answer, undo, change, and what is known by now.

No printing, no click, no HTTP. Commands and pages stand on this, so that both have
every answer kept, every undo and the same next question.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np

from likewise import ActiveMetric, InputError
from likewise.app.ahead import Ahead
from likewise.app.crowd import N_RESERVE, Crowd
from likewise.app.inputs import (
    PURPOSES,
    check_annotator,
    check_label,
    check_task,
    known_seconds,
)
from likewise.app.learners import Pair, as_pairs, batches_of, choose, new_learner
from likewise.app.records import (
    Answer,
    ClosedError,
    Estimate,
    Item,
    Medium,
    NotThereError,
    Question,
)
from likewise.app.store import Store

# Where several people answer, one question in so many was answered by another before.
SECOND_OPINION = 10


class Project:
    """An open project: its items, its answers and what they taught.

    Safe to use from several threads.

    Parameters
    ----------
    store : Store
        The open file.
    is_ahead : bool
        Whether to compute the next question while the present one is looked at.
    """

    def __init__(self, store: Store, *, is_ahead: bool = False) -> None:
        self.store = store
        self.is_read_only = store.is_read_only
        self.settings = store.settings()
        self.kind: str = self.settings["kind"]
        self.names = store.item_names()
        self.X = store.vectors()
        self.lock = threading.RLock()
        # The lock covers the file and what was told, never a fit: this learner is only
        # told and copied, its copies compute.
        self._learner = new_learner(self.X, self.settings)
        self._untaught = self._learner.copy()
        self._shared: tuple[Any, ActiveMetric] | None = None  # state and learner
        self._choosing = threading.Lock()  # one fit for questions at a time
        self._answers: list[Answer] = []
        self._told: list[tuple[int, str]] = []  # batches and annotators, as told
        self._n_begun = 0  # how often the learner began anew
        self._seen: int | None = None
        self._ahead = Ahead() if is_ahead else None
        self._crowd = Crowd()
        self._last: dict[str, tuple[Any, Any]] = {}  # answers not followed up yet
        self._after_answer: list[Callable[[], None]] = []

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Self:
        """Open a project file for use without a page."""
        return cls(Store.open(path, read_only=read_only))

    def close(self) -> None:
        """Stop computing ahead and close the file."""
        if self._ahead is not None:
            self._ahead.close()
        self._crowd.close()
        with self.lock:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # The loop

    def question(self, annotator: str) -> Question | None:
        """The open question of this annotator; a new one where there is none.

        None once every pair that may be asked has an answer.
        """
        annotator = check_annotator(annotator)
        self._crowd.saw(annotator)
        self._follow_up(annotator)
        ready = self._ready_question(annotator)
        if ready is not None:
            return ready
        with self._choosing:
            # Whoever was here before may have put pairs in reserve.
            ready = self._ready_question(annotator)
            if ready is None and self._crowd.is_large:
                self._fill_reserve()
                ready = self._ready_question(annotator)
            return ready or self._chosen_question(annotator)

    def answer(
        self, number: int, label: int, annotator: str, seconds: float | None = None
    ) -> Answer:
        """Take the answer to an open question; it is on disk on return."""
        check_label(label)
        annotator = check_annotator(annotator)
        with self.lock:
            self._sync()
            question = self.store.question(number)
            if question.annotator != annotator:
                raise ClosedError(
                    f"Question {number} is open for {question.annotator!r}, "
                    f"not for {annotator!r}."
                )
            answer = self.store.answer(question, label, known_seconds(seconds))
            self._take(answer)
        return answer

    def undo(self, annotator: str) -> Answer:
        """Take back the annotator's last answer; its question opens again."""
        annotator = check_annotator(annotator)
        with self.lock:
            self._sync()
            last = self.last_answer(annotator)
            if last is None:
                raise InputError("There is no answer to take back.")
            self.store.undo(last, annotator)
            self._reload()
            self._notify()
            return last

    def change(self, number: int, label: int, annotator: str) -> Answer:
        """Replace an old answer on a pair by a new one; the old one stays recorded."""
        check_label(label)
        annotator = check_annotator(annotator)
        with self.lock:
            self._sync()
            old = next((a for a in self._answers if a.id == number), None)
            if old is None:
                raise NotThereError(f"There is no answer {number}.")
            answer = self.store.change(old, label, annotator, self.version)
            self._take(answer)
        return answer

    def tell(self, told: list[tuple[int, int, int]], annotator: str) -> list[Answer]:
        """Take what someone said of groups: labels of several pairs, at once."""
        annotator = check_annotator(annotator)
        for left, right, label in told:
            check_label(label)
            if left == right:
                raise InputError(
                    f"A pair must have two different items. Got item {left} twice."
                )
        if not told:
            raise InputError("At least one pair must be told. Got none.")
        with self.lock:
            self._sync()
            for number in {item for left, right, _ in told for item in (left, right)}:
                self.store.item(number)
            answers = self.store.group_answers(told, annotator, self.version)
            self._reload()
            self._notify()
        return answers

    def take_back(self, number: int, annotator: str) -> Answer:
        """Take back one of the annotator's answers, however old."""
        with self.lock:
            self._sync()
            answer = next((a for a in self._answers if a.id == number), None)
            if answer is None or answer.undone:
                raise NotThereError(f"There is no answer {number} to take back.")
            if answer.annotator != annotator:
                raise InputError(
                    f"Answer {number} is of {answer.annotator!r}, not of {annotator!r}."
                )
            self.store.undo(answer, annotator)
            self._reload()
            self._notify()
            return answer

    @property
    def purpose(self) -> str:
        """What the questions are for: "groups" or "metric"."""
        return "groups" if self.settings["acquisition"] == "groups" else "metric"

    def set_purpose(self, purpose: str) -> None:
        """Ask for groups or for the metric from now on; open questions are dropped."""
        if purpose not in PURPOSES:
            raise InputError(
                f"Questions must be for {' or '.join(PURPOSES)}. Got {purpose!r}."
            )
        with self.lock:
            self._sync()
            if purpose == self.purpose:
                return
            self.store.set_setting("acquisition", PURPOSES[purpose])
            self.store.forget_estimates()
            for question in self.store.open_questions():
                self.store.withdraw(question.id)
            self._reload()
            self._notify()

    @property
    def task(self) -> tuple[str, str]:
        """The question that is put to people, empty for the usual; what explains it."""
        known = (self.settings.get(name) for name in ("question", "instructions"))
        question, instructions = (x if isinstance(x, str) else "" for x in known)
        return question, instructions

    def set_task(self, question: str, instructions: str) -> None:
        """Change the question that is put to people, and what explains it."""
        task = check_task(question, instructions)
        with self.lock:
            for name, value in task.items():
                self.store.set_setting(name, value)
            self.settings = self.store.settings()

    def flag(self, number: int, annotator: str, is_flagged: bool) -> None:
        """Set a question aside for a second look, or no longer."""
        with self.lock:
            self.store.question(number)
            self.store.flag(number, annotator, is_flagged)

    def import_answers(self, rows: list[dict[str, Any]]) -> int:
        """Add answers from elsewhere, all or none; gives how many were new."""
        for row in rows:
            check_label(row["label"])
            if row["left"] == row["right"]:
                raise InputError(
                    "A pair must have two different items. "
                    f"Got {self.names[row['left']]!r} twice."
                )
        with self.lock:
            self._sync()
            known = {(a.pair, a.annotator): a.label for a in self.current_answers()}
            rows = [row for row in rows if known.get(_key(row)) != row["label"]]
            n_rows = self.store.import_answers(rows, self.version)
            self._reload()
            self._notify()
        return n_rows

    # What is known by now

    @property
    def version(self) -> int:
        """How many answers, or lists of imported answers, the metric stands on."""
        return len(self._told)

    @property
    def state(self) -> tuple[int, int]:
        """A key that changes with every answer, undo and import."""
        last = self._answers[-1].id if self._answers else 0
        return last, sum(answer.undone for answer in self._answers)

    def learner(self) -> ActiveMetric:
        """The learner, up to date. It is shared: copy it before telling it anything."""
        with self.lock:
            self._sync()
            key = (self.state, self._n_begun)
            if self._shared is None or self._shared[0] != key:
                self._shared = key, self._learner.copy()
            return self._shared[1]

    def untaught(self) -> ActiveMetric:
        """A learner that was told nothing: what was believed before. It is shared."""
        return self._untaught

    def answers(self) -> list[Answer]:
        """Every answer ever given, undone ones included, oldest first."""
        with self.lock:
            self._sync()
            return list(self._answers)

    def annotators(self) -> set[str]:
        """Everybody who has answered, or has an open question."""
        with self.lock:
            asked = {question.annotator for question in self.store.open_questions()}
            return asked | {answer.annotator for answer in self.answers()}

    def last_answer(self, annotator: str) -> Answer | None:
        """The annotator's latest answer that undo would take back."""
        mine = (
            answer
            for answer in reversed(self.answers())
            if answer.annotator == annotator
            and answer.source != "imported"
            and not answer.undone
        )
        return next(mine, None)

    def current_answers(self) -> list[Answer]:
        """The answers that count: each annotator's latest on each pair.

        A changed answer gives way to the one that changed it, whoever that was.
        """
        answers = [answer for answer in self.answers() if not answer.undone]
        replaced = {answer.replaces for answer in answers}
        latest = {
            (answer.pair, answer.annotator): answer
            for answer in answers
            if answer.id not in replaced
        }
        return sorted(latest.values(), key=lambda answer: answer.id)

    def item(self, number: int) -> Item:
        """One item by its number."""
        with self.lock:
            return self.store.item(number)

    def medium(self, number: int, role: str) -> Medium | None:
        """The picture, thumbnail or sound of an item, if it has one."""
        with self.lock:
            return self.store.medium(number, role)

    def asked(self, number: int) -> Question:
        """A question by its number, open or not."""
        with self.lock:
            return self.store.question(number)

    def flagged(self) -> set[int]:
        """Numbers of the questions that were set aside."""
        with self.lock:
            return self.store.flagged()

    def item_number(self, name: str) -> int:
        """The number of the item of this name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise NotThereError(f"There is no item {name!r}.") from None

    def answers_saved(self) -> int:
        """How many pairs are known without having been asked."""
        with self.lock:
            self._sync()
            return int(self._learner.answers_saved())

    def contradictions(self) -> list[list[tuple[int, int, int]]]:
        """Circles of answers that cannot all be true."""
        with self.lock:
            self._sync()
            return self._learner.contradictions()

    def why(self, pair: tuple[int, int]) -> Any:
        """Why a pair is worth asking, by the present metric."""
        why = self.learner().why(pair)
        known = self.settings.get("feature_names") or []
        names = {f"feature {k}": name for k, name in enumerate(known)}
        reasons = [(names.get(name, name), share) for name, share in why.reasons]
        return replace(why, reasons=reasons)

    def p_same(self, pair: tuple[int, int]) -> float:
        """P(same) of one pair, by all that is known of the two items."""
        return float(self.learner().pair_probability([pair])[0])

    def on_change(self, call: Callable[[], None]) -> None:
        """Call this after every answer, undo and import."""
        self._after_answer.append(call)

    def add_estimate(self, estimate: Estimate) -> None:
        """Keep a point of the curve, unless the answers have moved on from it."""
        with self.lock:
            self.store.add_estimate(estimate)

    # How the learner follows the file

    def _take(self, answer: Answer) -> None:
        """Tell the learner an answer just stored."""
        key = (self.state, answer.annotator, answer.pair, answer.label)
        self._answers.append(answer)
        asked = answer.question
        said = None if asked is None else self.store.question(asked).p_same
        self._learner.tell([answer.pair], [answer.label], answer.annotator, said=[said])
        self._told.append((answer.batch, answer.annotator))
        self._last[answer.annotator] = key, self.state
        self._notify()

    def _follow_up(self, annotator: str) -> None:
        """Take over what was computed ahead for the last answer, if it was."""
        key, state = self._last.pop(annotator, (None, None))
        if self._ahead is None or key is None:
            return
        ready = self._ahead.take(key)  # may wait for a fit, so without the lock
        if ready is not None:
            with self.lock:
                if self.state == state:
                    self._adopt(ready.learner, self._told, self._n_begun)

    def _adopt(
        self, learner: ActiveMetric, told: list[tuple[int, str]], n_begun: int
    ) -> None:
        """Keep the fits of a learner that has computed; it may have fallen behind."""
        if n_begun != self._n_begun:
            return
        if told == self._told:
            self._shared = (self.state, n_begun), learner
        self._learner = learner.copy()
        self._bring(self._learner, told)

    def _notify(self) -> None:
        for call in self._after_answer:
            call()

    def _sync(self) -> None:
        """Take in what another program has written since."""
        changes = self.store.changes()
        if changes != self._seen:
            self._reload()
            self._seen = changes

    def _reload(self) -> None:
        self._follow_settings()
        self._answers = self.store.answers()
        self._told = self._bring(self._learner, self._told)

    def _bring(
        self, learner: ActiveMetric, told: list[tuple[int, str]]
    ) -> list[tuple[int, str]]:
        """Bring a learner that was told this to what counts now; gives what it was."""
        counted = [answer for answer in self._answers if not answer.undone]
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
                said=[said.get(answer.question) for answer in batch],
            )
        return numbers

    def _follow_settings(self) -> None:
        """Begin anew where questions are for something else by now."""
        before, self.settings = self.settings, self.store.settings()
        if self.settings["acquisition"] != before["acquisition"]:
            self._learner = new_learner(self.X, self.settings)
            self._untaught = self._learner.copy()
            self._told = []
            self._n_begun += 1
            self._crowd.empty()

    def _ready_question(self, annotator: str) -> Question | None:
        """The open question, or one that needs no fit; None if there is neither."""
        with self.lock:
            self._sync()
            everybodys = self.store.open_questions()
            mine = next((q for q in everybodys if q.annotator == annotator), None)
            if mine is None:
                elsewhere = [question.pair for question in everybodys]
                mine = self._prepared_question(annotator, elsewhere)
            if mine is not None:
                self._look_ahead(mine)
            return mine

    def _prepared_question(
        self, annotator: str, elsewhere: list[Pair]
    ) -> Question | None:
        """A question by what was computed before, for this person or in reserve."""
        if self._crowd.is_large:
            self._crowd.renew(self._renew_reserve)
            again = self._second_opinion(annotator, elsewhere)
            if again is not None:
                return self._open(again, annotator, None)
            taken = {*elsewhere, *self._answered()}
            kept = self._crowd.take(lambda pair: pair not in taken)
            return None if kept is None else self._open(kept[0], annotator, kept[1])
        if self._ahead is None or self._second_opinion(annotator, elsewhere):
            return None
        pair, p_same, is_exact = self._ahead.next_pair(annotator)
        if pair is None or pair in elsewhere:
            return None
        is_new = is_exact or pair not in self._answered()
        return self._open(pair, annotator, p_same) if is_new else None

    def _chosen_question(self, annotator: str) -> Question | None:
        """Choose by a fit of all answers, without keeping others from the file."""
        while True:
            with self.lock:
                self._sync()
                state, told, n_begun = self.state, list(self._told), self._n_begun
                learner = self._learner.copy()
                elsewhere = [question.pair for question in self.store.open_questions()]
                again = self._second_opinion(annotator, elsewhere)
            chosen = choose(learner, again, elsewhere, 1)
            with self.lock:
                self._sync()
                self._adopt(learner, told, n_begun)
                is_same = (state, n_begun) == (self.state, self._n_begun)
                if not chosen and is_same:
                    return None
                taken = {question.pair for question in self.store.open_questions()}
                if not is_same:  # somebody has answered meanwhile
                    taken |= self._answered() - {again}
                if chosen and chosen[0][0] not in taken:
                    question = self._open(chosen[0][0], annotator, chosen[0][1])
                    self._look_ahead(question)
                    return question

    def _renew_reserve(self) -> None:
        with self._choosing:
            self._fill_reserve()

    def _fill_reserve(self) -> None:
        """Choose pairs for many people by a fit of all answers so far."""
        with self.lock:
            self._sync()
            told, n_begun = list(self._told), self._n_begun
            learner = self._learner.copy()
            elsewhere = [question.pair for question in self.store.open_questions()]
        chosen = choose(learner, None, elsewhere, N_RESERVE)
        with self.lock:
            self._adopt(learner, told, n_begun)
            if n_begun == self._n_begun:
                rng = np.random.RandomState([self.settings["seed"], len(told)])
                # Pairs drawn to check the belief come last: spread them.
                self._crowd.fill([chosen[k] for k in rng.permutation(len(chosen))])

    def _open(self, pair: Pair, annotator: str, p_same: float | None) -> Question:
        rng = np.random.RandomState([self.settings["seed"], self.version, *pair])
        left, right = pair if rng.randint(2) else pair[::-1]
        return self.store.add_question(
            left, right, annotator, model_version=self.version, p_same=p_same
        )

    def _answered(self) -> set[tuple[int, int]]:
        return {answer.pair for answer in self._answers if not answer.undone}

    def _second_opinion(
        self, annotator: str, elsewhere: list[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """Now and then, the oldest pair that only someone else has answered.

        Without pairs in common, nothing could be said of how far people agree.
        """
        counted = [answer for answer in self._answers if not answer.undone]
        # Unsure counts too: whoever said so has seen the pair.
        mine = {answer.pair for answer in counted if answer.annotator == annotator}
        if len(mine) % SECOND_OPINION != SECOND_OPINION - 1:
            return None
        others = (
            answer.pair
            for answer in counted
            if answer.annotator != annotator
            and answer.label != 0
            and answer.source != "imported"
            and answer.pair not in mine
            and answer.pair not in elsewhere
        )
        return next(others, None)

    def _look_ahead(self, question: Question) -> None:
        if self._ahead is None or self._crowd.is_large:
            return
        elsewhere = [
            other.pair
            for other in self.store.open_questions()
            if other.annotator != question.annotator
        ]
        learner = self._learner.copy()
        self._ahead.prepare(learner, self.state, question, as_pairs(elsewhere))


def _key(row: dict[str, Any]) -> tuple[tuple[int, int], str]:
    """Pair and annotator of an imported answer."""
    left, right = sorted((row["left"], row["right"]))
    return (left, right), row["annotator"]
