"""Read scikit-learn's models with ``tree_`` arrays: trees, forests, gradient boosting, isolation forests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._iforest import _average_path_length
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skglex._input import InputSpec
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Isolation, Response

READS = (
    ModelKind(
        "scikit-learn",
        (
            "sklearn.tree.DecisionTreeRegressor",
            "sklearn.tree.DecisionTreeClassifier",
            "sklearn.tree.ExtraTreeRegressor",
            "sklearn.tree.ExtraTreeClassifier",
            "sklearn.ensemble.RandomForestRegressor",
            "sklearn.ensemble.RandomForestClassifier",
            "sklearn.ensemble.ExtraTreesRegressor",
            "sklearn.ensemble.ExtraTreesClassifier",
        ),
        "prediction; for classifiers the probability",
        "weighted rows",
        "NaN, if the model accepts it",
        "classifiers of several targets",
    ),
    ModelKind(
        "imbalanced-learn",
        ("imblearn.ensemble.BalancedRandomForestClassifier",),
        "probability",
        "weighted rows",
        "NaN, if the model accepts it",
    ),
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.GradientBoostingRegressor", "sklearn.ensemble.GradientBoostingClassifier"),
        "raw score",
        "weighted rows",
        "none",
        "``init=`` an estimator",
    ),
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.IsolationForest",),
        "mean path length",
        "weighted rows",
        "NaN, if the model accepts it",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted tree, forest, gradient boosting or isolation forest."""
    check_is_fitted(model)
    if isinstance(model, IsolationForest):
        return _read_isolation_forest(model)
    return _read_boosting(model) if isinstance(model, BaseGradientBoosting) else _read_forest(model)


def _read_forest(model: Any) -> SourceModel:
    """Read a tree, or a mean of trees; classifiers average probabilities."""
    classifies = is_classifier(model)
    if classifies and model.n_outputs_ > 1:
        raise ValueError(
            f"cannot decompose a {type(model).__name__} with {model.n_outputs_} targets: fit one classifier per "
            "target"
        )
    trees = [tree.tree_ for tree in (model.estimators_ if hasattr(model, "estimators_") else [model])]
    return read_trees(
        model,
        join_trees(
            trees,
            [
                (of_positive_class(tree.value[:, 0]) if classifies else tree.value[:, :, 0]) / len(trees)
                for tree in trees
            ],
        ),
        margin=partial(probability_margin if classifies else predict, model),
        output=partial(predict_proba if classifies else predict, model),
        link="probability" if classifies else "identity",
    )


def _read_boosting(model: Any) -> SourceModel:
    """Read a constant plus a sum of trees, with one tree per iteration and output."""
    if not isinstance(model.init_, str | DummyClassifier | DummyRegressor):
        raise ValueError(
            f"cannot decompose a {type(model).__name__} with init={model.init!r}, whose predictions are "
            "not constant. Use init=None or init='zero'"
        )
    n_outputs = model.estimators_.shape[1]
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    trees = [tree.tree_ for tree in model.estimators_.ravel()]
    classifies = is_classifier(model)
    link = "identity"
    if classifies:
        link = {"log_loss": "sigmoid", "exponential": "sigmoid 2"}[model.loss]
    return read_trees(
        model,
        join_trees(
            trees,
            [model.learning_rate * tree.value[:, 0] for tree in trees],
            base=base,
            output=np.resize(np.arange(n_outputs, dtype=np.int32), len(trees)),
        ),
        margin=partial(decision_function if classifies else predict, model),
        output=partial(predict_proba if classifies else predict, model),
        link="softmax" if n_outputs > 1 else link,
        second_class_on_ties=classifies,
    )


def _read_isolation_forest(model: Any) -> SourceModel:
    """Read an isolation forest, whose margin is the mean path length.

    The path length of a leaf is its depth plus the expected depth of a tree grown on the leaf's training rows.
    """
    trees = [tree.tree_ for tree in model.estimators_]
    lengths = [
        depth + expected - 1.0
        for depth, expected in zip(model._decision_path_lengths, model._average_path_length_per_tree)
    ]
    nodes = join_trees(trees, [length[:, None] / len(trees) for length in lengths])
    columns = np.concatenate(
        # The feature of a leaf is negative; 0 is as good, since nothing uses it.
        [features[np.maximum(tree.feature, 0)] for tree, features in zip(trees, model.estimators_features_)]
    )
    isolation = Isolation(
        path_length=float(_average_path_length([model.max_samples_])[0]), offset=float(model.offset_)
    )
    return read_trees(
        model,
        replace(nodes, feature=columns),
        margin=partial(_path_length, model, isolation),
        output=partial(_score_samples, model),
        isolation=isolation,
        spec=replace(tree_input(model), finite=False),
    )


def _path_length(model: Any, isolation: Isolation, X: Any) -> NDArray[np.float64]:
    """Return the mean path length, which scikit-learn offers only as a score."""
    return np.asarray(-np.log2(-model.score_samples(X)) * isolation.path_length)


def join_trees(
    trees: list[Any],
    values: list[NDArray[np.float64]],
    *,
    base: NDArray[np.float64] | None = None,
    output: NDArray[np.int32] | None = None,
) -> Nodes:
    """Concatenate the nodes of many `sklearn.tree._tree.Tree`.

    Parameters
    ----------
    trees : list of Tree
    values : list of ndarray
        Margin that the nodes of every tree add, of shape (n_nodes, width) each.
    base : ndarray of shape (n_outputs,), optional
        Default: zeros, one output per column of the values.
    output : ndarray of shape (n_trees,), optional
        First output that each tree adds to. None: 0.
    """
    sizes = [tree.node_count for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    left, right, feature = (
        _join(trees, name, np.int32) for name in ("children_left", "children_right", "feature")
    )
    for side in (left, right):
        side += np.where(side < 0, 0, np.repeat(roots[:-1].astype(np.int32), sizes))
    return Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=feature,
        threshold=_join(trees, "threshold"),
        missing_left=_join(trees, "missing_go_to_left", bool),
        value=np.concatenate(values),
        output=np.zeros(len(trees), np.int32) if output is None else output,
        base=np.zeros(values[0].shape[1]) if base is None else base,
        cover=_join(trees, "weighted_n_node_samples"),
    )


def read_trees(
    model: Any,
    nodes: Nodes,
    *,
    margin: Callable[[Any], NDArray[Any]],
    output: Callable[[Any], NDArray[Any]],
    response: Response | None = None,
    spec: InputSpec | None = None,
    **described: Any,
) -> SourceModel:
    """Read `tree_` arrays: values are cast to float32 and go left on ``x <= threshold``.

    The response has the fields ``described``, and the classes of a classifier, unless it is given.
    """
    classes = model.classes_ if is_classifier(model) else None
    return SourceModel(
        ensemble=to_leaves(nodes, less_equal=True, as_float32=True),
        input=spec or tree_input(model),
        margin=margin,
        output=output,
        response=response or Response(n_outputs=len(nodes.base), classes=classes, **described),
    )


def tree_input(model: Any) -> InputSpec:
    """Return how a model of scikit-learn that keeps `tree_` arrays reads its input."""
    finite: bool | Literal["allow-nan"] = "allow-nan" if get_tags(model).input_tags.allow_nan else True
    return InputSpec(
        n_features=model.n_features_in_, feature_names=names_of(model), by_value=True, finite=finite
    )


def _join(trees: list[Any], name: str, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Concatenate one array of all trees."""
    return np.concatenate([getattr(tree, name) for tree in trees], dtype=dtype, casting="unsafe")


def names_of(model: Any) -> list[str] | None:
    """Return the names of the columns that a scikit-learn estimator was fitted on, or None."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def of_positive_class(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the second of two classes, or those of all of more classes."""
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


# Readers keep these functions and the model, not the model's bound methods: skops cannot load a method that a model
# inherits from a class in another module.


def predict(model: Any, X: Any) -> NDArray[Any]:
    """Return the prediction of a model."""
    return np.asarray(model.predict(X))


def predict_proba(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the probabilities of a classifier."""
    return np.asarray(model.predict_proba(X))


def decision_function(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the raw scores of a classifier."""
    return np.asarray(model.decision_function(X))


def _score_samples(model: Any, X: Any) -> NDArray[np.float64]:
    return np.asarray(model.score_samples(X))


def probability_margin(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the margin of a classifier that averages probabilities."""
    return of_positive_class(model.predict_proba(X))
