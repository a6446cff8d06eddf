r"""
What SHAP values hide: the paper's motivating example
=====================================================

Two correlated features have two main effects and an interaction. SHAP values mix them into one number per feature.
Components separate them, as in figure 1 of the paper [1]_. :doc:`The paper, reproduced </method/paper>` uses the
paper's settings, both weightings and a planted forest.
"""

# %%
# The truth
# ---------
# There are two standard normal features with correlation :math:`r = 0.3`, and
#
# .. math:: y = x_1 + x_2 + 2 x_1 x_2 + \varepsilon .
#
# If features are averaged out over their distribution, the components and the SHAP value are
#
# .. math::
#    m_1 = x_1 - 2 r, \quad m_2 = x_2 - 2 r, \quad m_{12} = 2 x_1 x_2 + 2 r, \quad
#    \phi_1 = m_1 + \tfrac12 m_{12} = x_1 + x_1 x_2 - r .

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import make_motivating
from skglex.plotting import ComponentDisplay, ShapDisplay

R = 0.3
X, y = make_motivating(n_samples=10_000, random_state=0)
X = pd.DataFrame(X, columns=["x1", "x2"])
model = XGBRegressor(n_estimators=200, max_depth=4, learning_rate=0.1, min_child_weight=20).fit(X, y)
decomposer = GlexDecomposer(model).fit(X)

# %%
# The estimates
# -------------
# The panels show the SHAP values of :math:`x_1` with its main effect, the main effect of :math:`x_2`, and the
# interaction. Dashed lines are the truth. The SHAP values fill a wedge, because they contain one half of the
# interaction. The main effect is a line.

shown = X[(X.abs() <= 2).all(axis=1)]
line = np.array([-2.0, 2.0])
figure, axes = plt.subplot_mosaic("AA;BC", figsize=(6.2, 5.8), layout="constrained")
axes = list(axes.values())
axes[0].set_title("SHAP values fill a wedge, the main effect is a line", loc="left")
ShapDisplay.from_decomposer(decomposer, "x1", shown, colour_by="x2", ax=axes[0])
ComponentDisplay.from_decomposer(decomposer, ["x2", "x1:x2"], X=shown, subsample=0, ax=axes[1:])
for ax in axes[:2]:
    ax.plot(line, line - 2 * R, "--", color="#D55E00", lw=1.5, zorder=4, label="truth")

figure.savefig("motivating.png", dpi=100)

# %%
# At one point
# ------------
# At :math:`x = (1, -0.7)` the SHAP value of :math:`x_1` is zero, as if it had no effect. In fact its main effect
# and its half of the interaction cancel.

point = pd.DataFrame({"x1": [1.0], "x2": [-0.7]})
parts = [
    decomposer.shap_values(point)[0, 0],
    decomposer["x1"].evaluate(point)[0],
    decomposer["x1:x2"].evaluate(point)[0] / 2,
]
print("At x1 = 1, x2 = -0.7   SHAP of x1   main effect   half of the interaction")
print(f"  {'truth':18} {0.0:12.2f} {1 - 2 * R:13.2f} {-0.7 + R:25.2f}")
print("  {:18} {:12.2f} {:13.2f} {:25.2f}".format("model", *parts))

# %%
# References
# ----------
# .. [1] M. Hiabu, J. T. Meyer and M. N. Wright (2023). Unifying local and global model explanations by
#    functional decomposition of low dimensional structures. AISTATS 2023, `PMLR 206:7040-7060
#    <https://proceedings.mlr.press/v206/hiabu23a.html>`_.
