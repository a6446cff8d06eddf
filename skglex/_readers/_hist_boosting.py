"""Read scikit-learn's histogram-based gradient boosting."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn._loss.link import IdentityLink, LogitLink, LogLink, MultinomialLogit
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skglex._input import InputSpec
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._sklearn import decision_function, names_of, predict, predict_proba
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response

_LINKS = {IdentityLink: "identity", LogLink: "exponential", LogitLink: "sigmoid", MultinomialLogit: "softmax"}

READS = (
    ModelKind(
        "scikit-learn",
        (
            "sklearn.ensemble.HistGradientBoostingRegressor",
            "sklearn.ensemble.HistGradientBoostingClassifier",
        ),
        "raw score",
        "rows (weights do not count)",
        "NaN; unknown categories are missing",
        "strings in an array (pass a data frame)",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `HistGradientBoostingRegressor` or `HistGradientBoostingClassifier`."""
    check_is_fitted(model)
    link = _LINKS.get(type(model._loss.link))
    if link is None:
        raise ValueError(
            f"cannot read a {type(model).__name__} with the link {type(model._loss.link).__name__}. Use a loss with "
            f"one of the links {[known.__name__ for known in _LINKS]}"
        )
    classifies = is_classifier(model)
    nodes = _join_trees(model)
    return SourceModel(
        ensemble=to_leaves(nodes, less_equal=True, as_float32=False),
        input=InputSpec(
            n_features=model.n_features_in_,
            feature_names=names_of(model),
            categories=_categories(model),
            unknown_is_missing=True,
            by_value=True,
        ),
        margin=partial(decision_function if classifies else _raw_prediction, model),
        output=partial(predict_proba if classifies else predict, model),
        response=Response(link, n_outputs=len(nodes.base), classes=model.classes_ if classifies else None),
    )


def _raw_prediction(model: Any, X: Any) -> NDArray[np.float64]:
    margin: NDArray[np.float64] = model._raw_predict(X)
    return margin


def _join_trees(model: Any) -> Nodes:
    """Concatenate the nodes of all trees.

    scikit-learn numbers the features with the categorical columns first; `_column_order` restores the input order.
    """
    trees = [tree for iteration in model._predictors for tree in iteration]
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = [len(tree.nodes) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(roots[:-1], sizes)
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64) + shift) for side in ("left", "right"))
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    categories: dict[int, NDArray[np.int64]] = {}
    for tree, root in zip(trees, roots.tolist()):
        for node in np.flatnonzero(tree.nodes["is_categorical"] & ~tree.nodes["is_leaf"].astype(bool)):
            words = tree.raw_left_cat_bitsets[tree.nodes["bitset_idx"][node]]
            bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
            categories[root + int(node)] = np.flatnonzero(bits)
    return Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=_column_order(model)[nodes["feature_idx"]],
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"].astype(np.float64)[:, None],
        output=np.resize(np.arange(len(base), dtype=np.int32), len(trees)),
        base=base,
        cover=nodes["count"].astype(np.float64),
        categories=categories,
    )


def _column_order(model: Any) -> NDArray[np.int64]:
    """Return the positions of the input columns in the order that the trees use."""
    categorical = model.is_categorical_
    if categorical is None:
        return np.arange(model.n_features_in_)
    return np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])


def _categories(model: Any) -> dict[int, NDArray[Any]]:
    """Return the category values by code, by input column; NaN has no code, but None has one."""
    if model._preprocessor is None:
        return {}
    encoder = model._preprocessor.named_transformers_["encoder"]
    values_by_column = {}
    for column, values in zip(np.flatnonzero(model.is_categorical_), encoder.categories_):
        ends_in_nan = len(values) > 0 and values[-1] != values[-1]
        values_by_column[int(column)] = values[:-1] if ends_in_nan else values
    return values_by_column
