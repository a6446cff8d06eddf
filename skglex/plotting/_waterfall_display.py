"""Draw one prediction as the sum of its components."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained
from skglex._input import is_frame, take_rows
from skglex.plotting._style import (
    NEGATIVE,
    POSITIVE,
    make_axes,
    margin_label,
    number,
    remove_frame,
    require_matplotlib,
)


class WaterfallDisplay:
    """Draw the margin of one row as steps, from the intercept through the components, the largest first.

    Create the display with `from_decomposer`.

    Parameters
    ----------
    names : list of str
        The names of the steps.
    values : ndarray of shape (n_steps,)
        The values of the steps, on the margin scale.
    intercept : float
        The margin at which the steps start.
    label : str
        Label of the margin axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import load_bike_sharing
    >>> from skglex.plotting import WaterfallDisplay
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X = X[["hr", "temp", "workingday"]]
    >>> model = XGBRegressor(n_estimators=20, max_depth=3).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> display = WaterfallDisplay.from_decomposer(decomposer, X[8:])
    >>> display.names[0]
    'hr = 8, workingday = 0'
    >>> bool(abs(display.intercept + display.values.sum() - model.predict(X[8:9])[0]) < 1e-3)
    True
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(
        self, names: list[str], values: NDArray[np.float64], intercept: float, *, label: str = "margin"
    ) -> None:
        self.names = names
        self.values = values
        self.intercept = intercept
        self.label = label

    @classmethod
    def from_decomposer(
        cls, decomposer: Any, X: Any, *, class_: Any = None, k: int = 10, ax: Any = None
    ) -> WaterfallDisplay:
        """Draw the prediction of one row.

        Parameters
        ----------
        decomposer : GlexDecomposer
            A fitted decomposer.
        X : array-like or data frame of shape (n_samples, n_features)
            The first row is drawn.
        class_ : object, default=None
            The class (or the position of the output). Required if the model has several outputs.
        k : int, default=10
            Number of components with a separate step. The other components share one step. A ``remainder`` always
            has a separate step.
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        WaterfallDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        output = view.output_position(class_, "class_")
        row = take_rows(X if hasattr(X, "shape") else np.asarray(X), np.array([0]))
        parts = np.asarray(decomposer.transform(row), dtype=np.float64)
        parts = parts.reshape(view.n_outputs, -1)[output]
        components = decomposer.components_
        values, remainder = parts[: len(components)], parts[len(components) :]
        ranking = np.argsort(-np.abs(values), kind="stable")
        ranking = ranking[values[ranking] != 0]
        # A step for a single other component would take as much room as the component.
        n_shown = k if len(ranking) > k + 1 else len(ranking)
        shown, others = ranking[:n_shown], ranking[n_shown:]
        texts = _describe(view, row)
        names = [", ".join(texts.get(f, f) for f in components[int(i)].features) for i in shown]
        steps = values[shown].tolist()
        if len(others):
            names.append(f"{len(others)} other components")
            steps.append(float(values[others].sum()))
        if len(remainder) and abs(remainder[0]) > 1e-12 * np.abs(values).sum():
            names.append("remainder")
            steps.append(float(remainder[0]))
        intercept = float(np.reshape(decomposer.intercept_, -1)[output])
        label = margin_label(view, class_)
        if not len(remainder) and not view.decomposition.complete:
            label += ", without the components left out"
        return cls(names, np.array(steps), intercept, label=label).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> WaterfallDisplay:
        """Draw the steps.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        WaterfallDisplay
            The display, with the figure and axes as attributes.
        """
        n = len(self.values)
        self.figure_, ax = make_axes(ax, (6.0, 1.5 + 0.32 * n))
        self.ax_ = ax
        ends = self.intercept + np.cumsum(self.values)
        begins = ends - self.values
        colours = [POSITIVE if value > 0 else NEGATIVE for value in self.values]
        ax.barh(np.arange(n), self.values, 0.65, left=begins, color=colours, zorder=2)
        total = float(ends[-1]) if n else self.intercept
        for i, end in enumerate(ends):
            ax.plot([end, end], [i - 0.33, min(i + 1.33, n)], color="0.4", lw=0.8, zorder=1)
        ax.plot([self.intercept] * 2, [-1, 0.33], color="0.4", lw=0.8, zorder=1)
        margins = [self.intercept, *ends]
        low, high = min(margins), max(margins)
        span = (high - low) or 1.0
        ax.set_xlim(low - 0.28 * span, high + 0.28 * span)
        for i, value in enumerate(self.values):
            right = value > 0
            edge = max(ends[i], begins[i]) if right else min(ends[i], begins[i])
            ax.annotate(
                f"{value:+.3g}".replace("-", "−"),
                (edge, i),
                xytext=(3 if right else -3, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize="small",
            )
        ax.plot([self.intercept, total], [-1, n], "o", color="black", ms=5, zorder=3)
        ax.set_yticks(
            np.arange(-1, n + 1),
            [f"intercept {number(self.intercept)}", *self.names, f"margin {number(total)}"],
        )
        ax.set_ylim(n + 0.6, -1.6)
        ax.set_xlabel(self.label)
        remove_frame(ax)
        return self


def _describe(view: Explained, row: Any) -> dict[str, str]:
    """Return the text "feature = value" for every feature of one row, after the preprocessing."""
    Xt = view.check(row)
    texts = {}
    for i, name in enumerate(view.feature_names):
        if is_frame(Xt):
            value = Xt.iloc[0, i] if hasattr(Xt, "iloc") else Xt[list(Xt.columns)[i]][0]
        else:
            value = Xt[0, i]
        numeric = isinstance(value, (int, float, np.number))
        texts[name] = f"{name} = {number(float(value)) if numeric else value}"
    return texts
