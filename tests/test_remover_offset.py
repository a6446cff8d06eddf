"""Predict rows with an offset, against what each library makes of it."""

import warnings

import catboost as cb
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, VotingRegressor
from sklearn.metrics import r2_score

from skglex import FeatureRemover

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 3))
EXPOSURE = RNG.uniform(0.2, 5.0, N)
OFFSET = np.log(EXPOSURE)
COUNTS = RNG.poisson(EXPOSURE * np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] * X[:, 2] + 1))
CLASSES = np.digitize(COUNTS, [2, 5])
OFFSETS = RNG.normal(size=(N, 3))
SMALL = {"n_estimators": 10, "max_depth": 3}
CAT = {"iterations": 10, "depth": 3, "verbose": 0, "allow_writing_files": False}
# XGBoost sums in float32, and CatBoost holds a baseline in float32; LightGBM sums in float64, in another order.
FLOAT32, FLOAT64 = 5e-6, 1e-11


def xgboost_margin(model, offset):
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    # XGBoost 3.2 adds base_margin once per tree if a DART model predicts in place, so a DMatrix is the oracle.
    return booster.predict(xgb.DMatrix(X, base_margin=offset), output_margin=True)


def lightgbm_margin(model, offset):
    booster = getattr(model, "booster_", model)
    return booster.predict(X, raw_score=True) + offset


def catboost_margin(model, offset):
    return model.predict(cb.Pool(X, baseline=offset), prediction_type="RawFormulaVal")


def catboost(kind, target, offset, **params):
    return kind(**CAT, **params).fit(cb.Pool(X, target, baseline=offset))


def xgboost(kind, target, offset, **params):
    return kind(**{**SMALL, **params}).fit(X, target, base_margin=offset)


def lightgbm(kind, target, offset, **params):
    return kind(**SMALL, verbose=-1, **params).fit(X, target, init_score=offset)


MODELS = {
    "xgboost": (
        lambda: xgboost(xgb.XGBRegressor, COUNTS, OFFSET, objective="count:poisson"),
        xgboost_margin,
        FLOAT32,
    ),
    "xgboost booster": (
        lambda: xgboost(xgb.XGBRegressor, COUNTS, OFFSET, objective="count:poisson").get_booster(),
        xgboost_margin,
        FLOAT32,
    ),
    "xgboost, base score": (
        lambda: xgboost(xgb.XGBRegressor, COUNTS, OFFSET, base_score=7.0),
        xgboost_margin,
        FLOAT32,
    ),
    "xgboost, dart": (
        lambda: xgboost(xgb.XGBRegressor, COUNTS, OFFSET, booster="dart", rate_drop=0.5),
        xgboost_margin,
        FLOAT32,
    ),
    "xgboost, forest": (lambda: xgboost(xgb.XGBRFRegressor, COUNTS, OFFSET), xgboost_margin, FLOAT32),
    "xgboost, no trees": (
        lambda: xgb.train({"base_score": 3.0}, xgb.DMatrix(X, COUNTS), 0),
        xgboost_margin,
        FLOAT32,
    ),
    "xgboost, binary": (lambda: xgboost(xgb.XGBClassifier, COUNTS > 3, OFFSET), xgboost_margin, FLOAT32),
    "xgboost, classes": (lambda: xgboost(xgb.XGBClassifier, CLASSES, OFFSETS), xgboost_margin, FLOAT32),
    "xgboost, targets": (lambda: xgboost(xgb.XGBRegressor, OFFSETS, OFFSETS), xgboost_margin, FLOAT32),
    "xgboost, vector leaves": (
        lambda: xgboost(xgb.XGBRegressor, OFFSETS, OFFSETS, multi_strategy="multi_output_tree"),
        xgboost_margin,
        FLOAT32,
    ),
    "lightgbm": (
        lambda: lightgbm(lgb.LGBMRegressor, COUNTS, OFFSET, objective="poisson"),
        lightgbm_margin,
        FLOAT64,
    ),
    "lightgbm booster": (
        lambda: lightgbm(lgb.LGBMRegressor, COUNTS, OFFSET).booster_,
        lightgbm_margin,
        FLOAT64,
    ),
    "lightgbm, classes": (lambda: lightgbm(lgb.LGBMClassifier, CLASSES, OFFSETS), lightgbm_margin, FLOAT64),
    "catboost": (
        lambda: catboost(cb.CatBoostRegressor, COUNTS, OFFSET, loss_function="Poisson"),
        catboost_margin,
        FLOAT32,
    ),
    "catboost, bias": (
        lambda: cb.CatBoostRegressor(**CAT, boost_from_average=True).fit(X, COUNTS),
        catboost_margin,
        FLOAT32,
    ),
    "catboost, classes": (
        lambda: catboost(cb.CatBoostClassifier, CLASSES, OFFSETS, loss_function="MultiClass"),
        catboost_margin,
        FLOAT32,
    ),
}


@pytest.mark.filterwarnings("ignore:.*dart.*is deprecated:UserWarning")
@pytest.mark.filterwarnings("ignore:.*XGBRF.*is deprecated:FutureWarning")
@pytest.mark.parametrize("name", MODELS)
def test_margin_is_that_of_the_library(name):
    make, margin, bound = MODELS[name]
    model = make()
    n_outputs = np.size(FeatureRemover(model, [0]).fit(X).margin(X[:1]))
    offset = OFFSET if n_outputs == 1 else OFFSETS
    expected = margin(model, offset)
    # Without a removed component the margin is the model's.
    full = FeatureRemover(model, [0], strength=0).fit(X)
    scale = np.abs(expected).max()
    assert_allclose(full.margin(X, offset=offset), expected, rtol=0, atol=bound * scale)
    # An offset adds the same to the debiased margin.
    debiased = FeatureRemover(model, [0]).fit(X[:20])
    assert_allclose(
        debiased.margin(X, offset=offset) - debiased.margin(X),
        expected - full.margin(X),
        rtol=0,
        atol=bound * scale,
    )


def test_outputs():
    counts = MODELS["xgboost"][0]()
    remover = FeatureRemover(counts, [0], strength=0).fit(X)
    own = counts.predict(X, base_margin=OFFSET)
    assert_allclose(remover.predict(X, offset=OFFSET), own, rtol=1e-5)
    assert remover.score(X, COUNTS, offset=OFFSET) == pytest.approx(r2_score(COUNTS, own), abs=1e-6)
    assert_allclose(remover.decision_function(X, offset=OFFSET), remover.margin(X, offset=OFFSET))
    # A column is one number per row.
    assert_allclose(remover.predict(X, offset=OFFSET[:, None]), own, rtol=1e-5)
    for name, offset, link in (("xgboost, binary", OFFSET, expit), ("xgboost, classes", OFFSETS, softmax)):
        model = MODELS[name][0]()
        remover = FeatureRemover(model, [0], strength=0).fit(X)
        own = model.predict_proba(X, base_margin=offset)
        assert_allclose(remover.predict_proba(X, offset=offset), own, atol=1e-6)
        assert_allclose(np.exp(remover.predict_log_proba(X, offset=offset)), own, atol=1e-6)
        assert np.array_equal(remover.predict(X, offset=offset), own.argmax(axis=1))
        margin = remover.decision_function(X, offset=offset)
        probability = link(margin, axis=1) if margin.ndim == 2 else link(margin)
        assert_allclose(probability, own if margin.ndim == 2 else own[:, 1], atol=1e-6)


def test_debiased_booster_takes_the_offset_too():
    remover = FeatureRemover(MODELS["xgboost"][0](), [0]).fit(X)
    booster = remover.to_xgboost()
    own = booster.predict(xgb.DMatrix(X, base_margin=OFFSET))
    assert_allclose(remover.predict(X, offset=OFFSET), own, rtol=1e-5)


def test_invalid_offsets():
    remover = FeatureRemover(MODELS["xgboost"][0](), [0]).fit(X)
    with pytest.raises(ValueError, match=r"offset has the shape \(5,\), but there are 300 rows and 1 output"):
        remover.predict(X, offset=OFFSET[:5])
    with pytest.raises(ValueError, match="offset contains NaN"):
        remover.predict(X, offset=np.full(N, np.nan))
    classes = FeatureRemover(MODELS["xgboost, classes"][0](), [0]).fit(X)
    with pytest.raises(ValueError, match=r"and 3 output\(s\)"):
        classes.predict(X, offset=OFFSET)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=2, loss="poisson"),
        IsolationForest(n_estimators=2),
        VotingRegressor([("xgboost", xgb.XGBRegressor(n_estimators=2))]),
        lgb.LGBMRegressor(n_estimators=2, boosting_type="rf", subsample=0.5, subsample_freq=1, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_without_offsets(model):
    remover = FeatureRemover(model.fit(X, COUNTS), [0]).fit(X)
    with pytest.raises(ValueError, match=f"a {type(model).__name__} has no offset of rows"):
        remover.predict(X, offset=OFFSET)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (xgb.XGBRegressor(**SMALL), "base_margin"),
        (lgb.LGBMRegressor(**SMALL, verbose=-1), "init_score"),
        (cb.CatBoostRegressor(**CAT), "baseline"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fitting_with_an_offset_warns(model, name):
    with pytest.warns(UserWarning, match=f"fitted with {name}.*takes it as offset="):
        remover = FeatureRemover(model, [0], strength=0).fit(X, COUNTS, **{name: OFFSET})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.std(COUNTS - remover.predict(X, offset=OFFSET)) < np.std(COUNTS - remover.predict(X))


def test_dask_offsets():
    da = pytest.importorskip("dask.array")
    remover = FeatureRemover(MODELS["xgboost"][0](), [0]).fit(X)
    lazy = da.from_array(X, chunks=(100, 3))
    expected = remover.predict(X, offset=OFFSET)
    for offset in (OFFSET, da.from_array(OFFSET, chunks=70)):
        assert_allclose(remover.predict(lazy, offset=offset).compute(), expected, rtol=1e-12)
    classes = FeatureRemover(MODELS["xgboost, classes"][0](), [0]).fit(X)
    found = classes.predict_proba(lazy, offset=OFFSETS).compute()
    assert_allclose(found, classes.predict_proba(X, offset=OFFSETS), rtol=1e-12)
    with pytest.raises(ValueError, match="offset must have the length 300"):
        remover.predict(lazy, offset=OFFSET[:5])
