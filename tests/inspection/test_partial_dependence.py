"""Compare partial dependence and ICE curves with scikit-learn's brute force."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.inspection
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex.inspection import ale, h_statistic, partial_dependence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).round(2)
X[:, 3] = RNG.integers(0, 3, size=80)
Y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] == 1)
BINARY, CLASSES = np.where(Y > 0.3, "yes", "no"), np.digitize(Y, [-0.2, 0.9])
WEIGHT = RNG.integers(0, 4, size=80).astype(float)
MISSING = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
MISSING[0] = X[0]

MODELS = {
    "forest": lambda: RandomForestRegressor(5, max_depth=4).fit(X, Y),
    "forest, outputs": lambda: RandomForestRegressor(3, max_depth=3).fit(X, np.column_stack([Y, -Y, Y**2])),
    "forest, binary": lambda: RandomForestClassifier(5, max_depth=4).fit(X, BINARY),
    "forest, classes": lambda: RandomForestClassifier(5, max_depth=3).fit(X, CLASSES),
    "boosting, binary": lambda: GradientBoostingClassifier(n_estimators=5).fit(X, BINARY),
    "boosting, classes": lambda: GradientBoostingClassifier(n_estimators=3).fit(X, CLASSES),
    "hist, poisson": lambda: HistGradientBoostingRegressor(
        loss="poisson", max_iter=5, min_samples_leaf=5
    ).fit(X, Y - Y.min()),
    "hist, binary": lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, BINARY),
    "hist, classes": lambda: HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(X, CLASSES),
    "xgboost, gamma": lambda: XGBRegressor(n_estimators=5, objective="reg:gamma", n_jobs=1).fit(
        X, Y - Y.min() + 1
    ),
    "xgboost, binary": lambda: XGBClassifier(n_estimators=5, n_jobs=1).fit(X, BINARY == "yes"),
    "xgboost, classes": lambda: XGBClassifier(n_estimators=3, n_jobs=1).fit(X, CLASSES),
    "lightgbm": lambda: LGBMRegressor(n_estimators=5, min_child_samples=5, verbose=-1).fit(X, Y),
    "lightgbm, classes": lambda: LGBMClassifier(n_estimators=3, min_child_samples=5, verbose=-1).fit(
        X, CLASSES
    ),
}


@pytest.fixture(scope="module")
def model_of():
    found = {}
    return lambda name: found.setdefault(name, None) or found.__setitem__(name, MODELS[name]()) or found[name]


def check(model, rows, features, *, decomposer=None, atol=1e-12, **params):
    """Require the bunch of scikit-learn's brute force; return it."""
    expected = sklearn.inspection.partial_dependence(model, rows, features, method="brute", **params)
    for source in (model,) if decomposer is None else (model, decomposer):
        found = partial_dependence(source, rows, features, **params)
        assert found.keys() == expected.keys()
        for grid, own in zip(expected.grid_values, found.grid_values, strict=True):
            np.testing.assert_array_equal(own, grid)
        for name in found.keys() - {"grid_values"}:
            assert found[name].shape == expected[name].shape
            assert_allclose(found[name], expected[name], rtol=0, atol=atol)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_equals_brute_force(name, model_of):
    model = model_of(name)
    atol = 1e-6 if "xgboost" in name else 1e-12  # XGBoost predicts in float32.
    decomposer = GlexDecomposer(model).fit(X[:30])
    check(model, X, [0], decomposer=decomposer, atol=atol, kind="both", grid_resolution=9)
    check(model, X, [2, 3], atol=atol, grid_resolution=5, sample_weight=WEIGHT)
    if hasattr(model, "decision_function"):
        for kind in ("average", "individual"):
            check(model, X, [1], atol=atol, response_method="decision_function", kind=kind, grid_resolution=9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(MISSING, BINARY),
        lambda: LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1).fit(MISSING, BINARY),
    ],
)
def test_at_thresholds_and_missing_values(make):
    model = make()
    decomposer = GlexDecomposer(model).fit(MISSING)
    edges = decomposer.feature_axis(0).edges
    points = np.concatenate([edges[:8], np.nextafter(edges[:8], -np.inf), [np.nan]])
    check(model, MISSING, [0], decomposer=decomposer, custom_values={0: points}, kind="both")
    # Column 3 has few values, one of which is missing: all of them are the grid.
    assert np.isnan(check(model, MISSING, [3], kind="both").grid_values[0][-1])
    # Missing values do not count for percentiles, for which scikit-learn finds none.
    grid = partial_dependence(model, MISSING, [1], grid_resolution=5).grid_values[0]
    known = MISSING[~np.isnan(MISSING[:, 1])]
    assert_allclose(grid, partial_dependence(model, known, [1], grid_resolution=5).grid_values[0])


def frame():
    return pd.DataFrame(
        {
            "age": X[:, 0] * 10 + 50,
            "kind": pd.Categorical(np.array(["a", "b", "c"])[X[:, 3].astype(int)], categories=list("cab")),
            "size": X[:, 1],
            "old": X[:, 2] > 0,
        }
    )


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "hist"])
def test_categories_of_frames(library):
    rows = frame()
    model = {
        "xgboost": XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1),
        "lightgbm": LGBMClassifier(
            n_estimators=5, min_child_samples=5, verbose=-1, cat_smooth=0, min_data_per_group=1
        ),
        "hist": HistGradientBoostingClassifier(
            max_iter=5, min_samples_leaf=5, categorical_features="from_dtype"
        ),
    }[library].fit(rows, BINARY == "yes")
    atol = 1e-6 if library == "xgboost" else 1e-12
    params = {"categorical_features": ["kind"], "atol": atol, "grid_resolution": 7}
    check(model, rows, ["kind"], kind="both", **params)
    check(model, rows, ["kind", "age"], sample_weight=WEIGHT, **{**params, "grid_resolution": 4})
    check(model, rows, "old", **params)
    mask = [False, True, False, False]
    check(model, rows, mask, categorical_features=mask, atol=atol)
    check(model, rows, "kind", custom_values={"kind": ["b", "c"]}, categorical_features=[1], atol=atol)
    with pytest.raises(ValueError, match="'z' is none of the categories of 'kind'"):
        partial_dependence(model, rows, ["kind"], custom_values={"kind": ["z"]})


def pipelines():
    """Yield pipelines and the features of each; the last ones mix columns, so that all rows are transformed again."""
    one_hot = make_column_transformer(
        (OneHotEncoder(), ["kind"]), (StandardScaler(), ["age", "size"]), remainder="drop"
    )
    ordinal = make_column_transformer((OrdinalEncoder(), ["kind"]), (PolynomialFeatures(2), ["age", "size"]))
    return {
        "one-hot": (one_hot, [["kind"], ["age", "kind"], ["age"]]),
        "mixed": (ordinal, [["kind"], ["age"], ["kind", "size"]]),
    }


@pytest.mark.parametrize("name", pipelines())
def test_pipelines(name):
    rows, (steps, choices) = frame(), pipelines()[name]
    model = make_pipeline(steps, RandomForestClassifier(5, max_depth=5, random_state=0)).fit(rows, BINARY)
    decomposer = GlexDecomposer(model).fit(rows)
    for features in choices:
        for kind in ("average", "both"):
            params = {"categorical_features": ["kind"], "grid_resolution": 5, "kind": kind}
            check(model, rows, features, decomposer=decomposer, sample_weight=WEIGHT, **params)


def test_preprocessing_that_mixes_columns_in_few_rows():
    """Only one row tells that the first column is not a function of the raw one alone."""
    rows = np.repeat(X, 5, axis=0)
    rows[41, 1] = 77.0

    def mix(Z):
        Z = np.array(Z, dtype=float)
        Z[:, 0] = np.where(Z[:, 1] == 77, -Z[:, 0], Z[:, 0])
        return Z

    model = make_pipeline(FunctionTransformer(mix), RandomForestRegressor(5, max_depth=4, random_state=0))
    check(model.fit(rows, np.repeat(Y, 5)), rows, [0], grid_resolution=5)


def test_other_models_and_containers(model_of):
    booster = model_of("xgboost, binary").get_booster()
    expected = partial_dependence(model_of("xgboost, binary"), X, [0], grid_resolution=5)
    assert_allclose(partial_dependence(booster, X, [0], grid_resolution=5).average, expected.average)
    frozen = FrozenEstimator(model_of("forest"))
    assert_allclose(
        partial_dependence(frozen, X, [0]).average, partial_dependence(model_of("forest"), X, [0]).average
    )
    # Lists, columns of integers and sparse matrices.
    model = model_of("hist, binary")
    by_list = partial_dependence(model, X.tolist(), [1], grid_resolution=5)
    assert_allclose(by_list.average, partial_dependence(model, X, [1], grid_resolution=5).average)
    whole = pd.DataFrame(X, columns=list("abcd")).astype({"d": int})
    whole_model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(whole, BINARY)
    between = partial_dependence(whole_model, whole, ["d"], custom_values={"d": [0, 0.7, 2]}).average
    floats = whole.astype(float)
    assert_allclose(
        between, partial_dependence(whole_model, floats, ["d"], custom_values={"d": [0, 0.7, 2]}).average
    )
    forest, sparse = model_of("forest"), sp.csr_matrix(X)
    expected = partial_dependence(forest, X, [0], grid_resolution=5)
    assert_allclose(partial_dependence(forest, sparse, [0], grid_resolution=5).average, expected.average)


def test_three_features_and_one_that_is_not_used(model_of):
    check(model_of("hist, binary"), X, [0, 1, 3], grid_resolution=4, kind="both")
    rows = np.column_stack([X, RNG.normal(size=80)])
    model = HistGradientBoostingClassifier(max_iter=1, max_depth=1, min_samples_leaf=5).fit(rows, BINARY)
    for kind in ("average", "both"):
        check(model, rows, [4], grid_resolution=4, kind=kind)
        check(model, rows, [0, 4], grid_resolution=4, response_method="decision_function", kind=kind)


def test_a_sum_of_probabilities_is_no_decision_function():
    forest = RandomForestClassifier(3, max_depth=2).fit(X, BINARY)
    for model in (
        forest,
        make_pipeline(StandardScaler(), forest).fit(X, BINARY),
        GlexDecomposer(forest).fit(X),
    ):
        with pytest.raises(ValueError, match="RandomForestClassifier has no decision_function"):
            partial_dependence(model, X, [0], response_method="decision_function")


def test_margin_of_boosted_classifiers_without_a_decision_function(model_of):
    model = model_of("xgboost, binary")
    found = partial_dependence(model, X, [0], response_method="decision_function", grid_resolution=5)
    grid = np.zeros((5, 4))
    grid[:, 0] = found.grid_values[0]
    decomposer = GlexDecomposer(model).fit(X)
    assert_allclose(found.average[0], decomposer.partial_dependence("x0", grid), atol=1e-12)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "recursion"}, r"weighting='path_dependent'\)"),
        ({"method": "fast"}, "method must be one of"),
        ({"kind": "all"}, "kind must be one of"),
        ({"response_method": "predict"}, "response_method must be one of"),
        ({"response_method": "predict_proba"}, "must be 'auto'"),
        ({"features": [-1]}, r"all features must be in \[0, 3\]"),
        ({"features": [4]}, r"all features must be in \[0, 3\]"),
        ({"features": ["height"]}, "no column of X"),
        ({"features": []}, "at least one column"),
        ({"features": [True, False]}, "mask of length 2"),
        ({"percentiles": (0.5, 0.1)}, "two increasing numbers"),
        ({"percentiles": 0.5}, "sequence of 2 elements"),
        ({"percentiles": (0.5, 0.5 + 1e-12), "grid_resolution": 5}, "further apart"),
        ({"grid_resolution": 1}, "greater than 1"),
        ({"categorical_features": []}, "categorical_features is empty"),
        ({"categorical_features": [0.5]}, "dtype float64"),
        ({"categorical_features": [True]}, "mask of 1 elements"),
        ({"categorical_features": ["height"]}, "no column of X"),
        ({"feature_names": ["a"]}, "one name for each of the 4 columns"),
        ({"custom_values": {0: [[1.0]]}}, "one dimension"),
        ({"sample_weight": np.zeros(80)}, "zero"),
    ],
)
def test_bad_input(model_of, params, message):
    with pytest.raises(ValueError, match=message):
        partial_dependence(model_of("forest"), X, **{"features": [0], **params})


def test_bad_models():
    with pytest.raises(ValueError, match="not fitted"):
        partial_dependence(RandomForestRegressor(), X, [0])
    with pytest.raises(TypeError, match="cannot read a LinearRegression"):
        partial_dependence(LinearRegression().fit(X, Y), X, [0])
    with pytest.raises(ValueError, match="must be a fitted regressor or classifier"):
        partial_dependence(IsolationForest(n_estimators=3).fit(X), X, [0])


@pytest.mark.parametrize("name", ["calibrated", "stacked", "of a logarithm"])
def test_combined_models(name):
    """They have no margin of their own, but a response."""
    steps = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5))
    model, y = {
        "calibrated": (CalibratedClassifierCV(steps, cv=2), BINARY),
        "stacked": (StackingClassifier([("a", steps), ("b", RandomForestClassifier(3))], cv=2), CLASSES),
        "of a logarithm": (
            TransformedTargetRegressor(RandomForestRegressor(3), func=np.log, inverse_func=np.exp),
            Y + 9,
        ),
    }[name]
    model.fit(X, y)
    check(
        model, X, [0, 2], decomposer=GlexDecomposer(model).fit(X), grid_resolution=4, kind="both", atol=1e-10
    )
    if name == "calibrated":
        decomposer = GlexDecomposer(model).fit(X)
        with pytest.raises(ValueError, match=r"no single margin.*response_method='predict_proba'"):
            partial_dependence(model, X, [0], response_method="decision_function")
        for compute in (lambda d: ale(d, 0, X), h_statistic):
            with pytest.raises(ValueError, match=r"no single margin.*scale='response'"):
                compute(decomposer)
        assert len(h_statistic(decomposer, scale="response", grid_resolution=3)) == 6


def test_categories_with_missing_values():
    """scikit-learn refuses them, because it cannot sort strings and missing values."""
    rows = frame()
    rows.loc[:9, "kind"] = np.nan
    model = XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1).fit(rows, BINARY == "yes")
    found = partial_dependence(model, rows, ["kind"], categorical_features=["kind"])
    assert list(found.grid_values[0]) == ["a", "b", "c"]
    for value, average in zip("abc", found.average[0], strict=True):
        moved = rows.assign(kind=pd.Categorical([value] * 80, categories=rows["kind"].cat.categories))
        assert_allclose(average, model.predict_proba(moved)[:, 1].mean(), atol=1e-6)
    rows = pd.DataFrame({"a": np.array(["x", 1] * 40, dtype=object), "b": X[:, 1]})
    model = make_pipeline(
        make_column_transformer(("drop", ["a"]), remainder="passthrough"), RandomForestRegressor(3)
    )
    with pytest.raises(ValueError, match="column 0 of X mixes types"):
        partial_dependence(model.fit(rows, Y), rows, ["a"])
