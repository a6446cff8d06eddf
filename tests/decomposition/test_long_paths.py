"""Forests grown to purity: walked where rows are summed, weights of low orders alone, leaves too wide for a table."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import shap
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import partial_dependence
from sklearn.tree import DecisionTreeRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex._input import bin_all
from skglex._leaves import LeafSum
from skglex._utils import budgets
from skglex.datasets import load_bike_sharing
from skglex.inspection import interaction_strength
from tests.support.hand_built import hand_built, scale_of, to_treelite
from tests.support.oracles import check_game, subsets, total

WEIGHTINGS = ["empirical", "path_dependent"]
# All sums, the forest's too, are in float64, of values up to about 1,000 from some 10,000 leaves.
EXACT = {"rtol": 0, "atol": 1e-8}


@pytest.fixture(scope="module")
def bike():
    X, y = load_bike_sharing(return_X_y=True, as_frame=False)
    rows = np.random.default_rng(0).choice(len(X), 2000, replace=False)
    return X[rows], y[rows]


@pytest.fixture(scope="module")
def forest(bike):
    return RandomForestRegressor(4, random_state=0).fit(*bike)


@pytest.fixture(scope="module")
def wide_forest():
    """Leaves with up to 30 features on their path, few of them with few enough for a table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    return X, RandomForestRegressor(3, max_features=2, random_state=0).fit(X, rng.normal(size=400))


def mean_prediction(model, X, background, fixed):
    """The mean over the background of the predictions with the columns ``fixed`` set to a row's."""
    mixed = np.repeat(background[None], len(X), axis=0)
    mixed[:, :, fixed] = X[:, None, fixed]
    return model.predict(mixed.reshape(-1, X.shape[1])).reshape(len(X), -1).mean(axis=1)


def test_a_forest_is_deep(forest):
    decomposer = GlexDecomposer(forest, max_interaction=2).fit(np.zeros((1, 13)))
    assert max(tree.get_depth() for tree in forest.estimators_) > 17
    assert decomposer._decomposition.weights.ranked.mean() > 0.5


@pytest.mark.parametrize("order", [1, 2, 3])
def test_components_of_low_orders(bike, forest, order):
    X = bike[0]
    rows, background = X[:10], X[100:250]
    decomposer = GlexDecomposer(forest, max_interaction=order).fit(background)
    columns = dict(zip(decomposer.get_feature_names_out(), decomposer.transform(rows).T))
    for s in [(3,), (8,), (3, 6), (8, 10), (3, 6, 8), (1, 3, 8)]:
        if len(s) > order:
            continue
        expected = sum(
            (-1) ** (len(s) - size) * mean_prediction(forest, rows, background, list(v))
            for size in range(len(s) + 1)
            for v in combinations(s, size)
        )
        assert np.allclose(columns[":".join(f"x{j}" for j in s)], expected, **EXACT)
    total = decomposer.intercept_ + decomposer.transform(rows).sum(axis=1)
    assert np.allclose(total, forest.predict(rows), **EXACT)


def test_path_dependent_partial_dependence(bike, forest):
    X = bike[0]
    decomposer = GlexDecomposer(forest, weighting="path_dependent", max_interaction=2).fit(X)
    for features in ([3], [3, 8]):
        grid = [np.unique(X[:, j])[::20] for j in features]
        found = partial_dependence(
            forest, X, features, method="recursion", custom_values=dict(zip(features, grid))
        )
        points = np.zeros((found["average"].size, X.shape[1]))
        points[:, features] = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(features))
        assert np.allclose(decomposer.partial_dependence(features, points), found["average"].ravel(), **EXACT)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_shap_values(bike, forest, weighting):
    # shap misroutes what lies beside a threshold in float64 but on it in float32
    X = bike[0] + np.random.default_rng(0).normal(scale=1e-3, size=bike[0].shape)
    rows, background = X[:8], X[100:150]
    given = background if weighting == "empirical" else None
    kind = "interventional" if weighting == "empirical" else "tree_path_dependent"
    expected = shap.TreeExplainer(forest, given, feature_perturbation=kind).shap_values(rows)
    decomposer = GlexDecomposer(forest, weighting=weighting).fit(background)
    found = decomposer.shap_values(rows)
    # shap sums interventional values in float32
    close = EXACT if weighting == "path_dependent" else {"rtol": 0, "atol": 1e-6 * np.abs(expected).max()}
    assert np.allclose(found, expected, **close)
    # the same for rows enough to solve leaves in clusters
    assert np.allclose(decomposer.shap_values(np.tile(rows, (80, 1)))[-8:], found, **EXACT)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_shap_values_of_wide_leaves(wide_forest, weighting):
    X, forest = wide_forest
    rows, background = X[:6], X[100:150]
    given = background if weighting == "empirical" else None
    kind = "interventional" if weighting == "empirical" else "tree_path_dependent"
    explainer = shap.TreeExplainer(forest, given, feature_perturbation=kind)
    decomposer = GlexDecomposer(forest, weighting=weighting).fit(background)
    assert (decomposer._decomposition.players.n_players > 12).sum() > 50
    close = EXACT if weighting == "path_dependent" else {"rtol": 0, "atol": 1e-6}  # in float32
    found = decomposer.shap_values(rows)
    assert np.allclose(found, explainer.shap_values(rows), **close)
    # the same for rows enough to solve leaves by parts, or by sums over subsets
    assert np.allclose(decomposer.shap_values(np.tile(rows, (60, 1)))[-6:], found, **EXACT)
    if weighting == "path_dependent":  # shap's interventional interactions are zero
        pairs = decomposer.shap_interaction_values(rows)
        assert np.allclose(pairs, explainer.shap_interaction_values(rows), **EXACT)
        assert np.allclose(pairs.sum(axis=2), decomposer.shap_values(rows), **EXACT)


def test_at_most_64_features_on_a_path():
    """Each split of such a tree takes one row off, by a feature of its own."""
    X, y = np.eye(65)[:, :64], np.random.default_rng(0).normal(size=65)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    assert tree.get_depth() == 64
    decomposer = GlexDecomposer(tree, max_interaction=1).fit(X)
    names = list(decomposer.get_feature_names_out())
    columns, mean = decomposer.transform(X), y.mean()
    for j in (0, 31, 63):
        expected = mean_prediction(tree, X, X, [j]) - mean
        assert np.allclose(columns[:, names.index(f"x{j}")], expected, **EXACT)
        assert np.allclose(decomposer.partial_dependence([j], X), expected + mean, **EXACT)
    assert np.allclose(decomposer.shap_values(X).sum(axis=1), y - mean, **EXACT)


def path_dependent_shap_values(model, X):
    """Integrate the gradient of each leaf's multilinear extension along the diagonal, with more nodes than needed.

    A feature is met with probability t, and else follows the cover ratios (Owen, Multilinear extensions of games).
    """
    tree, (nodes, weights) = model.tree_, np.polynomial.legendre.leggauss(120)
    t, values = (nodes + 1)[:, None] / 2, np.zeros(X.shape)

    def descend(node, ratio, met):
        if tree.feature[node] < 0:
            factors = t[:, :, None] * met + (1 - t)[:, :, None] * ratio  # nodes x rows x features
            for i in np.flatnonzero(ratio != 1):
                rest = np.delete(factors, i, axis=2).prod(axis=2)
                values[:, i] += tree.value[node, 0, 0] * (met[:, i] - ratio[i]) * (weights @ rest) / 2
            return
        f, left = tree.feature[node], X[:, tree.feature[node]] <= tree.threshold[node]
        for child, goes in ((tree.children_left[node], left), (tree.children_right[node], ~left)):
            cover = tree.n_node_samples[child] / tree.n_node_samples[node]
            there = met.copy()
            there[:, f] *= goes
            descend(child, np.where(np.arange(X.shape[1]) == f, ratio * cover, ratio), there)

    descend(0, np.ones(X.shape[1]), np.ones(X.shape))
    return values


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_paths_of_more_features_than_a_mask_has_bits(weighting):
    """Single components, partial dependence, removal and walks along trees need no subsets of a path's features."""
    X, y = np.eye(101)[:, :100], np.random.default_rng(0).normal(size=101)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    decomposer = GlexDecomposer(tree, weighting=weighting).fit(X)
    main, other = (decomposer[name].evaluate(X) for name in ("x3", "x70"))
    both = decomposer["x70", "x3"].evaluate(X)
    parts = decomposer.intercept_ + main + other + both
    assert np.allclose(decomposer.partial_dependence(["x3", "x70"], X), parts, **EXACT)
    if weighting == "empirical":
        assert np.allclose(decomposer.intercept_ + main, mean_prediction(tree, X, X, [3]), **EXACT)
        assert np.allclose(parts, mean_prediction(tree, X, X, [3, 70]), **EXACT)
        masker = shap.maskers.Independent(X, max_samples=len(X))
        values = shap.TreeExplainer(tree, masker).shap_values(X[::20])
        assert np.allclose(decomposer.shap_values(X[::20]), values, rtol=0, atol=1e-6)  # shap sums in float32
    else:
        # shap's values of this tree are of the order 1e10: its polynomials are divided, which is not stable.
        assert np.allclose(
            decomposer.shap_values(X[::20]), path_dependent_shap_values(tree, X[::20]), **EXACT
        )
    for compute in (decomposer.transform, interaction_strength):
        with pytest.raises(
            ValueError, match=r"splits on 100 features along one path, and .* need at most 64"
        ):
            compute(decomposer if compute is interaction_strength else X)
    with pytest.raises(ValueError, match="need at most 64"):
        decomposer.strongest_components(3)


def test_too_many_comparisons_are_refused(wide_forest, monkeypatch):
    X, forest = wide_forest
    decomposer = GlexDecomposer(forest).fit(X)
    monkeypatch.setattr("skglex._leaves._empirical.MOST_PLAYERS", 12)
    n = int((decomposer._decomposition.players.n_players > 12).sum()) * 50 * 400
    monkeypatch.setattr(budgets, "comparisons", n - 1)
    with pytest.raises(ValueError, match=r"compare 50 rows with 400 background rows: .* comparisons"):
        decomposer.shap_values(X[:50])


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_threads_change_nothing(bike, forest, weighting):
    X = bike[0]
    found = []
    for n_jobs in (1, 2):
        decomposer = GlexDecomposer(forest, weighting=weighting, max_interaction=2, n_jobs=n_jobs).fit(
            X[:300]
        )
        remover = FeatureRemover(forest, [3], weighting=weighting, n_jobs=n_jobs).fit(X[:300])
        found.append([decomposer.transform(X), decomposer.shap_values(X[:100]), remover.predict(X)])
    for one, two in zip(*found):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_groups_of_features(wide_forest, weighting):
    """Leaves of the same groups, some with more conditions than a table may have."""
    X, forest = wide_forest
    groups = {"a": list(range(10)), "b": list(range(10, 20)), "c": list(range(20, 30))}
    rows, background = X[:10], X[100:160]
    params = {"weighting": weighting, "feature_groups": groups, "max_interaction": None}
    decomposer = GlexDecomposer(forest, **params).fit(background)
    assert np.allclose(total(decomposer, rows)[:, 0], forest.predict(rows), **EXACT)
    if weighting == "empirical":
        fixed = {s: [j for g in s for j in range(10 * g, 10 * g + 10)] for s in subsets(3)}
        game = {s: mean_prediction(forest, rows, background, f)[:, None] for s, f in fixed.items()}
        check_game(decomposer, rows, game, 1e-8)


def test_many_bins():
    """Conditions are numbered right where three of their bins' numbers multiplied no longer fit 32 bits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3))
    model = RandomForestRegressor(4, max_features=1, random_state=0).fit(X, rng.normal(size=len(X)))
    dec = GlexDecomposer(model, weighting="path_dependent", max_interaction=1, remainder=False)
    ensemble = dec.fit(X)._fitted.source.ensemble
    n_bins = ensemble.grid.n_bins
    assert np.prod(n_bins.astype(float)) > 2**31
    few = X[:50]
    by_leaf = LeafSum(replace(ensemble, trees=None))(bin_all(few, dec._fitted.source.input, ensemble.grid))
    assert np.allclose(by_leaf[0], model.predict(few), **EXACT)
    expected = shap.TreeExplainer(model).shap_values(few[:5])
    assert np.allclose(dec.shap_values(few[:5]), expected, **EXACT)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_contradictory_conditions(weighting):
    """A leaf that no row reaches has many players but few states, and as many coalitions as any other."""
    rng = np.random.default_rng(0)
    model = hand_built(rng, d=40, n_trees=3, max_depth=120, chain=True, extreme=False, kind="treelite")
    close = {"rtol": 0, "atol": 1e-12 * scale_of(model)}  # float64 sums of values of this size
    background, rows = rng.normal(size=(2000, 40)), rng.normal(size=(600, 40))
    decomposer = GlexDecomposer(to_treelite(model), weighting=weighting, max_interaction=1).fit(background)
    assert decomposer._decomposition.players.largest > 16
    columns, mean = decomposer.transform(rows[:5]), decomposer.intercept_
    for j, component in enumerate(decomposer.get_feature_names_out() if weighting == "empirical" else []):
        if component.startswith("x"):
            mixed = np.repeat(background[None], 5, axis=0)
            feature = int(component[1:])
            mixed[:, :, feature] = rows[:5, None, feature]
            expected = model.margin(mixed.reshape(-1, 40))[:, 0].reshape(5, -1).mean(axis=1) - mean
            assert np.allclose(columns[:, j], expected, **close)
    values = decomposer.shap_values(rows)
    assert np.allclose(values.sum(axis=1) + mean, model.margin(rows)[:, 0], **close)
    assert np.allclose(values[:3], decomposer.shap_values(rows[:3]), **close)
