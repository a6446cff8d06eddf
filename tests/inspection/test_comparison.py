"""Compare models over one background."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from lightgbm import LGBMRegressor
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from skglex import GlexDecomposer
from skglex.export import load_components, save_components
from skglex.inspection import compare_models
from skglex.plotting import ComponentDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(2)
X[RNG.random(X.shape) < 0.05] = np.nan
Z = np.nan_to_num(X)
Y = Z[:, 0] + Z[:, 1] * Z[:, 2] - 2 * Z[:, 1] * Z[:, 2] * Z[:, 3]
WEIGHT = RNG.integers(0, 4, size=300) * 1.0
XGB = xgb.XGBRegressor(n_estimators=15, max_depth=4).fit(X, Y)
MODELS = {
    "xgboost": XGB,
    "lightgbm": LGBMRegressor(n_estimators=15, num_leaves=8, verbose=-1).fit(X, Y),
    "forest": RandomForestRegressor(5, max_depth=5, random_state=0).fit(X, Y + Z[:, 0]),
}
# Sums of float64 terms of size 1; margins of XGBoost itself are float32.
EXACT, SINGLE = 1e-12, 1e-5


@pytest.mark.parametrize("limits", [{}, {"max_interaction": None}, {"weighting": "path_dependent"}])
def test_differences_add_up(limits):
    comparison = compare_models(MODELS, X, sample_weight=WEIGHT, **limits)
    assert (comparison.reference, comparison.models) == ("xgboost", ["lightgbm", "forest"])
    decomposers = {
        name: GlexDecomposer(m, **limits).fit(X, sample_weight=WEIGHT) for name, m in MODELS.items()
    }
    for i, name in enumerate(comparison.models):
        rows = comparison.differences(X, model=name)
        assert_allclose(rows.sum(axis=1), MODELS[name].predict(X) - XGB.predict(X), atol=SINGLE)
        for line in comparison.lines[:-2]:
            parts = [
                d[line].evaluate(X) if line in d else 0.0 for d in (decomposers[name], decomposers["xgboost"])
            ]
            assert_allclose(rows[line], parts[0] - parts[1], atol=EXACT)
        position = [comparison.lines.index(line) for line in rows]
        assert_allclose(
            comparison.difference[i, position, 0], np.average(rows, axis=0, weights=WEIGHT), atol=EXACT
        )
        assert_allclose(
            comparison.absolute[i, position, 0], np.average(np.abs(rows), axis=0, weights=WEIGHT), atol=EXACT
        )
    table = comparison.table
    assert_allclose(table.groupby("model")["share"].sum(), 1)
    assert table[table["model"] == "forest"]["mean_absolute_difference"].is_monotonic_decreasing


def test_the_mean_as_reference_and_lists():
    comparison = compare_models([XGB, MODELS["lightgbm"]], X, reference="mean")
    assert comparison.models == ["0", "1"]
    assert_allclose(comparison.difference[0], -comparison.difference[1], atol=EXACT)
    both = compare_models([XGB, MODELS["lightgbm"]], X, reference=1)
    assert_allclose(2 * comparison.difference[0], both.difference[0], atol=EXACT)
    assert "differs from the mean of all models" in repr(comparison)
    assert "differs from that of '1': '0' by" in repr(both)


def test_decomposers_keep_their_background_or_get_the_common_one():
    same, other = GlexDecomposer(XGB).fit(X), GlexDecomposer(MODELS["forest"], n_background=20).fit(X)
    comparison = compare_models({"a": same, "b": other}, X)
    assert comparison.decomposers["a"] is same
    assert len(comparison.decomposers["b"].background_.rows) == len(X)
    expected = compare_models([XGB, MODELS["forest"]], X)
    assert_allclose(comparison.difference, expected.difference, atol=EXACT)
    # Versions of a model on shuffled rows, in another order of the columns of a frame.
    weighted = compare_models({"a": same, "b": other}, X, sample_weight=WEIGHT)
    assert weighted.decomposers["a"] is not same


def test_several_outputs_and_rows_at_a_time(monkeypatch):
    labels = RNG.integers(0, 3, size=300)
    forests = [RandomForestClassifier(4, max_depth=4, random_state=i).fit(X, labels) for i in range(2)]
    comparison = compare_models(forests, X)
    monkeypatch.setattr("skglex.inspection._comparison.rows_at_a_time", lambda width: 70)
    again = compare_models(forests, X)
    assert_allclose(again.absolute, comparison.absolute, atol=EXACT)
    rows = comparison.differences(X, output=2)
    p = [forest.predict_proba(X)[:, 2] for forest in forests]
    assert_allclose(rows.sum(axis=1), p[1] - p[0], atol=EXACT)
    assert list(comparison.table.columns)[3:6] == [f"{c}__mean_difference" for c in range(3)]


def test_curves_of_several_models(plt):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.array(list("xyz"))[RNG.integers(0, 3, 300)])
    y = Y + (frame["kind"] == "x")
    models = {
        "one": LGBMRegressor(n_estimators=10, verbose=-1, min_child_samples=5).fit(frame, y),
        "two": LGBMRegressor(n_estimators=5, max_depth=2, verbose=-1).fit(frame, 2 * y),
    }
    comparison = compare_models(models, frame)
    display = ComponentDisplay.from_decomposers(comparison, ["a", "kind"])
    numeric, categorical = display.panels
    assert (numeric.kind, categorical.kind) == ("lines", "grouped bars")
    for i, name in enumerate(models):
        decomposer = comparison.decomposers[name]
        view = numeric.views[0]
        middle = np.repeat(frame[:1], len(view.drawn), axis=0)
        middle = pd.DataFrame(middle, columns=frame.columns).astype(frame.dtypes)
        middle["a"] = (view.borders[:-1] + view.borders[1:]) / 2
        assert_allclose(numeric.values[: len(view.drawn), i], decomposer["a"].evaluate(middle), atol=EXACT)
        rows = frame.groupby("kind", observed=True).head(1).set_index("kind", drop=False)
        expected = [
            decomposer["kind"].evaluate(rows.loc[[label]])[0] for label in categorical.views[0].labels
        ]
        assert_allclose(categorical.values[:, i], expected, atol=EXACT)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["model:", "one", "two"]
    assert len(ComponentDisplay.from_decomposers(comparison, k=2).panels) == 2
    with pytest.raises(ValueError, match="drawn for main effects only"):
        ComponentDisplay.from_decomposers(comparison, "a:b")
    with pytest.raises(KeyError, match="no model has the component"):
        ComponentDisplay.from_decomposers(comparison, "nobody")


def test_picture(plt):
    comparison = compare_models(MODELS, X)
    display = comparison.plot(model="forest", k=3)
    assert display.names[0] == comparison.table.query("model == 'forest'")["component"].iloc[0]
    with pytest.raises(ValueError, match="model must be one of"):
        comparison.plot()


def test_bad_input(tmp_path):
    classifier = xgb.XGBClassifier(n_estimators=3).fit(X, Y > 0)
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y > 0)
    for models in ([XGB, classifier], [classifier, forest]):
        with pytest.raises(ValueError, match="have no common scale"):
            compare_models(models, X)
    other = RandomForestRegressor(2).fit(X[:, :3], Y)
    with pytest.raises(ValueError, match="3 features"):
        compare_models([XGB, other], X)
    for models, message in (([XGB], "at least two"), (XGB, "must be a list or a dict"), ([], "at least two")):
        with pytest.raises(ValueError, match=message):
            compare_models(models, X)
    with pytest.raises(ValueError, match="reference must be one of"):
        compare_models(MODELS, X, reference="nobody")
    save_components(GlexDecomposer(XGB).fit(X), tmp_path / "c.zip")
    with pytest.raises(TypeError, match="cannot compare a StoredComponents"):
        compare_models([XGB, load_components(tmp_path / "c.zip")], X)
