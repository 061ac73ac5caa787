"""From files to items: folders of pictures or sounds, and the digits.

Tables, texts and ready vectors are in `tables.py`. Every function here adds items to a
`Writer` as it reads them and gives back what the project needs besides.
"""

import hashlib
import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import InputError
from likewise.app.made import Made
from likewise.app.records import Medium, NewItem
from likewise.app.writer import Writer
from likewise.features import sounds
from likewise.features.embedding import BATCH, Embedding, batches
from likewise.features.pictures import n_cores
from likewise.features.projection import Projection, fit_projection
from likewise.features.reading import HEIF_SUFFIXES, open_picture, read_bytes

Array = NDArray[np.float64]
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

PICTURES = {
    *{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm"},
    *HEIF_SUFFIXES,
}
SOUNDS = {".wav"}
# Sides of a picture as shown in a question and on the map, in pixels.
PICTURE_SIZE = 1024
THUMBNAIL_SIZE = 160
# Below this many files, starting a second process takes longer than it saves.
MIN_PARALLEL = 24
# Files read ahead of the one in use: enough for all cores while a batch is embedded,
# few enough that the pictures of a large folder do not fill the memory.
MAX_AHEAD = 4 * BATCH


@dataclass(frozen=True)
class Ready:
    """Vectors that a person brings in place of an embedding, one for each item."""

    name: str
    digest: str
    vectors: Array  # (n_items, n_features)

    def record(self) -> dict[str, str]:
        """What a project file keeps of them."""
        return {"name": self.name, "digest": self.digest, "preparation": "none"}


Features = Embedding | Ready


@dataclass
class Built:
    """What a source of items gave, besides the items themselves."""

    kind: str  # "picture", "sound", "text" or "row"
    vectors: NDArray[Any]  # (n_items, n_features)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # name, reason
    feature_names: list[str] = field(default_factory=list)  # where they mean something
    features: dict[str, Any] | None = None  # what made the vectors, if not the person
    projection: Projection | None = None  # what the vectors went through


@dataclass(frozen=True)
class FileRead:
    """What one file became: an item, or the reason why not."""

    path: Path
    digest: str = ""
    prepared: Any = None
    media: tuple[Medium, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Source:
    """A kind of files, and how one is read: `read(path, prepare)`."""

    kind: str
    suffixes: set[str]
    read: Callable[..., FileRead]


def from_images(
    folder: Path, writer: Writer, progress: Progress, features: Features
) -> Built:
    """Make an item of every picture in a folder and its subfolders."""
    return _from_files(folder, IMAGES, writer, progress, features)


def from_audio(
    folder: Path, writer: Writer, progress: Progress, features: Features
) -> Built:
    """Make an item of every wav file in a folder and its subfolders."""
    return _from_files(folder, AUDIO, writer, progress, features)


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
    if folder.exists() and not folder.is_dir():
        raise InputError(f"A folder is needed here. {folder} is a file.")
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
    source: Source,
    writer: Writer,
    progress: Progress,
    features: Features,
) -> Built:
    items = FileItems(folder, source, features)
    vectors = []
    with Made(writer.path, features.record()) as made:
        for item, vector in items.read(made, progress):
            writer.add(item.name, media=item.media, digest=item.digest)
            vectors.append(vector)
        if len(vectors) < 2:
            raise InputError(
                f"A project needs at least two items. {folder} gave {len(vectors)} "
                f"and {len(items.skipped)} broken files."
            )
    return finish_vectors(source.kind, np.array(vectors), features, items.skipped)


class FileItems:
    """The items that a folder's files become, and the files that become none.

    Parameters
    ----------
    folder : Path
        Where to look, subfolders included.
    source : Source
        The kind of files.
    features : Embedding or Ready
        What gives their vectors.
    known : dict, optional
        Names of items that are there already, by their files' sha256.
    names : iterable of str
        Names that are taken.
    """

    def __init__(
        self,
        folder: Path,
        source: Source,
        features: Features,
        known: dict[str, str] | None = None,
        names: Iterable[str] = (),
    ) -> None:
        self.folder, self.source, self.features = folder, source, features
        self.skipped: list[tuple[str, str]] = []
        self._known = dict(known or {})
        self._names = set(names)
        self.paths = find_files(folder, source.suffixes)
        if not self.paths:
            raise InputError(
                f"No {source.kind} was found in {folder} ({_list(source.suffixes)})."
            )
        if isinstance(features, Ready) and len(features.vectors) != len(self.paths):
            raise InputError(
                f"{features.name} must have one vector for each of the "
                f"{len(self.paths)} files in {folder}. Got {len(features.vectors)}."
            )

    def read(self, made: Made, progress: Progress) -> Iterator[tuple[NewItem, Array]]:
        """Items with their vectors, in order; on all cores, a batch at a time."""
        results = progress(self._read_files(made), len(self.paths))
        numbered = ((k, result) for k, result in enumerate(results))
        used = (one for one in numbered if self._accepts(one[1]))
        for batch in batches(used, BATCH):
            rows = self._vectors(batch, made)
            for (_, result), vector in zip(batch, rows, strict=True):
                name = self._known[result.digest]
                yield NewItem(name, media=result.media, digest=result.digest), vector

    def _read_files(self, made: Made) -> Iterator[FileRead]:
        """Each file as it is read; nothing is prepared whose vector is there."""
        prepare = None if isinstance(self.features, Ready) else self.features.prepare
        calls = [
            partial(self.source.read, path, None if made.has(path) else prepare)
            for path in self.paths
        ]
        return call_all(calls)

    def _accepts(self, result: FileRead) -> bool:
        """Whether a file becomes an item; else it is listed with the reason."""
        name = self._free_name(
            readable(result.path.relative_to(self.folder).as_posix())
        )
        problem = result.problem
        if result.digest and result.digest in self._known:
            problem = f"the same file as {self._known[result.digest]}"
        if problem:
            self.skipped.append((name, problem))
            return False
        self._known[result.digest] = name
        self._names.add(name)
        return True

    def _free_name(self, name: str) -> str:
        """The name, or a variant where it is taken: other bytes may read the same."""
        number, free = 1, name
        while free in self._names:
            number += 1
            free = f"{name} ({number})"
        return free

    def _vectors(self, batch: list[tuple[int, FileRead]], made: Made) -> list[Array]:
        """Vectors of a batch: given, made before, or made now and kept."""
        if isinstance(self.features, Ready):
            return [self.features.vectors[k] for k, _ in batch]
        found = [made.get(result.path) for _, result in batch]
        missing = [k for k, vector in enumerate(found) if vector is None]
        if missing:
            prepared = [self._prepared(batch[k][1]) for k in missing]
            new = self.features.embed_prepared(prepared)
            made.add((batch[k][1].path, v) for k, v in zip(missing, new, strict=True))
            for k, vector in zip(missing, new, strict=True):
                found[k] = vector
        return [vector for vector in found if vector is not None]

    def _prepared(self, result: FileRead) -> Any:
        """What the embedding takes; read again if the file changed while reading."""
        if result.prepared is not None:
            return result.prepared
        assert isinstance(self.features, Embedding)
        again = self.source.read(result.path, self.features.prepare)
        if again.problem:
            raise InputError(f"{result.path} changed while it was read. Start again.")
        return again.prepared


def finish_vectors(
    kind: str,
    vectors: Array,
    features: Features,
    skipped: list[tuple[str, str]] | None = None,
) -> Built:
    """What the model is given of the vectors, and what the project keeps of it all."""
    is_direction = isinstance(features, Ready) or features.is_direction
    if is_direction and vectors.shape[1] < 2:
        raise InputError(
            f"The features '{features.name}' must give at least two numbers an item: "
            "only the direction of a vector counts. Got one."
        )
    projection = fit_projection(vectors, is_direction=is_direction)
    kept = {
        **features.record(),
        "n_numbers": vectors.shape[1],
        "is_direction": is_direction,
        "n_components": len(projection.components),
        "share": projection.share,
    }
    can_grow = isinstance(features, Embedding) and not features.is_whole
    return Built(
        kind,
        projection(vectors),
        skipped or [],
        [] if isinstance(features, Ready) else list(features.feature_names),
        kept,
        projection if can_grow else None,
    )


def call_all(calls: Sequence[Callable[[], Any]]) -> Iterator[Any]:
    """What the calls give, in order, from all cores; never far ahead of the reader."""
    if len(calls) < MIN_PARALLEL:
        yield from (call() for call in calls)
        return
    from joblib.externals.loky import ProcessPoolExecutor

    # Not the reusable one: joblib would find it there, take it for its own, and fail.
    workers = ProcessPoolExecutor(max_workers=n_cores())
    remaining = iter(calls)
    try:
        waiting = deque(workers.submit(call) for call in islice(remaining, MAX_AHEAD))
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(workers.submit(call) for call in islice(remaining, 1))
            yield result
    finally:
        workers.shutdown(kill_workers=True)


def read_picture(path: Path, prepare: Callable[[Any], Any] | None = None) -> FileRead:
    """Read one picture; a broken one gives the reason."""
    try:
        data = read_bytes(path)
        picture = open_picture(data)
    except InputError as error:
        return FileRead(path, problem=str(error))
    return FileRead(
        path,
        hashlib.sha256(data).hexdigest(),
        None if prepare is None else prepare(picture),
        picture_media(picture),
    )


def picture_media(picture: Any) -> tuple[Medium, Medium]:
    """Make the picture as it is shown, and its thumbnail; it becomes small itself."""
    picture.thumbnail((PICTURE_SIZE, PICTURE_SIZE))
    thumbnail = picture.copy()
    thumbnail.thumbnail((THUMBNAIL_SIZE, THUMBNAIL_SIZE))
    return (
        Medium("picture", "image/jpeg", _encode(picture, "JPEG", quality=85)),
        Medium("thumbnail", "image/jpeg", _encode(thumbnail, "JPEG", quality=80)),
    )


def read_wav(path: Path, prepare: Callable[[Any], Any] | None = None) -> FileRead:
    """Read one wav file; a broken one gives the reason."""
    try:
        data = read_bytes(path, sounds.MAX_BYTES)
        # Without preparing too: a file that is no sound must not become an item.
        prepared = (prepare or sounds.read_sound)(data)
    except InputError as error:
        return FileRead(path, problem=str(error))
    digest = hashlib.sha256(data).hexdigest()
    return FileRead(path, digest, prepared, (Medium("sound", "audio/wav", data),))


IMAGES = Source("picture", PICTURES, read_picture)
AUDIO = Source("sound", SOUNDS, read_wav)


def _encode(picture: Any, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def _list(suffixes: set[str]) -> str:
    return ", ".join(sorted(suffix.lstrip(".") for suffix in suffixes))
