"""What a search starts from: an item of the project, or a new file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import InputError
from likewise.app.adding import SOURCES, project_embedding
from likewise.app.arrays import VECTOR_FILES, read_arrays
from likewise.app.project import Project
from likewise.app.records import NotThereError
from likewise.app.store import Store
from likewise.features.reading import read_bytes

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """Where to search from: a row of the project, or else a vector."""

    name: str
    row: int | None = None
    vector: Vector | None = None

    @property
    def asked(self) -> NDArray[Any]:
        """What `Neighbours.query` takes."""
        if self.vector is None:
            return np.array([self.row], dtype=np.intp)
        return self.vector[None]


def find_start(project: Project, asked: str, *, is_download: bool = False) -> Start:
    """The item of that name, or what the file of that name is by the features.

    Parameters
    ----------
    project : Project
        Where to search.
    asked : str
        The name of an item; or else a file, which gets its numbers as the items of
        the project got theirs. A file that is one of the items counts as that item.
    is_download : bool
        Whether weights may be fetched.
    """
    if asked in project.names:
        return Start(asked, row=project.item_number(asked))
    path = Path(asked)
    if not path.is_file():
        raise NotThereError(f"There is no item {asked!r}, and no file of that name.")
    store, kind = project.store, project.kind
    if store.settings().get("features") is None:
        return Start(asked, vector=_given_vector(project, path))
    if kind in SOURCES:
        return _from_file(project, path, is_download)
    return Start(asked, vector=_from_text(store, path, kind, is_download))


def _from_file(project: Project, path: Path, is_download: bool) -> Start:
    """A picture or a sound."""
    embedding = project_embedding(project.store, project.kind, None, is_download)
    read = SOURCES[project.kind].read(path, embedding.prepare)
    if read.problem:
        raise InputError(f"{path} cannot be searched for: {read.problem}.")
    known = project.store.digests().get(read.digest)
    if known is not None:
        return Start(known, row=project.item_number(known))
    vectors = embedding.embed_prepared([read.prepared])
    return Start(str(path), vector=_projected(project.store, vectors))


def _from_text(store: Store, path: Path, kind: str, is_download: bool) -> Vector:
    """A text, by features that need no others beside it."""
    embedding = project_embedding(store, kind, None, is_download)
    try:
        text = read_bytes(path).decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8: {error}.") from error
    return _projected(store, embedding([text]))


def _projected(store: Store, vectors: NDArray[np.float64]) -> Vector:
    """As a project keeps them: in single precision."""
    projection = store.projection()
    assert projection is not None  # where there are features, there is a map
    return np.asarray(projection(vectors).astype(np.float32)[0], dtype=float)


def _given_vector(project: Project, path: Path) -> Vector:
    """The one vector in a file, for a project that was made of vectors."""
    if path.suffix.lower() not in VECTOR_FILES:
        raise InputError(
            f"The items of {project.store.path} are ready vectors. A new one must "
            f"stand in a file of {', '.join(sorted(VECTOR_FILES))}. Got {path.name}."
        )
    arrays = list(read_arrays(path).values())
    try:
        numbers = np.asarray(arrays[0] if len(arrays) == 1 else arrays, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} must hold numbers: {error}.") from error
    if numbers.size != project.X.shape[1]:
        raise InputError(
            f"{path} must hold one vector of {project.X.shape[1]} numbers. "
            f"Got {numbers.size}."
        )
    return np.asarray(numbers.ravel().astype(np.float32), dtype=float)
