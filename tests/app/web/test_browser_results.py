"""The end of the way, in a real browser: results, likely pairs, the map's line."""

import csv

import numpy as np
import pytest
from playwright.sync_api import expect

from likewise.app.writer import Writer
from tests.app.conftest import make_project
from tests.app.web.conftest import IN_BROWSER, names, press

pytestmark = IN_BROWSER


@pytest.fixture
def fruits(tmp_path):
    """A project of six texts in two groups that lie far apart."""
    path = tmp_path / "fruits.likewise"
    with Writer(path) as writer:
        for name in ("apple 1", "apple 2", "apple 3", "pear 1", "pear 2", "pear 3"):
            writer.add(name, text=f"=a {name}")
        X = np.repeat([[0.0, 1.0], [9.0, 0.0]], 3, axis=0)
        X += 0.1 * np.random.RandomState(0).normal(size=X.shape)
        settings = {"kind": "text", "seed": 1, "acquisition": "groups"}
        writer.finish(X, {**settings, "likewise": "0", "created": "2026-01-01"})
    return path


def kinds(page):
    return {name.split()[0] for name in names(page)}


def answer_all(page):
    """Answer until nothing is left to ask."""
    while page.locator("[data-question]").count():
        before = page.locator("[data-question]").get_attribute("data-question")
        page.keyboard.press("s" if len(kinds(page)) == 1 else "d")
        expect(page.locator(f"[data-question='{before}']")).to_have_count(0)


def test_when_every_pair_is_known_the_page_leads_to_the_files(fruits, visit, serve):
    """From the last answer to a table of the groups, by clicks alone."""
    page = visit(serve(fruits))
    answer_all(page)

    expect(page.get_by_role("heading", level=1)).to_have_text("Every pair is known.")
    page.get_by_role("link", name="See the results").first.click()
    page.wait_for_url("**/results")
    with page.expect_download() as saved:
        page.get_by_role("link", name="groups.csv").click()
    with open(saved.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        found.setdefault(row["group"], set()).add(row["item"].split()[0])
    assert sorted(map(sorted, found.values())) == [["apple"], ["pear"]]


def test_the_report_opens_without_a_server(fruits, visit, serve, chromium, tmp_path):
    """Saved, and opened as a file where nothing can be fetched."""
    page = visit(serve(fruits))
    answer_all(page)
    page.goto(page.url + "results")
    with page.expect_download() as saved:
        page.get_by_role("link", name="report.html").click()
    saved.value.save_as(tmp_path / "report.html")
    context = chromium.new_context(offline=True)
    asked = []
    alone = context.new_page()
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto((tmp_path / "report.html").as_uri())

    expect(alone.locator("body")).to_contain_text("pear 2")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()


def test_a_likely_pair_is_confirmed_with_one_key(tmp_path, visit, serve):
    """A key answers and brings the next pair; the answer stands in the history."""
    server = serve(make_project(tmp_path / "likely.likewise"))
    page = visit(server)
    for _ in range(12):
        same = len({int(name.split()[1]) % 4 for name in names(page)}) == 1
        press(page, "s" if same else "d")
    page.goto(f"{server.base}/duplicates")
    first = names(page)
    n_before = len(server.client.get("/api/answers").json())

    page.keyboard.press("s")

    expect(page.locator(".pair figcaption").first).to_be_visible()
    page.wait_for_function(
        "(before) => [...document.querySelectorAll('.pair figcaption')]"
        ".map((one) => one.innerText).join() !== before",
        arg=",".join(first),
    )
    latest = server.client.get("/api/answers").json()
    assert len(latest) == n_before + 1
    assert latest[0]["answer"] == "same"
    assert {latest[0][side]["name"] for side in ("left", "right")} == set(first)


def test_what_a_line_on_the_map_holds_is_said_to_be_the_same(fruits, visit, serve):
    """All six can be drawn around: the frame holds them; they become one group."""
    server = serve(fruits)
    page = visit(server, viewport={"width": 1000, "height": 800})
    page.goto(f"{server.base}/map")
    page.wait_for_selector("[data-ready]")
    page.get_by_role("button", name="Choose items by drawing").click()
    box = page.locator("#map").bounding_box()
    left, top = box["x"] + 6, box["y"] + 6
    right, bottom = left + box["width"] - 12, top + box["height"] - 12
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(*corner)
    page.mouse.up()
    expect(page.locator("#chosen-bar")).to_contain_text("6 items chosen.")

    page.get_by_role("button", name="These are the same").click()

    expect(page.locator("#chosen-bar")).to_contain_text("Saved")
    assert len(server.client.get("/api/groups").json()["groups"]) == 1
