"""Explain the change of the mean prediction between two data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, RowMeans, explained, margin_means, row_means
from skglex._input import column_names
from skglex._leaves import BackgroundLike
from skglex.inspection._comparable import on_same_background
from skglex.inspection._results import Result, by_size
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex.plotting import PartsDisplay

_INTERCEPT, _REMAINDER = "intercept", "remainder"


@dataclass(frozen=True, repr=False, eq=False)
class Shift(Result):
    """Hold the change of the mean margin between two data sets as a sum over components.

    `explain_shift` returns it. ``print`` shows the largest lines, ``plot`` draws them.

    Parameters
    ----------
    decomposer : GlexDecomposer or StoredComponents
        The decomposer that was explained.
    lines : list of str
        Names of the components and, if there is a new model, ``"intercept"``, the largest change first. ``"remainder"``
        comes last if some components are not listed.
    orders : list
        Number of features of every line; None for the intercept and the remainder.
    parts : dict of str to ndarray of shape (n_lines, n_outputs)
        ``"marginals"``, ``"dependence"`` and, with a new model, ``"model"``. The remainder of stored components is NaN.
    mean_old, mean_new : ndarray of shape (n_outputs,)
        Mean margins over the old and the new data. Those of stored components that are not complete contain only the
        listed components.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import explain_shift
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).integers(0, 3, size=(100, 2)).astype(float)
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit(X, X[:, 0])).fit(X)
    >>> shift = explain_shift(decomposer, X, X + [1, 0])
    >>> shift.lines, shift.known
    (['x0'], True)
    >>> np.allclose(shift.change.sum(axis=0), shift.mean_new - shift.mean_old)
    True
    >>> shift.plot().names
    ['x0']
    """

    decomposer: Any
    lines: list[str]
    orders: list[int | None]
    parts: dict[str, NDArray[np.float64]]
    mean_old: NDArray[np.float64]
    mean_new: NDArray[np.float64]

    @property
    def change(self) -> NDArray[np.float64]:
        """Return the change of the mean that each line accounts for: shape (n_lines, n_outputs)."""
        return np.asarray(np.sum(list(self.parts.values()), axis=0))

    @property
    def known(self) -> bool:
        """Return whether the lines add up to the change of the mean margin; False if the remainder is not known."""
        return bool(np.isfinite(self.change).all())

    @property
    def table(self) -> Any:
        """Return the lines as a table.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``component``, ``order``, one per part, and ``change``, their sum. Several outputs have columns
            ``label__part``. All numbers are on the margin scale.
        """
        view = explained(self.decomposer)
        columns: dict[str, Any] = {"component": self.lines, "order": self.orders}
        for name, values in {**self.parts, "change": self.change}.items():
            columns |= label_columns(view, name, values)
        return as_table(columns)

    @property
    def headline(self) -> str:
        """Return the change in one sentence."""
        text = (
            f"The mean margin changes by {self._numbers(self.mean_new - self.mean_old)}, from "
            f"{self._numbers(self.mean_old)} to {self._numbers(self.mean_new)}."
        )
        return text if self.known else text + " What the components left out change is not known."

    def plot(
        self,
        *,
        output: Any = None,
        k: int = 15,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> PartsDisplay:
        """Draw the largest lines as bars that are divided into their parts.

        Parameters
        ----------
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        k : int, default=15
            Number of lines. The other lines share one bar.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        PartsDisplay
            The display, with the figure and axes as attributes.
        """
        title = f"from {self._shown(self.mean_old, output)} to {self._shown(self.mean_new, output)}"
        options = {"output": output, "k": k, "target": target, "units": units, "ax": ax}
        return self._draw(self.lines, self.parts, title, **options)


def explain_shift(
    decomposer: Any,
    X_old: Any,
    X_new: Any,
    *,
    sample_weight_old: Any = None,
    sample_weight_new: Any = None,
    model_new: Any = None,
) -> Shift:
    """Explain how the mean prediction changes between two data sets, component by component.

    The change of the mean margin is the sum over all components of the change of their means. The part of a component
    of several features splits further, ::

        marginals  = mean of m_S under the product of the new marginal distributions of its features
                     - the same for the old ones
        dependence = the rest: how the features of S depend on each other

    For a main effect all of it is ``marginals``. A feature group counts as one feature. With ``model_new``, ::

        model = mean over X_new of (m_S of the new model - m_S of the old model)

    where both models have the background of ``decomposer``; the other parts are those of the old model.

    Parameters
    ----------
    decomposer : GlexDecomposer or StoredComponents
        A fitted decomposer, or components that were loaded from a file, for data that arrive when the model is not at
        hand.
    X_old, X_new : array-like, sparse matrix, data frame or Dask collection of shape (n_samples, n_features)
        The two data sets. ``X_old=None`` stands for the background of the decomposer.
    sample_weight_old, sample_weight_new : array-like of shape (n_samples,), default=None
        Weights of the rows.
    model_new : fitted model or GlexDecomposer, default=None
        The model that predicts for ``X_new``. A decomposer must have the background of ``decomposer``. A model is
        decomposed over it, with the parameters of ``decomposer``; ``X_old`` must then contain its rows.

    Returns
    -------
    Shift
        The lines add up to the change, whatever ``max_interaction`` is: components that are not listed share the line
        ``remainder``. Stored components know it only if they are complete.

    Raises
    ------
    ValueError
        The data sets lack columns, the models have different features, outputs or links, or their backgrounds differ.

    See Also
    --------
    explain_gap : The difference between groups of rows.
    compare_models : The difference between models on one data set.

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import load_bike_sharing
    >>> from skglex.inspection import explain_shift
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X = X[["hr", "temp", "workingday"]]
    >>> model = XGBRegressor(n_estimators=20, max_depth=2).fit(X, y)
    >>> cold = X["temp"] < 0.5
    >>> shift = explain_shift(GlexDecomposer(model).fit(X), X[cold], X[~cold])
    >>> table = shift.table
    >>> table["component"].tolist()[:2], list(table.columns)
    (['temp', 'hr'], ['component', 'order', 'marginals', 'dependence', 'change'])
    >>> predicted = model.predict(X[~cold]).mean() - model.predict(X[cold]).mean()
    >>> bool(abs(table["change"].sum() - predicted) < 1e-3)
    True
    """
    view = explained(decomposer)
    if X_new is None:
        raise ValueError("X_new is None, but it must hold the new data. Only X_old may be left out")
    old_rows = view.weighted_rows(X_old, sample_weight_old)
    new_rows = view.weighted_rows(X_new, sample_weight_new)
    before, after = _line_means(view, old_rows), _line_means(view, new_rows)
    marginals = after.independent - before.independent
    parts = {"marginals": marginals, "dependence": after.joint - before.joint - marginals}
    keys = _keys(view, view)
    orders = {key: len(members) for key, members in zip(keys, view.listed.sets)}
    totals = [view.intercept + np.nan_to_num(means.joint).sum(axis=0) for means in (before, after)]
    if model_new is not None:
        new_view = explained(on_same_background(decomposer, model_new, X_old))
        changed = _line_means(new_view, new_view.weighted_rows(X_new, sample_weight_new)).joint
        keys, parts = _add_model(view, new_view, keys, parts, after.joint, changed)
        orders |= {key: len(s) for key, s in zip(_keys(new_view, view), new_view.listed.sets)}
        totals[1] = new_view.intercept + changed.sum(axis=0)
    ranking = by_size(np.sum(list(parts.values()), axis=0), last=int(_REMAINDER in keys))
    return Shift(
        decomposer=decomposer,
        lines=[_name(view, keys[i]) for i in ranking],
        orders=[orders.get(keys[i]) for i in ranking],
        parts={name: values[ranking] for name, values in parts.items()},
        mean_old=totals[0],
        mean_new=totals[1],
    )


def _line_means(view: Explained, rows: BackgroundLike) -> RowMeans:
    """Return the means of the listed components and, last, of the remainder if there is one."""
    decomposition, listed = view.decomposition, view.listed
    player_of_feature = view.groups.of_feature[view.grid.features]
    means = row_means(decomposition, listed, player_of_feature, rows, view.execution)
    if not has_remainder(view):
        return means
    if decomposition.knows_margins:
        margins = margin_means(decomposition.ensemble, decomposition.players, rows, view.execution)
        rest = [m - view.intercept - part.sum(axis=0) for m, part in zip(margins, means)]
    else:
        rest = [np.full((1, view.n_outputs), np.nan)] * 2
    return RowMeans(*(np.concatenate([part, last]) for part, last in zip(means, rest)))


def has_remainder(view: Explained) -> bool:
    """Return whether the model has components that are not listed."""
    return not view.decomposition.complete


def _keys(view: Explained, first: Explained) -> list[Any]:
    """Return what identifies each line: the positions of its features among those of the first model, or what it is."""
    names = first.groups.names
    position = [names.index(name) for name in view.groups.names]
    keys: list[Any] = [tuple(sorted(position[i] for i in members)) for members in view.listed.sets]
    return [*keys, _REMAINDER] if has_remainder(view) else keys


def _name(view: Explained, key: Any) -> str:
    """Return the name of a line."""
    if isinstance(key, str):
        return key
    return column_names(view.groups.names, [key], view.estimator.separator)[0]


def _add_model(
    view: Explained,
    new_view: Explained,
    keys: list[Any],
    parts: dict[str, NDArray[np.float64]],
    old_model: NDArray[np.float64],
    new_model: NDArray[np.float64],
) -> tuple[list[Any], dict[str, NDArray[np.float64]]]:
    """Return the lines of both models, and their parts with that of the models."""
    new_keys = _keys(new_view, view)
    listed = [key for key in dict.fromkeys([*keys, *new_keys]) if key != _REMAINDER]
    rest = [_REMAINDER] if _REMAINDER in keys or _REMAINDER in new_keys else []
    lines = [*listed, _INTERCEPT, *rest]
    position = {key: i for i, key in enumerate(lines)}
    shape = len(lines), view.n_outputs

    def spread(of_keys: list[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros(shape)
        out[[position[key] for key in of_keys]] = values
        return out

    model = spread(new_keys, new_model) - spread(keys, old_model)
    model[position[_INTERCEPT]] = new_view.intercept - view.intercept
    return lines, {**{name: spread(keys, values) for name, values in parts.items()}, "model": model}
