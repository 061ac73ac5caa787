"""Small projects on disk, and servers that run for one test."""

import json
import os
import shutil
import subprocess
import sys

import httpx
import numpy as np
import pytest
from PIL import Image

from likewise.app.inputs import PURPOSES
from likewise.app.project import Project
from likewise.app.writer import Writer

CLASSES = np.arange(40) % 4


def class_of(name):
    """The class that a test item of this name belongs to."""
    return CLASSES[int(name.split()[1])]


def word_for(left, right):
    """What a person who knows the classes says."""
    return "same" if class_of(left) == class_of(right) else "different"


def make_project(path, seed=1, names=None, acquisition=PURPOSES["groups"]):
    """A project of 40 items in four classes that two of six features tell apart;
    the other four are louder."""
    rng = np.random.RandomState(7)
    X = rng.normal(size=(40, 6)) * [1, 1, 4, 4, 4, 4]
    X[:, 0] += 5 * (CLASSES % 2)
    X[:, 1] += 5 * (CLASSES // 2)
    with Writer(path) as writer:
        for number in range(40):
            name = f"item {number}" if names is None else names[number]
            writer.add(name, text=f"text of {name}")
        writer.finish(
            X,
            {
                "kind": "text",
                "seed": seed,
                "acquisition": acquisition,
                "likewise": "0",
                "created": "2026-01-01T00:00:00.000+00:00",
            },
        )
    return path


def make_tiny(path):
    """A project of three items."""
    with Writer(path) as writer:
        for name in "abc":
            writer.add(name)
        writer.finish(np.eye(3), {"kind": "text", "seed": 1, "acquisition": "groups"})
    return path


@pytest.fixture
def path(tmp_path):
    """The file of a small project."""
    return make_project(tmp_path / "small.likewise")


@pytest.fixture
def project(path):
    """A small project, open."""
    with Project.open(path) as opened:
        yield opened


@pytest.fixture(scope="session")
def picture_folder(tmp_path_factory):
    """Thirty pictures in three folders of one colour each, and three broken files."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.RandomState(3)
    colours = {"red": (200, 40, 40), "green": (40, 180, 60), "blue": (40, 60, 200)}
    for name, colour in colours.items():
        (folder / name).mkdir()
        for number in range(10):
            noise = rng.randint(-40, 40, size=(60, 80, 3))
            pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    (folder / "red" / "broken.jpg").write_bytes(b"this is no picture")
    whole = (folder / "red" / "0.png").read_bytes()
    (folder / "red" / "cut.png").write_bytes(whole[:900])
    (folder / "red" / "copy.png").write_bytes(whole)
    return folder


class Server:
    """A labelling page in a process of its own, with a client that was let in."""

    def __init__(self, path, *arguments, prefix=(), name=None):
        self.process = subprocess.Popen(
            [
                *prefix,
                *(sys.executable, "-m", "likewise", "label", str(path)),
                *("--no-browser", "--json", "--port", "0", *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.stop()[1])
        told = json.loads(line)
        if not told["ok"]:
            self.stop()
            raise RuntimeError(told["error"])
        self.addresses = told["addresses"]
        self.base = next(iter(self.addresses.values())).split("/?")[0]
        self.origin = self.base.rpartition("/")[0]  # without the secret path
        # A name that browsers find and this system may not is reached by its address.
        self.reached = self.origin.replace(name, "127.0.0.1") if name else self.origin
        self.clients = []
        self.client = self.enter(next(iter(self.addresses.values())))

    def enter(self, address):
        """Open an address as a browser would; gives a client with the cookie."""
        client = httpx.Client(
            base_url=self.base.replace(self.origin, self.reached),
            headers={"origin": self.reached},
            timeout=300,
        )
        self.clients.append(client)
        reply = client.get(address.replace(self.origin, self.reached))
        assert reply.status_code == 200, reply.text
        return client

    def stop(self):
        """End the server; gives its exit code and what it said on stderr."""
        for client in getattr(self, "clients", []):
            client.close()
        self.process.terminate()
        _, errors = self.process.communicate(timeout=300)
        return self.process.returncode, errors


@pytest.fixture
def serve():
    """Start servers; they end with the test."""
    servers = []

    def start(path, *arguments, **options):
        servers.append(Server(path, *arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """One server for tests that only read, or whose answers disturb no other."""
    path = make_project(tmp_path_factory.mktemp("served") / "small.likewise")
    server = Server(path)
    yield server
    server.stop()


@pytest.fixture
def copy_of(tmp_path):
    """Copy a project file, without what belongs to an open one."""

    def copy(path, name="copy.likewise"):
        return shutil.copy(path, tmp_path / name)

    return copy
