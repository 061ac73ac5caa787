"""Any callable is an embedding; what it gives is checked."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.errors import InputError
from likewise.features.embedding import Embedding, as_embedding, embed_items


def lengths(texts):
    return [[len(text), 1.0] for text in texts]


def test_items_are_embedded_in_order_and_progress_is_told():
    """Seventy items in batches of 32."""
    texts = ["x" * k for k in range(70)]
    told = []

    vectors = embed_items(texts, lengths, progress=lambda *done: told.append(done))

    assert_array_equal(vectors[:, 0], np.arange(70))
    assert told == [(32, 70), (64, 70), (70, 70)]


def test_a_callable_is_known_by_its_name():
    """And an embedding stays what it is."""
    embedding = as_embedding(lengths)

    assert embedding.record()["name"] == "callable:lengths"
    assert as_embedding(embedding) is embedding


def test_items_are_prepared_one_by_one():
    """`embed` sees what `prepare` made of them."""
    embedding = Embedding("twice", "", "doubled", lengths, lambda text: text * 2)

    assert_array_equal(embedding(["ab"]), [[4, 1]])


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (lambda items: np.ones(3), r"shape \(2, n\). Got \(3,\)"),
        (lambda items: np.ones((1, 3)), r"shape \(2, n\). Got \(1, 3\)"),
        (lambda items: [[1.0], [np.nan]], r"finite numbers. Got \[nan\] for item 1"),
        ("builtin", "must be a callable .* Got 'builtin'"),
    ],
)
def test_what_is_no_matrix_is_refused(features, words):
    """With the rule and the value."""
    with pytest.raises(InputError, match=words):
        embed_items(["a", "b"], features)


def test_no_items_have_no_vectors():
    """It is said, not guessed."""
    with pytest.raises(InputError, match="at least one item"):
        embed_items([], lengths)
