"""Compare H-squared with its definition, computed by brute force as the R package hstats does."""

from itertools import combinations

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier

from skglex import GlexDecomposer
from skglex.inspection import h_statistic
from tests.support.oracles import model_margin

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
Z = np.nan_to_num(X)
Y = Z[:, 0] + Z[:, 1] * Z[:, 2] - 2 * Z[:, 1] * Z[:, 2] * Z[:, 3]
MODEL = xgb.XGBRegressor(n_estimators=8, max_depth=4, n_jobs=1).fit(X, Y)
CLASSES = xgb.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(X, np.digitize(Y, [-0.5, 0.5]))
WEIGHT = RNG.integers(0, 4, size=120).astype(float)
# The model's own predictions are float32 sums; their error in a ratio of sums of squares stays below this.
FLOAT32 = 1e-6


def partial_dependence(f, members, weight):
    """Return the centred partial dependence at all rows: shape (n_rows, n_outputs)."""
    mixed = np.repeat(X[None], len(X), axis=0)
    mixed[:, :, members] = X[:, None, members]
    values = f(mixed.reshape(-1, X.shape[1])).reshape(len(X), len(X), -1)
    means = np.average(values, axis=1, weights=weight)
    return means - np.average(means, axis=0, weights=weight)


def hstats(f, members, weight, normalize=True):
    """Return the statistic of a pair or triple, of a feature with all others, or of the empty set: the total."""
    pd = {
        s: partial_dependence(f, list(s), weight)
        for k in range(1, 4)
        for s in combinations(members or range(4), k)
        if k < 2 or members
    }
    full = partial_dependence(f, [0, 1, 2, 3], weight)
    if len(members) > 1:
        numerator = sum((-1) ** (len(members) - len(s)) * pd[s] for s in pd)
        denominator = pd[members]
    elif members:
        rest = partial_dependence(f, [k for k in range(4) if k not in members], weight)
        numerator, denominator = full - pd[members] - rest, full
    else:
        numerator, denominator = full - sum(pd.values()), full
    squares = [np.average(part**2, axis=0, weights=weight) for part in (numerator, denominator)]
    return squares[0] / squares[1] if normalize else squares[0]


def by_name(table, what="component"):
    return dict(zip(table[what], table.drop(columns=what).to_numpy()))


@pytest.fixture(scope="module")
def decomposer():
    return GlexDecomposer(MODEL).fit(X)


@pytest.fixture(scope="module")
def margin(decomposer):
    """Return a function of rows: the sum of the leaves in float64, which the reader's tests compare with the model."""
    source = decomposer._explained.fitted
    return lambda rows: decomposer._decomposition.margins(source.bins(rows, decomposer._execution)).T


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_equals_hstats(decomposer, margin, order, weight):
    fitted = GlexDecomposer(MODEL).fit(X, sample_weight=weight)
    for given in ({}, {"sample_weight": weight}):
        # Weights passed to `fit`, or instead of those of `fit`, mean the same.
        table = h_statistic(decomposer if given else fitted, order=order, **given)
        assert table["h2"].is_monotonic_decreasing
        assert len(table) == [4, 6, 4][order - 1]
        for name, value in by_name(table, "feature" if order == 1 else "component").items():
            members = tuple(int(part[1:]) for part in name.split(":"))
            assert_allclose(value, hstats(margin, members, weight), rtol=1e-8)
    (total,) = h_statistic(fitted, "total")["h2"]
    assert_allclose(total, hstats(margin, (), weight), rtol=1e-8)


def test_equals_hstats_of_the_models_own_predictions(decomposer):
    own = by_name(h_statistic(decomposer))
    for pair in combinations(range(4), 2):
        expected = hstats(lambda rows: model_margin(MODEL, rows), pair, None)
        assert_allclose(own["x{}:x{}".format(*pair)], expected, atol=FLOAT32)


def test_not_normalized(decomposer, margin):
    table = by_name(h_statistic(decomposer, normalize=False))
    assert_allclose(table["x1:x2"], hstats(margin, (1, 2), None, normalize=False), rtol=1e-8)
    component = decomposer["x1:x2"].evaluate(X)
    assert_allclose(table["x1:x2"], component.var(), rtol=1e-8)


def test_several_outputs():
    fitted = GlexDecomposer(CLASSES).fit(X)
    table = h_statistic(fitted)
    assert list(table.columns) == ["component", "0__h2", "1__h2", "2__h2"]
    assert table.filter(like="h2").sum(axis=1).is_monotonic_decreasing
    pair = table["component"][0]
    members = tuple(int(part[1:]) for part in pair.split(":"))
    expected = hstats(lambda rows: model_margin(CLASSES, rows), members, None)
    assert_allclose(by_name(table)[pair], expected, atol=FLOAT32)


def test_what_is_computed(decomposer):
    every = by_name(h_statistic(decomposer))
    assert set(by_name(h_statistic(decomposer, ["x0", 1, "x2"]))) == {"x0:x1", "x0:x2", "x1:x2"}
    some = by_name(h_statistic(decomposer, ["x2:x1", ("x0", "x3")]))
    assert some == {name: every[name] for name in ("x1:x2", "x0:x3")}
    assert by_name(h_statistic(decomposer, ["x1"], order=1), "feature").keys() == {"x1"}
    few = GlexDecomposer(MODEL, max_interaction=1, features=["x0"]).fit(X)
    assert_allclose(by_name(h_statistic(few, [("x1", "x2")]))["x1:x2"], every["x1:x2"], rtol=1e-9)


def test_features_without_effect_have_no_interaction():
    model = xgb.XGBRegressor(n_estimators=3, max_depth=1).fit(X[:, :3], Z[:, 0])
    fitted = GlexDecomposer(model).fit(X[:, :3])
    assert len(h_statistic(fitted)) == 0
    assert h_statistic(fitted, [("x0", "x1")])["h2"].tolist() == [0.0]
    # Without interactions the numerator is rounding, and so is a constant model's denominator.
    assert h_statistic(fitted, "total")["h2"].tolist() == [0.0]
    assert h_statistic(fitted, order=1)["h2"].tolist() == [0.0] * len(h_statistic(fitted, order=1))


def test_path_dependent_weights():
    fitted = GlexDecomposer(MODEL, weighting="path_dependent").fit(X)
    component, effects = fitted["x1:x2"].evaluate(X), [fitted[name].evaluate(X) for name in ("x1", "x2")]
    for weight in (None, WEIGHT):
        w = np.ones(len(X)) if weight is None else weight
        parts = [np.cov(part, aweights=w, ddof=0) for part in (component, component + sum(effects))]
        found = by_name(h_statistic(fitted, [("x1", "x2")], sample_weight=weight))["x1:x2"]
        assert_allclose(found, parts[0] / parts[1], rtol=1e-8)
    with pytest.raises(ValueError, match="this needs rows, but fit got none"):
        h_statistic(GlexDecomposer(MODEL, weighting="path_dependent").fit())


def test_groups_are_features():
    fitted = GlexDecomposer(MODEL, feature_groups={"both": [0, 2]}).fit(X)
    assert set(h_statistic(fitted, order=1)["feature"]) == {"both", "x1", "x3"}
    component = fitted["both", "x1"].evaluate(X)
    found = by_name(h_statistic(fitted, normalize=False))["both:x1"]
    assert_allclose(found, component.var(), rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: h_statistic(d, order=4), ValueError, "order must be 1, 2 or 3; got 4"),
        (lambda d: h_statistic(d, ["x0"]), ValueError, "at least 2 features"),
        (lambda d: h_statistic(d, ["x0:x1:x2", "x0"]), ValueError, "sets of 2 features each"),
        (lambda d: h_statistic(d, ["x7", "x0"]), KeyError, "there is no feature 'x7'"),
        (lambda d: h_statistic(d, sample_weight=np.zeros(120)), ValueError, "zero"),
        (lambda d: h_statistic(d, sample_weight=[1.0]), ValueError, r"\(1,\)"),
        (lambda d: h_statistic(MODEL), TypeError, "expected a GlexDecomposer"),
    ],
)
def test_bad_input(decomposer, call, error, message):
    with pytest.raises(error, match=message):
        call(decomposer)


PROBABILITY = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5).fit(X, Y > 0)


def probabilities(rows):
    return PROBABILITY.predict_proba(rows)[:, 1]


@pytest.fixture(scope="module")
def of_probability():
    return GlexDecomposer(PROBABILITY).fit(X)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_response_equals_hstats(of_probability, order, weight):
    every = {"scale": "response", "grid_resolution": None, "sample_weight": weight}
    table = h_statistic(of_probability, order=order, **every)
    assert len(table) == [4, 6, 4][order - 1]
    if order > 1:
        assert (table.pop("error") == 0).all()
    for name, value in by_name(table, "feature" if order == 1 else "component").items():
        members = tuple(int(part[1:]) for part in name.split(":"))
        assert_allclose(value, hstats(probabilities, members, weight), rtol=1e-8)
    (total,) = h_statistic(of_probability, "total", **every)["h2"]
    assert_allclose(total, hstats(probabilities, (), weight), rtol=1e-8)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("normalize", [True, False])
def test_error_of_the_grid(of_probability, order, normalize):
    params = {"order": order, "scale": "response", "normalize": normalize}
    exact = h_statistic(of_probability, grid_resolution=None, **params).set_index("component")["h2"]
    for resolution, most in ((5, 0.2), (10, 0.1)):
        table = h_statistic(of_probability, grid_resolution=resolution, **params).set_index("component")
        off = (table["h2"] - exact[table.index]).abs()
        assert off.max() > 0
        assert (off <= table["error"]).all()
        assert off.max() < most


def test_response_of_classes_and_of_groups():
    fitted = GlexDecomposer(CLASSES, feature_groups={"both": [0, 2]}).fit(X)
    table = h_statistic(fitted, scale="response")
    assert list(table.columns) == [
        "component",
        *(f"{c}__{what}" for what in ("h2", "error") for c in range(3)),
    ]
    assert set(table["component"]) == {"both:x1", "both:x3", "x1:x3"}
    f = CLASSES.predict_proba
    parts = {s: partial_dependence(f, s, None) for s in ((0, 1, 2), (0, 2), (1,))}
    numerator = np.mean((parts[0, 1, 2] - parts[0, 2] - parts[1,]) ** 2, axis=0)
    found = table.set_index("component").loc["both:x1", [f"{c}__h2" for c in range(3)]]
    exact = h_statistic(fitted, ["both", "x1"], scale="response", grid_resolution=None)
    expected = numerator / np.mean(parts[0, 1, 2] ** 2, axis=0)
    assert_allclose(exact.filter(like="h2").to_numpy()[0], expected, atol=FLOAT32)
    assert_allclose(found.astype(float), expected, atol=0.05)


def test_response_needs_a_background():
    fitted = GlexDecomposer(MODEL, weighting="path_dependent").fit(X)
    with pytest.raises(ValueError, match="weighting='path_dependent' does not have"):
        h_statistic(fitted, scale="response")
    with pytest.raises(ValueError, match=r"scale must be 'margin' .* or 'response' .*; got 'odds'"):
        h_statistic(fitted, scale="odds")
    with pytest.raises(ValueError, match="grid_resolution must be"):
        h_statistic(GlexDecomposer(MODEL).fit(X), scale="response", grid_resolution=1)
