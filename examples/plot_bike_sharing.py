"""
Bike sharing: when do people ride, and why does the hour alone not tell?
========================================================================

An XGBoost model predicts how many bikes are rented in an hour. We take it apart into main effects and
interactions and draw the ones that matter, as in figure 3 of the paper [1]_. :doc:`The paper, reproduced </paper>` has
all of that figure, also of a planted forest.
"""

# %%
# The data
# --------
# The paper uses the hours of the year 2011 and six features. The temperature comes scaled to [0, 1]; we put
# it back on degrees Celsius, so that the axes can be read.

from pathlib import Path

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

# %%
# The model
# ---------
# A component is only as true as its model, so we grow 300 trees, and ask for twenty rows in a leaf, which makes the
# curves less ragged.

model = XGBRegressor(n_estimators=300, max_depth=5, learning_rate=0.1, min_child_weight=20)
folds = KFold(4, shuffle=True, random_state=0)
print(f"R2: {cross_val_score(model, X, y, cv=folds).mean():.2f}")

# %%
# The decomposition
# -----------------
# ``fit`` turns the trees into components, ``transform`` evaluates them: a column for every main effect and
# every interaction of two or three features, and one, ``remainder``, for all above. Nothing is lost: with the
# intercept, the columns add up to the prediction.

model.fit(X, y)
decomposer = GlexDecomposer(model, max_interaction=3).set_output(transform="pandas").fit(X)
components = decomposer.transform(X)
total = decomposer.intercept_ + components.sum(axis=1)

print(f"{len(decomposer.components_)} components, intercept {decomposer.intercept_:.1f} rides per hour")
print(f"largest difference to the prediction: {np.abs(total - model.predict(X)).max():.1e}")
print(f"mean size of all beyond three features: {components['remainder'].abs().mean():.1f} rides per hour")

# %%
# Looking at components
# ---------------------
# A component of a tree model is constant between thresholds, and ``ComponentDisplay`` draws it as it is: steps, bars
# and rectangles. The panels of a figure have one scale, and the colours are centred on zero. ``X`` sets the ranges and
# names the levels; with ``subsample=0`` none of its rows is drawn as a point. In grey: where the data are.
#
# The main effects are in the first row, the pairs in the second, and the interaction of three features, one panel for
# days off and one for working days, in the third. The first panel has the SHAP values of the hour around its main
# effect.

plt.rcParams.update({"font.size": 11})
figure = plt.figure(figsize=(9, 10.5), layout="constrained")
rows = figure.subfigures(3, 1, hspace=0.03)
main = rows[0].subplots(1, 3, width_ratios=[5, 4, 2])
axes = [*main, *rows[1].subplots(1, 2), *rows[2].subplots(1, 2)]
ShapDisplay.from_decomposer(decomposer, "hr", X, colour_by="workingday", ax=axes[0])
ComponentDisplay.from_decomposer(
    decomposer,
    ["temp", "workingday", ("hr", "workingday"), ("hr", "temp"), ("hr", "temp", "workingday")],
    X=X,
    subsample=0,
    ax=axes[1:],
)
picture = Path("bike_sharing.png").resolve()
figure.savefig(picture, dpi=100)

# %%
# What it shows
# -------------
# * Rides peak when people go to work and when they come home, and rise with the temperature until it gets
#   hot. The main effect of the working day is next to nothing: as many rides, at other hours.
# * *hour × working day* is where working days matter: the morning peak belongs to them, the early afternoon
#   to days off. Looking only at main effects, or at a ranking of features, one would have missed it.
# * *hour × temperature*: a warm evening adds to the rides, a cold one takes away.
# * *hour × temperature × working day*: on days off, warmth counts for more around noon, and for less in the
#   evening, than the pair says. On working days it is the other way round, and weaker, as there are twice as
#   many of them.
#
# The three maps have one scale, so they can be compared. Where there are hardly any data, as at noon below
# zero, the model extrapolates, and so do its components.
#
# What SHAP values blur
# ---------------------
# The SHAP value of the hour is its main effect plus a half of each pair, a third of each interaction of three
# features, and so on. At eight on a day off these say opposite things: a large positive main effect (most
# days are working days), and a larger negative interaction. The SHAP value mixes them into one number of
# neither size, the other half of the interaction going to the working day.

eight_off = X[(X["hr"] == 8) & (X["workingday"] == 0)]
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
ImportanceDisplay.from_decomposer(decomposer, k=12).figure_.savefig("bike_importance.png", dpi=100)
print(f"Picture: {picture}")

# %%
# One hour
# --------
# Eight in the morning of a day off, from the mean prediction through the components: what the hour adds, the hour of a
# day off takes away.

WaterfallDisplay.from_decomposer(decomposer, eight_off).figure_.savefig("bike_waterfall.png", dpi=100)

# %%
# References
# ----------
# .. [1] M. Hiabu, J. T. Meyer and M. N. Wright (2023). Unifying local and global model explanations by
#    functional decomposition of low dimensional structures. AISTATS 2023, `PMLR 206:7040-7060
#    <https://proceedings.mlr.press/v206/hiabu23a.html>`_.
