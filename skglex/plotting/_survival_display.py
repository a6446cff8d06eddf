"""Draw components of a cumulative hazard or a survival function over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, cells_of_component, component_values, explained, top_components
from skglex.plotting._axis_view import AxisView, view_axis
from skglex.plotting._draw import draw_background, draw_scale, step_line
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
        Names of the curves.
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
            curves, names = _curves_of_rows(view, view.as_rows(X), k)
            panel_names = [f"row {i}" for i in range(len(curves))]
            return cls(known, curves, names, panel_names, label=label).plot(ax=ax)
        at = _chosen_times(known, times)
        component = decomposer[(feature,)]
        (axis,) = cells_of_component(decomposer, component)
        values = component_values(view, component, [axis])
        seen = view_axis(axis, None, "auto", np.abs(values).mean(axis=1) * axis.shares)
        lines = np.array([seen.summarize(values[:, t], 0) for t in at])
        names = [f"time {number(known[t])}" for t in at]
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
        plt = require_matplotlib()
        n = len(self.panel_names)
        if ax is None:
            n_rows = -(-n // 3)
            figure, axes = plt.subplots(
                n_rows,
                min(n, 3),
                figsize=(1.2 + 3.6 * min(n, 3), 3.2 * n_rows),
                squeeze=False,
                sharey=True,
                layout="constrained",
            )
            self.axes_ = np.ravel(axes)[:n]
            for unused in np.ravel(axes)[n:]:
                figure.delaxes(unused)
        else:
            self.axes_ = np.ravel(ax)
            if len(self.axes_) != n:
                raise ValueError(
                    f"ax has {len(self.axes_)} axes, but there are {n} panels. Pass one for each"
                )
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        names = Names()
        draw = self._draw_rows if self.view is None else self._draw_feature
        draw(names)
        for panel_ax in self.axes_:
            remove_frame(panel_ax)
            panel_ax.axhline(0, color="0.5", lw=0.8, zorder=1)
        self.ax_.set_ylabel(f"effect on the {self.label}")
        self.axes_[-1].legend(fontsize="small", frameon=False)
        names.explain(self.figure_)
        return self

    def _draw_rows(self, names: Names) -> None:
        for panel_ax, title, curves in zip(self.axes_, self.panel_names, self.curves):
            for i, (name, curve) in enumerate(zip(self.names, curves)):
                style = {
                    "color": COLOURS[i % len(COLOURS)],
                    "ls": LINE_STYLES[i // len(COLOURS) % 4],
                    "lw": 2,
                }
                panel_ax.step(self.times, curve, where="post", label=names.write_product(name), **style)
            total = curves.sum(axis=0)
            panel_ax.step(self.times, total, where="post", label="all together", color="black", lw=1, ls=":")
            panel_ax.set_title(plain_text(title), loc="left", fontsize="medium")
            panel_ax.set_xlabel("time")

    def _draw_feature(self, names: Names) -> None:
        from matplotlib import colormaps

        view = self.view
        assert view is not None
        colours = colormaps["viridis"](np.linspace(0.1, 0.85, len(self.names)))
        for name, values, colour in zip(self.names, self.curves[0].T, colours):
            if view.levels:
                self.ax_.plot(np.arange(len(values)), values, "o-", color=colour, label=name)
            else:
                step_line(self.ax_, view, values, color=colour, label=name)
        draw_scale(self.ax_, view, "x", names)
        self.ax_.set_xlim(view.borders[0], view.end)
        draw_background(self.ax_, view)


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
