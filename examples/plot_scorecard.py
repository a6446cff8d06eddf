"""
A boosted model as a scorecard
==============================

A scorecard is a sum of points that one can read: so many for the age, so many for the hours of work. We keep the 20
strongest components of a boosted model of the adult census data, make the sum monotone in education, and write it as
one SQL statement, which a database runs without Python. Reason codes say what moved a row most.
"""

# %%
# The model
# ---------
# Incomes above 50,000 dollars are the target. Columns that the law or good sense forbids in a score stay out: sex, race
# and the country of birth. The model keeps all missing values.

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from xgboost import XGBClassifier

from skglex import ComponentModel
from skglex.datasets import load_adult

FEATURES = [
    "age", "workclass", "education-num", "marital-status", "occupation", "capital-gain", "capital-loss",
    "hours-per-week",
]  # fmt: skip
X, income = load_adult(subset="train", return_X_y=True)
X_test, income_test = load_adult(subset="test", return_X_y=True)
X, X_test = X[FEATURES], X_test[FEATURES]
y, y_test = (income == ">50K").astype(int), (income_test == ">50K").astype(int)
classifier = XGBClassifier(
    n_estimators=200, max_depth=3, learning_rate=0.15, enable_categorical=True, n_jobs=2
)
classifier.fit(X, y)

# %%
# Twenty terms, monotone in education
# -----------------------------------
# More education should never cost points, all else equal. `~ComponentModel.monotonize` changes the main effect of
# education and its interactions as little as possible, and `~ComponentModel.monotonicity` is the certificate: it has
# looked at every combination of bins. The skill is the share of the deviance that the model explains, on the test rows.

scorecard = ComponentModel(classifier, n_terms=20, n_background=10_000, random_state=0).fit(X)
monotone = scorecard.monotonize("education-num", increasing=True)
print(scorecard.monotonicity("education-num", increasing=True).status)
print(monotone.monotonicity("education-num", increasing=True).status)


def skill(probability):
    """Return the share of the deviance of the test rows that is explained."""
    constant = np.full(len(y_test), y.mean())
    return 1 - log_loss(y_test, probability) / log_loss(y_test, constant)


for name, model in {"all of the model": classifier, "20 terms": scorecard, "monotone": monotone}.items():
    print(f"{name:<17} {skill(model.predict_proba(X_test)[:, 1]):.3f}")

# %%
# The points of education before and after:

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for model, label, style in ((scorecard, "20 terms", "--"), (monotone, "monotone", "-")):
    component = model.components_["education-num"]
    edges = component.edges[0]
    ax.stairs(
        component.values[:-1], [0.5, *edges, 16.5], baseline=None, label=label, linestyle=style, linewidth=2
    )
ax.set(xlabel="education-num", ylabel="points (log-odds)")
ax.legend(frameon=False)
figure.show()

# %%
# The tables
# ----------
# `~ComponentModel.to_tables` has a data frame for each term. Points are on the scale of the log-odds; we show them as
# scorecards do, where 20 points double the odds.

tables = monotone.to_tables()
table = tables["marital-status"]
table["scaled"] = (table["points"] * 20 / np.log(2)).round()
print(table.to_string(index=False))

# %%
# In the database
# ---------------
# `~ComponentModel.to_sql` writes one statement with look-up tables. We let DuckDB run it on the test rows, and compare.
# The statement has other texts for SQLite, PostgreSQL, BigQuery, Snowflake and SQL Server.

statement = monotone.to_sql(dialect="duckdb", table="people", keep=["id"])
people = X_test.astype({name: object for name in X_test if X_test[name].dtype == "category"})
with duckdb.connect() as connection:
    connection.register("frame", people.assign(id=np.arange(len(people))))
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    scores = connection.execute(statement).df().sort_values("id")
difference = np.abs(scores["margin"] - monotone.margin(X_test)).max()
assert difference < 1e-9
print(f"{len(statement.splitlines()):,} lines; largest difference in the margin: {difference:.1e}")

# %%
# Reason codes
# ------------
# Why is the score of a row low? The points of every feature are compared with their mean over the background
# (``reference="best"`` would count the points that a row loses against the best value). The two kinds of capital income
# are one reason.

reasons = monotone.reason_codes(X_test[:3], k=3, groups={"capital": ["capital-gain", "capital-loss"]})
with pd.option_context("display.precision", 2):
    print(reasons.to_string(index=False))
