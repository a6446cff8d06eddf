"""Read treelite's models; `from_treelite` also serves readers whose models treelite imports.

treelite itself is imported only to predict.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._input import InputSpec, column_values
from skglex._leaves import LeafEnsemble
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._pickling import register_treelite_pickling
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response, join_link

if TYPE_CHECKING:
    import treelite

_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL = 2, 3, 4, 5  # treelite::Operator
_NUMERIC_NODE, _CATEGORICAL_NODE = 1, 2  # treelite::TreeNodeType
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


# -- the reader of treelite.Model -----------------------------------------------------------------

READS = (
    ModelKind(
        "treelite",
        ("treelite.Model",),
        "the sum that GTIL computes",
        "``sum_hess``, else ``data_count``",
        "NaN",
        "several targets of several classes each",
    ),
)


def read(model: treelite.Model, missing: float = np.nan) -> SourceModel:
    """Read a model that treelite imported or built; its cover is ``sum_hess``, or else ``data_count``.

    Margin and output are those of GTIL, treelite's own predictor.
    """
    register_treelite_pickling()
    as_float32 = model.input_type == "float32"
    ensemble = from_treelite(model, as_float32=as_float32)
    if not ensemble.has_cover:
        ensemble = from_treelite(model, as_float32=as_float32, cover="data_count")
    spec = InputSpec(n_features=model.num_feature, missing=missing, sparse_is_missing=True)
    used = ensemble.grid.features
    return SourceModel(
        ensemble=ensemble,
        input=spec,
        margin=partial(_predict, model, spec, used, pred_margin=True),
        output=partial(_predict, model, spec, used, pred_margin=False),
        response=Response(_find_link(model), n_outputs=ensemble.n_outputs),
        with_missing=partial(read, model),
    )


def _find_link(model: treelite.Model) -> str:
    """Return the inverse link: treelite's postprocessor with its factor."""
    field = model.get_header_accessor().get_field
    link = str(field("postprocessor"))
    if link == "softmax" and int(field("num_target")[0]) > 1:
        raise ValueError(
            "cannot read a treelite model with several targets and the postprocessor 'softmax', which would classify "
            "each target separately. Read one model per target"
        )
    if link in ("sigmoid", "multiclass_ova"):
        return join_link(link, float(field("sigmoid_alpha")[0]))
    if link == "exponential_standard_ratio":
        # The output is 2 ** (-margin / ratio_c).
        return join_link("exponential", -float(np.log(2) / field("ratio_c")[0]))
    return link


def _predict(
    model: treelite.Model, spec: InputSpec, used: NDArray[np.int64], X: Any, *, pred_margin: bool
) -> NDArray[Any]:
    from treelite import gtil

    if sp.issparse(X):
        X = sp.csr_matrix(X, copy=True)
        X.data = _without_missing(X.data, model, spec.missing)
    elif not isinstance(X, np.ndarray):
        # GTIL accepts no data frames.
        columns = np.full((len(X), spec.n_features), np.nan)
        for feature in used:
            columns[:, feature] = column_values(X, int(feature), spec)
        X = columns
    if isinstance(X, np.ndarray):
        X = _without_missing(X, model, spec.missing)
    with np.errstate(over="ignore"):  # Values too large for float32 become infinite, as they should.
        out = gtil.predict(model, X, pred_margin=pred_margin)
    return np.asarray(out).reshape(X.shape[0], -1)


def _without_missing(values: NDArray[Any], model: treelite.Model, missing: float) -> NDArray[Any]:
    """Return values with NaN in place of ``missing``, compared in the type of the model's thresholds."""
    if np.isnan(missing):
        return values
    with np.errstate(over="ignore"):
        equal = values.astype(model.input_type) == np.dtype(model.input_type).type(missing)
    return np.where(equal, np.nan, values)


# -- from a treelite model to leaves --------------------------------------------------------------


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
        The statistic of treelite's nodes that is the cover.
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
    numeric = inner & (columns["node_type"] == _NUMERIC_NODE)
    turned, threshold, less_equal = _unify_operators(columns, numeric)
    left, right = np.where(turned, right, left), np.where(turned, left, right)
    node_cover = _concatenate(trees, cover).astype(np.float64)
    known = len(node_cover) == len(left) and bool(_concatenate(trees, f"{cover}_present")[inner].all())
    value, output = _values(trees, field, columns, n_nodes)
    nodes = Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=columns["split_index"].astype(np.int64),
        threshold=threshold.astype(np.float64),
        missing_left=columns["default_left"].astype(bool) ^ turned,
        value=value,
        output=output,
        # get_field returns a view of the model's memory, hence the copy.
        base=np.array(field("base_scores"), dtype=np.float64).ravel(),
        cover=node_cover if known else None,
        categories=_category_lists(trees),
        listed_right=columns["category_list_right_child"].astype(bool),
    )
    return to_leaves(nodes, less_equal=less_equal, as_float32=as_float32)


def _unify_operators(
    columns: dict[str, NDArray[Any]], numeric: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[Any], bool]:
    """Express all numeric splits by one operator, ``<`` or ``<=``.

    Returns
    -------
    turned : ndarray of shape (n_nodes,), bool
        Nodes whose children must be swapped, since they go left on ``>`` or ``>=``.
    threshold : ndarray of shape (n_nodes,)
    less_equal : bool
        Whether all splits go left on ``x <= threshold`` after the swap, rather than on ``x < threshold``.
    """
    threshold = columns["threshold"]
    operator = np.where(numeric, columns["cmp"], _LESS)
    if unknown := set(operator.tolist()) - {_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL}:
        raise ValueError(
            f"cannot read a treelite model whose splits use the operators {sorted(unknown)}; expected <, <=, > or >="
        )
    turned = (operator == _GREATER) | (operator == _GREATER_EQUAL)
    closed = numeric & ((operator == _LESS_EQUAL) | (operator == _GREATER))
    less_equal = bool(closed.any())
    if less_equal and not closed[numeric].all():
        # The model mixes both operators: in the type of the thresholds, x <= t is the same as x < nextafter(t).
        threshold[closed] = np.nextafter(threshold[closed], threshold.dtype.type(np.inf))
        less_equal = False
    return turned, threshold, less_equal


def _concatenate(trees: list[Any], name: str) -> NDArray[Any]:
    # np.concatenate copies, as it must: get_field returns a view of the model's memory.
    return np.concatenate([tree.get_field(name) for tree in trees]) if trees else np.empty(0)


def _category_lists(trees: list[Any]) -> dict[int, NDArray[np.uint32]]:
    """Return the categories listed by every categorical node, by the node's position among all nodes."""
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
    """Return the values of all nodes, and the first output of each tree (outputs are target-major)."""
    n_classes = np.asarray(field("num_class"))
    shape = np.asarray(field("leaf_vector_shape"))
    target, klass = (np.asarray(field(name)).astype(np.int64) for name in ("target_id", "class_id"))
    output = np.maximum(target, 0) * int(n_classes.max()) + np.maximum(klass, 0)
    # A leaf vector covers targets, or targets by classes. Every target has room for the largest number of classes.
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
    if field("average_tree_output")[0]:
        # The average is over the trees that contribute to an output, not over all trees.
        of_tree = output[:, None] + place
        value[:, place] /= np.repeat(np.bincount(of_tree.ravel())[of_tree], n_nodes, axis=0)
    return value, output.astype(np.int32)
