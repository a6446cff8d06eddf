"""Save and load fitted objects: pickle and skops."""

import json
import pickle
from importlib.util import find_spec

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import skglex
from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from skglex._utils import _state
from skglex.export import load_components, save_components
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


@pytest.mark.parametrize("categories", [None, list("zxy"), [3, 1, 2]], ids=str)
def test_skops_planted_forest(categories):
    """The forest keeps the categories of a data frame as an index of pandas, which skops cannot write."""
    sio = pytest.importorskip("skops.io")
    rows = X
    if categories:
        codes = RNG.integers(3, size=len(X))
        rows = pd.DataFrame(FILLED, columns=list("abcd")).assign(
            c=pd.Categorical.from_codes(codes, categories)
        )
    forest = RandomPlantedForestRegressor(3, random_state=0).fit(rows, Y)
    before = joblib.hash(forest)
    written = sio.dumps(forest)
    untrusted = sio.get_untrusted_types(data=written)
    assert set(untrusted) == own_types(untrusted)
    loaded = sio.loads(written, trusted=untrusted)
    assert np.array_equal(loaded.predict(rows), forest.predict(rows))
    assert joblib.hash(forest) == before
    for j, index in forest.categories_.items():
        assert index.equals(loaded.categories_[j])
        assert index.dtype == loaded.categories_[j].dtype


def containers():
    """Yield the name of every kind of rows, the rows, and a model that was trained on them."""
    frame = pd.DataFrame(FILLED, columns=list("abcd"))
    labels = np.array(list("xyz"))[RNG.integers(3, size=len(X))]
    plain = {
        "array": FILLED,
        "float32": FILLED.astype(np.float32),
        "csr_matrix": sp.csr_matrix(FILLED),
        "csc_array": sp.csc_array(FILLED),
        "pandas": frame,
        "nullable": frame.astype("Float64"),
    }
    for name, rows in plain.items():
        yield name, rows, xgb.XGBRegressor(n_estimators=5, max_depth=3).fit(rows, Y)
    hist = HistGradientBoostingRegressor(max_iter=5, categorical_features=["c"])
    categories = frame.assign(c=pd.Categorical(labels, categories=list("zxyw"), ordered=True))
    yield "categories", categories, hist.fit(categories, Y)
    nulls = frame.assign(c=pd.Categorical(np.where(labels == "x", None, labels)))
    yield "missing categories", nulls, clone(hist).fit(nulls, Y)
    days = frame.assign(
        day=pd.date_range("2020", periods=len(X), tz="Europe/Berlin"),
        month=pd.period_range("2020", periods=len(X), freq="M"),
        text=labels,
        nothing=None,
    )
    encode = make_column_transformer(("passthrough", ["a", "b"]), (OneHotEncoder(), ["text"]))
    yield "pipeline", days, make_pipeline(encode, xgb.XGBRegressor(n_estimators=5, max_depth=3)).fit(days, Y)
    if find_spec("polars"):
        import polars as pl

        enum = pl.DataFrame(FILLED, schema=list("abcd")).with_columns(
            c=pl.Series(labels, dtype=pl.Enum(list("zxy")))
        )
        yield "polars", enum, HistGradientBoostingRegressor(max_iter=5, categorical_features=[2]).fit(enum, Y)


def look_at(decomposer, rows):
    """Use whatever computes something on first access."""
    decomposer.transform(rows)
    decomposer.shap_values(rows)
    decomposer.shap_interaction_values(rows)
    decomposer.partial_dependence([0], rows)
    decomposer.component_importances_, decomposer.feature_importances_  # noqa: B018
    for component in decomposer.strongest_components(3):
        component.values, component.importance  # noqa: B018
    decomposer._repr_html_()


@pytest.mark.parametrize(("rows", "model"), [pytest.param(*rest, id=name) for name, *rest in containers()])
def test_saving_before_and_after_use(rows, model):
    """Every way of saving keeps the numbers, on every kind of rows; the content does not change by looking."""
    sio = pytest.importorskip("skops.io")
    decomposer = GlexDecomposer(model).fit(rows)
    remover = FeatureRemover(model, ["a"] if hasattr(rows, "columns") else [0]).fit(rows)
    before = joblib.hash(decomposer), joblib.hash(remover)
    for used in (False, True):
        for fitted, method in ((decomposer, "transform"), (remover, "predict")):
            expected = getattr(fitted, method)(rows) if used else None
            written = sio.dumps(fitted)
            from_skops = sio.loads(written, trusted=sio.get_untrusted_types(data=written))
            for loaded in (from_skops, pickle.loads(pickle.dumps(fitted))):
                if used:
                    assert np.array_equal(getattr(loaded, method)(rows), expected)
        look_at(decomposer, rows)
        assert (joblib.hash(decomposer), joblib.hash(remover)) == before
    if hasattr(rows, "columns"):
        few = rows.drop(columns="a") if hasattr(rows, "iloc") else rows.drop("a")
        assert np.array_equal(from_skops.predict(few), expected)


def test_components_do_not_change_by_looking():
    decomposer = GlexDecomposer(MODEL).fit(X)
    component = decomposer["x0"]
    before = joblib.hash(component)
    component.values, component.importance, decomposer.components_  # noqa: B018
    assert joblib.hash(component) == before
    assert np.array_equal(pickle.loads(pickle.dumps(component)).values, component.values)


def test_stored_components(tmp_path):
    sio = pytest.importorskip("skops.io")
    save_components(GlexDecomposer(MODEL).fit(X), tmp_path / "components.zip")
    stored = load_components(tmp_path / "components.zip")
    before, written = joblib.hash(stored), sio.dumps(stored)
    stored["x0"].values  # noqa: B018
    assert joblib.hash(stored) == before
    from_skops = sio.loads(written, trusted=sio.get_untrusted_types(data=written))
    for loaded in (from_skops, pickle.loads(pickle.dumps(stored))):
        assert np.array_equal(loaded.evaluate(X), stored.evaluate(X))


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
