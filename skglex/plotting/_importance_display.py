"""Draw the importances of components and features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained, margin_label, sum_by_feature_and_order
from skglex._response import on_response
from skglex._utils import budgets
from skglex.plotting._bars import finish_bar_axes, label_products, make_bar_axes, width_of_bars
from skglex.plotting._draw import legend_above
from skglex.plotting._style import (
    COLOURS,
    TIMES,
    Names,
    require_matplotlib,
)

# Rows over which importances on the response scale are averaged.
_FEWEST_ROWS, _MOST_ROWS = 50, 500


class ImportanceDisplay:
    """Draw importances of components, or of features by order, as bars.

    The importance of a component is the mean of its absolute value over the background. The importance of feature j
    at order q is the sum of these means over all components of q features that contain j, divided by q, since a SHAP
    value contains this share of each of these components [1]_. The SHAP importance, mean ``|phi_j|``, is drawn
    beside it. It can be smaller, since components can cancel in a SHAP value. Create the display with
    `from_decomposer`.

    Parameters
    ----------
    names : list of str
        The names of the components or features, the most important first.
    heights : ndarray of shape (n_names, n_orders)
        Importances. There is one column per order, or a single column for components.
    orders : list of int, or None
        The orders of the columns; None for components.
    shap : ndarray of shape (n_names,), or None
        SHAP importances. None: they are not drawn.
    band : ndarray of shape (2, n_names), or None
        Lower and upper ends of the intervals of the importances. None: they are not drawn.
    label : str
        What the importances are effects on.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import make_importance
    >>> from skglex.plotting import ImportanceDisplay
    >>> from xgboost import XGBRegressor
    >>> X, y = make_importance(random_state=0)
    >>> model = XGBRegressor(n_estimators=20, max_depth=4).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> display = ImportanceDisplay.from_decomposer(decomposer, kind="order")
    >>> display.heights.shape
    (4, 2)
    >>> from skglex.inspection import resample_components
    >>> bands = resample_components(model, X[:500], y[:500], features=["x0", "x1"], n_resamples=3)
    >>> ImportanceDisplay.from_resamples(bands).band.shape
    (2, 2)
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(
        self,
        names: list[str],
        heights: NDArray[np.float64],
        *,
        orders: list[int] | None = None,
        shap: NDArray[np.float64] | None = None,
        band: NDArray[np.float64] | None = None,
        label: str = "the prediction",
    ) -> None:
        self.names = names
        self.heights = heights
        self.orders = orders
        self.shap = shap
        self.band = band
        self.label = label

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        kind: str = "component",
        *,
        output: Any = None,
        scale: str = "margin",
        k: int = 15,
        shap: bool = True,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> ImportanceDisplay:
        """Draw the largest importances.

        Parameters
        ----------
        decomposer : GlexDecomposer or StoredComponents
            A fitted decomposer, or components that were loaded from a file.
        kind : {"component", "order"}, default="component"
            ``"component"`` draws one bar per component, ``"order"`` one bar per feature, stacked by order. The
            orders are those of the decomposer's components (``max_interaction``).
        output : object, default=None
            The class, or the name or position of the output, if the model has several outputs. None: the sum over all
            outputs.
        scale : {"margin", "response"}, default="margin"
            ``"response"``: draw the importances of the components of the model's own response (probability, price,
            count), averaged over the background. Their absolute values are averaged over some background rows, evenly
            spaced: as many as take a few seconds, from 50 to 500.
        k : int, default=15
            Draw at most that many bars.
        shap : bool, default=True
            With ``kind="order"``, draw the SHAP importance beside each bar. Stored components have none, and it is not
            drawn on the response scale.
        target, units : str, default=None
            Name and unit of the target, for the label. None: the kind of the margin ("prediction", "log-odds", ...),
            or of the response ("probability", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ImportanceDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        if kind not in ("component", "order"):
            raise ValueError(f"kind must be 'component' or 'order'; got {kind!r}")
        view = explained(decomposer)
        response = on_response(scale)
        several = output is None and (view.response_labels if response else view.output_labels) is not None
        position = None if several else view.output_position(output, "output", scale=scale)
        label = margin_label(view, position, target, units, scale)
        label += ", sum over all outputs" if several else ""
        sets, means = _response_means(view) if response else view.strongest(None)
        importances = _of_output(means, position)
        if not view.decomposition.complete and view.max_interaction is not None:
            most = view.max_interaction
            label += "; main effects only" if most == 1 else f"; components of up to {most} features"
        if kind == "component":
            order = np.argsort(-importances, kind="stable")[:k]
            names = [TIMES.join(map(view.shown_name, view.features_of(sets[i]))) for i in order]
            return cls(names, importances[order][:, None], label=label).plot(ax=ax)
        features = decomposer.explained_features_
        heights = sum_by_feature_and_order(sets, view.decomposition.n_players, importances)
        ranking = np.argsort(-heights.sum(axis=1), kind="stable")[:k]
        phi = None
        if shap and not response:
            phi = _of_output(decomposer.feature_importances_.reshape(len(features), -1), position)[ranking]
        orders = [q for q in range(1, heights.shape[1] + 1) if heights[:, q - 1].any()]
        heights = heights[np.ix_(ranking, np.array(orders, dtype=int) - 1)]
        return cls(
            [view.shown_name(features[i]) for i in ranking], heights, orders=orders, shap=phi, label=label
        ).plot(ax=ax)

    @classmethod
    def from_resamples(
        cls,
        result: Any,
        *,
        output: Any = None,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> ImportanceDisplay:
        """Draw the importances of components with their intervals.

        Parameters
        ----------
        result : ResampledComponents
            The result of `skglex.inspection.resample_components`.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ImportanceDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(result.decomposer)
        position = view.output_position(output, "output")
        spread = result.importance
        heights = spread.estimate[:, position]
        band = np.array(spread.band(result.level, simultaneous=False))[..., position]
        ranking = np.argsort(-heights, kind="stable")
        features = [result.decomposer[result.components[i]].features for i in ranking]
        names = [TIMES.join(map(view.shown_name, of)) for of in features]
        label = margin_label(view, position, target, units)
        band = np.maximum(band[:, ranking], 0.0)
        return cls(names, heights[ranking][:, None], band=band, label=label).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ImportanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ImportanceDisplay
            The display, with the figure and axes as attributes.
        """
        names, own_figure = Names(), ax is None
        labels = label_products(names, self.names)
        n_bars = 1 if self.shap is None else 2
        self.ax_ = ax = make_bar_axes(ax, labels, bars_per_label=n_bars, above=0.2 + 0.2 * (n_bars > 1))
        self.figure_ = ax.figure
        label, span = f"mean absolute effect on {self.label}", (0.0, self._end())
        finish_bar_axes(ax, labels, span, label=label, own_figure=own_figure)
        position = np.arange(len(self.names))
        if self.orders is None:
            ax.barh(position, self.heights[:, 0], 0.7, color=COLOURS[0])
            if self.band is not None:
                ends = np.maximum([self.heights[:, 0] - self.band[0], self.band[1] - self.heights[:, 0]], 0)
                style: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "elinewidth": 1.2, "capsize": 3}
                ax.errorbar(self.heights[:, 0], position, xerr=ends, **style)
        else:
            self._draw_orders(position, self.orders, legend_inside=not own_figure)
        if own_figure:
            names.explain(self.figure_)
        return self

    def _end(self) -> float:
        """Return the largest number that is drawn."""
        parts = [self.heights.sum(axis=1), *(part for part in (self.band, self.shap) if part is not None)]
        return max(float(part.max(initial=0.0)) for part in parts) or 1.0

    def _draw_orders(self, position: NDArray[np.int64], orders: list[int], *, legend_inside: bool) -> None:
        width, offset = (0.7, 0.0) if self.shap is None else (0.42, -0.21)
        # The colours run from dark to light, which stays visible in print. They depend on the order alone, so that an
        # order has the same colour in every picture.
        colours = require_matplotlib().get_cmap("viridis")([min(0.23 * q - 0.18, 0.98) for q in orders])
        left = np.zeros(len(position))
        for heights, order, colour in zip(self.heights.T, orders, colours):
            name = "main effect" if order == 1 else f"order {order}"
            self.ax_.barh(position + offset, heights, width, left=left, color=colour, label=name)
            left = left + heights
        if self.shap is not None:
            self.ax_.barh(
                position - offset,
                self.shap,
                width,
                color="white",
                edgecolor="0.3",
                hatch="////",
                lw=0.8,
                label="SHAP",
            )
        if legend_inside:
            # The user may give the axes a title, where the legend would be.
            self.ax_.legend(loc="lower right", fontsize="small", frameon=False)
        else:
            legend_above(self.ax_, *self.ax_.get_legend_handles_labels(), room=72 * width_of_bars(self.ax_))


def _response_means(view: Explained) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
    """Return the sets of players of the response's components, and the mean absolute value of each over some rows."""
    scale = view.response_scale
    order = scale.all_orders() if view.max_interaction is None else view.max_interaction
    sets = scale.sets_up_to(order, view.decomposition.allowed)
    background = view.background.in_memory()
    n_rows = int(budgets.picture_margins / (background.n_rows * max(len(sets), 1)))
    rows = background.spread_rows(min(max(n_rows, _FEWEST_ROWS), _MOST_ROWS))
    values = np.abs(scale.components(sets, rows.bins, view.execution))
    return sets, (values @ (rows.weight / rows.total)).T


def _of_output(values: NDArray[np.float64], position: int | None) -> NDArray[np.float64]:
    """Return the importances of one output; for None, their sum over all outputs."""
    return np.asarray(values.sum(axis=1) if position is None else values[:, position])
