"""Measure where SHAP values of other tools differ from brute force, for ``docs/right.rst``.

Brute force replaces values of a row by those of each background row, lets the model predict, and averages. The script
prints the largest error of shap's and of our values, for models on which they are known to differ.

Run ``python -m benchmarks.where_others_differ``. It needs shap and takes a few seconds.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import shap
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skglex.export import ShapExplainer

N_BACKGROUND = 90  # shap draws 100 rows of a larger background.
N_ROWS = 40
CATBOOST = """
import numpy as np, shap
from catboost import CatBoostClassifier
X = np.random.default_rng(0).normal(size=(300, 4))
classes = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
model = CatBoostClassifier(iterations=5, depth=3, verbose=0, allow_writing_files=False).fit(X, classes)
print(shap.TreeExplainer(model, X[:100]).shap_values(X[:20], check_additivity=False).shape)
"""


def shapley_values(
    predict: Callable[[Any], Any], background: np.ndarray, rows: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Return the mean prediction and the Shapley values of rows, by brute force over all coalitions."""
    n_features = rows.shape[1]
    values = []
    for row in rows:
        game = {}
        for size in range(n_features + 1):
            for coalition in combinations(range(n_features), size):
                mixed = background.copy()
                mixed[:, coalition] = row[list(coalition)]
                game[coalition] = predict(mixed).mean(axis=0)
        value = [np.zeros_like(game[()]) for _ in range(n_features)]
        for coalition, worth in game.items():
            for j in set(range(n_features)) - set(coalition):
                size = len(coalition)
                weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
                value[j] = value[j] + weight * (game[tuple(sorted((*coalition, j)))] - worth)
        values.append(value)
    return game[()], np.array(values)


def cases() -> Iterator[tuple[str, Any, np.ndarray, Callable[[Any], Any], str]]:
    """Yield a name, a fitted model, its rows, its output, and the model output of the explainers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    rounded = X.round(1)
    exact = xgboost.XGBRegressor(n_estimators=50, max_depth=4, tree_method="exact").fit(rounded, y)
    yield "XGBoost, data rounded to 0.1", exact, rounded, exact.predict, "raw"
    three = xgboost.XGBClassifier(n_estimators=20, max_depth=3).fit(X, np.digitize(y, [-0.5, 0.5]))
    yield "XGBoost, three classes", three, X, lambda Z: three.predict(Z, output_margin=True), "raw"
    two = xgboost.XGBClassifier(n_estimators=50, max_depth=4).fit(X, y > 0)
    yield "XGBoost, probability", two, X, lambda Z: two.predict_proba(Z)[:, 1], "probability"
    regressor = HistGradientBoostingRegressor(max_iter=30).fit(X, y)
    yield "histogram boosting", regressor, X, regressor.predict, "raw"
    classes = HistGradientBoostingClassifier(max_iter=30).fit(X, np.digitize(y, [-0.5, 0.5]))
    yield "histogram boosting, three classes", classes, X, classes.decision_function, "raw"


def main() -> None:
    """Print a line for each case."""
    warnings.simplefilter("ignore")
    print(f"shap {shap.__version__}, xgboost {xgboost.__version__}")
    print(f"{'':34} {'size':>6} {'shap':>9} {'skglex':>9}   {'mean: shap':>10} {'skglex':>9}")
    for name, model, X, output, kind in cases():
        background, rows = X[:N_BACKGROUND], X[-N_ROWS:]
        mean, expected = shapley_values(output, background, rows)
        numbers = [np.abs(expected).max()]
        means = []
        for explainer in (shap.TreeExplainer, ShapExplainer):
            made = explainer(model, background, model_output=kind)
            values = made.shap_values(rows, check_additivity=False)
            numbers.append(np.abs(values - expected).max())
            means.append(np.abs(made.expected_value - mean).max())
        print("{:34} {:6.2f} {:9.1e} {:9.1e}   {:10.1e} {:9.1e}".format(name, *numbers, *means))
    zeros = shap.TreeExplainer(model, background).shap_interaction_values(rows[:5])
    print(f"largest interaction value of shap with a background: {np.abs(zeros).max():g}")
    run = subprocess.run([sys.executable, "-c", CATBOOST], capture_output=True, text=True, check=False)
    print(
        f"CatBoost, three classes, with a background: shape {run.stdout.strip()}, exit status {run.returncode}"
    )


if __name__ == "__main__":
    main()
