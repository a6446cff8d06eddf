"""Turn a component into the data of one panel, or of several panels if it has three features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex.components import Component
from skglex.plotting._axis_view import AxisView, Rows, view_axis

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
    """

    title: str
    kind: str
    views: tuple[AxisView, ...]
    values: NDArray[np.float64]
    points: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    continues: bool = False


def make_panels(
    decomposer: Any, component: Component, output: int, *, rows: Rows | None, drawn: Rows | None, missing: Any
) -> list[Panel]:
    """Return the panels of one component; ``rows`` set ranges and labels, ``drawn`` become points."""
    axes = component.axes
    if len(axes) > 3:
        raise ValueError(
            f"the component {component.name!r} depends on {len(axes)} features, but at most three can be drawn: "
            "choose a component of fewer features"
        )
    values = component.values
    values = values if values.ndim == len(axes) else values[..., output]
    views = [view_axis(decomposer, axis, rows, missing) for axis in axes]
    values = values[np.ix_(*[view.cells for view in views])]
    height = None
    if drawn is not None:
        height = component.evaluate(drawn.X)
        height = height if height.ndim == 1 else height[:, output]
    title = " × ".join(axis.feature for axis in axes)
    if len(axes) < 3:
        return [_panel(title, views, values, drawn, height, None)]
    split = _split_axis(views)
    rest = [view for i, view in enumerate(views) if i != split]
    panels = []
    for cell in _split_cells(decomposer, views[split]):
        view = views[split]
        inside = None if drawn is None else drawn.bins(view.axis) == view.cells[cell]
        label = f"{title}\n{view.axis.feature}: {view.cell_labels[cell]}"
        panels.append(_panel(label, rest, np.take(values, cell, axis=split), drawn, height, inside))
    return [panels[0], *(replace(panel, continues=True) for panel in panels[1:])]


def _panel(
    title: str,
    views: list[AxisView],
    values: NDArray[np.float64],
    drawn: Rows | None,
    height: NDArray[np.float64] | None,
    inside: NDArray[np.bool_] | None,
) -> Panel:
    if len(views) == 1:
        kind = "bars" if views[0].levels else "steps"
    else:
        if _should_swap(views[0], views[1]):
            views, values = views[::-1], values.T
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
    return Panel(title, kind, tuple(views), values, points)


def group_offsets(n: int) -> tuple[float, NDArray[Any]]:
    """Return the width and the centres of n bars side by side around 0."""
    width = 0.8 / n
    return width, (np.arange(n) - (n - 1) / 2) * width


def _should_swap(first: AxisView, second: AxisView) -> bool:
    """Return whether the second feature should be along x: if only the first has levels, or if it has fewer."""
    if first.levels != second.levels:
        return first.levels
    return first.levels and len(first.bins) < len(second.bins)


def _split_axis(views: list[AxisView]) -> int:
    """Return the position of the axis whose bins become panels.

    Axes with levels come first, then those with fewer bins.
    """
    return min(range(len(views)), key=lambda i: (not views[i].levels, len(views[i].bins), -i))


def _split_cells(decomposer: Any, view: AxisView) -> list[int]:
    """Return the cells that become panels.

    If the axis has few levels, these are all its cells, else the four most frequent levels. If the axis has no
    levels, they are the bins of three quantiles of the background.
    """
    if view.levels and len(view.cells) <= _MAX_LINES:
        return list(range(len(view.cells)))
    weights = decomposer.background_weights(view.axis)[view.bins]
    if view.levels:
        return sorted(np.argsort(-weights, kind="stable")[:4].tolist())
    cumulated = np.cumsum(weights)
    quantiles = np.searchsorted(cumulated, np.array([1, 3, 5]) / 6 * cumulated[-1])
    return [int(cell) for cell in np.unique(np.minimum(quantiles, len(weights) - 1))]
