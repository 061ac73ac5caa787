"""A wav file as numbers: how loud each band of its spectrogram is, slice by slice.

Spoken letters are told apart far better by slices of time than by means over all of
it, and other sounds no worse (benchmarks/sounds.py).
"""

import io
import struct
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.features.embedding import Embedding

Array = NDArray[np.float64]

N_BANDS = 20
N_SLICES = 6  # 4 to 8 measure alike
WINDOW = 0.032  # seconds of one spectrum
MIN_WIDTH = 64  # samples, for recordings of a very low rate
FLOOR = 60  # decibels below the loudest band and moment
QUIET = 30  # decibels below the loudest moment: what is quieter at the ends is pause
PREPARATION = "mean of the channels, without the pauses at both ends"
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
    """Describe the bytes of a wav file, shape (N_SLICES * N_BANDS + 1,)."""
    return time_slices(*read_wave(data))


def envelope(data: bytes, n_parts: int) -> list[float]:
    """How loud a wav file is in parts of equal length, the loudest 1."""
    samples = np.abs(read_wave(data)[0])
    edges = np.linspace(0, len(samples), n_parts + 1).astype(int)
    peaks = np.array(
        [
            samples[a : max(b, a + 1)].max(initial=0.0)
            for a, b in zip(edges, edges[1:], strict=False)
        ]
    )
    return list((peaks / (peaks.max() or 1.0)).tolist())


def read_wave(data: bytes) -> tuple[Array, int]:
    """The samples of a wav file, one channel from -1 to 1, and their rate."""
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
    return _mono(samples), int(rate)


def time_slices(samples: Array, rate: int) -> Array:
    """Decibels of each band in six slices of the loud part, less their mean.

    Shape (N_SLICES * N_BANDS + 1,): slice by slice, then the logarithm of the part's
    length. Neither a pause before the sound nor how loud it was
    recorded changes the rest.
    """
    loudness = band_loudness(samples, rate)  # (N_BANDS, n_times)
    peak = loudness.max(axis=0)
    loud = np.flatnonzero(peak >= peak.max() - QUIET)
    part = loudness[:, loud[0] : loud[-1] + 1]
    starts = (np.arange(N_SLICES) * part.shape[1]) // N_SLICES
    ends = np.maximum(starts + 1, np.append(starts[1:], part.shape[1]))
    sliced = np.array(
        [part[:, a:b].mean(axis=1) for a, b in zip(starts, ends, strict=True)]
    )
    return np.append((sliced - sliced.mean()).ravel(), np.log(part.shape[1]))


def band_loudness(samples: Array, rate: int) -> Array:
    """Decibels of bands that are equally wide to the ear, (N_BANDS, n_times)."""
    from scipy.signal import stft

    width = max(MIN_WIDTH, int(WINDOW * rate))
    padded = np.pad(samples, (0, max(0, width - len(samples))))
    frequencies, _, spectrum = stft(padded, rate, nperseg=width, noverlap=width // 2)
    mel = 2595 * np.log10(1 + frequencies / 700)
    edges = np.linspace(0, mel[-1], N_BANDS + 2)
    lower, middle, upper = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (mel - lower) / (middle - lower), (upper - mel) / (upper - middle)
    weights = np.maximum(0, np.minimum(rising, falling))  # (N_BANDS, n_frequencies)
    power = weights @ np.abs(spectrum) ** 2
    # Below the floor is nothing that an ear would hear beside the loudest.
    floor = max(10 ** (-FLOOR / 10) * power.max(), 1e-20)
    return np.asarray(10 * np.log10(power + floor))


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
    """The slices of a wav file's spectrogram, from its bytes."""
    digest = f"{N_SLICES} slices, {N_BANDS} bands"
    return Embedding("builtin", digest, PREPARATION, np.stack, read_sound)
