"""What an answer to each candidate pair would be worth. Higher: ask sooner.

An acquisition sees a posterior and the candidates' features, nothing else: it never
fits, and it does not choose.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.model import equations, matrix
from likewise.model.posterior import MetricPosterior

Array = NDArray[np.float64]
Acquisition = Callable[[MetricPosterior, Array], Array]


def random(posterior: MetricPosterior, features: Array) -> Array:
    """Give every pair the same score: ties are broken at random."""
    return np.zeros(len(features))


def mean_entropy(posterior: MetricPosterior, features: Array) -> Array:
    """Entropy (12) of the answer that the mean metric predicts (13): BAYES+ACT."""
    return equations.label_entropy(
        equations.mean_probability(posterior.latent_mean(features))
    )


def laplace_entropy(posterior: MetricPosterior, features: Array) -> Array:
    """Entropy (12) of the Laplace probability (14)-(16): BAYES+VAR."""
    moments = posterior.latent(features)
    plus, minus = posterior.laplace_latent(features)
    return equations.label_entropy(equations.laplace_probability(*moments, plus, minus))


def entropy(posterior: MetricPosterior, features: Array) -> Array:
    """Entropy, in nats, of the predicted answer, doubt about the metric included."""
    return equations.label_entropy(posterior.probability_same(features))


def information(posterior: MetricPosterior, features: Array) -> Array:
    """Information, in nats, that the answer should give of metric and items."""
    return matrix.mutual_information(*posterior.latent(features))


def batch(posterior: MetricPosterior, features: Array) -> Array:
    """Entropy of the mean metric's answer plus P(same): doubtful, and rather same.

    "Same" joins what is known and implies more; the variance is left out, for it grows
    as the fourth power of the gap and makes plain far pairs look doubtful.
    """
    p_same = equations.mean_probability(posterior.latent_mean(features))
    return np.asarray(equations.label_entropy(p_same) + p_same)


def favourite(acquisition: Acquisition) -> float:
    """The latent value that scores highest, as far as one is known."""
    # H(p) + p is largest at p = e / (1 + e), which is sigma(1).
    return -1.0 if acquisition is batch else 0.0


ACQUISITIONS: dict[str, Acquisition] = {
    "batch": batch,
    "random": random,
    "mean-entropy": mean_entropy,
    "laplace-entropy": laplace_entropy,
    "entropy": entropy,
    "information": information,
}


def find_acquisition(choice: str | Acquisition) -> Acquisition:
    """Give the acquisition of this name, or the callable itself."""
    if callable(choice):
        return choice
    if choice not in ACQUISITIONS:
        raise InputError(
            f"'acquisition' must be one of {tuple(ACQUISITIONS)} or a callable "
            f"(posterior, features) -> scores. Got {choice!r}."
        )
    return ACQUISITIONS[choice]
