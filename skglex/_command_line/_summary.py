"""Describe a model in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skglex._command_line._inputs import LoadedModel
from skglex._command_line._terminal import bars, number
from skglex._decomposition import explained, margin_label
from skglex._readers import steps_of
from skglex.inspection import component_importance, feature_importance, interaction_strength

_ORDERS = {1: "main effects", 2: "pairs", 3: "triples"}
# Outputs whose orders are shown.
_OUTPUTS = 6


def describe_model(loaded: LoadedModel) -> str:
    """Return the facts of a model that need no rows."""
    *steps, model = steps_of(loaded.model)
    source = loaded.columns.source
    leaves, grid = source.ensemble, source.ensemble.grid
    names = loaded.columns.names
    facts = {
        "model": f"{type(model).__name__} of {type(model).__module__.partition('.')[0]}, {loaded.path}",
        "before it": ", ".join(type(step).__name__ for step in steps),
        "size": f"{len(leaves.tree_ptr) - 1:,} trees, {leaves.n_leaves:,} leaves",
        "outputs": "" if leaves.n_outputs == 1 else f"{leaves.n_outputs}",
        "features": f"{source.input.n_features}, of which the trees use {len(grid.features)}",
        "columns": "not stored" if names is None else ", ".join(names),
        "link": source.response.link,
    }
    width = max(map(len, facts))
    return "\n".join(f"{key:<{width}}  {value}" for key, value in facts.items() if value)


def describe_components(decomposer: Any, k: int) -> str:
    """Return how much each order explains, and the k strongest features and components."""
    view = explained(decomposer)
    unit = margin_label(view, None, None, None) + (
        "" if view.output_labels is None else ", summed over outputs"
    )
    features, components = feature_importance(decomposer), component_importance(decomposer, k=k)
    return "\n".join(
        [
            *_strength_of_orders(decomposer, view.output_labels or [None]),
            bars(f"\nStrongest features: mean |SHAP value| ({unit})", _importances(features, "feature")[:k]),
            bars(
                f"\nStrongest components: mean absolute value ({unit})", _importances(components, "component")
            ),
        ]
    )


def _strength_of_orders(decomposer: Any, labels: list[Any]) -> Iterator[str]:
    """Yield the share of each order in the variance of the margin, for the first outputs."""
    strength = interaction_strength(decomposer)
    names = [_ORDERS.get(order, f"order {order}") for order in strength["order"]]
    names = [name.replace("order remainder", "the rest") for name in names]
    for label in labels[:_OUTPUTS]:
        shares = strength["share" if label is None else f"{label}__share"]
        of = "" if label is None else f", output {label}"
        rows = [(name, share, f"{share:.1%}".replace("-0.0%", "0.0%")) for name, share in zip(names, shares)]
        yield bars(f"\nShare of the variance of the margin{of}", rows)


def _importances(table: Any, name: str) -> list[tuple[str, float, str]]:
    """Return names, importances summed over outputs, and these as text."""
    columns = [column for column in table if column.endswith("importance")]
    sums = sum(table[column] for column in columns)
    return [(text, value, number(value)) for text, value in zip(table[name], sums)]
