"""The loop without a face: question, answer, undo, change, and what is known by now.

No printing, no click, no HTTP. Commands and pages stand on this, so that both have
every answer kept, every undo and the same next question.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from likewise import ActiveMetric, InputError
from likewise.app.choosing import Choosing
from likewise.app.inputs import (
    PURPOSES,
    check_annotator,
    check_label,
    check_task,
    known_seconds,
)
from likewise.app.learning import Learning
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
        self.names = store.item_names()
        self.lock = threading.RLock()
        self._learning = Learning(store, self.lock)
        self._choosing = Choosing(self._learning, is_ahead=is_ahead)
        self.background = self._learning.background
        self.X = self._learning.X
        self.kind: str = self.settings["kind"]
        self._after_answer: list[Callable[[], None]] = []

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Self:
        """Open a project file for use without a page."""
        return cls(Store.open(path, read_only=read_only))

    def close(self) -> None:
        """Stop computing ahead and close the file."""
        self._choosing.close()
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
        return self._choosing.question(check_annotator(annotator))

    def answer(
        self, number: int, label: int, annotator: str, seconds: float | None = None
    ) -> Answer:
        """Take the answer to an open question; it is on disk on return."""
        check_label(label)
        annotator = check_annotator(annotator)
        with self.lock:
            self._learning.sync()
            question = self.store.question(number)
            if question.annotator != annotator:
                raise ClosedError(
                    f"Question {number} is open for {question.annotator!r}, "
                    f"not for {annotator!r}."
                )
            answer = self.store.answer(question, label, known_seconds(seconds))
            return self._taken(answer)

    def undo(self, annotator: str) -> Answer:
        """Take back the annotator's last answer; its question opens again."""
        annotator = check_annotator(annotator)
        with self.lock:
            self._learning.sync()
            last = self.last_answer(annotator)
            if last is None:
                raise InputError("There is no answer to take back.")
            self.store.undo(last, annotator)
            self._changed()
            return last

    def change(self, number: int, label: int, annotator: str) -> Answer:
        """Replace an old answer on a pair by a new one; the old one stays recorded."""
        check_label(label)
        annotator = check_annotator(annotator)
        with self.lock:
            self._learning.sync()
            old = next((a for a in self._learning.answers if a.id == number), None)
            if old is None:
                raise NotThereError(f"There is no answer {number}.")
            answer = self.store.change(old, label, annotator, self.version)
            return self._taken(answer)

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
            self._learning.sync()
            for number in {item for left, right, _ in told for item in (left, right)}:
                self.store.item(number)
            answers = self.store.group_answers(told, annotator, self.version)
            self._changed()
        return answers

    def take_back(self, number: int, annotator: str) -> Answer:
        """Take back one of the annotator's answers, however old."""
        with self.lock:
            self._learning.sync()
            answer = next((a for a in self._learning.answers if a.id == number), None)
            if answer is None or answer.undone:
                raise NotThereError(f"There is no answer {number} to take back.")
            if answer.annotator != annotator:
                raise InputError(
                    f"Answer {number} is of {answer.annotator!r}, not of {annotator!r}."
                )
            self.store.undo(answer, annotator)
            self._changed()
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
            self._learning.sync()
            if purpose == self.purpose:
                return
            self.store.set_setting("acquisition", PURPOSES[purpose])
            self.store.forget_estimates()
            for question in self.store.open_questions():
                self.store.withdraw(question.id)
            self._changed()

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
            self._learning.settings = self.store.settings()

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
            self._learning.sync()
            known = {(a.pair, a.annotator): a.label for a in self.current_answers()}
            rows = [row for row in rows if known.get(_key(row)) != row["label"]]
            n_rows = self.store.import_answers(rows, self.version)
            self._changed()
        return n_rows

    # What is known by now

    @property
    def settings(self) -> dict[str, Any]:
        """Kind of items, seed, versions, fingerprint and the like."""
        return self._learning.settings

    @property
    def version(self) -> int:
        """How many answers, or lists of imported answers, the metric stands on."""
        return self._learning.version

    @property
    def state(self) -> tuple[int, int]:
        """A key that changes with every answer, undo and import."""
        return self._learning.state

    def learner(self) -> ActiveMetric:
        """The learner, up to date. It is shared: copy it before telling it anything."""
        return self._learning.shared()

    def untaught(self) -> ActiveMetric:
        """A learner that was told nothing: what was believed before. It is shared."""
        return self._learning.untaught

    def answers(self) -> list[Answer]:
        """Every answer ever given, undone ones included, oldest first."""
        with self.lock:
            self._learning.sync()
            return list(self._learning.answers)

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
            self._learning.sync()
            return int(self._learning.learner.answers_saved())

    def contradictions(self) -> list[list[tuple[int, int, int]]]:
        """Circles of answers that cannot all be true."""
        with self.lock:
            self._learning.sync()
            return self._learning.learner.contradictions()

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

    def _taken(self, answer: Answer) -> Answer:
        """Learn from an answer just stored."""
        self._choosing.take(answer)
        self._notify()
        return answer

    def _changed(self) -> None:
        """Follow what was just written to the file."""
        self._learning.reload()
        self._notify()

    def _notify(self) -> None:
        for call in self._after_answer:
            call()


def _key(row: dict[str, Any]) -> tuple[tuple[int, int], str]:
    """Pair and annotator of an imported answer."""
    left, right = sorted((row["left"], row["right"]))
    return (left, right), row["annotator"]
