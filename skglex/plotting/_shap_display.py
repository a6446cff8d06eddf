"""Draw the SHAP values of a feature around its main effect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import explained
from skglex.plotting._axis_view import AxisView, Rows, view_axis
from skglex.plotting._draw import (
    draw_background,
    draw_scale,
    legend_above,
    set_margin_limits,
    step_line,
)
from skglex.plotting._style import COLOURS, make_axes, margin_label, remove_frame, require_matplotlib


class ShapDisplay:
    """Draw the SHAP values of one feature against its value, with the feature's main effect.

    The SHAP value is the main effect plus a half of each interaction of two features, a third of each interaction of
    three features, and so on. The line is the main effect. The spread of the points around the line comes from the
    interactions. Create the display with `from_decomposer`.

    Parameters
    ----------
    view : AxisView
        The axis of the feature.
    at : ndarray of shape (n_samples,)
        The positions of the rows along the axis.
    shap : ndarray of shape (n_samples,)
        The SHAP values of the rows.
    main_effect : ndarray, or None
        The main effect in the bins that are drawn; None if the model has no main effect of the feature.
    colour_by : tuple of AxisView and ndarray, or None
        The axis of the feature whose values colour the points, and the positions of the rows along this axis.
    label : str
        Label of the margin axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import make_motivating
    >>> from skglex.plotting import ShapDisplay
    >>> from xgboost import XGBRegressor
    >>> X, y = make_motivating(random_state=0)
    >>> model = XGBRegressor(n_estimators=20, max_depth=3).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> display = ShapDisplay.from_decomposer(decomposer, decomposer.explained_features_[0], X)
    >>> display.ax_.get_ylabel()
    'SHAP value, margin'
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(
        self,
        view: AxisView,
        at: NDArray[np.float64],
        shap: NDArray[np.float64],
        main_effect: NDArray[np.float64] | None,
        *,
        colour_by: tuple[AxisView, NDArray[np.float64]] | None = None,
        label: str = "margin",
    ) -> None:
        self.view = view
        self.at = at
        self.shap = shap
        self.main_effect = main_effect
        self.colour_by = colour_by
        self.label = label

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        feature: Any,
        X: Any,
        *,
        class_: Any = None,
        colour_by: Any = None,
        subsample: int = 2000,
        missing: str | bool = "auto",
        background: bool = True,
        ax: Any = None,
    ) -> ShapDisplay:
        """Draw the SHAP values of one feature.

        Parameters
        ----------
        decomposer : GlexDecomposer
            A fitted decomposer.
        feature : str or int
            Name or position of the feature.
        X : array-like or data frame of shape (n_samples, n_features)
            The rows whose SHAP values are drawn.
        class_ : object, default=None
            The class (or the position of the output). Required if the model has several outputs.
        colour_by : str or int, default=None
            A feature whose values colour the points.
        subsample : int, default=2000
            Draw at most that many rows.
        missing : {"auto", True, False}, default="auto"
            Whether to draw missing values. ``"auto"`` draws them if the background or X has missing values.
        background : bool, default=True
            Draw the histogram of the background along the bottom.
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ShapDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        output = view.output_position(class_, "class_")
        rows = Rows(decomposer, X)
        drawn = rows.subsample(subsample)
        axis = decomposer.feature_axis(feature)
        if axis.feature not in decomposer.explained_features_:
            raise ValueError(
                f"{axis.feature!r} belongs to a feature group, whose SHAP values cannot be drawn against a single "
                "feature: choose a feature outside of feature_groups"
            )
        column = decomposer.explained_features_.index(axis.feature)
        shap = decomposer.shap_values(drawn.X)[:, column]
        shap = shap if shap.ndim == 1 else shap[:, output]
        effect = None
        if axis.feature in decomposer:
            component = decomposer[axis.feature]
            (axis,) = component.axes
            effect = component.values if component.values.ndim == 1 else component.values[:, output]
        layout = view_axis(decomposer, axis, rows, missing)
        colours = None
        if colour_by is not None:
            other = view_axis(decomposer, decomposer.feature_axis(colour_by), rows, missing)
            colours = other, other.place(drawn)
        display = cls(
            layout,
            layout.place(drawn),
            shap,
            None if effect is None else effect[layout.cells],
            colour_by=colours,
            label=margin_label(view, class_),
        )
        return display.plot(ax=ax, background=background)

    def plot(self, *, ax: Any = None, background: bool = True) -> ShapDisplay:
        """Draw the points and the main effect.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.
        background : bool, default=True
            As in `from_decomposer`.

        Returns
        -------
        ShapDisplay
            The display, with the figure and axes as attributes.
        """
        self.figure_, ax = make_axes(ax, (6.0, 4.0))
        self.ax_ = ax
        view = self.view
        remove_frame(ax)
        ax.axhline(0, color="0.5", lw=0.8, zorder=1)
        self._draw_points()
        curves = [self.shap]
        if self.main_effect is not None:
            curves.append(self.main_effect)
            if view.levels:
                n = np.arange(len(self.main_effect))
                ax.hlines(
                    self.main_effect, n - 0.4, n + 0.4, color="black", lw=2.5, zorder=3, label="main effect"
                )
            else:
                step_line(ax, view, self.main_effect, color="black", label="main effect")
        low, high = min(map(np.min, curves)), max(map(np.max, curves))
        set_margin_limits(ax, float(low), float(high), background=background)
        ax.set_xlim(view.borders[0], view.end)
        if background:
            draw_background(ax, view)
        draw_scale(ax, view, "x")
        ax.set_ylabel(f"SHAP value, {self.label}")
        # The legend moves the title up, but must not replace a title that the user set.
        title = ax.get_title(loc="left") or view.axis.feature
        legend_above(ax, *ax.get_legend_handles_labels(), title=title)
        return self

    def _draw_points(self) -> None:
        """Draw the SHAP values; a feature with levels gets horizontal jitter, so that its points do not overlap."""
        x_position = self.at
        if self.view.levels:
            x_position = x_position + np.random.default_rng(0).uniform(-0.3, 0.3, len(x_position))
        style = {"s": 8, "linewidths": 0, "zorder": 2, "alpha": 0.7}
        if self.colour_by is None:
            self.ax_.scatter(x_position, self.shap, color=COLOURS[0], label="SHAP value", **style)
            return
        other, place = self.colour_by
        if other.levels:
            for i, label in enumerate(other.cell_labels):
                rows = place == (i if i < len(other.bins) else np.mean(other.missing_span))
                name = f"{other.axis.feature} {label}"
                colour = COLOURS[i % len(COLOURS)]
                self.ax_.scatter(x_position[rows], self.shap[rows], color=colour, label=name, **style)
            return
        points = self.ax_.scatter(x_position, self.shap, c=place, cmap="cividis", label="SHAP value", **style)
        self.figure_.colorbar(points, ax=self.ax_, label=other.axis.feature).solids.set_alpha(1)
