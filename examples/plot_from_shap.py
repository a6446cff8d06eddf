"""
From SHAP values to components, for readers who know shap
=========================================================

A SHAP value is one number per row and feature. A component is a function that you can look at. This example shows how
components explain SHAP values, for the same model and with the same numbers.
"""

# %%
# A model with an interaction
# ---------------------------
# There are two correlated features, and their product matters: the function is x0 + x1 + 2 x0 x1. At x0 = 1 and
# x1 = -0.7, the two parts of the SHAP value of x0 cancel.

import matplotlib.pyplot as plt
import numpy as np
import xgboost
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import make_motivating
from skglex.plotting import ComponentDisplay, ShapDisplay, WaterfallDisplay

X, y = make_motivating(10_000, random_state=0)
model = XGBRegressor(n_estimators=100, max_depth=4, learning_rate=0.1).fit(X, y)

# %%
# The SHAP values you know
# ------------------------
# With ``weighting="path_dependent"`` they are XGBoost's own ``pred_contribs``, which shap calls
# "tree_path_dependent". (Give its explainer no data to compare: with data it counts the covers of the trees again.) The
# default, ``"empirical"``, averages over all rows that ``fit`` gets. shap calls this "interventional", and uses a
# hundred rows.

path_dependent = GlexDecomposer(model, weighting="path_dependent").fit(X)
contribs = model.get_booster().predict(xgboost.DMatrix(X), pred_contribs=True)
print(
    f"largest difference from pred_contribs: {np.abs(path_dependent.shap_values(X) - contribs[:, :-1]).max():.0e}"
)

decomposer = GlexDecomposer(model).fit(X)
shap_values = decomposer.shap_values(X)

# %%
# What they are made of
# ---------------------
# The components add up to the prediction, and each is a function of its features only. A SHAP value is the main
# effect, plus one half of every pair, one third of every interaction of three features, and so on.

names = [component.name for component in decomposer.components_]
print("components:", ", ".join(names))
parts = decomposer["x0"].evaluate(X) + decomposer["x0:x1"].evaluate(X) / 2
print("SHAP value of x0 = m_x0 + m_x0:x1 / 2:", np.allclose(shap_values[:, 0], parts))

row = np.array([[1.0, -0.7]])
print(f"at {row[0]}: SHAP value of x0 {decomposer.shap_values(row)[0, 0]:+.2f}, yet")
for name in names:
    print(f"  {name:6} {decomposer[name].evaluate(row)[0]:+.2f}")
WaterfallDisplay.from_decomposer(decomposer, row, target="y")

# %%
# Why that matters
# ----------------
# In the first panel the SHAP values of x0 scatter around its main effect. The same x0 has many SHAP values, because
# each contains one half of the interaction with the x1 of its row. A SHAP value near zero can mean that the feature
# does not matter, or that two effects cancel, as above. The other panels show the effects separately.

figure, axes = plt.subplot_mosaic("AA;BC", figsize=(6.2, 5.8), layout="constrained")
axes = list(axes.values())
axes[0].set_title("One x0, many SHAP values: each has half of an interaction", loc="left")
inside = X[(np.abs(X) < 2).all(axis=1)]
ShapDisplay.from_decomposer(decomposer, "x0", inside, colour_by="x1", ax=axes[0])
ComponentDisplay.from_decomposer(decomposer, ["x1", ("x0", "x1")], X=inside, subsample=0, ax=axes[1:])
figure.savefig("from_shap.png", dpi=100)

# %%
# From one tool to the other
# --------------------------
# ====================================================  ======================================================
# shap, XGBoost                                         skglex
# ====================================================  ======================================================
# ``TreeExplainer(model)`` / ``pred_contribs``          ``GlexDecomposer(model, weighting="path_dependent")``
# ``TreeExplainer(model, data)``, interventional        ``GlexDecomposer(model).fit(data)``
# ``explainer.shap_values(X)``                          ``decomposer.shap_values(X)``
# ``explainer.expected_value``                          ``decomposer.intercept_``
# ``shap_interaction_values`` / ``pred_interactions``   ``decomposer.shap_interaction_values(X)``
# ``shap.plots.beeswarm(explanation)``                  the same, on ``skglex.export.to_shap(decomposer, X)``
# ``shap.plots.scatter``                                ``ShapDisplay``, beside the main effect
# mean absolute SHAP values                             ``decomposer.feature_importances_``
# no counterpart                                        ``decomposer.transform(X)``, ``decomposer["x0", "x1"]``
# ====================================================  ======================================================
