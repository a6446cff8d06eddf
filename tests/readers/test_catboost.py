"""CatBoost: columns add up to its own margin, components are those of brute force, SHAP values its own."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer
from skglex._readers._registry import find_reader
from tests.support.oracles import (
    brute_force_game,
    game_components,
    shapley_interactions,
    shapley_values,
    subsets,
    total,
)

cb = pytest.importorskip("catboost")

# A node that no training row reaches is common, and said each time.
pytestmark = pytest.mark.filterwarnings("ignore:.* nodes of the model have cover 0:UserWarning")

POLICIES = ["SymmetricTree", "Depthwise", "Lossguide"]
WEIGHTINGS = ["empirical", "path_dependent"]
SMALL = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
# CatBoost sums in float64, as we do: the two orders of a few dozen terms of size 1 differ by some 1e-15.
FLOAT64 = {"rtol": 1e-12, "atol": 1e-12}


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(-2, 3, size=n)
    X[X[:, 3] == 0, 3] *= rng.choice([-1, 1], size=(X[:, 3] == 0).sum())  # zeros of either sign
    X[:, :3][rng.random((n, 3)) < 0.1] = np.nan
    Z = np.nan_to_num(X, nan=1.5)
    return X, Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + (Z[:, 3] > 0)


X, SIGNAL = make_data()
BINARY = SIGNAL > 0.3
CLASSES = np.digitize(SIGNAL, [-0.2, 0.9])
LABELS = np.column_stack([BINARY, CLASSES == 1, CLASSES == 2]).astype(int)
TARGETS = np.column_stack([SIGNAL, 1 - SIGNAL, np.nan_to_num(X[:, 0])])
POSITIVE = np.exp(SIGNAL / 2)


class SquaredError:
    def calc_ders_range(self, margin, y, weight):
        return [(y[i] - margin[i], -1.0) for i in range(len(y))]


def regressor(y=SIGNAL, rows=X, kind=cb.CatBoostRegressor, **params):
    return kind(**{**SMALL, **params}).fit(rows, y)


def classifier(y=BINARY, **params):
    return regressor(y, kind=cb.CatBoostClassifier, **params)


def base_class(y, loss, **params):
    return cb.CatBoost({**SMALL, "loss_function": loss, **params}).fit(X, y)


def ranker(**params):
    model = cb.CatBoostRanker(**{**SMALL, "loss_function": "QueryRMSE", **params})
    return model.fit(X, CLASSES, group_id=np.repeat(np.arange(10), 30))


# name: (how to train, inverse link)
KINDS = {
    "RMSE": (lambda **p: regressor(**p), "identity"),
    "Quantile": (lambda **p: regressor(loss_function="Quantile:alpha=0.3", **p), "identity"),
    "LogLinQuantile": (lambda **p: regressor(POSITIVE, loss_function="LogLinQuantile", **p), "identity"),
    "MultiQuantile": (lambda **p: regressor(loss_function="MultiQuantile:alpha=0.2,0.8", **p), "identity"),
    "Poisson": (lambda **p: regressor(np.floor(POSITIVE), loss_function="Poisson", **p), "exponential"),
    "Tweedie": (
        lambda **p: regressor(POSITIVE, loss_function="Tweedie:variance_power=1.4", **p),
        "exponential",
    ),
    "RMSEWithUncertainty": (lambda **p: regressor(loss_function="RMSEWithUncertainty", **p), "mean_variance"),
    "MultiRMSE": (lambda **p: regressor(TARGETS, loss_function="MultiRMSE", **p), "identity"),
    "Logloss": (lambda **p: classifier(**p), "sigmoid"),
    "CrossEntropy": (
        lambda **p: classifier(np.clip(SIGNAL, 0, 1), loss_function="CrossEntropy", **p),
        "sigmoid",
    ),
    "MultiClass": (lambda **p: classifier(CLASSES, **p), "softmax"),
    "MultiClass of two": (lambda **p: classifier(loss_function="MultiClass", **p), "softmax"),
    "MultiClassOneVsAll": (
        lambda **p: classifier(CLASSES, loss_function="MultiClassOneVsAll", **p),
        "multiclass_ova",
    ),
    "MultiLogloss": (lambda **p: classifier(LABELS, loss_function="MultiLogloss", **p), "sigmoid"),
    "ranker": (ranker, "identity"),
    "CatBoost, Logloss": (lambda **p: base_class(BINARY, "Logloss", **p), "sigmoid"),
    "CatBoost, Poisson": (lambda **p: base_class(np.floor(POSITIVE), "Poisson", **p), "identity"),
}


# How trees grow does not depend on the loss but for the number of outputs.
TRAINED = [(kind, "SymmetricTree") for kind in KINDS] + [
    (kind, policy) for kind in ("RMSE", "MultiRMSE", "Logloss", "MultiClass") for policy in POLICIES[1:]
]


@pytest.fixture(scope="module", params=TRAINED, ids=str)
def trained(request):
    kind, policy = request.param
    train, link = KINDS[kind]
    return train(grow_policy=policy), link


def own_margin(model, rows):
    margin = cb.CatBoost.predict(model, rows, prediction_type="RawFormulaVal")
    return np.asarray(margin).reshape(len(rows), -1)


def to_json(model, folder):
    path = Path(folder) / "model.json"
    model.save_model(str(path), format="json")
    return json.loads(path.read_text())


def borders(model):
    return {f: np.array(found, dtype=np.float32) for f, found in model.get_borders().items() if len(found)}


@np.errstate(over="ignore")  # beside the border between NaN and all numbers
def awkward_rows(model, n=400, seed=1):
    """Values on borders, a step (of either type) or half a float32 step beside them, missing, infinite, huge."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(len(X), size=n)].copy()
    for feature, found in borders(model).items():
        at = found.astype(np.float64)
        below, above = (np.nextafter(found, np.float32(to)).astype(np.float64) for to in (-np.inf, np.inf))
        special = np.concatenate(
            [
                at,
                np.nextafter(at, -np.inf),
                np.nextafter(at, np.inf),
                below,
                above,
                at + (above - at) / 2,
                np.nextafter(at + (above - at) / 2, np.inf),
                at + (below - at) / 2,
                [np.nan, np.inf, -np.inf, 1e39, -1e39, 0.0, -0.0, 5e-46],
            ]
        )
        chosen = rng.random(n) < 0.7
        rows[chosen, feature] = rng.choice(special, chosen.sum())
    return rows


# -- the trees, from CatBoost's JSON --------------------------------------------------------------


def as_nested(tree):
    """Any tree as nested nodes: the last split of a symmetric one is the root's."""
    if "splits" not in tree:
        return tree
    splits = tree["splits"] or []
    width = len(tree["leaf_values"]) // len(tree["leaf_weights"])

    def grow(depth, leaf):
        if depth == 0:
            value = tree["leaf_values"][leaf * width : (leaf + 1) * width]
            return {"value": value, "weight": tree["leaf_weights"][leaf]}
        return {
            "split": splits[depth - 1],
            "left": grow(depth - 1, leaf),
            "right": grow(depth - 1, leaf + 2 ** (depth - 1)),
        }

    return grow(len(splits), 0)


def weight_of(node):
    return node["weight"] if "value" in node else weight_of(node["left"]) + weight_of(node["right"])


def expected(node, rows, kept):
    """Splits on ``kept`` go the rows' way, others both ways by cover; without cover they count nothing."""
    if "value" in node:
        return np.tile(np.atleast_1d(np.array(node["value"], dtype=float)), (len(rows), 1))
    left, right = (expected(node[side], rows, kept) for side in ("left", "right"))
    split = node["split"]
    feature = split["float_feature_index"]
    if feature in kept:
        goes_right = rows[:, feature].astype(np.float32) > np.float32(split["border"])  # NaN: left
        return np.where(goes_right[:, None], right, left)
    total = weight_of(node)
    a, b = (weight_of(node[side]) / total if total else 0.0 for side in ("left", "right"))
    return a * left + b * right


def path_dependent_game(model, rows, folder):
    content = to_json(model, folder)
    scale, bias = content["scale_and_bias"]
    trees = [as_nested(tree) for tree in content.get("oblivious_trees") or content.get("trees")]
    return {
        s: bias + scale * sum(expected(tree, rows, set(s)) for tree in trees) for s in subsets(rows.shape[1])
    }


# -- margins, components, SHAP values --------------------------------------------------------------


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_columns_add_up_on_awkward_rows(trained, weighting):
    model, _ = trained
    rows = awkward_rows(model)
    decomposer = GlexDecomposer(model, weighting=weighting).fit(X)
    with np.errstate(over="ignore"):  # 1e39 is too large for float32: infinite
        assert_allclose(total(decomposer, rows), own_margin(model, rows), **FLOAT64)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_components_are_those_of_brute_force(trained, weighting, tmp_path):
    model, _ = trained
    rows, background = awkward_rows(model, 30), awkward_rows(model, 40, seed=2)
    with np.errstate(over="ignore"):
        if weighting == "empirical":
            game = brute_force_game(lambda Z: own_margin(model, Z), rows, background)
        else:
            game = path_dependent_game(model, rows, tmp_path)
    components = game_components(game)
    decomposer = GlexDecomposer(model, weighting=weighting).fit(background)
    n_outputs = components[()].shape[1]
    assert_allclose(np.atleast_1d(decomposer.intercept_), components[()][0], **FLOAT64)
    for component in decomposer.components_:
        features = tuple(int(name[1:]) for name in component.features)
        values = component.evaluate(rows).reshape(len(rows), n_outputs)
        assert_allclose(values, components[features], **FLOAT64)
    phi = decomposer.shap_values(rows).reshape(len(rows), 4, n_outputs)
    assert_allclose(phi, shapley_values(components, 4), **FLOAT64)
    pairs = decomposer.shap_interaction_values(rows).reshape(len(rows), 4, 4, n_outputs)
    assert_allclose(pairs, shapley_interactions(components, 4), **FLOAT64)


def test_shap_values_are_catboosts_own(trained):
    """Of symmetric trees: CatBoost 1.2.10's SHAP values of others do not add up to its margin, or it crashes."""
    model, link = trained
    if model.get_all_params()["grow_policy"] != "SymmetricTree" or link == "mean_variance":
        pytest.skip("CatBoost has none that are right, or only those of the mean")
    n_outputs = own_margin(model, X).shape[1]
    pool = cb.Pool(X)
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(X)
    own = model.get_feature_importance(pool, type="ShapValues", thread_count=1)
    own = own.reshape(len(X), n_outputs, 5)
    phi = decomposer.shap_values(X).reshape(len(X), 4, n_outputs)
    assert_allclose(phi, own[:, :, :4].transpose(0, 2, 1), **FLOAT64)
    assert_allclose(np.atleast_1d(decomposer.intercept_), own[0, :, 4], **FLOAT64)
    own = model.get_feature_importance(pool, type="ShapInteractionValues", thread_count=1)
    own = own.reshape(len(X), n_outputs, 5, 5)[:, :, :4, :4]
    pairs = decomposer.shap_interaction_values(X).reshape(len(X), 4, 4, n_outputs)
    assert_allclose(pairs, own.transpose(0, 2, 3, 1), **FLOAT64)


def test_outputs_and_their_links():
    """A feature that no tree splits on changes nothing, so the link is all there is."""
    rows = np.column_stack([X, np.zeros(len(X))])
    for target, kind, loss in (
        (BINARY, cb.CatBoostClassifier, "Logloss"),
        (np.floor(POSITIVE), cb.CatBoostRegressor, "Poisson"),
        (SIGNAL, cb.CatBoostRegressor, "RMSEWithUncertainty"),
    ):
        model = kind(**SMALL, loss_function=loss).fit(rows, target)
        own = model.predict_proba(rows) if kind is cb.CatBoostClassifier else model.predict(rows)
        for params in ({"features": [4]}, {"features": [0], "strength": 0}):
            remover = FeatureRemover(model, **params).fit(rows)
            ours = remover.predict_proba(rows) if kind is cb.CatBoostClassifier else remover.predict(rows)
            assert_allclose(ours, own, **FLOAT64)


def test_nodes_without_cover_count_nothing():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    model = regressor(rows[:, 0] * rows[:, 1], rows, depth=6, iterations=20)
    assert (model.get_leaf_weights() == 0).mean() > 0.5
    with pytest.warns(UserWarning, match=r"nodes of the model have cover 0 .* taken as 0 for each child"):
        decomposer = GlexDecomposer(model, weighting="path_dependent").fit(rows)
    own = model.get_feature_importance(cb.Pool(rows), type="ShapValues")
    assert_allclose(decomposer.shap_values(rows), own[:, :3], **FLOAT64)
    assert_allclose(decomposer.intercept_, own[0, 3], **FLOAT64)


def test_trees_without_leaf_weights(tmp_path):
    """Files may leave them out: margins and empirical weights need none."""
    model = regressor()
    content = to_json(model, tmp_path)
    for tree in content["oblivious_trees"]:
        del tree["leaf_weights"]
    (tmp_path / "bare.json").write_text(json.dumps(content))
    bare = cb.CatBoost().load_model(str(tmp_path / "bare.json"), format="json")
    with pytest.raises(ValueError, match="needs node covers, which this CatBoost does not have"):
        GlexDecomposer(bare, weighting="path_dependent").fit(X)
    expected = GlexDecomposer(model).fit(X).transform(X)
    assert_allclose(GlexDecomposer(bare).fit(X).transform(X), expected, **FLOAT64)  # what JSON rounds


def test_partial_dependence_is_that_of_scikit_learn():
    rows = np.nan_to_num(X)
    model = regressor(rows=rows)
    decomposer = GlexDecomposer(model).fit(rows)
    for features in ([0], [1, 2]):
        brute = partial_dependence(model, rows, features, grid_resolution=7, method="brute")
        values = np.stack(np.meshgrid(*brute["grid_values"], indexing="ij"), axis=-1)
        at = np.zeros((values[..., 0].size, 4))
        at[:, features] = values.reshape(-1, len(features))
        ours = decomposer.partial_dependence(features, at)
        assert_allclose(ours, brute["average"].ravel(), **FLOAT64)


# -- missing values, borders, scale, early stopping --------------------------------------------------


@pytest.mark.parametrize("mode", ["Min", "Max", "Forbidden"])
def test_missing_values_go_where_catboost_sends_them(mode):
    rows = np.nan_to_num(X, nan=7.0) if mode == "Forbidden" else X
    model = regressor(rows=rows, nan_mode=mode)
    probe = awkward_rows(model)  # column 3 has no missing values in training
    probe[::3, 3] = np.nan
    decomposer = GlexDecomposer(model).fit(rows)
    with np.errstate(over="ignore"):
        assert_allclose(total(decomposer, probe), own_margin(model, probe), **FLOAT64)


def test_missing_mode_by_feature():
    quantization = ["0:nan_mode=Max", "1:nan_mode=Min"]
    model = regressor(per_float_feature_quantization=quantization)
    assert total(GlexDecomposer(model).fit(X), X) == pytest.approx(own_margin(model, X), rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_scale_and_bias(policy, tmp_path):
    model = regressor(grow_policy=policy)
    model.set_scale_and_bias(2.5, -3.0)
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(X)
    assert_allclose(total(decomposer, X), own_margin(model, X), **FLOAT64)
    assert_allclose(decomposer.intercept_, path_dependent_game(model, X[:1], tmp_path)[()][0, 0], **FLOAT64)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("use_best_model", [True, False])
def test_early_stopping(policy, use_best_model):
    noise = np.random.default_rng(0).permutation(SIGNAL[200:])
    model = cb.CatBoostRegressor(**{**SMALL, "iterations": 200, "learning_rate": 0.7, "grow_policy": policy})
    model.fit(
        X[:200],
        SIGNAL[:200],
        eval_set=(X[200:], noise),
        early_stopping_rounds=5,
        use_best_model=use_best_model,
    )
    assert (model.tree_count_ == model.best_iteration_ + 1) == use_best_model
    decomposer = GlexDecomposer(model).fit(X)
    assert_allclose(total(decomposer, X), own_margin(model, X), **FLOAT64)


def test_best_model_without_splits_and_no_trees():
    model = regressor(depth=1, iterations=3)
    model.shrink(ntree_end=1)
    decomposer = GlexDecomposer(model, max_interaction=1).fit(X)
    assert_allclose(total(decomposer, X), own_margin(model, X), **FLOAT64)
    stump = regressor(
        np.repeat([0.0, 1.0], 150), l2_leaf_reg=1e9, min_data_in_leaf=300, grow_policy="Depthwise"
    )
    assert_allclose(total(GlexDecomposer(stump).fit(X), X), own_margin(stump, X), **FLOAT64)


def test_many_borders_on_integers_near_2_to_24():
    rng = np.random.default_rng(0)
    rows = 2.0**24 + rng.integers(-20, 20, size=(500, 2))
    model = regressor((rows[:, 0] - 2.0**24) * (rows[:, 1] > 2.0**24), rows, iterations=30)
    decomposer = GlexDecomposer(model).fit(rows)
    assert_allclose(total(decomposer, rows), own_margin(model, rows), **FLOAT64)
    probe = rows + rng.choice([-1.0, 0.0, 0.5, 1.0], size=rows.shape)
    assert_allclose(total(decomposer, probe), own_margin(model, probe), **FLOAT64)


@pytest.mark.parametrize("policy", POLICIES)
def test_saved_copied_and_summed_models(policy, tmp_path):
    model = classifier(np.where(BINARY, "yes", "no"), grow_policy=policy)
    model.save_model(str(tmp_path / "model.cbm"))
    loaded = [
        cb.CatBoostClassifier().load_model(str(tmp_path / "model.cbm")),
        cb.CatBoost().load_model(str(tmp_path / "model.cbm")),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    reference = GlexDecomposer(model).fit(X)
    for other in loaded:
        decomposer = GlexDecomposer(other).fit(X)
        assert_array_equal(decomposer.transform(X), reference.transform(X))
        assert decomposer.classes_.tolist() == ["no", "yes"]
    both = cb.sum_models([model, model], weights=[0.25, 2.0])
    decomposer = GlexDecomposer(both).fit(X)
    assert_allclose(decomposer.transform(X), 2.25 * reference.transform(X), **FLOAT64)


def test_custom_objective():
    model = regressor(loss_function=SquaredError(), eval_metric="RMSE")
    assert_allclose(total(GlexDecomposer(model).fit(X), X), own_margin(model, X), **FLOAT64)


# -- categorical features --------------------------------------------------------------------------


def categorical_frame(n=300, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["Mainz", "Köln", "Ulm", "Bonn"], size=n),
            "floor": rng.integers(-1, 4, size=n),
        }
    )
    y = frame["size"] * (frame["town"] == "Köln") + 2.0 * (frame["floor"] == 2) - (frame["town"] == "Ulm")
    return frame, y.to_numpy()


FRAME, PRICE = categorical_frame()
CATEGORICAL = ["town", "floor"]
UNSEEN = pd.DataFrame({"size": [0.1, 0.2, 0.3], "town": ["Köln", "Paris", ""], "floor": [99, 2, -7]})


def one_hot(policy="SymmetricTree", rows=FRAME, features=CATEGORICAL, **params):
    return regressor(
        PRICE, rows, cat_features=features, one_hot_max_size=20, grow_policy=policy, iterations=15, **params
    )


def variants():
    """The same rows in all containers that hold strings."""
    polars = pytest.importorskip("polars")
    both = pd.concat([FRAME, UNSEEN], ignore_index=True)
    return {
        "strings": both,
        "categories": both.astype({"town": "category", "floor": "category"}),
        "pandas' own strings": both.astype({"town": "string", "floor": str}),
        "polars": polars.DataFrame(both.to_dict("list")),
    }


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_one_hot_features_in_every_container(policy, weighting):
    model = one_hot(policy)
    for name, rows in variants().items():
        decomposer = GlexDecomposer(model, weighting=weighting).fit(rows[:300])
        assert_allclose(total(decomposer, rows), own_margin(model, rows), **FLOAT64, err_msg=name)
    array = pd.concat([FRAME, UNSEEN]).to_numpy(dtype=object)
    model = one_hot(policy, FRAME.to_numpy(dtype=object), [1, 2])
    decomposer = GlexDecomposer(model, weighting=weighting).fit(array[:300])
    assert decomposer.transform(array).shape == (303, decomposer.n_components_)
    assert_allclose(total(decomposer, array), own_margin(model, array), **FLOAT64)


def test_one_hot_shap_values_are_catboosts_own():
    model = one_hot()
    pool = cb.Pool(FRAME, cat_features=CATEGORICAL)
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(FRAME)
    own = model.get_feature_importance(pool, type="ShapValues")
    assert_allclose(decomposer.shap_values(FRAME), own[:, :3], **FLOAT64)
    own = model.get_feature_importance(pool, type="ShapInteractionValues")
    assert_allclose(decomposer.shap_interaction_values(FRAME), own[:, :3, :3], **FLOAT64)


def test_one_hot_components_are_those_of_brute_force():
    array = FRAME.to_numpy(dtype=object)
    model = one_hot("Depthwise", array, [1, 2])
    rows, background = np.vstack([array[:20], UNSEEN.to_numpy(dtype=object)]), array[100:160]
    components = game_components(brute_force_game(lambda Z: own_margin(model, Z), rows, background))
    decomposer = GlexDecomposer(model).fit(background)
    for component in decomposer.components_:
        features = tuple(int(name[1:]) for name in component.features)
        assert_allclose(component.evaluate(rows), components[features][:, 0], **FLOAT64)


def test_categories_have_their_names_on_axes():
    decomposer = GlexDecomposer(one_hot()).fit(FRAME)
    axis = decomposer.feature_axis("town")
    assert axis.categorical
    assert set(axis.edges) <= {"Mainz", "Köln", "Ulm", "Bonn"}
    table = decomposer["town"]
    assert_array_equal(table.edges[0], axis.edges)
    at = np.flatnonzero(axis.edges == "Köln")[0]
    rows = FRAME[FRAME["town"] == "Köln"]
    assert_allclose(table.evaluate(rows), table.values[at], **FLOAT64)
    assert set(decomposer.feature_axis("floor").edges) <= {-1, 0, 1, 2, 3}
    few = GlexDecomposer(one_hot()).fit(FRAME[FRAME["town"] == "Ulm"])
    assert "Ulm" in few.feature_axis("town").edges  # the others keep the model's codes


def test_integer_arrays_and_sparse_matrices():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(300, 3))
    model = regressor(rows[:, 0] * (rows[:, 1] == 2), rows, cat_features=[1], one_hot_max_size=10)
    decomposer = GlexDecomposer(model).fit(rows)
    assert_allclose(total(decomposer, rows), own_margin(model, rows), **FLOAT64)
    sparse = sp.csr_matrix(rows)
    assert_array_equal(GlexDecomposer(model).fit(sparse).transform(sparse), decomposer.transform(rows))
    numeric = regressor(SIGNAL, np.nan_to_num(X))
    dense = GlexDecomposer(numeric).fit(np.nan_to_num(X))
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array):
        rows = kind(np.nan_to_num(X))
        assert_array_equal(
            GlexDecomposer(numeric).fit(rows).transform(rows), dense.transform(np.nan_to_num(X))
        )


def test_categories_that_catboost_does_not_take():
    decomposer = GlexDecomposer(one_hot()).fit(FRAME)
    for bad in (np.nan, 1.5):
        rows = FRAME.astype({"town": object}).head(3)
        rows.iloc[1, 1] = bad
        with pytest.raises(ValueError, match=r"categories in column 'town' are none that CatBoost takes"):
            decomposer.transform(rows)


def test_columns_in_another_order_are_refused():
    decomposer = GlexDecomposer(one_hot()).fit(FRAME)
    with pytest.raises(ValueError, match="feature names should match"):
        decomposer.transform(FRAME[["town", "size", "floor"]])


def test_plots_and_shap_explanations_of_categories():
    pytest.importorskip("shap")
    from skglex.export import to_shap
    from skglex.plotting import ComponentDisplay

    array = FRAME.to_numpy(dtype=object)
    for model, rows in ((one_hot(), FRAME), (one_hot(rows=array, features=[1, 2]), array)):
        decomposer = GlexDecomposer(model).fit(rows)
        explanation = to_shap(decomposer, rows[:5])
        assert_array_equal(explanation.display_data[:, 1], FRAME["town"][:5])
        name = decomposer.get_feature_names_out()[1]
        display = ComponentDisplay.from_decomposer(decomposer, name, X=rows)
        labels = {text.get_text() for text in np.ravel(display.axes_)[0].get_xticklabels()}
        assert labels & {"Mainz", "Köln", "Ulm", "Bonn"}


# -- refusals --------------------------------------------------------------------------------------


def test_target_statistics_are_refused():
    model = regressor(PRICE, FRAME, cat_features=CATEGORICAL, one_hot_max_size=1)
    with pytest.raises(ValueError, match=r"CTRs.*\['floor', 'town'\].*one_hot_max_size.*TargetEncoder"):
        GlexDecomposer(model).fit(FRAME)
    pipeline = make_pipeline(TargetEncoder(), cb.CatBoostRegressor(**SMALL))
    encoded = GlexDecomposer(pipeline).fit(FRAME[["town"]], PRICE)  # the way out
    assert_allclose(
        total(encoded, FRAME[["town"]])[:, 0], encoded.estimator_.predict(FRAME[["town"]]), **FLOAT64
    )


def test_text_and_embedding_features_are_refused():
    frame = pd.DataFrame({"a": X[:, 3], "words": np.where(BINARY, "good fine day", "bad rainy day")})
    model = classifier_on(frame, text_features=["words"])
    with pytest.raises(ValueError, match="words"):
        GlexDecomposer(model).fit(frame)
    frame = pd.DataFrame({"a": X[:, 3], "vector": [np.array(row) for row in np.nan_to_num(X[:, :2])]})
    model = classifier_on(frame, embedding_features=["vector"])
    with pytest.raises(ValueError, match="vector"):
        GlexDecomposer(model).fit(frame)


def classifier_on(frame, **params):
    return cb.CatBoostClassifier(**SMALL, **params).fit(frame, BINARY)


def test_unfitted_base_class():
    with pytest.raises(ValueError, match="the CatBoost is not fitted: call fit before, or pass y"):
        find_reader(cb.CatBoost(SMALL))(cb.CatBoost(SMALL))
    with pytest.raises(ValueError, match=r"requires y|not fitted"):
        GlexDecomposer(cb.CatBoost(SMALL)).fit(X)
    GlexDecomposer(cb.CatBoostRegressor(**SMALL)).fit(X, SIGNAL)  # no warning that it was fitted already


# -- fitted here -----------------------------------------------------------------------------------


def test_clone_mode_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    labels = np.where(BINARY, "yes", "no")
    estimator = cb.CatBoostClassifier(**SMALL)
    decomposer = GlexDecomposer(estimator).fit(X, labels, eval_set=[(X[:50], labels[:50])])
    assert decomposer.classes_.tolist() == ["no", "yes"]
    own = classifier(labels, use_best_model=False)
    assert not estimator.is_fitted()
    assert_allclose(total(decomposer, X), own_margin(decomposer.estimator_, X), **FLOAT64)
    remover = FeatureRemover(estimator, ["x1"]).fit(X, labels)
    assert set(remover.predict(X)) == {"no", "yes"}
    assert_allclose(remover.set_params(strength=0).predict_proba(X), own.predict_proba(X), **FLOAT64)
    GlexDecomposer(one_hot()).fit(FRAME)
    assert list(tmp_path.iterdir()) == []


def test_clone_mode_with_categories():
    estimator = cb.CatBoostRegressor(**SMALL, cat_features=CATEGORICAL, one_hot_max_size=20)
    decomposer = GlexDecomposer(estimator).fit(FRAME, PRICE)
    assert_allclose(total(decomposer, UNSEEN), own_margin(decomposer.estimator_, UNSEEN), **FLOAT64)
    estimator.set_params(cat_features=tuple(CATEGORICAL))  # a search clones it: CatBoost copies lists
    search = GridSearchCV(GlexDecomposer(estimator), {"max_interaction": [1, 2]}, scoring=lambda *_: 0.0)
    assert search.fit(FRAME, PRICE).best_params_ == {"max_interaction": 1}
    array = FRAME.to_numpy(dtype=object)
    estimator = cb.CatBoostRegressor(**SMALL, one_hot_max_size=20)
    decomposer = GlexDecomposer(estimator).fit(array, PRICE, cat_features=[1, 2])
    assert_allclose(total(decomposer, array), own_margin(decomposer.estimator_, array), **FLOAT64)


def test_pipeline():
    rows = np.nan_to_num(X)
    decomposer = GlexDecomposer(make_pipeline(StandardScaler(), cb.CatBoostRegressor(**SMALL))).fit(
        rows, SIGNAL
    )
    assert_allclose(total(decomposer, rows)[:, 0], decomposer.estimator_.predict(rows), **FLOAT64)


def test_pickled_decomposer():
    decomposer = GlexDecomposer(one_hot()).fit(FRAME)
    again = pickle.loads(pickle.dumps(decomposer))
    assert_array_equal(again.transform(FRAME), decomposer.transform(FRAME))


# What CatBoost itself refuses, or does otherwise; it lists these among its own expected failures.
REFUSED = {
    "check_estimator_sparse_tag": "CatBoost takes no sparse arrays",
    "check_estimator_sparse_array": "CatBoost takes no sparse arrays",
    "check_estimator_sparse_matrix": "CatBoost takes no DIA matrices",
    "check_fit2d_1sample": "CatBoost raises a CatBoostError",
    "check_sample_weight_equivalence_on_dense_data": "CatBoost's borders do not depend on weights",
    "check_sample_weight_equivalence_on_sparse_data": "CatBoost's borders do not depend on weights",
}


def expected_failures(estimator):
    if isinstance(estimator, FeatureRemover) and isinstance(estimator.estimator, cb.CatBoostClassifier):
        return {**REFUSED, "check_classifiers_one_label": "CatBoost raises a CatBoostError"}
    return REFUSED


TINY = {**SMALL, "iterations": 5}


@parametrize_with_checks(
    [
        GlexDecomposer(cb.CatBoostRegressor(**TINY)),
        GlexDecomposer(cb.CatBoostClassifier(**TINY)),
        FeatureRemover(cb.CatBoostRegressor(**TINY), [0]),
        FeatureRemover(cb.CatBoostClassifier(**TINY), [0]),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# -- FeatureRemover, ONNX ----------------------------------------------------------------------------


def test_probabilities_of_two_classes():
    model = classifier(BINARY)
    remover = FeatureRemover(model, ["x0"], strength=1e-300).fit(X)
    assert_allclose(remover.predict_proba(X), model.predict_proba(X), **FLOAT64)


def test_removal(trained):
    model, link = trained
    own = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    remover = FeatureRemover(model, ["x0"], strength=0).fit(X)
    assert remover._model.link == link
    whole = FeatureRemover(model, ["x0"], strength=1e-300).fit(X)  # through the leaves and our inverse link
    for got in (remover, whole):
        if hasattr(model, "predict_proba"):
            assert_allclose(got.predict_proba(X), own, **FLOAT64)
            assert_array_equal(got.predict(X), np.squeeze(model.predict(X)))
        elif link != "sigmoid":  # `catboost.CatBoost` is a classifier that predicts its margin
            assert_allclose(got.predict(X), own, **FLOAT64)
    changed = np.column_stack([np.random.default_rng(0).permutation(X[:, 0]), X[:, 1:]])
    without = FeatureRemover(model, ["x0"]).fit(X)
    assert_array_equal(without.margin(X), without.margin(changed))
    game = brute_force_game(lambda Z: own_margin(model, Z), X[:5], X)
    assert_allclose(without.margin(X[:5]).reshape(5, -1), game[(1, 2, 3)], **FLOAT64)


def test_removed_categories_may_be_absent_or_anything():
    remover = FeatureRemover(one_hot(), ["town"]).fit(FRAME)
    expected = remover.predict(FRAME)
    assert_array_equal(remover.predict(FRAME.drop(columns="town")), expected)
    assert_array_equal(remover.predict(FRAME.assign(town=np.nan)), expected)
    array = FRAME.to_numpy(dtype=object)
    remover = FeatureRemover(one_hot(rows=array, features=[1, 2]), [1]).fit(array)
    changed = array.copy()
    changed[:, 1] = np.nan
    assert_array_equal(remover.predict(changed), remover.predict(array))
    assert_allclose(remover.predict(array), expected, **FLOAT64)


def test_onnx(trained, run_onnx):
    model, link = trained
    remover = FeatureRemover(model, ["x1"]).fit(X)
    rows = awkward_rows(model)
    if link == "sigmoid" and remover._debiased.n_outputs > 1:
        with pytest.raises(ValueError, match="one output per class"):
            remover.to_onnx()
        return
    out = run_onnx(remover.to_onnx(), rows)
    # ONNX's trees return a float32
    close = {"rtol": 1e-5, "atol": 1e-5}
    assert_allclose(out["margin"], remover.margin(rows).reshape(len(rows), -1), **close)
    if link in ("sigmoid", "softmax", "multiclass_ova") and "probabilities" in out:
        assert_allclose(out["probabilities"], remover.predict_proba(rows), **close)
    else:
        assert_allclose(np.squeeze(out["variable"]), remover.predict(rows), **close)


def test_onnx_of_categories(run_onnx):
    model = one_hot("Lossguide")
    remover = FeatureRemover(model, ["floor"]).fit(FRAME)
    names = GlexDecomposer(model).fit(FRAME).feature_axis("town").edges.tolist()
    rows = pd.concat([FRAME, UNSEEN], ignore_index=True)
    coded = [
        [size, names.index(town) if town in names else -1, 0] for size, town in rows.iloc[:, :2].to_numpy()
    ]
    out = run_onnx(remover.to_onnx(), np.array(coded, dtype=np.float64))
    assert_allclose(out["variable"][:, 0], remover.predict(rows), rtol=1e-5, atol=1e-5)


# -- any model --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10_000),
    policy=st.sampled_from(POLICIES),
    depth=st.integers(1, 5),
    border_count=st.integers(1, 40),
    nan_mode=st.sampled_from(["Min", "Max"]),
    weighting=st.sampled_from(WEIGHTINGS),
    decimals=st.integers(0, 3),
    n_classes=st.sampled_from([0, 2, 3]),
)
def test_any_model(seed, policy, depth, border_count, nan_mode, weighting, decimals, n_classes):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(80, 4)), decimals)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    data = pd.DataFrame(rows[:, :3], columns=list("abc"))
    data["d"] = rng.choice(["u", "v", "w", "x"], size=80)
    y = np.nan_to_num(rows[:, 0] * rows[:, 1]) + (data["d"] == "v") + rng.normal(scale=0.1, size=80)
    kind = cb.CatBoostClassifier if n_classes else cb.CatBoostRegressor
    if n_classes:
        y = pd.qcut(y, n_classes, labels=False)
    params = {"depth": depth, "border_count": border_count, "nan_mode": nan_mode, "grow_policy": policy}
    model = kind(**{**SMALL, **params}, one_hot_max_size=9, cat_features=["d"]).fit(data, y)
    probe = data.sample(60, replace=True, random_state=seed).reset_index(drop=True)
    found = model.get_borders()
    for j, name in enumerate("abc"):
        if found.get(j):
            at = np.array(found[j], dtype=np.float32)
            with np.errstate(over="ignore"):
                beside = [np.nextafter(at, np.float32(to)) for to in (-np.inf, np.inf)]
            probe[name] = np.where(
                rng.random(60) < 0.5, rng.choice(np.concatenate([at, *beside]), 60).astype(float), probe[name]
            )
    probe["d"] = np.where(rng.random(60) < 0.1, "unseen", probe["d"])
    decomposer = GlexDecomposer(model, weighting=weighting).fit(data)
    assert_allclose(total(decomposer, probe), own_margin(model, probe), **FLOAT64)
    phi = decomposer.shap_values(probe)
    summed = phi.reshape(60, 4, -1).sum(axis=1) + decomposer.intercept_
    assert_allclose(summed, own_margin(model, probe), **FLOAT64)
    remover = FeatureRemover(model, ["d"], weighting=weighting).fit(data)
    without = sum(c.evaluate(probe) for c in decomposer.components_ if "d" not in c.features)
    assert_allclose(remover.margin(probe), without + decomposer.intercept_, **FLOAT64)
