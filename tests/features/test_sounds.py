"""Sounds to numbers."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.io import wavfile

from likewise.errors import InputError
from likewise.features.sounds import N_BANDS, read_sound


def tone(frequency, dtype=np.int16, rate=8000, channels=1):
    """A wav file of one second."""
    wave = np.sin(2 * np.pi * frequency * np.arange(rate) / rate)
    if np.issubdtype(dtype, np.integer):
        middle = 128 if dtype == np.uint8 else 0
        wave = middle + wave * (np.iinfo(dtype).max - middle) * 0.9
    buffer = io.BytesIO()
    samples = wave.astype(dtype)
    wavfile.write(buffer, rate, np.column_stack([samples] * channels).squeeze())
    return buffer.getvalue()


def test_a_tone_is_loudest_in_its_own_band():
    """Higher tones move up the bands."""
    loudest = [read_sound(tone(f))[:N_BANDS].argmax() for f in (120, 500, 2000, 3500)]

    assert loudest == sorted(set(loudest))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32])
def test_a_sound_is_the_same_in_every_sample_format(dtype):
    """Bits and channels change the loud bands by little."""
    reference = read_sound(tone(440))[:N_BANDS]
    loud = reference > reference.max() - 15

    other = read_sound(tone(440, dtype, channels=2))[:N_BANDS]

    assert_allclose(other[loud], reference[loud], atol=1.5)


@pytest.mark.parametrize("data", [b"", b"RIFF", tone(440)[:40], b"\x00" * 100])
def test_a_broken_wav_file_says_so(data):
    """Whatever the reader meets becomes one sentence."""
    with pytest.raises(InputError, match="not a wav file, or damaged|holds no sound"):
        read_sound(data)
