"""Read the trees in a booster's JSON. Nothing here imports XGBoost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xgboost as xgb


class XGBoostTrees(NamedTuple):
    """Hold the trees of a booster as flat arrays over all nodes.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int64
    left, right : ndarray of shape (n_nodes,), int64
        Children, as positions among all nodes; -1 for a leaf.
    value : ndarray of shape (n_nodes, width), float64
        Values of the leaves, without the tree weights of DART; 0 for inner nodes.
    """

    roots: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]


def trees_used_by_predict(model: xgb.Booster | xgb.XGBModel) -> xgb.Booster:
    """Return the trees that the model's own ``predict`` sums, as a booster.

    These are all trees of a booster, and the trees up to ``best_iteration`` of an `XGBModel` that stopped early.
    """
    if not hasattr(model, "get_booster"):
        return model
    booster: xgb.Booster = model.get_booster()
    try:
        best_iteration = model.best_iteration
    except AttributeError:  # The model was trained without early stopping.
        return booster
    return booster if best_iteration is None else _first_rounds(booster, best_iteration + 1)


def _first_rounds(booster: xgb.Booster, n: int) -> xgb.Booster:
    """Return the first rounds of a booster, with the names of its categories, which XGBoost's own slices lack."""
    part = booster[:n]
    if "c" not in (booster.feature_types or []):
        return part
    categories = tree_section(booster_json(booster)).get("cats")  # Missing before XGBoost 3.1.
    content = booster_json(part)
    if categories is None or tree_section(content).get("cats") == categories:
        return part
    tree_section(content)["cats"] = categories
    return type(booster)(model_file=bytearray(json.dumps(content).encode()))


def booster_json(booster: xgb.Booster) -> dict[str, Any]:
    """Return a booster as XGBoost writes it."""
    content: dict[str, Any] = json.loads(booster.save_raw("json"))
    return content


def tree_section(content: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a booster's JSON with the trees, which DART keeps one level deeper."""
    gradient_booster = content["learner"]["gradient_booster"]
    section: dict[str, Any] = gradient_booster.get("gbtree", gradient_booster)["model"]
    return section


def parse_trees(trees: list[dict[str, Any]]) -> XGBoostTrees:
    """Read children and leaf values of all trees."""
    sizes = np.array([len(tree["left_children"]) for tree in trees])
    roots = np.cumsum(sizes) - sizes
    shift = np.repeat(roots, sizes)
    left, right = (
        np.concatenate([np.array(tree[f"{side}_children"], dtype=np.int64) for tree in trees])
        for side in ("left", "right")
    )
    inner = left >= 0
    value = np.concatenate([leaf_values(tree) for tree in trees])
    value[inner] = 0
    return XGBoostTrees(
        roots=roots,
        left=np.where(inner, left + shift, -1),
        right=np.where(inner, right + shift, -1),
        value=value,
    )


def leaf_values(tree: dict[str, Any]) -> NDArray[np.float64]:
    """Return the values of one tree's nodes, of shape (n_nodes, width); those of inner nodes have no meaning.

    XGBoost keeps scalar values in ``split_conditions``. Vectors are in ``base_weights`` before version 3.1. Later
    they are in ``leaf_weights``, and the right child of a leaf is its position there.
    """
    width = max(int(tree["tree_param"]["size_leaf_vector"]), 1)
    if width == 1:
        return np.array(tree["split_conditions"], dtype=np.float64)[:, None]
    if "leaf_weights" not in tree:
        return np.array(tree["base_weights"], dtype=np.float64).reshape(-1, width)
    vectors = np.array(tree["leaf_weights"], dtype=np.float64).reshape(-1, width)
    leaf = np.array(tree["left_children"]) < 0
    value = np.zeros((len(leaf), width))
    value[leaf] = vectors[np.array(tree["right_children"])[leaf]]
    return value


def number_leaves(tree: dict[str, Any]) -> None:
    """Rewrite the vector leaves of an XGBoost before 3.1 in the later format, the only one that treelite reads."""
    if int(tree["tree_param"]["size_leaf_vector"]) <= 1 or "leaf_weights" in tree:
        return
    leaves = np.flatnonzero(np.array(tree["left_children"]) < 0)
    tree["leaf_weights"] = leaf_values(tree)[leaves].ravel().tolist()
    for number, leaf in enumerate(leaves):
        tree["right_children"][leaf], tree["split_conditions"][leaf] = number, 0.0
