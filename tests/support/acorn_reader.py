"""Read Acorn's models, as the recipe in CONTRIBUTING.md describes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skglex._input import InputSpec
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._source_model import SourceModel
from skglex._response import Response
from tests.support.acorn import Acorn, Leaf


def read(model: Any) -> SourceModel:
    """Read bare trees, or a fitted estimator."""
    if isinstance(model, Acorn):
        return _read_trees(model, False, margin=model.predict, output=model.predict, response=Response())
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    classifies = is_classifier(model)
    return _read_trees(
        model.acorn_,
        "allow-nan",
        feature_names=None if names is None else list(names),
        margin=model.decision_function,
        output=model.predict_proba if classifies else model.predict,
        response=Response("sigmoid", classes=model.classes_) if classifies else Response(),
    )


def _read_trees(
    acorn: Acorn, finite: Any, feature_names: list[str] | None = None, **others: Any
) -> SourceModel:
    return SourceModel(
        ensemble=to_leaves(_to_nodes(acorn), less_equal=False, as_float32=False),
        input=InputSpec(n_features=acorn.n_features, feature_names=feature_names, finite=finite),
        **others,
    )


def _to_nodes(acorn: Acorn) -> Nodes:
    rows: list[list[Any]] = []
    roots = [0]

    def add(node: Any) -> int:
        position = len(rows)
        if isinstance(node, Leaf):
            rows.append([-1, -1, 0, 0.0, False, node.value, node.rows])
            return position
        rows.append([-1, -1, node.feature, node.threshold, node.nan_left, 0.0, node.rows])
        rows[position][:2] = add(node.left), add(node.right)
        return position

    for tree in acorn.trees:
        add(tree)
        roots.append(len(rows))
    left, right, feature, threshold, missing_left, value, cover = map(np.array, zip(*rows))
    return Nodes(
        roots=np.array(roots),
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        value=value[:, None],
        output=np.zeros(len(acorn.trees), np.int32),
        base=np.array([acorn.base]),
        cover=cover.astype(np.float64),
    )
