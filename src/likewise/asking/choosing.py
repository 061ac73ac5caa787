"""Which pairs may be asked now, and which of these are: repeats, audits, checks.

Knows answers and pairs. What is believed reaches it as a function of pairs, what an
answer is worth as scores.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise.asking import search
from likewise.asking.answers import AnswerLog, Cycle
from likewise.asking.candidates import best_rows
from likewise.asking.chains import SAME
from likewise.asking.checks import is_set_aside, n_wanted
from likewise.asking.closure import Forest
from likewise.asking.panel import Panel, panel_items
from likewise.asking.search import Ranked, Searched
from likewise.pairs import draw_pairs, pair_array, pair_number

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

# Where between two checks an audit falls, for neither to take the other's turn.
AUDIT_TURN = 0.25
# So many are drawn for each audit, and the one that follows from the fewest answers is
# asked: where one answer in five is wrong, a trial of three answers tells five times as
# much of that rate as one of six, and a second answer of a coin in it hides the first.
N_TRIED = 20


@dataclass(frozen=True)
class Candidates:
    """The pairs that may be asked, by the answers so far."""

    log: AnswerLog
    given: Pairs | None  # None: every pair of items
    seed: int
    share: float  # of questions drawn at random; with 0 no pair is set aside for them
    are_random: bool  # whether every question is drawn at random
    sorts: bool = False  # whether all others sort items: no further ones are needed

    @property
    def n_items(self) -> int:
        """Items to make pairs of."""
        return self.log.closure.n_items

    def __len__(self) -> int:
        if self.given is None:
            return self.n_items * (self.n_items - 1) // 2
        return len(self.given)

    def numbers(self, pairs: Pairs) -> Numbers:
        """A number for each pair, the same for no two."""
        return pair_number(pairs, self.n_items)

    def n_open(self) -> int:
        """How many have a label that is not known; "unsure" is not known."""
        if self.given is not None:
            return int((~self.log.is_known(self.given)).sum())
        return len(self) - self.log.closure.n_answered() - self.log.n_implied()

    def is_candidate(self, pairs: Pairs) -> Mask:
        """Which pairs are among those that may be asked at all."""
        if self.given is None:
            return np.ones(len(pairs), dtype=bool)
        return np.isin(self.numbers(pairs), self.numbers(self.given))

    def is_open(self, excluded: Numbers) -> Callable[[Pairs], Mask]:
        """A test for pairs whose label is not known and that may be asked now."""
        closed = np.unique(np.r_[excluded, self.numbers(self.log.resting())])

        def test(pairs: Pairs) -> Mask:
            is_closed = np.isin(self.numbers(pairs), closed)
            return np.asarray(~self.log.is_known(pairs) & ~is_closed)

        return test

    def is_random(self, pairs: Pairs) -> Mask:
        """Which pairs, if they are asked, are asked at random."""
        if self.are_random or self.share == 0:
            return np.full(len(pairs), self.are_random)
        return is_set_aside(pairs, self.seed)

    def drawn(
        self, is_open: Callable[[Pairs], Mask], rng: np.random.RandomState
    ) -> Ranked:
        """Open pairs, each as good as another."""
        drawn = self._some(rng)
        drawn, n_seen = drawn[is_open(drawn)], len(drawn)
        searched = Searched(len(self), n_seen, len(drawn), 0.0)
        return Ranked(drawn, np.zeros(len(drawn)), searched)

    def disputed(self, probability_same: Callable[[Pairs], Array]) -> Pairs:
        """For each contradiction the answer least believed, asked least often."""
        doubted = [
            pair
            for cycle in self.log.cycles()
            for pair in self._least_believed(cycle, probability_same)
        ]
        return np.unique(np.array(doubted, np.intp).reshape(-1, 2), axis=0)

    def _least_believed(
        self, cycle: Cycle, probability_same: Callable[[Pairs], Array]
    ) -> Pairs:
        """One answer of a contradiction, or none if all were given twice."""
        pairs = np.array([(i, j) for i, j, _ in cycle], dtype=np.intp)
        labels = np.array([label for _, _, label in cycle])
        p_same = probability_same(pairs)
        belief = np.where(labels > 0, p_same, 1 - p_same)
        often = np.array([self.log.n_times(i, j) for i, j, _ in cycle])
        # Asked twice all round and still at odds: a person who means it.
        if often.min() >= 2:
            return pairs[:0]
        return pairs[np.lexsort((belief, often))[:1]]

    def audits(
        self, n_pairs: int, excluded: Numbers, rng: np.random.RandomState
    ) -> Pairs:
        """Pairs that follow from answers, asked to see whether anybody errs.

        Half as many as checks; more, up to four times, the more answers were upset.
        """
        none = np.empty((0, 2), dtype=np.intp)
        if self.share == 0 or not self.log.equivalence:
            return none
        share = self.share / 2 * min(1 + self.log.n_upset, 4)
        asked = len(self.log) + AUDIT_TURN / share
        n_audits = int(share * (asked + n_pairs)) - int(share * asked)
        if n_audits == 0:
            return none
        implied = self.log.closure.implied_pairs(search.SHORTLIST, rng)[0]
        taken = np.isin(self.numbers(implied), excluded) | self.is_random(implied)
        implied = implied[~taken & self.is_candidate(implied)]
        drawn = implied[rng.permutation(len(implied))[: N_TRIED * n_audits]]
        lengths = [len(chain) for chain in self.log.closure.chains(drawn.tolist())]
        return drawn[np.argsort(lengths, kind="stable")[:n_audits]]

    @cached_property
    def panel(self) -> Panel | None:
        """Items sorted to tell how common "same" is, where any two may be asked."""
        if self.given is not None or not self.log.equivalence or self.share == 0:
            return None
        items = panel_items(self.n_items, self.seed)
        grid = np.stack(np.meshgrid(items, items, indexing="ij"), axis=-1)
        pairs = np.sort(grid.reshape(-1, 2), axis=1)
        resting = self.numbers(self.log.resting())
        may_ask = ~self.is_random(pairs) & ~np.isin(self.numbers(pairs), resting)
        # Nothing follows in a component whose answers disagree: its items never come to
        # be known of all others.
        is_upset = self.log.closure.is_contradicted()[pairs].any(axis=1)
        may_ask &= ~is_upset & (pairs[:, 0] < pairs[:, 1])
        square = (len(items), len(items))
        relations = self.log.labels_of(pairs)
        return Panel(items, relations.reshape(square), may_ask.reshape(square))

    def is_check(self, pairs: Pairs) -> Mask:
        """Which of these pairs, in the order they were asked, were drawn at random.

        What is asked again is so for its answer.
        """
        is_first = np.zeros(len(pairs), dtype=bool)
        is_first[np.unique(self.numbers(pairs), return_index=True)[1]] = True
        return np.asarray(self.is_random(pairs) & is_first)

    def n_checks(self, n_pairs: int, room: int) -> tuple[int, int]:
        """How many of the next questions are drawn at random, and for the panel.

        Of so many pairs, where there is room for some of them only.
        """
        if self.share == 0:
            return 0, 0
        asked = self.log.predicted()
        pairs = pair_array([(each.i, each.j) for each in asked])
        is_check, n_asked = self.is_check(pairs), len(asked) + n_pairs
        n_random = int(is_check.sum())
        wanted = int(self.share * n_asked)
        if self.panel is None and not self.sorts:
            is_same = np.array([each.label == SAME for each in asked], dtype=float)
            wanted = n_wanted(n_asked, self.share, is_same[is_check])
        n_drawn = min(max(wanted - n_random, 0), room)
        if self.panel is None or self.sorts:
            return n_drawn, 0
        n_sorting = self.panel.n_wanted(n_asked, pairs[~is_check]) - n_random - n_drawn
        return n_drawn, min(max(n_sorting, 0), room - n_drawn)

    def checks(
        self,
        n_pairs: int,
        room: int,
        excluded: Numbers,
        forest: Forest,
        rng: np.random.RandomState,
        probability_same: Callable[[Pairs], Array],
    ) -> Pairs:
        """Of so many pairs those drawn at random, then those that sort the panel.

        The forest is told of them.
        """
        n_drawn, n_sorting = self.n_checks(n_pairs, room)
        drawn = self._drawn_apart(n_drawn, excluded, forest, rng)
        if n_sorting == 0 or self.panel is None:
            return drawn
        is_open = self.is_open(np.r_[excluded, self.numbers(drawn)])
        sorting = self.panel.questions(n_sorting, is_open, probability_same)
        kept = sorting[[forest.join(i, j) for i, j in sorting.tolist()]]
        return np.concatenate([drawn, kept])

    def _drawn_apart(
        self,
        n_pairs: int,
        excluded: Numbers,
        forest: Forest,
        rng: np.random.RandomState,
    ) -> Pairs:
        """Open pairs drawn from those set aside."""
        if n_pairs == 0:
            return np.empty((0, 2), dtype=np.intp)
        drawn = self._some(rng)
        drawn = drawn[self.is_random(drawn)]
        drawn = drawn[self.is_open(excluded)(drawn)]
        drawn = drawn[rng.permutation(len(drawn))[: 2 * n_pairs]]
        if self.log.equivalence:
            drawn = drawn[[forest.join(i, j) for i, j in drawn.tolist()]]
        return drawn[:n_pairs]

    def _some(self, rng: np.random.RandomState) -> Pairs:
        """Those given, or some drawn at random."""
        if self.given is not None:
            return self.given
        return draw_pairs(self.n_items, search.SHORTLIST, rng)

    def best(
        self,
        ranked: Ranked,
        n_pairs: int,
        forest: Forest,
        rng: np.random.RandomState,
    ) -> Pairs:
        """The best pairs, none of which the others could imply."""
        pairs, scores, _ = ranked
        if not self.log.equivalence or n_pairs < 2:
            return np.asarray(pairs[best_rows(scores, n_pairs, rng)])
        order = best_rows(scores, len(scores), rng)
        picked: list[int] = []
        for row in order.tolist():
            if len(picked) == n_pairs:
                break
            if forest.join(*pairs[row].tolist()):
                picked.append(row)
        skipped = order[~np.isin(order, picked)]
        chosen = np.concatenate([np.array(picked, dtype=np.intp), skipped])
        return np.asarray(pairs[chosen[:n_pairs]])
