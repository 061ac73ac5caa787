"""Digits: what 100 answers teach

300 handwritten digits, a person who says whether two show the same one, ten questions at a time. The questions of likewise beside questions drawn at random;
judged by the AUC of "same" on 200 digits that nobody asked about. One run: it is behind at ten answers, ahead at 20 and 30, and from 40 on the two are within .005.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from likewise import ActiveMetric

X, y = load_digits(return_X_y=True)
pool, new = slice(0, 300), slice(300, 500)
for acquisition in ("entropy", "random"):
    learner = ActiveMetric(X[pool], acquisition=acquisition, random_state=0)
    scores = []
    for _ in range(10):
        pairs = learner.ask(10)
        learner.tell(pairs, [y[i] == y[j] for i, j in pairs])
        scores.append(learner.metric_.score(X[new], y[new]))
    print(f"{acquisition}: AUC {scores[0]:.3f} after 10, {scores[-1]:.3f} after 100")
    plt.plot(range(10, 101, 10), scores, marker="o", label=acquisition)

plt.xlabel("answers")
plt.ylabel("AUC of same, new digits")
plt.legend()
