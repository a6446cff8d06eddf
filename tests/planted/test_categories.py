"""Check how planted forests order, encode and miss categories."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_squared_error

from skglex import GlexDecomposer, RandomPlantedForestClassifier, RandomPlantedForestRegressor

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


@pytest.fixture
def categorical_data():
    rng = np.random.default_rng(0)
    kind = rng.choice(["b", "d", "a", "c"], size=400, p=[0.3, 0.1, 0.3, 0.3])
    x = rng.normal(size=400)
    effect = {"a": 3.0, "b": -1.0, "c": 1.0, "d": 5.0}
    X = pd.DataFrame({"x": x, "kind": pd.Categorical(kind, categories=["a", "b", "c", "d", "never"])})
    return X, x + pd.Series(kind).map(effect).to_numpy()


def test_categories_are_ordered_by_the_mean_target(categorical_data):
    X, y = categorical_data
    forest = RandomPlantedForestRegressor(20, random_state=0).fit(X, y)
    assert list(forest.categories_[1]) == ["b", "c", "a", "d"]
    assert mean_squared_error(y, forest.predict(X)) < 0.2
    numbers = X.assign(kind=X["kind"].map({"b": 0, "c": 1, "a": 2, "d": 3}).astype(float))
    as_numbers = RandomPlantedForestRegressor(20, random_state=0).fit(numbers, y)
    assert_array_equal(forest.predict(X), as_numbers.predict(numbers))
    other_codes = X.assign(kind=pd.Categorical(X["kind"].astype(str), categories=["d", "c", "b", "a"]))
    assert_array_equal(forest.predict(other_codes), forest.predict(X))
    assert_array_equal(forest.predict(X.assign(kind=X["kind"].astype(object))), forest.predict(X))


def test_unseen_categories_are_missing_values(categorical_data):
    X, y = categorical_data
    X = X.copy()
    X.loc[::5, "kind"] = np.nan
    y = np.where(X["kind"].isna(), -10.0, y)
    forest = RandomPlantedForestRegressor(20, random_state=0).fit(X, y)
    new = pd.DataFrame({"x": [0.0] * 3, "kind": pd.Categorical([None, "never", "other"])})
    first, second, third = forest.predict(new)
    assert first == second == third
    assert first == pytest.approx(-10, abs=1)
    decomposer = GlexDecomposer(forest).fit(X)
    assert_allclose(decomposer.intercept_ + decomposer.transform(new).sum(axis=1), [first] * 3, atol=1e-12)
    assert_allclose(
        decomposer.transform(X).sum(axis=1) + decomposer.intercept_, forest.predict(X), atol=1e-12
    )


def test_categories_of_several_outputs_and_classes(categorical_data):
    X, y = categorical_data
    outputs = RandomPlantedForestRegressor(5, random_state=0).fit(X, np.column_stack([y, 2 * y]))
    assert list(outputs.categories_[1]) == ["b", "c", "a", "d"]
    falling = RandomPlantedForestRegressor(5, random_state=0).fit(X, np.column_stack([y, -2 * y]))
    # The order increases in the output with the largest variance.
    assert list(falling.categories_[1]) == ["d", "a", "c", "b"]
    classifier = RandomPlantedForestClassifier(20, random_state=0).fit(X, X["kind"].astype(str))
    assert classifier.score(X, X["kind"].astype(str)) > 0.95


def test_categories_without_weight_are_unseen(categorical_data):
    X, y = categorical_data
    weight = np.where(X["kind"] == "c", 0.0, 1.0)
    forest = RandomPlantedForestRegressor(5, random_state=0).fit(X, y, sample_weight=weight)
    assert list(forest.categories_[1]) == ["b", "a", "d"]
    unseen = X.assign(kind=X["kind"].cat.rename_categories({"c": "new"}))
    assert_array_equal(forest.predict(X), forest.predict(unseen))


def test_categories_need_a_data_frame(categorical_data):
    X, y = categorical_data
    forest = RandomPlantedForestRegressor(2).fit(X, y)
    with pytest.raises(ValueError, match="fitted on a data frame whose columns"):
        forest.predict(np.zeros((2, 2)))
    warm = RandomPlantedForestRegressor(2, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=4).fit(X, y)
    assert_array_equal(warm.predict(X), RandomPlantedForestRegressor(4, random_state=0).fit(X, y).predict(X))


@pytest.mark.parametrize("kind", [RandomPlantedForestRegressor, RandomPlantedForestClassifier])
def test_a_single_categorical_column(kind, categorical_data):
    """Pandas hands out the values of a frame of one block read-only."""
    X, y = categorical_data
    y = y if kind is RandomPlantedForestRegressor else y > 0
    forest = kind(5, random_state=0).fit(X[["kind"]], y)
    order = forest.categories_[0]
    numbers = order.get_indexer(X["kind"])[:, None].astype(float)
    assert_array_equal(forest.predict(X[["kind"]]), kind(5, random_state=0).fit(numbers, y).predict(numbers))
