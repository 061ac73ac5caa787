"""Texts: the same request in other words

Forty requests to a help desk, of four kinds. The built-in vectors of letters and meanings, then 20 answers; the map before and after.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from likewise import ActiveMetric
from likewise.features.projection import fit_projection
from likewise.features.texts import text_vectors

things = ["phone", "laptop", "watch", "printer", "camera"]
kinds = {
    "refund": ["I want my money back for the {}", "Please reimburse me for this {}"],
    "delivery": ["Where is the {} that I ordered?", "My {} has not arrived yet"],
    "repair": ["The {} is broken", "My {} does not turn on any more"],
    "praise": ["I love the new {}", "What a wonderful {}, thank you"],
}
texts = [
    text.format(thing) for each in kinds.values() for text in each for thing in things
]
y = [kind for kind, each in kinds.items() for _ in each for _ in things]
vectors = text_vectors(texts)
X = fit_projection(vectors)(vectors)

learner = ActiveMetric(X, random_state=0)
before = learner.metric_
for _ in range(4):
    pairs = learner.ask(5)
    learner.tell(pairs, [y[i] == y[j] for i, j in pairs])
after = learner.metric_

figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for name, metric, axis in zip(("before", "after"), (before, after), axes, strict=True):
    print(f"{name}: AUC of same over all pairs {metric.score(X, y):.3f}")
    places = PCA(2).fit_transform(metric.transform(X))
    for kind in kinds:
        rows = [row for row, each in enumerate(y) if each == kind]
        axis.scatter(*places[rows].T, label=kind)
    axis.set_title(name)
axes[1].legend()
