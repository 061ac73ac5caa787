"""Curves: their numbers, their files, and the words drawn from them."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from likewise.experiments import curves, figures
from likewise.experiments.strategies import STRATEGIES


@pytest.fixture
def runs(rng):
    """Four repeats of all strategies; ours rises faster."""
    rows = [
        {
            "testbed": "corel",
            "n_initial": size,
            "seed": seed,
            "strategy": name,
            "round": k,
            "error": "",
            "n_answers": 10 + 20 * k,
            "n_known": 10 + 100 * k,
            "auc": 0.5 + 0.03 * k * (1 + (name == "likewise")) + 0.01 * rng.rand(),
        }
        for size in (10, 20, 30)
        for seed in range(4)
        for name in STRATEGIES
        for k in range(9)
    ]
    table = pd.DataFrame(rows)
    return table.assign(accuracy_rest=table["auc"], accuracy_pool=table["auc"])


def test_a_curve_is_the_mean_with_its_standard_error(runs):
    """Against numpy, for one round."""
    chosen = runs[(runs["strategy"] == "MLE+ACT") & (runs["n_initial"] == 20)]
    values = chosen[chosen["round"] == 5]["auc"].to_numpy()
    drawn = figures.curve(chosen, "auc").loc[5]

    assert_allclose(drawn["mean"], values.mean())
    assert_allclose(drawn["error"], values.std(ddof=1) / 2)


def test_equal_runs_give_equal_files(runs, tmp_path):
    """No date and no chance in the SVG."""
    runs = runs[runs["n_initial"] == 10]
    one, two = (
        figures.draw_figure(runs, "corel", "A title", tmp_path / name)[1]
        for name in ("one", "two")
    )

    assert one.read_text() == two.read_text()


def test_a_figure_has_three_panels_and_names_every_strategy(runs, tmp_path):
    """As PNG and as SVG."""
    png, svg = figures.draw_figure(runs, "corel", "A title", tmp_path / "one")
    drawn = svg.read_text()

    assert png.read_bytes().startswith(b"\x89PNG")
    assert all(f"<!-- {name} -->" in drawn for name in STRATEGIES)
    for panel in "abc":
        assert f"({panel})" in drawn


def test_answers_needed_are_read_between_the_points():
    """Linear between rounds; the first point counts; never is infinity."""
    answers, scores = np.array([10, 30, 50]), np.array([0.5, 0.6, 0.8])

    assert curves.answers_needed(answers, scores, 0.7) == pytest.approx(40)
    assert curves.answers_needed(answers, scores, 0.4) == 10
    assert curves.answers_needed(answers, scores, 0.9) == np.inf


def test_the_table_of_curves_marks_what_ours_beats(runs):
    """Mean over the rounds after the start, paired over the repeats."""
    table = curves.curve_table(runs, "corel", "auc")
    chosen = runs[(runs["strategy"] == "MLE+RAND") & (runs["n_initial"] == 10)]
    mean = chosen[chosen["round"] > 0]["auc"].mean()

    assert table.rows[0][1] == f"{mean:.3f} +"
    assert table.rows[-1][0] == "**likewise**"


def test_the_papers_claims_are_tested(runs):
    """The difference of the means over the rounds, by hand for one cell."""
    table = curves.claims_table(runs, "corel")
    chosen = runs[(runs["n_initial"] == 20) & (runs["round"] > 0)]
    means = chosen.groupby("strategy")["accuracy_rest"].mean()

    assert table.rows[2][0] == "BAYES+VAR minus BAYES+ACT"
    assert table.rows[2][2].startswith(
        f"{means['BAYES+VAR'] - means['BAYES+ACT']:+.3f}"
    )


def test_the_saving_is_put_in_words(runs):
    """Twice the slope: half the way."""
    told = curves.saving(runs, "corel")

    needed = int(
        re.search(r"likewise\+RAND has then, \S+, takes likewise (\d+) answers", told)[
            1
        ]
    )

    assert "after 170 answers" in told
    assert "what BAYES+RAND has then" in told
    assert 85 <= needed <= 95
