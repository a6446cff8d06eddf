"""Fit small models of several kinds, and decompose them over a background that the page holds as a whole."""

from functools import cache

import numpy as np
import pandas as pd

from skglex import GlexDecomposer, RandomPlantedForestRegressor

KINDS = ["xgboost", "covers", "lightgbm", "pipeline", "outputs", "planted", "catboost"]


@cache
def people(n, seed, unseen=False):
    """Draw rows with numbers, whole numbers and categories, some of them missing or never seen in training."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], n)
    if unseen:
        town[rng.random(n) < 0.1] = "Rom"
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n).round(1),
            "age": rng.integers(18, 80, n).astype(float),
            "town": pd.Categorical(town),
            "rooms": rng.integers(1, 6, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    X.loc[rng.random(n) < 0.1, "town"] = np.nan
    y = X["income"].fillna(1.0) * X["rooms"] + (X["town"] == "Ulm") * X["age"] / 20 - X["age"] / 40
    return X, y.to_numpy()


def fitted_model(kind, X, y):
    """Return a small model."""
    if kind in ("xgboost", "covers"):
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=20, max_depth=4, enable_categorical=True).fit(X, y > 0)
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        few = {"min_child_samples": 2, "min_data_per_group": 1, "cat_smooth": 0.0, "verbose": -1, "n_jobs": 1}
        return LGBMClassifier(n_estimators=8, num_leaves=12, **few).fit(X, np.digitize(y, [-1, 1]))
    if kind == "pipeline":
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        steps = make_column_transformer((encode, ["town"]), (StandardScaler(), ["income", "age", "rooms"]))
        return make_pipeline(steps, HistGradientBoostingRegressor(max_iter=20, loss="poisson")).fit(
            X, np.exp(y / 3)
        )
    if kind == "outputs":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(8, max_depth=6, random_state=0).fit(
            X[["income", "age", "rooms"]], np.c_[y, -y]
        )
    if kind == "planted":
        return RandomPlantedForestRegressor(5, max_interaction=2, n_splits=10, random_state=0).fit(X, y)
    from catboost import CatBoostRegressor

    X = X.assign(town=X["town"].astype(object).fillna("none"))
    quiet = {"silent": True, "allow_writing_files": False, "thread_count": 1}
    return CatBoostRegressor(iterations=10, depth=4, one_hot_max_size=2, **quiet).fit(
        X, y, cat_features=["town"]
    )


def rows_for(kind, X):
    """Return rows as a kind of model takes them."""
    if kind == "outputs":
        return X[["income", "age", "rooms"]]
    if kind == "catboost":
        return X.assign(town=X["town"].astype(object).fillna("none"))
    return X


@cache
def decomposed(kind):
    """Return a decomposer over 150 rows."""
    X, y = people(300, 0)
    model = fitted_model(kind, X, y)
    weighting = "path_dependent" if kind == "covers" else "empirical"
    how = {"weighting": weighting, "feature_groups": "auto", "max_interaction": 2, "prefit": True}
    return GlexDecomposer(model, **how).fit(rows_for(kind, X)[:150])
