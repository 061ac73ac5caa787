"""From files to items: folders of pictures or sounds, and the digits.

Tables and ready vectors are in `tables.py`. Every function here adds items to a
`Writer` as it reads them and gives back what the project needs besides.
"""

import hashlib
import io
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise import InputError
from likewise.app.records import Medium
from likewise.app.writer import Writer
from likewise.features import paper
from likewise.features.sounds import read_sound

Array = NDArray[np.float64]
Progress = Callable[[Iterable[Any], int], Iterable[Any]]
T = TypeVar("T")

PICTURES = {".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm"}
SOUNDS = {".wav"}
# Sides of a picture as shown in a question and on the map, in pixels.
PICTURE_SIZE = 512
THUMBNAIL_SIZE = 96
# Below this many files, starting a second process takes longer than it saves.
MIN_PARALLEL = 24


@dataclass
class Built:
    """What a source of items gave, besides the items themselves."""

    kind: str  # "picture", "sound", "text" or "row"
    vectors: NDArray[Any]  # (n_items, n_features)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # name, reason
    feature_names: list[str] = field(default_factory=list)  # where they mean something


@dataclass(frozen=True)
class FileRead:
    """What one file became: an item, or the reason why not."""

    path: Path
    digest: str = ""
    features: Array | None = None
    media: tuple[Medium, ...] = ()
    problem: str = ""


def from_images(folder: Path, writer: Writer, progress: Progress) -> Built:
    """Make an item of every picture in a folder and its subfolders."""
    built = _from_files(folder, PICTURES, read_picture, "picture", writer, progress)
    built.feature_names = list(paper.FEATURE_NAMES)
    return built


def from_audio(folder: Path, writer: Writer, progress: Progress) -> Built:
    """Make an item of every wav file in a folder and its subfolders."""
    return _from_files(folder, SOUNDS, _read_sound, "sound", writer, progress)


def from_digits(writer: Writer) -> Built:
    """Make items of the 1,797 handwritten digits that scikit-learn ships."""
    from PIL import Image
    from sklearn.datasets import load_digits

    digits = load_digits()
    for number, pixels in enumerate(digits.images):
        grey = 255 - np.pad(pixels, 1) * (255 / 16)
        small = Image.fromarray(grey.astype(np.uint8))
        shown = small.resize((80, 80), Image.Resampling.BICUBIC)
        data = _encode(shown, "PNG")
        media = [Medium(role, "image/png", data) for role in ("picture", "thumbnail")]
        writer.add(f"digit {number:04d}", media=media)
    return Built("picture", digits.data / 16)


def find_files(folder: Path, suffixes: set[str]) -> list[Path]:
    """Files with these suffixes, below a folder, in the order a person would list."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    found = [
        Path(parent, name)
        for parent, folders, names in os.walk(folder)
        for name in names
        if Path(name).suffix.lower() in suffixes and not name.startswith("._")
    ]
    return sorted(found, key=lambda path: natural_key(str(path.relative_to(folder))))


def natural_key(name: str) -> list[tuple[int, str]]:
    """Sort key that puts "page 9" before "page 10"."""
    return [
        (int(part), "") if part.isdigit() and part.isascii() else (-1, part)
        for part in re.split(r"(\d+)", name)
    ]


def readable(name: str) -> str:
    """A file name as text that can be stored, whatever bytes it has."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _from_files(
    folder: Path,
    suffixes: set[str],
    read: Callable[[Path], FileRead],
    kind: str,
    writer: Writer,
    progress: Progress,
) -> Built:
    paths = find_files(folder, suffixes)
    if not paths:
        raise InputError(f"No {kind} was found in {folder} ({_list(suffixes)}).")
    features, skipped = [], []
    known: dict[str, str] = {}
    for result in progress(_read_all(read, paths), len(paths)):
        name = _free_name(readable(result.path.relative_to(folder).as_posix()), known)
        problem = result.problem
        if result.digest and result.digest in known:
            problem = f"the same file as {known[result.digest]}"
        if problem:
            skipped.append((name, problem))
            continue
        known[result.digest] = name
        writer.add(name, media=result.media)
        features.append(result.features)
    if len(features) < 2:
        raise InputError(
            f"A project needs at least two items. {folder} gave {len(features)} "
            f"and {len(skipped)} broken files."
        )
    return Built(kind, standardise(np.array(features)), skipped)


def _free_name(name: str, known: dict[str, str]) -> str:
    """The name, or a variant where other bytes gave the same readable name."""
    taken = set(known.values()) if "\ufffd" in name else set()
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _read_all(
    read: Callable[[Path], FileRead], paths: Sequence[Path]
) -> Iterator[FileRead]:
    """Read files on all cores, in order."""
    from joblib import Parallel, delayed

    if len(paths) < MIN_PARALLEL:
        return map(read, paths)
    results: Iterator[FileRead] = Parallel(n_jobs=-1, return_as="generator")(
        delayed(read)(path) for path in paths
    )
    return results


def standardise(features: Array) -> Array:
    """Give every feature mean 0 and deviation 1; constant ones become 0."""
    from sklearn.preprocessing import StandardScaler

    return np.asarray(StandardScaler().fit_transform(features))


def read_picture(path: Path) -> FileRead:
    """Read one picture; a broken one gives the reason."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        data = path.read_bytes()
        with warnings.catch_warnings():
            # A picture of absurd size is refused, not warned about.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as opened:
                picture = ImageOps.exif_transpose(opened).convert("RGB")
    except UnidentifiedImageError:
        return FileRead(path, problem="not a picture, or damaged")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return FileRead(path, problem="too many pixels")
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        return FileRead(path, problem=f"cannot be read: {error}")
    return FileRead(
        path,
        hashlib.sha256(data).hexdigest(),
        paper.picture_features(picture),
        picture_media(picture),
    )


def picture_media(picture: Any) -> tuple[Medium, Medium]:
    """Make the picture as it is shown, and its thumbnail."""
    shown, thumbnail = picture.copy(), picture.copy()
    shown.thumbnail((PICTURE_SIZE, PICTURE_SIZE))
    thumbnail.thumbnail((THUMBNAIL_SIZE, THUMBNAIL_SIZE))
    return (
        Medium("picture", "image/jpeg", _encode(shown, "JPEG", quality=85)),
        Medium("thumbnail", "image/jpeg", _encode(thumbnail, "JPEG", quality=80)),
    )


def _read_sound(path: Path) -> FileRead:
    try:
        data = path.read_bytes()
        features = read_sound(data)
    except (InputError, OSError) as error:
        return FileRead(path, problem=str(error))
    digest = hashlib.sha256(data).hexdigest()
    return FileRead(path, digest, features, (Medium("sound", "audio/wav", data),))


def _encode(picture: Any, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def _list(suffixes: set[str]) -> str:
    return ", ".join(sorted(suffix.lstrip(".") for suffix in suffixes))
