"""BayesianMetric: what it computes, what it refuses, what it survives."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score

from likewise import BayesianMetric, InputError
from likewise.model import drawing, fitting
from likewise.model.basis import BASES
from likewise.pairs import all_pairs, pair_number


def class_pairs(y, rng, n_pairs=150):
    pairs = all_pairs(len(y))
    pairs = pairs[rng.permutation(len(pairs))[:n_pairs]]
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


@pytest.fixture
def fitted(blobs, rng):
    X, y = blobs
    pairs, labels = class_pairs(y, rng)
    return BayesianMetric().fit_pairs(X, pairs, labels), X, pairs, labels


@pytest.mark.parametrize("basis", BASES)
def test_the_metric_beats_euclid_where_classes_hide_in_some_features(blobs, rng, basis):
    """Pairs of unseen items are told apart better than by plain distance."""
    X, y = blobs
    seen, unseen = np.arange(60) % 2 == 0, np.arange(60) % 2 == 1
    pairs, labels = class_pairs(y[seen], rng)
    test_pairs, test_labels = class_pairs(y[unseen], rng, 400)
    metric = BayesianMetric(basis=basis).fit_pairs(X[seen], pairs, labels)
    gaps = X[unseen][test_pairs[:, 0]] - X[unseen][test_pairs[:, 1]]
    euclid = (gaps**2).sum(axis=1)
    rival = np.mean(euclid[test_labels > 0][:, None] < euclid[test_labels < 0][None])

    auc = metric.pair_auc(X[unseen], test_pairs, test_labels)

    assert auc > rival + 0.05


@pytest.mark.parametrize("basis", BASES)
def test_distance_transform_and_matrix_are_one_metric(blobs, rng, basis):
    """Three ways to the same number, in the user's units."""
    X, y = blobs
    pairs, labels = class_pairs(y, rng)
    metric = BayesianMetric(basis=basis).fit_pairs(X, pairs, labels)
    i, j = pairs.T
    mapped = metric.transform(X)
    gaps = X[i] - X[j]

    distance = metric.pair_distance(X, pairs)

    assert_allclose(distance, np.linalg.norm(mapped[i] - mapped[j], axis=1))
    A = metric.get_mahalanobis_matrix()
    # Within what L's 24 bits tell of its square.
    form = np.einsum("ij,jk,ik->i", gaps, A, gaps)
    assert_allclose(distance**2, form, rtol=2**-22)
    assert (np.linalg.eigvalsh(A) > -1e-12).all()


def test_the_threshold_is_where_the_mean_metric_is_in_doubt(fitted):
    """Below it (13) is above one half, but for the eigenvalues that are cut off."""
    metric, X, pairs, _ = fitted
    gaps = metric.basis_.project(X)[pairs[:, 0]] - metric.basis_.project(X)[pairs[:, 1]]
    belief = metric.posterior_
    values, vectors = np.linalg.eigh(belief.mean_matrix())
    cut = np.minimum(values, 0.0)
    mean = belief.metric_weights @ belief.latent_mean(gaps)

    latent = mean - (gaps @ vectors) ** 2 @ cut

    squared = metric.pair_distance(X, pairs) ** 2
    assert_allclose(squared - metric.threshold_, latent, atol=1e-9)
    assert np.abs(cut).max() < 0.2 * values.max()


def test_distances_of_drawn_metrics_scatter_as_reported(fitted, rng):
    """return_std against the distances under draws from the posterior."""
    _, X, pairs, labels = fitted
    metric = BayesianMetric(basis="eigen").fit_pairs(X, pairs, labels)
    Z = metric.basis_.project(X)
    squared_gaps = (Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2
    draws = metric.posterior_.sample(20_000, rng)[:, 1:]
    distances = np.sqrt(np.maximum(squared_gaps @ draws.T, 0))

    distance, deviation = metric.pair_distance(X, pairs, return_std=True)

    far = distance > np.median(distance)
    assert_allclose(deviation[far], distances.std(axis=1)[far], rtol=0.25)


def test_predictions_follow_the_probability(fitted):
    """+1 exactly where P(same) is at least one half."""
    metric, X, pairs, labels = fitted
    p_same = metric.pair_probability(X, pairs)

    assert_array_equal(metric.predict_pairs(X, pairs) > 0, p_same >= 0.5)
    assert metric.pair_auc(X, pairs, labels) > 0.9
    assert_allclose(p_same, metric.pair_probability(X, pairs[:, ::-1]))


def test_more_pairs_less_doubt(blobs, rng):
    """The posterior narrows as answers come in."""
    X, y = blobs
    pairs, labels = class_pairs(y, rng, 400)
    deviations = [
        BayesianMetric(prior_precision=0.1)
        .fit_pairs(X, pairs[:n], labels[:n])
        .pair_distance(X, pairs, return_std=True)[1]
        .mean()
        for n in (5, 50, 400)
    ]

    assert deviations[0] > deviations[1] > deviations[2]


def test_maximum_likelihood_is_sure_of_itself(blobs, rng):
    """The baseline of 5.2 has no spread."""
    X, y = blobs
    pairs, labels = class_pairs(y, rng)

    metric = BayesianMetric(inference="mle", basis="eigen").fit_pairs(X, pairs, labels)

    assert_array_equal(metric.pair_distance(X, pairs, return_std=True)[1], 0)
    assert metric.pair_auc(X, pairs, labels) > 0.9


def test_soft_labels_of_zero_and_one_are_hard_labels(fitted):
    """P(same) of 1 is +1, of 0 is -1."""
    metric, X, pairs, labels = fitted

    soft = BayesianMetric().fit_pairs(X, pairs, labels > 0, soft=True)

    # A number of L that is next to nothing has steps of 2^-34 of the largest.
    assert_allclose(soft.components_, metric.components_, atol=1e-9)


def test_a_weight_of_two_is_a_pair_twice(fitted):
    """Sample weights of pairs count repetitions."""
    _, X, pairs, labels = fitted
    weight = np.where(np.arange(150) < 40, 2.0, 1.0)

    weighted = BayesianMetric().fit_pairs(X, pairs, labels, sample_weight=weight)

    twice = BayesianMetric().fit_pairs(
        X, np.concatenate([pairs, pairs[:40]]), np.concatenate([labels, labels[:40]])
    )
    assert_allclose(weighted.threshold_, twice.threshold_, rtol=1e-4)


def test_fit_learns_from_all_pairs_of_classes(blobs):
    """fit(X, y) is fit_pairs on every pair while there are few."""
    X, y = (part[::2] for part in blobs)
    pairs = all_pairs(30)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)

    by_class = BayesianMetric().fit(X, y)

    by_pair = BayesianMetric().fit_pairs(X, pairs, labels)
    assert_allclose(by_class.threshold_, by_pair.threshold_, rtol=1e-6)


def test_fit_on_many_items_is_seeded(rng, monkeypatch):
    """Beyond the bound the same seed draws the same pairs."""
    monkeypatch.setattr(drawing, "MAX_PAIRS", 200)
    X = rng.normal(size=(300, 3))
    y = rng.randint(0, 3, 300)
    X[:, 0] += 3 * y

    one, two, other = (
        BayesianMetric(random_state=s).fit(X, y).threshold_ for s in (1, 1, 2)
    )

    assert one == two != other


def test_few_items_in_many_dimensions_are_no_worse_than_euclid(rng):
    """Where neighbours mean nothing, no prior must ruin the metric."""
    y = np.repeat(np.arange(10), 22)
    X = rng.normal(size=(10, 50))[y] + 0.8 * rng.normal(size=(220, 50))
    few = np.arange(0, 220, 11)
    metric = BayesianMetric(random_state=0).fit(X[few], y[few])
    rest = np.setdiff1d(np.arange(220), few)

    def accuracy(Z):
        squared = ((Z[rest][:, None] - Z[few][None]) ** 2).sum(axis=2)
        return np.mean(y[few][squared.argmin(axis=1)] == y[rest])

    assert accuracy(metric.transform(X)) > accuracy(X) - 0.05


def test_a_feature_in_large_units_does_not_drown_the_others(rng):
    """Classes show in two features of unit scale; the third is noise of scale 1,000."""
    y = np.repeat(np.arange(3), 40)
    centres = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    X = np.column_stack([centres[y], np.zeros(120)]) + rng.normal(size=(120, 3))
    large = X * [1.0, 1.0, 1000.0]
    pairs, labels = pairs_of(y, np.arange(0, 120, 20))
    everything, truth = pairs_of(y, np.arange(120))

    given, drowned = (
        BayesianMetric(random_state=0)
        .fit_pairs(items, pairs, labels)
        .pair_auc(items, everything, truth)
        for items in (X, large)
    )

    assert plain_auc(large, everything, truth) < 0.6
    assert given > plain_auc(X, everything, truth) - 0.01
    assert drowned > plain_auc(X / X.std(axis=0), everything, truth) + 0.05


def plain_auc(X, pairs, labels):
    """What Euclidean distance reaches without learning anything."""
    gaps = X[pairs[:, 0]] - X[pairs[:, 1]]
    return roc_auc_score(labels > 0, -(gaps**2).sum(axis=1))


def test_the_members_left_are_named_with_their_weights(fitted):
    """Heaviest first, and together all there is to believe."""
    metric, X, pairs, labels = fitted

    weights = list(metric.members_.values())

    assert weights == sorted(weights, reverse=True)
    assert_allclose(sum(weights), 1)
    assert list(metric.members_) == [m.name for m in metric.posterior_.members]
    alone = BayesianMetric(prior="unit").fit_pairs(X, pairs, labels)
    assert alone.members_ == {"unit": 1.0}


@pytest.mark.parametrize("prior", ["evidence", "unlabelled", "unit"])
def test_a_belief_is_no_worse_than_a_member_alone(blobs, rng, prior):
    """P(same) of unseen items by any prior, after few answers and after many."""
    X, y = blobs
    seen, unseen = np.arange(60) % 2 == 0, np.arange(60) % 2 == 1
    test_pairs, test_labels = class_pairs(y[unseen], rng, 400)
    for n_pairs in (10, 100):
        pairs, labels = class_pairs(y[seen], rng, n_pairs)
        alone, together = (
            BayesianMetric(prior=each, random_state=0)
            .fit_pairs(X[seen], pairs, labels)
            .pair_auc(X[unseen], test_pairs, test_labels)
            for each in (prior, "evidence")
        )
        assert together > alone - 0.05


def test_a_fit_that_did_not_converge_says_so(blobs, rng):
    """By a warning that names what to raise, and only then."""
    X, y = blobs
    pairs, labels = class_pairs(y, rng)

    with pytest.warns(ConvergenceWarning, match="within 1 sweeps. Raise 'max_iter'"):
        BayesianMetric(max_iter=1).fit_pairs(X, pairs, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianMetric().fit_pairs(X, pairs, labels)


def test_rows_may_come_in_any_order(blobs, rng):
    """fit(X, y) learns the same from the same items, to the last digit."""
    X, y = (part[::3] for part in blobs)
    order = rng.permutation(len(X))

    one, other = (
        BayesianMetric(random_state=0).fit(X[rows], y[rows]).components_
        for rows in (np.arange(len(X)), order)
    )

    assert_array_equal(one, other)


def test_one_item_of_its_own_among_many_is_fitted(rng, monkeypatch):
    """20,000 items, one of another class: so many pairs and no more are drawn."""
    monkeypatch.setattr(drawing, "MAX_PAIRS", 60)
    X, y = rng.normal(size=(20_000, 3)), np.zeros(20_000, dtype=int)
    X[7], y[7] = [0.0, 9.0, 0.0], 1
    told = []
    fit = fitting.fit

    def noted(frames, evidence, *rest):
        told.append(evidence)
        return fit(frames, evidence, *rest)

    monkeypatch.setattr(fitting, "fit", noted)
    metric = BayesianMetric(basis="axes", prior="unit", random_state=0).fit(X, y)

    (evidence,) = told
    assert len(evidence.pairs) == 60
    assert (evidence.p_same == 0).sum() == 30
    assert metric.components_[0].argmax() == 1


def test_a_saved_estimator_does_not_carry_the_items(rng):
    """Twice the items, hardly more bytes: the learned metric is all there is."""
    sizes = []
    for n_items in (1000, 8000):
        X = rng.normal(size=(n_items, 5))
        pairs = np.column_stack([np.arange(20), np.arange(20, 40)])
        labels = np.where(X[:20, 0] * X[20:40, 0] > 0, 1, -1)
        metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)
        sizes.append(len(pickle.dumps(metric)))

    assert max(sizes) < 100_000


def pairs_of(y, rows):
    i, j = np.triu_indices(len(rows), 1)
    pairs = np.column_stack([rows[i], rows[j]])
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def test_inputs_stay_as_they_were(blobs, rng):
    """Fitting and asking change no array of the caller's."""
    X, y = blobs
    pairs, labels = class_pairs(y, rng)
    pairs = pairs[:, ::-1].copy()
    kept = X.copy(), pairs.copy(), labels.copy()

    BayesianMetric().fit_pairs(X, pairs, labels).pair_probability(X, pairs)

    for now, before in zip((X, pairs, labels), kept, strict=True):
        assert_array_equal(now, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [1, -1, 1, 1]}, r"Pair \(0, 1\) is labelled both \+1 and -1"),
        ({"pairs": np.empty((0, 2), int), "labels": []}, "at least one pair. Got none"),
        ({"labels": [1, -1]}, r"each of the 4 pairs. Got shape \(2,\)"),
        ({"X": [[1.0], [np.nan], [3.0]]}, "Got NaN at row 1, column 0"),
        ({"X": [[1.0], [np.inf], [3.0]]}, "Got infinity at row 1, column 0"),
        ({"X": [["a"], ["b"], ["c"]]}, "could not convert string|dtype"),
        ({"X": [1.0, 2.0, 3.0]}, "Expected 2D array"),
        ({"sample_weight": [1, 1, -1, 1]}, "Got -1 at position 2"),
    ],
)
def test_bad_input_gets_a_sentence(change, message):
    """An InputError, which is a ValueError."""
    given = {
        "X": [[1.0], [2.0], [3.0]],
        "pairs": [[0, 1], [1, 0], [1, 2], [0, 2]],
        "labels": [1, 1, -1, -1],
    }

    with pytest.raises(InputError, match=message):
        BayesianMetric().fit_pairs(**{**given, **change})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"basis": "eigne"}, "'basis' must be one of"),
        ({"prior": "flat"}, "'prior' must be one of .* Got 'flat'"),
        ({"inference": "mcmc"}, "'inference' must be one of .* Got 'mcmc'"),
        ({"prior_precision": 0}, "'prior_precision' must be .*above 0.* Got 0"),
        ({"item_noise": -1}, "'item_noise' must be .*from 0 to.* Got -1"),
        ({"item_noise": "much"}, "'item_noise' must be .*'evidence'. Got 'much'"),
        ({"prior_mean": -1}, "'prior_mean' must be a number at least 0. Got -1"),
        ({"max_iter": 0}, "'max_iter' must be a number at least 1. Got 0"),
        ({"tol": "small"}, "'tol' must be a number at least 0. Got 'small'"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, message):
    """Checked by fit, not by the constructor."""
    metric = BayesianMetric(**parameters)

    with pytest.raises(InputError, match=message):
        metric.fit_pairs(np.eye(3), [[0, 1]], [1])


def test_an_unfitted_metric_says_so():
    """With scikit-learn's own exception."""
    with pytest.raises(NotFittedError, match="not fitted"):
        BayesianMetric().pair_probability(np.eye(3), [[0, 1]])


def test_an_auc_of_one_kind_of_label_is_refused(fitted):
    """There is nothing to rank."""
    metric, X, pairs, labels = fitted

    with pytest.raises(InputError, match="both kinds"):
        metric.pair_auc(X, pairs[labels > 0], labels[labels > 0])


HARD = {
    "constant": lambda X: np.column_stack([X, np.ones(len(X))]),
    "collinear": lambda X: np.column_stack([X, 2 * X[:, 0]]),
    "wide": lambda X: (
        np.tile(X, 30) + np.sin(np.arange(150 * len(X))).reshape(len(X), -1)
    ),
    "huge": lambda X: X * 1e120,
    "tiny": lambda X: X * 1e-120,
    "far": lambda X: X + 1e7,
    "all equal": lambda X: np.full_like(X, 3.0),
    "duplicated": lambda X: np.repeat(X[:30], 2, axis=0),
}


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("name", HARD)
def test_hard_data_gets_a_finite_answer_without_a_warning(blobs, rng, name, basis):
    """Warnings are errors here; probabilities are probabilities."""
    X, y = blobs
    X = HARD[name](X)
    pairs, labels = class_pairs(y, rng)

    metric = BayesianMetric(basis=basis).fit_pairs(X, pairs, labels)

    p_same = metric.pair_probability(X, pairs)
    assert ((p_same >= 0) & (p_same <= 1)).all()
    assert np.isfinite(metric.transform(X)).all()
    distance, deviation = metric.pair_distance(X, pairs, return_std=True)
    assert np.isfinite(distance).all() and np.isfinite(deviation).all()


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_the_unit_of_x_changes_no_probability(blobs, rng, basis, scale):
    """Centimetres or miles: the same answers."""
    X, y = blobs
    pairs, labels = class_pairs(y, rng)
    plain = BayesianMetric(basis=basis).fit_pairs(X, pairs, labels)

    scaled = BayesianMetric(basis=basis).fit_pairs(X * scale, pairs, labels)

    assert_allclose(
        scaled.pair_probability(X * scale, pairs),
        plain.pair_probability(X, pairs),
        rtol=1e-6,
    )


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("label", [1, -1])
def test_one_kind_of_label_moves_the_probability_that_way(blobs, rng, basis, label):
    """Only "same" raises P(same), only "different" lowers it."""
    X, y = blobs
    pairs, _ = class_pairs(y, rng)
    metric = BayesianMetric(basis=basis, prior_precision=1.0)
    few = metric.fit_pairs(X, pairs[:1], [label]).pair_probability(X, pairs).mean()

    many = metric.fit_pairs(X, pairs, np.full(150, label)).pair_probability(X, pairs)

    assert (many.mean() - few) * label > 0


@pytest.mark.parametrize("basis", BASES)
def test_two_items_are_enough(basis):
    """One pair, one answer."""
    X = np.array([[0.0, 1.0], [2.0, 5.0]])

    p_same = (
        BayesianMetric(basis=basis)
        .fit_pairs(X, [[0, 1]], [1])
        .pair_probability(X, [[0, 1]])
    )

    assert 0.5 < p_same[0] <= 1


def test_memory_follows_the_block(rng):
    """Half a million pairs take no more than a few blocks and the result."""
    import tracemalloc

    X = rng.normal(size=(2000, 40))
    pairs = np.unique(np.sort(rng.randint(0, 2000, (600_000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]][:500_000]
    metric = BayesianMetric().fit_pairs(X, pairs[:50], np.ones(50))
    tracemalloc.start()

    metric.pair_probability(X, pairs)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6 < 500_000 * 41 * 8
    assert len(np.unique(pair_number(pairs, 2000))) == 500_000


@pytest.mark.parametrize(("basis", "expected"), [("full", 0.7), ("eigen", 0.0)])
def test_items_noise_makes_p_same_less_sure(blobs, basis, expected):
    """As given, for the whole matrix only: the paper's model has none."""
    X, y = (part[::3] for part in blobs)
    sure, unsure = (
        BayesianMetric(basis=basis, prior_precision=0.5, item_noise=noise).fit(X, y)
        for noise in (0.0, 0.7)
    )
    pairs = all_pairs(len(X))

    assert unsure.item_noise_ == expected
    assert sure.item_noise_ == 0
    spread, plain = (np.std(m.pair_probability(X, pairs)) for m in (unsure, sure))
    if basis == "full":
        assert spread < 0.99 * plain
    else:
        assert_allclose(spread, plain)


@pytest.mark.parametrize("weight", [None, [1, 0, 0]])
def test_one_item_left_is_enough_to_fit(weight):
    """Equal rows are one item, and items of no weight are none."""
    X = np.ones((3, 2)) if weight is None else np.array([[0, 1], [2, 3], [1, 1.0]])

    metric = BayesianMetric().fit(X, [0, 1, 0], sample_weight=weight)

    assert np.isfinite(metric.transform(X)).all()


def test_drawn_pairs_are_weighed_back(rng, monkeypatch):
    """Half of the drawn pairs are the same, one in ten of all is: P(same) knows."""
    monkeypatch.setattr(drawing, "MAX_PAIRS", 200)
    y = np.repeat(np.arange(10), 12)
    X = rng.normal(size=(10, 4))[y] + rng.normal(size=(120, 4))
    pairs = all_pairs(120)

    p_same = BayesianMetric(random_state=0).fit(X, y).pair_probability(X, pairs)

    is_same = y[pairs[:, 0]] == y[pairs[:, 1]]
    assert abs(p_same.mean() - is_same.mean()) < 0.05
