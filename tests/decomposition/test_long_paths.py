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
from skglex.inspection import component_importance, contrast, interaction_strength
from tests.support.hand_built import hand_built, scale_of, to_treelite
from tests.support.oracles import check_game, subsets, total

WEIGHTINGS = ["empirical", "path_dependent"]
# Sums of 101 leaves with values of about 1.
CLOSE = {"rtol": 0, "atol": 1e-12}
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


N_WIDE = 100


@pytest.fixture(scope="module")
def chain():
    """Train a tree with one path of 100 features; rows and background rows leave it at up to a few of them."""
    rng = np.random.default_rng(0)
    X, y = np.eye(N_WIDE + 1)[:, :N_WIDE], rng.normal(size=N_WIDE + 1)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    assert tree.get_depth() == N_WIDE
    return tree, np.vstack([X, rng.random((60, N_WIDE)) < 0.02]).astype(float)


def leaf_games(model, X, background):
    """Yield for each leaf its value, what each row meets, and what each background row meets; with shares.

    Without a background, there is one row instead of it: the cover ratios.
    """
    tree = model.tree_

    def descend(node, met, averaged):
        if tree.feature[node] < 0:
            yield tree.value[node, 0, 0], met, averaged
            return
        f = tree.feature[node]
        for child, left in ((tree.children_left[node], True), (tree.children_right[node], False)):
            there, rest = met.copy(), averaged.copy()
            there[:, f] *= (X[:, f] <= tree.threshold[node]) == left
            if background is None:
                rest[:, f] *= tree.n_node_samples[child] / tree.n_node_samples[node]
            else:
                rest[:, f] *= (background[:, f] <= tree.threshold[node]) == left
            yield from descend(child, there, rest)

    yield from descend(
        0, np.ones(X.shape), np.ones((1 if background is None else len(background), X.shape[1]))
    )


def plain_components(model, X, background, sets):
    """A leaf's game is a mean of products, so its component of S is a product of differences, times the rest."""
    out = np.zeros((len(sets), len(X)))
    for value, met, averaged in leaf_games(model, X, background):
        for i, members in enumerate(sets):
            members = list(members)
            gain = (met[:, None, members] - averaged[None, :, members]).prod(axis=2)
            rest = np.delete(averaged, members, axis=1).prod(axis=1)
            out[i] += value * (gain @ rest) / len(averaged)
    return out


def plain_orders(model, X, background, n_orders):
    """The sum of all components of order q is the coefficient of t^q of prod_j r_j + t (a_j - r_j)."""
    out = np.zeros((n_orders, len(X)))
    for value, met, averaged in leaf_games(model, X, background):
        polynomial = np.zeros((n_orders + 1, len(X), len(averaged)))
        polynomial[0] = 1
        for j in range(X.shape[1]):
            r, gain = averaged[None, :, j], met[:, None, j] - averaged[None, :, j]
            polynomial[1:] = polynomial[1:] * r + polynomial[:-1] * gain
            polynomial[0] *= r
        out += value * polynomial[1:].mean(axis=2)
    return out


def plain_shapley(model, X, background):
    """Integrate the derivatives of each leaf's multilinear extension along the diagonal.

    A feature follows the row with probability t, else the background (Owen, Multilinear extensions of games). 50 nodes
    are exact for polynomials of degree 99.
    """
    nodes, weights = np.polynomial.legendre.leggauss(50)
    t, n = (nodes + 1) / 2, X.shape[1]
    values, pairs = np.zeros((len(X), n)), np.zeros((len(X), n, n))
    for value, met, averaged in leaf_games(model, X, background):
        for r, a in enumerate(met):
            for b in averaged:
                i = np.flatnonzero(a != b)
                if not np.delete(b, i).all():
                    continue
                gain, factor = (a - b)[i], t[:, None] * a[i] + (1 - t[:, None]) * b[i]
                before = np.cumprod(np.hstack([np.ones((50, 1)), factor]), axis=1)
                for x in range(len(i)):
                    after = np.cumprod(np.hstack([before[:, x : x + 1], factor[:, x + 1 :]]), axis=1)
                    rest = np.cumprod(np.hstack([np.ones((50, 1)), factor[:, :x:-1]]), axis=1)[:, ::-1]
                    scale = value * gain[x] * weights / len(averaged) / 2
                    values[r, i[x]] += scale @ (before[:, x] * rest[:, 0])
                    pairs[r, i[x], i[x + 1 :]] += scale / 2 @ (after[:, :-1] * rest[:, 1:]) * gain[x + 1 :]
    pairs += pairs.swapaxes(1, 2)
    pairs[:, range(n), range(n)] = values - pairs.sum(axis=2)
    return values, pairs


def plain_background(weighting, background):
    """Return the background of `leaf_games`."""
    return background if weighting == "empirical" else None


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("cells", [None, 0], ids=["tables", "streamed"])
def test_components_of_long_paths(chain, weighting, cells, monkeypatch):
    """Components of few features need no set of all features of a path."""
    if cells is not None:
        monkeypatch.setattr(budgets, "table_cells", cells)
    tree, background = chain
    rows = background[::7]
    for order, features in ((1, range(N_WIDE)), (3, [0, 31, 63, 64, 98, 99])):
        params = {"weighting": weighting, "max_interaction": order, "features": list(features)}
        decomposer = GlexDecomposer(tree, **params).fit(background)
        columns = decomposer.transform(rows)
        sets = [s for size in range(1, order + 1) for s in combinations(features, size)]
        expected = plain_components(tree, rows, plain_background(weighting, background), sets)
        assert np.allclose(columns[:, :-1], expected.T, **CLOSE)
    parts = decomposer.intercept_ + expected[[sets.index(s) for s in [(0,), (64,), (0, 64)]]].sum(axis=0)
    assert np.allclose(decomposer.partial_dependence([0, 64], rows), parts, **CLOSE)


def test_long_paths_and_many_background_rows(chain):
    """Wide leaves are compared with rows in bit sets, narrow ones count rows by state."""
    tree, rows = chain
    background = np.tile(rows, (10, 1))
    decomposer = GlexDecomposer(tree, max_interaction=2, features=[3, 50, 97]).fit(background)
    expected = plain_components(tree, rows, rows, [(3,), (50,), (97,), (3, 50), (3, 97), (50, 97)])
    assert np.allclose(decomposer.transform(rows)[:, :-1], expected.T, **CLOSE)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_orders_of_long_paths(chain, weighting):
    tree, background = chain
    rows = background[::7]
    decomposer = GlexDecomposer(tree, weighting=weighting, max_interaction=2).fit(background)
    bins = bin_all(rows, decomposer._fitted.source.input, decomposer._fitted.grid)
    found = decomposer._decomposition.sum_by_order(bins, 3)[:, 0]
    expected = plain_orders(tree, rows, plain_background(weighting, background), 3)
    # The sum of order 3 has up to 100 * 99 * 98 / 6 equal terms of alternating sign for each leaf.
    assert np.allclose(found, expected, rtol=0, atol=1e-9)
    listed = decomposer.transform(rows)[:, :-1]
    assert np.allclose(listed[:, :N_WIDE].sum(axis=1), found[0], **CLOSE)
    assert np.allclose(listed[:, N_WIDE:].sum(axis=1), found[1], **CLOSE)
    assert list(interaction_strength(decomposer, max_order=3)["order"]) == [1, 2, 3, "remainder"]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_shap_values_of_long_paths(chain, weighting):
    """Empirical values come from walks along the trees, path-dependent ones from quadrature."""
    tree, background = chain
    background, rows = background[::5], background[[3, 70, 110, 130]]
    values, pairs = plain_shapley(tree, rows, plain_background(weighting, background))
    decomposer = GlexDecomposer(tree, weighting=weighting).fit(background)
    assert np.allclose(decomposer.shap_values(rows), values, **CLOSE)
    assert np.allclose(decomposer.shap_interaction_values(rows), pairs, **CLOSE)
    if weighting == "empirical":
        found = contrast(decomposer, rows[:2], rows[2:]).values
        expected = [plain_shapley(tree, rows[i : i + 1], rows[i + 2 : i + 3])[0][0] for i in range(2)]
        assert np.allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_strongest_of_too_many_pairs(chain, weighting, monkeypatch):
    """Main effects and pairs that are too many to list are tabulated together."""
    tree, background = chain
    weight = np.random.default_rng(0).random(len(background))
    allowed = [j for j in range(N_WIDE) if j not in (5, 60)]
    params = {"weighting": weighting, "features": allowed}
    known = GlexDecomposer(tree, **params).fit(background, sample_weight=weight)
    everything = {c.features: c.importance for c in known.strongest_components(10_000)}
    by_order = component_importance(known, by="feature")
    monkeypatch.setattr(budgets, "held_components", 100)
    decomposer = GlexDecomposer(tree, max_components=100, **params).fit(background, sample_weight=weight)
    with pytest.raises(
        ValueError,
        match=r"the model has 4,851 components, more than max_components=100. Set max_interaction=1 \(",
    ):
        decomposer.transform(background)
    found = decomposer.strongest_components(150)
    largest = sorted(everything.values(), reverse=True)[:150]
    assert np.allclose([c.importance for c in found], largest, rtol=0, atol=1e-14)
    for component in found:
        assert np.isclose(component.importance, everything[component.features], rtol=0, atol=1e-14)
    assert {c.order for c in found} == {1, 2}
    # Tables and single components agree.
    values = found[-1].evaluate(background)
    assert np.isclose(np.average(np.abs(values), weights=weight), found[-1].importance, rtol=0, atol=1e-14)
    table = component_importance(decomposer)
    assert len(table) == sum(value > 0 for value in everything.values())
    same = component_importance(decomposer, by="feature")
    assert np.allclose(same["importance"], by_order["importance"], rtol=0, atol=1e-14)
    monkeypatch.setattr(budgets, "total_table_cells", 100)
    with pytest.raises(ValueError, match="too many to list"):
        decomposer.strongest_components(3)


def test_too_many_sets_of_features(chain, monkeypatch):
    """The components may be few where the sets of features on the paths are too many to list."""
    tree, background = chain
    monkeypatch.setattr(budgets, "listed_components", 1000)
    decomposer = GlexDecomposer(tree, max_interaction=2).fit(background)
    with pytest.raises(
        ValueError, match=r"the model has at least [0-9,]+ components, on so many different paths"
    ):
        decomposer.transform(background)
    assert decomposer.strongest_components(1)[0].importance > 0


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
