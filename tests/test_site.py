"""The site: pages that come and go, GitHub's lists, nothing from a network."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def site():
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs/site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_that_are_missing_go_and_unnamed_ones_come_last(site, tmp_path):
    """A page lands in the navigation by being there."""
    for name in ("a.md", "b.md", "new.md"):
        (tmp_path / name).touch()
    nav = [{"A": "a.md"}, {"More": ["gone.md", {"B": "b.md"}]}, {"Gone": ["gone.md"]}]

    config = site.on_config({"docs_dir": str(tmp_path), "nav": nav})

    assert config["nav"] == [
        {"A": "a.md"},
        {"More": [{"B": "b.md"}]},
        {"More": ["new.md"]},
    ]


def test_lists_of_github_are_lists_here(site):
    """An empty line before the first item; code is left as it is."""
    text = "Such as\n- one\n  more\n- two\n```\nx\n- y\n```\n[f](../src/f.py) [g](g.md)"
    page = SimpleNamespace(file=SimpleNamespace(src_path="a.md"))

    out = site.on_page_markdown(text, page, {}, None)

    assert out == ("Such as\n\n- one\n  more\n- two\n```\nx\n- y\n```\nf [g](g.md)")


def test_a_page_in_a_folder_may_link_one_step_up(site):
    """That is still inside docs/."""
    page = SimpleNamespace(file=SimpleNamespace(src_path="gallery/a.md"))

    assert site.on_page_markdown("[b](../b.md)", page, {}, None) == "[b](../b.md)"


def test_the_changelog_is_a_page(site):
    """It is kept in one place."""
    page = SimpleNamespace(file=SimpleNamespace(src_path="changes.md"))

    out = site.on_page_markdown("", page, {"docs_dir": str(ROOT / "docs")}, None)

    assert out.startswith("# Changelog\n")
    assert "\n## Unreleased\n" in out


def test_nothing_is_fetched_from_a_network():
    """Material would load its fonts, and its offline plugin a script, but for ours."""
    text = (ROOT / "mkdocs.yml").read_text()

    assert "font: false" in text
    assert "polyfills: [iframe-worker.js]" in text
    assert (ROOT / "docs" / "iframe-worker.js").is_file()
    assert "http" not in text
