"""Export to shap.Explanation, and draw it with shap."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal

from skglex import GlexDecomposer
from skglex.export import to_shap
from tests.export.models import CLASSES, MODEL, RNG, X, Y
from tests.support.people import PEOPLE, people_pipeline


@pytest.fixture(scope="module")
def shap():
    return pytest.importorskip("shap")


def test_one_output(shap):
    dec = GlexDecomposer(MODEL).fit(X)
    explanation = to_shap(dec, X)
    assert isinstance(explanation, shap.Explanation)
    assert_array_equal(explanation.values, dec.shap_values(X))
    assert_array_equal(explanation.base_values, np.full(200, dec.intercept_))
    assert_array_equal(explanation.data, X)
    assert explanation.display_data is None
    assert list(explanation.feature_names) == ["x0", "x1", "x2", "x3"]
    margin = MODEL.predict(X, output_margin=True)
    assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, margin, atol=1e-5)
    pairs = to_shap(dec, X, interactions=True)
    assert_array_equal(pairs.values, dec.shap_interaction_values(X))


@pytest.mark.filterwarnings("ignore")  # shap warns.
def test_as_shap_has_it(shap):
    theirs = shap.TreeExplainer(CLASSES)(X)
    ours = to_shap(GlexDecomposer(CLASSES, weighting="path_dependent").fit(X), X)
    assert ours.values.shape == theirs.values.shape == (200, 4, 3)
    assert ours.base_values.shape == theirs.base_values.shape == (200, 3)
    assert list(ours.output_names) == ["0", "1", "2"]
    assert_allclose(ours.values, theirs.values, atol=1e-5)
    one = to_shap(GlexDecomposer(MODEL, weighting="path_dependent").fit(X), X)
    assert one.base_values.shape == shap.TreeExplainer(MODEL)(X).base_values.shape


@pytest.mark.filterwarnings("ignore")  # shap warns.
@pytest.mark.parametrize("model", [MODEL, CLASSES])
def test_plots(shap, model, plt):
    explanation = to_shap(GlexDecomposer(model).fit(X), X)
    if explanation.values.ndim == 3:
        explanation = explanation[..., 1]
    shap.plots.beeswarm(explanation, show=False)
    plt.close("all")
    shap.plots.bar(explanation, show=False)
    plt.close("all")
    shap.plots.waterfall(explanation[0], show=False)
    plt.close("all")
    shap.plots.scatter(explanation[:, "x0"], show=False)
    drawn = plt.gca().collections[0].get_offsets()
    plt.close("all")
    values = explanation.values[:, 0]
    assert_allclose(np.sort(np.asarray(drawn)[:, 1]), np.sort(values))


@pytest.mark.filterwarnings("ignore")  # shap warns.
def test_categories_and_groups(shap, plt):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["c"] = pd.Categorical(RNG.choice(["low", "high", "none"], size=200))
    frame.loc[3, "c"] = None
    model = xgb.XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True)
    model.fit(frame, Y + (frame["c"] == "low"))
    explanation = to_shap(GlexDecomposer(model).fit(frame), frame)
    assert_array_equal(explanation.data[:, 2], frame["c"].cat.codes.where(frame["c"].notna()))
    assert explanation.display_data[:, 2][:3].tolist() == frame["c"][:3].tolist()
    assert_array_equal(explanation.data[:, 0], frame["a"])
    grouped = to_shap(GlexDecomposer(model, feature_groups={"both": ["a", "c"]}).fit(frame), frame)
    assert list(grouped.feature_names) == ["both", "b", "d"]
    assert np.isnan(grouped.data[:, 0]).all()
    assert_array_equal(grouped.data[:, 1:], frame[["b", "d"]])
    assert set(grouped.display_data[:, 0]) == {"(group)"}
    for which in (explanation, grouped):
        shap.plots.waterfall(which[0], show=False)
        plt.close("all")
        shap.plots.beeswarm(which, show=False)
        plt.close("all")


def test_values_of_raw_columns(shap):
    pipeline = people_pipeline().fit(PEOPLE, PEOPLE["age"] + (PEOPLE["sex"] == "man") * PEOPLE["hours"])
    for groups in ("auto", None):
        explanation = to_shap(GlexDecomposer(pipeline, feature_groups=groups).fit(PEOPLE), PEOPLE)
        names = list(explanation.feature_names)
        for name in ("age", "hours", "noise"):
            assert_array_equal(explanation.data[:, names.index(name)], PEOPLE[name])
        if groups:
            assert names == ["sex", "age", "hours", "noise"]
            assert_array_equal(explanation.display_data[:, 0], PEOPLE["sex"])
            assert_array_equal(explanation.data[:, 0], PEOPLE["sex"] == "woman")
        else:
            assert names[:2] == ["onehotencoder__sex_man", "onehotencoder__sex_woman"]
            assert_array_equal(explanation.data[:, 0], PEOPLE["sex"] == "man")


def test_one_hot_encoded_groups(shap):
    frame = pd.get_dummies(PEOPLE[["age", "sex"]], columns=["sex"])
    model = xgb.XGBRegressor(n_estimators=5, max_depth=3).fit(frame, frame["age"] * frame["sex_man"])
    groups = {"sex": ["sex_man", "sex_woman"]}
    explanation = to_shap(GlexDecomposer(model, feature_groups=groups).fit(frame), frame)
    column = list(explanation.feature_names).index("sex")
    assert_array_equal(explanation.display_data[:, column], PEOPLE["sex"])
    assert_array_equal(explanation.data[:, column], PEOPLE["sex"] == "woman")


def test_sparse_rows(shap):
    dec = GlexDecomposer(MODEL).fit(X)
    assert_array_equal(to_shap(dec, sp.csr_matrix(X)).data, X)


def test_without_shap(monkeypatch):
    dec = GlexDecomposer(MODEL).fit(X)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"needs shap.*pip install 'skglex\[shap\]'"):
        to_shap(dec, X)
    with pytest.raises(TypeError, match="expected a GlexDecomposer"):
        to_shap(MODEL, X)
