"""How long a person waits for the next question: 5,000 items, computed ahead or not.

From the answer to the question that follows it, without the browser: what it draws
takes a few milliseconds more.

Usage: make bench
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from likewise.app.project import Project
from likewise.app.store import Store
from likewise.app.writer import Writer

N_ITEMS, N_ANSWERS = 5_000, 10
LOOKS = {"at once": 0.0, "after 3 s": 3.0}


def make(path, n_items, acquisition):
    """Items in five classes, which three of 36 features tell apart."""
    rng = np.random.RandomState(0)
    classes = np.arange(n_items) % 5
    X = rng.normal(size=(n_items, 36))
    X[:, :3] += 3 * classes[:, None]
    with Writer(path) as writer:
        for k in range(n_items):
            writer.add(f"item {k}", text=f"item {k}")
        writer.finish(X, {"kind": "text", "seed": 1, "acquisition": acquisition})
    return classes


def waits(path, classes, seconds_looked):
    """Seconds from each answer to the next question."""
    project = Project(Store.open(path), is_ahead=True)
    question, taken = project.question("ada"), []
    for _ in range(N_ANSWERS):
        time.sleep(seconds_looked)
        is_same = classes[question.left] == classes[question.right]
        start = time.perf_counter()
        project.answer(question.id, 1 if is_same else -1, "ada")
        question = project.question("ada")
        taken.append(time.perf_counter() - start)
    project.close()
    return taken


def main():
    for what, seconds_looked in LOOKS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "many.likewise"
            taken = waits(path, make(path, N_ITEMS, "entropy"), seconds_looked)
        print(
            f"{N_ITEMS:,} items, answered {what}: the next question after "
            f"{np.median(taken):.3f} s, at most {max(taken):.3f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
