"""The public face has types that a project outside can rely on."""

import subprocess
import sys
import textwrap

import pytest

RIGHT = """
    from typing import assert_type

    import numpy as np
    from numpy.typing import NDArray

    import likewise
    from likewise import ActiveMetric, BayesianMetric, InputError, Neighbours
    from likewise.pairs import from_tuples
    from likewise.using.splits import ItemGroupedPairSplit, PairEstimator

    X = np.zeros((4, 2))
    metric = BayesianMetric(basis="axes").fit_pairs(X, [[0, 1]], [1])
    assert_type(metric, BayesianMetric)
    assert_type(metric.fit(X, ["a", "a", "b", "b"]), BayesianMetric)
    assert_type(metric.transform(X), NDArray[np.float64])
    assert_type(metric.score(X, [0, 0, 1, 1]), float)
    learner = ActiveMetric(X, metric)
    pairs: NDArray[np.intp] = learner.ask(3)
    learner.tell(pairs, ["same", "different", "unsure"])
    assert_type(learner.groups().labels, NDArray[np.int64])
    assert_type(likewise.__version__, str)
    rows = Neighbours(metric, X).query([0], 2).rows
    items, numbered = from_tuples(np.zeros((1, 2, 3)))
    model: PairEstimator = PairEstimator(items).fit(numbered, [1])
    for train, test in ItemGroupedPairSplit().split(numbered):
        print(train, test, model, rows)
    error: ValueError = InputError("no")
"""
WRONG = """
    from likewise import ActiveMetric, BayesianMetric

    BayesianMetric(basis=3)
    ActiveMetric([[0.0]]).ask("ten")
    ActiveMetric([[0.0]], acquisition="entropy").undo(2)
"""


@pytest.mark.slow
def test_a_project_outside_is_checked(tmp_path):
    """mypy, strict, as an importer sees it: right use passes, wrong use is named."""
    for name, code in (("right.py", RIGHT), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(textwrap.dedent(code))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]

    done = subprocess.run(
        [*command, "right.py", "wrong.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.split("  ")[-1] for line in errors] == [
        "[arg-type]",
        "[arg-type]",
        "[call-arg]",
    ], done.stdout + done.stderr
    assert all(line.startswith("wrong.py") for line in errors)
