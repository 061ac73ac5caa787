"""What people give the tool: labels, names, seconds, a task; each checked once."""

import unicodedata

from likewise import InputError

LABELS = {"same": 1, "different": -1, "unsure": 0}
WORDS = {label: word for word, label in LABELS.items()}
MAX_NAME = 60
MAX_SECONDS = 86_400  # a day: who takes longer was not looking
# What questions may be for, and how they are chosen then.
PURPOSES = {"groups": "groups", "metric": "entropy"}
# Characters of the question put to people, and of what explains it.
MAX_QUESTION, MAX_INSTRUCTIONS = 200, 5000


def check_label(label: int) -> int:
    """Return the label of an answer, or say what it must be."""
    if label not in WORDS:
        raise InputError(
            f"An answer must be +1 (same), -1 (different) or 0 (unsure). Got {label!r}."
        )
    return label


def check_annotator(name: str) -> str:
    """Return an annotator's name without outer space, or say what it must be."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise InputError(
            f"An annotator's name must have 1 to {MAX_NAME} printable characters. "
            f"Got {name!r:.80}."
        )
    return name


def folded_name(name: str) -> str:
    """What two names have in common that a person would take for one."""
    return unicodedata.normalize("NFKC", name).casefold()


def check_task(question: str, instructions: str) -> dict[str, str]:
    """Return a question and instructions as settings, or say what they must be."""
    question = " ".join(question.split())
    instructions = instructions.replace("\r\n", "\n").strip()
    for words, name, most in (
        (question, "question", MAX_QUESTION),
        (instructions, "text of instructions", MAX_INSTRUCTIONS),
    ):
        if len(words) > most:
            raise InputError(
                f"The {name} must have at most {most} characters. Got {len(words)}."
            )
    return {"question": question, "instructions": instructions}


def check_seconds(seconds: float | None) -> float | None:
    """Return how long an answer took, or say what it must be."""
    if seconds is not None and not 0 <= seconds < MAX_SECONDS:
        raise InputError(
            f"The seconds of an answer must be a number from 0 to {MAX_SECONDS:,}. "
            f"Got {seconds}."
        )
    return seconds


def known_seconds(seconds: float | None) -> float | None:
    """How long an answer took, to the millisecond; nonsense becomes unknown."""
    if seconds is None or not 0 <= seconds < MAX_SECONDS:
        return None
    return round(float(seconds), 3)
