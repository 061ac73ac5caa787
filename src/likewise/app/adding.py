"""Further items for a project, by the same features that its items have."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likewise import InputError
from likewise.app.items import AUDIO, IMAGES, FileItems, Progress
from likewise.app.made import Made
from likewise.app.store import Store
from likewise.features.choosing import find_embedding
from likewise.features.embedding import Embedding

SOURCES = {"picture": IMAGES, "sound": AUDIO}


@dataclass(frozen=True)
class Added:
    """How many items came, and which files became none."""

    n_items: int
    skipped: list[tuple[str, str]]


def add_files(
    path: Path,
    folder: Path,
    kind: str,
    progress: Progress,
    *,
    features: str | None = None,
    is_download: bool = False,
) -> Added:
    """Add the files of a folder that are not in the project yet.

    Parameters
    ----------
    path : Path
        The project.
    folder : Path
        Where the files are, subfolders included.
    kind : str
        "picture" or "sound".
    progress : callable
        Goes round what is iterated, to show how far it has come.
    features : str, optional
        Must be those of the project; none: those of the project.
    is_download : bool
        Whether weights may be fetched.
    """
    with Store.open(path) as store:
        embedding = project_embedding(store, kind, features, is_download)
        projection = store.projection()
        assert projection is not None  # where there are features, there is a map
        items = FileItems(
            folder, SOURCES[kind], embedding, store.digests(), store.item_names()
        )
        with Made(path, embedding.record()) as made:
            found = list(items.read(made, progress))
            if found:
                vectors = projection(np.array([vector for _, vector in found]))
                store.add_items([item for item, _ in found], vectors.astype(np.float32))
    return Added(len(found), items.skipped)


def project_embedding(
    store: Store, kind: str, features: str | None, is_download: bool
) -> Embedding:
    """The project's own embedding, or a sentence why nothing can be added by it."""
    settings = store.settings()
    kept = settings.get("features")
    if settings["kind"] != kind:
        raise InputError(
            f"{store.path} has items of the kind '{settings['kind']}'. Got {kind}s."
        )
    if kept is None or store.projection() is None:
        raise InputError(
            f"{store.path} does not say how its vectors were made, so none can be "
            "added. Make a new project of all items."
        )
    wanted = features or kept.get("place") or kept["name"]
    embedding = find_embedding(wanted, kind, is_download=is_download)
    check_same(store.path, kept, embedding.record())
    return embedding


def check_same(path: Path, kept: dict[str, Any], given: dict[str, str]) -> None:
    """Refuse vectors of another making: distances between the two mean nothing."""
    for what in ("name", "digest", "preparation"):
        if kept[what] != given[what]:
            detail = "" if what == "name" else f", {what} {kept[what]:.60}"
            got = "" if what == "name" else f", {what} {given[what]:.60}"
            raise InputError(
                f"The items of {path} were made with the features "
                f"'{kept['name']}'{detail}. Got '{given['name']}'{got}. "
                "Use the same, or make a new project."
            )
