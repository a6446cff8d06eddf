"""Read scikit-learn's classifiers with a decision threshold, which change only the labels of another classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skglex._readers._registry import require_reader
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._readers._steps import inner_model
from skglex._response import even_margin, inverse_link

READS = (
    ModelKind(
        "scikit-learn",
        (
            "sklearn.model_selection.FixedThresholdClassifier",
            "sklearn.model_selection.TunedThresholdClassifierCV",
        ),
        "as the classifier inside; labels by the threshold",
        "as the classifier inside",
        "as the classifier inside",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `FixedThresholdClassifier` or `TunedThresholdClassifierCV`."""
    check_is_fitted(model)
    inner = inner_model(model)
    source = require_reader(inner)(inner)
    response = source.response
    uses_probability = _uses_probability(model)
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    if threshold == "auto":
        threshold = 0.5 if uses_probability else 0.0
    scorer = getattr(model, "_curve_scorer", None)
    positive = model.pos_label if scorer is None else scorer._get_pos_label()
    first_is_positive = positive is not None and bool(positive == model.classes_[0])
    # The score of the first class is one minus the probability of the second, or minus its decision.
    value = float(threshold)
    if uses_probability:
        value = 1 - value if first_is_positive else value
    else:
        margin = (-value if first_is_positive else value) + even_margin(response.link)
        value = float(inverse_link(response.link, np.array([[margin]]))[0, 0])
    return replace(
        source, response=replace(response, threshold=value, second_class_on_ties=not first_is_positive)
    )


def _uses_probability(model: Any) -> bool:
    """Return whether the threshold is one of the probability, rather than of the decision function."""
    method = model.response_method
    return method == "predict_proba" or (method == "auto" and hasattr(inner_model(model), "predict_proba"))
