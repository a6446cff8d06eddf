"""Divide a feature into the steps of a model and the bins of accumulated local effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained
from skglex._input import column_values, raw_column
from skglex._utils import suggest
from skglex.components import bins_along

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


@dataclass(frozen=True)
class AleColumn:
    """Say where the rows lie along a feature.

    Attributes
    ----------
    used : int
        Position of the feature on the grid.
    step_bins : ndarray of shape (n_steps,)
        A bin of the grid in every step that the model distinguishes, or of every category.
    edges : ndarray
        The thresholds between the steps, or the categories.
    step : ndarray of shape (n_rows,), int64
        The step of every row. It does not matter for a row that is left out.
    missing, outside : ndarray of shape (n_rows,), bool
        The rows that are left out: their value is missing, or it is a category that was not asked for.
    value : ndarray of shape (n_rows,), or None
        The values of the rows; None if only their steps are known.
    categorical : bool
    """

    used: int
    step_bins: NDArray[np.int64]
    edges: NDArray[Any]
    step: NDArray[np.int64]
    missing: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    value: NDArray[np.float64] | None
    categorical: bool


@dataclass(frozen=True)
class AleAxis:
    """Divide the steps of a feature into bins.

    Attributes
    ----------
    used, step_bins, edges, step
        As those of `AleColumn`, for the steps between the first and the last edge of the bins.
    bins : ndarray of shape (n_bins + 1,)
        The edges z of the bins.
    ends : ndarray of shape (n_bins + 1,), int64
        The step of each edge: 0 of the first, n_steps - 1 of the last.
    cell : ndarray of shape (n_rows,), int64
        The bin of every row, -1 for a row that is in none.
    outside : ndarray of shape (n_rows,), bool
        The rows beyond the edges.
    n_empty : int
        The number of bins that had no row.
    """

    used: int
    step_bins: NDArray[np.int64]
    edges: NDArray[Any]
    step: NDArray[np.int64]
    bins: NDArray[Any]
    ends: NDArray[np.int64]
    cell: NDArray[np.int64]
    outside: NDArray[np.bool_]
    n_empty: int

    @property
    def n_steps(self) -> int:
        """Return the number of steps."""
        return len(self.step_bins)

    @property
    def n_bins(self) -> int:
        """Return the number of bins."""
        return len(self.bins) - 1

    @property
    def bin_of_jump(self) -> NDArray[np.int64]:
        """Return the bin that each jump is in: between the steps i and i + 1."""
        return np.searchsorted(self.ends, np.arange(1, self.n_steps), side="left") - 1


def locate_rows(
    decomposer: GlexDecomposer, view: Explained, name: str, Xt: Any, bins: NDArray[Any], order: Any
) -> AleColumn:
    """Locate rows along a feature.

    Parameters
    ----------
    decomposer : GlexDecomposer
    view : Explained
    name : str
        The feature.
    Xt : array, sparse matrix or data frame, or None
        The rows after the preprocessing; None for the background.
    bins : ndarray of shape (n_used_features, n_rows)
        The bins of the rows.
    order : list, or None
        The categories in the order of the user.

    Raises
    ------
    ValueError
        The model does not split on the feature, or it is a category without an order.
    """
    axis = decomposer.feature_axis(name)
    used = view.used_feature(name)
    if axis.categorical:
        if order is None:
            raise ValueError(
                f"{name!r} is categorical, and an accumulated effect needs an order of its categories. Pass them as "
                f"order=[...]; the model splits on {list(axis.edges[:20])}"
            )
        return _locate_categories(view, name, used, axis.edges, Xt, bins[used], list(order))
    if order is not None:
        raise ValueError(f"order is for categorical features, but {name!r} is numeric. Leave it out")
    along = np.asarray(bins_along(axis, view.grid.edges(used)))
    step = along[bins[used]]
    value = None
    if Xt is not None:
        value = column_values(Xt, int(view.grid.features[used]), view.source.input)
    return AleColumn(
        used=used,
        step_bins=np.unique(along[:-1], return_index=True)[1],
        edges=axis.edges,
        step=step,
        missing=step == axis.missing,
        outside=np.zeros(len(step), dtype=bool),
        value=value,
        categorical=False,
    )


def _locate_categories(
    view: Explained,
    name: str,
    used: int,
    known: NDArray[Any],
    Xt: Any,
    bins: NDArray[Any],
    order: list[Any],
) -> AleColumn:
    """Locate rows among the categories of ``order``."""
    if len(set(order)) < len(order) or len(order) < 2:
        raise ValueError(f"order must have at least two categories of {name!r}, each once; got {order!r}")
    position = {category: i for i, category in enumerate(order)}
    bin_of = {category: i for i, category in enumerate(known.tolist())}
    missing = bins == view.grid.n_bins[used] - 1
    feature = int(view.grid.features[used])
    if Xt is not None:
        values = raw_column(Xt, feature)
        values = values.tolist() if hasattr(values, "tolist") else values.to_list()
        step = np.array([position.get(value, -1) for value in values], dtype=np.int64)
        bin_of |= {order[i]: int(bins[r]) for r, i in enumerate(step) if i >= 0}
    else:
        origin = next((o for o in view.fitted.raw.origins if o.outputs == (feature,)), None)
        if origin is not None:
            bin_of |= dict(zip(origin.values.tolist(), origin.bins[0].tolist()))
    if unknown := [category for category in order if category not in bin_of]:
        raise ValueError(
            f"order contains {unknown[0]!r}, but neither the model nor the rows have this category of {name!r}. "
            f"{suggest(unknown[0], bin_of, 'categories')}"
        )
    step_bins = np.array([bin_of[category] for category in order], dtype=np.int64)
    if Xt is None:
        others = [i for category, i in bin_of.items() if category not in position]
        if len(set(step_bins.tolist())) < len(order) or not set(others).isdisjoint(step_bins.tolist()):
            raise ValueError(
                f"the model does not tell some categories of {name!r} apart, so the bins of the background do not tell "
                "which of them a row has. Pass the rows X"
            )
        of_bin = np.full(int(view.grid.n_bins[used]), -1)
        of_bin[step_bins] = np.arange(len(order))
        step = of_bin[bins]
    return AleColumn(
        used, step_bins, np.array(order, dtype=object), step, missing, (step < 0) & ~missing, None, True
    )


def divide(column: AleColumn, view: Explained, bins: Any, weight: NDArray[np.float64]) -> AleAxis:
    """Divide a feature into bins; rows of weight 0 do not count.

    Parameters
    ----------
    column : AleColumn
    view : Explained
    bins : int or ndarray
        The number of bins, or their edges.
    weight : ndarray of shape (n_rows,)
    """
    if column.categorical:
        cell = np.where(column.outside | column.missing, -1, column.step - 1)
        ends = np.arange(len(column.edges))
        axis = AleAxis(
            column.used,
            column.step_bins,
            column.edges,
            column.step,
            column.edges,
            ends,
            cell,
            column.outside,
            0,
        )
        return _merge_empty(axis, weight)
    x = column.step.astype(np.float64) if column.value is None else column.value
    counted = weight > 0
    if np.ndim(bins) == 0:
        z = _quantiles(x[counted], weight[counted], bins)
        steps = z.astype(np.int64) if column.value is None else _steps_of(view, column, z)
        shown = _upper_borders(column.edges, steps) if column.value is None else z
    else:
        shown = _check_edges(bins)
        steps = _steps_of(view, column, shown)
        if column.value is None:
            _require_known_sides(view, column, shown, steps, counted)
        z = steps.astype(np.float64) if column.value is None else shown
    outside = ~column.missing & ((x < z[0]) | (x > z[-1]))
    cell = np.searchsorted(z, x, side="left") - 1
    cell[x == z[0]] = 0
    cell[outside | column.missing] = -1
    first, last = int(steps[0]), int(steps[-1])
    axis = AleAxis(
        used=column.used,
        step_bins=column.step_bins[first : last + 1],
        edges=column.edges[first:last],
        step=column.step - first,
        bins=shown,
        ends=steps - first,
        cell=cell if len(z) > 1 else np.full(len(x), -1),
        outside=outside,
        n_empty=0,
    )
    return _merge_empty(axis, np.where(outside, 0.0, weight))


def _merge_empty(axis: AleAxis, weight: NDArray[np.float64]) -> AleAxis:
    """Merge every bin without a row with the next one that has some, or the last such one."""
    inside = axis.cell >= 0
    filled = np.bincount(axis.cell[inside], weight[inside], axis.n_bins) > 0
    if filled.all() or not filled.any():
        return axis
    kept = np.append(0, np.flatnonzero(filled) + 1)
    kept[-1] = axis.n_bins
    number = np.cumsum(filled) - 1
    cell = np.where(inside, number[np.maximum(axis.cell, 0)], -1)
    return replace(
        axis,
        bins=axis.bins[kept],
        ends=axis.ends[kept],
        cell=cell,
        n_empty=int((~filled).sum()),
    )


def _quantiles(x: NDArray[np.float64], weight: NDArray[np.float64], n_bins: Any) -> NDArray[np.float64]:
    """Return the least value, and the least values that the shares k / n_bins of the weight do not exceed."""
    if not isinstance(n_bins, (int, np.integer)) or isinstance(n_bins, bool) or n_bins < 1:
        raise ValueError(f"bins must be an integer of at least 1, or increasing edges; got {n_bins!r}")
    order = np.argsort(x, kind="stable")
    below = np.cumsum(weight[order])
    # The tolerance keeps a quantile in its place if the cumulated weights are rounded.
    wanted = np.arange(1, n_bins + 1) / n_bins * below[-1] * (1 - 1e-12)
    return np.unique(np.append(x[order[0]], x[order[np.searchsorted(below, wanted, side="left")]]))


def _check_edges(bins: Any) -> NDArray[np.float64]:
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise ValueError(
            f"bins must be an integer of at least 1, or at least two increasing edges; got {bins!r}"
        )
    return edges


def _steps_of(view: Explained, column: AleColumn, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the step of each of some values."""
    bins = view.grid.bin(np.tile(values, (len(view.grid.features), 1)))[column.used]
    return np.asarray(np.searchsorted(column.step_bins, bins, side="right") - 1, dtype=np.int64)


def _upper_borders(edges: NDArray[np.float64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest value in each step, for the first one the least."""
    borders = np.concatenate([[-np.inf], edges, [np.inf]])
    upper = borders[steps[1:] + 1]
    return np.append(borders[steps[0]], np.where(np.isinf(upper), upper, np.nextafter(upper, -np.inf)))


def _require_known_sides(
    view: Explained,
    column: AleColumn,
    edges: NDArray[np.float64],
    steps: NDArray[np.int64],
    counted: NDArray[np.bool_],
) -> None:
    """Raise if a row may be on either side of an edge, as far as its step tells."""
    occupied = np.bincount(column.step[counted & ~column.missing], minlength=len(column.step_bins)) > 0
    splits = _steps_of(view, column, np.nextafter(edges, np.inf)) == steps
    splits[0] = _steps_of(view, column, np.nextafter(edges[:1], -np.inf))[0] == steps[0]
    splits &= np.isfinite(edges) & occupied[steps]
    if splits.any():
        raise ValueError(
            f"bins contains the edge {edges[splits][0]:g}, which lies between two thresholds of the model. Of the "
            "background, the decomposer knows only between which thresholds a value lies, but not on which side of "
            "this edge. Pass the rows X, or the number of bins"
        )
