"""Pictures to numbers: the paper's 36 colour, edge and texture features.

Section 5.1 of the paper names the three kinds and their total; the recipe of each
kind is our reading. Nothing here knows of pairs or metrics.
"""

import importlib
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from PIL.Image import Image

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]  # (pictures done, pictures in all)

FEATURE_NAMES = (
    *(f"{moment} {c}" for moment in ("mean", "deviation", "skew") for c in "HSV"),
    *(f"edges {20 * k}-{20 * k + 20} degrees" for k in range(18)),
    *(f"texture {b} scale {s}" for s in (3, 2, 1) for b in ("rows", "columns", "both")),
)
# Entropies grow with the number of pixels: pictures are brought to a like size first.
LONGEST_SIDE = 384
# Three levels of db4 need 56 pixels a side; less, and PyWavelets warns of its borders.
SHORTEST_SIDE = 64
# Below this many pictures, starting worker processes costs more than it saves.
FEW_PICTURES = 32


def picture_features(image: "Image") -> Array:
    """Colour, edge and texture features of a picture, shape (36,).

    Nine colour moments (mean, deviation and cube root of the third central moment of
    hue, saturation and value), the shares of 18 directions among the Canny edges, and
    the entropies, in bits, of the nine detail bands of a three-level db4 wavelet.

    Examples
    --------
    >>> from PIL import Image
    >>> from likewise.features.paper import picture_features
    >>> red = picture_features(Image.new("RGB", (80, 80), "red"))
    >>> red.shape, red[:3].tolist()  # hue, saturation, value
    ((36,), [0.0, 1.0, 1.0])
    """
    _check_libraries()
    from skimage.color import rgb2gray, rgb2hsv

    rgb = np.asarray(_plain_picture(image), dtype=float) / 255
    grey = np.asarray(rgb2gray(rgb))
    parts = colour_moments(rgb2hsv(rgb)), edge_directions(grey), band_entropies(grey)
    return np.concatenate(parts)


def folder_features(
    paths: Sequence[str | PathLike[str]],
    *,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Array:
    """Features of picture files, shape (n_pictures, 36), on all cores.

    Parameters
    ----------
    paths : sequence of paths
        The pictures, in the order wanted.
    n_jobs : int
        Processes; -1 for one a core.
    progress : callable, optional
        Called with (pictures done, pictures in all) after each picture.
    """
    _check_libraries()  # here, where the message reaches the caller, not in a worker
    from joblib import Parallel, delayed

    n_jobs = 1 if len(paths) < FEW_PICTURES else n_jobs
    workers = Parallel(n_jobs=n_jobs, return_as="generator")
    rows = workers(delayed(file_features)(path) for path in paths)
    return _collect(rows, len(paths), progress)


def file_features(path: str | PathLike[str]) -> Array:
    """Features of one picture file, shape (36,)."""
    _check_libraries()
    from PIL import Image

    try:
        with Image.open(path) as image:
            return picture_features(image)
    except OSError as error:
        raise InputError(f"Cannot read the picture {path}: {error}") from error


def colour_moments(hsv: Array) -> Array:
    """Mean, deviation and cube-rooted third moment of each channel, shape (9,)."""
    # Channel by channel, and products for powers: five times as fast.
    channels = np.ascontiguousarray(hsv.reshape(-1, 3).T)  # (3, n_pixels)
    mean = channels.mean(axis=1)
    gaps = channels - mean[:, None]
    squared = gaps * gaps
    third = (squared * gaps).mean(axis=1)
    return np.concatenate([mean, np.sqrt(squared.mean(axis=1)), np.cbrt(third)])


def edge_directions(grey: Array) -> Array:
    """Shares of 18 gradient directions among edge pixels, from 0 degrees, shape (18,).

    All zero where there is no edge.
    """
    from skimage.feature import canny
    from skimage.filters import sobel_h, sobel_v

    edges = canny(grey, sigma=1)
    angles = np.arctan2(sobel_h(grey), sobel_v(grey))[edges] % (2 * np.pi)
    counts, _ = np.histogram(angles, bins=18, range=(0, 2 * np.pi))
    return np.asarray(counts / max(1, counts.sum()))


def band_entropies(grey: Array) -> Array:
    """Entropy, in bits, of where each wavelet band has its size, shape (9,).

    Coarsest level first. A band spread evenly over the picture has the largest.
    """
    import pywt

    levels = pywt.wavedec2(grey, "db4", level=3)[1:]
    return np.array([_entropy(np.abs(band)) for bands in levels for band in bands])


def _check_libraries() -> None:
    """Name the extra to install where a library is missing."""
    for name in ("PIL", "skimage.color", "pywt"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            purpose = "Turning pictures into numbers"
            raise MissingExtraError(purpose, "images") from error


def _entropy(sizes: Array) -> float:
    """Entropy in bits of the shares; 0 where there is nothing but rounding."""
    total = sizes.sum()
    if total <= 1e-9 * sizes.size:
        return 0.0
    shares = sizes[sizes > 0] / total
    return float(-(shares * np.log2(shares)).sum())


def _plain_picture(image: "Image") -> "Image":
    """Turn the picture upright, in RGB on white, at the size features are taken at."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    size = _working_size(*image.size)
    image = image.convert("RGB")
    return image if image.size == size else image.resize(size, Image.Resampling.LANCZOS)


def _working_size(width: int, height: int) -> tuple[int, int]:
    """Width and height, smaller where too large, larger where too small."""
    shrink = min(1.0, LONGEST_SIDE / max(width, height))
    return (
        max(SHORTEST_SIDE, round(width * shrink)),
        max(SHORTEST_SIDE, round(height * shrink)),
    )


def _collect(rows: Iterable[Array], n_rows: int, progress: Progress | None) -> Array:
    features = np.empty((n_rows, len(FEATURE_NAMES)))
    for k, row in enumerate(rows):
        features[k] = row
        if progress is not None:
            progress(k + 1, n_rows)
    return features
