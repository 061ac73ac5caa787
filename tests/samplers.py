"""A sampler to judge the variational posterior by; test_inference tests its moments."""

import numpy as np


def elliptical_slice(log_likelihood, mean, deviation, n_draws, rng):
    """Draw from N(mean, deviation^2) times a likelihood, after a warm-up of a tenth.

    Murray, Adams and MacKay (2010): each step moves along a random ellipse through the
    present point and shrinks the bracket until the likelihood allows the point. It has
    no step size to tune and leaves the exact posterior invariant.
    """
    state, height = np.zeros(len(mean)), log_likelihood(mean)
    draws = np.empty((n_draws, len(mean)))
    for step in range(-n_draws // 10, n_draws):
        other = deviation * rng.standard_normal(len(mean))
        level = height + np.log(rng.uniform())
        angle = rng.uniform(0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while True:
            proposal = state * np.cos(angle) + other * np.sin(angle)
            height = log_likelihood(mean + proposal)
            if height > level:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        state = proposal
        if step >= 0:
            draws[step] = mean + state
    return draws
