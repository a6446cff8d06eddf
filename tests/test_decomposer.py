"""Compare GlexDecomposer with independent oracles, and its algorithms with each other."""

from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex._utils import DEFAULT_EXECUTION, budgets
from tests.support.data import WEIGHTINGS
from tests.support.oracles import (
    brute_force_game,
    game_components,
    model_margin,
    path_dependent_game,
)
from tests.support.small_models import FLOAT32, MODEL, X, newer_xgboost

ORACLE = Path(__file__).parent / "data" / "oracle"


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("max_interaction", [1, 2, 3, None])
def test_components_brute_force(weighting, max_interaction):
    rows, background = X[:40], X[100:160]
    dec = GlexDecomposer(MODEL, weighting=weighting, max_interaction=max_interaction).fit(background)
    if weighting == "empirical":
        game = brute_force_game(lambda Z: model_margin(MODEL, Z), rows, background)
    else:
        game = path_dependent_game(MODEL, rows, MODEL.intercept_)
    expected = game_components(game)
    out = dec.transform(rows)
    assert np.allclose(dec.intercept_, expected[()], atol=FLOAT32)
    order = max_interaction or 4
    for s, m in expected.items():
        name = ":".join(f"x{j}" for j in s)
        if 0 < len(s) <= order:
            at = list(dec.get_feature_names_out()).index(name)
            assert np.allclose(out[:, at], m[:, 0], atol=FLOAT32), name
    rest = sum(m[:, 0] for s, m in expected.items() if len(s) > order)
    if max_interaction is not None:
        assert dec.get_feature_names_out()[-1] == "remainder"
        assert np.allclose(out[:, -1], rest, atol=4 * FLOAT32)
    # The model sums in float32, the package in float64.
    assert np.allclose(
        dec.intercept_ + out.sum(axis=1), MODEL.predict(rows, output_margin=True), atol=FLOAT32
    )


@newer_xgboost
@pytest.mark.parametrize("kind", ["reg", "bin"])
@pytest.mark.parametrize(
    ("tag", "params"),
    [
        ("", {}),
        ("_background300", {}),
        ("_maxint2", {"max_interaction": 2}),
        ("_features_x2_zeta", {"features": ["x2", "zeta"]}),
    ],
)
def test_r_glex(kind, tag, params):
    booster = xgb.Booster(model_file=ORACLE / f"xgb_{kind}.json")
    rows = pd.read_csv(ORACLE / "xgb_X_explain50.csv")
    train = pd.read_csv(ORACLE / "xgb_X_train.csv")
    expected = pd.read_csv(ORACLE / f"xgb_{kind}_fastpd{tag}_components.csv")
    dec = GlexDecomposer(booster, **{"remainder": False, "max_interaction": None, **params}).set_output(
        transform="pandas"
    )
    out = dec.fit(train if "300" in tag else rows).transform(rows)
    # The R package sums float32 leaf values in float64, too.
    assert np.allclose(dec.intercept_, expected["intercept"], atol=1e-7)
    names = [c for c in expected.columns if not c.startswith("intercept")]
    by_set = {frozenset(name.split(":")): out[name] for name in out.columns}
    assert set(by_set) <= {frozenset(name.split(":")) for name in names}
    for name in names:
        ours = by_set.get(frozenset(name.split(":")), 0.0)
        assert np.allclose(ours, expected[name], atol=1e-12), name


def test_r_glex_shap():
    booster = xgb.Booster(model_file=ORACLE / "xgb_reg.json")
    rows = pd.read_csv(ORACLE / "xgb_X_explain50.csv")
    expected = pd.read_csv(ORACLE / "xgb_reg_fastpd_shap.csv")
    dec = GlexDecomposer(booster).fit(rows)
    assert np.allclose(dec.shap_values(rows), expected[list(rows.columns)], atol=1e-12)


@pytest.mark.parametrize("many_rows", [0, 10**9])
def test_tables_and_streaming_agree(monkeypatch, many_rows):
    """Look-ups in tables equal sums over leaves, in groups or one by one."""
    monkeypatch.setattr(budgets, "pattern_table_rows", many_rows)
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    assert dec._decomposition.listed.layout(DEFAULT_EXECUTION).tabulated.all()
    monkeypatch.setattr(budgets, "table_cells", 60)
    streamed = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    assert (
        0
        < streamed._decomposition.listed.layout(DEFAULT_EXECUTION).tabulated.sum()
        < len(streamed.components_)
    )
    assert np.allclose(dec.transform(X), streamed.transform(X), atol=1e-12)
    pair, same = dec["x0", "x1"], streamed["x0", "x1"]
    assert not streamed._decomposition.listed.layout(DEFAULT_EXECUTION).tabulated[
        list(streamed.get_feature_names_out()).index("x0:x1")
    ]
    assert np.allclose(pair.evaluate(X), same.evaluate(X), atol=1e-12)
    assert np.allclose(pair.values, same.values, atol=1e-12)


def test_streaming_of_deep_trees(monkeypatch):
    """Leaves of the same eight features are added by lines, by subsets, or one by one."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 8))
    target = rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2]) * rows[:, 3:].sum(axis=1)
    model = HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=200, min_samples_leaf=2)
    model.fit(rows, target)
    dec = GlexDecomposer(model, max_interaction=None).fit(rows[:300])
    n_leaves = np.bincount(dec._decomposition.players.n_players)
    assert (n_leaves[[5, 7, 8]] > 20).all()
    monkeypatch.setattr(budgets, "table_cells", 0)
    by_lines = dec.transform(rows)
    by_row = np.concatenate([dec.transform(rows[i : i + 100]) for i in range(0, 300, 100)])
    # Sums over some hundred leaves in another order.
    assert np.allclose(by_lines[:300], by_row, rtol=0, atol=1e-12)
    assert np.allclose(dec.intercept_ + by_lines.sum(axis=1), model.predict(rows), rtol=0, atol=1e-12)


def test_table_budget(monkeypatch):
    """Small chunks of leaves and of rows give the same numbers."""
    many = np.tile(X, (12, 1))
    dec = GlexDecomposer(MODEL, max_interaction=3).fit(X)
    expected = dec.transform(many), dec.shap_values(many), dec.shap_interaction_values(many)
    importances = dec.component_importances_, dec.feature_importances_
    monkeypatch.setattr(budgets, "pattern_table_size", 1 << 9)
    monkeypatch.setattr(budgets, "bin_bytes", 8 * 1500)
    monkeypatch.setattr(budgets, "buffer_size", 1 << 10)
    dec = GlexDecomposer(MODEL, max_interaction=3).fit(X)
    for ours, whole in zip(
        (dec.transform(many), dec.shap_values(many), dec.shap_interaction_values(many)), expected
    ):
        assert np.allclose(ours, whole, atol=1e-12)
    assert np.allclose(dec.transform(pd.DataFrame(many)), expected[0], atol=1e-12)
    assert np.allclose(dec.component_importances_, importances[0], atol=1e-12)
    assert np.allclose(dec.feature_importances_, importances[1], atol=1e-12)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_n_jobs_to_the_bit(weighting):
    one = GlexDecomposer(MODEL, weighting=weighting, max_interaction=2, n_jobs=1).fit(X)
    two = GlexDecomposer(MODEL, weighting=weighting, max_interaction=2, n_jobs=2).fit(X)
    many = np.tile(X, (40, 1))
    assert np.array_equal(one.transform(many), two.transform(many))
    assert np.array_equal(one.shap_values(many), two.shap_values(many))
    assert np.array_equal(one.shap_interaction_values(X), two.shap_interaction_values(X))
    assert np.array_equal(one.transform(X), one.transform(many)[:300])
    with joblib.parallel_config(n_jobs=2):
        assert np.array_equal(one.shap_values(many), two.set_params(n_jobs=None).shap_values(many))


@pytest.mark.parametrize("kind", [GlexDecomposer, partial(FeatureRemover, features=[0])])
def test_weights_that_weigh_nothing_or_less_are_refused(kind):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        kind(MODEL).fit(X, sample_weight=np.where(np.arange(300) == 7, -1.0, 1.0))
    with pytest.raises(ValueError, match=r"at least one non-zero number|is zero for every row"):
        kind(MODEL).fit(X, sample_weight=np.zeros(300))


def test_n_background():
    dec = GlexDecomposer(MODEL, n_background=50, random_state=3).fit(X)
    assert len(dec.background_.rows) == 50
    same = GlexDecomposer(MODEL).fit(X[dec.background_.rows])
    assert np.array_equal(dec.transform(X), same.transform(X))


def test_misread_model_raises(monkeypatch):
    from skglex._readers import _xgboost

    read = _xgboost.from_treelite

    def wrong(model, **params):
        ensemble = read(model, **params)
        ensemble.value[3] += 0.01
        return ensemble

    monkeypatch.setattr(_xgboost, "from_treelite", wrong)
    with pytest.raises(RuntimeError, match=r"not read exactly: on row \d+ .* off by 0.01"):
        GlexDecomposer(MODEL).fit(X)
    GlexDecomposer(MODEL, check_additivity=False).fit(X)


def test_memory_is_refused(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 1 << 6)
    with pytest.raises(MemoryError, match="GiB"):
        GlexDecomposer(MODEL, max_interaction=None).fit(X).shap_interaction_values(X)


def test_too_many_subsets_of_a_leaf_are_refused(monkeypatch):
    monkeypatch.setattr(budgets, "subsets_per_leaf", 10)
    with pytest.raises(ValueError, match="has 16 subsets of at most 4 features, more than the 10"):
        GlexDecomposer(MODEL, max_interaction=None).fit(X).transform(X)
    GlexDecomposer(MODEL, max_interaction=1).fit(X).transform(X)


def test_shap_values_after_components_of_a_low_order(monkeypatch):
    """The weights kept for components lack subsets of deep leaves, which SHAP values need."""
    rows = np.random.default_rng(0).normal(size=(300, 10))
    params = {"n_estimators": 4, "max_leaves": 24, "max_depth": 0, "grow_policy": "lossguide"}
    model = xgb.XGBRegressor(**params).fit(rows, rows[:, 0] * rows[:, 1] + rows.sum(axis=1))
    decomposer = GlexDecomposer(model, max_interaction=1).fit(rows[:50])
    assert 0 < decomposer._decomposition.weights.ranked.mean() < 1
    components = decomposer.transform(rows)
    expected = GlexDecomposer(model).fit(rows[:50]).shap_values(rows)
    assert np.array_equal(decomposer.shap_values(rows), expected)
    # The background has several blocks now.
    background = rows[np.arange(600) % 50]
    monkeypatch.setattr(budgets, "bit_set_bytes", 1)
    blocks = GlexDecomposer(model, max_interaction=1).fit(background)
    assert np.allclose(blocks.transform(rows), components, rtol=0, atol=1e-12)


def test_importances_are_means_over_tables_and_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(700, 4)), rng.integers(0, 3, size=700)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = xgb.XGBClassifier(n_estimators=8, max_depth=4).fit(X, rng.integers(0, 3, size=700))
    expected, found = None, []
    for max_cells in [1 << 21, 300, 0]:  # All, some, or none of the components have a table.
        monkeypatch.setattr(budgets, "table_cells", max_cells)
        monkeypatch.setattr(budgets, "total_table_cells", max_cells)
        for n_jobs in [1, 2]:
            dec = GlexDecomposer(model, n_jobs=n_jobs, max_interaction=None).fit(X, sample_weight=weight)
            found.append([c.name for c in dec.strongest_components(3)])
            if expected is None:
                rows = np.abs(dec.transform(X)).reshape(len(X), 3, -1)
                expected = np.average(rows, axis=0, weights=weight).T
            assert np.allclose(dec.component_importances_, expected, atol=1e-12)
            if n_jobs == 1:
                alone = dec.component_importances_
        np.testing.assert_array_equal(dec.component_importances_, alone)
    assert all(names == found[0] for names in found)
    by_total = np.argsort(-expected.sum(axis=1), kind="stable")[:3]
    assert found[0] == [dec.components_[int(i)].name for i in by_total]
