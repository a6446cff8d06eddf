"""Draw one prediction as the sum of its components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained, margin_label, row_values
from skglex._input import take_rows
from skglex._response import on_response, split_link
from skglex._utils import warn_user
from skglex.plotting._bars import LINE, finish_bar_axes, make_bar_axes
from skglex.plotting._style import (
    NEGATIVE,
    POSITIVE,
    Names,
    fold,
    number,
    plain_text,
    require_matplotlib,
    response_label,
)

# What stands between the features of a step.
_AND = ", "


class WaterfallDisplay:
    """Draw the margin of one row as steps, from the intercept through the components, the largest first.

    Create the display with `from_decomposer`, or with `from_contrast` for the difference between two rows.

    Parameters
    ----------
    names : list of str
        The names of the steps.
    values : ndarray of shape (n_steps,)
        The values of the steps, on the margin scale.
    intercept : float
        The margin at which the steps start.
    label : str
        What the margin is called.
    title : str
        Which row is drawn.
    response : str
        The prediction, if it is not the margin.
    start : str
        What the margin is called at which the steps start.

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
    >>> display = WaterfallDisplay.from_decomposer(decomposer, X, row=8)
    >>> display.names[0]
    'hr = 8, workingday = 0'
    >>> bool(abs(display.intercept + display.values.sum() - model.predict(X[8:9])[0]) < 1e-3)
    True
    >>> from skglex.inspection import contrast
    >>> WaterfallDisplay.from_contrast(contrast(decomposer, X[8:9], X[3:4])).names[0]
    'hr = 8 (3)'
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(
        self,
        names: list[str],
        values: NDArray[np.float64],
        intercept: float,
        *,
        label: str = "prediction",
        title: str = "",
        response: str = "",
        start: str = "intercept",
    ) -> None:
        self.names = names
        self.values = values
        self.intercept = intercept
        self.label = label
        self.title = title
        self.response = response
        self.start = start

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        X: Any,
        *,
        row: int | None = None,
        output: Any = None,
        scale: str = "margin",
        k: int = 10,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> WaterfallDisplay:
        """Draw the prediction of one row.

        Parameters
        ----------
        decomposer : GlexDecomposer or StoredComponents
            A fitted decomposer, or components that were loaded from a file.
        X : array-like or data frame of shape (n_samples, n_features)
            The row to draw, or several rows of which ``row`` chooses one. The title says which row it is.
        row : int, default=None
            Position of the row in X. None: X has one row.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        scale : {"margin", "response"}, default="margin"
            ``"response"``: draw the components of the model's own response (probability, price, count), averaged over
            the background. They are those of up to ``max_interaction`` features, as in
            `skglex.inspection.response_components`.
        k : int, default=10
            Number of components with a separate step. The other components share one step. A ``remainder`` always
            has a separate step.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...), or
            of the response ("probability", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        WaterfallDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(decomposer)
        position = view.output_position(output, "output", scale=scale)
        rows = view.as_rows(X)
        chosen = _choose(row, rows.shape[0], "X")
        shown_row = take_rows(rows, np.array([chosen]))
        bins = view.fitted.bins(view.check(shown_row), view.execution)
        parts = _parts_of_response(view, bins) if on_response(scale) else _parts_of_margin(view, bins)
        values, intercept = parts.values[position], float(parts.intercept[position])
        remainder = float(parts.total[position] - intercept - values.sum())
        shown, others = _largest(values, k)
        texts = _describe(view, shown_row)
        names = [_AND.join(texts[name] for name in view.features_of(parts.sets[i])) for i in shown]
        steps = values[shown].tolist()
        if len(others):
            names.append(f"{len(others)} other components")
            steps.append(float(values[others].sum()))
        if not parts.complete and abs(remainder) > 1e-9 * np.abs(values).sum():
            names.append("remainder")
            steps.append(remainder)
        label, response = margin_label(view, position, target, units, scale), ""
        if not on_response(scale):
            word = response_label(view, target, units)
            response = _describe_response(view, parts.total, position, word)
        if not view.decomposition.knows_margins:
            # Stored components lack those that were left out, so their sum is no prediction.
            label, response = f"{label}, without the components left out", ""
        display = cls(
            names,
            np.array(steps),
            intercept,
            label=label,
            title=f"row {shown_row.index[0] if hasattr(shown_row, 'index') else chosen}",
            response=response,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_contrast(
        cls,
        result: Any,
        row: int | None = None,
        *,
        output: Any = None,
        k: int = 10,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> WaterfallDisplay:
        """Draw the difference between the predictions of two rows, feature by feature.

        Parameters
        ----------
        result : Contrast
            The result of `skglex.inspection.contrast`.
        row : int, default=None
            Position of the pair. None: there is only one.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        k : int, default=10
            Number of features with a separate step. The others share one step.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        WaterfallDisplay
            The display, with the figure and axes as attributes.
        """
        require_matplotlib()
        view = explained(result.decomposer)
        position = view.output_position(output, "output")
        n_rows, n_features = result.values.shape[:2]
        row = _choose(row, n_rows, "the contrast")
        values = result.values.reshape(n_rows, n_features, view.n_outputs)[row, :, position]
        shown, others = _largest(values, k)
        here, there = (
            _describe(view, take_rows(rows, np.array([row if rows.shape[0] > 1 else 0])))
            for rows in (result.rows, result.rows_other)
        )
        names = [
            f"{here[name]} ({there[name].rpartition(' = ')[2]})"
            for name in (view.groups.names[i] for i in shown)
        ]
        steps = values[shown].tolist()
        if len(others):
            names.append(f"{len(others)} other features")
            steps.append(float(values[others].sum()))
        margin = np.reshape(result.margin_other, (n_rows, view.n_outputs))[row, position]
        label = margin_label(view, position, target, units)
        display = cls(
            names,
            np.array(steps),
            float(margin),
            label=label,
            title=f"pair {row}, with the values of the other row in brackets",
            start=f"other row, {label}",
        )
        return display.plot(ax=ax)

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
        total = self.intercept + float(self.values.sum())
        names, own_figure = Names(), ax is None
        last = f"{names.write_lines(self.label, LINE)}: {number(total)}"
        last += f"\n{plain_text(self.response)}" if self.response else ""
        first = f"{names.write_lines(self.start, LINE)}: {number(self.intercept)}"
        labels = [first, *(_label_step(names, name.split(_AND)) for name in self.names), last]
        self.ax_ = ax = make_bar_axes(ax, labels, above=0.3)
        self.figure_ = ax.figure
        ends = self.intercept + np.cumsum(self.values)
        begins = ends - self.values
        colours = [POSITIVE if value > 0 else NEGATIVE for value in self.values]
        ax.barh(np.arange(n), self.values, 0.65, left=begins, color=colours, zorder=2)
        for i, end in enumerate(ends):
            ax.plot([end, end], [i - 0.33, min(i + 1.33, n)], color="0.4", lw=0.8, zorder=1)
        ax.plot([self.intercept] * 2, [-1, 0.33], color="0.4", lw=0.8, zorder=1)
        ax.plot([self.intercept, total], [-1, n], "o", color="black", ms=5, zorder=3)
        margins = [self.intercept, *ends]
        values = self.values, np.where(self.values > 0, np.maximum(ends, begins), np.minimum(ends, begins))
        span = min(margins), max(margins)
        finish_bar_axes(ax, labels, span, label=self.label, values=values, first=-1, own_figure=own_figure)
        ax.set_title("\n".join(map(plain_text, fold(self.title, 44))), loc="left", fontsize="medium")
        if own_figure:
            names.explain(self.figure_)
        return self


def _choose(row: int | None, n_rows: int, what: str) -> int:
    """Return the position of the row to draw; warn if the user has not chosen one of several."""
    if n_rows == 0:
        raise ValueError(f"{what} has no rows. Pass the row to draw")
    if row is None:
        if n_rows > 1:
            warn_user(
                f"{what} has {n_rows:,} rows, and a waterfall draws one: the first. Choose it with row=0, another with "
                "row=5. From version 0.4 on, this is an error",
                FutureWarning,
            )
        row = 0
    if not isinstance(row, (int, np.integer)) or not -n_rows <= row < n_rows:
        raise ValueError(
            f"row must be a position from 0 to {n_rows - 1}, since {what} ends there; got {row!r}"
        )
    return int(row) % n_rows


def _label_step(names: Names, parts: list[str]) -> str:
    """Return the features of a step and their values as a label; names lose letters before values do."""
    line = _AND.join(parts)
    if len(line) <= LINE:
        return names.write(line, LINE)
    settings = [part.rpartition(" = ") for part in parts]
    if len(settings) == 1:
        name, sign, value = settings[0]
        return names.write_lines(name, LINE, end=sign + names.write(value, 2 * LINE - 14))
    room = LINE + 3
    written = [(name, sign + names.write(value, room // 2)) for name, sign, value in settings]
    return ",\n".join(names.write(name, room - len(end)) + end for name, end in written)


def _largest(values: NDArray[np.float64], k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the k values of largest size, and of the others that are not zero."""
    ranking = np.argsort(-np.abs(values), kind="stable")
    ranking = ranking[values[ranking] != 0]
    # A step for a single other value would take as much room as the value.
    n_shown = k if len(ranking) > k + 1 else len(ranking)
    return ranking[:n_shown], ranking[n_shown:]


class _Parts(NamedTuple):
    """Hold the components of one row.

    Attributes
    ----------
    sets : list of tuple of int
    values : ndarray of shape (n_outputs, n_sets)
    intercept, total : ndarray of shape (n_outputs,)
        ``total`` is the margin or the response.
    complete : bool
        Whether the components add up to it.
    """

    sets: Sequence[tuple[int, ...]]
    values: NDArray[np.float64]
    intercept: NDArray[np.float64]
    total: NDArray[np.float64]
    complete: bool


def _parts_of_margin(view: Explained, bins: NDArray[Any]) -> _Parts:
    values = view.component_values(view.listed, bins)[:, :, 0]
    total = view.decomposition.margins(bins, view.execution)[:, 0]
    return _Parts(view.listed.sets, values, view.intercept, total, view.decomposition.complete)


def _parts_of_response(view: Explained, bins: NDArray[Any]) -> _Parts:
    scale = view.response_scale
    order = scale.all_orders() if view.max_interaction is None else view.max_interaction
    sets = scale.sets_up_to(order, view.decomposition.allowed)
    values = scale.components([(), *sets], bins, view.execution)[:, :, 0]
    total = scale.output(bins, view.execution)[:, 0]
    complete = view.decomposition.all_allowed and order >= scale.n_players
    return _Parts(sets, values[:, 1:], values[:, 0], total, complete)


def _describe_response(view: Explained, margins: NDArray[np.float64], position: int, word: str) -> str:
    """Return the prediction as a text if it is not the margin, for example "probability: 0.81"."""
    response = view.source.response
    name, _ = split_link(response.link)
    if name in ("custom", "identity", "identity_multiclass", "probability", "max_index"):
        return ""
    output = response.output(margins[None])[0]
    if len(output) != response.n_outputs:  # The prediction is one number that several outputs make.
        return f"{word}: {number(float(output[0]))}" if len(output) == 1 else ""
    return f"{word}: {number(float(output[position]))}"


def _describe(view: Explained, row: Any) -> dict[str, str]:
    """Return the text "feature = value" for every feature or group of one row."""
    data, texts = row_values(view, row)
    described = {}
    for player, name in enumerate(view.groups.names):
        value = texts[player][0] if player in texts else data[0, player]
        missing = value is None or value != value
        numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        text = "missing" if missing else number(float(value)) if numeric else str(value)
        shown = view.shown_name(name)
        described[name] = shown if text == "(group)" else f"{shown} = {text}"
    return described
