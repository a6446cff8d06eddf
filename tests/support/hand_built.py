"""Grow random models by hand, which have what training seldom produces."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import treelite
import xgboost as xgb

from skglex._input import InputSpec
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._registry import SourceModel
from skglex._response import Response
from tests.support.oracles import subsets, to_float32

FLOAT32 = np.finfo(np.float32)
EXTREMES = [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1e-45, -1e-45, 1e-38, 1e300, -1e300]
EXTREMES += [float(FLOAT32.max), -float(FLOAT32.max), 2.0**24, 2.0**53]


# -- grown by hand ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class HandBuilt:
    """Hold trees as `Nodes`, a child after its parent; `read` is their reader."""

    nodes: Nodes
    n_features: int
    less_equal: bool
    as_float32: bool

    @cached_property
    def share(self):
        """Return the share of each node in its parent's cover; one half if the parent has no cover."""
        nodes, share = self.nodes, np.ones(len(self.nodes.left))
        for node in np.flatnonzero(nodes.left >= 0):
            for child in (nodes.left[node], nodes.right[node]):
                share[child] = nodes.cover[child] / nodes.cover[node] if nodes.cover[node] > 0 else 0.5
        return share

    def decisions(self, X):
        """Return which rows go left at every inner node."""
        nodes, X = self.nodes, np.asarray(X, dtype=float)
        if self.as_float32:
            X = to_float32(X).astype(float)
        out = {}
        for node in np.flatnonzero(nodes.left >= 0):
            x = X[:, nodes.feature[node]]
            if node in nodes.categories:
                code = np.where(x >= 0, np.floor(x), -1.0)
                left = np.isin(code, nodes.categories[node]) != nodes.listed_right[node]
            else:
                left = x <= nodes.threshold[node] if self.less_equal else x < nodes.threshold[node]
            out[node] = np.where(np.isnan(x), nodes.missing_left[node], left)
        return out

    def expected(self, X, kept, decisions=None):
        """Return the margin if splits on ``kept`` go x's way, others both ways by cover: shape (n, n_outputs)."""
        nodes, width = self.nodes, self.nodes.value.shape[1]
        left = self.decisions(X) if decisions is None else decisions
        out = np.tile(nodes.base, (len(X), 1))
        for tree, output in enumerate(nodes.output):
            value = {}
            for node in range(nodes.roots[tree + 1] - 1, nodes.roots[tree] - 1, -1):
                a, b = nodes.left[node], nodes.right[node]
                if a < 0:
                    value[node] = nodes.value[node][None]
                elif nodes.feature[node] in kept:
                    value[node] = np.where(left[node][:, None], value.pop(a), value.pop(b))
                else:
                    value[node] = self.share[a] * value.pop(a) + self.share[b] * value.pop(b)
            out[:, output : output + width] += value[nodes.roots[tree]]
        return out

    def margin(self, X):
        return self.expected(X, set(range(self.n_features)))

    def game(self, X):
        """Return the path-dependent game of all sets of features."""
        left = self.decisions(X)
        return {s: self.expected(X, set(s), left) for s in subsets(self.n_features)}

    def with_columns_permuted(self, order):
        """Return the same model for the columns ``X[:, order]``."""
        position = np.argsort(order)
        return replace(self, nodes=replace(self.nodes, feature=position[self.nodes.feature]))


def read(model: HandBuilt) -> SourceModel:
    """Read a `HandBuilt` model; the tests register this reader."""
    ensemble = to_leaves(model.nodes, less_equal=model.less_equal, as_float32=model.as_float32)
    return SourceModel(
        ensemble=ensemble,
        input=InputSpec(n_features=model.n_features),
        margin=model.margin,
        output=model.margin,
        response=Response(n_outputs=ensemble.n_outputs),
    )


def cut_pool(rng, n, extreme, single):
    """Draw few thresholds, so that they repeat; some of them are neighbours."""
    pool = rng.normal(size=n).round(rng.choice([0, 1, 8]))
    if extreme:
        pool[rng.random(n) < 0.5] = rng.choice(EXTREMES)
        pool[rng.random(n) < 0.3] = rng.choice(EXTREMES)
    with np.errstate(over="ignore", under="ignore"):
        if single:
            pool = pool.astype(np.float32)
        pool = np.concatenate([pool, np.nextafter(pool[: n // 2], pool.dtype.type(np.inf))])
    return pool.astype(float)


def hand_built(rng, *, d, n_trees, max_depth, n_outputs=1, chain=False, extreme=True, kind="nodes"):
    """Grow a model at random.

    ``kind`` restricts it to models of a library: "xgboost" (float32 thresholds, ``<``, one output, finite),
    "treelite" (no categories, one output).
    """
    single = kind != "nodes" or rng.random() < 0.5
    less_equal = kind != "xgboost" and rng.random() < 0.5
    vector = kind == "nodes" and rng.random() < 0.3
    width = n_outputs if vector else 1
    pools = [cut_pool(rng, int(rng.integers(1, 6)), extreme, single) for _ in range(d)]
    if kind == "xgboost":
        pools = [np.clip(pool, -FLOAT32.max, FLOAT32.max) for pool in pools]
    categorical = (rng.random(d) < 0.25) & (kind != "treelite")
    used = rng.random(d) < 0.8  # There are no splits on the other features.
    used[rng.integers(d)] = True
    rows, roots, categories = [], [0], {}
    for _ in range(n_trees):
        rows.append(None)
        pending = [(len(rows) - 1, 0)]
        while pending:
            node, depth = pending.pop()
            grow = depth < max_depth and (chain or rng.random() < 0.85 - 0.5 * (depth == 0) * rng.random())
            j = int(rng.choice(np.flatnonzero(used)))
            # XGBoost relies on siblings side by side.
            children = (len(rows), len(rows) + 1) if grow else (-1, -1)
            rows[node] = [*children, j, rng.choice(pools[j]), rng.random() < 0.5]
            if grow:
                if categorical[j]:
                    categories[node] = np.unique(rng.integers(0, 6, size=rng.integers(1, 4)))
                rows += [None, None]
                ends = max_depth if chain else 0
                turn = int(rng.integers(2))
                pending += [
                    (child, depth + 1 if side == turn else max(depth + 1, ends))
                    for side, child in enumerate(children)
                ]
        roots.append(len(rows))
    left, right, feature, threshold, missing_left = (np.array(column) for column in zip(*rows))
    n = len(left)
    leaf = left < 0
    cover = np.where(leaf, rng.integers(0 if rng.random() < 0.3 else 1, 5, size=n), 0).astype(float)
    for node in range(n - 1, -1, -1):
        if not leaf[node]:
            cover[node] = cover[left[node]] + cover[right[node]]
    value = rng.normal(size=(n, width)) * rng.choice(
        [1.0, 1.0, 1e30, 1e-30, 1e-310 if kind == "nodes" else 1.0]
    )
    value[rng.random(n) < 0.1] = 0.0
    if kind != "nodes":
        value = value.astype(np.float32).astype(float)
    return HandBuilt(
        Nodes(
            roots=np.array(roots),
            left=left.astype(np.int64),
            right=right.astype(np.int64),
            feature=feature.astype(np.int64),
            threshold=threshold.astype(float),
            missing_left=missing_left.astype(bool),
            value=value,
            output=(np.zeros(n_trees) if vector else rng.integers(0, n_outputs, n_trees)).astype(np.int32),
            base=rng.normal(size=n_outputs).astype(np.float32).astype(float),
            cover=cover,
            categories=categories,
            listed_right=(rng.random(n) < 0.5) | (kind == "xgboost"),
        ),
        n_features=d,
        less_equal=less_equal,
        as_float32=single if kind == "nodes" else True,
    )


def to_xgboost(model: HandBuilt) -> xgb.Booster:
    """Return the model as an XGBoost booster, through its JSON."""
    nodes, d = model.nodes, model.n_features
    start = xgb.train({"max_depth": 1, "base_score": 0.5}, xgb.DMatrix(np.zeros((2, d)), np.arange(2.0)), 1)
    content = json.loads(start.save_raw("json"))
    learner = content["learner"]
    template = learner["learner_model_param"]["base_score"]
    base = float(nodes.base[0])
    learner["learner_model_param"]["base_score"] = f"[{base!r}]" if template.startswith("[") else repr(base)
    trees = learner["gradient_booster"]["model"]
    trees["trees"] = [_tree_json(model, tree) for tree in range(len(nodes.output))]
    trees["gbtree_model_param"]["num_trees"] = str(len(nodes.output))
    trees["tree_info"] = [0] * len(nodes.output)
    trees["iteration_indptr"] = list(range(len(nodes.output) + 1))
    learner["feature_types"] = ["q"] * d
    for node in nodes.categories:
        learner["feature_types"][nodes.feature[node]] = "c"
    learner["feature_names"] = []
    booster = xgb.Booster()
    booster.load_model(bytearray(json.dumps(content).encode()))
    return booster


def _tree_json(model, tree):
    nodes = model.nodes
    a, b = nodes.roots[tree], nodes.roots[tree + 1]
    own = slice(a, b)
    leaf = nodes.left[own] < 0
    parents = np.full(b - a, 2**31 - 1)
    for node in np.flatnonzero(~leaf):
        parents[[nodes.left[a + node] - a, nodes.right[a + node] - a]] = node
    by_category = sorted(int(node - a) for node in nodes.categories if a <= node < b)
    lists = [nodes.categories[a + node].tolist() for node in by_category]
    sizes = [len(codes) for codes in lists]
    condition = np.where(leaf, nodes.value[own, 0], nodes.threshold[own])
    condition[by_category] = 0.0
    return {
        "base_weights": nodes.value[own, 0].tolist(),
        "categories": [code for codes in lists for code in codes],
        "categories_nodes": by_category,
        "categories_segments": [sum(sizes[:i]) for i in range(len(sizes))],
        "categories_sizes": sizes,
        "default_left": nodes.missing_left[own].astype(int).tolist(),
        "id": tree,
        "left_children": np.where(leaf, -1, nodes.left[own] - a).tolist(),
        "loss_changes": [0.0] * int(b - a),
        "parents": parents.tolist(),
        "right_children": np.where(leaf, -1, nodes.right[own] - a).tolist(),
        "split_conditions": condition.tolist(),
        "split_indices": np.where(leaf, 0, nodes.feature[own]).tolist(),
        "split_type": np.isin(np.arange(b - a), by_category).astype(int).tolist(),
        "sum_hessian": nodes.cover[own].tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(model.n_features),
            "num_nodes": str(b - a),
            "size_leaf_vector": "1",
        },
    }


def to_treelite(model: HandBuilt) -> treelite.Model:
    """Return the model as treelite's own builder builds it."""
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    nodes = model.nodes
    n_trees = len(nodes.output)
    builder = ModelBuilder(
        threshold_type="float32",
        leaf_output_type="float32",
        metadata=Metadata(
            num_feature=model.n_features,
            task_type="kRegressor",
            average_tree_output=False,
            num_target=1,
            num_class=[1],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=TreeAnnotation(num_tree=n_trees, target_id=[0] * n_trees, class_id=[0] * n_trees),
        postprocessor=PostProcessorFunc(name="identity"),
        base_scores=[float(nodes.base[0])],
    )
    for tree in range(n_trees):
        a = nodes.roots[tree]
        builder.start_tree()
        for node in range(a, nodes.roots[tree + 1]):
            builder.start_node(int(node - a))
            if nodes.left[node] < 0:
                builder.leaf(float(nodes.value[node, 0]))
            else:
                builder.numerical_test(
                    feature_id=int(nodes.feature[node]),
                    threshold=float(nodes.threshold[node]),
                    default_left=bool(nodes.missing_left[node]),
                    opname="<=" if model.less_equal else "<",
                    left_child_key=int(nodes.left[node] - a),
                    right_child_key=int(nodes.right[node] - a),
                )
            builder.sum_hess(float(nodes.cover[node]))
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def rows_at(rng, cuts, n, d, *, finite=False, codes=()):
    """Draw rows; most values lie on a cut of the feature or one step beside it, in float64 and in float32.

    ``cuts`` maps features to thresholds, ``codes`` are features of categories, ``finite`` is as in `InputSpec`.
    """
    X = rng.normal(size=(n, d)).round(int(rng.integers(0, 3)))
    for j in range(d):
        if j in codes:
            X[:, j] = rng.integers(-1, 8, n) + rng.choice([0.0, 0.5], n) * (rng.random() < 0.2)
            continue
        t = np.asarray(cuts.get(j, []), dtype=float)
        if not len(t):
            continue
        t = rng.choice(t, n)
        with np.errstate(over="ignore", under="ignore"):
            single = t.astype(np.float32)
            up, down = np.float32(np.inf), np.float32(-np.inf)
            above, below = np.nextafter(single, up).astype(float), np.nextafter(single, down).astype(float)
            beside = [
                t,
                np.nextafter(t, np.inf),
                np.nextafter(t, -np.inf),
                single.astype(float),
                above,
                below,
            ]
            beside += [t / 2 + above / 2, t / 2 + below / 2]  # A cast to float32 changes its direction here.
        on = np.choose(rng.integers(0, len(beside), n), beside)
        X[:, j] = np.where(rng.random(n) < 0.8, on, X[:, j])
    if finite:
        X = np.clip(X, -1e30, 1e30)  # This is finite in float32, too.
        if finite == "allow-nan":
            X[rng.random(X.shape) < 0.1] = np.nan
        return X
    odd = rng.random(X.shape) < 0.1
    X[odd] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e300], odd.sum())
    if rng.random() < 0.3:
        X[rng.random(n) < 0.2] = np.nan
    return X


def cuts_of(model: HandBuilt):
    nodes = model.nodes
    inner = nodes.left >= 0
    return {int(j): nodes.threshold[inner & (nodes.feature == j)] for j in np.unique(nodes.feature[inner])}


# -- trained ---------------------------------------------------------------------------------------


# -- cases -----------------------------------------------------------------------------------------


def scale_of(model: HandBuilt):
    """Return a bound on the margin."""
    nodes = model.nodes
    largest = [np.abs(nodes.value[a:b]).max() for a, b in zip(nodes.roots[:-1], nodes.roots[1:])]
    return float(np.abs(nodes.base).max() + sum(largest))
