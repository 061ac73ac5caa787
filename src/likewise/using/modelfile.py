"""A metric in one file: safetensors with a JSON header, no pickle, no items.

The belief is packed (see packing.py and guesses.py). A file that is newer, damaged or
made to do harm gets a sentence before anything is allocated that it asks for.
"""

import hashlib
import json
import os
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.digits import MOST_COLUMNS
from likewise.errors import MissingExtraError, StoreError
from likewise.model.basis import BASES, Basis
from likewise.model.belief import Belief, Member
from likewise.model.calibration import Calibration
from likewise.model.posterior import (
    EntryPosterior,
    MetricPosterior,
    PairPosterior,
    WeightPosterior,
)
from likewise.model.priors import IMPLIED_SHIFT, MatrixPrior
from likewise.using import guesses, packing

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

# 1 had every array plain; 2 had numbers with all their bits, L plain; 3 had gaps of
# pairs by one member for the others; 4 had rotations of 22 bits, and L always. All are
# read.
FORMAT = 5
MAX_HEADER, MAX_FILE = 2**24, 2**32  # bytes
# Items have row numbers below this: room for those asked about is made by the largest.
MAX_ITEMS = 10**8

# The arrays of each kind of posterior and their shapes, a letter an axis: d features,
# k basis vectors, f of them free, w weights and a threshold, e parameters of a whole
# matrix, p pairs.
POSTERIORS: dict[str, tuple[type[MetricPosterior], dict[str, str]]] = {
    "weights": (WeightPosterior, {"mean": "w", "covariance": "ww"}),
    "entries": (
        EntryPosterior,
        {"parameter_mean": "e", "parameter_covariance": "ee"},
    ),
    "pairs": (
        PairPosterior,
        {
            "alpha": "p",
            "gaps": "pk",
            "inverse_root": "pp",
            "half": "p",
            "pairs": "p2",
            "implied": "p",
        },
    ),
}
PRIOR = {"frame": "kk", "centre": "k"}
FREE = "free_directions"  # (k, f), of a prior that is not free everywhere
PRIOR_NUMBERS = ("offset", "precision", "scale", "item_noise")
# Bytes of the types that a file may have.
SIZES = {"F64": 8, "I64": 8, "F32": 4, "U8": 1}
# What everybody may want to read, and what is too small to gain.
PLAIN = ("evidence", "basis.centre")
# What reading a file that is none of ours may raise.
WRONG = LookupError, TypeError, ValueError, RecursionError, MemoryError, ArithmeticError
# All that is packed, one after the other by their names.
ALL = "packed"
# Lower triangular, so that half of it need not be kept.
TRIANGLE = "inverse_root"
# L has a plain copy in single precision up to so many numbers (16 kB), for others.
MOST_PLAIN = 64 * 64


class SavedMetric(NamedTuple):
    """All that a fitted metric is."""

    settings: dict[str, Any]  # parameters of the constructor
    learned: dict[str, Any]  # plain values: threshold, fingerprint, names, ...
    basis: Basis
    belief: Belief
    components: Array  # (n_components, n_features)
    evidence: Array


def write_metric(saved: SavedMetric, path: str | os.PathLike[str]) -> None:
    """Write a metric to a file; an old one stays until the new one is complete."""
    try:
        from safetensors.numpy import save
    except ModuleNotFoundError as error:
        raise MissingExtraError("Saving a metric", "files") from error
    header, arrays = _taken_apart(saved)
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    # One key: with two, safetensors would not always write them in the same order.
    both = {"sha256": _checksum(text, arrays), "header": header}
    data = save(arrays, metadata={"likewise": json.dumps(both, sort_keys=True)})
    path = Path(path)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(data)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error


def read_metric(path: str | os.PathLike[str]) -> SavedMetric:
    """Read what `write_metric` wrote, every bit the same."""
    path = Path(path)
    try:
        text, arrays = _read_arrays(path)
        header = _plain(json.loads(text))
        _check_version(header, path)
        return _put_together(header, arrays)
    except WRONG as error:
        raise StoreError(
            f"{path} is no metric that likewise wrote, or it is damaged: "
            f"{_reason(error)}."
        ) from error


# From a metric to arrays


def _taken_apart(saved: SavedMetric) -> tuple[dict[str, Any], Arrays]:
    arrays: Arrays = {
        "components": saved.components,
        "evidence": saved.evidence,
        "basis.centre": saved.basis.centre,
        "basis.directions": saved.basis.directions,
    }
    members = []
    for number, member in enumerate(saved.belief.members):
        about, own = _member_apart(member)
        members.append(about)
        arrays |= {f"member.{number}.{name}": array for name, array in own.items()}
    header: dict[str, Any] = {
        "format": FORMAT,
        "versions": {name: version(name) for name in ("likewise", "numpy")},
        "settings": saved.settings,
        "learned": saved.learned,
        "basis": saved.basis.kind,
        "members": members,
        "calibration": asdict(saved.belief.calibration),
        # The order in memory decides how sums are rounded: it is kept.
        "by_column": [name for name, array in arrays.items() if _is_by_column(array)],
    }
    stored = {name: _stored(array) for name, array in arrays.items()}
    header["whole"] = _checksum("", stored)
    kept = {name: stored.pop(name) for name in PLAIN}
    whole = stored[guesses.WHOLE] = stored.pop(guesses.SINGLE)
    n_basis = saved.basis.directions.shape[1]
    if whole.size <= MOST_PLAIN or n_basis > MOST_COLUMNS:
        kept[guesses.SINGLE] = packing.single(whole)
    stored |= guesses.helpers(stored, frozenset(header["by_column"]))
    header["packed"] = {
        name: [array.dtype.kind, *array.shape] for name, array in stored.items()
    }
    few = packing.pack(stored, kept, _shapes(header))
    # One array: safetensors has more words for each than many of them have bytes.
    header["sizes"] = [few[name].size for name in sorted(few)]
    kept[ALL] = np.concatenate([few[name] for name in sorted(few)])
    return header, kept


def _shapes(header: dict[str, Any]) -> guesses.Shapes:
    """What the header says of packed arrays, and of the priors they are guessed by."""
    shapes, kinds = {}, {}
    for name, (kind, *shape) in _plain(header["packed"]).items():
        is_shape = all(type(n) is int and n >= 0 for n in shape) and len(shape) <= 2
        if not is_shape or kind not in ("f", "i"):
            raise ValueError(f"'{name}' has the shape {shape!r:.40}")
        shapes[name], kinds[name] = tuple(shape), kind
    priors = {
        f"member.{number}": {
            name: _number(value) for name, value in _plain(about["prior"]).items()
        }
        for number, about in enumerate(header["members"])
        if "prior" in about
    }
    weights = {
        f"member.{number}": _number(about["weight"])
        for number, about in enumerate(header["members"])
    }
    by_column = frozenset(str(name) for name in header["by_column"])
    form = header["format"]
    return guesses.Shapes(shapes, kinds, by_column, form, priors, weights)


def _member_apart(member: Member) -> tuple[dict[str, Any], Arrays]:
    posterior = member.posterior
    kind = next(k for k, (made, _) in POSTERIORS.items() if type(posterior) is made)
    about: dict[str, Any] = {"name": member.name, "weight": member.weight, "kind": kind}
    arrays = {name: getattr(posterior, name) for name in POSTERIORS[kind][1]}
    if TRIANGLE in arrays:
        arrays[TRIANGLE] = _packed(arrays[TRIANGLE])
    prior = getattr(posterior, "prior", None)
    if prior is not None:
        about["prior"] = {name: float(getattr(prior, name)) for name in PRIOR_NUMBERS}
        deviations = (*prior.fixed_deviations.tolist(), IMPLIED_SHIFT)
        about["prior"] |= dict(zip(guesses.DEVIATIONS, deviations, strict=True))
        arrays |= {f"prior.{name}": getattr(prior, name) for name in PRIOR}
        if prior.free_directions is not None:
            arrays[f"prior.{FREE}"] = prior.free_directions
    return about, arrays


def _is_by_column(array: NDArray[Any]) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _stored(array: NDArray[Any]) -> NDArray[Any]:
    turned = array.T if _is_by_column(array) else array
    kind = "<i8" if np.issubdtype(array.dtype, np.integer) else "<f8"
    return np.ascontiguousarray(turned, dtype=kind)


def _packed(root: Array) -> Array:
    """The rows of the lower triangle; the whole where there is more."""
    if np.triu(root, 1).any():
        return root
    return root[np.tril_indices(len(root))]


def _unpacked(packed: Array, size: int) -> Array:
    if packed.ndim == 2:
        return packed
    _check_shape(TRIANGLE, packed, (size * (size + 1) // 2,))
    root = np.zeros((size, size))
    root[np.tril_indices(size)] = packed
    return root


def _checksum(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# From a file to arrays


def _read_arrays(path: Path) -> tuple[str, Arrays]:
    """The text of the header and the arrays, once sizes, types and sum are right."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ModuleNotFoundError as error:
        raise MissingExtraError("Loading a metric", "files") from error
    data = _read_bytes(path)
    n_header = int.from_bytes(data[:8], "little")
    if n_header > min(MAX_HEADER, len(data) - 8):
        raise ValueError(f"its header has {n_header:,} bytes, the file {len(data):,}")
    table = _plain(json.loads(data[8 : 8 + n_header]))
    both = _plain(json.loads(_plain(table.pop("__metadata__"))["likewise"]))
    _check_table(table, len(data) - 8 - n_header)
    try:
        arrays = load(data)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    text = both["header"]
    if not isinstance(text, str):  # up to format 4 it was a text in a text
        text = json.dumps(text, sort_keys=True, allow_nan=False)
    if both["sha256"] != _checksum(text, arrays):
        raise ValueError("its checksum is wrong")
    return text, arrays


def _read_bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise StoreError(f"{path} is no file.")
        if size > MAX_FILE:
            raise ValueError(f"it has {size:,} bytes")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(f"There is no file {path}.") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) < 10:
        raise ValueError(f"it has {len(data)} bytes")
    return data


def _check_table(table: dict[str, Any], n_bytes: int) -> None:
    """Refuse types that no metric has, and shapes that the file cannot hold."""
    for name, about in table.items():
        about = _plain(about)
        if about["dtype"] not in SIZES:
            raise ValueError(f"'{name}' has the type {about['dtype']!r:.20}")
        shape = about["shape"]
        is_shape = isinstance(shape, list) and len(shape) <= 2
        if not is_shape or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"'{name}' has the shape {shape!r:.40}")
        size = SIZES[about["dtype"]]
        if size * int(np.prod(np.array(shape, dtype=object))) > n_bytes:
            raise ValueError(f"'{name}' has the shape {shape!r:.40}, too large for it")


def _check_version(header: dict[str, Any], path: Path) -> None:
    form = header["format"]
    if type(form) is not int or form < 1:
        raise ValueError(f"its format is {form!r:.20}")
    if form > FORMAT:
        writer = _plain(header["versions"]).get("likewise")
        raise StoreError(
            f"{path} was written by likewise {writer!s:.20} in format {form}. This "
            f"version reads up to format {FORMAT}. Update likewise."
        )


# From arrays to a metric


def _put_together(header: dict[str, Any], arrays: Arrays) -> SavedMetric:
    by_column = header["by_column"]
    if not isinstance(header["members"], list) or not header["members"]:
        raise ValueError("it has no members")
    if header["format"] > 4:
        arrays |= packing.apart(arrays.pop(ALL), header["packed"], header["sizes"])
    if header["format"] > 1:
        arrays = packing.unpack(arrays, _shapes(header))
        if header["format"] > 2:
            arrays[guesses.SINGLE] = arrays.pop(guesses.WHOLE)
        if header["whole"] != _checksum("", arrays):
            raise ValueError("what was packed did not come back as it was")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"'{name}' holds numbers that are not finite")
        turned = array.T if name in by_column else array
        arrays[name] = turned.copy(order="K")  # what comes from a file is read-only
    directions = arrays["basis.directions"]
    if directions.ndim != 2 or 0 in directions.shape:
        raise ValueError(f"'basis.directions' has the shape {directions.shape}")
    d, k = directions.shape
    components = arrays["components"]
    _check_shape("components", components, (len(components), d))
    _check_shape("basis.centre", arrays["basis.centre"], (d,))
    _check_shape("evidence", arrays["evidence"], (len(arrays["evidence"]),))
    if header["basis"] not in BASES:
        raise ValueError(f"its basis is {header['basis']!r:.20}")
    belief = _belief(header["members"], arrays, k, header["basis"] == "full")
    return SavedMetric(
        _plain(header["settings"]),
        _plain(header["learned"]),
        Basis(header["basis"], arrays["basis.centre"], directions),
        belief.corrected(_calibration(_plain(header["calibration"]))),
        components,
        arrays["evidence"],
    )


def _belief(members: list[Any], arrays: Arrays, k: int, is_whole: bool) -> Belief:
    made = []
    for number, about in enumerate(members):
        start = f"member.{number}."
        own = {
            name.removeprefix(start): array
            for name, array in arrays.items()
            if name.startswith(start)
        }
        posterior = _posterior(_plain(about), own, k)
        if is_whole == isinstance(posterior, WeightPosterior):
            raise ValueError(f"a member of kind '{about['kind']}' has another basis")
        made.append(Member(str(about["name"]), _number(about["weight"]), posterior))
    weights = np.array([member.weight for member in made])
    if (weights < 0).any() or abs(weights.sum() - 1) > 1e-6:
        raise ValueError("the weights of its members do not add up to 1")
    return Belief(tuple(made))


def _calibration(about: dict[str, Any]) -> Calibration:
    (a, b), (c, d) = about["covariance"]
    slope = _number(about["slope"])
    if slope <= 0:
        raise ValueError(f"its calibration has the slope {slope}")
    covariance = ((_number(a), _number(b)), (_number(c), _number(d)))
    return Calibration(_number(about["shift"]), slope, covariance)


def _posterior(about: dict[str, Any], arrays: Arrays, k: int) -> MetricPosterior:
    made, shapes = POSTERIORS[about["kind"]]
    f = arrays[f"prior.{FREE}"].size // k if f"prior.{FREE}" in arrays else k
    sizes = {"2": 2, "k": k, "f": f, "w": 1 + k, "e": 2 + f * (f + 1) // 2}
    if "alpha" in shapes:
        sizes["p"] = arrays["alpha"].size
        arrays[TRIANGLE] = _unpacked(arrays[TRIANGLE], sizes["p"])
        _check_items(arrays["pairs"])
    parts: dict[str, Any] = {
        name: _fitting(name, arrays[name], letters, sizes)
        for name, letters in shapes.items()
    }
    if any(field.name == "prior" for field in fields(made)):  # type: ignore[arg-type]
        parts["prior"] = _prior(_plain(about["prior"]), arrays, sizes)
    return made(**parts)


def _prior(about: dict[str, Any], arrays: Arrays, sizes: dict[str, int]) -> MatrixPrior:
    parts: dict[str, Any] = {
        name: _fitting(name, arrays[f"prior.{name}"], letters, sizes)
        for name, letters in PRIOR.items()
    }
    if f"prior.{FREE}" in arrays:
        parts[FREE] = _fitting(FREE, arrays[f"prior.{FREE}"], "kf", sizes)
    parts |= {name: _number(about[name]) for name in PRIOR_NUMBERS}
    return MatrixPrior(**parts)


def _fitting(
    name: str, array: NDArray[Any], letters: str, sizes: dict[str, int]
) -> NDArray[Any]:
    _check_shape(name, array, tuple(sizes[letter] for letter in letters))
    wanted = np.integer if name == "pairs" else np.floating
    if not np.issubdtype(array.dtype, wanted):
        raise ValueError(f"'{name}' has the type {array.dtype}")
    return array.astype(np.intp) if name == "pairs" else array


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"'{name}' has the shape {array.shape}, not {shape}")


def _check_items(pairs: NDArray[Any]) -> None:
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < MAX_ITEMS:
        raise ValueError("its pairs point at rows that no items have")


def _plain(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"it has {value!r:.30} where names and values should be")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not np.isfinite(value):
        raise ValueError(f"it has {value!r:.30} where a number should be")
    return float(value)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r:.40}"
    if isinstance(error, RecursionError):
        return "its header is nested too deeply"
    if isinstance(error, MemoryError):
        return "it claims more than there is memory for"
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
        return "its header is no JSON"
    return str(error).rstrip(".")
