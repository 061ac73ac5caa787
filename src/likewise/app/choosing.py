"""Which pair each person is asked next, and when that is computed."""

import threading
from itertools import islice
from typing import Any

import numpy as np

from likewise.app.ahead import Ahead
from likewise.app.crowd import N_RESERVE, Crowd
from likewise.app.learners import Pair, as_pairs, choose
from likewise.app.learning import Learning
from likewise.app.records import Answer, Question

# Where several people answer, one question in so many was answered by another before.
SECOND_OPINION = 10
# Pairs drawn where nothing is in reserve yet: one that nobody has is among them, unless
# nearly all pairs are answered.
N_DRAWN = 50
# Answers before a pair may come back to the person who gave one: whoever sees the pair
# just answered again takes it that the answer was lost.
N_REST = 10


class Choosing:
    """Opens questions: by what was computed ahead, from a reserve, or by a fit.

    Parameters
    ----------
    learning : Learning
        What the answers taught.
    is_ahead : bool
        Whether to compute the next question while the present one is looked at.
    """

    def __init__(self, learning: Learning, *, is_ahead: bool) -> None:
        self.learning = learning
        self.store = learning.store
        self.lock = learning.lock
        self._fitting = threading.Lock()  # one fit for questions at a time
        self._ahead = Ahead() if is_ahead else None
        self._crowd = Crowd()
        self._n_begun = learning.n_begun  # what the reserve was chosen for
        self._last: dict[str, tuple[Any, Any]] = {}  # answers not followed up yet

    def close(self) -> None:
        """Stop computing ahead."""
        if self._ahead is not None:
            self._ahead.close()
        self._crowd.close()

    def question(self, annotator: str) -> Question | None:
        """The open question of this annotator; a new one where there is none.

        None once every pair that may be asked has an answer.
        """
        self._crowd.saw(annotator)
        if self._crowd.is_large:
            question = self._crowd_question(annotator)
            if question is not None:
                return question
        self._follow_up(annotator)
        ready = self._ready_question(annotator)
        if ready is not None:
            return ready
        with self._fitting:
            return self._ready_question(annotator) or self._chosen_question(annotator)

    def take(self, answer: Answer) -> None:
        """Learn from an answer just stored, and note that a question follows it."""
        key = (self.learning.state, answer.annotator, answer.pair, answer.label)
        self.learning.take(answer)
        self._last[answer.annotator] = key, self.learning.state

    def _follow_up(self, annotator: str) -> None:
        """Take over what was computed ahead for the last answer, if it was."""
        key, state = self._last.pop(annotator, (None, None))
        if self._ahead is None or key is None:
            return
        ready = self._ahead.take(key)  # may wait for a fit, so without the lock
        if ready is not None:
            with self.lock:
                if self.learning.state == state:
                    now = self.learning.snapshot()
                    self.learning.adopt(now._replace(learner=ready.learner))

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

    def _sync(self) -> None:
        self.learning.sync()
        if self.learning.n_begun != self._n_begun:
            self._n_begun = self.learning.n_begun
            self._crowd.empty()

    def _prepared_question(
        self, annotator: str, elsewhere: list[Pair]
    ) -> Question | None:
        """A question by what was computed ahead for this person."""
        if self._ahead is None or self._second_opinion(annotator, elsewhere):
            return None
        pair, p_same, is_exact = self._ahead.next_pair(annotator)
        if pair is None or pair in elsewhere:
            return None
        is_new = is_exact or pair not in self.learning.answered()
        return self._open(pair, annotator, p_same) if is_new else None

    def _crowd_question(self, annotator: str) -> Question | None:
        """A question without waiting for a fit; None if only a fit can tell.

        From the reserve; a pair drawn at random while there is none.
        """
        with self.lock:
            self._sync()
            if self._ahead is not None:
                self._ahead.drop()
            everybodys = self.store.open_questions()
            mine = next((q for q in everybodys if q.annotator == annotator), None)
            if mine is not None:
                return mine
            self._crowd.renew(self._renew_reserve)
            elsewhere = [question.pair for question in everybodys]
            again = self._second_opinion(annotator, elsewhere)
            if again is not None:
                return self._open(again, annotator, None)
            taken = {*elsewhere, *self.learning.answered()}
            kept = self._crowd.take(lambda pair: pair not in taken)
            if kept is not None:
                return self._open(kept[0], annotator, kept[1])
            drawn = None if self._crowd.is_exhausted else self._drawn_pair(taken)
            return None if drawn is None else self._open(drawn, annotator, None)

    def _drawn_pair(self, taken: set[Pair]) -> Pair | None:
        """A pair drawn at random that nobody has, if one is found soon."""
        n_items = len(self.learning.X)
        seed, version = self.learning.settings["seed"], self.learning.version
        rng = np.random.RandomState([seed, version, len(taken)])
        drawn = np.sort(rng.randint(n_items, size=(N_DRAWN, 2)), axis=1)
        pairs = ((int(i), int(j)) for i, j in drawn if i != j)
        return next((pair for pair in pairs if pair not in taken), None)

    def _chosen_question(self, annotator: str) -> Question | None:
        """Choose by a fit of all answers, without keeping others from the file."""
        while True:
            with self.lock:
                self._sync()
                begun = self.learning.snapshot()
                elsewhere = [question.pair for question in self.store.open_questions()]
                again = self._second_opinion(annotator, elsewhere)
                resting = [*elsewhere, *self._answered_of_late(annotator, N_REST)]
            chosen = choose(begun.learner, again, resting, 1)
            if not chosen:  # rather the same again than to end too early
                chosen = choose(begun.learner, again, elsewhere, 1)
            with self.lock:
                self._sync()
                self.learning.adopt(begun)
                now = (self.learning.state, self.learning.n_begun)
                is_same = (begun.state, begun.n_begun) == now
                if not chosen and is_same:
                    return None
                taken = {question.pair for question in self.store.open_questions()}
                if not is_same:  # somebody has answered meanwhile
                    taken |= self.learning.answered() - {again}
                if chosen and chosen[0][0] not in taken:
                    question = self._open(chosen[0][0], annotator, chosen[0][1])
                    self._look_ahead(question)
                    return question

    def _renew_reserve(self) -> None:
        with self.learning.background, self._fitting:
            self._fill_reserve()

    def _fill_reserve(self) -> None:
        """Choose pairs for many people by a fit of all answers so far."""
        with self.lock:
            self._sync()
            begun = self.learning.snapshot()
            elsewhere = [question.pair for question in self.store.open_questions()]
        chosen = choose(begun.learner, None, elsewhere, N_RESERVE)
        with self.lock:
            self.learning.adopt(begun)
            if begun.n_begun == self.learning.n_begun:
                seed = self.learning.settings["seed"]
                rng = np.random.RandomState([seed, len(begun.told)])
                # Pairs drawn to check the belief come last: spread them.
                self._crowd.fill([chosen[k] for k in rng.permutation(len(chosen))])

    def _open(self, pair: Pair, annotator: str, p_same: float | None) -> Question:
        seed, version = self.learning.settings["seed"], self.learning.version
        rng = np.random.RandomState([seed, version, *pair])
        left, right = pair if rng.randint(2) else pair[::-1]
        return self.store.add_question(
            left, right, annotator, model_version=version, p_same=p_same
        )

    def _second_opinion(self, annotator: str, elsewhere: list[Pair]) -> Pair | None:
        """Now and then, the oldest pair that only someone else has answered.

        Without pairs in common, nothing could be said of how far people agree.
        """
        counted = [answer for answer in self.learning.answers if not answer.undone]
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

    def _answered_of_late(self, annotator: str, n_answers: int) -> list[Pair]:
        """Pairs of the last answers that this person gave."""
        mine = (
            answer.pair
            for answer in reversed(self.learning.answers)
            if answer.annotator == annotator and not answer.undone
        )
        return list(islice(mine, n_answers))

    def _look_ahead(self, question: Question) -> None:
        if self._ahead is None or self._crowd.is_large:
            return
        elsewhere = [
            other.pair
            for other in self.store.open_questions()
            if other.annotator != question.annotator
        ]
        elsewhere += [
            question.pair,
            *self._answered_of_late(question.annotator, N_REST - 1),
        ]
        learner, state = self.learning.learner.copy(), self.learning.state
        self._ahead.prepare(learner, state, question, as_pairs(elsewhere))
