"""The network's parts, each against what it stands for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.features.network import EPSILON, fold_norm, same_padding


def test_a_folded_convolution_does_what_it_and_its_norm_did(rng):
    """On one pixel a convolution is a matrix: written out, with the norm behind it."""
    kernel = rng.normal(size=(4, 3, 1, 1))
    weights = {
        "n.weight": rng.normal(size=4),
        "n.bias": rng.normal(size=4),
        "n.running_mean": rng.normal(size=4),
        "n.running_var": rng.uniform(0.5, 2, size=4),
    }
    x = rng.normal(size=3)

    folded, bias = fold_norm(kernel, weights, "n")

    plain = kernel[:, :, 0, 0] @ x
    spread = np.sqrt(weights["n.running_var"] + EPSILON)
    normed = (plain - weights["n.running_mean"]) / spread
    expected = normed * weights["n.weight"] + weights["n.bias"]
    assert_allclose(folded[:, :, 0, 0] @ x + bias, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pads"),
    [
        (224, 3, 2, [0, 0, 1, 1]),  # even sizes need one zero: it stands behind
        (112, 3, 1, [1, 1, 1, 1]),
        (56, 5, 2, [1, 1, 2, 2]),
        (14, 5, 1, [2, 2, 2, 2]),
        (7, 1, 1, [0, 0, 0, 0]),
    ],
)
def test_padding_leaves_size_by_stride(size, kernel, stride, pads):
    """As many pixels come out as go in, divided by the stride."""
    assert same_padding(size, kernel, stride) == pads

    before, after = pads[0], pads[2]
    assert (size + before + after - kernel) // stride + 1 == -(-size // stride)
