"""Imports point one way: this table is the house."""

import ast
from pathlib import Path

import pytest

import likewise

SOURCE = Path(likewise.__file__).parent
GROUND = {"errors", "fingerprint", "pairs", "threads"}
FORMULAS = {"model.equations", "model.matrix"}
MODEL = FORMULAS | {
    "model.basis",
    "model.surroundings",
    "model.unlabelled",
    "model.classes",
    "model.priors",
    "model.posterior",
    "model.parts",
    "model.solvers",
    "model.ascent",
    "model.climbing",
    "model.fitting",
    "model.checkpoints",
    "model.belief",
    "model.calibration",
    "model.drawing",
}
# All that asking may see of a belief: never how it was learned.
CONTRACT = {"model.belief", "model.equations"}
ASKING = {
    "asking.answers",
    "asking.chains",
    "asking.checks",
    "asking.choosing",
    "asking.closure",
    "asking.columns",
    "asking.components",
    "asking.acquisition",
    "asking.candidates",
    "asking.doubt",
    "asking.panel",
    "asking.search",
    "asking.records",
    "asking.trials",
    "asking.verdicts",
}
MAY_IMPORT = {
    "errors": set(),
    "digits": set(),
    "fingerprint": set(),
    "memory": set(),
    "threads": set(),
    "pairs": {"errors"},
    "inputs": {"errors"},
    "model.equations": {"errors"},
    "model.matrix": {"model.equations"},
    "model.basis": {"model.equations", "digits", "errors"},
    "model.surroundings": set(),
    "model.unlabelled": {"model.basis", "model.matrix", "model.surroundings"},
    "model.classes": {"model.unlabelled", "model.matrix"},
    "model.priors": {
        "model.matrix",
        "model.classes",
        "model.unlabelled",
        "model.surroundings",
    }
    | {"model.basis", "digits", "threads"},
    "model.posterior": FORMULAS | {"model.priors"},
    "model.belief": FORMULAS | {"digits", "model.posterior", "model.calibration"},
    "model.parts": set(),
    "model.solvers": FORMULAS
    | {"model.priors", "model.posterior", "model.parts", "digits", "errors"},
    "model.ascent": set(),
    "model.climbing": FORMULAS
    | {"model.ascent"}
    | {"pairs", "model.parts", "model.posterior", "model.priors", "model.solvers"},
    "model.fitting": (MODEL - {"model.drawing"}) | {"errors", "memory", "threads"},
    "model.checkpoints": {"model.climbing", "model.fitting", "model.priors"},
    "model.drawing": {"model.classes", "model.priors", "model.climbing", "pairs"}
    | {"model.fitting"},
    "model.calibration": {"errors", "pairs", "model.matrix"},
    "asking.chains": set(),
    "asking.checks": set(),
    "asking.components": set(),
    "asking.closure": GROUND | {"asking.chains", "asking.components"},
    "asking.trials": set(),
    "asking.columns": {"pairs"},
    "asking.answers": GROUND
    | {"asking.chains", "asking.closure", "asking.columns", "asking.trials"},
    # Never fitting: an acquisition does not learn.
    "asking.acquisition": CONTRACT | {"errors"},
    "asking.candidates": CONTRACT | {"model.basis", "errors", "memory", "threads"},
    "asking.doubt": {"model.belief", "asking.candidates", "pairs"},
    "asking.search": CONTRACT
    | {"model.matrix", "asking.acquisition", "asking.candidates", "asking.doubt"}
    | GROUND,
    "asking.choosing": GROUND
    | {"asking.answers", "asking.candidates", "asking.chains", "asking.checks"}
    | {"asking.closure", "asking.panel"}
    | {"asking.search"},
    "asking.panel": {"asking.candidates", "asking.checks"}
    | {"model.calibration", "pairs"},
    "asking.records": {"model.calibration"},
    "asking.verdicts": CONTRACT
    | GROUND
    | {"asking.candidates", "asking.records", "model.calibration"},
    "features": {"errors"},
    # A file holds a belief, whoever fitted it: the estimators stand on it.
    "using.algebra": set(),
    "using.turns": {"digits"},
    "using.tree": {"digits"},
    "using.guesses": {"digits", "using.algebra", "using.tree", "using.turns"},
    "using.packing": {"using.algebra", "using.guesses"},
    "using.modelfile": {"digits", "errors", "using.guesses", "using.packing"}
    | {
        "model.basis",
        "model.belief",
        "model.calibration",
        "model.posterior",
        "model.priors",
    },
    # A search asks a belief; it never learns.
    "using": GROUND
    | {"asking.candidates", "asking.closure", "asking.trials", "asking.verdicts"}
    | {"model.basis", "model.belief", "model.posterior", "model.priors"},
    # Judging stands on the estimators; the rest of using below them.
    "using.splits": GROUND | {"estimators"},
    "estimators": GROUND
    | MODEL
    | {"digits", "inputs", "asking.candidates", "using.modelfile"},
    "active": GROUND | MODEL | ASKING | {"estimators", "using"},
    "blocks": {"errors"},
    "scale": GROUND
    | ASKING
    | {"blocks", "estimators", "model.basis", "model.fitting", "model.parts"},
    "experiments": GROUND | {"features", "__init__", "__main__"},
    "app": {
        "errors",
        "features",
        "using",
        "scale",
        "__init__",
    },  # never how it is learned
    "__main__": {"errors"},
    "__init__": GROUND | MODEL | ASKING | {"estimators", "active", "using"},
}
# What a named tuple offers to everybody, underscore and all.
OF_NAMED_TUPLES = {"_replace", "_fields", "_asdict"}
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


def private_names(tree):
    """Names with an underscore that a file takes from something else."""
    reached = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    taken = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {name for name in reached | taken if is_private(name)} - own_names(tree)


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def own_names(tree):
    """Names that a file gives to functions, variables or attributes of its own."""
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            own.add(node.attr)
    return own


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_reaches_into_another_module(path):
    """What begins with an underscore is used where it was made, and nowhere else."""
    tree = ast.parse(path.read_text())

    assert not private_names(tree) - OF_NAMED_TUPLES


def test_reaching_in_is_noticed():
    """A private attribute of something else, or a private name that is imported."""
    tree = ast.parse(
        "from likewise.pairs import _show\n"
        "class Mine:\n"
        "    def use(self, other):\n"
        "        self._own = other._theirs\n"
        "        return other._own, other.__dict__\n"
    )

    assert private_names(tree) == {"_show", "_theirs"}


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
