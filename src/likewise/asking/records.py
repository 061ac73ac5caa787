"""What was predicted before it was answered, and what came true."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from likewise.model.calibration import Calibration, Level, learn_calibration

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Answers of a person from which on they may be said not to be predicted.
ENOUGH_ANSWERS = 40
# Answers of their rarer word from which on: who nearly always says "different", as of
# a table with few duplicates, is told by that share as well as anybody can be.
ENOUGH_OF_EACH = 5
# Answers asked at random are few. Their evidence cannot tell a deviation of the slope's
# logarithm of .25 from .75, and the smaller one follows chance less (docs/math.md).
RANDOM_SLOPE_DEVIATION = 0.25
# Nats that a correction gains by chance, having one number more than a bare share.
BY_CHANCE = 1.0


class Checked(NamedTuple):
    """What became of pairs drawn at random."""

    n_pairs: int
    n_right: int  # whose answer was the likelier one by the belief before it
    n_same: int

    def __str__(self) -> str:
        n_different = self.n_pairs - self.n_same
        return (
            f"Of {self.n_pairs} pairs drawn at random {self.n_right} came out as was "
            f"thought before the answer; {self.n_same} are the same, {n_different} "
            "different."
        )


@dataclass(frozen=True)
class Record:
    """Predictions made before the answers, and the answers, "unsure" aside."""

    pairs: Pairs  # (n_answers, 2)
    said: Array  # (n_answers,): P(same) by the answers before
    labels: NDArray[np.int8]  # (n_answers,): +1 or -1
    annotators: list[str | None]
    # (n_answers,): whether it was asked at random, and not for what was believed.
    is_random: NDArray[np.bool_]
    # Whose answers bear each other out, as those of a coin would hardly do.
    steady: frozenset[str | None] = frozenset()

    def __len__(self) -> int:
        return len(self.said)

    def random_annotators(self) -> list[str | None]:
        """Whose answers look random: not predicted, and not borne out by others."""
        return [who for who in unpredicted(self) if who not in self.steady]

    def unseen_annotators(self) -> list[str | None]:
        """Whose answers mean what features do not show: borne out, not predicted."""
        return [who for who in unpredicted(self) if who in self.steady]

    @property
    def is_same(self) -> Array:
        """1 for answers "same", 0 for "different"."""
        return (self.labels > 0).astype(float)

    @property
    def checked(self) -> Checked:
        """How the questions asked at random came out."""
        said, is_same = self.said[self.is_random], self.is_same[self.is_random]
        n_right = int(np.sum((said >= 0.5) == is_same))
        return Checked(len(said), n_right, int(is_same.sum()))

    def calibration(self) -> Calibration:
        """What the answers make of the predictions, of pairs like those asked."""
        return learn_calibration(self.said, self.is_same)

    def random_calibration(self, level: Level | None = None) -> Calibration:
        """What the answers asked at random make of the predictions, of any pair.

        With `level`, also how common "same" is beside how common it is believed to be.
        """
        said, is_same = self.said[self.is_random], self.is_same[self.is_random]
        return learn_calibration(said, is_same, RANDOM_SLOPE_DEVIATION, level)


def unpredicted(record: Record) -> list[str | None]:
    """Whose answers are predicted no better than by how often they say "same".

    Either they are random, or the items' features do not show what they mean.
    """
    is_same = record.is_same
    corrected = record.calibration().correct(record.said)
    found = []
    for who in dict.fromkeys(record.annotators):
        theirs = np.array([each == who for each in record.annotators])
        share = (is_same[theirs].sum() + 1) / (theirs.sum() + 2)
        gain = _log_likelihood(is_same[theirs], corrected[theirs]) - _log_likelihood(
            is_same[theirs], np.full(int(theirs.sum()), share)
        )
        n_rarer = min(is_same[theirs].sum(), (1 - is_same[theirs]).sum())
        is_enough = theirs.sum() >= ENOUGH_ANSWERS and n_rarer >= ENOUGH_OF_EACH
        if is_enough and gain <= BY_CHANCE:
            found.append(who)
    return found


def _log_likelihood(is_same: Array, p_same: Array) -> float:
    return float(np.sum(xlogy(is_same, p_same) + xlogy(1 - is_same, 1 - p_same)))
