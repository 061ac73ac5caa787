"""Who may use a project file: locks on the file itself, whatever name it goes by.

A lock lies on the file (its inode), not on a name beside it: a symbolic or hard link
leads to the same lock, and there is nothing that could be deleted. It ends with the
process, however that ends. Where the system has no such locks, a small file beside the
project is locked instead.
"""

import os
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from likewise import StoreError

# Bytes that are locked, far beyond those that SQLite locks (from 2**30 on).
IN_USE = 2**40
SERVED = IN_USE + 1

# Files held by this process. Closing any descriptor of a file takes away the locks that
# SQLite has on it, so that all are closed together, after the last.
_held: dict[tuple[int, int], list[int]] = {}
_n_held: dict[tuple[int, int], int] = {}


class Hold:
    """An open descriptor of a project file, with locks on it."""

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        found = os.fstat(self._number)
        self.key = (found.st_dev, found.st_ino)
        self.n_names = found.st_nlink
        _held.setdefault(self.key, []).append(self._number)
        _n_held[self.key] = _n_held.get(self.key, 0) + 1

    def lock(self, place: int, *, is_shared: bool = False) -> bool:
        """Try to lock one byte; False if another has it."""
        kind = "F_RDLCK" if is_shared else "F_WRLCK"
        return _lock(self._number, kind, place)

    def close(self) -> None:
        """Free the locks."""
        for place in (IN_USE, SERVED):
            _lock(self._number, "F_UNLCK", place)
        _n_held[self.key] -= 1
        if _n_held[self.key] == 0:
            del _n_held[self.key]
            for number in _held.pop(self.key):
                os.close(number)


def _lock(number: int, kind: str, place: int) -> bool:
    if sys.platform != "linux":
        return True  # see only_server; SQLite's own locks guard each write
    import fcntl

    # type, whence, start, length, process: of an open file, not of a process, so that
    # SQLite's closing of the same file leaves it alone.
    wish = struct.pack("hhqqi", getattr(fcntl, kind), os.SEEK_SET, place, 1, 0)
    try:
        fcntl.fcntl(number, fcntl.F_OFD_SETLK, wish)
    except OSError:
        return False
    return True


def hold_in_use(path: Path) -> Hold:
    """Hold a file that is to be written to.

    SQLite keeps what is being written beside the name that it was given: a file with
    two names can be used by one program at a time only.
    """
    hold = Hold(path)
    if not hold.lock(IN_USE, is_shared=hold.n_names == 1):
        hold.close()
        raise StoreError(
            f"{path} has several names (hard links), and another program has it open. "
            "Close that, or copy the file."
        )
    return hold


@contextmanager
def only_server(path: Path) -> Iterator[None]:
    """Hold the right to serve a file; a second server is told so."""
    path = path.resolve()
    already = StoreError(
        f"Another likewise serves {path} already. Use its page, or stop it first."
    )
    if sys.platform != "linux":
        with _locked_beside(path, already):
            yield
        return
    try:
        hold = Hold(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}.") from error
    try:
        if not hold.lock(SERVED):
            raise already
        yield
    finally:
        hold.close()


@contextmanager
def _locked_beside(path: Path, already: StoreError) -> Iterator[None]:
    """The same by a lock of SQLite on a small file beside the project."""
    beside = path.with_name(path.name + "-serving")
    lock = sqlite3.connect(beside, timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
            raise already from error
        raise StoreError(f"{beside} cannot be written: {error}.") from error
    try:
        yield
    finally:
        lock.close()
        beside.unlink(missing_ok=True)
