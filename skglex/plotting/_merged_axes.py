"""Put the main effects of several models on one axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import AxisCells, Rows, cells_of_component, component_values, explained
from skglex.plotting._axis_view import AxisView, view_axis
from skglex.plotting._panels import Panel


def make_models_panel(
    decomposers: dict[str, Any], feature: Any, outputs: list[int], *, rows: Rows | None, missing: Any
) -> Panel:
    """Return a panel with the main effect of one feature in every model, on the union of their bins.

    A model that does not use the feature has a flat line at zero.

    Parameters
    ----------
    decomposers : dict of str to GlexDecomposer
    feature : str, tuple, or Component
        The main effect.
    outputs : list of int
        Position of the output of each model.
    rows : Rows, or None
        The rows that set the range and the labels.
    missing : {True, False, "auto"}
    """
    axes: list[AxisCells] = []
    curves: list[NDArray[np.float64] | None] = []
    for decomposer, output in zip(decomposers.values(), outputs):
        key = getattr(feature, "features", feature)
        if key not in decomposer:
            curves.append(None)
            continue
        component = decomposer[key]
        cells = cells_of_component(decomposer, component)
        if len(cells) != 1 or component.order != 1:
            raise ValueError(
                f"the component {component.name!r} has more than one axis, but the curves of several models are drawn "
                "for main effects only. Draw the other components model by model, with from_decomposer"
            )
        axes.append(cells[0])
        curves.append(component_values(explained(decomposer), component, cells)[..., output])
    if not axes:
        raise KeyError(f"no model has the component {feature!r}")
    axis, cell_of = _merge(axes)
    x = view_axis(axis, rows, missing)
    parts, found = [], iter(cell_of)
    for curve in curves:
        values = np.zeros(axis.n_cells) if curve is None else curve[next(found)]
        parts.append(x.summarize(values, 0))
    kind = "grouped bars" if x.levels else "lines"
    return Panel(axis.feature, kind, (x, view_names("model", list(decomposers))), np.column_stack(parts))


def view_names(feature: str, names: list[str]) -> AxisView:
    """Return names, such as those of models or times, as the levels of an axis."""
    n = len(names)
    shares = np.ones(n) / n
    axis = AxisCells(
        feature,
        np.empty(0, np.int64),
        np.empty((0, n), np.int64),
        shares,
        lambda rows: np.empty(0, np.int64),
        n,
    )
    cells = [np.array([i]) for i in range(n)]
    borders = np.arange(n + 1) - 0.5
    return AxisView(axis, True, cells, borders, names, False, shares, borders, 0.0)


def _merge(axes: list[AxisCells]) -> tuple[AxisCells, list[NDArray[np.int64]]]:
    """Return an axis with the cells of several, and for each of these the cell of every merged cell."""
    by_name = [axis.labels is not None for axis in axes]
    if all(by_name):
        return _merge_categories(axes)
    if any(by_name):
        raise ValueError(
            f"the feature {axes[0].feature!r} is categorical in some of the models, and numeric in others. Draw them "
            "one by one, with from_decomposer"
        )
    edges = np.unique(np.concatenate([axis.edges for axis in axes]))
    begins = np.concatenate([[-np.inf], edges])
    cell_of = [
        np.append(np.searchsorted(np.asarray(axis.edges), begins, side="right"), axis.missing)
        for axis in axes
    ]
    # The model with the most bins has the finest histogram of the background.
    finest = max(axes, key=lambda axis: 0 if axis.fine_edges is None else len(axis.fine_edges))
    fine_begins = np.concatenate([[-np.inf], finest.fine_edges])
    place = np.searchsorted(edges, fine_begins, side="right")
    shares = np.bincount(place, finest.fine_shares, len(begins))
    n, numbers = len(begins), finest.numbers

    def find(rows: Rows) -> NDArray[np.int64]:
        values = numbers(rows)  # type: ignore[misc]
        return np.where(np.isnan(values), n, np.searchsorted(edges, values, side="right"))

    merged = replace(
        finest,
        bins=np.zeros((1, n + 1), np.int64),
        shares=np.append(shares, finest.shares[finest.missing]),
        find=find,
        missing=n,
        edges=edges,
        optional=None,
        table_bins=None,
    )
    return merged, cell_of


def _merge_categories(axes: list[AxisCells]) -> tuple[AxisCells, list[NDArray[np.int64]]]:
    """Return an axis with the labels of several; a label that a model does not know is in its last named cell."""
    labels = list(dict.fromkeys(label for axis in axes for label in axis.labels or []))
    n, first = len(labels), axes[0]
    cell_of = []
    for axis in axes:
        known = {label: i for i, label in enumerate(axis.labels or [])}
        other = axis.missing - 1
        cells = [known.get(label, other) for label in labels]
        cell_of.append(np.array([*cells, axis.missing] if axis.missing < axis.n_cells else cells))
    has_missing = first.missing < first.n_cells
    shares = np.zeros(n + has_missing)
    place = {label: i for i, label in enumerate(labels)}
    at = np.array([place[label] for label in first.labels or []], dtype=np.int64)
    shares[at] = first.shares[: first.missing]
    if has_missing:
        shares[n] = first.shares[first.missing]
    if any((axis.missing < axis.n_cells) != has_missing for axis in axes):
        cell_of = [cells[:n] for cells in cell_of]
        shares = shares[:n]
    positions = np.append(at, n)
    merged = replace(
        first,
        bins=np.zeros((1, len(shares)), np.int64),
        shares=shares,
        find=lambda rows: positions[first.find(rows)],
        missing=n,
        labels=labels,
        optional=np.array([label == "other" for label in labels] + [False] * (len(shares) - n)),
        table_bins=None,
    )
    return merged, cell_of
