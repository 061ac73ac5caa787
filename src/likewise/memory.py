"""Memory of large arrays, kept for the next ones instead of fetched anew."""

from functools import cache

import numpy as np

# Bytes of the array that glibc learns from: just below the 32 MiB up to which it does.
LEARNED_FROM = 31 * 2**20


@cache
def keep_memory() -> None:
    """Let the C library keep the memory of freed arrays of up to 31 MiB.

    glibc gives it back to the system, and to fetch it anew, 4 KiB after 4 KiB, takes
    longer than the work on it: P(same) of 100,000 pairs 100 instead of 31 ms. What it
    keeps follows the largest array freed so far: here is one, of memory that is never
    touched. At most twice as much stays with the process. Other libraries do not learn.
    """
    np.empty(LEARNED_FROM, dtype=np.uint8)
