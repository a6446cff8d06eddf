"""Read scikit-learn's wrappers of one model per class or target: the models are outputs side by side."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.validation import check_is_fitted

from skglex._readers._combined import Term, merge_inputs, read_member, sum_of_ensembles
from skglex._readers._sklearn import predict, predict_proba
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response, join_link, split_link

# The output of a model with these links is the same whether its margins are computed together or one by one.
_BY_OUTPUT = ("identity", "exponential", "signed_square", "logarithm_one_plus_exp")

READS = (
    ModelKind(
        "scikit-learn",
        (
            "sklearn.multiclass.OneVsRestClassifier",
            "sklearn.multioutput.MultiOutputRegressor",
            "sklearn.multioutput.MultiOutputClassifier",
        ),
        "those of the members, side by side",
        "those of the members",
        "as the strictest member",
        "members with a preprocessing of their own, or with different input",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `OneVsRestClassifier`, `MultiOutputRegressor` or `MultiOutputClassifier`."""
    check_is_fitted(model)
    members = [read_member(model, member) for member in model.estimators_]
    everything = np.arange(model.n_features_in_)
    sizes = np.array([member.ensemble.n_outputs for member in members])
    terms = [
        Term(member.ensemble, 1.0, everything, int(first))
        for member, first in zip(members, np.cumsum(sizes) - sizes)
    ]
    responses = [member.response for member in members]
    if isinstance(model, OneVsRestClassifier):
        response, output = _one_vs_rest(model, responses), partial(predict_proba, model)
    elif is_classifier(model):
        response, output = _several_targets(model, responses), partial(_probabilities, model)
    else:
        response, output = _several_targets(model, responses), partial(predict, model)
    if len(members) == 1:
        ensemble = members[0].ensemble
    else:
        ensemble = sum_of_ensembles(terms)
    return SourceModel(
        ensemble=ensemble,
        input=merge_inputs(model, [member.input for member in members], terms),
        margin=partial(_margins, [member.margin for member in members]),
        output=output,
        response=response,
    )


def _margins(margins: list[Any], X: Any) -> NDArray[np.float64]:
    """Return the margins of all members, side by side."""
    columns = (np.asarray(margin(X), dtype=np.float64) for margin in margins)
    return np.hstack([column.reshape(len(column), -1) for column in columns])


def _probabilities(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the probabilities of all targets side by side; of two classes only those of the second."""
    parts = [np.asarray(part) for part in model.predict_proba(X)]
    return np.hstack([part[:, 1:] if part.shape[1] == 2 else part for part in parts])


def _one_vs_rest(model: Any, responses: list[Response]) -> Response:
    """Return the response of one binary classifier per class, whose probabilities are scaled to sum to 1."""
    links = {response.link for response in responses}
    name, factor = split_link(responses[0].link)
    if len(links) > 1 or name not in ("sigmoid", "probability") or not all(r.binary for r in responses):
        raise ValueError(
            f"cannot decompose a OneVsRestClassifier whose classifiers have the inverse links {sorted(links)}. Use "
            "classifiers whose probability is the sigmoid of a sum of trees, or such a sum itself"
        )
    if not model.multilabel_ and len(responses) > 1:
        name = "scaled_sigmoid" if name == "sigmoid" else name
    elif name == "probability":
        name = "clip"
    return Response(
        link=join_link(name, factor),
        n_outputs=len(responses),
        classes=model.classes_,
        second_class_on_ties=len(responses) == 1 and responses[0].second_class_on_ties,
    )


def _several_targets(model: Any, responses: list[Response]) -> Response:
    """Return the response of one model per target."""
    n_outputs = sum(response.n_outputs for response in responses)
    labels: list[Any] = []
    for target, response in enumerate(responses):
        own = response.classes if response.classes is not None else response.output_labels
        own = range(response.n_outputs) if own is None else own
        labels += [target] if response.n_outputs == 1 else [f"{target}_{label}" for label in own]
    links = {response.link for response in responses}
    if not is_classifier(model) and len(links) == 1 and split_link(responses[0].link)[0] in _BY_OUTPUT:
        return Response(responses[0].link, n_outputs, output_labels=labels if n_outputs > 1 else None)
    if not is_classifier(model) and any(r.output(np.zeros((1, r.n_outputs))).shape[1] > 1 for r in responses):
        raise ValueError(
            f"cannot decompose a {type(model).__name__} over models with several outputs and the inverse links "
            f"{sorted(links)}. Pass them one by one, `.estimators_`"
        )
    return Response(
        link="targets",
        n_outputs=n_outputs,
        classes=[response.classes for response in responses] if is_classifier(model) else None,
        output_labels=labels if n_outputs > 1 else None,
        targets=tuple(responses),
    )
