"""Compare the model of a page with a second model, or its rows with those of another period."""

from __future__ import annotations

from typing import Any

import numpy as np

from skglex._decomposer import GlexDecomposer
from skglex._explorer._payload import Page
from skglex.inspection import compare_models, explain_shift


def compare_with(
    payload: dict[str, Any], page: Page, compare: Any, target: str | None, units: str | None
) -> None:
    """Add what ``compare`` is, a model or rows, to a payload."""
    if hasattr(compare, "shape") or isinstance(compare, list | tuple):
        payload["facts"]["compare"] = _rows_facts(page, compare)
        return
    other = compare
    if not isinstance(compare, GlexDecomposer):
        params = {**page.decomposer.get_params(deep=False), "estimator": compare, "prefit": True}
        other = GlexDecomposer(**params).fit(page.rows.X, sample_weight=page.rows.weight)
    payload["facts"]["compare"] = _model_facts(page, other)
    second = Page(other, page.rows)
    payload["other"] = second.payload(None, target, units, "group", [])


def _model_facts(page: Page, other: GlexDecomposer) -> dict[str, Any]:
    """Return the differences of two models, component by component, over the rows of the report."""
    names = [type(d.estimator_).__name__ for d in (page.decomposer, other)]
    if names[0] == names[1]:
        names = [names[0], f"{names[1]} (second)"]
    weight = page.rows.weight
    found = compare_models(dict(zip(names, (page.decomposer, other))), page.rows.X, sample_weight=weight)
    lines = [
        {"name": name, "order": order, "difference": d.tolist(), "absolute": a.tolist()}
        for name, order, d, a in zip(found.lines, found.orders, found.difference[0], found.absolute[0])
    ]
    lines.sort(key=lambda line: -np.sum(line["absolute"]))
    return {"kind": "model", "names": names, "lines": lines, "headline": found.headline}


def _rows_facts(page: Page, X: Any) -> dict[str, Any]:
    """Return the change of the mean margin between the rows of the report and others."""
    found = explain_shift(page.decomposer, page.rows.X, X, sample_weight_old=page.rows.weight)
    lines = [
        {
            "name": name,
            "order": order,
            "difference": found.change[i].tolist(),
            **{part: values[i].tolist() for part, values in found.parts.items()},
        }
        for i, (name, order) in enumerate(zip(found.lines, found.orders))
    ]
    return {
        "kind": "rows",
        "names": ["rows of the report", "compared rows"],
        "lines": lines,
        "means": [found.mean_old.tolist(), found.mean_new.tolist()],
        "headline": found.headline,
    }
