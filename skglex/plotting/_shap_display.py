"""ShapDisplay: SHAP values of a feature around its main effect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import explained
from skglex._utils import import_optional
from skglex.plotting._axis_view import AxisView, Rows, view_axis
from skglex.plotting._draw import draw_background, draw_scale, legend_above, step_line
from skglex.plotting._style import COLOURS, bare, make_axes, margin_label


class ShapDisplay:
    """SHAP values of one feature against its value, with the feature's main effect.

    The SHAP value is the main effect plus a half of each pair, a third of each interaction of three features and so
    on: the main effect is the line, what the interactions blur is the spread around it. Make it with
    `from_decomposer`.

    Parameters
    ----------
    view : AxisView
        The feature's axis.
    at : ndarray of shape (n_samples,)
        Where the rows are drawn.
    shap : ndarray of shape (n_samples,)
        Their SHAP values.
    main_effect : ndarray, or None
        The main effect over the bins shown; None where the model has none.
    colour_by : tuple of AxisView and ndarray, or None
        The feature whose values colour the points, and where the rows lie along it.
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
            Fitted.
        feature : str or int
            Name or position of the feature.
        X : array-like or data frame of shape (n_samples, n_features)
            The rows that are explained.
        class_ : object, default=None
            The class (or the position of the output), where the model has several.
        colour_by : str or int, default=None
            A feature whose values colour the points.
        subsample : int, default=2000
            Draw at most that many rows.
        missing : {"auto", True, False}, default="auto"
            Whether to show missing values; ``"auto"``: where the background or X has some.
        background : bool, default=True
            Draw the histogram of the background along the bottom.
        ax : matplotlib Axes, default=None
            Where to draw.

        Returns
        -------
        ShapDisplay
            With what was drawn in its attributes.
        """
        import_optional("matplotlib.pyplot", "plots")
        door = explained(decomposer)
        output = door.output_position(class_, "class_")
        rows = Rows(decomposer, X)
        some = rows.some(subsample)
        axis = decomposer.feature_axis(feature)
        if axis.feature not in decomposer.explained_features_:
            raise ValueError(
                f"{axis.feature!r} belongs to a feature group, which has no single value to draw"
            )
        column = decomposer.explained_features_.index(axis.feature)
        shap = decomposer.shap_values(some.given)[:, column]
        shap = shap if shap.ndim == 1 else shap[:, output]
        effect = None
        if axis.feature in decomposer.components_:
            component = decomposer.components_[axis.feature]
            (axis,) = component.axes
            effect = component.values if component.values.ndim == 1 else component.values[:, output]
        view = view_axis(decomposer, axis, rows, missing)
        coloured = None
        if colour_by is not None:
            other = view_axis(decomposer, decomposer.feature_axis(colour_by), rows, missing)
            coloured = other, other.place(some)
        display = cls(
            view,
            view.place(some),
            shap,
            None if effect is None else effect[view.cells],
            colour_by=coloured,
            label=margin_label(door, class_),
        )
        return display.plot(ax=ax, background=background)

    def plot(self, *, ax: Any = None, background: bool = True) -> ShapDisplay:
        """Draw the points and the main effect.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        background : bool, default=True
            As in `from_decomposer`.

        Returns
        -------
        ShapDisplay
            With what was drawn in its attributes.
        """
        plt = import_optional("matplotlib.pyplot", "plots")
        self.figure_, ax = make_axes(plt, ax, (6.0, 4.0))
        self.ax_ = ax
        view = self.view
        bare(ax)
        ax.axhline(0, color="0.5", lw=0.8, zorder=1)
        self._draw_points()
        drawn = [self.shap]
        if self.main_effect is not None:
            drawn.append(self.main_effect)
            if view.levels:
                n = np.arange(len(self.main_effect))
                ax.hlines(
                    self.main_effect, n - 0.4, n + 0.4, color="black", lw=2.5, zorder=3, label="main effect"
                )
            else:
                step_line(ax, view, self.main_effect, color="black", label="main effect")
        low, high = min(map(np.min, drawn)), max(map(np.max, drawn))
        span = float(high - low) or 1.0
        ax.set_ylim(low - (0.22 if background else 0.06) * span, high + 0.06 * span)
        ax.set_xlim(view.borders[0], view.end)
        if background:
            draw_background(ax, view)
        draw_scale(ax, view, "x")
        ax.set_ylabel(f"SHAP value, {self.label}")
        title = ax.get_title(loc="left") or view.axis.feature  # one that is there stays
        legend_above(ax, *ax.get_legend_handles_labels(), title=title)
        return self

    def _draw_points(self) -> None:
        """The SHAP values, spread out a little where the feature has levels."""
        at = self.at
        if self.view.levels:
            at = at + np.random.default_rng(0).uniform(-0.3, 0.3, len(at))
        style = {"s": 8, "linewidths": 0, "zorder": 2, "alpha": 0.7}
        if self.colour_by is None:
            self.ax_.scatter(at, self.shap, color=COLOURS[0], label="SHAP value", **style)
            return
        other, place = self.colour_by
        if other.levels:
            for i, label in enumerate(other.cell_labels):
                of_level = place == (i if i < len(other.bins) else np.mean(other.missing_span))
                name = f"{other.axis.feature} {label}"
                colour = COLOURS[i % len(COLOURS)]
                self.ax_.scatter(at[of_level], self.shap[of_level], color=colour, label=name, **style)
            return
        points = self.ax_.scatter(at, self.shap, c=place, cmap="cividis", label="SHAP value", **style)
        self.figure_.colorbar(points, ax=self.ax_, label=other.axis.feature).solids.set_alpha(1)
