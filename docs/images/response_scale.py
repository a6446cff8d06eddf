"""Draw response_scale.png and response_shortcut.png next to this file: ``python docs/images/response_scale.py``.

It also prints the table of the page "Margin or response?".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import load_adult, load_bike_sharing
from skglex.plotting import ImportanceDisplay, WaterfallDisplay

HERE = Path(__file__).parent
# Explained rows, and background rows.
N_ROWS, N_BACKGROUND = 200, 200
MODEL = {"n_estimators": 100, "max_depth": 4, "learning_rate": 0.2, "n_jobs": 1, "random_state": 0}
ROW = 8


def adult() -> tuple[Any, Any]:
    """Return the rows of the adult data, and a model of the probability of a high income."""
    X, y = load_adult(return_X_y=True)
    X = X.drop(columns=["fnlwgt", "education"])
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    return X, XGBClassifier(**MODEL, enable_categorical=True).fit(X, np.asarray(y) == ">50K")


def bike() -> tuple[Any, Any]:
    """Return the rows of the bike-sharing data, and a model of the number of rides in an hour."""
    X, y = load_bike_sharing(return_X_y=True)
    return X, XGBRegressor(**MODEL, objective="count:poisson").fit(X, y)


def compare(X: Any, model: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the SHAP values of the response, and those of the margin rescaled to the same sum."""
    decomposer = GlexDecomposer(model, n_background=N_BACKGROUND, max_interaction=1, random_state=0).fit(X)
    rows = X.sample(N_ROWS, random_state=1)
    exact = decomposer.shap_values(rows, scale="response")
    of_margin = decomposer.shap_values(rows)
    total = exact.sum(axis=1) / of_margin.sum(axis=1)
    return exact, of_margin * total[:, None]


def draw_shortcut() -> None:
    """Draw rescaled SHAP values of the margin against SHAP values of the response, and print how far they are off."""
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), layout="constrained")
    for ax, name, unit, (X, model) in zip(
        axes, ("adult", "bike"), ("probability", "rides"), (adult(), bike())
    ):
        exact, shortcut = compare(X, model)
        low, high = exact.min(), exact.max()
        ax.plot([low, high], [low, high], color="0.6", lw=0.8, zorder=1)
        ax.scatter(exact, shortcut, s=5, alpha=0.4, linewidths=0, color="#0072B2")
        ax.set_ylim(1.5 * low, 1.5 * high)
        ax.set_xlabel(f"SHAP value of the response ({unit})")
        ax.set_ylabel("rescaled SHAP value of the margin")
        ax.set_title(f"{name}", loc="left", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        error = np.abs(shortcut - exact).sum(axis=1) / np.abs(exact).sum(axis=1)
        large = np.abs(exact) > np.abs(exact).mean()
        print(
            name,
            f"median error of a row {np.median(error):.0%}; above half in {(error > 0.5).mean():.0%} of the rows;",
            f"other sign for {(np.sign(shortcut) != np.sign(exact))[large].mean():.0%} of the values above average;",
            f"other first feature in {(first_feature(exact) != first_feature(shortcut)).mean():.0%} of the rows",
        )
    figure.savefig(HERE / "response_shortcut.png", dpi=100)


def first_feature(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the feature with the largest value of every row."""
    return np.abs(values).argmax(axis=1)


def draw_scales() -> None:
    """Draw one prediction of the adult model on both scales."""
    X, model = adult()
    decomposer = GlexDecomposer(model, n_background=2000, random_state=0).fit(X)
    figure, axes = plt.subplots(4, 1, figsize=(6.2, 16), layout="constrained")
    for column, scale in enumerate(("margin", "response")):
        ImportanceDisplay.from_decomposer(decomposer, scale=scale, k=8, ax=axes[column])
        WaterfallDisplay.from_decomposer(decomposer, X, row=ROW, scale=scale, k=6, ax=axes[2 + column])
    axes[0].set_title("On the margin, age comes first", loc="left", fontsize="medium")
    axes[1].set_title("On the response, the capital gain does", loc="left", fontsize="medium")
    figure.savefig(HERE / "response_scale.png", dpi=100)


if __name__ == "__main__":
    draw_shortcut()
    draw_scales()
