"""The paper's two testbeds: where their items come from, and one draw of each.

A source is everything that a testbed can be drawn from. It is made once and kept as
one file beside the results, so that every worker reads the same numbers.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.features.paper import Progress, folder_features

Array = NDArray[np.float64]
Classes = NDArray[np.intp]
Say = Callable[[str], None]
Fetch = Callable[[], tuple[Array, Classes]]

TESTBEDS = ("corel", "isolet")
COREL_CATEGORIES = ("africa", "beach", "buildings", "elephants", "mountains")
N_LETTERS = 10  # the classes of isolet: A to J
PER_CLASS = 100
PCA_SIZE = 200


@dataclass(frozen=True)
class Source:
    """All items that a testbed is drawn from."""

    testbed: str
    X: Array  # (n_items, n_features)
    y: Classes  # (n_items,), classes 0, 1, 2...
    origin: str  # where the numbers come from, in words
    is_standin: bool  # whether these are not the paper's items at all


def data_folder() -> Path:
    """The folder with the data: LIKEWISE_DATA, or else data/."""
    return Path(os.environ.get("LIKEWISE_DATA", "data"))


def prepare_source(
    testbed: str,
    out: Path,
    *,
    say: Say = print,
    progress: Progress | None = None,
    fetch: Fetch | None = None,
) -> Path:
    """Make the file of a testbed's source, unless it is there; give its path.

    What was once prepared stays: runs that are resumed must see the same items.
    `fetch` gives isolet's items and classes where the data folder has none.
    """
    path = out / f"{testbed}-items.npz"
    if path.exists():
        return path
    if testbed == "corel":
        source = _find_corel(say, progress)
    else:
        source = _find_isolet(say, fetch)
    out.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez_compressed(
        unfinished,
        X=source.X,
        y=source.y,
        origin=source.origin,
        is_standin=source.is_standin,
    )
    unfinished.replace(path)
    return path


@functools.lru_cache(maxsize=4)
def read_source(path: Path) -> Source:
    """Read what `prepare_source` wrote; each process reads a file once."""
    with np.load(path) as stored:
        return Source(
            testbed=path.name.removesuffix("-items.npz"),
            X=stored["X"].astype(float),
            y=stored["y"].astype(np.intp),
            origin=str(stored["origin"]),
            is_standin=bool(stored["is_standin"]),
        )


def draw_items(source: Source, seed: int) -> tuple[Array, Classes]:
    """Items and classes of one draw: 100 a class, as section 5.1 prepares them.

    Corel's features are z-scored; isolet is reduced to 200 principal components. Where
    a class has no more than 100 items, all are taken, in their order.
    """
    rng = np.random.default_rng(seed)
    counts = np.bincount(source.y)
    if counts.max() <= PER_CLASS:
        rows = np.arange(len(source.y))
    else:
        kinds = [np.flatnonzero(source.y == k) for k in range(len(counts))]
        rows = np.concatenate([rng.choice(k, PER_CLASS, replace=False) for k in kinds])
    X, y = source.X[rows], source.y[rows]
    return (_z_scores(X) if source.testbed == "corel" else _principal(X)), y


def _z_scores(X: Array) -> Array:
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _principal(X: Array) -> Array:
    """The leading principal components, at most 200."""
    centred = X - X.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:PCA_SIZE]
    return np.asarray(centred @ directions.T)


def _find_corel(say: Say, progress: Progress | None) -> Source:
    """Corel from the pictures, or from ready features, or digits in its place."""
    folder = data_folder()
    pictures = folder / "corel"
    if all((pictures / name).is_dir() for name in COREL_CATEGORIES):
        return _corel_from_pictures(pictures, progress)
    if (folder / "corel36.npz").exists():
        say(f"corel: no pictures in {pictures}; taking the features of corel36.npz.")
        return ready_corel(folder / "corel36.npz")
    say(
        f"corel: put the five Corel categories ({', '.join(COREL_CATEGORIES)}) as "
        f"folders of pictures into {pictures}/, or name the folder above it in "
        "LIKEWISE_DATA. RUNNING ON DIGITS INSTEAD: these are not the paper's items."
    )
    return _digits("corel", len(COREL_CATEGORIES))


def _corel_from_pictures(pictures: Path, progress: Progress | None) -> Source:
    paths, y = [], []
    for k, name in enumerate(COREL_CATEGORIES):
        found = sorted((pictures / name).glob("*.jpg"), key=_by_number)
        if len(found) < PER_CLASS:
            raise InputError(
                f"{pictures / name} must hold at least {PER_CLASS} pictures (.jpg). "
                f"Got {len(found)}."
            )
        paths += found
        y += [k] * len(found)
    return Source(
        "corel",
        folder_features(paths, progress=progress),
        np.array(y),
        f"{len(paths)} photographs, features computed by likewise.features.paper",
        False,
    )


def _by_number(path: Path) -> tuple[int, str]:
    return (int(path.stem) if path.stem.isdigit() else 0, path.stem)


def ready_corel(path: Path) -> Source:
    """Corel from a file of ready features."""
    with np.load(path) as stored:
        y = np.unique(stored["y"], return_inverse=True)[1]
        X = stored["X"].astype(float)
    return Source("corel", X, y, "ready features, corel36.npz", False)


def _find_isolet(say: Say, fetch: Fetch | None) -> Source:
    """Isolet from the data folder, or from OpenML, or digits in its place."""
    path = data_folder() / "isolet.npz"
    if path.exists():
        with np.load(path) as stored:
            return _letters(stored["X"], stored["y"], "UCI ISOLET, isolet.npz")
    if fetch is not None:
        say(f"isolet: {path} is not there; fetching it from OpenML.")
        try:
            return _letters(*fetch(), "UCI ISOLET, from OpenML")
        except (OSError, ValueError) as error:
            say(f"isolet: OpenML did not give it ({error}).")
    say(
        f"isolet: put isolet.npz (X: 7797 x 617, y: 1 to 26) into {data_folder()}/, or "
        "name its folder in LIKEWISE_DATA. RUNNING ON DIGITS INSTEAD: these are not "
        "the paper's items."
    )
    return _digits("isolet", N_LETTERS)


def fetch_isolet() -> tuple[Array, Classes]:
    """Isolet from OpenML: items, and classes 1 to 26."""
    from sklearn.datasets import fetch_openml

    stored = fetch_openml("isolet", version=1, as_frame=False)
    # OpenML writes the classes as text, '1' or '1.'.
    return stored.data, np.asarray(stored.target, dtype=float).astype(np.intp)


def _letters(X: Array, y: Classes, origin: str) -> Source:
    chosen = (y >= 1) & (y <= N_LETTERS)
    return Source("isolet", X[chosen], y[chosen].astype(np.intp) - 1, origin, False)


def _digits(testbed: str, n_classes: int) -> Source:
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=n_classes, return_X_y=True)
    return Source(testbed, X, y, "scikit-learn's digits, NOT the paper's items", True)
