"""Answers to and from files."""

import csv
import json

import numpy as np
import pytest

from likewise import InputError, StoreError
from likewise.app.exchange import answer_rows, write_answers
from likewise.app.importing import parse_labels, read_answers, read_links
from likewise.app.project import Project
from likewise.app.writer import Writer
from tests.app.test_project import run, say


@pytest.fixture
def answered(project):
    """A project with five answers, one of them changed, one undone, one unsure."""
    project.set_purpose("metric")  # no answer is asked for again
    answers = [say(project) for _ in range(5)]
    project.change(answers[0].id, -answers[0].label, "ada")
    say(project, word="unsure")
    say(project)
    project.undo("ada")
    return project


def said(project):
    """What counts, as comparable values."""
    return {
        (answer.pair, answer.annotator): (answer.label, answer.seconds)
        for answer in project.current_answers()
    }


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_what_is_exported_can_be_imported(answered, copy_of, tmp_path, suffix):
    """Into an empty project of the same items it gives the same answers."""
    from tests.app.conftest import make_project

    file = tmp_path / f"answers.{suffix}"
    write_answers(answer_rows(answered), file)

    with Project.open(make_project(tmp_path / "other.likewise")) as other:
        rows = read_answers(file, other, "someone")
        assert other.import_answers(rows) == 6
        assert said(other) == said(answered)


def test_a_row_says_all_that_is_known_of_an_answer(answered):
    """The columns and their values."""
    row = answer_rows(answered)[0]
    answer = answered.current_answers()[0]

    assert row["left_id"] == answered.names[answer.left]
    assert row["label"] in ("same", "different")
    assert (row["annotator"], row["seed"], row["source"]) == ("ada", 1, "asked")
    assert row["timestamp"] == answer.answered


def test_an_existing_file_is_not_overwritten(answered, tmp_path):
    """Answers of another day may be in it."""
    file = tmp_path / "answers.csv"
    file.write_text("mine")

    with pytest.raises(StoreError, match="exists already"):
        write_answers(answer_rows(answered), file)
    assert file.read_text() == "mine"


def test_splink_label_tables_go_both_ways(answered, tmp_path):
    """unsure has no place in it; the rest comes back."""
    file = tmp_path / "labels.csv"
    write_answers(answer_rows(answered), file, "splink")
    with open(file) as opened:
        header = next(csv.reader(opened))

    rows = read_answers(file, answered, "splink")

    assert header == ["unique_id_l", "unique_id_r", "clerical_match_score"]
    decided = [answer for answer in answered.current_answers() if answer.label]
    assert [row["label"] for row in rows] == [answer.label for answer in decided]


def test_links_go_both_ways(answered, tmp_path):
    """Two lists of names in one file."""
    file = tmp_path / "links.json"
    write_answers(answer_rows(answered), file, "links")

    rows = read_answers(file, answered, "links")

    decided = {a.pair: a.label for a in answered.current_answers() if a.label}
    found = {tuple(sorted((row["left"], row["right"]))): row["label"] for row in rows}
    assert found == decided


@pytest.mark.parametrize(
    "text",
    [
        'item 3,item 9\n"item 4",item 5\n',
        "item 3\titem 9\nitem 4\titem 5\n",
    ],
)
def test_must_link_lists_have_two_items_a_line(project, tmp_path, text):
    """Commas or tabs."""
    file = tmp_path / "links.txt"
    file.write_text(text)

    rows = read_links(file, 1, project, "lists")

    assert [(row["left"], row["right"], row["label"]) for row in rows] == [
        (3, 9, 1),
        (4, 5, 1),
    ]


@pytest.fixture
def people(tmp_path):
    """A project of records, as dedupe knows them."""
    path = tmp_path / "people.likewise"
    records = [
        {"name": "Ada", "town": "London"},
        {"name": "Ada L.", "town": "London"},
        {"name": "Bo", "town": ""},
    ]
    with Writer(path) as writer:
        for number, fields in enumerate(records):
            writer.add(f"row {number}", fields=fields)
        settings = {"kind": "row", "seed": 1, "acquisition": "groups"}
        writer.finish(np.eye(3), settings)
    with Project.open(path) as project:
        yield project


def test_training_files_of_dedupe_are_understood(people, tmp_path):
    """Pairs are marked tuples of records; empty cells are null there."""

    def pair(one, other):
        return {"__class__": "tuple", "__value__": [one, other]}

    ada, ada_l = {"name": "ada", "town": "london"}, {"name": "ada l.", "town": "london"}
    bo = {"name": "bo", "town": None}
    file = tmp_path / "training.json"
    file.write_text(
        json.dumps({"match": [pair(ada, ada_l)], "distinct": [pair(ada_l, bo)]})
    )

    rows = read_answers(file, people, "dedupe")

    assert [(row["left"], row["right"], row["label"]) for row in rows] == [
        (0, 1, 1),
        (1, 2, -1),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "left_id,right_id,label\nitem 1,nobody,same\n", "no item 'nobody'"),
        (
            "a.csv",
            "left_id,right_id,label\nitem 1,item 2,maybe\n",
            "Got 'maybe' in row 1",
        ),
        ("a.csv", "one,two\n1,2\n", "must have the columns left_id"),
        (
            "a.csv",
            "unique_id_l,unique_id_r,clerical_match_score\n1,2,7\n",
            "between 0 and 1",
        ),
        ("a.jsonl", '{"left_id": \n', "Line 1 of .* is not JSON"),
        ("a.jsonl", "[1, 2]\n", "must be an object"),
        ("a.json", "{", "is not JSON"),
        ("a.json", "{}", "match and distinct"),
        ("a.json", '{"match": [[1]]}', "must be a pair"),
        ("a.txt", "", "must come from a .csv"),
        ("a.json", '{"match": 5}', "'match' must be a list of pairs"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", '{"a":' * 100_000, "nested too deeply"),
        ("a.csv", "left_id,right_id,label\n1,2,same\n", "no item '1' in the project"),
        (
            "a.csv",
            "left_id,right_id,label,seconds\nitem 1,item 2,same,long\n",
            "'seconds' must be a number .* Got 'long' in row 1",
        ),
        (
            "a.csv",
            "left_id,right_id,label,seconds\nitem 1,item 2,same,nan\n",
            "'seconds' must be a number .* Got 'nan' in row 1",
        ),
        (
            "a.csv",
            "left_id,right_id,label\nitem 1,item 2,1\nitem 1,item 3,0\n",
            "Say what it means: --labels 0=different",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(project, tmp_path, name, text, words):
    """The file, the row and what was wrong with it."""
    file = tmp_path / name
    file.write_text(text)

    with pytest.raises(InputError, match=words):
        read_answers(file, project, "someone")


def test_zeros_are_what_they_are_said_to_be(project, tmp_path):
    """Beside -1 they are unsure; beside ones alone somebody must say."""
    file = tmp_path / "a.csv"
    file.write_text("left_id,right_id,label\nitem 1,item 2,1\nitem 1,item 3,0\n")

    for word, label in [("different", -1), ("unsure", 0)]:
        rows = read_answers(file, project, "x", parse_labels([f"0={word}"]))
        assert [row["label"] for row in rows] == [1, label]
    file.write_text(file.read_text() + "item 2,item 3,-1\n")
    rows = read_answers(file, project, "x")
    assert [row["label"] for row in rows] == [1, 0, -1]


@pytest.mark.parametrize("given", ["0", "=same", "0=maybe", ""])
def test_meanings_that_say_nothing_are_refused(given):
    """The option shows how it is written."""
    with pytest.raises(InputError, match="must be like 0=different"):
        parse_labels([given])


def test_each_row_counts_under_its_own_annotator(project, tmp_path):
    """In the file and for the learner, which knows each person's errors."""
    file = tmp_path / "a.csv"
    file.write_bytes(
        "left_id;right_id;label;annotator\nitem 1;item 5;same;Zoë\n"
        "item 1;item 2;different;bo\nitem 5;item 9;same;Zoë\n".encode("cp1252")
    )

    assert project.import_answers(read_answers(file, project, "file")) == 3

    assert [a.annotator for a in project.answers()] == ["Zoë", "bo", "Zoë"]
    told = project.learner().history()
    assert [(one["annotator"], sorted(one["pair"])) for one in told] == [
        ("Zoë", [1, 5]),
        ("Zoë", [5, 9]),
        ("bo", [1, 2]),
    ]


def test_a_pair_of_one_item_is_refused(project):
    """Before anything is written."""
    rows = [{"left": 4, "right": 4, "label": 1, "annotator": "x"}]

    with pytest.raises(InputError, match="two different items. Got 'item 4' twice"):
        project.import_answers(rows)


def test_an_import_moves_the_questions(project):
    """What is known from a file is not asked again."""
    first = run(project, 1)[0]
    with Project.open(project.store.path) as other:
        coming = other.question("bo").pair
    rows = [{"left": coming[0], "right": coming[1], "label": 1, "annotator": "file"}]
    project.import_answers(rows)

    asked = {tuple(sorted(pair)) for pair in run(project, 8)}

    assert coming not in asked
    assert tuple(sorted(first)) not in asked


def test_implied_answers_are_exported_but_not_taken_in(project, tmp_path):
    """They are marked, and follow again from the answers that imply them."""
    said = [(0, 4, 1), (4, 8, 1)]
    project.import_answers(
        [{"left": i, "right": j, "label": k, "annotator": "x"} for i, j, k in said]
    )
    file = tmp_path / "all.csv"

    write_answers(answer_rows(project, implied=True), file)

    with open(file) as opened:
        found = list(csv.DictReader(opened))
    assert [
        (row["left_id"], row["right_id"]) for row in found if row["source"] == "implied"
    ] == [("item 0", "item 8")]
    assert len(read_answers(file, project, "x")) == 2
