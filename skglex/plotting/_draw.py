"""Draw panels on matplotlib axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skglex.plotting._axis_view import AxisView
from skglex.plotting._panels import Panel, group_offsets
from skglex.plotting._style import COLOURS, DIVERGING, LINE_STYLES, remove_frame

_MISSING = {"marker": "D", "ms": 5, "lw": 2}


def draw_panel(
    ax: Any,
    panel: Panel,
    *,
    limits: tuple[float, float],
    colours: Any,
    label: str,
    background: bool,
    legend: bool,
) -> Any:
    """Draw one panel; return the mesh if it is a heat map, else None."""
    ax.set_title(panel.title, loc="left", fontsize="medium")
    draw_scale(ax, panel.views[0], "x")
    ax.set_xlim(panel.views[0].borders[0], panel.views[0].end)
    if panel.kind == "map":
        return _draw_map(ax, panel, colours)
    remove_frame(ax)
    ax.axhline(0, color="0.5", lw=0.8, zorder=1)
    ax.set_ylabel(label)
    draw = {"steps": _draw_steps, "bars": _draw_bars, "lines": _draw_lines, "grouped bars": _draw_groups}
    draw[panel.kind](ax, panel)
    if len(panel.views) == 2 and legend:
        _legend(ax, panel.views[1])
    set_margin_limits(ax, *limits, background=background)
    if background:
        draw_background(ax, panel.views[0])
    if panel.points is not None:
        ax.plot(*panel.points, "o", ms=3.5, mfc="white", mec="black", mew=0.7, zorder=4)
    return None


def set_margin_limits(ax: Any, low: float, high: float, *, background: bool) -> None:
    """Set the limits of a vertical margin axis, with room for the histogram of the background."""
    span = (high - low) or 1.0
    ax.set_ylim(low - (0.22 if background else 0.06) * span, high + 0.06 * span)


def draw_background(ax: Any, view: AxisView) -> None:
    """Draw the histogram of the background along the bottom of the axes."""
    density, borders = view.shares, view.share_borders
    if view.levels:
        # Empty bins between the levels leave gaps, as between the bars of the component.
        density = np.column_stack([density, np.zeros(len(density))]).ravel()[:-1]
        borders = (np.arange(len(view.bins))[:, None] + [-0.3, 0.3]).ravel()
    else:
        density = density / np.diff(borders)
    height = 0.12 * density / max(float(density.max(initial=0)), 1e-300)
    ax.stairs(height, borders, fill=True, color="0.85", lw=0, zorder=0, transform=ax.get_xaxis_transform())


def step_line(ax: Any, view: AxisView, values: Any, **style: Any) -> None:
    """Draw a step function over one numeric axis, and its missing bin as a diamond on a separate line."""
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


def _width(ax: Any) -> float:
    """Return the approximate width of the axes in points."""
    return float(72 * ax.get_window_extent().width / ax.figure.dpi)


def _draw_lines(ax: Any, panel: Panel) -> None:
    x, y = panel.views
    for i, label in enumerate(y.cell_labels):
        style = LINE_STYLES[(i // 2) % len(LINE_STYLES)]
        step_line(ax, x, panel.values[:, i], color=COLOURS[i % len(COLOURS)], ls=style, label=label)


def _draw_groups(ax: Any, panel: Panel) -> None:
    x, y = panel.views
    width, offsets = group_offsets(len(y.cells))
    for i, label in enumerate(y.cell_labels):
        _bars(ax, x, panel.values[:, i], offsets[i], 0.92 * width, COLOURS[i % len(COLOURS)], label)


def _legend(ax: Any, view: AxisView) -> None:
    """Draw the legend of the levels above the axes, where it hides nothing."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    handles = [Line2D([], [], lw=0), *handles]
    labels = [f"{view.axis.feature}:", *labels]
    legend_above(ax, handles, labels, title=ax.get_title(loc="left"))


def legend_above(ax: Any, handles: list[Any], labels: list[str], *, title: str = "") -> None:
    """Draw a legend between the axes and their title, or inside the axes if it needs more than two rows."""
    n_rows = math.ceil((4.8 * sum(map(len, labels)) + 24 * len(labels)) / (1.05 * _width(ax)))
    inside = n_rows > 2
    ax.set_title(title, loc="left", fontsize="medium", pad=6 if inside else 6 + 14 * n_rows)
    if inside:
        ax.legend(handles, labels, fontsize="small", framealpha=0.7).set_zorder(5)
        return
    legend = ax.legend(
        handles,
        labels,
        ncols=math.ceil(len(labels) / n_rows),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        frameon=False,
        fontsize="small",
        markerscale=2,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=0.9,
        borderpad=0.2,
        borderaxespad=0.1,
    )
    if labels[0].endswith(":"):
        # The first entry is the name of the feature, which has no line or bar.
        legend.legend_handles[0].set_visible(False)


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
    draw_scale(ax, y, "y")
    ax.set_ylim(y.borders[0], y.end)
    if panel.points is not None:
        ax.plot(*panel.points, "o", ms=3, mfc="white", mec="black", mew=0.6, zorder=4)
    return mesh


def _all_borders(view: AxisView) -> Any:
    if not view.missing:
        return view.borders
    low, high = view.missing_span
    return [*view.borders, high] if view.levels else [*view.borders, low, high]


def draw_scale(ax: Any, view: AxisView, which: str) -> None:
    """Label one axis and set its ticks."""
    from matplotlib.ticker import MaxNLocator

    axis = getattr(ax, f"{which}axis")
    axis.set_label_text(view.axis.feature)
    if view.levels:
        labels = view.cell_labels
        axis.set_ticks(range(len(labels)), labels)
        room = _width(ax) / max(len(labels), 1)
        if which == "x" and 6.5 * max(map(len, labels), default=0) > room:
            many = room < 14
            axis.set_ticks(
                range(len(labels)),
                labels,
                rotation=90 if many else 30,
                ha="center" if many else "right",
                rotation_mode="default" if many else "anchor",
            )
        return
    if not view.missing:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 3, 5, 6, 10]))
        return
    low, high = view.borders[0], view.borders[-1]
    centre = float(np.mean(view.missing_span))
    ticks = MaxNLocator(4).tick_values(low, high)
    ticks = ticks[(ticks >= low) & (ticks <= high - 0.1 * (high - low))]
    axis.set_ticks([*ticks, centre], [*(f"{t:g}" for t in ticks), "missing"])
