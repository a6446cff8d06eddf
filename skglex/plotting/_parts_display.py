"""Draw numbers that add up as bars, each divided into its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import explained, margin_label
from skglex.plotting._draw import legend_above
from skglex.plotting._style import (
    COLOURS,
    Names,
    label_width,
    make_axes,
    number,
    plain_text,
    remove_frame,
    require_matplotlib,
)


class PartsDisplay:
    """Draw the lines of a comparison as bars: what differs between data sets, groups or models, and by how much.

    The parts of a line lie side by side, positive ones to the right of zero and negative ones to the left. A diamond
    marks the sum of the parts. The results of `skglex.inspection` create the display by their ``plot``.

    Parameters
    ----------
    names : list of str
        The names of the lines.
    parts : dict of str to ndarray of shape (n_lines,)
        The parts of every line, on the margin scale.
    label : str
        What the numbers are differences of.
    title : str
        What is compared.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import load_bike_sharing
    >>> from skglex.inspection import explain_shift
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X = X[["hr", "temp", "workingday"]]
    >>> model = XGBRegressor(n_estimators=20, max_depth=3).fit(X, y)
    >>> cold = X["temp"] < 0.5
    >>> display = explain_shift(GlexDecomposer(model).fit(X), X[cold], X[~cold]).plot()
    >>> display.names[0]
    'temp'
    >>> first = PartsDisplay.from_parts(GlexDecomposer(model).fit(X), display.names, display.parts, k=1)
    >>> len(first.names)  # with a bar for the others
    2
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(
        self,
        names: list[str],
        parts: dict[str, NDArray[np.float64]],
        *,
        label: str = "the prediction",
        title: str = "",
    ) -> None:
        self.names = names
        self.parts = parts
        self.label = label
        self.title = title

    @classmethod
    def from_parts(
        cls,
        decomposer: Any,
        names: list[str],
        parts: dict[str, NDArray[np.float64]],
        *,
        title: str = "",
        output: Any = None,
        k: int = 15,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> PartsDisplay:
        """Draw the largest of some lines; the others share one bar.

        Parameters
        ----------
        decomposer : GlexDecomposer or StoredComponents
            The decomposer that the lines come from.
        names : list of str
            The names of the lines.
        parts : dict of str to ndarray of shape (n_lines,)
            The parts of every line. Lines with a part that is NaN are left out.
        title : str, default=""
            What is compared.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        k : int, default=15
            Number of lines.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        PartsDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer, removers=True)
        values = np.array(list(parts.values())).reshape(len(parts), len(names))
        size = np.abs(values).sum(axis=0)
        # Lines that are zero up to rounding need no bar.
        known = np.flatnonzero(np.isfinite(size) & (size > 1e-12 * np.nanmax(size, initial=0.0)))
        ranking = known[np.argsort(-size[known], kind="stable")]
        # A bar for a single other line would take as much room as the line.
        shown, others = (ranking[:k], ranking[k:]) if len(ranking) > k + 1 else (ranking, ranking[:0])
        drawn_names, drawn = [names[i] for i in shown], values[:, shown]
        if len(others):
            drawn_names.append(f"{len(others)} others")
            drawn = np.column_stack([drawn, values[:, others].sum(axis=1)])
        label = margin_label(view, view.output_position(output, "output"), target, units)
        return cls(drawn_names, dict(zip(parts, drawn)), label=label, title=title).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> PartsDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        PartsDisplay
            The display, with the figure and axes as attributes.
        """
        names, own_figure = Names(), ax is None
        ticks = [names.write_product(name, 44) for name in self.names]
        self.figure_, ax = make_axes(ax, (4.2 + label_width(ticks), 1.5 + 0.3 * len(ticks)))
        self.ax_ = ax
        position = np.arange(len(ticks))
        ends = np.zeros((2, len(ticks)))
        for colour, (part, values) in zip(COLOURS, self.parts.items()):
            side = (values < 0).astype(int)
            ax.barh(
                position,
                values,
                0.65,
                left=ends[side, position],
                color=colour,
                label=plain_text(part),
                zorder=2,
            )
            ends[side, position] += values
        total = np.sum(list(self.parts.values()), axis=0)
        if len(self.parts) > 1:
            ax.plot(total, position, "D", ms=4, mfc="white", mec="black", lw=0, label="sum", zorder=3)
        ax.axvline(0, color="0.4", lw=0.8, zorder=1)
        span = float(ends[0].max(initial=0) - ends[1].min(initial=0)) or 1.0
        for i, value in enumerate(total):
            right = value > 0
            ax.annotate(
                f"{'+' if right else ''}{number(value)}".replace("-", "−"),
                (ends[0, i] if right else ends[1, i], i),
                xytext=(6 if right else -6, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize="small",
            )
        ax.set_xlim(ends[1].min(initial=0) - 0.22 * span, ends[0].max(initial=0) + 0.22 * span)
        ax.set_yticks(position, ticks)
        ax.set_ylim(len(ticks) - 0.3, -0.7)
        ax.set_xlabel(plain_text(f"difference of the mean {self.label}"))
        ax.set_title(plain_text(self.title), loc="left", fontsize="medium")
        remove_frame(ax)
        if len(self.parts) > 1:
            handles, labels = ax.get_legend_handles_labels()
            legend_above(ax, handles, labels, title=plain_text(self.title))
        if own_figure:
            names.explain(self.figure_)
        return self
