"""Draw numbers that add up as bars, each divided into its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained, margin_label
from skglex.plotting._bars import finish_bar_axes, label_products, make_bar_axes, width_of_bars
from skglex.plotting._draw import legend_above
from skglex.plotting._style import COLOURS, TIMES, Names, fold, plain_text, require_matplotlib


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
        drawn_names, drawn = [_with_sign(view, names[i]) for i in shown], values[:, shown]
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
        labels = label_products(names, self.names)
        n_parts = len(self.parts)
        self.ax_ = ax = make_bar_axes(ax, labels, above=0.3 + 0.2 * (n_parts > 1))
        self.figure_ = ax.figure
        position = np.arange(len(labels))
        ends = np.zeros((2, len(labels)))
        for colour, (part, values) in zip(COLOURS, self.parts.items()):
            side = (values < 0).astype(int)
            start = ends[side, position]
            ax.barh(position, values, 0.65, left=start, color=colour, label=plain_text(part), zorder=2)
            ends[side, position] += values
        total = np.sum(list(self.parts.values()), axis=0)
        if n_parts > 1:
            ax.plot(total, position, "D", ms=4, mfc="white", mec="black", lw=0, label="sum", zorder=3)
        ax.axvline(0, color="0.4", lw=0.8, zorder=1)
        span = float(ends[1].min(initial=0)), float(ends[0].max(initial=0))
        label, written = (
            f"difference of the mean {self.label}",
            (total, np.where(total > 0, ends[0], ends[1])),
        )
        finish_bar_axes(ax, labels, span, label=label, values=written, own_figure=own_figure)
        title = "\n".join(map(plain_text, fold(self.title, 44)))
        ax.set_title(title, loc="left", fontsize="medium")
        if n_parts > 1:
            handles, texts = ax.get_legend_handles_labels()
            legend_above(ax, handles, texts, title=title, markerscale=1.2, room=72 * width_of_bars(ax))
        if own_figure:
            names.explain(self.figure_)
        return self


def _with_sign(view: Explained, name: str) -> str:
    """Return the name of an interaction as in all pictures, with a sign between the features."""
    features = name.split(getattr(view.estimator, "separator", TIMES))
    known = view.groups.names
    return TIMES.join(features) if name not in known and set(features) <= set(known) else name
