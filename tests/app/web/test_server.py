"""The page and its interface, as a real server gives them."""

import json
import re
import subprocess
import sys
import threading

import httpx
import numpy as np
import pytest

from likewise.app.insight import Figure, Progress
from likewise.app.project import Project
from likewise.app.records import Medium
from likewise.app.store import Store
from likewise.app.web.rendering import templates
from likewise.app.writer import Writer
from tests.app.conftest import make_tiny, word_for

HOSTILE = [
    "<script>alert(1)</script>",
    "../../etc/passwd",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "a\nb\tc",
    "'; DROP TABLE answers; --",
    "\u202egnp.exe",
    "%2e%2e%2f",
]


def answer(client, word=None):
    """Answer the open question; gives the reply and the question."""
    question = client.get("/api/question").json()["question"]
    said = word or word_for(question["left"]["name"], question["right"]["name"])
    reply = client.post(
        "/api/answers", json={"question": question["id"], "answer": said, "seconds": 1}
    )
    return reply, question


def test_an_answer_comes_back_with_the_next_question(path, serve):
    """The reply holds what was stored and what follows; undo takes it back."""
    client = serve(path).client

    reply, question = answer(client, "same")

    assert reply.status_code == 201
    stored = reply.json()["answer"]
    assert (stored["answer"], stored["annotator"], stored["seconds"]) == (
        "same",
        "me",
        1,
    )
    following = reply.json()["question"]
    assert following["id"] != question["id"]
    assert client.get("/api/question").json()["question"] == following
    undone = client.post("/api/undo").json()
    assert undone["question"]["id"] == question["id"]
    assert client.get("/api/progress").json()["n_answers"] == 0


def test_a_pair_asked_again_says_that_it_is(tmp_path, serve):
    """Whoever answered it before is not left to think that the answer was lost."""
    words = "You have answered this pair before"
    path = make_tiny(tmp_path / "tiny.likewise")
    with Project.open(path) as project:
        project.tell([(0, 1, 1), (1, 2, 1), (0, 2, -1)], "me")
    client = serve(path).client

    assert client.get("/api/question").json()["question"]["is_again"]
    assert words in client.get("/").text
    client.put("/api/annotator", json={"name": "Bo"})
    assert not client.get("/api/question").json()["question"]["is_again"]
    assert words not in client.get("/").text


def test_a_pair_that_follows_from_answers_says_why_it_is_asked(path, serve):
    """It would settle nothing: it is asked to find slips."""
    with Store.open(path) as store:
        told = [(0, 1, 1), (1, 2, 1)]
        store.group_answers(told, "me", 0)
        store.add_question(0, 2, "me", model_version=1, p_same=0.9)

    shown = serve(path).client.get("/?why=true").text

    assert "to ask again finds slips" in shown
    assert "would settle" not in shown


def test_ones_own_random_answers_are_called_ones_own():
    """Whoever reads it is not spoken of by name."""
    progress = Progress(50, 25, 25, 0, 0, 0, "groups", [], False, "", ["me", "Bo"], [])

    page = templates.get_template("_progress.html")
    said = page.render(progress=progress, annotator="me")

    assert "Your answers look random" in said
    assert "The answers of Bo look random" in said


def test_what_items_do_not_show_is_no_fault_of_whoever_answers():
    """Answers that fit each other are not called random, and the figures stay."""
    figures = [Figure("of items", 0.5, 0.4, 0.6)]
    progress = Progress(
        50, 25, 25, 0, 0, 0, "groups", figures, False, "Go on", [], ["me", "Bo"]
    )

    page = templates.get_template("_progress.html")
    said = page.render(progress=progress, annotator="me")

    assert "Your answers fit each other, but what counts in them" in said
    assert "The answers of Bo fit each other" in said
    assert "50%" in said
    assert "random" not in said


def test_the_same_answer_twice_is_a_conflict(path, serve):
    """A repeated request stores nothing and says why."""
    client = serve(path).client
    _, question = answer(client, "same")

    body = {"question": question["id"], "answer": "different"}
    again = client.post("/api/answers", json=body)

    assert again.status_code == 409
    assert again.json() == {
        "ok": False,
        "error": f"Question {question['id']} is not open. Reload to see the open one.",
    }


def pairs_of(answers):
    """The pairs that were answered, each once."""
    sides = (one[side]["number"] for one in answers for side in ("left", "right"))
    return {frozenset(pair) for pair in zip(sides, sides, strict=True)}


def test_two_browsers_have_two_names_and_two_questions(path, serve):
    """Answers carry who gave them; the status tells how they agree."""
    server = serve(path, "--annotator", "ada", "--annotator", "bo")
    ada, bo = server.client, server.enter(server.addresses["bo"])

    for _ in range(13):
        pairs = [
            {side["number"] for side in (question["left"], question["right"])}
            for question in (
                client.get("/api/question").json()["question"] for client in (ada, bo)
            )
        ]
        assert pairs[0] != pairs[1]
        answer(ada)
        answer(bo)

    people = {person["name"]: person for person in ada.get("/api/annotators").json()}
    given = ada.get("/api/answers").json()
    assert [one["annotator"] for one in given] == ["bo", "ada"] * 13
    # A pair that is asked again counts once, by the later answer.
    assert {name: person["n_answers"] for name, person in people.items()} == {
        name: len(pairs_of(one for one in given if one["annotator"] == name))
        for name in ("ada", "bo")
    }
    assert people["bo"]["n_shared"] >= 1
    assert people["bo"]["agreement"] == 1


def test_an_invitation_lets_one_browser_in_under_its_own_name(path, serve):
    """A guest can take a name; the address does not work twice."""
    server = serve(path)
    address = server.client.post("/api/invitations").json()["url"]

    guest = server.enter(address)

    assert guest.get("/api/annotator").json() == {"name": "guest 1"}
    guest.put("/api/annotator", json={"name": "  Cy  Blue "})
    assert guest.get("/api/annotator").json() == {"name": "Cy Blue"}
    assert httpx.get(address).status_code == 403


def test_a_guest_cannot_take_back_what_another_said(path, serve):
    """Neither by taking that person's name, nor under the guest's own."""
    server = serve(path)
    answer(server.client, "same")
    guest = server.enter(server.client.post("/api/invitations").json()["url"])

    taken = guest.put("/api/annotator", json={"name": "me"})
    by_form = guest.post("/annotator", data={"name": "ME"})
    undone = guest.post("/api/undo")

    assert taken.status_code == by_form.status_code == undone.status_code == 400
    assert taken.json()["error"].startswith("Somebody else answers as 'me'.")
    assert undone.json()["error"] == "There is no answer to take back."
    assert guest.get("/api/progress").json()["n_answers"] == 1


def test_pages_work_without_the_script(path, serve):
    """Forms answer, undo, flag, rename and change; each leads back to a page."""
    client = serve(path).client
    page = client.get("/").text
    number = re.search(r'name="question" value="(\d+)"', page)[1]

    client.post("/flag", data={"question": number, "flagged": "true"})
    reply = client.post("/answer", data={"question": number, "answer": "different"})

    assert reply.status_code == 303
    assert "1 answer, latest first" in client.get("/history?flagged=true").text
    client.post("/history/1", data={"answer": "same"})
    answers = client.get("/api/answers").json()
    assert [(one["answer"], one["source"]) for one in answers] == [
        ("same", "changed"),
        ("different", "asked"),
    ]
    assert answers[1]["seconds"] > 0
    client.post("/undo")
    client.post("/undo")
    assert (
        re.search(r'name="question" value="(\d+)"', client.get("/").text)[1] == number
    )
    client.post("/annotator", data={"name": "ada"})
    assert 'value="ada"' in client.get("/status").text


@pytest.mark.parametrize(
    "page",
    ["/", "/?why=true", "/map", "/history", "/neighbours", "/status", "/help"]
    + ["/groups", "/groups?q=item 1", "/group?item=3"]
    + ["/contradictions", "/neighbours?item=item 7", "/neighbours?item=12"]
    + ["/fragments/question", "/fragments/progress"],
)
def test_every_page_is_there(served, page):
    """Whole, escaped, and without anything inline that the policy would stop."""
    reply = served.client.get(page)

    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"<script(?! src)|style=|onclick|javascript:", reply.text)
    # Links stay below the secret path: none begins at the root.
    assert not re.search(r'(href|src|action)="/', reply.text)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404),
        ("/api/nowhere", 404),
        ("/api/items/40", 404),
        ("/api/items/-1", 422),
        ("/api/items/0/picture", 404),  # this project has texts
        ("/api/items/0/secret", 422),
        ("/static/../server.py", 404),
        ("/static/%2e%2e/server.py", 404),
        ("/static/..%2f..%2fcli.py", 404),
        ("/static//etc/passwd", 404),
        ("/api/items/..%2f..%2fetc%2fpasswd/picture", 404),
        ("/neighbours?item=../../etc/passwd", 404),
        ("/neighbours?item=" + "x" * 501, 422),
        ("/history?page=0", 422),
        ("/docs", 404),
    ],
)
def test_nothing_beyond_the_items_can_be_read(served, path, status):
    """Paths that lead out of the project lead nowhere."""
    reply = served.client.get(path)

    assert reply.status_code == status
    assert "root:" not in reply.text and "import " not in reply.text
    if path.startswith("/api"):
        assert reply.json()["ok"] is False


def test_a_large_body_is_refused(served):
    """Before it is read."""
    reply = served.client.post("/api/undo", content=b"x" * (1024 * 1024 + 1))

    assert reply.status_code == 413


@pytest.mark.parametrize("address", ["/api/answers", "/task"])
def test_a_body_that_does_not_tell_its_size_is_called_too_large(served, address):
    """Cut off while it is read, and said to be what it is."""
    kind = {
        "/api/answers": "application/json",
        "/task": "application/x-www-form-urlencoded",
    }[address]
    parts = (b"x" * 65_536 for _ in range(40))

    reply = served.client.post(address, content=parts, headers={"content-type": kind})

    assert reply.status_code == 413
    assert "A request must have at most 1048576 bytes." in reply.text


def test_hostile_names_are_shown_harmlessly(tmp_path, serve):
    """Names and texts are words on the page, never markup; no file is opened."""
    path = tmp_path / "hostile.likewise"
    with Writer(path) as writer:
        for name in HOSTILE:
            writer.add(name, text=name, fields={name: name})
        settings = {"kind": "row", "seed": 1, "acquisition": "groups"}
        writer.finish(
            np.random.RandomState(0).normal(size=(len(HOSTILE), 3)),
            {**settings, "likewise": "0", "created": "2026-01-01"},
        )
    client = serve(path, "--annotator", HOSTILE[0]).client
    answer(client, "same")
    client.put("/api/annotator", json={"name": HOSTILE[2]})
    answer(client, "different")

    for page in ("/", "/?why=true", "/map", "/history", "/status", "/contradictions"):
        text = client.get(page).text
        assert "<script>alert" not in text and "<img src=x" not in text, page
    templated = client.get("/neighbours", params={"item": "{{ 7 * 7 }}"}).text
    assert re.search(r">\s*\{\{ 7 \* 7 \}\}\s*<", templated)
    assert not re.search(r">\s*49\s*<", templated)
    for number, name in enumerate(HOSTILE):
        reply = client.get("/neighbours", params={"item": str(number)})
        assert reply.status_code == 200
        assert "root:" not in reply.text
        assert client.get(f"/api/items/{number}").json()["name"] == name


def test_sounds_and_pictures_come_with_their_type(tmp_path, serve, picture_folder):
    """From the file, with the type that was stored, and in parts where asked."""
    from tests.app.test_cli import told

    path = tmp_path / "p.likewise"
    told("new", path, "--images", picture_folder)
    client = serve(path).client

    whole = client.get("/api/items/3/picture")
    part = client.get("/api/items/3/picture", headers={"range": "bytes=2-9"})

    assert whole.headers["content-type"] == "image/jpeg"
    assert whole.content[:2] == b"\xff\xd8"
    assert part.status_code == 206
    assert part.content == whole.content[2:10]
    assert part.headers["content-range"] == f"bytes 2-9/{len(whole.content)}"


def test_a_second_server_is_told_so(path, serve):
    """The first goes on; once it has stopped, another may serve."""
    first = serve(path)

    with pytest.raises(RuntimeError, match="Another likewise serves .* already"):
        serve(path)
    assert answer(first.client, "same")[0].status_code == 201
    first.stop()
    assert serve(path).client.get("/api/progress").json()["n_answers"] == 1


def test_a_link_to_a_served_file_is_the_same_file(path, serve):
    """Neither another name nor a deleted lock lets a second server in."""
    first = serve(path)
    soft, hard = path.with_name("soft.likewise"), path.with_name("hard.likewise")
    soft.symlink_to(path)
    hard.hardlink_to(path)
    for file in path.parent.glob("*serving*"):
        file.unlink()

    for name in (path, soft, hard):
        with pytest.raises(RuntimeError, match="Another likewise serves .* already"):
            serve(name)
    assert answer(first.client, "same")[0].status_code == 201


def test_a_file_deleted_while_served_stops_the_answers(path, serve):
    """With a sentence; an answer that would vanish is never acknowledged."""
    client = serve(path).client
    question = client.get("/api/question").json()["question"]
    path.unlink()

    body = {"question": question["id"], "answer": "same"}
    reply = client.post("/api/answers", json=body)

    assert reply.status_code == 507
    assert "was moved, deleted or replaced" in reply.json()["error"]


def hostile_media(path):
    """Pictures that claim to be pages and scripts, in a project of a stranger."""
    page = b"<!doctype html><script>document.title = 'run'</script>"
    script = b"document.title = 'run'"
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"
    claims = {
        "text/html": page,
        "text/javascript": script,
        "image/svg+xml": drawing,
        "image/png; charset=x\r\nx-evil: 1": page,
        "image/png": page,
    }
    with Writer(path) as writer:
        for number, (mime, data) in enumerate(claims.items()):
            media = [Medium(role, mime, data) for role in ("picture", "thumbnail")]
            writer.add(f"{number}.png", media=media)
        settings = {"kind": "picture", "seed": 1, "acquisition": "groups"}
        writer.finish(np.eye(len(claims)), settings)
    return list(claims)


def test_media_of_other_types_are_only_ever_saved(tmp_path, serve):
    """A closed list of types; no guessing; a policy that runs nothing."""
    claims = hostile_media(tmp_path / "hostile.likewise")
    client = serve(tmp_path / "hostile.likewise").client

    for number, claim in enumerate(claims):
        for role in ("picture", "thumbnail"):
            reply = client.get(f"/api/items/{number}/{role}")
            is_shown = claim == "image/png"
            assert reply.headers["content-type"] == (
                "image/png" if is_shown else "application/octet-stream"
            )
            assert ("content-disposition" in reply.headers) is not is_shown
            assert reply.headers["x-content-type-options"] == "nosniff"
            policy = reply.headers["content-security-policy"]
            assert policy == "default-src 'none'; sandbox"
            assert "x-evil" not in reply.headers


def test_the_terminal_works_beside_the_page(path, serve):
    """What one writes the other sees."""
    client = serve(path).client
    answer(client, "same")

    with Project.open(path) as project:
        question = project.question("bo")
        project.answer(question.id, -1, "bo")

    assert client.get("/api/progress").json()["n_answers"] == 2


def test_a_full_disk_is_a_sentence_and_nothing_is_lost(path, serve):
    """A limit on the size of files makes the writes fail; what was saved stays."""
    import os

    blocks = os.path.getsize(path) // 512 + 40  # room for some answers in the WAL
    limit = f'ulimit -f {blocks // 2}; exec "$@"'
    server = serve(path, prefix=("bash", "-c", limit, "-"))
    kept, refused = [], None
    for _ in range(400):
        question = server.client.get("/api/question")
        if question.status_code != 201 and question.status_code != 200:
            refused = question
            break
        number = question.json()["question"]["id"]
        body = {"question": number, "answer": "different"}
        reply = server.client.post("/api/answers", json=body)
        if reply.status_code != 201:
            refused = reply
            break
        kept.append(reply.json()["answer"]["id"])

    assert refused is not None and refused.status_code == 507
    assert "disk is full" in refused.json()["error"]
    assert server.client.get("/history").status_code == 200
    server.stop()
    with Project.open(path) as project:
        assert [one.id for one in project.answers()][: len(kept)] == kept
        assert kept


def test_a_full_disk_or_damaged_file_stops_the_server_with_one_line(path):
    """No traceback, exit code 1."""
    path.write_bytes(path.read_bytes()[:5000])

    done = subprocess.run(
        [sys.executable, "-m", "likewise", "label", str(path), "--no-browser"],
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 1
    assert re.fullmatch(r"likewise: .* is damaged: .*\n", done.stderr)


def test_many_at_once_lose_nothing(path, serve):
    """Six browsers answer at the same time; every answer is stored once."""
    server = serve(path)
    clients = [
        server.enter(server.client.post("/api/invitations").json()["url"])
        for _ in range(6)
    ]
    stored, failures = [], []

    def work(client):
        for _ in range(8):
            reply, _ = answer(client)
            (stored if reply.status_code == 201 else failures).append(reply.json())

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    numbers = [reply["answer"]["id"] for reply in stored]
    assert len(set(numbers)) == 48
    assert server.client.get("/api/progress").json()["n_answers"] == 48


def test_it_ends_quietly(path, serve):
    """Asked to stop, it stops, and leaves one file."""
    server = serve(path)
    answer(server.client, "same")

    _, errors = server.stop()

    assert errors == ""
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_description_is_complete(served):
    """Every route under /api is in it, each with its errors."""
    described = served.client.get("/api/openapi.json").json()

    assert described["openapi"].startswith("3.")
    assert set(described["paths"]) >= {
        "/api/question",
        "/api/answers",
        "/api/answers/{number}",
        "/api/undo",
        "/api/map",
        "/api/progress",
    }
    for path, methods in described["paths"].items():
        assert path.startswith("/api/")
        for method in methods.values():
            assert {"403", "404", "409", "507"} <= set(method["responses"])
    json.dumps(described)


def test_the_small_project_is_learned_through_the_interface(path, serve):
    """After 25 answers the neighbours are more often of the same class."""
    client = serve(path).client
    for _ in range(25):
        answer(client)

    hits = {"before": 0, "after": 0}
    for number in range(0, 40, 3):
        near = client.get(f"/api/items/{number}/neighbours?n=3").json()
        for when in hits:
            names = [one["name"] for one in near[when]]
            hits[when] += [word_for(f"item {number}", name) for name in names].count(
                "same"
            )

    given = client.get("/api/answers").json()
    assert len(given) == 25
    assert client.get("/api/progress").json()["n_answers"] == len(pairs_of(given))
    assert hits["after"] > hits["before"]


def test_a_sound_has_a_drawing_of_its_loudness(tmp_path, serve):
    """Bars as high as it is loud: nothing for the silent half."""
    from tests.app.test_cli import told
    from tests.app.test_items import tone

    for k in range(2):
        (tmp_path / f"{k}.wav").write_bytes(tone(300 + 200 * k))
    told("new", tmp_path / "s.likewise", "--audio", tmp_path)
    client = serve(tmp_path / "s.likewise").client

    reply = client.get("/api/items/0/waveform")

    assert reply.headers["content-type"] == "image/svg+xml"
    assert reply.text.count("<rect") == 120
    assert client.get("/api/items/9/waveform").status_code == 404
