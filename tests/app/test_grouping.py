"""Groups of a project: found, named, corrected and taken back."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from likewise import InputError
from likewise.app.grouping import Grouping
from likewise.app.inputs import LABELS
from likewise.app.project import Project
from tests.app.conftest import CLASSES, make_project, word_for


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The file of a project that asks for groups, after 30 answers."""
    folder = tmp_path_factory.mktemp("grouping")
    path = make_project(folder / "groups.likewise")
    with Project.open(path) as opened:
        for _ in range(30):
            question = opened.question("ada")
            names = opened.names[question.left], opened.names[question.right]
            opened.answer(question.id, LABELS[word_for(*names)], "ada")
    return path


@pytest.fixture
def project(answered, copy_of):
    """A copy of it, open."""
    with Project.open(copy_of(answered)) as opened:
        yield opened


def test_groups_hold_every_item_once_the_typical_first(project):
    """Largest group first; each lists its members twice: by type and by sureness."""
    found = Grouping(project).found()

    members = [item for group in found.groups for item in group.typical]
    assert sorted(members) == list(range(40))
    sizes = [group.size for group in found.groups]
    assert sizes == sorted(sizes, reverse=True)
    assert adjusted_rand_score(CLASSES, found.labels) > 0.8
    for group in found.groups:
        assert group.typical[:3] == group.representatives
        assert sorted(group.surest) == sorted(group.typical)
        assert (np.diff(found.confidence[group.surest]) <= 0).all()
        assert all(found.of(item) == group for item in group.typical)


def test_a_name_is_kept_searched_and_follows_its_items(project):
    """It stays with most of the items it was given to, and can be taken away."""
    grouping = Grouping(project)
    item = grouping.found().groups[0].typical[0]

    named = grouping.rename(item, "  Red  birds ", "ada")

    assert named.name == "Red birds"
    again = Project.open(project.store.path)
    assert Grouping(again).found().of(item).name == "Red birds"
    again.close()
    assert [g.name for g in grouping.found().search("BIRDS red")] == ["Red birds"]
    away = named.typical[-1]
    grouping.part([away], named.representatives, "ada")
    assert grouping.found().of(item).name == "Red birds"
    assert grouping.found().of(away).name == ""
    grouping.rename(item, "", "ada")
    assert [g.name for g in grouping.found().groups if g.name] == []


def test_two_groups_cannot_have_one_name(project):
    """The second is told that it is taken; names that cannot be shown are refused."""
    grouping = Grouping(project)
    first, second = grouping.found().groups[:2]
    grouping.rename(first.typical[0], "birds", "ada")

    with pytest.raises(InputError, match="Another group has the name 'birds'"):
        grouping.rename(second.typical[0], "birds", "ada")
    with pytest.raises(InputError, match="at most 80 printable"):
        grouping.rename(second.typical[0], "x" * 81, "ada")


def test_two_groups_are_said_to_be_the_same_and_this_is_undone(tmp_path):
    """All items of both, which no answer told apart; one undo takes it all back."""
    with Project.open(make_project(tmp_path / "new.likewise")) as opened:
        grouping = Grouping(opened)
        before = grouping.found()
        one, other = before.groups[:2]
        n_answers = len(opened.current_answers())

        answers = grouping.join([one.representatives, other.representatives], "ada")

        assert {answer.source for answer in answers} == {"grouped"}
        assert len(answers) == 5
        after = grouping.found()
        merged = after.of(one.typical[0])
        assert set(merged.typical) >= {*one.representatives, *other.representatives}
        assert len(after.groups) < len(before.groups)
        opened.undo("ada")
        assert len(opened.current_answers()) == n_answers
        assert (grouping.found().labels == before.labels).all()


def test_answers_that_contradict_others_are_counted(project):
    """One of three that cannot all be true is left out; none before."""
    grouping = Grouping(project)
    a, b, c = grouping.found().groups[0].typical[:3]
    before = grouping.found().n_disbelieved

    project.tell([(a, b, 1), (b, c, 1), (a, c, -1)], "ada")

    assert before == 0
    assert grouping.found().n_disbelieved == 1


def test_an_item_that_belongs_elsewhere_goes_there(project):
    """Told against the representatives of both, it changes its group."""
    grouping = Grouping(project)
    here, there = grouping.found().groups[:2]
    item = here.typical[-1]

    grouping.part([item], here.representatives, "ada")
    assert grouping.found().of(item) != grouping.found().of(here.typical[0])
    project.undo("ada")
    grouping.move([item], here.representatives, there.representatives, "ada")

    assert grouping.found().of(item) == grouping.found().of(there.typical[0])


def test_an_old_answer_is_taken_back_by_its_own_annotator_alone(project):
    """The whole of what was said at once goes; the rest stays."""
    grouping = Grouping(project)
    one, other = grouping.found().groups[:2]
    told = grouping.join([one.representatives, other.representatives], "ada")
    later = grouping.part([one.typical[-1]], one.representatives, "ada")

    with pytest.raises(InputError, match="is of 'ada', not of 'bo'"):
        project.take_back(told[0].id, "bo")
    project.take_back(told[1].id, "ada")

    undone = {answer.id for answer in project.answers() if answer.undone}
    assert undone == {answer.id for answer in told}
    assert not undone & {answer.id for answer in later}
    with pytest.raises(InputError, match="no answer .* to take back"):
        project.take_back(told[1].id, "ada")


def test_what_says_nothing_is_refused(project):
    """Nothing is written."""
    grouping, n_answers = Grouping(project), len(project.answers())

    with pytest.raises(InputError, match="cannot all be sent away"):
        grouping.part([3], [3], "ada")
    with pytest.raises(InputError, match="At least two groups"):
        grouping.join([[3]], "ada")
    with pytest.raises(InputError, match="two different items. Got item 3 twice"):
        project.tell([(3, 3, 1)], "ada")
    with pytest.raises(InputError, match="There is no item 40"):
        project.tell([(3, 40, 1)], "ada")
    assert len(project.answers()) == n_answers


def test_the_purpose_can_be_changed_and_changed_back(project):
    """Questions are chosen anew, answers stay, and other programs follow."""
    n_answers = len(project.answers())
    asked = project.question("ada")
    other = Project.open(project.store.path)
    assert other.purpose == "groups"

    project.set_purpose("metric")

    assert project.question("ada").id != asked.id
    assert len(project.answers()) == n_answers
    assert project.version == n_answers
    assert hasattr(project.learner().should_stop(), "neighbours")
    assert hasattr(other.learner().should_stop(), "neighbours")
    other.close()
    project.set_purpose("groups")
    assert hasattr(project.learner().should_stop(), "sorted_right")
    with pytest.raises(InputError, match="must be for groups or metric. Got 'map'"):
        project.set_purpose("map")
