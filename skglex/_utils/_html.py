"""Show the largest components of a fitted decomposer in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from skglex._utils._budgets import budgets

_SHOWN = 10
# Evaluating a component without a table takes about as long as so many look-ups.
_STREAMED_COST = 100


def largest_components_table(decomposer: Any, view: Any) -> str:
    """Return an HTML table of the largest components, or an empty string if computing importances would take long.

    Parameters
    ----------
    decomposer : GlexDecomposer
        The fitted decomposer.
    view : Explained
        The arrays and options of the decomposer, see `skglex._decomposition.explained`.

    Returns
    -------
    str
        The HTML.
    """
    if len(view.listed) > decomposer.max_components:
        return ""
    tabulated = view.listed.layout(view.execution).tabulated
    look_ups = view.background.n_rows * (tabulated.sum() + _STREAMED_COST * (~tabulated).sum())
    if "component_importances" not in view.cached and look_ups > budgets.html_look_ups:
        return ""
    largest = decomposer.strongest_components(_SHOWN)
    outputs = "" if view.n_outputs == 1 else f", summed over {view.n_outputs} outputs"
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(c.name)}</td><td>{c.order}</td>"
        f"<td>{np.sum(c.importance):.4g}</td></tr>"
        for c in largest
    )
    intercept = ", ".join(f"{value:.4g}" for value in view.intercept[:_SHOWN])
    return (
        "<table class='skglex-components'><caption style='text-align:left'>"
        f"The {len(largest)} largest of {len(tabulated):,} components; intercept {intercept}</caption>"
        "<thead><tr><th style='text-align:left'>component</th><th>order</th>"
        f"<th>mean absolute value on the background (margin scale{outputs})</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
