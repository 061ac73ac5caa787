"""The public face: what is there, what it costs, and that it ships."""

import subprocess
import sys
import venv

import pytest

import likewise


def test_public_names_are_sorted_and_there():
    """__all__ is the list users rely on."""
    assert likewise.__all__ == sorted(likewise.__all__)
    for name in likewise.__all__:
        assert getattr(likewise, name).__doc__


def test_importing_loads_no_optional_library():
    """The core is numpy, scipy and scikit-learn."""
    code = (
        "import sys, sklearn.metrics, sklearn.utils.validation, scipy.sparse;"
        "before = set(sys.modules); import likewise;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - {'likewise', 'sklearn', 'scipy', 'numpy'}"
        " - set(sys.stdlib_module_names)))"
    )

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert out.stdout.strip() == "[]", out.stderr


def test_help_loads_no_numbers():
    """What is public is loaded when it is first used, and looks as if it were there."""
    code = (
        "import sys, likewise; from likewise import __main__;"
        "assert set(likewise.__all__) <= set(dir(likewise));"
        "print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    )

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert out.stdout.strip() == "[]", out.stderr
    with pytest.raises(AttributeError, match="has no attribute 'metric'"):
        getattr(likewise, "metric")  # noqa: B009
    assert likewise.load is likewise.estimators.load


@pytest.mark.slow
def test_the_wheel_installs_and_imports_in_a_clean_environment(tmp_path):
    """Built from this tree, installed without it, used once."""
    root = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True
    ).stdout.strip()
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, root or "."],
        check=True,
        capture_output=True,
    )
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    wheel = next(tmp_path.glob("likewise-*.whl"))
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
    code = (
        "import importlib.resources as r, likewise, numpy as np;"
        "assert r.files('likewise').joinpath('py.typed').is_file();"
        "m = likewise.BayesianMetric().fit_pairs(np.eye(3), [[0, 1], [1, 2]], [1, -1]);"
        "print(m.predict_pairs(np.eye(3), [[0, 1]]), likewise.__file__)"
    )

    # -I: whatever the one who runs the tests has in PYTHONPATH is not there.
    out = subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )

    assert out.stdout.startswith("[1]"), out.stderr
    assert "clean" in out.stdout
