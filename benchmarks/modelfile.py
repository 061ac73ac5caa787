"""What does a saved metric weigh, and what of it weighs what?

A learner of defaults on digits, 64 numbers each; on the same digits with noise, whose
numbers have all their digits; on 10,000 items of 10 numbers; on 500 of 128; on 1,000 of
100 that are noise; and `fit(X, y)` on digits. Bytes of the arrays as they are, and in
the file.

Usage: python benchmarks/modelfile.py
"""

import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from sklearn.datasets import load_digits, make_blobs

from likewise import ActiveMetric, BayesianMetric

N_ANSWERS = 100
# What is stored besides, for other arrays to be guessed from.
HELPERS = (".reflectors", ".lengths", "flat_gaps", "flat_steps", "own_gaps", "own_unit")
PARTS = {
    "components": "L",
    "basis": "the basis",
    "frame": "the priors' frames",
    "gaps": "gaps of the pairs",
    "inverse_root": "root of their covariance",
}


def part(name):
    return next((words for key, words in PARTS.items() if key in name), "all else")


def learned(X, y, n_answers=N_ANSWERS):
    learner = ActiveMetric(X, random_state=0)
    while len(learner.history()) < n_answers:
        pairs = learner.ask(10)
        learner.tell(pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1))
    return learner.metric_


def main():
    X, y = load_digits(return_X_y=True)
    noisy = X + np.random.RandomState(0).standard_normal(X.shape)
    blobs, blob = make_blobs(10_000, 10, centers=30, cluster_std=3.0, random_state=0)
    noise = np.random.RandomState(1).standard_normal((1000, 100))
    kind = np.random.RandomState(2).randint(0, 5, 1000)
    many, group = make_blobs(500, 128, centers=20, cluster_std=8.0, random_state=0)
    for words, metric in (
        ("300 digits, 100 answers", learned(X[:300], y)),
        ("1,797 digits, 100 answers", learned(X, y)),
        ("300 noisy digits, 100 answers", learned(noisy[:300], y)),
        ("10,000 items of 10 numbers, 100 answers", learned(blobs, blob)),
        ("500 items of 128 numbers, 100 answers", learned(many, group)),
        ("500 items of 128 numbers, 200 answers", learned(many, group, 200)),
        ("1,000 items of 100 numbers, 100 answers", learned(noise, kind)),
        ("1,000 items of 100 numbers, 200 answers", learned(noise, kind, 200)),
        ("200 labelled digits", BayesianMetric(random_state=0).fit(X[:200], y[:200])),
        ("1,797 labelled digits", BayesianMetric(random_state=0).fit(X, y)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it.metric")
            metric.save(path)
            data, arrays = path.read_bytes(), load_file(path)
        size = int.from_bytes(data[:8], "little")
        table = json.loads(data[8 : 8 + size])
        header = json.loads(table["__metadata__"]["likewise"])["header"]
        before, after = Counter(), Counter({"the header": size})
        for name, array in arrays.items():
            if name != "packed":
                after[part(name)] += array.nbytes
                before[part(name)] += 0 if name == "components" else array.nbytes
        packed = sorted(header["packed"].items())
        for (name, (_, *shape)), n_bytes in zip(packed, header["sizes"], strict=True):
            after[part(name)] += n_bytes
            if not name.endswith(HELPERS):
                before[part(name)] += 8 * int(np.prod(shape))
        print(
            f"{words}, {len(metric.members_)} members: "
            f"{len(data) / 1000:.0f} kB of {sum(before.values()) / 1000:.0f}"
        )
        for name in sorted(after, key=after.get, reverse=True):
            print(f"  {after[name]:7,} of {before[name]:7,}  {name}")


if __name__ == "__main__":
    main()
