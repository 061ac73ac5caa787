"""Texts to numbers: spelling and meaning."""

import subprocess
import sys

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from likewise.features import texts
from likewise.features.projection import unit_length


def cosine(vectors):
    unit = unit_length(vectors)
    return unit @ unit.T


def test_texts_on_one_subject_are_near_in_other_words():
    """No word in common, yet nearer than to another subject."""
    told = [
        "a kitten sleeps on the sofa",
        "cats are napping at home",
        "the stock market fell today",
        "share prices dropped sharply",
    ]

    near = cosine(texts.meaning_vectors(told)) - 2 * np.eye(4)

    assert_array_equal(near.argmax(axis=1), [1, 0, 3, 2])


def test_a_meaning_is_the_mean_of_its_tokens():
    """Written out: twice the same words, or their order, change nothing."""
    one, twice, turned = texts.meaning_vectors(
        ["red car", "red car red car", "car red"]
    )

    assert_allclose(twice, one, atol=1e-3)
    assert cosine(np.array([one, turned]))[0, 1] > 0.95


def test_misspelt_names_are_near_by_their_letters():
    """Each beside the name that was meant."""
    names = ["Liechtenstein", "Luxembourg", "Lithuania", "Lesotho", "Lebanon"]
    wrong = ["Lichtenstien", "Luxemburg", "Lithunia", "Lesoto", "Lebannon"]

    vectors = texts.text_vectors(names + wrong)

    assert_array_equal(cosine(vectors)[5:, :5].argmax(axis=1), range(5))


def test_letters_and_meanings_weigh_the_same():
    """Each part has length 1, so the whole has length root of two."""
    told = ["a brown dog", "two brown dogs", "interest rates", "rates of interest"]

    vectors = texts.text_vectors(told)

    assert_allclose(np.linalg.norm(vectors, axis=1), np.sqrt(2))
    assert_allclose(np.linalg.norm(vectors[:, -256:], axis=1), 1)


def test_the_same_texts_give_the_same_numbers():
    """The solver's start is fixed."""
    told = [f"text number {k} of {k * k}" for k in range(80)]

    assert_array_equal(texts.text_vectors(told), texts.text_vectors(told))


def test_texts_without_letters_are_no_error():
    """Nothing is known of them, and that is 0."""
    vectors = texts.text_vectors(["", " ", ""])

    assert_array_equal(vectors, np.zeros_like(vectors))


def test_a_missing_package_names_the_extra():
    """What is installed where."""
    code = (
        "import sys; sys.modules['tokenizers'] = None\n"
        "from likewise.features.texts import meaning_vectors; meaning_vectors(['a'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert "pip install 'likewise[embed]'" in run.stderr
