"""What can go wrong with a project file, each in its own true sentence.

Only a file that is damaged is called so: a full disk, a lost folder or another program
is no reason to make a project anew.
"""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from likewise import LikewiseError, StoreError

# What a full disk, or a limit on the size of files, makes SQLite say.
_FULL = (
    "SQLITE_FULL",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_SHMSIZE",
    "SQLITE_IOERR_SHMOPEN",
    "SQLITE_IOERR_TRUNCATE",
)
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
_REFUSED = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")


@contextmanager
def said_plainly(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a sentence for the person."""
    try:
        yield
    except LikewiseError:
        raise
    except sqlite3.Error as error:
        raise StoreError(_plain_words(path, error)) from error
    except OSError as error:
        raise StoreError(_system_words(path, error)) from error
    except MemoryError as error:
        raise StoreError(
            f"There is not enough memory for {path}. Close other programs."
        ) from error
    except (ValueError, TypeError, OverflowError, LookupError, RecursionError) as error:
        # What cannot be decoded, or is not of the kind that was stored.
        raise StoreError(damaged(path, str(error))) from error


def damaged(path: Path, detail: str) -> str:
    """Say that the content of a file is not what was written."""
    return (
        f"{path} is damaged: {detail}. Take a copy from before, or make the "
        "project anew."
    )


def check_place(path: Path) -> None:
    """Refuse what is no file, saying what it is instead."""
    if path.is_dir():
        raise StoreError(f"A project must be a file. {path} is a folder.")
    if not path.exists():
        if not path.parent.is_dir():
            raise StoreError(f"There is no folder {path.parent}.")
        raise StoreError(
            f"There is no project file {path}. Make one with: likewise new {path}"
        )
    if not path.is_file():
        raise StoreError(f"A project must be a regular file. {path} is none.")


def check_writable(path: Path) -> None:
    """Refuse what is no file, or may not be written to."""
    check_place(path)
    if not is_writable(path):
        raise StoreError(
            f"{path} is read-only. Allow writing to it, or answer in a copy."
        )


def is_writable(path: Path) -> bool:
    """Whether the file may be changed."""
    # The administrator may write anything; a file without any write permission is
    # still meant to stay as it is.
    return not path.exists() or (
        os.access(path, os.W_OK) and bool(path.stat().st_mode & 0o222)
    )


def _plain_words(path: Path, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(_FULL):
        return f"The disk is full. Nothing was written to {path}; free some space."
    if name.startswith(_BUSY):
        return f"Another program is writing to {path}. Close it, or copy the file."
    if name.startswith(_REFUSED):
        return _refused_words(path)
    if name.startswith("SQLITE_CONSTRAINT"):
        return (
            f"Nothing was written to {path}: it would contradict what is there "
            f"({error}). Another program may have written the same; try again."
        )
    if name.startswith("SQLITE_NOTADB"):
        return f"{path} is not a likewise project, or its beginning is damaged."
    if name.startswith("SQLITE_NOMEM"):
        return f"There is not enough memory for {path}. Close other programs."
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_SCHEMA")):
        return damaged(path, str(error))
    # The disk, the network or the system: the file itself may be healthy.
    return (
        f"{path} cannot be reached now: {error} ({name or type(error).__name__}). "
        "The file was left as it is."
    )


def _system_words(path: Path, error: OSError) -> str:
    """The same for what the system says of a file itself."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full. Nothing was written to {path}; free some space."
    return f"{path} cannot be written: {error.strerror}."


def _refused_words(path: Path) -> str:
    """Why SQLite could not open or write a file, as far as can be found out."""
    folder = path.parent
    if not folder.is_dir():
        return f"There is no folder {folder}."
    if not os.access(folder, os.W_OK):
        return (
            f"{path} cannot be written: nothing can be written to {folder}. "
            "Copy the project to a folder of yours."
        )
    if _is_full(folder):
        return f"The disk is full. Nothing was written to {path}; free some space."
    return f"{path} cannot be written. Allow writing to it and to its folder."


def _is_full(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except (OSError, AttributeError):
        return False
    return found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0)
