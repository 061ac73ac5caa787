"""ActiveMetric: ask, tell, undo."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from likewise import acquisition as acquisitions
from likewise import search
from likewise.acquisition import Acquisition
from likewise.errors import InputError
from likewise.estimators import BayesianMetric
from likewise.pairs import (
    all_pairs,
    check_pairs,
    draw_pairs,
    pair_number,
)

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]


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
        "random", "mean-entropy", "laplace-entropy", "entropy", "information", or a
        function of (posterior, features) that gives a score for each pair.
    candidates : array of int, shape (n_pairs, 2), optional
        The pairs that may be asked; all pairs of items if not given. Where that is
        more than 200,000, the 20,000 nearest the threshold are scored.
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
        candidates: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self._frame = BayesianMetric() if metric is None else clone(metric)
        self._frame._check_parameters()
        X = self._frame._check_items(X, is_first=True)
        if len(X) < 2:
            raise InputError(f"'X' must have at least two rows. Got {len(X)} sample.")
        self._frame._prepare(X, np.ones(len(X)))
        self._coordinates = self._frame.basis_.project(X)
        self._acquisition = acquisitions.find_acquisition(acquisition)
        self._candidates = self._check_candidates(candidates, len(X))
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        self._tells: list[tuple[Pairs, Array]] = []
        self._fitted: BayesianMetric | None = None

    def ask(self, n_pairs: int = 1) -> Pairs:
        """Give the pairs most worth asking now, best first.

        Fewer, or none, when the candidates run out.
        """
        rng = np.random.RandomState([self._seed, len(self._tells)])
        candidates = self._open_candidates(rng)
        scores = self._scores(candidates)
        return candidates[search.best_rows(scores, n_pairs, rng)]

    def tell(self, pairs: ArrayLike, labels: ArrayLike) -> None:
        """Take answers: +1 same, -1 different, 0 unsure. A later one replaces."""
        pairs = check_pairs(pairs, len(self._coordinates))
        labels = _check_answers(labels, len(pairs))
        self._tells.append((pairs, labels))
        self._fitted = None

    def undo(self) -> None:
        """Take the last `tell` back."""
        if not self._tells:
            raise InputError("There is no answer to take back.")
        self._tells.pop()
        self._fitted = None

    @property
    def metric_(self) -> BayesianMetric:
        """The metric learned from the answers so far."""
        if self._fitted is None:
            pairs, labels = self._answers()
            decided = labels != 0
            self._fitted = self._frame._renewed()._learn(
                self._coordinates,
                pairs[decided],
                (labels[decided] + 1) / 2,
                np.ones(int(decided.sum())),
            )
        return self._fitted

    @staticmethod
    def _check_candidates(candidates: ArrayLike | None, n_items: int) -> Pairs | None:
        if candidates is not None:
            return np.unique(check_pairs(candidates, n_items), axis=0)
        if n_items * (n_items - 1) // 2 <= search.MAX_SCORED:
            return all_pairs(n_items)
        return None

    def _answers(self) -> tuple[Pairs, Array]:
        """Every pair answered, once, with its latest label."""
        if not self._tells:
            return np.empty((0, 2), dtype=np.intp), np.empty(0)
        pairs = np.concatenate([told for told, _ in self._tells])
        labels = np.concatenate([given for _, given in self._tells])
        number = pair_number(pairs, len(self._coordinates))
        # np.unique keeps the first of equals: look from the end.
        latest = len(number) - 1 - np.unique(number[::-1], return_index=True)[1]
        latest.sort()
        return pairs[latest], labels[latest]

    def _is_open(self) -> Callable[[Pairs], NDArray[np.bool_]]:
        """A test for pairs that have no answer yet."""
        n_items = len(self._coordinates)
        answered = np.sort(pair_number(self._answers()[0], n_items))
        return lambda pairs: ~np.isin(pair_number(pairs, n_items), answered)

    def _open_candidates(self, rng: np.random.RandomState) -> Pairs:
        is_open = self._is_open()
        if self._candidates is not None:
            return self._candidates[is_open(self._candidates)]
        if self._acquisition is acquisitions.random:
            drawn = draw_pairs(len(self._coordinates), search.SHORTLIST, rng)
            return drawn[is_open(drawn)]
        return search.near_threshold(
            self._coordinates @ self.metric_._map.T,
            self.metric_.threshold_,
            search.SHORTLIST,
            is_open,
        )

    def _scores(self, candidates: Pairs) -> Array:
        metric = self.metric_
        return search.map_features(
            lambda features: self._acquisition(metric.posterior_, features),
            metric.basis_,
            self._coordinates,
            candidates,
        )


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
