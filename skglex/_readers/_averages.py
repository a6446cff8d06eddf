"""scikit-learn's averages of models: voting and bagging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skglex._input import InputSpec
from skglex._readers._registry import SourceModel, find_reader
from skglex._readers._sklearn import names_of, probability_margin
from skglex._readers._sum import Term, sum_of_ensembles
from skglex._response import Response

# Fields of an InputSpec that `_merge_inputs` does not know how to merge must be as they are by default.
_MERGED = {
    "n_features",
    "feature_names",
    "categories",
    "unknown_is_missing",
    "sparse_is_missing",
    "by_value",
    "finite",
}
_MERGED |= {"truncates_codes", "integers_as_float32", "spaces_become"}
_STRICTNESS = [False, "allow-nan", True]


def read(model: Any) -> SourceModel:
    """Read a fitted `VotingRegressor`, `BaggingRegressor` or their classifiers (of averaged probabilities)."""
    check_is_fitted(model)
    classifies = is_classifier(model)
    if classifies and getattr(model, "voting", "soft") != "soft":
        raise ValueError(
            f"cannot decompose a {type(model).__name__} with voting={model.voting!r}: votes are counted, not summed. "
            "Use voting='soft'"
        )
    everything = np.arange(model.n_features_in_)
    n_members = len(model.estimators_)
    if isinstance(model, BaggingRegressor | BaggingClassifier):
        columns, weights = model.estimators_features_, np.ones(n_members)
    else:
        columns, weights = [everything] * n_members, model._weights_not_none
        weights = np.ones(n_members) if weights is None else np.asarray(weights, dtype=np.float64)
    reads = [_read_member(model, member) for member in model.estimators_]
    terms = [
        Term(member.ensemble, float(weight), np.asarray(own, dtype=np.int64))
        for member, weight, own in zip(reads, weights / weights.sum(), columns)
    ]
    spec = _merge_inputs(model, reads, terms)
    output: Callable[[Any], NDArray[Any]] = model.predict_proba if classifies else model.predict
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


def _read_member(model: Any, member: Any) -> SourceModel:
    """A member's leaves, if its prediction (or its probability) is the sum of them."""
    while isinstance(member, FrozenEstimator):
        member = member.estimator
    what = f"cannot decompose a {type(model).__name__} with the member {type(member).__name__}"
    reader = find_reader(member)
    if reader is None:
        raise TypeError(f"{what}: its members must be tree models, without preprocessing")
    source = reader(member)
    response = source.response
    classifies = is_classifier(model)
    if response.link != ("probability" if classifies else "identity") or response.isolation is not None:
        raise ValueError(
            f"{what}: predictions are averaged, and this one's are no sum of trees (its inverse link is "
            f"{response.link!r}). Use members whose trees add up to "
            + ("probabilities, as those of a random forest do" if classifies else "the prediction")
        )
    if source.ensemble.trees is None:
        raise ValueError(f"{what}: it has no binary trees. Decompose the members one by one")
    if classifies and (response.classes is None or len(response.classes) != len(model.classes_)):
        raise ValueError(f"{what}: it has not seen all classes. Fit with more rows per member, or stratified")
    return source


def _merge_inputs(model: Any, reads: list[SourceModel], terms: list[Term]) -> InputSpec:
    """What all members take in the same way."""
    specs = [member.input for member in reads]
    for field in fields(InputSpec):
        for spec in specs:
            value = getattr(spec, field.name)
            if field.name == "frame_categories" and not value:  # no categorical columns that it knows of
                continue
            if field.name not in _MERGED and repr(value) != repr(getattr(InputSpec(0), field.name)):
                raise ValueError(
                    f"cannot decompose a {type(model).__name__} whose member has {field.name}={value!r}: its members "
                    "must take their input alike"
                )
    grids = [term.ensemble.grid for term in terms]
    coded = [spec for spec, grid in zip(specs, grids) if spec.categories or grid.categorical.any()]
    if coded and (
        len({spec.by_value for spec in specs}) > 1
        or len({(spec.unknown_is_missing, spec.truncates_codes) for spec in coded}) > 1
    ):
        raise ValueError(
            f"cannot decompose a {type(model).__name__} whose members take categories in different ways: use members "
            "of one library, or numeric columns"
        )
    single = [spec.integers_as_float32 or grid.as_float32 for spec, grid in zip(specs, grids)]
    if any(spec.integers_as_float32 for spec in specs) and not all(single):
        raise ValueError(
            f"cannot decompose a {type(model).__name__} of which some members, not all, cast integers to float32: use "
            "members of LightGBM, XGBoost and scikit-learn's trees, without histogram boosting"
        )
    sparse = {spec.sparse_is_missing for spec in specs}
    return InputSpec(
        n_features=model.n_features_in_,
        feature_names=names_of(model),
        categories=_merge_categories(model, specs, terms),
        frame_categories=[] if any(spec.frame_categories is not None for spec in specs) else None,
        unknown_is_missing=any(spec.unknown_is_missing for spec in coded),
        sparse_is_missing=sparse.pop() if len(sparse) == 1 else None,
        by_value=any(spec.by_value for spec in specs),
        truncates_codes=any(spec.truncates_codes for spec in coded),
        integers_as_float32=any(spec.integers_as_float32 for spec in specs),
        finite=max((spec.finite for spec in specs), key=_STRICTNESS.index),
    )


def _merge_categories(model: Any, specs: list[InputSpec], terms: list[Term]) -> dict[int, NDArray[Any]]:
    """Category values by code, by column of the model; members that look at a column must agree on them."""
    found: dict[int, tuple[bool, list[Any] | None]] = {}
    merged = {}
    for spec, term in zip(specs, terms):
        grid = term.ensemble.grid
        numeric = set(grid.features[~grid.categorical].tolist())
        for own in {*grid.features.tolist(), *spec.categories}:
            column = int(term.columns[own])
            values = spec.categories.get(own)
            kind = own not in numeric, None if values is None else values.tolist()
            if found.setdefault(column, kind) != kind:
                raise ValueError(
                    f"cannot decompose a {type(model).__name__} whose members see different categories in column "
                    f"{column}, or some of them numbers: encode the column first, or decompose the members one by one"
                )
            if values is not None:
                merged[column] = values
    return merged
