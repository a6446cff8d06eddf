"""Trace the model's columns back to raw columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skglex import FeatureRemover, GlexDecomposer
from skglex._input._origins import distinct_values
from tests.support.people import PEOPLE, Y, people_pipeline
from tests.support.small_models import small

PIPELINE = people_pipeline().fit(PEOPLE, Y)
# A rare category and missing values, which a small sample of rows would not show.
RARE = PEOPLE.assign(city=np.where(np.arange(len(PEOPLE)) == 7, "Rome", "Oslo"))
RARE["city"] = RARE["city"].astype(object)
RARE.loc[9, "city"] = None


def rare_pipeline(**names):
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["sex", "city"]),
            (SimpleImputer(add_indicator=True), ["age"]),
            remainder=StandardScaler(),
        ),
        small(),
    ).fit(RARE.assign(age=RARE["age"].where(RARE["age"] > 25)), Y)


def test_groups_are_what_the_preprocessing_makes_of_a_raw_column():
    data = RARE.assign(age=RARE["age"].where(RARE["age"] > 25))
    decomposer = GlexDecomposer(rare_pipeline(), feature_groups="auto").fit(data)
    assert decomposer.feature_groups_ == {
        "sex": ["onehotencoder__sex_man", "onehotencoder__sex_woman"],
        "city": ["onehotencoder__city_Oslo", "onehotencoder__city_Rome", "onehotencoder__city_None"],
        "age": ["simpleimputer__age", "simpleimputer__missingindicator_age"],
        "hours": ["remainder__hours"],
        "noise": ["remainder__noise"],
    }
    assert decomposer.explained_features_ == ["sex", "city", "age", "hours", "noise"]
    plain = GlexDecomposer(rare_pipeline(), feature_groups=decomposer.feature_groups_).fit(data)
    np.testing.assert_array_equal(plain.transform(data), decomposer.transform(data))
    remover = FeatureRemover(rare_pipeline(), "sex", feature_groups="auto").fit(data)
    assert remover.feature_groups_ == decomposer.feature_groups_
    named = FeatureRemover(rare_pipeline(), "sex").fit(data)
    np.testing.assert_array_equal(remover.predict(data), named.predict(data))


def test_columns_of_several_raw_columns_join_their_groups():
    numbers = PEOPLE[["age", "hours", "noise"]].copy()
    numbers.loc[::9, "age"] = np.nan
    mix = make_column_transformer((KNNImputer(), ["age", "hours"]), remainder=StandardScaler())
    pipeline = make_pipeline(mix, small()).fit(numbers, Y)
    decomposer = GlexDecomposer(pipeline, feature_groups="auto").fit(numbers)
    joined = "knnimputer__age+knnimputer__hours"
    assert decomposer.feature_groups_ == {
        "noise": ["remainder__noise"],
        joined: ["knnimputer__age", "knnimputer__hours"],
    }
    remover = FeatureRemover(pipeline, joined, feature_groups="auto").fit(numbers)
    assert remover.removed_features_ == ["knnimputer__age", "knnimputer__hours"]


def test_without_preprocessing_there_are_no_groups():
    X = PEOPLE[["age", "hours"]]
    model = small().fit(X, Y)
    decomposer = GlexDecomposer(model, feature_groups="auto").fit(X)
    assert decomposer.feature_groups_ == {}
    assert decomposer.explained_features_ == ["age", "hours"]
    assert FeatureRemover(model, "age", feature_groups="auto").fit(X).feature_groups_ == {}


def test_names_of_raw_columns():
    by_raw_name = GlexDecomposer(PIPELINE, feature_groups={"person": ["sex", "age"]}).fit(PEOPLE)
    members = ["onehotencoder__sex_man", "onehotencoder__sex_woman", "remainder__age"]
    assert by_raw_name.feature_groups_ == {"person": members}
    by_name = GlexDecomposer(PIPELINE, feature_groups={"person": members}).fit(PEOPLE)
    np.testing.assert_array_equal(by_raw_name.transform(PEOPLE), by_name.transform(PEOPLE))
    some = GlexDecomposer(PIPELINE, features=["sex", "remainder__age"]).fit(PEOPLE)
    found = {name for c in some.components_ for name in c.features}
    assert {members[0], members[2]} <= found <= set(members)
    np.testing.assert_array_equal(
        some.partial_dependence("sex", PEOPLE), some.partial_dependence(members[:2], PEOPLE)
    )
    with pytest.raises(ValueError, match=r"unknown feature 'gender'\. The features are .*'sex'"):
        GlexDecomposer(PIPELINE, feature_groups={"g": ["gender"]}).fit(PEOPLE)
    with pytest.raises(ValueError, match=r"'onehotencoder__sex_man', which belongs to the group 'person'"):
        by_raw_name.partial_dependence("sex", PEOPLE)


def test_values_of_raw_columns():
    decomposer = GlexDecomposer(PIPELINE).fit(PEOPLE, sample_weight=np.arange(len(PEOPLE)))
    origins = {origin.name: origin for origin in decomposer._fitted.raw.origins}
    sex = origins["sex"]
    assert sex.values.tolist() == ["man", "woman"]
    weight = np.arange(len(PEOPLE)) / np.arange(len(PEOPLE)).sum()
    np.testing.assert_allclose(
        sex.shares, [*(weight[PEOPLE["sex"] == value].sum() for value in sex.values), 0]
    )
    assert not sex.numeric
    assert origins["age"].numeric
    assert origins["age"].limits == (PEOPLE["age"].min(), PEOPLE["age"].max())


def test_backgrounds_in_partitions():
    dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'skglex[dask]'")
    rows = dd.from_pandas(PEOPLE, npartitions=3)
    groups = GlexDecomposer(PIPELINE, feature_groups="auto").fit(PEOPLE).feature_groups_
    assert GlexDecomposer(PIPELINE, feature_groups="auto").fit(rows).feature_groups_ == groups
    assert FeatureRemover(PIPELINE, "sex", feature_groups="auto").fit(rows).feature_groups_ == groups
    sampled = GlexDecomposer(PIPELINE, feature_groups={"s": ["sex"]}, n_background=50, random_state=0).fit(
        rows
    )
    assert sampled.feature_groups_ == {"s": groups["sex"]}


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_distinct_values(missing):
    values, codes = distinct_values(np.array(["b", missing, "a", "b"], dtype=object))
    assert values == ["a", "b"]
    assert codes.tolist() == [1, -1, 0, 1]
    values, codes = distinct_values(pd.Series(["b", missing, "a", "b"], dtype="category"))
    assert values == ["a", "b"]
    assert codes.tolist() == [1, -1, 0, 1]
    values, codes = distinct_values(np.array([2.0, np.nan, 1.0]))
    assert values == [1.0, 2.0]
    assert codes.tolist() == [1, -1, 0]
