"""Check that the shipped data sets equal the published ones."""

import sys

import numpy as np
import pandas as pd
import pytest

from skglex.datasets import load_adult, load_bike_sharing

BIKE_FEATURES = ["season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit"]
BIKE_FEATURES += ["temp", "atemp", "hum", "windspeed", "dayofyear"]


@pytest.fixture
def no_pandas(monkeypatch):
    """Make the next `import pandas` raise an ImportError."""
    monkeypatch.setitem(sys.modules, "pandas", None)


def test_bike_sharing_bunch():
    bunch = load_bike_sharing()
    assert bunch.feature_names == list(bunch.data.columns) == BIKE_FEATURES
    assert bunch.data.shape == (17_379, 13)
    assert bunch.target_names == ["cnt"]
    assert bunch.target.name == "cnt"
    assert bunch.target.sum() == 3_292_679
    pd.testing.assert_frame_equal(bunch.frame, bunch.data.assign(cnt=bunch.target))
    assert "casual" in bunch.DESCR


def test_bike_sharing_values():
    X, _ = load_bike_sharing(return_X_y=True)
    floats = ["temp", "atemp", "hum", "windspeed"]
    assert (X[floats].dtypes == np.float64).all()
    assert (X.drop(columns=floats).dtypes == np.int64).all()
    assert not X.isna().to_numpy().any()
    assert (X["yr"] == 0).sum() == 8_645
    first_and_last = X.iloc[[0, -1]][["yr", "mnth", "hr", "temp", "dayofyear"]].to_numpy()
    np.testing.assert_array_equal(first_and_last, [[0, 1, 0, 0.24, 1], [1, 12, 23, 0.26, 366]])
    assert X.loc[X["yr"] == 0, "dayofyear"].max() == 365
    assert not {"casual", "registered", "cnt"} & set(X.columns)


def test_bike_sharing_arrays_without_pandas(no_pandas):
    bunch = load_bike_sharing(as_frame=False)
    assert bunch.frame is None
    assert isinstance(bunch.data, np.ndarray)
    assert bunch.data.dtype == np.float64
    assert bunch.data.shape == (17_379, 13)
    assert bunch.target.sum() == 3_292_679
    X, y = load_bike_sharing(as_frame=False, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_bike_sharing_arrays_equal_frame():
    X, y = load_bike_sharing(as_frame=False, return_X_y=True)
    frame, target = load_bike_sharing(return_X_y=True)
    np.testing.assert_array_equal(X, frame.to_numpy())
    np.testing.assert_array_equal(y, target)


@pytest.mark.parametrize("load", [load_adult, load_bike_sharing])
def test_frames_without_pandas_name_the_extra(load, no_pandas):
    with pytest.raises(ImportError, match=r"skglex\[examples\]"):
        load()


@pytest.mark.parametrize(
    ("subset", "n_samples", "n_rich", "n_complete", "age_sum"),
    [
        ("train", 32_561, 7_841, 30_162, 1_256_257),
        ("test", 16_281, 3_846, 15_060, 631_173),
        ("all", 48_842, 11_687, 45_222, 1_887_430),
    ],
)
def test_adult_subsets(subset, n_samples, n_rich, n_complete, age_sum):
    bunch = load_adult(subset=subset)
    assert bunch.data.shape == (n_samples, 14)
    assert bunch.feature_names == list(bunch.data.columns)
    assert bunch.target_names == sorted(bunch.target.unique()) == ["<=50K", ">50K"]
    assert (bunch.target == ">50K").sum() == n_rich
    assert len(bunch.data.dropna()) == n_complete
    assert bunch.data["age"].sum() == age_sum
    assert list(bunch.data.index) == list(range(n_samples))
    pd.testing.assert_frame_equal(bunch.frame, bunch.data.assign(income=bunch.target))


def test_adult_dtypes_are_shared_by_the_parts():
    train, _ = load_adult(return_X_y=True)
    test, _ = load_adult(subset="test", return_X_y=True)
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    assert (train[numbers].dtypes == np.int64).all()
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in train.drop(columns=numbers).dtypes)
    pd.testing.assert_series_equal(train.dtypes, test.dtypes)
    assert list(train.columns[train.isna().any()]) == ["workclass", "occupation", "native-country"]
    assert "?" not in train["workclass"].cat.categories


def test_adult_arrays_without_pandas(no_pandas):
    bunch = load_adult(subset="test", as_frame=False)
    assert (bunch.frame, bunch.data.shape, bunch.data.dtype) == (None, (16_281, 14), np.float64)
    assert set(bunch.target) == {"<=50K", ">50K"}
    assert len(bunch.categories) == 8


def test_adult_arrays_equal_frame():
    X, y = load_adult(as_frame=False, return_X_y=True)
    categories = load_adult(as_frame=False).categories
    frame, target = load_adult(return_X_y=True)
    for position, name in enumerate(frame):
        column = frame[name]
        if name in categories:
            assert column.cat.categories.tolist() == categories[name]
            column = column.cat.codes.replace(-1, np.nan)
        np.testing.assert_array_equal(X[:, position], column)
    np.testing.assert_array_equal(y, target)


def test_adult_unknown_subset():
    with pytest.raises(ValueError, match=r"subset must be one of .*'train'.*, but got 'valid'"):
        load_adult(subset="valid")
