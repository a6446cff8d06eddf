"""Draw components of a cumulative hazard or a survival function over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, cells_of_component, component_values, explained, top_components
from skglex.plotting._axis_view import AxisView, view_axis
from skglex.plotting._draw import legend_above, set_margin_limits
from skglex.plotting._merged_axes import view_names
from skglex.plotting._panels import Panel
from skglex.plotting._panels_display import PANEL, PanelsDisplay
from skglex.plotting._style import (
    COLOURS,
    LINE_STYLES,
    TIMES,
    Names,
    number,
    plain_text,
    remove_frame,
    require_matplotlib,
)

_WORDS = {"cumulative_hazard": "cumulative hazard", "survival": "survival probability"}
_MOST_ROWS = 12


class SurvivalDisplay:
    """Draw how components of a survival model act over time.

    For chosen rows, the strongest components of the cumulative hazard (or of the survival function) are curves over
    time, one panel per row. For a chosen feature, its main effect is one line for each of some times. The decomposer
    needs ``survival_output="cumulative_hazard"`` or ``"survival"``, and a tree or forest of scikit-survival. Create the
    display with `from_decomposer`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        The times.
    curves : ndarray of shape (n_panels, n_curves, n_times)
        Values of the components of every row. For a feature: one panel, and the values of each bin as a curve.
    names : list of str
        Names of the components; for a feature, of the times.
    panel_names : list of str
        Names of the panels.
    label : str
        What the components are effects on.
    view : AxisView, or None
        The axis of the feature. None: the curves belong to rows.

    Attributes
    ----------
    axes_ : ndarray of shape (n_panels,)
        The matplotlib axes of all panels.
    ax_ : matplotlib Axes
        The first of ``axes_``.
    figure_ : matplotlib Figure

    See Also
    --------
    ComponentDisplay : Components at one time.

    Examples
    --------
    >>> import numpy as np
    >>> from sksurv.ensemble import RandomSurvivalForest
    >>> from sksurv.util import Surv
    >>> from skglex import GlexDecomposer
    >>> from skglex.plotting import SurvivalDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = Surv.from_arrays(rng.random(200) < 0.7, np.ceil(10 * rng.exponential(np.exp(-X[:, 0]))))
    >>> forest = RandomSurvivalForest(10, max_depth=3, random_state=0).fit(X, y)
    >>> decomposer = GlexDecomposer(forest, survival_output="cumulative_hazard", times=[1, 5, 10]).fit(X)
    >>> display = SurvivalDisplay.from_decomposer(decomposer, X[:2])
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['time', 'time']
    >>> SurvivalDisplay.from_decomposer(decomposer, feature="x0").plot().ax_.get_xlabel()
    'x0'
    """

    def __init__(
        self,
        times: NDArray[np.float64],
        curves: NDArray[np.float64],
        names: list[str],
        panel_names: list[str],
        *,
        label: str = "cumulative hazard",
        view: AxisView | None = None,
    ) -> None:
        self.times = times
        self.curves = curves
        self.names = names
        self.panel_names = panel_names
        self.label = label
        self.view = view

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        X: Any = None,
        *,
        feature: str | int | None = None,
        k: int = 5,
        times: Any = None,
        ax: Any = None,
    ) -> SurvivalDisplay:
        """Draw components over time for rows, or a main effect at some times.

        Parameters
        ----------
        decomposer : GlexDecomposer
            A fitted decomposer with one output per time.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Up to twelve rows, with a panel for each.
        feature : str or int, default=None
            The feature whose main effect is drawn. Pass either ``X`` or ``feature``.
        k : int, default=5
            Number of components per row; the others are added up.
        times : list of float, default=None
            Times at which the main effect is drawn, among those of the decomposer. None: up to five of them.
        ax : matplotlib Axes, or array of Axes, default=None
            Axes to draw on, one for each row. None: a new figure.

        Returns
        -------
        SurvivalDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        known, label = _times_of(view)
        if (X is None) == (feature is None):
            raise ValueError("pass either rows X or a feature, for curves over time or for a main effect")
        if feature is None:
            rows = view.as_rows(X)
            curves, names = _curves_of_rows(view, rows, k)
            panel_names = [f"row {i}" for i in getattr(rows, "index", range(len(curves)))]
            return cls(known, curves, names, panel_names, label=label).plot(ax=ax)
        at = _chosen_times(known, times)
        component = decomposer[(feature,)]
        (axis,) = cells_of_component(decomposer, component)
        values = component_values(view, component, [axis])
        seen = view_axis(axis, None, "auto", np.abs(values).mean(axis=1) * axis.shares)
        lines = np.array([seen.summarize(values[:, t], 0) for t in at])
        names = [number(known[t]) for t in at]
        return cls(known[at], lines.T[None], names, [axis.feature], label=label, view=seen).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SurvivalDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes, or array of Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        SurvivalDisplay
            The display, with the figure and axes as attributes.
        """
        if self.view is not None:
            kind = "grouped bars" if self.view.levels else "lines"
            views = self.view, view_names("time", self.names)
            panel = Panel(self.view.feature, kind, views, self.curves[0])
            drawn = PanelsDisplay([panel], label=f"the {self.label}").plot(ax=ax)
            self.figure_, self.axes_, self.ax_ = drawn.figure_, drawn.axes_, drawn.ax_
            return self
        names = Names()
        self._make_axes(ax)
        for panel_ax, title, curves in zip(self.axes_, self.panel_names, self.curves):
            self._draw_row(panel_ax, curves, names)
            panel_ax.set_title(plain_text(title), loc="left", fontsize="medium")
            panel_ax.set_xlabel("time")
        totals = self.curves.sum(axis=1, keepdims=True)
        both = np.concatenate([self.curves, totals], axis=1)
        low, high = min(float(both.min()), 0.0), max(float(both.max()), 0.0)
        for panel_ax in self.axes_:
            spec = panel_ax.get_subplotspec()
            first = ax is not None or spec is None or spec.is_first_col()
            label = f"effect on the {self.label}" if first else ""
            set_margin_limits(panel_ax, low, high, label=label, background=False)
        handles, labels = self.ax_.get_legend_handles_labels()
        if ax is None:
            style = {"frameon": False, "fontsize": "small", "handlelength": 1.2, "columnspacing": 0.9}
            longest = max(map(len, labels))
            n_cols = max(1, int(self.figure_.get_figwidth() * 72 / (4.8 * longest + 24)))
            self.figure_.legend(handles, labels, loc="outside upper left", ncols=n_cols, **style)
            names.explain(self.figure_)
        else:
            legend_above(self.ax_, handles, labels, title=plain_text(self.panel_names[0]))
        return self

    def _make_axes(self, ax: Any) -> None:
        """Make a figure with a panel per row, or take the axes that the user passed."""
        n = len(self.panel_names)
        if ax is None:
            n_cols = min(n, 2)
            n_rows = -(-n // n_cols)
            size = (5.0, 4.0) if n == 1 else (PANEL[0] * n_cols + 0.4, PANEL[1] * n_rows + 0.5)
            figure, axes = require_matplotlib().subplots(
                n_rows, n_cols, figsize=size, squeeze=False, layout="constrained"
            )
            for unused in axes.ravel()[n:]:
                figure.delaxes(unused)
            self.axes_ = axes.ravel()[:n]
        else:
            self.axes_ = np.ravel(ax)
            if len(self.axes_) != n:
                raise ValueError(
                    f"ax has {len(self.axes_)} axes, but there are {n} panels. Pass one for each"
                )
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure

    def _draw_row(self, ax: Any, curves: NDArray[np.float64], names: Names) -> None:
        """Draw the curves of one row; the last step is as long as the one before it, so that it can be seen."""
        times = np.append(self.times, 2 * self.times[-1] - self.times[-2]) if len(self.times) > 1 else None
        for i, (name, curve) in enumerate(zip([*self.names, "all together"], [*curves, curves.sum(axis=0)])):
            style: dict[str, Any] = {"color": COLOURS[i % (len(COLOURS) - 1)], "lw": 2}
            style["ls"] = LINE_STYLES[i // (len(COLOURS) - 1) % len(LINE_STYLES)]
            if i == len(self.names):
                style = {"color": "black", "lw": 1.2, "ls": ":"}
            label = names.write_product(name)
            if times is None:
                ax.plot(self.times, curve, "o", label=label, color=style["color"])
            else:
                ax.stairs(curve, times, baseline=None, label=label, **style)
        remove_frame(ax)
        ax.axhline(0, color="0.5", lw=0.8, zorder=1)


def _times_of(view: Explained) -> tuple[NDArray[np.float64], str]:
    """Return the times of a decomposer's outputs, and what the outputs are; raise if they are no curve."""
    output = getattr(view.estimator, "survival_output", "risk")
    if output == "risk" or view.output_labels is None:
        raise ValueError(
            "the decomposer has no outputs over time. Pass one with survival_output='cumulative_hazard' or 'survival', "
            "a tree or forest of scikit-survival, and several times"
        )
    return np.asarray(view.output_labels, dtype=np.float64), _WORDS[output]


def _curves_of_rows(view: Explained, X: Any, k: int) -> tuple[NDArray[np.float64], list[str]]:
    """Return the strongest components of rows: shape (n_rows, n_curves, n_times), and their names."""
    if not 1 <= X.shape[0] <= _MOST_ROWS:
        raise ValueError(f"X has {X.shape[0]} rows; expected 1 to {_MOST_ROWS}, one panel for each")
    listed = view.listed
    chosen, _ = top_components(listed, view.background, k, view.execution)
    bins = view.fitted.bins(view.check(X), view.execution)
    values = view.component_values(listed, bins, np.asarray(chosen))
    rest = view.decomposition.margins(bins, view.execution) - view.intercept[:, None] - values.sum(axis=1)
    names = [TIMES.join(view.features_of(listed.sets[int(i)])) for i in chosen]
    return np.concatenate([values, rest[:, None]], axis=1).transpose(2, 1, 0), [*names, "all others"]


def _chosen_times(known: NDArray[np.float64], times: Any) -> NDArray[np.int64]:
    """Return the positions of some times among those of the decomposer."""
    if times is None:
        return np.unique(np.linspace(0, len(known) - 1, 5).round().astype(np.int64))
    at: NDArray[np.int64] = np.searchsorted(known, np.atleast_1d(times)).astype(np.int64)
    if (at >= len(known)).any() or (known[np.minimum(at, len(known) - 1)] != times).any():
        raise ValueError(
            f"times must be among the times of the decomposer, {known.tolist()[:20]}; got {times!r}"
        )
    return at
