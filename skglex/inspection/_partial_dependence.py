"""Compute partial dependence and ICE curves with scikit-learn's interface, without a call of the model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skglex._decomposition import average_out
from skglex._input import is_frame, take_rows, with_values
from skglex._leaves import LeafSum
from skglex._mixed_rows import CellAxis, Link, MixedRows, apply_link, cell_axis
from skglex._response import split_link
from skglex._utils import check_memory
from skglex.inspection._inspected_model import InspectedModel, inspect
from skglex.inspection._value_grid import (
    categorical_columns,
    check_percentiles,
    column_names_of,
    column_positions,
    grid_values,
)

_METHODS = ("auto", "brute", "recursion")
_RESPONSES = ("auto", "predict_proba", "decision_function")
_KINDS = ("average", "individual", "both")
# Rows whose preprocessed columns tell what depends on a raw column.
_TRACED_ROWS = 100


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    custom_values: dict[Any, Any] | None = None,
    method: str = "auto",
    kind: str = "average",
) -> Bunch:
    """Compute partial dependence and ICE curves: scikit-learn's function, exact and much faster.

    The results are those of `sklearn.inspection.partial_dependence` with ``method="brute"``, for which the model
    predicts all rows again for each value. Here they are computed from the leaves of the model.

    Parameters
    ----------
    estimator : GlexDecomposer, estimator or booster
        A fitted decomposer, or any fitted model that can be read, also at the end of a pipeline. A decomposer saves
        reading the model in each call. Its weighting and its background do not matter.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows whose values of the other features are kept, and over which the mean is. They also define the grid.
    features : int, str, or array-like of int, str or bool
        The feature, or the features for which all combinations are computed.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.
    categorical_features : array-like of bool, int or str, default=None
        The columns that are categorical: a mask, positions or names. Their grid consists of all their values. None:
        columns of text or categories, and those that the model splits as categories.
    feature_names : array-like of shape (n_features,), of str, default=None
        Names of the columns. None: those of the data frame, or x0, x1, ...
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What is averaged for a classifier: the probabilities (``"auto"``), or the margin, which is the log-odds of a
        boosting model. Forests add up probabilities, so ``"decision_function"`` raises an error for them. Of two
        classes only the second is there. For a regressor it is the prediction.
    percentiles : tuple of float, default=(0.05, 0.95)
        The shares between which the grid lies.
    grid_resolution : int, default=100
        Number of equally spaced values of each feature. A feature with fewer distinct values has these values.
    custom_values : dict, default=None
        The values of a feature, by the element of ``features``, instead of the grid. For example the thresholds of
        the model: ``{"age": decomposer.feature_axis("age").edges}``.
    method : {"auto", "brute"}, default="auto"
        Both give the same numbers.
    kind : {"average", "individual", "both"}, default="average"
        The mean over the rows, the curve of each row (ICE), or both.

    Returns
    -------
    sklearn.utils.Bunch
        - ``average``: ndarray of shape (n_outputs, n_values_1, n_values_2, ...).
        - ``individual``: ndarray of shape (n_outputs, n_samples, n_values_1, n_values_2, ...).
        - ``grid_values``: list of the values of each feature.

        There is one output for a regressor or two classes, otherwise one per class or target.

    Raises
    ------
    TypeError
        The model is not a sum of trees.
    ValueError
        An argument is invalid, or ``method="recursion"``. It averages over the training rows as the covers of the trees
        count them, always on the scale of the margin: this is ``weighting="path_dependent"`` of
        `~skglex.GlexDecomposer`, whose `~skglex.GlexDecomposer.partial_dependence` computes it.

    See Also
    --------
    plot_partial_dependence : Draws the curves with scikit-learn's display.
    ale : The effect of a feature along the data, not independently of the other features.
    skglex.GlexDecomposer.partial_dependence : Evaluates a partial dependence function at rows.

    Notes
    -----
    Columns of integers are accepted, which scikit-learn refuses since version 1.9, and the grid is not rounded to
    integers. Missing values do not count for percentiles, nor as a category among strings. If the preprocessing of a
    pipeline mixes the features with other columns, the rows are preprocessed again for each value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skglex.inspection import partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> curves = partial_dependence(model, X, [0], kind="both", grid_resolution=20)
    >>> curves.average.shape, curves.individual.shape
    ((1, 20), (1, 500, 20))

    It is the mean of the model's own probabilities:

    >>> from sklearn.inspection import partial_dependence as sklearns
    >>> brute = sklearns(model, X, [0], method="brute", response_method="predict_proba", grid_resolution=20)
    >>> np.allclose(curves.average, brute.average, rtol=0, atol=1e-12)
    True
    """
    model = inspect(estimator, X, sample_weight)
    return compute_dependence(
        model,
        features,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        method=method,
        kind=kind,
    )


def compute_dependence(
    model: InspectedModel,
    features: Any,
    *,
    categorical_features: Any,
    feature_names: Any,
    response_method: str,
    percentiles: Any,
    grid_resolution: int,
    custom_values: dict[Any, Any] | None,
    method: str,
    kind: str,
) -> Bunch:
    """Compute the curves of a model that was read; parameters as in `partial_dependence`."""
    _check_choice("method", method, _METHODS)
    _check_choice("response_method", response_method, _RESPONSES)
    _check_choice("kind", kind, _KINDS)
    if method == "recursion":
        raise ValueError(
            "method='recursion' averages over the training rows as the covers of the trees count them, always on the "
            "margin scale. This function averages over the rows X: use method='auto'. The recursion is what "
            "GlexDecomposer(estimator, weighting='path_dependent').fit(X).partial_dependence computes"
        )
    check_percentiles(percentiles, grid_resolution)
    X = model.X
    names = column_names_of(feature_names, model.names)
    positions = column_positions(features, names, X.columns if is_frame(X) else [])
    known = model.known_categories(positions, kind)
    categorical = categorical_columns(categorical_features, names, positions, known)
    items: list[Any] = [features] if isinstance(features, (str, int, np.integer)) else list(features)
    items = positions if len(items) != len(positions) else items  # A mask is longer.
    values = [
        grid_values(
            X,
            position,
            categorical=is_categorical,
            custom=(custom_values or {}).get(item),
            percentiles=percentiles,
            grid_resolution=grid_resolution,
        )
        for position, item, is_categorical in zip(positions, items, categorical)
    ]
    link = model.link(response_method)
    average, individual = _Dependence(model, link, response_method, kind).compute(positions, values)
    found = {"average": average, "individual": individual}
    return Bunch(
        grid_values=values, **{name: array for name, array in found.items() if kind in (name, "both")}
    )


def _check_choice(parameter: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{parameter} must be one of {list(allowed)}; got {value!r}")


class _Dependence:
    """Compute responses of the rows at combinations of values.

    Parameters
    ----------
    model : InspectedModel
    link : callable
        Function from margins to responses.
    response_method, kind : str
        As in `partial_dependence`.
    """

    def __init__(self, model: InspectedModel, link: Link, response_method: str, kind: str) -> None:
        self._model = model
        self._link = link
        self._each_row = kind != "average"
        name, _ = split_link(model.response.link)
        self._linear = response_method == "decision_function" or name in ("identity", "identity_multiclass")
        self._share = model.rows.weight / model.rows.total

    def compute(
        self, positions: list[int], values: list[NDArray[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the means, and the responses of all rows; these are empty if they are not asked for."""
        if self._each_row:
            check_memory((self._model.rows.n_rows, *map(len, values)), "ICE curves")
        cells = [self._cells(position, v) for position, v in zip(positions, values)]
        known = [pair for pair in cells if pair is not None]
        if len(known) < len(cells):
            return self._by_rows(positions, values)
        distinct = [np.unique(bins, axis=1, return_inverse=True) for _, bins in known]
        axes = [
            cell_axis(self._model.fitted.source.ensemble, used, np.ascontiguousarray(bins))
            for (used, _), (bins, _) in zip(known, distinct)
        ]
        average, individual = self._mean_margin(axes) if self._averages_margins else self._by_cells(axes)
        for i, (_, inverse) in enumerate(distinct):
            average = average.take(inverse.ravel(), axis=i + 1)
            individual = individual.take(inverse.ravel(), axis=i + 2) if self._each_row else individual
        return average, individual

    @property
    def _averages_margins(self) -> bool:
        """Return whether the mean response is a function of the mean margin."""
        return self._linear and not self._each_row

    def _cells(
        self, position: int, values: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]] | None:
        """Return the used_features that a column of X sets, and their bins at some values.

        None if the preprocessing mixes the column with others.
        """
        model = self._model
        n_points = len(values)
        if model.fitted.preprocess is None:
            rows = with_values(take_rows(model.X, np.zeros(n_points, np.int64)), position, values)
            used = np.flatnonzero(model.fitted.grid.features == position)
            return used, model.bin(rows)[used]
        traced = np.unique(np.linspace(0, model.rows.n_rows - 1, _TRACED_ROWS).astype(int))
        rows = take_rows(model.X, np.repeat(traced, n_points))
        bins = model.bin(with_values(rows, position, np.tile(values, len(traced))))
        bins = bins.reshape(len(bins), len(traced), n_points)
        changed = (bins != model.rows.bins[:, traced, None]).any(axis=(1, 2))
        used = np.flatnonzero(changed)
        if (bins[used] != bins[used, :1]).any():
            return None
        # The traced rows may miss what few rows show, so compare all rows at two values.
        for point in {0, n_points - 1}:
            expected = model.rows.bins.copy()
            expected[used] = bins[used, 0, point, None]
            if (self._bins_at([position], [values[point]]) != expected).any():
                return None
        return used, np.ascontiguousarray(bins[used, 0])

    def _bins_at(self, positions: list[int], point: Sequence[Any]) -> NDArray[np.unsignedinteger]:
        """Return the bins of all rows with one value in each of some columns."""
        rows = self._model.X
        for position, value in zip(positions, point):
            column = np.empty(
                rows.shape[0], dtype=object if isinstance(value, str) else np.asarray(value).dtype
            )
            column[:] = value
            rows = with_values(rows, position, column)
        return self._model.bin(rows)

    def _by_rows(
        self, positions: list[int], values: list[NDArray[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Preprocess the rows again for each combination of values."""
        margin = LeafSum(self._model.fitted.source.ensemble)
        means, each = [], []
        for point in product(*values):
            responses = apply_link(self._link, margin(self._bins_at(positions, point), self._model.execution))
            means.append(responses @ self._share)
            if self._each_row:
                each.append(responses)
        shape = tuple(map(len, values))
        average = np.stack(means, axis=-1).reshape(-1, *shape)
        if not self._each_row:
            return average, np.empty(0)
        return average, np.stack(each, axis=-1).reshape(len(average), -1, *shape)

    def _by_cells(self, axes: list[CellAxis]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the responses at all cells from the leaves that a row can reach."""
        model, share = self._model, self._share
        mixed = MixedRows(model.fitted.source.ensemble, model.rows.bins, model.execution, margin=model.margin)

        def compute(margins: NDArray[np.float64], r0: int, r1: int) -> tuple[Any, Any]:
            responses = apply_link(self._link, margins)
            return responses @ share[r0:r1], np.moveaxis(responses, -1, 1) if self._each_row else None

        (blocks,) = mixed.map([axes], compute, "partial dependence")
        average = np.sum([mean for mean, _ in blocks], axis=0)
        return average, np.concatenate([part for _, part in blocks], axis=1) if self._each_row else np.empty(
            0
        )

    def _mean_margin(self, axes: list[CellAxis]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the mean margin at all cells from the weights of the leaves."""
        model = self._model
        ensemble = model.fitted.source.ensemble
        shape = tuple(axis.n_cells for axis in axes)
        cells = np.unravel_index(np.arange(int(np.prod(shape))), shape)
        bins = np.zeros((len(ensemble.grid.features), len(cells[0])), ensemble.grid.dtype)
        keep = np.zeros(len(bins), dtype=bool)
        for axis, cell in zip(axes, cells):
            bins[axis.used_features] = axis.bins[:, cell]
            keep[axis.used_features] = True
        averaged = average_out(ensemble, model.rows.weighting, keep, model.execution)
        means = apply_link(self._link, averaged(bins, model.execution))
        return means.reshape(-1, *shape), np.empty(0)
