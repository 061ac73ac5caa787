"""How often each annotator's answers turn out wrong, from answers that disagree."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

# A rate is held near zero until the answers are more than so many: a single slip in
# the first five answers is no habit.
FIRM_AFTER = 20
MAX_RATE = 0.4


class Answer(NamedTuple):
    """What was said of a pair, when, and by whom."""

    i: int
    j: int
    label: int  # +1 same, -1 different, 0 unsure
    tell: int
    annotator: str | None


def flip_rates(
    answers: Iterable[Answer], cycles: Iterable[list[tuple[int, int, int]]]
) -> dict[str | None, float]:
    """Estimate for each annotator the share of answers that are flipped.

    Of two different answers to one pair one is wrong, so each counts as half a flip.
    Of a cycle of answers that disagree at least one is wrong, so each counts as a share
    of a flip.
    """
    n_answers: dict[str | None, int] = defaultdict(int)
    n_flips: dict[str | None, float] = defaultdict(float)
    last: dict[tuple[int, int], Answer] = {}
    for answer in answers:
        if answer.label == 0:
            continue
        n_answers[answer.annotator] += 1
        earlier = last.get((answer.i, answer.j))
        if earlier is not None and earlier.label != answer.label:
            n_flips[answer.annotator] += 0.5
            n_flips[earlier.annotator] += 0.5
        last[answer.i, answer.j] = answer
    for cycle in cycles:
        for i, j, _ in cycle:
            n_flips[last[i, j].annotator] += 1 / len(cycle)
    return {
        who: min(n_flips[who] / (n_given + FIRM_AFTER), MAX_RATE)
        for who, n_given in n_answers.items()
    }
