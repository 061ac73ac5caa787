"""Runs the examples of the gallery and writes their pages: code, output, picture.

Usage: python docs/gallery/make.py [NAME ...]
Needs LIKEWISE_DATA (a folder with corel/ and isolet.npz) for two of them, and pgserver
for one. What an example draws is its picture.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
NAMES = (
    "digits",
    "corel",
    "isolet",
    "table",
    "texts",
    "pipeline",
    "groups",
    "pgvector",
)


def parts(name):
    """Title, text and code of an example."""
    source = (HERE / f"{name}.py").read_text()
    title, text, code = re.fullmatch(
        r'"""(.*?)\n\n(.*?)\n"""\n+(.*)', source, re.S
    ).groups()
    return title, text, code.strip()


def run(name, folder=HERE):
    """Run an example; give what it prints, and save what it draws."""
    out = io.StringIO()
    plt.close("all")
    with contextlib.redirect_stdout(out):
        exec(compile(parts(name)[2], f"{name}.py", "exec"), {"__name__": name})
    plt.savefig(folder / f"{name}.png", dpi=80, bbox_inches="tight")
    return out.getvalue().rstrip()


def page(name, printed):
    title, text, code = parts(name)
    return (
        f"# {title}\n\n{text}\n\n![{title}]({name}.png)\n\n"
        f"It prints\n\n```\n{printed}\n```\n\n```python\n{code}\n```\n"
    )


def index():
    lines = [
        "# Gallery",
        "",
        "Eight examples. Code, output and pictures are those of one run of",
        "`python docs/gallery/make.py`; answers are simulated from known classes.",
    ]
    for name in NAMES:
        if (HERE / f"{name}.md").exists():
            title = parts(name)[0]
            lines += ["", f"## [{title}]({name}.md)", "", f"![{title}]({name}.png)"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        (HERE / f"{name}.md").write_text(page(name, run(name)))
    (HERE / "index.md").write_text(index())
