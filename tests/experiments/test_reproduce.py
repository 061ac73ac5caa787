"""The command, from one end to the other, on the stand-in items."""

import re

import pandas as pd
import pytest
from click.testing import CliRunner

from likewise.experiments import cells
from likewise.experiments.methods import METHODS
from likewise.experiments.reproduce import _forget, reproduce
from likewise.experiments.runs import run_cells


def call(*arguments, out):
    """Run the command in this process; give what it said."""
    options = ["--offline", "--jobs", "1", "--out", str(out)]
    result = CliRunner().invoke(reproduce, [*arguments, *options])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True, scope="module")
def nothing(tmp_path_factory):
    """No data, no peers, and a terminal wide enough for the messages looked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIKEWISE_DATA", str(tmp_path_factory.mktemp("data")))
        patch.setenv("LIKEWISE_PEERS", str(tmp_path_factory.mktemp("peers")))
        patch.setenv("COLUMNS", "300")
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A folder with one repeat of a table, and what was said."""
    out = tmp_path_factory.mktemp("table")
    return out, call("table1", "--repeats", "1", out=out)


def without_seconds(path):
    """The file but for what a clock says."""
    return pd.read_csv(path).drop(columns="seconds").to_csv()


@pytest.mark.slow
def test_a_table_from_nothing(table):
    """Digits stand in and it is said; CSV, Markdown and HTML come out."""
    out, said = table
    runs = pd.read_csv(out / "tables.csv")
    page = (out / "reproduction.html").read_text()

    assert "RUNNING ON DIGITS INSTEAD" in said
    assert "LMNN and ITML are not run. Build them with: make peers" in said
    assert set(METHODS) - set(runs["method"]) == {"LMNN", "ITML"}
    assert len(runs) == 3 * (len(METHODS) - 2)
    assert runs["error"].isna().all()
    assert "can be compared with the paper" in page
    assert not re.search(r'(src|href)="(?!data:)', page)


@pytest.mark.slow
def test_all_methods_meet_the_same_splits(table):
    """One fingerprint for each size and seed."""
    runs = pd.read_csv(table[0] / "tables.csv")

    assert (runs.groupby(["n_labelled", "seed"])["split"].nunique() == 1).all()
    assert runs["split"].nunique() == 3


@pytest.mark.slow
def test_resuming_gives_the_same_file(table, tmp_path):
    """Cut in the middle of a line, then run again: the same but for the seconds."""
    whole, cut = table[0] / "tables.csv", tmp_path / "tables.csv"
    n_kept = int(0.7 * len(whole.read_text()))
    cut.write_text(whole.read_text()[:n_kept])
    call("table1", "--repeats", "1", out=tmp_path)

    assert without_seconds(cut) == without_seconds(whole)


def write_finished_figure(out):
    """The rows that a quick run of figure 1 would write, made up."""
    finished = cells.curve_experiment(out)._replace(
        work=lambda cell: [
            {
                "round": k,
                "n_answers": 10,
                "n_known": 20,
                "accuracy_rest": 0.7,
                "accuracy_pool": 0.6,
                "auc": 0.6 + k / 99,
            }
            for k in range(9)
        ]
    )
    run_cells(finished, cells.curve_cells("corel", 2, [10]), n_jobs=1)


def test_a_figure_and_its_page_for_the_docs(tmp_path):
    """PNG, SVG, and a Markdown page with its pictures beside it."""
    write_finished_figure(tmp_path)
    said = call("figure1", "--quick", "--docs", str(tmp_path / "docs"), out=tmp_path)
    page = (tmp_path / "docs" / "reproduction.md").read_text()

    assert (tmp_path / "figure1.svg").exists()
    assert (tmp_path / "docs" / "reproduction" / "figure1.png").exists()
    assert "](reproduction/figure1.png)" in page
    assert "BAYES+VAR" in said


def test_fresh_forgets_the_runs(tmp_path):
    """Rows of an earlier run are gone."""
    (tmp_path / "tables.csv").write_text("old\n")
    _forget(tmp_path)

    assert not (tmp_path / "tables.csv").exists()


def test_help_names_the_parts_and_ends_with_an_example():
    """What a newcomer types first."""
    said = CliRunner().invoke(reproduce, ["--help"]).output

    for word in ("table1", "figure2", "readings", "all", "LIKEWISE_DATA", "--quick"):
        assert word in said
    assert "likewise reproduce all" in said
