"""ActiveMetric: ask, tell, undo, why, when to stop, what came true, groups."""

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from likewise.asking import acquisition as acquisitions
from likewise.asking import search
from likewise.asking.acquisition import Acquisition
from likewise.asking.answers import (
    AnswerLog,
    Cycle,
    KnownPairs,
    check_answers,
    check_said,
)
from likewise.asking.candidates import Pool
from likewise.asking.choosing import Candidates
from likewise.asking.closure import Forest
from likewise.asking.records import Record
from likewise.asking.search import Ranked, Reserve, Searched, Wanted
from likewise.asking.verdicts import (
    KnownItems,
    Verdict,
    Why,
    decisive_features,
    explain,
    judge,
)
from likewise.errors import InputError
from likewise.estimators import BayesianMetric
from likewise.model.calibration import Calibration
from likewise.model.checkpoints import Checkpoints, checkpoint
from likewise.model.fitting import Fit
from likewise.model.priors import Frames
from likewise.pairs import check_pairs, pair_array
from likewise.using.groups import (
    Groups,
    GroupVerdict,
    Untaught,
    group,
    judge_groups,
)
from likewise.using.neighbours import Neighbours, near_pairs
from likewise.using.questions import Given, choose_questions, doubted_answers

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Method = TypeVar("Method", bound=Callable[..., Any])


def _one_at_a_time(method: Method) -> Method:
    """Let threads that share a learner wait for each other."""

    @wraps(method)
    def alone(self: "ActiveMetric", *args: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *args, **options)

    return cast(Method, alone)


class ActiveMetric:
    """A metric that chooses the next pairs worth asking about.

    What it asks depends on the seed and the answers told, on nothing else: `ask` twice
    in a row gives the same questions. Threads may share it.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        The items.
    metric : BayesianMetric, optional
        How to learn; a copy is fitted.
    acquisition : str or callable
        "entropy", "random", "mean-entropy", "laplace-entropy", "information", or a
        function of (belief, features) that gives a score for each pair; or "groups",
        which asks what sorts the items fastest.
    equivalence : bool
        Whether "same" is transitive: then answers imply others, and no pair is asked
        whose answer is known or could follow from the rest of its batch.
    candidates : array of int, shape (n_pairs, 2), optional
        The pairs that may be asked; all pairs of items if not given. Of these the
        most doubtful are scored, as many as it takes (see `searched`); given ones are
        all scored, unless it is for the whole matrix, which costs more.
    random_state : int, RandomState or None
        Breaks ties, and draws for "random".
    check_share : float
        The share of questions that are pairs drawn at random instead of the best ones:
        what comes true of them is what P(same) of any pair is judged by.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import ActiveMetric
    >>> X = np.array([[0.0, 5.0], [0.1, 1.0], [3.0, 4.9], [3.1, 1.2]])
    >>> learner = ActiveMetric(X, random_state=0)
    >>> question = learner.ask()
    >>> learner.tell(question, [1])
    >>> learner.metric_.n_features_in_
    2
    """

    def __init__(
        self,
        X: ArrayLike,
        metric: BayesianMetric | None = None,
        acquisition: str | Acquisition = "entropy",
        *,
        equivalence: bool = True,
        candidates: ArrayLike | None = None,
        random_state: Any = None,
        check_share: float = 0.1,
    ) -> None:
        self._model = BayesianMetric() if metric is None else clone(metric)
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        if self._model.random_state is None:
            self._model.set_params(random_state=self._seed)
        self._X: Array
        self._frames: Frames
        # One item may be where more are to come: it is a group.
        self._X, self._frames = self._model.prepare(X, n_least=1)
        self._n_items = len(self._frames.coordinates)
        self._acquisition = acquisitions.find_acquisition(acquisition)
        self._candidates = _check_candidates(candidates, self._n_items)
        self._log = AnswerLog(self._n_items, bool(equivalence))
        self._check_share = _check_share(check_share)
        self._fits = Checkpoints(self._frames, self._model.rules, self._seed)
        self._ranked: dict[tuple[Wanted, bool], Ranked] = {}  # by the answers so far
        self._reserves: dict[int, Reserve] = {}  # by the first so many answers
        self._groups: Groups | None = None  # by the answers so far
        self._corrects: Calibration | None = None  # by the answers so far
        self._untaught: Untaught | None = None
        self._asked: set[int] = set()  # numbers of the pairs asked, not yet answered
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        n_items, n_features = self._X.shape
        name = getattr(self._acquisition, "__name__", repr(self._acquisition))
        return (
            f"<ActiveMetric: {n_items:,} items of {n_features:,} features, "
            f"acquisition {name.replace('_', '-')}, {len(self._log):,} answers, "
            f"{self._log.n_implied():,} pairs known without asking>"
        )

    @_one_at_a_time
    def add_items(self, X: ArrayLike, candidates: ArrayLike | None = None) -> None:
        """Take further items. Answers and their pairs stay as they are.

        Basis and prior are found anew, as if all items had been there from the start.

        Parameters
        ----------
        X : array of shape (n_items, n_features)
            The new items, with the features of the others; their numbers follow on.
        candidates : array of int, shape (n_pairs, 2), optional
            Where the pairs that may be asked were given: further ones.
        """
        items = np.concatenate([self._X, self._model.check_items(X)])
        if candidates is not None and self._candidates is None:
            raise InputError(
                "'candidates' must have been given to the learner before any are added."
                " Got none then: every pair of items may be asked."
            )
        further = _check_candidates(candidates, len(items))
        if self._candidates is not None and further is not None:
            self._candidates = np.unique(np.r_[self._candidates, further], axis=0)
        self._X, self._frames = items, self._model.look_at(items)
        self._n_items = len(items)
        self._log = self._log.grown(len(items))
        self._fits = Checkpoints(self._frames, self._model.rules, self._seed)
        self._forget()
        self._reserves, self._untaught = {}, None

    @_one_at_a_time
    def ask(self, n_pairs: int = 1, exclude: ArrayLike | None = None) -> Pairs:
        """Give the pairs most worth asking now, best first.

        Answers that contradict each other are asked again first. Fewer pairs, or none,
        come back when the candidates run out.

        Parameters
        ----------
        n_pairs : int
            How many.
        exclude : array of int, shape (n, 2), optional
            Pairs not to ask now, for instance because someone else is looking at them.
        """
        excluded = check_pairs([] if exclude is None else exclude, self._n_items)
        asked = self._questions(_check_count(n_pairs), self._open.numbers(excluded))
        self._asked |= set(self._open.numbers(asked).tolist())
        return asked

    def _questions(self, n_pairs: int, excluded: Numbers) -> Pairs:
        rng, forest = self._rng(), Forest(self._log.closure)
        open_pairs = self._open
        again = self._again(n_pairs, excluded, rng)
        taken = np.r_[excluded, open_pairs.numbers(again)]
        checks = open_pairs.checks(
            n_pairs, n_pairs - len(again), taken, forest, rng, self._p_same
        )
        if len(checks):
            self._fit()  # what is thought of them is kept when they are answered
        taken = np.r_[taken, open_pairs.numbers(checks)]
        n_best = n_pairs - len(again) - len(checks)
        sorting = self._sorting_questions(n_best, taken) if self._sorts else again[:0]
        if self._sorts and self._candidates is None:
            return np.concatenate([again, sorting, checks])
        n_best -= len(sorting)
        ranked = self._best(n_best, np.r_[taken, open_pairs.numbers(sorting)], rng)
        best = open_pairs.best(ranked, n_best, forest, rng)
        return np.concatenate([again, sorting, best, checks])

    def _again(
        self, n_pairs: int, excluded: Numbers, rng: np.random.RandomState
    ) -> Pairs:
        """Answers in dispute, and pairs that follow from others, asked all the same."""
        disputed = self._open.disputed(self._p_same)
        free = ~np.isin(self._open.numbers(disputed), excluded)
        disputed = disputed[free][:n_pairs]
        if self._sorts:
            return disputed
        taken = np.r_[excluded, self._open.numbers(disputed)]
        audits = self._open.audits(n_pairs, taken, rng)
        return np.concatenate([disputed, audits])[:n_pairs]

    def _p_same(self, pairs: Pairs) -> Array:
        return self._pool().probability_same(pairs)

    @_one_at_a_time
    def tell(
        self,
        pairs: ArrayLike,
        labels: ArrayLike,
        annotator: str | None = None,
        *,
        said: Sequence[float | None] | None = None,
    ) -> None:
        """Take answers. A later one on the same pair replaces an earlier one.

        An answer that contradicts others is kept; see `contradictions`.

        Parameters
        ----------
        pairs : array of int, shape (n_pairs, 2)
        labels : array of shape (n_pairs,)
            +1 same, -1 different, 0 unsure; or True and False; or these words.
        annotator : str, optional
            Who answered.
        said : sequence of float or None, optional
            What was predicted of the pairs when they were asked, as `history` gives it.
            If not given, what the belief now says, provided that it was asked. An
            answer told anew without having been asked for again is a correction.
        """
        pairs = check_pairs(pairs, self._n_items)
        answers = check_answers(labels, len(pairs))
        said = self._predicted(pairs) if said is None else check_said(said, len(pairs))
        self._log.tell(pairs, answers, annotator, said)
        self._asked -= set(self._open.numbers(pairs).tolist())
        self._forget()

    @_one_at_a_time
    def undo(self) -> None:
        """Take the last `tell` back."""
        if len(self._log) == 0:
            raise InputError("There is no answer to take back.")
        self._log.undo()
        self._forget()
        self._fits.forget_after(len(self._log))
        left = self._reserves.items()
        self._reserves = {n: each for n, each in left if n <= len(self._log)}

    def _forget(self) -> None:
        """Drop what was found by the answers so far."""
        self._ranked, self._groups, self._corrects = {}, None, None

    @property
    @_one_at_a_time
    def metric_(self) -> BayesianMetric:
        """The metric learned from the answers so far."""
        calibration = self._calibration()
        return self._model.learned(self._frames.basis, self._fit(), calibration)

    @_one_at_a_time
    def pair_probability(self, pairs: ArrayLike) -> Array:
        """P(same) of pairs of items, with what was learned about the items themselves.

        `metric_.pair_probability` takes the same items for new ones. Both are corrected
        by what came true of questions asked at random.
        """
        return self._judging_pool().probability_same(check_pairs(pairs, self._n_items))

    @_one_at_a_time
    def predicted(self, pairs: ArrayLike) -> Array:
        """P(same) of pairs of items as the belief has it, not corrected.

        What `record` compares with the answers.
        """
        return self._pool().probability_same(check_pairs(pairs, self._n_items))

    @_one_at_a_time
    def known_pairs(self) -> KnownPairs:
        """Every pair answered or implied, with its label and source."""
        return self._log.known(self._rng())

    @_one_at_a_time
    def answers_saved(self) -> int:
        """How many pairs are known without having been asked."""
        return self._log.n_implied()

    @_one_at_a_time
    def contradictions(self) -> list[Cycle]:
        """Shortest cycles of answers that disagree, each a list of (i, j, label)."""
        return self._log.cycles()

    @_one_at_a_time
    def flip_rates(self) -> dict[str | None, float]:
        """The estimated share of each annotator's answers that are wrong.

        By answers that disagree, and by what all others make of each.
        """
        return self._log.flip_rates(self._fit().by_others)

    @_one_at_a_time
    def record(self) -> Record:
        """What was predicted of each pair asked before its answer, and the answer.

        The predictions are those of the belief that asked. Answers to what was not
        asked are not in it.
        """
        answers = self._log.predicted()
        pairs = pair_array([(answer.i, answer.j) for answer in answers])
        return Record(
            pairs=pairs,
            said=np.array([answer.said for answer in answers], float),
            labels=np.array([answer.label for answer in answers], np.int8),
            annotators=[answer.annotator for answer in answers],
            is_random=self._open.is_check(pairs),
            steady=self._log.steady_people(),
        )

    @_one_at_a_time
    def why(self, pair: ArrayLike) -> Why:
        """Explain, in words and numbers, what is thought of a pair."""
        pair = check_pairs(np.asarray(pair)[None], self._n_items)
        ranked = self._rank(Wanted(1, n_scored=search.SHORTLIST), self._rng())
        others = ranked.scores[
            self._open.numbers(ranked.pairs) != self._open.numbers(pair)
        ]
        score = self._pool().map(self._acquisition, pair)[0]
        # What is better by less than a search tells apart is as good.
        rank = 1 + int(np.sum(others > score + search.TOLERANCE))
        metric, (i, j) = self.metric_, pair[0]
        names = getattr(metric, "feature_names_in_", None)
        gap = self._X[i] - self._X[j]
        reasons = decisive_features(metric.components_, gap, names)
        settles = self._log.settles(pair)
        pool = self._judging_pool()
        return explain(pool, pair, reasons, rank, 1 + len(others), settles)

    @_one_at_a_time
    def searched(self) -> Searched:
        """How the next question is looked for: how many pairs were seen and scored.

        And by how many nats another pair may be better.
        """
        return self._rank(Wanted(2), self._rng(), self._open.share > 0).searched

    @_one_at_a_time
    def groups(self) -> Groups:
        """Sort the items: every answer respected, the number of groups found."""
        return copy.deepcopy(self._sorted())

    def _sorted(self) -> Groups:
        """The groups by the answers so far; made once."""
        if self._groups is None:
            pool = self._pool()
            told = self._log.answered()
            self._groups = group(pool.belief, pool.coordinates, told)
        return self._groups

    @_one_at_a_time
    def neighbours(self) -> Neighbours:
        """Search among the items: `learner.neighbours().query(rows, k)`."""
        return Neighbours(self.metric_, self._X)

    @_one_at_a_time
    def should_stop(self) -> Verdict | GroupVerdict:
        """Say whether to stop asking, why, and how good the metric probably is.

        Where groups are asked for, how much is probably sorted right.
        """
        if self._sorts:
            return judge_groups(self._sorted())
        known = 1 - self._open.n_open() / max(len(self._open), 1)
        pool, labels_of = self._pool(), self._log.labels_of
        corrections = self.record().calibration(), self._calibration()
        known_items = KnownItems(pool, labels_of, *corrections)
        return judge(known_items, self._X, self.record(), known, self._rng())

    @_one_at_a_time
    def history(self) -> list[dict[str, Any]]:
        """The answers in their order, as plain values that can be stored."""
        return self._log.history()

    @classmethod
    def replay(
        cls, X: ArrayLike, history: list[dict[str, Any]], **options: Any
    ) -> Self:
        """Make a learner and tell it a history: it asks what the first one would.

        `options` are those of the constructor; for the same questions give the same.
        """
        learner = cls(X, **options)
        tells: dict[int, list[dict[str, Any]]] = {}
        for answer in history:
            tells.setdefault(answer["tell"], []).append(answer)
        for told in tells.values():
            learner.tell(
                [answer["pair"] for answer in told],
                [answer["label"] for answer in told],
                told[0]["annotator"],
                said=[answer.get("said") for answer in told],
            )
        return learner

    def copy(self) -> Self:
        """Give an independent learner of the same state; items and fits are shared."""
        with self._lock:
            twin = copy.copy(self)
            twin._log = self._log.copy()
            twin._fits = self._fits.copy()
            twin._ranked, twin._asked = dict(self._ranked), set(self._asked)
        twin._lock = threading.RLock()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def _rng(self) -> np.random.RandomState:
        """A source of chance that depends on the seed and the answers told."""
        return np.random.RandomState([self._seed, self._log.n_tells])

    @property
    def _open(self) -> Candidates:
        """The pairs that may be asked, by the answers so far."""
        is_random = self._acquisition is acquisitions.random
        share = 0.0 if is_random else self._check_share
        return Candidates(
            self._log, self._candidates, self._seed, share, is_random, self._sorts
        )

    @_one_at_a_time
    def _fit(self) -> Fit:
        """The fit of the answers so far."""
        return self._fits.fit(self._log)

    def _pool(self) -> Pool:
        return self._seen_by(self._fit())

    def _seen_by(self, fit: Fit) -> Pool:
        """The items as the belief of a fit sees them."""
        return Pool(fit.belief, self._frames.basis, self._frames.coordinates)

    def _judging_pool(self) -> Pool:
        """The items by what is believed and by what came true."""
        pool = self._pool()
        return replace(pool, belief=pool.belief.corrected(self._calibration()))

    def _calibration(self) -> Calibration:
        """What came true makes of P(same) of any pair; found once."""
        if self._corrects is None:
            panel, as_new = self._open.panel, replace(self._pool(), are_known=False)
            level = None if panel is None else panel.level(as_new, self._seed)
            self._corrects = self.record().random_calibration(level)
        return self._corrects

    def _predicted(self, pairs: Pairs) -> Sequence[float | None]:
        """P(same) by the belief that asked; nothing is fitted only to predict.

        None of what was answered before and is not asked again.
        """
        if len(self._log) not in self._fits:
            return [None] * len(pairs)
        p_same = self._pool().probability_same(pairs).tolist()
        is_asked = np.isin(self._open.numbers(pairs), list(self._asked))
        is_new = is_asked | ~self._log.closure.is_answered(pairs)
        return [p if new else None for p, new in zip(p_same, is_new, strict=True)]

    @property
    def _sorts(self) -> bool:
        """Whether questions are for groups, not for the metric."""
        return self._acquisition is acquisitions.groups and self._log.equivalence

    def _sorting_questions(self, n_pairs: int, taken: Numbers) -> Pairs:
        """What sorts the items fastest; with `candidates`, among these."""
        if n_pairs == 0:
            return np.empty((0, 2), dtype=np.intp)
        open_pairs = self._open
        is_open = open_pairs.is_open(taken)

        def may_ask(pairs: Pairs) -> Mask:
            found = is_open(pairs) & open_pairs.is_candidate(pairs)
            # What is set aside is taken when there is nothing else.
            free = found & ~open_pairs.is_random(pairs)
            return np.asarray(free if free.any() else found)

        groups, given = self._sorted(), self._given()
        doubted, worth = doubted_answers(groups, given)
        is_free = ~np.isin(self._open.numbers(doubted), taken)
        if self._candidates is not None:  # then other questions are left
            is_free &= worth >= groups.gains.max(initial=0.0)
        return choose_questions(
            groups,
            n_pairs,
            self._log.closure,
            may_ask,
            (doubted[is_free], worth[is_free]),
            given.caught,
        )

    def _given(self) -> Given:
        """The answers, judged by what was believed before any of them."""
        pairs, labels = self._log.answered()
        if self._untaught is None and len(pairs):
            belief = self._fits.fit_at(0, self._log).belief
            self._untaught = Untaught(belief, self._frames.coordinates)
        misfits = np.empty(0)
        if self._untaught is not None:
            misfits = self._untaught.misfits(pairs, labels.astype(int))
        said, left = self._log.said(), self._log.corrected()
        left |= {(i, j) for i, j in self._log.resting().tolist()}
        answered = [(i, j) for i, j in pairs.tolist()]
        return Given(
            pairs,
            labels,
            misfits,
            np.array([len(said[pair]) for pair in answered], np.intp),
            np.array([len(set(said[pair][:2])) > 1 for pair in answered], bool),
            np.array([pair in left for pair in answered], bool),
            self._log.closure.components(),
            max(self.flip_rates().values(), default=0.0),
            self._open.n_open(),
        )

    def _best(
        self, n_pairs: int, excluded: Numbers, rng: np.random.RandomState
    ) -> Ranked:
        """Open pairs with their scores, the best so many among them."""
        # Some may be implied by others, or be excluded.
        wanted = Wanted(2 * n_pairs + len(excluded))
        sets_aside = self._open.share > 0
        ranked = self._left(self._rank(wanted, rng, sets_aside), excluded)
        if sets_aside and len(ranked.pairs) < n_pairs:
            # What is set aside is taken when there is nothing else.
            ranked = self._left(self._rank(wanted, rng), excluded)
        return ranked

    def _left(self, ranked: Ranked, excluded: Numbers) -> Ranked:
        kept = ~np.isin(self._open.numbers(ranked.pairs), excluded)
        return ranked._replace(pairs=ranked.pairs[kept], scores=ranked.scores[kept])

    def _rank(
        self, wanted: Wanted, rng: np.random.RandomState, sets_aside: bool = False
    ) -> Ranked:
        """The best open pairs by the answers so far; looked for once."""
        is_open = self._open.is_open(np.empty(0, dtype=np.int64))

        def may_choose(pairs: Pairs) -> Mask:
            chosen = is_open(pairs)
            return chosen & ~self._open.is_random(pairs) if sets_aside else chosen

        if self._acquisition is acquisitions.random:
            return self._open.drawn(may_choose, rng)
        key = (wanted, sets_aside)
        if key not in self._ranked:
            self._ranked[key] = self._search(wanted, may_choose)
        return self._ranked[key]

    def _search(self, wanted: Wanted, is_open: Callable[[Pairs], Mask]) -> Ranked:
        """Among the pairs in reserve, and among all where that may find better ones."""
        pool, score, among = self._pool(), self._acquisition, self._candidates
        if among is not None:
            return search.best_of(pool, score, wanted, is_open, among)
        ranked = search.best_of(pool, score, wanted, is_open, self._reserve())
        is_enough = ranked.searched.shortfall <= wanted.tolerance
        has_enough = len(ranked.pairs) >= wanted.n_pairs
        if is_enough or (has_enough and not search.has_bound(pool.belief, score)):
            return ranked
        return search.best_pairs(pool, score, wanted, is_open, self._rng())

    def _reserve(self) -> Reserve:
        """Pairs in doubt at the last fit from scratch: they depend on answers only."""
        place = checkpoint(len(self._log))
        if place not in self._reserves:
            pool = self._seen_by(self._fits.fit_at(place, self._log))
            log = self._log.first(place)
            rng = np.random.RandomState([self._seed, place])
            found = search.doubtful_pairs(
                pool,
                lambda pairs: ~log.is_known(pairs),
                rng,
                lambda pool: near_pairs(pool.coordinates @ pool.belief.root().T, rng),
            )
            self._reserves = {place: found}
        return self._reserves[place]


def _check_count(n_pairs: int) -> int:
    is_whole = isinstance(n_pairs, (int, np.integer)) and not isinstance(n_pairs, bool)
    if not is_whole or n_pairs < 0:
        raise InputError(
            f"'n_pairs' must be a whole number of at least 0. Got {n_pairs!r}."
        )
    return int(n_pairs)


def _check_share(share: float) -> float:
    if isinstance(share, bool) or not 0 <= float(share) <= 1:
        raise InputError(f"'check_share' must be a number from 0 to 1. Got {share!r}.")
    return float(share)


def _check_candidates(candidates: ArrayLike | None, n_items: int) -> Pairs | None:
    if candidates is None:
        return None
    return np.unique(check_pairs(candidates, n_items), axis=0)
