"""Side by side gives what one after the other does."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info

from likewise.threads import (
    ENOUGH_ROWS,
    NARROW,
    WORTH_A_THREAD,
    _controller,
    one_thread,
    over_blocks,
    side_by_side,
    threads_for,
)


def test_results_come_in_the_order_of_the_items():
    """Whoever is ready first: the second item waits for nobody, the first for it."""
    is_met = threading.Event()

    def work(item):
        if item == "first":
            return item, is_met.wait(timeout=60)
        is_met.set()
        return item, True

    found = side_by_side(work, ["first", "second"], WORTH_A_THREAD)

    assert found == [("first", True), ("second", True)]


@pytest.mark.parametrize("n_rows", [WORTH_A_THREAD - 1, ENOUGH_ROWS])
def test_tiny_and_large_work_stays_in_one_thread(n_rows):
    """Where a thread costs more than it gains, or one product uses all processors."""
    found = side_by_side(lambda _: threading.get_ident(), [1, 2, 3], n_rows)

    assert found == [threading.get_ident()] * 3


def test_who_computes_in_a_thread_stays_there():
    """Others compute beside it: behind a page, each question has a thread."""
    with ThreadPoolExecutor(1) as pool:
        alone = pool.submit(threading.get_ident).result()
        work = pool.submit(
            side_by_side, lambda _: threading.get_ident(), [1, 2, 3], WORTH_A_THREAD
        )

        assert work.result() == [alone] * 3


def test_a_failure_reaches_the_caller():
    """As if there were no threads."""
    with pytest.raises(ZeroDivisionError, match="division"):
        side_by_side(lambda item: 1 // item, [1, 0], WORTH_A_THREAD)


@pytest.mark.parametrize("n_blocks", [1, 7])
def test_blocks_are_all_worked_on_with_one_processor_each(n_blocks):
    """In whatever threads: no product waits for another processor."""
    blocks = [slice(at, at + 2) for at in range(0, 2 * n_blocks, 2)]
    done, seen = [0] * (2 * n_blocks), []

    def work(block):
        blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
        seen.append({each["num_threads"] for each in blas})
        done[block] = [at + 1 for at in range(block.start, block.stop)]

    over_blocks(work, blocks, 3)

    assert done == list(range(1, 2 * n_blocks + 1))
    assert seen == [{1}] * n_blocks


def test_a_block_that_fails_reaches_the_caller():
    """Whichever it is."""
    blocks = [slice(0, 1), slice(1, 2)]

    with pytest.raises(ZeroDivisionError, match="division"):
        over_blocks(lambda block: 1 // block.start, blocks, 2)


def n_threads():
    return {each["num_threads"] for each in threadpool_info()}


@pytest.mark.parametrize(
    "size", [(ENOUGH_ROWS - 1,), (ENOUGH_ROWS, NARROW), (NARROW, ENOUGH_ROWS)]
)
def test_short_or_narrow_matrices_are_multiplied_in_one_thread(size):
    """And afterwards there are as many threads as before."""
    before = n_threads()
    with threads_for(*size):
        assert n_threads() == {1}
    assert n_threads() == before


def test_large_matrices_are_multiplied_in_all_threads():
    """Of rows alone, or of rows and columns."""
    before = n_threads()
    for size in ((ENOUGH_ROWS,), (ENOUGH_ROWS, NARROW + 1)):
        with threads_for(*size):
            assert n_threads() == before


def test_threads_that_overlap_leave_what_was_there():
    """The first to want one thread is not the last to give it back."""

    def n_threads():  # of the libraries it knows: other tests load further ones
        known = _controller().info()
        return [each["num_threads"] for each in known if each["user_api"] == "blas"]

    before = n_threads()
    inside, leave = threading.Barrier(3, timeout=60), threading.Event()

    def hold(stays):
        with one_thread():
            inside.wait()
            if stays:
                leave.wait(timeout=60)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(hold, False), pool.submit(hold, True)
        inside.wait()
        first.result(timeout=60)
        during = set(n_threads())
        leave.set()
        second.result(timeout=60)

    assert during == {1}
    assert n_threads() == before
