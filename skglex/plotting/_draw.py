"""Drawing panels on matplotlib axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from skglex.plotting._axis_view import AxisView
from skglex.plotting._panels import Panel, group_offsets
from skglex.plotting._style import COLOURS, DIVERGING, LINE_STYLES, bare

_MISSING = {"marker": "D", "ms": 5, "lw": 2}


def draw_panel(
    ax: Any, panel: Panel, *, limits: tuple[float, float], colours: Any, label: str, background: bool
) -> Any:
    """Draw one panel; returns the mesh of a heat map, else None."""
    ax.set_title(panel.title, loc="left", fontsize="medium")
    _draw_scale(ax, panel.views[0], "x")
    ax.set_xlim(panel.views[0].borders[0], panel.views[0].end)
    if panel.kind == "map":
        return _draw_map(ax, panel, colours)
    bare(ax)
    ax.axhline(0, color="0.5", lw=0.8, zorder=1)
    ax.set_ylabel(label)
    {"steps": _draw_steps, "bars": _draw_bars, "lines": _draw_lines, "grouped bars": _draw_groups}[
        panel.kind
    ](ax, panel)
    low, high = limits
    span = (high - low) or 1.0
    ax.set_ylim(low - (0.22 if background else 0.06) * span, high + 0.06 * span)
    if background:
        draw_background(ax, panel.views[0])
    if panel.points is not None:
        ax.plot(*panel.points, "o", ms=3.5, mfc="white", mec="black", mew=0.7, zorder=4)
    return None


def draw_background(ax: Any, view: AxisView) -> None:
    """Histogram of the background along the bottom of the axes."""
    widths = np.diff(view.share_borders)
    density = view.shares if view.levels else view.shares / widths
    largest = max(float(density.max(initial=0)), 1e-300)
    to_bottom = ax.get_xaxis_transform()
    ax.stairs(
        0.13 * density / largest,
        view.share_borders,
        fill=True,
        color="0.8",
        lw=0,
        zorder=0,
        transform=to_bottom,
        label="_background",
    )


def step_line(ax: Any, view: AxisView, values: Any, **style: Any) -> None:
    """A step function over one numeric axis, its missing bin as a diamond on a line of its own."""
    n = len(view.bins)
    ax.stairs(values[:n], view.borders, baseline=None, lw=2, zorder=3, **style)
    if view.missing:
        style = {"color": style["color"], "zorder": 3, **_MISSING}
        ax.plot(np.mean(view.missing_span), values[n], **{**style, "lw": 0})
        ax.plot(view.missing_span, [values[n]] * 2, color=style["color"], lw=2, zorder=3)


def _draw_steps(ax: Any, panel: Panel) -> None:
    step_line(ax, panel.views[0], panel.values, color="black")


def _draw_bars(ax: Any, panel: Panel) -> None:
    _bars(ax, panel.views[0], panel.values, 0.0, 0.6, COLOURS[0], None)


def _bars(ax: Any, view: AxisView, values: Any, offset: float, width: float, colour: str, label: Any) -> None:
    bars = ax.bar(np.arange(len(values)) + offset, values, width, color=colour, label=label, zorder=2)
    if view.missing:
        bars[-1].set(hatch="////", edgecolor="white", linewidth=0)


def _draw_lines(ax: Any, panel: Panel) -> None:
    x, y = panel.views
    for i, label in enumerate(y.cell_labels):
        style = LINE_STYLES[(i // 2) % len(LINE_STYLES)]
        step_line(ax, x, panel.values[:, i], color=COLOURS[i % len(COLOURS)], ls=style, label=label)
    _legend(ax, y)


def _draw_groups(ax: Any, panel: Panel) -> None:
    x, y = panel.views
    width, offsets = group_offsets(len(y.cells))
    for i, label in enumerate(y.cell_labels):
        _bars(ax, x, panel.values[:, i], offsets[i], 0.92 * width, COLOURS[i % len(COLOURS)], label)
    _legend(ax, y)


def _legend(ax: Any, view: AxisView) -> None:
    ax.legend(
        title=view.axis.feature, fontsize="small", title_fontsize="small", loc="best", framealpha=0.7
    ).set_zorder(5)


def _draw_map(ax: Any, panel: Panel, colours: Any) -> Any:
    x, y = panel.views
    values = panel.values
    for i, view in enumerate(panel.views):
        if view.missing and not view.levels:
            values = np.insert(values, len(view.bins), np.nan, axis=i)
    mesh = ax.pcolormesh(
        _all_borders(x),
        _all_borders(y),
        np.ma.masked_invalid(values.T),
        cmap=DIVERGING,
        norm=colours,
        rasterized=True,
    )
    ax.set_facecolor("0.75")
    _draw_scale(ax, y, "y")
    ax.set_ylim(y.borders[0], y.end)
    if panel.points is not None:
        ax.plot(*panel.points, "o", ms=3, mfc="white", mec="black", mew=0.6, zorder=4)
    return mesh


def _all_borders(view: AxisView) -> Any:
    if not view.missing:
        return view.borders
    low, high = view.missing_span
    return [*view.borders, high] if view.levels else [*view.borders, low, high]


def _draw_scale(ax: Any, view: AxisView, which: str) -> None:
    """Label one axis and set its ticks."""
    from matplotlib.ticker import MaxNLocator

    axis = getattr(ax, f"{which}axis")
    axis.set_label_text(view.axis.feature)
    if view.levels:
        labels = view.cell_labels
        crowded = which == "x" and sum(map(len, labels)) > 30
        axis.set_ticks(range(len(labels)), labels)
        if crowded:
            ax.tick_params(axis="x", rotation=90 if len(labels) > 8 else 30)
        return
    if not view.missing:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 3, 5, 6, 10]))
        return
    low, high = view.borders[0], view.borders[-1]
    centre = float(np.mean(view.missing_span))
    ticks = MaxNLocator(4).tick_values(low, high)
    ticks = ticks[(ticks >= low) & (ticks <= high - 0.1 * (high - low))]
    axis.set_ticks([*ticks, centre], [*(f"{t:g}" for t in ticks), "missing"])
