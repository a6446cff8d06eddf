"""Remove columns before a preprocessing, and accept rows without them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skglex import FeatureRemover
from skglex._utils import budgets
from skglex.exceptions import MixedColumnsWarning
from tests.support.people import FRAME, MODEL, PEOPLE, RNG, N, Y, people_pipeline
from tests.support.small_models import newer_xgboost, small


def test_removed_columns_never_matter():
    remover = FeatureRemover(MODEL, ["sex", "noise"]).fit(FRAME)
    expected = remover.predict(FRAME)
    for changed in (
        FRAME.assign(sex=np.nan),
        FRAME.assign(sex="garbage", noise=np.inf),
        FRAME.assign(sex=pd.Categorical(["never", "seen"] * (N // 2))),
        FRAME.assign(noise=pd.Timestamp("2020-01-01")),
        FRAME.drop(columns="sex"),
        FRAME.drop(columns=["sex", "noise"]),
        FRAME.set_axis(range(5, N + 5)),
    ):
        assert np.array_equal(remover.predict(changed), expected)
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(FRAME.drop(columns="age"))
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(FRAME.assign(more=1))
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(FRAME[["hours", "age", "sex", "noise"]])
    partly = FeatureRemover(MODEL, ["sex"], strength=0.5).fit(FRAME)
    with pytest.raises(ValueError, match=r"feature names .* lacks \['sex'\], which strength=0\.5 needs"):
        partly.predict(FRAME.drop(columns="sex"))

    array = FRAME.to_numpy()
    remover = FeatureRemover(MODEL, [0, 3]).fit(array)
    assert np.array_equal(remover.predict(array), expected)
    garbage = array.astype(object)
    garbage[:, 0], garbage[:, 3] = "x", None
    assert np.array_equal(remover.predict(garbage), expected)


@newer_xgboost
def test_removed_polars_columns_never_matter():
    expected = FeatureRemover(MODEL, ["sex", "noise"]).fit(FRAME).predict(FRAME)
    polars = pl.from_pandas(FRAME)
    remover = FeatureRemover(MODEL, ["sex", "noise"]).fit(polars)
    for changed in (polars, polars.drop("sex"), polars.with_columns(sex=pl.lit("garbage"))):
        assert np.array_equal(remover.predict(changed), expected)


def test_ways_to_name_features():
    expected = FeatureRemover(MODEL, ["age", "noise"]).fit(FRAME).predict(FRAME)
    for features in (
        [1, 3],
        [1, -1],
        np.array([False, True, False, True]),
        [False, True, False, True],
        slice(1, None, 2),
        make_column_selector(pattern="age|noise"),
        lambda frame: ["age", "noise"],
        pd.Index(["age", "noise"]),
    ):
        assert np.array_equal(FeatureRemover(MODEL, features).fit(FRAME).predict(FRAME), expected)
    grouped = FeatureRemover(MODEL, "both", feature_groups={"both": ["age", "noise"]}).fit(FRAME)
    assert np.array_equal(grouped.predict(FRAME), expected)
    one = FeatureRemover(MODEL, "age").fit(FRAME)
    assert one.removed_features_ == ["age"]


def test_around_a_pipeline():
    remover = FeatureRemover(people_pipeline(), ["sex"]).fit(PEOPLE, Y)
    encoded = ["onehotencoder__sex_man", "onehotencoder__sex_woman"]
    assert remover.removed_features_ == encoded
    expected = remover.predict(PEOPLE)
    for changed in (PEOPLE.drop(columns="sex"), PEOPLE.assign(sex="neither"), PEOPLE.assign(sex=np.nan)):
        assert np.array_equal(remover.predict(changed), expected)

    fitted = FrozenEstimator(remover.estimator_)
    by_group = FeatureRemover(fitted, "s", feature_groups={"s": encoded}).fit(PEOPLE)
    assert np.array_equal(by_group.predict(PEOPLE), expected)
    by_callable = FeatureRemover(fitted, lambda frame: frame.select_dtypes(exclude="number").columns).fit(
        PEOPLE
    )
    assert np.array_equal(by_callable.predict(PEOPLE), expected)
    # The raw column is still needed if only one of its encoded columns is removed.
    half = FeatureRemover(fitted, encoded[:1]).fit(PEOPLE)
    assert half.removed_features_ == encoded[:1]
    with pytest.raises(ValueError, match="feature names"):
        half.predict(PEOPLE.drop(columns="sex"))
    with pytest.raises(ValueError, match=r"'Sex'\. Did you mean 'sex'\?"):
        FeatureRemover(fitted, ["Sex"]).fit(PEOPLE)
    array = FeatureRemover(make_pipeline(StandardScaler(), small()), [1]).fit(
        PEOPLE.iloc[:, 1:].to_numpy(), Y
    )
    assert array.removed_features_ == ["x1"]


def test_a_raw_column_is_found_wherever_it_varies():
    # The rows are sorted: the first ten thousand have one value.
    n = 10_500
    frame = pd.DataFrame({"sex": np.repeat(["man", "woman"], [10_400, 100]), "age": np.arange(n) % 50})
    pipeline = people_pipeline().fit(PEOPLE[["sex", "age"]], Y)
    remover = FeatureRemover(pipeline, "sex").fit(frame)
    assert len(remover.removed_features_) == 2
    with pytest.warns(UserWarning, match="'sex' on the background changes nothing after the preprocessing"):
        FeatureRemover(pipeline, "sex").fit(frame[:100])


def test_encoded_columns_of_a_raw_one_make_it_superfluous():
    pipeline = people_pipeline().fit(PEOPLE, Y)
    encoded = ["onehotencoder__sex_man", "onehotencoder__sex_woman"]
    remover = FeatureRemover(pipeline, encoded).fit(PEOPLE)
    expected = FeatureRemover(pipeline, "sex").fit(PEOPLE).predict(PEOPLE)
    assert np.array_equal(remover.predict(PEOPLE.drop(columns="sex")), expected)
    assert np.array_equal(remover.predict(PEOPLE.assign(sex="neither")), expected)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, np.ndarray.tolist])
def test_garbage_in_arrays_before_a_preprocessing_that_refuses_it(form):
    array = np.nan_to_num(FRAME.to_numpy())
    scaled = make_pipeline(StandardScaler(with_mean=False), small()).fit(form(array), Y)
    remover = FeatureRemover(scaled, [0, 2]).fit(form(array))
    assert remover.removed_features_ == ["x0", "x2"]
    garbage = array.copy()
    garbage[:, 0], garbage[:, 2] = np.inf, np.nan
    assert np.array_equal(remover.predict(form(garbage)), remover.predict(form(array)))


def test_objects_for_a_model_trained_on_a_frame():
    remover = FeatureRemover(MODEL, ["sex"]).fit(FRAME)
    objects = FRAME.to_numpy().astype(object)
    objects[:, 0] = "x"
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(remover.predict(objects), remover.predict(FRAME))


@pytest.mark.parametrize("container", ["default", "pandas", pytest.param("polars", marks=newer_xgboost)])
def test_preprocessing_may_return_frames(container):
    scaler = StandardScaler().set_output(transform=container)
    rows = pl.from_pandas(PEOPLE.iloc[:, 1:]) if container == "polars" else PEOPLE.iloc[:, 1:]
    remover = FeatureRemover(make_pipeline(scaler, small()), [1]).fit(rows, Y.to_numpy())
    assert remover.removed_features_ == [PEOPLE.columns[2]]
    without = rows.drop(PEOPLE.columns[2]) if container == "polars" else rows.drop(columns=PEOPLE.columns[2])
    assert np.array_equal(remover.predict(without), remover.predict(rows))


@pytest.mark.parametrize("container", ["pandas", "array", "sparse", "polars"])
def test_columns_mixed_by_the_preprocessing_warn(container):
    rows = RNG.normal(size=(300, 3))
    target = 5 * rows[:, 1] + rows[:, 2] + rows[:, 0]
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    given = {
        "pandas": lambda: pd.DataFrame(rows, columns=list("abc")),
        "array": lambda: rows,
        "sparse": lambda: csr_matrix(rows),
        "polars": lambda: pl.DataFrame(rows, schema=list("abc")),
    }[container]()
    mixing = make_pipeline(products, small()).fit(given, target)
    names = ["a", "a b", "a c"] if container in ("pandas", "polars") else ["x0", "x0 x1", "x0 x2"]
    with pytest.warns(
        MixedColumnsWarning,
        match=rf"the columns \['{names[1]}', '{names[2]}'\] after the preprocessing are computed",
    ):
        remover = FeatureRemover(mixing, [0]).fit(given)
    assert remover.removed_features_ == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FeatureRemover(mixing, [0, 1, 2]).set_params(features=names[1:]).fit(
            given
        )  # They are named explicitly.
        alone = make_pipeline(StandardScaler(with_mean=False), small()).fit(given, target)
        FeatureRemover(alone, [0]).fit(given)


def test_one_filled_gap_makes_a_column_mixed():
    gaps = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["protected", "income", "age"])
    gaps.loc[7, "income"] = np.nan
    imputer = KNNImputer().set_output(transform="pandas")
    model = make_pipeline(imputer, small()).fit(gaps, gaps["age"])
    with pytest.warns(
        MixedColumnsWarning, match=r"\['income'\] after the preprocessing are computed from \['protected'\]"
    ):
        FeatureRemover(model, "protected").fit(gaps)
    assert FeatureRemover(model, "protected").fit(gaps.drop(index=7)).removed_features_ == ["protected"]


@pytest.mark.parametrize("n_rows", [100, 101])
def test_columns_that_only_round_otherwise_stay(n_rows, monkeypatch):
    """The rounding of a sum of products may depend on the number of rows."""
    monkeypatch.setattr(budgets, "permuted_rows", 100)
    rows = pd.DataFrame(RNG.normal(size=(n_rows, 11)), columns=["sex", *(f"c{i}" for i in range(10))])
    others = make_column_transformer(
        (TruncatedSVD(3, random_state=0), list(rows.columns[1:])), remainder="passthrough"
    )
    model = make_pipeline(others, small()).fit(rows, rows["sex"])
    assert FeatureRemover(model, "sex").fit(rows).removed_features_ == ["remainder__sex"]
