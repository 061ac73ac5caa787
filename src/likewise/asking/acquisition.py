"""What an answer to each candidate pair would be worth. Higher: ask sooner.

An acquisition sees a belief and the candidates' features, nothing else: it never fits,
and it does not choose.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.model import equations
from likewise.model.belief import Belief

Array = NDArray[np.float64]
Acquisition = Callable[[Belief, Array], Array]


def random(belief: Belief, features: Array) -> Array:
    """Give every pair the same score: ties are broken at random."""
    return np.zeros(len(features))


def mean_entropy(belief: Belief, features: Array) -> Array:
    """Entropy (12) of the answer that the mean metric predicts (13): BAYES+ACT."""
    return equations.label_entropy(belief.mean_probability(features))


def laplace_entropy(belief: Belief, features: Array) -> Array:
    """Entropy (12) of the Laplace probability (14)-(16): BAYES+VAR."""
    return equations.label_entropy(belief.laplace_probability(features))


def entropy(belief: Belief, features: Array) -> Array:
    """Entropy, in nats, of the predicted answer, doubt about all there is included."""
    return equations.label_entropy(belief.probability_same(features))


def information(belief: Belief, features: Array) -> Array:
    """Information, in nats, that the answer should give of priors, metric and items."""
    return belief.information(features)


def groups(belief: Belief, features: Array) -> Array:
    """Doubt about a pair by itself; what it would sort is for the learner to add."""
    return entropy(belief, features)


ACQUISITIONS: dict[str, Acquisition] = {
    "random": random,
    "mean-entropy": mean_entropy,
    "laplace-entropy": laplace_entropy,
    "entropy": entropy,
    "information": information,
    "groups": groups,
}


def ceiling(acquisition: Acquisition) -> float:
    """A score that no pair can exceed: a coin's toss is worth log 2 nats."""
    if acquisition in (mean_entropy, laplace_entropy, entropy):
        return float(np.log(2))
    return float("inf")


def find_acquisition(choice: str | Acquisition) -> Acquisition:
    """Give the acquisition of this name, or the callable itself."""
    if callable(choice):
        return choice
    if choice not in ACQUISITIONS:
        raise InputError(
            f"'acquisition' must be one of {tuple(ACQUISITIONS)} or a callable "
            f"(belief, features) -> scores. Got {choice!r}."
        )
    return ACQUISITIONS[choice]
