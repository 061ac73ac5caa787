"""What do flipped answers cost, and does it stop in time? A pool of 50 items.

Usage: LIKEWISE_DATA=folder python benchmarks/asking.py [n_repeats]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from likewise import ActiveMetric, BayesianMetric
from likewise.experiments.datasets import draw_items, prepare_source, read_source
from likewise.experiments.protocol import draw_split, pairs_among

N_FIRST, N_ROUND, N_ANSWERS, FLIPPED = 10, 20, 130, 0.1


class Person:
    """Answers about the pairs of a pool, a share of them wrong."""

    def __init__(self, source, seed, flipped=0.0):
        self.X, self.y = draw_items(source, seed)
        split = draw_split(self.y, 50, seed)
        self.pairs, labels = pairs_among(split.labelled, self.y)
        rng = np.random.default_rng(99 + seed)
        labels = np.where(rng.random(len(labels)) < flipped, -labels, labels)
        told = zip(self.pairs.tolist(), labels.tolist(), strict=True)
        self.answers = {tuple(pair): label for pair, label in told}
        self.unseen, self.truth = pairs_among(split.test, self.y)
        model = BayesianMetric(random_state=0)
        self.learner = ActiveMetric(
            self.X, model, candidates=self.pairs, random_state=seed
        )

    def answer(self, pairs):
        """Tell the learner about these pairs."""
        told = [self.answers[tuple(sorted(pair))] for pair in pairs.tolist()]
        self.learner.tell(pairs, told)

    def auc(self):
        """ROC AUC of "same" by the learned distance, over pairs of unseen items."""
        distance = self.learner.metric_.pair_distance(self.X, self.unseen)
        return roc_auc_score(self.truth > 0, -distance)


def final_auc(source, seed, flipped):
    """AUC after all answers of the paper's protocol."""
    person = Person(source, seed, flipped)
    rng = np.random.default_rng(seed)
    person.answer(person.pairs[rng.choice(len(person.pairs), N_FIRST, replace=False)])
    for _ in range(N_FIRST, N_ANSWERS, N_ROUND):
        person.answer(person.learner.ask(N_ROUND))
    return person.auc()


def stopping(source, seed):
    """AUC and share of the pool asked at the first "stop", less the AUC at the end."""
    person, stopped = Person(source, seed), None
    while len(pairs := person.learner.ask(N_FIRST)):
        person.answer(pairs)
        if stopped is None and person.learner.should_stop().stop:
            n_asked = len(person.learner.history())
            stopped = person.auc(), n_asked / len(person.pairs)
    return stopped[0] - person.auc(), stopped[1]


def main():
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder:
        for name in ("isolet", "corel"):
            source = read_source(prepare_source(name, Path(folder)))
            seeds = range(n_repeats)
            clean, flipped = (
                np.mean([final_auc(source, seed, share) for seed in seeds])
                for share in (0.0, FLIPPED)
            )
            print(f"{name}: AUC {clean:.3f}, with one answer in ten flipped", end=" ")
            print(f"{flipped:.3f} ({flipped - clean:+.3f})")
            gains, shares = np.array([stopping(source, seed) for seed in seeds]).T
            print(f"{name}: stops after {shares.mean():.0%} of the pool", end=" ")
            print(f"(most {shares.max():.0%}); AUC there, less the end's:", end=" ")
            print(f"mean {gains.mean():+.3f}, worst {gains.min():+.3f}", flush=True)


if __name__ == "__main__":
    main()
