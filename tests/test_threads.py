"""Side by side gives what one after the other does."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from likewise.threads import ENOUGH_ROWS, WORTH_A_THREAD, side_by_side


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
