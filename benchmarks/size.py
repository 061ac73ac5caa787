"""What size costs: the prior by items, fits by pairs and dimensions, and what is lost.

Each figure in a process of its own: seconds of one core, and the most memory that the
process held, items and all. Prints sections of docs/performance.md, which
benchmarks/growth.py writes.

Usage: python benchmarks/size.py
"""

import json
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

PRIOR_SIZES = ((500, 768), (2000, 768), (10_000, 768), (100_000, 768))
FIT_SIZES = [(n, d) for n in (10_000, 50_000) for d in (50, 200, 768)]
N_ITEMS = 3000  # that pairs are of


def items(n_items, n_numbers, apart=2.0, n_groups=20):
    """Groups that overlap, along directions of unequal size."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_groups, n_items)
    X = rng.standard_normal((n_items, n_numbers))
    X *= np.linspace(3, 0.3, n_numbers)
    X += apart * rng.normal(size=(n_groups, n_numbers))[y]
    return X, y


def told(y, n_pairs, seed=1):
    from likewise.pairs import draw_pairs

    pairs = draw_pairs(len(y), n_pairs, np.random.RandomState(seed))
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def memory(name):
    """GiB of this process by the system's own name; of it alone, not of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(dict(line.split(":", 1) for line in lines)[name].split()[0]) / 2**20


def prior(n_items, n_numbers):
    """Seconds of the prior."""
    from likewise import BayesianMetric

    X, _ = items(n_items, n_numbers)
    start = time.process_time()
    BayesianMetric(random_state=0).prepare(X)
    return {"seconds": time.process_time() - start}


def fit(n_pairs, n_numbers):
    """Seconds of a fit beside its prior, and of the products of its blocks alone."""
    from likewise import BayesianMetric
    from likewise.model import fitting, parts
    from likewise.model.fitting import Told

    X, y = items(N_ITEMS, n_numbers)
    pairs, labels = told(y, n_pairs)
    metric = BayesianMetric(random_state=0)
    _, frames = metric.prepare(X)
    told_pairs = Told(
        pairs, (labels + 1) / 2, np.ones(n_pairs), np.zeros(n_pairs, bool)
    )
    start = time.process_time()
    found = fitting.fit(frames, told_pairs, metric.rules)
    taken = time.process_time() - start
    n_free = found.best.prior.n_free
    width = 3 + n_free * (n_free + 1) // 2
    blocks = parts.blocks(n_pairs, width)
    size = min(n_pairs, blocks[0].stop)
    block = np.random.default_rng(0).normal(size=(size, width))
    block.T @ block
    start = time.process_time()
    block.T @ block
    bare = (time.process_time() - start) * n_pairs / size
    return {"seconds": taken, "bare": bare, "n_free": n_free}


def loss(n_pairs, n_numbers):
    """What a free matrix of limited rank says of other pairs, and the exact one."""
    from likewise import BayesianMetric
    from likewise.model import climbing

    X, y = items(N_ITEMS, n_numbers, apart=0.3)  # hard to tell
    pairs, labels = told(y, n_pairs)
    others, truth = told(y, 20_000, seed=2)
    limited = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)
    climbing.MAX_SIDE = 10**9
    exact = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)
    one, other = (each.pair_probability(X, others) for each in (limited, exact))
    return {
        "n_free": [limited.n_free_, exact.n_free_],
        "auc": [float(roc_auc_score(truth, p)) for p in (one, other)],
        "mean": [float(p.mean()) for p in (one, other)],
        "apart": float(np.abs(one - other).mean()),
    }


def sample(n_items, n_numbers):
    """AUC of the priors' metrics: by all items, by another seed, by a sample."""
    from likewise import BayesianMetric
    from likewise.model import surroundings

    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(n_items // 5), 5)
    spread = np.arange(1, n_numbers + 1) ** -0.5
    X = rng.normal(size=(n_items, n_numbers)) * spread
    X += (rng.normal(size=(n_items // 5, n_numbers)) * spread[::-1])[y]
    drawn = rng.integers(0, n_items, (20_000, 2))
    mates = 5 * rng.integers(0, n_items // 5, (10_000, 1)) + [0, 1]
    pairs = np.concatenate([drawn, mates])
    is_same = y[pairs[:, 0]] == y[pairs[:, 1]]

    def judge(seed, max_seen):
        surroundings.MAX_SEEN = max_seen
        _, frames = BayesianMetric(random_state=seed).prepare(X)
        gaps = frames.coordinates[pairs[:, 0]] - frames.coordinates[pairs[:, 1]]
        return {
            name: float(roc_auc_score(is_same, -each.squared_distance(each.gaps(gaps))))
            for name, each in frames.priors.items()
        }

    usual = surroundings.MAX_SEEN
    return [judge(0, n_items), judge(1, n_items), judge(0, usual)]


def imports():
    """Seconds to import us, and scikit-learn's neighbours; the best of five."""
    names = ("likewise", "likewise.estimators", "sklearn.neighbors")
    taken = {name: [] for name in names}
    for _ in range(5):
        for name in names:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
            taken[name].append(time.perf_counter() - start)
    return {name: min(each) for name, each in taken.items()}


def alone(task, *sizes):
    """What a task gives in a process of its own, and the GiB that it held."""
    command = [sys.executable, __file__, task, *map(str, sizes)]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def sections():
    """Lines of the page on performance."""
    yield "## The prior by items, and fits by pairs and dimensions\n"
    yield "Each in a process of its own; memory is the most it held, items and all.\n"
    yield "| prior of | seconds of one core | GiB |\n|---|---|---|"
    for n_items, n_numbers in PRIOR_SIZES:
        found, peak = alone("prior", n_items, n_numbers)
        seconds = found["seconds"]
        yield f"| {n_items:,} items of {n_numbers} | {seconds:.1f} | {peak:.2f} |"
    yield (
        "\n| fit from | directions free | seconds of one core | times the bare Gram "
        "product | GiB |\n|---|---|---|---|---|"
    )
    for n_pairs, n_numbers in FIT_SIZES:
        found, peak = alone("fit", n_pairs, n_numbers)
        ratio = found["seconds"] / found["bare"]
        yield (
            f"| {n_pairs:,} pairs in {n_numbers} | {found['n_free']} | "
            f"{found['seconds']:.1f} | {ratio:.0f} | {peak:.2f} |"
        )
    yield "\n## What the limits cost\n"
    yield from _loss_lines()
    yield from _sample_lines()
    taken = alone("imports")[0]
    bare = taken.pop("sklearn.neighbors")
    shares = [f"`import {name}` {each / bare:.2f}" for name, each in taken.items()]
    yield "\nTimes `import sklearn.neighbors`: " + ", ".join(shares) + "."


def _loss_lines():
    found, _ = alone("loss", 3000, 200)
    (limited, exact), (auc, exact_auc) = found["n_free"], found["auc"]
    yield (
        "Above 1,500 pairs in more than 54 dimensions the matrix is free in "
        f"{limited} directions (`n_free_`). With 3,000 pairs in 200 dimensions P(same) "
        f"of 20,000 others then has an AUC of {auc:.4f}; free in all {exact}, "
        f"{exact_auc:.4f}. Mean P(same): {found['mean'][0]:.4f} and "
        f"{found['mean'][1]:.4f}; a pair's differs by {found['apart']:.4f} on "
        "average.\n"
    )


def _sample_lines():
    (whole, again, drawn), _ = alone("sample", 20_000, 50)
    yield (
        "Above 10,000 items the prior's metrics are estimated from 10,000 of them "
        "(`n_seen_`). AUC of each metric before any answer, 20,000 items in groups of "
        "five:\n"
    )
    yield "| | all items | all, another seed | 10,000 of them |\n|---|---|---|---|"
    for name in whole:
        cells = [f"{each.get(name, np.nan):.3f}" for each in (whole, again, drawn)]
        yield f"| {name} | " + " | ".join(cells) + " |"


TASKS = {"prior": prior, "fit": fit, "loss": loss, "sample": sample, "imports": imports}


def main():
    if len(sys.argv) > 1:
        warnings.simplefilter("ignore")
        found = TASKS[sys.argv[1]](*map(int, sys.argv[2:]))
        print(json.dumps([found, memory("VmHWM")]))
        return
    for line in sections():
        print(line, flush=True)


if __name__ == "__main__":
    main()
