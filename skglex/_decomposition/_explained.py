"""What is asked of the decomposers that inspection, plots and exports are given."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_is_fitted


def check_decomposer(decomposer: Any) -> None:
    """Raise unless it is a fitted GlexDecomposer."""
    if not hasattr(type(decomposer), "strongest_components"):
        raise TypeError(
            f"expected a GlexDecomposer, got a {type(decomposer).__name__}: pass GlexDecomposer(model).fit(X)"
        )
    check_is_fitted(decomposer)


def check_order(decomposer: Any, order: Any, *, least: int) -> None:
    """Raise unless the decomposer has the components up to an order, or all that there are."""
    if not isinstance(order, Integral) or order < least:
        raise ValueError(f"order must be an integer of at least {least}; got {order!r}")
    decomposer._require_components()
    limit = decomposer.max_interaction
    if limit is not None and order > limit and not decomposer._decomposition.complete:
        raise ValueError(
            f"order={order}, but the decomposer was fitted with max_interaction={limit}: fit one with a higher "
            "max_interaction"
        )


def output_position(decomposer: Any, label: Any, parameter: str) -> int:
    """Position of the output that the user asked for."""
    labels = decomposer._output_labels()
    if labels is None:
        positive = list(getattr(decomposer, "classes_", []))[-1:]
        if label is not None and label not in positive:
            raise ValueError(f"the model has one output, but {parameter}={label!r}: leave it out")
        return 0
    if label is None or label not in labels:
        plain = [known.item() if hasattr(known, "item") else known for known in labels]
        raise ValueError(f"the model has several outputs: {parameter} must be one of {plain}; got {label!r}")
    position: int = labels.index(label)
    return position
