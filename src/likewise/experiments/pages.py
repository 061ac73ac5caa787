"""A page as a list of blocks, written as Markdown or as one HTML file.

Knows nothing of metrics. Text may hold `code`, *emphasis* and **strong** words.
"""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table; all columns but the first are set to the right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A figure that exists as an SVG and, with the same stem, as a PNG."""

    svg: Path
    caption: str


Block = Heading | Text | Bullets | Table | Picture


def to_markdown(blocks: Sequence[Block], picture_folder: str = "") -> str:
    """The page in Markdown; pictures are linked as PNG files in `picture_folder`."""
    parts = [_markdown(block, picture_folder) for block in blocks]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block, picture_folder: str) -> str:
    match block:
        case Heading(text, level):
            return "#" * level + " " + text
        case Text(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Table(heads, rows):
            lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
            return "\n".join("| " + " | ".join(line) + " |" for line in lines)
        case Picture(svg, caption):
            path = f"{picture_folder}{svg.with_suffix('.png').name}"
            return f"![{caption}]({path})\n\n*{caption}*"


def to_html(blocks: Sequence[Block], title: str) -> str:
    """The page as one HTML file that needs no other file and no network."""
    body = "\n".join(_html(block) for block in blocks)
    return _PAGE.format(title=html.escape(title), style=_STYLE, body=body)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</ul>"
        case Table(heads, rows):
            return _html_table(heads, rows)
        case Picture(svg, caption):
            return (
                f'<figure><img alt="{html.escape(caption)}" src="{_data(svg)}">'
                f"<figcaption>{_inline(caption)}</figcaption></figure>"
            )


def _html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{_inline(head)}</th>' for head in heads)
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{_inline(other)}</td>" for other in others)
        lines.append(f'<tr><th scope="row">{_inline(first)}</th>{cells}</tr>')
    inside = f"<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="wide"><table>{inside}</table></div>'


def _inline(text: str) -> str:
    """Escape, then mark up `code`, **strong** and *emphasis*, and name links."""
    text = html.escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)


def _data(svg: Path) -> str:
    """The picture inside the page, as an address of its own."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()


_STYLE = """
:root { color-scheme: light; --ink: #1d2327; --quiet: #5c676e; --line: #dde2e5; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: #fff;
  max-width: 66rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.6rem; border-top: 1px solid var(--line);
  padding-top: 1.4rem; } h3 { margin-top: 1.8rem; }
p, ul { max-width: 46rem; } code { background: #f2f4f5; padding: 0 .25em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem;
  font-variant-numeric: tabular-nums; margin: .6rem 0 1.2rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line);
  text-align: right; white-space: nowrap; font-weight: normal; }
thead th { border-bottom: 2px solid var(--ink); font-weight: 600; }
th:first-child { text-align: left; } td em { color: var(--quiet); }
tbody tr:has(th strong) { background: #fff4ec; }
figure { margin: 1rem 0; } img { width: 100%; height: auto; }
figcaption { color: var(--quiet); font-size: .9rem; }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
