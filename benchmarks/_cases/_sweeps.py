"""Sweeps over sizes: SHAP values, and the paper's run-time figure."""

from __future__ import annotations

from dataclasses import replace

from benchmarks._cases._shared import (
    CONTRIBS,
    INTERACTIONS,
    shap_contenders,
)
from benchmarks._contenders import (
    shap_from_components,
    skglex_method,
    skglex_method_with_fit,
    without_bias,
)
from benchmarks._types import Case, Size


def sweep(kind: str, weighting: str, axis: str, values: tuple[int, ...], **size: int) -> Case:
    """Return a sweep of SHAP values over one field of the size."""
    contenders = shap_contenders(weighting)
    words = "path-dependent" if weighting == "path_dependent" else "empirical"
    return Case(
        f"{kind}-{axis}",
        "sweeps",
        f"SHAP values, {words}, by {axis}",
        replace(Size(rows=10_000, trees=200), **size),
        contenders,
        axis=axis,
        values=values,
        figure="sizes",
    )


def paper(axis: str, values: tuple[int, ...], linked: tuple[str, ...] = (), **size: int) -> Case:
    """Return a case of the paper's run-time experiment, whose times include fitting."""
    path = "path_dependent"
    contenders = (
        skglex_method_with_fit("shap_values", path),
        replace(
            skglex_method(
                "transform", path, fit=True, comparable=shap_from_components, max_components=1_000_000
            ),
            label="skglex, components of all orders",
        ),
        CONTRIBS,
        replace(
            skglex_method("transform", path, fit=True, max_interaction=2, remainder=False),
            label="skglex, components to order 2",
            comparable=None,
        ),
        replace(INTERACTIONS, comparable=lambda values: without_bias(values).sum(axis=2)),
    )
    contenders = (replace(contenders[0], label="skglex, SHAP values"), *contenders[1:])
    return Case(
        f"paper-{axis}",
        "paper",
        f"The paper's run-time figure, by {axis}",
        Size(**size),
        contenders,
        axis=axis,
        values=values,
        linked=linked,
        figure="paper",
        memory=False,
    )


CASES: tuple[Case, ...] = (
    sweep("shap", "path_dependent", "rows", (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)),
    sweep("shap", "path_dependent", "trees", (10, 50, 200, 500, 2_000)),
    sweep("shap", "path_dependent", "depth", (2, 4, 6, 8, 10), trees=100),
    sweep("shap", "path_dependent", "features", (5, 10, 30, 100, 300)),
    sweep("shap", "empirical", "background", (100, 1_000, 10_000, 100_000, 1_000_000), trees=100, rows=1_000),
    paper("rows", (100, 300, 1_000, 3_000, 10_000), ("train", "background"), features=8, depth=4, trees=100),
    paper("features", (2, 4, 6, 8, 10), rows=10_000, train=10_000, background=10_000, depth=4, trees=100),
    paper("trees", (1, 10, 100, 1_000), rows=1_000, train=1_000, background=1_000, features=8, depth=4),
    paper("depth", (2, 4, 6, 8, 10), rows=1_000, train=1_000, background=1_000, features=6, trees=100),
)
