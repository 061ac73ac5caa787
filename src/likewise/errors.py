"""The exceptions of likewise.

LikewiseError
├── InputError (also ValueError)            the caller's arrays or options
├── InferenceError                          the numbers did not work out
├── MissingExtraError (also ImportError)    an optional library is not installed
└── StoreError                              the project file, or a saved metric
"""


class LikewiseError(Exception):
    """Whatever likewise has to say to the person using it."""


class InputError(LikewiseError, ValueError):
    """An array or option that the caller gave breaks a rule."""


class InferenceError(LikewiseError):
    """The numbers did not work out."""


class MissingExtraError(LikewiseError, ImportError):
    """An optional library is not installed; the message names the extra."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional library. "
            f"Install it with: pip install 'likewise[{extra}]'."
        )


class StoreError(LikewiseError):
    """A project file or a saved metric cannot be used as asked."""
