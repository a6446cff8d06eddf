"""Write a debiased XGBoost model as an ordinary booster."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._readers import booster_json, parse_trees, tree_section, trees_used_by_predict
from skglex.export._debiased_forest import Forest, drop_removed_splits

if TYPE_CHECKING:
    import xgboost as xgb
_PER_NODE = ("split_indices", "split_conditions", "split_type", "default_left")
_REAL = ("split_conditions", "loss_changes", "sum_hessian")
_INVALID_ATTRIBUTES = ("best_iteration", "best_score")


def debiased_booster(
    model: xgb.Booster | xgb.XGBModel,
    removed: Collection[int],
    leaf_weight: NDArray[np.float64],
    feature_names: list[str] | None = None,
) -> xgb.Booster:
    """Return the model without its splits on some features, and with reweighted leaves, as a plain booster.

    Its margin at x is the sum over the leaves of ``v_l * 1[x meets l's conditions on kept features] * E_l``,
    rounded to float32, where:

    * ``v_l`` is the value of leaf ``l`` (times its tree's weight for DART),
    * ``E_l = E_l(P_l ∩ R)`` is the weight with which its conditions on the removed features R hold.

    A node on a removed feature is replaced by both its subtrees side by side; a node on a kept feature pairs
    up the trees of its two sides. So one tree becomes a few trees. Every round of the booster has one tree per
    output, with the outputs in turn, since other programs expect rounds of equal length. An output with fewer trees
    than another gets trees of a single leaf 0. The new nodes divide the training cover in the same ratios as the
    original nodes. So, with path-dependent leaf weights, the booster's own ``pred_contribs`` are the Shapley values
    of the path-dependent components that do not touch R.

    Removing one of six features from 100 trees of depth 6 gives 3.2 times the trees and 0.9 times the nodes, and
    predictions take 2.3 times as long. The factors are 2.6, 1.0 and 1.9 for one of ten features and 500 such trees,
    and 3.8, 0.9 and 2.5 for two of ten.

    Parameters
    ----------
    model : xgboost.Booster or xgboost.XGBModel
        A fitted tree model. For a wrapper only the trees that its ``predict`` uses are written.
    removed : collection of int
        Positions of the removed features.
    leaf_weight : ndarray of shape (n_leaves,), float64
        E_l of every leaf, in the reader's order: tree after tree, depth first, left before right.
    feature_names : list of str, optional
        Names of the features for a model that has none. XGBoost refuses ``[``, ``]`` and ``<``, which become ``_``.

    Returns
    -------
    booster : xgboost.Booster
        It has the model's feature names, types and categories, objective, base score and attributes, except
        ``best_iteration`` and ``best_score``. A ``dart`` model becomes ``gbtree``.

    Raises
    ------
    ValueError
        The length of ``leaf_weight`` is not the number of leaves.
    """
    content, tree_weight = as_gbtree(booster_json(trees_used_by_predict(model)), feature_names)
    section = tree_section(content)
    trees = section["trees"]
    if not trees:
        return load_booster(content)
    columns = _concatenate(trees)
    forest = _to_forest(trees, tree_weight, removed, columns["split_indices"])
    leaves = forest.leaves()
    if len(leaves) != len(leaf_weight):
        raise ValueError(
            f"leaf_weight has {len(leaf_weight)} entries, but the model has {len(leaves)} leaves that predict uses. "
            "If the model was trained further since fit, fit again"
        )
    forest.value[leaves] *= leaf_weight[:, None]
    debiased, origin = drop_removed_splits(forest)

    old_output = np.array(section["tree_info"])
    n_outputs = 1 if forest.value.shape[1] > 1 else int(old_output.max()) + 1
    added = _missing_trees(old_output, origin, n_outputs)
    debiased, origin = _add_empty_trees(debiased, len(added)), np.concatenate([origin, added])
    written = _write_trees(trees, columns, forest, debiased, origin)
    # Sort by round, then by output.
    output = old_output[origin]
    position = np.empty(len(output), dtype=np.int64)
    for o in range(n_outputs):
        position[output == o] = np.arange(len(output) // n_outputs) * n_outputs + o
    section["trees"] = [{**written[t], "id": i} for i, t in enumerate(np.argsort(position))]
    section["tree_info"] = np.resize(np.arange(n_outputs), len(written)).tolist()
    section["iteration_indptr"] = list(range(0, len(written) + 1, n_outputs))
    section["gbtree_model_param"] |= {"num_trees": str(len(written)), "num_parallel_tree": "1"}
    return load_booster(content)


def load_booster(content: dict[str, Any]) -> xgb.Booster:
    """Return the booster with some content."""
    import xgboost as xgb

    result = xgb.Booster()
    result.load_model(bytearray(json.dumps(content), "utf-8"))
    return result


def _missing_trees(
    old_output: NDArray[np.int64], origin: NDArray[np.int64], n_outputs: int
) -> NDArray[np.int64]:
    """Return which old trees lend their fields to the trees that outputs with few trees lack."""
    counts = np.bincount(old_output[origin], minlength=n_outputs)
    first = [int(np.flatnonzero(old_output == o)[0]) for o in range(n_outputs)]
    return np.repeat(np.array(first, dtype=np.int64), counts.max() - counts)


def _add_empty_trees(forest: Forest, n: int) -> Forest:
    """Append n trees of a single leaf 0."""
    size, width = forest.value.shape
    leaf = np.full(n, -1)
    return Forest(
        roots=np.append(forest.roots, size + np.arange(n)),
        left=np.append(forest.left, leaf),
        right=np.append(forest.right, leaf),
        split=np.append(forest.split, leaf),
        value=np.concatenate([forest.value, np.zeros((n, width))]),
    )


def as_gbtree(
    content: dict[str, Any], feature_names: list[str] | None
) -> tuple[dict[str, Any], NDArray[np.float64] | None]:
    """Return the JSON of a model as that of plain trees, and the weights of DART's trees.

    Parameters
    ----------
    content : dict
        The JSON, which is changed.
    feature_names : list of str, or None
        Names of the features for a model that has none. XGBoost refuses ``[``, ``]`` and ``<``, which become ``_``.
    """
    learner, section = content["learner"], tree_section(content)
    names = [re.sub(r"[\[\]<]", "_", name) for name in feature_names or []]
    n_features = int(learner["learner_model_param"]["num_feature"])
    if not learner.get("feature_names") and len(set(names)) == n_features:
        learner["feature_names"] = names
    booster = learner["gradient_booster"]
    # XGBoost up to 3.3 keeps the weights beside the trees' section, later versions inside it.
    weight = booster.pop("weight_drop", None) or section.pop("weight_drop", None)
    learner["gradient_booster"] = {**booster.get("gbtree", booster), "name": "gbtree"}
    for name in _INVALID_ATTRIBUTES:
        learner["attributes"].pop(name, None)
    return content, None if weight is None else np.array(weight)


def _concatenate(trees: list[dict[str, Any]]) -> dict[str, NDArray[np.float64]]:
    """Return arrays over the nodes of all trees; old versions of XGBoost keep no cover of vector leaves."""
    names = [*_PER_NODE, *(name for name in ("loss_changes", "sum_hessian") if name in trees[0])]
    return {
        name: np.concatenate([np.array(tree[name], dtype=np.float64) for tree in trees]) for name in names
    }


def _to_forest(
    trees: list[dict[str, Any]],
    tree_weight: NDArray[np.float64] | None,
    removed: Collection[int],
    feature: NDArray[np.float64],
) -> Forest:
    """Return the model's trees; the number of a split is the number of its node."""
    roots, left, right, value = parse_trees(trees)
    if tree_weight is not None:
        value *= np.repeat(tree_weight, np.diff(np.append(roots, len(left))))[:, None]
    no_split = (left < 0) | np.isin(feature.astype(np.int64), list(removed))
    return Forest(roots, left, right, split=np.where(no_split, -1, np.arange(len(left))), value=value)


def _write_trees(
    trees: list[dict[str, Any]],
    columns: dict[str, NDArray[np.float64]],
    before: Forest,
    after: Forest,
    origin: NDArray[np.int64],
) -> list[dict[str, Any]]:
    """Write trees in the format, and with the fields, of the trees that they come from."""
    split, leaf = after.split, after.left < 0
    nodes = {name: np.where(leaf, 0.0, array[split]) for name, array in columns.items()}
    width = after.value.shape[1]
    if width == 1:
        nodes["split_conditions"][leaf] = after.value[leaf, 0]
    else:
        nodes["split_conditions"][leaf] = columns["split_conditions"][before.left < 0][0]
    parent = np.full(len(split), -1)
    parent[after.left[~leaf]] = parent[after.right[~leaf]] = np.flatnonzero(~leaf)
    if "sum_hessian" in columns:
        nodes["sum_hessian"] = _carry_cover(columns["sum_hessian"], before, after, origin)
    categories = _category_lists(trees, before)
    node_lists = {
        name: shorten(values) if name in _REAL else values.astype(np.int64).tolist()
        for name, values in nodes.items()
    }

    written = []
    bounds = np.append(after.roots, len(split))
    for t, tree in enumerate(trees[o] for o in origin):
        here = slice(bounds[t], bounds[t + 1])
        root, size = bounds[t], bounds[t + 1] - bounds[t]
        left, right, above = (
            np.where(array[here] < 0, -1, array[here] - root) for array in (after.left, after.right, parent)
        )
        above[0] = tree["parents"][0]
        new = {name: values[here] for name, values in node_lists.items()}
        if "leaf_weights" in tree:
            new["leaf_weights"] = shorten(after.value[here][leaf[here]].ravel())
            right[leaf[here]] = np.arange(leaf[here].sum())
        new |= {
            "id": t,
            "left_children": left.tolist(),
            "right_children": right.tolist(),
            "parents": above.tolist(),
            "base_weights": shorten(after.value[here].ravel()),
            "tree_param": {**tree["tree_param"], "num_nodes": str(size), "num_deleted": "0"},
            **_write_categories(new["split_type"], split[here], categories),
        }
        written.append({name: new[name] for name in tree})
    return written


def _write_categories(
    split_type: list[Any], split: NDArray[np.int64], categories: dict[int, list[int]]
) -> dict[str, list[int]]:
    """Write the categories of one tree's categorical splits."""
    by_category = np.flatnonzero(np.array(split_type) == 1)
    lists = [categories[node] for node in split[by_category]]
    lengths = np.array([len(codes) for codes in lists], dtype=np.int64)
    return {
        "categories": [code for codes in lists for code in codes],
        "categories_nodes": by_category.tolist(),
        "categories_segments": (np.cumsum(lengths) - lengths).tolist(),
        "categories_sizes": lengths.tolist(),
    }


def shorten(values: NDArray[np.float64]) -> list[float]:
    """Round values to float32, as the shortest decimals that are parsed as the same float32."""
    shortest: list[float] = values.astype(np.float32).astype("U").astype(np.float64).tolist()
    return shortest


def _category_lists(trees: list[dict[str, Any]], forest: Forest) -> dict[int, list[int]]:
    """Return the categories that go right, by the number of the node."""
    lists = {}
    for tree, root in zip(trees, forest.roots):
        for node, start, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"]
        ):
            lists[int(root) + node] = tree["categories"][start : start + size]
    return lists


def _carry_cover(
    cover: NDArray[np.float64], before: Forest, after: Forest, origin: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cover of the new nodes: that of the old root, divided below in the ratios of the old nodes."""
    carried = np.zeros(len(after.split))
    carried[after.roots] = cover[before.roots[origin]]
    for nodes, _ in after.levels():
        inner = nodes[after.left[nodes] >= 0]
        old = after.split[inner]
        for new_child, old_child in ((after.left, before.left), (after.right, before.right)):
            share = np.full(len(inner), 0.5)
            np.divide(cover[old_child[old]], cover[old], out=share, where=cover[old] > 0)
            carried[new_child[inner]] = carried[inner] * share
    return carried
