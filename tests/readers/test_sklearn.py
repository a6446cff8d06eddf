"""scikit-learn's tree models: columns add up to the model's own margin, components are those of brute force."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import shap
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMRegressor
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.ensemble._iforest import _average_path_length
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from skglex._leaves._grid import Grid
from skglex._readers._sum import last_left
from tests.support.oracles import brute_force_game, check_components, game_components, subsets, total

# scikit-learn's own cast to float32
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")

WEIGHTINGS = ["empirical", "path_dependent"]
# Everything is summed in float64, by the models too, but for XGBoost as a member.
EXACT = 1e-12
FLOAT32 = 5e-6


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)  # in tenths: float32 casts lie beside float64 thresholds
    X[:, 3] = rng.choice([0, 10, 20, 30, 40], size=n)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] % 20 == 0) + rng.normal(scale=0.1, size=n)
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    return X, gaps, y


X, GAPS, Y = make_data()
BINARY = Y > 0.5
CLASSES = np.array(["low", "mid", "top"])[np.digitize(Y, [0, 1])]
TARGETS = np.column_stack([Y, X[:, 0] - 2 * Y])
WEIGHT = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
FOREST = {"n_estimators": 8, "max_depth": 4, "random_state": 0}
BOOST = {"n_estimators": 8, "max_depth": 3, "random_state": 0}
HIST = {"max_iter": 8, "max_leaf_nodes": 8, "min_samples_leaf": 5, "random_state": 0}
TREE = {"max_depth": 5, "random_state": 0}


def voting(*members, kind=VotingRegressor, **params):
    return kind([(f"m{i}", member) for i, member in enumerate(members)], **params)


# name: model, features, target, fit parameters
MODELS = {
    "tree": lambda: DecisionTreeRegressor(**TREE).fit(X, Y),
    "tree, missing": lambda: DecisionTreeRegressor(**TREE).fit(GAPS, Y),
    "tree, one leaf": lambda: DecisionTreeRegressor(max_leaf_nodes=2, min_samples_leaf=300).fit(X, Y),
    "tree, absolute error": lambda: DecisionTreeRegressor(**TREE, criterion="absolute_error").fit(X, Y),
    "tree, poisson, pruned": lambda: DecisionTreeRegressor(**TREE, criterion="poisson", ccp_alpha=1e-3).fit(
        X, np.abs(Y)
    ),
    "tree, monotonic": lambda: DecisionTreeRegressor(**TREE, monotonic_cst=[1, 0, 0, -1]).fit(X, Y),
    "tree, targets": lambda: DecisionTreeRegressor(**TREE).fit(X, TARGETS),
    "tree, weighted": lambda: DecisionTreeRegressor(**TREE).fit(X, Y, sample_weight=WEIGHT),
    "tree, binary": lambda: DecisionTreeClassifier(**TREE).fit(GAPS, BINARY),
    "tree, classes": lambda: DecisionTreeClassifier(**TREE, class_weight="balanced").fit(X, CLASSES),
    "tree, one class": lambda: DecisionTreeClassifier(**TREE).fit(X, np.zeros(len(X))),
    "extra tree": lambda: ExtraTreeRegressor(**TREE).fit(X, Y),
    "extra tree, classes": lambda: ExtraTreeClassifier(**TREE).fit(X, CLASSES),
    "forest": lambda: RandomForestRegressor(**FOREST).fit(X, Y),
    "forest, missing": lambda: RandomForestRegressor(**FOREST).fit(GAPS, Y),
    "forest, targets": lambda: RandomForestRegressor(**FOREST).fit(X, TARGETS),
    "forest, weighted": lambda: RandomForestRegressor(**FOREST, max_leaf_nodes=9).fit(X, Y, WEIGHT),
    "forest, binary": lambda: RandomForestClassifier(**FOREST).fit(GAPS, BINARY),
    "forest, classes": lambda: RandomForestClassifier(
        **FOREST, class_weight="balanced_subsample", max_samples=0.5
    ).fit(X, CLASSES),
    "extra trees": lambda: ExtraTreesRegressor(**FOREST).fit(X, Y),
    "extra trees, missing, classes": lambda: ExtraTreesClassifier(**FOREST, bootstrap=True).fit(
        GAPS, CLASSES
    ),
    "boosting": lambda: GradientBoostingRegressor(**BOOST).fit(X, Y),
    "boosting, init zero": lambda: GradientBoostingRegressor(**BOOST, init="zero").fit(X, Y),
    "boosting, huber": lambda: GradientBoostingRegressor(**BOOST, loss="huber", subsample=0.5).fit(X, Y),
    "boosting, quantile": lambda: GradientBoostingRegressor(**BOOST, loss="quantile", alpha=0.8).fit(X, Y),
    "boosting, absolute": lambda: GradientBoostingRegressor(**BOOST, loss="absolute_error").fit(X, Y, WEIGHT),
    "boosting, early": lambda: GradientBoostingRegressor(
        n_estimators=200, n_iter_no_change=2, learning_rate=0.7, random_state=0
    ).fit(X, Y),
    "boosting, binary": lambda: GradientBoostingClassifier(**BOOST).fit(X, BINARY),
    "boosting, exponential": lambda: GradientBoostingClassifier(**BOOST, loss="exponential").fit(X, BINARY),
    "boosting, classes": lambda: GradientBoostingClassifier(**BOOST, init="zero").fit(X, CLASSES),
    "hist": lambda: HistGradientBoostingRegressor(**HIST).fit(X, Y),
    "hist, missing": lambda: HistGradientBoostingRegressor(**HIST, max_bins=20).fit(GAPS, Y),
    "hist, categories": lambda: HistGradientBoostingRegressor(**HIST, categorical_features=[3]).fit(GAPS, Y),
    "hist, only categories": lambda: HistGradientBoostingRegressor(
        **HIST, categorical_features=[0, 1, 2, 3]
    ).fit(GAPS, Y),
    "hist, poisson": lambda: HistGradientBoostingRegressor(**HIST, loss="poisson").fit(GAPS, np.abs(Y)),
    "hist, gamma": lambda: HistGradientBoostingRegressor(**HIST, loss="gamma").fit(GAPS, np.exp(Y)),
    "hist, quantile": lambda: HistGradientBoostingRegressor(**HIST, loss="quantile", quantile=0.7).fit(
        GAPS, Y
    ),
    "hist, binary": lambda: HistGradientBoostingClassifier(**HIST, interaction_cst="pairwise").fit(
        GAPS, BINARY
    ),
    "hist, classes": lambda: HistGradientBoostingClassifier(**HIST, categorical_features=[1, 3]).fit(
        GAPS, CLASSES
    ),
    "hist, early": lambda: HistGradientBoostingRegressor(
        max_iter=100, early_stopping=True, n_iter_no_change=2, learning_rate=0.8, random_state=0
    ).fit(GAPS, Y),
    "hist, warm": lambda: (
        HistGradientBoostingRegressor(**HIST, warm_start=True).fit(X, Y).set_params(max_iter=12).fit(X, Y)
    ),
    "isolation": lambda: IsolationForest(n_estimators=8, max_samples=50, random_state=0).fit(GAPS),
    "isolation, features": lambda: IsolationForest(
        n_estimators=8, max_features=2, contamination=0.1, bootstrap=True, random_state=0
    ).fit(X),
    "isolation, one row": lambda: IsolationForest(n_estimators=3, max_samples=1, random_state=0).fit(X),
    "voting": lambda: voting(
        RandomForestRegressor(**FOREST),
        GradientBoostingRegressor(**BOOST),
        HistGradientBoostingRegressor(**HIST),
        weights=[1, 2, 0.5],
    ).fit(X, Y),
    "voting, missing, xgboost": lambda: voting(
        xgb.XGBRegressor(n_estimators=8, max_depth=3),
        HistGradientBoostingRegressor(**HIST),
        DecisionTreeRegressor(**TREE),
    ).fit(GAPS, Y),
    "voting, categories": lambda: voting(
        HistGradientBoostingRegressor(**HIST, categorical_features=[3]),
        HistGradientBoostingRegressor(**HIST, categorical_features=[3], max_features=0.5),
    ).fit(GAPS, Y),
    "voting, classes": lambda: voting(
        RandomForestClassifier(**FOREST), DecisionTreeClassifier(**TREE), kind=VotingClassifier, voting="soft"
    ).fit(X, CLASSES),
    "voting of bagging": lambda: voting(
        BaggingRegressor(DecisionTreeRegressor(**TREE), 3, random_state=0), RandomForestRegressor(**FOREST)
    ).fit(X, Y),
    "bagging, xgboost": lambda: BaggingRegressor(
        xgb.XGBRegressor(n_estimators=5, max_depth=3), 3, max_features=3, random_state=0
    ).fit(GAPS, Y),
    "bagging, features twice": lambda: BaggingRegressor(
        DecisionTreeRegressor(**TREE), 5, bootstrap_features=True, random_state=0
    ).fit(X, Y),
    "bagging, targets": lambda: BaggingRegressor(DecisionTreeRegressor(**TREE), 3, random_state=0).fit(
        X, TARGETS
    ),
    "bagging, binary": lambda: BaggingClassifier(ExtraTreesClassifier(**FOREST), 3, random_state=0).fit(
        X, BINARY
    ),
}
CATEGORICAL = ["hist, categories", "hist, only categories", "hist, classes", "voting, categories"]


@pytest.fixture(scope="module")
def model_of():
    made = {}

    def get(name):
        if name not in made:
            made[name] = MODELS[name]()
        return made[name]

    return get


# -- plain statements of how the models compute -------------------------------------------------------


def own_margin(model, X):
    """The margin from the model's public methods, of shape (n_samples, n_outputs)."""
    if isinstance(model, IsolationForest):
        depth = np.zeros(len(X))
        for tree, columns in zip(model.estimators_, model.estimators_features_):
            leaf = tree.tree_.apply(np.asarray(X[:, columns], dtype=np.float32))
            # depths count nodes, the root and the leaf among them
            depth += tree.tree_.compute_node_depths()[leaf] - 1
            depth += _average_path_length(tree.tree_.n_node_samples[leaf])
        margin = depth / len(model.estimators_)
    elif hasattr(model, "decision_function"):
        margin = model.decision_function(X)
    elif is_classifier(model):
        margin = model.predict_proba(X)
        margin = margin[:, 1] if margin.shape[1] == 2 else margin
    elif getattr(model, "loss", None) in ("poisson", "gamma"):
        margin = np.log(model.predict(X))
    else:
        margin = model.predict(X)
    return np.asarray(margin, dtype=np.float64).reshape(len(X), -1)


def traverse(model, columns=None, weight=1.0):
    """Every tree: its children, its columns, how its nodes send rows, its covers, its values by output."""
    columns = np.arange(model.n_features_in_) if columns is None else columns
    if isinstance(model, VotingRegressor | VotingClassifier):
        weights = np.ones(len(model.estimators_)) if model.weights is None else np.array(model.weights)
        for member, share in zip(model.estimators_, weights / weights.sum()):
            yield from traverse(member, columns, weight * share)
    elif isinstance(model, BaggingRegressor | BaggingClassifier):
        for member, own in zip(model.estimators_, model.estimators_features_):
            yield from traverse(member, columns[own], weight / len(model.estimators_))
    elif hasattr(model, "_predictors"):
        yield from walk_hist(model, columns, weight)
    elif isinstance(model, GradientBoostingRegressor | GradientBoostingClassifier):
        n = model.estimators_.shape[1]
        for trees in model.estimators_:
            for k, tree in enumerate(trees):
                value = model.learning_rate * weight * tree.tree_.value[:, 0] * np.eye(n)[k]
                yield walk_tree(tree.tree_, columns, value)
    else:
        trees = getattr(model, "estimators_", [model])
        for i, tree in enumerate(trees):
            value, own = tree.tree_.value, columns
            if isinstance(model, IsolationForest):
                value = model._decision_path_lengths[i] + model._average_path_length_per_tree[i] - 1
                value, own = value[:, None], columns[model.estimators_features_[i]]
            elif is_classifier(model):
                value = value[:, 0, 1:] if value.shape[2] == 2 else value[:, 0]
            else:
                value = value[:, :, 0]
            yield walk_tree(tree.tree_, own, value * weight / len(trees))


def walk_tree(tree, columns, value):
    def goes_left(node, x):
        x = np.asarray(x, dtype=np.float32)
        return np.where(np.isnan(x), bool(tree.missing_go_to_left[node]), x <= tree.threshold[node])

    return (
        tree.children_left,
        tree.children_right,
        columns[tree.feature],
        goes_left,
        tree.weighted_n_node_samples,
        value,
    )


def walk_hist(model, columns, weight):
    categorical = model.is_categorical_ if model.is_categorical_ is not None else np.zeros(len(columns), bool)
    order = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    encoder = None if model._preprocessor is None else model._preprocessor.named_transformers_["encoder"]
    for trees in model._predictors:
        for k, tree in enumerate(trees):
            nodes = tree.nodes

            def goes_left(node, x, nodes=nodes, tree=tree):
                missing = bool(nodes["missing_go_to_left"][node])
                if not nodes["is_categorical"][node]:
                    return np.where(np.isnan(x), missing, x <= nodes["num_threshold"][node])
                known = encoder.categories_[nodes["feature_idx"][node]]
                words = tree.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
                left = [
                    value
                    for code, value in enumerate(known)
                    if int(words[code // 32]) >> (code % 32) & 1 and value == value
                ]
                return np.where(np.isin(x, known[known == known]), np.isin(x, left), missing)

            leaf = nodes["is_leaf"] != 0
            yield (
                np.where(leaf, -1, nodes["left"].astype(int)),
                np.where(leaf, -1, nodes["right"].astype(int)),
                columns[order[nodes["feature_idx"]]],
                goes_left,
                nodes["count"].astype(float),
                weight * nodes["value"][:, None] * np.eye(len(trees))[k],
            )


def path_dependent_components(model, rows):
    """v_S by walking the trees: splits on S go x's way, others both ways by cover. Without base scores."""
    game = dict.fromkeys(subsets(rows.shape[1]), 0.0)

    def expected(tree, node, kept):
        left, right, feature, goes_left, cover, value = tree
        if left[node] < 0:
            return np.tile(value[node], (len(rows), 1))
        a, b = (expected(tree, side[node], kept) for side in (left, right))
        if feature[node] in kept:
            return np.where(goes_left(node, rows[:, feature[node]])[:, None], a, b)
        share = cover[left[node]] / cover[node]
        return share * a + cover[right[node]] / cover[node] * b

    for tree in traverse(model):
        for s in game:
            game[s] = game[s] + expected(tree, 0, s)
    return game_components(game)


def thresholds(model):
    """Numeric thresholds by column."""
    if hasattr(model, "get_booster"):
        frame = model.get_booster().trees_to_dataframe()
        frame = frame[frame.Feature != "Leaf"]
        return [(int(name[1:]), split) for name, split in zip(frame.Feature, frame.Split)]
    if isinstance(model, VotingRegressor | VotingClassifier):
        return [pair for member in model.estimators_ for pair in thresholds(member)]
    if isinstance(model, BaggingRegressor | BaggingClassifier):
        return [
            (own[j], t)
            for member, own in zip(model.estimators_, model.estimators_features_)
            for j, t in thresholds(member)
        ]
    if hasattr(model, "_predictors"):
        order = np.arange(4)
        if model.is_categorical_ is not None:
            order = np.concatenate(
                [np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_)]
            )
        nodes = np.concatenate([tree.nodes for trees in model._predictors for tree in trees])
        nodes = nodes[(nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0)]
        return list(zip(order[nodes["feature_idx"]], nodes["num_threshold"]))
    out = []
    trees = np.ravel(getattr(model, "estimators_", [model]))
    owns = getattr(model, "estimators_features_", [np.arange(4)] * len(trees))
    for tree, own in zip(trees, owns):
        inner = tree.tree_.children_left >= 0
        out += list(zip(own[tree.tree_.feature[inner]], tree.tree_.threshold[inner]))
    return out


def hard_rows(model, seed=0):
    """Training rows; rows on and beside thresholds in float32 and float64; missing and infinite where it may be."""
    rng = np.random.default_rng(seed)
    rows = [X[rng.choice(len(X), 40, replace=False)]]
    found = thresholds(model)
    for i in rng.choice(len(found), min(60, len(found)), replace=False) if found else []:
        column, t = found[i]
        single = np.float32(t)
        near = [np.float64(s) for s in (np.nextafter(single, np.float32(-np.inf)), single)]
        near.append(np.float64(np.nextafter(single, np.float32(np.inf))))
        values = [t, *near, (near[0] + near[1]) / 2, (near[1] + near[2]) / 2]
        values += [np.nextafter(v, side) for v in values for side in (-np.inf, np.inf)]
        values = [v for v in values if abs(v) < 1e38]  # a threshold may be infinite
        part = X[rng.integers(len(X), size=len(values))].copy()
        part[:, column] = values
        rows.append(part)
    special = [0.0, -0.0, 1e30, -1e30, 5.0, 50.0, -10.0]
    special += [value for value in (np.nan, np.inf, -np.inf, 1e39) if takes(model, value)]
    for value in special:
        part = X[rng.integers(len(X), size=8)].copy()
        part[np.arange(8), np.arange(8) % 4] = value
        rows += [part, np.full((1, 4), value)]
    return np.concatenate(rows)


def takes(model, value):
    """Whether the model itself takes such a value."""
    try:
        model.predict(np.full((1, 4), value))
    except ValueError:
        return False
    return True


def tolerance(name):
    return FLOAT32 if "xgboost" in name else EXACT


# -- components ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_columns_add_up_to_the_margin(name, weighting, model_of):
    model = model_of(name)
    rows = hard_rows(model)
    decomposer = GlexDecomposer(model, weighting=weighting).fit(X)
    np.testing.assert_allclose(total(decomposer, rows), own_margin(model, rows), rtol=0, atol=tolerance(name))


@pytest.mark.parametrize("name", MODELS)
def test_empirical_components_are_those_of_brute_force(name, model_of):
    model = model_of(name)
    rows, background = hard_rows(model)[::30], hard_rows(model, 1)[::25]
    decomposer = GlexDecomposer(model).fit(background)
    components = game_components(brute_force_game(lambda Z: own_margin(model, Z), rows, background))
    # a component is a signed sum of up to 2^|S| means of margins
    check_components(decomposer, rows, components, 16 * tolerance(name))


@pytest.mark.parametrize("name", [name for name in MODELS if "xgboost" not in name])
def test_path_dependent_components_are_those_of_walks_through_the_trees(name, model_of):
    model = model_of(name)
    rows = hard_rows(model)[::7]
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(X)
    # the intercept is checked apart: base scores are in it
    check_components(decomposer, rows, path_dependent_components(model, rows), EXACT, intercept=False)


SHAP = [
    "tree",
    "tree, weighted",
    "tree, classes",
    "forest",
    "forest, weighted",
    "forest, binary",
    "extra trees",
]
SHAP += ["boosting", "boosting, binary", "hist", "hist, binary", "hist, classes"]


@pytest.mark.parametrize("name", [name for name in SHAP if name not in CATEGORICAL])
def test_shap_values_are_those_of_tree_explainer(name, model_of):
    model = model_of(name)
    rows = X[:30]
    phi = np.asarray(shap.TreeExplainer(model).shap_values(rows))
    if phi.ndim == 3 and phi.shape[2] == 2:
        phi = phi[:, :, 1]
    ours = GlexDecomposer(model, weighting="path_dependent").fit(X).shap_values(rows)
    # shap keeps thresholds and values of forests in float64, and sums in it
    np.testing.assert_allclose(ours, phi, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["forest", "boosting", "hist", "tree"])
def test_interventional_shap_values(name, model_of):
    model = model_of(name)
    # beside all thresholds: shap rounds them to float32, and sends rows on them the wrong way then
    off = X + np.random.default_rng(2).uniform(0.01, 0.04, X.shape)
    explainer = shap.TreeExplainer(model, off[100:180], feature_perturbation="interventional")
    ours = GlexDecomposer(model).fit(off[100:180]).shap_values(off[:30])
    np.testing.assert_allclose(ours, explainer.shap_values(off[:30]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("features", [[0], [0, 3]])
@pytest.mark.parametrize(
    "name", ["tree", "forest", "boosting", "hist", "hist, missing", "voting", "bagging, targets"]
)
def test_partial_dependence_is_that_of_scikit_learn(name, features, model_of):
    model = model_of(name)
    background = X[:100]
    brute = partial_dependence(model, background, features, method="brute", kind="average", grid_resolution=6)
    grid = np.stack(np.meshgrid(*brute["grid_values"], indexing="ij"), axis=-1).reshape(-1, len(features))
    rows = np.zeros((len(grid), 4))
    rows[:, features] = grid
    decomposer = GlexDecomposer(model).fit(background)
    ours = decomposer.partial_dependence(features, rows).reshape(len(grid), -1)
    np.testing.assert_allclose(ours, brute["average"].reshape(ours.shape[1], -1).T, rtol=0, atol=EXACT)
    if name in ("voting", "bagging, targets"):
        return
    recursion = partial_dependence(model, background, features, method="recursion", grid_resolution=6)
    ours = (
        GlexDecomposer(model, weighting="path_dependent").fit(background).partial_dependence(features, rows)
    )
    initial = 0.0  # which recursion leaves out
    if name == "boosting":
        initial = model.init_.constant_.item()
    elif name.startswith("hist"):
        initial = model._baseline_prediction.item()
    # recursion gives float32, of boosting models
    np.testing.assert_allclose(ours, recursion["average"].ravel() + initial, rtol=0, atol=1e-6)


@pytest.mark.parametrize("as_float32", [False, True])
@pytest.mark.parametrize("less_equal", [False, True])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
def test_one_comparison_for_all_members_of_a_sum(less_equal, as_float32):
    largest = float(np.finfo(np.float32).max)
    cuts = np.array([-largest, -1.0, -0.1, 0.0, 1e-46, 0.1, 0.6, 2.0**24, largest, np.inf])
    if as_float32 and not less_equal:  # XGBoost's thresholds are float32 themselves
        cuts = np.unique(cuts.astype(np.float32).astype(float))
    whole = np.array([0, len(cuts)])
    grid = Grid(np.arange(1), cuts, whole, np.zeros(1, bool), less_equal, as_float32)
    single = cuts.astype(np.float32)
    near = [cuts, single, *(np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf))]
    near = np.concatenate([np.float64(part) for part in near])
    near = np.concatenate([near, (near[:, None] / 2 + near / 2).ravel()])
    rows = np.concatenate(
        [near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), [1e39, 1e300, -np.inf]]
    )
    rows = rows[~np.isnan(rows)]
    ours = last_left(grid)
    # bin i or below is what cut i sends left
    goes_left = grid.bin(rows[None])[0][:, None] <= np.arange(len(cuts))
    np.testing.assert_array_equal(rows[:, None] <= ours, goes_left)


def test_members_of_several_libraries():
    lgb = pytest.importorskip("lightgbm")
    members = [
        lgb.LGBMRegressor(n_estimators=8, num_leaves=6, min_child_samples=5, verbose=-1),
        xgb.XGBRegressor(n_estimators=8, max_depth=3),
        RandomForestRegressor(**FOREST),
    ]
    frame = pd.DataFrame(GAPS, columns=["x0", "x1", "x2", "x3"])
    model = voting(*members, weights=[3, 1, 2]).fit(frame, Y)
    found = thresholds(model.estimators_[1]) + thresholds(model.estimators_[2])
    rows = np.resize(GAPS, (3 * len(found), 4))
    for i, (column, t) in enumerate(found):
        rows[3 * i : 3 * i + 3, column] = t, np.nextafter(t, -9), np.nextafter(t, 9)
    rows = pd.DataFrame(np.where(np.abs(rows) > 1e38, 0, rows), columns=frame.columns)
    for weighting in WEIGHTINGS:
        decomposer = GlexDecomposer(model, weighting=weighting).fit(frame)
        np.testing.assert_allclose(total(decomposer, rows)[:, 0], model.predict(rows), rtol=0, atol=FLOAT32)


# -- inputs -------------------------------------------------------------------------------------------


def frames():
    names = np.array(["oslo", "rome", "bern", "kyiv", "lima"])
    frame = pd.DataFrame(GAPS, columns=["a", "b", "c", "city"])
    frame["city"] = pd.Categorical(
        [None if np.isnan(v) else names[int(v) // 10] for v in GAPS[:, 3]], categories=names
    )
    return frame


def test_categories_of_data_frames_count_by_value():
    frame = frames()
    model = HistGradientBoostingRegressor(**HIST).fit(frame, Y)  # categories from the dtype
    decomposer = GlexDecomposer(model).fit(frame)
    other = frame.copy()
    other["city"] = other["city"].cat.reorder_categories(["kyiv", "lima", "bern", "oslo", "rome"])
    np.testing.assert_allclose(total(decomposer, other)[:, 0], model.predict(frame), rtol=0, atol=EXACT)
    strings = frame.assign(city=frame["city"].astype(object))
    np.testing.assert_array_equal(decomposer.transform(strings), decomposer.transform(frame))
    other = frame.copy()
    other["city"] = other["city"].cat.rename_categories({"bern": "paris"})  # unknown to the model: missing
    other.loc[5, "city"] = None
    np.testing.assert_allclose(total(decomposer, other)[:, 0], model.predict(other), rtol=0, atol=EXACT)
    assert np.abs(model.predict(other) - model.predict(frame)).max() > 0.1
    axis = decomposer.feature_axis("city")
    assert set(axis.edges) <= set(frame["city"].cat.categories)


def test_polars_frames():
    frame = pl.DataFrame(GAPS, schema=["a", "b", "c", "d"], orient="row")
    model = HistGradientBoostingRegressor(**HIST, categorical_features=["d"]).fit(frame, Y)
    decomposer = GlexDecomposer(model).fit(frame)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=EXACT)


@pytest.mark.parametrize("model", [RandomForestRegressor(**FOREST), HistGradientBoostingRegressor(**HIST)])
def test_numeric_categories_that_a_model_takes_as_numbers(model):
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"d": "category"})
    if isinstance(model, HistGradientBoostingRegressor):
        model.set_params(categorical_features=None)
    model.fit(frame, Y)
    decomposer = GlexDecomposer(model).fit(frame)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=EXACT)
    frame["d"] = frame["d"].cat.rename_categories(dict(zip([0, 10, 20, 30, 40], "vwxyz")))
    with pytest.raises(ValueError, match=r"column 'd' has the categories \['v'"):
        decomposer.transform(frame)


@pytest.mark.parametrize("name", ["forest", "boosting, classes", "isolation, features", "bagging, targets"])
def test_sparse_input(name, model_of):
    decomposer = GlexDecomposer(model_of(name))
    dense = decomposer.fit(X).transform(X)
    for kind in (sp.csr_matrix, sp.csc_matrix):
        np.testing.assert_array_equal(decomposer.fit(kind(X)).transform(kind(X)), dense)


def test_entries_of_a_sparse_matrix_stored_twice_are_added(model_of):
    rows = sp.csr_matrix(([2.0, -2.0, 0.5, 0.25], [1, 1, 3, 1], [0, 2, 4]), shape=(2, 4))
    decomposer = GlexDecomposer(model_of("forest")).fit(X)
    expected = decomposer.transform(rows.toarray())
    for stored in (rows, rows.tocsc()):
        np.testing.assert_array_equal(decomposer.transform(stored), expected)


def test_sparse_input_on_which_members_disagree():
    model = voting(xgb.XGBRegressor(n_estimators=3), DecisionTreeRegressor(**TREE)).fit(X, Y)
    decomposer = GlexDecomposer(model).fit(X)
    with pytest.raises(ValueError, match="members disagree on what a sparse matrix does not store"):
        decomposer.transform(sp.csr_matrix(X))


def test_values_that_the_model_refuses_are_refused(model_of):
    rows = X[:5].copy()
    rows[2, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN in column 0: this model takes no missing"):
        GlexDecomposer(model_of("boosting")).fit(X).transform(rows)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        GlexDecomposer(model_of("boosting")).fit(rows)
    for value in (np.inf, -np.inf, 1e39):
        rows[2, 0] = value
        with pytest.raises(ValueError, match="infinity or a value too large for float32 in column 0"):
            GlexDecomposer(model_of("forest")).fit(X).transform(rows)
    # a removed column never matters
    remover = FeatureRemover(model_of("boosting"), [0]).fit(X)
    np.testing.assert_array_equal(remover.predict(rows), remover.predict(X[:5]))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        FeatureRemover(model_of("boosting"), [1]).fit(X).predict(rows)


def test_trees_that_saw_no_missing_values_take_them_where_the_model_does(model_of):
    model = model_of("forest")
    decomposer = GlexDecomposer(model).fit(GAPS)
    np.testing.assert_allclose(total(decomposer, GAPS)[:, 0], model.predict(GAPS), rtol=0, atol=EXACT)


# -- removing features --------------------------------------------------------------------------------


LINKS = {
    "hist, poisson": np.exp,
    "hist, gamma": np.exp,
    "hist, binary": expit,
    "hist, classes": lambda m: softmax(m, axis=1),
    "boosting, binary": expit,
    "boosting, exponential": lambda m: expit(2 * m),
    "boosting, classes": lambda m: softmax(m, axis=1),
}


def own_output(model, X):
    if is_classifier(model):
        return model.predict_proba(X)
    return model.predict(X).reshape(len(X), -1)


@pytest.mark.parametrize(
    "name",
    [name for name in MODELS if "isolation" not in name],
)
def test_feature_remover(name, model_of):
    model = model_of(name)
    remover = FeatureRemover(model, [1, 3]).fit(X[:60])
    mixed = np.repeat(X[None, :60], 20, axis=0)
    mixed[:, :, [0, 2]] = X[100:120, None, [0, 2]]
    margin = own_margin(model, mixed.reshape(-1, 4)).reshape(20, 60, -1).mean(axis=1)
    found = remover.predict_proba(X[100:120]) if is_classifier(model) else remover.predict(X[100:120])
    found = found.reshape(20, -1)
    expected = LINKS.get(name, lambda m: m)(margin)
    if is_classifier(model) and expected.shape[1] == 1 and len(model.classes_) == 2:
        expected = np.column_stack([1 - expected, expected])
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(name))
    if is_classifier(model):
        labels = model.classes_[expected.argmax(axis=1)]
        assert (remover.predict(X[100:120]) == labels).mean() == 1
    # nothing removed is the model itself
    nearly = FeatureRemover(model, [1, 3], strength=1e-15).fit(X[:60])
    rows = hard_rows(model)
    found = nearly.predict_proba(rows) if is_classifier(model) else nearly.predict(rows)
    np.testing.assert_allclose(
        found.reshape(len(rows), -1), own_output(model, rows), rtol=1e-12, atol=tolerance(name)
    )


@pytest.mark.parametrize("name", ["isolation", "isolation, features", "isolation, one row"])
def test_isolation_forest_without_features(name, model_of):
    model = model_of(name)
    nearly = FeatureRemover(model, [0], strength=1e-15).fit(X)
    rows = hard_rows(model)
    for method in ("score_samples", "decision_function", "predict"):
        np.testing.assert_allclose(
            getattr(nearly, method)(rows), getattr(model, method)(rows), rtol=0, atol=EXACT
        )
    remover = FeatureRemover(model, [0]).fit(X[:50])
    mixed = np.repeat(X[None, :50], 20, axis=0)
    mixed[:, :, 1:] = X[100:120, None, 1:]
    depth = own_margin(model, mixed.reshape(-1, 4)).reshape(20, 50).mean(axis=1)
    scale = _average_path_length([model.max_samples_])[0]
    expected = -(2 ** -(depth / scale)) if scale else np.full(20, -0.5)
    np.testing.assert_allclose(remover.score_samples(X[100:120]), expected, rtol=0, atol=EXACT)
    np.testing.assert_allclose(remover.margin(X[100:120]), depth, rtol=0, atol=EXACT)
    decision = remover.decision_function(X[100:120])
    np.testing.assert_allclose(decision, expected - model.offset_, rtol=0, atol=EXACT)
    np.testing.assert_array_equal(remover.predict(X[100:120]), np.where(decision < 0, -1, 1))


def test_isolation_forests_are_fitted_without_a_target():
    assert hasattr(FeatureRemover(IsolationForest(), [0]), "score_samples")
    remover = FeatureRemover(IsolationForest(n_estimators=5, random_state=0), [0]).fit(X)
    assert remover.estimator_.n_features_in_ == 4
    assert set(remover.predict(X)) == {-1, 1}
    assert remover.__sklearn_tags__().estimator_type == "outlier_detector"
    assert not hasattr(FeatureRemover(RandomForestRegressor(), [0]), "score_samples")
    decomposer = GlexDecomposer(IsolationForest(n_estimators=5, random_state=0)).fit(X)
    margin = own_margin(decomposer.estimator_, X)
    np.testing.assert_allclose(total(decomposer, X), margin, rtol=0, atol=EXACT)


def codes(model, rows):
    """Rows with the codes of categories, as ONNX takes them: missing where the model knows none."""
    rows = rows.copy()
    if getattr(model, "_preprocessor", None) is None:
        return rows
    known = model._preprocessor.named_transformers_["encoder"].categories_
    for column, values in zip(np.flatnonzero(model.is_categorical_), known):
        rows[:, column] = [
            np.nan if v not in values or np.isnan(v) else list(values).index(v) for v in rows[:, column]
        ]
    return rows


@pytest.mark.parametrize("removed", [[0], [1, 3]])
@pytest.mark.parametrize(
    "name", [name for name in MODELS if name not in ("tree, one class", "voting, categories")]
)
def test_onnx(name, removed, model_of, run_onnx):
    model = model_of(name)
    remover = FeatureRemover(model, removed).fit(X[:60])
    rows = hard_rows(model)[::3]
    found = run_onnx(remover.to_onnx(), codes(model, rows))
    scale = max(1.0, np.abs(remover.margin(rows)).max())
    # the operator rounds the sum of trees to float32
    close = {"rtol": 1e-6, "atol": 1e-6 * scale}
    np.testing.assert_allclose(found["margin"], remover.margin(rows).reshape(len(rows), -1), **close)
    if is_classifier(model):
        np.testing.assert_allclose(found["probabilities"], remover.predict_proba(rows), **close)
        labels = np.asarray(found["label"])
        sure = np.diff(np.sort(remover.predict_proba(rows), axis=1)[:, -2:], axis=1).ravel() > 1e-5
        np.testing.assert_array_equal(labels[sure], remover.predict(rows)[sure])
    elif "isolation" in name:
        decision = remover.decision_function(rows)
        np.testing.assert_allclose(found["scores"].ravel(), decision, **close)
        sure = np.abs(decision) > 1e-6
        np.testing.assert_array_equal(found["label"].ravel()[sure], remover.predict(rows)[sure])
    else:
        expected = remover.predict(rows).reshape(len(rows), -1)
        np.testing.assert_allclose(found["variable"], expected, rtol=1e-5, atol=1e-5)


# -- scikit-learn's contract --------------------------------------------------------------------------


def failures_of_the_models_own(estimator):
    """Of scikit-learn's models: rows drawn, binned or counted are not the same with weights as repeated."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "so does the wrapped model"
        for kind in ("dense", "sparse")
        if kind == "dense" or not isinstance(estimator.estimator, HistGradientBoostingClassifier)
    }


@parametrize_with_checks(
    [
        GlexDecomposer(RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0)),
        GlexDecomposer(HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, min_samples_leaf=2)),
        GlexDecomposer(IsolationForest(n_estimators=3, max_samples=8, random_state=0)),
        # the checks put missing values into the first column
        FeatureRemover(GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0), [-1]),
        FeatureRemover(RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0), [0]),
        FeatureRemover(IsolationForest(n_estimators=20, random_state=0), [0]),
    ],
    expected_failed_checks=failures_of_the_models_own,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


class MyForest(RandomForestRegressor):
    """A user's own subclass, in a module of the user's."""


class MyMean(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class MyTwist(RandomForestRegressor):
    def predict(self, X):
        return 2 * super().predict(X)


def test_subclasses():
    model = MyForest(**FOREST).fit(X, Y)
    np.testing.assert_allclose(total(GlexDecomposer(model).fit(X), X)[:, 0], model.predict(X), atol=EXACT)
    with pytest.raises(TypeError, match="cannot read a MyMean into leaves"):
        GlexDecomposer(MyMean().fit(X, Y)).fit(X)
    with pytest.raises(RuntimeError, match="the model was not read exactly"):
        GlexDecomposer(MyTwist(**FOREST).fit(X, Y)).fit(X)


def test_pipelines_and_frozen_estimators():
    model = make_pipeline(SimpleImputer(), GradientBoostingRegressor(**BOOST)).fit(GAPS, Y)
    for estimator in (model, FrozenEstimator(model)):
        ours = total(GlexDecomposer(estimator).fit(GAPS), GAPS)
        np.testing.assert_allclose(ours[:, 0], model.predict(GAPS), atol=EXACT)
    member = FrozenEstimator(RandomForestRegressor(**FOREST).fit(X, Y))
    model = voting(member, DecisionTreeRegressor(**TREE)).fit(X, Y)
    np.testing.assert_allclose(total(GlexDecomposer(model).fit(X), X)[:, 0], model.predict(X), atol=EXACT)
    # a member that was dropped has no weight
    model = voting(member, DecisionTreeRegressor(**TREE), "drop", weights=[1, 2, 7]).fit(X, Y)
    np.testing.assert_allclose(total(GlexDecomposer(model).fit(X), X)[:, 0], model.predict(X), atol=EXACT)


@pytest.mark.parametrize(
    "name", ["forest, binary", "boosting, classes", "hist, classes", "isolation", "voting"]
)
def test_pickled_models_read_the_same(name, model_of):
    model = model_of(name)
    loaded = pickle.loads(pickle.dumps(model))
    ours = GlexDecomposer(model).fit(X).transform(X)
    np.testing.assert_array_equal(GlexDecomposer(loaded).fit(X).transform(X), ours)
    decomposer = pickle.loads(pickle.dumps(GlexDecomposer(model).fit(X)))
    np.testing.assert_array_equal(decomposer.transform(X), ours)


REFUSED = {
    "AdaBoostRegressor: .* Use gradient boosting": AdaBoostRegressor(),
    "AdaBoostClassifier: .* Use gradient boosting": AdaBoostClassifier(),
    "StackingRegressor: .* VotingRegressor": StackingRegressor([("a", DecisionTreeRegressor())]),
    "TransformedTargetRegressor: .*regressor_": TransformedTargetRegressor(DecisionTreeRegressor()),
    "GridSearchCV: .*best_estimator_": GridSearchCV(DecisionTreeRegressor(), {}),
    "MultiOutputRegressor: .*estimators_": MultiOutputRegressor(DecisionTreeRegressor()),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_is_no_sum_of_trees_is_refused_before_it_is_fitted(match):
    for prefit in ("auto", True):
        with pytest.raises(TypeError, match="cannot decompose a " + match):
            GlexDecomposer(REFUSED[match], prefit=prefit).fit(X, Y)


def refused_models():
    tree = DecisionTreeRegressor(**TREE)
    yield (
        ValueError,
        "with init=LinearRegression.*Use init=None",
        GradientBoostingRegressor(**BOOST, init=LinearRegression()).fit(X, Y),
    )
    yield (
        ValueError,
        "with 2 targets: fit one classifier per target",
        RandomForestClassifier(**FOREST).fit(X, np.column_stack([BINARY, CLASSES == "top"])),
    )
    yield TypeError, "RandomTreesEmbedding: its trees predict nothing", RandomTreesEmbedding(3).fit(X)
    yield (
        ValueError,
        "member XGBRegressor: .*'exponential'",
        voting(xgb.XGBRegressor(objective="count:poisson", n_estimators=2), tree).fit(X, np.abs(Y)),
    )
    yield (
        ValueError,
        "member GradientBoostingClassifier: .*add up to probabilities",
        voting(GradientBoostingClassifier(**BOOST), kind=VotingClassifier, voting="soft").fit(X, BINARY),
    )
    yield (
        ValueError,
        "Use voting='soft'",
        voting(DecisionTreeClassifier(), kind=VotingClassifier).fit(X, BINARY),
    )
    yield TypeError, "member LinearRegression", voting(tree, LinearRegression()).fit(X, Y)
    yield TypeError, "member Pipeline", voting(make_pipeline(SimpleImputer(), tree)).fit(X, Y)
    yield (
        ValueError,
        "whose member has missing=-999.0",
        voting(xgb.XGBRegressor(n_estimators=2, missing=-999), tree).fit(X, Y),
    )
    yield (
        ValueError,
        "has no binary trees",
        voting(RandomPlantedForestRegressor(n_estimators=2, random_state=0)).fit(X, Y),
    )
    yield (
        ValueError,
        "different categories in column 3, or some of them numbers",
        voting(HistGradientBoostingRegressor(**HIST, categorical_features=[3]), tree).fit(X, Y),
    )
    light = LGBMRegressor(n_estimators=2, verbose=-1)
    yield (
        ValueError,
        "some members, not all, cast integers to float32",
        voting(light, HistGradientBoostingRegressor(**HIST)).fit(X, Y),
    )


def test_what_cannot_be_read_exactly_is_refused():
    for error, match, model in refused_models():
        with pytest.raises(error, match=match):
            GlexDecomposer(model).fit(X)


# -- properties ---------------------------------------------------------------------------------------


@st.composite
def models(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = np.round(rng.normal(size=(80, 4)), draw(st.sampled_from([0, 1, 8])))
    y = X.prod(axis=1) + rng.normal(size=80)
    kind = draw(st.integers(0, 6))
    if kind in (0, 2, 5):
        X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    depth, seed = draw(st.integers(1, 5)), int(rng.integers(2**31))
    tree = {"max_depth": depth, "random_state": seed}
    n = {"n_estimators": draw(st.integers(1, 6))}
    labels = np.digitize(y, [-0.5, 0.5])
    categorical = [j for j in range(4) if rng.random() < 0.4]
    hist = {**tree, "max_iter": 4, "min_samples_leaf": 3, "categorical_features": categorical}
    model = [
        lambda: ExtraTreesRegressor(**tree, **n).fit(X, y),
        lambda: GradientBoostingClassifier(**tree, **n).fit(X, labels),
        lambda: HistGradientBoostingRegressor(**hist).fit(X, y),
        lambda: IsolationForest(**n, max_features=3, random_state=seed).fit(X),
        lambda: RandomForestClassifier(**tree, **n).fit(X, labels),
        lambda: BaggingRegressor(
            HistGradientBoostingRegressor(**{**hist, "categorical_features": None}), 2
        ).fit(X, y),
        lambda: voting(RandomForestRegressor(**tree, **n), GradientBoostingRegressor(**tree, **n)).fit(X, y),
    ][kind]()
    return model, X, draw(st.sampled_from(WEIGHTINGS)), rng


@settings(max_examples=30, deadline=None, derandomize=True)
@given(models())
def test_identities(case):
    model, X, weighting, rng = case
    rows = X[rng.integers(80, size=40)]
    found = thresholds(model)
    for i in range(24 if found else 0):
        column, t = found[rng.integers(len(found))]
        rows[i, column] = t if i % 3 == 0 else np.nextafter(t, np.inf if i % 3 == 1 else -np.inf)
    rows[np.abs(rows) > 1e38] = 0.0
    dec = GlexDecomposer(model, weighting=weighting).fit(X)
    margin = own_margin(model, rows)
    exact = {"rtol": 0, "atol": 1e-10 * max(1.0, np.abs(margin).max())}
    np.testing.assert_allclose(total(dec, rows), margin, **exact)
    phi = dec.shap_values(rows)
    intercept = np.atleast_1d(dec.intercept_)
    np.testing.assert_allclose(phi.reshape(40, 4, -1).sum(axis=1) + intercept, margin, **exact)
    np.testing.assert_allclose(dec.shap_interaction_values(rows).sum(axis=2), phi, **exact)
    remover = FeatureRemover(model, [2], weighting=weighting).fit(X)
    untouched = [c for c, m in enumerate(dec.components_) if "x2" not in m.features]
    columns = dec.transform(rows).reshape(40, len(intercept), -1)[:, :, untouched]
    debiased = remover.margin(rows).reshape(40, -1)
    np.testing.assert_allclose(debiased, intercept + columns.sum(axis=2), **exact)
    changed = rows.copy()
    changed[:, 2] = rng.normal(size=40)
    np.testing.assert_array_equal(remover.margin(changed).reshape(40, -1), debiased)


def test_sums_of_members_with_categories():
    """All members' categories count, and a soft vote is a probability."""
    params = {**HIST, "categorical_features": [3]}
    members = [HistGradientBoostingRegressor(**params, max_features=m) for m in (1.0, 0.5, 0.7)]
    model = voting(*members).fit(GAPS, Y)
    decomposer = GlexDecomposer(model).fit(GAPS)
    np.testing.assert_allclose(total(decomposer, GAPS)[:, 0], model.predict(GAPS), rtol=0, atol=EXACT)
    votes = [RandomForestClassifier(**FOREST), DecisionTreeClassifier(**TREE)]
    soft = voting(*votes, kind=VotingClassifier, voting="soft").fit(X, BINARY)
    expected = soft.predict_proba(np.insert(X[:, 1:], 0, X[0, 0], axis=1))
    whole = FeatureRemover(soft, ["x0"], strength=0.5).fit(X[:1])  # one background row: x0 is its
    probabilities = (expected + soft.predict_proba(X)) / 2
    np.testing.assert_allclose(whole.predict_proba(X), probabilities, rtol=0, atol=EXACT)


def test_categories_that_members_take_in_different_ways():
    """Even if the other one looks at other columns only."""
    codes = xgb.XGBRegressor(n_estimators=3, feature_types=["q", "q", "q", "c"])
    model = voting(codes, DecisionTreeRegressor(max_depth=1)).fit(X, Y + 3 * (X[:, 3] > X[:, 3].min()))
    with pytest.raises(ValueError, match="take categories in different ways"):
        GlexDecomposer(model).fit(X)


def test_categorical_columns_that_one_member_knows_of():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = voting(LGBMRegressor(n_estimators=2, verbose=-1), DecisionTreeRegressor(**TREE)).fit(frame, Y)
    with pytest.raises(ValueError, match=r"X has the categorical columns \['d'\]"):
        GlexDecomposer(model).fit(frame.astype({"d": "category"}))


# -- labels ---------------------------------------------------------------------------------------

TIED = np.repeat([[0, 0], [0, 0], [1, 0], [2, 0]], 50, axis=0).astype(
    float
)  # half of the rows at [0, 0] are 1
TIED_LABELS = np.repeat([0, 1, 1, 0], 50)


def check_labels(model, features, rows, background):
    """A feature that no tree splits on changes no label, whatever the rounding; nor does ``strength=0``."""
    expected = model.predict(rows)
    np.testing.assert_array_equal(FeatureRemover(model, features).fit(background).predict(rows), expected)
    np.testing.assert_array_equal(
        FeatureRemover(model, [0], strength=0).fit(background).predict(rows), expected
    )


@pytest.mark.parametrize(
    "params", [{}, {"loss": "exponential"}, {"init": "zero"}], ids=["log loss", "exponential", "zero"]
)
def test_even_odds_go_where_gradient_boosting_sends_them(params):
    model = GradientBoostingClassifier(n_estimators=5, **params).fit(TIED, TIED_LABELS)
    assert (model.decision_function(TIED[:1]) == 0).all()
    check_labels(model, [1], TIED, TIED)


def test_even_odds_in_onnx(run_onnx):
    model = GradientBoostingClassifier(n_estimators=5).fit(TIED, TIED_LABELS)
    exported = FeatureRemover(model, [1]).fit(TIED).to_onnx()
    np.testing.assert_array_equal(run_onnx(exported, TIED)["label"], model.predict(TIED))


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, DecisionTreeClassifier])
def test_even_odds_go_to_the_first_class_elsewhere(kind):
    model = kind().fit(TIED, TIED_LABELS)
    assert (model.predict_proba(TIED[:1]) == 0.5).all()
    check_labels(model, [1], TIED, TIED)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_tied_votes_of_a_forest(kind):
    """50 of 100 trees vote for each class: a sum of hundredths is not quite one half."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(600, 3)), np.zeros(600)])
    model = kind(random_state=0).fit(rows[:300], rng.integers(0, 2, 300))
    assert (model.predict_proba(rows)[:, 1] == 0.5).sum() > 2
    check_labels(model, [3], rows, rows[:300])


@pytest.mark.parametrize("seed", range(3))
def test_scores_at_the_offset_of_an_isolation_forest(seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 3, (500, 3)), np.zeros(500)]).astype(float)
    model = IsolationForest(n_estimators=20, contamination=0.1, max_samples=64, random_state=seed).fit(rows)
    assert np.isclose(model.decision_function(rows), 0, rtol=0, atol=1e-12).any()
    check_labels(model, [3], rows, rows)
