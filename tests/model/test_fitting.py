"""The posterior against the equations by hand, quadrature, and a sampler."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from likewise.errors import InferenceError
from likewise.model import climbing, equations, fitting, matrix
from likewise.model import parts as blocks_of_pairs
from likewise.model.climbing import Climb, Rules, maximise_likelihood
from likewise.model.fitting import Told, fit
from likewise.model.parts import gram
from likewise.model.posterior import EntryPosterior, PairPosterior, WeightPosterior
from likewise.model.priors import (
    DELTA,
    ITEM_NOISE,
    NOISY_START,
    PAPER_DELTA,
    SCALE,
    Choices,
    MatrixPrior,
    WeightPrior,
    look_at,
    with_free_directions,
    with_settings,
)
from likewise.model.solvers import (
    EntrySolver,
    LabelledPairs,
    PairSolver,
    WeightSolver,
    matrix_solver,
)
from likewise.threads import one_thread
from tests.samplers import elliptical_slice
from tests.slowly import item_features, parameter_features

CLOSELY = Rules(max_iter=3000, tol=1e-12)
ALL_SETTINGS = (DELTA, SCALE, ITEM_NOISE)


def apart(n_pairs):
    """Pairs that share no item."""
    return np.arange(2 * n_pairs).reshape(n_pairs, 2)


def make(rng, n_pairs, weights):
    """Pairs labelled by a known metric."""
    features = equations.pair_features(rng.normal(size=(n_pairs, len(weights) - 1)))
    labels = np.where(rng.uniform(size=n_pairs) < expit(-features @ weights), 1.0, -1.0)
    return labelled_pairs(features, labels / 2, apart(n_pairs))


def labelled_pairs(features, targets, pairs):
    """Pairs that were answered, each once."""
    n_pairs = len(targets)
    return LabelledPairs(features, targets, np.ones(n_pairs), pairs, np.zeros(n_pairs))


def unit_prior(n_weights, precision):
    return WeightPrior(np.ones(n_weights), precision)


def learn(labelled, prior, settings=(), rules=CLOSELY):
    """Fit to convergence, at the prior's own settings unless some are to be chosen."""
    climb = Climb(labelled, prior, settings, rules)
    with one_thread():
        return climb.begin_better().search()


def test_fixed_point_is_the_papers(rng):
    """(9)-(11) iterated by hand give the same mean and covariance."""
    labelled = make(rng, 400, [3.0, 2.0, 4.0, 3.0])
    xi = np.ones(400)
    for _ in range(3000):
        bend = np.tanh(xi / 2) / (4 * xi)
        covariance = np.linalg.inv(
            0.5 * np.eye(4) + 2 * (labelled.features.T * bend) @ labelled.features
        )
        pull = 0.5 * np.ones(4) - labelled.features.T @ labelled.targets
        mean = covariance @ pull
        spread = np.einsum(
            "ij,jk,ik->i", labelled.features, covariance, labelled.features
        )
        xi = np.sqrt((labelled.features @ mean) ** 2 + spread)

    found = learn(labelled, unit_prior(4, 0.5))

    assert (mean > 0).all()
    assert_allclose(found.posterior.mean, mean, rtol=1e-5)
    assert_allclose(found.posterior.covariance, covariance, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("precision", [1e-3, 0.1, 10.0])
def test_the_lower_bound_never_falls_under_the_constraint(rng, precision):
    """Also where weights sit at zero."""
    labelled = make(rng, 60, [1.0, -2.0, 0.0, 6.0, -2.0])
    climb = Climb(labelled, unit_prior(5, precision), (), Rules(max_iter=1, tol=0.0))

    bounds = [climb.settle(climb.prior).evidence for _ in range(200)]

    assert (np.diff(bounds) > -1e-9).all()
    if precision < 1:
        assert (climb.search().posterior.mean == 0).any()


def test_the_clip_of_the_paper_is_another_posterior(rng):
    """Reachable, non-negative, and its bound ends below the constrained one."""
    labelled = make(rng, 60, [1.0, -2.0, 0.0, 6.0, -2.0])
    prior = unit_prior(5, 0.01)

    clipped = learn(
        labelled, prior, rules=CLOSELY._replace(inference="variational-clip")
    )
    best = learn(labelled, prior)

    assert (clipped.posterior.mean >= 0).all()
    assert clipped.evidence[-1] < best.evidence[-1] - 1e-3


def test_the_reported_bound_is_the_one_written_out(rng):
    """Prior, entropy and the sums over S and D, from the posterior alone."""
    labelled = make(rng, 50, [2.0, 1.0, 3.0])
    found = learn(labelled, unit_prior(3, 0.3))
    mean, covariance = found.posterior.mean, found.posterior.covariance
    second = covariance + np.outer(mean, mean)
    gap = mean - 1
    expected = 1.5 * np.log(0.3 / (2 * np.pi))
    expected -= 0.3 / 2 * (gap @ gap + np.trace(covariance))
    expected += np.linalg.slogdet(2 * np.pi * np.e * covariance)[1] / 2
    for omega, half in zip(labelled.features, labelled.targets, strict=True):
        xi = np.sqrt(omega @ second @ omega)
        bend = np.tanh(xi / 2) / (4 * xi)
        touch = omega @ second @ omega - xi**2
        expected += log_expit(xi) - (2 * half * mean @ omega + xi) / 2 - bend * touch

    assert_allclose(found.evidence[-1], expected)


@pytest.mark.parametrize("n_weights", [1, 2])
def test_the_bound_stays_below_the_true_evidence(rng, n_weights, capsys):
    """By quadrature over one or two weights; by how much is printed."""
    labelled = make(rng, 25, np.array([1.5, 1.0])[:n_weights])
    grid = np.linspace(-14, 16, 1501)
    axes = np.meshgrid(*[grid] * n_weights, indexing="ij")
    points = np.column_stack([axis.ravel() for axis in axes])
    heights = -0.1 * ((points - 1) ** 2).sum(axis=1) + n_weights / 2 * np.log(
        0.2 / (2 * np.pi)
    )
    for omega, half in zip(labelled.features, labelled.targets, strict=True):
        heights += log_expit(-2 * half * (points @ omega))
    truth = logsumexp(heights) + n_weights * np.log(grid[1] - grid[0])

    bound = learn(labelled, unit_prior(n_weights, 0.2)).evidence[-1]

    with capsys.disabled():
        print(f"\n  log evidence {truth:.4f}, bound {bound:.4f}, {n_weights} weights")
    assert truth - 1.5 < bound < truth


def test_the_samplers_moments_are_right(rng):
    """On a Gaussian likelihood, where the posterior is known."""
    draws = elliptical_slice(
        lambda w: -0.5 * 3.0 * np.sum((w - 2.0) ** 2),
        np.ones(3),
        np.full(3, 2**-0.5),
        20_000,
        rng,
    )

    assert_allclose(draws.mean(axis=0), 1.6, atol=0.03)
    assert_allclose(np.cov(draws.T), np.eye(3) / 5, atol=0.02)


@pytest.mark.slow
def test_probabilities_agree_with_a_sampler(rng, capsys):
    """Ten weights, 500 pairs: on average within 0.03 of a long exact run."""
    weights = np.r_[3.0, np.linspace(0.3, 2, 9)]
    labelled = make(rng, 150, weights)
    prior = unit_prior(10, 1.0)
    unseen = equations.pair_features(rng.normal(size=(500, 9)))
    draws = elliptical_slice(
        lambda w: equations.log_likelihood(2 * labelled.targets, labelled.features @ w),
        prior.mean,
        prior.precisions**-0.5,
        20_000,
        rng,
    )
    truth = expit(-unseen @ draws.T).mean(axis=1)

    p_same = learn(labelled, prior).posterior.probability_same(unseen)

    difference = np.abs(p_same - truth).mean()
    with capsys.disabled():
        print(f"\n  mean |P(same) - sampler's| over 500 pairs: {difference:.4f}")
    assert difference <= 0.03


def test_weights_count_like_repeated_pairs(rng):
    """A pair of weight two is two pairs; of weight zero, none."""
    labelled = make(rng, 30, [2.0, 1.0, 3.0])
    times = rng.randint(0, 4, 30)
    weighted = replace(
        labelled, targets=labelled.targets * times, weights=times.astype(float)
    )
    repeated = labelled.at(np.repeat(np.arange(30), times))

    one, other = (learn(each, unit_prior(3, 0.1)) for each in (weighted, repeated))

    assert_allclose(one.posterior.mean, other.posterior.mean, rtol=1e-6)
    assert_allclose(one.evidence[-1], other.evidence[-1])


def test_a_soft_label_of_a_half_pulls_neither_way():
    """It narrows the doubt, but moves no mean that sits at f = 0."""
    features = np.array([[-1.0, 1.0]])
    labelled = labelled_pairs(features, np.zeros(1), apart(1))

    found = learn(labelled, unit_prior(2, 0.5))

    assert_allclose(found.posterior.mean, [1, 1], atol=1e-9)
    assert found.posterior.latent(features)[1] < 4


def test_maximum_likelihood_is_what_a_general_optimiser_finds(rng):
    """The baseline of 5.2, against Nelder-Mead on the plain likelihood."""
    labelled = make(rng, 500, [2.0, 1.0, 3.0])

    def cost(weights):
        return -equations.log_likelihood(
            2 * labelled.targets, labelled.features @ weights
        )

    plain = minimize(cost, np.ones(3), method="Nelder-Mead", tol=1e-10).x

    rules = Rules("mle", max_iter=500, tol=1e-12)
    found = maximise_likelihood(labelled, unit_prior(3, 1.0), rules)

    assert_allclose(found.posterior.mean, plain, rtol=1e-3)
    assert not found.posterior.covariance.any()
    assert (np.diff(found.evidence) > -1e-9).all()


def test_a_prior_too_weak_for_the_arithmetic_says_what_to_raise():
    """The matrix is singular to rounding: name the parameter and its value."""
    features = np.array([[-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    labelled = labelled_pairs(features, np.array([0.5, -0.5]), apart(2))
    sites = np.full(2, 0.25), np.zeros(2)

    with pytest.raises(InferenceError, match="Raise 'prior_precision' .now 1e-300"):
        WeightSolver(labelled).solve(sites, unit_prior(3, 1e-300))


def matrix_problem(rng, n_pairs=60, n_basis=3, n_items=None, item_noise=0.0):
    """Pairs labelled by a metric that is not diagonal, and a prior.

    With `n_items` the pairs share items, which lie off their features by the noise.
    """
    prior = MatrixPrior(np.eye(n_basis), np.array([1.5, 1.0, 0.2]), 0.2, 1.0, 4.0)
    if n_items is None:
        gaps, pairs = rng.normal(size=(n_pairs, n_basis)), apart(n_pairs)
        off = np.zeros(n_pairs)
    else:
        pairs = np.sort(np.argsort(rng.uniform(size=(n_pairs, n_items)))[:, :2])
        items = rng.normal(size=(n_items, n_basis))
        gaps = items[pairs[:, 0]] - items[pairs[:, 1]]
        e = rng.normal(size=(n_items, n_basis)) * np.sqrt(item_noise * prior.centre)
        off = item_features(gaps, pairs, n_items) @ e.ravel()
    A = np.array([[3.0, -2.0, 0.0], [-2.0, 3.0, 0.0], [0.0, 0.0, 0.1]])
    latent = np.einsum("ij,jk,ik->i", gaps, A, gaps) + off - 3
    labels = np.where(rng.uniform(size=n_pairs) < expit(-latent), 1.0, -1.0)
    return labelled_pairs(gaps, labels / 2, pairs), prior


FREE = np.linalg.qr([[1.0, 0.2], [0.5, -1.0], [0.1, 0.3]])[0]


@pytest.mark.parametrize("free_directions", [None, FREE], ids=["whole", "limited"])
@pytest.mark.parametrize("precision", [0.01, 0.3, 10.0])
def test_pairs_and_entries_are_two_ways_to_one_answer(rng, precision, free_directions):
    """Moments, divergence and slopes of the two solvers agree; some are implied."""
    labelled, prior = matrix_problem(rng, n_items=20)
    labelled = replace(labelled, implied=np.repeat([0.0, 1.0], 30))
    prior = replace(prior, precision=precision, free_directions=free_directions)
    sites = rng.uniform(0.05, 0.25, 60), -labelled.targets
    both = PairSolver(labelled, prior), EntrySolver(labelled, prior)

    one, other = (each.solve(sites, prior) for each in both)

    assert_allclose(one.latent_mean, other.latent_mean, atol=1e-8)
    assert_allclose(one.latent_variance, other.latent_variance, atol=1e-8)
    assert_allclose(one.divergence, other.divergence, atol=1e-8)
    assert_allclose(*(each.start(prior) for each in both), atol=1e-10)
    for name, slope in one.slopes().items():
        assert_allclose(other.slopes()[name], slope, atol=1e-7)


def test_blocks_sum_to_the_whole(rng, monkeypatch):
    """Seven pairs at a time, or all at once: the same posterior."""
    labelled, prior = matrix_problem(rng, n_items=20)
    sites = rng.uniform(0.05, 0.25, 60), -labelled.targets
    whole = EntrySolver(labelled, prior).solve(sites, prior)

    monkeypatch.setattr(blocks_of_pairs, "BLOCK_BYTES", 7 * 8 * 9)
    parts = EntrySolver(labelled, prior).solve(sites, prior)

    assert_allclose(parts.latent_mean, whole.latent_mean, rtol=1e-10)
    assert_allclose(parts.latent_variance, whole.latent_variance, rtol=1e-10)
    assert_allclose(parts.divergence, whole.divergence, rtol=1e-10)


def test_directions_that_are_all_there_are_limit_nothing(rng):
    """The free matrix is as likely in any rotation of its coordinates."""
    labelled, prior = matrix_problem(rng)
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    unseen = rng.normal(size=(5, 3))
    sites = rng.uniform(0.05, 0.25, 60), -labelled.targets

    posteriors = [
        EntrySolver(labelled, each).solve(sites, each).posterior()
        for each in (prior, replace(prior, free_directions=turned))
    ]

    one, other = posteriors
    assert_allclose(other.mean_matrix(), one.mean_matrix(), atol=1e-8)
    assert_allclose(other.latent(unseen), one.latent(unseen), atol=1e-8)
    assert_allclose(
        other.squared_distance(unseen), one.squared_distance(unseen), atol=1e-8
    )


def test_a_limited_matrix_is_free_only_where_it_may_be(rng):
    """Outside of its directions it is the prior metric, scaled."""
    labelled, prior = matrix_problem(rng)
    limited = with_free_directions(prior, gram(labelled.features), 2)
    sites = rng.uniform(0.05, 0.25, 60), -labelled.targets

    posteriors = [
        solver(labelled, limited).solve(sites, limited).posterior()
        for solver in (PairSolver, EntrySolver)
    ]

    free = limited.free_directions
    assert_allclose(free.T @ free, np.eye(2), atol=1e-12)
    outside = np.eye(3) - free @ free.T
    for posterior in posteriors:
        scale = posterior.parameters[1] / prior.room
        left = posterior.mean_matrix() - scale * np.diag(prior.centre)
        assert_allclose(left @ outside, 0.0, atol=1e-8)
        assert np.abs(left).max() > 0.1
    one, other = posteriors
    assert_allclose(one.covariance, other.covariance, atol=1e-6)
    unseen = rng.normal(size=(5, 3))
    assert_allclose(
        one.squared_distance(unseen), other.squared_distance(unseen), atol=1e-6
    )


def test_a_solver_remembers_nothing_but_the_last_settings(rng):
    """Going to other settings and back gives what a new solver gives."""
    labelled, prior = matrix_problem(rng, n_items=20)
    prior = replace(prior, item_noise=0.5)
    sites = rng.uniform(0.05, 0.25, 60), -labelled.targets
    used = PairSolver(labelled, prior)
    for values in ([0.3, 4, 2.0], [0.3, 4, 0.5], [4.0, 2, 0.5], [0.3, 4, 2.0]):
        now = with_settings(prior, ALL_SETTINGS, np.array(values))
        fresh = PairSolver(labelled, prior)
        one, other = (solver.solve(sites, now) for solver in (used, fresh))
        assert_allclose(one.latent_mean, other.latent_mean, rtol=1e-12)
        assert_allclose(one.latent_variance, other.latent_variance, rtol=1e-12)


def test_the_smaller_side_is_chosen(rng):
    """Eight parameters; items off their features are known to the pairs' side only."""
    few, prior = matrix_problem(rng, 8)
    many, _ = matrix_problem(rng, 60, n_items=20)

    assert isinstance(matrix_solver(few, prior), PairSolver)
    assert isinstance(matrix_solver(many, prior), EntrySolver)
    noisy = replace(prior, item_noise=0.1)
    assert isinstance(matrix_solver(many, noisy), PairSolver)


@pytest.mark.parametrize(
    ("name", "item_noise"),
    [
        ("precision", 0.5),
        ("scale", 0.5),
        ("item_noise", 0.5),
        ("precision", 0.0),
        ("scale", 0.0),
    ],
)
def test_a_settings_slope_is_that_of_the_bound(rng, name, item_noise):
    """What a solver says against the bound fitted on either side, by both solvers."""
    labelled, prior = matrix_problem(rng, n_items=12, item_noise=3.0)
    labelled = replace(labelled, implied=np.repeat([0.0, 1.0], [40, 20]))
    prior = replace(prior, precision=0.3, item_noise=item_noise)

    def reached(factor):
        value = factor * getattr(prior, name)
        moved = replace(prior, **{name: value})
        return learn(labelled, moved, rules=Rules(max_iter=5000, tol=1e-14))

    h = 1e-3
    up, down = (reached(np.exp(step)).evidence[-1] for step in (h, -h))

    slope = slope_at(labelled, prior)[name]

    assert_allclose((up - down) / (2 * h), slope, rtol=1e-3, atol=2e-3)
    assert abs(slope) > 0.01


def slope_at(labelled, prior):
    """Slopes where sweeps have ended, without their curvature."""
    slopes = slopes_of(labelled, prior)
    return {name: slope.value for name, slope in slopes.items()}


def slopes_of(labelled, prior):
    """Slopes where sweeps, damped for they may swing, have ended."""
    solver = matrix_solver(labelled, prior)
    told = labelled.targets, labelled.weights
    sites = equations.jaakkola_bound(*told, *solver.start(prior))[1]
    for _ in range(300):
        solution = solver.solve(sites, prior)
        moments = solution.latent_mean, solution.latent_variance
        wanted = matrix.tight_bound(*told, *moments)[1]
        sites = tuple(0.7 * s + 0.3 * w for s, w in zip(sites, wanted, strict=True))
    return solution.slopes()


def test_the_papers_slope_is_that_of_its_bound(rng):
    """Slope in log delta of the paper's model, by finite differences."""
    labelled = make(rng, 80, [2.0, 1.0, 3.0])
    h, rules = 1e-3, Rules(max_iter=5000, tol=1e-14)
    up, down = (
        learn(labelled, unit_prior(3, 0.3 * np.exp(step)), rules=rules).evidence[-1]
        for step in (h, -h)
    )
    climb = Climb(labelled, unit_prior(3, 0.3), (), rules)

    slope = climb.settle(climb.prior).solution.slopes()["precision"].value

    assert_allclose((up - down) / (2 * h), slope, rtol=1e-4)


def test_items_out_of_place_are_noticed(rng):
    """Where items lie off their features the evidence finds noise, elsewhere none."""
    noisy, prior = matrix_problem(rng, 600, n_items=40, item_noise=3.0)
    plain, _ = matrix_problem(rng, 600, n_items=40, item_noise=0.0)
    prior = replace(prior, precision=0.3, item_noise=ITEM_NOISE.median)

    noises = [
        learn(each, prior, (ITEM_NOISE,), Rules()).prior.item_noise
        for each in (noisy, plain)
    ]

    assert noises[0] > 1.0
    assert noises[1] < 0.2


def heights(labelled, prior, settings, grid):
    """Evidence and log density of the settings at every point of a grid."""
    found = []
    for values in grid:
        moved = with_settings(prior, settings, np.array(values))
        density = sum(
            each.log_density(value)
            for each, value in zip(settings, values, strict=True)
        )
        reached = learn(labelled, moved, rules=Rules(max_iter=300, tol=1e-8))
        found.append(reached.evidence[-1] + density)
    return np.array(found)


def test_all_settings_are_found_together(rng):
    """The search ends near the best of a grid over all three of them."""
    labelled, prior = matrix_problem(rng, 60, n_items=15, item_noise=2.0)
    prior = replace(prior, item_noise=ITEM_NOISE.median)
    grid = [
        (delta, scale, noise)
        for delta in np.geomspace(0.01, 10, 5)
        for scale in (1.0, 3.0, 9.0)
        for noise in (0.04, 0.3, 1.0, 3.0)
    ]

    found = learn(labelled, prior, ALL_SETTINGS, Rules())

    best = heights(labelled, prior, ALL_SETTINGS, grid).max()
    assert found.evidence[-1] > best - 0.1
    assert found.n_sweeps < 200


@pytest.mark.parametrize("kind", ["weights", "matrix", "few"])
def test_the_evidence_chooses_the_precision_that_a_grid_would(rng, kind):
    """The bound at the chosen precision is the best of a fine grid, nearly."""
    setting = PAPER_DELTA if kind == "weights" else DELTA
    if kind == "few":
        labelled, prior = matrix_problem(rng, 30)
        labelled = replace(labelled, targets=labelled.targets[::-1])
    elif kind == "matrix":
        labelled, prior = matrix_problem(rng, 200)
    else:
        labelled, prior = make(rng, 200, [3.0, 6.0, 1.0]), unit_prior(3, 0.25)
    grid = [(delta,) for delta in np.geomspace(1e-3, 1e3, 25)]

    found = learn(labelled, prior, (setting,), Rules(max_iter=300, tol=1e-9))

    best = heights(labelled, prior, (setting,), grid).max()
    assert found.evidence[-1] > best - 0.1
    assert (np.diff(found.evidence) > 0).all()


def test_settings_stay_within_their_limits(rng):
    """Pairs that the prior explains fully speak for a delta without end."""
    labelled = make(rng, 100, [1.0, 1.0, 1.0])
    narrow = PAPER_DELTA._replace(lowest=0.1, highest=0.5)

    found = learn(labelled, unit_prior(3, 0.25), (narrow,), Rules())

    assert 0.1 <= found.prior.precision <= 0.5


def test_heavy_pairs_do_not_end_the_search_before_it_began(rng):
    """A bound of many thousand nats may gain more than one and be near its end."""
    labelled, prior = matrix_problem(rng, 60)
    heavy = replace(
        labelled, targets=1e3 * labelled.targets, weights=1e3 * labelled.weights
    )

    found = learn(heavy, prior, (DELTA,), Rules())

    assert found.prior.precision != prior.precision


def test_the_search_takes_no_first_step_to_a_corner(rng):
    """Settings at their limits take a hundred sweeps to settle, and gain nothing."""
    labelled, prior = matrix_problem(rng, 60)
    climb, settled = Climb(labelled, prior, (DELTA, SCALE), Rules()), []
    settle = climb.settle
    climb.settle = lambda prior, *how, **kw: (
        settled.append(prior) or settle(prior, *how, **kw)
    )

    found = climb.search()

    for setting in (DELTA, SCALE):
        values = np.log([getattr(each, setting.name) for each in settled])
        first = np.abs(values - np.log(setting.median))
        assert first.max() < 2
    assert found.has_converged


def test_a_climb_begins_at_a_posterior_of_some_of_its_pairs(rng):
    """Fewer sweeps of all pairs, and where they end is the same."""
    labelled, prior = matrix_problem(rng, 600)
    plain, ahead = (Climb(labelled, prior, (), Rules(tol=1e-8)) for _ in range(2))
    some = Climb(labelled.some(300), prior, (), Rules())

    ahead.begin_at(some.settle(prior).solution.posterior())

    first, second = plain.search(), ahead.search()
    assert second.n_sweeps < first.n_sweeps
    assert_allclose(second.posterior.mean, first.posterior.mean, atol=1e-4)


def test_a_fit_that_follows_asks_the_posterior_of_new_pairs_only(rng):
    """What was found of the others is where the sweeps begin."""
    labelled, prior = matrix_problem(rng, 200)
    before = Climb(labelled.at(np.arange(190)), prior, (), Rules()).search()
    plain, following = (Climb(labelled, prior, (), Rules()) for _ in range(2))
    plain.begin_at(before.posterior)

    following.follow(before)

    moments = before.posterior.latent(labelled.features, labelled.pairs)
    settled = matrix.tight_bound(labelled.targets, labelled.weights, *moments)[1]
    for found, known, new in zip(following.sites, settled, plain.sites, strict=True):
        assert_allclose(found[:190], known[:190], rtol=1e-6, atol=1e-9)
        assert_allclose(found[190:], new[190:], rtol=1e-6, atol=1e-9)
    following.follow(replace(before, seen=None))
    assert_allclose(following.sites, plain.sites)


def test_sweeps_go_on_where_they_ended_early(rng):
    """No sweep is made twice, and where they end is the same."""
    labelled, prior = matrix_problem(rng, 200)
    whole, parts = (Climb(labelled, prior, (), Rules(tol=1e-8)) for _ in range(2))

    early = parts.settle(prior, slack=0.5)
    late = parts.settle(prior, before=early)

    assert not early.has_converged
    assert 0 < late.evidence - early.evidence < 1.0
    expected = whole.settle(prior)
    assert_allclose(late.evidence, expected.evidence, atol=1e-6)
    assert parts.settle(prior, before=late) is late
    assert parts.finish(late).n_sweeps == whole.finish(expected).n_sweeps


def test_who_follows_a_leader_begins_at_its_settings(rng):
    """And with the curvature that it found: fewer sweeps, as much evidence."""
    labelled, prior = matrix_problem(rng, 200)
    alone, leader, behind = (
        Climb(labelled, prior, (DELTA, SCALE), Rules()) for _ in range(3)
    )
    first, found = alone.search(), leader.search()

    second = behind.search(leader)

    assert second.n_sweeps < first.n_sweeps
    assert second.evidence[-1] > found.evidence[-1] - 2 * climbing.WORTHLESS


def test_the_curvature_of_the_scale_is_its_fisher_information():
    """Of one pair's f with noise, N(c d, (r c)^2 d^2 + noise), in log c."""
    scale, deviation, distance, noise = 4.0, 1.0, 1.5, 0.7
    spread = (deviation * distance) ** 2
    total = spread + noise
    variance = deviation**2 * noise / total

    found = matrix.scale_curvature(variance, scale, deviation)

    by_mean, by_spread = (scale * distance) ** 2 / total, (2 * spread / total) ** 2 / 2
    assert_allclose(found, by_mean + by_spread)


@pytest.mark.parametrize("setting", ["precision", "item_noise"])
def test_the_curvature_expected_is_about_that_of_the_bound(rng, setting):
    """Within a factor of three where the settings are those of the labels."""
    labelled, prior = matrix_problem(rng, 400, n_items=40, item_noise=1.0)
    prior = replace(prior, item_noise=1.0)
    h = 0.2
    below, above = (
        slopes_of(labelled, replace(prior, **{setting: factor}))[setting].value
        for factor in np.exp([-h, h]) * getattr(prior, setting)
    )

    expected = slopes_of(labelled, prior)[setting].curvature

    assert 1 / 3 < (below - above) / (2 * h) / expected < 3


def test_the_search_begins_where_there_is_more_evidence(rng):
    """With noisy items where items are noisy, as it is where they are not."""
    noisy, prior = matrix_problem(rng, 600, n_items=40, item_noise=20.0)
    plain, _ = matrix_problem(rng, 600, n_items=40, item_noise=0.0)
    prior = replace(prior, item_noise=ITEM_NOISE.median)

    with one_thread():
        starts = [
            Climb(each, prior, ALL_SETTINGS, Rules()).begin_better().prior
            for each in (noisy, plain)
        ]

    assert starts[0] == replace(prior, **NOISY_START)
    assert starts[1] is prior
    given = Climb(noisy, prior, (DELTA, SCALE), Rules())
    assert given.begin_better().prior is prior


@pytest.mark.parametrize("item_noise", [0.0, 0.5])
def test_implied_pairs_say_nothing_of_how_common_same_is(rng, item_noise):
    """A hundred implied "different" move P(same) less than as many answers do."""
    labelled, prior = matrix_problem(rng, 20)
    prior = replace(prior, precision=5.0, item_noise=item_noise)
    alike = np.tile([0.5, 0.5, 0.5], (100, 1)) + 0.01 * rng.normal(size=(100, 3))
    features = np.concatenate([labelled.features, alike])
    targets = np.r_[labelled.targets, np.full(100, -0.5)]
    told = labelled_pairs(features, targets, apart(120))
    marked = replace(told, implied=np.repeat([0.0, 1.0], [20, 100]))

    without, answered, implied = (
        learn(each, prior).posterior.probability_same(a_few_gaps())
        for each in (labelled, told, marked)
    )

    assert (answered < implied).all()
    assert (without - implied).mean() < 0.5 * (without - answered).mean()


def a_few_gaps():
    """A few gaps near those of most pairs."""
    return np.array([[0.5, 0.2, 0.1], [0.3, -0.4, 0.5], [0.0, 0.6, -0.2]])


def test_above_so_many_pairs_items_lie_where_their_features_say(rng, monkeypatch):
    """Their number would decide how long a fit takes."""
    labelled, prior = matrix_problem(rng, n_items=20)
    prior = replace(prior, item_noise=0.5)
    kept = learn(labelled, prior, ALL_SETTINGS, Rules())
    monkeypatch.setattr(climbing, "MAX_PLACED", 59)

    found = learn(labelled, prior, ALL_SETTINGS, Rules())

    assert isinstance(kept.posterior, PairPosterior)
    assert kept.prior.item_noise > 0
    assert isinstance(found.posterior, EntryPosterior)
    assert found.prior.item_noise == 0


@pytest.mark.parametrize(
    ("bounds", "ahead"),
    [
        ([-9.0], np.inf),
        ([-9.0, -8.0], 1.0),
        ([-9.0, -8.0, -7.75], 0.25 / 3),  # 1/16 + 1/64 + ...
        ([-9.0, -8.0, -7.2], 0.8),  # hardly slower: no more than the last
        ([-9.0, -8.0, -7.999], 0.001 / 9),  # a tenth, then a hundredth ...
        ([-8.0, -8.0, -8.0], 0.0),
    ],
)
def test_what_is_ahead_is_the_rest_of_a_geometric_series(rng, bounds, ahead):
    """Sweeps stop by what all further ones may gain, not by the last one's gain."""
    climb = Climb(*matrix_problem(rng, 10), (), Rules())

    assert_allclose(climb._gain_ahead(bounds, is_whole=True), ahead, atol=1e-12)


def test_a_shortened_step_says_nothing_of_those_ahead(rng):
    """What it gained is all that is known."""
    climb = Climb(*matrix_problem(rng, 10), (), Rules())

    assert climb._gain_ahead([-9.0, -8.0, -7.75], is_whole=False) == 0.25


def test_a_fit_that_follows_expects_the_share_of_the_one_before(rng):
    """Two sweeps then tell what is ahead, and the third is saved."""
    climb = Climb(*matrix_problem(rng, 10), (), Rules())
    climb.expected_share = 0.2

    assert_allclose(climb._gain_ahead([-9.0, -8.0], is_whole=True), 0.25)


def test_the_tight_posterior_is_a_maximum_of_its_bound(rng):
    """Moving mean or variance of any entry lowers the exact bound."""
    labelled, prior = matrix_problem(rng, 40)
    found = learn(labelled, prior)
    features = parameter_features(prior, labelled.features)
    firmness = 1 / prior.parameter_variance
    covariance = found.posterior._parameter_covariance()

    def bound(mean, covariance):
        m, v = equations.latent_moments(features, mean, covariance)
        expected, _ = matrix.tight_bound(labelled.targets, labelled.weights, m, v)
        log_determinant = np.linalg.slogdet(covariance)[1]
        return expected - equations.gaussian_divergence(
            mean, covariance, log_determinant, prior.parameter_mean, firmness
        )

    best = bound(found.posterior.parameters, covariance)
    assert_allclose(best, found.evidence[-1], atol=1e-6)
    for k in range(len(firmness)):
        move = 0.2 * np.eye(len(firmness))[k]
        assert bound(found.posterior.parameters + move, covariance) < best
        assert bound(found.posterior.parameters - move, covariance) < best
    assert bound(found.posterior.parameters, 1.1 * covariance) < best
    assert bound(found.posterior.parameters, 0.9 * covariance) < best


def test_the_tight_bound_lies_between_jaakkolas_and_the_evidence(rng):
    """Same model, by quadrature over one weight: log Z >= tight >= Jaakkola."""
    labelled = make(rng, 30, [1.5])
    grid = np.linspace(-10, 12, 20_001)
    heights = -0.1 * (grid - 1) ** 2 + np.log(0.2 / (2 * np.pi)) / 2
    heights += log_expit(
        -2 * np.outer(grid, labelled.features[:, 0]) * labelled.targets
    ).sum(axis=1)
    truth = logsumexp(heights) + np.log(grid[1] - grid[0])
    found = learn(labelled, unit_prior(1, 0.2))
    m, v = found.posterior.latent(labelled.features)

    exact, _ = matrix.tight_bound(labelled.targets, labelled.weights, m, v)
    loose, _ = equations.jaakkola_bound(labelled.targets, labelled.weights, m, v)

    assert loose < exact
    assert found.evidence[-1] + exact - loose < truth


def test_a_fit_that_ran_out_of_sweeps_says_so(rng):
    """And one that did not, does not."""
    labelled, prior = matrix_problem(rng)

    short, long = (
        learn(labelled, prior, rules=Rules(max_iter=max_iter, tol=1e-9))
        for max_iter in (2, 500)
    )

    assert not short.has_converged
    assert short.n_sweeps == 2
    assert long.has_converged


def told_by(y, rng, n_pairs):
    """What someone who knows the classes says of so many pairs."""
    pairs = np.column_stack(np.triu_indices(len(y), 1))
    pairs = pairs[rng.permutation(len(pairs))[:n_pairs]]
    is_same = (y[pairs[:, 0]] == y[pairs[:, 1]]).astype(float)
    return Told(pairs, is_same, np.ones(n_pairs), np.zeros(n_pairs, dtype=bool))


@pytest.fixture
def frames(blobs, rng):
    """Priors of items in three classes."""
    choices = Choices("full", None, "evidence", 1.0, None, None)
    return look_at(blobs[0], np.ones(60), choices, rng)


def nothing_told():
    nothing = np.empty(0)
    return Told(np.empty((0, 2), dtype=np.intp), nothing, nothing, nothing.astype(bool))


@pytest.mark.parametrize("basis", ["full", "eigen"])
def test_the_prior_is_the_posterior_of_no_pairs(blobs, rng, basis):
    """Nothing told, nothing learned: every member has the weight of before."""
    choices = Choices(basis, None, "evidence", 1.0, None, None)
    frames = look_at(blobs[0], np.ones(60), choices, rng)
    features = frames.basis.features(rng.normal(size=(5, 5)))

    found = fit(frames, nothing_told(), Rules())

    assert set(found.members) == set(frames.priors)
    for one in found.belief.members:
        assert_allclose(one.weight, np.exp(frames.log_shares[one.name]))
    for name, member in found.members.items():
        prior = frames.priors[name]
        mean, variance = member.posterior.latent(features)
        if basis == "full":
            gaps = prior.gaps(features)
            assert_allclose(mean, prior.latent(gaps))
            spread = prior.variance(gaps) + prior.item_variance(gaps)
            assert_allclose(variance, spread)
        else:
            assert_array_equal(member.posterior.mean, prior.mean)
            assert_allclose(variance, (features**2).sum(axis=1) / prior.precision)


def test_weights_are_those_of_the_evidence(frames, blobs, rng):
    """Proportional to its exponential times the weight of before, heaviest first."""
    found = fit(frames, told_by(blobs[1], rng, 6), Rules())

    assert len(found.members) > 1
    assert [each.name for each in found.belief.members] == list(found.members)
    scores = np.array(
        [
            member.evidence[-1] + frames.log_shares[name]
            for name, member in found.members.items()
        ]
    )
    weights = found.belief.weights
    assert_allclose(weights / weights[0], np.exp(scores - scores[0]))
    assert_allclose(weights.sum(), 1)
    assert (np.diff(weights) <= 0).all()
    assert found.best is next(iter(found.members.values()))
    for one, member in zip(found.belief.members, found.members.values(), strict=True):
        assert one.posterior is member.posterior


def test_very_many_pairs_are_fitted_by_the_member_that_few_speak_for(
    frames, blobs, rng, monkeypatch
):
    """Held to some directions, P(same) hardly moves from what all members say."""
    told = told_by(blobs[1], rng, 900)
    whole = fit(frames, told._replace(weights=np.ones(900)), Rules())
    monkeypatch.setattr(climbing, "MAX_PLACED", 300)
    monkeypatch.setattr(climbing, "MAX_SIDE", 8)
    monkeypatch.setattr(climbing, "N_FREE", 3)
    monkeypatch.setattr(fitting, "COSTLY", 1e3)
    monkeypatch.setattr(fitting, "N_FIRST", 200)

    limited = fit(frames, told, Rules())

    ((_, member),) = limited.members.items()
    assert isinstance(member.posterior, EntryPosterior)
    assert member.prior.n_free == 3
    assert member.prior.item_noise == 0
    Z = frames.coordinates
    every = np.column_stack(np.triu_indices(len(Z), 1))
    gaps = Z[every[:, 0]] - Z[every[:, 1]]
    said = [each.belief.probability_same(gaps) for each in (whole, limited)]
    assert abs(said[0].mean() - said[1].mean()) < 0.02
    assert np.corrcoef(*said)[0, 1] > 0.97


def test_half_of_drawn_pairs_choose_the_settings(rng, monkeypatch):
    """All pairs are learned from, and a few nats are what the half may cost."""
    X = rng.normal(size=(80, 12)) * np.linspace(0.5, 2.0, 12)
    choices = Choices("full", None, "unlabelled", 1.0, None, 0.0)
    frames = look_at(X, np.ones(80), choices, rng)
    told = told_by(X[:, 0] > 0, rng, 300)
    monkeypatch.setattr(fitting, "SMALL_SIDE", 50)

    whole, found = fit(frames, told, Rules()), fitting.fit_drawn(frames, told, Rules())

    assert len(found.best.seen[0]) == 300
    assert found.best.n_sweeps < whole.best.n_sweeps
    lost = whole.best.evidence[-1] - found.best.evidence[-1]
    assert -0.1 < lost < 4
    monkeypatch.setattr(fitting, "SMALL_SIDE", 300)
    small = fitting.fit_drawn(frames, told, Rules())
    assert small.best.evidence[-1] == whole.best.evidence[-1]


def test_members_without_weight_are_dropped(frames, blobs, rng):
    """Each has less than a hundredth of the best one's, had it been looked at."""
    told = told_by(blobs[1], rng, 150)

    found = fit(frames, told, Rules())

    assert len(found.members) < len(frames.priors)
    weights = found.belief.weights
    assert weights.min() >= np.exp(-fitting.NEGLIGIBLE) * weights.max()
    labelled, shares = fitting.label_pairs(frames, told), frames.log_shares
    first = next(iter(found.members))
    best = found.best.evidence[-1] + shares[first]
    for name in set(frames.priors) - set(found.members):
        alone = learn(labelled, frames.priors[name], frames.settings, Rules())
        assert alone.evidence[-1] + shares[name] < best - np.log(100)


def test_hopeless_members_are_not_searched(frames, blobs, rng, monkeypatch):
    """One look at each prior; the settings of most are never looked for."""
    searched = []
    search = Climb.search

    def noted(self, near=None):
        searched.append(self.prior)
        return search(self, near)

    monkeypatch.setattr(Climb, "search", noted)

    fit(frames, told_by(blobs[1], rng, 150), Rules())

    assert 1 <= len(searched) < len(frames.priors)


def test_a_start_keeps_members_and_settings(frames, blobs, rng):
    """Between fits from scratch only the posteriors follow the answers."""
    told = told_by(blobs[1], rng, 40)
    fewer = Told(*(part[:36] for part in told[:4]))
    start = fit(frames, fewer, Rules())

    after = fit(frames, told, CLOSELY, start)

    assert set(after.members) <= set(start.members)
    for name, member in after.members.items():
        assert member.prior == start.members[name].prior
        cold = learn(fitting.label_pairs(frames, told), member.prior, rules=CLOSELY)
        warm = member.posterior.latent_mean(frames.coordinates[:30])
        expected = cold.posterior.latent_mean(frames.coordinates[:30])
        assert_allclose(warm, expected, atol=1e-3)


def test_a_start_near_the_answer_takes_fewer_sweeps(frames, blobs, rng):
    """Warm starts save time and change nothing."""
    told = told_by(blobs[1], rng, 100)
    choices = Choices("eigen", None, "unit", 1.0, 0.1, None)
    frames = look_at(blobs[0], np.ones(60), choices, rng)
    rules = Rules(max_iter=500, tol=1e-9)
    start = fit(frames, Told(*(part[:97] for part in told[:4])), rules)

    cold, warm = (fit(frames, told, rules, each).best for each in (None, start))

    assert warm.n_sweeps < cold.n_sweeps
    assert_allclose(warm.posterior.mean, cold.posterior.mean, rtol=1e-3)


def test_pairs_of_no_weight_do_not_count(frames, blobs, rng):
    """They are not even solved for."""
    told = told_by(blobs[1], rng, 20)
    weights = np.where(np.arange(20) < 12, 1.0, 0.0)

    some, few = (
        fit(frames, each, Rules()).belief
        for each in (told._replace(weights=weights), Told(*(p[:12] for p in told[:4])))
    )

    assert_allclose(some.mean_matrix(), few.mean_matrix())
    assert len(some.members[0].posterior.pairs) == 12


def test_fitting_twice_gives_the_same(frames, blobs, rng):
    """A pure function: nothing is kept from one fit to the next."""
    told = told_by(blobs[1], rng, 20)

    one, two = (fit(frames, told, Rules()) for _ in range(2))

    assert_array_equal(one.belief.mean_matrix(), two.belief.mean_matrix())
    assert_array_equal(one.best.evidence, two.best.evidence)


@pytest.mark.slow
@pytest.mark.parametrize("item_noise", [0.0, 1.0])
def test_the_whole_matrix_agrees_with_a_sampler(rng, capsys, item_noise):
    """P(same) of 500 pairs: on average within 0.02 of a long exact run.

    The sampler draws the items too; those of unseen pairs are new, or as drawn.
    """
    labelled, prior = matrix_problem(rng, 80, n_items=25, item_noise=item_noise)
    prior = replace(prior, precision=0.3, item_noise=item_noise)
    items = item_features(labelled.features, labelled.pairs, 25)
    features = np.hstack([parameter_features(prior, labelled.features), items])
    deviation = np.sqrt(np.tile(item_noise * prior.centre, 25))
    n_parameters = len(prior.parameter_mean)
    draws = elliptical_slice(
        lambda w: equations.log_likelihood(2 * labelled.targets, features @ w),
        np.r_[prior.parameter_mean, np.zeros(len(deviation))],
        np.r_[np.sqrt(prior.parameter_variance), deviation],
        40_000,
        rng,
    )
    unseen = rng.normal(size=(500, 3))
    latent = parameter_features(prior, unseen) @ draws[:, :n_parameters].T
    off = np.sqrt(2 * item_noise * prior.squared_distance(unseen))
    latent += off[:, None] * rng.normal(size=latent.shape)
    new, known = (expit(-f).mean(axis=1) for f in (latent, features @ draws.T))

    posterior = learn(labelled, prior, rules=Rules(max_iter=500, tol=1e-10)).posterior
    p_new = posterior.probability_same(unseen)
    p_known = posterior.probability_same(labelled.features, labelled.pairs)

    differences = [np.abs(p_new - new).mean(), np.abs(p_known - known).mean()]
    with capsys.disabled():
        print(f"\n  whole matrix: mean |P(same) - sampler's| = {differences}")
    assert max(differences) <= 0.02


@pytest.mark.slow
def test_slips_agree_with_a_sampler(rng, capsys):
    """One label in seven is turned round: P(same) as a long exact run has it."""
    labelled, prior = matrix_problem(rng, 80, n_items=25)
    turned = np.where(rng.uniform(size=80) < 1 / 7, -1, 1)
    right = np.full(80, 6 / 7)
    labelled = replace(labelled, targets=turned * labelled.targets, right=right)
    prior = replace(prior, precision=0.3, item_noise=0.0)
    features = parameter_features(prior, labelled.features)
    draws = elliptical_slice(
        lambda w: np.log(
            1 / 7 + 5 / 7 * expit(-2 * labelled.targets * (features @ w))
        ).sum(),
        prior.parameter_mean,
        np.sqrt(prior.parameter_variance),
        40_000,
        rng,
    )
    unseen = rng.normal(size=(500, 3))
    sampled = expit(-parameter_features(prior, unseen) @ draws.T).mean(axis=1)

    rules = Rules(max_iter=500, tol=1e-10)
    found, outright = (
        learn(each, prior, rules=rules).posterior.probability_same(unseen)
        for each in (labelled, replace(labelled, right=None))
    )

    off, off_outright = (np.abs(p - sampled).mean() for p in (found, outright))
    with capsys.disabled():
        print(f"\n  slips: mean |P(same) - sampler's| = {off:.4f}, {off_outright:.4f}")
    assert off <= 0.03 < off_outright


def test_what_may_be_a_slip_counts_less_for_weights(rng):
    """The paper's bound has no slips: a label right with 0.8 weighs 0.6."""
    labelled = make(rng, 20, [2.0, 1.0])
    prior = unit_prior(2, 0.3)
    kept = replace(
        labelled, targets=0.6 * labelled.targets, weights=0.6 * labelled.weights
    )

    slips = learn(replace(labelled, right=np.full(20, 0.8)), prior)

    assert_allclose(slips.posterior.mean, learn(kept, prior).posterior.mean)


def test_weights_of_the_paper_are_solved_for_by_the_paper(rng):
    """One prior of weights gives weights; a point has no covariance to speak of."""
    found = learn(make(rng, 20, [2.0, 1.0]), unit_prior(2, 0.3))

    assert isinstance(found.posterior, WeightPosterior)


@pytest.mark.parametrize("item_noise", [0.0, 0.3])
def test_a_pair_left_out_is_told_by_the_others(rng, item_noise):
    """As if its site had not been there: solved once more without it."""
    labelled, prior = matrix_problem(rng, n_items=20, item_noise=item_noise)
    prior = replace(prior, item_noise=item_noise)
    curvature, pull = rng.uniform(0.05, 0.25, 60), -labelled.targets
    solved = PairSolver(labelled, prior).solve((curvature, pull), prior)

    mean, variance = solved.posterior().left_out(labelled.features, labelled.pairs)

    for k in (0, 17, 59):
        others = np.arange(60) != k
        without = PairSolver(labelled.at(others), prior)
        posterior = without.solve((curvature[others], pull[others]), prior).posterior()
        told = posterior.latent(labelled.features[[k]], labelled.pairs[[k]])
        assert_allclose((mean[k], variance[k]), np.ravel(told), rtol=1e-6)
