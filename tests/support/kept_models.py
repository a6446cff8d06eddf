"""Provide small random models whose every combination of bins can be looked at, for the tests of kept components."""

from itertools import product

import numpy as np
import xgboost as xgb

from skglex import ComponentModel

# A number in every bin of a coarse model. XGBoost may split off missing values below or above all numbers.
NUMBERS = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 7.0])


def coarse_model(seed, *, d=3, max_interaction=2, monotone=None, depth=3, n_trees=4, **params):
    """Fit a model on a few values of each feature, some missing; return it with its rows and target."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(150, d)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X, nan=2.0) @ rng.normal(size=d) + rng.normal(size=150)
    y += (X[:, 0] > 1) * (X[:, 1] > 2) * rng.normal(scale=3)
    constraints = {} if monotone is None else {"monotone_constraints": monotone}
    booster = xgb.XGBRegressor(n_estimators=n_trees, max_depth=depth, n_jobs=1, **constraints)
    return ComponentModel(booster, max_interaction=max_interaction, **params).fit(X, y), X, y


def every_row():
    """Return a row in every combination of bins of a coarse model of three features."""
    return np.array(list(product([*NUMBERS, np.nan], repeat=3)))


def changes(model, column):
    """Return the changes of the margin between neighbouring numbers of a feature, for all values of the others."""
    margin = model.margin(every_row()).reshape([len(NUMBERS) + 1] * 3)
    return np.diff(np.moveaxis(margin, column, 0)[:-1], axis=0).reshape(len(NUMBERS) - 1, -1)
