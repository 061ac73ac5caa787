"""A real browser: Debian's chromium, driven by Playwright."""

import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="NO BROWSER: chromium is not installed, the page was NOT tested. "
        "Install it with: apt-get install chromium",
    ),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# Milliseconds to wait for what must come: a slow machine is no reason to fail.
PATIENCE = 300_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, serve):  # servers end after the pages
    """Open a page in a context of its own; what goes wrong in it fails the test."""
    contexts, problems = [], []

    def open_page(server, address=None, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda said: problems.append(said.text) if said.type == "error" else None,
        )
        invited = server.client.post("/api/invitations").json()["url"]
        page.goto(address or invited)
        page.wait_for_url(f"{server.base}/")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def names(page):
    """The two items as they stand, left and right."""
    return page.locator(".pair figcaption").all_inner_texts()


def number(page):
    return page.locator("[data-question]").get_attribute("data-question")


def press(page, key):
    """Press a key and wait for another question."""
    before = number(page)
    page.keyboard.press(key)
    expect(page.locator("[data-question]")).not_to_have_attribute(
        "data-question", before
    )
