"""Which numbers for texts? 1NN by cosine with a few labelled texts of each class.

Five collections of short texts, 20 classes and more each, out of packages: first
sentences of scipy's and scikit-learn's functions by module, names of emoji by what
they show, English small talk by topic, and names of countries written badly, with
all their words and without one. "letters and meanings" is the default of likewise.

Usage: python benchmarks/texts.py FOLDER
where FOLDER has what these two give:
    pip download --no-deps chatterbot-corpus && unzip chatterbot_corpus-*.whl
    npm pack emojibase-data && tar -xf emojibase-data-*.tgz
"""

import importlib
import inspect
import json
import pkgutil
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sounds import N_LABELLED, accuracies

from likewise.features import texts as made
from likewise.features.projection import fit_projection, unit_length

MOST = 100  # texts of one class
FLAGS = 98  # the number of the emoji that are flags of countries


def letters_24(texts):
    """Two and three letters in a row, in 24 numbers."""
    return _counted(texts, 24, analyzer="char_wb", ngram_range=(2, 3))


def words(texts):
    return _counted(texts, 128)


def letters_and_words(texts):
    longer = _counted(texts, 128, analyzer="char_wb", ngram_range=(2, 4))
    return np.column_stack([unit_length(longer), unit_length(words(texts))])


def _counted(texts, size, **options):
    X = TfidfVectorizer(lowercase=True, **options).fit_transform(texts)
    size = min(size, X.shape[1] - 1)
    return TruncatedSVD(size, algorithm="arpack", random_state=0).fit_transform(X)


MAKERS = {
    "letters, 24 numbers": letters_24,
    "words": words,
    "letters and words": letters_and_words,
    "meanings": made.meaning_vectors,
    "letters and meanings": made.text_vectors,
}


def docstrings():
    """First sentences of functions, by the module that has them."""
    import scipy
    import sklearn

    found = []
    for package in (scipy, sklearn):
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.startswith("_") or module.name in ("conftest", "tests"):
                continue
            path = f"{package.__name__}.{module.name}"
            found += [(text, path) for text in _sentences(path)]
    return _trimmed(found)


def _sentences(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        members = vars(importlib.import_module(path)).items()
        for name, member in members:
            words = inspect.getdoc(member) if callable(member) else None
            if words and not name.startswith("_"):
                yield " ".join(words.split("\n\n")[0].split())[:200]


def emoji(folder):
    """Names of emoji, by what they show: fruit, cats, clocks."""
    names = [(one["label"], one["subgroup"]) for one in _emoji(folder)]
    return _trimmed([(name, kind) for name, kind in names if kind != FLAGS])


def _emoji(folder):
    found = json.loads((folder / "package/en/data.json").read_text(encoding="utf-8"))
    return [one for one in found if "subgroup" in one]


def small_talk(folder):
    """What people say, by topic."""
    import yaml

    found = []
    for path in sorted((folder / "chatterbot_corpus/data/english").glob("*.yml")):
        told = yaml.safe_load(path.read_text(encoding="utf-8"))["conversations"]
        found += [(str(line), path.stem) for turn in told for line in turn]
    return _trimmed(found)


def misspelt(n_words_lost, seed=5):
    """Names of sixty countries, each written badly in twelve ways."""

    def collect(folder):
        rng = np.random.default_rng(seed)
        flags = [one for one in _emoji(folder) if one["subgroup"] == FLAGS]
        names = [one["label"].removeprefix("flag: ") for one in flags]
        found = []
        for name in [name for name in names if len(name) > 8][:60]:
            found += [(_damaged(name, n_words_lost, rng), name) for _ in range(12)]
        return _trimmed(found)

    return collect


def _damaged(name, n_words_lost, rng):
    kept = name.split()
    for _ in range(n_words_lost):
        if len(kept) > 1:
            kept.pop(rng.integers(len(kept)))
    letters = list(" ".join(kept))
    for _ in range(2):
        k = rng.integers(len(letters))
        letters[k : k + 1] = rng.choice(list("aeinrst"), size=rng.integers(0, 3))
        letters = letters or ["a"]
    return "".join(letters)


def _trimmed(found):
    """Different texts, at most so many of a class, classes of eight and more."""
    found = list(dict(found).items())
    kept, seen = [], Counter()
    for k in np.random.default_rng(0).permutation(len(found)):
        seen[found[k][1]] += 1
        if seen[found[k][1]] <= MOST:
            kept.append(found[k])
    kept = [(text, y) for text, y in kept if seen[y] >= 8]
    return [text for text, _ in kept], np.array([y for _, y in kept])


def main():
    folder = Path(sys.argv[1])
    collections = {
        "sentences by module": lambda _: docstrings(),
        "emoji by subject": emoji,
        "small talk by topic": small_talk,
        "misspelt names": misspelt(0),
        "misspelt, words left out": misspelt(1),
    }
    total = Counter()
    print(f"1NN with {' / '.join(map(str, N_LABELLED))} labelled texts of each class")
    for name, collect in collections.items():
        texts, y = collect(folder)
        print(f"{name}: {len(texts)} texts, {len(np.unique(y))} classes")
        for maker, make in MAKERS.items():
            vectors = make(texts)
            X = fit_projection(vectors)(vectors)
            reached = accuracies(X, y)
            total[maker] += np.mean(reached) / len(collections)
            shown = " / ".join(f"{value:.3f}" for value in reached)
            print(f"    {maker:22s} {shown}  ({X.shape[1]} numbers)", flush=True)
    print("mean of all:", ", ".join(f"{m} {v:.3f}" for m, v in total.items()))


if __name__ == "__main__":
    main()
