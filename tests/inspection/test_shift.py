"""Explain the change of the mean margin between two data sets."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skglex import GlexDecomposer
from skglex.export import load_components, save_components
from skglex.inspection import explain_shift
from skglex.plotting import PartsDisplay
from tests.support.comparisons import check_shift

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
Z = np.nan_to_num(X)
Y = Z[:, 0] + Z[:, 1] * Z[:, 2] - 2 * Z[:, 1] * Z[:, 2] * Z[:, 3]
MODEL = xgb.XGBRegressor(n_estimators=15, max_depth=4, base_score=0.5).fit(X, Y)
OTHER = xgb.XGBRegressor(n_estimators=10, max_depth=3, base_score=0.5).fit(X, Y**2 + Z[:, 0] * Z[:, 3])
CLASSES = xgb.XGBClassifier(n_estimators=5, max_depth=3).fit(X, RNG.integers(0, 3, size=300))
OLD, NEW = X[:120], X[120:] + np.array([0.2, 0, -0.1, 0])
WEIGHT = RNG.integers(0, 4, size=120) * 1.0
# Sums of float64 terms of size 1 to 10, in another order; margins of XGBoost itself are float32.
EXACT, SINGLE = 1e-12, 1e-5


def margin(rows):
    return MODEL.predict(rows)[:, None].astype(float)


@pytest.fixture(scope="module")
def dec():
    return GlexDecomposer(MODEL).fit(X)


@pytest.mark.parametrize("groups", [None, {"pair": [1, 3]}])
@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_weights(weighting, groups):
    dec = GlexDecomposer(MODEL, weighting=weighting).fit(X)
    check_shift(dec, OLD[:30], NEW[:40], margin, SINGLE, (WEIGHT[:30], None))
    if groups:
        grouped = GlexDecomposer(MODEL, weighting=weighting, feature_groups=groups, max_interaction=None).fit(
            X
        )
        table = explain_shift(grouped, OLD, NEW).table.set_index("component")
        # The distribution of a group is joint, so all of its main effect counts as marginals.
        assert_allclose(table.loc["pair", "dependence"], 0, atol=EXACT)
        values = [grouped["pair"].evaluate(rows).mean() for rows in (OLD, NEW)]
        assert_allclose(table.loc["pair", "change"], values[1] - values[0], atol=EXACT)


def test_the_background_is_the_default_for_the_old_data(dec):
    found, expected = explain_shift(dec, None, NEW), explain_shift(dec, X, NEW)
    pd.testing.assert_frame_equal(found.table, expected.table)
    with pytest.raises(ValueError, match="X_new is None"):
        explain_shift(dec, X, None)


def test_several_outputs():
    dec = GlexDecomposer(CLASSES).fit(X)
    check_shift(
        dec, OLD[:20], NEW[:20], lambda rows: CLASSES.predict(rows, output_margin=True).astype(float), SINGLE
    )
    table = explain_shift(dec, OLD, NEW).table
    assert list(table.columns)[2:5] == ["0__marginals", "1__marginals", "2__marginals"]


def full_product(levels):
    """Return all combinations of levels: features are independent, exactly."""
    return np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, len(levels)).astype(float)


TREE = DecisionTreeRegressor().fit(full_product([range(4)] * 3), RNG.normal(size=64))


@pytest.mark.parametrize("max_interaction", [2, None])
def test_made_cases(max_interaction):
    """Only a marginal, only the dependence, only the model, or only a feature that the model does not use changes."""
    base = full_product([range(4)] * 3)
    with_idle = np.column_stack([base, base[:, 0] % 2])
    model = DecisionTreeRegressor().fit(np.column_stack([base, np.zeros(64)]), TREE.predict(base))
    dec = GlexDecomposer(model, max_interaction=max_interaction).fit(with_idle)
    shifted = np.column_stack([full_product([[0, 0, 1, 3], range(4), range(4)]), base[:, 0]])
    table = explain_shift(dec, with_idle, shifted).table.set_index("component")
    assert_allclose(table["dependence"], 0, atol=1e-9)
    # Over independent features, main effects and pairs average to 0 in each feature.
    assert_allclose(table["marginals"].drop("x0"), 0, atol=1e-9)
    assert abs(table.loc["x0", "marginals"]) > 0.01
    dependent = with_idle[(with_idle[:, 0] + with_idle[:, 1]) % 2 == 0]
    table = explain_shift(dec, with_idle, dependent).table.set_index("component")
    assert_allclose(table["marginals"], 0, atol=1e-9)
    assert abs(table.loc["x0:x1", "dependence"]) > 0.01
    assert_allclose(
        table["dependence"].drop(["x0:x1", "x0:x1:x2", "remainder"], errors="ignore"), 0, atol=1e-9
    )
    idle = with_idle.copy()
    idle[:, 3] = 17
    assert_allclose(explain_shift(dec, with_idle, idle).table["change"], 0, atol=1e-9)
    other = DecisionTreeRegressor().fit(np.column_stack([base, np.zeros(64)]), RNG.normal(size=64))
    shift = explain_shift(dec, with_idle, with_idle, model_new=other)
    table = shift.table.set_index("component")
    assert_allclose(table[["marginals", "dependence"]], 0, atol=1e-9)
    assert_allclose(table["model"], table["change"], atol=1e-9)
    assert_allclose(
        table["model"].sum(), (other.predict(with_idle) - model.predict(with_idle)).mean(), atol=1e-9
    )


@pytest.mark.parametrize("limits", [{}, {"max_interaction": None}, {"features": [0, 1]}])
def test_a_new_model(limits):
    dec = GlexDecomposer(MODEL, **limits).fit(X)
    shift = explain_shift(dec, X, NEW, model_new=OTHER)
    table = shift.table.set_index("component")
    new = GlexDecomposer(OTHER, **limits).fit(X)
    assert_allclose(table["change"].sum(), OTHER.predict(NEW).mean() - MODEL.predict(X).mean(), atol=SINGLE)
    assert table.loc["intercept", "model"] == new.intercept_ - dec.intercept_
    for component in new.components_:
        old = dec[component.name].evaluate(NEW).mean() if component.name in dec else 0.0
        assert_allclose(table.loc[component.name, "model"], component.evaluate(NEW).mean() - old, atol=EXACT)
    data = explain_shift(dec, X, NEW).table.set_index("component")
    assert_allclose(table.loc[data.index, "marginals"], data["marginals"], atol=EXACT)
    pd.testing.assert_frame_equal(explain_shift(dec, X, NEW, model_new=new).table, shift.table)


def test_a_new_model_needs_the_background(dec):
    sample = GlexDecomposer(MODEL, n_background=50, random_state=0).fit(X, sample_weight=np.arange(300) + 1)
    new = explain_shift(sample, X, NEW, model_new=OTHER)
    rows, weights = sample.background_.rows, sample.background_.weights
    again = GlexDecomposer(OTHER).fit(X[rows], sample_weight=weights)
    pd.testing.assert_frame_equal(new.table, explain_shift(sample, X, NEW, model_new=again).table)
    for old in (X[:200], X + 1):
        with pytest.raises(ValueError, match="over the background of decomposer"):
            explain_shift(dec, old, NEW, model_new=OTHER)
    for background in (X[:200], X[::-1]):
        with pytest.raises(ValueError, match="backgrounds of decomposer and model_new differ"):
            explain_shift(dec, X, NEW, model_new=GlexDecomposer(OTHER).fit(background))


def test_models_without_a_common_scale(dec):
    with pytest.raises(ValueError, match=r"no common scale: .* a regressor .*'identity', .* a classifier"):
        explain_shift(dec, X, NEW, model_new=CLASSES)
    with pytest.raises(ValueError, match="different features: only one of them has"):
        explain_shift(dec, X, NEW, model_new=GlexDecomposer(OTHER, feature_groups={"g": [0, 1]}).fit(X))
    path = GlexDecomposer(OTHER, weighting="path_dependent").fit(X)
    with pytest.raises(ValueError, match="different weightings: 'empirical' and 'path_dependent'"):
        explain_shift(dec, X, NEW, model_new=path)
    with pytest.raises(ValueError, match=r"4 features|2 features"):
        explain_shift(dec, X, NEW[:, :2])


def test_path_dependent_models_need_no_background():
    dec, new = (GlexDecomposer(model, weighting="path_dependent").fit() for model in (MODEL, OTHER))
    table = explain_shift(dec, OLD, NEW, model_new=new).table
    assert_allclose(table["change"].sum(), OTHER.predict(NEW).mean() - MODEL.predict(OLD).mean(), atol=SINGLE)


@pytest.mark.parametrize("limits", [{"max_interaction": None}, {"feature_groups": {"pair": [1, 3]}}, {}])
def test_stored_components(limits, tmp_path):
    dec = GlexDecomposer(MODEL, **limits).fit(X)
    save_components(dec, tmp_path / "components.zip")
    stored = load_components(tmp_path / "components.zip")
    found, expected = (
        explain_shift(stored, OLD, NEW, sample_weight_old=WEIGHT),
        explain_shift(dec, OLD, NEW, sample_weight_old=WEIGHT),
    )
    columns = ["marginals", "dependence", "change"]
    listed = expected.table[expected.table["component"] != "remainder"].set_index("component")
    table = found.table.set_index("component").drop("remainder", errors="ignore").loc[listed.index]
    assert_allclose(
        table[columns],
        listed[columns],
        atol=EXACT,
    )
    if limits.get("max_interaction", 2) is None:
        assert found.known
        assert_allclose(found.mean_new, expected.mean_new, atol=EXACT)
        return
    assert not found.known
    assert found.lines[-1] == "remainder"
    assert np.isnan(found.change[-1]).all()
    assert "not known" in repr(found)
    assert_allclose(found.mean_new - found.mean_old, table["change"].sum(), atol=EXACT)
    assert expected.known


def test_pipelines():
    frame = pd.DataFrame({"size": Z[:, 0], "kind": np.array(list("abc"))[RNG.integers(0, 3, 300)]})
    pipeline = make_pipeline(
        OneHotEncoder(sparse_output=False, handle_unknown="ignore"), DecisionTreeRegressor()
    )
    pipeline.fit(frame, Y)
    dec = GlexDecomposer(pipeline, feature_groups="auto").fit(frame)
    table = explain_shift(dec, frame[:100], frame[100:]).table
    assert set(table["component"]) == {"size", "kind", "size:kind"}
    change = pipeline.predict(frame[100:]).mean() - pipeline.predict(frame[:100]).mean()
    assert_allclose(table["change"].sum(), change, atol=EXACT)


def test_table_text_and_picture(dec, plt):
    shift = explain_shift(dec, OLD, NEW)
    assert list(shift.table.columns) == ["component", "order", "marginals", "dependence", "change"]
    assert shift.table["change"][:-1].abs().is_monotonic_decreasing
    assert repr(shift).startswith("The mean margin changes by")
    assert "<table" in shift._repr_html_()
    display = shift.plot(k=3)
    assert isinstance(display, PartsDisplay)
    assert display.names[:2] == shift.lines[:2]
    assert_allclose(np.sum(list(display.parts.values())), shift.change.sum(), atol=EXACT)
    with pytest.raises(AttributeError):
        shift.lines = []


def test_without_pandas(dec, monkeypatch):
    shift = explain_shift(dec, OLD, NEW)
    frame = shift.table
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert type(shift.table) is dict
    assert_allclose(shift.table["change"], frame["change"])
    assert "component" in repr(shift)
    assert "<pre>" in shift._repr_html_()
