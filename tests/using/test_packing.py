"""Arrays in few bytes: every bit comes back."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import likewise
from likewise import BayesianMetric
from likewise.pairs import all_pairs
from likewise.using import packing

DOUBLES = st.lists(st.floats(allow_nan=False, width=64), min_size=0, max_size=20)


@given(DOUBLES, DOUBLES)
def test_every_bit_comes_back_whatever_the_guess(values, guessed):
    """Signs of zero, infinities and the smallest numbers, with a guess and without."""
    values = np.array(values, dtype=float)
    guessed = np.resize(np.array([*guessed, 1.0]), values.shape)

    for guess in (None, guessed):
        data = packing.packed(values, guess)
        again = packing.unpacked(data, values.shape, "f", guess)
        assert_array_equal(again.view(np.int64), values.view(np.int64))


def test_whole_numbers_come_back(rng):
    """Row numbers of items."""
    pairs = rng.randint(0, 10**8, (30, 2))

    data = packing.packed(pairs, None)

    assert_array_equal(packing.unpacked(data, (30, 2), "i", None), pairs)


def test_a_near_guess_takes_few_bytes(rng):
    """A bit or two a number where only the last bits are wrong."""
    values = rng.standard_normal(1000)
    guess = np.nextafter(values, rng.choice([-9.0, 9.0], 1000))

    assert len(packing.packed(values, guess)) < 400
    assert len(packing.packed(values, None)) > 7000


def test_noise_at_the_end_of_numbers_is_kept_as_it_is(rng):
    """Whole numbers of 20 bits in blocks, and of none: hardly more than they tell."""
    values = rng.randint(-(2**19), 2**19, 997)
    values[:320] = 0

    data = packing.packed(values, None)

    assert len(data) < 1.02 * 677 * 20 / 8 + 110
    assert_array_equal(packing.unpacked(data, (997,), "i", None), values)
    with pytest.raises(ValueError, match="bytes are said to hold"):
        packing.unpacked(data[:-1], (997,), "i", None)
    with pytest.raises(ValueError, match="bytes are said to hold"):
        packing.unpacked(np.append(data, np.uint8(0)), (997,), "i", None)


def test_a_shift_that_no_number_has_is_refused():
    """Of 200 bits, as a forged file may say."""
    plain = bytes([200]) + bytes(8)
    data = packing.SPLIT + zlib.compress(plain) + bytes(25)

    with pytest.raises(ValueError, match="25 bytes are said to hold 200 bits"):
        packing.unpacked(np.frombuffer(data, np.uint8), (1,), "i", None)


def test_parts_of_other_sizes_are_refused():
    """All of them together, by their names in order."""
    every = np.arange(5, dtype=np.uint8)

    parts = packing.apart(every, ["b", "a"], [2, 3])

    assert_array_equal(parts["a"], [0, 1])
    assert_array_equal(parts["b"], [2, 3, 4])
    for sizes in ([2, 2], [-1, 6], [5, 0.0]):
        with pytest.raises(ValueError, match="5 packed bytes are not those of its"):
            packing.apart(every, ["a", "b"], sizes)
    with pytest.raises(ValueError, match="shorter"):
        packing.apart(every, ["a", "b"], [5])


def test_bytes_that_cannot_hold_so_much_are_refused(rng):
    """Too few, too many, no zlib, or a claim that none could meet."""
    data = packing.packed(rng.standard_normal(10), None)

    with pytest.raises(ValueError, match="are not 88 bytes"):
        packing.unpacked(data, (11,), "f", None)
    with pytest.raises(ValueError, match="are not 72 bytes"):
        packing.unpacked(data, (9,), "f", None)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        packing.unpacked(data[5:], (10,), "f", None)
    with pytest.raises(ValueError, match=r"are said to hold \(1000000,\)"):
        packing.unpacked(data, (10**6,), "f", None)
    with pytest.raises(ValueError, match=r"do not fit: \(2, 5\) and \(10,\)"):
        packing.unpacked(data, (10,), "f", np.zeros((2, 5)))


@pytest.mark.parametrize("scale", [1e-200, 1e20, 1e150])
def test_gaps_on_any_scale_come_back(rng, tmp_path, scale):
    """Large numbers are no whole ones, though floats above 2^53 are."""
    X = scale * rng.normal(size=(20, 3))
    pairs, labels = all_pairs(20)[::9], np.resize([1, -1, -1], 22)
    metric = BayesianMetric(prior="unit", random_state=0).fit_pairs(X, pairs, labels)
    metric.save(tmp_path / "scaled.metric")

    again = likewise.load(tmp_path / "scaled.metric")

    p_same = metric.pair_probability(X, pairs)
    assert 0 < p_same.min() < p_same.max() < 1
    assert_array_equal(again.pair_probability(X, pairs), p_same)
