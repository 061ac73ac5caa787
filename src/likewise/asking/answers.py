"""What was said, in its order: what stands, what follows, whom to believe.

One history of answers; everything else is derived from it. Of one person's answers
about a pair the last one stands, and "unsure" withdraws it. Knows pairs and answers,
never items or metrics.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.asking import trials
from likewise.asking.chains import DIFFERENT, SAME, UNSURE, Pair
from likewise.asking.closure import Closure
from likewise.asking.columns import Columns
from likewise.asking.trials import Heard, Trial
from likewise.errors import InputError
from likewise.pairs import pair_array

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Cycle = list[tuple[int, int, int]]  # (i, j, label) of answers that disagree

# An "unsure" pair may be asked again after so many further answers.
UNSURE_REST = 100
# Implied pairs join the likelihood up to this many, drawn at random, and with no more
# weight in all than so many answers for each answer given.
MAX_IMPLIED = 300
IMPLIED_SHARE = 0.5


class Heeded(NamedTuple):
    """What is to be learned from: pairs that were answered, and some that follow."""

    pairs: Pairs  # (n_pairs, 2)
    p_same: Array  # (n_pairs,): 1 or 0, as was said or follows
    weights: Array  # (n_pairs,)
    implied: NDArray[np.bool_]  # (n_pairs,)
    right: Array  # (n_pairs,): how likely what was said is right


WORDS = {"same": SAME, "different": DIFFERENT, "unsure": UNSURE}


def check_answers(labels: ArrayLike, n_pairs: int) -> Array:
    """Return answers as +1, -1 and 0; booleans and words are read as they are meant."""
    given = np.asarray(labels, dtype=object)
    if given.shape != (n_pairs,):
        raise InputError(
            f"'labels' must have one entry for each of the {n_pairs} pairs. "
            f"Got shape {given.shape}."
        )
    kinds = {_kind(value) for value in given.tolist()}
    if len(kinds) > 1:
        raise InputError(
            "'labels' must all be numbers, all be booleans or all be words. "
            f"Got {' and '.join(sorted(kinds))}."
        )
    return np.array(
        [_read(value, at) for at, value in enumerate(given.tolist())], float
    )


def _kind(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    return "words" if isinstance(value, str) else "numbers"


def _read(value: Any, position: int) -> int:
    """One answer as a label."""
    if isinstance(value, (bool, np.bool_)):
        return SAME if value else DIFFERENT
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    if isinstance(value, (int, float, np.number)) and value in (
        SAME,
        DIFFERENT,
        UNSURE,
    ):
        return int(value)
    raise InputError(
        "An answer must be +1, True or 'same'; -1, False or 'different'; "
        f"0 or 'unsure'. Got {value!r} at position {position}."
    )


def check_said(said: Sequence[float | None], n_pairs: int) -> Sequence[float | None]:
    """Return what was predicted of pairs, one number or None for each."""
    if len(said) != n_pairs:
        raise InputError(
            f"'said' must have one entry for each of the {n_pairs} pairs. "
            f"Got {len(said)}."
        )
    for at, p_same in enumerate(said):
        if p_same is not None and not (_is_number(p_same) and 0 <= p_same <= 1):
            raise InputError(
                "'said' must hold None or numbers from 0 to 1. "
                f"Got {p_same!r} at position {at}."
            )
    return said


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


class Answer(NamedTuple):
    """What was said of a pair, when, and by whom."""

    i: int
    j: int
    label: int  # +1 same, -1 different, 0 unsure
    tell: int
    annotator: str | None
    # P(same) by the belief that asked, before the answer; None where nothing was asked.
    said: float | None


class KnownPairs(NamedTuple):
    """Every pair whose label is known."""

    pairs: Pairs  # (n_pairs, 2)
    labels: NDArray[np.int8]  # (n_pairs,)
    sources: NDArray[np.str_]  # (n_pairs,): "asked" or "implied"


class AnswerLog:
    """The answers and, where "same" is transitive, all that follows from them."""

    def __init__(self, n_items: int, equivalence: bool) -> None:
        self.equivalence = equivalence
        self.closure = Closure(n_items)
        self._answers: list[Answer] = []
        self._columns = Columns()  # the same as numbers
        # For each pair, what stands of each person's answers, the latest last.
        self._standing: dict[tuple[int, int], dict[str | None, int]] = {}
        self._trials: list[Trial] = []
        self._n_times: Counter[tuple[int, int]] = Counter()

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def n_tells(self) -> int:
        """How many times something was told, several answers at once being one."""
        return self._answers[-1].tell + 1 if self._answers else 0

    def tell(
        self,
        pairs: Pairs,
        labels: Array,
        annotator: str | None,
        said: Sequence[float | None],
    ) -> None:
        """Add answers that were given together."""
        number = self.n_tells
        told = zip(pairs.tolist(), labels.tolist(), said, strict=True)
        for (i, j), label, p_same in told:
            self._append(Answer(i, j, int(label), number, annotator, p_same))

    def _append(self, answer: Answer) -> None:
        self._trials += self._tried(answer)
        self._answers.append(answer)
        pair = (answer.i, answer.j)
        self._columns.append(pair, answer.annotator, answer.label, answer.said)
        self._n_times[pair] += 1
        by_person = self._standing.setdefault(pair, {})
        by_person.pop(answer.annotator, None)
        if answer.label != UNSURE:
            by_person[answer.annotator] = len(self._answers) - 1
        self.closure.tell(*pair, self._label(pair))

    def _tried(self, answer: Answer) -> list[Trial]:
        """How an answer compares with what was known; a person's own is no trial."""
        if answer.label == UNSURE:
            return []
        pair, place = (answer.i, answer.j), len(self._answers)
        by_person = self._standing.get(pair, {})
        if by_person:
            others = [self._answers[k] for who, k in by_person.items()]
            return [
                Trial(
                    place,
                    (other.annotator, answer.annotator),
                    other.label == answer.label,
                )
                for other in others
                if answer.annotator not in by_person
            ]
        chain = self.closure.chain(*pair) if self.equivalence else []
        if not chain:
            return []
        people = [self._latest(step).annotator for step in chain]
        agrees = self.closure.relation(*pair) == answer.label
        return [Trial(place, (*people, answer.annotator), agrees)]

    def _latest(self, pair: tuple[int, int]) -> Answer:
        """The answer in force on a pair that has one."""
        return self._answers[list(self._standing[pair].values())[-1]]

    def _label(self, pair: tuple[int, int]) -> int:
        """What is taken for true of a pair: the latest answer that stands."""
        standing = list(self._standing.get(pair, {}).values())
        return self._answers[standing[-1]].label if standing else UNSURE

    def undo(self) -> None:
        """Take back what was told last."""
        last = self._answers[-1].tell
        touched = set()
        while self._answers and self._answers[-1].tell == last:
            answer = self._answers.pop()
            touched.add((answer.i, answer.j))
            self._n_times[answer.i, answer.j] -= 1
            self.closure.undo()
        kept = len(self._answers)
        self._columns.cut(kept)
        self._trials = [each for each in self._trials if each.place < kept]
        for pair in touched:
            self._standing[pair] = {}
        for place, answer in enumerate(self._answers):
            if (answer.i, answer.j) in touched:
                by_person = self._standing[answer.i, answer.j]
                by_person.pop(answer.annotator, None)
                if answer.label != UNSURE:
                    by_person[answer.annotator] = place

    def first(self, n_answers: int) -> "AnswerLog":
        """The log as it was after so many answers."""
        return self._replayed(self.closure.n_items, n_answers)

    def grown(self, n_items: int) -> "AnswerLog":
        """A log of the same answers about the first of so many items."""
        return self._replayed(n_items, len(self._answers))

    def _replayed(self, n_items: int, n_answers: int) -> "AnswerLog":
        log = AnswerLog(n_items, self.equivalence)
        for answer in self._answers[:n_answers]:
            log._append(answer)
        return log

    def copy(self) -> "AnswerLog":
        """An independent log of the same answers."""
        log = AnswerLog(self.closure.n_items, self.equivalence)
        log._answers, log.closure = list(self._answers), self.closure.copy()
        log._columns = self._columns.copy()
        log._standing = {pair: dict(by) for pair, by in self._standing.items()}
        log._trials = list(self._trials)
        log._n_times = self._n_times.copy()
        return log

    def history(self) -> list[dict[str, Any]]:
        """The answers as plain values."""
        return [
            {
                "pair": [answer.i, answer.j],
                "label": answer.label,
                "tell": answer.tell,
                "annotator": answer.annotator,
                "said": answer.said,
            }
            for answer in self._answers
        ]

    def predicted(self) -> list[Answer]:
        """The answers that a belief had predicted, "unsure" aside, oldest first.

        With what their givers have made of them since.
        """
        places, labels = self._columns.predicted()
        answers = [self._answers[place] for place in places.tolist()]
        return [
            each if each.label == label else each._replace(label=int(label))
            for each, label in zip(answers, labels.tolist(), strict=True)
        ]

    def cycles(self) -> list[Cycle]:
        """Shortest cycles of answers that disagree."""
        if not self.equivalence:
            return []
        return [
            [
                (i, j, label)
                for (i, j), label in zip(
                    cycle.pairs.tolist(), cycle.labels.tolist(), strict=True
                )
            ]
            for cycle in self.closure.contradictions()
        ]

    def flip_rates(
        self, by_others: Mapping[Pair, float] | None = None
    ) -> dict[str | None, float]:
        """The estimated share of each annotator's answers that are wrong.

        `by_others` is P(same) of answered pairs, each by all other answers; of pairs
        that are not in it, what was predicted before they were answered counts.
        """
        return self._rates(self._p_by_others(by_others or {}, np.nan))

    def steady_people(self) -> frozenset[str | None]:
        """Whose answers bear each other out, as those of a coin would hardly do."""
        standing, names = self._columns.standing(), self._columns.people
        rows = np.flatnonzero(standing.ends - standing.begins > 1)
        people = [names[each] for each in standing.people[rows].tolist()]
        again = zip(people, standing.again(rows), strict=True)
        heard = [Heard(who, np.nan, repeats) for who, repeats in again]
        return trials.steady_people(self._trials, heard)

    def _p_by_others(self, by_others: Mapping[Pair, float], default: float) -> Array:
        """P(same) of each pair of which anything stands, by all other answers."""
        pairs = self._columns.standing().pairs
        if not by_others:
            return np.full(len(pairs), default)
        return np.array([by_others.get((i, j), default) for i, j in pairs.tolist()])

    def _rates(self, by_others: Array) -> dict[str | None, float]:
        standing, names = self._columns.standing(), self._columns.people
        others = np.repeat(by_others, standing.counts)
        p_same = np.where(np.isnan(others), standing.said, others)
        p_answer = np.where(standing.first > 0, p_same, 1 - p_same)
        rows = np.flatnonzero(~np.isnan(p_answer))
        told = zip(
            standing.people[rows].tolist(),
            p_answer[rows].tolist(),
            standing.again(rows),
            strict=True,
        )
        heard = [Heard(names[person], p, again) for person, p, again in told]
        people = [names[each] for each in dict.fromkeys(standing.people.tolist())]
        return trials.flip_rates(self._trials, people, heard)

    @property
    def n_upset(self) -> int:
        """How many answers disagreed with what followed from others."""
        return sum(not trial.agrees for trial in self._trials)

    def n_times(self, i: int, j: int) -> int:
        """How often a pair was answered."""
        return self._n_times[i, j]

    def said(self) -> dict[tuple[int, int], list[int]]:
        """All that was said of each pair, in its order, "unsure" aside.

        What somebody corrected unasked counts as never said.
        """
        said: dict[tuple[int, int], list[Answer]] = {}
        for (i, j, _), told in self._told().items():
            said.setdefault((i, j), []).extend(told)
        return {
            pair: [each.label for each in sorted(told, key=lambda each: each.tell)]
            for pair, told in said.items()
        }

    def _told(self) -> dict[tuple[int, int, str | None], list[Answer]]:
        """All that each person said of each pair, in its order, "unsure" aside.

        What somebody corrected unasked counts as never said.
        """
        told: dict[tuple[int, int, str | None], list[Answer]] = {}
        for answer in self._answers:
            key = (answer.i, answer.j, answer.annotator)
            if answer.said is None:
                told.pop(key, None)
            if answer.label != UNSURE:
                told.setdefault(key, []).append(answer)
        return told

    def corrected(self) -> set[tuple[int, int]]:
        """Pairs whose answer in force was told anew, unasked, by who had given it."""
        heard: set[tuple[int, int, str | None]] = set()
        corrected: set[tuple[int, int]] = set()
        for i, j, _, _, annotator, said in self._answers:
            corrected.discard((i, j))
            if said is None and (i, j, annotator) in heard:
                corrected.add((i, j))
            heard.add((i, j, annotator))
        return corrected

    def n_implied(self) -> int:
        """How many pairs are known without an answer of their own."""
        if not self.equivalence:
            return 0
        return self.closure.n_known() - self.closure.n_answered()

    def answered(self) -> tuple[Pairs, Array]:
        """Pairs with an answer of their own, and the labels in force."""
        standing = self._columns.standing()
        return standing.pairs.copy(), standing.latest

    def known(self, rng: np.random.RandomState) -> KnownPairs:
        """Every pair answered or implied, with its label and source."""
        pairs, latest = self.answered()
        labels = latest.astype(np.int8)
        implied, follows = np.empty((0, 2), dtype=np.intp), labels[:0]
        if self.equivalence:
            implied, follows, _ = self.closure.implied_pairs(None, rng)
        sources = np.repeat(["asked", "implied"], [len(pairs), len(implied)])
        return KnownPairs(
            np.concatenate([pairs, implied]), np.concatenate([labels, follows]), sources
        )

    def is_known(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Which pairs need not be asked."""
        if self.equivalence:
            return np.asarray(self.closure.relations(pairs) != UNSURE)
        return self.closure.is_answered(pairs)

    def labels_of(self, pairs: Pairs) -> NDArray[np.int8]:
        """+1 or -1 for pairs whose label is known, 0 for the others."""
        labels = self.closure.relations(pairs)
        if not self.equivalence:
            labels[~self.closure.is_answered(pairs)] = UNSURE
        return labels

    def resting(self) -> Pairs:
        """Pairs that someone was unsure of not long ago."""
        recent = self._answers[-UNSURE_REST:]
        unsure = {(a.i, a.j) for a in recent if a.label == UNSURE}
        return pair_array(sorted(unsure))

    def settles(self, pair: Pairs) -> tuple[int, int]:
        """How many pairs "same" and "different" would settle; pair of shape (1, 2)."""
        if not self.equivalence:
            return 1, 1
        same, different = (
            int(self.closure.gain(pair, label)[0]) for label in (SAME, DIFFERENT)
        )
        return same, different

    def evidence(
        self,
        rng: np.random.RandomState,
        by_others: Mapping[Pair, float] | None = None,
    ) -> Heeded:
        """All that answers tell: what was said, and what follows.

        An annotator who flips a share e of the answers is right with probability 1 - e
        each time; of several people's answers about a pair the mean counts. What
        follows is believed as far as all answers together from which it does, each
        after what all others make of its pair, `by_others`.
        """
        standing = self._columns.standing()
        rates = self._rates(self._p_by_others(by_others or {}, np.nan))
        # Of whom nothing stands there is no rate, and no row either.
        rate = np.array([rates.get(who, 0.0) for who in self._columns.people])
        said = standing.labels * (0.5 - rate[standing.people])
        pairs, p_same = standing.pairs, 0.5 + standing.mean(said)
        is_same, right = p_same > 0.5, np.maximum(p_same, 1 - p_same)
        counts = (right > 0.5).astype(float)  # a coin's answers say nothing
        if not self.equivalence:
            is_implied = np.zeros(len(pairs), bool)
            return Heeded(pairs, is_same.astype(float), counts, is_implied, right)
        if by_others:
            others = self._p_by_others(by_others, 0.5)
            p_same = trials.believed_answer(p_same, others)
        implied, follows, n_implied = self.closure.implied_pairs(MAX_IMPLIED, rng)
        total = min(n_implied, IMPLIED_SHARE * len(pairs))
        # A pair counts as one answer at most, however many it stands for.
        share = min(1.0, total / max(len(implied), 1))
        certainty = self._certainty(implied, standing.latest * (2 * p_same - 1))
        return Heeded(
            np.concatenate([pairs, implied]),
            np.concatenate([is_same, follows > 0]).astype(float),
            np.concatenate([counts, share * certainty]),
            np.repeat([False, True], [len(pairs), len(implied)]),
            np.concatenate([right, np.ones(len(implied))]),
        )

    def _certainty(self, implied: Pairs, belief: Array) -> Array:
        """How far the answers are believed, together, that each pair follows from.

        `belief` is how far each answer in force is, from -1 to 1.
        """
        if (np.abs(belief) == 1).all():
            return np.ones(len(implied))
        pairs = self._columns.standing().pairs.tolist()
        told = zip(pairs, np.maximum(belief, 0.0).tolist(), strict=True)
        kept = {(i, j): each for (i, j), each in told}
        chains = self.closure.chains(implied.tolist())
        return np.array([math.prod(kept[step] for step in way) for way in chains])
