"""Which numbers for sounds? 1NN with a few labelled recordings of each class.

Two collections, made here: the letters A to Z spoken by 16 voices of espeak-ng, as in
isolet, and 24 kinds of hums, sweeps, knocks and noises that begin at any time.
"slices" is the default of likewise.

Usage: apt-get install espeak-ng; python benchmarks/sounds.py
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.fft import dct
from scipy.io import wavfile
from scipy.signal import stft

from likewise.features import sounds
from likewise.features.projection import fit_projection

VOICES = [
    f"{accent}+{who}"
    for accent in ("en-us", "en-gb")
    for who in ("m1", "m3", "m5", "m7", "f1", "f2", "f4", "f5")
]
N_LABELLED = (1, 3, 5)  # of each class
N_SPLITS = 20
RATE = 16_000


def spoken(folder):
    """Every letter by every voice, at its own pace and pitch."""
    rng = np.random.default_rng(0)
    found, labels = [], []
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        for voice in VOICES:
            pace, pitch = rng.integers(130, 190), rng.integers(30, 70)
            path = folder / f"{letter}-{voice}.wav"
            subprocess.run(
                ["espeak-ng", "-v", voice, "-s", str(pace), "-p", str(pitch)]
                + ["-w", str(path), letter],
                check=True,
            )
            rate, samples = wavfile.read(path)
            noise = 0.01 * rng.standard_normal(len(samples))
            found.append((samples / 32768 + noise, rate))
            labels.append(letter)
    return found, np.array(labels)


def noises():
    """Kinds of sounds, each somewhere in two seconds."""
    rng = np.random.default_rng(1)
    found, labels = [], []
    for kind in range(24):
        for _ in range(16):
            samples = 0.003 * rng.standard_normal(2 * RATE)
            sound = _sound(kind, rng)
            start = rng.integers(0, len(samples) - len(sound))
            samples[start : start + len(sound)] += sound
            found.append((samples, RATE))
            labels.append(kind)
    return found, np.array(labels)


def _sound(kind, rng):
    """Four pitches of hum, rising and falling sweep, knocks, and noise in a band."""
    length = rng.uniform(0.5, 1.2)
    t = np.arange(int(length * RATE)) / RATE
    pitch = [150, 400, 1000, 2600][kind % 4] * rng.uniform(0.9, 1.1)
    shape = kind // 4
    if shape == 0:
        wave = np.sin(2 * np.pi * pitch * t)
    elif shape in (1, 2):
        slope = pitch / length * (0.8 if shape == 1 else -0.8)
        wave = np.sin(2 * np.pi * (pitch * t + slope * t**2 / 2))
    elif shape == 3:
        wave = np.sin(2 * np.pi * pitch * t) * np.exp(-30 * (t % 0.2))
    elif shape == 4:
        wave = np.sign(np.sin(2 * np.pi * pitch * t)) * 0.5
    else:
        wave = np.sin(2 * np.pi * pitch * t + np.cumsum(rng.standard_normal(len(t))))
    return wave * rng.uniform(0.1, 0.5) * np.hanning(len(t)) ** 0.3


def spectrogram_summary(samples, rate):
    """Mean, deviation and change over time of each band in decibels, and the length."""
    width = min(1024, len(samples))
    frequencies, _, spectrum = stft(samples, rate, nperseg=width, noverlap=width // 2)
    edges = np.geomspace(50, max(rate / 2, 100), 24 + 1)
    band = np.digitize(frequencies, edges[1:-1])  # (n_frequencies,)
    power = np.stack(
        [(np.abs(spectrum[band == k]) ** 2).sum(axis=0) for k in range(24)]
    )  # (24, n_times)
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


def cepstra(samples, rate):
    """Mean and deviation of 13 cepstral coefficients, and of their change."""
    loudness = sounds.band_loudness(samples, rate)
    found = dct(loudness, axis=0, norm="ortho")[:13]
    return np.concatenate([found.mean(1), found.std(1), np.diff(found).std(1)])


# Whether only the direction of the numbers counts, and what makes them.
MAKERS = {
    "spectrogram summary": (False, spectrogram_summary),
    "cepstra": (False, cepstra),
    "slices, standardised": (False, sounds.time_slices),
    "slices": (True, sounds.time_slices),
}


def accuracies(X, y):
    """Of 1NN by distance, with so many labelled items of each class."""
    classes = np.unique(y, return_inverse=True)[1]
    means = []
    for n_labelled in N_LABELLED:
        hits = []
        for seed in range(N_SPLITS):
            order = np.random.default_rng(seed).permutation(len(y))
            ranked = [order[classes[order] == k] for k in range(classes.max() + 1)]
            known = np.concatenate([rows[:n_labelled] for rows in ranked])
            rest = np.setdiff1d(order, known)
            near = ((X[known] ** 2).sum(1) - 2 * X[rest] @ X[known].T).argmin(axis=1)
            hits.append(np.mean(classes[known][near] == classes[rest]))
        means.append(np.mean(hits))
    return means


def main():
    print(f"1NN with {' / '.join(map(str, N_LABELLED))} labelled of each class")
    with tempfile.TemporaryDirectory() as folder:
        collections = {"letters, spoken": spoken(Path(folder)), "noises": noises()}
    for name, (found, y) in collections.items():
        print(f"{name}: {len(found)} recordings, {len(np.unique(y))} classes")
        for maker, (is_direction, make) in MAKERS.items():
            vectors = np.array([make(samples, rate) for samples, rate in found])
            X = fit_projection(vectors, is_direction=is_direction)(vectors)
            shown = " / ".join(f"{value:.3f}" for value in accuracies(X, y))
            print(f"    {maker:22s} {shown}  ({X.shape[1]} numbers)", flush=True)


if __name__ == "__main__":
    main()
