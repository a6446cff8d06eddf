"""Export to InterpretML's boosting machine."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal

from skglex import ComponentModel, GlexDecomposer
from skglex._utils import budgets
from skglex.export import to_ebm
from skglex.inspection import resample_components
from tests.export.shipped_models import shipped

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
Y = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])
MODEL = xgb.XGBRegressor(n_estimators=20, max_depth=2).fit(X, Y)


def on_thresholds(model, X):
    """Return rows with values on the model's float32 thresholds, and on their float64 neighbours."""
    table = model.get_booster().trees_to_dataframe()
    rows = []
    for j in range(X.shape[1]):
        cuts = table.loc[table["Feature"] == f"f{j}", "Split"].to_numpy().astype(np.float32).astype(float)
        for values in (cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), cuts * (1 - 1e-8)):
            part = np.repeat(np.nan_to_num(X[:1]), len(cuts), axis=0)
            part[:, j] = values
            rows.append(part)
    return np.concatenate(rows)


@pytest.fixture(scope="module")
def interpret():
    return pytest.importorskip("interpret.glassbox")


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_regression(interpret):
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    ebm = to_ebm(dec)
    assert isinstance(ebm, interpret.ExplainableBoostingRegressor)
    rows = np.concatenate([X, on_thresholds(MODEL, X), [[np.inf, -np.inf, 1e300, np.nan]]])
    expected = dec.intercept_ + dec.transform(rows).sum(axis=1)
    assert_allclose(ebm.predict(rows), expected, atol=1e-10)
    assert_allclose(ebm.predict(X), MODEL.predict(X), atol=1e-5)
    assert_allclose(ebm.eval_terms(X), dec.transform(X), atol=1e-12)
    assert ebm.term_names_ == [" & ".join(c.features) for c in dec.components_]
    assert_allclose(ebm.term_importances(), dec.component_importances_, atol=1e-12)


def test_standard_deviations(interpret):
    bands = resample_components(
        MODEL, np.nan_to_num(X), Y, features=["x0", ("x1", "x2")], n_resamples=3, random_state=0
    )
    ebm = to_ebm(bands.decomposer, resampled=bands)
    names = [list(term) for term in ebm.term_features_]
    for name, term in (("x0", [0]), ("x1:x2", [1, 2])):
        cells, errors = bands.cells[name], bands.to_frame(name)["std_error"]
        ends = ebm.eval_terms(cells.rows)[:, names.index(term)]
        assert_allclose(ends, bands.decomposer[name].evaluate(cells.rows), atol=1e-10)
        stored = ebm.standard_deviations_[names.index(term)]
        assert_allclose(np.unique(errors), np.setdiff1d(stored, [0.0]), atol=1e-12)
    assert not ebm.standard_deviations_[names.index([1])].any()
    with pytest.raises(ValueError, match="bins of another decomposer"):
        to_ebm(GlexDecomposer(MODEL).fit(X), resampled=bands)


def test_explanations(interpret):
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    ebm = to_ebm(dec)
    shown = ebm.explain_global()
    overall = shown.data()
    assert_allclose(overall["scores"], dec.component_importances_, atol=1e-12)
    main = shown.data(0)
    assert_allclose(main["scores"], dec["x0"].values[:-1])  # The last value is for missing.
    assert_array_equal(main["names"][1:-1], dec["x0"].axes[0].edges)
    local = ebm.explain_local(X[:3]).data(0)
    assert_allclose(local["scores"], dec.transform(X[:1])[0], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(interpret, n_classes):
    labels = np.digitize(Y, [0.0] if n_classes == 2 else [-0.5, 0.5])
    model = xgb.XGBClassifier(n_estimators=8, max_depth=2).fit(X, labels)
    dec = GlexDecomposer(model, max_interaction=None).fit(X)
    ebm = to_ebm(dec)
    assert isinstance(ebm, interpret.ExplainableBoostingClassifier)
    assert_allclose(ebm.predict_proba(X), model.predict_proba(X), atol=1e-5)
    assert_array_equal(ebm.predict(X), model.predict(X))
    assert_array_equal(ebm.classes_, model.classes_)
    if n_classes == 2:
        assert len(ebm.explain_global().data()["names"]) == len(dec.components_)


def test_log_link(interpret):
    model = xgb.XGBRegressor(n_estimators=8, max_depth=2, objective="count:poisson").fit(X, np.abs(Y))
    assert_allclose(
        to_ebm(GlexDecomposer(model, max_interaction=None).fit(X)).predict(X), model.predict(X), rtol=1e-5
    )


def test_categories(interpret):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["c"] = pd.Categorical(RNG.choice(["low", "high", "none"], size=300))
    frame.loc[:5, "c"] = None
    frame["d"] = pd.Categorical(RNG.choice([1, 3, 10], size=300))
    model = xgb.XGBRegressor(n_estimators=20, max_depth=2, enable_categorical=True)
    model.fit(frame, Y * (frame["c"] == "low") + frame["d"].astype(float))
    dec = GlexDecomposer(model, max_interaction=None).fit(frame)
    ebm = to_ebm(dec)
    assert ebm.feature_types_in_ == ["continuous", "continuous", "nominal", "nominal"]
    assert_allclose(ebm.predict(frame), dec.intercept_ + dec.transform(frame).sum(axis=1), atol=1e-10)
    assert_allclose(ebm.term_importances(), dec.component_importances_, atol=1e-12)
    ebm.explain_global()
    unused = GlexDecomposer(
        xgb.XGBRegressor(n_estimators=5, max_depth=1, enable_categorical=True).fit(
            frame, np.nan_to_num(X[:, 0])
        )
    )
    ebm = to_ebm(unused.fit(frame))
    assert ebm.feature_types_in_ == ["continuous", "continuous", "nominal", "nominal"]
    ebm.explain_local(frame[:3])


def test_higher_orders_are_left_out(interpret):
    model = xgb.XGBRegressor(n_estimators=10, max_depth=4).fit(X, Y)
    with pytest.warns(UserWarning, match="components of order 3 and more are left out"):
        ebm = to_ebm(GlexDecomposer(model, max_interaction=None).fit(X))
    dec = GlexDecomposer(model, max_interaction=2, remainder=False).fit(X)
    assert_allclose(ebm.predict(X), dec.intercept_ + dec.transform(X).sum(axis=1), atol=1e-10)
    assert_allclose(to_ebm(dec).predict(X), ebm.predict(X), atol=1e-12)


def test_models_of_sparse_rows_are_refused():
    """Their zeros are missing values, which an EBM takes as numbers."""
    rows = sp.csr_matrix(np.nan_to_num(X) * (X > 0))
    model = xgb.XGBRegressor(n_estimators=5, max_depth=2).fit(rows, Y)
    with pytest.raises(ValueError, match="treats zeros as missing"):
        to_ebm(GlexDecomposer(model, max_interaction=None).fit(rows))


def test_main_effects_only(interpret):
    model = xgb.XGBRegressor(n_estimators=10, max_depth=1).fit(X, Y)
    ebm = to_ebm(GlexDecomposer(model, max_interaction=None).fit(X))
    assert all(len(levels) == 1 for levels in ebm.bins_)
    assert_allclose(ebm.predict(X), model.predict(X), atol=1e-5)


def test_bad_models(interpret, monkeypatch):
    with pytest.raises(ValueError, match="feature_groups cannot be exported"):
        to_ebm(GlexDecomposer(MODEL, feature_groups={"g": [0, 1]}).fit(X))
    coded = xgb.XGBRegressor(n_estimators=2, max_depth=2, missing=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"treats the value -1\.0 as missing, but an EBM only NaN"):
        to_ebm(GlexDecomposer(coded, max_interaction=None).fit(X))
    several = xgb.XGBRegressor(n_estimators=2, max_depth=2).fit(X, np.column_stack([Y, -Y]))
    with pytest.raises(ValueError, match=r"2 output\(s\) has no counterpart in InterpretML"):
        to_ebm(GlexDecomposer(several, max_interaction=None).fit(X))
    monkeypatch.setattr(budgets, "ebm_cells", 100)
    with pytest.raises(ValueError, match="the tables of the exported model would have"):
        to_ebm(GlexDecomposer(MODEL, max_interaction=None).fit(X))


def test_without_interpret(monkeypatch):
    for name in ("interpret", "interpret.glassbox"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"needs interpret.*pip install 'skglex\[interpret\]'"):
        to_ebm(GlexDecomposer(MODEL, max_interaction=None).fit(X))


@pytest.mark.parametrize("name", ["counts", "binary", "lightgbm", "hist", "classes"])
def test_component_model(interpret, name):
    """The EBM of an edited model predicts what the model predicts, unseen categories and missing values included."""
    model, rows, _ = shipped(name)
    model = model.scale(model._kept.terms[0].name, 2.0)
    given = rows
    if isinstance(rows, pd.DataFrame):
        given = rows.astype({column: object for column in rows if rows[column].dtype == "category"})
    ebm = model.to_ebm()
    margin = model.margin(rows)
    assert len(ebm.term_names_) == len(model._kept.terms)
    scores = ebm.predict(given) if name in ("counts", "hist") else ebm.decision_function(given)
    expected = np.exp(margin) if name == "counts" else margin
    assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_component_models_that_are_no_ebm(interpret):
    deep = xgb.XGBRegressor(n_estimators=3, max_depth=4).fit(X, Y)
    with pytest.raises(ValueError, match="to_ebm writes tables of components"):
        ComponentModel(deep, remainder=True).fit(X).to_ebm()
    with pytest.raises(
        ValueError, match="the model keeps 1 components of order 3 and more, 'x0:x1:x2' for example"
    ):
        ComponentModel(deep, terms=["x0", ("x0", "x1", "x2")]).fit(X).to_ebm()
