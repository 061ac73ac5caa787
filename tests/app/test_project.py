"""The loop: questions, answers, undo, change, people."""

import sqlite3
import threading

import numpy as np
import pytest

from likewise import InputError, StoreError
from likewise.app import learners
from likewise.app.inputs import LABELS
from likewise.app.project import Project
from likewise.app.store import Store
from tests.app.conftest import CLASSES, make_project, make_tiny, word_for


def say(project, annotator="ada", word=None):
    """Answer the open question; gives the answer."""
    question = project.question(annotator)
    names = project.names[question.left], project.names[question.right]
    return project.answer(question.id, LABELS[word or word_for(*names)], annotator)


def run(project, n_answers, annotator="ada"):
    """The pairs asked while so many questions are answered, as they were shown."""
    answers = [say(project, annotator) for _ in range(n_answers)]
    return [(answer.left, answer.right) for answer in answers]


def test_the_same_question_until_it_is_answered(path):
    """Asking again, or after a restart, gives the same question in the same order."""
    with Project.open(path) as project:
        first = project.question("ada")
        assert project.question("ada") == first
    with Project.open(path) as project:
        assert project.question("ada") == first
        say(project)
        assert project.question("ada").pair != first.pair


def test_a_seed_gives_the_same_questions_again(tmp_path):
    """One seed and the same answers: the same questions. Another seed: others."""
    asked = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with Project.open(make_project(tmp_path / name, seed)) as project:
            asked.append(run(project, 12))

    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


def test_a_restart_between_answers_does_not_change_the_questions(tmp_path):
    """What is asked depends on the file alone."""
    with Project.open(make_project(tmp_path / "a")) as project:
        at_once = run(project, 8)
    path = make_project(tmp_path / "b")
    in_parts = []
    for _ in range(8):
        with Project.open(path) as project:
            in_parts += run(project, 1)

    assert in_parts == at_once


def test_computing_ahead_asks_the_same_questions(tmp_path):
    """Speed changes nothing: the same pairs in the same order."""
    with Project.open(make_project(tmp_path / "a")) as project:
        plain = run(project, 10)
    with Project(Store.open(make_project(tmp_path / "b")), is_ahead=True) as project:
        ahead = run(project, 10)

    assert ahead == plain


def test_a_pair_just_answered_does_not_come_back_at_once(tmp_path):
    """Slips are asked about again, but not before ten other answers."""
    turned = {"same": "different", "different": "same"}
    with Project.open(make_project(tmp_path / "a", seed=2)) as project:
        pairs = []
        for k in range(45):
            question = project.question("ada")
            word = word_for(*(project.names[number] for number in question.pair))
            said = turned[word] if k % 7 == 3 else word
            pairs.append(project.answer(question.id, LABELS[said], "ada").pair)

    again = [k for k in range(45) if pairs[k] in pairs[:k]]
    assert len(again) > 0
    assert all(pairs[k] not in pairs[max(0, k - 10) : k] for k in again)


def test_where_nothing_else_is_left_a_pair_comes_back_at_once(tmp_path):
    """Three answers that cannot all be true are asked about again, not called known."""
    labels = {(0, 1): 1, (1, 2): 1, (0, 2): -1}
    with Project.open(make_tiny(tmp_path / "tiny.likewise")) as project:
        project.tell([(*pair, label) for pair, label in labels.items()], "ada")

        assert project.question("ada").pair in labels


def test_left_and_right_are_drawn(tmp_path):
    """Over many questions the lower number stands on either side."""
    with Project.open(make_project(tmp_path / "a")) as project:
        sides = [left < right for left, right in run(project, 30)]

    assert 5 < sum(sides) < 25


def test_undo_goes_back_many_steps_and_asks_again(project):
    """Each step opens the question before; the learner forgets as well."""
    before = project.learner().metric_.components_
    answers = [say(project) for _ in range(4)]

    for answer in reversed(answers):
        project.undo("ada")
        assert project.question("ada").id == answer.question
    with pytest.raises(InputError, match="no answer to take back"):
        project.undo("ada")
    np.testing.assert_allclose(project.learner().metric_.components_, before)
    assert len(project.answers()) == 4


def test_after_undo_the_same_answers_lead_to_the_same_questions(project):
    """Going back and forth leaves no trace in what is asked."""
    first = run(project, 5)
    for _ in range(3):
        project.undo("ada")

    again = run(project, 3)

    assert again == first[2:]


def test_undo_takes_back_only_ones_own(project):
    """Another person's later answer stays."""
    mine = say(project, "ada")
    theirs = say(project, "bo")

    project.undo("ada")

    assert {a.id: bool(a.undone) for a in project.answers()} == {
        mine.id: True,
        theirs.id: False,
    }


def test_a_changed_answer_counts_and_the_old_one_stays_recorded(project):
    """The metric is what the changed answers alone would give."""
    answers = [say(project) for _ in range(6)]
    wrong = answers[2]
    project.change(wrong.id, -wrong.label, "ada")

    current = {answer.pair: answer.label for answer in project.current_answers()}
    assert current[wrong.pair] == -wrong.label
    assert current.keys() == {answer.pair for answer in answers}
    assert len(project.answers()) == 7
    told = project.learner().history()
    assert [answer["said"] is None for answer in told] == [False] * 6 + [True]
    project.undo("ada")
    assert {a.pair: a.label for a in project.current_answers()}[
        wrong.pair
    ] == wrong.label


def test_whoever_changes_an_answer_settles_it(project):
    """Changed by another, it counts no more; undo brings it back."""
    theirs = say(project, "ada")

    mine = project.change(theirs.id, -theirs.label, "bo")

    assert [answer.id for answer in project.current_answers()] == [mine.id]
    project.undo("bo")
    assert [answer.id for answer in project.current_answers()] == [theirs.id]


def test_two_people_get_different_questions(project):
    """What is open with one is not asked of the other."""
    for _ in range(6):
        ada, bo = project.question("ada"), project.question("bo")
        assert ada.pair != bo.pair
        say(project, "ada")
        say(project, "bo")


def test_nobody_answers_for_another(project):
    """A question belongs to the one it was put to."""
    question = project.question("ada")

    with pytest.raises(StoreError, match="open for 'ada', not for 'bo'"):
        project.answer(question.id, 1, "bo")


def test_now_and_then_a_second_opinion_is_asked(project):
    """The tenth question of a newcomer is one that the other has answered.

    For groups doubtful answers are asked again by themselves.
    """
    project.set_purpose("metric")
    first = {frozenset(pair) for pair in run(project, 10, "ada")}

    theirs = [frozenset(pair) for pair in run(project, 10, "bo")]

    assert [pair in first for pair in theirs] == [False] * 9 + [True]


def test_what_another_program_writes_is_seen(path, project):
    """The command line and the page can be used at the same time."""
    say(project)
    with Project.open(path) as other:
        say(other, "bo", "different")
        n_told = other.version

    assert [answer.annotator for answer in project.answers()] == ["ada", "bo"]
    assert project.version == n_told == 2


def test_unsure_is_an_answer_of_its_own(project):
    """It is stored, it counts for neither label, and the pair does not come back."""
    answer = say(project, word="unsure")

    assert answer.label == 0
    assert all(pair != (answer.left, answer.right) for pair in run(project, 10))
    before = Project.open(project.store.path)
    assert 0 in [told.label for told in before.current_answers()]
    before.close()


def test_the_pool_runs_out_gracefully(tmp_path):
    """Once every pair is known there is no question, and undo still works."""
    with Project.open(make_tiny(tmp_path / "tiny.likewise")) as project:
        for _ in range(3):
            question = project.question("ada")
            project.answer(question.id, -1, "ada")

        assert project.question("ada") is None
        project.undo("ada")
        assert project.question("ada").id == question.id


@pytest.mark.parametrize(
    ("name", "rule"),
    [("", "1 to 60"), ("x" * 61, "1 to 60"), ("a\x00b", "printable")],
)
def test_an_annotator_needs_a_name_that_can_be_shown(project, name, rule):
    """The rule and the value are named."""
    with pytest.raises(InputError, match=rule):
        project.question(name)


def test_an_answer_must_be_one_of_three(project):
    """Nothing else reaches the file."""
    question = project.question("ada")

    with pytest.raises(InputError, match="must be .1 .same.* Got 2"):
        project.answer(question.id, 2, "ada")
    assert project.answers() == []


def test_imported_answers_are_learned_once(project):
    """Those already known with the same label are left out."""
    rows = [
        {"left": 0, "right": 4, "label": 1, "annotator": "file"},
        {"left": 5, "right": 1, "label": -1, "annotator": "file"},
    ]

    assert project.import_answers(rows) == 2
    assert project.import_answers(rows) == 0
    assert project.version == 1
    assert {a.pair: a.label for a in project.current_answers()} == {
        (0, 4): 1,
        (1, 5): -1,
    }


def test_answers_raise_the_accuracy_of_the_metric(project):
    """After 25 answers the nearest neighbour is more often of the same class."""
    from tests.app.conftest import CLASSES

    def hits(Z):
        squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=2) + 1e9 * np.eye(len(Z))
        return np.mean(CLASSES[squared.argmin(axis=1)] == CLASSES)

    before = hits(project.learner().metric_.transform(project.X))
    run(project, 25)
    after = hits(project.learner().metric_.transform(project.X))

    assert after > before + 0.05
    assert after > 0.9


def test_a_project_that_names_an_older_way_to_ask_still_opens(tmp_path):
    """It asks by what has taken its place, and keeps what the file says."""
    new = make_project(tmp_path / "new.likewise", acquisition="entropy")
    old = make_project(tmp_path / "old.likewise", acquisition="batch")

    with Project.open(old) as project, Project.open(new) as other:
        assert run(project, 3) == run(other, 3)
        assert project.settings["acquisition"] == "batch"


def test_p_same_is_that_of_known_items(project):
    """What was said of the two items counts, as it does for the next question."""
    run(project, 10)
    pair = project.answers()[0].pair

    expected = project.learner().pair_probability([pair])[0]

    assert project.p_same(pair) == expected
    assert project.why(pair).p_same == pytest.approx(expected)


def test_many_items_are_learned_from_as_few_are(tmp_path):
    """Above 6,000 items too: every direction, every pair, the same priors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6100, 60)) + 4 * rng.normal(size=(9, 60))[np.arange(6100) % 9]

    learner = learners.new_learner(X, {"acquisition": "entropy", "seed": 0})
    learner.tell([[0, 9], [0, 1]], [1, -1])

    assert learner.metric_.basis_.directions.shape == (60, 60)
    assert learner.searched().n_pairs == 6100 * 6099 // 2
    assert len(learner.metric_.members_) > 1


def test_flags_are_set_and_taken_away(project):
    """A flag belongs to the question."""
    question = project.question("ada")

    project.flag(question.id, "ada", True)
    assert project.flagged() == {question.id}
    project.flag(question.id, "ada", False)
    assert project.flagged() == set()


def test_a_closed_project_leaves_one_file(path):
    """WAL and its index are folded in when the last user leaves."""
    with Project.open(path) as project:
        say(project)

    assert [file.name for file in path.parent.iterdir()] == [path.name]
    database = sqlite3.connect(path)
    assert database.execute("SELECT count(*) FROM answers").fetchone()[0] == 1
    database.close()


def test_an_unsure_second_opinion_does_not_come_back(project):
    """Whoever said "unsure" has seen the pair; the next one is another."""
    for _ in range(12):
        say(project, "ada")
    asked = []
    for _ in range(25):
        question = project.question("bo")
        asked.append(question.pair)
        project.answer(question.id, 0, "bo")

    assert len(set(asked)) == 25
    assert set(asked) & {a.pair for a in project.answers() if a.annotator == "ada"}


def test_a_fit_in_progress_keeps_nobody_from_answering(path):
    """The lock covers the file, not the fit: many go on, with nothing in reserve."""
    people = [f"person {k}" for k in range(6)]
    project = Project(Store.open(path), is_ahead=True)
    asked = {name: project.question(name) for name in people[:2]}
    given = []

    def go_on(name):
        for _ in range(5):
            asked[name] = project.question(name)
            given.append(project.answer(asked[name].id, -1, name).pair)
        asked[name] = project.question(name)

    with project._choosing._fitting:  # as long as a fit takes
        for name in people:
            project._choosing._crowd.saw(name)
        threads = [threading.Thread(target=go_on, args=(name,)) for name in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        waiting = [thread for thread in threads if thread.is_alive()]

    assert waiting == []
    project.close()
    with Project.open(path) as again:
        assert sorted(a.pair for a in again.answers()) == sorted(given)
    open_pairs = [question.pair for question in asked.values()]
    assert len(set(open_pairs)) == len(people)
    assert not set(open_pairs) & set(given)


def test_a_crowd_is_told_when_nothing_is_left_to_ask(tmp_path):
    """Pairs are drawn while a fit is awaited, not once it found nothing."""
    path = make_project(tmp_path / "crowd.likewise")
    people = [f"person {k}" for k in range(4)]
    with Project(Store.open(path), is_ahead=True) as project:
        n_items = len(project.names)
        told = [
            (i, j, 1 if CLASSES[i] == CLASSES[j] else -1)
            for i in range(n_items)
            for j in range(i)
        ]
        project.tell(told, "ada")
        for name in people:
            project._choosing._crowd.saw(name)
        project._choosing._renew_reserve()

        assert [project.question(name) for name in people] == [None] * 4


def test_what_was_computed_for_the_crowd_is_what_one_person_would_compute(path):
    """Fits that fell behind are brought up: the learner knows every answer, once."""
    project = Project(Store.open(path), is_ahead=True)
    people = [f"person {k}" for k in range(4)]
    for _ in range(4):
        for name in people:
            say(project, name)
    learner = project.learner()
    told = learner.history()
    project.close()

    with Project.open(path) as again:
        expected = again.learner()
        assert [one["pair"] for one in expected.history()] == [
            one["pair"] for one in told
        ]
        pairs = [(0, 4), (0, 1), (2, 7)]
        np.testing.assert_allclose(
            learner.pair_probability(pairs),
            expected.pair_probability(pairs),
            rtol=1e-6,
        )
