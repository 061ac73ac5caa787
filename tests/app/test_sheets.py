"""Tables and texts as people have them."""

import csv
import datetime
import io
import os
import zipfile

import openpyxl
import pytest

from likewise import InputError
from likewise.app import sheets
from likewise.app.sheets import find_separator, read_sheet, read_text
from likewise.app.store import Store
from tests.app.test_cli import run, told

ROWS = [["name", "size"], ["Zoë, Köln", "1,5"], ["Ångström", "2,25"], ["Łódź", "3"]]
WESTERN = ROWS[:3]  # cp1252 has no Ł


def as_csv(rows, sep):
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=sep).writerows(rows)
    return buffer.getvalue()


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_separator_and_encoding_are_found(tmp_path, sep, encoding):
    """The same cells, however they were written; decimal commas are numbers."""
    rows = WESTERN if encoding == "cp1252" else ROWS
    path = tmp_path / "t.csv"
    path.write_bytes(as_csv(rows, sep).encode(encoding))

    columns = read_sheet(path)

    assert columns["name"] == [row[0] for row in rows[1:]]
    sizes = [row[1] for row in rows[1:]]
    assert columns["size"] == (
        sizes if sep == "," else [size.replace(",", ".") for size in sizes]
    )


def test_what_is_found_can_be_overruled(tmp_path):
    """By a person who knows better."""
    path = tmp_path / "t.csv"
    path.write_bytes("a,b;c\nд,2;3\n".encode("cp866"))

    assert read_sheet(path, ";", "cp866") == {"a,b": ["д,2"], "c": ["3"]}
    assert read_sheet(path, ",", "cp866") == {"a": ["д"], "b;c": ["2;3"]}


def test_one_column_needs_no_separator(tmp_path):
    """A list of words is a table too."""
    path = tmp_path / "t.csv"
    path.write_text("town\nRome\nOslo\n")

    assert read_sheet(path) == {"town": ["Rome", "Oslo"]}


def test_separators_inside_quotes_do_not_count():
    """Nor those of texts, where another cuts every line alike."""
    assert find_separator('a;b\n"x, y, z";1\n"p, q";2\n') == ";"
    assert find_separator("a,b\none; two; three,1\nfour,2\n") == ","


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("a,b\n1,2,3\n", {}, "must have 2 cells. Got 3 in row 2. Is the separator"),
        ("a,b\n1," + "x" * (2**20 + 9) + "\n", {}, "Row 2 .* is a quote missing"),
        (
            ",".join(f"c{k}" for k in range(2_001)) + "\n1\n",
            {},
            "has 2,001. Give ready",
        ),
        ("a,a\n1,2\n", {}, "must have different names"),
        ("a\n", {}, "must have a header and rows. Got 1 lines"),
        ("a\nb\n", {"sep": ", "}, "'--sep' must be one character, or tab. Got ', '"),
        ("a\nb\n", {"encoding": "klingon"}, "There is no encoding 'klingon'"),
        ("a\né\n", {"encoding": "ascii"}, "is not a text in ascii: byte 2 is 0xc3"),
    ],
)
def test_a_table_that_cannot_be_read_gets_its_own_sentence(
    tmp_path, text, given, words
):
    """Wide, huge or crooked: what, where, and what to do."""
    path = tmp_path / "t.csv"
    path.write_text(text)

    with pytest.raises(InputError, match=words):
        read_sheet(path, **given)


def test_empty_columns_that_spreadsheets_leave_are_dropped(tmp_path):
    """A separator at the end of every line makes no column."""
    path = tmp_path / "t.csv"
    path.write_text("a;b;\n1;2;\n3;4;\n")

    assert read_sheet(path) == {"a": ["1", "3"], "b": ["2", "4"]}


def excel(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_excel_files_become_projects(tmp_path):
    """Texts, numbers and dates of the first sheet; empty cells are empty."""
    rows = [
        ["name", "size", "since"],
        ["Zoë", 1.0, datetime.datetime(2026, 1, 2)],
        ["Bo", 2.5, None],
        ["Cy", 7, datetime.datetime(2025, 3, 4)],
    ]
    path = excel(tmp_path / "t.xlsx", rows)

    assert read_sheet(path) == {
        "name": ["Zoë", "Bo", "Cy"],
        "size": ["1", "2.5", "7"],
        "since": ["2026-01-02T00:00:00", None, "2025-03-04T00:00:00"],
    }
    made = told("new", tmp_path / "t.likewise", "--table", path, "--id", "name")
    assert (made["kind"], made["n_items"]) == ("row", 3)
    with Store.open(tmp_path / "t.likewise") as store:
        assert store.item_names() == ["Zoë", "Bo", "Cy"]


def test_excel_files_that_are_none_or_too_large_are_refused(tmp_path, monkeypatch):
    """By what they say they hold, before anything is unpacked."""
    (tmp_path / "no.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match="is not an Excel file"):
        read_sheet(tmp_path / "no.xlsx")
    path = excel(tmp_path / "t.xlsx", [["a"], [1]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/more.xml", b" " * 2**24)
    monkeypatch.setattr(sheets, "MAX_BYTES", 2**20)
    with pytest.raises(InputError, match="unpacks to 16 MB: too much"):
        read_sheet(path)


def test_texts_come_from_a_column(tmp_path):
    """Of a table of any kind; the column must be named."""
    path = tmp_path / "t.csv"
    path.write_bytes("id;words\n1;ein Haus\n2;\n3;zwei Häuser\n".encode("cp1252"))

    said = told("new", tmp_path / "x.likewise", "--texts", path, "--column", "words")
    unnamed = run("new", tmp_path / "y.likewise", "--texts", path)
    unknown = run("new", tmp_path / "y.likewise", "--texts", path, "--column", "no")

    assert (said["kind"], said["n_items"]) == ("text", 2)
    with Store.open(tmp_path / "x.likewise") as store:
        assert [store.item(k).text for k in (0, 1)] == ["ein Haus", "zwei Häuser"]
        assert store.item_names() == ["row 1", "row 3"]
    assert "name the column of the texts with --column. It has id, words" in str(
        unnamed.exception
    )
    assert "has no column 'no'. Got id, words" in str(unknown.exception)


def test_options_for_tables_reach_them(tmp_path):
    """From the command line to the cells."""
    path = tmp_path / "t.csv"
    path.write_bytes("a/b\nд/2\nж/3\n".encode("cp866"))

    options = ("--sep", "/", "--encoding", "cp866")
    told("new", tmp_path / "t.likewise", "--table", path, *options)

    with Store.open(tmp_path / "t.likewise") as store:
        assert store.item(0).fields == {"a": "д", "b": "2"}
    refused = run("new", tmp_path / "x", "--digits", "--sep", ";")
    assert "'--sep' and '--encoding' need --table" in str(refused.exception)


def test_a_folder_is_no_text(tmp_path):
    """Each says what it is."""
    with pytest.raises(InputError, match="is a folder. A file is needed here"):
        read_text(tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        read_text(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match=r"pipe.csv is a pipe or a device"):
        read_text(tmp_path / "pipe.csv")
