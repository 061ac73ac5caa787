"""The pages and the interface about groups, the task and what is asked for."""

import re

import pytest

from tests.app.conftest import Server, make_project
from tests.app.web.test_server import answer


@pytest.fixture(scope="module")
def sorting(tmp_path_factory):
    """A server on a project that asks for groups; tests undo what they say."""
    path = tmp_path_factory.mktemp("sorting") / "small.likewise"
    server = Server(make_project(path))
    for _ in range(20):
        answer(server.client)
    yield server
    server.stop()


def groups(client):
    return client.get("/api/groups").json()["groups"]


def test_groups_are_given_with_their_members(sorting):
    """Every item once; how much is sorted right, with its interval."""
    reply = sorting.client.get("/api/groups").json()

    members = [item for group in reply["groups"] for item in group["items"]]
    assert sorted(members) == list(range(40))
    assert reply["n_groups"] == len(reply["groups"])
    assert 0 < reply["low"] <= reply["share_right"] <= reply["high"] <= 1
    first = reply["groups"][0]
    assert sorting.client.get(f"/api/groups/of/{first['items'][3]}").json() == first


def test_the_page_has_a_card_for_each_group(sorting):
    """With its size, how sure it is, and a way to open it."""
    page = sorting.client.get("/groups").text
    found = [group for group in groups(sorting.client) if group["size"] > 1]

    assert len(re.findall('class="card"', page)) == len(found)
    assert f"{found[0]['size']} items" in page
    assert f"{100 * found[0]['confidence']:.0f}% sure" in page
    opened = sorting.client.get(f"/group?item={found[0]['items'][0]}").text
    shown = [int(k) for k in re.findall(r'name="item" value="(\d+)" form', opened)]
    assert shown == found[0]["items"]


def test_a_name_is_given_searched_and_taken_away(sorting):
    """By the form and by the interface; items are found as well."""
    client, item = sorting.client, groups(sorting.client)[0]["items"][0]
    form = {"item": item, "name": "Big <b>birds</b>", "back": "groups"}

    assert client.post("/group-name", data=form).status_code == 303

    assert client.get("/api/groups?q=birds").json()["groups"][0]["number"] == 0
    page = client.get("/groups?q=birds").text
    assert "Big &lt;b&gt;birds&lt;/b&gt;" in page
    assert len(re.findall('class="card"', page)) == 1
    assert "item 17" in client.get("/groups?q=item+17").text
    client.put(f"/api/groups/of/{item}/name", json={"name": ""})
    assert client.get("/api/groups?q=birds").json()["groups"] == []


def test_two_groups_are_made_one_and_undone(sorting):
    """Answers like any other: they stand in the history, and undo takes them back."""
    client = sorting.client
    before = groups(client)
    one, other = (",".join(map(str, g["representatives"])) for g in before[:2])

    reply = client.post("/group-same", data={"group": [one, other]})

    anchor = before[0]["representatives"][0]
    assert reply.headers["location"] == f"./group?item={anchor}"
    joined = next(g["items"] for g in groups(client) if anchor in g["items"])
    assert {*before[0]["representatives"], *before[1]["representatives"]} <= {*joined}
    history = client.get("/history").text
    assert "without a question" in history
    latest = client.get("/api/answers?limit=5").json()
    assert {told["source"] for told in latest} == {"grouped"}
    undone = client.post(f"/history/{latest[2]['id']}/undo")
    assert undone.status_code == 303, undone.text
    assert groups(client) == before


def test_both_pages_say_that_answers_contradict_others(sorting):
    """Groups said to be one that answers keep apart: what was not followed, a link."""
    client = sorting.client
    a, b, c = groups(client)[0]["items"][:3]
    words = "1 answer contradicts others and is not followed here"
    assert words not in client.get("/groups").text

    for one, other, said in ((a, b, "same"), (b, c, "same"), (a, c, "different")):
        told = {"items": [one], "others": [other], "answer": said}
        assert client.post("/api/groups/answers", json=told).status_code == 201

    for address in ("/groups", f"/group?item={a}"):
        page = client.get(address).text
        assert f'<a href="./contradictions">{words}</a>' in page
    for _ in range(3):
        client.post("/undo")
    assert words not in client.get("/groups").text


def test_items_are_sent_away_and_moved(sorting):
    """An item leaves its group, or goes to another, by what stands for them."""
    client = sorting.client
    here, there = groups(client)[:2]
    stay, goal = (",".join(map(str, g["representatives"])) for g in (here, there))
    item = here["items"][-1]

    client.post("/group-members", data={"item": item, "here": stay, "act": "apart"})
    assert (
        item not in client.get(f"/api/groups/of/{stay.split(',')[0]}").json()["items"]
    )
    client.post("/undo")
    client.post(
        "/group-members",
        data={"item": item, "here": stay, "there": goal, "act": "move"},
    )
    assert item in client.get(f"/api/groups/of/{goal.split(',')[0]}").json()["items"]
    client.post("/undo")
    assert groups(client)[:2] == [here, there]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (
            {"item": "x", "here": "1", "act": "apart"},
            "Items must be given by their num",
        ),
        ({"item": "3", "here": "3", "act": "apart"}, "cannot all be sent away"),
        ({"item": "3", "here": "4", "act": "burn"}, "cannot be used"),
        ({"item": "3", "here": "400", "act": "apart"}, "There is no item 400"),
        ({"item": "3", "here": "4", "there": "", "act": "move"}, "by their numbers"),
    ],
)
def test_what_cannot_be_told_is_said_and_nothing_stored(sorting, form, words):
    """A page with the reason."""
    n_answers = len(sorting.client.get("/api/answers?limit=1000").json())

    reply = sorting.client.post("/group-members", data=form)

    assert 400 <= reply.status_code < 500
    assert words in reply.text
    assert len(sorting.client.get("/api/answers?limit=1000").json()) == n_answers


def test_the_task_is_in_words_that_can_be_changed(sorting):
    """Above the pair, escaped; the usual words where there are none."""
    client = sorting.client
    assert "Same or different?" in client.get("/").text

    client.post(
        "/task",
        data={
            "question": "Same  <i>person</i>?",
            "instructions": "Look at\r\nthe ears.",
        },
    )

    page = client.get("/").text
    assert ">Same &lt;i&gt;person&lt;/i&gt;?</h1>" in page
    assert "Look at\nthe ears." in page
    assert client.get("/api/task").json()["question"] == "Same <i>person</i>?"
    too_long = client.put("/api/task", json={"question": "x" * 201})
    assert too_long.status_code == 422
    client.put("/api/task", json={"question": ""})
    assert "Same or different?" in client.get("/").text


def test_the_purpose_is_changed_on_the_page(sorting):
    """The figures shown are those of what is asked for."""
    client = sorting.client
    assert client.get("/api/project").json()["acquisition"] == "groups"

    assert client.post("/purpose", data={"purpose": "metric"}).status_code == 303

    assert client.get("/api/purpose").json() == {"purpose": "metric"}
    assert client.get("/api/project").json()["acquisition"] == "entropy"
    assert client.get("/api/question").json()["question"] is not None
    assert client.post("/purpose", data={"purpose": "fun"}).status_code == 400
    client.put("/api/purpose", json={"purpose": "groups"})
    assert client.get("/api/purpose").json() == {"purpose": "groups"}
