"""ActiveMetric: ask, tell, undo, why, when to stop."""

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from likewise.asking import acquisition as acquisitions
from likewise.asking import candidates as search
from likewise.asking.acquisition import Acquisition
from likewise.asking.answers import AnswerLog, Cycle, KnownPairs
from likewise.asking.verdicts import Verdict, Why, explain, judge
from likewise.errors import InputError
from likewise.estimators import BayesianMetric
from likewise.pairs import all_pairs, check_pairs, draw_pairs, pair_number

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]

# The metric is fitted from scratch when the answers have grown by this factor; in
# between a fit starts from there, so that it depends on the answers only.
GROWTH = 1.05


class ActiveMetric:
    """A metric that chooses the next pairs worth asking about.

    What it asks depends on the seed and the answers told, on nothing else: `ask` twice
    in a row gives the same questions.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        The items.
    metric : BayesianMetric, optional
        How to learn; a copy is fitted.
    acquisition : str or callable
        "entropy", "random", "mean-entropy", "laplace-entropy", "information", "batch",
        or a function of (posterior, features) that gives a score for each pair.
    equivalence : bool
        Whether "same" is transitive: then answers imply others, and no pair is asked
        whose answer is known or could follow from the rest of its batch.
    candidates : array of int, shape (n_pairs, 2), optional
        The pairs that may be asked; all pairs of items if not given. Where that is
        more than 200,000, the 3,000 nearest the threshold are scored; of the whole
        matrix, which costs more, wherever there are more than 3,000.
    random_state : int, RandomState or None
        Breaks ties, and draws for "random".

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
    ) -> None:
        self._model = BayesianMetric() if metric is None else clone(metric)
        self._model._check_parameters()
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        if self._model.random_state is None:
            self._model.set_params(random_state=self._seed)
        X = self._model._check_items(X, is_first=True)
        if len(X) < 2:
            raise InputError(f"'X' must have at least two rows. Got {len(X)} sample.")
        self._X = X
        self._frames = self._model._frames(X, np.ones(len(X)))
        self._acquisition = acquisitions.find_acquisition(acquisition)
        self._candidates = _check_candidates(candidates, len(X))
        self._log = AnswerLog(len(X), bool(equivalence))
        self._fits: dict[int, BayesianMetric] = {}

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
        rng = self._rng()
        excluded = self._numbers(
            check_pairs([] if exclude is None else exclude, len(self._X))
        )
        again = self._disputed()
        again = again[~np.isin(self._numbers(again), excluded)][:n_pairs]
        candidates = self._open_candidates(rng, np.r_[excluded, self._numbers(again)])
        rows = self._choose(candidates, n_pairs - len(again), rng)
        return np.concatenate([again, candidates[rows]])

    def tell(
        self, pairs: ArrayLike, labels: ArrayLike, annotator: str | None = None
    ) -> None:
        """Take answers: +1 same, -1 different, 0 unsure. A later one replaces.

        An answer that contradicts others is kept; see `contradictions`.
        """
        pairs = check_pairs(pairs, len(self._X))
        labels = _check_answers(labels, len(pairs))
        self._log.tell(pairs, labels, annotator)

    def undo(self) -> None:
        """Take the last `tell` back."""
        if len(self._log) == 0:
            raise InputError("There is no answer to take back.")
        self._log.undo()
        for n_answers in [n for n in self._fits if n > len(self._log)]:
            del self._fits[n_answers]

    @property
    def metric_(self) -> BayesianMetric:
        """The metric learned from the answers so far."""
        n_answers = len(self._log)
        if n_answers not in self._fits:
            checkpoint = _checkpoint(n_answers)
            base = self._checkpoint_fit(checkpoint)
            if checkpoint != n_answers:
                told = self._log.evidence(self._rng())
                self._keep(
                    n_answers,
                    base._renewed()._learn([base._frame_used], *told, start=base._fit),
                )
        return self._fits[n_answers]

    def known_pairs(self) -> KnownPairs:
        """Every pair answered or implied, with its label and source."""
        return self._log.known(self._rng())

    def answers_saved(self) -> int:
        """How many pairs are known without having been asked."""
        return self._log.n_implied()

    def contradictions(self) -> list[Cycle]:
        """Shortest cycles of answers that disagree, each a list of (i, j, label)."""
        return self._log.cycles()

    def flip_rates(self) -> dict[str | None, float]:
        """The estimated share of each annotator's answers that are wrong."""
        return self._log.flip_rates()

    def why(self, pair: ArrayLike) -> Why:
        """Explain, in words and numbers, what is thought of a pair."""
        pair = check_pairs(np.asarray(pair)[None], len(self._X))
        candidates = self._open_candidates(self._rng(), self._numbers(pair))
        scores = self._scores(np.concatenate([pair, candidates]))
        settles = self._log.settles(pair)
        rank = 1 + int(np.sum(scores[1:] > scores[0]))
        return explain(self.metric_, self._X, pair, rank, len(scores), settles)

    def should_stop(self) -> Verdict:
        """Say whether to stop asking, why, and how good the metric probably is."""
        rng = self._rng()
        before = self._checkpoint_fit(_checkpoint(int(len(self._log) / 1.5)))
        return judge(
            self.metric_,
            before,
            self._X,
            self._n_open(),
            self._n_candidates(),
            len(self._log),
            rng,
        )

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
            )
        return learner

    def copy(self) -> Self:
        """Give an independent learner of the same state; items and fits are shared."""
        twin = copy.copy(self)
        twin._log = self._log.copy()
        twin._fits = dict(self._fits)
        return twin

    def _rng(self) -> np.random.RandomState:
        """A source of chance that depends on the seed and the answers told."""
        return np.random.RandomState([self._seed, self._log.n_tells])

    def _numbers(self, pairs: Pairs) -> NDArray[np.int64]:
        return pair_number(pairs, len(self._X))

    def _checkpoint_fit(self, n_answers: int) -> BayesianMetric:
        """The metric of the first answers, fitted from scratch."""
        if n_answers not in self._fits:
            rng = np.random.RandomState([self._seed, n_answers])
            told = self._log.first(n_answers).evidence(rng)
            self._keep(n_answers, self._model._renewed()._learn(self._frames, *told))
        return self._fits[n_answers]

    def _keep(self, n_answers: int, fitted: BayesianMetric) -> None:
        """Keep a fit, and of the others only checkpoints that are still of use."""
        oldest = _checkpoint(int(n_answers / 1.5))
        for other in list(self._fits):
            if other < oldest or _checkpoint(other) != other:
                del self._fits[other]
        self._fits[n_answers] = fitted

    def _disputed(self) -> Pairs:
        """For each contradiction the answer least believed, asked least often."""
        cycles = self.contradictions()
        if not cycles:
            return np.empty((0, 2), dtype=np.intp)
        doubted = []
        for cycle in cycles:
            pairs = np.array([(i, j) for i, j, _ in cycle], dtype=np.intp)
            labels = np.array([label for _, _, label in cycle])
            p_same = self.metric_.pair_probability(self._X, pairs)
            belief = np.where(labels > 0, p_same, 1 - p_same)
            often = np.array([self._log.n_times(i, j) for i, j, _ in cycle])
            # Asked twice all round and still at odds: a person who means it.
            if often.min() < 2:
                doubted.append(pairs[np.lexsort((belief, often))[0]])
        if not doubted:
            return np.empty((0, 2), dtype=np.intp)
        return np.unique(np.array(doubted), axis=0)

    def _is_open(self, excluded: NDArray[np.int64]) -> Callable[[Pairs], Mask]:
        """A test for pairs whose label is not known and that may be asked now."""
        closed = np.unique(np.r_[excluded, self._numbers(self._log.resting())])

        def is_open(pairs: Pairs) -> Mask:
            is_closed = np.isin(self._numbers(pairs), closed)
            return np.asarray(~self._log.is_known(pairs) & ~is_closed)

        return is_open

    def _n_candidates(self) -> int:
        n_items = len(self._X)
        if self._candidates is None:
            return n_items * (n_items - 1) // 2
        return len(self._candidates)

    def _n_open(self) -> int:
        """How many candidates have a label that is not known."""
        if self._candidates is not None:
            nothing = np.empty(0, dtype=np.int64)
            return int(self._is_open(nothing)(self._candidates).sum())
        n_answered = self._log.closure.n_answered()
        return self._n_candidates() - n_answered - self.answers_saved()

    def _open_candidates(
        self, rng: np.random.RandomState, excluded: NDArray[np.int64]
    ) -> Pairs:
        is_open = self._is_open(excluded)
        if self._candidates is not None:
            return self._shortlist(self._candidates[is_open(self._candidates)])
        if self._acquisition is acquisitions.random:
            drawn = draw_pairs(len(self._X), search.SHORTLIST, rng)
            return drawn[is_open(drawn)]
        metric = self.metric_
        return search.near_threshold(
            metric._frame_used.coordinates @ metric.posterior_.root().T,
            metric.threshold_ + acquisitions.favourite(self._acquisition),
            search.SHORTLIST,
            is_open,
        )

    def _shortlist(self, candidates: Pairs) -> Pairs:
        """The candidates, or those nearest the threshold where a score is costly.

        The variance of f over the whole matrix costs as much as many means.
        """
        n_kept, is_random = search.SHORTLIST, self._acquisition is acquisitions.random
        if self._model.basis != "full" or is_random or len(candidates) <= n_kept:
            return candidates
        metric = self.metric_
        latent = search.map_features(
            metric.posterior_.latent_mean,
            metric.basis_,
            metric._frame_used.coordinates,
            candidates,
        )
        off = np.abs(latent - acquisitions.favourite(self._acquisition))
        return candidates[np.sort(np.argpartition(off, n_kept)[:n_kept])]

    def _scores(self, candidates: Pairs) -> Array:
        metric = self.metric_
        return search.map_features(
            lambda features: self._acquisition(metric.posterior_, features),
            metric.basis_,
            metric._frame_used.coordinates,
            candidates,
        )

    def _choose(
        self, candidates: Pairs, n_pairs: int, rng: np.random.RandomState
    ) -> Pairs:
        """Rows of the best candidates, none of which the others could imply.

        Each pick is told to the closure as "same" while the batch is chosen, and taken
        back at the end: a batch joins components in a forest.
        """
        scores = self._scores(candidates)
        if not self._log.equivalence or n_pairs < 2:
            return search.best_rows(scores, n_pairs, rng)
        order = search.best_rows(scores, len(scores), rng)
        picked: list[int] = []
        for row in order.tolist():
            if len(picked) == n_pairs:
                break
            i, j = candidates[row].tolist()
            if self._log.closure.relation(i, j) == 0:
                self._log.closure.tell(i, j, 1)
                picked.append(row)
        for _ in picked:
            self._log.closure.undo()
        skipped = order[~np.isin(order, picked)]
        chosen = np.concatenate([np.array(picked, dtype=np.intp), skipped])
        return np.asarray(chosen[:n_pairs])


def _checkpoint(n_answers: int) -> int:
    """The largest number of answers up to this one that is fitted from scratch."""
    checkpoint = 0
    while checkpoint < n_answers:
        larger = max(checkpoint + 1, int(checkpoint * GROWTH))
        if larger > n_answers:
            break
        checkpoint = larger
    return checkpoint


def _check_candidates(candidates: ArrayLike | None, n_items: int) -> Pairs | None:
    if candidates is not None:
        return np.unique(check_pairs(candidates, n_items), axis=0)
    if n_items * (n_items - 1) // 2 <= search.MAX_SCORED:
        return all_pairs(n_items)
    return None


def _check_answers(labels: ArrayLike, n_pairs: int) -> Array:
    array = np.asarray(labels, dtype=float)
    if array.shape != (n_pairs,):
        raise InputError(
            f"'labels' must have one entry for each of the {n_pairs} pairs. "
            f"Got shape {array.shape}."
        )
    bad = np.flatnonzero(~np.isin(array, (-1, 0, 1)))
    if len(bad):
        raise InputError(
            "Answers must be +1 (same), -1 (different) or 0 (unsure). "
            f"Got {array[bad[0]]:g} at position {bad[0]}."
        )
    return array
