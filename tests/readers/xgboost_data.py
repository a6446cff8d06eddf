"""Provide what the tests of XGBoost's edge cases and data frames share."""

import numpy as np
import xgboost as xgb

from skglex import GlexDecomposer
from tests.support.data import make_data
from tests.support.oracles import (
    brute_force_game,
    check_game,
    model_margin,
    rounding,
)

VERSION = tuple(int(part) for part in xgb.__version__.split(".")[:2])
SMALL = {"n_estimators": 10, "max_depth": 3, "learning_rate": 0.4, "n_jobs": 1}


def make_numbers(n=300, n_features=3):
    return make_data(n, n_features, missing=0)


def check_against_brute_force(model, rows, background):
    """Require the game that the model's own margins define; one output."""
    decomposer = GlexDecomposer(model, max_interaction=None).fit(background)
    game = brute_force_game(lambda Z: model_margin(model, Z), rows, background)
    check_game(decomposer, rows, game, 2 ** np.shape(rows)[1] * rounding(model, decomposer.intercept_))
    return decomposer
