"""Cells and their file: resuming, mending, failing."""

from typing import NamedTuple

import pytest

from likewise.errors import InputError
from likewise.experiments.runs import Experiment, fingerprint, run_cells


class Cell(NamedTuple):
    """A cell of these tests."""

    name: str
    seed: int


CELLS = [Cell(name, seed) for seed in range(3) for name in ("a", "b")]


def two_rows(cell):
    """Two rows that depend on the cell alone."""
    return [{"step": k, "score": cell.seed * 10 + k} for k in range(2)]


def experiment(path, work=two_rows):
    return Experiment(path, Cell, ("step", "score", "seconds", "error"), 2, work)


def test_rows_follow_the_cells(tmp_path):
    """A header, then two rows a cell, in order."""
    run_cells(experiment(tmp_path / "x.csv"), CELLS, n_jobs=1)
    lines = (tmp_path / "x.csv").read_text().splitlines()

    assert lines[0] == "name,seed,step,score,seconds,error"
    assert lines[1:4] == ["a,0,0,0,,", "a,0,1,1,,", "b,0,0,0,,"]
    assert len(lines) == 1 + 2 * len(CELLS)


@pytest.mark.parametrize("n_kept", [0, 20, 60, 61, 75, 100, 130])
def test_resuming_gives_the_same_file(tmp_path, n_kept):
    """Wherever the file was cut, the rest is run and the file comes out the same."""
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    run_cells(experiment(whole), CELLS, n_jobs=1)
    cut.write_text(whole.read_text()[:n_kept])

    run_cells(experiment(cut), CELLS, n_jobs=1)

    assert cut.read_text() == whole.read_text()


def test_a_finished_cell_is_not_run_again(tmp_path):
    """The second time there is no work, and nothing is written."""
    path = tmp_path / "x.csv"
    run_cells(experiment(path), CELLS, n_jobs=1)
    before = path.read_text()

    run_cells(experiment(path, work=pytest.fail), CELLS, n_jobs=1)

    assert path.read_text() == before


def test_more_repeats_are_added_at_the_end(tmp_path):
    """What is there is a beginning of what is asked for."""
    path = tmp_path / "x.csv"
    run_cells(experiment(path), CELLS[:2], n_jobs=1)
    before = path.read_text()
    run_cells(experiment(path), CELLS, n_jobs=1)

    assert path.read_text().startswith(before)
    assert len(path.read_text().splitlines()) == 1 + 2 * len(CELLS)


def test_progress_counts_what_was_there(tmp_path):
    """First what an earlier run did, then one more a cell."""
    told = []
    run_cells(experiment(tmp_path / "x.csv"), CELLS[:2], n_jobs=1)
    run_cells(experiment(tmp_path / "x.csv"), CELLS, n_jobs=1, done=told.append)

    assert told == [2, 3, 4, 5, 6]


def fails_on_b(cell):
    """A rival that cannot do it."""
    if cell.name == "b":
        raise ValueError("classes, of\n one kind")
    return two_rows(cell)


def test_a_failure_is_a_row_with_its_error(tmp_path):
    """The others go on; the failure is not tried again."""
    path = tmp_path / "x.csv"
    run_cells(experiment(path, fails_on_b), CELLS, n_jobs=1)
    lines = path.read_text().splitlines()
    run_cells(experiment(path, pytest.fail), CELLS, n_jobs=1)

    assert len(lines) == 1 + 3 * 2 + 3
    assert lines[3].startswith("b,0,,,")
    assert lines[3].endswith('"ValueError: classes, of one kind"')
    assert path.read_text().splitlines() == lines


def test_both_cores_write_the_same_file(tmp_path):
    """Rows come in the cells' order, whoever is first."""
    run_cells(experiment(tmp_path / "one.csv"), CELLS, n_jobs=1)
    run_cells(experiment(tmp_path / "two.csv"), CELLS, n_jobs=2)

    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()


def test_a_file_of_another_kind_is_refused(tmp_path):
    """Columns that differ are not mixed; nothing is overwritten."""
    path = tmp_path / "x.csv"
    path.write_text("something,else\n1,2\n")

    with pytest.raises(InputError, match=r"must begin with the columns name,seed"):
        run_cells(experiment(path), CELLS, n_jobs=1)
    assert path.read_text() == "something,else\n1,2\n"


def test_fingerprints_tell_splits_apart():
    """Equal rows, equal digits."""
    assert fingerprint([1, 2], [3]) == fingerprint([1, 2], [3])
    assert fingerprint([1, 2], [3]) != fingerprint([1, 2], [4])
