"""Each formula against a slow, plain version, a limit or a simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import nnls
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logsumexp

from likewise.model import equations, matrix


@pytest.fixture
def problem(rng):
    """Features, labels, weights and prior of forty pairs."""
    features = equations.pair_features(rng.normal(size=(40, 3)))
    labels = rng.choice([-1.0, 1.0], 40)
    weights = rng.uniform(0.5, 2, 4)
    return features, labels, weights, np.ones(4), np.full(4, 0.7)


def test_label_probability_is_equation_1(rng):
    """One over one plus exp(y (squared distance - threshold))."""
    A, mu = np.diag([2.0, 3.0]), 1.5
    gap = rng.normal(size=2)
    latent = gap @ A @ gap - mu

    for y in (1.0, -1.0):
        expected = 1 / (1 + np.exp(y * (gap @ A @ gap - mu)))
        assert_allclose(equations.label_probability(y, latent), expected)


def test_log_likelihood_is_the_product_2(problem):
    """The logarithm of the product over S and over D."""
    features, labels, weights, *_ = problem
    latent = features @ weights
    same = np.prod(1 / (1 + np.exp(latent[labels > 0])))
    different = np.prod(1 / (1 + np.exp(-latent[labels < 0])))

    value = equations.log_likelihood(labels, latent)

    assert_allclose(value, np.log(same * different))


def test_wishart_prior_3_is_scipys(rng):
    """The density of scipy's Wishart at a random matrix."""
    W = np.cov(rng.normal(size=(3, 20)))
    A = np.cov(rng.normal(size=(3, 20)))

    value = equations.log_wishart_prior(A, 5.0, W)

    assert_allclose(value, stats.wishart(df=5, scale=W).logpdf(A))


def test_gamma_prior_4_is_scipys():
    """The density of scipy's Gamma."""
    value = equations.log_gamma_prior(1.7, 2.5, 0.6)

    assert_allclose(value, stats.gamma(2.5, scale=1 / 0.6).logpdf(1.7))


def test_pair_features_are_the_squared_gaps_of_6():
    """Minus one, then each squared gap."""
    features = equations.pair_features(np.array([[1.0, -2.0], [0.0, 3.0]]))

    assert_allclose(features, [[-1, 1, 4], [-1, 0, 9]])


def test_gaussian_prior_7_is_scipys(problem):
    """The density of a Gaussian with covariance I / delta."""
    weights, mean, precision = problem[2:]

    value = equations.log_gaussian_prior(weights, mean, precision)

    expected = stats.multivariate_normal(mean, np.eye(4) / 0.7).logpdf(weights)
    assert_allclose(value, expected)


def test_log_joint_is_the_integrand_of_8(problem):
    """Prior times the likelihoods of S and D."""
    features, labels, weights, mean, precision = problem

    value = equations.log_joint(weights, features, labels, mean, precision)

    prior = stats.multivariate_normal(mean, np.eye(4) / 0.7).logpdf(weights)
    likelihood = np.log(expit(-labels * (features @ weights))).sum()
    assert_allclose(value, prior + likelihood)


def test_bound_curvature_is_smooth_at_zero():
    """1/8 at zero, the quotient elsewhere, and no step where the series ends."""
    xi = np.array([0.0, 9.999e-5, 1.0001e-4, 1.0, 30.0])

    value = equations.bound_curvature(xi)

    assert_allclose(value[:3], 1 / 8, rtol=2e-9)
    assert_allclose(value[3:], np.tanh(xi[3:] / 2) / (4 * xi[3:]))


def test_logistic_bound_touches_at_xi_and_stays_below():
    """Equality at z = +-xi, below everywhere else."""
    z = np.linspace(-8, 8, 161)
    for xi in (0.0, 0.5, 3.0):
        bound = equations.log_logistic_bound(z, np.full_like(z, xi))
        assert (bound <= np.log(expit(z)) + 1e-12).all()
        touch = equations.log_logistic_bound(np.array([xi, -xi]), np.array([xi, xi]))
        assert_allclose(touch, np.log(expit(np.array([xi, -xi]))))


def test_covariance_and_mean_are_9_and_10(problem):
    """The sums over S and D written out pair by pair."""
    features, labels, _, prior_mean, precision = problem
    curvature = np.linspace(0.02, 0.125, 40)
    slow = 0.7 * np.eye(4)
    pull = 0.7 * prior_mean
    for omega, y, bend in zip(features, labels, curvature, strict=True):
        slow = slow + 2 * bend * np.outer(omega, omega)
        pull = pull - y * omega / 2

    inverse = equations.posterior_precision(features, curvature, precision)
    covariance, root, log_determinant = equations.posterior_covariance(inverse)
    mean = equations.posterior_mean(
        covariance, prior_mean, precision, equations.evidence_pull(features, labels / 2)
    )

    assert_allclose(inverse, slow)
    assert_allclose(covariance, np.linalg.inv(slow))
    assert_allclose(root.T @ root, covariance)
    assert_allclose(root, np.tril(root))
    assert_allclose(log_determinant, -np.linalg.slogdet(slow)[1])
    assert_allclose(mean, np.linalg.inv(slow) @ pull)


def test_a_covariance_that_is_not_positive_definite_is_refused():
    """LAPACK's code becomes an exception, not a matrix of nonsense."""
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        equations.posterior_covariance(-np.eye(2))


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_nonnegative_mean_is_the_least_squares_solution(rng, spread):
    """The same as scipy's nnls in the norm of the precision."""
    root = rng.normal(size=(60, 25))
    precision = root.T @ root + 0.1 * np.eye(25)
    pull = precision @ (1 + spread * rng.normal(size=25))
    factor = np.linalg.cholesky(precision).T

    mean = equations.nonnegative_mean(precision, pull, np.ones(25, dtype=bool))

    expected = nnls(factor, np.linalg.solve(factor.T, pull))[0]
    assert_allclose(mean, expected, atol=1e-9)


def test_clip_is_reachable_and_differs_from_the_constrained_maximum():
    """Clipping moves one entry; the maximum moves the correlated one too."""
    precision = np.array([[2.0, 1.5], [1.5, 2.0]])
    free = np.linalg.solve(precision, [1.0, -2.0])
    best = equations.nonnegative_mean(
        precision, np.array([1.0, -2.0]), np.ones(2, dtype=bool)
    )

    assert_allclose(equations.clipped_mean(free), [free[0], 0])
    assert_allclose(best, [0.5, 0])
    assert free[0] > 2


def test_latent_moments_are_the_quadratic_forms_of_11(problem, rng):
    """m = mu'omega, v = omega'Sigma omega, xi = sqrt(m^2 + v), pair by pair."""
    features, _, mean, *_ = problem
    covariance = np.cov(rng.normal(size=(4, 9)))

    m, v = equations.latent_moments(features, mean, covariance)

    assert_allclose(m, [omega @ mean for omega in features])
    assert_allclose(v, [omega @ covariance @ omega for omega in features])
    assert_allclose(equations.bound_points(m, v), np.sqrt(m**2 + v))


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200, 301])
def test_a_root_by_halves_is_that_of_the_whole(rng, size):
    """The inverse of the Cholesky factor, whatever the halves are."""
    points = rng.normal(size=(2 * size, size))
    given = points.T @ points / size + np.eye(size)
    columns = rng.normal(size=(size, 3))

    root, log_determinant = equations.inverse_root(given)

    assert_allclose(root, np.linalg.inv(np.linalg.cholesky(given)), atol=1e-12)
    assert_allclose(log_determinant, np.linalg.slogdet(given)[1])
    assert_allclose(
        equations.triangle_product(root, columns), root @ columns, atol=1e-12
    )


def test_a_part_of_the_covariance_has_one_trace_sparse_or_not(rng):
    """tr W B^-1 W F, by every entry or by those that are there."""
    root, half = np.tril(rng.normal(size=(30, 30))), rng.uniform(0.1, 2, 30)
    part = np.diag(rng.uniform(size=30))
    part[3, 7] = part[7, 3] = -0.4

    expected = np.trace(np.diag(half) @ root.T @ root @ np.diag(half) @ part)
    for given in (part, csr_array(part)):
        assert_allclose(matrix.determined_trace(given, half, root), expected)


@pytest.mark.parametrize("n_weights", [1, 4, 30])
def test_a_root_gives_the_moments_of_its_covariance(rng, n_weights):
    """In bands of the triangle, few weights or many: omega'R'R omega."""
    features = rng.normal(size=(7, n_weights))
    mean, root = rng.normal(size=n_weights), np.tril(rng.normal(size=2 * (n_weights,)))

    found = equations.latent_moments_by_root(features, mean, root)

    expected = equations.latent_moments(features, mean, root.T @ root)
    assert_allclose(found, expected)


def test_lower_bound_is_below_the_expected_log_likelihood(problem, rng):
    """By simulation: the bound's data part never exceeds E log Pr(S, D | gamma)."""
    features, labels, mean, *_ = problem
    covariance = np.cov(rng.normal(size=(4, 30))) / 20
    m, v = equations.latent_moments(features, mean, covariance)
    draws = rng.multivariate_normal(mean, covariance, 4000)
    truth = np.log(expit(-labels * (draws @ features.T))).sum(axis=1).mean()

    bound = equations.expected_log_likelihood_bound(
        labels / 2, np.ones(40), m, v, equations.bound_points(m, v)
    )

    assert truth - 1.5 < bound < truth


def test_the_bounds_best_xi_is_11(problem, rng):
    """Moving any xi away from (11) lowers the bound."""
    features, labels, mean, *_ = problem
    m, v = equations.latent_moments(features, mean, np.eye(4) / 10)
    xi = equations.bound_points(m, v)

    def bound(at):
        return equations.expected_log_likelihood_bound(
            labels / 2, np.ones(40), m, v, at
        )

    for factor in (0.8, 0.99, 1.01, 1.3):
        assert bound(xi * factor) < bound(xi)


def test_divergence_is_the_textbook_one(problem, rng):
    """KL of two Gaussians, written with dense matrices."""
    mean, prior_mean, precision = problem[2:]
    covariance = np.cov(rng.normal(size=(4, 9)))
    log_determinant = np.linalg.slogdet(covariance)[1]

    value = equations.gaussian_divergence(
        mean, covariance, log_determinant, prior_mean, precision
    )

    inverse = np.diag(precision)
    gap = mean - prior_mean
    expected = 0.5 * (
        np.trace(inverse @ covariance)
        + gap @ inverse @ gap
        - 4
        - np.linalg.slogdet(inverse)[1]
        - log_determinant
    )
    assert_allclose(value, expected)


def test_entropy_12_is_log_2_in_doubt_and_0_when_sure():
    """And symmetric in between."""
    value = equations.label_entropy(np.array([0.5, 0.0, 1.0, 0.2, 0.8]))

    assert_allclose(value[:3], [np.log(2), 0, 0])
    assert_allclose(value[3], value[4])
    assert_allclose(value[3], -0.2 * np.log(0.2) - 0.8 * np.log(0.8))


def test_mean_probability_13():
    """1 / (1 + exp(gamma'omega))."""
    assert_allclose(
        equations.mean_probability(np.array([-2.0, 0.0, 3.0])),
        [1 / (1 + np.exp(-2)), 0.5, 1 / (1 + np.exp(3))],
    )


def test_laplace_points_are_14_and_15_pair_by_pair(problem, rng):
    """max(mu -+ p Sigma omega, 0), entry by entry."""
    features, _, mean, *_ = problem
    covariance = np.cov(rng.normal(size=(4, 9)))

    plus, minus = equations.laplace_points(mean, covariance, features)

    for row, omega in enumerate(features):
        p_plus = np.exp(mean @ omega) / (1 + np.exp(mean @ omega))
        p_minus = np.exp(-mean @ omega) / (1 + np.exp(-mean @ omega))
        moved = covariance @ omega
        assert_allclose(plus[row], np.maximum(mean - p_plus * moved, 0), atol=1e-12)
        assert_allclose(minus[row], np.maximum(mean + p_minus * moved, 0), atol=1e-12)
    assert (plus == 0).any()


def test_laplace_probability_is_the_printed_formula():
    """Both sides as printed after (16), then normalised."""
    m, v, m_plus, m_minus = 0.7, 0.4, 0.2, 0.9
    p_plus, p_minus = expit(m), expit(-m)
    plus = 1 / (1 + np.exp(m_plus)) * np.exp(-(p_plus**2) * v / 2)
    minus = 1 / (1 + np.exp(-m_minus)) * np.exp(-(p_minus**2) * v / 2)

    value = equations.laplace_probability(*map(np.array, (m, v, m_plus, m_minus)))

    assert_allclose(value, plus / (plus + minus))


def test_laplace_probability_nears_13_as_the_doubt_vanishes():
    """With no variance the Laplace form is the plain probability."""
    m = np.linspace(-3, 3, 7)

    value = equations.laplace_probability(m, np.zeros(7), m, m)

    assert_allclose(value, equations.mean_probability(m))


def test_likelihood_objective_has_the_gradient_of_its_value(problem):
    """Value against (2), gradient against finite differences."""
    features, labels, weights, *_ = problem

    def value(at):
        return equations.likelihood_objective(at, features, labels / 2, np.ones(40))[0]

    slope = equations.likelihood_objective(weights, features, labels / 2, np.ones(40))[
        1
    ]

    assert_allclose(
        value(weights), -equations.log_likelihood(labels, features @ weights)
    )
    step = 1e-6
    for k in range(4):
        move = step * np.eye(4)[k]
        difference = (value(weights + move) - value(weights - move)) / (2 * step)
        assert_allclose(slope[k], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variance", [1e-6, 0.3, 3.0, 30.0, 300.0, 1e4])
@pytest.mark.parametrize("mean", [-9.0, -1.0, 0.0, 0.4, 4.0, 12.0])
def test_predictions_agree_with_quadrature(mean, variance):
    """P(same) and expected entropy to 1e-5, wherever f lies and however wide."""
    f = mean + np.sqrt(variance) * np.linspace(-9, 9, 400_001)
    density = stats.norm.pdf(np.linspace(-9, 9, 400_001))

    def expectation(values):
        return values @ density / density.sum()

    p_same = matrix.predictive_probability(np.array([mean]), np.array([variance]))
    expected_h = matrix.expected_entropy(np.array([mean]), np.array([variance]))

    assert_allclose(p_same, expectation(expit(-f)), atol=1e-5)
    truth = expectation(equations.label_entropy(expit(f)))
    assert_allclose(expected_h, truth, atol=1e-5)
    softplus, slope, curvature = matrix.expected_softplus(
        np.array([mean]), np.array([variance])
    )
    assert_allclose(softplus, expectation(np.logaddexp(0, f)), rtol=1e-5, atol=1e-5)
    assert_allclose(slope, expectation(expit(f)), atol=1e-5)
    assert_allclose(curvature, expectation(expit(f) * expit(-f)), atol=1e-5)


@pytest.mark.parametrize("variance", [1e-6, 0.3, 3.0, 300.0])
@pytest.mark.parametrize("against", [-9.0, -1.0, 0.4, 12.0])
@pytest.mark.parametrize("right", [0.55, 0.8, 0.99])
def test_the_bound_with_slips_agrees_with_quadrature(variance, against, right):
    """<log (q sigma(-g) + (1 - q) sigma(g))>: what it has beside <log sigma(-g)>."""
    z = np.linspace(-9, 9, 400_001)
    g, density = against + np.sqrt(variance) * z, stats.norm.pdf(z)
    density /= density.sum()

    value, slope, curvature = matrix.slip_bound(
        np.array([right]), np.array([against]), np.array([variance])
    )

    slipped = logsumexp([log_expit(-g), log_expit(g)], axis=0, b=[[right], [1 - right]])
    beside = slipped - log_expit(-g)
    step = 1e-4
    moved = [np.interp(g + move, g, beside) @ density for move in (-step, 0, step)]
    assert_allclose(value, beside @ density, atol=1e-4)
    assert_allclose(slope, (moved[2] - moved[0]) / (2 * step), atol=1e-3)
    inner = expit(g - np.log(right / (1 - right)))
    assert_allclose(curvature, (inner * (1 - inner)) @ density, atol=1e-5)


def test_labels_that_are_certain_have_the_plain_bound(rng):
    """And one that is no better than a coin's has a site without pull."""
    targets, weights = rng.choice([-0.5, 0.5], 6), np.ones(6)
    m, v = rng.normal(size=6), rng.uniform(0.5, 4, 6)

    plain = matrix.tight_bound(targets, weights, m, v)
    certain = matrix.tight_bound(targets, weights, m, v, right=np.ones(6))
    coin = matrix.tight_bound(targets, weights, m, v, right=np.full(6, 0.5))

    assert certain[0] == plain[0]
    assert_array_equal(certain[1], plain[1])
    assert_allclose(coin[0], 6 * np.log(0.5))
    assert_allclose(coin[1], 0, atol=1e-12)


def likely_slips(*told):
    """The bound of labels that are right with probability 0.9."""
    return matrix.tight_bound(*told, right=np.full(8, 0.9))


@pytest.mark.parametrize(
    "bound", [matrix.tight_bound, likely_slips, equations.jaakkola_bound]
)
def test_sites_follow_their_bound(rng, bound):
    """Slope in the mean is pull - curvature m, in the variance -curvature / 2."""
    targets, weights = rng.choice([-0.6, 0.6], 8), np.full(8, 1.2)
    m, v = rng.uniform(-1, 1, size=8), rng.uniform(0.5, 4, 8)
    step = 1e-5

    _, (curvature, pull) = bound(targets, weights, m, v)

    for k in range(8):
        move = step * np.eye(8)[k]
        in_mean = bound(targets, weights, m + move, v)[0]
        in_mean -= bound(targets, weights, m - move, v)[0]
        in_variance = bound(targets, weights, m, v + move)[0]
        in_variance -= bound(targets, weights, m, v - move)[0]
        slope = pull[k] - curvature[k] * m[k]
        assert_allclose(in_mean / (2 * step), slope, atol=1e-5)
        assert_allclose(in_variance / (2 * step), -curvature[k] / 2, atol=1e-5)


def test_the_mixture_nodes_are_a_gauss_rule_of_kolmogorovs_distribution():
    """The rule gives the moments of 2K, the exact ones by series."""
    scales, shares = matrix._SCALES, matrix._SHARES

    assert_allclose(shares.sum(), 1)
    assert_allclose(shares @ scales, 2 * stats.kstwobign.mean(), rtol=1e-6)
    # The logistic's variance is pi^2 / 3, and its fourth moment 7 pi^4 / 15.
    assert_allclose(shares @ scales**2, np.pi**2 / 3, rtol=1e-6)
    assert_allclose(3 * shares @ scales**4, 7 * np.pi**4 / 15, rtol=1e-6)


def test_squared_distances_correlate_as_simulated_ones(rng):
    """By two metrics, over Gaussian gaps."""
    roots = rng.normal(size=(3, 4, 4))
    A, B, scatter = (root @ root.T for root in roots)
    gaps = rng.standard_normal((400_000, 4)) @ roots[2].T

    squared = [np.einsum("ij,jk,ik->i", gaps, each, gaps) for each in (A, B)]

    found = matrix.distance_correlation(A, B, scatter)
    assert_allclose(found, np.corrcoef(squared)[0, 1], atol=0.01)
    assert_allclose(matrix.distance_correlation(A, 3 * A, scatter), 1)
    assert matrix.distance_correlation(A, B, 0 * scatter) == 1


def test_distance_deviation_is_the_simulated_one_far_from_zero(rng):
    """The delta method where the distance is large against its doubt."""
    squared = 9 + 0.5 * rng.standard_normal(200_000)

    value = matrix.squared_distance_deviation(np.array([9.0]), np.array([0.25]))

    assert_allclose(value, np.sqrt(squared).std(), rtol=0.01)


def test_distance_deviation_stays_finite_at_zero():
    """A distance of zero still has a deviation; no doubt has none."""
    value = matrix.squared_distance_deviation(np.zeros(2), np.array([0.16, 0.0]))

    assert_allclose(value, [np.sqrt(0.4), 0])


@pytest.mark.parametrize("size", [1, 5, 97, 300])
def test_the_root_of_an_inverse_is_lower_triangular_and_right(rng, size):
    """R'R M is the identity, also where R is put together from blocks."""
    A = rng.normal(size=(size, size))
    matrix = A @ A.T / size + 0.1 * np.eye(size)

    root, log_determinant = equations.inverse_root(matrix)

    assert_allclose(root.T @ root @ matrix, np.eye(size), atol=1e-9)
    assert_allclose(root, np.tril(root))
    assert_allclose(log_determinant, np.linalg.slogdet(matrix)[1])


def test_variances_of_pairs_hold_for_sites_of_any_strength(rng):
    """C - C (C + W^-2)^-1 C, plainly, with sites from nothing to 1."""
    A = rng.normal(size=(40, 40))
    covariance = A @ A.T
    curvature = 10.0 ** rng.uniform(-14, 0, 40)
    _, root, _ = matrix.pair_posterior(
        covariance, np.zeros(40), curvature, np.zeros(40)
    )

    variance = matrix.pair_variance(covariance, curvature, root)

    plain = covariance - covariance @ np.linalg.solve(
        covariance + np.diag(1 / curvature), covariance
    )
    assert_allclose(variance, np.diag(plain), rtol=1e-6)


def test_nothing_speaks_for_another_precision_than_that_of_known_weights(rng):
    """All weights determined, drawn at precision 4: the slope in log delta is zero."""
    weights = rng.normal(size=10_000) / 2

    slope = matrix.precision_slope(10_000.0, weights @ weights, 4.0)

    assert abs(slope) < 0.05 * 10_000 / 2


def log_density(x, covariance):
    return stats.multivariate_normal.logpdf(x, np.zeros(len(x)), covariance)


def test_the_slope_of_a_part_is_that_of_the_evidence(rng):
    """Gaussian answers y = f + noise / W, whose evidence is known: log N(y; 0, C)."""
    roots = rng.normal(size=(2, 5, 5))
    one, other = (root @ root.T for root in roots)
    curvature, told, h = rng.uniform(0.1, 2, 5), rng.normal(size=5), 1e-5

    def total(log_factor):
        return np.exp(log_factor) * one + other

    def evidence(log_factor):
        return log_density(told, total(log_factor) + np.diag(1 / curvature))

    alpha, root, _ = matrix.pair_posterior(
        total(0.0), np.zeros(5), curvature, curvature * told
    )
    half = np.sqrt(curvature)
    determined = np.trace((root.T @ root) @ (half[:, None] * one * half))

    slope = matrix.part_slope(alpha @ one @ alpha, determined)

    assert_allclose(slope, (evidence(h) - evidence(-h)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_slope_of_the_scale_is_that_of_the_divergence(scale):
    """-KL(N(m, v) || N(c, (r c)^2)) by finite differences in log c."""
    mean, variance, share, h = 2.0, 0.4, 0.25, 1e-5

    def divergence(c):
        deviation = share * c
        return (
            np.log(deviation)
            - np.log(variance) / 2
            + (variance + (mean - c) ** 2) / (2 * deviation**2)
            - 0.5
        )

    difference = divergence(scale * np.exp(-h)) - divergence(scale * np.exp(h))

    slope = matrix.scale_slope(mean, variance, scale, share * scale)

    assert_allclose(slope, difference / (2 * h), rtol=1e-6)


def test_agreement_becomes_between_over_within():
    """Nothing for strangers, ten for neighbours that agree fully, rising between."""
    shares = np.linspace(0, 1, 11)

    weights = matrix.agreement_weights(shares)

    assert_allclose(weights[[0, 10]], [0, 10])
    assert (np.diff(weights) > 0).all()
