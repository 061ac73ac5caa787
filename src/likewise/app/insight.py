"""What a project shows of itself: progress, map, neighbours, people, contradictions.

Reads the project and computes; never asks and never writes, but for the curve.
"""

import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from likewise import LikewiseError
from likewise.app.project import Project
from likewise.app.records import Answer, Estimate

Array = NDArray[np.float64]

# Seconds after an answer at which the curve is drawn.
CURVE_DELAY = 0.3


@dataclass(frozen=True)
class Progress:
    """Counts of answers, and how well the metric is thought to do."""

    n_answers: int
    n_same: int
    n_different: int
    n_unsure: int
    n_saved: int
    n_contradictions: int
    neighbours: float | None
    low: float | None
    high: float | None
    stop: bool
    words: str


@dataclass(frozen=True)
class Person:
    """What one annotator did, and how far the others and the metric agree."""

    name: str
    n_answers: int
    n_same: int
    n_different: int
    n_unsure: int
    median_seconds: float | None
    n_shared: int
    agreement: float | None
    kappa: float | None
    metric_agreement: float | None


@dataclass(frozen=True)
class Neighbour:
    """An item near another one."""

    number: int
    name: str
    p_same: float


class Insight:
    """Looks at a project; keeps what is dear to compute until the next answer."""

    def __init__(self, project: Project, *, is_live: bool = False) -> None:
        self.project = project
        self._kept: dict[str, tuple[Any, Any]] = {}
        self._lock = threading.Lock()
        self._wish = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        if is_live:
            self._thread = threading.Thread(target=self._follow, name="curve")
            self._thread.start()
            project.on_change(self._wish.set)
            self._wish.set()

    def close(self) -> None:
        """Stop drawing the curve."""
        self._closing.set()
        self._wish.set()
        if self._thread is not None:
            self._thread.join()

    # Progress

    def progress(self) -> Progress:
        """Where the project stands, with what is known without waiting."""
        labels = [answer.label for answer in self.project.current_answers()]
        estimate, words, stop = self._verdict()
        return Progress(
            len(labels),
            labels.count(1),
            labels.count(-1),
            labels.count(0),
            self.project.answers_saved(),
            len(self.contradictions()),
            None if estimate is None else estimate.neighbours,
            None if estimate is None else estimate.low,
            None if estimate is None else estimate.high,
            stop,
            words,
        )

    def curve(self) -> list[Estimate]:
        """Neighbours that are the same after so many answers, oldest first."""
        n_answers = self.project.version
        with self.project.lock:
            points = self.project.store.estimates()
        return [point for point in points if point.n_answers <= n_answers]

    def estimate(self) -> Estimate:
        """Estimate how good the metric is now, and keep it as a point of the curve."""
        with self.project.lock:
            learner, state = self.project.learner(), self.project.state
            n_answers = self.project.version
        verdict = learner.should_stop()
        estimate = Estimate(
            n_answers,
            state[0],
            verdict.figure.value,
            verdict.figure.low,
            verdict.figure.high,
            int(learner.answers_saved()),
        )
        with self._lock:
            words = verdict.words
            self._kept["verdict"] = (state, (estimate, words, verdict.stop))
        if self.project.state == state and not self.project.is_read_only:
            self.project.add_estimate(estimate)
        return estimate

    def _verdict(self) -> tuple[Estimate | None, str, bool]:
        if self._thread is None:
            self.estimate()
        with self._lock:
            kept = self._kept.get("verdict")
        if kept is None:
            return None, "The first estimate is on its way.", False
        verdict: tuple[Estimate, str, bool] = kept[1]
        return verdict

    def _follow(self) -> None:
        """Draw the curve in the background, always for the latest answers."""
        while True:
            self._wish.wait()
            # The next question comes first.
            if self._closing.wait(CURVE_DELAY):
                return
            self._wish.clear()
            try:
                self.estimate()
            except LikewiseError:
                continue  # the last estimate stays; the next answer tries again

    # The map and the neighbours

    def map(self) -> dict[str, Any]:
        """Every item in the plane, before and after learning, and its group."""
        learner, state = self._copy()
        before = self._keep("before", None, lambda: plane(self._unlearned()))
        after = self._keep(
            "map", state, lambda: _turned_like(plane(self._learned(learner)), before)
        )
        return {
            "version": self.project.version,
            "before": np.round(before, 4).tolist(),
            "after": np.round(after, 4).tolist(),
            "groups": self.groups(),
        }

    def groups(self) -> list[int]:
        """For each item the number of the group it is known to be in, or -1.

        A group is what "same" answers tie together; the largest come first.
        """
        pairs = [a.pair for a in self.project.current_answers() if a.label == 1]
        groups = _connected(pairs, len(self.project.names))
        return groups

    def neighbours(self, number: int, n_neighbours: int = 8) -> dict[str, Any]:
        """The items nearest to one, before and after learning."""
        self.project.item(number)
        learner, state = self._copy()
        after = self._keep("learned", state, lambda: self._learned(learner))
        rows = {"before": self._unlearned(), "after": after}
        found = {}
        for when, Z in rows.items():
            squared = ((Z - Z[number]) ** 2).sum(axis=1)
            squared[number] = np.inf
            nearest = np.argsort(squared, kind="stable")
            nearest = nearest[: min(n_neighbours, len(Z) - 1)]  # itself comes last
            found[when] = [
                Neighbour(
                    int(k), self.project.names[k], self.project.p_same((number, int(k)))
                )
                for k in nearest
            ]
        return found

    def _unlearned(self) -> Array:
        return self.project.X.astype(float)

    def _learned(self, learner: Any) -> Array:
        return np.asarray(learner.metric_.transform(self.project.X))

    def _copy(self) -> tuple[Any, Any]:
        with self.project.lock:
            return self.project.learner(), self.project.state

    def _keep(self, name: str, state: Any, compute: Any) -> Any:
        """Compute once for each state of the answers."""
        with self._lock:
            kept = self._kept.get(name)
        if kept is None or kept[0] != state:
            kept = (state, compute())
            with self._lock:
                self._kept[name] = kept
        return kept[1]

    # People and contradictions

    def contradictions(self) -> list[list[Answer]]:
        """Answers that cannot all be true, one list for each clash, oldest first."""
        latest: dict[tuple[int, int], list[Answer]] = defaultdict(list)
        for answer in self.project.current_answers():
            latest[answer.pair].append(answer)
        clashes = [
            answers
            for answers in latest.values()
            if {answer.label for answer in answers} >= {1, -1}
        ]
        for cycle in self.project.contradictions():
            clashes.append([latest[_ordered(i, j)][-1] for i, j, _ in cycle])
        return clashes

    def people(self) -> list[Person]:
        """Every annotator, by number of answers."""
        answers: dict[str, list[Answer]] = defaultdict(list)
        for answer in self.project.current_answers():
            answers[answer.annotator].append(answer)
        said = {
            name: {answer.pair: answer.label for answer in given if answer.label}
            for name, given in answers.items()
        }
        people = [self._person(name, answers[name], said) for name in answers]
        return sorted(people, key=lambda person: (-person.n_answers, person.name))

    def _person(
        self,
        name: str,
        answers: list[Answer],
        said: dict[str, dict[tuple[int, int], int]],
    ) -> Person:
        labels = [answer.label for answer in answers]
        seconds = [answer.seconds for answer in answers if answer.seconds is not None]
        shared = [
            (label, said[other][pair])
            for other in said
            if other != name
            for pair, label in said[name].items()
            if pair in said[other]
        ]
        return Person(
            name,
            len(labels),
            labels.count(1),
            labels.count(-1),
            labels.count(0),
            float(np.median(seconds)) if seconds else None,
            len(shared),
            _share([mine == theirs for mine, theirs in shared]),
            cohen_kappa(shared),
            self._metric_agreement(said[name]),
        )

    def _metric_agreement(self, said: dict[tuple[int, int], int]) -> float | None:
        """The share of answers that the metric, with all it knows, would give too."""
        if not said:
            return None
        pairs = np.array(list(said))
        rows, places = np.unique(pairs, return_inverse=True)
        metric = self.project.learner().metric_
        predicted = metric.predict_pairs(
            self.project.X[rows], places.reshape(pairs.shape)
        )
        return float(np.mean(predicted == np.array(list(said.values()))))


def plane(Z: Array) -> Array:
    """The two directions along which items differ most, scaled to a square."""
    flat = np.zeros((len(Z), 2))
    size = min(2, *Z.shape)
    flat[:, :size] = PCA(
        size, svd_solver="full" if len(Z) < 50 else "auto"
    ).fit_transform(Z)
    # A few far items must not press all others into a point.
    reach = np.quantile(np.abs(flat).max(axis=1), 0.99)
    return flat / (reach if reach > 0 else 1.0)


def _turned_like(points: Array, model: Array) -> Array:
    """Turn and mirror a map to lie over another, so that learning moves it little."""
    left, _, right = np.linalg.svd(points.T @ model)
    return np.asarray(points @ (left @ right))


def cohen_kappa(shared: list[tuple[int, int]]) -> float | None:
    """Agreement beyond chance of two lists of labels; None where it is undefined."""
    if not shared:
        return None
    mine, theirs = np.array(shared).T
    observed = np.mean(mine == theirs)
    expected = sum(np.mean(mine == k) * np.mean(theirs == k) for k in (-1, 1))
    return None if expected == 1 else float((observed - expected) / (1 - expected))


def _share(hits: list[bool]) -> float | None:
    return float(np.mean(hits)) if hits else None


def _ordered(i: int, j: int) -> tuple[int, int]:
    return (int(i), int(j)) if i < j else (int(j), int(i))


def _connected(pairs: list[tuple[int, int]], n_items: int) -> list[int]:
    """Number the connected groups of two items and more, the largest first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    groups = np.full(n_items, -1)
    if not pairs:
        return groups.tolist()
    i, j = np.array(pairs).T
    links = coo_array((np.ones(len(pairs)), (i, j)), shape=(n_items, n_items))
    _, component = connected_components(links, directed=False)
    sizes = np.bincount(component)
    order = [k for k in np.argsort(-sizes, kind="stable") if sizes[k] > 1]
    for number, k in enumerate(order):
        groups[component == k] = number
    return groups.tolist()
