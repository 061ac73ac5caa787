"""What was said, in its order: what it implies, where it disagrees, whom to believe.

Knows pairs and answers, never items or metrics.
"""

from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.asking.closure import DIFFERENT, SAME, UNSURE, Closure
from likewise.pairs import pair_array

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Cycle = list[tuple[int, int, int]]  # (i, j, label) of answers that disagree

# An "unsure" pair may be asked again after so many further answers.
UNSURE_REST = 100
# Implied pairs join the likelihood up to this many, drawn at random, and with no more
# weight in all than so many answers for each answer given.
MAX_IMPLIED = 300
IMPLIED_SHARE = 2.0
# A rate is held near zero until the answers are more than so many: a single slip in
# the first five answers is no habit.
FIRM_AFTER = 20
MAX_RATE = 0.4


class Answer(NamedTuple):
    """What was said of a pair, when, and by whom."""

    i: int
    j: int
    label: int  # +1 same, -1 different, 0 unsure
    tell: int
    annotator: str | None


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

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def n_tells(self) -> int:
        """How many times something was told, several answers at once being one."""
        return self._answers[-1].tell + 1 if self._answers else 0

    def tell(self, pairs: Pairs, labels: Array, annotator: str | None) -> None:
        """Add answers that were given together."""
        number = self.n_tells
        for (i, j), label in zip(pairs.tolist(), labels.tolist(), strict=True):
            self._append(Answer(i, j, int(label), number, annotator))

    def _append(self, answer: Answer) -> None:
        self._answers.append(answer)
        self.closure.tell(answer.i, answer.j, answer.label)

    def undo(self) -> None:
        """Take back what was told last."""
        last = self._answers[-1].tell
        while self._answers and self._answers[-1].tell == last:
            self._answers.pop()
            self.closure.undo()

    def first(self, n_answers: int) -> "AnswerLog":
        """The log as it was after so many answers."""
        log = AnswerLog(self.closure.n_items, self.equivalence)
        for answer in self._answers[:n_answers]:
            log._append(answer)
        return log

    def copy(self) -> "AnswerLog":
        """An independent log of the same answers."""
        log = AnswerLog(self.closure.n_items, self.equivalence)
        log._answers, log.closure = list(self._answers), deepcopy(self.closure)
        return log

    def history(self) -> list[dict[str, Any]]:
        """The answers as plain values."""
        return [
            {
                "pair": [answer.i, answer.j],
                "label": answer.label,
                "tell": answer.tell,
                "annotator": answer.annotator,
            }
            for answer in self._answers
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

    def flip_rates(self) -> dict[str | None, float]:
        """The estimated share of each annotator's answers that are wrong."""
        return flip_rates(self._answers, self.cycles())

    def n_times(self, i: int, j: int) -> int:
        """How often a pair was answered."""
        return sum(answer.i == i and answer.j == j for answer in self._answers)

    def n_implied(self) -> int:
        """How many pairs are known without an answer of their own."""
        if not self.equivalence:
            return 0
        return self.closure.n_known() - self.closure.n_answered()

    def known(self, rng: np.random.RandomState) -> KnownPairs:
        """Every pair answered or implied, with its label and source."""
        latest = self._latest()
        pairs = pair_array(latest)
        labels = np.array([a.label for a in latest.values()], dtype=np.int8)
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

    def evidence(self, rng: np.random.RandomState) -> tuple[Pairs, Array, Array]:
        """Pairs, P(same) and weights: what was answered, and what that implies.

        An annotator who flips a share e of the answers is believed as far as 1 - e.
        """
        latest = self._latest()
        pairs = pair_array(latest)
        labels = np.array([answer.label for answer in latest.values()], dtype=float)
        p_same = 0.5 + labels * (0.5 - self._flip_rate_of_each(latest))
        if not self.equivalence:
            return pairs, p_same, np.ones(len(pairs))
        implied, follows, n_implied = self.closure.implied_pairs(MAX_IMPLIED, rng)
        total = min(n_implied, IMPLIED_SHARE * len(pairs))
        share = total / max(len(implied), 1)
        return (
            np.concatenate([pairs, implied]),
            np.concatenate([p_same, (follows + 1) / 2]),
            np.repeat([1.0, share], [len(pairs), len(implied)]),
        )

    def _flip_rate_of_each(self, latest: dict[tuple[int, int], Answer]) -> Array:
        """The flip rate of who gave each answer."""
        n_decided = sum(answer.label != UNSURE for answer in self._answers)
        if n_decided == len(latest) and not self.cycles():
            return np.zeros(len(latest))  # nothing was said twice: nothing disagrees
        rates = self.flip_rates()
        return np.array([rates[answer.annotator] for answer in latest.values()])

    def _latest(self) -> dict[tuple[int, int], Answer]:
        """The answer in force for each pair answered, "unsure" aside."""
        return {(a.i, a.j): a for a in self._answers if a.label != UNSURE}


def flip_rates(
    answers: Iterable[Answer], cycles: Iterable[Cycle]
) -> dict[str | None, float]:
    """Estimate for each annotator the share of answers that are flipped.

    Of two different answers to one pair one is wrong, so each counts as half a flip.
    Of a cycle of answers that disagree at least one is wrong, so each counts as a share
    of a flip.
    """
    n_answers: dict[str | None, int] = defaultdict(int)
    n_flips: dict[str | None, float] = defaultdict(float)
    last: dict[tuple[int, int], Answer] = {}
    for answer in answers:
        if answer.label == 0:
            continue
        n_answers[answer.annotator] += 1
        earlier = last.get((answer.i, answer.j))
        if earlier is not None and earlier.label != answer.label:
            n_flips[answer.annotator] += 0.5
            n_flips[earlier.annotator] += 0.5
        last[answer.i, answer.j] = answer
    for cycle in cycles:
        for i, j, _ in cycle:
            n_flips[last[i, j].annotator] += 1 / len(cycle)
    return {
        who: min(n_flips[who] / (n_given + FIRM_AFTER), MAX_RATE)
        for who, n_given in n_answers.items()
    }
