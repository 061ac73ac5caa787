"""Everything that a project leaves a person with."""

import csv
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import likewise
from likewise.app.duplicates import likely_pairs
from likewise.app.grouping import Grouping
from likewise.app.project import Project
from tests.app.conftest import CLASSES, make_project
from tests.app.test_cli import run, told
from tests.app.test_project import say


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The file of a project with a hostile name among its items, after 15 answers."""
    names = [f"item {k}" for k in range(40)]
    path = tmp_path_factory.mktemp("results") / "small.likewise"
    make_project(path, names=names)
    with Project.open(path) as project:
        for _ in range(15):
            say(project)
        item = Grouping(project).found().groups[0].typical[0]
        Grouping(project).rename(item, "=<script>1</script>", "ada")
    return path


@pytest.fixture(scope="module")
def finished(answered, tmp_path_factory):
    """A folder with everything."""
    folder = tmp_path_factory.mktemp("out") / "results"
    result = run("finish", answered, "--out", folder)
    assert result.exit_code == 0, result.output
    assert " folders.\n" in result.stdout
    return folder


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def n_answers(path):
    """How many answers count: a pair asked again has one."""
    with Project.open(path) as project:
        return len(project.current_answers())


def test_finish_writes_every_file(answered, finished):
    """All of them, and a folder for each group."""
    assert sorted(file.name for file in finished.iterdir()) == [
        "answers.csv",
        "duplicates.csv",
        "groups",
        "groups.csv",
        "groups.json",
        "learned.metric",
        "report.html",
        "vectors.csv",
        "vectors.npz",
    ]
    lists = json.loads((finished / "groups.json").read_text())
    assert len(list((finished / "groups").iterdir())) == lists["n_groups"]
    assert len(rows(finished / "answers.csv")) == n_answers(answered)
    assert rows(finished / "groups.csv")[0]["name"] == "'=<script>1</script>"


def test_vectors_have_the_distances_of_the_metric(answered, finished):
    """In both forms, and of the metric that was saved."""
    metric = likewise.load(finished / "learned.metric")
    with Project.open(answered) as project:
        X = project.X.astype(float)
    with np.load(finished / "vectors.npz") as saved:
        items, Z = saved["items"], saved["vectors"]

    table = rows(finished / "vectors.csv")
    assert items.tolist() == [row["item"] for row in table]
    first = [float(table[0][f"z{k + 1}"]) for k in range(Z.shape[1])]
    assert_allclose(first, Z[0], atol=1e-6)
    distance = metric.pair_distance(X, [[0, 1], [2, 7]])
    assert_allclose(np.linalg.norm(Z[[0, 2]] - Z[[1, 7]], axis=1), distance, rtol=1e-5)


def test_the_report_needs_no_network_and_runs_nothing(answered, finished):
    """Names are escaped, and nothing points outside."""
    page = (finished / "report.html").read_text()

    assert "=&lt;script&gt;1&lt;/script&gt;" in page
    assert "<script" not in page
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []
    assert f"from {n_answers(answered)} answers" in page


def test_likely_pairs_come_by_probability_with_what_is_known(answered):
    """The order is that of P(same); what was said or follows is marked."""
    with Project.open(answered) as project:
        learner = project.learner()
        found = likely_pairs(project, learner)
        pairs = [(pair.left, pair.right) for pair in found]
        said = {a.pair: a.label for a in project.current_answers()}

        assert_allclose(
            [pair.p_same for pair in found], learner.pair_probability(pairs)
        )
    p_same = [pair.p_same for pair in found]
    assert p_same == sorted(p_same, reverse=True)
    assert min(p_same) >= 0.5
    assert len(set(pairs)) == len(pairs)
    for pair in found:
        if (pair.left, pair.right) in said:
            words = {1: "same", -1: "different", 0: "unsure"}
            assert pair.known == words[said[pair.left, pair.right]]
        elif pair.known:
            assert CLASSES[pair.left] == CLASSES[pair.right]


def test_finish_leaves_what_is_there_alone(answered, finished):
    """A second run into the same folder is refused; nothing is half written."""
    before = sorted(file.name for file in finished.parent.iterdir())

    result = run("finish", answered, "--out", finished)

    assert "holds something already" in str(result.exception)
    assert sorted(file.name for file in finished.parent.iterdir()) == before


def test_two_items_and_no_answer_still_finish(tmp_path):
    """The smallest project: sensible files, no warning."""
    path = tmp_path / "two.npy"
    np.save(path, np.eye(2))
    told("new", tmp_path / "two.likewise", "--vectors", path)

    said = told("finish", tmp_path / "two.likewise", "--out", tmp_path / "out")

    assert "report.html" in said["files"]
    assert said["left_out"] == []
    assert len(rows(tmp_path / "out" / "groups.csv")) == 2
