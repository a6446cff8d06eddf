"""Rank components, orders and features, and cut margins off at an order."""

import sys

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import GlexDecomposer
from skglex._decomposition import _importance
from skglex._utils import budgets
from skglex.inspection import (
    component_importance,
    feature_importance,
    interaction_strength,
    truncated_margin,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
Z = np.nan_to_num(X)
Y = Z[:, 0] + Z[:, 2] + Z[:, 1] * Z[:, 2] - 2 * Z[:, 1] * Z[:, 2] * Z[:, 3]
MODEL = xgb.XGBRegressor(n_estimators=20, max_depth=4).fit(X, Y)
CLASSES = xgb.XGBClassifier(n_estimators=5, max_depth=3).fit(X, RNG.integers(0, 3, size=400))
WEIGHT = RNG.integers(0, 3, size=400)


@pytest.fixture(scope="module")
def dec():
    return GlexDecomposer(MODEL, max_interaction=None).fit(X)


@pytest.fixture(scope="module")
def by_class():
    return GlexDecomposer(CLASSES).fit(X)


def weighted_mean(values, weight):
    return np.average(np.abs(values), axis=0, weights=weight)


@pytest.mark.parametrize("weight", [None, WEIGHT[:50]])
def test_components_on_given_rows(dec, weight):
    table = component_importance(dec, X[:50], sample_weight=weight)
    assert list(table.columns) == ["component", "order", "importance"]
    assert table["importance"].is_monotonic_decreasing
    expected = pd.Series(weighted_mean(dec.transform(X[:50]), weight), dec.get_feature_names_out())
    found = table.set_index("component")["importance"]
    assert_allclose(found[expected.index], expected, atol=1e-12)
    assert [dec[name].order for name in table["component"]] == table["order"].tolist()
    pd.testing.assert_frame_equal(
        component_importance(dec, X[:50], sample_weight=weight, k=4), table.iloc[:4]
    )


def test_background_is_the_default_with_its_weights():
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X, sample_weight=WEIGHT)
    table = component_importance(dec)
    assert_allclose(np.sort(dec.component_importances_), np.sort(table["importance"]))
    pd.testing.assert_frame_equal(table, component_importance(dec, X, sample_weight=WEIGHT))
    pd.testing.assert_frame_equal(feature_importance(dec), feature_importance(dec, X, sample_weight=WEIGHT))
    pd.testing.assert_frame_equal(
        interaction_strength(dec), interaction_strength(dec, X, sample_weight=WEIGHT)
    )


def test_by_order_and_by_feature(dec):
    components = component_importance(dec)
    by_order = component_importance(dec, by="order")
    assert by_order["order"].tolist() == [1, 2, 3, 4]
    assert_allclose(by_order["importance"], components.groupby("order")["importance"].sum())
    by_feature = component_importance(dec, by="feature")
    assert_allclose(by_feature.groupby("order")["importance"].sum(), by_order["importance"])
    for _, (feature, order, importance) in by_feature.iterrows():
        touching = [c for c in dec.components_ if feature in c.features and c.order == order]
        assert importance == pytest.approx(sum(c.importance for c in touching) / order)
    absolute = feature_importance(dec, kind="absolute").set_index("feature")["importance"]
    assert_allclose(by_feature.groupby("feature")["importance"].sum()[absolute.index], absolute)


def test_feature_importance(dec):
    table = feature_importance(dec, X[:60], sample_weight=WEIGHT[:60])
    expected = weighted_mean(dec.shap_values(X[:60]), WEIGHT[:60])
    assert_allclose(table.set_index("feature")["importance"][dec.explained_features_], expected)
    assert table["importance"].is_monotonic_decreasing
    both = [feature_importance(dec, kind=kind).set_index("feature") for kind in ("shap", "absolute")]
    assert (both[0]["importance"] <= both[1]["importance"][both[0].index] + 1e-12).all()


def test_several_outputs(by_class):
    table = component_importance(by_class, X)
    assert list(table.columns) == ["component", "order", *(f"{c}__importance" for c in range(3))]
    values = pd.DataFrame(np.abs(by_class.transform(X)), columns=by_class.get_feature_names_out()).mean()
    for _, row in table.iterrows():
        for c in range(3):
            assert row[f"{c}__importance"] == pytest.approx(values[f"{c}__{row['component']}"])
    assert table.filter(like="importance").sum(axis=1).is_monotonic_decreasing
    assert component_importance(by_class, k=2)["component"].tolist() == table["component"].tolist()[:2]
    strength = interaction_strength(by_class)
    assert list(strength.columns)[2:] == [f"{c}__{what}" for what in ("share", "r2") for c in range(3)]
    margin, r2 = truncated_margin(by_class, X, 2, return_r2=True)
    assert margin.shape == (400, 3)
    assert_allclose(strength.loc[1, [f"{c}__r2" for c in range(3)]].astype(float), r2)
    assert feature_importance(by_class).shape == (4, 4)


def test_truncated_margin(dec):
    T = dec.transform(X)
    orders = np.array([c.order for c in dec.components_])
    full = dec.intercept_ + T.sum(axis=1)
    strength = interaction_strength(dec, sample_weight=None)
    for order in range(6):
        margin, r2 = truncated_margin(dec, X, order, return_r2=True)
        assert_allclose(margin, dec.intercept_ + T[:, orders <= order].sum(axis=1), atol=1e-10)
        assert r2 == pytest.approx(1 - ((full - margin) ** 2).mean() / full.var(), abs=1e-9)
        if 1 <= order <= 4:
            assert strength["r2"][order - 1] == pytest.approx(r2)
            part = T[:, orders == order].sum(axis=1)
            share = ((part - part.mean()) * (full - full.mean())).mean() / full.var()
            assert strength["share"][order - 1] == pytest.approx(share)
    assert strength["share"].sum() == pytest.approx(1)
    assert strength["n_components"].tolist() == [4, 6, 4, 1]


def test_remainder_has_a_row_of_its_own():
    dec = GlexDecomposer(MODEL, max_interaction=2).fit(X)
    full = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    strength = interaction_strength(dec, max_order=2)
    assert strength["order"].tolist() == [1, 2, "remainder"]
    assert strength["n_components"].tolist() == [4, 6, None]
    assert_allclose(strength["share"][:2], interaction_strength(full)["share"][:2])
    assert strength["share"].sum() == pytest.approx(1)
    assert strength["r2"].iloc[-1] == pytest.approx(1)
    assert_allclose(truncated_margin(dec, X, 2), truncated_margin(full, X, 2), atol=1e-10)
    assert interaction_strength(dec)["order"].tolist() == [1, 2, 3, 4]
    assert_allclose(truncated_margin(dec, X, 3), truncated_margin(full, X, 3), atol=1e-10)


def test_constant_model():
    model = xgb.XGBRegressor(n_estimators=2).fit(X, np.ones(400))
    dec = GlexDecomposer(model, max_interaction=None).fit(X)
    assert len(component_importance(dec)) == len(component_importance(dec, by="order")) == 0
    assert len(interaction_strength(dec)) == 0
    assert feature_importance(dec, kind="absolute")["importance"].tolist() == [0.0] * 4
    margin, r2 = truncated_margin(dec, X, 3, return_r2=True)
    assert_allclose(margin, 1)
    assert np.isnan(r2)


def test_groups_are_features():
    dec = GlexDecomposer(MODEL, feature_groups={"both": [0, 2]}).fit(X)
    assert set(feature_importance(dec, kind="absolute")["feature"]) == {"both", "x1", "x3"}


def test_without_pandas(dec, monkeypatch):
    frame = component_importance(dec, k=3)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = component_importance(dec, k=3)
    assert type(table) is dict
    for name in table:
        np.testing.assert_array_equal(table[name], frame[name])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: component_importance(d, by="group"), "by must be 'component', 'order' or 'feature'"),
        (lambda d: component_importance(d, by="order", k=3), "k=3 limits the number of components"),
        (lambda d: component_importance(d, k=0), "k must be an integer of at least 1"),
        (lambda d: component_importance(d, sample_weight=[1]), "sample_weight was passed without X"),
        (lambda d: component_importance(d, X, sample_weight=np.zeros(400)), "zero"),
        (lambda d: component_importance(d, X, sample_weight=-np.ones(400)), "Negative values"),
        (lambda d: component_importance(d, X[:, :2]), "2 features"),
        (lambda d: feature_importance(d, kind="gain"), "kind must be 'shap' or 'absolute'; got 'gain'"),
        (lambda d: truncated_margin(d, X, -1), "order must be an integer of at least 0; got -1"),
        (lambda d: truncated_margin(d, X, 1.5), "order must be an integer"),
    ],
)
def test_bad_input(dec, call, message):
    with pytest.raises(ValueError, match=message):
        call(dec)


@pytest.mark.parametrize("function", [component_importance, feature_importance, interaction_strength])
def test_what_is_no_fitted_decomposer(function):
    with pytest.raises(TypeError, match="expected a GlexDecomposer, got a XGBRegressor"):
        function(MODEL)
    with pytest.raises(ValueError, match="not fitted"):
        function(GlexDecomposer(MODEL))


def test_too_many_components():
    few, whole = GlexDecomposer(MODEL, max_components=3).fit(X), GlexDecomposer(MODEL).fit(X)
    for function in (component_importance, feature_importance, interaction_strength):
        assert function(few).equals(function(whole))


def test_streamed_components_are_averaged_once(monkeypatch):
    """Without tables an importance costs a pass over all leaves, so it is computed once for all functions."""
    monkeypatch.setattr(budgets, "table_cells", 20)
    expected = component_importance(GlexDecomposer(MODEL, max_interaction=None).fit(X), X)
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    strongest = dec.strongest_components(3)
    assert [c.name for c in strongest] == expected["component"][:3].tolist()
    averaged = []
    average = _importance.average_streamed

    def count(listed, background, *, chosen, **options):
        averaged.extend(chosen.tolist())
        return average(listed, background, chosen=chosen, **options)

    monkeypatch.setattr(_importance, "average_streamed", count)
    table = component_importance(dec, k=5)
    assert_allclose(table["importance"], expected["importance"][:5], rtol=1e-12)
    assert_allclose(np.sort(dec.component_importances_)[::-1], expected["importance"], rtol=1e-12)
    by_order = component_importance(dec, by="order")["importance"]
    assert_allclose(by_order, expected.groupby("order")["importance"].sum(), rtol=1e-12)
    assert not averaged
