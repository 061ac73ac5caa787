"""Every formula of the paper, in its order and with its number.

L. Yang, R. Jin, R. Sukthankar, "Bayesian Active Distance Metric Learning", UAI 2007.
Here the paper's letters rule; elsewhere words do:

    x_i            row of X          item                               (d,)
    v_l            directions        basis vector                       (d,)
    omega_ij       features          -1, then squared gaps              (K + 1,)
    y_ij           labels            +1 same, -1 different
    gamma          weights           threshold mu, then K weights       (K + 1,)
    mu_gamma       mean              posterior mean                     (K + 1,)
    Sigma_gamma    covariance        posterior covariance               (K + 1, K + 1)
    f              latent            gamma' omega: squared distance minus threshold
    xi             xi                where each logistic bound touches
    delta, gamma_0 prior_precision, prior_mean

Nothing here checks, loops over sweeps or knows of items: numbers in, numbers out.
`features` may be any linear features: the same lines serve all bases.
Slips of the paper are noted where they apply ("slip"). What goes beyond the paper is in
matrix.py.
Matrix work goes through numpy alone: scipy brings a BLAS of its own, and on few cores
the idle threads of one hold up the other (a sweep took 5 times as long).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, gammaln, log_expit, multigammaln

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Sites = tuple[Array, Array]  # curvature and pull of each pair

# Rows of a triangle that is not halved any more; 32 to 128 measure alike.
LEAF = 64
# Bands of a triangle; 4 to 12 measure alike.
N_BANDS = 6

# --- 3.1  The Bayesian framework -------------------------------------------------


def label_probability(labels: Array, latent: Array) -> Array:
    """Pr(y | x_i, x_j) = 1 / (1 + exp(y (|x_i - x_j|_A^2 - mu))): (1)."""
    return np.asarray(expit(-labels * latent))


def log_likelihood(labels: Array, latent: Array) -> float:
    """Log Pr(S, D | A, mu), the sum over all labelled pairs: (2).

    Slip: the objective L_g of section 5.2 multiplies by y in both sums, which turns
    the pairs of D round; this sum is what is meant there too.
    """
    return float(np.sum(log_expit(-labels * latent)))


def log_wishart_prior(A: Array, nu: float, W: Array) -> float:
    """Log of |A|^((nu-m-1)/2) exp(-tr(W^-1 A) / 2) / Z_nu(W): (3)."""
    m = len(A)
    log_z = (
        nu * m / 2 * np.log(2)
        + nu / 2 * np.linalg.slogdet(W)[1]
        + multigammaln(nu / 2, m)
    )
    kernel = (nu - m - 1) / 2 * np.linalg.slogdet(A)[1]
    return float(kernel - np.trace(np.linalg.solve(W, A)) / 2 - log_z)


def log_gamma_prior(mu: float, alpha: float, beta: float) -> float:
    """Log of mu^(alpha-1) exp(-beta mu) / Z(alpha): (4)."""
    return float(
        alpha * np.log(beta) + (alpha - 1) * np.log(mu) - beta * mu - gammaln(alpha)
    )


# --- 3.2.1  Eigen approximation --------------------------------------------------


def pair_features(gaps: Array) -> Array:
    """omega_ij = (-1, ((x_i - x_j)'v_1)^2, ..., ((x_i - x_j)'v_K)^2): (6)."""
    features = np.empty((len(gaps), gaps.shape[1] + 1))  # (n_pairs, K + 1)
    features[:, 0] = -1.0
    np.multiply(gaps, gaps, out=features[:, 1:])
    return features


def log_gaussian_prior(weights: Array, prior_mean: Array, precision: Array) -> float:
    """Log N(gamma; gamma_0 1, delta^-1 I), the relaxed prior: (7).

    `precision` holds delta once per weight, so that (7) is the case of equal entries.
    """
    gap = weights - prior_mean
    return float(np.sum(np.log(precision) - np.log(2 * np.pi) - precision * gap**2) / 2)


def log_joint(
    weights: Array, features: Array, labels: Array, prior_mean: Array, precision: Array
) -> float:
    """Log of the integrand of the evidence: (8), and the numerator of (5)."""
    prior = log_gaussian_prior(weights, prior_mean, precision)
    return prior + log_likelihood(labels, features @ weights)


# --- 3.2.2  Variational approximation --------------------------------------------


def bound_curvature(xi: Array) -> Array:
    """lambda(xi) = tanh(xi / 2) / (4 xi), with its limit 1/8 at zero (slip)."""
    near_zero = np.abs(xi) < 1e-4
    safe = np.where(near_zero, 1.0, xi)
    # Below 1e-4 the quotient loses digits; the series is exact to 1e-18 there.
    return np.where(near_zero, 1 / 8 - xi**2 / 96, np.tanh(safe / 2) / (4 * safe))


def log_logistic_bound(z: Array, xi: Array) -> Array:
    """Log sigma(z) >= log sigma(xi) + (z - xi)/2 - lambda(xi)(z^2 - xi^2)."""
    return np.asarray(
        log_expit(xi) + (z - xi) / 2 - bound_curvature(xi) * (z**2 - xi**2)
    )


def posterior_precision(features: Array, curvature: Array, precision: Array) -> Array:
    """Sigma_gamma^-1 = delta I + 2 Sigma_S + 2 Sigma_D: (9), before the inverse.

    Slip: the identity has size K + 1. `curvature` is lambda(xi), times the weight of
    the pair where pairs are weighted.
    """
    scaled = features * np.sqrt(2 * curvature)[:, None]
    # One array times itself: BLAS then computes one triangle only, half the work.
    result = np.asarray(scaled.T @ scaled)
    result[np.diag_indices_from(result)] += precision
    return result


def posterior_covariance(posterior_precision: Array) -> tuple[Array, Array, float]:
    """Sigma_gamma, a lower triangle R with R'R = Sigma_gamma, log |Sigma_gamma|: (9).

    The Cholesky factor exists as long as the prior precision is > 0.
    """
    root, log_determinant = inverse_root(posterior_precision)
    return np.asarray(root.T @ root), root, -log_determinant


def inverse_root(matrix: Array) -> tuple[Array, float]:
    """A lower triangle R with R'R the inverse of a positive definite matrix.

    And the matrix' log determinant. By numpy alone: scipy's LAPACK has threads of its
    own, and two pools of threads that wait for each other took sixteen times as long.
    """
    root = np.zeros_like(matrix)
    return root, _root_by_halves(matrix, root)


def _root_by_halves(matrix: Array, root: Array) -> float:
    """Fill zeros with the inverse of the Cholesky factor; the log determinant.

    All of it is matrix products, two thirds of the time of a factor and its inverse.
    """
    size = len(matrix)
    if size <= LEAF:
        factor = np.linalg.cholesky(matrix)
        root[:] = np.tril(np.linalg.inv(factor))
        return 2 * float(np.sum(np.log(np.diag(factor))))
    half = size // 2
    first, second = root[:half, :half], root[half:, half:]
    determined = _root_by_halves(matrix[:half, :half], first)
    corner = triangle_product(first, matrix[:half, half:])
    left = matrix[half:, half:] - corner.T @ corner
    determined += _root_by_halves(left, second)
    np.negative(triangle_product(second, corner.T @ first), out=root[half:, :half])
    return determined


def triangle_product(triangle: Array, columns: Array) -> Array:
    """A lower triangle times columns; its zeros are not multiplied."""
    size = len(triangle)
    if size <= 2 * LEAF:
        return np.asarray(triangle @ columns)
    half = size // 2
    product = np.empty((size, columns.shape[1]))
    product[:half] = triangle_product(triangle[:half, :half], columns[:half])
    product[half:] = triangle_product(triangle[half:, half:], columns[half:])
    product[half:] += triangle[half:, :half] @ columns[:half]
    return product


def evidence_pull(features: Array, targets: Array) -> Array:
    """-sum_S omega/2 + sum_D omega/2, the data's part of (10).

    `targets` is y/2, times the weight of the pair. A soft label, P(same) = t, is
    t - 1/2 in its place: t log sigma(-f) + (1-t) log sigma(f) = -(t - 1/2) f + even(f).
    """
    return np.asarray(-(targets @ features))


def posterior_mean(
    covariance: Array, prior_mean: Array, precision: Array, pull: Array
) -> Array:
    """mu_gamma = Sigma_gamma (delta gamma_0 - sum_S omega/2 + sum_D omega/2): (10).

    Slip: delta gamma_0 is a vector of K + 1 equal entries.
    """
    return np.asarray(covariance @ (precision * prior_mean + pull))


def clipped_mean(mean: Array) -> Array:
    """max(mu_gamma, 0): the paper's cheap reading of "enforcing non-negative"."""
    return np.maximum(mean, 0.0)


def nonnegative_mean(posterior_precision: Array, pull: Array, free: Mask) -> Array:
    """Maximise the bound over mu_gamma >= 0, given Sigma_gamma (slip).

    The paper enforces the sign "empirically". Here mu minimises
    mu' Sigma^-1 mu / 2 - mu' b with mu >= 0 and b the bracket of (10): then the lower
    bound cannot fall. Block pivoting (Murty's rule when a block does not help) from
    the set `free` of positive entries, which is the solution up to a few exchanges.
    """
    free = free.copy()
    fewest, patience = len(pull) + 1, 3
    while True:
        mean = np.zeros(len(pull))
        block = posterior_precision[np.ix_(free, free)]
        mean[free] = np.linalg.solve(block, pull[free])
        slope = posterior_precision @ mean - pull
        wrong = np.where(free, mean, slope) < -1e-10 * np.abs(pull).max()
        n_wrong = int(wrong.sum())
        if n_wrong == 0:
            return np.maximum(mean, 0.0)
        if n_wrong < fewest:
            fewest, patience = n_wrong, 3
        elif patience > 0:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong


def latent_moments(
    features: Array, mean: Array, covariance: Array
) -> tuple[Array, Array]:
    """mu_gamma' omega and omega' Sigma_gamma omega of every pair."""
    # In the same order as the features: mixed orders take einsum three times as long.
    spread = np.matmul(features, covariance, out=np.empty_like(features))
    return features @ mean, np.einsum("ij,ij->i", spread, features)


def latent_moments_by_root(
    features: Array, mean: Array, root: Array
) -> tuple[Array, Array]:
    """The same, of a lower triangle R with R'R = Sigma_gamma: |R omega|^2.

    In bands of R, without the zeros to their right: two thirds of the products, and
    no second array as large as the features, as triangle_product would make.
    """
    variance = np.zeros(len(features))
    ends = np.linspace(0, len(root), N_BANDS + 1).astype(int)
    for start, end in zip(ends, ends[1:], strict=False):
        spread = root[start:end, :end] @ features.T[:end]
        variance += np.einsum("ij,ij->j", spread, spread)
    return features @ mean, variance


def bound_points(latent_mean: Array, latent_variance: Array) -> Array:
    """xi = sqrt((mu_gamma' omega)^2 + omega' Sigma_gamma omega): (11)."""
    return np.sqrt(latent_mean**2 + latent_variance)


def expected_log_likelihood_bound(
    targets: Array,
    pair_weights: Array,
    latent_mean: Array,
    latent_variance: Array,
    xi: Array,
) -> float:
    """The sums over S and D in the lower bound of the evidence (before (9))."""
    even = log_expit(xi) - xi / 2
    slack = latent_mean**2 + latent_variance - xi**2
    return float(
        pair_weights @ (even - bound_curvature(xi) * slack) - targets @ latent_mean
    )


def gaussian_divergence(
    mean: Array,
    covariance: Array,
    log_determinant: float,
    prior_mean: Array,
    precision: Array,
) -> float:
    """KL(phi || prior) = -<log Pr(gamma)> - H(phi), the rest of the lower bound."""
    gap = mean - prior_mean
    trace = precision @ np.diag(covariance)
    return (
        float(
            trace
            + precision @ gap**2
            - len(mean)
            - np.sum(np.log(precision))
            - log_determinant
        )
        / 2
    )


def jaakkola_bound(
    targets: Array, pair_weights: Array, latent_mean: Array, latent_variance: Array
) -> tuple[float, Sites]:
    """The paper's bound at the xi of (11), and the sites of (9) and (10).

    Curvature 2 lambda(xi), pull -y/2.
    """
    xi = bound_points(latent_mean, latent_variance)
    value = expected_log_likelihood_bound(
        targets, pair_weights, latent_mean, latent_variance, xi
    )
    return value, (2 * pair_weights * bound_curvature(xi), -targets)


# --- 4  Active learning ----------------------------------------------------------


def label_entropy(p_same: Array) -> Array:
    """H = -Pr(-) log Pr(-) - Pr(+) log Pr(+), in nats: (12)."""
    return np.asarray(entr(p_same) + entr(1 - p_same))


def mean_probability(latent_mean: Array) -> Array:
    """Pr(+) = 1 / (1 + exp(gamma' omega)) at the mean metric: (13)."""
    return np.asarray(expit(-latent_mean))


def laplace_slopes(latent_mean: Array) -> tuple[Array, Array]:
    """p+ and p- = exp(+-mu'omega) / (1 + exp(+-mu'omega)): (14)."""
    return np.asarray(expit(latent_mean)), np.asarray(expit(-latent_mean))


def laplace_points(
    mean: Array, covariance: Array, features: Array
) -> tuple[Array, Array]:
    """gamma+- = max(mu -+ p+- Sigma omega, 0), a row for each pair: (15).

    Slip: the Taylor line before (14) loses its sign in its second form; this is right.
    """
    p_plus, p_minus = laplace_slopes(features @ mean)
    moved = features @ covariance
    return (
        np.maximum(mean - p_plus[:, None] * moved, 0.0),
        np.maximum(mean + p_minus[:, None] * moved, 0.0),
    )


def laplace_probability(
    latent_mean: Array, latent_variance: Array, latent_plus: Array, latent_minus: Array
) -> Array:
    """Pr(+) of the last formula of section 4, after (16), normalised.

    Slips: exp(-p^2 omega'Sigma omega / 2) is exp of (16)'s quadratic term only where
    (15) clips nothing; the formula is kept as printed. The paper's N(gamma; Sigma, mu)
    has its arguments swapped. `latent_plus` is omega'gamma+ of (15), `latent_minus`
    omega'gamma-.
    """
    p_plus, p_minus = laplace_slopes(latent_mean)
    log_plus = log_expit(-latent_plus) - p_plus**2 * latent_variance / 2
    log_minus = log_expit(latent_minus) - p_minus**2 * latent_variance / 2
    return np.asarray(expit(log_plus - log_minus))


# --- 5.2  The maximum-likelihood baseline ----------------------------------------


def likelihood_objective(
    weights: Array, features: Array, targets: Array, pair_weights: Array
) -> tuple[float, Array]:
    """-L_g(gamma) of section 5.2 and its gradient (slip: see log_likelihood)."""
    latent = features @ weights
    # -log(2 cosh(f/2)) is the even part of the log-logistic.
    even = log_expit(latent) - latent / 2
    value = targets @ latent - pair_weights @ even
    slope = targets + pair_weights * (expit(latent) - 0.5)
    return float(value), np.asarray(slope @ features)
