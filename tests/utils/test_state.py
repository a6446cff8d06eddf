"""Save and load fitted objects: pickle and skops."""

import json
import pickle

import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import skglex
from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from skglex._utils import _state
from tests.support.data import make_data

RNG = np.random.default_rng(0)
X, Y = make_data(decimals=1)
FILLED = np.nan_to_num(X)
MODEL = xgb.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)


@pytest.mark.parametrize(
    "fitted", [GlexDecomposer(MODEL), FeatureRemover(MODEL, [0]), RandomPlantedForestRegressor(3)]
)
def test_schema(fitted, monkeypatch):
    fitted = clone(fitted) if isinstance(fitted, RandomPlantedForestRegressor) else fitted
    fitted.fit(X, None if hasattr(fitted, "estimator") else Y)
    state = fitted.__getstate__()
    assert state["_skglex_schema"] == _state.SCHEMA
    assert state["_skglex_version"] == skglex.__version__
    assert "_skglex_schema" not in vars(pickle.loads(pickle.dumps(fitted)))
    written = pickle.dumps(fitted)
    monkeypatch.setattr(_state, "SCHEMA", _state.SCHEMA + 1)
    with pytest.raises(ValueError, match=rf"written by skglex {skglex.__version__} .* or fit again"):
        pickle.loads(written)
    for broken in ({}, {"_skglex_schema": True}, {"_skglex_schema": "1", "_skglex_version": "0.1.0"}):
        with pytest.raises(ValueError, match="no schema number"):
            type(fitted).__new__(type(fitted)).__setstate__(broken)


def own_types(found):
    return {name for name in found if name.startswith("skglex.")}


@pytest.mark.parametrize(
    ("model", "librarys"),
    [
        (MODEL, {"xgboost.core.Booster", "xgboost.sklearn.XGBRegressor"}),
        (
            RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(FILLED, Y > 0),
            {
                "sklearn.ensemble._forest.RandomForestClassifier",
                "sklearn.ensemble._forest.RandomForestClassifier.predict_proba",
                "sklearn.tree._tree.Tree",
            },
        ),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("make", [GlexDecomposer, lambda model: FeatureRemover(model, [0])])
def test_skops(make, model, librarys):
    sio = pytest.importorskip("skops.io")
    fitted = make(model).fit(FILLED)
    written = sio.dumps(fitted)
    untrusted = sio.get_untrusted_types(data=written)
    assert set(untrusted) - own_types(untrusted) <= librarys
    loaded = sio.loads(written, trusted=untrusted)
    method = "transform" if hasattr(fitted, "transform") else "predict"
    assert np.array_equal(getattr(loaded, method)(FILLED), getattr(fitted, method)(FILLED))
    assert np.array_equal(loaded.background_["rows"], fitted.background_["rows"])


def test_skops_planted_forest():
    sio = pytest.importorskip("skops.io")
    forest = RandomPlantedForestRegressor(3, random_state=0).fit(X, Y)
    written = sio.dumps(forest)
    untrusted = sio.get_untrusted_types(data=written)
    assert set(untrusted) == own_types(untrusted)
    assert np.array_equal(sio.loads(written, trusted=untrusted).predict(X), forest.predict(X))


# XGBoost warns of the missing GPU in a callback, in which a warning cannot become an error.
@pytest.mark.filterwarnings(
    "ignore:.*(GPU|device|CUDA):UserWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_cuda_model_without_a_gpu():
    """The configuration of a model trained on a GPU names the device."""
    booster = xgb.Booster(model_file=MODEL.get_booster().save_raw())
    config = json.loads(booster.save_config())
    config["learner"]["generic_param"]["device"] = "cuda:0"
    booster.load_config(json.dumps(config))
    expected = GlexDecomposer(MODEL.get_booster()).fit(X)
    assert np.array_equal(GlexDecomposer(booster).fit(X).shap_values(X), expected.shap_values(X))
    wrapper = xgb.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)
    wrapper.set_params(device="cuda")
    assert np.array_equal(GlexDecomposer(wrapper).fit(X).shap_values(X), expected.shap_values(X))
