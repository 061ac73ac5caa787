"""Imports point one way: this table is the house."""

import ast
from pathlib import Path

import pytest

import likewise

SOURCE = Path(likewise.__file__).parent
GROUND = {"errors", "pairs"}
MODEL = {
    "model.equations",
    "model.matrix",
    "model.basis",
    "model.priors",
    "model.posterior",
    "model.solvers",
    "model.fitting",
}
ASKING = {"asking.answers", "asking.closure", "asking.acquisition", "asking.candidates"}
FACE = {"estimators", "model.calibration", "asking.verdicts", "active"}
MAY_IMPORT = {
    "errors": set(),
    "pairs": {"errors"},
    "model.equations": set(),
    "model.matrix": {"model.equations"},
    "model.basis": {"model.equations", "model.matrix", "errors"},
    "model.priors": {"model.basis", "model.equations", "model.matrix", "errors"},
    "model.posterior": {
        "model.priors",
        "model.basis",
        "model.equations",
        "model.matrix",
        "errors",
    },
    "model.solvers": {
        "model.priors",
        "model.posterior",
        "model.equations",
        "model.matrix",
        "errors",
    },
    "model.fitting": MODEL | {"errors"},
    "model.calibration": GROUND | {"estimators"},
    "asking.closure": GROUND,
    "asking.answers": GROUND | {"asking.closure"},
    # Never fitting: an acquisition does not learn.
    "asking.acquisition": {
        "model.posterior",
        "model.equations",
        "model.matrix",
        "errors",
    },
    "asking.candidates": {"model.basis", "errors"},
    "asking.verdicts": GROUND | {"model.equations", "model.matrix", "estimators"},
    "features": {"errors"},
    "estimators": GROUND | MODEL | {"asking.candidates"},
    "active": GROUND | MODEL | ASKING | {"estimators", "asking.verdicts"},
    "experiments": GROUND | {"features", "__init__", "__main__"},
    "app": {"errors", "features", "__init__"},  # the public face alone
    "__main__": {"errors"},
    "__init__": GROUND | MODEL | ASKING | FACE,
}
ROOMS = {"model", "asking", "features", "using", "app", "experiments"}


def imported(path):
    """Modules of ours that a file imports, those inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {place(name) for name in names if name.split(".")[0] == "likewise"}
    return found


def place(name):
    """The module of the table that an imported name belongs to."""
    parts = name.split(".")[1:]
    while parts and not is_module(parts):
        parts = parts[:-1]
    return table_key(parts) if parts else "__init__"


def is_module(parts):
    target = SOURCE.joinpath(*parts)
    return target.is_dir() or target.with_suffix(".py").exists()


def table_key(parts):
    """Modules of the model and of asking by name, other rooms as a whole."""
    by_name = ".".join(parts[:2])
    return by_name if by_name in MAY_IMPORT else parts[0]


def module(path):
    parts = list(path.relative_to(SOURCE).with_suffix("").parts)
    return table_key(parts)


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_table(path):
    """Each room stands only on the rooms that it may."""
    key = module(path)
    is_room_itself = path.name == "__init__.py" and key in ROOMS
    allowed = set() if is_room_itself else MAY_IMPORT[key] | {key}

    assert not imported(path) - allowed


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
