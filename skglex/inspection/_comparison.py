"""Compare models over one background, component by component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained
from skglex._input import column_names
from skglex._leaves import Background
from skglex._utils import rows_at_a_time
from skglex.inspection._comparable import check_comparable, decompose
from skglex.inspection._results import Result, by_size
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex.plotting import PartsDisplay

_INTERCEPT, _REMAINDER = "intercept", "remainder"
_MEAN = "mean"


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Hold the differences of models, component by component.

    `compare_models` returns it. ``print`` shows the largest lines, ``plot`` draws the mean differences, and
    `ComponentDisplay.from_decomposers <skglex.plotting.ComponentDisplay.from_decomposers>` draws the curves.

    Parameters
    ----------
    decomposers : dict of str to GlexDecomposer
        The decomposers of all models, over the same background.
    reference : str
        The model whose components are subtracted, or ``"mean"``.
    models : list of str
        The models that are compared with the reference.
    lines : list of str
        Names of all components that any model has, then ``"intercept"``, then ``"remainder"`` if some components are
        not listed.
    orders : list
        Number of features of every line; None for the intercept and the remainder.
    difference, absolute : ndarray of shape (n_models, n_lines, n_outputs)
        Mean and mean absolute difference over the background, on the margin scale.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex.inspection import compare_models
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> models = {d: DecisionTreeRegressor(max_depth=d).fit(X, X[:, 0] * X[:, 1]) for d in (3, 4)}
    >>> result = compare_models(models, X)
    >>> result.models, result.reference
    (['4'], '3')
    >>> rows = result.differences(X[:5])
    >>> np.allclose(rows.sum(axis=1), models[4].predict(X[:5]) - models[3].predict(X[:5]))
    True
    >>> type(result.plot()).__name__
    'PartsDisplay'
    """

    decomposers: dict[str, Any]
    reference: str
    models: list[str]
    lines: list[str]
    orders: list[int | None]
    difference: NDArray[np.float64]
    absolute: NDArray[np.float64]

    @property
    def decomposer(self) -> Any:
        """Return the decomposer of the first model."""
        return next(iter(self.decomposers.values()))

    @property
    def share(self) -> NDArray[np.float64]:
        """Return the share of each line in the sum of the mean absolute differences: the shape of ``absolute``."""
        total = self.absolute.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(self.absolute, total, out=np.zeros_like(self.absolute), where=total > 0))

    @property
    def table(self) -> Any:
        """Return one line per model and component, the largest difference of a model first.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``model``, ``component``, ``order``, ``mean_difference``, ``mean_absolute_difference`` and
            ``share``. Several outputs have columns ``label__share``.
        """
        view = explained(self.decomposer)
        ranking = np.array([by_size(absolute) for absolute in self.absolute])

        def flat(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.take_along_axis(values, ranking[:, :, None], axis=1).reshape(-1, view.n_outputs)

        return as_table(
            {
                "model": [model for model in self.models for _ in self.lines],
                "component": np.array(self.lines, dtype=object)[ranking].ravel(),
                "order": [self.orders[i] for i in ranking.ravel()],
                **label_columns(view, "mean_difference", flat(self.difference)),
                **label_columns(view, "mean_absolute_difference", flat(self.absolute)),
                **label_columns(view, "share", flat(self.share)),
            }
        )

    @property
    def headline(self) -> str:
        """Return the differences of the mean margins in one sentence."""
        than = "the mean of all models" if self.reference == _MEAN else f"that of {self.reference!r}"
        gaps = "; ".join(
            f"{model!r} by {self._numbers(difference.sum(axis=0))}"
            for model, difference in zip(self.models[:3], self.difference)
        )
        more = ", ..." if len(self.models) > 3 else ""
        return f"The mean margin of a model differs from {than}: {gaps}{more}."

    def differences(self, X: Any, *, model: str | None = None, output: Any = None) -> Any:
        """Return the differences row by row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as the background.
        model : str, default=None
            The model that is compared with the reference. Required if there are several.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_lines), or dict of ndarray if pandas is not installed
            One column per line. The columns of a row add up to the difference of the margins.
        """
        position = explained(self.decomposer).output_position(output, "output")
        i = self._position(model)
        views = [explained(decomposer) for decomposer in self.decomposers.values()]
        lines = _Lines(views)
        bins = [view.fitted.bins(view.check(X), view.execution) for view in views]
        n = bins[0].shape[1]
        values = (
            np.concatenate(
                [
                    differences[i][:, position]
                    for _, differences in lines.differences(bins, self._reference_position())
                ],
                axis=1,
            )
            if n
            else np.empty((len(self.lines), 0))
        )
        return as_table(dict(zip(self.lines, values)))

    def plot(
        self,
        *,
        model: str | None = None,
        output: Any = None,
        k: int = 15,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> PartsDisplay:
        """Draw the largest mean absolute differences of one model as bars.

        Parameters
        ----------
        model : str, default=None
            The model that is compared with the reference. Required if there are several.
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
        i = self._position(model)
        title = f"{self.models[i]} against {self.reference}"
        options = {"output": output, "k": k, "target": target, "units": units, "ax": ax}
        return self._draw(self.lines, {"mean absolute difference": self.absolute[i]}, title, **options)

    def _position(self, model: str | None) -> int:
        """Return the position of a model; None stands for the only one."""
        if model is None and len(self.models) == 1:
            return 0
        if model not in self.models:
            raise ValueError(f"model must be one of {self.models}; got {model!r}")
        return self.models.index(model)

    def _reference_position(self) -> int | None:
        return None if self.reference == _MEAN else list(self.decomposers).index(self.reference)


def compare_models(
    models: Any, X: Any, *, sample_weight: Any = None, reference: Any = None, **params: Any
) -> Comparison:
    """Compare two or more models over one background, component by component.

    The models may come from different libraries, be versions of one model, or the folds of a cross-validation. All
    features are averaged out over the same rows, so the differences of the components add up to the difference of the
    margins, in every row.

    Parameters
    ----------
    models : dict of str to model, or list of models
        Fitted models or fitted decomposers. A decomposer whose background is not X is fitted again on X, with its own
        parameters.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The background, over which differences are averaged, too.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    reference : str or int, default=None
        The name (or the position in a list) of the model that all others are compared with, or ``"mean"`` for the mean
        of all models. None: the first model.
    **params : dict
        Parameters of the `~skglex.GlexDecomposer` of models that are not decomposed yet, such as ``max_interaction``.

    Returns
    -------
    Comparison
        The mean and the mean absolute difference of every component that any of the models has.

    Raises
    ------
    ValueError
        There is only one model, or the models have different features, outputs or links.

    See Also
    --------
    explain_shift : Two models on two data sets.
    skglex.plotting.ComponentDisplay.from_decomposers : Draw the curves of several models in one picture.

    Examples
    --------
    >>> from skglex.datasets import load_bike_sharing
    >>> from skglex.inspection import compare_models
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X = X[["hr", "temp", "workingday"]]
    >>> models = {
    ...     "xgboost": XGBRegressor(n_estimators=50, max_depth=3).fit(X, y),
    ...     "scikit-learn": HistGradientBoostingRegressor(max_iter=50).fit(X, y),
    ... }
    >>> comparison = compare_models(models, X[:1000])
    >>> list(comparison.table.columns)[:4]
    ['model', 'component', 'order', 'mean_difference']
    """
    if not isinstance(models, Mapping):
        if hasattr(models, "fit") or isinstance(models, str) or not hasattr(models, "__iter__"):
            raise ValueError(f"models must be a list or a dict of models; got a {type(models).__name__}")
        models = dict(enumerate(models))
    named = {str(name): model for name, model in models.items()}
    if len(named) < 2:
        raise ValueError(f"a comparison needs at least two models with different names; got {list(models)}")
    names = list(named)
    reference = names[0] if reference is None else str(reference)
    if reference not in (*names, _MEAN):
        raise ValueError(f"reference must be one of the models {names}, or 'mean'; got {reference!r}")
    decomposers = {name: _on_background(model, X, sample_weight, params) for name, model in named.items()}
    views = [explained(decomposer) for decomposer in decomposers.values()]
    for name, view in zip(names[1:], views[1:]):
        check_comparable(views[0], view, (names[0], name))
    lines = _Lines(views)
    position = None if reference == _MEAN else names.index(reference)
    weight = views[0].background.in_memory().weight
    weight = weight / weight.sum()
    backgrounds = [view.background.in_memory().bins for view in views]
    shape = len(names) - (position is not None), len(lines.names), views[0].n_outputs
    difference, absolute = np.zeros((2, *shape))
    for rows, parts in lines.differences(backgrounds, position):
        for i, part in enumerate(parts):
            difference[i] += part @ weight[rows]
            absolute[i] += np.abs(part, out=part) @ weight[rows]
    return Comparison(
        decomposers=decomposers,
        reference=reference,
        models=[name for name in names if name != reference],
        lines=lines.names,
        orders=lines.orders,
        difference=difference,
        absolute=absolute,
    )


def _on_background(model: Any, X: Any, sample_weight: Any, params: dict[str, Any]) -> Any:
    """Return a decomposer of a model over the background X."""
    if not hasattr(type(model), "strongest_components"):
        return decompose(model, X, sample_weight, **params)
    view = explained(model)
    if not hasattr(model, "estimator_"):
        raise TypeError(
            f"cannot compare a {type(model).__name__}, since it has no model that could be averaged over X. Pass the "
            "decomposer that was saved"
        )
    rows, background = view.weighted_rows(X, sample_weight), view.background
    if isinstance(rows, Background) and isinstance(background, Background) and not params:
        same = rows.n_rows == background.n_rows and np.array_equal(rows.bins, background.bins)
        if same and np.allclose(rows.weight / rows.total, background.weight / background.total, rtol=1e-12):
            return model
    return decompose(model.estimator_, X, sample_weight, like=model, **params)


class _Lines:
    """Line up the components of several models.

    Parameters
    ----------
    views : list of Explained

    Attributes
    ----------
    names : list of str
        Components that any model has, the intercept and, if a model has components that are not listed, the remainder.
    orders : list
        Number of features of every line; None for the last ones.
    """

    def __init__(self, views: list[Explained]) -> None:
        self._views = views
        first = views[0].groups.names
        players = [[first.index(name) for name in view.groups.names] for view in views]
        members = [
            [tuple(sorted(of[i] for i in listed)) for listed in view.listed.sets]
            for view, of in zip(views, players)
        ]
        sets = sorted({s for of in members for s in of}, key=lambda s: (len(s), s))
        position = {s: i for i, s in enumerate(sets)}
        self._positions = [np.array([position[s] for s in of], dtype=np.int64) for of in members]
        self._remainder = any(not view.decomposition.complete for view in views)
        last = [_INTERCEPT, _REMAINDER] if self._remainder else [_INTERCEPT]
        self.names = [*column_names(first, sets, views[0].estimator.separator), *last]
        self.orders: list[int | None] = [*map(len, sets), *[None] * len(last)]

    def differences(
        self, bins: list[NDArray[Any]], reference: int | None
    ) -> Iterator[tuple[slice, list[NDArray[np.float64]]]]:
        """Yield rows, and the differences of each compared model, of shape (n_lines, n_outputs, n_rows).

        ``bins`` are those of the same rows for every model. None as the reference stands for the mean of all models.
        """
        n_rows, width = bins[0].shape[1], len(self.names) * self._views[0].n_outputs * len(self._views)
        step = rows_at_a_time(width)
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            values = [self._values(i, np.ascontiguousarray(b[:, rows])) for i, b in enumerate(bins)]
            base = np.mean(values, axis=0) if reference is None else values.pop(reference)
            for part in values:
                part -= base
            yield rows, values

    def _values(self, i: int, bins: NDArray[Any]) -> NDArray[np.float64]:
        """Return the lines of one model at some rows: shape (n_lines, n_outputs, n_rows)."""
        view = self._views[i]
        out = np.zeros((len(self.names), view.n_outputs, bins.shape[1]))
        out[self._positions[i]] = view.component_values(view.listed, bins).swapaxes(0, 1)
        out[len(self.names) - (2 if self._remainder else 1)] = view.intercept[:, None]
        if self._remainder and not view.decomposition.complete:
            out[-1] = view.decomposition.margins(bins, view.execution) - out[:-1].sum(axis=0)
        return out
