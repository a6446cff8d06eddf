"""Lay out horizontal bars: what the displays of importances, parts and steps share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex.plotting._style import (
    TIMES,
    Names,
    fold,
    make_axes,
    plain_text,
    remove_frame,
    signed,
    take_out_power,
)

# What is written beside bars, and where.
Values = tuple[NDArray[np.float64], NDArray[np.float64]]

# Characters in a line of a label. Longer lines would take the room of the bars.
LINE = 27
# Inches of a new figure: the bars, a character of a label or of a value, and a line of a label.
_BARS, _CHARACTER, _SMALL_CHARACTER, _LINE_HEIGHT = 3.2, 0.078, 0.066, 0.165
# Fewer bars than this leave room free, since they would be too thick.
_FEWEST = 3


def label_products(names: Names, features: list[str]) -> list[str]:
    """Return components as labels: a feature on up to two lines, the features of an interaction below each other."""
    labels = []
    for name in features:
        parts = name.split(TIMES)
        if len(parts) == 1 or len(name) <= LINE:
            labels.append(names.write_lines(name, LINE))
        else:
            labels.append(f"{TIMES.rstrip()}\n".join(names.write(part, LINE - 2) for part in parts))
    return labels


def make_bar_axes(ax: Any, labels: list[str], *, bars_per_label: int = 1, above: float = 0.0) -> Any:
    """Return the axes to draw horizontal bars on: ``ax``, or those of a new figure with room for the labels.

    ``above`` is the height of what stands above and below the bars in inches, beside the axis.
    """
    n_lines = max((label.count("\n") + 1 for label in labels), default=1)
    step = max(0.16 + 0.14 * bars_per_label, _LINE_HEIGHT * n_lines + 0.06)
    width = _BARS + _CHARACTER * max((len(line) for label in labels for line in label.split("\n")), default=0)
    return make_axes(ax, (width + 0.3, 0.7 + above + step * max(len(labels), 2)))[1]


def finish_bar_axes(
    ax: Any,
    labels: list[str],
    ends: tuple[float, float],
    *,
    label: str,
    values: Values | None = None,
    first: int = 0,
    own_figure: bool = True,
) -> None:
    """Set the limits, the labels of the bars and what the bars are on, and write values beside the bars.

    Parameters
    ----------
    ax : matplotlib Axes
    labels : list of str
        They stand at ``first``, ``first + 1``, ...
    ends : tuple of two floats
        The least and the largest number that is drawn.
    label : str
        What the bars are on.
    values : tuple of two ndarray of shape (n_bars,), or None
        The values to write, and the ends of the bars beside which they stand: positive values to the right, the others
        to the left.
    own_figure : bool
        Whether the figure was made for these labels. If not, they may have to be smaller.
    """
    n = len(labels)
    margin = 0.1 + max(_FEWEST - n, 0) / 4
    ax.set_yticks(np.arange(first, first + n), labels)
    ax.set_ylim(first + n - 0.5 + margin, first - 0.5 - margin)
    if not own_figure:
        n_lines = max((label.count("\n") + 1 for label in labels), default=1)
        room = 72 * ax.get_window_extent().height / ax.figure.dpi / (n + 2 * margin)
        ax.tick_params(axis="y", labelsize=float(np.clip(room / (1.25 * n_lines), 4, 10)))
    width = width_of_bars(ax)
    low, high = ends if values is None else _write_values(ax, *values, ends, width)
    pad = 0.03 * ((high - low) or 1.0)
    ax.set_xlim(low - pad * (low != 0 or values is not None), high + pad)
    ax.locator_params(axis="x", nbins=5)
    label += take_out_power(ax.xaxis, low, high)
    ax.set_xlabel("\n".join(map(plain_text, fold(label, int(width / _CHARACTER)))))
    remove_frame(ax)


def _write_values(
    ax: Any, values: NDArray[np.float64], at: NDArray[np.float64], ends: tuple[float, float], width: float
) -> tuple[float, float]:
    """Write values beside their bars; return the limits between which all of them have room."""
    texts = [signed(value) for value in values]
    needed = np.array([_SMALL_CHARACTER * len(text) + 0.12 for text in texts])
    right = np.asarray(values) > 0
    (low, high), span = ends, (ends[1] - ends[0]) or 1.0
    for _ in range(30):
        # A value needs more of the axis the longer the axis becomes.
        unit = min((high - low) or 1.0, 10 * span) / width
        low = min([ends[0], *(at - needed * unit)[~right]])
        high = max([ends[1], *(at + needed * unit)[right]])
    for i, text in enumerate(texts):
        ax.annotate(
            text,
            (at[i], i),
            xytext=(5 if right[i] else -5, 0),
            textcoords="offset points",
            ha="left" if right[i] else "right",
            va="center",
            fontsize="small",
        )
    return float(low), float(high)


def width_of_bars(ax: Any) -> float:
    """Return the width of the axes in inches, or what it will be if a layout is still to come."""
    if ax.figure.get_layout_engine() is None or len(ax.figure.axes) > 1:
        return float(ax.get_window_extent().width / ax.figure.dpi)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return max(float(ax.figure.get_figwidth()) - _CHARACTER * longest - 0.4, 1.0)
