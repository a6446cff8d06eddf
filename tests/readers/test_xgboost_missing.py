"""Read boosters that were trained with another missing value than NaN, which they do not store."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import treelite
import xgboost as xgb
from lightgbm import LGBMRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex.exceptions import MissingValueWarning
from tests.support.oracles import brute_force_game, check_game, total

# XGBoost adds up 20 leaf values of about 1 in float32.
FLOAT32 = 5e-6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)).round(1)
X[RNG.random(X.shape) < 0.2] = -999
Y = np.where(X[:, 0] == -999, 2, X[:, 0]) * np.where(X[:, 1] == -999, 0.5, X[:, 1])


def booster(missing=-999.0, rows=X):
    return xgb.train({"max_depth": 3, "nthread": 1}, xgb.DMatrix(rows, Y, missing=missing), 20)


def margin_of(model, missing=-999.0):
    return lambda rows: model.predict(xgb.DMatrix(rows, missing=missing), output_margin=True)


@pytest.mark.parametrize("missing", [-999.0, 1e9, -1e38, 0.0])
def test_a_missing_value_that_the_booster_does_not_store(missing):
    rows = np.where(X == -999, missing, X)
    model = booster(missing, rows)
    decomposer = GlexDecomposer(model, missing=missing, max_interaction=None).fit(rows)
    few = rows[:15]
    check_game(decomposer, few, brute_force_game(margin_of(model, missing), few, rows), FLOAT32)
    removed = FeatureRemover(model, [0], missing=missing).fit(rows)
    without = brute_force_game(margin_of(model, missing), few, rows)[1, 2, 3][:, 0]
    assert removed.predict(few) == pytest.approx(without, abs=FLOAT32)
    unchanged = FeatureRemover(model, [0], missing=missing, strength=0).fit(rows)
    assert unchanged.predict(rows) == pytest.approx(margin_of(model, missing)(rows), abs=FLOAT32)
    path = GlexDecomposer(model, missing=missing, weighting="path_dependent").fit(rows)
    contributions = model.predict(xgb.DMatrix(rows, missing=missing), pred_contribs=True)
    assert path.shap_values(rows) == pytest.approx(contributions[:, :-1], abs=FLOAT32)
    assert np.array_equal(pickle.loads(pickle.dumps(decomposer)).transform(few), decomposer.transform(few))


@pytest.mark.parametrize("container", [pd.DataFrame, sp.csr_matrix, lambda rows: rows.astype(np.float32)])
def test_the_missing_value_in_every_container(container):
    expected = GlexDecomposer(booster(), missing=-999, max_interaction=None).fit(X).transform(X)
    model = booster()
    rows = container(np.where(X == 0, -999, X))  # XGBoost takes unstored zeros of sparse rows as missing.
    decomposer = GlexDecomposer(model, missing=-999, max_interaction=None).fit(container(X))
    assert total(decomposer, rows)[:, 0] == pytest.approx(
        margin_of(model)(np.where(X == 0, -999, X)), abs=FLOAT32
    )
    assert decomposer.transform(rows).shape == expected.shape


def test_a_treelite_model():
    model = booster()
    forest = treelite.frontend.from_xgboost(model)
    for rows in (X, sp.csr_matrix(np.where(X == 0, 0.05, X)), pd.DataFrame(X)):
        decomposer = GlexDecomposer(forest, missing=-999).fit(rows)
        direct = GlexDecomposer(model, missing=-999).fit(rows)
        assert np.array_equal(decomposer.transform(rows), direct.transform(rows))


@pytest.mark.parametrize(
    "model",
    [
        xgb.XGBRegressor(n_estimators=2),
        xgb.XGBRegressor(n_estimators=2, missing=-999),
        LGBMRegressor(n_estimators=2, verbose=-1),
    ],
)
def test_models_that_store_the_missing_value(model):
    for estimator in (GlexDecomposer(model, missing=-999), FeatureRemover(model, [0], missing=-999)):
        with pytest.raises(ValueError, match=r"missing=-999 was passed, but .* stores which values"):
            estimator.fit(X, Y)
    GlexDecomposer(model, missing=np.nan).fit(X, Y)
    with pytest.raises(ValueError, match="The 'missing' parameter"):
        GlexDecomposer(model, missing="n/a").fit(X, Y)


def test_values_that_look_missing_warn():
    for model in (booster(), treelite.frontend.from_xgboost(booster())):
        for estimator in (GlexDecomposer(model), FeatureRemover(model, [0])):
            with pytest.warns(
                MissingValueWarning,
                match=r"\['x0', 'x1', .*\] have the value -999 far away.*pass missing=-999",
            ):
                estimator.fit(X)
    missing_large = np.where(X == -999, 1e9, X)
    with pytest.warns(MissingValueWarning, match="have the value 1e\\+09 far away"):
        GlexDecomposer(booster(1e9, missing_large)).fit(missing_large)


def test_values_that_do_not_look_missing():
    exact = {"max_depth": 3, "tree_method": "exact", "nthread": 1}
    as_number = xgb.train(exact, xgb.DMatrix(X, Y), 20)
    gaps = np.where(X == -999, np.nan, X)
    amounts = np.where(X == -999, 0.0, np.round(np.exp(X.clip(-3, 3) * 3)))
    once = np.where(np.arange(len(X))[:, None] == 0, -999, np.where(X == -999, 0.5, X))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingValueWarning)
        GlexDecomposer(as_number).fit(X)  # Thresholds lie halfway between -999 and the next number.
        GlexDecomposer(booster()).fit(gaps)
        GlexDecomposer(booster(np.nan, amounts)).fit(amounts)
        GlexDecomposer(booster(np.nan, once)).fit(once)
        GlexDecomposer(booster(), missing=-999).fit(X)
        GlexDecomposer(xgb.XGBRegressor(n_estimators=3, missing=-999).fit(X, Y)).fit(X)
