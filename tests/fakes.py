"""Stand-ins for whole layers."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FixedBelief:
    """A belief whose answer for a pair is read off its features."""

    variance: float = 1.0

    def latent(self, features, pairs=None):
        return features[None, :, 0], np.full((1, len(features)), self.variance)

    def probability_same(self, features, pairs=None):
        return 1 / (1 + np.exp(features[:, 0]))
