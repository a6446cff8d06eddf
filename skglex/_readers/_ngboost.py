"""Read NGBoost's models: every parameter of the predicted distribution is an output.

The reader needs scikit-learn only, since NGBoost keeps the trees of scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from skglex._input import InputSpec
from skglex._readers._sklearn import join_trees, predict, predict_proba, read_trees
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response

# Names of the parameters, on the scale on which they are boosted.
_PARAMETERS = {
    "Normal": ["loc", "log_scale"],
    "LogNormal": ["loc", "log_scale"],
    "Laplace": ["loc", "log_scale"],
    "T": ["loc", "log_scale", "log_df"],
    "TFixedDf": ["loc", "log_scale"],
    "Gamma": ["log_shape", "log_rate"],
    "Weibull": ["log_shape", "log_scale"],
}

READS = (
    ModelKind(
        "NGBoost",
        ("ngboost.NGBRegressor", "ngboost.NGBClassifier", "ngboost.NGBSurvival"),
        "parameters of the distribution, one output each",
        "weighted rows",
        "NaN, if the trees accept it",
        "base learners that are not trees",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `NGBRegressor`, `NGBClassifier` or `NGBSurvival`, with the trees that its ``predict`` uses."""
    if not model.base_models:
        raise ValueError(f"the {type(model).__name__} is not fitted. Call its fit method first, or pass y")
    trees, values, columns, output = [], [], [], []
    classifies = is_classifier(model)
    for members, scale, used in zip(model.base_models, model.scalings, model.col_idxs):
        for parameter, member in enumerate(members):
            if not isinstance(member, DecisionTreeRegressor):
                raise ValueError(
                    f"cannot decompose an {type(model).__name__} over a {type(member).__name__}. Use a "
                    "DecisionTreeRegressor as its Base"
                )
            trees.append(member.tree_)
            values.append(-model.learning_rate * scale * member.tree_.value[:, 0])
            # The feature of a leaf is negative; 0 is as good, since nothing uses it.
            columns.append(np.asarray(used)[np.maximum(member.tree_.feature, 0)])
            output.append(parameter)
    base = np.array(model.init_params, dtype=np.float64).ravel()
    position = np.array(output, dtype=np.int32)
    if classifies and len(base) > 1:
        # The score of the first class is 0: it has an output without trees.
        base, position = np.append(0.0, base), position + np.int32(1)
    allow_nan = get_tags(model.base_models[0][0]).input_tags.allow_nan
    finite: bool | Literal["allow-nan"] = "allow-nan" if allow_nan else True
    return read_trees(
        model,
        replace(join_trees(trees, values, base=base, output=position), feature=np.concatenate(columns)),
        margin=partial(_parameters, model, len(base)),
        output=partial(predict_proba if classifies else predict, model),
        response=_response(model, len(base), classifies),
        spec=InputSpec(n_features=model.n_features, by_value=True, finite=finite),
    )


def _response(model: Any, n_outputs: int, classifies: bool) -> Response:
    if classifies:
        return Response("sigmoid" if n_outputs == 1 else "softmax", n_outputs, classes=model.classes_)
    # NGBoost derives classes with other names from some distributions.
    kinds = [kind.__name__ for kind in model.Dist.__mro__]
    names: list[str] = next((_PARAMETERS[kind] for kind in kinds if kind in _PARAMETERS), [])
    labels = names if len(names) == n_outputs else [f"parameter_{i}" for i in range(n_outputs)]
    return Response(
        "function",
        n_outputs,
        output_labels=labels if n_outputs > 1 else None,
        inverse=partial(_point, model.Dist),
    )


def _parameters(model: Any, n_outputs: int, X: Any) -> NDArray[np.float64]:
    """Return the parameters of the distributions as they are boosted."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    parameters = np.asarray(model.pred_param(X))
    return np.column_stack([np.zeros(len(parameters))] * (n_outputs - parameters.shape[1]) + [parameters])


def _point(distribution: Any, margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point predictions of distributions with some parameters: shape (n_samples, n_targets)."""
    points = np.asarray(distribution(margin.T).predict(), dtype=np.float64)
    return points.reshape(len(margin), -1)
