"""
Two years of bike sharing: what changed?
========================================

In 2012 people rented far more bikes than in 2011. Is it the weather, are there more days of a kind, or do people behave
in another way under the same conditions? The change of the mean prediction splits exactly into these parts.
"""

# %%
# Two data sets and two models
# ----------------------------
# Both models have the same features, which do not contain the year. The old model is trained on 2011, the new one on
# 2012. The rows of 2011 are the background of both.

from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import load_bike_sharing
from skglex.inspection import compare_models, explain_shift
from skglex.plotting import ComponentDisplay

FEATURES = ["dayofyear", "hr", "temp", "workingday", "hum"]

X, y = load_bike_sharing(return_X_y=True)
X["temp"] = 47 * X["temp"] - 8
old, new = X["yr"] == 0, X["yr"] == 1
X_old, y_old, X_new, y_new = X.loc[old, FEATURES], y[old], X.loc[new, FEATURES], y[new]


def fit(X, y):
    """Return a model of one year."""
    model = XGBRegressor(n_estimators=200, max_depth=4, learning_rate=0.1, min_child_weight=20, n_jobs=1)
    return model.fit(X, y)


model_old, model_new = fit(X_old, y_old), fit(X_new, y_new)
print(f"mean rides per hour: {y_old.mean():.0f} in 2011, {y_new.mean():.0f} in 2012")

# %%
# Only the data
# -------------
# How would the old model predict the year 2012? The change of its mean prediction is the sum over its components. 2012
# was less humid and warmer, so the marginal distributions of these features account for most of the change. It is
# small: six rides per hour of 91.

decomposer = GlexDecomposer(model_old).fit(X_old)
shift = explain_shift(decomposer, X_old, X_new)
print(shift)

# %%
# Data and model
# --------------
# With the new model for the new year, there is a third part: what the new model predicts differently, over the rows of
# 2012. Almost all of the change is in it, most of it in the intercept. So there were more rides under the same
# conditions, and more so at some hours than at others.

shift = explain_shift(decomposer, X_old, X_new, model_new=model_new)
print(shift)
display = shift.plot(k=8, target="rides", units="per hour")
display.figure_.savefig("two_years.png", dpi=100)

# %%
# Where the models differ
# -----------------------
# ``compare_models`` compares both models over one background, here the rows of both years. The differences of the
# components add up to the difference of the predictions in every row. The curves show that the new model has higher
# peaks in the mornings and evenings.

comparison = compare_models({"2011": model_old, "2012": model_new}, X[FEATURES])
print(comparison)
rows = comparison.differences(X_new[:1000])
difference = model_new.predict(X_new[:1000]) - model_old.predict(X_new[:1000])
print(
    f"largest deviation from the difference of the predictions: {abs(rows.sum(axis=1) - difference).max():.1e}"
)

rides = {"target": "rides", "units": "per hour"}
display = ComponentDisplay.from_decomposers(comparison, ["hr", "temp", "dayofyear"], X=X[FEATURES], **rides)
display.figure_.savefig("two_years_curves.png", dpi=100)
