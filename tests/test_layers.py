"""Imports point one way: this table is the house."""

import ast
from pathlib import Path

import pytest

import likewise

SOURCE = Path(likewise.__file__).parent
CORE = {
    "equations",
    "errors",
    "basis",
    "posterior",
    "inference",
    "acquisition",
    "search",
    "pairs",
    "prior",
    "closure",
    "answers",
    "solvers",
}
FACE = {"estimators", "calibration", "verdicts", "active"}
MAY_IMPORT = {
    "errors": set(),
    "equations": set(),
    "pairs": {"errors"},
    "basis": {"equations", "errors"},
    "closure": {"errors", "pairs"},
    "answers": {"errors", "closure", "pairs"},
    "prior": {"basis", "equations", "errors"},
    "posterior": {"prior", "basis", "equations", "errors"},
    "solvers": {"prior", "posterior", "equations", "errors"},
    "inference": {"solvers", "prior", "posterior", "equations", "errors"},
    "acquisition": {"posterior", "basis", "equations", "errors"},  # never inference
    "search": {"basis", "equations", "errors"},
    "estimators": CORE,
    "calibration": CORE | {"estimators"},
    "verdicts": CORE | {"estimators"},
    "active": CORE | {"estimators", "verdicts"},
    "images": {"errors"},
    "experiments": CORE | FACE | {"images", "__init__", "__main__"},
    "app": {"__init__", "errors", "images"},  # the public face alone
    "__main__": {"errors"},
    "__init__": CORE | FACE,
}


def imported(path):
    """Modules of ours that a file imports, those inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "likewise":
            names = {alias.name for alias in node.names}
            public = {name for name in names if not (SOURCE / f"{name}.py").exists()}
            found |= names - public | ({"__init__"} if public else set())
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith("likewise."):
                found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("likewise."):
                    found.add(alias.name.split(".")[1])
    return found


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_table(path):
    """Each room stands only on the rooms that it may."""
    forbidden = imported(path) - MAY_IMPORT[room(path)] - {room(path)}

    assert not forbidden


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_one_random_source(path):
    """No global draws and no literal seeds: `rng` comes from outside."""
    text = path.read_text()

    for forbidden in (
        "np.random.rand",
        "np.random.normal",
        "np.random.choice",
        "np.random.seed",
        "import random",
        "default_rng(0",
    ):
        assert forbidden not in text
