"""What a project shows of itself: progress, map, neighbours, people, contradictions.

Reads the project and computes; never asks and never writes, but for the curve.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import LikewiseError
from likewise.app.duplicates import LikelyPair, likely_pairs
from likewise.app.grouping import Grouping
from likewise.app.maps import neighbourhoods, turned_like
from likewise.app.people import Person, people
from likewise.app.project import Project
from likewise.app.records import Answer, Estimate

Array = NDArray[np.float64]

# Groups that the map names: more colours could not be told apart.
N_LEGEND = 12
# Items near another, beyond those shown, among which the likeliest are looked for: what
# was learned of items themselves can bring one nearer than its features.
N_NEAR = 100
# Seconds after an answer at which the curve is drawn.
CURVE_DELAY = 0.3
# Pause after an estimate, in times of what it took: where answers come without pause,
# those who wait for questions have most of the cores.
REST = 3.0


@dataclass(frozen=True)
class Figure:
    """An expected share, with the interval that should hold it 9 times in 10."""

    words: str  # what has this share
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Progress:
    """Counts of answers, and how well it is thought to go."""

    n_answers: int
    n_same: int
    n_different: int
    n_unsure: int
    n_saved: int
    n_contradictions: int
    purpose: str  # what is asked for: "groups" or "metric"
    figures: list[Figure]  # the most important first; none before the first estimate
    stop: bool
    words: str
    looks_random: Sequence[str]  # whose answers nothing is learned from
    unseen: Sequence[str]  # whose answers bear each other out, but features do not show
    checked: str = ""  # what became of pairs drawn at random, in words


class _Judged(NamedTuple):
    """What the answers are worth: the last fields of Progress."""

    looks_random: Sequence[str] = ()
    unseen: Sequence[str] = ()
    checked: str = ""


@dataclass(frozen=True)
class Neighbour:
    """An item near another one."""

    number: int
    name: str
    p_same: float


@dataclass(frozen=True)
class Legend:
    """A group on the map."""

    number: int
    title: str
    size: int
    confidence: float


class Insight:
    """Looks at a project; keeps what is dear to compute until the next answer."""

    def __init__(self, project: Project, *, is_live: bool = False) -> None:
        self.project = project
        self.grouping = Grouping(project)
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
        verdict, judged = self._verdict()
        words = (
            "The first estimate is on its way." if verdict is None else _say(verdict)
        )
        return Progress(
            len(labels),
            labels.count(1),
            labels.count(-1),
            labels.count(0),
            self.project.answers_saved(),
            len(self.contradictions()),
            self.project.purpose,
            [] if verdict is None else _figures(verdict),
            verdict is not None and verdict.stop and not judged.looks_random,
            words,
            *judged,
        )

    def curve(self) -> list[Estimate]:
        """The first figure after so many answers, oldest first."""
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
        record = learner.record()
        judged = _Judged(
            [str(who) for who in record.random_annotators()],
            [str(who) for who in record.unseen_annotators()],
            str(record.checked) if record.checked.n_pairs else "",
        )
        with self._lock:
            self._kept["verdict"] = (state, (verdict, judged))
        if self.project.state == state and not self.project.is_read_only:
            self.project.add_estimate(estimate)
        return estimate

    def _verdict(self) -> tuple[Any, _Judged]:
        """The latest verdict, or None, and what the answers are worth."""
        if self._thread is None:
            self.estimate()
        with self._lock:
            kept = self._kept.get("verdict")
        return (None, _Judged()) if kept is None else kept[1]

    def _follow(self) -> None:
        """Draw the curve in the background, always for the latest answers."""
        took = 0.0
        while True:
            self._wish.wait()
            # The next question comes first.
            if self._closing.wait(max(CURVE_DELAY, REST * took)):
                return
            with self.project.background:
                self._wish.clear()
                if self._closing.is_set():  # while others computed: that wish is gone
                    return
                start = time.monotonic()
                try:
                    self.estimate()
                except LikewiseError:
                    continue  # the last estimate stays; the next answer tries again
                finally:
                    took = time.monotonic() - start

    # The map and the neighbours

    def map(self) -> dict[str, Any]:
        """Every item in the plane, before and after learning, and its group."""
        learner, state = self._copy()
        found = self.grouping.found()
        before = self._keep("before", None, lambda: self._place(self._unlearned()))
        after = self._keep(
            "map",
            state,
            lambda: turned_like(self._place(self._learned(learner), before), before),
        )
        return {
            "version": self.project.version,
            "before": np.round(before, 4).tolist(),
            "after": np.round(after, 4).tolist(),
            "groups": found.labels.tolist(),
            "legend": [
                Legend(group.number, group.title, group.size, group.confidence)
                for group in found.groups[:N_LEGEND]
            ],
            "names": self.project.names,
        }

    def neighbours(
        self, number: int, n_neighbours: int = 8
    ) -> dict[str, list[Neighbour]]:
        """The items likeliest to be the same as one, as believed before and now."""
        self.project.item(number)
        learner, state = self._copy()
        untaught = self.project.untaught()
        after = self._keep("learned", state, lambda: self._learned(learner))
        before = self._keep("untaught", None, lambda: self._learned(untaught))
        return {
            "before": self._likeliest(untaught, before, number, n_neighbours),
            "after": self._likeliest(learner, after, number, n_neighbours),
        }

    def _likeliest(
        self, learner: Any, Z: Array, number: int, n_neighbours: int
    ) -> list[Neighbour]:
        """Of the items nearest to one, those of highest P(same), in this order."""
        squared = ((Z - Z[number]) ** 2).sum(axis=1)
        squared[number] = np.inf
        nearest = np.argsort(squared, kind="stable")
        nearest = nearest[: min(N_NEAR + n_neighbours, len(Z) - 1)]  # itself is last
        pairs = np.column_stack([np.full(len(nearest), number), nearest])
        p_same = learner.pair_probability(pairs) if len(pairs) else np.empty(0)
        order = np.argsort(-p_same, kind="stable")[:n_neighbours]
        return [
            Neighbour(int(k), self.project.names[k], float(p))
            for k, p in zip(nearest[order], p_same[order], strict=True)
        ]

    def likely_pairs(self) -> list[LikelyPair]:
        """Pairs that are probably the same, the likeliest first."""
        learner, state = self._copy()
        found: list[LikelyPair] = self._keep(
            "likely", state, lambda: likely_pairs(self.project, learner)
        )
        return found

    def _place(self, Z: Array, start: Array | None = None) -> Array:
        rng = np.random.RandomState(self.project.settings["seed"])
        return neighbourhoods(Z, start, rng)

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
        return people(self.project)


def _ordered(i: int, j: int) -> tuple[int, int]:
    return (int(i), int(j)) if i < j else (int(j), int(i))


def _say(verdict: Any) -> str:
    """A verdict in words, the figures aside."""
    start = "You can stop" if verdict.stop else "Go on"
    return f"{start}: {verdict.reason}"


def _figures(verdict: Any) -> list[Figure]:
    """The figures of a verdict, with what each is a share of."""
    known = {
        "sorted_right": "of items are in their right group",
        "neighbours": "of items lie next to one that is the same",
        "precision": "of pairs called same are the same",
        "recall": "of pairs that are the same are found",
    }
    return [
        Figure(words, *getattr(verdict, name))
        for name, words in known.items()
        if hasattr(verdict, name)
    ]
