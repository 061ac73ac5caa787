"""The page in a real browser."""

import contextlib
import http.server
import re
import threading

import httpx
import numpy as np
import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

from likewise.app.insight import Insight
from likewise.app.project import Project
from likewise.app.writer import Writer
from tests.app.conftest import Server, make_project, word_for
from tests.app.test_cli import told
from tests.app.test_items import tone
from tests.app.web.conftest import IN_BROWSER, names, number, press
from tests.app.web.test_server import hostile_media

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def server(tmp_path_factory, picture_folder):
    """A server on pictures; tests invite their own browsers."""
    path = tmp_path_factory.mktemp("browser") / "pictures.likewise"
    told("new", path, "--images", picture_folder, "--seed", 4)
    running = Server(path)
    yield running
    running.stop()


def said(server, n_answers):
    """The latest answers, oldest first."""
    answers = server.client.get("/api/answers").json()[:n_answers]
    return [one["answer"] for one in reversed(answers)]


def colour_word(page):
    left, right = (name.split("/")[0] for name in names(page))
    return "same" if left == right else "different"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["s", "d", " "], ["same", "different", "unsure"]),
        (["ArrowRight", "ArrowLeft", "u"], ["same", "different", "unsure"]),
        (["a", "x", "Space"], ["same", "different", "unsure"]),
        (["y", "n", "2"], ["same", "different", "unsure"]),
    ],
)
def test_answers_by_keys(server, visit, keys, words):
    """Each alias stores its word, and the next question follows by itself."""
    page = visit(server)

    for key in keys:
        press(page, key)

    assert said(server, 3) == words
    expect(page.locator("#said")).to_have_text("Saved: unsure.")


def test_undo_goes_back_step_by_step(server, visit):
    """z and backspace show the questions before, in the same order of sides."""
    page = visit(server)
    shown = []
    for key in "sds":
        shown.append((number(page), names(page)))
        press(page, key)

    for key in ("z", "Backspace", "z"):
        press(page, key)
        assert (number(page), names(page)) == shown.pop()


def test_a_reload_in_the_middle_shows_the_same_question(server, visit):
    """Nothing moves until it is answered."""
    page = visit(server)
    press(page, "s")
    before = number(page), names(page)

    page.reload()

    assert (number(page), names(page)) == before


def test_buttons_and_focus(server, visit):
    """A click answers; space after it does not press the button again."""
    page = visit(server)
    before = number(page)
    page.get_by_role("button", name="Different").click()
    expect(page.locator("[data-question]")).not_to_have_attribute(
        "data-question", before
    )

    press(page, " ")

    assert said(server, 2) == ["different", "unsure"]


def test_two_people_at_once(server, visit):
    """Two browsers show different pairs, and each has its own name."""
    one, two = visit(server), visit(server)
    two.goto(f"{server.base}/status")
    two.get_by_label("You answer as").fill("Bo")
    two.get_by_role("button", name="Change").click()
    two.wait_for_url(f"{server.base}/")

    for _ in range(3):
        assert set(names(one)) != set(names(two))
        press(one, "d")
        press(two, "d")

    people = {p["name"]: p for p in server.client.get("/api/annotators").json()}
    assert people["Bo"]["n_answers"] == 3
    assert people["Bo"]["median_seconds"] > 0


def test_the_opinion_of_the_model_is_hidden_until_asked_for(server, visit):
    """w shows and hides it; it says no word before."""
    page = visit(server)
    assert "probability" not in page.locator("#question").inner_text()

    page.keyboard.press("w")
    expect(page.locator(".why")).to_contain_text("the same with a probability of")
    page.keyboard.press("w")
    expect(page.locator(".why")).to_have_count(0)


def test_help_and_flag(server, visit):
    """? opens the keys and closes them; f flags for the history."""
    page = visit(server)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("s")  # no answer while the help is open
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    flagged = number(page)

    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Flagged")).to_be_visible()
    press(page, "s")

    page.goto(f"{server.base}/history?flagged=true")
    expect(page.locator(".history > li").first).to_contain_text("flagged")
    assert int(flagged) in [
        a["question"] for a in server.client.get("/api/answers").json()
    ]


def test_an_answer_is_changed_in_the_history(server, visit):
    """Another word is chosen; the old answer is shown as replaced."""
    page = visit(server)
    press(page, "s")
    page.goto(f"{server.base}/history")

    page.locator(".history > li").first.get_by_role("button", name="different").click()

    expect(page.locator(".history > li").first).to_contain_text("changed")
    expect(page.locator(".history > li").nth(1)).to_contain_text("replaced")
    assert said(server, 2) == ["same", "different"]


# Waits until the map is drawn alike in ten frames, one after another.
STILL = """() => new Promise((done) => {
  const canvas = document.getElementById('map');
  let before = '', alike = 0;
  (function look() {
    const now = canvas.toDataURL();
    alike = now === before ? alike + 1 : 0;
    before = now;
    if (alike === 10) done(); else requestAnimationFrame(look);
  })();
})"""


def test_the_map_shows_items_zooms_and_leads_to_neighbours(server, visit):
    """Something is drawn, hovering names an item, a click opens its neighbours."""
    page = visit(server, viewport={"width": 1000, "height": 800})
    page.goto(f"{server.base}/map")
    page.wait_for_selector("[data-ready]")
    ink = """() => { const c = document.getElementById('map');
      const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      let n = 0; for (let k = 3; k < d.length; k += 4) n += d[k] > 0; return n; }"""
    page.wait_for_function(f"() => ({ink})() > 500")
    page.evaluate(STILL)
    before = page.evaluate(ink)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function(f"(before) => ({ink})() !== before", arg=before)
    page.get_by_role("button", name="Show all").click()
    points = server.client.get("/api/map").json()["after"]
    box = page.locator("#map").bounding_box()
    # The frame holds all items where there are few.
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    wide, tall = high - low
    room = box["width"] - 80  # beside the buttons
    stretch = min(1.8, max(1 / 1.8, room / box["height"] * tall / wide))
    points, low, high = (np.array(x) * [stretch, 1] for x in (points, low, high))
    scale = 0.9 * min(np.array([room, box["height"]]) / (high - low))
    x, y = (points[0] - (low + high) / 2) * [scale, -scale]
    x, y = float(box["width"] / 2 + x), float(box["height"] / 2 + y)

    page.locator("#map").hover(position={"x": x, "y": y})
    expect(page.locator("#tip")).to_contain_text(re.compile(r"(red|green|blue)/\d"))
    page.get_by_role("button", name="Before").click()
    page.evaluate(STILL)
    page.get_by_role("button", name="After").click()
    page.evaluate(STILL)
    page.locator("#map").click(position={"x": x, "y": y})
    page.wait_for_url("**/neighbours?item=*")
    expect(page.get_by_role("heading", name="After learning")).to_be_visible()


def test_a_line_around_items_chooses_them(server, visit):
    """Drawn around the whole map it holds all thirty; they can be let go again."""
    page = visit(server, viewport={"width": 1000, "height": 800})
    page.goto(f"{server.base}/map")
    page.wait_for_selector("[data-ready]")
    page.get_by_label("Find").fill("red/")
    expect(page.locator("#sought")).to_have_text("10 found")
    page.get_by_role("button", name="Choose items by drawing").click()
    box = page.locator("#map").bounding_box()
    left, top = box["x"] + 12, box["y"] + 12
    right, bottom = left + box["width"] - 24, top + box["height"] - 24

    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(*corner)
    page.mouse.up()

    expect(page.locator("#chosen-bar")).to_contain_text("30 items chosen.")
    page.get_by_role("button", name="Never mind").click()
    expect(page.locator("#chosen-bar")).to_be_hidden()


def test_the_two_pictures_can_be_looked_at_closely(server, visit):
    """e opens them as large as the screen, a click zooms both, an answer closes."""
    page = visit(server)
    page.keyboard.press("e")
    closer = page.get_by_role("dialog", name="The two, closer")
    expect(closer).to_be_visible()
    before = closer.locator("img").first.bounding_box()["width"]

    closer.locator("img").nth(1).click()

    expect(closer.locator("img").first).to_have_css(
        "transform", re.compile("2, 0, 0, 2")
    )
    assert closer.locator("img").first.bounding_box()["width"] > 1.9 * before
    press(page, "s")
    expect(closer).to_be_hidden()


def test_a_phone_fits_and_takes_touches(server, visit):
    """At 360 pixels nothing sticks out, and a tap answers."""
    page = visit(
        server, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    for address in ("/", "/map", "/history", "/neighbours", "/status", "/groups"):
        page.goto(server.base + address)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, address
    page.goto(server.base)
    before = number(page)
    same = page.get_by_role("button", name="Same")
    assert same.bounding_box()["height"] >= 44
    same.tap()
    expect(page.locator("[data-question]")).not_to_have_attribute(
        "data-question", before
    )


def box(element):
    """Where an element is; one that is just being drawn anew has no place yet."""
    while True:
        element.wait_for()
        if (place := element.bounding_box()) is not None:
            return place


def test_one_contradiction_breaks_no_layout(tmp_path, visit, serve):
    """It is said above the figures; at phone width nothing sticks out."""
    path = make_project(tmp_path / "clash.likewise")
    with Project.open(path) as project:
        for told_pair in ((0, 1, 1), (1, 2, 1), (0, 2, -1)):
            project.tell([told_pair], "ada")
        Insight(project).estimate()  # a point of the curve
    server = serve(path)

    wide = visit(server, viewport={"width": 1000, "height": 800})
    alert = box(wide.get_by_role("link", name="1 contradiction to settle"))
    curve, counts = box(wide.locator(".curve")), box(wide.locator(".counts"))
    assert alert["y"] + alert["height"] < min(curve["y"], counts["y"])
    assert curve["x"] > counts["x"] + counts["width"]
    phone = visit(server, viewport={"width": 360, "height": 740}, is_mobile=True)
    for address in ("/", "/contradictions", "/history", "/groups", "/results"):
        phone.goto(server.base + address)
        width = phone.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, address
    assert phone.locator(".answers kbd:visible").count() == 0


def test_dark_mode_is_dark_and_both_have_contrast(server, visit):
    """Text against its ground: at least 4.5 to 1, as WCAG asks."""
    measure = """() => {
      const lum = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255)
        .map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
      const ground = (e) => { while (e) { const c = getComputedStyle(e).backgroundColor;
        if (!/, 0\\)|transparent/.test(c)) return c; e = e.parentElement; } };
      return [...document.querySelectorAll('h1, figcaption, .answers button, .tools *, '
        + '.counts dt, .words, nav a, .figure span')].map((e) => {
        const [a, b] = [lum(getComputedStyle(e).color), lum(ground(e))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        return [e.textContent.trim(), contrast];
      }); }"""
    grounds = {}
    for scheme in ("light", "dark"):
        page = visit(server, color_scheme=scheme)
        page.wait_for_timeout(300)
        for words, contrast in page.evaluate(measure):
            assert contrast >= 4.5, (scheme, words, contrast)
        grounds[scheme] = page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )

    assert max(grounds["dark"]) < 60 < 200 < min(grounds["light"])


def test_a_screen_reader_finds_its_way(server, visit):
    """One heading, landmarks, names on pictures and controls, a live region."""
    page = visit(server)

    assert page.locator("h1").count() == 1
    assert page.locator("main, nav, header").count() == 3
    assert all(image.get_attribute("alt") for image in page.locator(".pair img").all())
    assert page.locator("[aria-live=polite]").count() == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_it_works_without_the_script(server, visit):
    """Forms alone: answer, undo and the map as a drawing."""
    page = visit(server, java_script_enabled=False)
    before = number(page)
    page.get_by_role("button", name="Same").click()
    assert number(page) != before
    page.get_by_role("button", name="Undo").click()
    assert number(page) == before
    page.get_by_role("link", name="Why this pair?").click()
    assert "probability of" in page.locator(".why").inner_text()
    page.goto(f"{server.base}/map")
    assert page.locator("svg.dots circle").count() == 30


def test_sounds_and_rows_have_their_own_looks(tmp_path, visit, serve):
    """Players for sounds; for rows the differing cells are marked."""
    (tmp_path / "sounds").mkdir()
    for k in range(4):
        (tmp_path / "sounds" / f"{k}.wav").write_bytes(tone(200 + 300 * k))
    (tmp_path / "t.csv").write_text("town,size\nRome,1\nRome,2\nRome,3\n")
    told("new", tmp_path / "s.likewise", "--audio", tmp_path / "sounds")
    told("new", tmp_path / "t.likewise", "--table", tmp_path / "t.csv")

    page = visit(serve(tmp_path / "s.likewise"))
    assert page.locator(".pair audio").count() == 2
    length = "document.querySelector('audio').duration"
    page.wait_for_function(f"() => {length} > 0.9")
    wave = "document.querySelector('.wave')"
    page.wait_for_function(f"() => {wave}.complete && {wave}.naturalWidth > 0")
    page.locator(".pair audio").first.focus()
    page.keyboard.press("p")
    page.wait_for_function("() => document.querySelectorAll('.playing').length === 1")
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelectorAll('.playing').length === 0")
    press(page, "ArrowRight")  # an answer, though a player has the focus
    page.goto(page.url + "history")
    page.get_by_role("button", name="Play").first.click()
    page.wait_for_function("() => document.querySelectorAll('.playing').length === 1")
    page = visit(serve(tmp_path / "t.likewise"))
    assert page.locator(".pair .differs").count() == 2
    assert all("size" in t for t in page.locator(".pair .differs").all_inner_texts())


def test_sounds_and_rows_of_a_group_are_chosen(tmp_path, visit, serve):
    """The box lies over nothing, and nothing over it; rows are shown whole."""
    (tmp_path / "sounds").mkdir()
    for k in range(4):
        (tmp_path / "sounds" / f"{k}.wav").write_bytes(tone(200 + 300 * k))
    cells = [f"column {k}" for k in range(9)]
    rows = [",".join(f"{k}{word[-1]}" for word in cells) for k in range(4)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(cells), *rows]))
    told("new", tmp_path / "s.likewise", "--audio", tmp_path / "sounds")
    told("new", tmp_path / "t.likewise", "--table", tmp_path / "t.csv")

    for name in ("s", "t"):
        server = serve(tmp_path / f"{name}.likewise")
        page = visit(server)
        page.goto(f"{server.base}/group?item=0")
        page.locator(".member input").first.click()
        expect(page.locator(".bar-below")).to_contain_text("1 item chosen.")
        page.locator(".member input").first.click()
        expect(page.locator(".bar-below")).to_be_hidden()
    cut = "(list) => list.filter((one) => one.scrollHeight > one.clientHeight).length"
    assert page.locator(".member .fields").evaluate_all(cut) == 0


def test_when_the_server_is_gone_the_page_says_so(tmp_path, chromium, serve):
    """The answer is not lost silently: the same question stays, with a warning."""
    server = serve(make_project(tmp_path / "gone.likewise"))
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.client.post("/api/invitations").json()["url"])
    page.wait_for_url(f"{server.base}/")
    before = number(page)
    server.stop()

    page.keyboard.press("s")

    expect(page.get_by_role("alert")).to_contain_text("does not reply")
    assert number(page) == before
    context.close()


def test_a_page_left_open_over_a_restart_says_how_to_go_on(tmp_path, chromium, serve):
    """The answer is refused in words, kept nowhere; the new address goes on there."""
    path = make_project(tmp_path / "again.likewise")
    first = serve(path)
    context = chromium.new_context()
    page = context.new_page()
    page.goto(first.client.post("/api/invitations").json()["url"])
    page.wait_for_url(f"{first.base}/")
    press(page, "s")
    before, pair = number(page), names(page)
    first.stop()
    # Most systems give the usual port again: here it is asked for.
    second = serve(path, "--port", first.base.split("/")[2].rpartition(":")[2])

    page.keyboard.press("d")

    expect(page.get_by_role("alert")).to_contain_text("started anew")
    expect(page.get_by_role("alert")).to_contain_text("address that the terminal")
    assert number(page) == before
    assert [one["answer"] for one in second.client.get("/api/answers").json()] == [
        "same"
    ]
    invited = second.client.post("/api/invitations").json()["url"]
    page.goto(invited)
    page.wait_for_url(f"{second.base}/")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert set(names(page)) != set(pair)  # a guest of this run: the pair is another's
    context.close()


def is_whole(page, chosen):
    """Whether nothing of these is hidden behind an edge."""
    found = page.locator(chosen)
    assert found.count() > 0
    return found.evaluate_all(
        "all => all.every(one => one.scrollHeight <= one.clientHeight + 1)"
    )


def test_rows_of_a_table_are_not_cut_off(tmp_path, visit, serve):
    """Every cell can be seen: beside each other, among neighbours, on a phone."""
    rows = [
        f"Ada {k},Lovelace,London,18{k:02d},+44 {k:05d},note {k}" for k in range(20)
    ]
    table = tmp_path / "rows.csv"
    rows[3] += " and more" * 400  # a page of words: read by scrolling its cell
    table.write_text("\n".join(["first,last,town,born,telephone,note", *rows]))
    told("new", tmp_path / "rows.likewise", "--table", table, "--seed", 1)
    server = serve(tmp_path / "rows.likewise")
    for width, height in ((1280, 800), (390, 800)):
        page = visit(server, viewport={"width": width, "height": height})

        assert is_whole(page, ".pair .frame")
        page.goto(f"{server.base}/neighbours")
        assert is_whole(page, ".centre .frame")
        assert is_whole(page, "ol.near .fields")
        heights = page.locator("ol.near > li").evaluate_all(
            "all => all.map(one => one.clientHeight)"
        )
        assert len(heights) == 16
        assert max(heights) < 1.5 * height  # one cell makes no row of cards endless


def test_what_has_only_a_name_shows_it_once(tmp_path, visit, serve):
    """Bare vectors: the name is what is looked at, and needs no caption."""
    np.save(tmp_path / "bare.npy", np.random.RandomState(0).normal(size=(20, 3)))
    path = tmp_path / "bare.likewise"
    told("new", path, "--vectors", tmp_path / "bare.npy", "--seed", 1)
    page = visit(serve(path))

    expect(page.locator(".pair .text").first).to_be_visible()
    expect(page.locator(".pair figcaption").first).to_be_hidden()
    page.goto(page.url + "neighbours")
    expect(page.locator("ol.near .text").first).to_be_visible()
    expect(page.locator("ol.near .name").first).to_be_hidden()


def test_five_thousand_items_are_no_reason_to_stop(tmp_path, visit, serve):
    """Every key brings another pair, computed ahead or not, and none twice."""
    rng = np.random.RandomState(0)
    classes = np.arange(5000) % 5
    X = rng.normal(size=(5000, 36))
    X[:, :3] += 3 * classes[:, None]
    path = tmp_path / "many.likewise"
    with Writer(path) as writer:
        for k in range(5000):
            writer.add(f"item {k}", text=f"item {k}")
        settings = {"kind": "text", "seed": 1, "acquisition": "groups"}
        writer.finish(X, {**settings, "likewise": "0", "created": "2026-01-01"})
    page = visit(serve(path))
    shown = []
    for _ in range(8):
        shown.append(tuple(sorted(names(page))))
        i, j = (int(name.split()[1]) for name in shown[-1])
        press(page, "s" if classes[i] == classes[j] else "d")

    assert len(set(shown)) == 8


def test_sixty_answers_through_the_page_raise_the_accuracy(tmp_path, visit, serve):
    """A person who knows the classes answers by keys; 1NN gets better."""
    path = make_project(tmp_path / "learn.likewise")
    page = visit(serve(path))
    for _ in range(60):
        if page.locator("[data-question]").count() == 0:
            break
        before = number(page)
        page.keyboard.press(word_for(*names(page))[0])
        page.wait_for_function(
            "(q) => document.querySelector('[data-question]')?.dataset.question !== q",
            arg=before,
        )
    with Project.open(path) as project:
        from tests.app.conftest import CLASSES

        def hits(Z):
            far = ((Z[:, None] - Z[None]) ** 2).sum(axis=2) + 1e9 * np.eye(len(Z))
            return np.mean(CLASSES[far.argmin(axis=1)] == CLASSES)

        after = hits(project.learner().metric_.transform(project.X))
        assert after > hits(project.X.astype(float)) + 0.1


def test_nothing_of_a_hostile_project_runs(tmp_path, chromium, serve):
    """Items that claim to be pages and scripts: opened, framed or loaded as one."""
    hostile_media(tmp_path / "hostile.likewise")
    server = serve(tmp_path / "hostile.likewise")
    context = chromium.new_context(accept_downloads=False)
    page = context.new_page()
    page.goto(server.client.post("/api/invitations").json()["url"])
    page.wait_for_url(f"{server.base}/")
    title = page.title()
    load = """async (address) => {
      const script = document.createElement("script");
      script.src = address;
      const over = new Promise((done) => { script.onload = script.onerror = done; });
      document.head.append(script);
      return (await over).type;
    }"""
    for k in range(5):
        address = f"{server.base}/api/items/{k}/picture"
        assert page.evaluate(load, address) == "error"
        assert page.title() == title
        tab = context.new_page()
        with contextlib.suppress(PlaywrightError):  # a download is no page
            tab.goto(address, wait_until="load")
        assert "run" not in tab.title()
        tab.close()
    context.close()


class Listener(http.server.BaseHTTPRequestHandler):
    """Another server on this machine: remembers the cookies that it is sent."""

    def do_GET(self):
        self.server.cookies.append(self.headers.get("cookie", ""))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        # A cookie of the same name for every port, to hide or replace ours.
        self.send_header("set-cookie", f"{self.server.name}=forged; Path=/")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "photos.localhost"])
def test_another_server_on_this_machine_gets_nothing(tmp_path, visit, serve, host):
    """Cookies do not know ports: the other server sees none, and one that it had
    all the same would neither read nor answer."""
    name = "photos.localhost" if host.endswith("localhost") else None
    server = serve(make_project(tmp_path / "small.likewise"), "--host", host, name=name)
    page = visit(server)
    before = number(page)
    (cookie,) = page.context.cookies()
    with http.server.HTTPServer(("127.0.0.1", 0), Listener) as other:
        other.cookies, other.name = [], cookie["name"]
        threading.Thread(target=other.serve_forever, daemon=True).start()
        tab = page.context.new_page()
        tab.goto(f"http://{httpx.URL(server.base).host}:{other.server_port}/")
        tab.close()
        other.shutdown()

    assert other.cookies and not any(cookie["value"] in one for one in other.cookies)
    forged = {
        "host": server.origin.removeprefix("http://"),
        "origin": server.origin,
        "cookie": f"{cookie['name']}={cookie['value']}",
        "sec-fetch-site": "same-origin",
    }
    reached = server.reached
    for method, path in [("GET", "/"), ("GET", "/api/question"), ("POST", "/api/undo")]:
        assert httpx.request(method, reached + path, headers=forged).status_code == 403
    press(page, "s")  # the forged cookie beside ours does no harm
    assert number(page) != before


def test_no_request_leaves_the_machine(server, chromium):
    """Everything the pages load comes from the server itself."""
    context = chromium.new_context()
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(httpx.URL(request.url).host))
    page.goto(server.client.post("/api/invitations").json()["url"])
    page.wait_for_url(f"{server.base}/")
    for address in ("/", "/map", "/history", "/neighbours", "/status"):
        page.goto(server.base + address)
        page.wait_for_timeout(200)

    assert set(asked) == {httpx.URL(server.base).host}
    context.close()


def test_a_person_corrects_the_groups(server, visit):
    """Choose two cards: a bar appears, and they are one; undo takes it back."""
    page = visit(server)
    page.goto(f"{server.base}/groups")
    before = server.client.get("/api/groups").json()["groups"]
    bar = page.locator(".bar-below")
    expect(bar).to_be_hidden()
    for pick in page.locator(".pick").all()[:2]:
        pick.click()
    expect(bar).to_contain_text("2 groups chosen.")

    page.get_by_role("button", name="These are the same").click()

    page.wait_for_url("**/group?item=*")
    assert page.locator(".member").count() >= before[0]["size"]
    page.get_by_label("Name").fill("colourful")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="colourful")).to_be_visible()
    page.locator(".member").last.click()
    expect(bar).to_contain_text("1 item chosen.")
    page.get_by_role("button", name="Not in this group").click()
    page.wait_for_load_state()
    page.goto(f"{server.base}/history")
    for _ in range(2):
        page.get_by_role("button", name="Take back").first.click()
    expect(page.locator(".history > li").first).to_contain_text("undone")
    after = server.client.get("/api/groups").json()["groups"]
    assert [group["items"] for group in after] == [group["items"] for group in before]
