"""Choose rows at which a component is evaluated: one for every cell of its table, or of a grid that users pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained
from skglex._input import column_values, is_frame, raw_column, take_rows, with_columns_of
from skglex.components import Component, bins_along


@dataclass(frozen=True)
class Cells:
    """Hold the rows at which one component is evaluated.

    Attributes
    ----------
    rows : array, sparse matrix or data frame of shape (n_cells, n_features)
        Rows before the preprocessing.
    shape : tuple of int
        Number of cells along each axis, whose product is n_cells.
    known : ndarray of shape (n_cells,), bool
        Which cells have a row. No row of the background is in the others.
    labels : list of ndarray
        For each axis, the value of the feature in every cell.
    on_table : bool
        Whether the cells are those of the component's table.
    """

    rows: Any
    shape: tuple[int, ...]
    known: NDArray[np.bool_]
    labels: list[NDArray[Any]]
    on_table: bool


def cells_of(view: Explained, component: Component, X: Any, Xt: Any, grid: Mapping[str, Any] | None) -> Cells:
    """Return one row per cell of a component.

    The cells are those of the component's table. The row of a cell has, along each axis, the raw columns of a row of
    the background whose value is in the middle of all rows in this bin; it has all other columns of the first row.

    Parameters
    ----------
    view : Explained
    component : Component
    X, Xt : array, sparse matrix or data frame
        The background, before and after the preprocessing.
    grid : dict of str to array-like, or None
        Values of some features to use instead. All features of the component must be in it, or none.
    """
    if any(name in view.groups.members and len(view.groups.members[name]) > 1 for name in component.features):
        raise ValueError(
            f"the component {component.name!r} has a feature group of several columns. Bands are available for "
            "components of single columns: fit without feature_groups"
        )
    raw = [_raw_columns(view, name) for name in component.features]
    if len(set().union(*raw)) < sum(map(len, raw)):
        raise ValueError(
            f"the features of {component.name!r} are computed from common raw columns, so that they cannot be varied "
            "one by one"
        )
    if grid is not None and any(name in grid for name in component.features):
        return _cells_of_values(view, component, X, raw, grid)
    donors = [_middle_rows(view, axis, Xt) for axis in component.axes]
    shape = tuple(len(rows) for rows, _ in donors)
    at = np.indices(shape).reshape(len(shape), -1)
    chosen = [rows[i] for (rows, _), i in zip(donors, at)]
    known = np.all([rows >= 0 for rows in chosen], axis=0)
    out = take_rows(X, np.zeros(int(known.sum()), np.int64))
    for columns, rows in zip(raw, chosen):
        out = with_columns_of(out, columns, take_rows(X, rows[known]))
    return Cells(out, shape, known, [labels for _, labels in donors], on_table=True)


def _raw_columns(view: Explained, name: str) -> list[int]:
    """Return the raw columns that a feature is computed from."""
    columns = set(view.groups.columns_of(name).tolist())
    if view.fitted.preprocess is None:
        return sorted(columns)
    raw = [i for i, outputs in enumerate(view.fitted.raw.outputs) if columns & set(outputs)]
    if not raw:
        raise ValueError(
            f"the raw columns that {name!r} is computed from are not known. Pass rows in memory to fit, or resample "
            "the model without its preprocessing"
        )
    return raw


def _middle_rows(view: Explained, axis: Any, Xt: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return, for every bin of an axis, the row with the middle value (-1 if there is none), and these values."""
    used = view.used_feature(axis.feature)
    position = int(view.grid.features[used])
    bins = view.background.in_memory().bins[used]
    bin_of_row = bins_along(axis, view.grid.edges(used))[bins]
    values = column_values(Xt, position, view.source.input)
    order = np.lexsort((values, bin_of_row))
    starts = np.searchsorted(bin_of_row[order], np.arange(axis.n_bins + 1))
    middle = (starts[:-1] + starts[1:] - 1) // 2
    found = np.diff(starts) > 0
    rows = np.where(found, order[np.where(found, middle, 0)], -1)
    raw = raw_column(Xt, position)
    raw = np.asarray(raw.to_list() if is_frame(Xt) else raw, dtype=object)
    labels = raw[np.where(found, rows, 0)]
    labels[~found] = None
    return rows, labels


def _cells_of_values(
    view: Explained, component: Component, X: Any, raw: list[list[int]], grid: Mapping[str, Any]
) -> Cells:
    """Return the cells of a grid that the user passes."""
    if missing := [name for name in component.features if name not in grid]:
        raise ValueError(
            f"grid has values of some features of {component.name!r}, but not of {missing}. Pass all or none"
        )
    if is_frame(X) or any(len(columns) != 1 for columns in raw) or view.fitted.preprocess is not None:
        raise ValueError("grid needs rows in an array, and a model without preprocessing. Leave grid out")
    labels = [np.asarray(grid[name]) for name in component.features]
    shape = tuple(map(len, labels))
    at = np.indices(shape).reshape(len(shape), -1)
    rows = np.repeat(np.asarray(X)[:1], at.shape[1], axis=0)
    for (column,), values, i in zip(raw, labels, at):
        rows[:, column] = values[i]
    return Cells(rows, shape, np.ones(at.shape[1], dtype=bool), labels, on_table=False)
