"""Provide fitted decomposers to draw."""

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import load_bike_sharing


@pytest.fixture(scope="session")
def bike_X():
    X, y = load_bike_sharing(return_X_y=True)
    return X[["dayofyear", "hr", "temp", "windspeed", "workingday", "hum"]], y


@pytest.fixture(scope="session")
def bike(bike_X):
    X, y = bike_X
    model = XGBRegressor(n_estimators=30, max_depth=4, min_child_weight=20, n_jobs=2).fit(X, y)
    return GlexDecomposer(model, max_interaction=3).fit(X)


@pytest.fixture(scope="session")
def mixed():
    """Return a decomposer of three classes and its rows, with categories, few numbers and missing values."""
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "size": rng.integers(1, 5, n),
            "dose": rng.gamma(2, size=n),
        }
    )
    X.loc[rng.random(n) < 0.15, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "dose"] = np.nan
    age, dose = X["age"].fillna(75) - 50, X["dose"].fillna(-2)
    score = age / 10 * (X["colour"] == "red") + X["size"] * (X["colour"] == "blue") + dose * np.sign(age)
    y = np.digitize(score + rng.normal(size=n), [0, 2])
    model = XGBClassifier(n_estimators=15, max_depth=4, enable_categorical=True, n_jobs=2).fit(X, y)
    return GlexDecomposer(model).fit(X), X
