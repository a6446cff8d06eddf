"""Write a leaf ensemble, debiased or not, as an ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skglex._input import LARGEST_ZERO, InputSpec
from skglex._leaves import Grid
from skglex._mixed_rows import CellAxis
from skglex._readers import SourceModel
from skglex._response import Isolation, Response, split_link
from skglex.export._debiased_forest import Splits
from skglex.export._onnx_graph import Graph
from skglex.export._term_trees import TreeSum, trees_of_ensemble

# Categorical codes are looked up in a table whose length is the largest code, which must not exceed this.
_MAX_CODE = 1_000_000
# With cells, the exported model contains all trees once for each.
_MAX_CELLS = 64


def onnx_model(
    source: SourceModel,
    *,
    removed: NDArray[np.bool_] | None = None,
    leaf_weight: NDArray[np.float64] | None = None,
    strength: float = 1.0,
    cells: tuple[CellAxis, NDArray[np.float64]] | None = None,
    input_dtype: DTypeLike = np.float64,
    zero_is_missing: bool = False,
    description: str = "",
    metadata: dict[str, Any] | None = None,
) -> Any:
    """Return a model as ONNX, on request without the conditions on some features.

    The model has one input ``X`` of shape (n_samples, n_features) and the outputs ``margin``, of shape
    (n_samples, n_outputs), and

    * for a regressor ``variable``, its prediction: the inverse link of the margin, of the same shape;
    * for a classifier ``label`` of shape (n_samples,) and ``probabilities`` of shape (n_samples, n_classes);
    * for an isolation forest ``label`` (1, or -1 for outliers) and ``scores`` (those of ``decision_function``), of
      shape (n_samples, 1).

    ``X`` has all features; the values of removed features have no effect. A categorical feature is passed as the
    model's codes (positions among its categories). Values are cast to float32 first if the model does so, and
    comparisons are then exact. Trees are summed in float64 and the sum is rounded to float32, the only type that
    ``TreeEnsembleRegressor`` returns. In onnxruntime the trees of an XGBoost model take 2 to 4 times as long as in
    XGBoost; removing a feature multiplies that by 2 to 3.5.

    Parameters
    ----------
    source : SourceModel
        The model. The classes of its ``response`` are integers, booleans or strings, or None for a regressor.
    removed : ndarray of shape (n_used_features,), bool, optional
        Features of the ensemble's grid that are averaged out.
    leaf_weight : ndarray of shape (n_leaves,), float64, optional
        E_l of every leaf: the weight of its conditions on the removed features.
    strength : float, default=1.0
        How much of the components of the removed features is taken out, from 0 (nothing) to 1 (all). Between 0 and
        1 the model contains every tree twice.
    cells : tuple of CellAxis and ndarray of shape (n_cells,), optional
        Values of the removed features, and their shares, instead of ``leaf_weight``. The model then contains all trees
        once per cell, and averages the responses. It has no output ``margin``.
    input_dtype : dtype, default=float64
        Type of the input: float64, or float32 for a model that casts its input to float32.
    zero_is_missing : bool, default=False
        Whether zeros in X are missing values, as for a model of sparse rows that takes unstored entries as missing.
    description : str, default=""
        The model's ``doc_string``.
    metadata : dict, optional
        Values by name that become the model's ``metadata_props``, as JSON.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ValueError
        The model has no trees, its link, labels or categories have no counterpart in ONNX, or ``input_dtype`` would
        round values that it compares in float64. Or there are too many cells.
    """
    ensemble, response = source.ensemble, source.response
    model = OnnxInput(ensemble.grid, source.input, input_dtype, zero_is_missing)
    nothing = np.zeros(len(ensemble.grid.features), dtype=bool)
    if cells is not None:
        graph = Graph()
        x = _add_input(graph, model)
        terms = []
        if strength < 1:
            whole = trees_of_ensemble(ensemble, nothing, ensemble.value)
            terms.append((1 - strength, _add_margin(graph, x, model, ensemble.base, [whole])))
        if strength > 0:
            for share, part in _parts_by_cell(source, *cells):
                trees = trees_of_ensemble(ensemble, *part)
                terms.append((strength * share, _add_margin(graph, x, model, ensemble.base, [trees])))
        total = _weighted_sum(
            graph, [(weight, _respond(graph, margin, response)) for weight, margin in terms]
        )
        outputs = _add_outputs(graph, total, response)
        return graph.model(model.inputs, outputs, description, metadata or {})
    if (removed is None) != (leaf_weight is None):
        raise ValueError("pass removed and leaf_weight together, or neither")
    # Each part is a sum of all trees: the features that it does not use, and its leaf values.
    parts = []
    if removed is None or strength < 1:
        parts.append((nothing, ensemble.value * (1.0 if removed is None else 1 - strength)))
    if removed is not None and leaf_weight is not None and strength > 0:
        parts.append((removed, ensemble.value * (strength * leaf_weight)[:, None]))
    sums = [trees_of_ensemble(ensemble, *part) for part in parts]
    return onnx_of_trees(ensemble.base, sums, model, response, description, metadata or {})


@dataclass(frozen=True)
class OnnxInput:
    """Describe the input of an ONNX model.

    Attributes
    ----------
    grid : Grid
        The bins of the features.
    spec : InputSpec
        How the model reads its input.
    dtype : dtype
        Type of the input: float64, or float32 for a model that casts its input to float32.
    zero_is_missing : bool
        Whether zeros are missing values.
    """

    grid: Grid
    spec: InputSpec
    dtype: DTypeLike = np.float64
    zero_is_missing: bool = False

    @property
    def inputs(self) -> list[tuple[str, DTypeLike, list[int | None]]]:
        """Return name, type and shape of the input."""
        return [("X", self.dtype, [None, self.spec.n_features])]


def onnx_of_trees(
    base: NDArray[np.float64],
    trees: Sequence[TreeSum],
    model: OnnxInput,
    response: Response,
    description: str,
    metadata: dict[str, Any],
) -> Any:
    """Return a sum of trees as an ONNX model, with the inputs and outputs of `onnx_model`."""
    graph = Graph()
    x = _add_input(graph, model)
    margin = _add_margin(graph, x, model, base, trees, name="margin")
    outputs = _add_outputs(graph, _respond(graph, margin, response), response)
    outputs.append(("margin", np.float64, [None, len(base)]))
    return graph.model(model.inputs, outputs, description, metadata)


# A part of a margin: the features that its trees do not use, and the values of their leaves.
_Part = tuple[NDArray[np.bool_], NDArray[np.float64]]


def _parts_by_cell(
    source: SourceModel, axis: CellAxis, shares: NDArray[np.float64]
) -> Iterator[tuple[float, _Part]]:
    """Yield the share of every cell, and the leaves that hold at it without their conditions on removed features."""
    ensemble = source.ensemble
    if axis.n_cells > _MAX_CELLS:
        raise ValueError(
            f"cannot export to ONNX: the removed features have {axis.n_cells:,} different combinations of values in "
            "the background, and with scale='response' the exported model contains all trees once for each. At most "
            f"{_MAX_CELLS} are supported. Remove fewer features, pass a smaller background, or use scale='margin'"
        )
    removed = np.isin(np.arange(len(ensemble.grid.features)), axis.used_features)
    for cell, share in enumerate(shares.tolist()):
        yield share, (removed, ensemble.value * axis.holds_at(cell)[:, None])


def _add_margin(
    graph: Graph,
    x: str,
    model: OnnxInput,
    base: NDArray[np.float64],
    trees: Sequence[TreeSum],
    name: str | None = None,
) -> str:
    """Add the sums of some trees, and the base."""
    sums = [_add_trees(graph, x, part, model, len(base)) for part in trees if part.forest.n_trees]
    if not sums:
        raise ValueError("cannot export a model without trees to ONNX: its prediction is a constant")
    total = sums[0]
    for other in sums[1:]:
        total = graph.add("Add", total, other)
    return graph.add("Add", total, graph.constant(base.reshape(1, -1)), name=name)


def _weighted_sum(graph: Graph, terms: list[tuple[float, str]]) -> str:
    """Add the sum of some values of one shape, with weights."""
    total = ""
    for weight, values in terms:
        term = graph.add("Mul", values, graph.constant(np.float64(weight)))
        total = graph.add("Add", total, term) if total else term
    return total


def _add_input(graph: Graph, model: OnnxInput) -> str:
    """Add the input as the model reads it; raise if its type would round values."""
    if np.dtype(model.dtype) not in (np.float64, np.float32):
        raise ValueError(f"input_dtype must be float64 or float32; got {model.dtype!r}")
    if np.dtype(model.dtype) == np.float32 and not model.grid.as_float32:
        raise ValueError(
            "input_dtype=numpy.float32 would round the input, but this model compares in float64, so rows close to a "
            "threshold would go the other way. Use input_dtype=numpy.float64"
        )
    return _standardise(graph, "X", model.grid.as_float32, model.spec, model.zero_is_missing)


def _standardise(graph: Graph, x: str, as_float32: bool, spec: InputSpec, zero_is_missing: bool) -> str:
    """Cast the input to float64, after the model's own cast, and replace all missing values by NaN."""
    if zero_is_missing:
        # This comes before the cast, which makes zeros of small numbers.
        x = graph.cast(x, np.float64)
        x = graph.absent_where(graph.add("Equal", x, graph.constant(np.float64(0))), x)
    x = graph.cast(graph.cast(x, np.float32) if as_float32 else x, np.float64)
    if not np.isnan(spec.missing):
        value = np.float64(np.float32(spec.missing)) if as_float32 else np.float64(spec.missing)
        x = graph.absent_where(graph.add("Equal", x, graph.constant(value)), x)
    if spec.missing_zeros:
        where = np.isin(np.arange(spec.n_features), list(spec.missing_zeros))
        zero = graph.add("LessOrEqual", graph.add("Abs", x), graph.constant(np.float64(LARGEST_ZERO)))
        x = graph.absent_where(graph.add("And", zero, graph.constant(where[None])), x)
    return x


# -- the trees ------------------------------------------------------------------------------------


def _add_trees(graph: Graph, x: str, part: TreeSum, model: OnnxInput, n_outputs: int) -> str:
    """Add the sum of some trees, of shape (n_samples, n_outputs)."""
    x, column = _add_memberships(graph, x, part.splits, model.grid, model.spec)
    trees = _tree_attributes(graph.onnx, part, column, model.grid, n_outputs)
    sums = graph.add("TreeEnsembleRegressor", x, domain="ai.onnx.ml", **trees)
    return graph.cast(sums, np.float64)


def _add_memberships(
    graph: Graph, x: str, splits: Splits, grid: Grid, spec: InputSpec
) -> tuple[str, dict[int, int]]:
    """Append one column per categorical split, with 0 for categories that go left and 1 for the others.

    Also returns the column of each such split, by its number.
    """
    by_feature: dict[int, list[int]] = {}
    for number, members in enumerate(splits.members):
        if members is not None:
            by_feature.setdefault(splits.used_feature[number], []).append(number)
    parts = [x]
    column: dict[int, int] = {}
    for used_feature, numbers in by_feature.items():
        codes = grid.cuts_of(used_feature)
        if codes[0] < 0 or codes[-1] > _MAX_CODE or (codes != np.floor(codes)).any():
            raise ValueError(
                f"cannot export the categories of feature {grid.features[used_feature]} to ONNX: expected codes "
                f"from 0 to {_MAX_CODE:,}; got {codes.tolist()[:5]}"
            )
        # The rows of the table are: below 0, the codes 0, 1, ..., above the codes, missing.
        bin_of_row = np.full(int(codes[-1]) + 4, len(codes))
        bin_of_row[codes.astype(np.int64) + 1] = np.arange(len(codes))
        bin_of_row[-1] = len(codes) + 1
        left = np.array([np.frombuffer(splits.members[n] or b"", np.uint8) for n in numbers])
        table = graph.constant(1.0 - left.T[bin_of_row], np.float64)
        feature = graph.constant(int(grid.features[used_feature]), np.int64)
        values = graph.add("Gather", x, feature, axis=1)
        row = _add_table_row(graph, values, codes[-1], spec.truncates_codes)
        parts.append(graph.add("Gather", table, row, axis=0))
        column |= {number: spec.n_features + len(column) + i for i, number in enumerate(numbers)}
    return (graph.add("Concat", *parts, axis=1) if len(parts) > 1 else x), column


def _add_table_row(graph: Graph, values: str, largest_code: float, truncates_codes: bool) -> str:
    """Add the row of each value in a table by categorical code."""
    whole = graph.add("Floor", values)
    if truncates_codes:
        negative = graph.add("Less", values, graph.constant(np.float64(0)))
        whole = graph.add("Where", negative, graph.add("Ceil", values), whole)
    lowest, highest = (graph.constant(bound, np.float64) for bound in (-1, largest_code + 1))
    known = graph.add("Clip", whole, lowest, highest)
    absent = graph.constant(largest_code + 2, np.float64)
    row = graph.add("Where", graph.add("IsNaN", values), absent, known)
    return graph.cast(graph.add("Add", row, graph.constant(1, np.float64)), np.int64)


def _tree_attributes(
    onnx: Any, part: TreeSum, column: dict[int, int], grid: Grid, n_outputs: int
) -> dict[str, Any]:
    """Return the attributes of the operator ``TreeEnsembleRegressor``, version 3."""
    forest, splits, output = part.forest, part.splits, part.output
    leaf = forest.left < 0
    n_nodes = np.diff(np.append(forest.roots, len(leaf)))
    tree = np.repeat(np.arange(forest.n_trees), n_nodes)
    node = np.arange(len(leaf)) - forest.roots[tree]
    # There is one entry per split, and a last one for all leaves.
    tests = [_test(number, splits, column, grid) for number in range(len(splits.used_feature))]
    feature, mode, threshold, missing_true = zip(*tests, (0, "LEAF", 0.0, 0))
    split = np.where(leaf, len(tests), forest.split)
    children = (np.where(leaf, 0, node[side]) for side in (forest.left, forest.right))
    true_id, false_id = children
    at, width = np.flatnonzero(leaf), forest.value.shape[1]
    targets = output[tree[at]][:, None] + np.arange(width)
    double = onnx.TensorProto.DOUBLE
    thresholds, weights = np.array(threshold)[split], forest.value[at].ravel()
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": node.tolist(),
        "nodes_featureids": np.array(feature)[split].tolist(),
        "nodes_modes": np.array(mode)[split].tolist(),
        "nodes_values_as_tensor": onnx.helper.make_tensor("values", double, [len(split)], thresholds),
        "nodes_truenodeids": true_id.tolist(),
        "nodes_falsenodeids": false_id.tolist(),
        "nodes_missing_value_tracks_true": np.array(missing_true)[split].tolist(),
        "target_treeids": np.repeat(tree[at], width).tolist(),
        "target_nodeids": np.repeat(node[at], width).tolist(),
        "target_ids": targets.ravel().tolist(),
        "target_weights_as_tensor": onnx.helper.make_tensor("weights", double, [len(weights)], weights),
        "n_targets": n_outputs,
    }


def _test(number: int, splits: Splits, column: dict[int, int], grid: Grid) -> tuple[int, str, float, int]:
    """Return the column, comparison and threshold of a split, and whether missing values go left."""
    mode = "BRANCH_LEQ" if grid.less_equal else "BRANCH_LT"
    if number in column:
        return column[number], mode, 0.5, 0
    used_feature, cut = splits.used_feature[number], splits.cut[number]
    feature, missing_left = int(grid.features[used_feature]), int(splits.missing_left[number])
    cuts = grid.cuts_of(used_feature)
    if cut == 0:  # No number goes left.
        return feature, "BRANCH_LT", -np.inf, missing_left
    if cut > len(cuts):  # All numbers go left.
        return feature, "BRANCH_LEQ", np.inf, missing_left
    return feature, mode, float(cuts[cut - 1]), missing_left


# -- the outputs ----------------------------------------------------------------------------------


def _respond(graph: Graph, margin: str, response: Response) -> str:
    """Add the response of a margin: the inverse link, or the scores of an isolation forest."""
    if response.isolation is not None:
        return _score(graph, margin, response.isolation)
    return _inverse_link(graph, response.link, margin, response.n_outputs)


def _add_outputs(graph: Graph, output: str, response: Response) -> list[tuple[str, Any, list[int | None]]]:
    """Add the outputs other than the margin; return their names, types and shapes."""
    if response.isolation is not None:
        _add_outliers(graph, output, response.isolation)
        return [("label", np.int64, [None, 1]), ("scores", np.float64, [None, 1])]
    if response.classes is None:
        graph.add("Identity", output, name="variable")
        return [("variable", np.float64, [None, 1 if response.link == "max_index" else response.n_outputs])]
    labels = _check_classes(response, response.classes)
    _classify(graph, output, labels, response)
    return [("label", labels.dtype, [None]), ("probabilities", np.float64, [None, len(labels)])]


def _inverse_link(graph: Graph, link: str, margin: str, n_outputs: int) -> str:
    """Add the inverse link of a margin, as `skglex._response.inverse_link` defines it."""
    name, factor = split_link(link)
    links: dict[str, Callable[[], str]] = {
        "identity": lambda: margin,
        "identity_multiclass": lambda: margin,
        "sigmoid": lambda: graph.add("Sigmoid", margin),
        "exponential": lambda: graph.add("Exp", margin),
        "probability": lambda: _probability(graph, margin, n_outputs),
        "signed_square": lambda: graph.add("Mul", margin, graph.add("Abs", margin)),
        "logarithm_one_plus_exp": lambda: _softplus(graph, margin),
        "multiclass_ova": lambda: graph.add("Sigmoid", margin),
        "softmax": lambda: graph.add("Softmax", margin, axis=1),
        "hinge": lambda: graph.cast(graph.add("Greater", margin, graph.constant(np.float64(0))), np.float64),
        "mean_variance": lambda: _mean_variance(graph, margin),
        "scaled_sigmoid": lambda: _scaled_sigmoid(graph, margin),
        "sorted": lambda: _sorted(graph, margin, n_outputs),
        "max_index": lambda: graph.cast(graph.add("ArgMax", margin, axis=1, keepdims=1), np.float64),
    }
    if name not in links:
        raise ValueError(f"the inverse link {link!r} cannot be exported to ONNX; known are {sorted(links)}")
    if factor != 1:
        margin = graph.add("Mul", margin, graph.constant(np.float64(factor)))
    return links[name]()


def _softplus(graph: Graph, margin: str) -> str:
    """Add log(1 + exp(margin)) as max(margin, 0) + log(1 + exp(-|margin|)).

    onnxruntime has no ``Softplus`` in float64.
    """
    zero, one = (graph.constant(np.float64(number)) for number in (0, 1))
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", margin)))
    return graph.add("Add", graph.add("Max", margin, zero), graph.add("Log", graph.add("Add", one, small)))


def _mean_variance(graph: Graph, margin: str) -> str:
    """Add mean and variance; the margin holds mean and logarithm of the standard deviation."""
    variance = graph.add("Exp", graph.add("Add", margin, margin))
    return graph.add("Where", graph.constant(np.array([[True, False]])), margin, variance)


def _sorted(graph: Graph, margin: str, n_outputs: int) -> str:
    """Sort the outputs: neighbours change places as often as there are outputs."""
    columns = [graph.add("Gather", margin, graph.constant([i], np.int64), axis=1) for i in range(n_outputs)]
    for start in range(n_outputs):
        for i in range(start % 2, n_outputs - 1, 2):
            one, other = columns[i], columns[i + 1]
            columns[i], columns[i + 1] = graph.add("Min", one, other), graph.add("Max", one, other)
    return graph.add("Concat", *columns, axis=1)


def _scaled_sigmoid(graph: Graph, margin: str) -> str:
    """Scale the sigmoids of several classes to sum to 1."""
    p = graph.add("Sigmoid", margin)
    return graph.add("Div", p, graph.add("ReduceSum", p, graph.constant([1], np.int64), keepdims=1))


def _probability(graph: Graph, margin: str, n_outputs: int) -> str:
    """Clip to [0, 1]; scale several classes to sum to 1, or make all equal if all are 0."""
    zero, one = (graph.constant(np.float64(bound)) for bound in (0, 1))
    p = graph.add("Clip", margin, zero, one)
    if n_outputs == 1:
        return p
    total = graph.add("ReduceSum", p, graph.constant([1], np.int64), keepdims=1)
    scaled = graph.add("Div", p, graph.add("Where", graph.add("Greater", total, zero), total, one))
    return graph.add(
        "Where", graph.add("Greater", total, zero), scaled, graph.constant(np.float64(1 / n_outputs))
    )


def _score(graph: Graph, margin: str, isolation: Isolation) -> str:
    """Add the scores of an isolation forest, ``-2 ** (-margin / path_length)``."""
    length = isolation.path_length
    # Without a path length all margins are 0, and all rows score -1/2.
    factor, shift = (graph.constant(np.float64(v)) for v in ((-1 / length, 0) if length else (0, -1)))
    exponent = graph.add("Add", graph.add("Mul", margin, factor), shift)
    return graph.add("Neg", graph.add("Pow", graph.constant(np.float64(2)), exponent))


def _add_outliers(graph: Graph, score: str, isolation: Isolation) -> None:
    """Add the decision function of an isolation forest, and the label: -1 if it is negative, otherwise 1."""
    zero, one, two = (graph.constant(np.float64(value)) for value in (0, 1, 2))
    scores = graph.add("Sub", score, graph.constant(np.float64(isolation.offset)), name="scores")
    outlier = graph.cast(graph.add("Less", scores, zero), np.float64)
    label = graph.add("Sub", one, graph.add("Mul", two, outlier))
    graph.add("Identity", graph.cast(label, np.int64), name="label")


def _check_classes(response: Response, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels in a type that ONNX has."""
    classes = np.asarray(classes)
    if classes.ndim != 1 or response.multilabel or (response.binary and len(classes) != 2):
        raise ValueError(
            f"cannot export a classifier with {response.n_outputs} outputs and the classes {classes.tolist()} to "
            "ONNX: expected one output for two classes, or one output per class"
        )
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind in "iuf" and (classes.astype(np.int64) == classes).all():
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise ValueError(
        f"cannot export a classifier with the labels {classes!r} to ONNX: expected integers, booleans or strings"
    )


def _classify(graph: Graph, output: str, labels: NDArray[Any], response: Response) -> None:
    """Add the outputs ``probabilities`` and ``label``."""
    if response.binary:
        other = graph.add("Sub", graph.constant(np.float64(1)), output)
        output = graph.add("Concat", other, output, axis=1)
    graph.add("Identity", output, name="probabilities")
    if response.threshold != 0.5:
        compare = "GreaterOrEqual" if response.second_class_on_ties else "Greater"
        second = graph.add(compare, output, graph.constant(np.array([[np.inf, response.threshold]])))
        best = graph.add("ArgMax", graph.cast(second, np.int64), axis=1, keepdims=0)
        graph.add("Gather", graph.constant(labels), best, axis=0, name="label")
        return
    last = int(response.second_class_on_ties and response.binary)
    best = graph.add("ArgMax", output, axis=1, keepdims=0, select_last_index=last)
    graph.add("Gather", graph.constant(labels), best, axis=0, name="label")
