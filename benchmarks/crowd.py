"""How long each of many people waits: 20 clients answer without pause.

A real server, clients of its interface, and a person who looks at the page meanwhile.

Usage: python benchmarks/crowd.py
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
from page import make

N_ITEMS, N_CLIENTS, SECONDS = 500, 20, 15.0


def enter(address):
    """A client that was let in."""
    base = address.split("/?")[0]
    origin = {"origin": base.rpartition("/")[0]}
    client = httpx.Client(base_url=base, headers=origin, timeout=300)
    client.get(address)
    return client


def answer_all_the_time(client, classes, end, waits):
    """From each answer to the question that follows it."""
    question = client.get("/api/question").json()["question"]
    while question is not None and time.monotonic() < end:
        i, j = question["left"]["number"], question["right"]["number"]
        word = "same" if classes[i] == classes[j] else "different"
        start = time.perf_counter()
        body = {"question": question["id"], "answer": word}
        question = client.post("/api/answers", json=body).json()["question"]
        waits.append(time.perf_counter() - start)


def measure(path, classes):
    """Waits of the clients, and of a plain look at the page."""
    command = [sys.executable, "-m", "likewise", "label", str(path)]
    server = subprocess.Popen(
        [*command, "--no-browser", "--json", "--port", "0"], stdout=subprocess.PIPE
    )
    owner = enter(json.loads(server.stdout.readline())["addresses"]["me"])
    invited = [owner.post("/api/invitations").json()["url"] for _ in range(N_CLIENTS)]
    waits, looks, end = [], [], time.monotonic() + SECONDS
    threads = [
        threading.Thread(
            target=answer_all_the_time, args=(enter(url), classes, end, waits)
        )
        for url in invited
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        start = time.perf_counter()
        owner.get("/")
        looks.append(time.perf_counter() - start)
        time.sleep(0.5)
    server.terminate()
    server.wait()
    return waits, looks


def main():
    for acquisition in ("groups", "entropy"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "crowd.likewise"
            waits, looks = measure(path, make(path, N_ITEMS, acquisition))
        print(
            f"{acquisition}: {N_CLIENTS} clients, {len(waits) / SECONDS:.1f} answers a "
            f"second; the next question after {np.median(waits):.2f} s, 19 in 20 within"
            f" {np.quantile(waits, 0.95):.2f} s, all within {max(waits):.2f} s; the "
            f"page after {np.median(looks):.2f} s, at most {max(looks):.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
