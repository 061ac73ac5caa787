"""What the answers imply: same is transitive, different is inherited.

If a=b and b=c then a=c; if a=b and b#c then a#c. Here are the components of items
joined by "same", which components were told apart, and which answers disagree.
Nothing here knows about distances, and nothing here chooses what to ask.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.asking.chains import (
    DIFFERENT,
    SAME,
    UNSURE,
    Chains,
    Contradiction,
    Pair,
)
from likewise.asking.components import Components, Join
from likewise.pairs import pair_array, pair_at

Pairs = NDArray[np.intp]
BLOCK = 1_000_000  # numbers held at once while shared opponents are summed


class _Lookup(NamedTuple):
    """The state as sorted arrays, for questions about many pairs at once."""

    answered: NDArray[np.int64]  # keys of the answered pairs, sorted
    labels: NDArray[np.int8]  # their labels
    apart: NDArray[np.int64]  # keys (a, b) and (b, a) of opposed clean components
    first: NDArray[np.int64]  # where the keys of component a begin in `apart`
    size: NDArray[np.int64]  # items of each component
    opposed: NDArray[np.int64]  # items known to differ from each component
    clean: NDArray[np.bool_]  # components whose answers agree


class _Blocks(NamedTuple):
    """Sets of known pairs: one component by itself, or two that are opposed."""

    one: Pairs
    other: Pairs
    n_pairs: NDArray[np.int64]
    labels: NDArray[np.int8]
    order: Pairs  # items, sorted by component
    first: Pairs  # where each component begins in `order`
    size: NDArray[np.int64]

    def pairs(self, block: Pairs, place: NDArray[np.int64]) -> Pairs:
        """The pairs at these places of these blocks, i < j."""
        a, b = self.one[block], self.other[block]
        within = np.empty((len(block), 2), dtype=np.intp)
        across = a != b
        width = self.size[b[across]]
        within[across] = np.column_stack(np.divmod(place[across], width))
        for size in np.unique(self.size[a[~across]]):
            chosen = ~across & (self.size[a] == size)
            within[chosen] = pair_at(place[chosen], int(size))
        rows = np.column_stack([self.first[a], self.first[b]]) + within
        return np.sort(self.order[rows], axis=1)


class Closure:
    """The answers about `n_items` items and all that follows from them.

    Each answer costs about constant time and can be undone. A later answer about the
    same pair replaces the earlier one, and "unsure" withdraws it: then all is derived
    anew, once, when it is next asked for. An answer that disagrees with others is kept,
    and until it is settled nothing is implied by the component it is in.

    Examples
    --------
    >>> closure = Closure(4)
    >>> closure.tell(0, 1, +1)
    >>> closure.tell(1, 2, -1)
    >>> closure.relation(0, 2)
    -1
    >>> closure.n_known(), closure.n_answered()
    (3, 2)
    """

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items
        self._history: list[tuple[int, int, int]] = []
        self._derived: _Derived | None = _Derived(n_items)
        self._lookup: _Lookup | None = None
        self._keys: NDArray[np.int64] | None = None  # of the answered pairs, sorted

    def copy(self) -> Self:
        """An independent closure of the same answers; costs what the answers do."""
        twin = type(self)(0)
        twin.n_items, twin._history = self.n_items, list(self._history)
        twin._derived = None if self._derived is None else self._derived.copy()
        twin._lookup, twin._keys = self._lookup, self._keys
        return twin

    def tell(self, i: int, j: int, label: int) -> None:
        """Take in one answer: +1 same, -1 different, 0 unsure."""
        i, j = (int(i), int(j)) if i < j else (int(j), int(i))
        self._history.append((i, j, int(label)))
        self._lookup = self._keys = None
        if self._derived is not None and not self._derived.tell(i, j, int(label)):
            self._derived = None

    def undo(self, n_answers: int = 1) -> None:
        """Take the last answers back, as if they had never been given."""
        self._lookup = self._keys = None
        for _ in range(n_answers):
            i, j, _label = self._history.pop()
            if self._derived is not None and not self._derived.undo(i, j):
                self._derived = None

    def relation(self, i: int, j: int) -> int:
        """Return +1 or -1 for a pair that was answered or is implied, else 0."""
        told = self._answers.get((i, j) if i < j else (j, i))
        if told is not None:
            return told
        a, b = int(self._component[i]), int(self._component[j])
        if self.opposes(a, a) or self.opposes(b, b):
            return UNSURE
        if a == b:
            return SAME
        return DIFFERENT if self.opposes(a, b) else UNSURE

    def relations(self, pairs: Pairs) -> NDArray[np.int8]:
        """Return `relation` of each pair, shape (n_pairs,)."""
        known = self._implied(pairs)
        look = self._look()
        keys = self._pair_keys(pairs)
        was_answered, place = _find(look.answered, keys)
        known[was_answered] = look.labels[place[was_answered]]
        return known

    def is_answered(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Tell which pairs have an answer of their own, shape (n_pairs,)."""
        if self._keys is None:
            self._keys = np.sort(self._answered_keys())
        return _find(self._keys, self._pair_keys(pairs))[0]

    def components(self) -> Pairs:
        """Return the component of each item, shape (n_items,); equal means joined."""
        return self._component.copy()

    def is_contradicted(self) -> NDArray[np.bool_]:
        """Tell which items are in a component whose answers disagree, (n_items,)."""
        disagreeing: NDArray[np.bool_] = ~self._look().clean[self._component]
        return disagreeing

    def n_answered(self) -> int:
        """Count the pairs that have an answer, "unsure" aside."""
        return len(self._answers)

    def n_known(self) -> int:
        """Count the pairs answered or implied, without listing them."""
        look = self._look()
        size = look.size[look.clean]
        within = int((size * (size - 1)).sum()) // 2
        across = int((look.size * look.opposed)[look.clean].sum()) // 2
        answered = self._pairs_of(look.answered)
        implied = self._implied(answered) != 0
        return within + across + int((~implied).sum())

    def implied_pairs(
        self, limit: int | None, rng: np.random.RandomState
    ) -> tuple[Pairs, NDArray[np.int8], int]:
        """Pairs known without an answer of their own, their labels, and how many.

        At most `limit` of them, drawn at random; all if None.
        """
        blocks = self._blocks()
        ends = np.cumsum(blocks.n_pairs)
        n_all = int(ends[-1]) if len(ends) else 0
        number = np.arange(n_all)
        if limit is not None and n_all > 2 * limit:
            number = np.unique(rng.randint(0, n_all, 2 * limit))
        block = np.searchsorted(ends, number, side="right")
        pairs = blocks.pairs(block, number - (ends - blocks.n_pairs)[block])
        is_new = ~self.is_answered(pairs)
        pairs, labels = pairs[is_new], blocks.labels[block[is_new]]
        if limit is not None and len(pairs) > limit:
            kept = rng.permutation(len(pairs))[:limit]
            pairs, labels = pairs[kept], labels[kept]
        return pairs, labels, self.n_known() - self.n_answered()

    def _blocks(self) -> "_Blocks":
        """Components by themselves and against their opponents, clean ones only."""
        look = self._look()
        order = np.argsort(self._component, kind="stable")
        first = np.searchsorted(self._component[order], np.arange(self.n_items))
        alone = np.flatnonzero(look.clean & (look.size > 1))
        one, other = np.divmod(look.apart, self.n_items)
        once = one < other
        a, b = np.r_[alone, one[once]], np.r_[alone, other[once]]
        n_within = look.size[alone] * (look.size[alone] - 1) // 2
        n_across = look.size[one[once]] * look.size[other[once]]
        labels = np.repeat(
            np.array([SAME, DIFFERENT], np.int8), [len(alone), int(once.sum())]
        )
        return _Blocks(a, b, np.r_[n_within, n_across], labels, order, first, look.size)

    def gain(self, pairs: Pairs, label: int) -> NDArray[np.int64]:
        """Count the pairs that this answer to each pair would newly settle.

        "Different" settles all pairs between the two components. "Same" settles
        these too, and each component inherits the other's opponents. A pair that
        touches a contradiction would settle only itself; a known pair nothing.
        """
        look = self._look()
        a, b = self._component[pairs[:, 0]], self._component[pairs[:, 1]]
        newly = look.size[a] * look.size[b]
        if label == SAME:
            shared = self._shared_opponents(a, b)
            newly = newly + look.size[a] * (look.opposed[b] - shared)
            newly += look.size[b] * (look.opposed[a] - shared)
        newly = np.where(look.clean[a] & look.clean[b], newly, 1)
        return np.where(self.relations(pairs) == 0, newly, 0)

    def opposes(self, a: int, b: int) -> bool:
        """Tell whether two components, as `components` names them, were told apart."""
        return self._state.components.opposes(a, b)

    def contradictions(self) -> list[Contradiction]:
        """Return the shortest disagreeing cycle of each "different" within "same"."""
        component = self._component
        inside = [
            pair
            for pair, label in self._answers.items()
            if label == DIFFERENT and component[pair[0]] == component[pair[1]]
        ]
        if not inside:
            return []
        chains = Chains.of(self._answers, component)
        return [chains.contradiction(i, j) for i, j in inside]

    def chain(self, i: int, j: int) -> list[Pair]:
        """Answers that a pair without an answer of its own follows from, fewest first.

        Empty where nothing follows.
        """
        return self.chains([(i, j)])[0]

    def chains(self, pairs: Sequence[Sequence[int]]) -> list[list[Pair]]:
        """The chain of each pair."""
        follows = [self._follows(i, j) for i, j in pairs]
        if not any(follows):
            return [[] for _ in pairs]
        chains = Chains.of(self._answers, self._component)
        ways = {SAME: chains.same, DIFFERENT: chains.different}
        return [
            ways[relation](i, j) if relation else []
            for (i, j), relation in zip(pairs, follows, strict=True)
        ]

    def _follows(self, i: int, j: int) -> int:
        """What is known of a pair without an answer of its own."""
        is_answered = (min(i, j), max(i, j)) in self._answers
        return UNSURE if is_answered else self.relation(i, j)

    @property
    def _state(self) -> "_Derived":
        """All that follows from the history, derived anew if it must be."""
        if self._derived is None:
            self._derived = _Derived.replay(self.n_items, self._history)
        return self._derived

    @property
    def _answers(self) -> dict[tuple[int, int], int]:
        return self._state.answers

    @property
    def _component(self) -> Pairs:
        return self._state.components.of_item

    def _look(self) -> _Lookup:
        """Return the state as arrays, made once after each change."""
        if self._lookup is None:
            self._lookup = self._make_lookup()
        return self._lookup

    def _make_lookup(self) -> _Lookup:
        size = np.bincount(self._component, minlength=self.n_items)
        clean = np.ones(self.n_items, dtype=bool)
        opponents = self._state.components.opponents
        clean[[a for a, others in opponents.items() if a in others]] = False
        apart = np.sort(self._apart_keys(clean))
        one, other = np.divmod(apart, self.n_items)
        opposed = np.bincount(one, size[other], self.n_items).astype(np.int64)
        first = np.searchsorted(apart, np.arange(self.n_items + 1) * self.n_items)
        keys = self._answered_keys()
        labels = np.fromiter(self._answers.values(), np.int8, len(keys))
        order = np.argsort(keys)
        return _Lookup(keys[order], labels[order], apart, first, size, opposed, clean)

    def _answered_keys(self) -> NDArray[np.int64]:
        return self._pair_keys(pair_array(self._answers))

    def _apart_keys(self, clean: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.array(
            [
                a * self.n_items + b
                for a, others in self._state.components.opponents.items()
                if clean[a]
                for b in others
                if clean[b]
            ],
            dtype=np.int64,
        )

    def _implied(self, pairs: Pairs) -> NDArray[np.int8]:
        """Return what the components say of each pair, its own answer aside."""
        look = self._look()
        a, b = self._component[pairs[:, 0]], self._component[pairs[:, 1]]
        known = np.zeros(len(pairs), dtype=np.int8)
        known[_find(look.apart, a * self.n_items + b)[0]] = DIFFERENT
        known[(a == b) & look.clean[a]] = SAME
        return known

    def _shared_opponents(self, a: Pairs, b: Pairs) -> NDArray[np.int64]:
        """Count the items known to differ from both of two components."""
        first = self._look().first
        degree = first[1:] - first[:-1]
        swap = degree[a] > degree[b]  # walk through the shorter list of the two
        a, b = np.where(swap, b, a), np.where(swap, a, b)
        shared = np.zeros(len(a), dtype=np.int64)
        places = np.flatnonzero(degree[a])
        steps = np.cumsum(degree[a[places]]) // BLOCK
        for block in np.split(places, np.flatnonzero(np.diff(steps)) + 1):
            shared[block] = self._sum_shared(a[block], b[block], degree[a[block]])
        return shared

    def _sum_shared(
        self, a: Pairs, b: Pairs, degree: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Look up each opponent of a, `degree` of them, among the opponents of b."""
        look = self._look()
        row = np.repeat(np.arange(len(a)), degree)
        within = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
        opponent = look.apart[look.first[a[row]] + within] % self.n_items
        is_shared = _find(look.apart, b[row] * self.n_items + opponent)[0]
        items = np.bincount(row, look.size[opponent] * is_shared, len(a))
        return items.astype(np.int64)

    def _pair_keys(self, pairs: Pairs) -> NDArray[np.int64]:
        """Number each pair, the same for (i, j) and (j, i)."""
        low, high = np.sort(pairs.astype(np.int64), axis=1).T
        keys: NDArray[np.int64] = low * self.n_items + high
        return keys

    def _pairs_of(self, keys: NDArray[np.int64]) -> Pairs:
        return np.column_stack(np.divmod(keys, self.n_items)).astype(np.intp)


class _Derived:
    """What follows from a history: labels in force, components, the way back."""

    def __init__(self, n_items: int) -> None:
        self.components = Components(n_items)
        self.answers: dict[tuple[int, int], int] = {}
        self._replaced: set[tuple[int, int]] = set()
        self._trail: list[Join | int | None] = []  # what undoes each answer

    @classmethod
    def replay(cls, n_items: int, history: list[tuple[int, int, int]]) -> Self:
        """Derive everything anew: an answer was replaced, withdrawn, or comes back."""
        derived = cls(n_items)
        answers = derived.answers
        holds: dict[tuple[int, int], int] = {}  # which answer a pair's label is from
        for place, (i, j, label) in enumerate(history):
            if label == answers.get((i, j), UNSURE):
                continue
            if (i, j) in answers:
                derived._replaced.add((i, j))
                del answers[i, j], holds[i, j]
            if label != UNSURE:
                holds[i, j], answers[i, j] = place, label
        for place, (i, j, label) in enumerate(history):
            in_force = holds.get((i, j)) == place
            derived._trail.append(derived._apply(i, j, label) if in_force else None)
        return derived

    def copy(self) -> Self:
        """An independent copy; the steps of the way back never change."""
        twin = type(self)(0)
        twin.components, twin.answers = self.components.copy(), dict(self.answers)
        twin._replaced, twin._trail = set(self._replaced), list(self._trail)
        return twin

    def tell(self, i: int, j: int, label: int) -> bool:
        """Take in an answer; False if one is replaced: then derive all anew."""
        told = self.answers.get((i, j))
        if label == told or (label == UNSURE and told is None):
            self._trail.append(None)
        elif told is None:
            self.answers[i, j] = label
            self._trail.append(self._apply(i, j, label))
        else:
            return False
        return True

    def undo(self, i: int, j: int) -> bool:
        """Take the last answer back; False if another one comes back for it."""
        if (i, j) in self._replaced:
            return False
        step = self._trail.pop()
        if step is not None:
            del self.answers[i, j]
        if isinstance(step, Join):
            self.components.split(step)
        elif step == DIFFERENT:
            self.components.oppose(*self._named(i, j), -1)
        return True

    def _apply(self, i: int, j: int, label: int) -> Join | int:
        """Join or oppose two components; return what undoing it needs."""
        a, b = self._named(i, j)
        if label == DIFFERENT:
            self.components.oppose(a, b, 1)
            return DIFFERENT
        return SAME if a == b else self.components.join(a, b)

    def _named(self, i: int, j: int) -> tuple[int, int]:
        of_item = self.components.of_item
        return int(of_item[i]), int(of_item[j])


class Forest:
    """What would follow if some pairs, not yet answered, all turned out "same".

    A batch whose pairs join components in a forest has no pair that the others could
    imply.
    """

    def __init__(self, closure: Closure) -> None:
        self._closure = closure
        self._component = closure.components()
        self._parent: dict[int, int] = {}

    def join(self, i: int, j: int) -> bool:
        """Join two items unless they are known to belong together or apart."""
        a, b = self._root(int(self._component[i])), self._root(int(self._component[j]))
        if a == b or self._is_apart(a, b):
            return False
        self._parent[a] = b
        return True

    def _root(self, a: int) -> int:
        while a in self._parent:
            a = self._parent[a]
        return a

    def _is_apart(self, a: int, b: int) -> bool:
        """Whether any component under one root opposes any under the other."""
        ones, others = self._under(a), self._under(b)
        return any(
            self._closure.opposes(one, other) for one in ones for other in others
        )

    def _under(self, root: int) -> list[int]:
        return [root, *(a for a in self._parent if self._root(a) == root)]


def _find(
    keys: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Tell which wanted keys are among the sorted keys, and where."""
    if len(keys) == 0:
        return np.zeros(len(wanted), dtype=bool), np.zeros(len(wanted), dtype=np.intp)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return keys[place] == wanted, place
