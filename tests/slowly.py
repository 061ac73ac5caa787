"""The whole matrix's model, written slowly: what f is made of, one pair at a time."""

import numpy as np


def parameter_features(prior, gaps):
    """What threshold, scale and free entries are multiplied by in f."""
    rows = []
    for gap in gaps:
        squared = sum(a * u**2 for a, u in zip(prior.centre, gap, strict=True))
        relative = (squared - prior.offset) / (1 - prior.offset)
        # Entries stand once for each pair of coordinates: a product off the diagonal
        # stands twice in u'Du, and has the Frobenius norm's weight.
        products = [
            gap[i] * gap[j] * (1 if i == j else np.sqrt(2))
            for i in range(len(gap))
            for j in range(i, len(gap))
        ]
        rows.append([-1.0, relative, *products])
    return np.array(rows)


def item_features(gaps, pairs, n_items):
    """What each item's e is multiplied by in f: its pair's gap, or minus that."""
    n_basis = gaps.shape[1]
    rows = np.zeros((len(pairs), n_items, n_basis))
    for row, (i, j), gap in zip(rows, pairs, gaps, strict=True):
        row[i] += gap
        row[j] -= gap
    return rows.reshape(len(pairs), -1)
