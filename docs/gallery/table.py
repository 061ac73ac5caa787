"""A table: which columns decide

Wines as a table of pandas: 13 columns in their own units, from a share to milligrams. 40 answers about who made them. Column names go in, and come back in what
explains a pair.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from likewise import ActiveMetric

X, y = load_wine(return_X_y=True, as_frame=True)
learner = ActiveMetric(X, random_state=0)
for _ in range(4):
    pairs = learner.ask(10)
    learner.tell(pairs, [y[i] == y[j] for i, j in pairs])
metric = learner.metric_
print(f"AUC of same over all pairs: {metric.score(X, y):.3f}")
print(learner.why([0, 100]))

# What a column's usual spread moves the squared distance by.
weights = np.diag(metric.get_mahalanobis_matrix()) * X.var().to_numpy()
order = np.argsort(weights)
plt.figure(figsize=(6, 4))
plt.barh(X.columns[order], weights[order] / weights.sum())
plt.xlabel("share of the distance")
plt.tight_layout()
