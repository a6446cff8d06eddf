"""Draw accumulated local effects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import AxisCells, Rows, as_text, cells_of_axis, explained, margin_label
from skglex.inspection import ale
from skglex.plotting._axis_view import AxisView, view_axis, view_levels
from skglex.plotting._panels import Panel, new_panel
from skglex.plotting._panels_display import PanelsDisplay
from skglex.plotting._style import require_matplotlib


class AleDisplay(PanelsDisplay):
    """Draw accumulated local effects as they are: constant between the thresholds of the trees.

    The effect of a feature becomes a step function or, for categories and features with few bins, bars. The effect of
    two features becomes a heat map, or one line per level if one of them has few levels. Beyond the first and the last
    edge of the bins an effect is drawn as it is there. Create the display with `from_decomposer`.

    Parameters
    ----------
    panels : list of Panel
        The data of the panels.
    label : str
        What the effects are on.

    Attributes
    ----------
    axes_ : ndarray of shape (n_panels,)
        The matplotlib axes of all panels.
    ax_ : matplotlib Axes
        The first of ``axes_``.
    figure_ : matplotlib Figure
    colorbar_ : matplotlib Colorbar, or None
        The colour bar of the heat maps, which share one scale. None if there is no heat map.

    See Also
    --------
    skglex.inspection.ale : Computes the effects.
    ComponentDisplay : Draws components, whose main effects are centred partial dependence functions.

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import load_bike_sharing
    >>> from skglex.plotting import AleDisplay
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X = X[["hr", "temp", "hum"]]
    >>> model = XGBRegressor(n_estimators=20, max_depth=3).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> display = AleDisplay.from_decomposer(decomposer, ["hr", "temp", ("temp", "hum")], X)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['hr', 'temp', 'temp']
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    _what = "ALE"

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        features: Any,
        X: Any = None,
        *,
        bins: Any = 40,
        scale: str = "margin",
        order: dict[str, Any] | None = None,
        sample_weight: Any = None,
        output: Any = None,
        background: bool = True,
        same_scale: bool = True,
        n_cols: int = 2,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> AleDisplay:
        """Draw the accumulated local effects of one or several features, or pairs of features.

        Parameters
        ----------
        decomposer : GlexDecomposer
            A fitted decomposer.
        features : str, int, tuple of two of these, or list of these
            A feature, or a pair of features for their second-order effect. A list is drawn as a grid.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            The rows. They also set the range of the axes. None: the background.
        bins : int, ndarray, or tuple of two of these, default=40
            As in `~skglex.inspection.ale`, for all features.
        scale : {"margin", "response"}, default="margin"
            The effect on the margin, or on the response (probability, price, count).
        order : dict of str to list, default=None
            The categories of each categorical feature, in the order of the curve.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows X.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        background : bool, default=True
            Draw the histogram of the background along the bottom.
        same_scale : bool, default=True
            Use one scale for all panels, so that they can be compared.
        n_cols : int, default=2
            Number of panels per row.
        target, units : str, default=None
            Name and unit of the target, for labels. None: what the model predicts ("prediction", "log-odds", ...).
        ax : matplotlib Axes, or array of Axes, default=None
            Axes to draw on. A single Axes is divided if there are several panels. None: a new figure.

        Returns
        -------
        AleDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        position = view.output_position(output, "output", scale=scale)
        rows = None if X is None else Rows(decomposer, X)
        panels = []
        for item in features if isinstance(features, list) else [features]:
            how = {"bins": bins, "scale": scale, "order": order or {}, "sample_weight": sample_weight}
            result = ale(decomposer, item, X, **how)
            effect = result.effect
            if effect.ndim > len(result.features):
                effect = effect[..., position]
            panels.append(_make_panel(decomposer, result, effect, rows))
        if not panels:
            raise ValueError("features is empty: name at least one feature")
        display = cls(panels, label=margin_label(view, position, target, units, scale))
        display.plot(ax=ax, background=background, same_scale=same_scale, n_cols=n_cols)
        return display


def _make_panel(decomposer: Any, result: Any, effect: NDArray[np.float64], rows: Rows | None) -> Panel:
    """Return the panel of one effect."""
    views = []
    for i, name in enumerate(result.features):
        axis = decomposer.feature_axis(name)
        cells = cells_of_axis(decomposer, axis)
        if axis.categorical:
            view = _view_categories(cells, result.edges[i])
        else:
            view = view_axis(cells, rows, missing=False)
            # The effect has the steps between the outermost edges of the bins; the axis has all bins.
            first = int(np.searchsorted(axis.edges, result.bins[i][0], side="right"))
            padding = [(0, 0)] * effect.ndim
            padding[i] = (first, axis.n_bins - first - effect.shape[i])
            assert cells.table_bins is not None, "only the cells of groups have none"
            effect = np.pad(effect, padding, mode="edge").take(cells.table_bins, axis=i)
        effect = view.summarize(effect, i)
        views.append(view)
    title = " × ".join(view.feature for view in views)
    return new_panel(title, views, effect, None, None, None)


def _view_categories(cells: AxisCells, order: NDArray[Any]) -> AxisView:
    """Lay out categories in the order of the user."""
    labels = [as_text(category) for category in order]
    known = cells.labels or []
    if missing := [label for label in labels if label not in known]:
        raise ValueError(
            f"{missing[0]!r} cannot be drawn: the model knows the categories as {known}. Train it with a library "
            "that keeps their names (XGBoost from 3.1 on)"
        )
    found = np.array([known.index(label) for label in labels])
    n = len(labels)
    ordered = replace(cells, labels=labels, bins=cells.bins[:, found], shares=cells.shares[found], missing=n)
    return view_levels(ordered, [np.array([i]) for i in range(n)], labels, False, 0.0)
