"""The pairs worth most among all pairs, which are never listed.

Tiles of pairs are looked at in a random order, the most doubtful of each are kept and
scored. Before all tiles are seen the search may end: no answer is worth more than a
coin's toss, and once as many pairs as are wanted are worth that, nothing can be better.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.asking import acquisition as acquisitions
from likewise.asking.acquisition import Acquisition
from likewise.asking.candidates import Pool
from likewise.asking.doubt import Doubt
from likewise.model import equations, matrix
from likewise.model.belief import Belief
from likewise.pairs import pair_number
from likewise.threads import one_thread

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]
Single = NDArray[np.float32]

# Items along each side of a tile of pairs: 2 MiB in single precision.
TILE = 724
# Pairs that are kept, most doubtful first, and scored as far as it takes; and the most
# that are, where that is what being exact takes.
SHORTLIST, MOST_KEPT = 3_000, 2_000_000
# Pairs scored first, then twice as many, and so on; and how many in all of those most
# in doubt by the mean metrics, where the entropy is of a belief of several members.
FIRST_SCORED, FEW_SCORED = 128, 896
# Pairs that are kept for the questions until the metric is next fitted from scratch,
# and the certainty up to which one is as good as another.
RESERVE, HARDLY = 2 * SHORTLIST, 0.05
# Items up to which all tiles are looked at, if need be; of more, so many are drawn: 33
# million pairs.
MAX_ITEMS, MOST_TILES = 100_000, 64
# Multiplications that a scan for pairs in reserve may take, some seconds of one core:
# the next question shall not wait for more items or dimensions than that.
MOST_WORK = 5e10
# Nats that a better pair may have been missed by.
TOLERANCE = 1e-6
# |2 P - 1| by the mean metrics below which a pair is worth scoring before all tiles
# are seen.
NEAR = 0.02


class Wanted(NamedTuple):
    """What a search is for."""

    n_pairs: int
    n_scored: int = 0  # at least so many, as far as there are
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class Searched:
    """How the pairs worth most were looked for."""

    n_pairs: int  # that there are
    n_seen: int  # that were looked at
    n_scored: int
    shortfall: float  # nats by which a pair not scored may be better; inf: not known
    recall: float | None = None  # of the neighbours among them, where few were seen

    def __str__(self) -> str:
        seen = f"{self.n_seen:,} of {self.n_pairs:,} pairs were looked at"
        if self.n_seen == self.n_pairs:
            seen = f"All {self.n_pairs:,} pairs were looked at"
        if self.recall is not None:
            seen += (
                f" (a random share, and neighbours with a recall of {self.recall:.2f})"
            )
        rest = "others may be better"
        if self.shortfall == 0:
            rest = "no other is better"
        elif np.isfinite(self.shortfall):
            rest = f"no other is better by more than {self.shortfall:.1g} nats"
        return f"{seen}, {self.n_scored:,} scored; {rest}."


class Ranked(NamedTuple):
    """Pairs with their scores, in no order."""

    pairs: Pairs
    scores: Array
    searched: Searched


def best_pairs(
    pool: Pool,
    acquisition: Acquisition,
    wanted: Wanted,
    is_open: Callable[[Pairs], Mask],
    rng: np.random.RandomState,
    n_first: int | None = None,
) -> Ranked:
    """The open pairs of highest score, and others that were scored on the way.

    With `n_first`, of the pairs of one of the first so many items and one of the rest.

    With a tolerance of 0 none is missed by "mean-entropy", and by "entropy" where the
    belief has one member. Else that is so as far as `Searched.shortfall` tells; beyond
    it, the SHORTLIST pairs most in doubt by the mean metrics are scored.
    """
    n_kept = max(SHORTLIST, wanted.n_pairs)
    with one_thread():  # tiles are small
        scan = Scan(Doubt(pool), n_kept, is_open, rng, n_first)
        scores = _Scores(pool, acquisition, wanted, scan)
        scores.work()
        has_bound = scores.has_bound and scan.is_complete
        if scores.is_enough() or not has_bound or wanted.tolerance > 0:
            return scores.ranked()
        # Once more, for all that may be better than the best so far.
        again = Scan(Doubt(pool), max(n_kept, MOST_KEPT), is_open, rng, n_first)
        again.limit = scores.limit_to_see()
        scores.look_at(again)
        return scores.ranked()


class Reserve(NamedTuple):
    """Pairs among which good questions will be found for some answers to come."""

    pairs: Pairs
    n_seen: int  # of all pairs
    recall: float | None = None  # of the neighbours that were seen, where they were


def doubtful_pairs(
    pool: Pool,
    is_open: Callable[[Pairs], Mask],
    rng: np.random.RandomState,
    nearby: Callable[[Pool], tuple[Pairs, float]],
) -> Reserve:
    """The most doubtful of all pairs, or enough that are hardly surer than a coin.

    Where that would take more than MOST_WORK, a random share of the pairs is looked at;
    beyond MAX_ITEMS items, where such a share holds too little doubt, also pairs that
    are near each other in the present metric, which `nearby` gives, with the share of
    the true ones among them.
    """
    scan = Scan(Doubt(pool, is_exact=False), RESERVE, is_open, rng)
    near = scan.doubt.measure(HARDLY)
    with one_thread():
        while not scan.is_over and np.sum(scan.measures <= near) < RESERVE:
            scan.more()
            if scan.n_seen * scan.doubt.width > MOST_WORK:
                break
    is_enough = scan.is_complete or np.sum(scan.measures <= near) >= RESERVE
    if is_enough or len(pool.coordinates) <= MAX_ITEMS:
        return Reserve(scan.pairs, scan.n_seen)
    pairs, recall = nearby(pool)
    scan.add(pairs)
    return Reserve(scan.pairs, scan.n_seen + len(pairs), recall)


def best_of(
    pool: Pool,
    acquisition: Acquisition,
    wanted: Wanted,
    is_open: Callable[[Pairs], Mask],
    among: Pairs | Reserve,
) -> Ranked:
    """The same among given pairs, or among those kept of all there are.

    The variance of f over the whole matrix costs as much as many means: where the
    belief is of it, of the given pairs too the most doubtful are scored.
    """
    is_all = not isinstance(among, Reserve)
    reserve = among if isinstance(among, Reserve) else Reserve(among, len(among))
    open_pairs = reserve.pairs[is_open(reserve.pairs)]
    n_items = len(pool.coordinates)
    n_pairs = len(reserve.pairs) if is_all else n_items * (n_items - 1) // 2
    if is_all and pool.basis.kind != "full":
        scores = pool.map(acquisition, open_pairs)
        searched = Searched(n_pairs, n_pairs, len(scores), 0.0)
        return Ranked(open_pairs, scores, searched)
    n_kept = max(SHORTLIST, wanted.n_pairs)
    listed = Listed(Doubt(pool), n_kept, open_pairs, is_all, n_pairs)
    found = _Scores(pool, acquisition, wanted, listed)
    found.work()
    ranked = found.ranked()
    searched = replace(ranked.searched, n_seen=reserve.n_seen, recall=reserve.recall)
    return ranked._replace(searched=searched)


def has_bound(belief: Belief, acquisition: Acquisition) -> bool:
    """Whether more than a coin's toss is known of pairs that were not scored."""
    some = np.array([0.25, 0.5])
    is_plain = np.allclose(belief.calibration.correct(some), some, atol=1e-12)
    is_single = len(belief.members) == 1 and is_plain
    return acquisition is acquisitions.mean_entropy or (
        is_single and acquisition is acquisitions.entropy
    )


class Shortlist:
    """The most doubtful pairs of those seen, most doubtful first."""

    def __init__(self, doubt: Doubt, n_kept: int) -> None:
        self.doubt = doubt
        self.pairs = np.empty((0, 2), dtype=np.intp)
        self.measures = np.empty(0, dtype=np.float32)
        self._fresh: list[tuple[Pairs, Single]] = []  # seen since they were joined
        self._n_fresh = 0
        self.limit = np.inf  # below it no pair was left out
        self.n_pairs = self.n_seen = 0
        self._n_kept = n_kept

    @property
    def is_complete(self) -> bool:
        """Whether every pair was seen."""
        return self.n_seen == self.n_pairs

    @property
    def is_over(self) -> bool:
        """Whether no more can be seen."""
        return self.is_complete

    def more(self) -> None:
        """See further pairs."""
        raise NotImplementedError

    def _keep(self, pairs: Pairs, measures: Single) -> None:
        self._fresh.append((pairs, measures))
        self._n_fresh += len(pairs)
        if len(self.pairs) + self._n_fresh > 2 * self._n_kept:
            self._trim()

    def _trim(self) -> None:
        if self._fresh:
            pairs, measures = zip(*self._fresh, strict=True)
            self.pairs = np.concatenate([self.pairs, *pairs])
            self.measures = np.concatenate([self.measures, *measures])
            self._fresh, self._n_fresh = [], 0
        if len(self.pairs) > self._n_kept:
            best = np.argpartition(self.measures, self._n_kept)
            self.limit = float(self.measures[best[self._n_kept]])
            self.pairs = self.pairs[best[: self._n_kept]]
            self.measures = self.measures[best[: self._n_kept]]

    def _arrange(self) -> None:
        self._trim()
        order = np.argsort(self.measures, kind="stable")
        self.pairs, self.measures = self.pairs[order], self.measures[order]


class Listed(Shortlist):
    """Of given pairs."""

    def __init__(
        self, doubt: Doubt, n_kept: int, given: Pairs, is_all: bool, n_pairs: int
    ) -> None:
        super().__init__(doubt, n_kept)
        self._given, self._is_all, self._is_over = given, is_all, False
        self.n_pairs = n_pairs

    @property
    def is_over(self) -> bool:
        """See Shortlist."""
        return self._is_over

    def more(self) -> None:
        """See all of them at once."""
        self._keep(self._given, self.doubt.of_pairs(self._given))
        self._arrange()
        self.n_seen, self._is_over = self.n_pairs if self._is_all else 0, True


class Scan(Shortlist):
    """Of all pairs, tile after tile in a random order."""

    def __init__(
        self,
        doubt: Doubt,
        n_kept: int,
        is_open: Callable[[Pairs], Mask],
        rng: np.random.RandomState,
        n_first: int | None = None,
    ) -> None:
        super().__init__(doubt, n_kept)
        self._n_next, self._is_open = 1, is_open
        if n_first is None:
            blocks = _blocks(rng.permutation(doubt.n_items))
            self.n_pairs = doubt.n_items * (doubt.n_items - 1) // 2
            tiles = [(blocks[a], blocks[b]) for a, b in _some_of(len(blocks), rng)]
        else:
            ones = _blocks(rng.permutation(n_first))
            others = _blocks(n_first + rng.permutation(doubt.n_items - n_first))
            tiles = [(a, b) for a in ones for b in others]
            tiles = [tiles[at] for at in rng.permutation(len(tiles))]
            self.n_pairs = n_first * (doubt.n_items - n_first)
        self._tiles, self._n_left = iter(tiles), len(tiles)

    @property
    def is_over(self) -> bool:
        """See Shortlist."""
        return self._n_left == 0

    def add(self, pairs: Pairs) -> None:
        """See further pairs, whatever tiles they are in."""
        fresh = pairs[self._is_open(pairs)]
        numbers = pair_number(fresh, self.doubt.n_items)
        kept = pair_number(self.pairs, self.doubt.n_items)
        fresh = fresh[~np.isin(numbers, kept)]
        self._keep(fresh, self.doubt.of_pairs(fresh))
        self._arrange()

    def more(self) -> None:
        """See the next tiles, twice as many as before."""
        for rows, columns in islice(self._tiles, self._n_next):
            self._see(rows, columns, is_diagonal=rows is columns)
            self._n_left -= 1
        self._n_next *= 2
        self._arrange()

    def _see(self, rows: Pairs, columns: Pairs, *, is_diagonal: bool) -> None:
        tile = self.doubt.tile(rows, columns)
        self.n_seen += tile.size
        if is_diagonal:
            tile[np.tri(len(tile), dtype=bool)] = np.inf
            self.n_seen -= len(tile) * (len(tile) + 1) // 2
        flat = tile.ravel()
        below = np.flatnonzero(flat < self.limit)
        n_looked_at = 2 * self._n_kept
        while True:
            # Few are closed: no need to ask of all, unless these few are too few.
            few = below
            if len(below) > n_looked_at:
                few = below[np.argpartition(flat[below], n_looked_at)[:n_looked_at]]
            i, j = np.divmod(few, len(columns))
            pairs = np.sort(np.column_stack([rows[i], columns[j]]), axis=1)
            is_open = self._is_open(pairs)
            if is_open.sum() >= self._n_kept or len(few) == len(below):
                break
            n_looked_at *= 4
        if len(few) < len(below):  # those left out are no more doubtful than these
            self.limit = min(self.limit, float(flat[few].max()))
        self._keep(pairs[is_open], flat[few][is_open])


def _some_of(n_blocks: int, rng: np.random.RandomState) -> list[list[int]]:
    """Every two of the blocks, shuffled; of very many, MOST_TILES drawn."""
    if (n_blocks - 1) * TILE < MAX_ITEMS:
        tiles = np.column_stack(np.triu_indices(n_blocks))
        return list(tiles[rng.permutation(len(tiles))].tolist())
    drawn = np.sort(rng.randint(0, n_blocks, size=(MOST_TILES, 2)), axis=1)
    return list(rng.permutation(np.unique(drawn, axis=0)).tolist())


def _blocks(items: Pairs) -> list[Pairs]:
    return [items[at : at + TILE] for at in range(0, len(items), TILE)]


class _Scores:
    """Scores of the most doubtful pairs, as many as it takes."""

    def __init__(
        self, pool: Pool, acquisition: Acquisition, wanted: Wanted, found: Shortlist
    ) -> None:
        self._pool, self._acquisition = pool, acquisition
        self._wanted, self._found = wanted, found
        self._ceiling = acquisitions.ceiling(acquisition)
        self.has_bound = has_bound(pool.belief, acquisition)
        self._pairs = np.empty((0, 2), dtype=np.intp)
        self._scores = np.empty(0)

    def work(self) -> None:
        """See pairs and score them until nothing better can be left, or all are."""
        near = self._found.doubt.measure(NEAR)
        while not self._found.is_over:
            self._found.more()
            n_near = int(np.searchsorted(self._found.measures, near))
            is_full = n_near == len(self._found.measures) >= SHORTLIST
            if np.isinf(self._ceiling) and is_full and self._wanted.tolerance > 0:
                break
            if self._score(n_near):
                break
        if not self.is_enough():
            self._score(self._n_worth())
        self._add(self._wanted.n_scored - len(self._scores))

    def _n_worth(self) -> int:
        """How many of the pairs kept are scored where nothing says it is enough.

        Entropy follows the doubt by the mean metrics; what else there may be does not.
        """
        if self.has_bound or np.isinf(self._ceiling):
            return len(self._found.pairs)
        return max(FEW_SCORED, self._wanted.n_pairs)

    def is_enough(self) -> bool:
        """Whether no other pair can be better than those wanted."""
        return self._shortfall() <= self._wanted.tolerance

    def ranked(self) -> Ranked:
        """What was scored."""
        found, n_scored = self._found, len(self._scores)
        shortfall = self._shortfall()
        searched = Searched(found.n_pairs, found.n_seen, n_scored, shortfall)
        return Ranked(self._pairs, self._scores, searched)

    def limit_to_see(self) -> float:
        """A measure from which on no pair is better than those wanted."""
        low, high = 0.0, 1.0
        while self._shortfall_at(high) > self._wanted.tolerance and high < 1e6:
            low, high = high, 2 * high
        for _ in range(30):
            middle = (low + high) / 2
            if self._shortfall_at(middle) > self._wanted.tolerance:
                low = middle
            else:
                high = middle
        return high * (1 + 1e-9)

    def look_at(self, found: Shortlist) -> None:
        """Score further pairs, all that may be better."""
        self._found = found
        while not found.is_over:
            found.more()
        self._add(len(found.pairs))

    def _score(self, n_first: int) -> bool:
        """Score of the first pairs as many as are needed; whether these are enough."""
        n_next = FIRST_SCORED
        while not (is_enough := self.is_enough()):
            if not self._add(n_next, n_first):
                break
            n_next *= 2
        return is_enough

    def _add(self, n_more: int, n_first: int | None = None) -> bool:
        """Score further pairs, the most doubtful first; False if none is left."""
        fresh = self._found.pairs[:n_first][self._are_left()[:n_first]]
        fresh = fresh[: max(n_more, 0)]
        scores = self._pool.map(self._acquisition, fresh)
        self._pairs = np.concatenate([self._pairs, fresh])
        self._scores = np.concatenate([self._scores, scores])
        return len(fresh) > 0

    def _are_left(self) -> Mask:
        """Which of the pairs kept have no score."""
        n_items = len(self._pool.coordinates)
        numbers = pair_number(self._found.pairs, n_items)
        scored = np.sort(pair_number(self._pairs, n_items))
        if len(scored) == 0:
            return np.ones(len(numbers), dtype=bool)
        # Few are scored of many: np.isin sorts both, which takes ten times as long.
        places = np.minimum(np.searchsorted(scored, numbers), len(scored) - 1)
        return np.asarray(scored[places] != numbers)

    def _shortfall(self) -> float:
        """By how much a pair that was not scored may be better than those wanted."""
        found, n_wanted = self._found, max(self._wanted.n_pairs, 1)
        left = np.flatnonzero(self._are_left())
        limit = float(found.measures[left[0]]) if len(left) else found.limit
        if found.is_complete and np.isinf(limit):
            return 0.0
        if len(self._scores) < n_wanted:
            return float("inf")
        return self._shortfall_at(limit)

    def _shortfall_at(self, limit: float) -> float:
        """The same, of pairs that are as certain as that, or not seen."""
        n_wanted = min(max(self._wanted.n_pairs, 1), len(self._scores))
        worst = float(np.partition(self._scores, -n_wanted)[-n_wanted])
        return max(0.0, self._highest(limit) - worst)

    def _highest(self, limit: float) -> float:
        """No pair that is as certain as that, or not seen, has a higher score."""
        if not (self.has_bound and self._found.is_complete):
            return self._ceiling
        doubt = self._found.doubt
        measure = np.array([max(0.0, limit - 2 * doubt.rounding())])
        if self._acquisition is acquisitions.mean_entropy:
            p_same = (1 - doubt.certainty(measure)) / 2
        else:
            posterior = self._pool.belief.members[0].posterior
            variance = posterior.greatest_variance(self._pool.coordinates)
            p_same = matrix.predictive_probability(measure, np.array([variance]))
        return float(equations.label_entropy(p_same)[0])
