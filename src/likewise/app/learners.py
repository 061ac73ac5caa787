"""Learners for a project: how one is made, told what was answered, and asked."""

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import ActiveMetric, InputError, StoreError
from likewise.app.records import Answer

Pair = tuple[int, int]
Pairs = NDArray[np.intp]

# Ways to choose pairs that older files name, and what chooses in their stead.
RENAMED = {"batch": "entropy"}


def new_learner(X: NDArray[np.float32], settings: dict[str, Any]) -> ActiveMetric:
    """A learner of the project's items that was told nothing yet."""
    acquisition = settings["acquisition"]
    try:
        return ActiveMetric(
            X,
            acquisition=RENAMED.get(acquisition, acquisition),
            random_state=settings["seed"],
        )
    except InputError as error:
        raise StoreError(
            f"The vectors of the project cannot be used: {error}"
        ) from error


def batches_of(answers: list[Answer]) -> list[list[Answer]]:
    """Answers that came together, each annotator's apart: each has its own errors."""
    batches: list[list[Answer]] = []
    for _, group in groupby(answers, lambda answer: answer.batch):
        by_annotator: dict[str, list[Answer]] = {}
        for answer in group:
            by_annotator.setdefault(answer.annotator, []).append(answer)
        batches += by_annotator.values()
    return batches


def choose(
    learner: ActiveMetric, again: Pair | None, elsewhere: list[Pair], n_pairs: int
) -> list[tuple[Pair, float]]:
    """Pairs worth asking now, each with its P(same); the given one, if any."""
    if again is None:
        found = learner.ask(n_pairs, exclude=as_pairs(elsewhere))
    else:
        found = as_pairs([again])
    if len(found) == 0:
        return []
    p_same = learner.predicted(found)
    return [
        ((int(i), int(j)), float(p)) for (i, j), p in zip(found, p_same, strict=True)
    ]


def as_pairs(pairs: list[tuple[int, int]]) -> Pairs:
    """Pairs as an array of shape (n_pairs, 2), also where there is none."""
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)
