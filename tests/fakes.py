"""Stand-ins for whole layers."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FixedPosterior:
    """A posterior whose answer for a pair is read off its features."""

    variance: float = 1.0

    def latent(self, features):
        return features[:, 0], np.full(len(features), self.variance)

    def probability_same(self, features):
        return 1 / (1 + np.exp(features[:, 0]))
