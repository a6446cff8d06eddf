"""Exports agree with the debiased leaves, summed up one by one in NumPy."""

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import treelite
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st
from skglex._debiased import debiased_booster, onnx_model
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier

from skglex import GlexDecomposer
from skglex._input import InputSpec, bin_rows
from skglex._leaves import Background, Empirical, PathDependent
from skglex._readers import SourceModel
from skglex._readers._registry import find_reader
from skglex._readers._treelite import from_treelite
from skglex._utils import DEFAULT_EXECUTION
from skglex.export._forest import Forest, drop_removed_splits
from skglex.export._rebuild_trees import rebuild_trees

RNG = np.random.default_rng(0)
N = 600
# rounded to 0.1 in float64, so that many rows lie on thresholds
X = RNG.normal(size=(N, 6)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
Z = np.nan_to_num(X)
Y = Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + Z[:, 3] * (Z[:, 0] > 0) + Z[:, 4] * Z[:, 5]
LABELS = np.digitize(Y, [-1, 1])

FRAME = pd.DataFrame(X, columns=list("abcdef"))
FRAME["g"] = pd.Categorical(np.array(list("uvwxyz"))[RNG.integers(6, size=N)])
FRAME["h"] = pd.Categorical(np.array(list("ABCDEFGHIJKL"))[RNG.integers(12, size=N)])
FRAME.loc[::7, "g"] = np.nan
Y_FRAME = Y + FRAME["g"].cat.codes.to_numpy() % 3 + (FRAME["h"].cat.codes.to_numpy() % 5) * Z[:, 0]

DEFAULTS = {"n_estimators": 12, "max_depth": 5, "n_jobs": 1}


def regressor(**params):
    return xgb.XGBRegressor(**{**DEFAULTS, **params})


def classifier(**params):
    return xgb.XGBClassifier(**{**DEFAULTS, **params})


def early_stopped():
    model = regressor(n_estimators=200, learning_rate=0.5, early_stopping_rounds=2)
    return model.fit(X[:300], Y[:300], eval_set=[(X[300:], Y[300:])], verbose=False)


def categorical(max_cat_to_onehot):
    return regressor(enable_categorical=True, max_cat_to_onehot=max_cat_to_onehot).fit(FRAME, Y_FRAME)


MODELS = {
    "squared error": lambda: regressor().fit(X, Y),
    "exact, pruned": lambda: regressor(tree_method="exact", gamma=0.5).fit(X, Y),
    "leaf by leaf": lambda: regressor(grow_policy="lossguide", max_depth=0, max_leaves=40).fit(X, Y),
    "poisson": lambda: regressor(objective="count:poisson").fit(X, np.abs(Y)),
    "binary": lambda: classifier().fit(X, Y > 0),
    "multi-class": lambda: classifier(n_estimators=5).fit(X, LABELS),
    "parallel trees": lambda: classifier(n_estimators=4, num_parallel_tree=2, subsample=0.5).fit(X, LABELS),
    "two outputs": lambda: regressor().fit(X, np.column_stack([Y, Y**2])),
    "vector leaves": lambda: regressor(multi_strategy="multi_output_tree").fit(X, np.column_stack([Y, Y**2])),
    "early stopping": early_stopped,
    "one-hot": lambda: categorical(100),
    "partition": lambda: categorical(1),
    "one leaf": lambda: regressor(max_depth=1, gamma=1e9).fit(X, Y),
}


def is_frame(model):
    return model.n_features_in_ == FRAME.shape[1]


def rows_of(model):
    return FRAME if is_frame(model) else X


def codes(rows):
    """Numbers for a data frame: a categorical column becomes the codes that the model knows."""
    if not isinstance(rows, pd.DataFrame):
        return rows
    columns = [c.cat.codes.where(c.cat.codes >= 0) if c.dtype == "category" else c for _, c in rows.items()]
    return np.column_stack(columns).astype(float)


def leaf_weights(ensemble, bins, removed, weighting):
    gone = np.isin(ensemble.grid.features, list(removed))
    weighting = (
        Empirical(Background(bins, np.ones(bins.shape[1]))) if weighting == "empirical" else PathDependent()
    )
    return gone, weighting.joint_weights(ensemble, gone[ensemble.condition_feature], DEFAULT_EXECUTION)


def debiased_margin(ensemble, bins, gone, weight):
    """Add up v_l * 1[x meets the conditions on kept used_features] * E_l, leaf by leaf."""
    conditions, b = ensemble.conditions, bins.astype(int)
    out = np.repeat(ensemble.base[None], b.shape[1], axis=0)
    width = ensemble.value.shape[1]
    for leaf in range(ensemble.n_leaves):
        met = np.ones(b.shape[1], dtype=bool)
        for c in ensemble.leaf_condition[ensemble.leaf_ptr[leaf] : ensemble.leaf_ptr[leaf + 1]]:
            x = b[conditions.feature[c]]
            if gone[conditions.feature[c]]:
                continue
            if conditions.mask[c] >= 0:
                met &= conditions.masks[conditions.mask[c] + x] != 0
            else:
                met &= ((x >= conditions.lo[c]) & (x < conditions.hi[c])) | (x == conditions.missing[c])
        outputs = slice(ensemble.output[leaf], ensemble.output[leaf] + width)
        out[:, outputs] += met[:, None] * ensemble.value[leaf] * weight[leaf]
    return out


def export(model, removed, weighting="empirical"):
    """The booster, the margin it should have, and what it was made from."""
    read = find_reader(model)(model)
    if weighting == "path_dependent" and read.ensemble.path_ratio is None:
        pytest.skip("this XGBoost keeps no cover of vector leaves")
    bins = bin_rows(rows_of(model), read.input, read.ensemble.grid)
    gone, weight = leaf_weights(read.ensemble, bins, removed, weighting)
    expected = debiased_margin(read.ensemble, bins, gone, weight)
    return debiased_booster(model, removed, weight), expected, (read, gone, weight)


def margin(booster, rows):
    data = xgb.DMatrix(rows, enable_categorical=True)
    return booster.predict(data, output_margin=True).reshape(len(rows), -1)


def trees_of(booster):
    return json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]


def used_features(booster):
    return {
        feature
        for tree in trees_of(booster)
        for feature, left in zip(tree["split_indices"], tree["left_children"])
        if left >= 0
    }


def assert_float32_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6 * max(1, np.abs(expected).max()))


# -- the booster ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
@pytest.mark.parametrize("name", MODELS)
def test_booster_is_the_debiased_model(name, weighting):
    model = MODELS[name]()
    removed = {0, 6} if is_frame(model) else {0, 3}
    booster, expected, _ = export(model, removed, weighting)
    rows = rows_of(model)
    assert_float32_close(margin(booster, rows), expected)
    assert not used_features(booster) & removed
    other = rows.copy()
    if is_frame(model):
        other["a"] = np.nan
    else:
        other[:, list(removed)] = 1e30
    np.testing.assert_array_equal(margin(booster, other), margin(booster, rows))


@pytest.mark.parametrize("name", MODELS)
def test_booster_stays_a_drop_in(name, tmp_path):
    model = MODELS[name]()
    booster, expected, _ = export(model, {1})
    original = model.get_booster()
    assert booster.feature_names == original.feature_names
    assert booster.feature_types == original.feature_types
    assert booster.num_features() == original.num_features()
    old, new = (json.loads(b.save_raw("json"))["learner"] for b in (original, booster))
    assert new["learner_model_param"] == old["learner_model_param"]
    assert new["objective"] == old["objective"]
    assert not {"best_iteration", "best_score"} & set(booster.attributes())
    for suffix in ("json", "ubj"):
        booster.save_model(tmp_path / f"model.{suffix}")
        loaded = type(model)()
        loaded.load_model(tmp_path / f"model.{suffix}")
        kept = loaded.predict(rows_of(model), output_margin=True).reshape(expected.shape)
        np.testing.assert_array_equal(kept, margin(booster, rows_of(model)))
    if isinstance(model, xgb.XGBClassifier):
        assert loaded.n_classes_ == model.n_classes_
        assert loaded.predict_proba(X).shape == (N, model.n_classes_)


def test_nodes_are_numbered_as_xgboost_expects():
    booster, *_ = export(MODELS["partition"](), {0, 6})
    for t, tree in enumerate(trees_of(booster)):
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        inner = left >= 0
        assert tree["id"] == t
        assert int(tree["tree_param"]["num_nodes"]) == len(left)
        np.testing.assert_array_equal(right[inner], left[inner] + 1)
        parents = np.array(tree["parents"])
        np.testing.assert_array_equal(parents[left[inner]], np.flatnonzero(inner))
        np.testing.assert_array_equal(parents[right[inner]], np.flatnonzero(inner))


@pytest.mark.mutation
def test_booster_keeps_rounds_and_categories():
    model = categorical(1)
    booster, *_ = export(model, {0})
    assert booster.num_boosted_rounds() == model.n_estimators
    # a frame whose categories have other codes
    shuffled = FRAME.assign(h=FRAME["h"].cat.reorder_categories(list("LKJIHGFEDCBA")))
    if hasattr(booster, "get_categories"):  # XGBoost keeps the categories from then on
        np.testing.assert_array_equal(margin(booster, shuffled), margin(booster, FRAME))
    read = find_reader(model)(model)
    n_trees = 5
    first = read.ensemble.tree_ptr[n_trees]
    bins = bin_rows(FRAME, read.input, read.ensemble.grid)
    gone, weight = leaf_weights(read.ensemble, bins, {0}, "empirical")
    weight[first:] = 0
    expected = debiased_margin(read.ensemble, bins, gone, weight)
    assert_float32_close(margin(booster[:n_trees], FRAME), expected)


@pytest.mark.mutation
def test_early_stopped_booster_has_the_counted_trees():
    model = early_stopped()
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    booster, *_ = export(model, {0})
    assert booster.num_boosted_rounds() == model.best_iteration + 1


@pytest.mark.filterwarnings("ignore:.*dart.*is deprecated:UserWarning")
def test_dart_becomes_gbtree():
    model = regressor(booster="dart", rate_drop=0.3).fit(X, Y)
    content = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]
    drop = content.get("weight_drop") or content["model"]["weight_drop"]
    assert len(set(drop)) > 1
    booster, expected, _ = export(model, {0, 3})
    assert_float32_close(margin(booster, X), expected)
    assert json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gbtree"
    weights = np.ones(find_reader(model)(model).ensemble.n_leaves)
    assert_float32_close(margin(debiased_booster(model, set(), weights), X), margin(model.get_booster(), X))


def test_contributions_are_those_of_the_kept_components():
    model = regressor(max_depth=4).fit(X, Y)
    removed = {0, 3}
    booster, *_ = export(model, removed, "path_dependent")
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(X)
    expected = np.zeros(X.shape)
    for component, column in zip(decomposer.components_, decomposer.transform(X).T):
        features = [int(name[1:]) for name in component.features]
        if not removed & set(features):
            expected[:, features] += column[:, None] / len(features)
    contributions = booster.predict(xgb.DMatrix(X), pred_contribs=True)
    assert_float32_close(contributions[:, :-1], expected)
    np.testing.assert_allclose(contributions[:, -1], decomposer.intercept_, rtol=1e-5)


def test_removing_everything_or_nothing():
    model = regressor().fit(X, Y)
    booster, expected, _ = export(model, set(range(6)))
    assert np.ptp(expected) == 0
    assert_float32_close(margin(booster, X), expected)
    assert booster.trees_to_dataframe()["Feature"].eq("Leaf").all()
    booster, *_ = export(model, set())
    np.testing.assert_array_equal(margin(booster, X), margin(model.get_booster(), X))
    assert len(booster.get_dump()) == model.n_estimators


@pytest.mark.mutation
def test_bare_booster_and_no_trees():
    model = regressor().fit(X, Y)
    _, _, (_, _, weight) = export(model, {0})
    wrapped, bare = (debiased_booster(m, {0}, weight) for m in (model, model.get_booster()))
    np.testing.assert_array_equal(margin(wrapped, X), margin(bare, X))
    empty = xgb.train({}, xgb.DMatrix(X, Y), num_boost_round=0)
    assert debiased_booster(empty, {0}, np.empty(0)).num_boosted_rounds() == 0
    with pytest.raises(ValueError, match="leaf_weight has 3 entries"):
        debiased_booster(model, {0}, np.ones(3))


def test_a_removed_feature_adds_trees_but_hardly_nodes():
    model = regressor(n_estimators=30, max_depth=6).fit(X, Y)
    booster, *_ = export(model, {0})
    before, after = (
        (len(trees), sum(len(tree["left_children"]) for tree in trees))
        for trees in (trees_of(model.get_booster()), trees_of(booster))
    )
    assert before[0] < after[0] < 5 * before[0]
    assert after[1] < 1.2 * before[1]


# -- the surgery ------------------------------------------------------------------------------


@st.composite
def forests(draw):
    """Random trees over binary questions; some inner nodes ask none."""
    left, right, split, value, roots = [], [], [], [], []

    def grow(depth):
        node = len(left)
        for column in (left, right, split):
            column.append(-1)
        value.append([float(draw(st.integers(-3, 3)))])
        if depth and draw(st.booleans()):
            value[node] = [0.0]
            split[node] = draw(st.integers(-1, 4))
            left[node], right[node] = grow(depth - 1), grow(depth - 1)
        return node

    for _ in range(draw(st.integers(1, 3))):
        roots.append(grow(5))
    return Forest(*(np.array(a, np.int64) for a in (roots, left, right, split)), np.array(value))


def evaluate(forest, answers):
    """Sum of all trees, where ``answers[s]`` says whether split s goes left."""

    def below(node):
        if forest.left[node] < 0:
            return forest.value[node, 0]
        left, right = forest.left[node], forest.right[node]
        if forest.split[node] < 0:
            return below(left) + below(right)
        return below(left if answers[forest.split[node]] else right)

    return sum(below(root) for root in forest.roots)


@settings(max_examples=80, deadline=None)
@given(forest=forests())
def test_without_gaps_is_the_same_sum(forest):
    """`bound_nodes` and `side_by_side`."""
    new, origin = drop_removed_splits(forest)
    inner = new.left >= 0
    assert (new.split[inner] >= 0).all()
    assert (new.split[~inner] == -1).all()
    assert set(origin) == set(range(forest.n_trees))
    assert (np.diff(origin) >= 0).all()
    assert new.value[inner].sum() == 0
    for answers in np.ndindex(*[2] * 5):
        assert evaluate(new, answers) == pytest.approx(evaluate(forest, answers))


def test_grow_forest_brings_the_trees_back():
    for name in ("squared error", "partition", "multi-class"):
        model = MODELS[name]()
        ensemble = find_reader(model)(model).ensemble
        forest, _ = rebuild_trees(ensemble, np.zeros(len(ensemble.grid.features), bool), ensemble.value)
        assert len(forest.left) == 2 * ensemble.n_leaves - (len(ensemble.tree_ptr) - 1)
        np.testing.assert_array_equal(forest.value[forest.leaves()], ensemble.value)


# -- ONNX ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_onnx_is_the_debiased_model(name, run_onnx):
    model = MODELS[name]()
    removed = {0, 6} if is_frame(model) else {0, 3}
    _, expected, (read, gone, weight) = export(model, removed)
    exported = onnx_model(read, removed=gone, leaf_weight=weight)
    rows = codes(rows_of(model))
    result = run_onnx(exported, rows)
    assert set(result) == {"variable", "margin"}
    assert_float32_close(result["margin"], expected)
    other = rows.copy()
    other[:, list(removed)] = np.nan
    np.testing.assert_array_equal(run_onnx(exported, other)["margin"], result["margin"])


def test_onnx_compares_as_xgboost_does(run_onnx):
    model = regressor(tree_method="exact").fit(X, Y)
    read = find_reader(model)(model)
    exported = onnx_model(read)
    grid = read.ensemble.grid
    cuts = grid.cuts_of(0).astype(np.float32).astype(float)
    values = np.concatenate([f(cuts) for f in (lambda c: c, lambda c: np.nextafter(c, -np.inf))])
    values = np.concatenate([values, cuts.astype(np.float32) - np.float32(1e-6), [np.inf, -np.inf, np.nan]])
    rows = np.tile(X[:1], (len(values), 1))
    rows[:, grid.features[0]] = values
    expected = model.predict(rows)
    assert_float32_close(run_onnx(exported, rows)["variable"][:, 0], expected)
    single = onnx_model(read, input_dtype=np.float32)
    assert_float32_close(run_onnx(single, rows.astype(np.float32))["variable"][:, 0], expected)


def test_onnx_categories_never_seen(run_onnx):
    model = categorical(1)
    read = find_reader(model)(model)
    rows = codes(FRAME)
    rows[:, 7] = np.resize([-1, 12, 40, 1e9, 0.5, np.nan, 3], N)
    data = xgb.DMatrix(rows, feature_names=list(FRAME), feature_types=model.get_booster().feature_types)
    expected = model.get_booster().predict(data)
    result = run_onnx(onnx_model(read), rows)
    assert_float32_close(result["variable"][:, 0], expected)


def test_onnx_own_missing_value(run_onnx):
    rows = np.where(np.isnan(X), -999, X)
    model = regressor(missing=-999).fit(rows, Y)
    read = find_reader(model)(model)
    exported = onnx_model(read)
    assert_float32_close(run_onnx(exported, rows)["variable"][:, 0], model.predict(rows))


@pytest.mark.parametrize(
    ("labels", "link", "names"),
    [
        (Y > 0, "sigmoid", np.array([3, 7])),
        (Y > 0, "sigmoid", np.array([False, True])),
        (LABELS, "softmax", np.array(["low", "mid", "high"])),
    ],
)
def test_onnx_classifier(labels, link, names, run_onnx):
    model = classifier().fit(X, labels)
    read = find_reader(model)(model)
    result = run_onnx(onnx_model(replace(read, link=link), classes=names), X)
    assert list(result) == ["label", "probabilities", "margin"]
    np.testing.assert_allclose(result["probabilities"], model.predict_proba(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(result["label"], names[model.predict(X)])


def test_onnx_other_links(run_onnx):
    model = MODELS["poisson"]()
    read = find_reader(model)(model)
    result = run_onnx(onnx_model(read), X)
    np.testing.assert_allclose(result["variable"][:, 0], model.predict(X), rtol=1e-5)
    result = run_onnx(onnx_model(replace(read, link="hinge")), X)
    np.testing.assert_array_equal(result["variable"], result["margin"] > 0)
    model = MODELS["multi-class"]()
    result = run_onnx(onnx_model(replace(find_reader(model)(model), link="max_index")), X)
    np.testing.assert_array_equal(result["variable"][:, 0], result["margin"].argmax(axis=1))


def as_read(ensemble):
    return SourceModel(ensemble, InputSpec(6), margin=None, output=None)


def test_onnx_models_that_compare_in_other_ways(run_onnx):
    forest = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, LABELS)
    ensemble = from_treelite(treelite.sklearn.import_model(forest), as_float32=True)
    result = run_onnx(onnx_model(as_read(ensemble), classes=forest.classes_), X)
    np.testing.assert_allclose(result["probabilities"], forest.predict_proba(X), rtol=0, atol=1e-6)
    boosting = HistGradientBoostingRegressor(max_iter=10).fit(X, Y)
    ensemble = from_treelite(treelite.sklearn.import_model(boosting), as_float32=False)
    gone, weight = leaf_weights(ensemble, ensemble.grid.bin(X.T[ensemble.grid.features]), {0}, "empirical")
    result = run_onnx(onnx_model(as_read(ensemble), removed=gone, leaf_weight=weight), X)
    expected = debiased_margin(ensemble, ensemble.grid.bin(X.T[ensemble.grid.features]), gone, weight)
    assert_float32_close(result["variable"], expected)


def test_onnx_boxes_that_are_no_trees(run_onnx):
    """Leaves in any order, some missing, some twice: a sum of boxes, as a planted forest is."""
    for name in ("squared error", "partition"):
        model = MODELS[name]()
        read = find_reader(model)(model)
        gone, weight = leaf_weights(
            read.ensemble, bin_rows(rows_of(model), read.input, read.ensemble.grid), {0}, "empirical"
        )
        keep = ~gone[read.ensemble.condition_feature]
        boxes = read.ensemble.keep_conditions(keep, read.ensemble.value * weight[:, None])
        bins = bin_rows(rows_of(model), read.input, boxes.grid)
        expected = debiased_margin(boxes, bins, gone & False, np.ones(boxes.n_leaves))
        exported = onnx_model(replace(read, ensemble=boxes))
        assert_float32_close(run_onnx(exported, codes(rows_of(model)))["margin"], expected)


def test_onnx_strength(run_onnx):
    model = regressor().fit(X, Y)
    _, debiased, (read, gone, weight) = export(model, {0, 3})
    for strength in (0.0, 0.3, 1.0):
        exported = onnx_model(read, removed=gone, leaf_weight=weight, strength=strength)
        expected = (1 - strength) * model.predict(X) + strength * debiased[:, 0]
        assert_float32_close(run_onnx(exported, X)["variable"][:, 0], expected)


@pytest.mark.mutation
def test_onnx_refuses(monkeypatch):
    pytest.importorskip("onnx")
    model = regressor().fit(X, Y)
    read = find_reader(model)(model)
    with pytest.raises(ValueError, match="input_dtype must be float64 or float32"):
        onnx_model(read, input_dtype=np.int64)
    with pytest.raises(ValueError, match="inverse link 'probit' cannot be exported"):
        onnx_model(replace(read, link="probit"))
    with pytest.raises(ValueError, match="1 outputs and the classes"):
        onnx_model(read, classes=np.arange(3))
    two_labels = find_reader(model)(
        regressor(objective="binary:logistic").fit(X, np.column_stack([Y, -Y]) > 0)
    )
    with pytest.raises(ValueError, match="2 outputs and the classes"):
        onnx_model(two_labels, classes=np.arange(2))
    with pytest.raises(ValueError, match="labels must be"):
        onnx_model(read, classes=np.array([0.5, 1.5]))
    with pytest.raises(ValueError, match="together"):
        onnx_model(read, leaf_weight=np.ones(3))
    empty = xgb.train({}, xgb.DMatrix(X, Y), num_boost_round=0)
    with pytest.raises(ValueError, match="without trees"):
        onnx_model(find_reader(empty)(empty))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"skglex\[onnx\]"):
        onnx_model(read)
