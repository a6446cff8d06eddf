"""Components of the response beside brute force over the model's own probabilities."""

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skglex import GlexDecomposer
from skglex._decomposition import ResponseScale
from skglex._mixed_rows import FewPlayers
from skglex._utils import budgets
from skglex.exceptions import SlowComputationWarning
from skglex.export import load_components, save_components
from skglex.inspection import response_components
from tests.support.oracles import brute_force_game, game_components

RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 4)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
SCORE = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3].clip(-1, 1))
WEIGHT = RNG.random(80)
ROWS = X[:7]
BINARY = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5).fit(X, SCORE > 0.2)
THREE = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, np.digitize(SCORE, [0, 1]))
COUNTS = HistGradientBoostingRegressor(loss="poisson", max_iter=10, min_samples_leaf=5).fit(X, np.exp(SCORE))
# Float64 sums of the same leaves in another order.
ATOL = 1e-12


def components_of(model, response, **params):
    decomposer = GlexDecomposer(model, max_interaction=1, **params).fit(X, sample_weight=WEIGHT)
    return decomposer, game_components(brute_force_game(response, ROWS, X, WEIGHT))


@pytest.mark.parametrize("order", [1, 2, 3, None])
def test_components_of_probabilities(order):
    decomposer, expected = components_of(BINARY, lambda Z: BINARY.predict_proba(Z)[:, 1])
    table = response_components(decomposer, ROWS, order)
    sets = [s for s in expected if len(s) <= (order or 4)]
    names = ["intercept", *(":".join(f"x{j}" for j in s) for s in sets[1:])]
    assert list(table) == names + ["remainder"] * (order is not None)
    for name, s in zip(names, sets):
        assert_allclose(table[name], expected[s][:, 0], rtol=0, atol=ATOL, err_msg=name)
    assert_allclose(table.sum(axis=1), BINARY.predict_proba(ROWS)[:, 1], rtol=0, atol=ATOL)


def test_several_classes_and_counts():
    decomposer, expected = components_of(THREE, THREE.predict_proba)
    table = response_components(decomposer, ROWS, 1)
    assert list(table)[:3] == ["0__intercept", "0__x0", "0__x1"]
    for label in range(3):
        assert_allclose(table[f"{label}__x2"], expected[(2,)][:, label], rtol=0, atol=ATOL)
    decomposer, expected = components_of(COUNTS, COUNTS.predict)
    table = response_components(decomposer, ROWS)
    assert_allclose(table["x0:x1"], expected[(0, 1)][:, 0], rtol=0, atol=1e-11)


def test_groups_are_features_and_the_others_may_be_left_out():
    groups = {"both": ["x0", "x1"]}
    decomposer, expected = components_of(
        BINARY, lambda Z: BINARY.predict_proba(Z)[:, 1], feature_groups=groups
    )
    table = response_components(decomposer, ROWS)
    whole = expected[(0,)] + expected[(1,)] + expected[(0, 1)]
    assert_allclose(table["both"], whole[:, 0], rtol=0, atol=ATOL)
    some = GlexDecomposer(BINARY, features=["x0", "x2"]).fit(X, sample_weight=WEIGHT)
    table = response_components(some, ROWS)
    assert list(table) == ["intercept", "x0", "x2", "x0:x2", "remainder"]
    assert_allclose(table.sum(axis=1), BINARY.predict_proba(ROWS)[:, 1], rtol=0, atol=ATOL)


def test_shares_of_a_game_are_of_the_features_that_the_model_uses(monkeypatch):
    wide = np.hstack([X, RNG.normal(size=(80, 13))])
    model = xgb.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(wide, SCORE > 0.2)
    decomposer = GlexDecomposer(model).fit(wide)
    phi = decomposer.shap_values(wide[:5], scale="response")
    assert phi.shape == (5, 17)
    mean = decomposer.partial_dependence([], wide[:5], scale="response")
    assert_allclose(phi.sum(axis=1) + mean, model.predict_proba(wide[:5])[:, 1], rtol=0, atol=1e-6)
    monkeypatch.setattr(budgets, "coalition_players", 2)
    for method in (decomposer.shap_values, decomposer.shap_interaction_values):
        with pytest.raises(
            ValueError,
            match=r"all 2\*\*\d coalitions of the \d .* at most 2 .*scale='margin'",
        ):
            method(wide[:5], scale="response")
    with pytest.raises(ValueError, match="components of all orders on the response scale need"):
        response_components(decomposer, wide[:5], None)


def test_bad_input(tmp_path):
    by_covers = xgb.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, SCORE > 0.2)
    decomposer = GlexDecomposer(by_covers, weighting="path_dependent").fit(X)
    for call in (
        lambda: response_components(decomposer, ROWS),
        lambda: decomposer.shap_values(ROWS, scale="response"),
        lambda: decomposer.shap_interaction_values(ROWS, scale="response"),
        lambda: decomposer.partial_dependence("x0", ROWS, scale="response"),
    ):
        with pytest.raises(ValueError, match="weighting='path_dependent' does not have"):
            call()
    with pytest.raises(ValueError, match=r"scale must be 'margin' .* or 'response' .*; got 'odds'"):
        decomposer.shap_values(ROWS, scale="odds")
    with pytest.raises(ValueError, match="order must be an integer of at least 1; got 0"):
        response_components(GlexDecomposer(by_covers).fit(X), ROWS, 0)
    save_components(decomposer, tmp_path / "components.zip")
    with pytest.raises(ValueError, match="stored components have no"):
        response_components(load_components(tmp_path / "components.zip"), ROWS)


def test_costs_are_said_before_work_begins(monkeypatch):
    monkeypatch.setattr("skglex._mixed_rows._costs._LONG", 1e-9)
    decomposer = GlexDecomposer(BINARY).fit(X)
    with pytest.warns(SlowComputationWarning, match="mix 5.6e.02 pairs of rows, which takes about"):
        decomposer.shap_values(ROWS, scale="response")
    with pytest.warns(SlowComputationWarning, match="mixed rows, which takes about"):
        response_components(decomposer, ROWS)


def test_walks_and_grids_agree(monkeypatch):
    """A few rows of a deep model walk down the trees; one feature of many rows has few values."""
    deep = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=2).fit(X, SCORE > 0.2)
    scale = GlexDecomposer(deep).fit(X)._explained.response_scale
    bins, sets = scale._background.bins, [(), *scale.sets_up_to(2)]
    with monkeypatch.context() as patch:
        patch.setattr(ResponseScale, "grids", None)
        by_walks = scale.means(sets, bins[:, :5].copy())
    with monkeypatch.context() as patch:
        patch.setattr("skglex._decomposition._response_scale.few_players", lambda *args: None)
        by_grids = scale.means(sets, bins[:, :5].copy())
    assert_allclose(by_walks, by_grids, rtol=0, atol=1e-12)  # Sums of some hundred margins.
    monkeypatch.setattr(FewPlayers, "responses", None)
    many = np.tile(np.minimum(bins, 3), 100)
    assert scale.means([(0,)], many).shape == (1, 1, many.shape[1])
