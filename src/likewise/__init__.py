"""Learn what "same" means to a person from a few same/different answers."""

from likewise.active import ActiveMetric
from likewise.errors import InferenceError, InputError, LikewiseError, StoreError
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
