"""How many threads the libraries beneath may use, and what may run side by side.

On small matrices a second thread gains nothing, and on a busy machine threads that
wait for each other cost ten times the work itself. Work that shares nothing waits for
nobody.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# Rows of the largest matrix from which on all threads help.
ENOUGH_ROWS = 2_000
# Columns up to which they do not, however many the rows: 10,000 rows of 51 took five
# times as long on a busy machine, where every product waits for the second thread.
NARROW = 150
# Rows from which on two such works side by side gain more than they wait for Python.
WORTH_A_THREAD = 300


def side_by_side(
    work: Callable[[Item], Result], items: Iterable[Item], n_rows: int
) -> list[Result]:
    """What `work` gives for each item, whose matrices have so many rows.

    In as many threads as there are processors; in one, where matrices are tiny, or so
    large that a product alone uses all processors. In one too for whoever computes in
    a thread of its own already: others compute beside it, or wait for Python.
    """
    items = list(items)
    n_threads = min(len(items), cpu_count())
    is_beside = threading.current_thread() is not threading.main_thread()
    is_worth_it = WORTH_A_THREAD <= n_rows < ENOUGH_ROWS
    if n_threads < 2 or is_beside or not is_worth_it:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, items))


def over_blocks(
    work: Callable[[slice], None], blocks: Iterable[slice], n_threads: int | None = None
) -> None:
    """Do the work on every block, each thread with one processor of its own.

    Half of such work is no matrix products: several threads keep all processors busy,
    where BLAS alone would not; and none waits for the other in each product.
    """
    blocks = list(blocks)
    n_threads = min(n_threads or cpu_count(), len(blocks))
    with one_thread():
        if n_threads < 2:
            for block in blocks:
                work(block)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, blocks))


@contextmanager
def threads_for(n_rows: int, n_columns: float = math.inf) -> Iterator[None]:
    """All threads for work on matrices of this size, or one if that is small."""
    if n_rows >= ENOUGH_ROWS and n_columns > NARROW:
        yield
        return
    with one_thread():
        yield


class _OneBlasThread:
    """A limit of the whole process, held while any thread of it wants one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_wanted = 0
        self._limit: Any = None

    def hold(self) -> None:
        with self._lock:
            if self._n_wanted == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._n_wanted += 1

    def release(self) -> None:
        with self._lock:
            self._n_wanted -= 1
            if self._n_wanted == 0:
                self._limit.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """A single thread for BLAS and OpenMP."""
    # Each limit of its own would take another one's for what was there before. Those
    # of OpenMP are of the thread that sets them.
    _ONE_BLAS_THREAD.hold()
    try:
        with _controller().limit(limits=1, user_api="openmp"):
            yield
    finally:
        _ONE_BLAS_THREAD.release()


@cache
def _controller() -> ThreadpoolController:
    """Looks through the loaded libraries, which takes time: once."""
    return ThreadpoolController()
