"""The posterior against the equations by hand, quadrature, and a sampler."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm

from likewise.errors import InferenceError
from likewise.model import equations, fitting, matrix
from likewise.model.fitting import Fit, centre_evidence, infer, maximise_likelihood
from likewise.model.posterior import WeightPosterior, parameter_features
from likewise.model.priors import MatrixPrior, WeightPrior
from likewise.model.solvers import EntrySolver, Evidence, PairSolver, matrix_solver
from tests.samplers import elliptical_slice


def apart(n_pairs):
    """Pairs that share no item."""
    return np.arange(2 * n_pairs).reshape(n_pairs, 2)


def make(rng, n_pairs, weights):
    """Pairs labelled by a known metric, as evidence."""
    features = equations.pair_features(rng.normal(size=(n_pairs, len(weights) - 1)))
    labels = np.where(rng.uniform(size=n_pairs) < expit(-features @ weights), 1.0, -1.0)
    return Evidence(features, labels / 2, np.ones(n_pairs), apart(n_pairs))


def unit_prior(n_weights, precision):
    return WeightPrior(np.ones(n_weights), np.full(n_weights, precision))


def tight(evidence, prior, precision=None, **options):
    """Fit to convergence, at the prior's own precision unless another is given."""
    precision = precision or float(prior.precision[0])
    options = {"max_iter": 3000, "tol": 1e-12, **options}
    return infer(evidence, prior, precision, **options)


def test_fixed_point_is_the_papers(rng):
    """(9)-(11) iterated by hand give the same mean and covariance."""
    evidence = make(rng, 400, [3.0, 2.0, 4.0, 3.0])
    prior = unit_prior(4, 0.5)
    xi = np.ones(400)
    for _ in range(3000):
        bend = np.tanh(xi / 2) / (4 * xi)
        covariance = np.linalg.inv(
            0.5 * np.eye(4) + 2 * (evidence.features.T * bend) @ evidence.features
        )
        pull = 0.5 * np.ones(4) - evidence.features.T @ evidence.targets
        mean = covariance @ pull
        spread = np.einsum(
            "ij,jk,ik->i", evidence.features, covariance, evidence.features
        )
        xi = np.sqrt((evidence.features @ mean) ** 2 + spread)

    fit = tight(evidence, prior)

    assert (mean > 0).all()
    assert_allclose(fit.posterior.mean, mean, rtol=1e-5)
    assert_allclose(fit.posterior.covariance, covariance, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("precision", [1e-3, 0.1, 10.0])
def test_the_lower_bound_never_falls_under_the_constraint(rng, precision):
    """Also where weights sit at zero."""
    evidence = make(rng, 60, [1.0, 0.0, 0.0, 6.0, 0.0])

    fit = tight(evidence, unit_prior(5, precision), max_iter=200)

    assert (np.diff(fit.evidence) > -1e-9).all()
    if precision < 1:
        assert (fit.posterior.mean == 0).any()


def test_the_clip_of_the_paper_is_another_posterior(rng):
    """Reachable, non-negative, and its bound ends below the constrained one."""
    evidence = make(rng, 60, [1.0, 0.0, 0.0, 6.0, 0.0])
    prior = unit_prior(5, 0.01)

    clipped = tight(evidence, prior, is_clipped=True)
    best = tight(evidence, prior)

    assert (clipped.posterior.mean >= 0).all()
    assert clipped.evidence[-1] < best.evidence[-1] - 1e-3


def test_the_reported_bound_is_the_one_written_out(rng):
    """Prior, entropy and the sums over S and D, from the posterior alone."""
    evidence = make(rng, 50, [2.0, 1.0, 3.0])
    prior = unit_prior(3, 0.3)
    fit = tight(evidence, prior)
    mean, covariance = fit.posterior.mean, fit.posterior.covariance
    second = covariance + np.outer(mean, mean)
    gap = mean - 1
    expected = 1.5 * np.log(0.3 / (2 * np.pi))
    expected -= 0.3 / 2 * (gap @ gap + np.trace(covariance))
    expected += np.linalg.slogdet(2 * np.pi * np.e * covariance)[1] / 2
    for omega, half in zip(evidence.features, evidence.targets, strict=True):
        xi = np.sqrt(omega @ second @ omega)
        bend = np.tanh(xi / 2) / (4 * xi)
        touch = omega @ second @ omega - xi**2
        expected += log_expit(xi) - (2 * half * mean @ omega + xi) / 2 - bend * touch

    assert_allclose(fit.evidence[-1], expected)


@pytest.mark.parametrize("n_weights", [1, 2])
def test_the_bound_stays_below_the_true_evidence(rng, n_weights, capsys):
    """By quadrature over one or two weights; by how much is printed."""
    evidence = make(rng, 25, np.array([1.5, 1.0])[:n_weights])
    prior = unit_prior(n_weights, 0.2)
    grid = np.linspace(-14, 16, 1501)
    axes = np.meshgrid(*[grid] * n_weights, indexing="ij")
    points = np.column_stack([axis.ravel() for axis in axes])
    heights = -0.1 * ((points - 1) ** 2).sum(axis=1) + n_weights / 2 * np.log(
        0.2 / (2 * np.pi)
    )
    for omega, half in zip(evidence.features, evidence.targets, strict=True):
        heights += log_expit(-2 * half * (points @ omega))
    truth = logsumexp(heights) + n_weights * np.log(grid[1] - grid[0])

    bound = tight(evidence, prior).evidence[-1]

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
    evidence = make(rng, 150, weights)
    prior = unit_prior(10, 1.0)
    unseen = equations.pair_features(rng.normal(size=(500, 9)))
    draws = elliptical_slice(
        lambda w: equations.log_likelihood(2 * evidence.targets, evidence.features @ w),
        prior.mean,
        prior.precision**-0.5,
        20_000,
        rng,
    )
    truth = expit(-unseen @ draws.T).mean(axis=1)

    p_same = tight(evidence, prior).posterior.probability_same(unseen)

    difference = np.abs(p_same - truth).mean()
    with capsys.disabled():
        print(f"\n  mean |P(same) - sampler's| over 500 pairs: {difference:.4f}")
    assert difference <= 0.03


def test_a_start_near_the_answer_takes_fewer_sweeps_to_the_same_answer(rng):
    """Warm starts save time and change nothing."""
    evidence = make(rng, 300, [2.0, 1.0, 3.0])
    prior = unit_prior(3, 0.1)
    fewer = Evidence(*(part[:290] for part in vars(evidence).values()))
    start = tight(fewer, prior)

    cold = infer(evidence, prior, 0.1, max_iter=500, tol=1e-9)
    warm = infer(evidence, prior, 0.1, start=start, max_iter=500, tol=1e-9)

    assert len(warm.evidence) < len(cold.evidence)
    assert_allclose(warm.posterior.mean, cold.posterior.mean, rtol=1e-3)


def test_weights_count_like_repeated_pairs(rng):
    """A pair of weight two is two pairs; of weight zero, none."""
    evidence = make(rng, 30, [2.0, 1.0, 3.0])
    times = rng.randint(0, 4, 30)
    weighted = replace(
        evidence, targets=evidence.targets * times, weights=times.astype(float)
    )
    repeated = Evidence(
        *(np.repeat(part, times, axis=0) for part in vars(evidence).values())
    )
    prior = unit_prior(3, 0.1)

    one, other = tight(weighted, prior), tight(repeated, prior)

    assert_allclose(one.posterior.mean, other.posterior.mean, rtol=1e-6)
    assert_allclose(one.evidence[-1], other.evidence[-1])


def test_a_soft_label_of_a_half_pulls_neither_way(rng):
    """It narrows the doubt, but moves no mean that sits at f = 0."""
    features = np.array([[-1.0, 1.0]])
    prior = unit_prior(2, 0.5)

    fit = tight(Evidence(features, np.zeros(1), np.ones(1), apart(1)), prior)

    assert_allclose(fit.posterior.mean, [1, 1], atol=1e-9)
    assert fit.posterior.latent(features)[1] < 4


def test_maximum_likelihood_is_what_a_general_optimiser_finds(rng):
    """The baseline of 5.2, against Nelder-Mead on the plain likelihood."""
    evidence = make(rng, 500, [2.0, 1.0, 3.0])

    def cost(weights):
        return -equations.log_likelihood(
            2 * evidence.targets, evidence.features @ weights
        )

    plain = minimize(cost, np.ones(3), method="Nelder-Mead", tol=1e-10).x

    fit = maximise_likelihood(evidence, unit_prior(3, 1.0), max_iter=500, tol=1e-12)

    assert_allclose(fit.posterior.mean, plain, rtol=1e-3)
    assert not fit.posterior.covariance.any()
    assert (np.diff(fit.evidence) > -1e-9).all()


def test_the_prior_is_the_posterior_of_no_pairs():
    """Nothing told, nothing learned."""
    prior = unit_prior(3, 4.0)

    fit = tight(Evidence(np.empty((0, 3)), np.empty(0), np.empty(0), apart(0)), prior)

    assert_allclose(fit.posterior.mean, 1)
    assert_allclose(fit.posterior.covariance, np.eye(3) / 4)


def test_a_prior_too_weak_for_the_arithmetic_says_what_to_raise():
    """The matrix is singular to rounding: name the parameter and its value."""
    features = np.array([[-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    evidence = Evidence(features, np.array([0.5, -0.5]), np.ones(2), apart(2))
    start = Fit(WeightPosterior(np.ones(3), np.eye(3)), np.zeros(1), np.array([1e-300]))

    with pytest.raises(InferenceError, match="Raise 'prior_precision' .now 1e-300"):
        infer(evidence, unit_prior(3, 1.0), 1e-300, start=start, max_iter=5, tol=0)


def matrix_problem(rng, n_pairs=60, n_basis=3, n_items=None, item_noise=0.0):
    """Pairs labelled by a metric that is not diagonal, and a prior.

    With `n_items` the pairs share items, which lie a little off their features.
    """
    prior = MatrixPrior(np.array([1.5, 1.0, 0.2]), 1.0, 1.0)
    if n_items is None:
        gaps, pairs = rng.normal(size=(n_pairs, n_basis)), apart(n_pairs)
        off = np.zeros(n_pairs)
    else:
        pairs = np.sort(np.argsort(rng.uniform(size=(n_pairs, n_items)))[:, :2])
        items = rng.normal(size=(n_items, n_basis))
        gaps = items[pairs[:, 0]] - items[pairs[:, 1]]
        off = rng.normal(size=(n_items, n_basis)) * np.sqrt(item_noise * prior.centre)
        off = np.einsum("ij,ij->i", off[pairs[:, 0]] - off[pairs[:, 1]], gaps)
    A = np.array([[3.0, -2.0, 0.0], [-2.0, 3.0, 0.0], [0.0, 0.0, 0.1]])
    latent = np.einsum("ij,jk,ik->i", gaps, A, gaps) + off - 3
    labels = np.where(rng.uniform(size=n_pairs) < expit(-latent), 1.0, -1.0)
    return Evidence(gaps, labels / 2, np.ones(n_pairs), pairs), prior


@pytest.mark.parametrize("precisions", [[0.01], [0.3], [10.0], [0.3, 2.0], [5.0, 0.4]])
def test_pairs_and_entries_are_two_ways_to_one_answer(rng, precisions):
    """Sites, bound, moments and evidence of the two solvers agree."""
    evidence, prior = matrix_problem(rng, n_items=20)
    sites = rng.uniform(0.05, 0.25, 60), -evidence.targets
    precisions, has_places = np.array(precisions), len(precisions) > 1
    one = PairSolver(evidence, prior, has_places)
    other = EntrySolver(evidence, prior, has_places)

    by_pair, by_entry = (each.solve(sites, precisions) for each in (one, other))

    assert_allclose(by_pair.latent_mean, by_entry.latent_mean, atol=1e-8)
    assert_allclose(by_pair.latent_variance, by_entry.latent_variance, atol=1e-8)
    assert_allclose(by_pair.divergence, by_entry.divergence, atol=1e-8)
    assert_allclose(one.start(precisions), other.start(precisions), atol=1e-10)
    assert_allclose(by_pair.determined(), by_entry.determined(), atol=1e-8)
    beliefs = [solution.posterior() for solution in (by_pair, by_entry)]
    assert_allclose(beliefs[0].parameters, beliefs[1].parameters, atol=1e-8)
    new = rng.normal(size=(5, 3))
    assert_allclose(beliefs[0].latent(new), beliefs[1].latent(new), atol=1e-8)


def test_a_solver_remembers_nothing_but_the_last_precisions(rng):
    """Going to other precisions and back gives what a new solver gives."""
    evidence, prior = matrix_problem(rng, n_items=20)
    sites = rng.uniform(0.05, 0.25, 60), -evidence.targets
    used = PairSolver(evidence, prior, with_places=True)

    for precisions in ([0.3, 2.0], [0.3, 0.5], [0.3, 0.5], [4.0, 0.5], [0.3, 2.0]):
        fresh = PairSolver(evidence, prior, with_places=True)
        one, other = (s.solve(sites, np.array(precisions)) for s in (used, fresh))
        assert_allclose(one.latent_mean, other.latent_mean, rtol=1e-12)
        assert_allclose(one.latent_variance, other.latent_variance, rtol=1e-12)


def test_the_smaller_side_is_chosen(rng):
    """Eight parameters; with twenty items' places sixty more."""
    few, prior = matrix_problem(rng, 8)
    many, _ = matrix_problem(rng, 60, n_items=20)

    assert isinstance(matrix_solver(few, prior, with_places=False), PairSolver)
    assert isinstance(matrix_solver(many, prior, with_places=False), EntrySolver)
    assert isinstance(matrix_solver(many, prior, with_places=True), PairSolver)


@pytest.mark.parametrize("which", [0, 1])
def test_a_precisions_slope_is_that_of_the_bound(rng, which):
    """(n - delta |D|^2) / 2 against the bound fitted on either side."""
    evidence, prior = matrix_problem(rng, n_items=12, item_noise=3.0)
    at = np.array([0.3, 0.5])

    def fit(precisions):
        return infer(
            evidence,
            prior,
            precisions[0],
            item_noise=1 / precisions[1],
            max_iter=500,
            tol=1e-14,
        )

    solver = PairSolver(evidence, prior, with_places=True)
    told = evidence.targets, evidence.weights
    sites = equations.jaakkola_bound(*told, *solver.start(at))[1]
    for _ in range(300):  # damped, or it swings
        solution = solver.solve(sites, at)
        moments = solution.latent_mean, solution.latent_variance
        wanted = matrix.tight_bound(*told, *moments)[1]
        sites = tuple(0.7 * s + 0.3 * w for s, w in zip(sites, wanted, strict=True))
    move = np.exp(1e-3 * np.eye(2)[which])

    slope = (fit(at * move).evidence[-1] - fit(at / move).evidence[-1]) / 2e-3
    more, less = matrix.precision_slope(*solution.determined(), at, np.zeros(2))
    assert_allclose(slope, ((more - less) / 2)[which], atol=2e-3)
    assert abs(slope) > 0.01


def test_items_out_of_place_are_noticed(rng):
    """Where items lie off their features the evidence finds noise, elsewhere none."""
    noisy, prior = matrix_problem(rng, 600, n_items=40, item_noise=3.0)
    plain, _ = matrix_problem(rng, 600, n_items=40, item_noise=0.0)

    fits = [
        infer(evidence, prior, 0.3, item_noise=None, max_iter=100, tol=1e-6)
        for evidence in (noisy, plain)
    ]

    assert fits[0].item_noise > 1.0
    assert fits[1].item_noise < 0.2


def test_delta_and_noise_are_found_together(rng):
    """The bound at both is the best of a grid, nearly, delta's prior included."""
    evidence, prior = matrix_problem(rng, 60, n_items=15, item_noise=2.0)
    grid = [(d, n) for d in np.geomspace(0.01, 10, 7) for n in (0.04, 0.3, 1.0, 3.0)]
    heights = [
        infer(evidence, prior, d, item_noise=n, max_iter=200, tol=1e-8).evidence[-1]
        - (np.log10(d) + 1) ** 2 / 2
        for d, n in grid
    ]

    fit = infer(evidence, prior, None, item_noise=None, max_iter=100, tol=1e-6)

    assert fit.evidence[-1] > max(heights) - 0.2
    assert len(fit.evidence) < 40


def test_heavy_pairs_do_not_end_the_search_before_it_began(rng):
    """A bound of many thousand nats may gain more than one and be near its end."""
    evidence, prior = matrix_problem(rng, 60)
    evidence = replace(
        evidence, targets=1e3 * evidence.targets, weights=1e3 * evidence.weights
    )

    fit = infer(evidence, prior, None, max_iter=100, tol=1e-4)

    assert fit.prior_precision != fitting.DELTA


def test_a_start_without_noise_does_not_settle_the_noise(rng):
    """What it chose is kept where it chose the same things, and only there."""
    evidence, prior = matrix_problem(rng, n_items=20, item_noise=2.0)
    options = {"max_iter": 100, "tol": 1e-6}
    plain = infer(evidence, prior, 7.0, **options)
    noisy = infer(evidence, prior, 7.0, item_noise=2.5, **options)

    fresh, kept = (
        infer(evidence, prior, None, item_noise=None, start=start, **options)
        for start in (plain, noisy)
    )

    assert fresh.item_noise > 0
    assert fresh.prior_precision != 7.0
    assert_allclose([kept.prior_precision, kept.item_noise], [7.0, 2.5])


def test_above_so_many_pairs_items_lie_where_their_features_say(rng, monkeypatch):
    """Their number would decide how long a fit takes."""
    monkeypatch.setattr(fitting, "MAX_PLACED", 59)
    evidence, prior = matrix_problem(rng, n_items=20)

    fit = infer(evidence, prior, 0.3, item_noise=None, max_iter=100, tol=1e-6)

    assert fit.item_noise == 0


@pytest.mark.parametrize("only_different", [False, True])
def test_the_prior_metrics_own_evidence_is_an_integral_over_two_numbers(
    rng, only_different
):
    """Scale and threshold by quadrature; the bound is within 0.1 nats, from below."""
    evidence, prior = matrix_problem(rng)
    if only_different:
        evidence = replace(evidence, targets=np.full(60, -0.5))
    grid = np.linspace(-14, 18, 321)
    threshold, scale = np.meshgrid(grid, grid, indexing="ij")
    heights = norm.logpdf(threshold, *prior.threshold) + norm.logpdf(
        scale, *prior.scale
    )
    squared = prior.squared_distance(evidence.features)
    for d, target in zip(squared, evidence.targets, strict=True):
        heights += log_expit(-2 * target * (scale * d - threshold))
    truth = logsumexp(heights) + 2 * np.log(grid[1] - grid[0])

    reached = centre_evidence(evidence, prior, 100)

    assert truth - 0.1 < reached < truth


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
def test_what_is_ahead_is_the_rest_of_a_geometric_series(bounds, ahead):
    """Sweeps stop by what all further ones may gain, not by the last one's gain."""
    assert_allclose(fitting._gain_ahead(bounds), ahead, atol=1e-12)


def test_the_tight_posterior_is_a_maximum_of_its_bound(rng):
    """Moving mean or variance of any entry lowers the exact bound."""
    evidence, prior = matrix_problem(rng, 40)
    fit = infer(evidence, prior, 0.5, max_iter=500, tol=1e-13)
    features = parameter_features(prior, evidence.features)
    held = prior.with_precisions(np.array([0.5]))
    firmness = 1 / held.parameter_variance
    covariance = fit.posterior._parameter_covariance()

    def bound(mean, covariance):
        m, v = equations.latent_moments(features, mean, covariance)
        expected, _ = matrix.tight_bound(evidence.targets, evidence.weights, m, v)
        log_determinant = np.linalg.slogdet(covariance)[1]
        return expected - equations.gaussian_divergence(
            mean, covariance, log_determinant, held.parameter_mean, firmness
        )

    best = bound(fit.posterior.parameters, covariance)
    assert_allclose(best, fit.evidence[-1], atol=1e-6)
    for k in range(len(firmness)):
        move = 0.2 * np.eye(len(firmness))[k]
        assert bound(fit.posterior.parameters + move, covariance) < best
        assert bound(fit.posterior.parameters - move, covariance) < best
    assert bound(fit.posterior.parameters, 1.1 * covariance) < best
    assert bound(fit.posterior.parameters, 0.9 * covariance) < best


def test_the_tight_bound_lies_between_jaakkolas_and_the_evidence(rng):
    """Same model, by quadrature over one weight: log Z >= tight >= Jaakkola."""
    evidence = make(rng, 30, [1.5])
    grid = np.linspace(-10, 12, 20_001)
    heights = -0.1 * (grid - 1) ** 2 + np.log(0.2 / (2 * np.pi)) / 2
    heights += log_expit(
        -2 * np.outer(grid, evidence.features[:, 0]) * evidence.targets
    ).sum(axis=1)
    truth = logsumexp(heights) + np.log(grid[1] - grid[0])
    fit = tight(evidence, unit_prior(1, 0.2))
    m, v = fit.posterior.latent(evidence.features)
    divergence = fit.posterior.covariance[0, 0] * 0.2

    exact, _ = matrix.tight_bound(evidence.targets, evidence.weights, m, v)
    loose, _ = equations.jaakkola_bound(evidence.targets, evidence.weights, m, v)

    assert divergence > 0
    assert loose < exact
    assert fit.evidence[-1] + exact - loose < truth


@pytest.mark.parametrize("kind", ["weights", "matrix", "few"])
def test_the_evidence_chooses_the_precision_that_a_grid_would(rng, kind):
    """The bound at the chosen precision is the best of a fine grid, nearly.

    For the whole matrix delta's own prior, less its height at the centre, counts too.
    """
    if kind == "few":
        evidence, prior = matrix_problem(rng, 30)
        evidence = replace(evidence, targets=evidence.targets[::-1])
    elif kind == "matrix":
        evidence, prior = matrix_problem(rng, 200)
    else:
        evidence, prior = make(rng, 200, [3.0, 6.0, 1.0]), unit_prior(3, 1.0)
    grid = np.geomspace(1e-3, 1e3, 25)
    bounds = np.array(
        [infer(evidence, prior, p, max_iter=300, tol=1e-9).evidence[-1] for p in grid]
    )
    if kind != "weights":
        bounds -= (np.log10(grid) + 1) ** 2 / 2

    fit = infer(evidence, prior, None, max_iter=300, tol=1e-9)

    assert fit.evidence[-1] > max(bounds) - 0.2
    assert (np.diff(fit.evidence) > -1e-8).all()


@pytest.mark.slow
@pytest.mark.parametrize("item_noise", [0.0, 1.0])
def test_the_whole_matrix_agrees_with_a_sampler(rng, capsys, item_noise):
    """P(same) of 500 pairs: on average within 0.02 of a long exact run.

    The sampler draws the places of the items too, those of unseen ones afresh.
    """
    evidence, prior = matrix_problem(rng, 80, n_items=25, item_noise=item_noise)
    held = prior.with_precisions(np.array([0.3]))
    places = prior.place_features(evidence.features, evidence.pairs)
    features = np.column_stack(
        [parameter_features(prior, evidence.features), places * np.sqrt(item_noise)]
    )
    unseen = rng.normal(size=(500, 3))
    draws = elliptical_slice(
        lambda w: equations.log_likelihood(2 * evidence.targets, features @ w),
        np.r_[held.parameter_mean, np.zeros(places.shape[1])],
        np.sqrt(np.r_[held.parameter_variance, np.ones(places.shape[1])]),
        40_000,
        rng,
    )[:, : len(held.parameter_mean)]
    latent = parameter_features(prior, unseen) @ draws.T
    off = np.sqrt(2 * item_noise * prior.squared_distance(unseen))
    latent += off[:, None] * rng.normal(size=latent.shape)
    truth = expit(-latent).mean(axis=1)

    fit = infer(evidence, prior, 0.3, item_noise=item_noise, max_iter=500, tol=1e-10)
    p_same = fit.posterior.probability_same(unseen)

    difference = np.abs(p_same - truth).mean()
    with capsys.disabled():
        print(f"\n  whole matrix: mean |P(same) - sampler's| = {difference:.4f}")
    assert difference <= 0.02
