"""Figure 3: bike sharing by SHAP values, main effects, and interactions of two and three features."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, cross_val_score

from examples.paper.models import (
    BY_PATH,
    EMPIRICAL,
    MODELS,
    PLANTED,
    bike_sharing,
    decompose,
    planted_forest,
    xgboost,
)
from examples.paper.report import Report
from skglex import GlexDecomposer
from skglex.plotting import ComponentDisplay, ShapDisplay

SHORT = {BY_PATH: "path_dependent", EMPIRICAL: "empirical", PLANTED: "planted"}

INTRODUCTION = """
The hours of 2011 and six features: day of the year, hour, temperature, wind speed, working day, humidity. Row by
row, as in the paper: SHAP values with the main effects as lines, main effects, interactions of two and of three
features.
"""

TABLE = """
What the paper reads off its figure, in numbers, in rides per hour. A size is the mean absolute value over the rows.
"""

DIFFERENCES = """
The paper has a figure here and no numbers.

* All that the paper sees is there in all three: peaks at commuting hours, more rides when it is warmer, next to no
  main effect of the working day but a strong interaction with the hour (more in the morning of working days, less
  around noon), and an interaction of three features that is about twice as strong on days off.
* Path-dependent weights give the temperature a larger main effect than empirical ones do, from one and the same
  model: temperature and day of the year depend on each other, and a product of cover ratios is not an average over
  the data.
* The effects of XGBoost are smaller than those of the planted forest, since 20 trees at a learning rate of 0.1 are
  not finished: 12 % of the way from the base score to the data is left, and interactions, of which each tree of
  depth 4 has a few only, lag behind most. The cross-validated :math:`R^2` in the last row says the same; with 300
  trees it is 0.93, as in :ref:`the example <sphx_glr_auto_examples_plot_bike_sharing.py>`.
"""


def write(report: Report, quick: bool) -> None:
    X, y = bike_sharing()
    if quick:
        X, y = X[::8], y[::8]
    decomposers = decompose(X, y, xgboost(), planted_forest())
    report.title("Bike sharing (figure 3)", level=1)
    report.text(INTRODUCTION)
    for name in MODELS:
        report.title(name, level=2)
        report.figure(
            _draw(decomposers[name], X, name), f"bike_{SHORT[name]}", f"SHAP values and components, {name}"
        )
    columns = {name: _numbers(decomposers[name], X) for name in MODELS}
    folds = KFold(4, shuffle=True, random_state=0)
    score = cross_val_score(xgboost(), X, y, cv=folds).mean()
    columns[BY_PATH]["R2"] = columns[EMPIRICAL]["R2"] = f"{score:.2f}"
    columns[PLANTED]["R2"] = f"{cross_val_score(planted_forest(), X, y, cv=folds).mean():.2f}"
    report.title("What the figures show", level=2)
    report.text(TABLE)
    report.table(["", *MODELS], [[key, *(columns[name][key] for name in MODELS)] for key in columns[BY_PATH]])
    report.text(DIFFERENCES)


def _numbers(decomposer: GlexDecomposer, X: pd.DataFrame) -> dict[str, str]:
    def at(name: str, **values: float) -> float:
        return float(decomposer[name].evaluate(X[:1].assign(**values))[0])

    hours = [at("hr", hr=hour) for hour in range(24)]
    three = np.abs(decomposer["hr:temp:workingday"].evaluate(X))
    off = (X["workingday"] == 0).to_numpy()
    evening = 12 + int(np.argmax(hours[12:]))
    cold, warm = X["temp"].quantile([0.05, 0.95])
    return {
        "main effect of the hour at 8": f"{hours[8]:+.0f}",
        "its evening peak": f"{hours[evening]:+.0f}, at {evening}",
        "main effect of the temperature, 5 % coldest hours": f"{at('temp', temp=cold):+.0f}",
        "5 % warmest": f"{at('temp', temp=warm):+.0f}",
        "size of the main effect of the working day": f"{decomposer['workingday'].importance:.1f}",
        "size of hour and working day": f"{decomposer['hr:workingday'].importance:.1f}",
        "hour and working day, at 8 of a working day": f"{at('hr:workingday', hr=8, workingday=1):+.0f}",
        "at 13 of a working day": f"{at('hr:workingday', hr=13, workingday=1):+.0f}",
        "size of hour, temperature and working day, days off": f"{three[off].mean():.1f}",
        "the same, working days": f"{three[~off].mean():.1f}",
    }


def _draw(decomposer: GlexDecomposer, X: pd.DataFrame, name: str) -> plt.Figure:
    figure = plt.figure(figsize=(10, 12.5), layout="constrained")
    rows = figure.subfigures(4, 1, hspace=0.03)
    titles = ["SHAP values", "main effects", "interactions of two features", "interaction of three features"]
    for row, title in zip(rows, titles):
        row.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
    widths = {"width_ratios": [5, 4, 3]}
    axes = rows[0].subplots(1, 3, **widths)
    for ax, feature in zip(axes, ["hr", "temp", "workingday"]):
        ShapDisplay.from_decomposer(decomposer, feature, X, ax=ax)
    for ax in axes[1:]:
        ax.set_ylabel("")
    main, pairs = rows[1].subplots(1, 3, **widths), rows[2].subplots(1, 3)
    components = ["hr", "temp", "workingday", ("hr", "workingday"), ("temp", "workingday"), ("hr", "temp")]
    ComponentDisplay.from_decomposer(
        decomposer,
        [*components, ("hr", "temp", "workingday")],
        X=X,
        subsample=0,
        ax=[*main, *pairs, *rows[3].subplots(1, 2)],
    )
    curves = [*axes, *main, *pairs[:2]]
    limits = min(ax.get_ylim()[0] for ax in curves), max(ax.get_ylim()[1] for ax in curves)
    for ax in curves:
        ax.set_ylim(limits)
    return figure
