"""Raise on wrong sums; warn of numbers that mean little."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from xgboost import XGBRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex._leaves._additivity import rounding_of
from skglex._readers import _registry
from skglex._utils import budgets
from skglex.exceptions import (
    AdditivityError,
    SmallBackgroundWarning,
    StreamedComponentsWarning,
    ZeroCoverWarning,
)
from tests.support.hand_built import hand_built


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=300)


@pytest.fixture
def misread(data, monkeypatch):
    """Return a model whose leaves send missing values the wrong way once they are read."""
    X, y = data
    with_missing = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(with_missing, y)

    def read(model):
        right = original(model)
        trees = right.ensemble.trees._replace(missing_left=1 - right.ensemble.trees.missing_left)
        conditions = right.ensemble.conditions
        end = (right.ensemble.grid.n_bins - 1)[conditions.feature]
        none = np.iinfo(conditions.missing.dtype).max
        missing = np.where(conditions.missing == none, end, none).astype(conditions.missing.dtype)
        ensemble = replace(right.ensemble, trees=trees, conditions=conditions._replace(missing=missing))
        return replace(right, ensemble=ensemble)

    original = _registry.find_reader(model)
    monkeypatch.setattr("skglex._readers._registry.find_reader", lambda model: read)
    return model


@pytest.mark.parametrize(
    "params",
    [{}, {"max_interaction": 1}, {"max_interaction": 1, "remainder": False}, {"dtype": np.float32}],
)
def test_a_sum_that_misses_the_margin_raises(data, misread, params):
    X = data[0]
    decomposer = GlexDecomposer(misread, **params).fit(X)
    decomposer.transform(X)  # No value is missing here.
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.3, np.nan, X)
    with pytest.raises(AdditivityError, match=r"on row \d+ its margin is .* transform stops here"):
        decomposer.transform(holes)
    assert decomposer.set_params(check_additivity=False).transform(holes).shape[0] == len(X)
    with pytest.raises(AdditivityError, match=r"the leaves add up to .* fit stops here"):
        GlexDecomposer(misread, **params).fit(holes)


def test_the_proof_sums_the_leaves_not_the_trees(data, monkeypatch):
    """The check sums the leaves, since components come from them and not from the trees."""
    X, y = data
    model = XGBRegressor(n_estimators=5, max_depth=10).fit(
        X, y
    )  # Margins may come from walks through such deep trees.
    original = _registry.find_reader(model)

    def read(model):
        right = original(model)
        conditions = right.ensemble.conditions
        wider = conditions._replace(lo=np.zeros_like(conditions.lo))
        return replace(right, ensemble=replace(right.ensemble, conditions=wider))

    GlexDecomposer(model).fit(X)
    monkeypatch.setattr("skglex._readers._registry.find_reader", lambda model: read)
    with pytest.raises(AdditivityError, match=r"the leaves add up to .* fit stops here"):
        GlexDecomposer(model).fit(X)


@pytest.mark.parametrize(
    ("n", "weight", "order", "few"),
    [(3, None, 2, True), (4, None, 2, False), (15, None, None, True), (16, None, None, False)]
    + [(300, [1e300] + [0.0] * 299, 1, True), (300, [1e-300] * 300, None, False)],
)
def test_small_backgrounds(data, n, weight, order, few):
    X, y = data
    model = XGBRegressor(n_estimators=20, max_depth=4).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmallBackgroundWarning)
        decomposer = GlexDecomposer(model, max_interaction=order)
        if few:
            with pytest.raises(SmallBackgroundWarning, match=r"counts as \S+ rows .* of order"):
                decomposer.fit(X[:n], sample_weight=weight)
        else:
            decomposer.fit(X[:n], sample_weight=weight)
        # Path-dependent weights do not depend on the background.
        GlexDecomposer(model, weighting="path_dependent").fit(X[:1])


def test_streamed_components(data, monkeypatch):
    X, y = data
    decomposer = GlexDecomposer(XGBRegressor(n_estimators=20, max_depth=4).fit(X, y), max_interaction=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamedComponentsWarning)
        decomposer.fit(X).transform(X)
    monkeypatch.setattr(budgets, "table_cells", 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamedComponentsWarning)
        decomposer.fit(X).shap_values(X)  # SHAP values need no table.
    with pytest.warns(StreamedComponentsWarning, match=r"\d+ of 15 components"):
        decomposer.transform(X)


def test_nodes_without_cover(monkeypatch):
    monkeypatch.setitem(_registry._READERS, "tests.support.hand_built", "tests.support.hand_built")
    model = hand_built(np.random.default_rng(0), d=2, n_trees=2, max_depth=3, extreme=False)
    model.nodes.cover[:] = 0
    X = np.random.default_rng(0).normal(size=(20, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroCoverWarning)
        GlexDecomposer(model).fit(X)  # Empirical weights need no cover.
        with pytest.raises(ZeroCoverWarning, match="cover 0"):
            GlexDecomposer(model, weighting="path_dependent").fit(X)


def test_only_rows_that_the_model_refuses_go_unchecked(data):
    X, y = data
    decomposer = GlexDecomposer(XGBRegressor(n_estimators=5).fit(X, y)).fit(X)
    read, expected = decomposer._fitted.source, decomposer.transform(X)

    def fail(error):
        def margin(X):
            raise error

        decomposer._fitted = replace(decomposer._fitted, source=replace(read, margin=margin))

    for refused in (ValueError("feature names"), TypeError("sparse data")):
        fail(refused)
        assert np.array_equal(decomposer.transform(X), expected)
    fail(RuntimeError("of the library"))
    with pytest.raises(RuntimeError, match="of the library"):
        decomposer.transform(X)


def test_the_rounding_allowed_is_that_of_a_sum_in_float32(data):
    model = XGBRegressor(n_estimators=3, max_depth=2).fit(*data)
    ensemble = _registry.find_reader(model)(model).ensemble
    sizes = [np.abs(part).max() for part in np.split(ensemble.value[:, 0], ensemble.tree_ptr[1:-1])]
    expected = 2.0**-24 * (8 + 3) * (np.abs(ensemble.base) + sum(sizes))
    np.testing.assert_allclose(
        rounding_of(_registry.find_reader(model)(model).ensemble), expected, rtol=1e-12
    )


def test_a_model_changed_since_fit_is_told(data):
    X, y = data
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(X, y)
    decomposer, remover = GlexDecomposer(model).fit(X), FeatureRemover(model, [0]).fit(X)
    model.fit(X, 100 * X[:, 1])
    with pytest.raises(AdditivityError, match="If the model was trained further"):
        decomposer.transform(X)
    with pytest.raises(ValueError, match="If the model was trained further"):
        remover.to_xgboost()
