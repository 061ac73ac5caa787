"""How many answers are saved, what do flipped ones cost, does it stop in time?

The paper's protocol: a pool of 50 items, 10 random answers, then 20 a round. Beside it
stands someone who knows every answer and asks for the kind that is wanted: what no
learner can do.

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
ROUNDS = range(N_FIRST, N_ANSWERS + 1, N_ROUND)
AT_RANDOM = {"acquisition": "random", "equivalence": False}


class Person:
    """Answers about the pairs of a pool, a share of them wrong."""

    def __init__(self, source, seed, flipped=0.0, **choices):
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
            self.X, model, candidates=self.pairs, random_state=seed, **choices
        )

    def answer(self, pairs):
        """Tell the learner about these pairs."""
        told = [self.answers[tuple(sorted(pair))] for pair in pairs.tolist()]
        self.learner.tell(pairs, told)

    def auc(self):
        """ROC AUC of "same" by the learned distance, over pairs of unseen items."""
        distance = self.learner.metric_.pair_distance(self.X, self.unseen)
        return roc_auc_score(self.truth > 0, -distance)


def ask_learner(person, rng):
    """A round of the learner's own questions."""
    person.answer(person.learner.ask(N_ROUND))


def curve(source, seed, ask=ask_learner, flipped=0.0, **choices):
    """AUC after each round."""
    person = Person(source, seed, flipped, **choices)
    rng = np.random.default_rng(seed)
    person.answer(person.pairs[rng.choice(len(person.pairs), N_FIRST, replace=False)])
    reached = [person.auc()]
    for _ in ROUNDS[1:]:
        ask(person, rng)
        reached.append(person.auc())
    return reached


def ask_knowing(kinds):
    """A round of open pairs drawn among those whose answer is wanted, in turn."""

    def ask(person, rng):
        for turn in range(N_ROUND):
            known = set(map(tuple, person.learner.known_pairs().pairs.tolist()))
            rest = [pair for pair in person.answers if pair not in known]
            kind = kinds[turn % len(kinds)]
            wanted = [pair for pair in rest if person.answers[pair] == kind] or rest
            if wanted:
                person.answer(rng.choice(wanted, 1))

    return ask


def answers_needed(values, goal):
    """Where a curve first reaches a goal, between rounds on a straight line."""
    reached = np.flatnonzero(values >= goal)
    if len(reached) == 0:
        return np.inf
    k = reached[0]
    return np.interp(goal, values[: k + 1][-2:], ROUNDS[: k + 1][-2:])


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
            random, clean, flipped = (
                np.mean([curve(source, seed, **how) for seed in seeds], axis=0)
                for how in (AT_RANDOM, {}, {"flipped": FLIPPED})
            )
            needed = answers_needed(clean, random[-1])
            print(f"{name}: {needed:.0f} answers reach what {N_ANSWERS} at random do")
            print(f"    at random {np.round(random, 3)}")
            print(f"    likewise  {np.round(clean, 3)}")
            for what, kinds in {"half of each": (1, -1), "all same": (1,)}.items():
                ask = ask_knowing(kinds)
                values = np.mean([curve(source, s, ask) for s in seeds], axis=0)
                needed = answers_needed(values, random[-1])
                print(f"    chosen by their answers, {what}: {needed:.0f}", end=" ")
                print(np.round(values, 3))
            print(
                f"{name}: AUC {clean[-1]:.3f}, with one answer in ten flipped", end=" "
            )
            print(f"{flipped[-1]:.3f} ({flipped[-1] - clean[-1]:+.3f})")
            gains, shares = np.array([stopping(source, seed) for seed in seeds]).T
            print(f"{name}: stops after {shares.mean():.0%} of the pool", end=" ")
            print(f"(most {shares.max():.0%}); AUC there, less the end's:", end=" ")
            print(f"mean {gains.mean():+.3f}, worst {gains.min():+.3f}", flush=True)


if __name__ == "__main__":
    main()
