"""Figure 4: the importance of each feature, by the order of the components."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from examples.paper.models import MODELS, bike_sharing, decompose, planted_forest, xgboost
from examples.paper.report import Report
from skglex import GlexDecomposer
from skglex.datasets import make_importance
from skglex.inspection import component_importance
from skglex.plotting import ImportanceDisplay

INTRODUCTION = r"""
The importance of feature :math:`j` at order :math:`q` is the mean over rows of :math:`\frac1q \sum |m_S|` over the
components of :math:`q` features that hold :math:`j`; beside it the SHAP importance, the mean of :math:`|\phi_j|`.
In the simulation :math:`y = x_1 + x_3 + x_2 x_3 - 2 x_2 x_3 x_4 + \varepsilon`, so :math:`x_1` has a main effect
only, :math:`x_2` and :math:`x_4` interactions only, and :math:`x_3` both.
"""

TABLE = """
The simulation in numbers; the truth is that of the function without noise, on the same rows.
"""

DIFFERENCES = """
The paper has a figure here and no numbers, so ours stand beside the truth.

* What the paper's figure shows is here for all three: x1 has a main effect, x2 and x4 act through interactions, x3
  does both; and SHAP importances cannot tell.
* With the paper's 20 trees of depth 4 XGBoost finds about a half of the three-way interaction, and its main effects
  lack the 12 % that the learning rate leaves. The planted forest, with 30 splits per family, finds three quarters.
* Small components without a counterpart in the truth (x1 in pairs, x2 and x4 alone) are noise that was fitted, and
  a three-way interaction found in part only. With more trees, as in :ref:`the example
  <sphx_glr_auto_examples_plot_importance.py>`, it is found in full, and more noise is fitted as well.
* The weightings agree in the simulation, as they should: its features are independent. In the bike data they are
  not, and the temperature gets less from empirical weights.
* Bike sharing: the working day acts through interactions in every model, and the wind does next to nothing.
"""


def write(report: Report, quick: bool) -> None:
    X, y = make_importance(3_000 if quick else 10_000, random_state=0)
    X = pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"])
    simulation = decompose(X, y, xgboost(), planted_forest())
    bike = decompose(*bike_sharing(), xgboost(), planted_forest())
    report.title("Importance by order (figure 4)", level=1)
    report.text(INTRODUCTION)

    figure, axes = plt.subplots(2, 3, figsize=(12, 8), layout="constrained")
    for row, (data, decomposers) in zip(axes, {"simulation": simulation, "bike sharing": bike}.items()):
        for ax, name in zip(row, MODELS):
            ImportanceDisplay.from_decomposer(decomposers[name], kind="order", ax=ax)
            ax.set_title(f"{data}\n{name}", loc="left")
            ax.set_xlabel("importance")
            handles, labels = ax.get_legend_handles_labels()
            ax.get_legend().remove()
    # The last panel has all orders.
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize="small"
    )
    report.figure(
        figure, "importance", "Importances of the features by order, of three models and two data sets"
    )

    columns = {"truth": _truth(X), **{name: _by_order(simulation[name]) for name in MODELS}}
    cells = pd.DataFrame(columns).fillna(0)
    report.text(TABLE)
    report.table(
        ["", *cells.columns],
        [[key, *(f"{v:.2f}" for v in row)] for key, row in zip(cells.index, cells.to_numpy())],
    )
    report.text(DIFFERENCES)


def _truth(X: pd.DataFrame) -> pd.Series:
    x1, x2, x3, x4 = X.to_numpy().T
    components = {
        ("x1",): x1,
        ("x3",): x3,
        ("x2", "x3"): x2 * x3,
        ("x2", "x3", "x4"): -2 * x2 * x3 * x4,
    }
    out = {}
    for name in X:
        for order in (1, 2, 3, 4):
            sizes = [np.abs(m).mean() / order for s, m in components.items() if name in s and len(s) == order]
            out[f"{name}, order {order}"] = sum(sizes)
        shap = sum(m / len(s) for s, m in components.items() if name in s)
        out[f"{name}, SHAP"] = np.abs(shap).mean()
    return pd.Series(out)


def _by_order(decomposer: GlexDecomposer) -> pd.Series:
    table = component_importance(decomposer, by="feature")
    out = {
        f"{feature}, order {order}": value
        for feature, order, value in zip(table["feature"], table["order"], table["importance"])
    }
    shap = decomposer.feature_importances_
    return pd.Series(out | {f"{f}, SHAP": v for f, v in zip(decomposer.explained_features_, shap)})
