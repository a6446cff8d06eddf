"""Read CatBoost's scikit-learn estimators and `catboost.CatBoost`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import catboost as cb
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier

from skglex._input import InputSpec
from skglex._readers._catboost_statistics import Combinations, Statistic, find_statistic, read_statistics
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response
from skglex._utils import budgets

READS = (
    ModelKind(
        "CatBoost",
        (
            "catboost.CatBoostRegressor",
            "catboost.CatBoostClassifier",
            "catboost.CatBoostRanker",
            "catboost.CatBoost",
        ),
        "``RawFormulaVal``; several quantiles, and the mean and its uncertainty, are outputs",
        "sums of leaf weights",
        "NaN, by ``nan_mode``",
        "text and embedding features; combinations of features need a group",
    ),
)


def read(model: Any) -> SourceModel:
    """Read all trees of a fitted model, which its ``predict`` uses (``use_best_model`` drops the later trees)."""
    if not model.is_fitted():
        raise ValueError(f"the {type(model).__name__} is not fitted. Call its fit method first, or pass y")
    names = [str(name) for name in model.feature_names_]
    content = _to_json(model, names)
    splits = _Splits(content, names)
    nodes, codes = _to_nodes(content, splits)
    classifies = is_classifier(model)
    return SourceModel(
        # In CatBoost's own SHAP values the children of a node that no row reached have weight 0.
        ensemble=to_leaves(nodes, less_equal=True, as_float32=True, ratio_without_cover=0.0),
        input=InputSpec(
            n_features=len(names),
            # A model that was trained on an array names its features 0, 1, ...
            feature_names=None if names == [str(i) for i in range(len(names))] else names,
            encoders={
                feature: partial(_encode, _code_model(hashes), numbers, names[feature])
                for feature, (hashes, numbers) in codes.items()
            },
            derived=splits.combinations.members,
            derived_borders=splits.float_borders(),
            derive=splits.combinations.function(content),
        ),
        margin=partial(_predict, model, "RawFormulaVal"),
        output=partial(_predict, model, "Probability" if classifies else None),
        response=Response(
            link=_find_link(model, content, len(nodes.base)),
            n_outputs=len(nodes.base),
            classes=np.asarray(model.classes_) if classifies else None,
            output_labels=_output_labels(content, len(nodes.base)),
        ),
        offset_replaces=np.zeros(len(nodes.base)),
    )


def _to_json(model: Any, names: list[str]) -> dict[str, Any]:
    """Return the model as JSON, which CatBoost writes only to a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except cb.CatBoostError as error:
            other = [*model.get_text_feature_indices(), *model.get_embedding_feature_indices()]
            why = (
                f", since it has the text or embedding features {[names[i] for i in other]}" if other else ""
            )
            way_out = "Train it on numeric and categorical features"
            if "invalid float value" in str(error):
                why = ", since it splits at -inf, which was among its training data"
                way_out = "Replace -inf by a finite number below all others, and train it again"
            raise ValueError(
                f"CatBoost {cb.__version__} cannot write this model as JSON{why}. {way_out}"
            ) from error
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content


class _Split(NamedTuple):
    """Hold a split.

    It goes right if ``x[feature] > border``, or if the hash of the category is among ``right``. A category that is not
    among ``known`` goes right if ``others_right``.
    """

    feature: int
    border: float = np.nan
    nan_right: bool = False
    right: frozenset[int] | None = None
    known: tuple[int, ...] = ()
    others_right: bool = False


class _Splits:
    """Number the splits of a model in the order in which its trees use them."""

    def __init__(self, content: dict[str, Any], names: list[str]) -> None:
        info = content["features_info"]
        self.splits: list[_Split] = []
        self._number: dict[int, int] = {}
        self._floats = {f["feature_index"]: f for f in info.get("float_features") or []}
        self._categorical = {
            f["feature_index"]: f["flat_feature_index"] for f in info.get("categorical_features") or []
        }
        self._statistics = read_statistics(content)
        self.combinations = Combinations(
            {number: self._members(statistic) for number, statistic in enumerate(self._statistics)},
            len(names),
        )

    def _members(self, statistic: Statistic) -> tuple[int, ...]:
        """Return the columns that a target statistic is computed from."""
        columns = [self._categorical[i] for i in statistic.categorical]
        return tuple(sorted({*columns, *(self._floats[i]["flat_feature_index"] for i in statistic.floats)}))

    def float_borders(self) -> dict[int, NDArray[np.float32]]:
        """Return the borders of numeric columns that combinations compare with, by column."""
        found: dict[int, set[float]] = {}
        for number in self.combinations.numbers:
            for part in self._statistics[number].described["elements"]:
                if "float_feature_index" in part:
                    column = self._floats[part["float_feature_index"]]["flat_feature_index"]
                    found.setdefault(column, set()).add(part["border"])
        return {column: np.array(sorted(borders), dtype=np.float32) for column, borders in found.items()}

    def number(self, described: dict[str, Any]) -> int:
        """Return the number of a split that is described in CatBoost's JSON."""
        index = described["split_index"]
        if index not in self._number:
            self._number[index] = len(self.splits)
            self.splits.append(self._read(described))
        return self._number[index]

    def _read(self, described: dict[str, Any]) -> _Split:
        kind = described["split_type"]
        if kind == "FloatFeature":
            feature = self._floats[described["float_feature_index"]]
            # NaN compares as false and goes left, unless CatBoost was trained with nan_mode='Max'.
            nan_right = feature["has_nans"] and feature["nan_value_treatment"] == "AsTrue"
            return _Split(feature["flat_feature_index"], described["border"], nan_right)
        if kind == "OneHotFeature":
            column = self._categorical[described["cat_feature_index"]]
            value = int(described["value"])
            return _Split(column, right=frozenset([value]), known=(value,))
        if kind != "OnlineCtr":
            raise ValueError(
                f"cannot decompose a CatBoost model that splits on a {kind}, which is computed from text or "
                "embedding features. Train it on numeric and categorical features"
            )
        number, position = find_statistic(self._statistics, described["split_index"])
        statistic = self._statistics[number]
        if statistic.single is None:
            column = self.combinations.add(number, position, described)
            return _Split(column, border=position)
        hashes, above, others_right = statistic.split(described["border"])
        right = frozenset(value for value, is_above in zip(hashes, above) if is_above)
        return _Split(self._categorical[statistic.single], np.nan, False, right, tuple(hashes), others_right)


class _Tree(NamedTuple):
    """Hold the nodes of one tree, root first.

    The children of a leaf are -1. ``split`` has the numbers of the splits of the inner nodes only.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    split: NDArray[np.int64]
    value: NDArray[np.float64]
    cover: NDArray[np.float64] | None


def _symmetric(tree: dict[str, Any], splits: _Splits) -> _Tree:
    """Read a symmetric tree, whose last split is the root: it decides the highest bit of a leaf's position."""
    levels = [splits.number(described) for described in (tree["splits"] or [])[::-1]]
    n_inner = 2 ** len(levels) - 1
    inner = np.arange(n_inner)
    leaf = np.full(n_inner + 1, -1)
    values = np.array(tree["leaf_values"], dtype=np.float64).reshape(n_inner + 1, -1)
    cover = None
    if tree.get("leaf_weights"):
        by_level = [np.array(tree["leaf_weights"], dtype=np.float64)]
        for _ in levels:
            by_level.insert(0, by_level[0][::2] + by_level[0][1::2])
        cover = np.concatenate(by_level)
    return _Tree(
        left=np.concatenate([2 * inner + 1, leaf]),
        right=np.concatenate([2 * inner + 2, leaf]),
        split=np.repeat(np.array(levels, dtype=np.int64), 2 ** np.arange(len(levels))),
        value=np.concatenate([np.zeros((n_inner, values.shape[1])), values]),
        cover=cover,
    )


def _nested(tree: dict[str, Any], splits: _Splits) -> _Tree:
    """Read a tree that was grown with the policy Depthwise or Lossguide."""
    left: list[int] = []
    right: list[int] = []
    numbers, values, weights = [], [], []
    stack: list[tuple[dict[str, Any], list[int], int]] = [(tree, [-1], 0)]
    while stack:
        node, of_parent, parent = stack.pop()
        position = of_parent[parent] = len(left)
        left.append(-1)
        right.append(-1)
        values.append(np.atleast_1d(node["value"]) if "value" in node else None)
        weights.append(node.get("weight"))
        if "split" in node:
            numbers.append(splits.number(node["split"]))
            stack += [(node["right"], right, position), (node["left"], left, position)]
    width = max(len(value) for value in values if value is not None)
    cover = None
    if all(weight is not None for weight, child in zip(weights, left) if child < 0):
        cover = np.array([weight or 0 for weight in weights], dtype=np.float64)
        for position in range(len(left) - 1, -1, -1):  # Children have larger positions than their parents.
            if left[position] >= 0:
                cover[position] = cover[left[position]] + cover[right[position]]
    return _Tree(
        left=np.array(left),
        right=np.array(right),
        split=np.array(numbers, dtype=np.int64),
        value=np.array([np.zeros(width) if value is None else value for value in values]),
        cover=cover,
    )


def _to_nodes(
    content: dict[str, Any], splits: _Splits
) -> tuple[Nodes, dict[int, tuple[list[int], NDArray[np.int64]]]]:
    """Return all nodes, and by categorical feature the hashes of its categories with their codes."""
    trees = [
        *(_symmetric(tree, splits) for tree in content.get("oblivious_trees") or []),
        *(_nested(tree, splits) for tree in content.get("trees") or []),
    ]
    scale, bias = content["scale_and_bias"]
    n_nodes = np.array([len(tree.left) for tree in trees], dtype=np.int64)
    roots = np.concatenate([[0], np.cumsum(n_nodes)]).astype(np.int64)
    left, right = (
        np.concatenate([np.empty(0, np.int64), *(getattr(tree, side) for tree in trees)])
        for side in ("left", "right")
    )
    inner = np.flatnonzero(left >= 0)
    shift = np.repeat(roots[:-1], n_nodes)[inner]
    left[inner] += shift
    right[inner] += shift
    number = np.concatenate([np.empty(0, np.int64), *(tree.split for tree in trees)])
    feature = np.zeros(len(left), np.int64)
    threshold = np.zeros(len(left))
    missing_left = np.ones(len(left), bool)
    feature[inner] = np.array([split.feature for split in splits.splits], np.int64)[number]
    threshold[inner] = np.array([split.border for split in splits.splits])[number]
    missing_left[inner] = np.array([not split.nan_right for split in splits.splits], bool)[number]
    codes = _codes_of_categories(splits.splits)
    categories, listed_right = {}, np.ones(len(left), bool)
    for i, split in enumerate(splits.splits):
        if split.right is not None:
            hashes, numbers = codes[split.feature]
            goes_right = _goes_right(split, hashes)
            # The categories that no split lists go the other way than the listed ones.
            categories[i] = np.unique(numbers[goes_right != split.others_right])
    listed_right[inner] = np.array([not split.others_right for split in splits.splits], bool)[number]
    covers = [tree.cover for tree in trees if tree.cover is not None]
    nodes = Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        value=scale * np.concatenate([np.empty((0, len(bias))), *(tree.value for tree in trees)]),
        output=np.zeros(len(trees), np.int32),
        base=np.array(bias, dtype=np.float64),
        cover=np.concatenate([np.empty(0), *covers]) if len(covers) == len(trees) else None,
        categories={int(node): categories[i] for node, i in zip(inner, number) if i in categories},
        listed_right=listed_right,
    )
    return nodes, codes


def _codes_of_categories(splits: list[_Split]) -> dict[int, tuple[list[int], NDArray[np.int64]]]:
    """Return the hashes of every categorical feature's categories, and the code of each.

    Every category has a code of its own. If there are too many, those that all splits treat alike share a code.
    """
    by_feature: dict[int, list[_Split]] = {}
    for split in splits:
        if split.right is not None:
            by_feature.setdefault(split.feature, []).append(split)
    codes = {}
    for feature, of_feature in by_feature.items():
        hashes = list(dict.fromkeys(value for split in of_feature for value in split.known))
        numbers = np.arange(len(hashes))
        if len(hashes) > budgets.category_codes:
            goes_right = np.column_stack([_goes_right(split, hashes) for split in of_feature])
            numbers = np.unique(goes_right, axis=0, return_inverse=True)[1].ravel()
        codes[feature] = hashes, numbers
    return codes


def _goes_right(split: _Split, hashes: list[int]) -> NDArray[np.bool_]:
    """Return which categories a split sends right, by their hashes."""
    right, known = split.right or frozenset(), set(split.known)
    return np.array(
        [value in right if value in known else split.others_right for value in hashes], dtype=bool
    )


def _code_model(hashes: list[int]) -> cb.CatBoost:
    """Return a model that predicts the code of a category plus one, or 0 if no split uses the category.

    With it CatBoost itself converts categories (strings or integers) to strings and hashes them.
    """
    feature = {"feature_id": "", "feature_index": 0, "flat_feature_index": 0, "values": hashes}
    trees = [
        {
            "leaf_values": [0, code + 1],
            "leaf_weights": [0, 0],
            "splits": [
                {"cat_feature_index": 0, "split_index": code, "split_type": "OneHotFeature", "value": value}
            ],
        }
        for code, value in enumerate(hashes)
    ]
    content = {
        "features_info": {"categorical_features": [feature]},
        "model_info": {},
        "oblivious_trees": trees,
        "scale_and_bias": [1, [0]],
    }
    with TemporaryDirectory() as folder:
        path = Path(folder) / "codes.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return cb.CatBoost().load_model(str(path), format="json")


def _encode(codes: cb.CatBoost, numbers: NDArray[np.int64], name: str, column: Any) -> NDArray[np.float64]:
    """Return the codes of a column of categories, -1 for categories that no split uses."""
    first, row_of = _distinct(column)
    column = column.iloc[first] if hasattr(column, "iloc") else column[first]
    data = column.to_frame() if hasattr(column, "to_frame") else np.asarray(column)[:, None]
    try:
        found = np.asarray(codes.predict(data)).astype(np.int64) - 1
    except (cb.CatBoostError, TypeError, ValueError) as error:
        raise ValueError(
            f"CatBoost does not accept the categories in column {name!r}: {error}. Expected strings or integers"
        ) from error
    return np.append(numbers, -1)[found][row_of].astype(np.float64)


def _distinct(column: Any) -> tuple[list[int], NDArray[np.int64]]:
    """Return the first row of every distinct value of a column, and the position of each row's value among these."""
    values = column.tolist() if hasattr(column, "tolist") else column.to_list()
    position: dict[Any, int] = {}
    # 1, 1.0 and True are equal, but CatBoost writes them in different ways.
    row_of = [position.setdefault((type(value), value), len(position)) for value in values]
    first = np.unique(row_of, return_index=True)[1] if values else np.empty(0, np.int64)
    return first.tolist(), np.array(row_of, dtype=np.int64)


def _predict(model: Any, kind: str | None, X: Any) -> NDArray[Any]:
    if sp.issparse(X) and not sp.isspmatrix(X):  # CatBoost accepts sparse matrices, but no sparse arrays.
        X = sp.csr_matrix(X)
    return np.asarray(model.predict(X) if kind is None else cb.CatBoost.predict(model, X, kind))


def _find_link(model: Any, content: dict[str, Any], n_outputs: int) -> str:
    """Return the inverse link from the raw values to the model's output."""
    loss = _loss(content).get("type", "")
    if is_classifier(model):
        if loss == "MultiClassOneVsAll":
            return "multiclass_ova"
        return "sigmoid" if n_outputs == 1 or loss in ("MultiLogloss", "MultiCrossEntropy") else "softmax"
    if isinstance(model, cb.CatBoostRegressor):  # Rankers and plain CatBoost models predict the margin.
        return {
            "Poisson": "exponential",
            "Tweedie": "exponential",
            "RMSEWithUncertainty": "mean_variance",
        }.get(loss, "identity")
    return "identity"


def _loss(content: dict[str, Any]) -> dict[str, Any]:
    """Return the loss function with its parameters."""
    loss: dict[str, Any] = (content["model_info"].get("params") or {}).get("loss_function", {})
    return loss


def _output_labels(content: dict[str, Any], n_outputs: int) -> list[Any] | None:
    """Return the names of outputs that are neither classes nor targets."""
    loss = _loss(content)
    if loss.get("type") == "RMSEWithUncertainty":
        return ["mean", "log_sd"]
    if loss.get("type") == "MultiQuantile" and n_outputs > 1:
        return [float(level) for level in str(loss["params"]["alpha"]).split(",")]
    return None
