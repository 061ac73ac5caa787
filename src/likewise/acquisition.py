"""What an answer to each candidate pair would be worth. Higher: ask sooner.

An acquisition sees a posterior and the candidates' features, nothing else: it never
fits, and it does not choose.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise import equations
from likewise.errors import InputError
from likewise.posterior import MetricPosterior

Array = NDArray[np.float64]
Acquisition = Callable[[MetricPosterior, Array], Array]


def random(posterior: MetricPosterior, features: Array) -> Array:
    """Give every pair the same score: ties are broken at random."""
    return np.zeros(len(features))


def mean_entropy(posterior: MetricPosterior, features: Array) -> Array:
    """Entropy (12) of the answer that the mean metric predicts (13): BAYES+ACT."""
    return equations.label_entropy(
        equations.mean_probability(posterior.latent(features)[0])
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
    """Information, in nats, that the answer is expected to give about the metric."""
    return equations.mutual_information(*posterior.latent(features))


ACQUISITIONS: dict[str, Acquisition] = {
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
