"""Readings of the paper's model: all are run, and the evidence chooses among them."""

import numpy as np
import pandas as pd
import pytest

from likewise.experiments import readings
from likewise.experiments.protocol import draw_split


@pytest.fixture(scope="module")
def runs():
    """All readings on two small splits."""
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(5), 40)
    X = rng.normal(size=(200, 20))
    X[:, 0] += 2 * y
    rows = [
        {"testbed": "corel", "n_labelled": size, "seed": 0, "error": "", **row}
        for size in (10, 20, 30)
        for row in readings.run_readings("corel", X, y, draw_split(y, size, 0))
    ]
    return pd.DataFrame(rows)


def test_every_reading_is_run_once(runs):
    """Two ways for the mean, three numbers of eigenvectors, and the priors."""
    keys = ["n_labelled", "inference", "n_basis", "delta", "gamma_0"]

    assert len(runs) == 3 * readings.N_READINGS
    assert not runs.duplicated(keys).any()
    assert runs["accuracy_labelled"].between(0, 1).all()


def test_the_evidence_chooses_within_each_reading(runs):
    """The row holds the accuracy of the prior with most evidence, none other."""
    table = readings.evidence_table(runs, "corel")
    chosen = runs[
        (runs["inference"] == "variational")
        & (runs["n_basis"] == 0)
        & (runs["n_labelled"] == 20)
    ]
    expected = chosen.loc[chosen["evidence"].idxmax(), "accuracy_labelled"]

    row = next(
        row for row in table.rows if row[0] == "constrained mean, all eigenvectors"
    )
    assert row[2] == f"{expected:.3f}"


def test_the_paper_stands_beside(runs):
    """The last row of both tables is the paper's."""
    for table in (
        readings.evidence_table(runs, "corel"),
        readings.prior_table(runs, "corel"),
    ):
        assert table.rows[-1][1:] == ["*0.492*", "*0.610*", "*0.646*"]


def test_the_nearest_reading_is_called_a_remark(runs):
    """It is found by test accuracy, and says so."""
    assert "a remark, not a result" in readings.nearest_reading(runs, "corel")
