"""BayesianMetric: the scikit-learn face of the model."""

import copy
import os
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise.asking.candidates import map_features
from likewise.digits import SINGLE_BITS, rounded
from likewise.errors import InputError, StoreError
from likewise.fingerprint import fingerprint
from likewise.inputs import (
    UNLABELLED,
    check_choice,
    check_classes,
    check_items,
    check_number,
)
from likewise.model import drawing, fitting, matrix, priors
from likewise.model.basis import Basis, check_basis
from likewise.model.calibration import Calibration
from likewise.model.climbing import Rules
from likewise.model.fitting import Fit, Told
from likewise.model.priors import PRIORS, Choices, Frames
from likewise.pairs import (
    check_agreement,
    check_labels,
    check_pairs,
    check_weights,
    pairs_from_classes,
)
from likewise.using.modelfile import SavedMetric, read_metric, write_metric

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Pairs that score(X, y) looks at most: with so many it is exact to some .003.
MAX_SCORED = 50_000


class BayesianMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A distance metric with its uncertainty, learned from same/different pairs.

    Parameters
    ----------
    basis : {"full", "eigen", "axes"}
        What the metric weighs: the whole matrix; the items' top eigenvectors (the
        paper's); or the features as they are.
    n_basis : int, float or None
        How many basis vectors; a float keeps that share of the variance; None keeps
        all that carry variance.
    prior : {"evidence", "unlabelled", "unit"}
        The metric before any answer: several, weighed by the evidence of the answers;
        or one alone, learned from the items' neighbours, or Euclidean distance (the
        paper's).
    prior_mean : float
        gamma_0, the prior mean of every weight, where 1 is Euclidean distance scaled
        to a mean square of 1.
    prior_precision : "evidence" or float
        delta, how firmly the prior is held; by default the lower bound chooses it.
        (For "full" near 0.2, unless the answers say otherwise.)
    item_noise : "evidence" or float
        How far items may lie off their features: nu of docs/math.md. For "full" only,
        and up to 1,500 pairs; 0 beyond. By default the lower bound chooses it.
    inference : {"variational", "variational-clip", "mle"}
        The variational posterior; the paper's with its mean clipped at zero; the
        non-Bayesian baseline of its section 5.2. "full" takes the first only.
    max_iter, tol : int, float
        Sweeps at most, at any one setting of the prior; what further ones may gain of
        the lower bound, relative, at which to stop.
    random_state : int, RandomState or None
        Draws pairs and items where there are too many: pairs in `fit` above 1,500,
        items that shape the prior above 10,000 (see `n_seen_`).

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L: Euclidean distance after `transform` is the learned metric.
    threshold_ : float
        Squared distance at which P(same), at the mean metric, is 1/2.
    posterior_ : Belief
        The belief about threshold and weights: the members left, with their weights.
    members_ : dict of str to float
        The weight of each prior that the answers leave likely, heaviest first.
    prior_precision_ : float
        delta as given or chosen, by the heaviest member.
    item_noise_ : float
        Its items' noise as given or chosen; 0 where there is none.
    evidence_ : array
        Its lower bound of the log evidence after each sweep that raised it, plus the
        log density of the prior's settings that were chosen.
    n_iter_ : int
        Its sweeps.
    n_free_ : int
        Directions in which the matrix could differ from the prior's: all of the basis,
        but 40 where both the pairs and the entries of the matrix are more than 1,500.
    n_seen_ : int
        Items that the prior's metrics were estimated from: all up to 10,000, so many
        drawn of more. The basis stands on all (docs/performance.md has the accuracy).
    fingerprint_ : str
        sha256 of the items whose rows the labelled pairs point into.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import BayesianMetric
    >>> X = np.array([[0.0, 5.0], [0.1, 1.0], [3.0, 4.9], [3.1, 1.2]])
    >>> metric = BayesianMetric(basis="axes", prior_precision=0.1)
    >>> metric = metric.fit_pairs(X, [[0, 1], [2, 3], [0, 2], [1, 3]], [1, 1, -1, -1])
    >>> metric.predict_pairs(X, [[0, 1], [1, 2]])
    array([ 1, -1])
    """

    def __init__(
        self,
        basis: str = "full",
        n_basis: int | float | None = None,
        prior: str = "evidence",
        prior_mean: float = 1.0,
        prior_precision: float | str = "evidence",
        item_noise: float | str = "evidence",
        inference: str = "variational",
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.basis = basis
        self.n_basis = n_basis
        self.prior = prior
        self.prior_mean = prior_mean
        self.prior_precision = prior_precision
        self.item_noise = item_noise
        self.inference = inference
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit_pairs(
        self,
        X: ArrayLike,
        pairs: ArrayLike,
        labels: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        soft: bool = False,
    ) -> Self:
        """Learn from labelled pairs.

        Parameters
        ----------
        X : array of shape (n_items, n_features)
            All items, those without a labelled pair too: they shape basis and prior.
        pairs : array of int, shape (n_pairs, 2)
            Row numbers into X.
        labels : array of shape (n_pairs,)
            +1 same, -1 different; with `soft`, the probability of "same".
        sample_weight : array of shape (n_pairs,), optional
            How many times each pair counts.
        soft : bool
            Whether labels are probabilities.
        """
        self._check_parameters()
        X = self.check_items(X, is_first=True, n_least=2)
        told = check_told(pairs, labels, sample_weight, n_items=len(X), soft=soft)
        return self._learn(self.look_at(X), told)

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from class labels: two items are "same" if their class is.

        Every pair of items counts while there are at most 600 (up to 35 items; 55 where
        others have no class). Beyond that the prior is the metric in which neighbours
        are most likely of one class, found with every item; pairs at random and pairs
        at the border between classes, drawn by `random_state`, then say what P(same)
        is (docs/math.md).
        Other bases and priors, or an `item_noise` that was given, have 1,500 pairs at
        random, half of them same and half different, weighed back to how often
        either is.

        Parameters
        ----------
        X : array of shape (n_items, n_features)
        y : array of shape (n_items,)
            Classes; -1 where none is known, as for scikit-learn's semi-supervised
            classifiers. Items without a class shape basis and prior.
        sample_weight : array of shape (n_items,), optional
            How many times each item counts. Equal rows of one class are one item that
            counts as often as they stand there.
        """
        self._check_parameters()
        X, classes = check_classes(self, X, y, is_first=True)
        item_weights = check_weights(sample_weight, len(X), "items")
        X, classes, item_weights = _merge_equal_rows(X, classes, item_weights)
        rng = check_random_state(self.random_state)
        if self._asks_classes(classes):
            frames = self.look_at(X, item_weights, classes)
            told = drawing.draw_pairs(frames, classes, item_weights, rng)
            fit = fitting.fit_drawn(frames, told, self.rules)
            return self.take_fit(frames.basis, fit)
        told = drawing.sample_pairs(classes, item_weights, drawing.MAX_PAIRS, rng)
        return self._learn(self.look_at(X, item_weights), told)

    def transform(self, X: ArrayLike) -> Array:
        """Map items to where Euclidean distance is the learned metric.

        Items in single precision stay so; all else is double.
        """
        check_is_fitted(self)
        X = check_items(self, X, is_first=False, dtype=[np.float64, np.float32])
        # Summed in double precision: features far from zero cancel.
        return np.asarray(X @ self.components_.T, dtype=X.dtype)

    def get_mahalanobis_matrix(self) -> Array:
        """A, the matrix of the mean metric: squared distance is (x - y)'A(x - y)."""
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def pair_distance(
        self, X: ArrayLike, pairs: ArrayLike, return_std: bool = False
    ) -> Array | tuple[Array, Array]:
        """Distance of each pair; with `return_std` its posterior deviation too."""
        coordinates, pairs = self._check_questions(X, pairs)
        mapped = coordinates @ self.posterior_.root().T
        gaps = mapped[pairs[:, 0]] - mapped[pairs[:, 1]]
        squared = np.einsum("ij,ij->i", gaps, gaps)
        distance = np.asarray(np.sqrt(squared))
        if not return_std:
            return distance
        variance = map_features(
            lambda features, _: self.posterior_.squared_distance(features)[1],
            self.basis_,
            coordinates,
            pairs,
            width=self.posterior_.width,
            n_threads=os.cpu_count() or 1,
        )
        return distance, matrix.squared_distance_deviation(squared, variance)

    def pair_probability(self, X: ArrayLike, pairs: ArrayLike) -> Array:
        """P(same) of each pair, uncertainty about the metric included."""
        return self._probability_same(*self._check_questions(X, pairs))

    def _probability_same(self, coordinates: Array, pairs: Pairs) -> Array:
        return map_features(
            lambda features, _: self.posterior_.probability_same(features),
            self.basis_,
            coordinates,
            pairs,
            width=self.posterior_.width,
            n_threads=os.cpu_count() or 1,
        )

    def predict_pairs(self, X: ArrayLike, pairs: ArrayLike) -> NDArray[np.int64]:
        """+1 where P(same) is at least 1/2, else -1."""
        return np.where(self.pair_probability(X, pairs) >= 0.5, 1, -1)

    def pair_auc(self, X: ArrayLike, pairs: ArrayLike, labels: ArrayLike) -> float:
        """Area under the ROC curve of P(same) for labelled pairs."""
        p_same = self.pair_probability(X, pairs)
        return _auc(check_labels(labels, len(p_same)), p_same)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """How well same pairs are told from different ones, by classes.

        The chance that two items of one class get a higher P(same) than two items of
        two classes: `pair_auc` over all pairs of the items that have a class. Above
        50,000 pairs, over so many drawn by `random_state`, half of either kind.

        Parameters
        ----------
        X : array of shape (n_items, n_features)
        y : array of shape (n_items,)
            Classes; -1 where none is known.
        sample_weight : array of shape (n_items,), optional
            How many times each item counts.
        """
        check_is_fitted(self)
        X, classes = check_classes(self, X, y, is_first=False)
        weights = check_weights(sample_weight, len(X), "items")
        labelled = np.flatnonzero((classes != UNLABELLED) & (weights > 0))
        rng = check_random_state(self.random_state)
        pairs, labels = pairs_from_classes(classes[labelled], MAX_SCORED, rng)
        pairs = labelled[pairs]
        p_same = self._probability_same(self.basis_.project(X), pairs)
        return _auc(labels, p_same, weights[pairs].prod(axis=1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the metric to a file: safetensors, no pickle, without the items.

        `likewise.load` gives it back, every bit the same.
        """
        check_is_fitted(self)
        settings = {name: _as_json(value) for name, value in self.get_params().items()}
        names = getattr(self, "feature_names_in_", None)
        learned = {
            "feature_names": None if names is None else list(names),
            "fingerprint": self.fingerprint_,
            "item_noise": float(self.item_noise_),
            "n_iter": int(self.n_iter_),
            "prior_precision": float(self.prior_precision_),
            "threshold": float(self.threshold_),
        }
        if hasattr(self, "n_seen_"):
            learned["n_seen"] = int(self.n_seen_)
        saved = SavedMetric(
            settings,
            learned,
            self.basis_,
            self.posterior_,
            self.components_,
            self.evidence_,
        )
        write_metric(saved, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def n_free_(self) -> int:
        """Directions in which the matrix was free to differ from its prior."""
        check_is_fitted(self, "posterior_")
        posterior = self.posterior_.members[0].posterior
        prior = getattr(posterior, "prior", None)
        return int(self.basis_.directions.shape[1] if prior is None else prior.n_free)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def prepare(self, X: ArrayLike, *, n_least: int = 2) -> tuple[Array, Frames]:
        """Check parameters and items; give the items, and what depends on them only."""
        self._check_parameters()
        X = self.check_items(X, is_first=True, n_least=n_least)
        return X, self.look_at(X)

    def check_items(
        self, X: ArrayLike, *, is_first: bool = False, n_least: int = 1
    ) -> Array:
        """Return items as numbers, or say what is wrong with them.

        The first say what features there are.
        """
        X = check_items(self, X, is_first=is_first)
        if len(X) < n_least:
            raise InputError(f"'X' must have at least two rows. Got {len(X)} sample.")
        return X

    @property
    def rules(self) -> Rules:
        """How a fit is made."""
        return Rules(self.inference, int(self.max_iter), float(self.tol))

    def learned(self, basis: Basis, fit: Fit, calibration: Calibration) -> Self:
        """Give a copy of this metric that has learned what a fit says.

        `calibration` is what came true makes of its P(same).
        """
        metric = copy.copy(self).take_fit(basis, fit)
        metric.posterior_ = metric.posterior_.corrected(calibration)
        return metric

    def _check_parameters(self) -> None:
        check_basis(self.basis, self.n_basis)
        check_choice("prior", self.prior, PRIORS)
        check_choice(
            "inference", self.inference, ("variational", "variational-clip", "mle")
        )
        rule = "at least 0"
        check_number("prior_mean", self.prior_mean, rule, lambda x: x >= 0)
        if self.basis == "full":
            rule = "above 0 where basis='full'"
            check_number("prior_mean", self.prior_mean, rule, _positive)
        if self.prior_precision != "evidence":
            rule = "above 0, or 'evidence'"
            check_number("prior_precision", self.prior_precision, rule, _positive)
        if self.item_noise != "evidence":
            rule = "from 0 to 1e6, or 'evidence'"
            check_number("item_noise", self.item_noise, rule, lambda x: 0 <= x <= 1e6)
        if self.basis == "full" and self.inference != "variational":
            raise InputError(
                "basis='full' needs inference='variational'. "
                f"Got {self.inference!r}. Take basis='eigen' for it."
            )
        check_number("max_iter", self.max_iter, "at least 1", lambda x: x >= 1)
        check_number("tol", self.tol, "at least 0", lambda x: x >= 0)

    def _check_questions(self, X: ArrayLike, pairs: ArrayLike) -> tuple[Array, Pairs]:
        """Coordinates of the items, and the pairs to say something about."""
        check_is_fitted(self)
        X = check_items(self, X, is_first=False)
        return self.basis_.project(X), check_pairs(pairs, len(X))

    def _asks_classes(self, classes: NDArray[np.intp]) -> bool:
        """Whether classes make the prior: for many, unless the user chose another."""
        is_default = self.basis == "full" and self.prior == "evidence"
        return is_default and not _given(self.item_noise) and drawing.has_many(classes)

    def look_at(
        self,
        X: Array,
        item_weights: Array | None = None,
        classes: NDArray[np.intp] | None = None,
    ) -> Frames:
        """Find what does not depend on pairs: basis, and what the priors say."""
        choices = Choices(
            self.basis,
            self.n_basis,
            "unit" if self.inference == "mle" else self.prior,
            float(self.prior_mean),
            _given(self.prior_precision),
            # The pairs that are drawn from many classes hardly share an item.
            _given(self.item_noise) if classes is None else 0.0,
        )
        self.fingerprint_ = fingerprint(X)
        rng = check_random_state(self.random_state)
        counts = np.ones(len(X)) if item_weights is None else item_weights
        frames = priors.look_at(X, counts, choices, rng, classes)
        self.n_seen_ = frames.n_seen
        return frames

    def _learn(self, frames: Frames, told: Told) -> Self:
        """Find what depends on the labelled pairs."""
        return self.take_fit(frames.basis, fitting.fit(frames, told, self.rules))

    def take_fit(self, basis: Basis, fit: Fit) -> Self:
        """Become what a fit says."""
        best, belief = fit.best, fit.belief
        self.basis_ = basis
        self.posterior_ = belief
        self.members_ = {member.name: member.weight for member in belief.members}
        self.evidence_ = best.evidence
        self.n_iter_ = best.n_sweeps
        self.prior_precision_ = best.prior.precision
        self.item_noise_ = getattr(best.prior, "item_noise", 0.0)
        self.threshold_ = belief.threshold
        self.components_ = rounded(
            _signed(belief.root() @ basis.directions.T), SINGLE_BITS
        )
        if not fit.has_converged:
            warnings.warn(
                f"The fit did not converge within {self.max_iter} sweeps. "
                "Raise 'max_iter', or 'tol'.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self


def check_told(
    pairs: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    n_items: int,
    soft: bool,
) -> Told:
    """Return labelled pairs as a fit takes them, or say what is wrong with them."""
    pairs = check_pairs(pairs, n_items)
    if len(pairs) == 0:
        raise InputError("'pairs' must hold at least one pair. Got none.")
    labels = check_labels(labels, len(pairs), soft=soft)
    weights = check_weights(sample_weight, len(pairs))
    if not soft:
        check_agreement(pairs, labels)
    p_same = labels if soft else (labels + 1) / 2
    return Told(pairs, p_same, weights, np.zeros(len(pairs), bool))


def load(path: str | os.PathLike[str]) -> BayesianMetric:
    """Read a metric that `BayesianMetric.save` wrote, every bit the same.

    Parameters
    ----------
    path : str or path
        The file. One that is damaged, newer or made to do harm raises `StoreError`.

    Examples
    --------
    >>> import numpy as np, tempfile, likewise
    >>> X = np.array([[0.0, 5.0], [0.1, 1.0], [3.0, 4.9], [3.1, 1.2]])
    >>> metric = likewise.BayesianMetric().fit_pairs(X, [[0, 1], [0, 2]], [1, -1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/birds.metric")
    ...     again = likewise.load(f"{folder}/birds.metric")
    >>> bool((again.transform(X) == metric.transform(X)).all())
    True
    """
    saved = read_metric(path)
    try:
        return _from_saved(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} holds no metric that can be used: {error}") from error


def _from_saved(saved: SavedMetric) -> BayesianMetric:
    settings, learned = dict(saved.settings), saved.learned
    settings["random_state"] = _random_state(settings.get("random_state"))
    metric = BayesianMetric(**settings)
    metric._check_parameters()
    if metric.basis != saved.basis.kind:
        raise ValueError(f"'basis' is {metric.basis!r} and {saved.basis.kind!r}.")
    metric.basis_, metric.posterior_ = saved.basis, saved.belief
    metric.members_ = {each.name: each.weight for each in saved.belief.members}
    metric.components_, metric.evidence_ = saved.components, saved.evidence
    metric.n_iter_ = int(learned["n_iter"])
    if "n_seen" in learned:  # files of before do not say
        metric.n_seen_ = int(learned["n_seen"])
    metric.prior_precision_ = float(learned["prior_precision"])
    metric.item_noise_ = float(learned["item_noise"])
    metric.threshold_ = float(learned["threshold"])
    metric.fingerprint_ = str(learned["fingerprint"])
    metric.n_features_in_ = saved.components.shape[1]
    if learned["feature_names"] is not None:
        names = np.array([str(name) for name in learned["feature_names"]], dtype=object)
        if len(names) != metric.n_features_in_:
            raise ValueError(f"there are {len(names)} names of features.")
        metric.feature_names_in_ = names
    return metric


def _as_json(value: Any) -> Any:
    """A parameter as JSON has it; a source of chance as its state."""
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        key = [int(word) for word in state["state"]["key"]]
        return [key, int(state["state"]["pos"]), state["has_gauss"], state["gauss"]]
    return value.item() if isinstance(value, np.generic) else value


def _random_state(value: Any) -> Any:
    """What `_as_json` made of a source of chance."""
    if not isinstance(value, list):
        return value
    chance = np.random.RandomState()
    key, place, has_gauss, gauss = value
    state = ("MT19937", np.array(key, np.uint32), int(place), int(has_gauss), gauss)
    chance.set_state(state)
    return chance


def _merge_equal_rows(
    X: Array, classes: NDArray[np.intp], item_weights: Array
) -> tuple[Array, NDArray[np.intp], Array]:
    """Give each different row of a class once, with the sum of its weights.

    In order of their values: what is learned is the same to the last digit, however
    the rows were ordered.
    """
    counted = item_weights > 0
    X, classes, item_weights = X[counted], classes[counted], item_weights[counted]
    keys = np.column_stack([X, classes])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    merged = np.bincount(group.ravel(), weights=item_weights).astype(float)
    return X[first], classes[first], merged


def _auc(labels: Array, p_same: Array, weights: Array | None = None) -> float:
    if len(np.unique(labels)) < 2:
        raise InputError(
            "An AUC needs labels of both kinds, +1 and -1. "
            f"Got {len(labels)} labels of one kind or none."
        )
    return float(roc_auc_score(labels > 0, p_same, sample_weight=weights))


def _signed(components: Array) -> Array:
    """The same map, each row turned so that its largest entry is positive."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]


def _given(value: float | str) -> float | None:
    """None where the evidence is to choose."""
    return None if isinstance(value, str) else float(value)


def _positive(value: float) -> bool:
    return value > 0
