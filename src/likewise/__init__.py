"""Learn what "same" means to a person from a few same/different answers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.errors import InferenceError, InputError, LikewiseError, StoreError

if TYPE_CHECKING:
    from likewise.active import ActiveMetric
    from likewise.estimators import BayesianMetric, load
    from likewise.model.belief import Belief
    from likewise.model.calibration import CalibrationCurve, calibration_curve
    from likewise.model.posterior import MetricPosterior
    from likewise.using.neighbours import Neighbours

__version__ = "0.1.0"  # the one place: packaging reads it here

__all__ = [
    "ActiveMetric",
    "BayesianMetric",
    "Belief",
    "CalibrationCurve",
    "InferenceError",
    "InputError",
    "LikewiseError",
    "MetricPosterior",
    "Neighbours",
    "StoreError",
    "calibration_curve",
    "load",
]

# Loaded when first used: `likewise --help` needs neither scipy nor scikit-learn.
_HOMES = {
    "ActiveMetric": "likewise.active",
    "BayesianMetric": "likewise.estimators",
    "Belief": "likewise.model.belief",
    "CalibrationCurve": "likewise.model.calibration",
    "MetricPosterior": "likewise.model.posterior",
    "Neighbours": "likewise.using.neighbours",
    "calibration_curve": "likewise.model.calibration",
    "load": "likewise.estimators",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'likewise' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
