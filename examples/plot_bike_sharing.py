"""
Bike sharing: at which hours do people ride, and why does it depend on the day?
===============================================================================

An XGBoost model predicts how many bikes are rented in an hour. We decompose it into main effects and interactions and
draw those that matter, as in figure 3 of the paper [1]_. :doc:`The paper, reproduced </method/paper>` has the whole
figure, also for a planted forest.
"""

# %%
# The data
# --------
# The paper uses the hours of the year 2011 and six features. The temperature is scaled to [0, 1]. We
# convert it to degrees Celsius, and name the two kinds of days, so that the pictures are easy to read.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, cross_val_score
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import load_bike_sharing
from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay

FEATURES = ["dayofyear", "hr", "temp", "windspeed", "workingday", "hum"]

X, y = load_bike_sharing(return_X_y=True)
first_year = X["yr"] == 0
X, y = X.loc[first_year, FEATURES], y[first_year]
X["temp"] = 47 * X["temp"] - 8
X["workingday"] = pd.Categorical.from_codes(X["workingday"].astype(int), ["day off", "working day"])

# %%
# The model
# ---------
# The components are only as good as the model, so we grow 300 trees. At least twenty rows per leaf make the curves
# smoother.

model = XGBRegressor(
    n_estimators=300, max_depth=5, learning_rate=0.1, min_child_weight=20, enable_categorical=True
)
folds = KFold(4, shuffle=True, random_state=0)
print(f"R2: {cross_val_score(model, X, y, cv=folds).mean():.2f}")

# %%
# The decomposition
# -----------------
# ``fit`` turns the trees into components, and ``transform`` evaluates them. The result has a column for every main
# effect and for every interaction of two or three features. The column ``remainder`` has the sum of all others.
# Together with the intercept, the columns add up to the prediction.

model.fit(X, y)
decomposer = GlexDecomposer(model, max_interaction=3).set_output(transform="pandas").fit(X)
components = decomposer.transform(X)
total = decomposer.intercept_ + components.sum(axis=1)

print(f"{len(decomposer.components_)} components, intercept {decomposer.intercept_:.1f} rides per hour")
print(f"largest difference from the prediction: {np.abs(total - model.predict(X)).max():.1e}")
print(f"mean size of all beyond three features: {components['remainder'].abs().mean():.1f} rides per hour")

# %%
# Looking at components
# ---------------------
# A component of a tree model is constant between thresholds. ``ComponentDisplay`` draws exactly this: steps, bars
# and rectangles. All panels of a figure have the same scale, and the colours are centred on zero. ``X`` sets the
# ranges and names the levels. With ``subsample=0`` none of its rows is drawn as a point. The histograms in grey
# show where the data are.
#
# The first row shows main effects, the second row pairs. The third row shows the interaction of three features, with
# one panel for days off and one for working days. The first panel also shows the SHAP values of the hour.

figure, axes = plt.subplots(3, 2, figsize=(6.8, 8.4), layout="constrained")
titles = [
    "Two peaks: to work and home",
    "More rides when it is warm",
    "Commuters: two peaks on\nworking days",
    "Warm evenings have more rides",
    "On days off, warmth counts\nmore at noon",
    "On working days, the reverse,\nand weaker",
]
for ax, title in zip(axes.flat, titles):
    ax.set_title(title, loc="left")
rides = {"target": "rides", "units": "per hour"}
ShapDisplay.from_decomposer(decomposer, "hr", X, colour_by="workingday", ax=axes[0, 0], **rides)
ComponentDisplay.from_decomposer(
    decomposer,
    ["temp", ("hr", "workingday"), ("hr", "temp"), ("hr", "temp", "workingday")],
    X=X,
    subsample=0,
    ax=axes.ravel()[1:],
    **rides,
)
for ax in axes.flat[1:3]:
    ax.set_ylim(axes[0, 0].get_ylim())
figure.savefig("bike_sharing.png", dpi=100)

# %%
# What it shows
# -------------
# * Rides peak when people go to work and when they come home. They rise with the temperature until it gets hot. The
#   main effect of the working day (not drawn) is almost zero: there are as many rides as on days off, but at other
#   hours.
# * *hour × working day* shows how working days matter: they have the morning peak, and days off have the early
#   afternoon. Main effects alone, or a ranking of features, would not show this.
# * *hour × temperature*: a warm evening has more rides, a cold evening has fewer.
# * *hour × temperature × working day*: on days off, warmth has a larger effect around noon, and a smaller effect in
#   the evening, than the pair alone shows. On working days it is the other way round, and weaker, because there are
#   twice as many working days.
#
# The three maps have the same scale, so you can compare them. Where there are hardly any data, as at noon below zero,
# the model extrapolates, and so do its components.
#
# What SHAP values hide
# ---------------------
# The SHAP value of the hour is its main effect, plus one half of each pair, one third of each interaction of three
# features, and so on. At eight on a day off these have opposite signs: a large positive main effect (most days are
# working days), and a larger negative interaction. The SHAP value mixes them into one number. The other half of the
# interaction goes to the SHAP value of the working day.

eight_off = X[(X["hr"] == 8) & (X["workingday"] == "day off")]
shap_values = pd.DataFrame(decomposer.shap_values(eight_off), columns=X.columns).mean()
print("At eight on a day off, in rides per hour")
for name in ["hr", "workingday", "hr:workingday"]:
    print(f"  component {name:13}  {decomposer[name].evaluate(eight_off)[0]:+7.1f}")
for name in ["hr", "workingday"]:
    print(f"  mean SHAP {name:13}  {shap_values[name]:+7.1f}")
dependence = decomposer.partial_dependence(["hr", "workingday"], eight_off)[0]
print(f"  partial dependence of both {dependence - decomposer.intercept_:+.1f} around the intercept")

# %%
# The largest components
# ----------------------
# The importance of a component is the mean of its absolute value over the background, here the training data.

strongest = decomposer.strongest_components(12)
table = pd.DataFrame(
    {"component": [c.name for c in strongest], "importance": [c.importance for c in strongest]}
)
print("The largest components, mean absolute value in rides per hour")
print(table.to_string(index=False, float_format="{:.1f}".format))
ImportanceDisplay.from_decomposer(decomposer, k=12, **rides).figure_.savefig("bike_importance.png", dpi=100)

# %%
# One hour
# --------
# This picture is for eight in the morning of a day off. It goes from the mean prediction through the components. The
# main effect of the hour adds rides, and the interaction with the day off takes them away.

WaterfallDisplay.from_decomposer(decomposer, eight_off, row=0, **rides).figure_.savefig(
    "bike_waterfall.png", dpi=100
)
print("Pictures, in this folder: bike_sharing.png, bike_importance.png, bike_waterfall.png")

# %%
# References
# ----------
# .. [1] M. Hiabu, J. T. Meyer and M. N. Wright (2023). Unifying local and global model explanations by
#    functional decomposition of low dimensional structures. AISTATS 2023, `PMLR 206:7040-7060
#    <https://proceedings.mlr.press/v206/hiabu23a.html>`_.
