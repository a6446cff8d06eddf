"""Draw panels on matplotlib axes."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any

import numpy as np

from skglex.plotting._axis_view import AxisView
from skglex.plotting._panels import Panel, group_offsets
from skglex.plotting._style import (
    COLOURS,
    DIVERGING,
    LINE_STYLES,
    TIMES,
    Names,
    fold,
    number,
    plain_text,
    remove_frame,
    take_out_power,
)

# A component with less than this part of the common scale looks flat.
FLAT = 0.1
# Characters in a line of levels beside an axis, and points of a character of levels below an axis.
_SIDE, _WIDE = 16, 5.9
# Points of a line in a legend.
_LEGEND_LINE = 12.5
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
    names: Names,
) -> Any:
    """Draw one panel; return the mesh if it is a heat map, else None."""
    # A title that the user has set stays.
    title = ax.get_title(loc="left") or _title(panel, _characters(ax), names)
    ax.set_title(title, loc="left", fontsize="medium")
    draw_scale(ax, panel.views[0], "x", names)
    ax.set_xlim(panel.views[0].borders[0], panel.views[0].end)
    if panel.kind == "map":
        return _draw_map(ax, panel, colours, names)
    remove_frame(ax)
    ax.axhline(0, color="0.5", lw=0.8, zorder=1)
    draw = {"steps": _draw_steps, "bars": _draw_bars, "lines": _draw_lines, "grouped bars": _draw_groups}
    draw[panel.kind](ax, panel)
    if len(panel.views) == 2 and legend:
        _legend(ax, panel.views[1], title, names)
    # The labels below the panel and the legend above it take their room from its height.
    height = _height(ax) - 58 * room_for_labels(panel, _width(ax) / 56)[1]
    set_margin_limits(ax, *limits, label=label, height=height, background=background)
    if background:
        draw_background(ax, panel.views[0])
    if panel.points is not None:
        ax.plot(*panel.points, "o", ms=2.8, mfc="white", mec="black", mew=0.5, zorder=4)
    return None


def _title(panel: Panel, room: int, names: Names) -> str:
    """Return the title of a panel: an interaction with a short name, else what the axes and the legend do not say."""
    said = TIMES.join(view.feature for view in panel.views)
    shown = panel.subtitle or panel.title not in (said, TIMES.join(said.split(TIMES)[::-1]))
    if len(panel.views) > 1 and len(panel.title) <= room:
        shown = True
    title = names.write_product(panel.title, room) if shown else ""
    return "\n".join(part for part in (title, names.write_lines(panel.subtitle, room)) if part)


def note_flat_panel(ax: Any, panel: Panel, limits: tuple[float, float]) -> None:
    """Write the range of a component into its panel if the common scale makes it flat."""
    low, high = float(panel.values.min(initial=0)), float(panel.values.max(initial=0))
    if 0 < high - low < FLAT * (limits[1] - limits[0]):
        text = f"from {number(low)} to {number(high)}: flat on the common scale"
        ax.text(
            0.98,
            0.97,
            textwrap.fill(text, max(int(_width(ax) / 5.6), 8)),
            transform=ax.transAxes,
            ha="right",
            va="top",
            fontsize="small",
            color="0.35",
            gid="flat",
        )


def set_margin_limits(
    ax: Any, low: float, high: float, *, label: str, background: bool, height: float | None = None
) -> None:
    """Set the limits and the label of a vertical margin axis, with room for the histogram of the background."""
    span = (high - low) or 1.0
    ax.set_ylim(low - (0.22 if background else 0.06) * span, high + 0.06 * span)
    power = take_out_power(ax.yaxis, low, high)
    width = max(int((_height(ax) if height is None else height) / 5.4), 12)
    ax.set_ylabel("\n".join(map(plain_text, fold(label + power, width))) if label else "")


def draw_background(ax: Any, view: AxisView) -> None:
    """Draw the histogram of the background along the bottom of the axes, missing values included."""
    starts, ends = view.share_borders[:-1], view.share_borders[1:]
    if view.levels:
        # Empty bins between the levels leave gaps, as between the bars of the component.
        centres = np.arange(len(view.drawn))
        starts, ends = centres - 0.3, centres + 0.3
    shares = view.shares
    if view.missing:
        low, high = view.missing_span
        low, high = (low + 0.2, high - 0.2) if view.levels else (low, high)
        starts, ends, shares = (
            np.append(start, end)
            for start, end in ((starts, low), (ends, high), (shares, view.missing_share))
        )
    density = shares / (ends - starts)
    height = 0.12 * density / max(float(density.max(initial=0)), 1e-300)
    # Zeros between the bins are gaps.
    borders = np.column_stack([starts, ends]).ravel()
    values = np.column_stack([height, np.zeros(len(height))]).ravel()[:-1]
    keep = np.append(True, np.diff(borders) > 0)
    ax.stairs(
        values[keep[1:]],
        borders[keep],
        fill=True,
        color="0.85",
        lw=0,
        zorder=0,
        transform=ax.get_xaxis_transform(),
        gid="background",
    )


def step_line(ax: Any, view: AxisView, values: Any, **style: Any) -> None:
    """Draw a step function over one numeric axis, and its missing bin as a diamond on a separate line."""
    n = len(view.drawn)
    ax.stairs(values[:n], view.borders, baseline=None, lw=2, zorder=3, **style)
    if view.missing:
        style = {"color": style["color"], "zorder": 3, **_MISSING}
        ax.plot(np.mean(view.missing_span), values[n], **{**style, "lw": 0})
        ax.plot(view.missing_span, [values[n]] * 2, color=style["color"], lw=2, zorder=3)


def _draw_steps(ax: Any, panel: Panel) -> None:
    step_line(ax, panel.views[0], panel.values, color="black")
    if panel.band is not None:
        _fill_band(ax, panel.views[0], *panel.band, "black")


def _fill_band(ax: Any, view: AxisView, low: Any, high: Any, colour: str) -> None:
    """Fill the band around a step function, and draw the interval of the missing bin as a line."""
    n = len(view.drawn)
    style = {"color": colour, "alpha": 0.2, "lw": 0, "zorder": 2, "gid": "band"}
    ax.stairs(high[:n], view.borders, baseline=low[:n], fill=True, **style)
    if view.missing:
        ax.plot([np.mean(view.missing_span)] * 2, [low[n], high[n]], color=colour, lw=1, zorder=2, gid="band")


def _draw_bars(ax: Any, panel: Panel) -> None:
    _bars(ax, panel.views[0], panel.values, 0.0, 0.6, COLOURS[0], None)
    if panel.band is not None:
        _error_bars(ax, np.arange(len(panel.values)), panel.values, *panel.band)


def _error_bars(ax: Any, x: Any, values: Any, low: Any, high: Any) -> None:
    ends = np.maximum([values - low, high - values], 0)
    bars = ax.errorbar(x, values, yerr=ends, fmt="none", ecolor="0.15", elinewidth=1.2, capsize=3, zorder=3)
    bars[2][0].set_gid("band")


def _bars(ax: Any, view: AxisView, values: Any, offset: float, width: float, colour: str, label: Any) -> None:
    bars = ax.bar(np.arange(len(values)) + offset, values, width, color=colour, label=label, zorder=2)
    if view.missing:
        bars[-1].set(hatch="////", edgecolor="white", linewidth=0)


def _width(ax: Any) -> float:
    """Return the approximate width of the axes in points."""
    return float(72 * ax.get_window_extent().width / ax.figure.dpi)


def _height(ax: Any) -> float:
    """Return the approximate height of the axes in points."""
    return float(72 * ax.get_window_extent().height / ax.figure.dpi)


def _characters(ax: Any) -> int:
    """Return the approximate number of characters in a line as wide as the axes."""
    return int(_width(ax) / 6)


def _draw_lines(ax: Any, panel: Panel) -> None:
    x, y = panel.views
    for i in range(len(y.cells)):
        style = LINE_STYLES[(i // 2) % len(LINE_STYLES)]
        step_line(ax, x, panel.values[:, i], color=COLOURS[i % len(COLOURS)], ls=style, label=str(i))
        if panel.band is not None:
            low, high = (end[:, i] for end in panel.band)
            _fill_band(ax, x, low, high, COLOURS[i % len(COLOURS)])


def _draw_groups(ax: Any, panel: Panel) -> None:
    x, y = panel.views
    width, offsets = group_offsets(len(y.cells))
    for i in range(len(y.cells)):
        _bars(ax, x, panel.values[:, i], offsets[i], 0.92 * width, COLOURS[i % len(COLOURS)], str(i))
        if panel.band is not None:
            at = np.arange(len(panel.values)) + offsets[i]
            _error_bars(ax, at, panel.values[:, i], *(end[:, i] for end in panel.band))


def _legend(ax: Any, view: AxisView, title: str, names: Names) -> None:
    """Draw the legend of the levels above the axes, where it hides nothing."""
    handles, _ = ax.get_legend_handles_labels()
    labels = label_levels(ax, view, names)
    legend_above(ax, handles, labels, title=title, heading=names.write(f"{view.feature}:", _characters(ax)))


def label_levels(ax: Any, view: AxisView, names: Names) -> list[str]:
    """Return the levels of a feature as they are written in a legend, in the room above the axes."""
    fits = _LEGEND_LINE * len(view.cells) < 0.4 * _height(ax)
    return [names.write(label, _characters(ax) - 4 if fits else 18) for label in view.cell_labels]


def legend_above(
    ax: Any,
    handles: list[Any],
    labels: list[str],
    *,
    title: str = "",
    heading: str = "",
    markerscale: float = 2.0,
    room: float = 0.0,
) -> Any:
    """Draw a legend between the axes and their title, in as many rows as it needs."""
    from matplotlib.lines import Line2D

    if heading:
        handles, labels = [Line2D([], [], lw=0), *handles], [heading, *labels]
    n_rows, n_cols = _legend_rows(labels, room or 0.95 * _width(ax))
    if title:
        ax.set_title(title, loc="left", fontsize="medium", pad=6 + _LEGEND_LINE * n_rows)
    legend = ax.legend(
        handles,
        labels,
        ncols=n_cols,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        frameon=False,
        fontsize="small",
        markerscale=markerscale,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=0.9,
        labelspacing=0.3,
        borderpad=0.2,
        borderaxespad=0.1,
    )
    if heading:
        # The heading has no line or bar.
        legend.legend_handles[0].set_visible(False)
    return legend


def _legend_rows(labels: list[str], room: float) -> tuple[int, int]:
    """Return the numbers of rows and columns of a legend that fits into so many points."""
    n_cols = next(n for n in range(len(labels), 0, -1) if n == 1 or _legend_width(labels, n) < room)
    return math.ceil(len(labels) / n_cols), n_cols


def _legend_width(labels: list[str], n_cols: int) -> float:
    """Return the approximate width of a legend in points; matplotlib fills it column by column."""
    columns = np.array_split(np.array(labels, dtype=object), n_cols)
    return sum(4.8 * max(map(len, column)) + 24 for column in columns)


def _draw_map(ax: Any, panel: Panel, colours: Any, names: Names) -> Any:
    x, y = panel.views
    values = panel.values
    for i, view in enumerate(panel.views):
        if view.missing and not view.levels:
            values = np.insert(values, len(view.drawn), np.nan, axis=i)
    mesh = ax.pcolormesh(
        _all_borders(x),
        _all_borders(y),
        np.ma.masked_invalid(values.T),
        cmap=DIVERGING,
        norm=colours,
        rasterized=True,
    )
    ax.set_facecolor("0.75")
    if panel.band is not None:
        _hatch_uncertain(ax, panel)
    draw_scale(ax, y, "y", names)
    ax.set_ylim(y.borders[0], y.end)
    if panel.points is not None:
        ax.plot(*panel.points, "o", ms=2.5, mfc="white", mec="black", mew=0.5, zorder=4)
    return mesh


def _hatch_uncertain(ax: Any, panel: Panel) -> None:
    """Hatch the cells of a heat map whose interval contains zero."""
    from matplotlib.collections import PolyCollection

    assert panel.band is not None
    low, high = panel.band
    uncertain = (low <= 0) & (high >= 0)
    for i, view in enumerate(panel.views):
        if view.missing and not view.levels:
            uncertain = np.insert(uncertain, len(view.drawn), False, axis=i)
    x, y = (np.asarray(_all_borders(view)) for view in panel.views)
    along, up = np.nonzero(uncertain)
    left, right, bottom, top = x[along], x[along + 1], y[up], y[up + 1]
    corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]]).transpose(2, 0, 1)
    style: dict[str, Any] = {"facecolors": "none", "edgecolors": "0.35", "hatch": "////", "linewidths": 0}
    ax.add_collection(PolyCollection(list(corners), zorder=3, gid="band", **style))


def _all_borders(view: AxisView) -> Any:
    if not view.missing:
        return view.borders
    low, high = view.missing_span
    return [*view.borders, high] if view.levels else [*view.borders, low, high]


def room_for_labels(panel: Panel, width: float) -> tuple[float, float]:
    """Return how much width and height the labels of levels take from a panel that is so wide, in inches."""
    x, y = panel.views[0], panel.views[-1]
    beside = below = 0.0
    if x.levels:
        length = 72 * (width - 0.8)
        longest = max(min(len(label), _longest_level(length)) for label in x.cell_labels)
        lines = _lines_of_levels(x.cell_labels, length)
        below = 0.15 * (lines - 1) if lines else 0.075 * longest if len(x.cells) > 8 else 0.045 * longest
    if panel.kind == "map" and y.levels:
        beside = 0.075 * max(min(len(label), _SIDE) for label in y.cell_labels)
    elif len(panel.views) == 2 and panel.kind != "map":
        # The legend stands above the panel. Of two rows, one takes the room of the title.
        room = 72 * (width - 0.9)
        labels = [f"{y.feature}:", *(label[: int(room / 6) - 4] for label in y.cell_labels)]
        below += _LEGEND_LINE / 72 * (_legend_rows(labels, room)[0] - 1)
    return beside, below


def draw_scale(ax: Any, view: AxisView, which: str, names: Names) -> None:
    """Label one axis and set its ticks."""
    from matplotlib.ticker import MaxNLocator

    axis = getattr(ax, f"{which}axis")
    length = _width(ax) if which == "x" else _height(ax)
    if view.levels:
        axis.set_label_text(names.write_lines(view.feature, int(length / 6)))
        _label_levels(axis, view, which, length, names)
        return
    low, high = view.borders[0], view.borders[-1]
    power = take_out_power(axis, low, high)
    axis.set_label_text(names.write_lines(view.feature, int(length / 6), end=power))
    # Ticks of large numbers need more room.
    digits = len(f"{max(abs(low), abs(high)):.0f}") if not power else 3
    n_ticks = int(np.clip(length / (6.5 * digits + 16), 2, 6)) if which == "x" else 6
    if not view.missing:
        axis.set_major_locator(MaxNLocator(n_ticks, steps=[1, 2, 3, 5, 6, 10]))
        return
    centre, word = float(np.mean(view.missing_span)), view.axis.missing_label
    write = axis.get_major_formatter() if power else lambda tick, _: f"{tick:g}".replace("-", "−")
    ticks = np.asarray(MaxNLocator(min(n_ticks, 4)).tick_values(low, high))
    labels = [write(tick, None) for tick in ticks]
    # A tick next to the place of missing values would touch their label.
    sizes = np.array([len(label) + len(word) for label in labels]) * 3.1 if which == "x" else 12.0
    shown = (ticks >= low) & (centre - ticks > (sizes + 6) * (view.end - low) / length)
    axis.set_ticks([*ticks[shown], centre], [*np.array(labels)[shown], word])


def _label_levels(axis: Any, view: AxisView, which: str, length: float, names: Names) -> None:
    """Write the levels of an axis: on several lines if these are wide enough, else at an angle."""
    n = max(len(view.cell_labels), 1)
    room = length / n
    style: dict[str, Any] = {}
    if which == "y":
        n_lines = min(int(room / 12), 2)
        labels = [names.write_lines(label, _SIDE, max(n_lines, 1)) for label in view.cell_labels]
    elif lines := _lines_of_levels(view.cell_labels, length):
        labels = [names.write_lines(label, int(room / _WIDE), lines) for label in view.cell_labels]
    else:
        labels = [names.write(label, _longest_level(length)) for label in view.cell_labels]
        style = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        if room < 24:
            style = {"rotation": 90, "ha": "center", "va": "top"}
    if (which == "y" or "va" in style) and room < 14:
        style["fontsize"] = max(0.75 * room, 3.0)
    axis.set_ticks(range(len(labels)), labels, **style)


def _longest_level(length: float) -> int:
    """Return how many characters of a level are written at an angle below an axis of so many points."""
    return int(np.clip(length / 11, 12, 22))


def _lines_of_levels(labels: list[str], length: float) -> int:
    """Return on how many lines the levels along a horizontal axis fit, 0 if they do not: no word is cut."""
    width = int(length / max(len(labels), 1) / _WIDE)
    words = [word for label in labels for word in re.split(r"[\s_/:-]", label)]
    if max(map(len, words), default=0) > width:
        return 0
    lines = max((len(fold(label, width)) for label in labels), default=1)
    return lines if lines <= 4 else 0
