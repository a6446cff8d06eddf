"""Read scikit-learn's AdaBoostClassifier, and imbalanced-learn's RUSBoostClassifier: weighted votes of trees."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from skglex._readers._sklearn import decision_function, join_trees, predict_proba, read_trees
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import join_link

READS = (
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.AdaBoostClassifier",),
        "weighted share of the votes, as ``decision_function``",
        "weighted rows, with the weights of boosting",
        "NaN, if the model accepts it",
        "members that are not trees",
    ),
    ModelKind(
        "imbalanced-learn",
        ("imblearn.ensemble.RUSBoostClassifier",),
        "weighted share of the votes",
        "weighted rows, with the weights of boosting",
        "NaN, if the model accepts it",
        "members that are not trees",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `AdaBoostClassifier` whose members are trees.

    A tree votes for one class in each leaf, with its weight, so the votes are a sum of trees.
    """
    check_is_fitted(model)
    for member in model.estimators_:
        if not isinstance(member, DecisionTreeClassifier):
            raise ValueError(
                f"cannot decompose an {type(model).__name__} over a {type(member).__name__}, whose vote is no sum of "
                "trees. Use a DecisionTreeClassifier as its estimator, or gradient boosting"
            )
    n_classes = len(model.classes_)
    weights = model.estimator_weights_[: len(model.estimators_)] / model.estimator_weights_.sum()
    values = [
        _votes(member, model.classes_, weight) for member, weight in zip(model.estimators_, weights.tolist())
    ]
    return read_trees(
        model,
        join_trees([member.tree_ for member in model.estimators_], values),
        margin=partial(decision_function, model),
        output=partial(predict_proba, model),
        link="sigmoid" if n_classes <= 2 else join_link("softmax", 1 / (n_classes - 1)),
    )


def _votes(member: Any, classes: NDArray[Any], weight: float) -> NDArray[np.float64]:
    """Return the votes of all nodes of a tree: shape (n_nodes, n_classes), or (n_nodes, 1) for two classes."""
    winner = member.classes_[member.tree_.value[:, 0].argmax(axis=1)]
    if len(classes) == 1:
        return np.zeros((len(winner), 1))
    if len(classes) == 2:
        return np.where(winner == classes[1], 2 * weight, -2 * weight)[:, None]
    return np.where(winner[:, None] == classes, weight, -weight / (len(classes) - 1))
