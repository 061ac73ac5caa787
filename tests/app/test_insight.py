"""What a project shows of itself."""

import re
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.app import maps
from likewise.app.insight import Insight
from likewise.app.maps import neighbourhoods, plane
from likewise.app.people import cohen_kappa
from likewise.app.project import Project
from likewise.app.store import Store
from likewise.app.writer import Writer
from tests.app.conftest import make_project
from tests.app.test_project import run, say


def rows(*said, annotator="file"):
    return [
        {"left": i, "right": j, "label": label, "annotator": annotator}
        for i, j, label in said
    ]


def test_progress_counts_each_kind_of_answer(project):
    """Counts follow what was said; the estimate lies in its band."""
    project.set_purpose("metric")  # no answer is asked for again
    for word in ("same", "same", "different", "unsure"):
        say(project, word=word)
    project.set_purpose("groups")

    progress = Insight(project).progress()

    assert (progress.n_answers, progress.n_same) == (4, 2)
    assert (progress.n_different, progress.n_unsure) == (1, 1)
    (figure,) = progress.figures
    assert figure.words == "of items are in their right group"
    assert 0 <= figure.low <= figure.value <= figure.high <= 1
    assert progress.words.endswith(".")
    project.set_purpose("metric")
    progress = Insight(project).progress()
    assert [figure.words for figure in progress.figures] == [
        "of items lie next to one that is the same",
        "of pairs called same are the same",
        "of pairs that are the same are found",
    ]
    for figure in progress.figures:
        assert 0 <= figure.low <= figure.value <= figure.high <= 1


def test_the_curve_grows_and_shrinks_with_the_answers(project):
    """A point for each estimate; undo takes the last away."""
    insight = Insight(project)
    for _ in range(3):
        say(project)
        insight.estimate()

    assert [point.n_answers for point in insight.curve()] == [1, 2, 3]
    project.undo("ada")
    assert [point.n_answers for point in insight.curve()] == [1, 2]


def test_a_live_insight_draws_the_curve_by_itself(path):
    """The background thread keeps a point for the latest answer."""
    project = Project(Store.open(path))
    insight = Insight(project, is_live=True)
    run(project, 3)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if [point.n_answers for point in insight.curve()][-1:] == [3]:
            break
        time.sleep(0.02)

    assert insight.curve()[-1].n_answers == 3
    insight.close()
    project.close()


def test_the_curve_waits_for_what_else_nobody_waits_for(path):
    """Two such computations at once would keep people from their questions."""
    project = Project(Store.open(path))
    with project.background:
        insight = Insight(project, is_live=True)
        run(project, 1)
        time.sleep(1.0)  # more than it takes here
        meanwhile = insight.curve()
    while not insight.curve():
        time.sleep(0.02)

    assert meanwhile == []
    insight.close()
    project.close()


def test_it_ends_although_the_curve_waits_for_others(path):
    """Whoever is told to end while it waits for its turn draws nothing more."""
    project = Project(Store.open(path))
    with project.background:
        insight = Insight(project, is_live=True)
        time.sleep(1.0)  # it wants to draw, and waits for its turn
        closing = threading.Thread(target=insight.close, daemon=True)
        closing.start()
        time.sleep(0.2)  # it is told
    closing.join(60)

    assert not closing.is_alive()
    assert insight.curve() == []
    project.close()


def test_the_map_keeps_distances_and_hardly_turns():
    """PCA of points in a plane is the plane; scaled so that most lie in a square."""
    rng = np.random.RandomState(0)
    flat = np.column_stack([rng.normal(size=(200, 2)) * [3, 1], np.zeros(200)])

    placed = plane(flat)

    scale = np.linalg.norm(placed[0] - placed[1]) / np.linalg.norm(flat[0] - flat[1])
    gaps = np.linalg.norm(placed[:50] - placed[50:100], axis=1)
    assert_allclose(gaps, scale * np.linalg.norm(flat[:50] - flat[50:100], axis=1))
    assert np.mean(np.abs(placed).max(axis=1) <= 1) >= 0.98


def test_the_map_separates_with_the_answers(project):
    """Classes lie further apart, for their width, than before learning."""
    from tests.app.conftest import CLASSES

    def separation(points):
        points = np.array(points)
        centres = np.array([points[CLASSES == k].mean(axis=0) for k in range(4)])
        within = np.mean(np.sum((points - centres[CLASSES]) ** 2, axis=1))
        return np.mean(np.sum((centres - centres.mean(axis=0)) ** 2, axis=1)) / within

    run(project, 30)
    found = Insight(project).map()

    assert len(found["after"]) == 40
    assert separation(found["after"]) > 1.5 * separation(found["before"])


def test_the_map_shows_the_groups_found(project):
    """Each item has its group; the largest are named with size and sureness."""
    insight = Insight(project)
    run(project, 20)
    found = insight.grouping.found()

    shown = insight.map()

    assert shown["groups"] == found.labels.tolist()
    assert [one.size for one in shown["legend"]] == [
        group.size for group in found.groups[:12]
    ]
    assert shown["legend"][0].title == "Group 1"


def test_neighbours_are_ordered_by_what_is_believed(project):
    """Before and now, each by its own P(same); the item itself is not among them."""
    fresh = Insight(project).neighbours(5, 6)
    assert fresh["before"] == fresh["after"]
    run(project, 20)

    found = Insight(project).neighbours(5, 6)

    assert found["before"] == fresh["before"]
    for when, learner in (("before", project.untaught()), ("after", project.learner())):
        near = found[when]
        p_same = [one.p_same for one in near]
        assert p_same == sorted(p_same, reverse=True)
        expected = learner.pair_probability([(5, one.number) for one in near])
        assert_allclose(p_same, expected)
        assert 5 not in [one.number for one in near]
    assert found["after"] != found["before"]


def test_nobody_is_a_neighbour_of_oneself(tmp_path):
    """Where fewer items are left than neighbours wanted, all others are given."""
    path = tmp_path / "few.likewise"
    with Writer(path) as writer:
        for name in "abcd":
            writer.add(name)
        settings = {"kind": "text", "seed": 1, "acquisition": "groups"}
        writer.finish(np.random.RandomState(0).normal(size=(4, 3)), settings)
    with Project.open(path) as project:
        found = Insight(project).neighbours(2, n_neighbours=8)

    for when in ("before", "after"):
        assert sorted(each.number for each in found[when]) == [0, 1, 3]


def test_people_who_disagree_contradict_each_other(project):
    """Two answers on one pair are a clash until one is changed."""
    project.import_answers(rows((0, 1, 1), (2, 3, 1), annotator="ada"))
    project.import_answers(rows((0, 1, -1), (2, 3, 1), annotator="bo"))
    insight = Insight(project)

    (clash,) = insight.contradictions()
    assert [(answer.pair, answer.annotator) for answer in clash] == [
        ((0, 1), "ada"),
        ((0, 1), "bo"),
    ]
    project.change(clash[0].id, -1, "ada")
    assert insight.contradictions() == []


def test_agreement_is_the_share_of_common_pairs(project):
    """Unsure answers and pairs of one person do not count."""
    project.import_answers(
        rows((0, 1, 1), (2, 3, 1), (4, 5, -1), (6, 7, 0), (8, 9, 1), annotator="ada")
    )
    project.import_answers(
        rows((0, 1, 1), (2, 3, -1), (4, 5, -1), (6, 7, 1), annotator="bo")
    )

    ada, bo = Insight(project).people()

    assert (ada.name, ada.n_answers, ada.n_unsure) == ("ada", 5, 1)
    assert (ada.n_shared, bo.n_shared) == (3, 3)
    assert ada.agreement == pytest.approx(2 / 3)
    assert ada.kappa == pytest.approx(0.4)


def test_kappa_of_known_tables():
    """All alike: 1; chance: 0; one kind only: undefined."""
    assert cohen_kappa([(1, 1), (-1, -1)]) == 1
    assert cohen_kappa([(1, 1), (1, -1), (-1, 1), (-1, -1)]) == 0
    assert cohen_kappa([(1, 1), (1, 1)]) is None
    assert cohen_kappa([]) is None


def test_a_circle_of_answers_that_cannot_be_true_is_listed(project):
    """0 = 4 and 4 = 8, yet 0 and 8 differ; changing one settles it."""
    project.import_answers(rows((0, 4, 1), (4, 8, 1), (0, 8, -1)))
    insight = Insight(project)

    (clash,) = insight.contradictions()

    assert sorted(answer.pair for answer in clash) == [(0, 4), (0, 8), (4, 8)]
    assert insight.progress().n_contradictions == 1
    wrong = next(answer for answer in clash if answer.label == -1)
    project.change(wrong.id, 1, "ada")
    assert insight.progress().n_contradictions == 0


def test_what_follows_is_counted_as_saved(project):
    """Three alike and one that differs from one of them: three pairs for free."""
    project.import_answers(rows((0, 4, 1), (4, 8, 1), (0, 1, -1)))

    assert Insight(project).progress().n_saved == 3


def test_near_items_stay_near_on_the_map(rng):
    """Four clouds in ten dimensions: the nearest on the map is of the same cloud."""
    kinds = np.arange(80) % 4
    Z = rng.normal(size=(80, 10)) + 6 * np.eye(10)[kinds]

    placed = neighbourhoods(Z, None, rng)

    squared = ((placed[:, None] - placed[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    assert np.mean(kinds[squared.argmin(axis=1)] == kinds) > 0.95
    assert np.abs(placed).max() < 2


def test_near_items_of_very_many_stay_near_on_the_map(rng, monkeypatch):
    """Those that are put beside others lie among their kind, at places of their own."""
    monkeypatch.setattr(maps, "MAX_EMBEDDED", 60)
    monkeypatch.setattr(maps, "N_DRAWN", 60)
    kinds = np.arange(400) % 8
    Z = rng.normal(size=(400, 10)) + 6 * np.eye(10)[kinds]
    Z[7] = Z[15]  # of one kind, and equal

    placed = neighbourhoods(Z, None, rng)

    squared = ((placed[:, None] - placed[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    assert np.mean(kinds[squared.argmin(axis=1)] == kinds) > 0.9
    assert len(np.unique(placed, axis=0)) >= 399
    # The two directions of most difference mix them.
    flat = plane(Z)
    squared = ((flat[:, None] - flat[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    assert np.mean(kinds[squared.argmin(axis=1)] == kinds) < 0.75


def test_items_that_are_all_equal_have_a_map(rng):
    """One point, no warning."""
    assert_allclose(neighbourhoods(np.ones((20, 3)), None, rng), 0)


@pytest.mark.parametrize("is_random", [True, False])
def test_answers_of_a_coin_are_said_to_look_random(tmp_path, rng, is_random):
    """Where groups are asked for too: no stop then, and the person is named."""
    path = make_project(tmp_path / "coin.likewise")
    with Project.open(path) as project:
        for _ in range(42):
            coin = ("same", "different")[rng.randint(2)]
            say(project, word=coin if is_random else None)

        progress = Insight(project).progress()

    assert re.match(r"Of [2-4] pairs drawn at random \d came out", progress.checked)
    assert progress.looks_random == (["ada"] if is_random else [])
    assert not (is_random and progress.stop)
    assert [figure.words for figure in progress.figures] == [
        "of items are in their right group"
    ]
