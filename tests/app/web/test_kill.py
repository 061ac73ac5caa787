"""Nothing lost: the server is killed at any moment, and every answer is there."""

import multiprocessing
import sqlite3
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.app.conftest import make_project, word_for

N_KILLS = 100  # in each of two runs
PEOPLE = ["ada", "bo"]


def serve_in_child(path, sender):
    """Serve the page; the addresses go through the pipe."""
    from likewise.app.web.server import serve

    serve(Path(path), host="127.0.0.1", port=0, annotators=PEOPLE, announce=sender.send)


class Browser(threading.Thread):
    """Answers as fast as it can, and remembers what was acknowledged."""

    def __init__(self, address, name):
        super().__init__()
        self.address = address
        self.name = name
        self.acknowledged = []  # question and word
        self.shown = None  # the question that must be shown again
        self.sent = None  # what was sent and not acknowledged
        self.first = None
        self.is_over = False

    def run(self):
        base = self.address.split("/?")[0]
        try:
            given = {
                "base_url": base,
                "headers": {"origin": base.rpartition("/")[0]},
                "timeout": 300,
            }
            with httpx.Client(**given) as client:
                client.get(self.address)
                self.first = client.get("/api/question").json()["question"]
                self.shown = self.first
                while self.shown is not None and not self.is_over:
                    self.answer(client)
        except httpx.TransportError:
            pass  # the server was killed

    def answer(self, client):
        question = self.shown
        word = word_for(question["left"]["name"], question["right"]["name"])
        self.sent = (question["id"], word)
        reply = client.post(
            "/api/answers", json={"question": question["id"], "answer": word}
        )
        assert reply.status_code == 201, reply.text
        self.acknowledged.append(self.sent)
        self.shown = reply.json()["question"]
        self.sent = None


def wait_for(holds):
    """Wait until something holds; a machine may be slow, but not for ever."""
    deadline = time.monotonic() + 300
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.002)


def has_begun(browser):
    """Whether a question was shown, or none will be: all pairs may be known."""
    return browser.first or not browser.is_alive()


def has_answered(browser):
    """Whether an answer was acknowledged, or none will be."""
    return browser.acknowledged or not browser.is_alive()


def stored(path):
    """What the file holds, read without any of our code."""
    database = sqlite3.connect(path)
    rows = database.execute("SELECT question, label FROM answers").fetchall()
    check = database.execute("PRAGMA integrity_check").fetchone()[0]
    database.close()
    assert check == "ok"
    words = {1: "same", -1: "different"}
    return [(question, words[label]) for question, label in rows]


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", [0, 1000])
def test_killed_at_any_moment_every_acknowledged_answer_is_there(tmp_path, first_seed):
    """After each of 200 kills: all answers there, none twice, the same question."""
    rng = np.random.RandomState(first_seed)
    context = multiprocessing.get_context("forkserver")
    # Everything is imported once: a child is ready within milliseconds.
    context.set_forkserver_preload([__name__, "likewise.app.web.server", "uvicorn"])
    n_acknowledged = 0
    for kill in range(N_KILLS):
        if kill % 20 == 0:  # a fresh file now and then: pairs run out
            path = make_project(tmp_path / f"{kill}.likewise", seed=first_seed + kill)
            acknowledged = []
            open_before = dict.fromkeys(PEOPLE)
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=serve_in_child, args=(str(path), sender))
        process.start()
        browsers = [
            Browser(address, name)
            for address, name in zip(receiver.recv(), PEOPLE, strict=True)
        ]
        for browser in browsers:
            browser.start()
        if kill % 4:  # let the answers begin; else any moment from the very start
            wait_for(lambda browsers=browsers: all(map(has_begun, browsers)))
        if kill % 4 == 3:  # one answer at least, however slow the machine
            wait_for(lambda browsers=browsers: any(map(has_answered, browsers)))
        time.sleep(rng.uniform(0.0, 0.3))
        process.kill()
        process.join()
        for browser in browsers:
            browser.is_over = True
            browser.join()
        receiver.close()
        sender.close()

        in_file = stored(path)
        for browser in browsers:
            acknowledged += browser.acknowledged
            n_acknowledged += len(browser.acknowledged)
            before = open_before[browser.name]
            if before is not None and browser.first is not None:
                shown, sent = before
                # What was sent may have been stored before the kill.
                if sent is None or sent not in in_file:
                    assert browser.first == shown
            if browser.first is not None:
                open_before[browser.name] = (browser.shown, browser.sent)
        assert set(acknowledged) <= set(in_file)
        assert len({question for question, _ in in_file}) == len(in_file)

    assert n_acknowledged > 20  # the kills hit a server at work
