"""Turn a component into the data of one panel, or of several panels if it has three features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import (
    AxisCells,
    Rows,
    cells_of_component,
    cells_of_player,
    component_values,
    drawable_cells,
    explained,
    response_values,
)
from skglex.components import Component
from skglex.plotting._axis_view import AxisView, view_axis

# Features with more levels are not drawn as lines, and not all their levels become panels.
_MAX_LINES = 6


@dataclass(frozen=True)
class Panel:
    """Hold the data of one panel.

    Attributes
    ----------
    title : str
    kind : {"steps", "bars", "lines", "grouped bars", "map"}
    views : tuple of AxisView
        The axis along x. For two features also the axis along y, or the one whose levels are the lines or bars.
    values : ndarray
        The values of the component over the ``cells`` of the views.
    points : tuple of two ndarray, or None
        The x and y positions of the rows that are drawn as points.
    continues : bool
        Whether the previous panel shows the same component, so that its legend is valid here as well.
    subtitle : str
        The level of the third feature.
    band : tuple of two ndarray, or None
        Lower and upper ends of intervals around the values.
    """

    title: str
    kind: str
    views: tuple[AxisView, ...]
    values: NDArray[np.float64]
    points: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    continues: bool = False
    subtitle: str = ""
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


def make_panels(
    decomposer: Any,
    component: Component | list[str],
    output: int,
    *,
    rows: Rows | None,
    drawn: Rows | None,
    missing: Any,
    tables: list[NDArray[np.float64]] | None = None,
) -> list[Panel]:
    """Return the panels of one component; ``rows`` set ranges and labels, ``drawn`` become points.

    A list of features stands for their component on the scale of the response. ``tables`` are the values to draw and
    the ends of a band, in the shape of the component's table with the outputs last.
    """
    if isinstance(component, list):
        features = component
        axes, values, height = _on_response(decomposer, features, drawn)
    else:
        features = list(component.features)
        axes, values, height = _on_margin(decomposer, component, drawn)
    values, ends = values[..., output], []
    if tables is not None:
        values, *ends = _resampled_cells(component, axes, values, tables, output)
    height = None if height is None else height[:, output]
    views = [view_axis(axis, rows, missing, _strength(values, axes, i)) for i, axis in enumerate(axes)]
    for i, view in enumerate(views):
        values, *ends = (view.summarize(part, i) for part in (values, *ends))
    title = " × ".join(features)
    if len(axes) == len(features):
        title = " × ".join(axis.feature for axis in axes)
    if len(axes) < 3:
        return [new_panel(title, views, values, drawn, height, None, ends=ends)]
    split = _split_axis(views)
    rest = [view for i, view in enumerate(views) if i != split]
    panels = []
    for cell in _split_cells(views[split]):
        view = views[split]
        inside = None if drawn is None else view.cell_of(drawn) == cell
        label = f"{view.feature}: {view.cell_labels[cell]}"
        part, *ends_of_part = (np.take(of_all, cell, axis=split) for of_all in (values, *ends))
        panels.append(new_panel(title, rest, part, drawn, height, inside, subtitle=label, ends=ends_of_part))
    return [panels[0], *(replace(panel, continues=True) for panel in panels[1:])]


# The axes of a component, its values of shape (n_cells, ..., n_outputs), and of shape (n_rows, n_outputs) at rows.
_Component = tuple[list[AxisCells], NDArray[np.float64], NDArray[np.float64] | None]


def _on_margin(decomposer: Any, component: Component, drawn: Rows | None) -> _Component:
    view, axes = explained(decomposer), cells_of_component(decomposer, component)
    _check_number(axes, component.name)
    axes = drawable_cells(axes, view.n_outputs)
    height = None if drawn is None else component.evaluate(drawn.X)
    if height is not None and height.ndim == 1:
        height = height[:, None]
    return axes, component_values(view, component, axes), height


def _on_response(decomposer: Any, features: list[str], drawn: Rows | None) -> _Component:
    view = explained(decomposer)
    # The response changes at all thresholds of a feature, not only at those of leaves with all features.
    by_player = [cells_of_player(decomposer, name) for name in features]
    axes = [axis for own in by_player for axis in own]
    _check_number(axes, view.estimator.separator.join(features))
    axes = drawable_cells(axes, view.source.response.n_responses)
    of_all = iter(axes)
    by_player = [[next(of_all) for _ in own] for own in by_player]
    height = None
    if drawn is not None:
        players = tuple(view.groups.names.index(name) for name in features)
        height = view.response_scale.components([players], drawn.bins, view.execution)[:, 0].T
    return axes, response_values(view, by_player), height


def _resampled_cells(
    component: Any,
    axes: list[AxisCells],
    values: NDArray[np.float64],
    tables: list[NDArray[np.float64]],
    output: int,
) -> list[NDArray[np.float64]]:
    """Return the values and the ends of a band in the cells of a picture, from those in the bins of the table.

    Bins without rows are not resampled: there the component is drawn as it is.
    """
    table_bins = [axis.table_bins for axis in axes if axis.table_bins is not None]
    if len(table_bins) < len(axes):
        raise ValueError(
            f"the component {component.name!r} is drawn along raw columns, for which there are no bands. Draw it "
            "without bands"
        )
    parts = [table[..., output][np.ix_(*table_bins)] for table in tables]
    return [np.where(np.isnan(part), values, part) for part in parts]


def _check_number(axes: list[AxisCells], name: str) -> None:
    if len(axes) > 3:
        raise ValueError(
            f"the component {name!r} depends on {len(axes)} columns, but at most three can be drawn. Choose a "
            "component of fewer features; a group is drawn along one axis if its columns come from one raw column or "
            "are one-hot encoded"
        )


def _strength(values: NDArray[np.float64], axes: list[AxisCells], along: int) -> NDArray[np.float64]:
    """Return how much every cell along one axis adds to the component's importance, as if features were independent."""
    strength = np.abs(values)
    for i in range(len(axes) - 1, -1, -1):
        if i != along:
            shares = axes[i].shares
            strength = np.average(strength, i, shares if shares.sum() > 0 else None)
    shares = axes[along].shares
    return strength * shares if shares.sum() > 0 else strength


def new_panel(
    title: str,
    views: list[AxisView],
    values: NDArray[np.float64],
    drawn: Rows | None,
    height: NDArray[np.float64] | None,
    inside: NDArray[np.bool_] | None,
    subtitle: str = "",
    ends: Sequence[NDArray[np.float64]] = (),
) -> Panel:
    """Choose how to draw values over one or two axes, and which of the rows are points."""
    if len(views) == 1:
        kind = "bars" if views[0].levels else "steps"
    else:
        if _should_swap(views[0], views[1]):
            views, values, ends = views[::-1], values.T, [end.T for end in ends]
        x, y = views
        kind = "map"
        if y.levels and len(y.cells) <= _MAX_LINES:
            kind = "grouped bars" if x.levels else "lines"
    points = None
    if drawn is not None and height is not None:
        x_position = views[0].place(drawn)
        y_position = views[1].place(drawn) if kind == "map" else height
        if kind == "grouped bars":
            level = views[1].place(drawn)
            x_position = x_position + group_offsets(len(views[1].cells))[1][np.nan_to_num(level).astype(int)]
        visible = np.isfinite(x_position) & np.isfinite(y_position)
        visible = visible if inside is None else visible & inside
        points = x_position[visible], y_position[visible]
    band = (ends[0], ends[1]) if len(ends) else None
    return Panel(title, kind, tuple(views), values, points, subtitle=subtitle, band=band)


def group_offsets(n: int) -> tuple[float, NDArray[Any]]:
    """Return the width and the centres of n bars side by side around 0."""
    width = 0.8 / n
    return width, (np.arange(n) - (n - 1) / 2) * width


def _should_swap(first: AxisView, second: AxisView) -> bool:
    """Return whether the second feature should be along x: if only the first has levels, or if it has fewer."""
    if first.levels != second.levels:
        return first.levels
    return first.levels and len(first.drawn) < len(second.drawn)


def _split_axis(views: list[AxisView]) -> int:
    """Return the position of the axis whose bins become panels.

    Axes with levels come first, then those with fewer bins.
    """
    return min(range(len(views)), key=lambda i: (not views[i].levels, len(views[i].drawn), -i))


def _split_cells(view: AxisView) -> list[int]:
    """Return the cells that become panels.

    If the axis has few levels, these are all its cells, else the four most frequent levels. If the axis has no
    levels, they are the cells of three quantiles of the background.
    """
    if view.levels and len(view.cells) <= _MAX_LINES:
        return list(range(len(view.cells)))
    weights = np.array([view.axis.shares[members].sum() for members in view.drawn])
    if view.levels:
        return sorted(np.argsort(-weights, kind="stable")[:4].tolist())
    cumulated = np.cumsum(weights)
    quantiles = np.searchsorted(cumulated, np.array([1, 3, 5]) / 6 * cumulated[-1])
    return [int(cell) for cell in np.unique(np.minimum(quantiles, len(weights) - 1))]
