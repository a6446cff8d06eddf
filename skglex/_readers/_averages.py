"""Read scikit-learn's averages of models: voting and bagging ensembles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.utils.validation import check_is_fitted

from skglex._readers._combined import Term, merge_inputs, read_member, sum_of_ensembles
from skglex._readers._composed import mean_margin, outputs_of, read_voting
from skglex._readers._sklearn import predict, predict_proba, probability_margin
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._readers._steps import is_side_by_side
from skglex._response import Response

READS = (
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.VotingRegressor", "sklearn.ensemble.BaggingRegressor"),
        "prediction",
        "those of the members",
        "as the strictest member",
        "members with different input; with a link: bagging is refused, votes have only ``scale='response'``",
    ),
    ModelKind(
        "scikit-learn",
        ("sklearn.ensemble.VotingClassifier", "sklearn.ensemble.BaggingClassifier"),
        "probability",
        "those of the members",
        "as the strictest member",
        "``voting='hard'``; members of bagging whose leaves are not probabilities (votes have only "
        "``scale='response'``)",
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
    if isinstance(model, BaggingRegressor | BaggingClassifier):
        return _read_bags(model)
    members = [read_member(model, member) for member in model.estimators_]
    if any(not _is_sum(source.response, classifies=classifies) for source in members):
        return read_voting(model)
    weights = model._weights_not_none
    share = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
    share = share / share.sum()
    widths = [source.input.n_features for source in members]
    # Members with a preprocessing have columns of their own.
    starts = np.cumsum([0, *widths[:-1]]) if is_side_by_side(model) else np.zeros(len(members), np.int64)
    columns = [np.arange(start, start + width) for start, width in zip(starts, widths)]
    return _weighted_sum(model, members, share, columns)


def _read_bags(model: Any) -> SourceModel:
    members = [_read_average_member(model, member) for member in model.estimators_]
    share = np.ones(len(members)) / len(members)
    columns = [np.asarray(columns, dtype=np.int64) for columns in model.estimators_features_]
    return _weighted_sum(model, members, share, columns)


def _weighted_sum(
    model: Any, members: list[SourceModel], share: NDArray[np.float64], columns: list[NDArray[np.int64]]
) -> SourceModel:
    """Return the weighted sum of members whose columns are ``columns`` of the model."""
    terms = [
        Term(member.ensemble, float(weight), own) for member, weight, own in zip(members, share, columns)
    ]
    spec = merge_inputs(model, [member.input for member in members], terms)
    classifies, ensemble = is_classifier(model), sum_of_ensembles(terms)
    response = Response(
        link="probability" if classifies else "identity",
        n_outputs=ensemble.n_outputs,
        classes=model.classes_ if classifies else None,
    )
    output: Any = partial(predict_proba if classifies else predict, model)
    margin: Any = partial(probability_margin, model) if classifies else output
    if is_side_by_side(model):
        # The model itself cannot predict from the columns of its members.
        spec = replace(spec, n_features=sum(map(len, columns)), feature_names=None)
        margin = partial(mean_margin, [member.margin for member in members], share.tolist(), columns)
        output = partial(outputs_of, response, margin)
    return SourceModel(ensemble=ensemble, input=spec, margin=margin, output=output, response=response)


def _is_sum(response: Response, *, classifies: bool) -> bool:
    """Return whether a member's prediction or probability is the sum of its leaves."""
    return response.isolation is None and response.link == ("probability" if classifies else "identity")


def _read_average_member(model: Any, member: Any) -> SourceModel:
    """Read a member whose prediction (or probability) is the sum of its leaves; raise for any other."""
    source = read_member(model, member)
    response, classifies = source.response, is_classifier(model)
    what = f"cannot decompose a {type(model).__name__} with the member {type(member).__name__}"
    if not _is_sum(response, classifies=classifies):
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
