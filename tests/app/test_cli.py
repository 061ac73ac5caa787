"""The commands: what they print, and how they end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from likewise.__main__ import COMMANDS, group, main
from likewise.app.store import Store
from likewise.app.web.launching import LeadingPage
from tests.app.test_items import tone

APP = [name for name, (module, _, _) in COMMANDS.items() if "likewise.app" in module]


def run(*arguments):
    """Run a command in this process; gives its result."""
    return CliRunner().invoke(group, [str(one) for one in arguments])


def told(*arguments):
    """Run a command with --json; gives what it says."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output + repr(result.exception)
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", APP)
def test_every_command_has_help_with_an_example(name):
    """The example is one that can be typed."""
    result = run(name, "--help")

    assert result.exit_code == 0
    assert f"Example: likewise {name}" in " ".join(result.output.split())


def test_every_option_is_in_the_documentation():
    """What a command takes can be read about."""
    text = Path(__file__).parents[2].joinpath("docs", "labelling.md").read_text()

    for name in APP:
        command = group.get_command(None, name)
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or f"`{option}" in text, option


def test_a_project_from_pictures_lists_what_it_skipped(tmp_path, picture_folder):
    """Broken files are told on stderr and in the JSON; the rest is used."""
    path = tmp_path / "p.likewise"

    result = run("new", path, "--images", picture_folder, "--features", "paper")

    assert result.exit_code == 0
    assert "30 items of 36 numbers, 3 skipped." in result.stdout
    assert "Features: paper: 36 numbers, scaled (at most 384 pixels" in result.stdout
    assert f"Next: likewise label {path}" in result.stdout
    assert "Skipped red/broken.jpg: not a picture, or damaged" in result.stderr


def test_a_project_from_a_table_and_from_sounds(tmp_path):
    """Kinds and sizes as they should be."""
    (tmp_path / "t.csv").write_text("id,x,c\na,1,u\nb,2,v\nc,3,u\n")
    (tmp_path / "sounds").mkdir()
    for number in range(3):
        (tmp_path / "sounds" / f"{number}.wav").write_bytes(tone(200 + 300 * number))

    table = told("new", tmp_path / "t", "--table", tmp_path / "t.csv", "--id", "id")
    sounds = told("new", tmp_path / "s", "--audio", tmp_path / "sounds")

    why = told("ask", tmp_path / "t", "--why")["why"]
    assert "What sets the two apart: " in why and "x (" in why
    assert (table["kind"], table["n_items"], table["n_features"]) == ("row", 3, 3)
    assert (sounds["kind"], sounds["n_items"], sounds["skipped"]) == ("sound", 3, [])


def test_ask_and_answer_in_the_terminal(path):
    """A script can run the whole loop; the same question until it is answered."""
    first = told("ask", path)["question"]
    assert told("ask", path)["question"] == first
    second = told("answer", path, "same", "--seconds", 2)["question"]
    assert second["id"] != first["id"]
    told("answer", path, "unsure", "--annotator", "bo")
    assert told("answer", path, "undo")["question"]["id"] == first["id"]

    status = told("status", path)

    assert (status["n_answers"], status["n_unsure"]) == (1, 1)
    assert [person["name"] for person in status["annotators"]] == ["bo"]


def test_people_read_sentences(path):
    """Without --json the output is for people."""
    asked = run("ask", path, "--why").stdout
    run("answer", path, "different")

    status = run("status", path).stdout

    assert asked.startswith("Question 1: same or different?\n  item ")
    assert "P(same)" in asked
    assert "1 answers: 0 same, 1 different, 0 unsure" in status
    assert "% of items are in their right group (" in status


def test_an_answer_to_a_closed_question_is_an_error(path, capsys):
    """Exit code 1 and one line on stderr."""
    run("answer", path, "same")

    with pytest.raises(SystemExit, match="1"):
        main(["answer", str(path), "same", "--question", "1"])
    assert capsys.readouterr().err.startswith("likewise: Question 1 is not open.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", "none.likewise"], "There is no project file none.likewise"),
        (["new", "x.likewise", "--images", "a", "--audio", "b"], "one source"),
        (["new", "x.likewise", "--text", "a"], "need '--vectors'"),
        (["new", "x.likewise", "--features", "paper"], "'--features' needs --images"),
        (
            ["new", "x.likewise", "--images", ".", "--features", "magic"],
            "must be builtin, paper, onnx:FILE, timm:NAME, st:NAME, a file of vectors "
            "or column:NAME. Got 'magic'.",
        ),
        (
            ["new", "x.likewise", "--audio", ".", "--features", "paper"],
            "must be builtin, a file of vectors or column:NAME. Got 'paper'.",
        ),
        (
            ["new", "x.likewise", "--images", ".", "--features", "column:a"],
            "'--features column:a' needs '--table'.",
        ),
        (
            ["new", "x.likewise", "--images", ".", "--features", "v.npy"],
            "no file v.npy",
        ),
        (["add", "x.likewise", "--images", "."], "There is no project file x.likewise"),
        (["add", "x.likewise"], "from one of --images and --audio"),
        (["new", "x.likewise", "--images", "a", "--id", "b"], "'--id' needs"),
        (["new", "x.likewise", "--images", "nowhere"], "There is no folder nowhere"),
        (["new", "no/x.likewise"], "There is no folder no."),
        (
            ["new", "x.likewise", "--acquisition", "guess"],
            "'acquisition' must be one of",
        ),
        (["label", "none.likewise", "--no-browser"], "There is no project file"),
    ],
)
def test_what_goes_wrong_is_one_line_and_exit_code_1(
    arguments, words, tmp_path, monkeypatch, capsys
):
    """Nothing is left behind."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit, match="1"):
        main(arguments)

    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_ends_with_exit_code_2(path):
    """As every command line does."""
    assert run("answer", path, "perhaps").exit_code == 2


def test_export_and_import(path, tmp_path):
    """Counts are told; a second import of the same adds nothing."""
    run("answer", path, "same")
    run("answer", path, "different")

    assert told("export", path, tmp_path / "a.csv")["n_answers"] == 2
    assert told("import", path, tmp_path / "a.csv")["n_answers"] == 0
    (tmp_path / "must.txt").write_text("item 1,item 5\n")
    (tmp_path / "cannot.txt").write_text("item 1,item 6\nitem 2,item 7\n")
    lists = ("--must-link", tmp_path / "must.txt", "--cannot-link")
    assert told("import", path, *lists, tmp_path / "cannot.txt")["n_answers"] == 3
    assert told("status", path)["n_same"] == 2


def test_a_read_only_project_still_has_a_status_and_exports(path, tmp_path, capsys):
    """Only answering needs writing."""
    run("answer", path, "same")
    path.chmod(0o444)

    assert told("status", path)["n_answers"] == 1
    assert told("export", path, tmp_path / "a.jsonl")["n_answers"] == 1
    with pytest.raises(SystemExit, match="1"):
        main(["answer", str(path), "same"])
    assert "is read-only. Allow writing" in capsys.readouterr().err


def test_vectors_with_texts(tmp_path):
    """A file of lines beside a plain array."""
    np.save(tmp_path / "v.npy", np.eye(4))
    (tmp_path / "lines.txt").write_text("a\nb\nc\nd\n")

    made = told(
        *("new", tmp_path / "v.likewise", "--vectors", tmp_path / "v.npy"),
        *("--text", tmp_path / "lines.txt", "--seed", 5),
    )

    assert (made["kind"], made["n_items"]) == ("text", 4)
    assert told("status", tmp_path / "v.likewise")["seed"] == 5


def test_pictures_have_the_builtin_features_by_default(tmp_path, picture_folder):
    """The status says what they are, for people and for programs."""
    path = tmp_path / "p.likewise"

    made = told("new", path, "--images", picture_folder)

    kept = made["features"]
    assert (kept["name"], kept["n_numbers"]) == ("builtin", 1280)
    assert kept["digest"].startswith("57934424")
    assert made["n_features"] == kept["n_components"] <= 29
    assert kept["share"] >= 0.95
    assert told("status", path)["features"] == kept
    words = run("status", path).stdout
    assert "Features: builtin: 1,280 numbers of length 1, " in words
    assert f"{kept['n_components']} principal components with 9" in words


def test_texts_are_a_line_each(tmp_path):
    """Empty lines are no items; the text is shown."""
    (tmp_path / "t.txt").write_text("a cat\n\na dog\nthe moon\n", encoding="utf-8")
    path = tmp_path / "t.likewise"

    made = told("new", path, "--texts", tmp_path / "t.txt")

    assert (made["kind"], made["n_items"]) == ("text", 3)
    with Store.open(path) as store:
        assert store.item_names() == ["line 1", "line 3", "line 4"]
        assert store.item(1).text == "a dog"


def test_one_column_can_hold_the_vectors(tmp_path):
    """Numbers in its cells are vectors; the other columns are shown alone."""
    table = 'id,v,note\na,"[1, 0]",x\nb,"[0, 2]",y\nc,"[3, 3]",z\n'
    (tmp_path / "t.csv").write_text(table)
    source = ("--table", tmp_path / "t.csv", "--id", "id")

    made = told("new", tmp_path / "t", *source, "--features", "column:v")

    assert (made["features"]["name"], made["features"]["n_numbers"]) == ("column:v", 2)
    with Store.open(tmp_path / "t") as store:
        X = store.vectors()
    assert np.linalg.norm(X[0] - X[1]) == pytest.approx(np.sqrt(2), abs=1e-6)
    assert np.linalg.norm(X[0] - X[2]) == pytest.approx(
        np.sqrt(2 - np.sqrt(2)), abs=1e-6
    )


def test_a_column_of_single_numbers_is_no_column_of_vectors(tmp_path):
    """Of length 1 they would all be alike, or opposite."""
    (tmp_path / "t.csv").write_text("size,weight\n1,2\n5,3\n7,1\n")

    result = run(
        *("new", tmp_path / "t", "--table", tmp_path / "t.csv"),
        *("--features", "column:size"),
    )

    assert "must give at least two numbers an item" in str(result.exception)
    assert not (tmp_path / "t").exists()


def test_one_column_can_hold_the_text(tmp_path):
    """Words in its cells are compared as texts."""
    lines = [f"{k},this is text number {k}" for k in range(5)]
    (tmp_path / "t.csv").write_text("\n".join(["size,words", *lines]))

    made = told(
        *("new", tmp_path / "t", "--table", tmp_path / "t.csv"),
        *("--features", "column:words"),
    )

    assert made["features"]["name"] == "builtin"
    assert made["features"]["is_direction"]


def test_vectors_of_a_file_go_with_pictures(tmp_path, picture_folder):
    """One a file, in the order of the files."""
    np.save(tmp_path / "v.npy", np.random.RandomState(0).normal(size=(33, 5)))

    made = told(
        *("new", tmp_path / "p", "--images", picture_folder),
        *("--features", tmp_path / "v.npy"),
    )

    assert (made["features"]["name"], made["n_items"]) == ("v.npy", 30)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("status", "none.likewise"), 1, "There is no project file none.likewise"),
        (("answer", "none.likewise", "perhaps"), 2, "'perhaps' is not one of"),
        (("nonsense",), 2, "No such command 'nonsense'"),
        (("ask", "none.likewise", "--port", "x"), 2, "No such option"),
    ],
)
def test_errors_are_json_for_programs(capsys, arguments, code, words):
    """On stdout, in one line, with the exit code that people get too."""
    with pytest.raises(SystemExit, match=f"^{code}$"):
        main([*arguments, "--json"])

    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert words in said["error"]


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "1e9"])
def test_seconds_that_are_none_are_refused(path, seconds):
    """And the question stays open."""
    number = told("ask", path)["question"]["id"]

    refused = run("answer", path, "same", "--seconds", seconds)

    assert "The seconds of an answer must be a number from 0 to" in str(
        refused.exception
    )
    assert told("ask", path)["question"]["id"] == number


def test_an_annotator_is_named_once_for_all(path):
    """Spaces are normalised wherever a name is given; none or two are refused."""
    asked = told("ask", path, "--annotator", " a   b ")["question"]
    told("answer", path, "same", "--annotator", "a  b", "--question", asked["id"])
    told("answer", path, "undo", "--annotator", "a b ")

    assert told("ask", path, "--annotator", "a b")["question"]["id"] == asked["id"]
    for name in ("", "   ", "\n"):
        refused = run("ask", path, "--annotator", name)
        assert "must have 1 to 60 printable characters" in str(refused.exception)
    for other in ("a  b", "A b", "a ｂ"):
        doubled = run("label", path, "--annotator", "a b", "--annotator", other)
        twice = " ".join(other.split())
        assert f"'--annotator' must name each once. Got {twice!r} twice." in str(
            doubled.exception
        )


def test_without_a_source_the_sources_are_listed(tmp_path):
    """And no file appears."""
    refused = run("new", tmp_path / "x.likewise")

    for source in ("images", "audio", "table", "texts", "vectors", "digits"):
        assert f"--{source}" in str(refused.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_is_needed_is_called_one(tmp_path):
    """Not "there is no folder"."""
    (tmp_path / "a.jpg").write_bytes(b"")

    refused = run("new", tmp_path / "x.likewise", "--images", tmp_path / "a.jpg")

    assert str(refused.exception) == (
        f"A folder is needed here. {tmp_path / 'a.jpg'} is a file."
    )


def test_asked_to_end_it_leaves_no_half_file(tmp_path):
    """SIGTERM while a project is made, at the moment when the file has begun."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(400):
        pixels = np.full((300, 300, 3), number % 256, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    path = tmp_path / "x.likewise"
    made = subprocess.Popen(
        [sys.executable, "-m", "likewise", "new", str(path), "--images", str(folder)]
        + ["--features", "paper"],
        stderr=subprocess.PIPE,
    )
    while not path.with_name("x.likewise.part").exists() and made.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)

    made.terminate()
    _, said = made.communicate(timeout=300)

    assert made.returncode == 1
    assert b"The same command goes on from here" in said
    assert b"Traceback" not in said
    names = {file.name for file in tmp_path.iterdir()}
    assert names <= {"pictures", "x.likewise.vectors"}


def test_where_no_page_can_be_written_the_address_is_enough(tmp_path, capsys):
    """No traceback: the address has been printed."""
    with LeadingPage(tmp_path / "none" / "x.likewise") as leading:
        leading.open("http://127.0.0.1:1/")

    said = capsys.readouterr().err
    assert "The browser was not opened" in said
    assert "No such file or directory). Open the address above." in said


@pytest.mark.skipif(sys.platform != "linux", reason="xdg-open is of Linux.")
def test_the_token_stands_in_no_command_line(path, tmp_path):
    """The browser is started with a page that only its owner can read."""
    programs, heard = tmp_path / "bin", tmp_path / "heard"
    programs.mkdir()
    opener = programs / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\nprintf "%s" "$*" > {heard}.new\nmv {heard}.new {heard}\n'
    )
    opener.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    server = subprocess.Popen(
        [sys.executable, "-m", "likewise", "label", str(path), "--json", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        address = json.loads(server.stdout.readline())["addresses"]["me"]
        while not heard.exists() and server.poll() is None:
            time.sleep(0.02)
        token = address.partition("token=")[2]
        page = Path(heard.read_text().removeprefix("file://"))

        assert token not in heard.read_text()
        assert address in page.read_text()
        assert page.stat().st_mode & 0o077 == 0
        refused = run("label", path)
        assert "Another likewise serves" in str(refused.exception)
        assert page.exists()  # it is the other's
    finally:
        server.terminate()
        server.communicate(timeout=300)
    assert not page.exists()
