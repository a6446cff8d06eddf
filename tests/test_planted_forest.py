"""The random planted forest against the R package's leaves, brute force, and scikit-learn's checks."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._planted._kernels.split import EVEN, FIRST
from skglex._planted._leaves import PlantedLeaves, encode_columns

# Without numba, the generator's arithmetic modulo 2**64 warns.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

ORACLE = Path(__file__).parent / "data" / "oracle"
LOSSES = ["log_loss", "exponential", "squared_error", "absolute_error"]


class EvenRegressor(RandomPlantedForestRegressor):
    _rule = EVEN


class FirstClassifier(RandomPlantedForestClassifier):
    _rule = FIRST


def read_oracle(name):
    return pd.read_csv(ORACLE / f"{name}.csv", dtype={"tree": str})


@pytest.fixture(scope="module")
def oracle_X():
    return read_oracle("rpf_X_train")


def oracle_leaves(tag):
    """The leaves of the R package, with infinite bounds where they touch its domain."""
    table = read_oracle(f"{tag}_leaves")
    meta = read_oracle("rpf_meta").set_index("tag").loc[tag]
    lower, upper = (np.array(meta[side].split(";"), dtype=float) for side in ("lower", "upper"))
    leaf_ptr, feature, lo, hi = [0], [], [], []
    for row in table.to_dict("records"):
        for k in [] if row["tree"] == "0" else [int(part) - 1 for part in row["tree"].split(":")]:
            a, b = row[f"lo{k + 1}"], row[f"hi{k + 1}"]
            feature.append(k)
            lo.append(-np.inf if a == lower[k] else a)
            hi.append(np.inf if b == upper[k] else b)
        leaf_ptr.append(len(feature))
    return PlantedLeaves(
        leaf_ptr=np.array(leaf_ptr),
        feature=np.array(feature, dtype=np.int32),
        lo=np.array(lo),
        hi=np.array(hi),
        missing=np.ones(len(feature), dtype=bool),
        values=table.filter(like="value").to_numpy(),
        family=(table["family"] - 1).to_numpy(np.int32),
    )


def as_table(leaves):
    """Leaves as a mapping from boxes to values."""
    boxes = {}
    for leaf, values in enumerate(leaves.values):
        conditions = slice(leaves.leaf_ptr[leaf], leaves.leaf_ptr[leaf + 1])
        box = tuple(zip(leaves.feature[conditions].tolist(), leaves.lo[conditions], leaves.hi[conditions]))
        assert box not in boxes
        boxes[box] = values
    return boxes


def sum_boxes(leaves, X):
    """A plain statement of the prediction."""
    out = np.zeros((len(X), leaves.values.shape[1]))
    for leaf, value in enumerate(leaves.values):
        inside = np.ones(len(X), dtype=bool)
        for c in range(leaves.leaf_ptr[leaf], leaves.leaf_ptr[leaf + 1]):
            x = X[:, leaves.feature[c]]
            inside &= np.where(np.isnan(x), leaves.missing[c], (leaves.lo[c] <= x) & (x < leaves.hi[c]))
        out[inside] += value
    return out / leaves.n_families


def interaction(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1] + rng.normal(size=n)


# -- the R package ------------------------------------------------------------------------------

DETERMINISTIC = {
    "rpf_det_leaves": (EvenRegressor(1, n_splits=15, t_try=1.0), "y"),
    "rpf_det_leaves_nodelete": (EvenRegressor(1, n_splits=15, t_try=1.0, delete_leaves=False), "y"),
    "rpf_det_bin_L2": (FirstClassifier(1, n_splits=12, t_try=1.0, loss="squared_error"), "ybin"),
    "rpf_det_multi_logit": (FirstClassifier(1, n_splits=12, t_try=1.0, loss="log_loss", epsilon=0.1), "y3"),
    "rpf_det_multi_exponential": (
        FirstClassifier(1, n_splits=12, t_try=1.0, loss="exponential", epsilon=0.1),
        "y3",
    ),
}


@pytest.mark.parametrize("tag", DETERMINISTIC)
def test_deterministic_fit_gives_the_oracle_leaves(tag, oracle_X):
    """`grow_family`, split by split as the R package."""
    model, target = DETERMINISTIC[tag]
    y = read_oracle("rpf_y_train")[target]
    if target == "y3":
        y = y.map({"l": 0, "m": 1, "h": 2})  # the order of R's levels
    model = clone(model).set_params(max_bins=None).fit(oracle_X, y)
    ours, expected = as_table(model.leaves_), as_table(oracle_leaves(tag))
    assert ours.keys() == expected.keys()
    for box, values in expected.items():
        assert_allclose(ours[box][-len(values) :], values, rtol=0, atol=1e-12)
    for part in ("train", "new"):
        margin = read_oracle(f"{tag}_pred_{part}").to_numpy()
        ours = model._margin(read_oracle(f"rpf_X_{part}"))
        assert_allclose(ours[:, -margin.shape[1] :], margin, rtol=0, atol=1e-12)
        assert (ours[:, : -margin.shape[1]] == 0).all()


@pytest.mark.parametrize("part", ["train", "new"])
@pytest.mark.parametrize(
    "tag", ["rpf_rand", "rpf_rand3", "rpf_det_leaves", "rpf_det_leaves_nodelete", "rpf_det_bin_L2"]
)
def test_oracle_leaves_give_the_oracle_predictions_and_components(tag, part, oracle_X):
    forest = RandomPlantedForestRegressor(1, n_splits=1).fit(oracle_X, oracle_X["x1"])
    forest.leaves_ = oracle_leaves(tag)
    X = read_oracle(f"rpf_X_{part}")
    assert_allclose(forest.predict(X), read_oracle(f"{tag}_pred_{part}")["p1"], rtol=0, atol=1e-12)

    decomposer = GlexDecomposer(forest).set_output(transform="pandas").fit(oracle_X)
    components = decomposer.transform(X)
    expected = read_oracle(f"{tag}_components_{part}")
    assert_allclose(expected.pop("intercept"), decomposer.intercept_, rtol=0, atol=1e-12)
    assert set(components) <= set(expected)
    for name, values in expected.items():
        assert_allclose(components.get(name, 0.0 * values), values, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("max_interaction", "expected"), [(1, 2.977), (2, 1.812)])
def test_as_accurate_as_the_r_package(max_interaction, expected):
    losses = []
    for seed in range(5):
        X, y = make_friedman1(4000, n_features=10, noise=1.0, random_state=seed)
        forest = RandomPlantedForestRegressor(
            50, max_interaction=max_interaction, n_splits=30, t_try=0.4, split_try=10, random_state=seed
        )
        losses.append(mean_squared_error(y[2000:], forest.fit(X[:2000], y[:2000]).predict(X[2000:])))
    assert np.mean(losses) < 1.03 * expected


# -- one split, by brute force ------------------------------------------------------------------


def change_of_loss(loss, y, weight):
    """The loss of a first child less that of predicting nothing, and the child's update."""
    total = weight.sum()
    if loss == "squared_error":
        update = weight @ y / total
        return weight @ ((y - update[None]) ** 2 - y**2).sum(axis=1), update
    if loss == "absolute_error":
        update = weight @ y / total
        return weight @ (abs(y - update[None]) - abs(y)).sum(axis=1), update
    p = weight @ (y > 0) / total
    reference = 1 - p.sum()

    def ratio(margin):
        return np.log(np.clip(p, margin, 1 - margin) / np.clip(reference, margin, 1 - margin))

    if loss == "log_loss":
        u = ratio(0.001)
        return weight @ (np.log1p(np.exp(u).sum()) - y @ u - np.log1p(y.shape[1])), ratio(0.1)
    return weight @ (np.exp(-0.5 * y * ratio(0.001)) - 1).sum(axis=1), ratio(0.1)


@pytest.mark.plain
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [None, 8])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_first_split_is_the_best_one(loss, n_classes, max_bins, missing):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)).round(1)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    score = np.nan_to_num(X[:, 1], nan=1.5) + 0.5 * rng.normal(size=80)
    labels = np.digitize(score, [0.3] if n_classes == 2 else [-0.5, 0.5])
    weight = rng.uniform(0.5, 2, size=80)
    forest = RandomPlantedForestClassifier(
        1, n_splits=1, split_try=1000, t_try=1.0, bootstrap=False, loss=loss, max_bins=max_bins, epsilon=0.1
    ).fit(X, labels, weight)

    y = (labels[:, None] == np.arange(n_classes)).astype(float)
    y = y[:, 1:] if n_classes == 2 or loss == "log_loss" else y
    y = 2 * y - 1 if loss == "exponential" else y
    best = np.inf
    for k, edges in enumerate(encode_columns(X, max_bins)[2]):
        for cut in edges[1:]:
            for missing_left in (False, True):
                left = np.where(np.isnan(X[:, k]), missing_left, X[:, k] < cut)
                if 0 < left.sum() < 80:
                    sides = [change_of_loss(loss, y[s], weight[s]) for s in (left, ~left)]
                    if sides[0][0] + sides[1][0] < best - 1e-12:
                        best = sides[0][0] + sides[1][0]
                        expected = np.where(left[:, None], sides[0][1], sides[1][1])
    assert_allclose(forest._margin(X)[:, -y.shape[1] :], expected, atol=1e-12)


# -- scikit-learn -------------------------------------------------------------------------------


def expected_failures(estimator):
    if not estimator.bootstrap:
        return {}
    reason = "a bootstrap sample draws rows whatever their weights, so repeated rows give another sample"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks(
    [
        RandomPlantedForestRegressor(5, n_splits=20),
        RandomPlantedForestRegressor(5, n_splits=20, bootstrap=False),
        RandomPlantedForestClassifier(5, n_splits=20),
        *(RandomPlantedForestClassifier(5, n_splits=20, bootstrap=False, loss=loss) for loss in LOSSES),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_search_over_the_parameters():
    X, y = interaction()
    grid = {"max_interaction": [1, 2], "n_splits": [30]}
    search = GridSearchCV(RandomPlantedForestRegressor(20, random_state=0), grid, cv=3).fit(X, y)
    assert search.best_params_["max_interaction"] == 2


def test_pickle_and_clone():
    X, y = interaction()
    forest = RandomPlantedForestRegressor(5, random_state=0).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(X), forest.predict(X))
    assert_array_equal(clone(forest).fit(X, y).predict(X), forest.predict(X))


# -- what the forest does -----------------------------------------------------------------------


def test_prediction_is_the_sum_of_the_boxes():
    """`add_leaves`."""
    X, y = interaction()
    X[::7, 0] = np.nan
    forest = RandomPlantedForestRegressor(5, max_interaction=3, random_state=0).fit(
        X, np.column_stack([y, -y])
    )
    new = interaction(seed=1)[0]
    new[::5, 1] = np.nan
    new[:50] = X[:50]
    expected = sum_boxes(forest.leaves_, new)
    assert expected.shape == (300, 2)
    assert_allclose(forest.predict(new), expected, atol=1e-12)
    assert_allclose(
        forest.predict(np.tile(new, (60, 1)))[-300:], expected, atol=1e-12
    )  # several blocks and tasks


@pytest.mark.parametrize("max_bins", [None, 16])
def test_same_forest_for_every_n_jobs(max_bins):
    X, y = interaction()
    one, three = (
        RandomPlantedForestRegressor(6, max_bins=max_bins, n_jobs=n, random_state=3).fit(X, y) for n in (1, 3)
    )
    for name in ("leaf_ptr", "feature", "lo", "hi", "missing", "values", "family"):
        assert_array_equal(getattr(one.leaves_, name), getattr(three.leaves_, name))
    big = np.tile(X, (100, 1))
    assert_array_equal(one.predict(big), three.predict(big))
    assert_array_equal(one.feature_importances_, three.feature_importances_)


def test_max_interaction_bounds_the_order():
    X, y = interaction(d=5)
    for order in (1, 2, None):
        leaves = RandomPlantedForestRegressor(5, max_interaction=order, random_state=0).fit(X, y).leaves_
        sizes = np.diff(leaves.leaf_ptr)
        assert sizes.max() == order if order else sizes.max() > 2
    additive = RandomPlantedForestRegressor(20, max_interaction=1, random_state=0).fit(X, y)
    names = GlexDecomposer(additive).fit(X).get_feature_names_out()
    assert not any(":" in name for name in names)


def test_min_samples_leaf():
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


def test_max_bins_bounds_the_thresholds():
    X, y = interaction(n=1000)
    leaves = RandomPlantedForestRegressor(30, max_bins=4, random_state=0).fit(X, y).leaves_
    cuts = np.unique(leaves.lo[(leaves.feature == 0) & np.isfinite(leaves.lo)])
    assert len(cuts) == 3
    assert_allclose(cuts, np.quantile(X[:, 0], [0.25, 0.5, 0.75]), atol=0.05)


def test_binary_feature_splits_in_classification():
    # The R package never splits one: it leaves the largest value out, too.
    x = np.repeat([0.0, 1.0], 20)
    forest = RandomPlantedForestClassifier(10, random_state=0).fit(x[:, None], x.astype(int))
    assert forest.score(x[:, None], x.astype(int)) == 1


def test_feature_importances():
    X, y = interaction()
    forest = RandomPlantedForestRegressor(20, random_state=0).fit(X, y + 100)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert forest.feature_importances_[:2].sum() > 0.8
    X[:, 3] = 1
    assert RandomPlantedForestRegressor(5, random_state=0).fit(X, y).feature_importances_[3] == 0


def test_warm_start_adds_families():
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


def test_warm_start_refuses_another_target():
    X, y = interaction()
    forest = RandomPlantedForestRegressor(2, warm_start=True).fit(X, y).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="y has 2 outputs, but the families already grown have 1"):
        forest.fit(X, np.column_stack([y, y]))
    classifier = RandomPlantedForestClassifier(2, warm_start=True).fit(X, y > 0).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="y has the classes"):
        classifier.fit(X, np.digitize(y, [-1, 1]))


def test_verbose_reports_progress(capsys):
    X, y = interaction(50)
    RandomPlantedForestRegressor(3, verbose=1).fit(X, y)
    assert "growing" in capsys.readouterr().err


# -- weights, missing values, categories --------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_count_like_repeated_rows(loss):
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
    assert (forest.leaves_.lo == np.inf).any()  # leaves of missing values alone


def test_missing_values_not_seen_in_training_go_to_the_larger_child():
    x = np.arange(10.0)
    forest = RandomPlantedForestRegressor(1, n_splits=1, t_try=1.0, split_try=10, bootstrap=False)
    forest.fit(x[:, None], x >= 7)
    assert_array_equal(forest.predict([[np.nan], [0.0], [9.0]]), [0, 0, 1])


def test_components_of_a_forest_with_missing_values():
    X, y = interaction(120, d=3)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.3] = np.nan
    forest = RandomPlantedForestRegressor(5, max_interaction=3, random_state=0).fit(X, y)
    decomposer = GlexDecomposer(forest).fit(X)
    mean = forest.predict(X).mean()
    assert decomposer.intercept_ == pytest.approx(mean, abs=1e-12)
    for k in range(3):
        effect = []
        for value in X[:20, k]:
            fixed = X.copy()
            fixed[:, k] = value
            effect.append(forest.predict(fixed).mean() - mean)
        assert_allclose(decomposer[f"x{k}"].evaluate(X[:20]), effect, atol=1e-12)
    assert_allclose(decomposer.transform(X).sum(axis=1) + mean, forest.predict(X), atol=1e-12)


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
    plain = X.assign(kind=X["kind"].map({"b": 0, "c": 1, "a": 2, "d": 3}).astype(float))
    as_numbers = RandomPlantedForestRegressor(20, random_state=0).fit(plain, y)
    assert_array_equal(forest.predict(X), as_numbers.predict(plain))
    other_codes = X.assign(kind=pd.Categorical(X["kind"].astype(str), categories=["d", "c", "b", "a"]))
    assert_array_equal(forest.predict(other_codes), forest.predict(X))
    assert_array_equal(forest.predict(X.assign(kind=X["kind"].astype(object))), forest.predict(X))


def test_unseen_and_missing_categories_take_the_same_way(categorical_data):
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
    assert list(falling.categories_[1]) == ["d", "a", "c", "b"]  # upwards in the output that varies most
    classifier = RandomPlantedForestClassifier(20, random_state=0).fit(X, X["kind"].astype(str))
    assert classifier.score(X, X["kind"].astype(str)) > 0.95


def test_categories_of_rows_without_weight_are_unseen(categorical_data):
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


# -- classification -----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_classes(loss):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    forest = RandomPlantedForestClassifier(20, loss=loss, random_state=0).fit(X, names[y])
    proba = forest.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(names[forest.decision_function(X).argmax(axis=1)], forest.predict(X))
    assert forest.score(X, names[y]) > 0.93

    binary = RandomPlantedForestClassifier(20, loss=loss, random_state=0).fit(X, y == 1)
    assert_array_equal(binary.decision_function(X) > 0, binary.predict(X))
    assert_array_equal(binary.predict_proba(X)[:, 1] > 0.5, binary.predict(X))
    decomposer = GlexDecomposer(binary).fit(X)
    margin = decomposer.intercept_ + decomposer.transform(X).sum(axis=1)
    assert_allclose(margin, binary._margin(X)[:, 0], atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_removed_from_a_classifier_have_no_effect(loss, n_classes):
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, n_classes - 1)
    forest = RandomPlantedForestClassifier(5, loss=loss, random_state=0).fit(X, y)
    permuted = X.copy()
    permuted[:, 2] = np.random.default_rng(0).permutation(X[:, 2])
    remover = FeatureRemover(forest, [2]).fit(X)
    assert_allclose(remover.predict_proba(permuted), remover.predict_proba(X))
    kept = FeatureRemover(forest, [2], strength=0.0).fit(X)
    assert_allclose(kept.predict_proba(X), forest.predict_proba(X), atol=1e-12)


def test_features_removed_from_a_regressor_are_averaged_out():
    X, y = interaction(100)
    forest = RandomPlantedForestRegressor(5, random_state=0).fit(X, y)
    expected = []
    for row in X[:20]:
        rows = np.tile(row, (100, 1))
        rows[:, 0] = X[:, 0]
        expected.append(forest.predict(rows).mean())
    assert_allclose(FeatureRemover(forest, [0]).fit(X).predict(X[:20]), expected, atol=1e-12)


def test_decomposer_fits_a_forest_itself():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    decomposer = GlexDecomposer(RandomPlantedForestClassifier(5, random_state=0)).fit(X, names[y])
    assert_array_equal(decomposer.classes_, names)
    assert decomposer.transform(X).shape == (150, decomposer.n_components_)
    with pytest.raises(ValueError, match="path_dependent"):
        GlexDecomposer(RandomPlantedForestClassifier(5), weighting="path_dependent").fit(X, y)


# -- degenerate data ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, bool])
def test_integer_targets_are_numbers(dtype):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(5, random_state=0)
    target = (3 * y).astype(dtype)
    assert_array_equal(forest.fit(X, target).predict(X), forest.fit(X, target.astype(float)).predict(X))


def test_constant_target():
    X = interaction()[0]
    assert_allclose(RandomPlantedForestRegressor(5).fit(X, np.full(300, 7.0)).predict(X), 7)
    assert_allclose(RandomPlantedForestRegressor(5).fit(X, np.zeros(300)).predict(X), 0)


@pytest.mark.parametrize("case", ["no splits", "constant features", "one row", "missing"])
def test_without_a_split_the_mean_is_predicted(case):
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


@pytest.mark.parametrize("loss", LOSSES)
def test_classifier_without_a_split_predicts_the_share(loss):
    y = np.repeat([0, 1], [30, 70])
    forest = RandomPlantedForestClassifier(3, n_splits=0, bootstrap=False, loss=loss)
    proba = forest.fit(np.zeros((100, 1)), y).predict_proba([[0.0]])
    assert_allclose(proba, [[0.3, 0.7]])


def test_two_distinct_values():
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    forest = RandomPlantedForestRegressor(3, bootstrap=False).fit(x, [1.0, 1.0, 5.0, 5.0])
    assert_allclose(forest.predict([[0.0], [0.5], [1.0], [9.0]]), [1, 1, 5, 5])


def test_all_missing_column():
    X, y = interaction()
    X[:, 2] = np.nan
    forest = RandomPlantedForestRegressor(5, random_state=0).fit(X, y)
    assert forest.feature_importances_[2] == 0
    assert not (forest.leaves_.feature == 2).any()


def test_more_splits_than_rows_and_huge_values():
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
def test_bad_parameters(parameters, match):
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


def test_bad_targets_and_weights():
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
