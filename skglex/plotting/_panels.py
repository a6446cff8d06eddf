"""What is drawn of a component: one panel, or for three features several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex.components import Component
from skglex.plotting._axis_view import AxisView, Rows, view_axis

# The largest number of levels that are drawn as lines, or as panels.
_MAX_LINES = 6


@dataclass(frozen=True)
class Panel:
    """The data of one panel.

    Attributes
    ----------
    title : str
    kind : {"steps", "bars", "lines", "grouped bars", "map"}
    views : tuple of AxisView
        Along x, and, of two features, along y or of the lines.
    values : ndarray
        The component over the shown cells of ``views``, the missing ones last.
    points : tuple of two ndarray, or None
        Where given rows are drawn.
    continues : bool
        Whether the panel before is of the same component, so that its legend holds here too.
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
    """Panels of one component; ``rows`` give ranges and labels, ``drawn`` are drawn as points."""
    axes = component.axes
    if len(axes) > 3:
        raise ValueError(
            f"the component {component.name!r} depends on {len(axes)} features; up to three can be drawn"
        )
    values = component.values
    values = values if values.ndim == len(axes) else values[..., output]
    views = [view_axis(decomposer, axis, rows, missing) for axis in axes]
    values = values[np.ix_(*[view.cells for view in views])]
    height = None
    if drawn is not None:
        height = component.evaluate(drawn.given)
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
        if _is_worse_as_x(views[0], views[1]):
            views, values = views[::-1], values.T
        x, y = views
        kind = "map"
        if y.levels and len(y.cells) <= _MAX_LINES:
            kind = "grouped bars" if x.levels else "lines"
    points = None
    if drawn is not None and height is not None:
        at = views[0].place(drawn)
        up = views[1].place(drawn) if kind == "map" else height
        if kind == "grouped bars":
            level = views[1].place(drawn)
            at = at + group_offsets(len(views[1].cells))[1][np.nan_to_num(level).astype(int)]
        shown = np.isfinite(at) & np.isfinite(up)
        shown = shown if inside is None else shown & inside
        points = at[shown], up[shown]
    return Panel(title, kind, tuple(views), values, points)


def group_offsets(n: int) -> tuple[float, NDArray[Any]]:
    """Width and centres of n bars side by side around 0."""
    width = 0.8 / n
    return width, (np.arange(n) - (n - 1) / 2) * width


def _is_worse_as_x(first: AxisView, second: AxisView) -> bool:
    """Whether the second feature should go along x: the first has levels and the second none, or more."""
    if first.levels != second.levels:
        return first.levels
    return first.levels and len(first.bins) < len(second.bins)


def _split_axis(views: list[AxisView]) -> int:
    """The feature whose bins become panels: one with levels, then the one with fewest bins."""
    return min(range(len(views)), key=lambda i: (not views[i].levels, len(views[i].bins), -i))


def _split_cells(decomposer: Any, view: AxisView) -> list[int]:
    """Cells that become panels: all levels if few, else the most frequent; of numbers, three quantiles."""
    if view.levels and len(view.cells) <= _MAX_LINES:
        return list(range(len(view.cells)))
    weights = decomposer.background_weights(view.axis)[view.bins]
    if view.levels:
        return sorted(np.argsort(-weights, kind="stable")[:4].tolist())
    total = np.cumsum(weights)
    found = np.searchsorted(total, np.array([1, 3, 5]) / 6 * total[-1])
    return [int(cell) for cell in np.unique(np.minimum(found, len(weights) - 1))]
