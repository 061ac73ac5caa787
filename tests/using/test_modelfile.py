"""Metrics on disk: every bit the same on the way back, and no harm from any file."""

import hashlib
import json
import pickle
import struct
from dataclasses import fields, replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save
from sklearn.datasets import load_digits

import likewise
from likewise import (
    ActiveMetric,
    BayesianMetric,
    Belief,
    MetricPosterior,
    Neighbours,
    StoreError,
)
from likewise.model.belief import Member
from likewise.model.posterior import EntryPosterior
from likewise.model.priors import MatrixPrior, with_free_directions
from likewise.pairs import all_pairs, draw_pairs
from likewise.using import modelfile, packing

KINDS = {
    "the whole matrix": {},
    "noisy items": {"item_noise": 2.0, "prior": "unlabelled"},
    "weights": {"basis": "eigen", "n_basis": 3},
    "a point": {"basis": "axes", "inference": "mle", "prior_precision": 1.0},
}


def fitted(blobs, **options):
    X, y = blobs
    pairs = np.array([(i, j) for i in range(0, 60, 7) for j in range(i + 1, 60, 9)])
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    return BayesianMetric(random_state=0, **options).fit_pairs(X, pairs, labels)


@pytest.fixture
def metric(blobs):
    return fitted(blobs)


@pytest.fixture
def file(metric, tmp_path):
    path = tmp_path / "birds.metric"
    metric.save(path)
    return path


def assert_same(one, other, X):
    """To the last bit, in all that a metric says."""
    pairs = np.array([(i, j) for i in range(30) for j in range(i + 1, 30)])
    assert_array_equal(one.pair_probability(X, pairs), other.pair_probability(X, pairs))
    assert_array_equal(one.transform(X), other.transform(X))
    assert_array_equal(
        one.pair_distance(X, pairs, return_std=True),
        other.pair_distance(X, pairs, return_std=True),
    )
    draws = [
        each.posterior_.sample(4, np.random.RandomState(3)) for each in (one, other)
    ]
    assert_array_equal(*draws)
    found = [Neighbours(each, X).query([0, 7], k=5) for each in (one, other)]
    assert_array_equal(found[0].p_same, found[1].p_same)
    assert_array_equal(found[0].confidence, found[1].confidence)
    for name in vars(one):
        if name not in ("posterior_", "basis_"):
            assert_array_equal(getattr(one, name), getattr(other, name), name)


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_back_is_bit_equal(blobs, tmp_path, kind):
    """Settings, what was learned, and every answer, known items included."""
    metric = fitted(blobs, **KINDS[kind])

    metric.save(tmp_path / "it.metric")
    again = likewise.load(tmp_path / "it.metric")

    assert again.get_params() == metric.get_params()
    assert_same(metric, again, blobs[0])


def test_many_pairs_come_back_bit_equal(blobs, tmp_path):
    """So many that the belief is kept by its parameters."""
    X, y = blobs
    pairs = np.array([(i, j) for i in range(60) for j in range(i + 1, 60)])[:1600]
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)

    metric.save(tmp_path / "it.metric")
    again = likewise.load(tmp_path / "it.metric")

    kinds = {type(member.posterior).__name__ for member in again.posterior_.members}
    assert kinds == {"EntryPosterior"}
    assert_same(metric, again, X)


def test_a_matrix_that_is_free_in_part_comes_back(metric, blobs, tmp_path):
    """By pairs or by parameters: the directions that it is free in are kept."""
    X, members = blobs[0], metric.posterior_.members
    prior = with_free_directions(members[0].posterior.prior, np.eye(5), 2)
    by_pairs = replace(members[0].posterior, prior=prior)
    variance = np.diag(prior.parameter_variance)
    by_entries = EntryPosterior(prior, prior.parameter_mean, variance)
    made = [Member("a", 0.75, by_pairs), Member("b", 0.25, by_entries)]
    metric.posterior_ = Belief(tuple(made))
    metric.members_ = {"a": 0.75, "b": 0.25}

    metric.save(tmp_path / "it.metric")

    assert_same(metric, likewise.load(tmp_path / "it.metric"), X)


def test_all_that_a_fit_to_classes_leaves_comes_back(blobs, tmp_path):
    """Every attribute of it."""
    X, y = blobs
    metric = BayesianMetric(random_state=0).fit(X[::6], y[::6])

    metric.save(tmp_path / "it.metric")

    assert_same(metric, likewise.load(tmp_path / "it.metric"), X)


def test_names_and_chance_come_back(blobs, tmp_path):
    """The names of a table's columns; a random state where it stood."""
    pandas = pytest.importorskip("pandas")
    X, y = blobs
    chance = np.random.RandomState(5)
    chance.standard_normal(3)
    table = pandas.DataFrame(X[::6], columns=list("abcde"))
    metric = BayesianMetric(random_state=chance, n_basis=np.int64(4))
    metric.fit(table, y[::6])

    metric.save(tmp_path / "it.metric")
    again = likewise.load(tmp_path / "it.metric")

    assert_array_equal(again.feature_names_in_, list("abcde"))
    assert_array_equal(again.transform(table), metric.transform(table))
    assert again.random_state.standard_normal() == chance.standard_normal()


def test_it_holds_no_items(blobs, tmp_path):
    """Ten times the items, the same size: some tens of kilobytes."""
    X, y = blobs
    sizes = {}
    for times in (1, 10):
        many = np.concatenate([X + 0.01 * k for k in range(times)])
        metric = BayesianMetric(random_state=0, prior="unlabelled")
        metric.fit_pairs(many, [[0, 1], [0, 30], [25, 50], [2, 9]], [1, -1, -1, 1])
        metric.save(tmp_path / "it.metric")
        sizes[times] = (
            (tmp_path / "it.metric").stat().st_size,
            len(pickle.dumps(metric)),
        )

    assert abs(sizes[10][0] - sizes[1][0]) < 100
    assert abs(sizes[10][1] - sizes[1][1]) < 100
    assert sizes[10][0] < 10_000


def test_what_follows_from_the_rest_is_not_stored(tmp_path):
    """Digits: a sixth of what it has in memory, five members and pairs and all."""
    X, y = load_digits(return_X_y=True)
    pairs = draw_pairs(300, 120, np.random.RandomState(0))
    metric = BayesianMetric(random_state=0)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric.fit_pairs(X[:300], pairs, labels)

    metric.save(tmp_path / "it.metric")

    arrays = metric.components_.nbytes + metric.basis_.directions.nbytes
    for member in metric.posterior_.members:
        held = [
            *vars(member.posterior).values(),
            *vars(member.posterior.prior).values(),
        ]
        arrays += sum(each.nbytes for each in held if isinstance(each, np.ndarray))
    assert (tmp_path / "it.metric").stat().st_size < arrays / 6
    assert_same(metric, likewise.load(tmp_path / "it.metric"), X[:300])


def test_many_labelled_items_fit_in_tens_of_kilobytes(tmp_path):
    """Of 600 drawn pairs the root of the covariance takes next to nothing."""
    X, y = load_digits(return_X_y=True)
    metric = BayesianMetric(random_state=0).fit(X[:200], y[:200])

    metric.save(tmp_path / "it.metric")

    assert (tmp_path / "it.metric").stat().st_size < 100_000
    assert_same(metric, likewise.load(tmp_path / "it.metric"), X)


def test_numbers_with_all_their_digits_take_few_bytes(tmp_path, rng):
    """Gaps once, rotations by half of their numbers, of axes and L nothing."""
    y = rng.randint(0, 10, 300)
    X = rng.standard_normal((10, 60))[y] + rng.standard_normal((300, 60))
    pairs = draw_pairs(300, 120, rng)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)

    metric.save(tmp_path / "it.metric")

    sizes = sizes_of(tmp_path / "it.metric")
    n_turned = len(metric.members_) - ("unit" in metric.members_)
    assert n_turned > 1
    assert sizes["gaps"] < 2.6 * 120 * 60
    assert sizes["frame"] < 2.8 * n_turned * 60**2 / 2
    assert sizes["directions"] < 300
    assert sizes["components.whole"] < 200
    assert_same(metric, likewise.load(tmp_path / "it.metric"), X)


def sizes_of(path):
    """Bytes of what is packed, by a word of its name."""
    text, _ = modelfile._read_arrays(path)
    header = json.loads(text)
    sizes = dict(zip(sorted(header["packed"]), header["sizes"], strict=True))
    return {
        words: sum(size for name, size in sizes.items() if words in name)
        for words in ("gaps", "frame", "directions", "components.whole")
    }


@pytest.mark.parametrize("n_told", [3, 120])
def test_items_of_128_numbers_fit_in_tens_of_kilobytes(tmp_path, rng, n_told):
    """L of so many numbers follows from the belief, by whatever few answers."""
    y = rng.randint(0, 10, 300)
    X = rng.standard_normal((10, 128))[y] + rng.standard_normal((300, 128))
    pairs = draw_pairs(300, n_told, rng)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)

    metric.save(tmp_path / "it.metric")

    n_turned = len(metric.members_) - ("unit" in metric.members_)
    kilobytes = 12 + 21 * n_turned + 0.4 * n_told
    assert (tmp_path / "it.metric").stat().st_size < 1000 * kilobytes
    assert sizes_of(tmp_path / "it.metric")["components.whole"] < 1000
    assert "components" not in load_file(tmp_path / "it.metric")
    again = likewise.load(tmp_path / "it.metric")
    assert_array_equal(again.components_, metric.components_)
    assert_array_equal(
        again.pair_probability(X, pairs), metric.pair_probability(X, pairs)
    )


@pytest.mark.parametrize("kind", [*KINDS, "many pairs", "free in part", "one told"])
def test_components_follow_from_any_belief(blobs, tmp_path, monkeypatch, kind):
    """To all but a few of their bits, whatever the belief is kept by."""
    monkeypatch.setattr(modelfile, "MOST_PLAIN", 0)
    X, y = blobs
    if kind in KINDS:
        metric = fitted(blobs, **KINDS[kind])
    elif kind == "one told":
        metric = BayesianMetric(random_state=0).fit_pairs(X, [[0, 1]], [1])
    else:
        pairs = np.array([(i, j) for i in range(60) for j in range(i + 1, 60)])[:1600]
        labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        X = np.hstack([X, X**2, X[:, :1] * X, X**3])
        X = X[:, :5] if kind == "many pairs" else np.hstack([X, X * X[:, 1:2], 1 / X])
        metric = BayesianMetric(random_state=0).fit_pairs(X, pairs, labels)
        assert (metric.n_free_ < X.shape[1]) == (kind == "free in part")

    metric.save(tmp_path / "it.metric")

    assert sizes_of(tmp_path / "it.metric")["components.whole"] < 150
    again = likewise.load(tmp_path / "it.metric")
    assert_array_equal(again.components_, metric.components_)


def test_it_is_plain_safetensors(metric, file):
    """Any reader finds L in single precision; the header says what made it."""
    arrays = load_file(file)
    data = file.read_bytes()
    table = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    header = json.loads(table["__metadata__"]["likewise"])["header"]

    assert_array_equal(arrays["components"], metric.components_.astype(np.float32))
    assert header["format"] == 5
    assert header["versions"]["likewise"] == "0.1.0"
    assert header["learned"]["fingerprint"] == metric.fingerprint_
    assert [each["name"] for each in header["members"]] == list(metric.members_)


def test_the_same_metric_gives_the_same_file(metric, tmp_path, file):
    """Byte for byte, loaded or not."""
    likewise.load(file).save(tmp_path / "again.metric")

    assert (tmp_path / "again.metric").read_bytes() == file.read_bytes()


def test_joblib_keeps_working(metric, blobs, tmp_path):
    """And a copy by pickle."""
    joblib.dump(metric, tmp_path / "it.joblib")

    assert_same(metric, joblib.load(tmp_path / "it.joblib"), blobs[0])
    assert_same(metric, pickle.loads(pickle.dumps(metric)), blobs[0])


def test_skops_keeps_working(metric, blobs):
    """With the types of ours that it asks to be trusted."""
    skops = pytest.importorskip("skops.io")

    data = skops.dumps(metric)

    trusted = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("likewise.", "functools.")) for name in trusted)
    assert_same(metric, skops.loads(data, trusted=trusted), blobs[0])


def test_every_part_of_a_posterior_is_kept():
    """A field that is added to one must be added to the file."""
    for made, shapes in modelfile.POSTERIORS.values():
        assert {field.name for field in fields(made)} - {"prior"} == set(shapes)
    kept = {*modelfile.PRIOR, *modelfile.PRIOR_NUMBERS, modelfile.FREE}
    assert {field.name for field in fields(MatrixPrior)} == kept
    assert {made for made, _ in modelfile.POSTERIORS.values()} <= leaves(
        MetricPosterior
    )
    assert len(leaves(MetricPosterior)) == len(modelfile.POSTERIORS)


def leaves(kind):
    below = [leaf for each in kind.__subclasses__() for leaf in leaves(each)]
    return {each for each in below if each.__module__.startswith("likewise")} or {kind}


# Files that are not what they should be


def rewritten(file, change_header=None, change_table=None, is_summed=True):
    """Take a file apart, change it, and put it together with a right checksum."""
    data = file.read_bytes()
    n_header = struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8 : 8 + n_header])
    both = json.loads(table["__metadata__"]["likewise"])
    if change_header is not None:
        change_header(both["header"])
    if is_summed:
        text = json.dumps(both["header"], sort_keys=True)
        both["sha256"] = checksum(text, load_file(file))
    table["__metadata__"]["likewise"] = json.dumps(both)
    if change_table is not None:
        change_table(table)
    text = json.dumps(table).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + n_header :])


def checksum(text, arrays):
    """Written out: the header, then each array's name, type, shape and bytes."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def test_a_rewritten_file_is_read(file, metric, blobs):
    """What the following tests change is the only thing wrong with their files."""
    rewritten(file)

    assert_same(metric, likewise.load(file), blobs[0])


def test_a_file_of_format_1_is_read(file, metric, blobs):
    """It had all arrays plain."""
    text, arrays = modelfile._read_arrays(file)
    header = json.loads(text)
    every = arrays.pop(modelfile.ALL)
    arrays |= packing.apart(every, header["packed"], header.pop("sizes"))
    arrays = packing.unpack(arrays, modelfile._shapes(header))
    arrays["components"] = arrays.pop("components.whole")
    header["format"] = 1
    del header["packed"], header["whole"]
    text = json.dumps(header)
    both = json.dumps({"header": text, "sha256": checksum(text, arrays)})
    file.write_bytes(save(arrays, metadata={"likewise": both}))

    assert_same(metric, likewise.load(file), blobs[0])


def test_a_file_that_format_4_wrote_is_read(tmp_path):
    """It says what it said then, to the last bit of L; and so it does saved again."""
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, 60)
    X = 4.0 * rng.randint(0, 5, (4, 5))[y] + rng.randint(0, 9, (60, 5))
    path = Path(__file__).parent / "format4.metric"

    metric = likewise.load(path)

    assert_allclose(
        metric.pair_probability(X, [[0, 1], [0, 29], [12, 13], [20, 25]]),
        [
            0.002543844969983222,
            0.861528744792071,
            1.5348420879845502e-4,
            3.574513783755016e-05,
        ],
        rtol=1e-12,
    )
    assert_array_equal(
        metric.transform(X[:1])[0],
        [
            0.40510837733745575,
            3.8900545993819833,
            4.829176694620401,
            0.6902739033102989,
            1.5276760328561068,
        ],
    )
    metric.save(tmp_path / "again.metric")
    assert (tmp_path / "again.metric").stat().st_size < path.stat().st_size
    assert_same(metric, likewise.load(tmp_path / "again.metric"), X)


def test_a_file_that_format_3_wrote_is_read(tmp_path):
    """It says what it said then; saved again, it is as long as it was, not longer."""
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, 60)
    X = 4.0 * rng.randint(0, 5, (4, 5))[y] + rng.randint(0, 9, (60, 5))
    path = Path(__file__).parent / "format3.metric"

    metric = likewise.load(path)

    assert_allclose(
        metric.pair_probability(X, [[0, 1], [0, 29], [12, 13], [20, 25]]),
        [
            0.010484857444542289,
            0.7106445772307737,
            7.967323239829439e-4,
            3.11210257158799e-3,
        ],
        rtol=1e-12,
    )
    assert metric.members_["unit"] == pytest.approx(0.5940006627762356)
    assert len(metric.members_) == 6
    metric.save(tmp_path / "again.metric")
    assert (tmp_path / "again.metric").stat().st_size < 1.1 * path.stat().st_size
    assert_same(metric, likewise.load(tmp_path / "again.metric"), X)


def test_a_newer_file_gets_a_sentence(file):
    """It says who wrote it and what to do."""

    def newer(header):
        header["format"] = 6
        header["versions"]["likewise"] = "9.1"

    rewritten(file, newer)

    words = "written by likewise 9.1 in format 6. This version reads up to format 5"
    with pytest.raises(StoreError, match=words):
        likewise.load(file)


HEADERS = {
    "no members": (lambda h: h.update(members=[]), "it has no members"),
    "members missing": (lambda h: h.pop("members"), "it has no 'members'"),
    "another kind": (
        lambda h: h["members"][0].update(kind="pickle"),
        "it has no 'pickle'",
    ),
    "a weight that is a text": (
        lambda h: h["members"][0].update(weight="1"),
        "it has '1' where a number should be",
    ),
    "weights that do not add up": (
        lambda h: h["members"][0].update(weight=7.0),
        "weights of its members do not add up to 1",
    ),
    "a format of text": (lambda h: h.update(format="1"), "its format is '1'"),
    "settings that are none": (lambda h: h.update(settings=[]), r"it has \[\] where"),
    "a setting unknown": (
        lambda h: h["settings"].update(colour="red"),
        "unexpected keyword argument 'colour'",
    ),
    "a setting out of range": (
        lambda h: h["settings"].update(max_iter=-1),
        "'max_iter' must be a number at least 1",
    ),
    "another basis": (lambda h: h.update(basis="eigen"), "kind 'pairs' has another"),
    "a shape that is too large": (
        lambda h: h["packed"].update({"member.0.gaps": ["f", 10**6, 10**6]}),
        "bytes are said to hold 1,000,",
    ),
    "a shape that is none": (
        lambda h: h["packed"].update({"member.0.gaps": ["f", -1, 5]}),
        r"'member.0.gaps' has the shape \[-1, 5\]",
    ),
    "flat gaps of other pairs": (
        lambda h: h["packed"].update({"member.0.pairs": ["i", 2, 24]}),
        "its packed numbers are not 384 bytes",
    ),
    "sizes of other parts": (
        lambda h: h.update(sizes=[1, 2]),
        "packed bytes are not those of its parts",
    ),
    "no sizes": (lambda h: h.update(sizes=None), "object is not iterable"),
    "weights of text": (
        lambda h: h["members"][-1].update(weight=None),
        "it has None where a number should be",
    ),
    "another sum": (lambda h: h.update(whole=""), "did not come back as it was"),
    "names missing": (
        lambda h: h["learned"].update(feature_names=["a"]),
        "there are 1 names of features",
    ),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_forged_header_gets_a_sentence(file, what):
    """With a right checksum: whoever forges a file can add."""
    change, words = HEADERS[what]
    rewritten(file, change)

    with pytest.raises(StoreError, match=words):
        likewise.load(file)


@pytest.mark.parametrize("forged", [{"scale": 0.0}, {"offset": 1.0}, {"offset": 1e308}])
def test_components_of_a_forged_prior_get_a_sentence(
    metric, tmp_path, monkeypatch, forged
):
    """Where L is not there in single precision, it follows from such numbers."""
    monkeypatch.setattr(modelfile, "MOST_PLAIN", 0)
    path = tmp_path / "birds.metric"
    metric.save(path)
    rewritten(path, lambda header: header["members"][0]["prior"].update(forged))

    with pytest.raises(StoreError, match="division by zero|did not come back"):
        likewise.load(path)


TABLES = {
    "a huge shape": (
        lambda t: t["components"].update(shape=[2**40, 2**40]),
        r"'components' has the shape \[1099511627776, 1099511627776\], too large",
    ),
    "a negative shape": (
        lambda t: t["components"].update(shape=[-1, 5]),
        r"'components' has the shape \[-1, 5\]",
    ),
    "too many axes": (
        lambda t: t["components"].update(shape=[1] * 40),
        "'components' has the shape",
    ),
    "another type": (
        lambda t: t["components"].update(dtype="BF16"),
        "'components' has the type 'BF16'",
    ),
    "outside the file": (
        lambda t: t["components"].update(data_offsets=[0, 2**50]),
        "is no metric that likewise wrote, or it is damaged",
    ),
    "no array": (lambda t: t.pop("components"), "is no metric that likewise wrote"),
    "no header of ours": (lambda t: t.pop("__metadata__"), "no '__metadata__'"),
}


@pytest.mark.parametrize("what", TABLES)
def test_forged_shapes_and_types_get_a_sentence(file, what):
    """Before anything is allocated that they ask for."""
    change, words = TABLES[what]
    rewritten(file, change_table=change)

    with pytest.raises(StoreError, match=words):
        likewise.load(file)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.6, 0.999])
def test_a_truncated_file_gets_a_sentence(file, share):
    """Wherever it ends."""
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])

    with pytest.raises(StoreError, match="no metric that likewise wrote, or it is dam"):
        likewise.load(file)


def test_every_flipped_byte_is_noticed(file, metric, blobs, rng):
    """In the header or in the numbers: a sentence, never another metric."""
    data = file.read_bytes()
    for place in [*range(40), *rng.randint(len(data), size=60).tolist()]:
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x11]) + data[place + 1 :])

        with pytest.raises(StoreError, match="birds.metric"):
            likewise.load(file)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff" * 100, "its header has 18,446,744,073,709,551,615 bytes"),
        (struct.pack("<Q", 50) + b"[" * 50, "its header is no JSON"),
        (struct.pack("<Q", 10**6) + b"[" * 10**6, "nested too deeply|no JSON"),
        (struct.pack("<Q", 4) + b"null    ", "it has None where names and values"),
        (pickle.dumps({"a": list(range(99))}), "damaged: its header has"),
    ],
)
def test_other_files_get_a_sentence(tmp_path, data, words):
    """Noise, brackets without end, a pickle: it is never executed."""
    path = tmp_path / "x.metric"
    path.write_bytes(data)

    with pytest.raises(StoreError, match=words):
        likewise.load(path)


def test_arrays_of_another_shape_get_a_sentence(file):
    """Turned round, so that it has as many numbers."""

    def smaller(header):
        header["members"] = header["members"][:1]
        header["members"][0]["weight"] = 1.0
        header["by_column"] = [*header["by_column"], "member.0.gaps"]

    rewritten(file, smaller)

    with pytest.raises(StoreError, match=r"its shapes do not fit: \(5, .* and \("):
        likewise.load(file)


def test_no_file_and_no_place(metric, tmp_path):
    """Names that lead nowhere."""
    with pytest.raises(StoreError, match="There is no file"):
        likewise.load(tmp_path / "none.metric")
    with pytest.raises(StoreError, match="is no file"):
        likewise.load(tmp_path)
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        metric.save(tmp_path / "nowhere" / "it.metric")


def test_a_metric_that_learned_nothing_cannot_be_saved(tmp_path):
    """As scikit-learn says it."""
    with pytest.raises(ValueError, match="not fitted yet"):
        BayesianMetric().save(tmp_path / "it.metric")


def test_what_came_true_is_kept(blobs, tmp_path):
    """A metric learned by asking says the same after the file, correction and all."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    for _ in range(4):
        asked = learner.ask(10)
        learner.tell(asked, np.where(y[asked[:, 0]] == y[asked[:, 1]], 1, -1))
    metric = learner.metric_
    assert metric.posterior_.calibration.shift != 0

    metric.save(tmp_path / "asked.metric")

    again = likewise.load(tmp_path / "asked.metric")
    assert again.posterior_.calibration == metric.posterior_.calibration
    assert_same(metric, again, X)


def test_a_file_written_in_format_2_is_read():
    """Its gaps are guessed from those in single precision, and not rounded."""
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, 60)
    X = 4.0 * rng.randint(0, 5, (4, 5))[y] + rng.randint(0, 9, (60, 5))

    metric = likewise.load(Path(__file__).parent / "format2.metric")

    assert_allclose(
        metric.pair_probability(X, [[0, 1], [0, 29], [12, 13], [20, 25]]),
        [
            0.0016533613444400467,
            0.8320261974105709,
            1.6369582046572072e-4,
            1.0886240560178682e-4,
        ],
        rtol=1e-12,
    )


def claiming(file, **claimed):
    """Write a file anew whose arrays of zeros have other shapes, and a checksum."""
    text, arrays = modelfile._read_arrays(file)
    header = json.loads(text)
    parts = packing.apart(arrays[modelfile.ALL], header["packed"], header["sizes"])
    for name, (kind, *shape) in claimed.items():
        name = name.replace("__", ".")
        header["packed"][name] = [kind, *shape]
        parts[name] = packing.packed(np.zeros(shape, np.int64), None)
    header["sizes"] = [parts[name].size for name in sorted(parts)]
    arrays[modelfile.ALL] = np.concatenate([parts[name] for name in sorted(parts)])
    text = json.dumps(header)
    both = json.dumps({"header": text, "sha256": checksum(text, arrays)})
    file.write_bytes(save(arrays, metadata={"likewise": both}))


@pytest.fixture
def file_of_whole_numbers(rng, tmp_path):
    """Its gaps are stored as whole numbers in units."""
    X = np.rint(4 * rng.normal(size=(30, 4)))
    pairs, labels = all_pairs(30)[::18], np.resize([1, -1, -1], 25)
    path = tmp_path / "whole.metric"
    metric = BayesianMetric(prior="unlabelled", random_state=0)
    metric.fit_pairs(X, pairs, labels).save(path)
    return path


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        ({"own_unit": ("f", 1, 8_000_000)}, "its gaps have no unit"),
        ({"flat_steps": ("i", 8_000_000)}, "its gaps are on no grid"),
        ({"member__0__prior__frame": ("f", 2, 3)}, "no orthonormal columns"),
        ({"basis__directions": ("f", 4000, 4000)}, "no orthonormal columns"),
    ],
)
def test_shapes_that_would_fill_the_memory_are_refused(
    file_of_whole_numbers, claimed, message
):
    """Before anything of that size is made, whatever the checksum says."""
    claiming(file_of_whole_numbers, **claimed)

    with pytest.raises(StoreError, match=message):
        likewise.load(file_of_whole_numbers)
