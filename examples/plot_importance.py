r"""
Importance by order: which features act alone, and which only together?
=======================================================================

SHAP importance is one number per feature. If it is split by the order of the components, it shows whether a feature
has an effect alone or only together with others, as in figure 4 of the paper [1]_. :doc:`The paper, reproduced
</method/paper>` uses the paper's settings, both weightings and a planted forest.
"""

# %%
# A simulation with a known answer
# --------------------------------
# There are four independent standard normal features, and
#
# .. math:: y = x_1 + x_3 + x_2 x_3 - 2 x_2 x_3 x_4 + \varepsilon .
#
# So :math:`x_1` has only a main effect, :math:`x_2` and :math:`x_4` have only interactions, and :math:`x_3` has both.

import warnings

import pandas as pd
from sklearn.model_selection import KFold, cross_val_score
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import load_bike_sharing, make_importance
from skglex.exceptions import StreamedComponentsWarning
from skglex.plotting import ImportanceDisplay

# Components of three and four features on fine grids have no tables. They are slower, but have the same values.
warnings.simplefilter("ignore", StreamedComponentsWarning)

X, y = make_importance(n_samples=5000, random_state=0)
X = pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"])
folds = KFold(3, shuffle=True, random_state=0)
# So few rows are fitted faster by one thread than by several that wait for each other.
model = XGBRegressor(n_estimators=300, max_depth=5, learning_rate=0.1, min_child_weight=5, n_jobs=1)
print(f"R2 {cross_val_score(model, X, y, cv=folds).mean():.2f}")

# %%
# The importance of feature :math:`j` at order :math:`q` is the mean over the background of
#
# .. math:: \frac{1}{q} \sum_{S \ni j,\, |S| = q} |m_S(x_S)| ,
#
# where :math:`m_S` are the components. SHAP gives each of the :math:`q` features of a component the share
# :math:`1/q`. Components with different signs cancel in the SHAP value of a feature. The stacked bar adds up
# absolute values, so it is longer than the SHAP bar.

decomposer = GlexDecomposer(model.fit(X, y), max_interaction=None).fit(X)
display = ImportanceDisplay.from_decomposer(decomposer, kind="order", target="y")
display.figure_.savefig("importance.png", dpi=100)
for feature, heights in zip(display.names, display.heights):
    print(f"{feature}: " + ", ".join(f"order {q} {h:.2f}" for q, h in zip(display.orders, heights)))

# %%
# Bike sharing
# ------------
# The hour has an effect alone and together with other features. The working day has almost no main effect: as many
# people ride on working days as on days off, but at other hours.

X, y = load_bike_sharing(return_X_y=True)
first_year = X["yr"] == 0
X = X.loc[first_year, ["dayofyear", "hr", "temp", "windspeed", "workingday", "hum"]]
y = y[first_year]
model.set_params(min_child_weight=20)
print(f"R2 {cross_val_score(model, X, y, cv=folds).mean():.2f}")
decomposer = GlexDecomposer(model.fit(X, y), max_interaction=None).fit(X)
display = ImportanceDisplay.from_decomposer(decomposer, kind="order", target="rides", units="per hour")
display.figure_.savefig("importance_bike.png", dpi=100)

# %%
# References
# ----------
# .. [1] M. Hiabu, J. T. Meyer and M. N. Wright (2023). Unifying local and global model explanations by
#    functional decomposition of low dimensional structures. AISTATS 2023, `PMLR 206:7040-7060
#    <https://proceedings.mlr.press/v206/hiabu23a.html>`_.
