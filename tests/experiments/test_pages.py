"""Pages: one source, two forms."""

import re

from likewise.experiments.pages import (
    Bullets,
    Heading,
    Picture,
    Table,
    Text,
    to_html,
    to_markdown,
)

BLOCKS = [
    Heading("Title", 1),
    Text("A < b, `code`, **strong** and *soft*."),
    Bullets(["one", "two"]),
    Table(["name", "10"], [["**x**", "*0.5*"]]),
]


def test_markdown_has_every_block():
    """Headings, lists and tables as Markdown writes them."""
    text = to_markdown(BLOCKS)

    assert text.startswith("# Title\n\nA < b, `code`")
    assert "- one\n- two" in text
    assert "| name | 10 |\n| --- | ---: |\n| **x** | *0.5* |" in text


def test_html_escapes_and_marks_up():
    """No raw angle bracket from the text; marks become elements."""
    page = to_html(BLOCKS, "A & B")

    assert "<title>A &amp; B</title>" in page
    assert "A &lt; b, <code>code</code>, <strong>strong</strong> and <em>soft</em>" in (
        page
    )
    assert '<th scope="row"><strong>x</strong></th><td><em>0.5</em></td>' in page


def test_the_page_needs_no_other_file_and_no_network(tmp_path):
    """Pictures are inside; there is no address to anywhere."""
    svg = tmp_path / "figure.svg"
    svg.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    page = to_html([*BLOCKS, Picture(svg, "Curves")], "T")

    assert 'src="data:image/svg+xml;base64,' in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "http" not in page


def test_markdown_links_pictures_in_their_folder(tmp_path):
    """The documentation shows the PNG."""
    text = to_markdown([Picture(tmp_path / "figure1.svg", "Curves")], "reproduction/")

    assert "![Curves](reproduction/figure1.png)" in text
