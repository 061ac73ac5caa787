"""How many threads the libraries beneath may use.

On small matrices a second thread gains nothing, and on a busy machine threads that
wait for each other cost ten times the work itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

# Rows of the largest matrix from which on all threads help.
ENOUGH_ROWS = 2_000


@contextmanager
def threads_for(n_rows: int) -> Iterator[None]:
    """All threads for work on matrices of so many rows, or one if that is few."""
    if n_rows >= ENOUGH_ROWS:
        yield
        return
    with one_thread():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """A single thread for BLAS and OpenMP."""
    with _controller().limit(limits=1):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Looks through the loaded libraries, which takes time: once."""
    return ThreadpoolController()
