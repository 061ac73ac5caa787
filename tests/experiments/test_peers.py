"""The peers' environment: failures told, and the real thing."""

import sys

import numpy as np
import pytest

from likewise.experiments import peers
from likewise.experiments.methods import METHODS
from likewise.experiments.protocol import draw_split, score_space


@pytest.fixture
def items(rng):
    """Five classes along one of six features, the others of larger scale."""
    y = np.repeat(np.arange(5), 60)
    X = rng.normal(size=(300, 6)) * 3
    X[:, 0] = y + 0.1 * rng.normal(size=300)
    return X, y


def test_an_environment_without_metric_learn_tells_its_error(
    items, tmp_path, monkeypatch
):
    """The rival's own message reaches the table."""
    (tmp_path / "bin").mkdir()
    script = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    (tmp_path / "bin" / "python").write_text(script)
    (tmp_path / "bin" / "python").chmod(0o755)
    monkeypatch.setenv("LIKEWISE_PEERS", str(tmp_path))
    X, y = items

    with pytest.raises(peers.PeerError, match="No module named 'metric_learn'"):
        METHODS["LMNN"](X, y, draw_split(y, 30, 0))


def test_an_interpreter_that_dies_is_told(items, tmp_path, monkeypatch):
    """Exit code and last line, not a traceback of ours."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(
        "#!/bin/sh\necho out of luck >&2\nexit 3\n"
    )
    (tmp_path / "bin" / "python").chmod(0o755)
    monkeypatch.setenv("LIKEWISE_PEERS", str(tmp_path))
    X, y = items

    with pytest.raises(peers.PeerError, match="exit code 3: out of luck"):
        METHODS["ITML"](X, y, draw_split(y, 30, 0))


def test_a_half_built_environment_is_not_ready(tmp_path, monkeypatch):
    """Only what was built to the end counts, and with what is wanted now."""
    monkeypatch.setenv("LIKEWISE_PEERS", str(tmp_path))
    is_empty_ready = peers.is_ready()
    peers.interpreter().parent.mkdir(parents=True)
    peers.interpreter().touch()
    (tmp_path / "ready").write_text("metric-learn==0.6.0\n")
    is_old_ready = peers.is_ready()
    (tmp_path / "ready").write_text(peers.WANTED)

    assert not is_empty_ready
    assert not is_old_ready
    assert peers.is_ready()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LMNN", "ITML"])
def test_the_real_metric_learn_learns(items, name):
    """In its own environment, on our splits, to a metric that is no worse."""
    if not peers.is_ready():
        try:
            peers.build()
        except (peers.PeerError, OSError) as error:
            pytest.skip(f"metric-learn's environment could not be built: {error}")
    X, y = items
    split = draw_split(y, 30, 0)
    learned = METHODS[name](X, y, split)
    before, after = (score_space(Z, y, split) for Z in (X, learned.Z))

    assert learned.Z.shape == X.shape
    assert after.accuracy_labelled >= before.accuracy_labelled
    assert after.auc > before.auc
