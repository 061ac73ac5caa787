"""The groups of a project: found by the learner, named and corrected by people.

A group has no number of its own, for each answer may change them: a page names a group
by one of its items, and a name belongs to the group that holds most of the items that
were in it when the name was given.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import InputError
from likewise.app.project import Project
from likewise.app.records import Answer, GroupName

MAX_NAME = 80
# What is said of a group is told of so many of its items, the most typical.
N_REPRESENTATIVES = 3
# Members kept with a name: enough to find the group again after others have left it.
N_NAMED = 1000


@dataclass(frozen=True)
class Group:
    """One group, as it is shown."""

    number: int  # 0 is the largest
    name: str  # empty where nobody gave one
    typical: list[int]  # items, the most typical first
    surest: list[int]  # the same items, the most doubtful last
    confidence: float  # expected share of its items that belong here
    representatives: list[int]

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.typical)

    @property
    def title(self) -> str:
        """Its name, or its number as people count."""
        return self.name or f"Group {self.number + 1}"


@dataclass(frozen=True)
class Found:
    """All groups after so many answers."""

    groups: list[Group]  # largest first
    labels: NDArray[np.int64]  # the group of each item
    confidence: NDArray[np.float64]  # of each item: that it is in its right group
    share_right: float
    interval: tuple[float, float]
    n_disbelieved: int  # answers left out because others contradict them

    def of(self, item: int) -> Group:
        """The group that an item is in."""
        return self.groups[int(self.labels[item])]

    def search(self, words: str) -> list[Group]:
        """Groups whose name has these words; all where there are none."""
        wanted = words.casefold().split()
        return [
            group
            for group in self.groups
            if all(word in group.title.casefold() for word in wanted)
        ]


class Grouping:
    """Finds, names and corrects the groups of a project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._lock = threading.Lock()
        self._kept: tuple[Any, Any] | None = None

    def found(self) -> Found:
        """The groups by all that is known now."""
        with self.project.lock:
            learner, state = self.project.learner(), self.project.state
            names = self.project.store.group_names()
        key = (state, self.project.purpose)
        with self._lock:
            kept = self._kept
        if kept is None or kept[0] != key:
            kept = (key, learner.groups())
            with self._lock:
                self._kept = kept
        return _describe(kept[1], names)

    def rename(self, item: int, name: str, annotator: str) -> Group:
        """Give the group of an item a name; an empty one takes it away."""
        name = check_group_name(name)
        self.project.item(item)
        found = self.found()
        group = found.of(item)
        if any(name and other.name == name for other in found.groups if other != group):
            raise InputError(f"Another group has the name {name!r} already.")
        with self.project.lock:
            names = self.project.store.group_names()
            mine = [
                one.id for one in names if _place(one, found.labels) == group.number
            ]
            self.project.store.name_group(
                name, group.typical[:N_NAMED], annotator, mine
            )
        return self.found().of(item)

    def join(self, groups: Sequence[Sequence[int]], annotator: str) -> list[Answer]:
        """Say that groups are one; each is given by the items that stand for it."""
        if len(groups) < 2 or not all(groups):
            raise InputError("At least two groups must be said to be the same.")
        first = groups[0]
        told = [pair for other in groups[1:] for pair in _tied(other, first)]
        return self.project.tell(told, annotator)

    def part(
        self, items: Sequence[int], here: Sequence[int], annotator: str
    ) -> list[Answer]:
        """Say that items do not belong to the group that others stand for."""
        stay = [item for item in here if item not in items]
        if not stay:
            raise InputError(
                "The items that stand for a group cannot all be sent away. "
                "Leave one, or send the others away."
            )
        told = [(item, other, -1) for item in items for other in stay]
        return self.project.tell(told, annotator)

    def move(
        self,
        items: Sequence[int],
        here: Sequence[int],
        there: Sequence[int],
        annotator: str,
    ) -> list[Answer]:
        """Say that items belong to another group, and so not to this one."""
        stay = [item for item in here if item not in items][:1]
        told = [(item, other, 1) for item in items for other in there if item != other]
        told += [(item, other, -1) for item in items for other in stay]
        return self.project.tell(told, annotator)


def _tied(items: Sequence[int], others: Sequence[int]) -> list[tuple[int, int, int]]:
    """Pairs that make one of all these items, with few answers."""
    pairs = [(item, others[0]) for item in items]
    pairs += [(items[0], other) for other in others[1:]]
    return [(i, j, 1) for i, j in pairs if i != j]


def check_group_name(name: str) -> str:
    """Return a group's name without outer space, or say what it must be."""
    name = " ".join(name.split())
    if len(name) > MAX_NAME or not name.isprintable():
        raise InputError(
            f"A group's name must have at most {MAX_NAME} printable characters. "
            f"Got {name!r:.100}."
        )
    return name


def _describe(groups: Any, names: list[GroupName]) -> Found:
    """What the learner found, with the names that people gave."""
    labels, confidence = groups.labels, groups.confidence
    titles = _titles(names, labels)
    described = []
    for number, typical in enumerate(_members(labels, groups.spread)):
        surest = typical[np.argsort(-confidence[typical], kind="stable")]
        described.append(
            Group(
                number,
                titles.get(number, ""),
                typical.tolist(),
                surest.tolist(),
                float(confidence[typical].mean()),
                typical[:N_REPRESENTATIVES].tolist(),
            )
        )
    n_disbelieved = len(groups.disbelieved)
    return Found(
        described,
        labels,
        confidence,
        groups.share_right,
        groups.interval,
        n_disbelieved,
    )


def _members(labels: NDArray[Any], spread: NDArray[Any]) -> list[NDArray[np.intp]]:
    """The items of each group, the most typical first."""
    order = np.lexsort((np.arange(len(labels)), spread, labels))
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _place(name: GroupName, labels: NDArray[np.int64]) -> int:
    """The group that holds most of the items that were named; of equals the larger."""
    counts = np.bincount(labels[name.items]) if name.items else np.zeros(0)
    return int(counts.argmax()) if len(counts) else -1


def _titles(names: list[GroupName], labels: NDArray[np.int64]) -> dict[int, str]:
    """The name of each group that has one: that which most of its items were given."""
    best: dict[int, tuple[int, str]] = {}
    for name in names:
        place = _place(name, labels)
        held = sum(int(labels[item]) == place for item in name.items)
        if place >= 0 and held >= best.get(place, (0, ""))[0]:
            best[place] = (held, name.name)
    return {place: name for place, (_, name) in best.items()}
