"""
Adult census data: which features carry the gap between the sexes?
==================================================================

A classifier predicts a high income more often for men than for women. ``explain_gap`` splits this difference exactly
into what the column of sex does by itself, what it does together with other features, and what each other feature
carries because its distribution differs between the sexes.
"""

# %%
# The data and the model
# ----------------------

import numpy as np
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from skglex import FeatureRemover, GlexDecomposer
from skglex.datasets import load_adult
from skglex.inspection import explain_gap

FEATURES = ["age", "workclass", "education-num", "marital-status", "occupation", "hours-per-week", "sex"]

X, income = load_adult(subset="train", return_X_y=True)
complete = X.drop(columns="fnlwgt").notna().all(axis=1)
X, y = X.loc[complete, FEATURES], (income[complete] == ">50K").astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
sex = X_test["sex"].astype(str)

model = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, enable_categorical=True)
model.fit(X_train, y_train)
decomposer = GlexDecomposer(model).fit(X_train[:5000])

# %%
# The gap
# -------
# The difference is that of the mean log-odds. The direct effect of sex is small beside what the marital status carries:
# more men than women in these data are married, and the model uses this.

gap = explain_gap(decomposer, X_test, sex, features="sex", reference="Female")
print(gap)
print("the features that carry most:", ", ".join(gap.proxies(3)))
display = gap.plot(target="a high income")
display.figure_.savefig("gap.png", dpi=100)

# %%
# After the removal of sex
# ------------------------
# A ``FeatureRemover`` takes the direct effect and the interactions away. What other features carry stays as it is, line
# by line. Removing the marital status as well leaves less.

for removed in (["sex"], ["sex", "marital-status"]):
    remover = FeatureRemover(model, removed).fit(X_train[:5000])
    after = explain_gap(remover, X_test, sex, features="sex", reference="Female")
    print(f"\nwithout {' and '.join(removed)}: {after.gap.item():.2f} instead of {after.before.sum():.2f}")
    print(after.table.head(5).round(3).to_string(index=False))

# %%
# Beside fairlearn
# ----------------
# fairlearn's ``MetricFrame`` computes metrics of the decisions by group. It says how large the differences are, and
# ``explain_gap`` says where they come from. It is optional here: ``pip install "skglex[fairness]"``.

remover = FeatureRemover(model, ["sex"]).fit(X_train[:5000])
decisions = {"full": model.predict(X_test), "without sex": remover.predict(X_test)}
try:
    from fairlearn.metrics import MetricFrame, selection_rate
    from sklearn.metrics import accuracy_score
except ImportError:
    print("fairlearn is not installed")
else:
    metrics = {"selection rate": selection_rate, "accuracy": accuracy_score}
    for name, decision in decisions.items():
        frame = MetricFrame(metrics=metrics, y_true=y_test, y_pred=decision, sensitive_features=sex)
        difference = frame.difference()
        shown = ", ".join(f"{metric} {value:.3f}" for metric, value in difference.items())
        print(f"{name}: differences between the sexes: {shown}")

# %%
# Neither number says whether a difference is justified: that depends on what the prediction is for.

means = {name: np.mean(decision) for name, decision in decisions.items()}
print(", ".join(f"{name}: {mean:.1%} predicted high" for name, mean in means.items()))
