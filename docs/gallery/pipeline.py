"""Many labels in a pipeline: where it helps, and where it does not

A metric and a nearest-neighbour classifier in one pipeline, with 20 to 800 labelled digits; plain distance beside it, and support vectors; judged on 997 other digits. In this run the metric helps
with 50 labels, and is behind plain distance with 200 and 800. The README shows what rows without a label add.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from likewise import BayesianMetric

X, y = load_digits(return_X_y=True)
X, y, X_new, y_new = X[:800], y[:800], X[800:], y[800:]
order = np.random.RandomState(0).permutation(800)
models = {
    "likewise, 1NN": make_pipeline(
        BayesianMetric(random_state=0), KNeighborsClassifier(1)
    ),
    "plain 1NN": KNeighborsClassifier(1),
    "support vectors": SVC(),
}
sizes = (20, 50, 200, 800)
for name, model in models.items():
    scores = []
    for n_labels in sizes:
        rows = order[:n_labels]
        scores.append(model.fit(X[rows], y[rows]).score(X_new, y_new))
    print(f"{name}:", *(f"{score:.3f}" for score in scores))
    plt.plot(sizes, scores, marker="o", label=name)

plt.xscale("log")
plt.xticks(sizes, sizes)
plt.minorticks_off()
plt.xlabel("labels")
plt.ylabel("accuracy, new digits")
plt.legend()
