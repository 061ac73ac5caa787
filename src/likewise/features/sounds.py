"""A wav file as numbers: how loud each band of its spectrogram is, and how it moves."""

import io
import struct
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.features.embedding import Embedding

Array = NDArray[np.float64]

N_BANDS = 24
# Larger recordings would make the project file and the page slow.
MAX_BYTES = 20 * 2**20
# What scipy's reader raises on broken files.
_PARSER_ERRORS = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    EOFError,
    OSError,
    UnboundLocalError,
    ZeroDivisionError,
    OverflowError,
    struct.error,
)


def read_sound(data: bytes) -> Array:
    """Describe the bytes of a wav file, shape (3 * N_BANDS + 1,)."""
    from scipy.io import wavfile

    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES // 2**20} MB; cut it into parts")
    try:
        with warnings.catch_warnings():
            # Chunks that are not sound, such as titles, are of no concern.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, samples = wavfile.read(io.BytesIO(data))
    except _PARSER_ERRORS as error:
        raise InputError(f"not a wav file, or damaged: {error}") from error
    if len(samples) == 0 or rate <= 0:
        raise InputError("holds no sound")
    return spectrogram_summary(_mono(samples), rate)


def spectrogram_summary(samples: Array, rate: int) -> Array:
    """Mean, deviation and change over time of each band in decibels, and the length."""
    from scipy.signal import stft

    width = min(1024, len(samples))
    frequencies, _, spectrum = stft(samples, rate, nperseg=width, noverlap=width // 2)
    edges = np.geomspace(50, max(rate / 2, 100), N_BANDS + 1)
    band = np.digitize(frequencies, edges[1:-1])  # (n_frequencies,)
    power = np.stack(
        [(np.abs(spectrum[band == k]) ** 2).sum(axis=0) for k in range(N_BANDS)]
    )  # (N_BANDS, n_times)
    loudness = 10 * np.log10(power + 1e-10)
    change = (
        np.abs(np.diff(loudness, axis=1)) if loudness.shape[1] > 1 else loudness * 0
    )
    return np.concatenate(
        [
            loudness.mean(axis=1),
            loudness.std(axis=1),
            change.mean(axis=1),
            [np.log(len(samples) / rate)],
        ]
    )


def _mono(samples: NDArray[Any]) -> Array:
    """One channel of numbers between -1 and 1, whatever the sample format."""
    scale, middle = 1.0, 0.0
    if samples.dtype == np.uint8:
        scale, middle = 127.0, 128.0  # eight bits have silence in their middle
    elif np.issubdtype(samples.dtype, np.integer):
        scale = float(np.iinfo(samples.dtype).max)
    signal = (samples.astype(float) - middle) / scale
    signal = np.nan_to_num(signal, nan=0.0, posinf=1.0, neginf=-1.0)
    return signal.mean(axis=1) if signal.ndim == 2 else signal


def builtin() -> Embedding:
    """The summary of a wav file's spectrogram; each of its numbers counts by itself."""
    return Embedding(
        "builtin",
        f"spectrogram {N_BANDS}",
        "mean of the channels",
        np.stack,
        read_sound,
        is_direction=False,
    )
