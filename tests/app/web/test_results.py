"""The pages at the end, and their downloads."""

import io
import re
import zipfile

import pytest

from likewise.app.results import FILES
from tests.app.conftest import Server
from tests.app.test_cli import told


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, picture_folder):
    """A server on thirty pictures of three colours."""
    path = tmp_path_factory.mktemp("pictures") / "p.likewise"
    told("new", path, "--images", picture_folder, "--features", "paper", "--seed", 1)
    server = Server(path)
    yield server
    server.stop()


def test_every_file_can_be_downloaded(pictures):
    """Each as an attachment with a name; all are linked from the page."""
    page = pictures.client.get("/results").text

    for name in FILES:
        assert f'href="./results/{name}"' in page
        reply = pictures.client.get(f"/results/{name}")
        assert reply.status_code == 200, name
        assert f'filename="p-{name}"' in reply.headers["content-disposition"]
        assert len(reply.content) > 20
    assert pictures.client.get("/results/passwd").status_code == 404


def test_the_zip_holds_the_originals_by_group(pictures, picture_folder):
    """A folder a group; the files are the very bytes."""
    data = pictures.client.get("/results/groups.zip").content

    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        names = packed.namelist()
        contents = {packed.read(name) for name in names}
    assert len(names) == 30
    assert contents == {
        file.read_bytes()
        for colour in ("red", "green", "blue")
        for file in (picture_folder / colour).glob("[0-9].png")
    }


def test_likely_pairs_are_confirmed_one_after_another(pictures):
    """The likeliest comes first; an answer brings the next."""
    client = pictures.client

    def shown():
        return re.findall(r'name="(?:left|right)" value="(\d+)"', page)

    for _ in range(10):
        question = client.get("/api/question").json()["question"]
        kinds = {question[side]["name"].split("/")[0] for side in ("left", "right")}
        said = "same" if len(kinds) == 1 else "different"
        client.post("/api/answers", json={"question": question["id"], "answer": said})
    page = client.get("/duplicates").text
    first = shown()
    form = {"left": first[0], "right": first[1], "answer": "same"}
    assert client.post("/duplicates", data=form).headers["location"] == "./duplicates"

    page = client.get("/duplicates").text
    assert shown() != first
    stored = client.get("/api/answers").json()[0]
    assert (stored["answer"], stored["source"]) == ("same", "grouped")
