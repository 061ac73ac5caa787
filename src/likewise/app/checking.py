"""What a project file must hold, whoever made it.

A file may come from a stranger: everything read from it is of the kind that is
expected, or a sentence says what is not.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from likewise import StoreError
from likewise.app.records import Answer, Question

Rule = tuple[Callable[[Any], bool], str]

KINDS = ("picture", "sound", "text", "row")
# What may be shown, by the role of a medium. Everything else is only ever saved: a
# browser would run a page or a script that a file calls a picture.
SHOWN = {
    "picture": {"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"},
    "thumbnail": {"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"},
    "sound": {"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4"},
}
ANYTHING = "application/octet-stream"


def _is_count(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_text, value)))


def _is_features(value: Any) -> bool:
    """What made the vectors: words and numbers by name, or nothing."""
    if value is None:
        return True
    words, counts = ("name", "digest", "preparation"), ("n_numbers", "n_components")
    return (
        isinstance(value, dict)
        and all(_is_text(value.get(name)) for name in words)
        and all(_is_count(value.get(name), 0, 2**31) for name in counts)
        and isinstance(value.get("is_direction"), bool)
        and type(value.get("share")) in (int, float)
    )


REQUIRED: dict[str, Rule] = {
    "kind": (lambda value: value in KINDS, f"one of {', '.join(KINDS)}"),
    "seed": (lambda v: _is_count(v, 0, 2**32 - 1), "a whole number from 0 to 2^32 - 1"),
    "acquisition": (_is_text, "a text"),
    "n_items": (lambda v: _is_count(v, 1, 2**31), "a count of items"),
    "n_features": (lambda v: _is_count(v, 1, 2**31), "a count of numbers"),
    "fingerprint": (_is_text, "a text"),
}
OPTIONAL: dict[str, Rule] = {
    **{
        name: (_is_text, "a text")
        for name in ("likewise", "created", "folder", "question", "instructions")
    },
    "feature_names": (_is_list_of_texts, "a list of texts"),
    "features": (_is_features, "what made the vectors"),
}


def check_settings(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a project, or say which one is not as it must be."""
    missing = REQUIRED.keys() - settings.keys()
    if missing:
        raise StoreError(_wrong(path, f"the setting '{min(missing)}' is missing"))
    for name, (holds, words) in {**REQUIRED, **OPTIONAL}.items():
        if name in settings and not holds(settings[name]):
            found = f"{settings[name]!r:.60}"
            raise StoreError(
                _wrong(path, f"the setting '{name}' must be {words}. Got {found}")
            )
    return {"likewise": "", "created": "", **settings}


def check_fields(path: Path, number: int, fields: Any) -> dict[str, str]:
    """Return the cells of an item, each as text."""
    if not isinstance(fields, dict):
        raise StoreError(_wrong(path, f"the fields of item {number} are no table row"))
    return {
        name: value if _is_text(value) else str(value) for name, value in fields.items()
    }


def check_names(path: Path, names: list[Any], n_items: int) -> list[str]:
    """Return the names of all items: as many as there are vectors, all of them text."""
    if len(names) != n_items or not all(map(_is_text, names)):
        raise StoreError(
            _wrong(path, f"there must be a name for each of {n_items} items")
        )
    return names


def check_question(path: Path, question: Question, n_items: int) -> Question:
    """Return a question about two items that are there."""
    p_same = question.p_same
    if not (
        _is_pair(question.left, question.right, n_items)
        and all(map(_is_text, (question.annotator, question.asked, question.state)))
        and _is_count(question.model_version, 0, 2**53)
        and (p_same is None or isinstance(p_same, float))
    ):
        raise StoreError(_wrong(path, f"question {question.id!r:.20} is none"))
    return question


def check_answer(path: Path, answer: Answer, n_items: int) -> Answer:
    """Return an answer about two items that are there."""
    seconds = answer.seconds
    if not (
        _is_pair(answer.left, answer.right, n_items)
        and answer.label in (-1, 0, 1)
        and all(map(_is_text, (answer.annotator, answer.answered, answer.source)))
        and (seconds is None or isinstance(seconds, float))
    ):
        raise StoreError(_wrong(path, f"answer {answer.id!r:.20} is none"))
    return answer


def medium_type(role: str, given: Any) -> tuple[str, bool]:
    """The type that a medium is sent with, and whether it may be shown."""
    is_shown = _is_text(given) and given in SHOWN.get(role, ())
    return (given, True) if is_shown else (ANYTHING, False)


def _is_pair(left: Any, right: Any, n_items: int) -> bool:
    return (
        _is_count(left, 0, n_items - 1)
        and _is_count(right, 0, n_items - 1)
        and left != right
    )


def _wrong(path: Path, detail: str) -> str:
    return f"{path} is not as a project must be: {detail}."
