"""Divide the axes of a picture into cells, in which a component is constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._explained import Explained, explained
from skglex._decomposition._raw_units import to_raw_units
from skglex._decomposition._row_values import OneHot, as_text, name_values, one_hot_columns
from skglex._input import InputSpec, Origin, column_values, raw_column, take_rows
from skglex._utils import budgets
from skglex.components import Axis, Component, bins_along

# A raw column with more numbers than this is drawn to scale.
MAX_LEVELS = 5
# A range without any of so many background rows is not drawn among few ranges: maybe no value can lie in it.
_MANY_ROWS = 50
_CELLS_AT_A_TIME = 1 << 16
# Along a numeric axis, the response is computed at no fewer cells.
_FEWEST_CELLS = 12


class Rows:
    """Hold the rows to draw, and look up their values and their bins."""

    def __init__(self, decomposer: Any, X: Any) -> None:
        self.decomposer = decomposer
        self.view = explained(decomposer)
        self.X = self.view.as_rows(X)
        self.checked = self.view.check(self.X)

    @cached_property
    def bins(self) -> NDArray[Any]:
        """Return the bins of all rows: shape (n_used_features, n_samples)."""
        return self.view.fitted.bins(self.checked, self.view.execution)

    def values(self, position: int) -> NDArray[np.float64]:
        """Return the values of a feature of the model; missing values are NaN."""
        return column_values(self.checked, position, self.view.source.input)

    def raw_numbers(self, position: int) -> NDArray[np.float64]:
        """Return the values of a numeric raw column; missing values are NaN."""
        return column_values(self.X, position, InputSpec(self.X.shape[1]))

    def subsample(self, n: int) -> Rows:
        """Return at most n of the rows; the choice is always the same."""
        total = self.checked.shape[0]
        if n >= total:
            return self
        rows = np.sort(np.random.default_rng(0).choice(total, n, replace=False))
        return Rows(self.decomposer, take_rows(self.X, rows))


@dataclass(frozen=True)
class AxisCells:
    """Divide the values of a feature, a raw column or a group of columns into cells.

    Attributes
    ----------
    feature : str
        Name of what is drawn along the axis.
    used_features : ndarray of shape (n_columns,), int64
        The columns on the grid that the axis stands for.
    bins : ndarray of shape (n_columns, n_cells), int64
        Bins of these columns in each cell.
    shares : ndarray of shape (n_cells,), float64
        Share of the background in each cell.
    find : callable
        Returns the cell of every one of some `Rows`, -1 if it is in none.
    missing : int
        Position of the cell of missing values, which is the last; n_cells if there is none.
    missing_label : str
    labels : list of str, or None
        Names of the cells before ``missing``. None: the axis is numeric.
    edges : ndarray, or None
        Where the cells of a numeric axis begin, without the first.
    fine_edges, fine_shares : ndarray, or None
        The same edges for all bins that the model distinguishes, and the share of the background in each.
    limits : tuple of two floats, or None
        The least and the largest number of the background along a numeric axis, if they are known.
    numbers : callable, or None
        Returns the numbers of some `Rows` along a numeric axis.
    optional : ndarray of shape (n_cells,), bool
        The cells that are not drawn unless a row of the background or of the picture is in them.
    table_bins : ndarray of shape (n_cells,), int64, or None
        Bins of the axis of the component's table. None: the axis is none of the table's.
    """

    feature: str
    used_features: NDArray[np.int64]
    bins: NDArray[np.int64]
    shares: NDArray[np.float64]
    find: Callable[[Rows], NDArray[np.int64]]
    missing: int
    missing_label: str = "missing"
    labels: list[str] | None = None
    edges: NDArray[np.float64] | None = None
    fine_edges: NDArray[np.float64] | None = None
    fine_shares: NDArray[np.float64] | None = None
    limits: tuple[float, float] | None = None
    numbers: Callable[[Rows], NDArray[np.float64]] | None = None
    optional: NDArray[np.bool_] | None = None
    table_bins: NDArray[np.int64] | None = None

    @property
    def n_cells(self) -> int:
        """Return the number of cells."""
        return int(self.bins.shape[1])


def cells_of_component(decomposer: Any, component: Component) -> list[AxisCells]:
    """Return the axes along which a component is drawn."""
    view = explained(decomposer)
    groups = view.groups
    if not any(name in groups.members for name in component.features):
        return [cells_of_axis(decomposer, axis) for axis in component.axes]
    return [axis for name in component.features for axis in cells_of_player(decomposer, name)]


def has_axes(view: Explained, component: Component) -> bool:
    """Return whether the features of a component are axes: the model splits on no combination of them."""
    joined = {view.groups.names[player] for player in view.groups.of_derived.tolist()}
    return not joined.intersection(component.features)


def cells_of_player(decomposer: Any, player: str) -> list[AxisCells]:
    """Return the axes that show a feature or a group: one for each raw column or one-hot encoded column in it."""
    view = explained(decomposer)
    if view.groups.names.index(player) in view.groups.of_derived:
        raise ValueError(
            f"{player!r} cannot be drawn along an axis, since the model splits on combinations of its features. Draw "
            "another feature, or evaluate the component at rows"
        )
    columns = view.groups.columns_of(player)
    used = np.flatnonzero(np.isin(view.grid.features, columns))
    if len(columns) == 1:
        cells = cells_of_axis(decomposer, decomposer.feature_axis(view.feature_names[columns[0]]))
        name = player if player in view.groups.members else cells.feature
        return [replace(cells, feature=name, table_bins=None)]
    axes = []
    rest = set(used.tolist())
    for origin in view.fitted.raw.origins:
        found = np.flatnonzero(np.isin(view.grid.features, origin.outputs))
        if len(found) and rest.issuperset(found.tolist()) and len(origin.values):
            axes.append(_of_raw_column(view, origin, found))
            rest -= set(found.tolist())
    if rest and (one_hot := one_hot_columns(view, player, np.array(sorted(rest)))) is not None:
        axes.append(_of_one_hot_columns(one_hot, player))
        rest = set()
    left = [view.feature_names[view.grid.features[i]] for i in sorted(rest)]
    axes += [
        replace(cells_of_axis(decomposer, decomposer.feature_axis(name)), table_bins=None) for name in left
    ]
    return [replace(axes[0], feature=player)] if len(axes) == 1 else axes


def cells_of_axis(decomposer: Any, axis: Axis) -> AxisCells:
    """Return the cells of one feature of the model: the bins of an axis, or the values of its raw column."""
    view = explained(decomposer)
    used = view.used_feature(axis.feature)
    position = int(view.grid.features[used])
    origin = next((origin for origin in view.fitted.raw.origins if position in origin.outputs), None)
    # The edges of an axis leave out the bins that no number can reach; the bins of rows count them.
    along = np.asarray(bins_along(axis, view.grid.edges(used)))
    # Where thresholds have equal edges, numbers are only in the last of their bins.
    reached = len(along) - 1 if axis.categorical else view.grid.n_reached(used)
    last = reached - 1 - np.unique(along[:reached][::-1], return_index=True)[1]
    plain = AxisCells(
        feature=axis.feature,
        used_features=np.array([used]),
        bins=np.append(last, len(along) - 1)[None],
        shares=_shares(decomposer, axis),
        find=lambda rows: along[rows.bins[used]],
        missing=axis.missing,
        missing_label=_missing_label(view, position),
        optional=np.full(axis.n_bins, view.background.n_rows >= _MANY_ROWS),
        table_bins=np.arange(axis.n_bins),
        limits=_limits(view, used),
    )
    if axis.categorical:
        return _of_categories(plain, axis, origin, along)
    raw_units = None
    full = decomposer.feature_axis(axis.feature)
    if origin is not None:
        if origin.numeric and len(origin.outputs) == 1:
            raw_units = to_raw_units(view, origin, full.edges)
        if raw_units is None and len(origin.values) and (not origin.numeric or len(origin.values) <= 12):
            row = np.flatnonzero(np.isin(view.grid.features, origin.outputs)).tolist().index(used)
            return _of_encoded_column(plain, origin, along[origin.bins[row]])
    return _of_numbers(plain, axis, full, _shares(decomposer, full), origin, raw_units)


def _limits(view: Explained, used: int) -> tuple[float, float] | None:
    """Return the least and the largest number of a feature in the background, if they are known."""
    limits = view.fitted.limits
    if limits is None or limits[used, 0] > limits[used, 1]:
        return None
    return float(limits[used, 0]), float(limits[used, 1])


def _shares(decomposer: Any, axis: Axis) -> NDArray[np.float64]:
    """Return the share of the background in every bin; zeros if `fit` got no rows."""
    if explained(decomposer).background.n_rows == 0:
        return np.zeros(axis.n_bins)
    return np.asarray(decomposer.background_weights(axis))


def drawable_cells(axes: list[AxisCells], n_outputs: int) -> list[AxisCells]:
    """Return the same axes, or coarser ones if they have more cells together than a picture can show."""
    n_cells = [axis.n_cells for axis in axes]
    if np.prod(n_cells, dtype=float) * n_outputs <= budgets.picture_cells or len(axes) < 2:
        return axes
    most = max(int(budgets.coarse_cells ** (1 / len(axes))), _FEWEST_CELLS)
    return [_coarsen(axis, most) if axis.labels is None and axis.n_cells > most else axis for axis in axes]


def _coarsen(axis: AxisCells, n: int) -> AxisCells:
    """Join the cells of a numeric axis to about n: at quantiles of the background, and evenly over its range.

    A joined cell has the bins of the cell in its middle.
    """
    assert axis.edges is not None
    edges = axis.edges
    low, high = axis.limits if axis.limits is not None else (edges[0], edges[-1])
    evenly = np.searchsorted(edges, np.linspace(low, high, n - n // 2), side="right")
    first = np.unique(np.concatenate([[0], evenly, _spread_cells(axis, n // 2)]))
    first = first[first < axis.missing]
    middle = (first + np.append(first[1:], axis.missing)) // 2
    begin = np.append(first, np.arange(axis.missing, axis.n_cells))
    shown = np.append(middle, begin[len(first) :])
    # A row in no cell stays in none.
    joined = np.append(np.searchsorted(begin, np.arange(axis.n_cells), side="right") - 1, -1)
    return replace(
        axis,
        bins=axis.bins[:, shown],
        shares=np.add.reduceat(axis.shares, begin),
        find=lambda rows: joined[axis.find(rows)],
        missing=len(first),
        edges=edges[first[1:] - 1],
        optional=None if axis.optional is None else axis.optional[shown],
        table_bins=None if axis.table_bins is None else axis.table_bins[shown],
    )


def component_values(view: Explained, component: Component, axes: list[AxisCells]) -> NDArray[np.float64]:
    """Return a component's values in all combinations of cells: shape (n_cells, ..., n_outputs)."""
    shape = tuple(axis.n_cells for axis in axes)
    table_bins = [axis.table_bins for axis in axes if axis.table_bins is not None]
    if len(table_bins) == len(axes):
        size = np.prod([axis.n_bins for axis in component.axes], dtype=float) * view.n_outputs
        if len(axes) < 2 or size <= budgets.picture_cells:
            return component.values[np.ix_(*table_bins)].reshape(*shape, view.n_outputs)
        return view.component_at(component, [axis.bins[0] for axis in axes])
    out = np.empty((view.n_outputs, int(np.prod(shape))))
    for start in range(0, out.shape[1], _CELLS_AT_A_TIME):
        cells = np.unravel_index(np.arange(start, min(start + _CELLS_AT_A_TIME, out.shape[1])), shape)
        bins = np.zeros((len(view.grid.features), len(cells[0])), dtype=view.grid.dtype)
        for axis, cell in zip(axes, cells):
            bins[axis.used_features] = axis.bins[:, cell]
        out[:, start : start + bins.shape[1]] = view.component_on_bins(component, bins)
    return out.T.reshape(*shape, view.n_outputs)


def response_values(view: Explained, axes: list[list[AxisCells]]) -> NDArray[np.float64]:
    """Return a component of the response in all combinations of cells: shape (n_cells, ..., n_responses).

    ``axes`` are those of each of its players. Many cells of numbers are computed at some of them, and the others get
    the value of the nearest lower one.
    """
    every = [axis for own in axes for axis in own]
    n_cells = [axis.n_cells for axis in every]
    most = budgets.picture_margins / max(view.background.n_rows, 1)
    chosen = [np.arange(n) for n in n_cells]
    for i in sorted(range(len(every)), key=lambda i: -n_cells[i]):
        others = np.prod([float(len(cells)) for k, cells in enumerate(chosen) if k != i])
        if every[i].labels is None and n_cells[i] * others > most:
            chosen[i] = _spread_cells(every[i], max(int(most ** (1 / len(every))), _FEWEST_CELLS))
    grid = iter(chosen)
    points: Any = [
        [(axis.used_features, axis.bins[:, next(grid)].astype(view.grid.dtype)) for axis in own]
        for own in axes
    ]
    values = view.response_scale.component_at_cells(points, view.execution)
    for i, cells in enumerate(chosen):
        nearest = np.searchsorted(cells, np.arange(n_cells[i]), side="right") - 1
        values = np.take(values, nearest, axis=i + 1)
    return np.moveaxis(values, 0, -1)


def _spread_cells(axis: AxisCells, n: int) -> NDArray[np.int64]:
    """Return up to n cells at quantiles of the background, with the first one and that of missing values."""
    share = np.cumsum(axis.shares)
    cells = np.searchsorted(share, np.linspace(0, share[-1], n, endpoint=False), side="right")
    ends = np.array([0, *range(axis.missing, axis.n_cells)])
    return np.unique(np.concatenate([np.minimum(cells, axis.n_cells - 1), ends]))


# -- the kinds of axes ------------------------------------------------------------------------------


def _of_numbers(
    plain: AxisCells,
    axis: Axis,
    full: Axis,
    fine_shares: NDArray[np.float64],
    origin: Origin | None,
    raw_units: tuple[NDArray[np.float64], bool] | None,
) -> AxisCells:
    """Return a numeric axis, in the units of the raw column if its edges are known there."""
    position = plain.used_features[0]
    if origin is None or raw_units is None:

        def numbers(rows: Rows) -> NDArray[np.float64]:
            return rows.values(int(rows.view.grid.features[position]))

        return replace(
            plain,
            edges=axis.edges,
            fine_edges=full.edges,
            fine_shares=fine_shares[: full.missing],
            numbers=numbers,
        )
    raw_edges, rising = raw_units
    edges = raw_edges[np.searchsorted(full.edges, axis.edges)]
    order = np.arange(plain.n_cells)
    shares = fine_shares[: full.missing]
    if not rising:
        # The preprocessing turns the column round, so its cells are in the opposite order.
        edges, raw_edges, shares = edges[::-1], raw_edges[::-1], shares[::-1]
        order = np.append(order[-2::-1], order[-1])
    cell = np.argsort(order)
    return replace(
        plain,
        feature=origin.name,
        bins=plain.bins[:, order],
        shares=plain.shares[order],
        find=lambda rows: cell[plain.find(rows)],
        edges=edges,
        fine_edges=raw_edges,
        fine_shares=shares,
        limits=origin.limits,
        numbers=lambda rows: rows.raw_numbers(origin.position),
        table_bins=order,
    )


def _of_categories(
    plain: AxisCells, axis: Axis, origin: Origin | None, along: NDArray[np.int64]
) -> AxisCells:
    """Return the cells of a categorical feature: its categories, also those in the bin of other categories."""
    other = axis.missing - 1
    if origin is not None and not len(origin.values):
        # There are too many categories to store.
        origin = None
    values = [] if origin is None else origin.values.tolist()
    rank = {value: i for i, value in enumerate(values)}
    named = list(zip(axis.edges.tolist(), range(other)))
    named += [
        (value, other) for value, b in zip(values, along[origin.bins[0]] if origin else []) if b == other
    ]
    # The categories are in the order of the data, whichever of them the model splits on.
    named.sort(key=lambda pair: rank.get(pair[0], len(rank)))
    n = len(named)
    # Rows may have categories that are in the bin of others, but not in the background.
    table_bins = np.array([*(b for _, b in named), other, axis.missing])
    shares = plain.shares[table_bins].copy()
    cell_of_bin = np.append(np.zeros(other, np.int64), [n, n + 1])
    cell_of_value = np.full(len(values) + 2, n)
    for cell, (value, b) in enumerate(named):
        if b < other:
            cell_of_bin[b] = cell
        elif origin is not None:
            cell_of_value[rank[value]] = cell
            shares[cell], shares[n] = origin.shares[rank[value]], 0.0

    def find(rows: Rows) -> NDArray[np.int64]:
        cell = cell_of_bin[plain.find(rows)]
        if origin is None:
            return cell
        by_value = cell_of_value[origin.number_values(raw_column(rows.X, origin.position))]
        return np.where(cell == n, by_value, cell)

    return replace(
        plain,
        bins=plain.bins[:, table_bins],
        shares=shares,
        find=find,
        missing=n + 1,
        labels=[*(as_text(value) for value, _ in named), "other"],
        optional=np.arange(n + 2) == n,
        table_bins=table_bins,
    )


def _of_encoded_column(plain: AxisCells, origin: Origin, cell_of_value: NDArray[np.int64]) -> AxisCells:
    """Return the bins of a column that encodes a raw column, named by the raw values in them."""
    values = origin.values.tolist()
    # No value is in the other bins; missing values come last.
    drawn = list(dict.fromkeys(cell_of_value[: None if origin.shares[-1] > 0 else -1].tolist()))
    labels = []
    for cell in drawn:
        inside = [value for value, c in zip(values, cell_of_value) if c == cell]
        outside = [value for value, c in zip(values, cell_of_value) if c != cell]
        labels.append(name_values(inside, outside))
    number = np.full(plain.n_cells, -1)
    number[drawn] = np.arange(len(drawn))
    return replace(
        plain,
        feature=origin.name if len(origin.outputs) == 1 else plain.feature,
        bins=plain.bins[:, drawn],
        shares=plain.shares[drawn],
        find=lambda rows: number[plain.find(rows)],
        missing=len(drawn),
        labels=labels,
        optional=np.zeros(len(drawn), dtype=bool),
        table_bins=None if plain.table_bins is None else plain.table_bins[drawn],
    )


def _of_raw_column(view: Explained, origin: Origin, used: NDArray[np.int64]) -> AxisCells:
    """Return the cells of a raw column: its values, or for many numbers the ranges of equal bins."""
    shares, bins, values = origin.shares, origin.bins, origin.values
    n = len(values)
    if origin.numeric and n > MAX_LEVELS:
        numbers = values.astype(np.float64)
        new = np.append(True, (bins[:, 1:n] != bins[:, : n - 1]).any(axis=0))
        first = np.flatnonzero(new)
        edges = (numbers[first[1:]] + numbers[first[1:] - 1]) / 2
        fine_edges = (numbers[1:] + numbers[:-1]) / 2

        def find(rows: Rows) -> NDArray[np.int64]:
            raw = rows.raw_numbers(origin.position)
            return np.where(np.isnan(raw), len(first), np.searchsorted(edges, raw, side="right"))

        return AxisCells(
            feature=origin.name,
            used_features=used,
            bins=bins[:, [*first, n]],
            shares=np.append(np.add.reduceat(shares[:n], first), shares[n]),
            find=find,
            missing=len(first),
            edges=edges,
            fine_edges=fine_edges,
            fine_shares=shares[:n],
            limits=origin.limits,
            numbers=lambda rows: rows.raw_numbers(origin.position),
            optional=np.zeros(len(first) + 1, dtype=bool),
        )
    labels = [as_text(value) for value in values]
    return AxisCells(
        feature=origin.name,
        used_features=used,
        bins=bins,
        shares=shares,
        find=lambda rows: origin.number_values(raw_column(rows.X, origin.position)),
        missing=n,
        labels=labels,
        optional=np.zeros(n + 1, dtype=bool),
    )


def _of_one_hot_columns(one_hot: OneHot, group: str) -> AxisCells:
    """Return one cell per column of a one-hot encoding, and one for rows in none."""
    n = len(one_hot.used_features)
    return AxisCells(
        feature=group,
        used_features=one_hot.used_features,
        bins=np.where(np.eye(n, n + 1, dtype=bool), one_hot.on[:, None], one_hot.off[:, None]),
        shares=one_hot.shares,
        find=lambda rows: one_hot.find(rows.bins),
        missing=n + 1,
        labels=one_hot.labels,
        optional=np.arange(n + 1) == n,
    )


# -- words --------------------------------------------------------------------------------------------


def _missing_label(view: Explained, position: int) -> str:
    """Return what the missing values of a feature are called: zeros may count as missing."""
    spec = view.source.input
    if view.fitted.zero_is_missing:
        return "0"
    return "0 or missing" if position in spec.missing_zeros else "missing"
