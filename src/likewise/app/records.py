"""What a project file holds, as plain values; and two ways to ask for it wrongly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from likewise import InputError, StoreError


class NotThereError(InputError):
    """What was named is not in the project."""


class ClosedError(StoreError):
    """The question is not open to this answer."""


@dataclass(frozen=True)
class Item:
    """One thing that can be the same as another."""

    number: int
    name: str
    text: str | None = None
    fields: dict[str, str] | None = None


@dataclass(frozen=True)
class Medium:
    """A picture, thumbnail or sound of an item, as bytes."""

    role: str
    mime: str
    data: bytes


@dataclass(frozen=True)
class NewItem:
    """An item that is to be added, and what is shown of it."""

    name: str
    text: str | None = None
    fields: dict[str, str] | None = None
    media: Sequence[Medium] = ()
    digest: str | None = None  # sha256 of the file that it was made of


@dataclass(frozen=True)
class Question:
    """A pair shown to someone, as it was shown."""

    id: int
    left: int
    right: int
    annotator: str
    asked: str
    model_version: int
    p_same: float | None
    state: str

    @property
    def pair(self) -> tuple[int, int]:
        """The two items, lower number first."""
        return min(self.left, self.right), max(self.left, self.right)


@dataclass(frozen=True)
class Answer:
    """What someone said about a pair: +1 same, -1 different, 0 unsure."""

    id: int
    batch: int
    question: int | None
    left: int
    right: int
    label: int
    annotator: str
    answered: str
    seconds: float | None
    model_version: int
    source: str
    replaces: int | None  # the answer that this one changes
    undone: bool = False

    @property
    def pair(self) -> tuple[int, int]:
        """The two items, lower number first."""
        return min(self.left, self.right), max(self.left, self.right)

    @property
    def is_correction(self) -> bool:
        """Whether it was told in the place of another one, without a question."""
        return self.replaces is not None


@dataclass(frozen=True)
class GroupName:
    """A name that someone gave a group, and the items that were in it then."""

    id: int
    name: str
    items: list[int]


@dataclass(frozen=True)
class Estimate:
    """How well it was thought to go after so many answers: the first figure."""

    n_answers: int
    last_answer: int
    value: float  # items sorted right, or next to one that is the same
    low: float
    high: float
    saved: int


def describe_features(settings: dict[str, Any]) -> str:
    """What made the vectors of a project and what the model is given, in a line."""
    kept = settings.get("features")
    if kept is None:
        return f"{settings['n_features']} numbers, as they were given"
    start = f"{kept['name']}: {kept['n_numbers']:,} numbers"
    if not kept["is_direction"]:
        return f"{start}, scaled ({kept['preparation']})"
    told = (
        f"{start} of length 1, {kept['n_components']} principal components with "
        f"{kept['share']:.0%} of the variance"
    )
    is_prepared = kept["preparation"] != "none"  # vectors that came ready are not
    return f"{told} ({kept['preparation']})" if is_prepared else told
