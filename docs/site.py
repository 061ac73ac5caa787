"""What MkDocs is told beyond mkdocs.yml: pages that come and go, GitHub's lists.

The same pages are read on GitHub and here. Python-Markdown wants an empty line before
a list, GitHub does not; links to files outside docs/ lead nowhere on the site.
"""

import re
from pathlib import Path

ITEM = re.compile(r"\s*([-*]|\d+\.) ")


def on_config(config):
    """Leave pages out that are not there, and put those last that nobody named."""
    docs = Path(config["docs_dir"])
    config["nav"] = [entry for each in config["nav"] if (entry := present(each, docs))]
    named = set(re.findall(r"[\w/-]+\.md", str(config["nav"])))
    more = sorted(path.name for path in docs.glob("*.md") if path.name not in named)
    if more:
        config["nav"].append({"More": more})
    return config


def present(entry, docs):
    """The part of an entry of the navigation that has pages; None if none has."""
    if isinstance(entry, str):
        return entry if (docs / entry).exists() else None
    [(title, target)] = entry.items()
    if isinstance(target, list):
        found = [each for each in target if present(each, docs)]
        return {title: found} if found else None
    return entry if present(target, docs) else None


def on_page_markdown(markdown, page, config, files):
    """Make a page of GitHub's one of Python-Markdown's."""
    if page.file.src_path == "changes.md":
        markdown = Path(config["docs_dir"], "..", "CHANGELOG.md").read_text()
    is_inner = "/" in page.file.src_path  # one step up is still docs/
    out, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        starts = ITEM.match(line) and out and out[-1].strip()
        if not fenced and starts and not continues(out[-1]):
            out.append("")
        out.append(line if fenced or is_inner else without_outer_links(line))
    return "\n".join(out)


def continues(line):
    """Whether a line before an item is an item itself or belongs to one."""
    return bool(ITEM.match(line)) or line.startswith("  ")


def without_outer_links(line):
    """The text of links that leave docs/."""
    return re.sub(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", line)
