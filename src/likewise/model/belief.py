"""The weighted mixture of what several priors have learned: what everybody asks.

A belief answers for its members as one: P(same) is the weighted mean of theirs, the
mean metric the weighted mean of their matrices in a common unit. Frozen: more answers
give a new one.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likewise.digits import settled
from likewise.model import equations, matrix
from likewise.model.calibration import Calibration
from likewise.model.posterior import MetricPosterior, Moments

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]


@dataclass(frozen=True)
class Member:
    """One prior with its posterior and its weight in the belief."""

    name: str
    weight: float
    posterior: MetricPosterior


@dataclass(frozen=True)
class Belief:
    """What is believed of the metric, by all priors that the answers leave likely.

    `features` is what the basis gives for pairs. With `pairs`, the numbers of their
    items, a belief knows the items that were asked about; without, they are new.
    """

    members: tuple[Member, ...]  # heaviest first
    pairs: Pairs | None = None  # of the features it will be asked about, if known
    calibration: Calibration = Calibration()  # what came true makes of P(same)

    def knowing(self, pairs: Pairs) -> Self:
        """The same belief, for features of these pairs of known items."""
        return replace(self, pairs=pairs)

    def corrected(self, calibration: Calibration) -> Self:
        """The same belief, its P(same) corrected by what came true."""
        return replace(self, calibration=calibration)

    @property
    def weights(self) -> Array:
        """Of the members; they add up to 1."""
        return np.array([member.weight for member in self.members])

    @property
    def metric_weights(self) -> Array:
        """Of the members' metrics in the mean metric, each as its own unit has it."""
        return self.weights * self._factors

    @property
    def threshold(self) -> float:
        """Squared distance, at the mean metric, where P(same) is 1/2."""
        thresholds = [each.posterior.threshold for each in self.members]
        return float(self.metric_weights @ thresholds)

    @property
    def width(self) -> int:
        """Numbers that a prediction holds for each pair."""
        return max(each.posterior.width for each in self.members)

    def latent(self, features: Array, pairs: Pairs | None = None) -> Moments:
        """Mean and variance of f for each member and pair, (n_members, n_pairs)."""
        pairs = self.pairs if pairs is None else pairs
        moments = [each.posterior.latent(features, pairs) for each in self.members]
        means, variances = zip(*moments, strict=True)
        return np.array(means), np.array(variances)

    def latent_mean(self, features: Array, pairs: Pairs | None = None) -> Array:
        """Mean of f for each member and pair, (n_members, n_pairs)."""
        pairs = self.pairs if pairs is None else pairs
        return np.array(
            [each.posterior.latent_mean(features, pairs) for each in self.members]
        )

    def probability_same(self, features: Array, pairs: Pairs | None = None) -> Array:
        """P(same) of each pair, doubt about members and metric included."""
        p_same = self._mix(matrix.predictive_probability(*self.latent(features, pairs)))
        return self.calibration.correct(p_same)

    def mean_probability(self, features: Array, pairs: Pairs | None = None) -> Array:
        """P(same) of each pair by the members' mean metrics: (13)."""
        return self._mix(equations.mean_probability(self.latent_mean(features, pairs)))

    def laplace_probability(self, features: Array) -> Array:
        """P(same) of each pair by Laplace's approximation: (14) to (16)."""
        return self._mix(
            np.array([_laplace(each.posterior, features) for each in self.members])
        )

    def information(self, features: Array, pairs: Pairs | None = None) -> Array:
        """What the answer to each pair should tell of members and metric, in nats."""
        moments = self.latent(features, pairs)
        p_same = self._mix(matrix.predictive_probability(*moments))
        left = self._mix(matrix.expected_entropy(*moments))
        return np.maximum(equations.label_entropy(p_same) - left, 0.0)

    def probability_deviation(
        self, features: Array, pairs: Pairs | None = None
    ) -> Array:
        """Standard deviation of P(same) over members and metric, for each pair."""
        moments = self.latent(features, pairs)
        p_same = self._mix(matrix.predictive_probability(*moments))
        # E p - E p^2 is <sigma'(f)>.
        slopes = [
            matrix.expected_softplus(mean, variance)[2]
            for mean, variance in zip(*moments, strict=True)
        ]
        slope = self._mix(np.array(slopes))
        return np.sqrt(np.maximum(p_same * (1 - p_same) - slope, 0.0))

    def squared_distance(self, features: Array) -> Moments:
        """Mean and variance of the squared distance, for each pair."""
        moments = [each.posterior.squared_distance(features) for each in self.members]
        factors = self._factors[:, None]
        means = factors * np.array([mean for mean, _ in moments])
        mean = self._mix(means)
        within = self._mix(factors**2 * np.array([each for _, each in moments]))
        return mean, within + self._mix((means - mean) ** 2)

    def mean_matrix(self) -> Array:
        """The weighted mean of the members' matrices, in the basis' coordinates.

        Neighbours do not depend on the unit of a metric, and so the mean must not: a
        member's is large where nearest neighbours lie hardly nearer than others.
        """
        matrices = np.array([each.posterior.mean_matrix() for each in self.members])
        return np.asarray(np.tensordot(self.metric_weights, matrices, axes=1))

    def root(self) -> Array:
        """L with L'L the mean metric, in the basis' coordinates, heaviest row first.

        Negative eigenvalues, which no distance can have, count as zero and are left
        out.
        """
        values, vectors = np.linalg.eigh(self.mean_matrix())
        vectors = settled(values, vectors)
        kept = max(1, int(np.sum(values > 1e-12 * np.abs(values).max())))
        values, vectors = values[::-1][:kept], vectors[:, ::-1][:, :kept]
        return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)

    @property
    def mean(self) -> Array:
        """Posterior means of threshold and weights, (1 + n_weights,)."""
        return self._mix(self._means)

    @property
    def covariance(self) -> Array:
        """Posterior covariance of threshold and weights."""
        gaps = self._means - self.mean
        between = (gaps * self.weights[:, None]).T @ gaps
        counts = self.weights * self._factors**2
        within = [
            count * each.posterior.covariance
            for count, each in zip(counts, self.members, strict=True)
        ]
        return np.asarray(between + sum(within))

    def sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw thresholds and weights, shape (n_samples, 1 + n_weights)."""
        counts = rng.multinomial(n_samples, self.weights / self.weights.sum())
        drawn = zip(self.members, self._factors, counts, strict=True)
        draws = [
            factor * each.posterior.sample(int(n_drawn), rng)
            for each, factor, n_drawn in drawn
            if n_drawn
        ]
        return np.concatenate(draws)[rng.permutation(n_samples)]

    @property
    def _means(self) -> Array:
        """Of each member, in the common unit, (n_members, 1 + n_weights)."""
        means = np.array([each.posterior.mean for each in self.members])
        return np.asarray(self._factors[:, None] * means)

    @property
    def _factors(self) -> Array:
        """What brings each member's metric to the common unit; their mean is 1."""
        units = np.array([each.posterior.unit for each in self.members])
        return np.asarray(self.weights.sum() / (units * (self.weights @ (1 / units))))

    def _mix(self, values: Array) -> Array:
        """The weighted mean over members, along the first axis."""
        return np.asarray(np.tensordot(self.weights, values, axes=1))


def _laplace(posterior: MetricPosterior, features: Array) -> Array:
    plus, minus = posterior.laplace_latent(features)
    return equations.laplace_probability(*posterior.latent(features), plus, minus)
