"""Compute what the package computes, slowly and plainly, from the model's own predictions or its JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import combinations
from math import factorial

import numpy as np
import xgboost as xgb
from numpy.testing import assert_allclose

EPSILON = float(np.finfo(np.float32).eps)


def subsets(d):
    """Return all sets of features, by size."""
    return [s for k in range(d + 1) for s in combinations(range(d), k)]


def model_margin(model, X):
    """Return XGBoost's margin, of shape (n_samples, n_outputs)."""
    if isinstance(model, xgb.Booster):
        margin = model.inplace_predict(X, predict_type="margin")
    else:
        margin = model.predict(X, output_margin=True)
    return np.asarray(margin, dtype=np.float64).reshape(len(X), -1)


# -- games, components, Shapley values -----------------------------------------------------------


def brute_force_game(margin, X, background, weight=None):
    """Return v_S(x), the mean margin with x_S and the rest from the background's rows; {S: (n, n_outputs)}."""
    X, background = np.asarray(X), np.asarray(background)
    n, d = X.shape
    out = {}
    for s in subsets(d):
        mixed = np.repeat(background[None], n, axis=0)
        mixed[:, :, list(s)] = X[:, None, list(s)]
        values = margin(mixed.reshape(-1, d)).reshape(n, len(background), -1)
        out[s] = np.average(values, axis=1, weights=weight)
    return out


def game_components(game):
    """Return m_S = sum over V in S of (-1)^(|S| - |V|) v_V."""
    return {
        s: sum((-1) ** (len(s) - k) * game[v] for k in range(len(s) + 1) for v in combinations(s, k))
        for s in game
    }


def shapley_values(components, d):
    """Return phi_k = sum over S with k of m_S / |S|; shape (n, d, n_outputs)."""
    first = components[()]
    phi = np.zeros((len(first), d, first.shape[1]))
    for s, m in components.items():
        for k in s:
            phi[:, k] += m / len(s)
    return phi


def shapley_interactions(components, d):
    """Return half the Shapley interaction index off the diagonal, with rows that sum to phi; (n, d, d, n_outputs)."""
    phi = shapley_values(components, d)
    out = np.zeros((len(phi), d, d, phi.shape[2]))
    for s, m in components.items():
        for i, j in combinations(s, 2):
            out[:, i, j] += m / 2 / (len(s) - 1)
            out[:, j, i] += m / 2 / (len(s) - 1)
    for i in range(d):
        out[:, i, i] = phi[:, i] - out[:, i].sum(axis=1)
    return out


def total(decomposer, X):
    """Return the intercept plus all columns, shape (n_samples, n_outputs)."""
    intercept = np.atleast_1d(decomposer.intercept_)
    return intercept + decomposer.transform(X).reshape(X.shape[0], len(intercept), -1).sum(axis=2)


def check_components(decomposer, rows, components, atol, intercept=True):
    """Require the components of a decomposer without a remainder; components that it lacks must be zero."""
    columns = decomposer.transform(rows).reshape(
        np.shape(rows)[0], len(np.atleast_1d(decomposer.intercept_)), -1
    )
    names = decomposer.explained_features_
    columns = {component.features: columns[:, :, i] for i, component in enumerate(decomposer.components_)}
    if intercept:
        constant = np.broadcast_to(decomposer.intercept_, components[()].T.shape[::-1])
        assert_allclose(constant, components[()], rtol=0, atol=atol)
    for s, expected in components.items():
        if s:
            column = columns.pop(tuple(names[j] for j in s), np.zeros(expected.shape))
            assert_allclose(column, expected, rtol=0, atol=atol, err_msg=str(s))
    assert not columns


def check_single_components(limited, decomposer, rows, atol):
    """Require the highest components of a decomposer of one that does not list them."""
    for component in decomposer.components_[-3:]:
        expected = component.evaluate(rows)
        assert_allclose(limited[component.features].evaluate(rows), expected, rtol=0, atol=atol)


def check_game(decomposer, rows, game, atol, intercept=True):
    """Require the components, SHAP values and interactions of a game; ``intercept=False`` leaves out its constant."""
    components, d = game_components(game), len(decomposer.explained_features_)
    check_components(decomposer, rows, components, atol, intercept)
    phi, pairs = shapley_values(components, d), shapley_interactions(components, d)
    assert_allclose(decomposer.shap_values(rows).reshape(phi.shape), phi, rtol=0, atol=2 * atol)
    found = decomposer.shap_interaction_values(rows).reshape(pairs.shape)
    assert_allclose(found, pairs, rtol=0, atol=4 * atol)


# -- the model's JSON -----------------------------------------------------------------------------


def read_json(model):
    """Return the trees (dicts) that the model's predict counts, their weights and their outputs."""
    booster = model if isinstance(model, xgb.Booster) else model.get_booster()
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosted = learner["gradient_booster"]
    trees = boosted.get("gbtree", boosted)["model"]
    outputs = trees["tree_info"]
    # DART has weights; XGBoost 3.4 moved them.
    weights = boosted.get("weight_drop", trees.get("weight_drop")) or np.ones(len(outputs))
    weights = np.array(weights, dtype=np.float32)
    last = len(outputs)
    if not isinstance(model, xgb.Booster):
        with suppress(AttributeError):
            last = trees["iteration_indptr"][model.best_iteration + 1]
    return list(zip(trees["trees"], weights, outputs))[:last]


def is_inner(tree):
    return np.array(tree["left_children"]) >= 0


def to_float32(X):
    with np.errstate(over="ignore"):  # Values that are too large become infinite.
        return np.asarray(X, dtype=np.float32)


def thresholds(model):
    """Return the numeric thresholds, as float32, by feature."""
    out = {}
    for tree, _, _ in read_json(model):
        numeric = is_inner(tree) & (np.array(tree["split_type"]) == 0)
        for j, t in zip(
            np.array(tree["split_indices"])[numeric], np.array(tree["split_conditions"])[numeric]
        ):
            out.setdefault(int(j), set()).add(np.float32(t))
    return {j: np.array(sorted(found), dtype=np.float32) for j, found in out.items()}


def rounding(model, intercept):
    """Bound the difference between sums in float32 and float64, over all outputs.

    Adding T numbers in float32, one after the other, is off by at most T * 2^-24 times the sum of their
    absolute values (to first order); each is known to 2^-24 itself and so is the base score, which a link
    function (a logarithm in float32) may have gone over. EPSILON is 2^-23, and trees count twice since the
    intercept stands for the base score: at most four times the bound.
    """
    trees = read_json(model)
    largest = [
        abs(weight) * max(np.abs(tree["base_weights"]).max(), np.abs(leaf_values(tree)).max(initial=0))
        for tree, weight, _ in trees
    ]
    scale = np.abs(intercept).max() + 2 * sum(largest)
    return (len(trees) + 4) * EPSILON * scale + np.finfo(np.float32).tiny


def leaf_values(tree):
    vectors = tree.get("leaf_weights")
    return np.array(vectors if vectors else np.array(tree["split_conditions"])[~is_inner(tree)])


def path_dependent_game(model, X, base):
    """Return v_S(x) by walking the trees: splits on S go x's way, others both ways by cover. Scalar leaves only."""
    X = to_float32(X)
    n, d = X.shape
    out = {s: np.tile(np.asarray(base, dtype=np.float64), (n, 1)) for s in subsets(d)}
    for tree, weight, output in read_json(model):
        goes_left = _decisions(tree, X)
        for s, total in out.items():
            total[:, output] += _expected(tree, weight, goes_left, set(s), 0)
    return out


def _decisions(tree, X):
    """Return goes_left[node], the rows that go left, for inner nodes."""
    categories = {
        node: tree["categories"][a : a + size]
        for node, a, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        )
    }
    out = {}
    for node in np.flatnonzero(is_inner(tree)):
        x = X[:, tree["split_indices"][node]]
        if tree["split_type"][node]:
            left = ~np.isin(np.where((x >= 0) & (x < 2**24), np.trunc(x), -1), categories[node])
        else:
            left = x < np.float32(tree["split_conditions"][node])
        out[node] = np.where(np.isnan(x), bool(tree["default_left"][node]), left)
    return out


def _expected(tree, weight, goes_left, kept, node):
    left, right = tree["left_children"][node], tree["right_children"][node]
    if left < 0:
        return np.float64(weight * np.float32(tree["split_conditions"][node]))
    a, b = (_expected(tree, weight, goes_left, kept, child) for child in (left, right))
    if tree["split_indices"][node] in kept:
        return np.where(goes_left[node], a, b)
    cover = np.float64(np.float32(tree["sum_hessian"]))
    if cover[node] == 0:
        return (a + b) / 2
    return (cover[left] * a + cover[right] * b) / cover[node]


# -- one leaf after the other: for trees too deep for the sets of features -------------------------


def leaf_games(model, X, background=None):
    """Yield each leaf's value, its features, and how rows and background meet its conditions.

    Yields (value, output, features, met, weights): ``met[r, i]`` says whether row r meets the conditions on
    feature i;
    ``weights`` is the same for the background's rows or, without background, the product of cover ratios.
    """
    both = to_float32(X if background is None else np.concatenate([X, background]))
    for tree, weight, output in read_json(model):
        goes_left = _decisions(tree, both)
        cover = np.float64(np.float32(tree["sum_hessian"]))
        stack = [(0, {}, {})]
        while stack:
            node, met, ratio = stack.pop()
            left, right = tree["left_children"][node], tree["right_children"][node]
            if left < 0:
                features = sorted(met)
                inside = np.array([met[j] for j in features]).reshape(len(features), -1).T
                rest = np.array([ratio[j] for j in features]) if background is None else inside[len(X) :]
                value = np.float64(weight * np.float32(tree["split_conditions"][node]))
                yield value, output, features, inside[: len(X)], rest
                continue
            j = tree["split_indices"][node]
            for child, passes in ((left, goes_left[node]), (right, ~goes_left[node])):
                stack.append(
                    (
                        child,
                        {**met, j: met.get(j, True) & passes},
                        {**ratio, j: ratio.get(j, 1.0) * cover[child] / cover[node]},
                    )
                )


def deep_components(model, X, background=None, max_order=2):
    """Return the components up to an order, leaf by leaf: {S: (n,)}; one output."""
    out = {}
    for value, _, features, met, rest in leaf_games(model, X, background):
        k = len(features)
        for order in range(min(max_order, k) + 1):
            for s in combinations(range(k), order):
                total = out.setdefault(tuple(features[i] for i in s), np.zeros(len(X)))
                for size in range(order + 1):
                    for v in combinations(s, size):
                        others = [i for i in range(k) if i not in v]
                        share = (
                            np.prod(rest[others])
                            if background is None
                            else rest[:, others].all(axis=1).mean()
                        )
                        total += value * (-1) ** (order - size) * met[:, list(v)].all(axis=1) * share
    return out


def deep_shapley(model, X, background):
    """Return SHAP values and interactions of trees of any depth, over a background; one output."""
    d = X.shape[1]
    phi, pairs = np.zeros((len(X), d)), np.zeros((len(X), d, d))
    for value, _, features, met, rest in leaf_games(model, X, background):
        for row in range(len(X)):
            for b in rest:
                x = met[row]
                if (~x & ~b).any():
                    continue
                # The leaf counts for T if and only if T holds all of `up` and none of `down`.
                up, down = np.flatnonzero(x & ~b), np.flatnonzero(~x & b)
                p, q = len(up), len(down)
                share = value / len(rest)
                for i in up:
                    phi[row, features[i]] += share * factorial(p - 1) * factorial(q) / factorial(p + q)
                for i in down:
                    phi[row, features[i]] -= share * factorial(p) * factorial(q - 1) / factorial(p + q)
                sign = {**dict.fromkeys(up.tolist(), 1), **dict.fromkeys(down.tolist(), -1)}
                for i, j in combinations(sorted(sign), 2):
                    # The index of i, j is the mean second difference over the orders in which they form one player.
                    a, c = p - (sign[i] > 0) - (sign[j] > 0), q - (sign[i] < 0) - (sign[j] < 0)
                    index = sign[i] * sign[j] * factorial(a) * factorial(c) / factorial(a + c + 1)
                    pairs[row, features[i], features[j]] += share * index / 2
                    pairs[row, features[j], features[i]] += share * index / 2
    for i in range(d):
        pairs[:, i, i] = phi[:, i] - pairs[:, i].sum(axis=1)
    return phi, pairs
