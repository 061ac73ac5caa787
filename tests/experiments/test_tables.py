"""Means, marks and the t-test, against scipy and by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from likewise.experiments import tables
from likewise.experiments.protocol import SIZES


def make_runs(scores, testbed="corel"):
    """Runs of methods, the same scores at every size."""
    rows = [
        {
            "testbed": testbed,
            "n_labelled": size,
            "seed": seed,
            "method": method,
            "accuracy_labelled": score,
            "seconds": 0.5,
            "settings": "delta=1 gamma_0=1" if method == "BAYES" else "",
            "error": "" if np.isfinite(score) else "ValueError: no same pair",
        }
        for method, values in scores.items()
        for size in SIZES
        for seed, score in enumerate(values)
    ]
    return pd.DataFrame(rows)


OURS = [0.50, 0.62, 0.55, 0.71, 0.58]
WEAK = [0.40, 0.55, 0.43, 0.60, 0.50]
LIKE = [0.52, 0.60, 0.56, 0.69, 0.59]


def test_the_t_test_is_scipys_paired_one():
    """The same p and the same difference."""
    found = tables.compare(np.array(OURS), np.array(LIKE))

    assert_allclose(found.p_value, stats.ttest_rel(OURS, LIKE).pvalue)
    assert_allclose(found.difference, np.mean(OURS) - np.mean(LIKE))


def test_the_t_test_by_hand():
    """t = mean / (deviation / sqrt(n)), two tails of t with n - 1 degrees."""
    gaps = np.array(OURS) - np.array(WEAK)
    t = gaps.mean() / (gaps.std(ddof=1) / np.sqrt(len(gaps)))

    found = tables.compare(np.array(OURS), np.array(WEAK))

    assert_allclose(found.p_value, 2 * stats.t.sf(abs(t), df=len(gaps) - 1))


def test_equal_scores_are_chance_and_two_splits_say_nothing():
    """No spread is no error; fewer than three splits have no p."""
    assert tables.compare(np.array(OURS), np.array(OURS)).p_value == 1.0
    assert tables.compare(np.array(OURS), np.array(OURS)).verdict == ""
    two = tables.compare(np.array([0.5, 0.6]), np.array([0.4, 0.5]))
    assert np.isnan(two.p_value)
    assert two.verdict == ""


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [(OURS, WEAK, "better"), (WEAK, OURS, "worse"), (OURS, LIKE, "")],
)
def test_verdicts_at_five_percent(first, second, verdict):
    """Better, worse, or perhaps chance."""
    assert tables.compare(np.array(first), np.array(second)).verdict == verdict


def test_a_failed_split_is_left_out_of_the_pairing():
    """Only splits that both methods finished are compared."""
    runs = make_runs({"ITML": [np.nan, *WEAK[1:]], "likewise": OURS})
    found = tables.compare_methods(
        runs, "corel", 10, "likewise", "ITML", "accuracy_labelled"
    )

    assert_allclose(found.p_value, stats.ttest_rel(OURS[1:], WEAK[1:]).pvalue)


def test_the_table_shows_mean_deviation_mark_and_paper():
    """As printed, cell by cell."""
    runs = make_runs({"EUCLID": WEAK, "BAYES": LIKE, "likewise": OURS})
    table = tables.score_table(runs, "corel", "accuracy_labelled")
    cells = {row[0]: row[1:] for row in table.rows}

    assert cells["EUCLID"][:2] == [
        f"{np.mean(WEAK):.3f} ± {np.std(WEAK, ddof=1):.3f} +",
        "*0.449 ± 0.028*",
    ]
    assert cells["BAYES"][4:] == ["0.592 ± 0.063", "*0.646 ± 0.015*"]
    assert cells["**likewise**"][1] == ""


def test_where_we_lose_the_table_says_so():
    """A minus marks the rival, and the tally names it."""
    runs = make_runs({"NCA": OURS, "likewise": WEAK})
    shown = tables.score_table(runs, "corel", "accuracy_labelled").rows[0]

    assert shown[1].endswith(" -")
    assert "worse in 3 (NCA at 10, NCA at 20, NCA at 30)" in tables.tally(runs, "corel")


def test_failures_are_shown_with_their_error():
    """All failed: 'failed' in the cell; some: how many; none run: 'not run'."""
    nan = np.nan
    runs = make_runs({"LMNN": [nan] * 5, "ITML": [nan, *WEAK[1:]], "likewise": OURS})
    cells = {
        row[0]: row[1]
        for row in tables.score_table(runs, "corel", "accuracy_labelled").rows
    }

    assert cells["LMNN"] == "failed"
    assert cells["ITML"].endswith("(1 failed)")
    assert (
        "LMNN failed on corel, 10 labelled, in 5 repeats: ValueError: no same pair"
        in tables.failures(runs)
    )
    assert tables.score_table(runs, "isolet", "accuracy_labelled").rows[0][1] == (
        "not run"
    )


def test_chosen_settings_are_counted():
    """What the evidence chose, and how often."""
    runs = make_runs({"BAYES": LIKE})

    assert "10 labelled: delta=1 gamma_0=1 (5 x)" in tables.chosen_settings(
        runs, "corel", "BAYES"
    )


def test_only_the_first_repeats_are_read(tmp_path):
    """A folder may hold more repeats than are asked for."""
    make_runs({"EUCLID": WEAK}).to_csv(tmp_path / "tables.csv", index=False)

    assert set(tables.read_runs(tmp_path / "tables.csv", 2)["seed"]) == {0, 1}
