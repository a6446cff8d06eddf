"""Check the parameters, weights, missing values and degenerate data of both planted forests."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import GlexDecomposer, RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._utils import _execution

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


LOSSES = ["log_loss", "exponential", "squared_error", "absolute_error"]


def expected_failures(estimator):
    if not estimator.bootstrap:
        return {}
    reason = "bootstrap draws do not depend on the weights, so repeated rows give another sample"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks(
    [
        RandomPlantedForestRegressor(5, n_splits=20, bootstrap=False),
        RandomPlantedForestClassifier(5, n_splits=20),
        RandomPlantedForestClassifier(5, n_splits=20, bootstrap=False, loss="log_loss"),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_search_over_the_parameters(interaction):
    X, y = interaction()
    grid = {"max_interaction": [1, 2], "n_splits": [30]}
    search = GridSearchCV(RandomPlantedForestRegressor(20, random_state=0), grid, cv=3).fit(X, y)
    assert search.best_params_["max_interaction"] == 2


def test_pickle_and_clone(interaction):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(5, random_state=0).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(X), forest.predict(X))
    assert_array_equal(clone(forest).fit(X, y).predict(X), forest.predict(X))


@pytest.mark.parametrize("max_bins", [None, 16])
def test_same_forest_for_every_n_jobs(max_bins, interaction):
    X, y = interaction()
    one, three = (
        RandomPlantedForestRegressor(6, max_bins=max_bins, n_jobs=n, random_state=3).fit(X, y) for n in (1, 3)
    )
    for name in ("leaf_ptr", "feature", "lo", "hi", "missing", "values", "family"):
        assert_array_equal(getattr(one.leaves_, name), getattr(three.leaves_, name))
    big = np.tile(X, (100, 1))
    assert_array_equal(one.predict(big), three.predict(big))
    assert_array_equal(one.feature_importances_, three.feature_importances_)


def test_max_interaction_bounds_the_order(interaction):
    X, y = interaction(d=5)
    for order in (1, 2, None):
        leaves = RandomPlantedForestRegressor(5, max_interaction=order, random_state=0).fit(X, y).leaves_
        sizes = np.diff(leaves.leaf_ptr)
        assert sizes.max() == order if order else sizes.max() > 2
    additive = RandomPlantedForestRegressor(20, max_interaction=1, random_state=0).fit(X, y)
    names = GlexDecomposer(additive).fit(X).get_feature_names_out()
    assert not any(":" in name for name in names)


def test_min_samples_leaf(interaction):
    X, y = interaction()
    leaves = (
        RandomPlantedForestRegressor(5, min_samples_leaf=30, bootstrap=False, random_state=0)
        .fit(X, y)
        .leaves_
    )
    for leaf in range(len(leaves.values)):
        c = slice(leaves.leaf_ptr[leaf], leaves.leaf_ptr[leaf + 1])
        x = X[:, leaves.feature[c]]
        assert ((leaves.lo[c] <= x) & (x < leaves.hi[c])).all(axis=1).sum() >= 30


def test_feature_importances(interaction):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(20, random_state=0).fit(X, y + 100)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert forest.feature_importances_[:2].sum() > 0.8
    X[:, 3] = 1
    assert RandomPlantedForestRegressor(5, random_state=0).fit(X, y).feature_importances_[3] == 0


def test_warm_start_adds_families(interaction):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(4, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=9).fit(X, y)
    at_once = RandomPlantedForestRegressor(9, random_state=0).fit(X, y)
    assert_array_equal(forest.predict(X), at_once.predict(X))
    assert_array_equal(forest.leaves_.family, at_once.leaves_.family)
    assert_allclose(forest.feature_importances_, at_once.feature_importances_)
    before = forest.leaves_
    assert forest.fit(X, y).leaves_ is before
    with pytest.raises(ValueError, match="n_estimators=3 must be at least the 9 families already grown"):
        forest.set_params(n_estimators=3).fit(X, y)


def test_warm_start_with_another_target_raises(interaction):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(2, warm_start=True).fit(X, y).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="y has 2 outputs, but the families already grown have 1"):
        forest.fit(X, np.column_stack([y, y]))
    classifier = RandomPlantedForestClassifier(2, warm_start=True).fit(X, y > 0).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="y has the classes"):
        classifier.fit(X, np.digitize(y, [-1, 1]))


def test_verbose_reports_progress(capsys, interaction, monkeypatch):
    monkeypatch.setattr(_execution, "_REDRAW", 0)
    X, y = interaction(50)
    RandomPlantedForestRegressor(3, verbose=1).fit(X, y)
    assert "growing" in capsys.readouterr().err


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_count_like_repeated_rows(loss, interaction):
    X, y = interaction()
    y = np.digitize(y, [-1, 1])
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    forest = RandomPlantedForestClassifier(5, bootstrap=False, loss=loss, max_bins=None, random_state=0)
    repeated = clone(forest).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(forest.fit(X, y, weight).predict_proba(X), repeated.predict_proba(X), atol=1e-8)


def test_missing_values_go_where_the_loss_is_lowest():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = np.where(x > 0, 1.0, -1.0)
    x[:100] = np.nan
    y[:100] = 3.0
    forest = RandomPlantedForestRegressor(20, max_interaction=1, random_state=0).fit(x[:, None], y)
    assert_allclose(forest.predict([[np.nan], [1.0], [-1.0]]), [3, 1, -1], atol=0.2)
    # Some leaves contain missing values only.
    assert (forest.leaves_.lo == np.inf).any()


def test_missing_values_not_seen_in_training_go_to_the_larger_child():
    x = np.arange(10.0)
    forest = RandomPlantedForestRegressor(1, n_splits=1, t_try=1.0, split_try=10, bootstrap=False)
    forest.fit(x[:, None], x >= 7)
    assert_array_equal(forest.predict([[np.nan], [0.0], [9.0]]), [0, 0, 1])


def test_all_missing_column(interaction):
    X, y = interaction()
    X[:, 2] = np.nan
    forest = RandomPlantedForestRegressor(5, random_state=0).fit(X, y)
    assert forest.feature_importances_[2] == 0
    assert not (forest.leaves_.feature == 2).any()


@pytest.mark.parametrize("case", ["no splits", "constant features", "one row", "missing"])
def test_without_a_split_the_mean_is_predicted(case, interaction):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(5, bootstrap=False)
    if case == "no splits":
        forest.set_params(n_splits=0)
    elif case == "constant features":
        X = np.ones_like(X)
    elif case == "one row":
        X, y = X[:1], y[:1]
    else:
        X = np.full_like(X, np.nan)
    forest.fit(X, y)
    assert_allclose(forest.predict(X), y.mean())
    assert_array_equal(forest.feature_importances_, np.zeros(4))
    assert_allclose(GlexDecomposer(forest).fit(X).intercept_, y.mean())


def test_more_splits_than_rows_and_huge_values(interaction):
    X, y = interaction(6)
    forest = RandomPlantedForestRegressor(5, n_splits=200, max_interaction=None, random_state=0)
    assert np.isfinite(forest.fit(X, 1e12 * y).predict(X)).all()
    classifier = RandomPlantedForestClassifier(5, n_splits=200, max_interaction=None, random_state=0)
    assert np.isfinite(classifier.fit(X, y > y.min()).predict_proba(X)).all()


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"max_interaction": 0}, "max_interaction"),
        ({"t_try": 0.0}, "t_try"),
        ({"max_bins": 1}, "max_bins"),
        ({"n_splits": -1}, "n_splits"),
        ({"split_decay_rate": -0.1}, "split_decay_rate"),
        ({"split_try": 0}, "split_try"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"delta": 0.5}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"epsilon": 0.5}, "epsilon"),
    ],
)
def test_bad_parameters(parameters, match, interaction):
    kind = RandomPlantedForestRegressor
    X, y = interaction(20)
    if match in ("delta", "epsilon"):
        kind, y = RandomPlantedForestClassifier, y > 0
    with pytest.raises(ValueError, match=f"'{match}' parameter .* must be"):
        kind(**parameters).fit(X, y)


def test_tags():
    for kind in (RandomPlantedForestRegressor, RandomPlantedForestClassifier):
        assert get_tags(kind()).input_tags.allow_nan
    assert get_tags(GlexDecomposer(RandomPlantedForestRegressor())).input_tags.allow_nan


def test_bad_targets_and_weights(interaction):
    X, y = interaction(20)
    with pytest.raises(ValueError, match=r"y has one class, .* needs at least two"):
        RandomPlantedForestClassifier().fit(X, np.zeros(20, dtype=int))
    with pytest.raises(ValueError, match="at least one"):
        RandomPlantedForestRegressor().fit(X, y, np.zeros(20))
    with pytest.raises(ValueError, match="Negative values"):
        RandomPlantedForestRegressor().fit(X, y, np.full(20, -1.0))
    with pytest.raises(ValueError, match="Unknown label type"):
        RandomPlantedForestClassifier().fit(X, y)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        RandomPlantedForestClassifier(2).fit(X, (y > 0)[:, None])
    with pytest.raises(ValueError, match="classifies one target"):
        RandomPlantedForestClassifier().fit(X, np.column_stack([y > 0, y > 1]).astype(int))
    with pytest.raises(ValueError, match=r"could not convert string to float"):
        RandomPlantedForestRegressor().fit(pd.DataFrame({"a": ["x", "y"] * 10}), y)
