"""Compute the path-dependent game of a trained model by walking its trees as its own library writes them down.

Splits are numeric or, for LightGBM and histogram boosting, on categories. `oracles.path_dependent_game` is for XGBoost.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
from catboost import CatBoost
from sklearn.base import is_classifier

from tests.support.oracles import subsets, to_float32


class Node(NamedTuple):
    """Hold a leaf with its value (one number per output), or a split with its test."""

    cover: float
    value: Any = None
    feature: int = -1
    goes_left: Any = None
    left: Any = None
    right: Any = None


def game(model, X, margin):
    """Return v_S(x): splits on S go x's way, others both ways by cover. The rest of the margin is the base score."""
    return game_of_trees(read(model), X, margin)


def game_of_trees(trees, X, margin):
    """Return the game of trees that were read before."""
    trees = list(trees)

    def expected(node, kept):
        if node.left is None:
            return np.tile(node.value, (len(X), 1))
        left, right = (expected(child, kept) for child in (node.left, node.right))
        if node.feature in kept:
            return np.where(node.goes_left(X[:, node.feature])[:, None], left, right)
        a, b = (child.cover / node.cover if node.cover else 0.0 for child in (node.left, node.right))
        return a * left + b * right

    out = {s: sum(expected(tree, set(s)) for tree in trees) for s in subsets(X.shape[1])}
    base = margin - out[tuple(range(X.shape[1]))]
    return {s: values + base for s, values in out.items()}


def read(model):
    if isinstance(model, lgb.Booster | lgb.LGBMModel):
        return lightgbm_trees(getattr(model, "booster_", model))
    if isinstance(model, CatBoost):
        return catboost_trees(model)
    return scikit_learn_trees(model, np.arange(model.n_features_in_))


def lightgbm_trees(booster):
    width, trees = booster.num_model_per_iteration(), booster.dump_model()["tree_info"]
    # The dump adds the trees of a forest up.
    averaged = "\naverage_output\n" in booster.model_to_string(num_iteration=1)
    share = np.eye(width) / (len(trees) // width if averaged else 1)

    def nested(node, output):
        if "left_child" not in node:
            return Node(node.get("leaf_count", 0), node["leaf_value"] * share[output])
        children = [nested(node[side], output) for side in ("left_child", "right_child")]
        inner = node["internal_count"], None, node["split_feature"]
        if node["decision_type"] == "==":
            listed = [int(code) for code in node["threshold"].split("||")]
            return Node(*inner, lambda x: (x > -1) & np.isin(np.trunc(x), listed), *children)
        missing, threshold = node["missing_type"], float(node["threshold"])
        if abs(threshold) >= 1e300:  # JSON has no infinity.
            threshold = np.copysign(np.inf, threshold)

        def goes_left(x):
            zero = np.isnan(x) | (np.abs(x) <= np.float32(1e-35))
            absent = {"None": False, "Zero": zero, "NaN": np.isnan(x)}[missing]
            return np.where(absent, node["default_left"], np.where(zero, 0.0, x) <= threshold)

        return Node(*inner, goes_left, *children)

    for t, tree in enumerate(trees):
        yield nested(tree["tree_structure"], t % width)


def catboost_trees(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text())
    missing_right = [f["nan_value_treatment"] == "AsTrue" for f in content["features_info"]["float_features"]]
    scale = content["scale_and_bias"][0]

    def leaf(value, weight):
        return Node(weight, scale * np.atleast_1d(value))

    def split(test, left, right):
        feature, border = test["float_feature_index"], np.float32(test["border"])

        def goes_left(x):
            x = to_float32(x)
            return ~np.where(np.isnan(x), missing_right[feature], x > border)

        return Node(left.cover + right.cover, None, feature, goes_left, left, right)

    def nested(node):
        if "split" not in node:
            return leaf(node["value"], node["weight"])
        return split(node["split"], nested(node["left"]), nested(node["right"]))

    def symmetric(tree, depth, first):
        if not depth:
            values = np.reshape(tree["leaf_values"], (len(tree["leaf_weights"]), -1))
            return leaf(values[first], tree["leaf_weights"][first])
        halves = (symmetric(tree, depth - 1, first + side * 2 ** (depth - 1)) for side in (0, 1))
        return split(tree["splits"][depth - 1], *halves)

    for tree in content.get("oblivious_trees") or content["trees"]:
        yield symmetric(tree, len(tree["splits"] or []), 0) if "leaf_weights" in tree else nested(tree)


def from_arrays(left, right, feature, goes_left, cover, value, node=0):
    """Return a tree of flat arrays; ``goes_left(node)`` is the test of a node."""
    if left[node] < 0 or left[node] == right[node]:
        return Node(cover[node], value[node])
    columns = left, right, feature, goes_left, cover, value
    children = (from_arrays(*columns, int(side[node])) for side in (left, right))
    return Node(cover[node], None, feature[node], goes_left(node), *children)


def hist_trees(model, columns, weight):
    width, d = model.n_trees_per_iteration_, len(columns)
    categorical = np.zeros(d, bool) if model.is_categorical_ is None else model.is_categorical_
    # The preprocessing puts categories first.
    columns = columns[np.argsort(~categorical, kind="stable")]
    encoder = None if model._preprocessor is None else model._preprocessor.named_transformers_["encoder"]
    for i, tree in enumerate(np.ravel(model._predictors)):
        nodes, leaf = tree.nodes, tree.nodes["is_leaf"] != 0

        def goes_left(node, nodes=nodes, tree=tree):
            missing, threshold = bool(nodes["missing_go_to_left"][node]), nodes["num_threshold"][node]
            if not nodes["is_categorical"][node]:
                return lambda x: np.where(np.isnan(x), missing, x <= threshold)
            known = encoder.categories_[nodes["feature_idx"][node]]
            known = known[~np.isnan(known)]
            words = tree.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
            left = [x for code, x in enumerate(known) if int(words[code // 32]) >> (code % 32) & 1]
            return lambda x: np.where(np.isin(x, known), np.isin(x, left), missing)

        left, right = (np.where(leaf, -1, nodes[side].astype(int)) for side in ("left", "right"))
        value = weight * nodes["value"][:, None] * np.eye(width)[i % width]
        cover = nodes["count"].astype(float)
        yield from_arrays(left, right, columns[nodes["feature_idx"]], goes_left, cover, value)


def scikit_learn_trees(model, columns, weight=1.0):
    """Yield the trees of a model that sees the given columns, and counts with a weight."""
    members = getattr(model, "estimators_", [model])
    if hasattr(model, "voting") or type(model).__name__ == "VotingRegressor":
        shares = np.ones(len(members)) if model.weights is None else np.array(model.weights)
        for member, share in zip(members, shares / shares.sum()):
            yield from scikit_learn_trees(member, columns, weight * share)
    elif type(model).__name__.startswith("Bagging"):
        for member, seen in zip(members, model.estimators_features_):
            yield from scikit_learn_trees(member, columns[seen], weight / len(members))
    elif hasattr(model, "_predictors"):
        yield from hist_trees(model, columns, weight)
    else:
        boosts = hasattr(model, "learning_rate")
        width = np.shape(members)[1] if boosts else 1
        for i, fitted in enumerate(np.ravel(members)):
            tree, seen = fitted.tree_, columns
            value = tree.value[:, :, 0]
            if hasattr(model, "_average_path_length_per_tree"):  # This is an isolation forest.
                value = (model._decision_path_lengths[i] + model._average_path_length_per_tree[i])[:, None]
                seen = columns[model.estimators_features_[i]]
            elif boosts:
                value = model.learning_rate * value * np.eye(width)[i % width]
            elif is_classifier(model):
                value = tree.value[:, 0, 1:] if tree.value.shape[2] == 2 else tree.value[:, 0]
            value = value * weight / (1 if boosts else len(members))

            def goes_left(node, tree=tree):
                missing, threshold = bool(tree.missing_go_to_left[node]), tree.threshold[node]
                return lambda x: np.where(np.isnan(x), missing, to_float32(x) <= threshold)

            children = tree.children_left, tree.children_right
            yield from_arrays(
                *children, seen[tree.feature.clip(0)], goes_left, tree.weighted_n_node_samples, value
            )
