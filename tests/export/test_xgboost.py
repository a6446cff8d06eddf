"""Debiased boosters predict the debiased margin and stay ordinary XGBoost models."""

import json

import numpy as np
import pandas as pd
import pytest
import treelite
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skglex import FeatureRemover, GlexDecomposer
from skglex.export._xgboost import debiased_booster
from tests.export.debiased_models import (
    FRAME,
    MODELS,
    N,
    X,
    Y,
    assert_float32_close,
    categorical,
    debias,
    early_stopped,
    is_frame,
    read,
    regressor,
    rows_of,
)


def export(model, removed, weighting="empirical"):
    """Return the booster and the margin that it should have."""
    _, _, weight, expected = debias(model, removed, weighting)
    return debiased_booster(model, removed, weight), expected


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


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
@pytest.mark.parametrize("name", MODELS)
def test_booster_is_the_debiased_model(name, weighting):
    model = MODELS[name]()
    removed = {0, 6} if is_frame(model) else {0, 3}
    booster, expected = export(model, removed, weighting)
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
def test_booster_keeps_everything_else(name, tmp_path):
    model = MODELS[name]()
    booster, expected = export(model, {1})
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
    booster, _ = export(MODELS["partition"](), {0, 6})
    for t, tree in enumerate(trees_of(booster)):
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        inner = left >= 0
        assert tree["id"] == t
        assert int(tree["tree_param"]["num_nodes"]) == len(left)
        np.testing.assert_array_equal(right[inner], left[inner] + 1)
        parents = np.array(tree["parents"])
        np.testing.assert_array_equal(parents[left[inner]], np.flatnonzero(inner))
        np.testing.assert_array_equal(parents[right[inner]], np.flatnonzero(inner))


def test_booster_keeps_categories():
    model = categorical(1)
    booster, _ = export(model, {0})
    # The categories of this frame have other codes.
    shuffled = FRAME.assign(h=FRAME["h"].cat.reorder_categories(list("LKJIHGFEDCBA")))
    if hasattr(booster, "get_categories"):  # Older versions of XGBoost keep no categories.
        np.testing.assert_array_equal(margin(booster, shuffled), margin(booster, FRAME))


@pytest.mark.parametrize("name", MODELS)
def test_rounds_have_one_tree_per_output(name):
    """Other programs count trees by the length of a round, and take the trees of a round as those of the outputs."""
    model = MODELS[name]()
    booster, _ = export(model, {0})
    section = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    n_outputs = max(section["tree_info"]) + 1
    n_trees = len(section["trees"])
    assert section["gbtree_model_param"]["num_parallel_tree"] == "1"
    assert section["tree_info"] == [i % n_outputs for i in range(n_trees)]
    assert booster.num_boosted_rounds() == n_trees // n_outputs
    if "iteration_indptr" in section:
        assert section["iteration_indptr"] == list(range(0, n_trees + 1, n_outputs))
    rows = rows_of(model)
    first, last = booster[:1], booster[1:] if booster.num_boosted_rounds() > 1 else None
    if last is not None:  # The base score is in both.
        base = margin(booster[:1], rows) + margin(last, rows) - margin(booster, rows)
        np.testing.assert_allclose(base, np.broadcast_to(base[0], base.shape), rtol=0, atol=1e-5)
    assert len(trees_of(first)) == n_outputs


def test_early_stopped_booster_has_the_counted_trees():
    model = early_stopped()
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    booster, _ = export(model, set())
    assert booster.num_boosted_rounds() == model.best_iteration + 1


@pytest.mark.filterwarnings("ignore:.*dart.*is deprecated:UserWarning")
def test_dart_becomes_gbtree():
    model = regressor(booster="dart", rate_drop=0.3).fit(X, Y)
    content = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]
    drop = content.get("weight_drop") or content["model"]["weight_drop"]
    assert len(set(drop)) > 1
    booster, expected = export(model, {0, 3})
    assert_float32_close(margin(booster, X), expected)
    assert json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gbtree"
    weights = np.ones(read(model).ensemble.n_leaves)
    assert_float32_close(margin(debiased_booster(model, set(), weights), X), margin(model.get_booster(), X))


def test_contributions_are_those_of_the_kept_components():
    model = regressor(max_depth=4).fit(X, Y)
    removed = {0, 3}
    booster, _ = export(model, removed, "path_dependent")
    decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(X)
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
    booster, expected = export(model, set(range(6)))
    assert np.ptp(expected) == 0
    assert_float32_close(margin(booster, X), expected)
    assert booster.trees_to_dataframe()["Feature"].eq("Leaf").all()
    booster, _ = export(model, set())
    np.testing.assert_array_equal(margin(booster, X), margin(model.get_booster(), X))
    assert len(booster.get_dump()) == model.n_estimators


def test_bare_booster_without_trees_and_wrong_weights():
    model = regressor().fit(X, Y)
    _, _, weight, _ = debias(model, {0})
    wrapped, bare = (debiased_booster(m, {0}, weight) for m in (model, model.get_booster()))
    np.testing.assert_array_equal(margin(wrapped, X), margin(bare, X))
    empty = xgb.train({}, xgb.DMatrix(X, Y), num_boost_round=0)
    named = debiased_booster(empty, {0}, np.empty(0), list("abcdef"))
    assert (named.num_boosted_rounds(), named.feature_names, empty.feature_names) == (0, list("abcdef"), None)
    with pytest.raises(ValueError, match="leaf_weight has 3 entries"):
        debiased_booster(model, {0}, np.ones(3))


def test_size_of_the_booster():
    model = regressor(n_estimators=30, max_depth=6).fit(X, Y)
    booster, _ = export(model, {0})
    before, after = (
        (len(trees), sum(len(tree["left_children"]) for tree in trees))
        for trees in (trees_of(model.get_booster()), trees_of(booster))
    )
    assert before[0] < after[0] < 5 * before[0]
    assert after[1] < 1.2 * before[1]


# Models that shap and onnxmltools read if they are not debiased.
NUMERIC = [name for name in MODELS if name not in ("vector leaves", "one-hot", "partition")]


@pytest.mark.parametrize("name", NUMERIC)
def test_shap_explains_the_booster(name):
    shap = pytest.importorskip("shap")
    model = MODELS[name]()
    booster, expected = export(model, {0, 3}, "path_dependent")
    explainer = shap.TreeExplainer(booster)
    values = np.asarray(explainer.shap_values(X)).reshape(N, 6, -1)
    assert not values[:, [0, 3]].any()
    assert_float32_close(values.sum(axis=1) + np.ravel(explainer.expected_value), expected)
    complete = np.nan_to_num(X[:20])  # shap takes no missing values in a background.
    assert shap.TreeExplainer(booster, complete).shap_values(complete).shape[:2] == (20, 6)


@pytest.mark.parametrize("name", [*NUMERIC, "vector leaves"])
def test_treelite_reads_the_booster(name):
    model = MODELS[name]()
    booster, expected = export(model, {0, 3})
    if name == "vector leaves" and xgb.__version__ < "3.1":
        pytest.skip("treelite does not read the vector leaves of this XGBoost")
    found = treelite.gtil.predict(treelite.frontend.from_xgboost(booster), X, pred_margin=True)
    assert_float32_close(found.reshape(N, -1), expected)


# onnxmltools has no models of several targets.
@pytest.mark.parametrize("name", [name for name in NUMERIC if name != "two outputs"])
def test_onnxmltools_converts_the_booster(name, run_onnx):
    onnxmltools = pytest.importorskip("onnxmltools", reason="needs onnxmltools: pip install onnxmltools")
    from onnxmltools.convert.common.data_types import FloatTensorType

    booster, _ = export(MODELS[name](), {0, 3})
    exported = onnxmltools.convert_xgboost(booster, initial_types=[("X", FloatTensorType([None, 6]))])
    *_, found = run_onnx(exported, X.astype(np.float32)).values()
    expected = booster.predict(xgb.DMatrix(X))
    found = found[:, 1:] if expected.ndim == 1 and found.shape[1] == 2 else found
    assert_float32_close(found.reshape(expected.shape), expected)


def test_names_of_the_columns_of_a_pipeline():
    frame = pd.DataFrame({"a<b": Y, "kind": np.where(Y > 1, "[x]", "y")})
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(encode, regressor()).fit(frame, Y)
    remover = FeatureRemover(pipeline, "kind").fit(frame)
    booster = remover.to_xgboost()
    assert booster.feature_names == ["onehotencoder__kind__x_", "onehotencoder__kind_y", "remainder__a_b"]
    rows = xgb.DMatrix(pipeline[:-1].transform(frame), feature_names=booster.feature_names)
    assert_float32_close(booster.predict(rows), remover.predict(frame))
    # The model that the user passed stays as it was.
    assert pipeline[-1].get_booster().feature_names is None
    named = regressor().fit(FRAME[["a", "b"]], Y)
    assert FeatureRemover(named, "a").fit(FRAME[["a", "b"]]).to_xgboost().feature_names == ["a", "b"]
