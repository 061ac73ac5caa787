"""How cost grows: fit, prior, next question and search over sizes, beside others.

Processor time of one core, for a busy machine hardly changes it. A line ends where one
more step would take longer than --limit seconds. Writes docs/performance.md (with what
benchmarks/size.py prints) and docs/images/growth.png. LMNN, ITML and COBRAS run where
`make peers` built their environment.

Usage: make bench; or python benchmarks/growth.py [--limit 30] [--docs docs]
"""

import argparse
import json
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import size as sizes
from rich.progress import track
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from likewise import ActiveMetric, BayesianMetric
from likewise.asking import acquisition, search
from likewise.asking.candidates import Pool
from likewise.asking.search import Wanted
from likewise.experiments import peers
from likewise.pairs import draw_pairs

N_NUMBERS = 50
PAPER = dict(basis="eigen", prior="unit", prior_precision=1.0)
PEER = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
method, task = sys.argv[1], np.load(sys.argv[2])
X, y = task["X"], task["y"]
start = time.process_time()
if method == "COBRAS":
    np.int = int
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    class Person:
        def query_points(self, i, j):
            return bool(y[i] == y[j])

        def continue_cluster_process(self):
            return True

        def update_clustering(self, clustering):
            pass

    COBRAS_kmeans(X, Person(), 100).cluster()
    print((time.process_time() - start) / 100)
elif method == "LMNN":
    from metric_learn import LMNN
    LMNN(init="identity", n_neighbors=2, random_state=0).fit(X, y)
    print(time.process_time() - start)
else:
    from metric_learn import ITML
    pairs, labels = task["pairs"], task["labels"]
    ITML(prior="identity", random_state=0).fit(X[pairs], labels)
    print(time.process_time() - start)
"""


def items(n_items, seed=0):
    """Twenty groups that overlap, of fifty numbers."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 20, n_items)
    X = rng.normal(size=(n_items, N_NUMBERS)) * np.linspace(3, 0.3, N_NUMBERS)
    return X + 2 * rng.normal(size=(20, N_NUMBERS))[y], y


def labelled(y, n_pairs, rng):
    pairs = draw_pairs(len(y), n_pairs, rng)
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def processor_time(action):
    start = time.process_time()
    action()
    return time.process_time() - start


def fit_defaults(n_pairs):
    X, y = items(3000)
    pairs, labels = labelled(y, n_pairs, np.random.RandomState(1))
    metric = BayesianMetric(random_state=0)
    both = processor_time(lambda: metric.fit_pairs(X, pairs, labels))
    return both - processor_time(lambda: metric.prepare(X))


def fit_paper(n_pairs):
    X, y = items(3000)
    pairs, labels = labelled(y, n_pairs, np.random.RandomState(1))
    return processor_time(lambda: BayesianMetric(**PAPER).fit_pairs(X, pairs, labels))


def fit_nca(n_pairs):
    """As many items as have so many pairs."""
    X, y = items(items_for(n_pairs))
    nca = NeighborhoodComponentsAnalysis(random_state=0)
    return processor_time(lambda: nca.fit(X, y))


def items_for(n_pairs):
    return max(60, int(np.sqrt(2 * n_pairs)) + 1)


def peer(method):
    def fit(size):
        n_items = size if method == "COBRAS" else items_for(size)
        X, y = items(n_items)
        if method == "LMNN":
            y = y % 5  # it needs several items of each class
        n_pairs = size if method == "ITML" else 2
        pairs, labels = labelled(y, n_pairs, np.random.RandomState(1))
        with tempfile.TemporaryDirectory() as folder:
            task = Path(folder) / "task.npz"
            np.savez(task, X=X, y=y, pairs=pairs, labels=labels)
            command = [str(peers.interpreter()), "-c", PEER, method, str(task)]
            run = subprocess.run(command, capture_output=True, timeout=600, check=True)
        return float(run.stdout)

    return fit


def prior(n_items):
    X, _ = items(n_items)
    return processor_time(lambda: BayesianMetric(random_state=0).prepare(X))


def learner_of(n_items, n_answers, **options):
    X, y = items(n_items)
    learner = ActiveMetric(X, random_state=0, **options)
    pairs, labels = labelled(y, n_answers, np.random.RandomState(2))
    learner.tell(pairs, labels)
    learner.ask(1)
    return learner, y


def question(learner, y, n_asked=5):
    taken = []
    for _ in range(n_asked):
        start = time.process_time()
        (i, j) = learner.ask(1)[0]
        learner.tell([(i, j)], [1 if y[i] == y[j] else -1])
        taken.append(time.process_time() - start)
    return float(np.mean(taken[1:]))


def question_by_items(n_items):
    return question(*learner_of(n_items, 300))


def question_by_answers(n_answers):
    return question(*learner_of(3000, n_answers))


def search_all(tolerance):
    """The best 20 pairs by the paper's model, by one member, by entropy."""

    def run(n_items):
        X, y = items(n_items)
        pairs, labels = labelled(y, 300, np.random.RandomState(2))
        metric = BayesianMetric(**PAPER).fit_pairs(X, pairs, labels)
        pool = Pool(metric.posterior_, metric.basis_, metric.basis_.project(X))
        wanted = Wanted(20, tolerance=tolerance)
        rng = np.random.RandomState(3)
        return processor_time(
            lambda: search.best_pairs(pool, acquisition.entropy, wanted, is_open, rng)
        )

    return run


def is_open(pairs):
    return np.ones(len(pairs), dtype=bool)


def neighbour_pass(n_items):
    X, _ = items(n_items)
    return processor_time(lambda: pairwise_distances_argmin_min(X, X))


PANELS = {
    "fit, by labelled pairs": {
        "sizes": [100, 300, 1000, 3000, 10_000, 50_000],
        "likewise, defaults": fit_defaults,
        "likewise, the paper's model": fit_paper,
        "NCA (items with so many pairs)": fit_nca,
        "ITML": peer("ITML"),
        "LMNN (items with so many pairs)": peer("LMNN"),
    },
    "prior, by items": {
        "sizes": [1000, 3000, 10_000, 30_000, 100_000],
        "likewise": prior,
    },
    "next question, by items (300 answers)": {
        "sizes": [500, 1500, 5000, 15_000, 50_000],
        "likewise": question_by_items,
        "COBRAS (mean of 100)": peer("COBRAS"),
    },
    "next question, by answers (3,000 items)": {
        "sizes": [100, 300, 1000, 3000, 10_000],
        "likewise": question_by_answers,
    },
    "best 20 of all pairs, by items": {
        "sizes": [1000, 3000, 10_000, 30_000, 100_000],
        "likewise, as ask() does": search_all(1e-6),
        "likewise, exact": search_all(0.0),
        "scikit-learn's nearest neighbours": neighbour_pass,
    },
}
MOST = 4  # times the limit, for what a figure needs first
OF_PEERS = ("ITML", "LMNN", "COBRAS")


def measure(limit):
    """Seconds by panel, line and size; a line ends before it takes too long."""
    found = {}
    lines = [
        (panel, line)
        for panel, lines in PANELS.items()
        for line in lines
        if line != "sizes" and (peers.is_ready() or not line.startswith(OF_PEERS))
    ]
    for panel, line in track(lines, "Measuring"):
        points = found.setdefault(panel, {}).setdefault(line, {})
        whole = {}
        for size in PANELS[panel]["sizes"]:
            too_long = expected(whole, size) > MOST * limit
            if too_long or expected(points, size) > limit:
                break
            start = time.process_time()
            try:
                points[size] = PANELS[panel][line](size)
                whole[size] = time.process_time() - start
            except (subprocess.SubprocessError, MemoryError) as error:
                print(f"{line} at {size:,}: {error}", file=sys.stderr)
                break
    return found


def expected(points, size):
    """Seconds at a larger size, by the last two; the square where there is one."""
    if not points:
        return 0.0
    (last, taken), growth = list(points.items())[-1], 2.0
    if len(points) > 1:
        growth = max(1.0, slope(dict(list(points.items())[-2:])))
    return taken * (size / last) ** growth


def slope(points):
    """Of log seconds by log size, over the upper half of the sizes."""
    some = list(points.items())[-max(2, (len(points) + 1) // 2) :]
    if len(some) < 2:
        return float("nan")
    x, seconds = np.log(np.array(some)).T
    return float(np.polyfit(x, seconds, 1)[0])


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(15, 10), layout="constrained")
    for axis, (panel, lines) in zip(axes.flat, found.items(), strict=False):
        for line, points in lines.items():
            if points:
                label = f"{line}, slope {slope(points):.1f}"
                axis.loglog(list(points), list(points.values()), "o-", label=label)
        axis.set_title(panel)
        axis.set_ylabel("seconds of one core")
        low, high = axis.get_ylim()
        axis.set_ylim(low / 2, high * 2)  # a decade at least: no slope looks steep
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
        axis.grid(True, which="major", alpha=0.3)
        axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    axes.flat[-1].axis("off")
    figure.savefig(path, dpi=90)


def table(found):
    """Every figure, a line each."""
    for panel, lines in found.items():
        sizes = PANELS[panel]["sizes"]
        yield f"\n**{panel}**\n"
        yield "| | " + " | ".join(f"{size:,}" for size in sizes) + " | slope |"
        yield "|---" * (len(sizes) + 2) + "|"
        for line, points in lines.items():
            cells = [f"{points[s]:.2g}" if s in points else "" for s in sizes]
            yield f"| {line} | " + " | ".join(cells) + f" | {slope(points):.1f} |"


def projected(found):
    """Time and bytes at ten million items, on twenty workers of two cores."""
    search_line = found["best 20 of all pairs, by items"]["likewise, exact"]
    n_items, taken = list(search_line.items())[-1]
    n_pairs = 10**7 * (10**7 - 1) / 2
    core_hours = taken / (n_items * (n_items - 1) / 2) * n_pairs / 3600
    width = N_NUMBERS + 2
    yield (
        f"| items in float64 | {10**7 * N_NUMBERS * 8 / 2**30:.1f} GiB on disk, read "
        "in blocks |"
    )
    yield (
        f"| two blocks of 50,000 rows and their factors, a task | "
        f"{2 * 50_000 * (8 * N_NUMBERS + 2 * 4 * width) / 2**20:.0f} MiB |"
    )
    yield (
        f"| all {n_pairs:.1e} pairs, exact | {core_hours:,.0f} core hours, "
        f"{core_hours / 40:,.0f} hours on 40 cores |"
    )
    early = found["best 20 of all pairs, by items"]["likewise, as ask() does"]
    yield (
        "| best 20 as ask() does, in memory | one pass at most: "
        f"{max(early.values()):.2g} s at {max(early):,} items |"
    )


PAGE = """# How cost grows

Written by `make bench` (`benchmarks/growth.py`): seconds of one core, {numbers} numbers
an item, twenty groups that overlap. A line ends where the next step would take more
than {limit:.0f} s, or what it needs first more than {most:.0f} s. Slopes are fitted to
the upper half of the sizes.

![Seconds by size, on log axes](images/growth.png)
{tables}

{size}

## Ten million items, twenty workers of two cores

By these figures, for pairs grow with the square of the items and everything else by
block:

| | |
|---|---|
{projection}

## Where we are not ahead

{behind}
"""


def behind(found):
    """Lines of others that are faster at the largest size both have."""
    for panel, lines in found.items():
        ours = {k: v for k, v in lines.items() if k.startswith("likewise")}
        for line, points in lines.items():
            if line in ours:
                continue
            for name, own in ours.items():
                shared = [size for size in points if size in own]
                if shared and points[max(shared)] < own[max(shared)]:
                    ratio = own[max(shared)] / points[max(shared)]
                    yield (
                        f"- {panel}, at {max(shared):,}: {line} takes {ratio:.1f} "
                        f"times less than {name}."
                    )


def write(found, limit, docs, size):
    images = docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    draw(found, images / "growth.png")
    page = PAGE.format(
        numbers=N_NUMBERS,
        limit=limit,
        most=MOST * limit,
        tables="\n".join(table(found)),
        size=size,
        projection="\n".join(projected(found)),
        behind="\n".join(behind(found)) or "Nowhere in these panels.",
    )
    (docs / "performance.md").write_text(page, encoding="utf-8")
    print(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--size", type=Path, help="what benchmarks/size.py printed")
    parser.add_argument("--keep", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measure(options.limit)
    if options.keep:
        options.keep.write_text(json.dumps(found))
    size = options.size.read_text() if options.size else "\n".join(sizes.sections())
    write(found, options.limit, options.docs, size)


if __name__ == "__main__":
    main()
