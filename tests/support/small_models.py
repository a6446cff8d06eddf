"""Provide small XGBoost models and their data for the tests of the estimators."""

import numpy as np
import pytest
import xgboost as xgb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32).astype(float)
X[RNG.random(X.shape) < 0.08] = np.nan
FILLED = np.nan_to_num(X)
Y = FILLED[:, 0] * FILLED[:, 1] + FILLED[:, 2] * (FILLED[:, 3] > 0) + RNG.normal(size=300)
MODEL = xgb.XGBRegressor(n_estimators=30, max_depth=4, learning_rate=0.3).fit(X, Y)
# The model's own margins are float32 sums of 30 trees of size about 1: they are off by up to some 1e-6.
FLOAT32 = 5e-6


newer_xgboost = pytest.mark.skipif(
    tuple(int(part) for part in xgb.__version__.split(".")[:2]) < (3, 1),
    reason="before 3.1 XGBoost misreads newer base scores, keeps no categories and takes no polars frames",
)


def small(**params):
    return xgb.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1, **params)
