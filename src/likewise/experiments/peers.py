"""LMNN and ITML from the real metric-learn, in an environment of their own.

COBRAS and MPCKMeans, which benchmarks/groups.py runs, live there too.

metric-learn 0.7.0 fails in every `fit` with scikit-learn 1.8 and later, so it cannot
live beside likewise. Tasks and results are exchanged as files.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.errors import LikewiseError

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn>=1.7,<1.8")
# What these name as needed draws windows, which nobody looks at: without it.
BARE_REQUIREMENTS = ("cobras_ts==0.1.3", "active-semi-supervised-clustering==0.0.1")
SCRIPT = Path(__file__).with_name("peer_script.py")
WANTED = "\n".join((*REQUIREMENTS, *BARE_REQUIREMENTS)) + "\n"
TIMEOUT = 600  # seconds for one fit; the slowest, ITML on 30 letters, takes about 20


class PeerError(LikewiseError):
    """A rival failed; the message is its own."""


def folder() -> Path:
    """Where the peers' environment is: LIKEWISE_PEERS, or else .venv-peers."""
    return Path(os.environ.get("LIKEWISE_PEERS", ".venv-peers"))


def interpreter() -> Path:
    """The Python of the peers' environment, whether it is there or not."""
    place = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return folder().resolve().joinpath(*place)


def is_ready() -> bool:
    """Whether the environment was built to the end, with all that is wanted now."""
    ready = folder() / "ready"
    return ready.exists() and ready.read_text() == WANTED and interpreter().exists()


def build() -> None:
    """Make the environment; takes a minute and needs a package index."""
    venv.create(folder(), with_pip=True, clear=True)
    install = [str(interpreter()), "-m", "pip", "install", "--quiet"]
    for wanted in (REQUIREMENTS, ("--no-deps", *BARE_REQUIREMENTS)):
        run = subprocess.run([*install, *wanted], capture_output=True, text=True)
        if run.returncode:
            last = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise PeerError(f"The peers' environment could not be built. {last}")
    (folder() / "ready").write_text(WANTED)


def learn(method: str, X: Array, y: Rows, labelled: Rows) -> Array:
    """Components found by a method of metric-learn, shape (n_components, n_features).

    Raises PeerError with the method's own error where it fails.
    """
    with tempfile.TemporaryDirectory(prefix="likewise-peer-") as name:
        task, result = Path(name) / "task.npz", Path(name) / "result.npz"
        np.savez(task, X=X, y=y, labelled=labelled)
        _run([str(interpreter()), str(SCRIPT), method, str(task), str(result)])
        with np.load(result) as stored:
            if "error" in stored:
                raise PeerError(str(stored["error"]))
            return np.asarray(stored["components"], dtype=float)


def _run(command: list[str]) -> None:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={**os.environ, **threads},
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"no result after {TIMEOUT} seconds") from error
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise PeerError(f"exit code {run.returncode}: {last}")


def main() -> None:
    """Build the environment, unless it is there: what `make peers` runs."""
    if is_ready():
        print(f"The peers' environment is ready: {folder()}")
        return
    try:
        build()
    except (PeerError, OSError) as error:
        sys.exit(f"likewise: {error}")
    print(f"Built the peers' environment: {folder()}")


if __name__ == "__main__":
    main()
