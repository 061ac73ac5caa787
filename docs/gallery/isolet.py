"""One data set, two meanings of "same": letters, and what they rhyme with

260 spoken letters of isolet (`LIKEWISE_DATA` names the folder that has it). One person means the letter, another the sound that it ends on: B, C, D, E, G, P, T, V
and Z are the same to her. Each answers 150 questions; each metric is judged by both meanings, on 260 other recordings.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from likewise import ActiveMetric

stored = np.load(Path(os.environ["LIKEWISE_DATA"], "isolet.npz"))
X = PCA(30, random_state=0).fit_transform(stored["X"])
rhymes = "BCDEGPTVZ AHJK FLMNSX IY QUW O R".split()
letter = stored["y"] - 1
rhyme = np.array(
    [next(n for n, r in enumerate(rhymes) if chr(65 + k) in r) for k in letter]
)
shuffled = np.random.RandomState(0).permutation(len(X))
pool, new = shuffled[:260], shuffled[260:520]

table = []
for name, meant in (("letter", letter), ("rhyme", rhyme)):
    learner = ActiveMetric(X[pool], random_state=0)
    for _ in range(15):
        pairs = learner.ask(10)
        learner.tell(pairs, [meant[pool[i]] == meant[pool[j]] for i, j in pairs])
    metric = learner.metric_
    table.append([metric.score(X[new], each[new]) for each in (letter, rhyme)])
    print(
        f"asked for the {name}: AUC of letters {table[-1][0]:.3f}, rhymes {table[-1][1]:.3f}"
    )

places = np.arange(2)
plt.bar(places - 0.2, [row[0] for row in table], 0.4, label="judged by letter")
plt.bar(places + 0.2, [row[1] for row in table], 0.4, label="judged by rhyme")
plt.xticks(places, ["asked for the letter", "asked for the rhyme"])
plt.ylim(0.5, 1)
plt.ylabel("AUC of same, new recordings")
plt.legend()
