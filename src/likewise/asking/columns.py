"""Answers as columns of numbers, and what stands of them, found for all at once.

A loop over ten thousand answers takes longer than the fit of a metric to them.
"""

from array import array
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.pairs import pair_array

Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]
Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Standing(NamedTuple):
    """What stands: a row for each pair and person, pairs in the order first told.

    Of a pair, who spoke last comes last. What a person said before a correction that
    nobody asked for counts as never said.
    """

    pairs: Pairs  # (n_pairs, 2)
    starts: Rows  # (n_pairs,): the first row of each pair
    people: Rows  # (n_rows,): numbers of the people
    labels: Array  # (n_rows,): +1 or -1, in force
    said: Array  # (n_rows,): P(same) before the first answer, nan if nobody asked
    told: Array  # (n_told,): +1 or -1, all that each person said of a pair, in order
    begins: Rows  # (n_rows,): where in `told` the answers of a row begin
    ends: Rows  # (n_rows,): and the place after the last of them

    @property
    def counts(self) -> Rows:
        """How many people's answers stand on each pair."""
        return np.asarray(np.diff(np.r_[self.starts, len(self.labels)]))

    @property
    def first(self) -> Array:
        """What each person said of the pair first."""
        return np.asarray(self.told[self.begins])

    def again(self, rows: Rows) -> list[tuple[bool, ...]]:
        """Of each of these rows, whether every further answer repeated the first."""
        found: list[tuple[bool, ...]] = [()] * len(rows)
        begins, ends = self.begins[rows], self.ends[rows]
        for at in np.flatnonzero(ends - begins > 1).tolist():
            told = self.told[begins[at] : ends[at]]
            found[at] = tuple((told[1:] == told[0]).tolist())
        return found

    @property
    def latest(self) -> Array:
        """The label in force of each pair: of who spoke last."""
        return np.asarray(self.labels[self.starts + self.counts - 1])

    def mean(self, values: Array) -> Array:
        """The mean of the rows of each pair."""
        return np.asarray(np.add.reduceat(values, self.starts) / self.counts)


class Columns:
    """Every answer: who said what of which pair, and what had been predicted."""

    def __init__(self) -> None:
        # Numbers of pairs and people, in the order they were first told.
        self._number: dict[tuple[int, int], int] = {}
        self._person: dict[str | None, int] = {}
        self._pairs, self._people = array("q"), array("q")
        self._labels, self._said = array("d"), array("d")
        self._standing: Standing | None = None  # of all answers so far

    @property
    def people(self) -> list[str | None]:
        """Everybody, by their number."""
        return list(self._person)

    def append(
        self, pair: tuple[int, int], who: str | None, label: int, said: float | None
    ) -> None:
        """Add an answer: +1, -1 or, unsure, 0."""
        self._standing = None
        self._pairs.append(self._number.setdefault(pair, len(self._number)))
        self._people.append(self._person.setdefault(who, len(self._person)))
        self._labels.append(label)
        self._said.append(np.nan if said is None else said)

    def cut(self, n_answers: int) -> None:
        """Keep only the first so many answers."""
        self._standing = None
        for column in (self._pairs, self._people, self._labels, self._said):
            del column[n_answers:]

    def copy(self) -> Self:
        """Independent columns of the same answers."""
        twin = type(self)()
        twin._number, twin._person = dict(self._number), dict(self._person)
        twin._pairs, twin._people = self._pairs[:], self._people[:]
        twin._labels, twin._said = self._labels[:], self._said[:]
        twin._standing = self._standing
        return twin

    def standing(self) -> Standing:
        """What stands; found once for so many answers."""
        if self._standing is None:
            self._standing = self._stands()
        return self._standing

    def predicted(self) -> tuple[Rows, Array]:
        """Places of answers that were predicted, and labels, "unsure" aside.

        The labels are those that their givers have made of them since, unasked.
        """
        order, is_new = self._by_person()
        labels, is_asked = np.array(self._labels)[order], ~np.isnan(self._said)[order]
        begins = np.flatnonzero(is_new | is_asked)
        ends = np.append(begins, len(order))[1:]
        became = labels[ends - 1]
        kept = is_asked[begins] & (became != 0)
        places, became = order[begins[kept]], became[kept]
        in_order = np.argsort(places)
        return places[in_order], became[in_order]

    def _by_person(self) -> tuple[Rows, Mask]:
        """Places of answers by pair and person, in order; which begin a person's."""
        keys = np.array(self._pairs) * len(self._person) + np.array(self._people)
        order = np.argsort(keys, kind="stable")
        return order, np.diff(keys[order], prepend=-1) != 0

    def _stands(self) -> Standing:
        order, is_new = self._by_person()
        labels, said = np.array(self._labels)[order], np.array(self._said)[order]
        is_last = np.append(is_new, True)[1:]
        last = np.flatnonzero(is_last & (labels != 0))
        # All before the last answer that nobody had asked for counts as never said.
        restarts = np.where(is_new | np.isnan(said), np.arange(len(order)), 0)
        rows = np.flatnonzero(labels)
        begins = np.searchsorted(rows, np.maximum.accumulate(restarts)[last])
        ends = np.searchsorted(rows, last) + 1

        places = order[last]
        numbers = np.array(self._pairs)[places]
        by_pair = np.lexsort((places, numbers))
        numbers, places = numbers[by_pair], places[by_pair]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return Standing(
            pairs=pair_array(self._number)[numbers[starts]],
            starts=starts,
            people=np.array(self._people)[places],
            labels=labels[last][by_pair],
            said=said[rows[begins]][by_pair],
            told=labels[rows],
            begins=begins[by_pair],
            ends=ends[by_pair],
        )
