"""Sounds to numbers."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.io import wavfile

from likewise.errors import InputError
from likewise.features import sounds
from likewise.features.sounds import N_BANDS, N_SLICES, read_sound, time_slices


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


def bands(data):
    """Loudness of each band, over all slices."""
    return read_sound(data)[:-1].reshape(N_SLICES, N_BANDS).mean(axis=0)


def test_a_tone_is_loudest_in_its_own_band():
    """Higher tones move up the bands."""
    loudest = [bands(tone(f)).argmax() for f in (120, 500, 2000, 3500)]

    assert loudest == sorted(set(loudest))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32])
def test_a_sound_is_the_same_in_every_sample_format(dtype):
    """Bits and channels change the loud bands by little."""
    reference = bands(tone(440))
    loud = reference > reference.max() - 15

    other = bands(tone(440, dtype, channels=2))

    assert_allclose(other[loud], reference[loud], atol=3)


@pytest.mark.parametrize("data", [b"", b"RIFF", tone(440)[:40], b"\x00" * 100])
def test_a_broken_wav_file_says_so(data):
    """Whatever the reader meets becomes one sentence."""
    with pytest.raises(InputError, match="not a wav file, or damaged|holds no sound"):
        read_sound(data)


def sweep(up, rate=8000):
    """A tone that rises or falls by two octaves in a second."""
    t = np.arange(rate) / rate
    phase = 2 * np.pi * (400 * t + 600 * t**2)
    return np.sin(phase if up else phase[::-1])


def test_up_and_down_are_told_apart():
    """Over all of the time both are equally loud in each band; not slice by slice."""
    up, down = time_slices(sweep(True), 8000), time_slices(sweep(False), 8000)

    upward = up[:-1].reshape(N_SLICES, N_BANDS)
    downward = down[:-1].reshape(N_SLICES, N_BANDS)
    assert (np.diff(upward.argmax(axis=1)) > 0).all()
    assert (np.diff(downward.argmax(axis=1)) < 0).all()


def test_pauses_and_loudness_do_not_count():
    """Half a second of silence before and after, and half as loud."""
    plain = sweep(True)
    later = np.pad(0.5 * plain, 4000)

    one, other = time_slices(plain, 8000), time_slices(later, 8000)

    loud = one > one[:-1].max() - 20
    assert_allclose(other[loud], one[loud], atol=3)


@pytest.mark.parametrize("n_samples", [1, 2, 63, 1000])
def test_the_shortest_and_the_silent_have_numbers(n_samples):
    """Finite ones."""
    for samples in (np.zeros(n_samples), np.ones(n_samples)):
        assert np.isfinite(time_slices(samples, 8000)).all()
        assert time_slices(samples, 8000).shape == (N_SLICES * N_BANDS + 1,)


def test_the_envelope_is_as_loud_as_the_sound():
    """Silence, then a tone, then one half as loud."""
    rate = 8000
    loud = np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    samples = np.concatenate([np.zeros(rate), loud, loud / 2])
    buffer = io.BytesIO()
    wavfile.write(buffer, rate, (samples * 32767).astype(np.int16))

    levels = sounds.envelope(buffer.getvalue(), 3)

    assert_allclose(levels, [0, 1, 0.5], atol=0.01)
