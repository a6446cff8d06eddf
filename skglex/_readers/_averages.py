"""Read scikit-learn's averages of models: voting and bagging ensembles."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.utils.validation import check_is_fitted

from skglex._readers._combined import Term, merge_inputs, read_member, sum_of_ensembles
from skglex._readers._sklearn import predict, predict_proba, probability_margin
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response

READS = (
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.VotingRegressor", "sklearn.ensemble.BaggingRegressor"),
        "prediction",
        "those of the members",
        "as the strictest member",
        "members with a link, or with different input",
    ),
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.VotingClassifier", "sklearn.ensemble.BaggingClassifier"),
        "probability",
        "those of the members",
        "as the strictest member",
        "``voting='hard'``; members whose leaves are not probabilities",
    ),
    ModelKind(
        "imbalanced-learn",
        ("imblearn.ensemble.BalancedBaggingClassifier",),
        "probability",
        "those of the members",
        "as the strictest member",
        "members whose leaves are not probabilities; ``EasyEnsembleClassifier``: pass one of its ``estimators_``",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `VotingRegressor`, `BaggingRegressor` or a classifier that averages probabilities like them."""
    check_is_fitted(model)
    classifies = is_classifier(model)
    if classifies and getattr(model, "voting", "soft") != "soft":
        raise ValueError(
            f"cannot decompose a {type(model).__name__} with voting={model.voting!r}, which counts votes. Use "
            "voting='soft'"
        )
    everything = np.arange(model.n_features_in_)
    n_members = len(model.estimators_)
    if isinstance(model, BaggingRegressor | BaggingClassifier):
        columns, weights = model.estimators_features_, np.ones(n_members)
    else:
        columns, weights = [everything] * n_members, model._weights_not_none
        weights = np.ones(n_members) if weights is None else np.asarray(weights, dtype=np.float64)
    members = [_read_average_member(model, member) for member in model.estimators_]
    terms = [
        Term(member.ensemble, float(weight), np.asarray(member_columns, dtype=np.int64))
        for member, weight, member_columns in zip(members, weights / weights.sum(), columns)
    ]
    spec = merge_inputs(model, [member.input for member in members], terms)
    output = partial(predict_proba if classifies else predict, model)
    ensemble = sum_of_ensembles(terms)
    return SourceModel(
        ensemble=ensemble,
        input=spec,
        margin=partial(probability_margin, model) if classifies else output,
        output=output,
        response=Response(
            link="probability" if classifies else "identity",
            n_outputs=ensemble.n_outputs,
            classes=model.classes_ if classifies else None,
        ),
    )


def _read_average_member(model: Any, member: Any) -> SourceModel:
    """Read a member whose prediction (or probability) is the sum of its leaves; raise for any other."""
    source = read_member(model, member)
    response, classifies = source.response, is_classifier(model)
    what = f"cannot decompose a {type(model).__name__} with the member {type(member).__name__}"
    if response.link != ("probability" if classifies else "identity") or response.isolation is not None:
        raise ValueError(
            f"{what}: the ensemble averages predictions, but the predictions of this member are not a sum of trees "
            f"(its inverse link is {response.link!r}). Use members whose trees add up to "
            + ("probabilities, such as random forests" if classifies else "the prediction")
        )
    if classifies and (response.classes is None or len(response.classes) != len(model.classes_)):
        raise ValueError(
            f"{what}: this member was not trained on all classes. Fit with more rows per member, or stratified"
        )
    return source
