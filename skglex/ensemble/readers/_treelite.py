"""From a treelite model to leaves."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skglex.ensemble._grid import Grid
from skglex.ensemble._leaves import LeafEnsemble, collect_conditions
from skglex.kernels.trees import extract_leaves, measure_trees

_LESS, _LESS_EQUAL = 2, 3  # treelite::Operator
_NUMERIC_NODE, _CATEGORICAL_NODE = 1, 2  # treelite::TreeNodeType


def from_treelite(
    model: Any, *, as_float32: bool, cover: Literal["sum_hess", "data_count"] = "sum_hess"
) -> LeafEnsemble:
    """Read a ``treelite.Model`` into leaves.

    Parameters
    ----------
    model : treelite.Model
    as_float32 : bool
        Whether the library casts values to float32 before it compares.
    cover : {"sum_hess", "data_count"}
        Which of treelite's node statistics is the cover.
    """
    header = model.get_header_accessor()
    field = header.get_field
    n_trees = model.num_tree
    trees = [model.get_tree_accessor(t) for t in range(n_trees)]
    nodes = {name: _concatenate(trees, name) for name in _NODE_FIELDS}
    n_nodes = np.array([len(tree.get_field("cleft")) for tree in trees], dtype=np.int64)
    roots = np.concatenate([[0], np.cumsum(n_nodes)]).astype(np.int64)
    shift = np.repeat(roots[:-1], n_nodes)
    left, right = (
        np.where(nodes[side] < 0, -1, nodes[side] + shift).astype(np.int64) for side in ("cleft", "cright")
    )
    inner = left >= 0

    operators = np.unique(nodes["cmp"][inner & (nodes["node_type"] == _NUMERIC_NODE)])
    if len(operators) > 1 or not set(operators) <= {_LESS, _LESS_EQUAL}:
        raise ValueError(f"cannot read a model that compares with the operators {operators.tolist()}")
    grid, slot, cut, node_mask, node_masks = _build_grid(
        trees, nodes, inner, as_float32, bool(len(operators) and operators[0] == _LESS_EQUAL)
    )

    node_cover = _concatenate(trees, cover).astype(np.float64)
    known = len(node_cover) == len(left) and bool(_concatenate(trees, f"{cover}_present")[inner].all())
    if not known:
        node_cover = np.ones(len(left))
    n_leaves, bound, max_depth = measure_trees(left, right, roots, len(grid.features))
    leaf_node = np.empty(n_leaves, np.int64)
    tree_ptr = np.empty(n_trees + 1, np.int64)
    leaf_ptr = np.empty(n_leaves + 1, np.int64)
    e_slot, e_lo, e_hi, e_mask = (np.empty(bound, np.int64) for _ in range(4))
    e_missing, e_ratio = np.empty(bound, np.uint8), np.empty(bound)
    pool, no_cover = extract_leaves(
        left,
        right,
        slot,
        cut,
        nodes["default_left"],
        node_mask,
        node_masks,
        nodes["category_list_right_child"],
        node_cover,
        roots,
        grid.n_bins,
        max_depth,
        leaf_node,
        tree_ptr,
        leaf_ptr,
        e_slot,
        e_lo,
        e_hi,
        e_missing,
        e_mask,
        e_ratio,
    )
    if no_cover:
        warnings.warn(
            f"{no_cover // 2} nodes of the model have cover 0 (no training row reached them): their "
            "path-dependent weights are taken as 1/2 for each child, as XGBoost does",
            UserWarning,
            stacklevel=2,
        )
    n = leaf_ptr[-1]
    conditions, complement, leaf_condition = collect_conditions(
        grid, e_slot[:n], e_lo[:n], e_hi[:n], e_missing[:n].astype(bool), e_mask[:n], pool
    )
    value, output = _leaf_values(trees, field, nodes, leaf_node, tree_ptr, n_nodes)
    base = np.array(field("base_scores"), dtype=np.float64).ravel()  # a copy: it is a view, too
    if field("average_tree_output")[0]:
        value = value / n_trees
    return LeafEnsemble(
        grid=grid,
        conditions=conditions,
        complement=complement,
        leaf_ptr=leaf_ptr,
        leaf_condition=leaf_condition,
        ratio=e_ratio[:n].copy() if known else None,
        value=value,
        output=output,
        tree_ptr=tree_ptr,
        base=base,
    )


_NODE_FIELDS = (
    "cleft",
    "cright",
    "node_type",
    "split_index",
    "default_left",
    "threshold",
    "cmp",
    "category_list_right_child",
    "leaf_value",
)


def _concatenate(trees: list[Any], name: str) -> NDArray[Any]:
    # get_field gives a view of the model's memory: copy
    return np.concatenate([tree.get_field(name) for tree in trees]) if trees else np.empty(0)


def _build_grid(
    trees: list[Any],
    nodes: dict[str, NDArray[Any]],
    inner: NDArray[np.bool_],
    as_float32: bool,
    less_equal: bool,
) -> tuple[Grid, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Collect all thresholds and categories; say for every node its slot and its cut or category mask."""
    feature = nodes["split_index"].astype(np.int64)
    features = np.unique(feature[inner])
    slot = np.searchsorted(features, feature)
    threshold = nodes["threshold"].astype(np.float64)
    by_category = inner & (nodes["node_type"] == _CATEGORICAL_NODE)
    numeric = inner & ~by_category
    categorical = np.zeros(len(features), dtype=bool)
    categorical[slot[by_category]] = True
    if (mixed := np.intersect1d(slot[numeric], slot[by_category])).size:
        raise ValueError(f"feature {features[mixed[0]]} is split both by threshold and by category")

    lists = _category_lists(trees) if by_category.any() else {}
    by_slot: list[list[NDArray[Any]]] = [[] for _ in features]
    for node, codes in lists.items():
        by_slot[slot[node]].append(codes)
    order = np.lexsort((threshold[numeric], slot[numeric]))
    sorted_slot, sorted_threshold = slot[numeric][order], threshold[numeric][order]
    bounds = np.searchsorted(sorted_slot, np.arange(len(features) + 1))
    cuts = [
        np.unique(np.concatenate(by_slot[s] or [np.empty(0)])).astype(np.float64)
        if categorical[s]
        else np.unique(sorted_threshold[bounds[s] : bounds[s + 1]])
        for s in range(len(features))
    ]
    grid = Grid(
        features=features,
        cuts=np.concatenate([*cuts, np.empty(0)]),
        cut_ptr=np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64),
        categorical=categorical,
        less_equal=less_equal,
        as_float32=as_float32,
    )
    cut = np.zeros(len(feature), np.int64)
    at = np.flatnonzero(numeric)[order]
    for s in range(len(features)):
        cut[at[bounds[s] : bounds[s + 1]]] = np.searchsorted(
            cuts[s], sorted_threshold[bounds[s] : bounds[s + 1]]
        )
    node_mask = np.full(len(feature), -1, np.int64)
    masks, n = [np.zeros(0, np.uint8)], 0
    for node, codes in lists.items():
        mask = np.zeros(grid.n_bins[slot[node]], np.uint8)
        mask[np.searchsorted(cuts[slot[node]], codes)] = 1
        node_mask[node] = n
        masks.append(mask)
        n += len(mask)
    return grid, slot, cut, node_mask, np.concatenate(masks)


def _category_lists(trees: list[Any]) -> dict[int, NDArray[np.uint32]]:
    """Categories named by every categorical node, by the node's position among all nodes."""
    lists, shift = {}, 0
    for tree in trees:
        node_type = tree.get_field("node_type")
        if tree.get_field("has_categorical_split")[0]:
            values = tree.get_field("category_list").copy()
            begin, end = (
                tree.get_field(f"category_list_{side}").astype(np.int64) for side in ("begin", "end")
            )
            for node in np.flatnonzero(node_type == _CATEGORICAL_NODE):
                lists[shift + int(node)] = values[begin[node] : end[node]]
        shift += len(node_type)
    return lists


def _leaf_values(
    trees: list[Any],
    field: Any,
    nodes: dict[str, NDArray[Any]],
    leaf_node: NDArray[np.int64],
    tree_ptr: NDArray[np.int64],
    n_nodes: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Values of the leaves, and the first output that each adds to (outputs are target-major)."""
    n_classes = np.asarray(field("num_class"))
    shape = np.asarray(field("leaf_vector_shape"))
    target, klass = (np.asarray(field(name)).astype(np.int64) for name in ("target_id", "class_id"))
    first_output = np.maximum(target, 0) * int(n_classes.max()) + np.maximum(klass, 0)
    output = np.repeat(first_output, np.diff(tree_ptr)).astype(np.int32)
    width = int(shape.prod())
    if width == 1:
        return nodes["leaf_value"][leaf_node].astype(np.float64)[:, None], output
    vectors = _concatenate(trees, "leaf_vector").astype(np.float64)
    begin = _concatenate(trees, "leaf_vector_begin").astype(np.int64)
    sizes = np.array([len(tree.get_field("leaf_vector")) for tree in trees], dtype=np.int64)
    begin = begin + np.repeat(np.cumsum(sizes) - sizes, n_nodes)
    return vectors[begin[leaf_node][:, None] + np.arange(width)], output
