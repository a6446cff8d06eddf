"""scikit-learn's trees and forests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skglex.ensemble.readers._base import InputSpec, ReadModel
from skglex.ensemble.readers._nodes import Nodes, to_leaves


def read(model: Any) -> ReadModel:
    """Read a fitted tree or forest: the mean of its trees."""
    check_is_fitted(model)
    if isinstance(model, RandomTreesEmbedding):
        raise TypeError("cannot decompose a RandomTreesEmbedding: its trees predict nothing. Pass a forest")
    classifies = is_classifier(model)
    if classifies and model.n_outputs_ > 1:
        raise ValueError(
            f"cannot decompose a {type(model).__name__} with {model.n_outputs_} targets: fit one classifier per "
            "target"
        )
    trees = [tree.tree_ for tree in (model.estimators_ if hasattr(model, "estimators_") else [model])]
    values = [_probabilities(t.value[:, 0, :]) if classifies else t.value[:, :, 0] for t in trees]
    return read_trees(
        model,
        join_trees(trees, [value / len(trees) for value in values], base=np.zeros(values[0].shape[1])),
        margin=partial(_probability_margin, model) if classifies else model.predict,
        output=model.predict_proba if classifies else model.predict,
        link="probability" if classifies else "identity",
    )


def join_trees(
    trees: list[Any],
    values: list[NDArray[np.float64]],
    *,
    base: NDArray[np.float64],
    output: NDArray[np.int32] | None = None,
) -> Nodes:
    """The nodes of many `sklearn.tree._tree.Tree`.

    Parameters
    ----------
    trees : list of Tree
    values : list of ndarray of shape (n_nodes, width)
        What the nodes of every tree add to the margin.
    base : ndarray of shape (n_outputs,)
    output : ndarray of shape (n_trees,), optional
        First output that a tree adds to. None: 0.
    """
    sizes = [tree.node_count for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(roots[:-1], sizes)
    left, right = (_join(trees, side) for side in ("children_left", "children_right"))
    leaf = left < 0
    return Nodes(
        roots=roots,
        left=np.where(leaf, -1, left + shift),
        right=np.where(leaf, -1, right + shift),
        feature=_join(trees, "feature"),
        threshold=_join(trees, "threshold"),
        missing_left=_join(trees, "missing_go_to_left").astype(bool),
        value=np.concatenate(values),
        output=np.zeros(len(trees), np.int32) if output is None else output,
        base=base,
        cover=_join(trees, "weighted_n_node_samples"),
    )


def read_trees(
    model: Any,
    nodes: Nodes,
    *,
    margin: Callable[[Any], NDArray[Any]],
    output: Callable[[Any], NDArray[Any]],
    link: str = "identity",
) -> ReadModel:
    """A model of `tree_` arrays, whose values are cast to float32 and go left on ``x <= t``."""
    names = getattr(model, "feature_names_in_", None)
    return ReadModel(
        ensemble=to_leaves(nodes, less_equal=True, as_float32=True),
        input=InputSpec(
            n_features=model.n_features_in_,
            feature_names=None if names is None else list(names),
            by_value=True,
            finite="allow-nan" if get_tags(model).input_tags.allow_nan else True,
        ),
        margin=margin,
        output=output,
        link=link,
        classes=model.classes_ if is_classifier(model) else None,
    )


def _join(trees: list[Any], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(tree, name) for tree in trees])


def _probabilities(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class shares per node; of two classes, the second's."""
    return value[:, 1:] if value.shape[1] == 2 else value


def _probability_margin(model: Any, X: Any) -> NDArray[np.float64]:
    return _probabilities(model.predict_proba(X))
