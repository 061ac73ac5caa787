"""Fits of growing logs, some of whose answers are wrong."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.asking.answers import AnswerLog
from likewise.model import fitting
from likewise.model.checkpoints import Checkpoints
from likewise.model.climbing import Rules
from likewise.model.fitting import Told
from likewise.model.priors import Choices, look_at


@pytest.fixture
def frames(blobs, rng):
    """Priors of items in three classes."""
    choices = Choices("full", None, "evidence", 1.0, None, None)
    return look_at(blobs[0], np.ones(60), choices, rng)


def heard(y, rng, n_answers, share_wrong):
    """A log of answers, so many of which are wrong, and which these are."""
    pairs = np.column_stack(np.triu_indices(len(y), 1))
    pairs = pairs[rng.permutation(len(pairs))[:n_answers]]
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1.0, -1.0)
    wrong = rng.uniform(size=n_answers) < share_wrong
    log = AnswerLog(len(y), equivalence=True)
    log.tell(pairs, np.where(wrong, -labels, labels), "a", [None] * n_answers)
    return log, pairs, wrong


def test_wrong_answers_are_weighed_by_all_the_others(frames, blobs, rng):
    """One in ten is wrong: the loss on all pairs is below that of believing all.

    And the others tell which answers are wrong.
    """
    y = blobs[1]
    log, answered, wrong = heard(y, rng, 120, 0.1)
    pairs = np.column_stack(np.triu_indices(len(y), 1))
    Z, same = frames.coordinates, y[pairs[:, 0]] == y[pairs[:, 1]]
    features = frames.basis.features(Z[pairs[:, 0]] - Z[pairs[:, 1]])

    weighed = Checkpoints(frames, Rules(), 0).fit_at(120, log)
    told = Told(*log.evidence(rng))
    naive = fitting.fit(frames, told._replace(right=None), Rules())

    losses = [
        -np.log(np.where(same, p, 1 - p)).mean()
        for p in (each.belief.probability_same(features) for each in (naive, weighed))
    ]
    assert losses[1] < 0.9 * losses[0]
    says_same = (y[answered[:, 0]] == y[answered[:, 1]]) != wrong
    p_same = np.array([weighed.by_others[i, j] for i, j in answered.tolist()])
    agree = np.where(says_same, p_same, 1 - p_same)
    assert agree[wrong].mean() < 0.3 < 0.7 < agree[~wrong].mean()


def test_who_never_errs_is_believed_outright(frames, blobs, rng):
    """Every answer counts as it was given, and the fit is the plain one."""
    log, _, _ = heard(blobs[1], rng, 60, 0.0)

    found = Checkpoints(frames, Rules(), 0).fit_at(60, log)

    told = Told(*log.evidence(np.random.RandomState([0, 60]), found.by_others))
    assert_array_equal(told.right, 1)
    plain = fitting.fit(frames, told._replace(right=None), Rules())
    assert_array_equal(found.best.evidence, plain.best.evidence)


def test_fits_between_checkpoints_weigh_as_the_last_one_did(frames, blobs, rng):
    """120 answers follow the fit of 116; a fresh start finds the same."""
    log, _, _ = heard(blobs[1], rng, 120, 0.1)
    kept = Checkpoints(frames, Rules(), 0)
    base = kept.fit_at(116, log)

    found, anew = kept.fit(log), Checkpoints(frames, Rules(), 0).fit(log)

    assert found.by_others == base.by_others
    assert_array_equal(found.best.evidence, anew.best.evidence)
