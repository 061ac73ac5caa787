"""A PostgreSQL with pgvector of our own: in a new folder, on a socket, for one test.

Debian's packages (postgresql-17-pgvector, where Debian has it) or the wheel pgserver,
which holds both.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


def find_server():
    """The folder of the programs of a PostgreSQL that has pgvector, or None."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec("pgserver")
    if wheel is not None:
        places.append(Path(wheel.submodule_search_locations[0], "pginstall", "bin"))
    for place in places:
        if (place / "initdb").exists() and has_vector(place):
            return place
    return None


def has_vector(place):
    asked = [place / "pg_config", "--sharedir"]
    shared = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    near = place.parent / "share" / "postgresql"
    return any(
        Path(folder, "extension", "vector.control").exists()
        for folder in (shared or "/nowhere", near)
    )


@contextmanager
def postgres():
    """Start a server; gives a function that runs SQL and gives rows of texts."""
    place = find_server()
    if place is None:
        pytest.skip(
            "No PostgreSQL with pgvector here. Install Debian's "
            "postgresql-17-pgvector, or pip install pgserver."
        )
    folder = Path(tempfile.mkdtemp(prefix="likewise-pg-"))
    who = {}
    if os.getuid() == 0:  # the server refuses to run as root
        who = {"user": "nobody", "group": "nogroup"}
        shutil.chown(folder, **who)
    options = {"check": True, "capture_output": True, "cwd": folder, **who}
    data, control = folder / "data", [place / "pg_ctl", "-D", folder / "data", "-w"]
    made = [place / "initdb", "-D", data, "-U", "me", "-A", "trust", "-E", "UTF8"]
    subprocess.run([*made, "--no-sync", "--locale=C"], **options)
    quiet = f"-c listen_addresses='' -k {folder} -F"
    started = [*control, "-o", quiet, "-l", folder / "log", "start"]
    try:
        # Files, not pipes: the server would keep these open.
        with open(os.devnull, "w") as null:
            options |= {"capture_output": False, "stdout": null, "stderr": null}
            subprocess.run(started, **options)
        yield lambda sql: run(place, folder, sql, who)
    finally:
        with open(os.devnull, "w") as null:
            options |= {"check": False, "stdout": null, "stderr": null}
            subprocess.run([*control, "-m", "immediate", "stop"], **options)
        shutil.rmtree(folder)


def run(place, folder, sql, who):
    asked = [place / "psql", "-h", folder, "-U", "me", "-d", "postgres", "-X", "-q"]
    asked += ["-v", "ON_ERROR_STOP=1", "-t", "-A", "-F", "\t"]
    done = subprocess.run(
        asked, input=sql, text=True, capture_output=True, cwd=folder, **who
    )
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]
