"""From a treelite model to leaves."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import LeafEnsemble
from skglex._readers._nodes import Nodes, to_leaves

_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL = 2, 3, 4, 5  # treelite::Operator
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
    field = model.get_header_accessor().get_field
    trees = [model.get_tree_accessor(t) for t in range(model.num_tree)]
    columns = {name: _concatenate(trees, name) for name in _NODE_FIELDS}
    n_nodes = np.array([len(tree.get_field("cleft")) for tree in trees], dtype=np.int64)
    roots = np.concatenate([[0], np.cumsum(n_nodes)]).astype(np.int64)
    shift = np.repeat(roots[:-1], n_nodes)
    left, right = (
        np.where(columns[side] < 0, -1, columns[side] + shift).astype(np.int64)
        for side in ("cleft", "cright")
    )
    inner = left >= 0
    missing_left = columns["default_left"].astype(bool)
    threshold = columns["threshold"]
    numeric = inner & (columns["node_type"] == _NUMERIC_NODE)
    operator = np.where(numeric, columns["cmp"], _LESS)
    if unknown := set(operator.tolist()) - {_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL}:
        raise ValueError(f"cannot read a model that compares with treelite's operators {sorted(unknown)}")
    turned = (operator == _GREATER) | (operator == _GREATER_EQUAL)
    left, right = np.where(turned, right, left), np.where(turned, left, right)
    missing_left ^= turned
    closed = numeric & ((operator == _LESS_EQUAL) | (operator == _GREATER))  # left now is x <= t, not x < t
    less_equal = bool(closed.any())
    if less_equal and not closed[numeric].all():  # in the type that is compared, x <= t is x < next(t)
        threshold[closed] = np.nextafter(threshold[closed], threshold.dtype.type(np.inf))
        less_equal = False
    node_cover = _concatenate(trees, cover).astype(np.float64)
    known = len(node_cover) == len(left) and bool(_concatenate(trees, f"{cover}_present")[inner].all())
    value, output = _values(trees, field, columns, n_nodes)
    nodes = Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=columns["split_index"].astype(np.int64),
        threshold=threshold.astype(np.float64),
        missing_left=missing_left,
        value=value,
        output=output,
        base=np.array(field("base_scores"), dtype=np.float64).ravel(),  # a copy: it is a view, too
        cover=node_cover if known else None,
        categories=_category_lists(trees),
        listed_right=columns["category_list_right_child"].astype(bool),
    )
    return to_leaves(nodes, less_equal=less_equal, as_float32=as_float32)


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


def _values(
    trees: list[Any], field: Any, columns: dict[str, NDArray[Any]], n_nodes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Values of the nodes, and the first output that each tree adds to (outputs are target-major)."""
    n_classes = np.asarray(field("num_class"))
    shape = np.asarray(field("leaf_vector_shape"))
    target, klass = (np.asarray(field(name)).astype(np.int64) for name in ("target_id", "class_id"))
    output = np.maximum(target, 0) * int(n_classes.max()) + np.maximum(klass, 0)
    # a vector of targets, or of targets by classes, all of which have room for the largest number of classes
    place = (np.arange(shape[0])[:, None] * int(n_classes.max()) + np.arange(shape[1])).ravel()
    if len(place) == 1:
        value = columns["leaf_value"].astype(np.float64)[:, None]
    else:
        vectors = _concatenate(trees, "leaf_vector").astype(np.float64)
        begin, end = (
            _concatenate(trees, f"leaf_vector_{side}").astype(np.int64) for side in ("begin", "end")
        )
        sizes = np.array([len(tree.get_field("leaf_vector")) for tree in trees], dtype=np.int64)
        begin, has = begin + np.repeat(np.cumsum(sizes) - sizes, n_nodes), end > begin
        value = np.zeros((len(begin), place[-1] + 1))
        value[np.ix_(has, place)] = vectors[begin[has][:, None] + np.arange(len(place))]
    if field("average_tree_output")[0]:  # over the trees of each output
        of_tree = output[:, None] + place
        value[:, place] /= np.repeat(np.bincount(of_tree.ravel())[of_tree], n_nodes, axis=0)
    return value, output.astype(np.int32)
