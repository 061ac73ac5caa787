"""Tables and ready vectors."""

import numpy as np
import pyarrow
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from pyarrow import parquet

from likewise import InputError
from likewise.app import tables
from likewise.app.store import Store
from likewise.app.writer import Writer
from tests.app.test_items import plainly

TABLE = "id,height,colour,note\na,1.5,red,\nb,2.5,blue,x\nc,,red,x\nd,2.0,red,\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def build(tmp_path, make, *arguments, **options):
    """Make a project; gives the open store."""
    path = tmp_path / "made.likewise"
    with Writer(path) as writer:
        built = make(arguments[0], writer, *arguments[1:], **options)
        settings = {"kind": built.kind, "seed": 1, "acquisition": "groups"}
        writer.finish(built.vectors, settings)
    return Store.open(path)


def test_rows_become_items_with_their_cells(tmp_path, table):
    """Names come from the id column, cells are shown as they stand."""
    with build(tmp_path, tables.from_table, table, id_column="id") as store:
        assert store.item_names() == ["a", "b", "c", "d"]
        assert store.item(1).fields == {"height": "2.5", "colour": "blue", "note": "x"}
        assert store.item(2).fields["height"] == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a header and rows. Got 0"),
        ("a,b\n", "a header and rows. Got 1"),
        ("a,a\n1,2\n", "different names"),
        ("a,b\n1,2\n3\n", "must have 2 cells. Got 1 in row 3"),
        ("a\n\n", "a header and rows"),
    ],
)
def test_a_table_out_of_shape_is_named(tmp_path, text, words):
    """The rule, the value and the row."""
    path = tmp_path / "bad.csv"
    path.write_text(text)

    with pytest.raises(InputError, match=words):
        build(tmp_path, tables.from_table, path)


def test_two_items_of_one_id_are_refused(tmp_path):
    """Answers point at items by their id."""
    path = tmp_path / "twice.csv"
    path.write_text("id,x\na,1\na,2\n")

    with pytest.raises(InputError, match="its own id. Got 'a' twice"):
        build(tmp_path, tables.from_table, path, id_column="id")


def test_equal_rows_teach_nothing(tmp_path):
    """A table without differences is refused at once."""
    path = tmp_path / "equal.csv"
    path.write_text("x\n1\n1\n")

    with pytest.raises(InputError, match="All rows of the table are equal"):
        build(tmp_path, tables.from_table, path)


def vector_files(folder):
    """The same vectors and texts in every format."""
    X = np.array([[0.5, 1.0], [2.0, -1.0], [3.0, 0.25]])
    texts = ["one", "two", "three"]
    np.save(folder / "v.npy", X)
    np.savez(folder / "v.npz", vectors=X, title=texts)
    parquet.write_table(
        pyarrow.table({"vector": X.tolist(), "title": texts}), folder / "v.parquet"
    )
    lines = [f"{a},{b},{text}" for (a, b), text in zip(X, texts, strict=True)]
    (folder / "v.csv").write_text("\n".join(["x,y,title", *lines]))
    (folder / "lines.txt").write_text("\n".join(texts))
    return X


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "csv"])
def test_vectors_come_from_every_format(tmp_path, suffix):
    """The numbers as they are, the text beside them."""
    X = vector_files(tmp_path)
    text = str(tmp_path / "lines.txt") if suffix == "npy" else "title"

    with build(
        tmp_path, tables.from_vectors, tmp_path / f"v.{suffix}", plainly, text=text
    ) as store:
        assert_array_equal(store.vectors(), X.astype(np.float32))
        assert [store.item(k).text for k in range(3)] == ["one", "two", "three"]


def test_thumbnails_follow_the_order_of_their_names(tmp_path):
    """Row 2 has the third picture in natural order."""
    vector_files(tmp_path)
    folder = tmp_path / "shown"
    folder.mkdir()
    for number, colour in ((1, "red"), (2, "lime"), (10, "blue")):
        Image.new("RGB", (8, 8), colour).save(folder / f"{number}.png")

    with build(
        tmp_path, tables.from_vectors, tmp_path / "v.npy", plainly, thumbnails=folder
    ) as store:
        picture = store.medium(2, "picture")
        assert store.settings()["kind"] == "picture"
    import io

    pixel = Image.open(io.BytesIO(picture.data)).getpixel((4, 4))
    assert pixel[2] > 240 and pixel[0] < 15


def test_a_thumbnail_too_few_is_told(tmp_path):
    """Both counts are named."""
    vector_files(tmp_path)
    Image.new("RGB", (8, 8)).save(tmp_path / "only.png")

    with pytest.raises(
        InputError, match="one picture for each of the 3 vectors. Got 1"
    ):
        build(
            tmp_path,
            tables.from_vectors,
            tmp_path / "v.npy",
            plainly,
            thumbnails=tmp_path,
        )


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((3, 2, 2)), "one matrix"),
        (np.array([["a", "b"], ["c", "d"]]), "must be numbers"),
        (np.array([[1.0, np.nan], [0, 1]]), "finite. Got nan at row 0, column 1"),
        (np.array([[1.0, 1e300], [0, 1]]), "finite. Got 1e.300 at row 0, column 1"),
        (np.ones((1, 2)), "at least two vectors"),
        (np.ones((4, 2, 3)), r"one matrix .*\. Got vectors \(4, 2, 3\)\."),
    ],
)
def test_vectors_that_cannot_be_used_are_named(tmp_path, array, words):
    """The rule, the value and the place."""
    np.save(tmp_path / "bad.npy", array)

    with pytest.raises(InputError, match=words):
        build(tmp_path, tables.from_vectors, tmp_path / "bad.npy", plainly)


def test_a_pickle_in_disguise_is_not_opened(tmp_path):
    """Object arrays could run code when loaded: they are refused."""
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}, {}], dtype=object))

    with pytest.raises(InputError, match=r"cannot be read: .*[^.]\.$"):
        build(tmp_path, tables.from_vectors, tmp_path / "bad.npy", plainly)


def test_an_unknown_text_column_lists_the_columns(tmp_path):
    """So that the right one can be chosen."""
    vector_files(tmp_path)

    with pytest.raises(InputError, match="Got 'nope'; columns are x, y, title"):
        build(tmp_path, tables.from_vectors, tmp_path / "v.csv", plainly, text="nope")


@pytest.mark.slow
def test_a_hundred_thousand_vectors_load_and_are_asked_about(tmp_path, rng):
    """100,000 items of 512 numbers: made, opened, asked and answered."""
    from likewise.app.project import Project

    X = rng.standard_normal((100_000, 512)).astype(np.float32)
    X[:, :3] += 6 * (np.arange(100_000) % 5)[:, None]
    np.save(tmp_path / "big.npy", X)
    path = tmp_path / "big.likewise"
    with Writer(path) as writer:
        built = tables.from_vectors(tmp_path / "big.npy", writer, plainly)
        settings = {"kind": built.kind, "seed": 1, "acquisition": "entropy"}
        writer.finish(built.vectors, settings)

    with Project.open(path) as project:
        assert project.X.shape == (100_000, 512)
        assert_array_equal(project.X[99_999], X[99_999])
        first = project.question("ada")
        project.answer(first.id, 1, "ada")
        assert project.question("ada").pair != first.pair
