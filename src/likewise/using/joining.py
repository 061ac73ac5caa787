"""Items joined step by step, the cheapest join first, and never against an answer.

The cost of a join is Ward's: by how much the squared distances of the items to their
centres grow, times two. Nothing here knows of beliefs; where to stop is for groups.py.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.asking.candidates import row_blocks
from likewise.threads import over_blocks
from likewise.using.cells import near_rows

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]
Made = tuple[int, int, float, float]  # two pieces, the cost, and that of a rival

# Pieces whose costs are all held at once, in time that grows with their square. Of
# more, those that are each other's cheapest among their neighbours are joined first, as
# Ward's method would.
MAX_PIECES = 1_000
# Neighbours among which a piece looks for its cheapest then.
N_NEAREST = 12


@dataclass(frozen=True)
class Joins:
    """A sequence of joins. Piece p < n_items is item p, n_items + t the t-th join."""

    n_items: int
    pieces: Pairs  # (n_joins, 2): what each join made one
    costs: Array  # (n_joins,)
    # (n_joins,): the least cost of joining either of the two with what is known to be
    # apart from the other; infinite where nothing is.
    rivals: Array

    def tops(self, n_joins: int) -> Rows:
        """The piece that each item is in after so many joins, (n_items,)."""
        tops = np.arange(self.n_items + n_joins)
        for made in range(self.n_items + n_joins - 1, self.n_items - 1, -1):
            tops[self.pieces[made - self.n_items]] = tops[made]
        return tops[: self.n_items]

    def reached(self) -> Array:
        """The greatest cost of each piece and what it is made of.

        What was joined under constraints may cost less than what it is made of.
        """
        reached = [0.0] * self.n_items
        for (a, b), cost in zip(self.pieces.tolist(), self.costs.tolist(), strict=True):
            reached.append(max(reached[a], reached[b], cost))
        return np.array(reached)

    def heights(self, pairs: Pairs) -> Array:
        """The greatest cost before a pair is in one piece; infinite if it never is."""
        made = np.arange(self.n_items, self.n_items + len(self.pieces))
        parents = np.arange(self.n_items + len(self.pieces))
        parents[self.pieces] = made[:, None]
        reached = self.reached()
        return np.array([_meet(parents, reached, i, j) for i, j in pairs.tolist()])


def _meet(parents: Rows, reached: Array, i: int, j: int) -> float:
    """Climb from the lower of two pieces, in the order of joins, until they are one."""
    while i != j:
        i, j = min(i, j), max(i, j)
        if parents[i] == i:
            return float("inf")
        i = int(parents[i])
    return float(reached[i])


@dataclass
class _Pieces:
    """Pieces that are left, a row each."""

    centres: Array  # (n_pieces, n_dimensions)
    sizes: Array
    names: Rows  # as Joins numbers them
    families: Rows  # pieces of one family belong together

    def among(self, rows: Rows | Mask) -> "_Pieces":
        """These of the pieces, copied."""
        return _Pieces(
            self.centres[rows], self.sizes[rows], self.names[rows], self.families[rows]
        )

    def costs(self, rows: Rows, others: Rows) -> Array:
        squared = np.empty(len(rows))

        def work(block: slice) -> None:
            gaps = self.centres[rows[block]] - self.centres[others[block]]
            squared[block] = np.einsum("ij,ij->i", gaps, gaps)

        over_blocks(work, row_blocks(len(rows), self.centres.shape[1]))
        a, b = self.sizes[rows], self.sizes[others]
        return np.asarray(2 * a * b / (a + b) * squared)

    def all_costs(self) -> Array:
        """Of any two, (n_pieces, n_pieces); infinite on the diagonal."""
        Z, sizes = self.centres, self.sizes
        squares = np.einsum("ij,ij->i", Z, Z)
        cost = squares[:, None] + squares - 2 * Z @ Z.T
        np.maximum(cost, 0.0, out=cost)
        # Twice the harmonic mean of the sizes, half of it: Ward's factor.
        cost *= 2 * sizes
        cost *= sizes[:, None]
        cost /= sizes[:, None] + sizes
        np.fill_diagonal(cost, np.inf)
        return np.asarray(cost)


class Joining:
    """The items, joined as far as few pieces make it necessary."""

    def __init__(self, space: Array, families: Rows, apart: Pairs) -> None:
        n_items = len(space)
        self._n_items, self._apart = n_items, apart
        self._first: list[Made] = []
        pieces = _Pieces(space, np.ones(n_items), np.arange(n_items), families)
        if n_items > MAX_PIECES:
            asked = _are_asked(families, apart)
            pieces = _join_near(pieces, asked, self._first)
        self._pieces, self._costs = pieces, pieces.all_costs()

    def free(self) -> Joins:
        """Join all there is, answers forgotten."""
        nothing = np.empty((0, 2), dtype=np.intp)
        n_pieces = len(self._pieces.sizes)
        return self._run(np.arange(n_pieces), nothing)

    def held(self) -> Joins:
        """Join all that may be, never two families that are apart.

        Items of one family belong together, but are joined like others, by their cost.
        """
        return self._run(self._pieces.families, self._apart)

    def _run(self, families: Rows, apart: Pairs) -> Joins:
        next_name = self._n_items + len(self._first)
        table = _Table(self._costs.copy(), self._pieces.sizes, families, apart)
        return _joins(
            self._n_items, self._first, _join_all(self._pieces, table, next_name)
        )


def _joins(
    n_items: int,
    first: list[Made],
    then: list[Made],
) -> Joins:
    """All joins, those of neighbours where their cost puts them.

    Neighbours are joined far and near at once; a join comes after what it is made of.
    """
    made = first + then
    pieces = np.array([each[:2] for each in made], dtype=np.intp).reshape(-1, 2)
    costs = np.array([each[2:] for each in made]).reshape(-1, 2)
    joins = Joins(n_items, pieces, costs[:, 0], costs[:, 1])
    if not first:
        return joins
    order = np.argsort(joins.reached()[n_items:], kind="stable")
    names = np.arange(n_items + len(made))
    names[n_items + order] = n_items + np.arange(len(made))
    return Joins(n_items, names[pieces[order]], costs[order, 0], costs[order, 1])


def _are_asked(families: Rows, apart: Pairs) -> Mask:
    """Items that an answer speaks of."""
    counts = np.bincount(families, minlength=len(families))
    is_told = counts > 1
    is_told[apart.ravel()] = True
    return np.asarray(is_told[families])


def _join_near(pieces: _Pieces, asked: Mask, made: list[Made]) -> _Pieces:
    """Join pieces that are each other's cheapest neighbour until few enough are left.

    Memory follows the graph of neighbours. Two pieces of different families that
    answers speak of are left to where all answers are at hand.
    """
    n_items = len(asked)
    while (n_left := len(pieces.sizes)) > MAX_PIECES:
        near = _Near(pieces, asked)
        while near.n_left > MAX_PIECES and near.join(made, n_items):
            pass
        pieces, asked = near.pieces.among(near.is_left), near.asked[near.is_left]
        if len(pieces.sizes) == n_left:
            break
    return pieces


def _neighbours(centres: Array) -> Pairs:
    """Pairs of pieces of which one is among the nearest of the other."""
    found = near_rows(centres, N_NEAREST)
    rows = np.repeat(np.arange(len(found)), found.shape[1])
    return _edges(np.column_stack([rows, found.ravel()]))


def _edges(pairs: Pairs) -> Pairs:
    """Each pair once, in order; as one number, which sorts much faster."""
    i, j = pairs.T
    width = int(pairs.max(initial=0)) + 1
    numbers = np.sort((np.minimum(i, j) * width + np.maximum(i, j))[i != j])
    numbers = numbers[np.diff(numbers, prepend=-1) > 0]
    return np.column_stack(np.divmod(numbers, width))


class _Near:
    """Pieces and what it costs to join each with its neighbours."""

    def __init__(self, pieces: _Pieces, asked: Mask) -> None:
        self.pieces, self.asked = pieces.among(np.arange(len(asked))), asked.copy()
        self.is_left = np.ones(len(asked), dtype=bool)
        self._edges = _neighbours(pieces.centres)
        self._costs = pieces.costs(*self._edges.T)

    @property
    def n_left(self) -> int:
        return int(self.is_left.sum())

    def join(self, made: list[Made], n_items: int) -> bool:
        """One round: every edge that is the cheapest of both its ends, if any is."""
        mutual = self._mutual()[: self.n_left - MAX_PIECES]
        i, j = self._edges[mutual].T
        names = self.pieces.names
        both = zip(names[i].tolist(), names[j].tolist(), strict=True)
        costs = self._costs[mutual].tolist()
        first = n_items + len(made)
        made += [(*two, cost, np.inf) for two, cost in zip(both, costs, strict=True)]
        self._unite(i, j, np.arange(first, first + len(i)))
        self._follow(i, j)
        return len(i) > 0

    def _mutual(self) -> Rows:
        """Edges that are the cheapest of both their ends and may be, cheapest first."""
        a, b = self._edges.T
        families = self.pieces.families
        may = ~(self.asked[a] & self.asked[b]) | (families[a] == families[b])
        costs = np.where(may, self._costs, np.inf)
        least = _least_at(a, b, costs, len(self.is_left), np.inf)
        # Few edges are the cheapest of an end, and of these one may be as cheap as
        # another: the first by rows counts.
        edges = np.flatnonzero(may & ((costs == least[a]) | (costs == least[b])))
        order = edges[np.lexsort((b[edges], a[edges], costs[edges]))]
        ranks = np.arange(len(order))
        first = _least_at(a[order], b[order], ranks, len(least), len(order))
        is_mutual = (first[a[order]] == ranks) & (first[b[order]] == ranks)
        return np.asarray(order[is_mutual])

    def _unite(self, i: Rows, j: Rows, names: Rows) -> None:
        """Put pieces j into pieces i."""
        pieces, asked = self.pieces, self.asked
        total = pieces.sizes[i] + pieces.sizes[j]
        share = (pieces.sizes[j] / total)[:, None]
        pieces.centres[i] += share * (pieces.centres[j] - pieces.centres[i])
        pieces.sizes[i], pieces.names[i] = total, names
        pieces.families[i] = np.where(asked[j], pieces.families[j], pieces.families[i])
        asked[i] |= asked[j]
        self.is_left[j] = False

    def _follow(self, i: Rows, j: Rows) -> None:
        """Let edges follow what was joined; only theirs cost something else now."""
        place, is_new = np.arange(len(self.asked)), np.zeros(len(self.asked), bool)
        place[j] = i
        is_new[i] = True
        edges = place[self._edges]
        stale = is_new[edges].any(axis=1)
        moved = _edges(edges[stale])
        self._edges = np.concatenate([edges[~stale], moved])
        self._costs = np.r_[self._costs[~stale], self.pieces.costs(*moved.T)]


def _least_at(
    a: Rows, b: Rows, values: NDArray[Any], n_pieces: int, most: float
) -> NDArray[Any]:
    """The least value of the edges of each piece; `most` where it has none."""
    least = np.full(n_pieces, most, dtype=values.dtype)
    np.minimum.at(least, a, values)
    np.minimum.at(least, b, values)
    return least


def _join_all(pieces: _Pieces, table: "_Table", next_name: int) -> list[Made]:
    """Join one pair after another, the costs of all pairs at hand."""
    names, made = pieces.names.copy(), []
    while (found := table.cheapest()) is not None:
        i, j, cost = found
        made.append((int(names[i]), int(names[j]), cost, table.rival(i, j)))
        names[i] = next_name
        next_name += 1
        table.join(i, j, cost)
    return made


class _Table:
    """The cost of joining any two pieces; infinite where an answer forbids it."""

    def __init__(self, cost: Array, sizes: Array, families: Rows, apart: Pairs) -> None:
        self._cost, self._sizes = cost, sizes.copy()
        self._family = families.copy()
        self._rows: dict[int, list[int]] = {}
        for row, family in enumerate(families.tolist()):
            self._rows.setdefault(family, []).append(row)
        self._apart: dict[int, set[int]] = {}
        for a, b in apart.tolist():
            self._apart.setdefault(a, set()).add(b)
            self._apart.setdefault(b, set()).add(a)
            self._forbid(self._rows[a], self._rows[b])
        self._nearest = cost.argmin(axis=1) if len(cost) else np.empty(0, np.intp)
        self._lowest = cost[np.arange(len(cost)), self._nearest]

    def cheapest(self) -> tuple[int, int, float] | None:
        """Two pieces and the cost of joining them; None if no two may be joined.

        Costs of what is joined never fall below those of its parts: what a row has as
        its lowest is a lower bound, looked at again when it is the lowest of all.
        """
        while True:
            if np.isinf(self._lowest).all():
                return None
            i = int(self._lowest.argmin())
            low = self._lowest[i]
            j = int(self._nearest[i])
            if self._cost[i, j] == low:
                return min(i, j), max(i, j), float(low)
            self._look_again(i)

    def rival(self, i: int, j: int) -> float:
        """The least cost of joining one of two with what is apart from the other."""
        least = np.inf
        for one, other in ((i, j), (j, i)):
            for family in self._apart.get(int(self._family[other]), ()):
                if rows := self._rows[family]:
                    least = min(least, float(self._cost[one, rows].min()))
        return least

    def join(self, i: int, j: int, cost: float) -> None:
        """Put piece j into piece i."""
        sizes, table = self._sizes, self._cost
        grown_i, grown_j = sizes[i] + sizes, sizes[j] + sizes
        joined = grown_i * table[i] + grown_j * table[j] - sizes * cost
        joined /= sizes[i] + grown_j
        joined[[i, j]] = np.inf
        table[i] = table[:, i] = joined
        table[j] = table[:, j] = np.inf
        self._lowest[j] = np.inf
        sizes[i] += sizes[j]
        self._unite(i, j)
        self._look_again(i)

    def _look_again(self, row: int) -> None:
        self._nearest[row] = self._cost[row].argmin()
        self._lowest[row] = self._cost[row, self._nearest[row]]

    def _forbid(self, rows: list[int], others: list[int]) -> None:
        if rows and others:
            self._cost[np.ix_(rows, others)] = np.inf
            self._cost[np.ix_(others, rows)] = np.inf

    def _unite(self, i: int, j: int) -> None:
        """One family of two, apart from all that either is apart from."""
        a, b = int(self._family[i]), int(self._family[j])
        self._rows[b].remove(j)
        if a == b:
            return
        ours, theirs = self._apart.pop(a, set()), self._apart.pop(b, set())
        for other in ours - theirs:
            self._forbid(self._rows[b], self._rows[other])
        for other in theirs - ours:
            self._forbid(self._rows[a], self._rows[other])
        for other in ours | theirs:
            self._apart[other] -= {b}
            self._apart[other].add(a)
        if ours | theirs:
            self._apart[a] = ours | theirs
        self._family[self._rows[b]] = a
        self._rows[a] += self._rows.pop(b)
