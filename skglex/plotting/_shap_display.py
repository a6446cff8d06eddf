"""Draw the SHAP values of a feature around its main effect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import (
    AxisCells,
    Explained,
    Rows,
    cells_of_component,
    cells_of_player,
    component_values,
    explained,
    margin_label,
    response_values,
)
from skglex._response import on_response
from skglex.plotting._axis_view import AxisView, view_axis
from skglex.plotting._draw import (
    draw_background,
    draw_scale,
    label_levels,
    legend_above,
    set_margin_limits,
    step_line,
)
from skglex.plotting._style import (
    COLOURS,
    Names,
    make_axes,
    remove_frame,
    require_matplotlib,
)


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
        What the margin is called.

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
    'SHAP value, prediction'
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
        label: str = "prediction",
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
        output: Any = None,
        scale: str = "margin",
        colour_by: Any = None,
        subsample: int = 2000,
        missing: str | bool = "auto",
        background: bool = True,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> ShapDisplay:
        """Draw the SHAP values of one feature.

        Parameters
        ----------
        decomposer : GlexDecomposer
            A fitted decomposer.
        feature : str or int
            Name or position of the feature, or the name of a group whose columns come from one raw column or are
            one-hot encoded.
        X : array-like or data frame of shape (n_samples, n_features)
            The rows whose SHAP values are drawn.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        scale : {"margin", "response"}, default="margin"
            ``"response"``: draw SHAP values of the model's own response (probability, price, count). Each row that is
            drawn is then mixed with each background row; ``subsample`` limits the rows.
        colour_by : str or int, default=None
            A feature, or such a group, whose values colour the points.
        subsample : int, default=2000
            Draw at most that many rows.
        missing : {"auto", True, False}, default="auto"
            Whether to draw missing values. ``"auto"`` draws them if the background or X has missing values.
        background : bool, default=True
            Draw the histogram of the background along the bottom.
        target, units : str, default=None
            Name and unit of the target, for the label. None: the kind of the margin ("prediction", "log-odds", ...),
            or of the response ("probability", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ShapDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        position = view.output_position(output, "output", scale=scale)
        rows = Rows(decomposer, X)
        drawn = rows.subsample(subsample)
        player = _player(view, feature)
        axis, effect = _main_effect(decomposer, player, scale)
        shap = decomposer.shap_values(drawn.X, scale=scale)[:, view.groups.names.index(player)]
        shap = shap if shap.ndim == 1 else shap[:, position]
        effect = None if effect is None else effect[:, position]
        layout = view_axis(axis, rows, missing, None if effect is None else np.abs(effect) * axis.shares)
        colours = None
        if colour_by is not None:
            partner = _player(view, colour_by)
            other = view_axis(_single_axis(cells_of_player(decomposer, partner), partner), rows, missing)
            colours = other, other.place(drawn)
        display = cls(
            layout,
            layout.place(drawn),
            shap,
            None if effect is None else layout.summarize(effect, 0),
            colour_by=colours,
            label=margin_label(view, position, target, units, scale),
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
        names, own_figure = Names(), ax is None
        self.figure_, ax = make_axes(ax, (5.6, 4.0))
        self.ax_ = ax
        view = self.view
        remove_frame(ax)
        ax.axhline(0, color="0.5", lw=0.8, zorder=1)
        self._draw_points(names)
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
        label = f"SHAP value, {self.label}"
        set_margin_limits(ax, float(low), float(high), label=label, background=background)
        ax.set_xlim(view.borders[0], view.end)
        if background:
            draw_background(ax, view)
        draw_scale(ax, view, "x", names)
        # The legend moves the title up, but must not replace a title that the user set.
        title = ax.get_title(loc="left")
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            other = None if self.colour_by is None else self.colour_by[0]
            heading = names.write(f"{other.feature}:", 44) if other is not None and other.levels else ""
            legend_above(ax, handles, labels, title=title, heading=heading)
        if own_figure:
            names.explain(self.figure_)
        return self

    def _draw_points(self, names: Names) -> None:
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
            for i, name in enumerate(label_levels(self.ax_, other, names)):
                rows = place == (i if i < len(other.drawn) else np.mean(other.missing_span))
                colour = COLOURS[i % len(COLOURS)]
                self.ax_.scatter(x_position[rows], self.shap[rows], color=colour, label=name, **style)
            return
        points = self.ax_.scatter(x_position, self.shap, c=place, cmap="cividis", **style)
        bar = self.figure_.colorbar(points, cax=self.ax_.inset_axes([1.02, 0, 0.03, 1]))
        bar.solids.set_alpha(1)
        # Above the bar, the name cannot be read as the label of the next panel's axis.
        bar.ax.set_title(names.write(other.feature, 14), fontsize="small", loc="left")


def _main_effect(decomposer: Any, player: str, scale: str) -> tuple[AxisCells, NDArray[np.float64] | None]:
    """Return the axis of a player, and its main effect of shape (n_cells, n_outputs) if there is one."""
    view = explained(decomposer)
    if not on_response(scale) and player in decomposer:
        component = decomposer[player]
        axis = _single_axis(cells_of_component(decomposer, component), player)
        return axis, component_values(view, component, [axis])
    axis = _single_axis(cells_of_player(decomposer, player), player)
    return axis, response_values(view, [[axis]]) if on_response(scale) else None


def _player(view: Explained, feature: Any) -> str:
    """Return the name of the feature or group that a name or a position stands for."""
    (player,) = view.groups.resolve(feature, view.feature_names, X=None)
    return view.groups.names[player]


def _single_axis(axes: list[AxisCells], player: str) -> AxisCells:
    if len(axes) != 1:
        raise ValueError(
            f"the group {player!r} has {len(axes)} columns that neither come from one raw column nor are one-hot "
            "encoded, so SHAP values cannot be drawn against it. Choose another feature"
        )
    return axes[0]
