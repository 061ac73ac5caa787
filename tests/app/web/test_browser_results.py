"""The end of the way, in a real browser: results, likely pairs, the map's line."""

import csv
import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from likewise.app.records import Medium
from likewise.app.writer import Writer
from tests.app.conftest import make_project
from tests.app.test_cli import told
from tests.app.test_items import tone
from tests.app.web.conftest import IN_BROWSER, names, press

pytestmark = IN_BROWSER
ROLES = ("picture", "thumbnail")


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


def test_the_stop_signal_leads_to_the_results(tmp_path, visit, serve):
    """Once enough is known, though more could be asked."""
    classes = np.arange(40) % 4
    X = np.random.RandomState(0).normal(size=(40, 3))
    X[:, :2] += 12 * np.column_stack([classes % 2, classes // 2])
    with Writer(tmp_path / "far.likewise") as writer:
        for number in range(40):
            writer.add(f"item {number}")
        writer.finish(X, {"kind": "text", "seed": 1, "acquisition": "groups"})
    page = visit(serve(tmp_path / "far.likewise"))
    link = page.get_by_role("link", name="See the results")
    for _ in range(6):
        same = len({int(name.split()[1]) % 4 for name in names(page)}) == 1
        press(page, "s" if same else "d")

    expect(page.locator(".enough")).to_contain_text("You can stop: 4 groups")
    assert page.locator("[data-question]").count() == 1
    link.click()
    page.wait_for_url("**/results")
    expect(page.get_by_role("link", name="groups.zip")).to_be_visible()


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


def wait_for_sounds(page, playing):
    """Wait until these two, left and right, are playing or not."""
    page.wait_for_function(
        "(playing) => [...document.querySelectorAll('.pair .sound')]"
        ".map((box) => box.classList.contains('playing')).join() === playing",
        arg=playing,
    )


def test_likely_sounds_are_heard_and_confirmed_by_keys(tmp_path, visit, serve):
    """Space and p play both in turn, whatever has the focus; other keys answer."""
    (tmp_path / "sounds").mkdir()
    for k in range(8):
        pitch = (200, 900)[k % 2] + 3 * k
        (tmp_path / "sounds" / f"{k}.wav").write_bytes(tone(pitch))
    told("new", tmp_path / "s.likewise", "--audio", tmp_path / "sounds", "--seed", 1)
    server = serve(tmp_path / "s.likewise")
    page = visit(server)
    for _ in range(4):
        same = len({int(name[0]) % 2 for name in names(page)}) == 1
        press(page, "s" if same else "d")
    page.goto(f"{server.base}/duplicates")
    assert page.locator(".pair audio").count() == 2
    assert page.locator(".unsure kbd").inner_text() == "u"
    page.wait_for_function(
        "() => [...document.querySelectorAll('audio')].every((one) => one.duration > 0)"
    )

    page.keyboard.press(" ")
    wait_for_sounds(page, "true,false")
    wait_for_sounds(page, "false,true")
    page.locator(".pair audio").first.focus()
    page.keyboard.press("p")
    wait_for_sounds(page, "false,false")
    page.get_by_role("button", name="Play both").click()
    wait_for_sounds(page, "true,false")
    before, n_before = names(page), len(server.client.get("/api/answers").json())
    page.keyboard.press("u")  # though the button has the focus
    page.wait_for_function(
        "(before) => [...document.querySelectorAll('.pair figcaption')]"
        ".map((one) => one.innerText).join() !== before",
        arg=",".join(before),
    )
    latest = server.client.get("/api/answers").json()
    assert (len(latest), latest[0]["answer"]) == (n_before + 1, "unsure")


def test_twenty_thousand_pictures_are_dots_and_then_pictures(tmp_path, visit, serve):
    """Where many lie it is denser; only who looks closer is sent pictures."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(20_000, 2))
    X[:15_000] *= 0.2  # three in four lie close together, in the middle
    shown = io.BytesIO()
    Image.new("RGB", (16, 12), (200, 40, 40)).save(shown, "PNG")
    media = [Medium(role, "image/png", shown.getvalue()) for role in ROLES]
    with Writer(tmp_path / "many.likewise") as writer:
        for number in range(20_000):
            writer.add(f"{number}.png", media=media)
        settings = {"kind": "picture", "seed": 1, "acquisition": "entropy"}
        writer.finish(X, settings)
    server = serve(tmp_path / "many.likewise")
    page = visit(server, viewport={"width": 1000, "height": 800})
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(f"{server.base}/map")
    page.wait_for_selector("[data-ready]")
    # Share of pixels with ink, and how dark they are, where there are any.
    ink = """() => { const c = document.getElementById('map');
      const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      let n = 0, sum = 0;
      for (let k = 3; k < d.length; k += 4) if (d[k]) { n += 1; sum += d[k]; }
      return [4 * n / d.length, sum / (255 * n)]; }"""
    share, darkness = page.evaluate(ink)

    assert 0.02 < share < 0.6  # neither lost nor one blot
    assert 0.4 < darkness < 0.95  # single dots are light, many on one place dark
    assert [url for url in fetched if "thumbnail" in url] == []
    with page.expect_response(lambda reply: "thumbnail" in reply.url):
        for _ in range(8):
            page.get_by_role("button", name="Zoom in").click()
    assert 0 < len([url for url in fetched if "thumbnail" in url]) < 500


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
