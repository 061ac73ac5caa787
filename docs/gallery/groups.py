"""Groups: 150 digits sorted

Nobody says how many groups there are. Questions are chosen by what they sort; every answer is respected. Rows of the picture are groups, the most typical digit first.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from likewise import ActiveMetric

X, y = (part[:150] for part in load_digits(return_X_y=True))
learner = ActiveMetric(X, acquisition="groups", random_state=0)
for n_answers in range(10, 81, 10):
    pairs = learner.ask(10)
    learner.tell(pairs, [y[i] == y[j] for i, j in pairs])
    groups = learner.groups()
    if n_answers % 20 == 0:
        index = adjusted_rand_score(y, groups.labels)
        print(
            f"{n_answers} answers: {groups.n_groups} groups, adjusted Rand index {index:.3f}"
        )
print(groups)

figure, axes = plt.subplots(min(groups.n_groups, 12), 14, figsize=(7, 6))
for number, row in enumerate(axes):
    for axis in row:
        axis.set_axis_off()
    for axis, item in zip(row, groups.members(number)[:14], strict=False):
        axis.imshow(X[item].reshape(8, 8), cmap="gray_r")
