"""Write a sum of components as an ordinary XGBoost booster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._kept import TermSum, term_sum
from skglex._leaves import Grid
from skglex._readers import booster_json, tree_section, trees_used_by_predict
from skglex._response import split_link
from skglex.export._debiased_forest import Forest, Splits
from skglex.export._term_trees import TreeSum, trees_of_sum
from skglex.export._xgboost import as_gbtree, load_booster, shorten

if TYPE_CHECKING:
    import xgboost as xgb

# XGBoost's objectives that have the inverse links of other libraries, and the base score that is 0 as a margin.
_OBJECTIVES = {
    "identity": ("reg:squarederror", 0.0),
    "custom": ("reg:squarederror", 0.0),
    "sigmoid": ("binary:logistic", 0.5),
    "exponential": ("count:poisson", 1.0),
    "softmax": ("multi:softprob", 0.0),
}
# XGBoost reads codes of categories below this one.
_MAX_CODE = 1 << 24
_Tree = dict[str, Any]


def to_xgboost(model: Any) -> xgb.Booster:
    """Write a sum of components as an ordinary XGBoost booster, with a small tree per component and output.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted model or decomposer. The remainder of a component model is written as the trees of the model.

    Returns
    -------
    xgboost.Booster
        Its margin is that of the model, rounded to float32. For an XGBoost model it has the feature names, types,
        categories, objective and base score of the model, so that it reads rows as the model does. For models of other
        libraries, categories are codes (positions among the model's categories), and the objective is the one of
        XGBoost with the same inverse link.

    Raises
    ------
    ValueError
        There is a remainder. Or a number is missing for the model and not for XGBoost. Or XGBoost has no objective with
        the link of the model.

    Notes
    -----
    A value that counts as missing is not part of a booster: pass it with the rows, as
    ``xgboost.DMatrix(X, missing=-999)``. XGBoost casts values to float32 before it compares them. The booster of a
    model that compares in float64 (LightGBM, histogram boosting, planted forests) sends values the other way that are
    not equal to a threshold, but are the same float32.

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> from skglex import ComponentModel
    >>> from skglex.export import to_xgboost
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = xgboost.XGBRegressor(n_estimators=50, max_depth=3).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> kept = ComponentModel(model, n_terms=3).fit(X)
    >>> booster = to_xgboost(kept)
    >>> np.allclose(booster.predict(xgboost.DMatrix(X)), kept.predict(X), atol=1e-5)
    True
    """
    terms = term_sum(model)
    base, parts = trees_of_sum(terms, one_output=True)
    content = _template(terms)
    blank = _blank_tree(terms.spec.n_features)
    trees = [tree for part in parts for tree in _write_trees(part, terms.grid, blank)]
    # The base score is not always a margin, so the booster itself says what it starts from.
    rows = np.zeros((1, terms.spec.n_features))
    start = _load(content, _constants(np.zeros(len(base)), blank)).inplace_predict(
        rows, predict_type="margin", validate_features=False
    )
    return _load(content, [*_constants(base - np.ravel(start), blank), *trees])


def _load(content: dict[str, Any], trees: list[tuple[int, _Tree]]) -> xgb.Booster:
    """Return the booster with some trees, given with the output of each: round by round, one tree per output."""
    n_outputs = max(output for output, _ in trees) + 1
    by_output = [[tree for output, tree in trees if output == o] for o in range(n_outputs)]
    n_rounds = max(map(len, by_output))
    # The first tree of each output is a single leaf.
    zero = by_output[0][0] | _leaf(0.0)
    by_output = [[*own, *[zero] * (n_rounds - len(own))] for own in by_output]
    section = tree_section(content)
    in_rounds = [own[i] for i in range(n_rounds) for own in by_output]
    section["trees"] = [_number(tree, i) for i, tree in enumerate(in_rounds)]
    section["tree_info"] = list(range(n_outputs)) * n_rounds
    section["iteration_indptr"] = list(range(0, n_rounds * n_outputs + 1, n_outputs))
    section["gbtree_model_param"] |= {"num_trees": str(n_rounds * n_outputs), "num_parallel_tree": "1"}
    return load_booster(content)


def _number(tree: _Tree, position: int) -> _Tree:
    """Return a tree with its position in the booster, and the count of its nodes."""
    parameters = tree["tree_param"] | {"num_nodes": str(len(tree["left_children"])), "num_deleted": "0"}
    return tree | {"id": position, "tree_param": parameters}


def _constants(values: NDArray[np.float64], blank: _Tree) -> list[tuple[int, _Tree]]:
    """Return a tree of a single leaf for each output."""
    return [(o, blank | _leaf(value)) for o, value in enumerate(values.tolist())]


def _leaf(value: float) -> _Tree:
    """Return the fields of a tree of a single leaf that depend on its value."""
    (short,) = shorten(np.array([value]))
    return {"split_conditions": [short], "base_weights": [short]}


# -- the model without its trees ------------------------------------------------------------------


def _template(terms: TermSum) -> dict[str, Any]:
    """Return the JSON of a booster without trees, with the names, types and objective of the model."""
    import xgboost as xgb

    _check_missing(terms)
    # Stored components know no model.
    model = terms.view.fitted.model if hasattr(terms.view.estimator, "fit") else None
    if isinstance(model, (xgb.Booster, xgb.XGBModel)):
        content = booster_json(trees_used_by_predict(model))
        return as_gbtree(content, None if terms.view.fitted.preprocess is None else terms.feature_names)[0]
    objective, base_score = _objective(terms)
    n, n_outputs = terms.spec.n_features, terms.n_outputs
    categorical = {*terms.grid.features[terms.grid.categorical].tolist(), *terms.spec.categories}
    types = ["c" if j in categorical else "float" for j in range(n)]
    parameters = {"objective": objective, "base_score": base_score}
    label: NDArray[np.float64] = np.ones((1, n_outputs))
    if objective == "multi:softprob":
        parameters["num_class"] = n_outputs
        label = np.zeros((1, 1))
    data = xgb.DMatrix(np.zeros((1, n)), label, feature_types=types, enable_categorical=True)
    content = booster_json(xgb.train(parameters, data, num_boost_round=0))
    return as_gbtree(content, terms.feature_names if terms.named else None)[0]


def _check_missing(terms: TermSum) -> None:
    if terms.spec.missing_zeros:
        raise ValueError(
            "the model treats zeros as missing (zero_as_missing=True), but XGBoost does not. Use to_onnx, or train the "
            "model with NaN for missing values"
        )


def _objective(terms: TermSum) -> tuple[str, float]:
    """Return XGBoost's objective with the link of another library's model."""
    link, factor = split_link(terms.response.link)
    if link not in _OBJECTIVES or factor != 1 or terms.response.isolation is not None:
        raise ValueError(
            f"XGBoost has no objective with the inverse link {terms.response.link!r} of this model. Use to_onnx"
        )
    return _OBJECTIVES[link]


def _blank_tree(n_features: int) -> _Tree:
    """Return a tree of a single leaf, with the fields that this version of XGBoost writes."""
    import xgboost as xgb

    data = xgb.DMatrix(np.zeros((1, n_features)), np.zeros(1))
    tree: _Tree = tree_section(booster_json(xgb.train({}, data, num_boost_round=1)))["trees"][0]
    return tree


# -- the trees ------------------------------------------------------------------------------------


def _write_trees(part: TreeSum, grid: Grid, blank: _Tree) -> list[tuple[int, _Tree]]:
    """Return the trees as XGBoost writes them, and the output of each; a tree with wide leaves becomes several."""
    forest, splits = part.forest, part.splits
    tests = [_test(number, splits, grid) for number in range(len(splits.used_feature))]
    # The last test is that of leaves.
    feature, threshold, default_left, swaps = zip(*(test[:4] for test in tests), (0, 0.0, False, False))
    leaf, split = forest.left < 0, forest.split
    swapped = np.array(swaps)[split]
    nodes = {
        "left": np.where(swapped, forest.right, forest.left),
        "right": np.where(swapped, forest.left, forest.right),
        "split_indices": np.array(feature)[split],
        "default_left": np.array(default_left)[split].astype(np.int64),
        "split_type": np.array([*(test[4] is not None for test in tests), False])[split].astype(np.int64),
        "sum_hessian": _count_leaves(forest),
    }
    conditions = np.array(threshold)[split]
    ends = np.append(forest.roots, len(leaf))
    written = []
    for t, output in enumerate(part.output.tolist()):
        here = slice(ends[t], ends[t + 1])
        tree = blank | _structure({name: values[here] for name, values in nodes.items()}, int(ends[t]))
        lists = [tests[number][4] or [] for number in split[here][nodes["split_type"][here] == 1]]
        tree |= _categories(tree["split_type"], lists)
        for o in range(forest.value.shape[1]):
            value = forest.value[here, o]
            shown = {
                "split_conditions": shorten(np.where(leaf[here], value, conditions[here])),
                "base_weights": shorten(value),
            }
            written.append((output + o, tree | shown))
    return written


def _structure(nodes: dict[str, NDArray[Any]], root: int) -> _Tree:
    """Return the fields of one tree that do not depend on its values."""
    left, right = (np.where(nodes[side] < 0, -1, nodes[side] - root) for side in ("left", "right"))
    inner = np.flatnonzero(left >= 0)
    parents = np.full(len(left), np.iinfo(np.int32).max)
    parents[left[inner]] = parents[right[inner]] = inner
    zeros = np.zeros(len(left))
    return {
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "parents": parents.tolist(),
        "loss_changes": zeros.tolist(),
        **{name: values.tolist() for name, values in nodes.items() if name not in ("left", "right")},
    }


def _test(number: int, splits: Splits, grid: Grid) -> tuple[int, float, bool, bool, list[int] | None]:
    """Return a split as XGBoost has it.

    Returns
    -------
    feature : int
    threshold : float
        Numbers below it go left.
    default_left : bool
        Whether missing values go left.
    swaps : bool
        Whether left and right are exchanged.
    codes : list of int, or None
        The categories that go right; None for a numeric split.
    """
    j, members = splits.used_feature[number], splits.members[number]
    feature = int(grid.features[j])
    if members is None:
        return feature, _threshold(grid, j, splits.cut[number]), splits.missing_left[number], False, None
    goes_left = np.frombuffer(members, np.uint8) != 0
    # XGBoost sends all categories left that a split does not name, those without a bin of their own among them.
    swaps = not goes_left[-2]
    goes_left = ~goes_left if swaps else goes_left
    codes = grid.cuts_of(j)[~goes_left[:-2]]
    if len(codes) and (codes[0] < 0 or codes[-1] >= _MAX_CODE):
        raise ValueError(
            f"XGBoost has categories from 0 to {_MAX_CODE - 1:,}, but feature {feature} has the code "
            f"{codes[-1]:,.0f}. Use to_onnx, or encode the column with sklearn.preprocessing.OrdinalEncoder"
        )
    return feature, 0.0, bool(goes_left[-1]), swaps, codes.astype(np.int64).tolist()


def _threshold(grid: Grid, used_feature: int, cut: int) -> float:
    """Return the smallest float32 that is right of a cut, which is stated as the number of bins left of it."""
    if cut == 0:
        return -np.inf
    if cut > len(grid.cuts_of(used_feature)):
        return np.inf
    with np.errstate(over="ignore"):
        if grid.as_float32:
            # An edge is the smallest float64 that is cast to the float32 in question.
            return float(np.float32(grid.edges(used_feature)[cut - 1]))
        # Both sides of the comparison are cast, so that a number that is equal to the threshold stays on its side.
        single = np.float32(grid.cuts_of(used_feature)[cut - 1])
        return float(np.nextafter(single, np.float32(np.inf)) if grid.less_equal else single)


def _categories(split_type: list[int], lists: list[list[int]]) -> _Tree:
    """Return the categories of one tree's categorical splits."""
    sizes = np.array([len(codes) for codes in lists], dtype=np.int64)
    return {
        "categories": [code for codes in lists for code in codes],
        "categories_nodes": np.flatnonzero(np.array(split_type) == 1).tolist(),
        "categories_segments": (np.cumsum(sizes) - sizes).tolist(),
        "categories_sizes": sizes.tolist(),
    }


def _count_leaves(forest: Forest) -> NDArray[np.float64]:
    """Return the number of leaves below each node, which stands for its cover."""
    count = np.ones(len(forest.left))
    for nodes, _ in reversed(forest.levels()):
        inner = nodes[forest.left[nodes] >= 0]
        count[inner] = count[forest.left[inner]] + count[forest.right[inner]]
    return count
