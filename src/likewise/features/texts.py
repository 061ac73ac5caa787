"""Texts as numbers: by their letters and by what their words mean, side by side.

Letters find misspellings and names; meanings, WordLlama's vectors that its package
carries (MIT), find texts on one subject in other words. Together they measure better
than either (benchmarks/texts.py).
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import MissingExtraError
from likewise.features.embedding import Embedding
from likewise.features.projection import unit_length

Array = NDArray[np.float64]

# Numbers that runs of letters are brought to: 24 and 128 measure a little worse.
N_LETTERS = 48
# Tokens of a text that count: the vectors are of sentences, not of books.
MAX_TOKENS = 512
PREPARATION = "letters in small, the first 512 tokens"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


def builtin() -> Embedding:
    """The embedding of texts that is used unless another is asked for.

    Letters are weighed by their rarity among all texts given, so a text's vector
    depends on the others.
    """
    return Embedding(
        "builtin", meaning_digest(), PREPARATION, text_vectors, is_whole=True
    )


def text_vectors(texts: Sequence[str]) -> Array:
    """Letters and meanings of each text, half the squared length each.

    Shape (n_texts, at most 48 + 256).
    """
    parts = letter_vectors(texts), meaning_vectors(texts)
    return np.column_stack([unit_length(part) for part in parts])


def letter_vectors(texts: Sequence[str]) -> Array:
    """Two and three letters in a row, weighed by rarity, in at most 48 numbers.

    The same texts give the same numbers.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    counter = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))
    try:
        counts = counter.fit_transform([text.lower() for text in texts])
    except ValueError:  # what scikit-learn says where there is no letter at all
        return np.zeros((len(texts), 1))
    size = min(N_LETTERS, min(counts.shape) - 1)
    if size < 1:
        return np.asarray(counts.toarray())
    # The start vector of the solver is fixed: the same texts give the same numbers.
    solver = TruncatedSVD(size, algorithm="arpack", random_state=len(texts))
    return np.asarray(solver.fit_transform(counts))


def meaning_vectors(texts: Sequence[str]) -> Array:
    """Mean of the vectors of each text's tokens, shape (n_texts, 256)."""
    table, tokenizer = _wordllama()
    plain = [" ".join(text.split()) for text in texts]
    found = tokenizer.encode_batch(plain, add_special_tokens=False)
    return np.array([_mean_row(table, one.ids[:MAX_TOKENS]) for one in found])


def _mean_row(table: NDArray[Any], rows: list[int]) -> Array:
    if not rows:
        return np.zeros(table.shape[1])
    return np.asarray(table[rows].astype(np.float64).mean(axis=0))


@cache
def _wordllama() -> tuple[NDArray[Any], Any]:
    """The vector of each token, (n_tokens, 256), and what cuts texts into tokens."""
    folder = _package_folder()
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtraError("Comparing texts by meaning", "embed") from error
    arrays = load_file(folder / WEIGHTS)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    return next(iter(arrays.values())), tokenizer


def _package_folder() -> Path:
    """Where WordLlama's files are; its code is not run."""
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("Comparing texts by meaning", "embed")
    return Path(next(iter(found.submodule_search_locations)))


@cache
def meaning_digest() -> str:
    """The sha256 of WordLlama's weights and tokenizer."""
    digest = hashlib.sha256()
    for name in (WEIGHTS, TOKENIZER):
        digest.update((_package_folder() / name).read_bytes())
    return digest.hexdigest()
