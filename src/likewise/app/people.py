"""Who answered: how much, how fast, and how far they agree."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from likewise.app.project import Project
from likewise.app.records import Answer


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


def people(project: Project) -> list[Person]:
    """Every annotator, by number of answers."""
    answers: dict[str, list[Answer]] = defaultdict(list)
    for answer in project.current_answers():
        answers[answer.annotator].append(answer)
    said = {
        name: {answer.pair: answer.label for answer in given if answer.label}
        for name, given in answers.items()
    }
    found = [_person(project, name, answers[name], said) for name in answers]
    return sorted(found, key=lambda person: (-person.n_answers, person.name))


def _person(
    project: Project,
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
        _metric_agreement(project, said[name]),
    )


def _metric_agreement(
    project: Project, said: dict[tuple[int, int], int]
) -> float | None:
    """The share of answers that the metric, with all it knows, would give too."""
    if not said:
        return None
    pairs = np.array(list(said))
    rows, places = np.unique(pairs, return_inverse=True)
    metric = project.learner().metric_
    predicted = metric.predict_pairs(project.X[rows], places.reshape(pairs.shape))
    return float(np.mean(predicted == np.array(list(said.values()))))


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
