"""How a pair becomes the numbers that a metric weighs.

A basis takes items to coordinates in which the mean squared distance over all pairs
is 1; only there do a prior mean of 1 ("Euclidean") and a prior precision have a
meaning. It knows nothing of labels. Sums run over blocks of rows: no second copy of X.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.digits import (
    GRID_PAIRS,
    LENGTH_BITS,
    NO_TURN,
    gaps_on_grid,
    rounded,
    turned,
)
from likewise.errors import InputError
from likewise.model import equations

Array = NDArray[np.float64]
BASES = ("eigen", "axes", "full")
# Rows of X that are worked on at once.
BLOCK_ROWS = 10_000
# Steps of a basis that may be turned at will, the coarsest first: the features' axes.
COARSE = (NO_TURN, -4, -8, -12, -16)
# Gaps on a grid may be so much farther off along an eigenvector than on its own grid.
MOST_LOST = 8.0


@dataclass(frozen=True)
class Basis:
    """Coordinates of items: z = (x - centre) @ directions."""

    kind: str
    centre: Array  # (n_features,)
    directions: Array  # (n_features, n_basis)

    def project(self, X: Array) -> Array:
        """Coordinates of the items, shape (n_items, n_basis)."""
        coordinates = np.empty((len(X), self.directions.shape[1]))
        for rows in _blocks(len(X)):
            coordinates[rows] = (X[rows] - self.centre) @ self.directions
        return coordinates

    def features(self, gaps: Array) -> Array:
        """What the metric weighs, from the gaps between the items of each pair.

        The whole matrix weighs all products of gaps; the posterior forms them.
        """
        return gaps if self.kind == "full" else equations.pair_features(gaps)

    def turned(self, squares: Array) -> tuple["Basis", Array]:
        """Turned to where few bits tell it, and the rotation to there.

        `squares` are the sums of the items' squared coordinates.
        """
        # Squares of very large or small numbers leave the range of floats.
        size = float(np.abs(self.directions).max(initial=0.0)) or 1.0
        lengths = np.linalg.norm(self.directions / size, axis=0) * size
        lengths = rounded(lengths, LENGTH_BITS)
        if not lengths.all():  # items that do not vary have no direction
            return self, np.eye(len(lengths))
        units = self.directions / lengths
        turned_units = _turned(units, squares)
        directions = rounded(turned_units * lengths)
        return Basis(self.kind, self.centre, directions), units.T @ turned_units

    def labelled(self, coordinates: Array, pairs: NDArray[np.intp]) -> Array:
        """Features of labelled pairs: gaps that a posterior may keep, on a grid."""
        if self.kind == "full" and len(pairs) <= GRID_PAIRS:
            return gaps_on_grid(coordinates, pairs)
        return self.features(coordinates[pairs[:, 0]] - coordinates[pairs[:, 1]])


def _turned(units: Array, squares: Array) -> Array:
    """Orthonormal columns with the same span, by as few bits as gaps can bear.

    All varying features span what their axes span: then any rotation is as good but
    for the grid that gaps of labelled pairs are rounded to.
    """
    varying = units.any(axis=1)
    steps = COARSE if varying.sum() == units.shape[1] else ()
    made = np.zeros_like(units)
    for step in steps:
        made[varying] = turned(units[varying], step)
        if _loss((units.T @ made) ** 2, squares) <= MOST_LOST:
            return made
    made[varying] = turned(units[varying])
    return made


def _loss(shares: Array, squares: Array) -> float:
    """How much farther off a grid leaves gaps along an eigenvector, at worst.

    `shares` are the squared entries of a rotation: of eigenvectors in its columns.
    """
    off = shares @ (squares @ shares)
    told = squares > 0
    return float(np.sqrt((off[told] / squares[told]).max(initial=0.0)))


def fit_basis(
    X: Array, kind: str, n_basis: int | float | None, item_weights: Array
) -> Basis:
    """Find the basis of the items; `item_weights` counts how often each occurs."""
    centre = _weighted_mean(X, item_weights)
    # Squares of very large or small numbers leave the range of floats: divide first.
    size = _size(X, centre)
    degrees = max(item_weights.sum() - 1, 1.0)
    find = _axes if kind == "axes" else _eigenvectors
    directions, variances = find(_Centred(X, centre, size), item_weights, degrees)
    n_kept = _n_kept(variances, n_basis)
    directions, variances = directions[:, :n_kept], variances[:n_kept]
    # The mean squared distance over pairs of rows is twice the total variance.
    unit = np.sqrt(2 * variances.sum()) or 1.0
    return Basis(kind, centre, rounded(directions / unit / size))


def feature_deviations(X: Array, centre: Array, item_weights: Array) -> Array:
    """Standard deviation of each feature; infinite where it does not vary."""
    size = _size(X, centre)
    centred = _Centred(X, centre, size)
    variances = centred.total(lambda Z, w: np.multiply(Z**2, w).sum(0), item_weights)
    variances = variances / item_weights.sum()
    deviations = size * np.sqrt(variances)
    # What is left of a constant feature is the rounding of its mean.
    varying = deviations > 1e-12 * np.abs(centre)
    return np.where(varying, deviations, np.inf if varying.any() else 1.0)


@dataclass(frozen=True)
class _Centred:
    """Rows of X around their centre, in units of their size; made block by block."""

    X: Array
    centre: Array
    size: float

    def at(self, rows: slice) -> Array:
        return np.asarray((self.X[rows] - self.centre) / self.size)

    def total(self, part: Callable[[Array, Array], Array], weights: Array) -> Array:
        """The sum over blocks of what `part` makes of a block and its weights."""
        return _sum(
            part(self.at(rows), weights[rows, None]) for rows in _blocks(len(self.X))
        )


def _axes(
    centred: _Centred, item_weights: Array, degrees: float
) -> tuple[Array, Array]:
    """One direction for each feature that varies, in their order."""
    variances = centred.total(lambda Z, w: w[:, 0] @ Z**2, item_weights) / degrees
    varying = variances > _negligible(variances)
    if not varying.any():
        varying[0] = True
    return np.eye(len(variances))[:, varying], variances[varying]


def _eigenvectors(
    centred: _Centred, item_weights: Array, degrees: float
) -> tuple[Array, Array]:
    """Top eigenvectors of the weighted covariance, those that carry variance."""
    roots = np.sqrt(item_weights / degrees)
    wide = centred.X.shape[1] > centred.X.shape[0]
    # The smaller Gram matrix has the same eigenvalues.
    if wide:
        scaled = centred.at(slice(None)) * roots[:, None]
        gram = scaled @ scaled.T
    else:
        gram = centred.total(lambda Z, w: _gram(Z * w), roots)
    variances, vectors = np.linalg.eigh(gram)
    order = np.argsort(-variances)[
        : max(1, int(np.sum(variances > _negligible(variances))))
    ]
    variances, vectors = np.maximum(variances[order], 0.0), vectors[:, order]
    if wide:
        vectors = scaled.T @ vectors
        vectors /= np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(float).tiny)
    return _fixed_signs(vectors), variances


def _gram(Z: Array) -> Array:
    return np.asarray(Z.T @ Z)


def _weighted_mean(X: Array, item_weights: Array) -> Array:
    sums = (
        np.multiply(X[rows], item_weights[rows, None]).sum(axis=0)
        for rows in _blocks(len(X))
    )
    return np.asarray(_sum(sums) / item_weights.sum())


def _size(X: Array, centre: Array) -> float:
    """The largest number around the centre; 1 where there is none."""
    sizes = (np.abs(X[rows] - centre).max() for rows in _blocks(len(X)))
    return float(max(sizes)) or 1.0


def _blocks(n_rows: int) -> Iterator[slice]:
    """Slices of all rows, some at a time."""
    for start in range(0, max(n_rows, 1), BLOCK_ROWS):
        yield slice(start, start + BLOCK_ROWS)


def _sum(parts: Iterator[Array]) -> Array:
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def _negligible(variances: Array) -> float:
    """Below this a variance is rounding, not data."""
    return float(variances.max()) * len(variances) * np.finfo(float).eps


def _fixed_signs(vectors: Array) -> Array:
    """Turn each column so that its largest entry is positive."""
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)


def _n_kept(variances: Array, n_basis: int | float | None) -> int:
    """How many directions to keep: a number, or a share of the variance."""
    if n_basis is None:
        return len(variances)
    if isinstance(n_basis, (float, np.floating)):
        share = np.cumsum(np.sort(variances)[::-1]) / max(variances.sum(), 1e-300)
        return int(np.searchsorted(share, n_basis * (1 - 1e-12)) + 1)
    return min(int(n_basis), len(variances))


def check_basis(kind: str, n_basis: int | float | None) -> None:
    """Refuse a kind or a number of basis vectors that means nothing."""
    if kind not in BASES:
        raise InputError(f"'basis' must be one of {BASES}. Got {kind!r}.")
    if n_basis is None:
        return
    is_share = isinstance(n_basis, (float, np.floating))
    is_count = isinstance(n_basis, (int, np.integer)) and not isinstance(n_basis, bool)
    if not (is_share and 0 < n_basis <= 1) and not (is_count and n_basis >= 1):
        raise InputError(
            "'n_basis' must be None, a whole number of at least 1, or a float share "
            f"of the variance above 0 and up to 1. Got {n_basis!r}."
        )
