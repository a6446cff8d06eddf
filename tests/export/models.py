"""Provide two models to export: of one output and of three classes."""

import numpy as np
import xgboost as xgb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2]
MODEL = xgb.XGBRegressor(n_estimators=10, max_depth=3).fit(X, Y)
CLASSES = xgb.XGBClassifier(n_estimators=3, max_depth=3).fit(X, np.digitize(Y, [-0.5, 0.5]))
