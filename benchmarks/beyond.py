"""A file of items larger than the memory it is searched in.

Writes a file of --gib GiB (single precision, 128 numbers an item), learns from 200
labelled pairs, finds the 20 best questions and P(same) of a million pairs by
`likewise.scale`, and prints time and the most memory that the process held, of its own
and in all (pages of files that are mapped count there).

Usage: python benchmarks/beyond.py [--gib 5] [--folder /tmp]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.progress import track
from size import memory

from likewise import BayesianMetric, scale
from likewise.pairs import draw_pairs

N_NUMBERS, BLOCK = 128, 50_000


def write(path, n_items, rng):
    """Blocks of fifty groups; the group of item i is i modulo 50."""
    X = np.lib.format.open_memmap(path, "w+", "f4", (n_items, N_NUMBERS))
    centres = 2 * rng.normal(size=(50, N_NUMBERS))
    block = rng.normal(size=(BLOCK, N_NUMBERS)) * np.linspace(3, 0.3, N_NUMBERS)
    block += centres[np.arange(BLOCK) % 50]
    for start in track(range(0, n_items, BLOCK), "Writing"):
        some = block[: n_items - start]
        X[start : start + BLOCK] = some + 0.1 * rng.normal(size=N_NUMBERS)
    X.flush()


def report(name, action):
    start, core = time.perf_counter(), time.process_time()
    result = action()
    taken = f"{time.perf_counter() - start:.0f} s, {time.process_time() - core:.0f} s"
    peak, own = memory("VmHWM"), memory("RssAnon")
    held = f"at most {peak:.2f} GiB so far, {own:.2f} of its own now"
    print(f"{name}: {taken} of a core, {held}", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=5.0)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    n_items = int(options.gib * 2**30 / 4 / N_NUMBERS)
    rng = np.random.RandomState(0)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "items.npy"
        if os.fork() == 0:  # what writing holds is not counted
            write(path, n_items, rng)
            os._exit(0)
        os.wait()
        X = np.load(path, mmap_mode="r")
        print(f"{n_items:,} items, {path.stat().st_size / 2**30:.1f} GiB on disk")
        pairs = draw_pairs(n_items, 200, rng)
        labels = np.where(pairs[:, 0] % 50 == pairs[:, 1] % 50, 1, -1)
        labels[0] = 1
        metric = BayesianMetric(n_basis=50, random_state=0)
        metric = report(
            "Fit from 200 pairs", lambda: scale.fit_pairs(metric, X, pairs, labels)
        )
        found = report("Best 20 of all pairs", lambda: scale.best_pairs(metric, X, 20))
        print(found.searched)
        many = draw_pairs(n_items, 10**6, rng)
        lazy = scale.pair_probability(metric, X, many)
        p_same = report("P(same) of a million pairs", lazy.compute)
        print(f"Mean P(same): {p_same.mean():.3f}")


if __name__ == "__main__":
    main()
