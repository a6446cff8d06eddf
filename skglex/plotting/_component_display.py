"""ComponentDisplay: components as step functions, bars and heat maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from skglex._decomposition import explained
from skglex._utils import import_optional
from skglex.components import Component
from skglex.plotting._axis_view import Rows
from skglex.plotting._draw import draw_panel
from skglex.plotting._panels import Panel, make_panels
from skglex.plotting._style import margin_label


class ComponentDisplay:
    """Components of a decomposer, drawn as they are: constant between the thresholds of the trees.

    A main effect is a step function, or bars where the feature is categorical or the model splits it into few
    bins. Two features are a heat map, or one line per level where one of them has few; three features are panels of
    that. Make it with `from_decomposer`.

    Parameters
    ----------
    panels : list of Panel
        What is drawn.
    label : str
        Label of the margin axis.

    Attributes
    ----------
    axes_ : ndarray of shape (n_panels,)
        The matplotlib axes of all panels.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    colorbar_ : matplotlib Colorbar, or None
        Of the heat maps, which share one scale.

    See Also
    --------
    ShapDisplay : SHAP values of a feature around its main effect.
    ImportanceDisplay : Which components are large.

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import load_bike_sharing
    >>> from skglex.plotting import ComponentDisplay
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X = X[["hr", "temp", "workingday"]]
    >>> model = XGBRegressor(n_estimators=20, max_depth=3).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> display = ComponentDisplay.from_decomposer(decomposer, ["hr", ("hr", "workingday"), "hr:temp"])
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['hr', 'hr', 'hr']
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(self, panels: list[Panel], *, label: str = "margin") -> None:
        self.panels = panels
        self.label = label

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        features: Any,
        *,
        class_: Any = None,
        X: Any = None,
        subsample: int = 200,
        missing: str | bool = "auto",
        background: bool = True,
        same_scale: bool = True,
        n_cols: int = 3,
        ax: Any = None,
    ) -> ComponentDisplay:
        """Draw some components.

        Parameters
        ----------
        decomposer : GlexDecomposer
            Fitted.
        features : str, tuple, Component, or list of these
            One component, by its name, by its features or itself; a list of several makes a grid. ``("hr",
            "temp")`` is the interaction, ``["hr", "temp"]`` are the two main effects.
        class_ : object, default=None
            The class (or the position of the output), where the model has several.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows that are drawn as points. 50 or more also set the range of the axes and name the levels of numeric
            features; where a numeric feature is all integers in X, a bin's borders are drawn half-way between them.
            None: from the first to the last threshold, levels named by their thresholds.
        subsample : int, default=200
            Draw at most that many of the rows of X; 0 for none.
        missing : {"auto", True, False}, default="auto"
            Whether to show the bin of missing values; ``"auto"``: where the background or X has some.
        background : bool, default=True
            Draw the histogram of the background along the bottom.
        same_scale : bool, default=True
            One margin scale for all panels, so that they can be compared. The colours always have one.
        n_cols : int, default=3
            Panels per row.
        ax : matplotlib Axes, or array of Axes, default=None
            Where to draw. One Axes for several panels is divided between them.

        Returns
        -------
        ComponentDisplay
            With what was drawn in its attributes.
        """
        import_optional("matplotlib.pyplot", "plots")
        view = explained(decomposer)
        output = view.output_position(class_, "class_")
        components = [
            _find(decomposer, key) for key in (features if isinstance(features, list) else [features])
        ]
        if not components:
            raise ValueError("features is empty: name at least one component")
        rows = None if X is None else Rows(decomposer, X)
        drawn = rows.some(subsample) if rows is not None and subsample > 0 else None
        panels: list[Panel] = []
        for component in components:
            panels += make_panels(decomposer, component, output, rows=rows, drawn=drawn, missing=missing)
        display = cls(panels, label=margin_label(view, class_))
        return display.plot(ax=ax, background=background, same_scale=same_scale, n_cols=n_cols)

    def plot(
        self, *, ax: Any = None, background: bool = True, same_scale: bool = True, n_cols: int = 3
    ) -> ComponentDisplay:
        """Draw the panels; the parameters are those of `from_decomposer`.

        Parameters
        ----------
        ax : matplotlib Axes, or array of Axes, default=None
            Where to draw. None: a new figure.
        background : bool, default=True
            As in `from_decomposer`.
        same_scale : bool, default=True
            As in `from_decomposer`.
        n_cols : int, default=3
            As in `from_decomposer`.

        Returns
        -------
        ComponentDisplay
            With what was drawn in its attributes.
        """
        from matplotlib.colors import Normalize

        plt = import_optional("matplotlib.pyplot", "plots")
        self._make_axes(plt, ax, n_cols)
        largest = max((_size(panel) for panel in self.panels if panel.kind == "map"), default=0.0) or 1.0
        curves = [panel for panel in self.panels if panel.kind != "map"]
        common = _limits(curves) if same_scale else None
        meshes = []
        labelled = set()  # rows of panels that say what the curves' scale is
        for i, (panel, panel_ax) in enumerate(zip(self.panels, self.axes_)):
            mesh = draw_panel(
                panel_ax,
                panel,
                limits=common or _limits([panel]),
                colours=Normalize(-largest, largest),
                label="" if same_scale and _row(panel_ax) in labelled else self.label,
                background=background,
                legend=i == 0 or not panel.continues,
            )
            if mesh is None:
                labelled.add(_row(panel_ax))
            else:
                meshes.append((panel_ax, mesh))
        self.colorbar_ = None
        if meshes:
            last, mesh = meshes[-1]
            style = {"label": self.label, "pad": 0.02}
            if ax is None and len(self.panels) > 1:  # beside all panels, as high as two rows of them
                shrink = min(1.0, 2 * n_cols / len(self.panels))
                style |= {
                    "ax": list(self.axes_),
                    "fraction": 0.04,
                    "aspect": 25,
                    "shrink": shrink,
                    "anchor": (0, 1),
                }
            else:
                style |= {"ax": last, "fraction": 0.08}
            self.colorbar_ = last.figure.colorbar(mesh, **style)
        return self

    def _make_axes(self, plt: Any, ax: Any, n_cols: int) -> None:
        n = len(self.panels)
        n_cols = min(n_cols, n)
        shape = (-(-n // n_cols), n_cols)
        if ax is None:
            figure, axes = plt.subplots(
                *shape,
                figsize=(max(3.3 * shape[1], 5.0 if n == 1 else 0), 2.9 * shape[0] if n > 1 else 3.6),
                layout="constrained",
                squeeze=False,
            )
            figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
            axes = axes.ravel()
            for unused in axes[n:]:
                unused.remove()
        elif isinstance(ax, (list, tuple, np.ndarray)):
            axes = np.asarray(ax, dtype=object).ravel()
            if len(axes) < n:
                raise ValueError(f"there are {n} panels, but ax has {len(axes)} axes")
            figure = axes[0].figure
        elif n == 1:
            figure, axes = ax.figure, np.array([ax], dtype=object)
        else:
            figure = ax.figure
            ax.set_axis_off()
            grid = ax.get_subplotspec().subgridspec(*shape)
            axes = np.array([figure.add_subplot(grid[divmod(i, n_cols)]) for i in range(n)], dtype=object)
        self.figure_, self.axes_, self.ax_ = figure, axes[:n], axes[0]


def _find(decomposer: Any, key: Any) -> Component:
    return key if isinstance(key, Component) else decomposer.components_[key]


def _row(ax: Any) -> Any:
    """The row of axes that one is in, or itself."""
    spec = ax.get_subplotspec()
    return ax if spec is None else (spec.get_gridspec(), spec.rowspan.start)


def _size(panel: Panel) -> float:
    return float(np.abs(panel.values).max(initial=0))


def _limits(panels: list[Panel]) -> tuple[float, float]:
    """Range of the margin over some panels, zero included."""
    low = min((float(panel.values.min(initial=0)) for panel in panels), default=0.0)
    return low, max((float(panel.values.max(initial=0)) for panel in panels), default=0.0)
