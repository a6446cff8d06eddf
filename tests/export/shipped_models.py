"""Provide component models of many kinds, and 20,000 rows for each with thresholds, missing and unseen values."""

from functools import cache
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
)

from skglex import ComponentModel

N_TRAIN, N_ROWS = 400, 20_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_TRAIN, 4)).round(1)
X[RNG.random(X.shape) < 0.08] = np.nan
X[:, 3] = RNG.integers(0, 6, N_TRAIN)
FRAME = pd.DataFrame(X[:, :3], columns=["age", "hours per week", "a'b"])
FRAME["flag"] = RNG.random(N_TRAIN) < 0.4
FRAME["job"] = pd.Categorical(np.array(list("uvwxyz"))[RNG.integers(6, size=N_TRAIN)])
FRAME.loc[::9, "job"] = np.nan
Z = np.nan_to_num(X)
SIGNAL = Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + np.isin(X[:, 3], [1, 4])
F_SIGNAL = SIGNAL + FRAME["job"].isin(["u", "x"]) * (1 + Z[:, 0]) + FRAME["flag"]
CLASSES = np.array(["low", "mid", "o'top"])
SMALL = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
LGB = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
LGB |= {"min_data_per_group": 3, "cat_smooth": 1.0}


def of_classes(signal):
    return CLASSES[np.digitize(signal, [-0.5, 0.9])]


def codes_of_array():
    """Return a booster with codes of categories, of which any may be unseen."""
    types = ["float", "float", "float", "c"]
    data = xgb.DMatrix(X, SIGNAL, feature_types=types, enable_categorical=True)
    return xgb.train({"max_depth": 3, "max_cat_to_onehot": 1}, data, 6)


def sentinel():
    data = np.where(np.isnan(X), -999, X)
    return xgb.XGBRegressor(**SMALL, missing=-999).fit(data, SIGNAL)


ESTIMATORS = {
    "xgboost": lambda: xgb.XGBRegressor(**SMALL, enable_categorical=True).fit(FRAME, F_SIGNAL),
    "classes": lambda: xgb.XGBClassifier(**SMALL, enable_categorical=True).fit(
        FRAME, np.digitize(F_SIGNAL, [-0.5, 0.9])
    ),
    "counts": lambda: xgb.XGBRegressor(**SMALL, objective="count:poisson").fit(X, np.abs(SIGNAL)),
    "outputs": lambda: xgb.XGBRegressor(**SMALL).fit(X, np.column_stack([SIGNAL, Z[:, 2]])),
    "codes": codes_of_array,
    "sentinel": sentinel,
    "lightgbm": lambda: lgb.LGBMClassifier(**LGB).fit(FRAME, of_classes(F_SIGNAL)),
    "zeros": lambda: lgb.LGBMRegressor(**LGB, zero_as_missing=True).fit(X, SIGNAL, categorical_feature=[3]),
    "hist": lambda: HistGradientBoostingRegressor(
        max_iter=6, max_leaf_nodes=6, categorical_features="from_dtype"
    ).fit(FRAME.assign(flag=FRAME["flag"].astype(float)), F_SIGNAL),
    "binary": lambda: HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=6).fit(X, SIGNAL > 0.3),
    "forest": lambda: RandomForestClassifier(4, max_depth=3, random_state=0).fit(Z, of_classes(SIGNAL)),
    "isolation": lambda: IsolationForest(n_estimators=4, max_samples=20, random_state=0).fit(Z),
}
IN_FRAME = ("xgboost", "classes", "lightgbm", "hist")
COMPLETE = ("forest", "isolation")  # They take no missing values.


class Shipped(NamedTuple):
    """Hold a component model, rows, and what the model says of them."""

    model: Any
    rows: Any
    margin: Any


def training_rows(name):
    if name in IN_FRAME:
        return FRAME.assign(flag=FRAME["flag"].astype(float)) if name == "hist" else FRAME
    if name == "sentinel":
        return np.where(np.isnan(X), -999, X)
    return Z if name in COMPLETE else X


def fit(name, **params):
    estimator = ESTIMATORS[name]()
    return ComponentModel(estimator, **{"n_terms": 7, **params}).fit(training_rows(name))


@cache
def shipped(name):
    """Return a model and rows, in which half of the numbers lie on thresholds or beside them."""
    model, rng = fit(name), np.random.default_rng(1)
    rows = training_rows(name)
    at = rng.integers(0, N_TRAIN, N_ROWS)
    is_frame = isinstance(rows, pd.DataFrame)
    rows = rows.iloc[at].reset_index(drop=True) if is_frame else rows[at]
    grid = model._kept.grid
    for j, feature in enumerate(grid.features.tolist()):
        column = rows.iloc[:, feature] if is_frame else rows[:, feature]
        if grid.categorical[j]:
            column = with_unseen(name, column, rng)
        elif column.dtype != bool:
            column = beside_thresholds(column, grid, j, rng, missing=name not in COMPLETE)
        if is_frame:
            rows.isetitem(feature, column)
        else:
            rows[:, feature] = column
    return Shipped(model, rows, model.margin(rows).reshape(N_ROWS, -1))


def with_unseen(name, column, rng):
    """Put categories among codes or names that the model has never seen, if it does not refuse them."""
    column = column.copy()
    at = rng.random(len(column)) < 0.2
    if column.dtype != "category":
        column[at] = rng.choice([-1.0, 7.0, 40.0, 1e9, 0.5, 2.7, np.nan], at.sum())
        return column
    if name not in ("xgboost", "classes"):
        names = column.astype(object)
        names[at] = "unseen"
        return names.astype("category")
    return column


def beside_thresholds(column, grid, j, rng, *, missing):
    """Put numbers at thresholds, and next to them in float32 and float64."""
    column = np.array(column, dtype=float)
    cuts, edges = grid.cuts_of(j), grid.edges(j)
    single = cuts.astype(np.float32)
    near = [cuts, edges, np.nextafter(edges, -np.inf), np.nextafter(cuts, np.inf), single]
    near += [np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf))]
    near = np.concatenate(near).astype(float)
    at = rng.random(len(column)) < 0.5
    column[at] = rng.choice(near[np.isfinite(near)], at.sum())
    column[:4] = [0.0, -0.0, 1e30, -1e30]
    if missing:
        column[4:7] = [np.inf, -np.inf, np.nan]
    return column


def as_codes(model, rows):
    """Return a data frame as an array: categories are their positions among the model's, unseen ones missing."""
    if not isinstance(rows, pd.DataFrame):
        return rows
    categories = model._fitted.source.input.categories
    columns = []
    for j, (_, column) in enumerate(rows.items()):
        if j in categories:
            position = {value: float(code) for code, value in enumerate(categories[j].tolist())}
            column = column.astype(object).map(position)
        columns.append(np.asarray(column, dtype=float))
    return np.column_stack(columns)
