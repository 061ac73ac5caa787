"""What the documents say is true: code runs, names are there, links lead somewhere."""

import doctest
import importlib.util
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import likewise
from likewise import active, estimators
from likewise.__main__ import COMMANDS
from likewise.asking import closure
from likewise.asking.acquisition import ACQUISITIONS
from likewise.features import embedding, pictures
from likewise.model import equations
from likewise.using import neighbours

ROOT = Path(__file__).parents[1]
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def test_the_code_of_the_readme_runs(capsys):
    """Copied out and executed, it prints what it says."""
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)

    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)

    out = capsys.readouterr().out
    figures = re.findall(r"(0\.\d{3})$", out, re.M)[:3]
    plain, alone, helped = (float(figure) for figure in figures)
    assert plain < alone < helped
    said = re.search(r"It prints (\.\d+), (\.\d+) and (\.\d+)", text).groups()
    assert np.allclose(
        [plain, alone, helped], [float(each) for each in said], atol=0.02
    )
    assert names["found"].rows.shape == (1, 5)
    assert "pairs known without asking" in out


@pytest.mark.parametrize(
    "module", [active, closure, embedding, estimators, neighbours, pictures]
)
def test_examples_of_docstrings_run(module):
    """Each example gives what it shows."""
    result = doctest.testmod(module)

    assert result.attempted > 0
    assert result.failed == 0


def test_every_acquisition_and_command_is_documented():
    """Names are listed once in code and found in docs/."""
    text = "\n".join(path.read_text() for path in DOCS)

    for name in [*ACQUISITIONS, *COMMANDS]:
        assert name in text, name
    for parameter in estimators.BayesianMetric().get_params():
        assert f"\n    {parameter}" in estimators.BayesianMetric.__doc__ or (
            parameter == "tol"
        )


def test_every_equation_has_its_number_in_the_code():
    """(1) to (16), each in a docstring of equations.py."""
    text = Path(equations.__file__).read_text()

    for number in range(1, 17):
        assert f"({number})" in text, number


def test_functions_named_in_the_mathematics_exist():
    """The table of equations points at real functions."""
    text = (ROOT / "docs" / "math.md").read_text()
    where = text[text.index("**Where each equation is**") :].split("\n\n")[0]

    for name in re.findall(r"`(\w+)`", where):
        assert callable(getattr(equations, name)), name


def test_the_code_about_search_runs():
    """Ten lines from items to what is nearest, most of it of the same class."""
    text = (ROOT / "docs" / "search.md").read_text()
    block = re.search(r"```python\n(.*?)```", text, re.S)

    names = {}
    exec(compile(block[1], "search.md", "exec"), names)

    found, y = names["found"], names["y"]
    assert found.confidence.shape == (2, 5)
    assert (y[found.rows] == y[[12, 40]][:, None]).mean() >= 0.8


def test_the_code_about_features_runs():
    """Any callable is an embedding, as the document says."""
    text = (ROOT / "docs" / "pictures.md").read_text()
    block = re.search(r"```python\n(.*?)```", text, re.S)

    names = {}
    exec(compile(block[1], "pictures.md", "exec"), names)

    assert names["X"].shape == (4, 1)


RUN = ["index", "evaluation", *(p.stem for p in ROOT.glob("docs/from-*.md"))]


@pytest.mark.parametrize("page", RUN)
def test_the_code_of_a_page_runs(page):
    """Its blocks, one after the other."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)

    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), names)


def gallery():
    """What makes the gallery, as a module."""
    spec = importlib.util.spec_from_file_location(
        "gallery", ROOT / "docs" / "gallery" / "make.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_of_the_gallery_show_the_code_that_made_them():
    """Code changed after the run is noticed."""
    made = gallery()

    assert len(made.NAMES) == 8
    for name in made.NAMES:
        text = (ROOT / "docs" / "gallery" / f"{name}.md").read_text()
        assert made.parts(name)[2] in text, name
        assert (ROOT / "docs" / "gallery" / f"{name}.png").stat().st_size > 1000


def test_an_example_of_the_gallery_runs(tmp_path):
    """The quickest: it prints as many lines as its page shows, and draws."""
    printed = gallery().run("texts", tmp_path)

    shown = (ROOT / "docs" / "gallery" / "texts.md").read_text()
    before, after = (float(each) for each in re.findall(r"0\.\d{3}", printed))
    assert printed.splitlines()[0].split(":")[0] in shown
    assert before < after
    assert (tmp_path / "texts.png").stat().st_size > 1000


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """Files and pictures that a document points at are there."""
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_version_is_the_packages():
    """One version, in __init__.py: packaging and the command line read it there."""
    from importlib.metadata import version

    assert version("likewise") == likewise.__version__
    assert (
        "version"
        in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    )
