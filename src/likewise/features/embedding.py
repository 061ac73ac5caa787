"""What an embedding is: a way from items to vectors that can be recognised again.

The ways themselves are in `pictures.py`, `texts.py`, `sounds.py`, `paper.py` and, for
models that a person brings, in `own.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]  # (items done, items in all)
T = TypeVar("T")

# Items given to a model at once: 128 gain a sixth of the time, but an interruption
# would lose more, and progress would be told more rarely.
BATCH = 32


def _as_it_is(item: Any) -> Any:
    return item


@dataclass(frozen=True)
class Embedding:
    """A way from items to vectors.

    `prepare` takes one item and can run in another process; `embed` takes a batch of
    what it gave. Two embeddings with the same name, digest and preparation give the
    same vectors.
    """

    name: str  # as it is asked for: "builtin", "onnx:birds.onnx"
    digest: str  # sha256 of the weights, or of what else decides the numbers
    preparation: str  # what is done to an item first, in words
    embed: Callable[[Sequence[Any]], ArrayLike]
    prepare: Callable[[Any], Any] = _as_it_is
    # Whether only the direction of a vector counts. Else each number has a meaning of
    # its own, is standardised, and may have a name.
    is_direction: bool = True
    feature_names: tuple[str, ...] = ()
    # Whether a vector depends on the other items, so that all must be given at once.
    is_whole: bool = False
    # How to ask for a model in a file from any folder: "onnx:/home/birds.onnx".
    place: str = ""

    def __call__(self, items: Sequence[Any]) -> Array:
        """Vectors of the items, shape (n_items, n_features)."""
        return self.embed_prepared([self.prepare(item) for item in items])

    def embed_prepared(self, prepared: Sequence[Any]) -> Array:
        """Vectors of prepared items; refuses what is no matrix of finite numbers."""
        return check_vectors(self.embed(prepared), len(prepared), self.name)

    def record(self) -> dict[str, str]:
        """What a project file keeps, to know the embedding again."""
        return {
            "name": self.name,
            "digest": self.digest,
            "preparation": self.preparation,
            "place": self.place or self.name,
        }


def as_embedding(features: Callable[[Sequence[Any]], ArrayLike]) -> Embedding:
    """An embedding from any callable that turns items into an array.

    Examples
    --------
    >>> from likewise.features.embedding import as_embedding
    >>> lengths = as_embedding(lambda texts: [[len(text), 1.0] for text in texts])
    >>> lengths(["a", "abc"]).tolist()
    [[1.0, 1.0], [3.0, 1.0]]
    """
    if isinstance(features, Embedding):
        return features
    if not callable(features):
        raise InputError(
            "'features' must be a callable that turns items into an array. "
            f"Got {features!r:.80}."
        )
    name = getattr(features, "__qualname__", type(features).__qualname__)
    return Embedding(f"callable:{name}", "", "none", features)


def embed_items(
    items: Sequence[Any],
    features: Callable[[Sequence[Any]], ArrayLike],
    *,
    progress: Progress | None = None,
) -> Array:
    """Vectors of items, a batch at a time, shape (n_items, n_features).

    Parameters
    ----------
    items : sequence
        Whatever `features` takes: pictures, texts, paths.
    features : callable
        Turns a list of items into an array; an `Embedding` or any other.
    progress : callable, optional
        Called with (items done, items in all) after each batch.
    """
    embedding = as_embedding(features)
    blocks: list[Array] = []
    n_done = 0
    for batch in batches(items, len(items) if embedding.is_whole else BATCH):
        blocks.append(embedding(batch))
        n_done += len(batch)
        if progress is not None:
            progress(n_done, len(items))
    if not blocks:
        raise InputError("There must be at least one item. Got none.")
    return np.concatenate(blocks)


def batches(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of so many things in a row; the last may have fewer."""
    remaining = iter(things)
    while batch := list(islice(remaining, size)):
        yield batch


def check_vectors(vectors: ArrayLike, n_items: int, name: str) -> Array:
    """Vectors as an array (n_items, n_features), or what is wrong with them."""
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim != 2 or len(array) != n_items or array.shape[1] < 1:
        raise InputError(
            f"The features '{name}' must give an array of shape ({n_items}, n). "
            f"Got {array.shape}."
        )
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise InputError(
            f"The features '{name}' must give finite numbers. "
            f"Got {array[row].tolist()!r:.60} for item {row}."
        )
    return array
