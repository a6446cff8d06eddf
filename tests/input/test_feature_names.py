"""Name features by the labels of columns, whatever their type; tables of Arrow; columns that may be absent."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from tests.support.small_models import newer_xgboost, small

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
LABELS = {
    "integers": [10, 1, 5],
    "integers that are positions of others": [2, 0, 1],
    "negative integers": [-1, -2, -3],
    "tuples": pd.MultiIndex.from_tuples([("a", "b"), ("a", "c d"), ("e", 1)]),
    "floats": [1.5, 2.0, -1.0],
    "mixed": ["a", 1, None],
    "dates": pd.to_datetime(["2020", "2021", "2022"]),
}
MODELS = {
    "xgboost": small,
    "lightgbm": lambda: LGBMRegressor(n_estimators=3, min_child_samples=5, verbose=-1, n_jobs=1),
    "catboost": lambda: CatBoostRegressor(
        iterations=3, silent=True, allow_writing_files=False, thread_count=1
    ),
    "forest": lambda: RandomForestRegressor(3, random_state=0),
    "planted": lambda: RandomPlantedForestRegressor(n_estimators=2, n_splits=5, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), small()),
}
# These models themselves accept no such labels.
REFUSED = {("lightgbm", "tuples"), ("lightgbm", "dates")} | {
    (model, "mixed") for model in ("forest", "planted", "pipeline")
}


@newer_xgboost
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", MODELS)
def test_labels_of_columns(name, kind):
    if (name, kind) in REFUSED:
        pytest.skip("the model accepts no such labels")
    frame = pd.DataFrame(X, columns=LABELS[kind])
    label = frame.columns[1]
    model = MODELS[name]().fit(frame, Y)
    by_position = MODELS[name]().fit(X, Y)
    expected = FeatureRemover(by_position, [1]).fit(X).predict(X)
    for features in ([label], [False, True, False], slice(1, 2), lambda X: [X.columns[1]]):
        remover = FeatureRemover(model, features).fit(frame)
        np.testing.assert_array_equal(remover.predict(frame), expected)
        np.testing.assert_array_equal(remover.predict(frame.drop(columns=[label])), expected)
    with pytest.raises(ValueError, match="feature names"):
        FeatureRemover(model, [label], strength=0.5).fit(frame).predict(frame.drop(columns=[label]))
    saved = pickle.loads(pickle.dumps(FeatureRemover(model, [label]).fit(frame)))
    np.testing.assert_array_equal(saved.predict(frame.drop(columns=[label])), expected)
    decomposer = GlexDecomposer(model).fit(frame)
    dependence = GlexDecomposer(by_position).fit(X).partial_dependence([1], X)
    np.testing.assert_array_equal(decomposer.partial_dependence([label], frame), dependence)
    if name != "pipeline":
        joined = "a c d" if kind == "tuples" else str(label)
        assert decomposer.explained_features_[1] == joined
        np.testing.assert_array_equal(decomposer.partial_dependence(joined, frame), dependence)
        component = decomposer[joined]
        np.testing.assert_array_equal(component.evaluate(frame[[label]]), component.evaluate(frame))
        grouped = GlexDecomposer(model, feature_groups={"g": [label, frame.columns[0]]}).fit(frame)
        assert grouped.feature_groups_ == {"g": [decomposer.explained_features_[i] for i in (1, 0)]}


def test_integers_are_positions_where_no_column_has_this_name():
    frame = pd.DataFrame(X, columns=[10, 1, 5])
    model = MODELS["forest"]().fit(frame, Y)
    assert FeatureRemover(model, [1]).fit(frame).removed_features_ == ["1"]
    assert FeatureRemover(model, [0, 2]).fit(frame).removed_features_ == ["10", "5"]
    assert FeatureRemover(model, [-1]).fit(frame).removed_features_ == ["5"]
    assert FeatureRemover(model, [1]).fit(X).removed_features_ == ["x1"]
    with pytest.raises(ValueError, match="contains the position 7"):
        FeatureRemover(model, [7]).fit(frame)


@newer_xgboost
@pytest.mark.parametrize("name", MODELS)
def test_tables_of_arrow(name):
    table = pa.table({"b": X[:, 0], "a": X[:, 1], "c": X[:, 2]})
    frame = table.to_pandas()
    model = MODELS[name]().fit(frame, Y)
    decomposer = GlexDecomposer(model).fit(table)
    assert decomposer.feature_names_in_.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(decomposer.transform(table.to_batches()[0]), decomposer.transform(frame))
    remover = FeatureRemover(model, "a").fit(table)
    expected = FeatureRemover(model, [1]).fit(frame).predict(frame)
    for rows in (table, table.drop(["a"]), frame):
        np.testing.assert_array_equal(remover.predict(rows), expected)
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(table.select(["c", "a", "b"]))


PEOPLE = pd.DataFrame(
    {"sex": RNG.choice(["f", "m"], 120), "hours": X[:, 0], "id": np.arange(120), "note": "x"}
)
SLIM = PEOPLE[["sex", "hours"]]


def encoded():
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex"]), ("passthrough", ["hours"])
    )
    return make_pipeline(encode, small()).fit(PEOPLE, X[:, 0] + (PEOPLE["sex"] == "m"))


@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=newer_xgboost)])
def test_columns_that_the_preprocessing_drops_may_be_absent(library):
    pipeline = encoded()
    rows, slim = (PEOPLE, SLIM) if library == "pandas" else (pl.from_pandas(PEOPLE), pl.from_pandas(SLIM))
    remover = FeatureRemover(pipeline, "sex").fit(rows)
    hours = slim[["hours"]] if library == "pandas" else slim.select("hours")
    for given in (slim, hours):
        np.testing.assert_array_equal(remover.predict(given), remover.predict(rows))
    decomposer = GlexDecomposer(pipeline).fit(rows)
    np.testing.assert_array_equal(decomposer.transform(slim), decomposer.transform(rows))
    np.testing.assert_array_equal(
        FeatureRemover(pipeline, "sex", strength=0).fit(rows).predict(slim), pipeline.predict(slim)
    )
    without = slim.drop(columns="hours") if library == "pandas" else slim.drop("hours")
    for call in (remover.predict, decomposer.transform):
        with pytest.raises(ValueError, match="feature names should match"):
            call(without)


def test_columns_that_the_preprocessing_uses_must_be_there():
    take = FunctionTransformer(
        lambda frame: frame[["sex"]].assign(sex=frame["sex"] == "m", more=frame["hours"] > 0)
    )
    pipeline = make_pipeline(take, small()).fit(PEOPLE, Y)
    decomposer = GlexDecomposer(pipeline).fit(PEOPLE)
    np.testing.assert_array_equal(decomposer.transform(SLIM), decomposer.transform(PEOPLE))
    with pytest.raises(ValueError, match="feature names should match"):
        decomposer.transform(PEOPLE[["sex", "id"]])
    with pytest.raises(ValueError, match="feature names should match"):
        decomposer.transform(SLIM[["hours", "sex"]])
