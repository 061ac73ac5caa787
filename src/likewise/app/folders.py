"""Groups as folders: the files that items were made of, or what the project shows.

Nothing is ever overwritten: everything is put together beside the place that was
named, which must be empty or not there, and appears there at once.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise import InputError, StoreError
from likewise.app.exchange import write_new
from likewise.app.grouping import Found, Group
from likewise.app.project import Project

Progress = Callable[[Iterable[Any], int], Iterable[Any]]

# Characters that no system's file names may have, and what ends a name badly there.
FORBIDDEN = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
MAX_FILE_NAME = 100
SUFFIXES = {"image/jpeg": ".jpg", "image/png": ".png", "audio/wav": ".wav"}


@dataclass(frozen=True)
class Written:
    """What became of the items."""

    n_groups: int
    n_files: int
    n_shown: int = 0  # originals not found, or changed: what the project shows instead


def check_empty(folder: Path) -> None:
    """Refuse a place that holds something."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is not a folder. Choose another name.")
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreError(
            f"{folder} holds something already. Choose a new or an empty folder."
        )
    if not folder.absolute().parent.is_dir():
        raise StoreError(f"There is no folder {folder.absolute().parent}.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A place to put files into; they appear in the folder at the end, all or none."""
    check_empty(folder)
    folder = folder.absolute()
    try:
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            yield part
            part.chmod(0o777 & ~_umask())
            if folder.exists():
                folder.rmdir()  # fails where something has come into it meanwhile
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.") from error


def fill_folders(
    project: Project, found: Found, folder: Path, is_link: bool, progress: Progress
) -> Written:
    """Make the folders of the groups in an empty folder."""
    places = _places(found, folder)
    for place in places:
        place.mkdir()
    if project.kind not in ("picture", "sound"):
        for group, place in zip(found.groups, places, strict=True):
            write_new(item_rows(project, group), place / "items.csv")
        return Written(len(places), len(places))
    filler = _Filler(project, is_link)
    jobs = [
        (item, place)
        for group, place in zip(found.groups, places, strict=True)
        for item in group.typical
    ]
    for item, place in progress(jobs, len(jobs)):
        filler.put(item, place)
    return Written(len(places), len(jobs), filler.n_shown)


def item_rows(project: Project, group: Group) -> list[dict[str, Any]]:
    """The items of a group with all that the project has of them."""
    items = [project.item(number) for number in group.typical]
    names = list(dict.fromkeys(name for item in items for name in item.fields or {}))
    has_text = any(item.text for item in items)
    return [
        {
            "item": item.name,
            **({"text": item.text} if has_text else {}),
            **{name: (item.fields or {}).get(name, "") for name in names},
        }
        for item in items
    ]


def originals_of(project: Project) -> Path | None:
    """The folder that the items were made of, if it is there."""
    folder = project.settings.get("folder")
    if not isinstance(folder, str) or not os.path.isdir(folder):
        return None
    return Path(folder).resolve()


class _Filler:
    """Puts items into folders, each under a name that is free there."""

    def __init__(self, project: Project, is_link: bool) -> None:
        self.project, self.is_link = project, is_link
        self.originals = originals_of(project)
        digests = project.store.digests()
        self._digests = {name: digest for digest, name in digests.items()}
        self.n_shown = 0
        self._taken: set[str] = set()

    def put(self, item: int, place: Path) -> None:
        """Put one item into a folder: its file, or what the project shows of it."""
        name = self.project.names[item]
        if self.originals is not None:
            original = _original(self.originals, name)
            # A project from a stranger may name a folder and files of yours: only what
            # the project was made of is taken, byte for byte.
            if original is not None and _digest(original) == self._digests.get(name):
                self._put_original(original, place / file_name(Path(name).name))
                return
        self._put_shown(item, place / file_name(Path(name).name))

    def _put_original(self, original: Path, target: Path) -> None:
        if self.is_link:
            self._free(target).symlink_to(original)
        else:
            shutil.copy2(original, self._free(target))

    def _put_shown(self, item: int, target: Path) -> None:
        role = "picture" if self.project.kind == "picture" else "sound"
        medium = self.project.medium(item, role)
        if medium is None:
            raise InputError(
                f"There is nothing to write of item {self.project.names[item]!r}."
            )
        suffix = SUFFIXES.get(medium.mime, "")
        target = target.with_name(target.name.removesuffix(suffix) + suffix)
        self._free(target).write_bytes(medium.data)
        self.n_shown += 1

    def _free(self, path: Path) -> Path:
        """The path, or a variant where another has it; case does not tell apart."""
        number, free = 1, path
        while str(free).casefold() in self._taken:
            number += 1
            free = path.with_name(f"{path.stem} ({number}){path.suffix}")
        self._taken.add(str(free).casefold())
        return free


def _original(folder: Path, name: str) -> Path | None:
    """The file of an item below the folder; nothing else, whatever the name says."""
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder) and path.is_file()
    except (OSError, ValueError):
        return None
    return path if inside else None


def _digest(path: Path) -> str | None:
    """The sha256 of a file; None where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _places(found: Found, folder: Path) -> list[Path]:
    """A folder for each group: its number, so that they sort by size, and its name."""
    width = max(2, len(str(len(found.groups))))
    return [
        folder / file_name(f"{group.number + 1:0{width}d} {group.name}".strip())
        for group in found.groups
    ]


def file_name(name: str) -> str:
    """A name that every system takes for one file or folder."""
    plain = FORBIDDEN.sub("_", name).strip(" .")
    stem, dot, suffix = plain.rpartition(".")
    if not dot:
        stem, suffix = plain, ""
    room = MAX_FILE_NAME - len(dot + suffix)
    return (stem[: max(room, 1)].strip() + dot + suffix)[:MAX_FILE_NAME] or "_"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
