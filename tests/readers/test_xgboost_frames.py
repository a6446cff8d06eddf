"""Read XGBoost models trained on data frames, on categories, and on columns of many types."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.xgboost_data import SMALL, VERSION, check_against_brute_force, make_numbers
from tests.support.oracles import (
    brute_force_game,
    game_components,
    model_margin,
    path_dependent_game,
    read_json,
    rounding,
    shapley_values,
    total,
)


def coded_data(n=400, seed=0, n_categories=9):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_categories, n), rng.normal(size=n), rng.integers(0, 3, n)]).astype(
        float
    )
    effect = rng.normal(size=n_categories)
    return X, effect[X[:, 0].astype(int)] * (1 + X[:, 1]) + (X[:, 2] == 1) * X[:, 1]


@pytest.mark.parametrize("max_cat_to_onehot", [1, 100])
def test_integer_codes_never_seen(max_cat_to_onehot):
    X, y = coded_data()
    X[::9, 0] = np.nan
    data = xgb.DMatrix(X, y, feature_types=["c", "q", "c"], enable_categorical=True)
    model = xgb.train({"max_depth": 4, "max_cat_to_onehot": max_cat_to_onehot, "nthread": 1}, data, 8)
    sizes = {size for tree, _, _ in read_json(model) for size in tree["categories_sizes"]}
    assert (max(sizes) > 1) == (max_cat_to_onehot == 1)
    rows = X[:44].copy()
    rows[:11, 0] = [-1, -0.5, 40, 1e9, 2.5, 2**24, 2**24 - 1, np.inf, -np.inf, -0.0, 8.999]
    rows[11:22, 2] = [-1, -0.5, 40, 1e9, 1.5, 2**31, 1e30, np.inf, -np.inf, np.nan, 3]
    check_against_brute_force(model, rows, np.concatenate([X[50:100], rows]))
    # A walk through the trees gives the other weighting.
    game = path_dependent_game(model, rows, [0.0])
    decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(X)
    ours = decomposer.shap_values(rows)
    np.testing.assert_allclose(ours, shapley_values(game_components(game), 3)[..., 0], rtol=0, atol=1e-11)


def categorical_frame(kind):
    X, y = coded_data()
    values = {"str": list("hgfedcbai"), "int": [70, 3, 5, 11, -4, 0, 8, 1, 2]}[kind]
    frame = pd.DataFrame({"kind": np.array(values)[X[:, 0].astype(int)], "x": X[:, 1], "code": X[:, 2]})
    frame["kind"] = pd.Categorical(frame["kind"], categories=values)
    frame.loc[::9, "kind"] = None
    return frame, y


def fit_frame(frame, y, **params):
    return xgb.XGBRegressor(**SMALL, enable_categorical=True, max_cat_to_onehot=1, **params).fit(frame, y)


def frame_components(model, rows, background):
    """Return the components by brute force on frames: {S: (n,)}."""
    names = list(rows.columns)

    def margin(mixed):
        return model_margin(model, mixed)

    game = {}
    for s in [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        total = np.zeros(len(rows))
        for r in range(len(rows)):
            mixed = background.copy()
            for j in s:
                value = rows[names[j]].iloc[[r] * len(mixed)]
                value.index = mixed.index
                mixed[names[j]] = value
            total[r] = margin(mixed).mean()
        game[s] = total[:, None]
    return game_components(game)


@pytest.mark.parametrize("kind", ["str", "int"])
def test_pandas_categories(kind):
    frame, y = categorical_frame(kind)
    model = fit_frame(frame, y)
    rows, background = frame.iloc[:12], frame.iloc[20:60]
    decomposer = GlexDecomposer(model, max_interaction=None).fit(background)
    components = frame_components(model, rows, background)
    atol = 8 * rounding(model, decomposer.intercept_)
    ours = decomposer.shap_values(rows)
    np.testing.assert_allclose(ours, shapley_values(components, 3)[..., 0], rtol=0, atol=atol)
    margin = model.predict(frame, output_margin=True)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], margin, rtol=0, atol=atol)


@pytest.mark.skipif(VERSION < (3, 1), reason="the model does not know its categories, only codes")
@pytest.mark.parametrize("kind", ["str", "int"])
def test_pandas_categories_in_another_order(kind):
    frame, y = categorical_frame(kind)
    model = fit_frame(frame, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    expected = decomposer.transform(frame)
    # Use a list: XGBoost reads a reversed view of integers past its end.
    turned = frame.assign(
        kind=frame["kind"].cat.reorder_categories(frame["kind"].cat.categories.tolist()[::-1])
    )
    np.testing.assert_allclose(total(decomposer, turned)[:, 0], model.predict(turned), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(decomposer.transform(turned), expected)
    np.testing.assert_array_equal(
        GlexDecomposer(model, max_interaction=None).fit(turned).transform(frame), expected
    )
    few = turned.iloc[:7]
    few = few.assign(kind=few["kind"].cat.remove_unused_categories())
    np.testing.assert_allclose(total(decomposer, few)[:, 0], model.predict(few), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(decomposer.transform(few), expected[:7])


@pytest.mark.skipif(VERSION < (3, 1), reason="the model does not know its categories, only codes")
@pytest.mark.parametrize("missing", [0, 1, 2, 50])
def test_missing_is_compared_with_the_frames_own_codes(missing):
    """XGBoost compares ``missing`` with the codes of this frame, before it looks categories up."""
    rng = np.random.default_rng(0)
    colour, x, n = rng.choice(["blue", "green", "red"], 300), rng.normal(size=300).round(1), np.arange(300)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "x": x, "noise": 1.0})
    frame["x"] = frame["x"].mask(n % 5 == 0, float(missing))
    model = xgb.XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True, missing=missing)
    model.fit(frame, (colour == "red") * 2.0 + (colour == "green") * x)
    decomposer, remover = (
        GlexDecomposer(model, max_interaction=None).fit(frame),
        FeatureRemover(model, ["noise"]).fit(frame),
    )
    some = frame[frame["colour"] != "blue"]
    for rows in (
        some,
        some.assign(colour=some["colour"].cat.remove_unused_categories()),
        frame.assign(colour=frame["colour"].cat.reorder_categories(["red", "blue", "green"])),
    ):
        own = model.predict(rows)
        np.testing.assert_allclose(total(decomposer, rows)[:, 0], own, rtol=0, atol=1e-5)
        np.testing.assert_allclose(remover.predict(rows), own, rtol=0, atol=1e-5)


@pytest.mark.skipif(VERSION < (3, 1), reason="the model does not know its categories, only codes")
def test_a_pandas_category_never_seen_raises_as_in_xgboost():
    frame, y = categorical_frame("str")
    model = fit_frame(frame, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    unseen = frame.assign(kind=frame["kind"].cat.rename_categories({"a": "zebra"}))
    with pytest.raises(ValueError, match="zebra"):
        model.predict(unseen)
    with pytest.raises(ValueError, match="zebra"):
        decomposer.transform(unseen)
    # A category without rows is accepted here; XGBoost refuses such a frame.
    more = frame.assign(kind=frame["kind"].cat.add_categories("zebra"))
    np.testing.assert_array_equal(decomposer.transform(more), decomposer.transform(frame))


@pytest.mark.skipif(VERSION < (3, 1), reason="the model does not know its categories, only codes")
def test_numbers_where_categories_are_expected_raise():
    frame, y = categorical_frame("int")
    decomposer = GlexDecomposer(fit_frame(frame, y), max_interaction=None).fit(frame)
    with pytest.raises(ValueError, match="'kind' is not categorical"):
        decomposer.transform(frame.assign(kind=frame["kind"].astype(float)))


@pytest.mark.parametrize("form", ["json", "ubj"])
def test_categories_survive_saving_and_early_stopping(form, tmp_path):
    frame, y = categorical_frame("str")
    rng = np.random.default_rng(0)
    model = xgb.XGBRegressor(
        n_estimators=40, early_stopping_rounds=3, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1
    )
    model.fit(frame[:250], y[:250], eval_set=[(frame[250:], rng.permutation(y[250:]))], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    expected = GlexDecomposer(model, max_interaction=None).fit(frame)
    np.testing.assert_allclose(total(expected, frame)[:, 0], model.predict(frame), rtol=0, atol=1e-5)
    model.save_model(tmp_path / f"model.{form}")
    loaded = xgb.XGBRegressor()
    loaded.load_model(tmp_path / f"model.{form}")
    np.testing.assert_array_equal(
        GlexDecomposer(loaded, max_interaction=None).fit(frame).transform(frame), expected.transform(frame)
    )
    if VERSION >= (3, 1):
        # XGBoost's slices of the first rounds do not know the names of the categories.
        names = frame["kind"].cat.categories.tolist()[::-1]
        turned = frame.assign(kind=frame["kind"].cat.reorder_categories(names))
        np.testing.assert_allclose(total(expected, turned)[:, 0], model.predict(turned), rtol=0, atol=1e-5)
        remover = FeatureRemover(loaded, [0]).fit(frame)
        np.testing.assert_array_equal(remover.predict(turned), remover.predict(frame))
        rows = xgb.DMatrix(turned, enable_categorical=True)
        np.testing.assert_allclose(
            remover.to_xgboost().predict(rows), remover.predict(frame), rtol=0, atol=1e-5
        )


def test_shuffled_frame_columns_are_refused_as_the_model_refuses_them():
    X, y = make_numbers()
    frame = pd.DataFrame(X, columns=["b", "a", "c"])
    model = xgb.XGBRegressor(**SMALL).fit(frame, y)
    with pytest.raises(ValueError, match="feature_names mismatch"):
        model.predict(frame[["a", "b", "c"]])
    with pytest.raises(ValueError, match="should match those"):
        GlexDecomposer(model, max_interaction=None).fit(frame[["a", "b", "c"]])
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    for method in (decomposer.transform, decomposer.shap_values, decomposer.shap_interaction_values):
        with pytest.raises(ValueError, match="should match those"):
            method(frame[["a", "b", "c"]])


def test_nullable_pandas_types():
    X, y = make_numbers()
    frame = pd.DataFrame(
        {
            "i": pd.array(np.round(X[:, 0]), dtype="Int64"),
            "b": pd.array(X[:, 1] > 0, dtype="boolean"),
            "f": pd.array(X[:, 2], dtype="Float64"),
        }
    )
    frame.loc[::5, "i"], frame.loc[::7, "b"], frame.loc[::11, "f"] = pd.NA, pd.NA, pd.NA
    plain = np.column_stack([frame[c].to_numpy(dtype=float, na_value=np.nan) for c in frame])
    model = xgb.XGBRegressor(**SMALL).fit(frame, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=1e-5)
    components = game_components(brute_force_game(lambda Z: model_margin(model, Z), plain[:30], plain))
    expected = shapley_values(components, 3)[..., 0]
    np.testing.assert_allclose(decomposer.shap_values(frame[:30]), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "dtype", ["Int64[pyarrow]", "double[pyarrow]", "float32", "bool", "uint8", "int8", "Float32"]
)
def test_other_pandas_types(dtype):
    X, y = make_numbers()
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
        dtype = dtype.replace("Int64", "int64")
    frame = pd.DataFrame({"a": (X[:, 0] > 0).astype(int), "b": (X[:, 1] > 1).astype(int)}).astype(dtype)
    model = xgb.XGBRegressor(**SMALL).fit(frame, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=1e-5)


def test_duplicate_and_integer_column_names():
    X, y = make_numbers()
    model = xgb.XGBRegressor(**SMALL).fit(X, y)
    numbered = pd.DataFrame(X)
    decomposer = GlexDecomposer(xgb.XGBRegressor(**SMALL), max_interaction=None).fit(numbered, y)
    assert decomposer.get_feature_names_out()[:3].tolist() == ["0", "1", "2"]
    np.testing.assert_allclose(total(decomposer, numbered)[:, 0], model.predict(X), rtol=0, atol=1e-5)
    twice = pd.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="'a'"):
        GlexDecomposer(model, max_interaction=None).fit(twice)


def test_names_with_colons_brackets_and_spaces():
    X, y = make_numbers()
    frame = pd.DataFrame(X, columns=["a:b", "a", "wind speed"])
    model = xgb.XGBRegressor(**SMALL).fit(frame, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    assert {"a:b", "a", "wind speed", "a:b:a", "a:wind speed"} <= set(decomposer.get_feature_names_out())
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=1e-5)
    clash = pd.DataFrame(X, columns=["a:b", "a", "b"])
    model = xgb.XGBRegressor(**SMALL).fit(clash, y)
    with pytest.raises(ValueError, match="would both have the column name 'a:b'"):
        GlexDecomposer(model, max_interaction=None).fit(clash)
    names = GlexDecomposer(model, separator=" x ", max_interaction=None).fit(clash).get_feature_names_out()
    assert {"a:b", "a x b"} <= set(names)


class SparkModel:
    """Stand in for a model of xgboost.spark, which needs Java; it holds an ordinary one."""

    __module__ = "xgboost.spark.core"

    def __init__(self, model):
        self._xgb_sklearn_model = model


def test_models_of_spark_are_read_as_the_model_inside():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[rng.random(X.shape) < 0.1] = -999.0
    model = xgb.XGBClassifier(n_estimators=3, missing=-999.0).fit(X, X[:, 0] > X[:, 1])
    spark = SparkModel(model)
    np.testing.assert_array_equal(
        GlexDecomposer(spark).fit(X).transform(X), GlexDecomposer(model).fit(X).transform(X)
    )
    remover = FeatureRemover(spark, [0], strength=0.0).fit(X)
    np.testing.assert_array_equal(remover.predict(X), model.predict(X))
