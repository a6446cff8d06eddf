"""Draw components as step functions, bars and heat maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from skglex._decomposition import Rows, explained, has_axes, margin_label
from skglex._response import on_response
from skglex.components import Component
from skglex.plotting._merged_axes import make_models_panel
from skglex.plotting._panels import Panel, make_panels
from skglex.plotting._panels_display import PanelsDisplay
from skglex.plotting._style import require_matplotlib


class ComponentDisplay(PanelsDisplay):
    """Draw components of a decomposer as they are: constant between the thresholds of the trees.

    A main effect becomes a step function. It becomes bars if the feature is categorical or the model splits it into
    few bins. A component of two features becomes a heat map, or one line per level if one of the features has few
    levels. A component of three features becomes several such panels. If the bins of several features together are
    more than a picture can show (deep forests), some of them are joined: at quantiles of the background and evenly over
    its range, with the exact value in the middle of each. Create the display with `from_decomposer`.

    Parameters
    ----------
    panels : list of Panel
        The data of the panels.
    label : str
        What the components are effects on.

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
    ShapDisplay : SHAP values of a feature around its main effect.
    ImportanceDisplay : Importances of components, or of features by order.

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
    >>> other = GlexDecomposer(XGBRegressor(n_estimators=20, max_depth=1).fit(X, y)).fit(X)
    >>> both = ComponentDisplay.from_decomposers({"depth 3": decomposer, "depth 1": other}, "hr")
    >>> both.panels[0].views[1].labels
    ['depth 3', 'depth 1']
    >>> from skglex.inspection import resample_components
    >>> bands = resample_components(model, X, y, features="hr", n_resamples=3)
    >>> panel = ComponentDisplay.from_resamples(bands).panels[0]
    >>> panel.band[0].shape == panel.values.shape
    True
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        features: Any = None,
        X: Any = None,
        *,
        k: int = 6,
        output: Any = None,
        scale: str = "margin",
        subsample: int = 200,
        missing: str | bool = "auto",
        background: bool = True,
        same_scale: bool = True,
        n_cols: int = 2,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> ComponentDisplay:
        """Draw one or several components.

        Parameters
        ----------
        decomposer : GlexDecomposer or StoredComponents
            A fitted decomposer, or components that were loaded from a file.
        features : str, tuple, Component, or list of these, default=None
            A component: its name, the tuple of its features, or the component itself. A list of components is drawn
            as a grid. ``("hr", "temp")`` is the interaction, ``["hr", "temp"]`` are the two main effects. None: the
            ``k`` strongest components of up to three features.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows that are drawn as points. 50 or more rows also set the range of the axes, and name the levels of
            numeric features. If a numeric feature has only integer values in X, the borders of its bins are drawn
            half-way between integers. None: the axes reach as far as the background, and levels are named by their
            thresholds.
        k : int, default=6
            Number of components if ``features`` is None.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        scale : {"margin", "response"}, default="margin"
            ``"response"``: draw components of the model's own response (probability, price, count), averaged over the
            background. If both features of a map have many bins, it is computed at quantiles of them.
        subsample : int, default=200
            Draw at most that many rows of X; 0 draws none.
        missing : {"auto", True, False}, default="auto"
            Whether to draw the bin of missing values. ``"auto"`` draws it if the background or X has missing values.
        background : bool, default=True
            Draw the histogram of the background along the bottom.
        same_scale : bool, default=True
            Use one margin scale for all panels, so that they can be compared. A component that is flat on this scale
            has its own range written into its panel. The colours always share one scale.
        n_cols : int, default=2
            Number of panels per row.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...), or
            of the response ("probability", ...).
        ax : matplotlib Axes, or array of Axes, default=None
            Axes to draw on. A single Axes is divided if there are several panels. None: a new figure.

        Returns
        -------
        ComponentDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        position = view.output_position(output, "output", scale=scale)
        if features is None:
            strongest = decomposer.strongest_components(3 * k)
            # If none can be drawn, the strongest one says why.
            features = [c for c in strongest if c.order <= 3 and has_axes(view, c)][:k] or strongest[:1]
        components: list[Component | list[str]] = []
        for key in features if isinstance(features, list) else [features]:
            if on_response(scale):
                components.append(view.features_of(view.members(key)))
            else:
                components.append(key if isinstance(key, Component) else decomposer[key])
        if not components:
            raise ValueError("features is empty: name at least one component")
        rows = None if X is None else Rows(decomposer, X)
        drawn = rows.subsample(subsample) if rows is not None and subsample > 0 else None
        panels: list[Panel] = []
        for component in components:
            panels += make_panels(decomposer, component, position, rows=rows, drawn=drawn, missing=missing)
        display = cls(panels, label=margin_label(view, position, target, units, scale))
        return display.plot(ax=ax, background=background, same_scale=same_scale, n_cols=n_cols)

    @classmethod
    def from_decomposers(
        cls,
        decomposers: Any,
        features: Any = None,
        X: Any = None,
        *,
        k: int = 6,
        output: Any = None,
        missing: str | bool = "auto",
        background: bool = True,
        same_scale: bool = True,
        n_cols: int = 2,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> ComponentDisplay:
        """Draw the main effects of several models, all models in one panel per feature.

        Parameters
        ----------
        decomposers : dict of str to GlexDecomposer or StoredComponents, or Comparison
            Fitted decomposers by the names of their models, or the result of `skglex.inspection.compare_models`. They
            should have the same background.
        features : str, or list of str, default=None
            Features whose main effects are drawn. None: the ``k`` strongest of the first model.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows that set the range of the axes and name the levels of numeric features. They are not drawn.
        k : int, default=6
            Number of main effects if ``features`` is None.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        missing, background, same_scale, n_cols, target, units, ax : object
            As in `from_decomposer`, with the same defaults.

        Returns
        -------
        ComponentDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        named = {str(name): d for name, d in getattr(decomposers, "decomposers", decomposers).items()}
        if not named:
            raise ValueError("decomposers is empty: pass at least one fitted decomposer, by name")
        first = next(iter(named.values()))
        views = [explained(decomposer) for decomposer in named.values()]
        outputs = [view.output_position(output, "output") for view in views]
        if features is None:
            strongest, _ = views[0].strongest(None)
            features = [views[0].features_of(members)[0] for members in strongest if len(members) == 1][:k]
        rows = None if X is None else Rows(first, X)
        panels = [
            make_models_panel(named, feature, outputs, rows=rows, missing=missing)
            for feature in (features if isinstance(features, list) else [features])
        ]
        if not panels:
            raise ValueError("features is empty: name at least one feature")
        display = cls(panels, label=margin_label(views[0], outputs[0], target, units))
        return display.plot(ax=ax, background=background, same_scale=same_scale, n_cols=n_cols)

    @classmethod
    def from_resamples(
        cls,
        result: Any,
        features: Any = None,
        X: Any = None,
        *,
        simultaneous: bool = False,
        output: Any = None,
        missing: str | bool = "auto",
        background: bool = True,
        same_scale: bool = True,
        n_cols: int = 2,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> ComponentDisplay:
        """Draw components with their bands.

        A step function gets a band, bars get error bars. In a heat map, cells whose interval contains zero are hatched.

        Parameters
        ----------
        result : ResampledComponents
            The result of `skglex.inspection.resample_components`.
        features : str, tuple, Component, or list of these, default=None
            The components. None: all that were resampled.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows that set the range of the axes and name the levels of numeric features. They are not drawn.
        simultaneous : bool, default=False
            Draw the band in which all values of a component lie together, instead of the interval of each value.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        missing, background, same_scale, n_cols, target, units, ax : object
            As in `from_decomposer`, with the same defaults.

        Returns
        -------
        ComponentDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        decomposer = result.decomposer
        view = explained(decomposer)
        position = view.output_position(output, "output")
        keys = result.components if features is None else features
        rows = None if X is None else Rows(decomposer, X)
        panels: list[Panel] = []
        for key in keys if isinstance(keys, list) else [keys]:
            component = key if isinstance(key, Component) else decomposer[key]
            if not result.cells[component.name].on_table:
                raise ValueError(
                    f"the component {component.name!r} was resampled on a grid of your own, not on its bins. Leave "
                    "grid out to draw it, or draw the table to_frame(component)"
                )
            shape = (*component.values.shape[: len(component.axes)], view.n_outputs)
            band = result.band(component, simultaneous=simultaneous)
            tables = [np.reshape(part, shape) for part in (result.estimate(component), *band)]
            panels += make_panels(
                decomposer, component, position, rows=rows, drawn=None, missing=missing, tables=tables
            )
        display = cls(panels, label=margin_label(view, position, target, units))
        return display.plot(ax=ax, background=background, same_scale=same_scale, n_cols=n_cols)
