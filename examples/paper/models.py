"""Make the models of the paper, and prepare its data."""

from __future__ import annotations

from typing import Any

import pandas as pd
from xgboost import XGBRegressor

from skglex import GlexDecomposer, RandomPlantedForestRegressor
from skglex.datasets import load_adult, load_bike_sharing

BY_PATH, EMPIRICAL, PLANTED = MODELS = [
    "XGBoost, path-dependent",
    "XGBoost, empirical",
    "planted forest",
]


def xgboost(n_estimators: int = 20, max_depth: int = 4, **params: Any) -> XGBRegressor:
    """Return an XGBoost model with the defaults of the R package of 2022: base score 0.5, exact splits."""
    params = {"learning_rate": 0.1, "base_score": 0.5, "tree_method": "exact", "n_jobs": 1} | params
    return XGBRegressor(n_estimators=n_estimators, max_depth=max_depth, **params)


def planted_forest(
    max_interaction: int = 4, n_splits: int = 30, random_state: int = 0, **params: Any
) -> RandomPlantedForestRegressor:
    return RandomPlantedForestRegressor(
        n_estimators=50,
        max_interaction=max_interaction,
        n_splits=n_splits,
        random_state=random_state,
        **params,
    )


def decompose(X: pd.DataFrame, y: Any, booster: Any, forest: Any) -> dict[str, GlexDecomposer]:
    """Fit the models and return their decompositions of all orders by name; the training rows are the background."""
    booster.fit(X, y)
    forest.fit(X, y)
    return {
        BY_PATH: GlexDecomposer(booster, weighting="path_dependent", max_interaction=None).fit(X),
        EMPIRICAL: GlexDecomposer(booster, max_interaction=None).fit(X),
        PLANTED: GlexDecomposer(forest, max_interaction=None).fit(X),
    }


def bike_sharing() -> tuple[pd.DataFrame, Any]:
    """Return the hours of 2011, with temperatures in degrees Celsius, which changes only the axes."""
    X, y = load_bike_sharing(return_X_y=True)
    first_year = X["yr"] == 0
    X = X.loc[first_year, ["dayofyear", "hr", "temp", "windspeed", "workingday", "hum"]]
    return X.assign(temp=47 * X["temp"] - 8), y[first_year].to_numpy(float)


def adult(fifth: str = "hours-per-week") -> tuple[pd.DataFrame, Any]:
    """Return the rows without missing values, with codes for words; the country is the United States or another."""
    X, income = load_adult(return_X_y=True)
    complete = X.drop(columns="fnlwgt").notna().all(axis=1)
    X = X.loc[complete, ["age", "workclass", "education", "education-num", fifth, "sex"]]
    if fifth == "native-country":
        X[fifth] = (X[fifth] == "United-States").astype(int)
    words = X.select_dtypes("category").columns
    X = X.assign(**{name: X[name].cat.codes for name in words})
    return X.reset_index(drop=True), (income[complete] == ">50K").to_numpy(float)
