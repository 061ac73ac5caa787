"""The formulas beyond the paper: exact predictions, the tight bound, the whole matrix.

Numbers in, numbers out, as in equations.py, whose letters and signs hold here too.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, ndtr
from scipy.special import logit as scipy_logit

from likewise.model.equations import Sites, inverse_root, triangle_product

Array = NDArray[np.float64]

# --- Exact predictions -----------------------------------------

# A logistic variable is N(0, (2 K)^2) with K of Kolmogorov's distribution. These are
# the nodes and weights of the 8-point Gauss rule for s = 2 K. With them the two
# integrals below are right to 1e-6 for every mean and variance; 32-point Gauss-Hermite
# is wrong by 0.01 at a variance of 100.
_SCALES = np.array(
    [
        0.8697317113080806,
        1.205273322432056,
        1.6490012548814472,
        2.2173123059355078,
        2.897633003313403,
        3.681523026403214,
        4.587718946529258,
        5.697865406948679,
    ]
)
_SHARES = np.array(
    [
        3.4752693585999667e-02,
        2.5691488566990922e-01,
        3.9984598367007784e-01,
        2.3750075313828767e-01,
        6.3700236510726607e-02,
        7.0411609032097764e-03,
        2.4297971140385601e-04,
        1.3068103848281641e-06,
    ]
)


def sigmoid(x: Array) -> Array:
    """sigma(x) = 1 / (1 + exp(-x))."""
    return np.asarray(expit(x))


def logit(p: Array) -> Array:
    """The inverse of sigma."""
    return np.asarray(scipy_logit(p))


def predictive_probability(latent_mean: Array, latent_variance: Array) -> Array:
    """Pr(+) = integral of sigma(-f) N(f; m, v) df = E_s Phi(-m / sqrt(v + s^2))."""
    p_same = np.zeros_like(latent_mean)
    for scale, share in zip(_SCALES, _SHARES, strict=True):
        p_same += share * ndtr(-latent_mean / np.sqrt(latent_variance + scale**2))
    return p_same


def corrected_probability(p_same: Array, shift: float, slope: float) -> Array:
    """sigma(shift + slope logit P): a prediction as it comes true."""
    return sigmoid(shift + slope * logit(p_same))


def expected_entropy(latent_mean: Array, latent_variance: Array) -> Array:
    """Integral of H(sigma(f)) N(f; m, v) df = E_s s^2 N(m; 0, v + s^2).

    For dH/df = -f sigma'(f), and sigma' is the mixture of N(f; 0, s^2) over s.
    """
    result = np.zeros_like(latent_mean)
    for scale, share in zip(_SCALES, _SHARES, strict=True):
        spread = latent_variance + scale**2
        density = np.exp(-(latent_mean**2) / (2 * spread)) / np.sqrt(2 * np.pi * spread)
        result += share * scale**2 * density
    return result


def squared_distance_deviation(squared_distance: Array, variance: Array) -> Array:
    """Standard deviation of a distance, from its square's variance.

    For R = sqrt(Q): the delta method sd(Q) / (2 R), never more than sd(Q)^(1/2), which
    is what is left of it where the distance itself is zero.
    """
    deviation = np.sqrt(variance)
    slope = 2 * np.sqrt(squared_distance)
    floor = np.sqrt(deviation) + np.finfo(float).tiny
    return np.asarray(deviation / np.maximum(slope, floor))


# --- The tight Gaussian bound -----------------------------------
#
# Jaakkola's bound costs tens of nats where squared distances are large, and then
# misleads the choice of delta. The best Gaussian phi maximises
#   <log Pr(S, D | gamma)> - KL(phi || prior)
# with the expectation itself. With the mixture above it has a closed form too.
# A `site` stands for one pair: exp(pull f - curvature f^2 / 2).


def expected_softplus(
    latent_mean: Array, latent_variance: Array
) -> tuple[Array, Array, Array]:
    """E log(1 + exp f), and its first two derivatives in the mean of f.

    These are <sigma(f)> and <sigma'(f)>; sigma' is the mixture of N(f; 0, s^2).
    """
    spread = np.sqrt(latent_variance + _SCALES[:, None] ** 2)
    ratio = latent_mean / spread
    below = ndtr(ratio)
    density = np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
    softplus = _SHARES @ (latent_mean * below + spread * density)
    return softplus, _SHARES @ below, _SHARES @ (density / spread)


def tight_bound(
    targets: Array,
    pair_weights: Array,
    latent_mean: Array,
    latent_variance: Array,
    *,
    right: Array | None = None,
) -> tuple[float, Sites]:
    """<log Pr(S, D)>, exact, and the sites that follow it.

    Curvature w <sigma'(f)>; pull: the slope of <log Pr> in m, plus curvature m. With
    `right`, how likely each label is right, a label may be a slip: see `slip_bound`.
    """
    softplus, p_different, slope = expected_softplus(latent_mean, latent_variance)
    value = pair_weights @ (latent_mean / 2 - softplus) - targets @ latent_mean
    curvature = pair_weights * slope
    force = -targets - pair_weights * (p_different - 0.5)
    if right is not None:
        at = np.flatnonzero(right < 1)
        labels, counts = np.sign(targets[at]), pair_weights[at]
        spared, eased, straightened = slip_bound(
            right[at], labels * latent_mean[at], latent_variance[at]
        )
        value += counts @ spared
        force[at] += counts * labels * eased
        # Where a slip is likelier than not the likelihood bends the other way: its
        # site has a pull and no curvature, since no Gaussian has a negative one.
        curvature[at] = np.maximum(curvature[at] - counts * straightened, 0.0)
    return float(value), (curvature, force + curvature * latent_mean)


def slip_bound(
    right: Array, against: Array, latent_variance: Array
) -> tuple[Array, Array, Array]:
    """What a label that may be a slip has beside <log sigma(-y f)>, exact.

    Pr(y | f) = q sigma(-y f) + (1 - q) sigma(y f) is sigma(-y f) times
    q (1 + exp(y f - logit q)). Given E y f, the expected logarithm of the latter, and
    its two derivatives in E y f.
    """
    softplus, slope, curvature = expected_softplus(
        against - scipy_logit(right), latent_variance
    )
    return np.log(right) + softplus, slope, curvature


# --- The whole matrix -------------------------------------------
#
# f = s u'A_0 u + u'Du - t: an uncertain scale s of the prior metric A_0, a free
# symmetric matrix D with precision delta in the Frobenius norm, a threshold t.
# Linear in (t, s, D), so the same bounds serve.


def matrix_features(gaps: Array, *before: Array) -> Array:
    """vech(u u') with off-diagonal entries times sqrt 2: inner products are (u'w)^2.

    After the columns `before`, if any. Each column is contiguous: a fifth of the time
    that rows take, and products of either are as fast.
    """
    size = gaps.shape[1]
    features = np.empty((len(before) + size * (size + 1) // 2, len(gaps)))
    for column, given in zip(features, before, strict=False):
        column[:] = given
    gaps = np.ascontiguousarray(gaps.T)
    doubled, place = np.sqrt(2) * gaps, len(before)
    for k in range(size):
        np.multiply(gaps[k], gaps[k], out=features[place])
        end = place + size - k
        np.multiply(gaps[k], doubled[k + 1 :], out=features[place + 1 : end])
        place = end
    return features.T


def symmetric_matrix(entries: Array, size: int) -> Array:
    """The symmetric D whose u'Du is entries . matrix_features(u); or many, (..., n)."""
    rows, columns = np.triu_indices(size)
    halved = np.where(rows == columns, entries, entries / np.sqrt(2))
    matrix = np.zeros((*entries.shape[:-1], size, size))
    matrix[..., rows, columns] = halved
    matrix[..., columns, rows] = halved
    return matrix


def matrix_entries(matrices: Array) -> Array:
    """Entries of symmetric matrices, (..., n, n), as matrix_features orders them."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    factor = np.where(rows == columns, 1.0, np.sqrt(2))
    return np.asarray(matrices[..., rows, columns] * factor)


def quadratic_form(gaps: Array, matrix: Array) -> Array:
    """u'Au of every pair."""
    return np.asarray(np.einsum("ij,ij->i", gaps @ matrix, gaps))


def pair_posterior(
    covariance: Array, prior_latent: Array, curvature: Array, pull: Array
) -> tuple[Array, Array, float]:
    """alpha, R with R'R the inverse of B, and log |B|, in as many dimensions as pairs.

    `covariance` is C, of f over the pairs before any answer, `prior_latent` its mean.
    B = I + W C W with W = diag(curvature)^(1/2);
    alpha = (I + W^2 C)^-1 (pull - W^2 prior_latent); the mean of f is f_0 + C alpha.
    """
    half = np.sqrt(curvature)
    B = covariance * half
    B *= half[:, None]
    B[np.diag_indices_from(B)] += 1.0
    root, log_determinant = inverse_root(B)
    force = pull - curvature * prior_latent
    alpha = force - half * (root.T @ (root @ (half * (covariance @ force))))
    return alpha, root, log_determinant


def pair_variance(covariance: Array, curvature: Array, root: Array) -> Array:
    """Diagonal of C - C W B^-1 W C = W^-1 (I - B^-1) W^-1.

    The second form costs nothing, but loses digits where W^2 C is small.
    """
    variance = np.diag(covariance).copy()
    is_told = curvature * variance > 1e-7
    left = np.einsum("ij,ij->j", root, root)[is_told]
    variance[is_told] = (1 - left) / curvature[is_told]
    halves = np.sqrt(curvature)[:, None] * covariance[:, ~is_told]
    hardly = triangle_product(root, halves)
    variance[~is_told] -= np.einsum("ij,ij->j", hardly, hardly)
    return np.maximum(variance, 0.0)


def pair_divergence(
    alpha_form: float, log_determinant: float, curvature: Array, variance: Array
) -> float:
    """KL(phi || prior) = (alpha'C alpha + log |B| - sum curvature v) / 2."""
    return (alpha_form + log_determinant - float(curvature @ variance)) / 2


# --- The evidence chooses the prior's settings -------------------------------------
#
# At the best phi, the slope of the lower bound in a setting is that of
# -KL(phi || prior) with phi held.


def precision_slope(
    n_determined: float, squared_norm: float, precision: float
) -> float:
    """Slope in log delta: (n - delta |gamma - gamma_0|^2) / 2.

    n is how many weights the pairs determine: the sum over weights of 1 - delta
    Sigma_ii.
    """
    return (n_determined - precision * squared_norm) / 2


def part_slope(form: float, determined: float) -> float:
    """Slope in the logarithm of a factor of one part F of the covariance of f.

    `form` is alpha'F alpha, `determined` tr W B^-1 W F: see pair_posterior.
    """
    return (form - determined) / 2


def determined_trace(part: Array | csr_array, half: Array, root: Array) -> float:
    """tr W B^-1 W F for a part F of the covariance of f: see pair_posterior.

    With W = diag(half) and B^-1 = R'R. Of a sparse part only what is there is summed.
    """
    if isinstance(part, np.ndarray):
        inverse = np.asarray(root.T @ root)
        inverse *= part
        return float(half @ inverse @ half)
    columns = half[:, None] * root.T
    return float(np.vdot(columns, part @ columns))


def scale_slope(mean: float, variance: float, scale: float, deviation: float) -> float:
    """Slope in log c for s ~ N(c, (r c)^2), of posterior mean and variance; r c given.

    -KL is -(v + (m - c)^2) / (2 r^2 c^2) - log c, and constants.
    """
    gap = mean - scale
    return (variance + gap**2 + gap * scale) / deviation**2 - 1.0


def part_curvature(determined: float) -> float:
    """What -d^2 / d(log factor)^2 of the bound is expected to be, about.

    The Fisher information is half the sum of squared shares, where `determined` is the
    sum of the shares; they are taken to be spread evenly from 0 to 1, and one half of
    the sum stands for two thirds of it.
    """
    return determined / 4


def scale_curvature(variance: float, scale: float, deviation: float) -> float:
    """The same in log c of `scale_slope`: the Fisher information.

    With h = 1 - v / (r c)^2, the share of s that the pairs determine: h / r^2 of the
    mean of s, and 2 h^2 of its deviation.
    """
    share = max(0.0, 1 - variance / deviation**2)
    return share * (scale / deviation) ** 2 + 2 * share**2


# --- A prior from the unlabelled items --------------------------


def distance_correlation(A: Array, B: Array, scatter: Array) -> float:
    """Correlation of u'Au and u'Bu over u ~ N(0, C).

    tr ACBC / (tr ACAC tr BCBC)^(1/2); 1 where nothing has any distance.
    """
    first, second = A @ scatter, B @ scatter
    together = float(np.sum(first * second.T))
    alone = float(np.sum(first * first.T)) * float(np.sum(second * second.T))
    return together / float(np.sqrt(alone)) if alone > 0 else 1.0


def ledoit_wolf_shrinkage(centred: Array, covariance: Array) -> float:
    """How far a covariance of items around zero is to be shrunk to a multiple of 1.

    b / d of Ledoit and Wolf (2004): b is the mean square by which x x' of an item is
    off the covariance S, over the number of items; d is how far S is off mu 1.
    """
    n_items, size = centred.shape
    if size == 1:
        return 0.0
    lengths = np.einsum("ij,ij->i", centred, centred)
    square, mean = float(np.vdot(covariance, covariance)), np.trace(covariance) / size
    off = square - size * float(mean) ** 2
    chance = (float(lengths @ lengths) / n_items - square) / n_items
    return min(max(chance, 0.0) / off, 1.0) if chance > 0 and off > 0 else 0.0


def agreement_weights(agreement: Array) -> Array:
    """h / (1.1 - h): between over within, for the share h of a direction's variance.

    h is what is left of a whitened direction after it is smoothed over neighbours: 1
    where neighbours agree, 0 where they are as different as strangers. The 1.1 keeps
    the weight finite.
    """
    return agreement / (1.1 - agreement)


# --- A prior from the classes of items --------------------------


def neighbour_likelihood(
    metric_weights: Array,
    squared_distances: Array,
    counts: Array,
    is_same: NDArray[np.bool_],
    item_weights: Array,
) -> tuple[float, Array]:
    """Sum of w_i log P(the neighbour of i is of its class), and its slope in v.

    P(j | i) is proportional to c_j exp(-sum_m v_m d_m(i, j)^2), over the candidates j.
    """
    latent = squared_distances @ metric_weights  # (n_queries, n_candidates)
    nearest = np.where(counts > 0, latent, np.inf).min(axis=1, keepdims=True)
    # A double may lie nearer than the nearest by rounding alone.
    likely = counts * np.exp(np.minimum(nearest - latent, 0.0))
    # Where every classmate is far out of reach there is no slope, and no logarithm.
    everyone, same = likely.sum(axis=1), (likely * is_same).sum(axis=1)
    same = np.maximum(same, 1e-12 * everyone)
    value = item_weights @ np.log(same / everyone)
    pull = likely * (is_same / same[:, None] - 1 / everyone[:, None])
    pull *= item_weights[:, None]
    n_metrics = len(metric_weights)
    slope = -pull.ravel() @ squared_distances.reshape(-1, n_metrics)
    return float(value), np.asarray(slope)
