"""Photographs: neighbours before and after 60 answers

Every other one of 500 Corel photographs (`LIKEWISE_DATA` names the folder that has them), seen by the built-in embedding. 60 pairs are answered by
category; how many of the five nearest are right before, and after, and the map of both.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.decomposition import PCA

from likewise import ActiveMetric, Neighbours
from likewise.features import pictures
from likewise.features.projection import fit_projection

folder = Path(os.environ["LIKEWISE_DATA"], "corel")
files = sorted(folder.glob("*/*.jpg"))[::2]
kinds = np.array([file.parent.name for file in files])
embedding = pictures.builtin()
vectors = embedding([Image.open(file) for file in files])
X = fit_projection(vectors)(vectors)

learner = ActiveMetric(X, random_state=0)
before = learner.metric_
for _ in range(6):
    pairs = learner.ask(10)
    learner.tell(pairs, [kinds[i] == kinds[j] for i, j in pairs])
after = learner.metric_

figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for axis, name, metric in zip(axes, ("before", "after"), (before, after), strict=True):
    found = Neighbours(metric, X).query(np.arange(len(X)), k=5, n_draws=0).rows
    right = kinds[found] == kinds[:, None]
    print(f"{name}: {right.mean():.3f} of the five nearest are of the same category")
    places = PCA(2).fit_transform(metric.transform(X))
    for kind in np.unique(kinds):
        axis.scatter(*places[kinds == kind].T, s=12, label=kind)
    axis.set_title(name)
axes[1].legend()
