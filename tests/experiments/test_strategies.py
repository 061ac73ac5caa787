"""The curves: the same start for all, twenty a round, only pairs of the pool."""

import numpy as np
import pytest

from likewise.experiments import strategies
from likewise.experiments.protocol import draw_split, pairs_among

NAMES = list(strategies.STRATEGIES)


@pytest.fixture(scope="module")
def curves():
    """One short run of every strategy on the same split."""
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(5), 60)
    X = rng.normal(size=(300, 8))
    X[:, :2] += 2 * np.column_stack([y % 3, y // 3])
    split = draw_split(y, strategies.POOL_SIZE, 0)
    return {
        name: strategies.run_strategy(name, X, y, split, n_initial=10, seed=0)
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_has_the_start_and_eight_rounds(curves, name):
    """Nine rows; scores between 0 and 1; time goes on."""
    rows = curves[name]

    assert [row["round"] for row in rows] == list(range(9))
    for score in ("accuracy_rest", "accuracy_pool", "auc"):
        assert all(0 <= row[score] <= 1 for row in rows)
    assert (np.diff([row["seconds"] for row in rows]) >= 0).all()


@pytest.mark.parametrize("name", NAMES[:-1])
def test_all_but_ours_know_what_was_answered_only(curves, name):
    """Ten answers, then twenty a round; nothing is implied."""
    rows = curves[name]

    assert [row["n_answers"] for row in rows] == list(range(10, 171, 20))
    assert [row["n_known"] for row in rows] == list(range(10, 171, 20))


def test_ours_knows_more_than_it_asked(curves):
    """Implied pairs count; it never asks more than the others."""
    rows = curves["likewise"]

    assert all(row["n_known"] >= row["n_answers"] for row in rows)
    assert rows[-1]["n_known"] > rows[-1]["n_answers"]
    assert rows[-1]["n_answers"] <= 170


def test_all_start_from_the_same_answers(curves):
    """Before the first question, strategies that learn alike score alike."""
    first = {name: curves[name][0]["auc"] for name in NAMES}

    assert first["MLE+RAND"] == first["MLE+ACT"]
    assert first["BAYES+RAND"] == first["BAYES+ACT"] == first["BAYES+VAR"]


def test_random_asking_is_the_same_for_both_models():
    """RAND depends on the seed and on what is open, not on what was learned."""
    y = np.repeat(np.arange(5), 20)
    X = np.random.RandomState(1).normal(size=(100, 4))
    pool = draw_split(y, 50, 0).labelled if len(y) > 150 else np.arange(0, 100, 2)
    candidates, labels = pairs_among(pool, y)
    asked = []
    for how in ("mle", "bayes"):
        loop = strategies.PaperLoop(X, candidates, how, "random", seed=3)
        loop.tell(candidates[:10], labels[:10])
        asked.append(loop.ask(20))

    assert np.array_equal(*asked)
    assert not {tuple(p) for p in asked[0].tolist()} & {
        tuple(p) for p in candidates[:10].tolist()
    }
