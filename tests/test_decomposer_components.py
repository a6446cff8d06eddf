"""Name, order, tabulate and rank the components of a decomposer."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skglex import GlexDecomposer
from tests.support.small_models import FILLED, FLOAT32, MODEL, RNG, X, Y, newer_xgboost, small


def test_component():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = small().fit(frame, Y)
    dec = GlexDecomposer(model, max_interaction=None).fit(frame)
    out = dec.transform(frame)
    names = list(dec.get_feature_names_out())
    assert len(dec.components_) == dec.n_components_ == len(names)
    assert [c.order for c in dec.components_] == sorted(c.order for c in dec.components_)
    for i, c in enumerate(dec.components_):
        assert c.name == names[i] == ":".join(c.features)
        assert np.isclose(c.importance, np.abs(out[:, i]).mean(), atol=1e-12)
        assert np.array_equal(c.evaluate(frame), out[:, i])
        index = tuple(
            np.where(
                frame[axis.feature].isna(),
                axis.missing,
                np.searchsorted(axis.edges, frame[axis.feature], side="right"),
            )
            for axis in c.axes
        )
        assert c.values.shape == tuple(axis.n_bins for axis in c.axes)
        assert np.array_equal(c.values[index], out[:, i])
    assert dec["b", "a"].name == dec.components_["a:b"].name == "a:b"
    assert np.allclose(dec.component_importances_, np.abs(out).mean(axis=0), atol=1e-12)
    assert np.allclose(dec.feature_importances_, np.abs(dec.shap_values(frame)).mean(axis=0), atol=1e-12)
    strongest = dec.strongest_components(3)
    assert [c.importance for c in strongest] == sorted(dec.component_importances_, reverse=True)[:3]
    with pytest.raises(KeyError, match="no feature 'nothing'"):
        dec["a", "nothing"]


def test_component_edges_reach_the_threshold():
    """An edge is the smallest float64 that a model with float32 thresholds sends right."""
    model = small().fit(FILLED, Y)
    dec = GlexDecomposer(model).fit(FILLED)
    edges = dec["x0"].edges[0]
    for edge, before in ((edges, np.nextafter(edges, -np.inf)),):
        rows = np.zeros((2 * len(edges), 4))
        rows[:, 0] = np.concatenate([edge, before])
        binned = np.searchsorted(edges, rows[:, 0], side="right")
        assert np.array_equal(dec["x0"].values[binned], dec["x0"].evaluate(rows))
        assert (edge.astype(np.float32) > before.astype(np.float32)).all()


@newer_xgboost
def test_categorical_component():
    codes = RNG.integers(0, 5, size=400)
    frame = pd.DataFrame({"c": pd.Categorical(np.array(list("vwxyz"))[codes]), "n": RNG.normal(size=400)})
    target = np.array([3.0, -1, 2, 0, 1])[codes] * (1 + (frame["n"] > 0))
    model = xgb.XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True).fit(frame, target)
    dec = GlexDecomposer(model).fit(frame)
    axis = dec["c"].axes[0]
    assert axis.categorical
    assert axis.missing == len(axis.edges) + 1
    at = {value: i for i, value in enumerate(axis.edges)}
    index = [at.get(value, len(at)) for value in frame["c"]]
    assert np.allclose(dec["c"].values[index], dec["c"].evaluate(frame), atol=1e-12)


@newer_xgboost
def test_polars_categories():
    """The values of an Enum or Categorical count, not their codes."""
    codes = RNG.integers(0, 3, size=300)
    frame = pl.DataFrame({"c": np.array(list("xyz"))[codes], "n": RNG.normal(size=300)})
    trained = frame.cast({"c": pl.Enum(["z", "x", "y"])})
    model = xgb.XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True)
    model.fit(trained, np.array([3.0, -1, 2])[codes] * (1 + (frame["n"] > 0).to_numpy()))
    dec = GlexDecomposer(model).fit(trained)
    out = dec.transform(trained)
    assert np.allclose(dec.intercept_ + out.sum(axis=1), model.predict(trained), atol=1e-5)
    assert np.array_equal(
        dec.transform(trained.with_columns(n=pl.col("n") > 0)),
        dec.transform(trained.with_columns(n=(pl.col("n") > 0).cast(float))),
    )
    gaps = trained.with_columns(c=pl.when(pl.col("n") < 0).then(None).otherwise(pl.col("c")))
    assert np.allclose(dec.intercept_ + dec.transform(gaps).sum(axis=1), model.predict(gaps), atol=1e-5)
    for kind in (pl.Enum(["x", "y", "z"]), pl.Categorical):
        assert np.array_equal(dec.transform(frame.cast({"c": kind})), out)
    with pytest.raises(ValueError, match=r"not trained on: \['v', 'w'\]"):
        dec.transform(frame.with_columns(c=pl.Series(["v", "w", "x"] * 100).cast(pl.Categorical)))
    with pytest.raises(ValueError, match="could not convert column 'n' of dtype String"):
        dec.transform(trained.with_columns(n=pl.lit("1")))


@newer_xgboost
def test_enum_of_a_model_trained_on_codes():
    """The codes of an Enum count for a model trained on codes (XGBoost refuses a Categorical)."""
    codes = RNG.integers(0, 4, size=300).astype(float)
    model = xgb.XGBRegressor(n_estimators=3, max_depth=2, enable_categorical=True, feature_types=["c"])
    model.fit(codes[:, None], np.array([3.0, -1, 2, 5])[codes.astype(int)])
    expected = GlexDecomposer(model).fit(codes[:, None]).transform(codes[:, None])
    names = ["z", "x", "w", "y"]
    frame = pl.DataFrame({"c": np.array(names)[codes.astype(int)]}, schema={"c": pl.Enum(names)})
    assert np.array_equal(GlexDecomposer(model).fit(frame).transform(frame), expected)


def test_features_and_groups():
    full = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    names = list(full.get_feature_names_out())
    out = full.transform(X)
    some = GlexDecomposer(MODEL, features=["x0", 2]).fit(X)
    assert list(some.get_feature_names_out()) == ["x0", "x2", "x0:x2", "remainder"]
    assert np.allclose(
        some.transform(X)[:, :3], out[:, [names.index(n) for n in ("x0", "x2", "x0:x2")]], atol=1e-12
    )
    assert np.allclose(
        some.intercept_ + some.transform(X).sum(axis=1), full.intercept_ + out.sum(axis=1), atol=1e-12
    )

    grouped = GlexDecomposer(MODEL, feature_groups={"g": ["x0", "x3"]}, max_interaction=None).fit(X)
    assert list(grouped.get_feature_names_out()) == ["g", "x1", "x2", "g:x1", "g:x2", "x1:x2", "g:x1:x2"]
    player = {"x0": "g", "x3": "g", "x1": "x1", "x2": "x2"}
    expected = {}
    for name, column in zip(names, out.T):
        key = frozenset(player[f] for f in name.split(":"))
        expected[key] = expected.get(key, 0) + column
    for c, column in zip(grouped.components_, grouped.transform(X).T):
        assert np.allclose(column, expected[frozenset(c.features)], atol=1e-12)
        index = tuple(
            np.where(np.isnan(x), axis.missing, np.searchsorted(axis.edges, x, side="right"))
            for axis in c.axes
            for x in [X[:, int(axis.feature[1:])]]
        )
        assert np.allclose(c.values[index], column, atol=1e-12)
    phi = {}
    for key, column in expected.items():
        for p in key:
            phi[p] = phi.get(p, 0) + column / len(key)
    assert grouped.explained_features_ == ["g", "x1", "x2"]
    assert np.allclose(grouped.shap_values(X), np.column_stack([phi["g"], phi["x1"], phi["x2"]]), atol=1e-12)
    pairs = grouped.shap_interaction_values(X)
    assert np.allclose(pairs.sum(axis=2), grouped.shap_values(X), atol=1e-12)
    assert np.allclose(grouped.partial_dependence("g", X), full.partial_dependence([0, 3], X), atol=1e-12)
    only = GlexDecomposer(MODEL, feature_groups={"g": [0, 3]}, features=["g"], max_interaction=1).fit(X)
    with pytest.raises(ValueError, match=r"feature_groups\['g'\] is empty"):
        GlexDecomposer(MODEL, feature_groups={"g": []}).fit(X)
    assert np.allclose(only.transform(X)[:, 0], grouped.transform(X)[:, 0], atol=1e-12)


def test_multi_class():
    target = np.array(["low", "mid", "top"])[np.digitize(Y, [-1, 1])]
    dec = GlexDecomposer(xgb.XGBClassifier(n_estimators=5, max_depth=2), max_interaction=1).fit(
        FILLED, target
    )
    assert list(dec.classes_) == ["low", "mid", "top"]
    names = list(dec.get_feature_names_out())
    assert names[:5] == ["low__x0", "low__x1", "low__x2", "low__x3", "low__remainder"]
    assert dec.n_components_ == 15 == dec.transform(FILLED).shape[1]
    assert len(dec.components_) == 4
    assert dec["x0"].values.shape[-1] == 3
    assert dec.component_importances_.shape == (4, 3)
    assert dec.shap_interaction_values(FILLED[:2]).shape == (2, 4, 4, 3)
    assert dec.partial_dependence([0], FILLED[:7]).shape == (7, 3)
    margin = dec.estimator_.predict(FILLED, output_margin=True)
    out = dec.transform(FILLED).reshape(300, 3, 5)
    assert np.allclose(dec.intercept_ + out.sum(axis=2), margin, atol=FLOAT32)


def test_dtype_float32():
    single = GlexDecomposer(MODEL, dtype=np.float32, max_interaction=2).fit(X)
    double = GlexDecomposer(MODEL, max_interaction=2).fit(X)
    out = single.transform(X)
    assert out.dtype == np.float32
    assert np.array_equal(out, double.transform(X).astype(np.float32))


def test_names_for_the_next_xgboost():
    """XGBoost refuses [, ] and < in names, which pipelines produce."""
    names = ["a[0]", "b<1", "c]", "d"]
    inner = make_pipeline(FunctionTransformer(feature_names_out=lambda t, _: names), small())
    dec = GlexDecomposer(inner).set_output(transform="pandas")
    out = dec.fit_transform(FILLED, Y)
    assert {"a_0_", "b_1", "c_", "a_0_:b_1"} <= set(out.columns)
    assert dec["a[0]"].name == "a_0_"
    small().fit(out, Y)
    names[:2] = ["x[", "x]"]
    with pytest.raises(ValueError, match="would both have the column name 'x_'"):
        dec.fit(FILLED, Y)


def test_names_of_columns_are_told_apart():
    frame = pd.DataFrame(FILLED, columns=["remainder", "b__x", "x", "d"])
    model = small().fit(frame, Y)
    with pytest.raises(ValueError, match="component 'remainder' and the remainder would both have"):
        GlexDecomposer(model, max_interaction=1).fit(frame)
    assert "remainder" in GlexDecomposer(model, max_interaction=1, remainder=False).fit(frame).components_
    classifier = xgb.XGBClassifier(n_estimators=5, max_depth=2)
    bins = np.digitize(Y, [-0.5, 0.5])
    clash = np.array(["a", "a__b", "c"])[bins]
    with pytest.raises(
        ValueError, match="component 'b__x' of 'a' and the component 'x' of 'a__b' would both"
    ):
        GlexDecomposer(classifier, max_interaction=1, remainder=False).fit(frame, clash)
    intervals = np.array(["<-1", "[-1, 1]", ">1"])[bins]
    out = GlexDecomposer(classifier).set_output(transform="pandas").fit_transform(FILLED, intervals)
    assert "_-1, 1___x0" in out.columns
    small().fit(out, Y)


def test_masks_beside_groups():
    groups = {"g": ["x0", "x3"]}
    dec = GlexDecomposer(
        MODEL, feature_groups=groups, features=[False, True, True, False], max_interaction=None
    ).fit(X)
    assert list(dec.get_feature_names_out()) == ["x1", "x2", "x1:x2", "remainder"]
    with pytest.raises(ValueError, match="contains 'x0', which belongs to the group 'g'"):
        GlexDecomposer(MODEL, feature_groups=groups, features=[True, True, False, False]).fit(X)


def test_components_by_position():
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    for key in ((0, 1), (1, "x0"), {"x0", "x1"}, ["x1", 0]):
        assert dec[key] is dec["x0:x1"]
    assert (0, 1) in dec.components_
    with pytest.raises(KeyError, match="no feature at position 9"):
        dec[0, 9]


@pytest.mark.parametrize("k", [0, -1])
def test_strongest_components_are_one_at_least(k):
    with pytest.raises(ValueError, match=f"k == {k}, must be >= 1"):
        GlexDecomposer(MODEL).fit(X).strongest_components(k)


def test_too_many_components():
    dec = GlexDecomposer(MODEL, max_components=5, max_interaction=None).fit(X)
    for call in (dec.transform, lambda X: dec.components_, lambda X: dec.get_feature_names_out()):
        with pytest.raises(ValueError, match=r"15 components, more than max_components=5.*max_interaction"):
            call(X)
    for name in ("components_", "component_importances_", "n_components_"):
        assert not hasattr(dec, name)
    assert "GlexDecomposer" in dec._repr_html_()  # scikit-learn 1.9 lists the attributes here.
    whole = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    names = [component.name for component in whole.strongest_components(15)]
    assert [component.name for component in dec.strongest_components(15)] == names
    for name in names:
        assert np.allclose(
            dec[name].evaluate(X), whole[name].evaluate(X), atol=1e-12
        )  # float64 sums of leaves
        assert dec[name].importance == pytest.approx(whole[name].importance)
    assert np.array_equal(dec.shap_values(X), whole.shap_values(X))
    assert np.array_equal(dec.partial_dependence([0], X), whole.partial_dependence([0], X))


def test_the_strongest_of_many_components():
    """Components with a low bound are never evaluated, so the bound must not be too low."""
    rows = np.random.default_rng(0).normal(size=(400, 15))
    model = xgb.XGBRegressor(n_estimators=200, max_depth=2, colsample_bytree=0.3)
    model.fit(rows, rows.sum(axis=1) / 10 + 9 * ((rows[:, 13] > 0) & (rows[:, 14] > 0)))
    dec = GlexDecomposer(model).fit(rows)
    strongest = dec.strongest_components(3)
    assert len(dec.components_) > 64
    assert dec["x13:x14"] in strongest
    expected = np.argsort(-dec.component_importances_, kind="stable")[:3]
    assert strongest == [dec.components_[int(i)] for i in expected]


def test_features_that_no_path_joins_have_no_component():
    model = xgb.XGBRegressor(n_estimators=20, max_depth=1).fit(X, Y)
    assert all(component.order == 1 for component in GlexDecomposer(model).fit(X).components_)


def test_components_of_any_order_by_name():
    whole = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    for limits in ({"max_interaction": 1}, {"max_components": 1}, {"features": ["x3"]}):
        dec = GlexDecomposer(MODEL, **limits).fit(X)
        for name in ("x1", "x1:x2", "x0:x1:x3"):
            alone, same = dec[name], whole[name]
            assert np.allclose(alone.evaluate(X), same.evaluate(X), atol=1e-12)  # sums of float64 leaf values
            assert np.allclose(alone.values, same.values, atol=1e-12)
            assert alone.importance == pytest.approx(same.importance)


def test_names_in_any_order():
    dec = GlexDecomposer(MODEL).fit(X)
    assert dec["x2:x0:x1"].name == dec["x1", 2, "x0"].name == "x0:x1:x2"
    assert dec[dec["x2", "x0"]] is dec["x0:x2"] is dec.components_["x2", 0]
    assert "x2:x0" in dec
    assert ("x0", "x1", "x2", "x3") in dec
    assert "x4" not in dec
    assert "x0:x1:x2" not in dec.components_
    assert [component.name for component in dec][:2] == ["x0", "x1"]


def test_features_whose_names_contain_the_separator():
    frame = pd.DataFrame(X, columns=["a", "b", "a:b", "c"])
    dec = GlexDecomposer(small().fit(frame, Y), separator=":", max_interaction=1).fit(frame)
    assert dec["a:b"].features == ("a:b",)
    assert dec["c:a:b"].features in {("a:b", "c"), ("a", "b", "c")}
    assert dec["c", "a:b"].features == ("a:b", "c")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("x9", "no feature 'x9'. The features are 'x0', 'x1'"),
        ("X1", "no feature 'X1'. Did you mean 'x1'?"),
        ("x0:x11", "no feature 'x11' (in 'x0:x11'). Did you mean 'x1'?"),
        (("x0", 7), "no feature at position 7: there are 5 features"),
        ("x4", "the model does not split on 'x4'"),
        (("x0", "x4"), "no path of the model splits on all of ['x0', 'x4']"),
        ((0, 1, 2, 3, 4), "order 5, but no path of the model has more than 4 features"),
    ],
)
def test_why_there_is_no_such_component(key, message):
    rows = np.column_stack([X, np.zeros(len(X))])
    dec = GlexDecomposer(xgb.XGBRegressor(n_estimators=30, max_depth=4).fit(rows, Y)).fit(rows)
    with pytest.raises(KeyError, match=re.escape(message)):
        dec[key]
    with pytest.raises(KeyError, match=re.escape(message)):
        dec.components_[key]


def test_why_a_component_is_not_listed():
    dec = GlexDecomposer(MODEL, max_interaction=1).fit(X)
    with pytest.raises(
        KeyError, match=r"max_interaction=1 leaves .* out of components_.*decomposer\['x0', 'x1'\]"
    ):
        dec.components_["x0", "x1"]
    some = GlexDecomposer(MODEL, features=["x0"]).fit(X)
    with pytest.raises(KeyError, match=r"features=\['x0'\] leaves the component"):
        some.components_["x1"]


def test_one_row():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(c=pd.Categorical(np.where(X[:, 2] > 0, "p", "n")))
    model = xgb.XGBRegressor(n_estimators=5, enable_categorical=True).fit(frame, Y)
    dec = GlexDecomposer(model).fit(frame)
    for i in (0, 7):
        for method in (dec.transform, dec.shap_values, dec["c"].evaluate):
            assert np.array_equal(method(frame.iloc[i]), method(frame.iloc[[i]]))
        assert np.array_equal(
            dec.partial_dependence("a", frame.iloc[i]), dec.partial_dependence("a", frame[i : i + 1])
        )
    plain = GlexDecomposer(MODEL).fit(X)
    assert np.array_equal(plain.shap_values(X[3]), plain.shap_values(X[3:4]))


def test_rows_of_a_components_own_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    dec = GlexDecomposer(small().fit(frame, Y)).fit(frame)
    for rows in (frame, pl.from_pandas(frame)):
        assert np.array_equal(dec["a", "c"].evaluate(rows[["c", "a"]]), dec["a:c"].evaluate(frame))
    with pytest.raises(ValueError, match="missing:\n- c"):
        dec["a", "c"].evaluate(frame[["a"]])
    people = frame.assign(job=np.where(X[:, 0] > 0, "x", "y"))
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["b", "d"]))
    pipeline = make_pipeline(encoder, small()).fit(people, Y)
    dec = GlexDecomposer(pipeline, feature_groups="auto").fit(people)
    assert np.array_equal(dec["job"].evaluate(people[["job"]]), dec["job"].evaluate(people))


def test_arrays_need_all_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match=r"array with 2 of the 4 columns .* or a data frame with 'a', 'c'"):
        GlexDecomposer(MODEL).fit(frame)["a", "c"].evaluate(X[:, [0, 2]])
    with pytest.raises(ValueError, match=r"array with 1 of the 4 columns .* \(the others do not matter\)$"):
        GlexDecomposer(MODEL).fit(X)["x1"].evaluate(X[:, [1]])


def test_frames_of_components():
    dec = GlexDecomposer(MODEL).fit(X)
    table = dec.components_.to_frame()
    assert table["component"].tolist() == list(dec.get_feature_names_out())[:-1]
    assert np.array_equal(table["importance"], dec.component_importances_)
    cells = dec["x0", "x2"].to_frame()
    assert list(cells.columns) == ["x0", "x2", "value"]
    values = dec["x0", "x2"].evaluate(X)
    for row in (0, 50, 100):
        inside = [
            cells[name].isna()
            if np.isnan(x)
            else cells[name].map(lambda cell, x=x: cell == cell and x in cell)
            for name, x in (("x0", X[row, 0]), ("x2", X[row, 2]))
        ]
        (value,) = cells["value"][inside[0] & inside[1]]
        assert value == values[row]


@newer_xgboost
def test_frames_with_categories():
    """Categories without a bin of their own, and missing values, have rows of their own."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "job": pd.Categorical(rng.choice(list("xyz"), 300))})
    model = small(enable_categorical=True).fit(frame, frame["a"] * (1.0 + (frame["job"] == "x")))
    dec = GlexDecomposer(model).fit(frame)
    for name in ("job", "a:job"):
        cells = dec[name].to_frame()
        assert len(cells) == dec[name].values.size
        labels = cells["job"].value_counts(dropna=False)
        assert labels.nunique() == 1
        assert {"x", "(other)"} < set(labels.index)
        assert cells["job"].isna().any()
    effects = dec["job"].to_frame().set_index("job")["value"]
    assert effects["x"] == dec["job"].evaluate(frame[frame["job"] == "x"])[0]
