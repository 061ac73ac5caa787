"""A search in PostgreSQL: the learned metric in pgvector

`transform` gives vectors in which Euclidean distance is the learned metric: any vector index can search them. Here PostgreSQL with pgvector, out of the package
pgserver; in your own database the SQL is the same. A linear map is all that new items need. For a project of the
tool `likewise export-metric FILE out.sql` writes such SQL: [Export](../export.md).
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pgserver
from sklearn.datasets import load_digits

from likewise import ActiveMetric

X, y = load_digits(return_X_y=True)
learner = ActiveMetric(X[:300], random_state=0)
for _ in range(10):
    pairs = learner.ask(10)
    learner.tell(pairs, [y[i] == y[j] for i, j in pairs])
metric = learner.metric_
Z = metric.transform(X).astype(np.float32)

database = pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
rows = ",".join(f"({i}, '{z.tolist()}')" for i, z in enumerate(Z))
database.psql(f"""
    CREATE EXTENSION vector;
    CREATE TABLE digits (item integer PRIMARY KEY, place vector({Z.shape[1]}));
    INSERT INTO digits VALUES {rows};
    CREATE INDEX ON digits USING hnsw (place vector_l2_ops);
""")
asked, k = [400, 500, 600, 700], 8
figure, axes = plt.subplots(len(asked), k + 1, figsize=(6, 3))
for item, axis_row in zip(asked, axes, strict=True):
    answer = database.psql(f"""
        SELECT string_agg(item::text, ' ' ORDER BY far) FROM (
            SELECT item, place <-> '{Z[item].tolist()}' AS far FROM digits
            WHERE item <> {item} ORDER BY far LIMIT {k}) AS nearest;
    """)
    found = [int(word) for word in answer.split() if word.isdigit()][:k]
    exact = np.argsort(np.linalg.norm(Z - Z[item], axis=1))[1 : k + 1]
    print(f"a {y[item]}: found {y[found]}, {np.isin(found, exact).mean():.0%} exact")
    for axis, shown in zip(axis_row, [item, *found], strict=True):
        axis.imshow(X[shown].reshape(8, 8), cmap="gray_r")
        axis.set_axis_off()
database.cleanup()
