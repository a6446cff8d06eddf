"""Components as dense tables over the bins that their own leaves tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._kernels.component_tables import add_corners, condition_events, look_up, mark_axes, sum_corners
from skglex._leaves import CoalitionWeights, LeafEnsemble
from skglex._utils import (
    DEFAULT_EXECUTION,
    Execution,
    budgets,
    scaled,
    table_chunks,
    warn_user,
    weight_chunks,
)
from skglex.components import Axis
from skglex.exceptions import StreamedComponentsWarning


@dataclass(frozen=True)
class ComponentTables:
    """Dense tables of some of the components.

    Attributes
    ----------
    tabulated : ndarray of shape (n_components,), bool
    axis_ptr, axis_feature : ndarray
        Component ``c`` varies along the used_features ``axis_feature[a]``, a from ``axis_ptr[c]``.
    axis_size : ndarray
        Number of cells along each axis.
    map_ptr, maps : ndarray
        Cell of every bin along each axis: ``maps[map_ptr[a] + bin]``.
    stride : ndarray
    table_ptr, n_cells : ndarray
        Table of component ``c``: (n_outputs, n_cells[c]) values from ``table_ptr[c]``.
    values : ndarray, float64
        Empty until `fill_tables`.
    """

    tabulated: NDArray[np.bool_]
    axis_ptr: NDArray[np.int64]
    axis_feature: NDArray[np.int64]
    axis_size: NDArray[np.int64]
    map_ptr: NDArray[np.int64]
    maps: NDArray[np.int32]
    stride: NDArray[np.int64]
    table_ptr: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    values: NDArray[np.float64]

    def axes(self, component: int) -> range:
        return range(self.axis_ptr[component], self.axis_ptr[component + 1])

    def table(self, component: int, n_outputs: int) -> NDArray[np.float64]:
        """Values over the cells, the outputs last."""
        size = [self.axis_size[a] for a in self.axes(component)]
        start = self.table_ptr[component]
        flat = self.values[start : start + n_outputs * self.n_cells[component]]
        return np.moveaxis(flat.reshape(n_outputs, *size), 0, -1)

    def look_up(
        self,
        bins: NDArray[np.unsignedinteger],
        chosen: NDArray[np.int64],
        column: NDArray[np.int64],
        n_outputs: int,
        out: NDArray[Any],
        execution: Execution,
    ) -> None:
        """Write the chosen components' values to the rows ``column`` of each output's block of ``out``."""
        args = (self.axis_ptr, self.axis_feature, self.map_ptr, self.maps, self.stride, self.table_ptr)
        execution.run(
            look_up,
            [
                (bins, *args, self.n_cells, self.values, n_outputs, chosen[part], column[part], r0, r1, out)
                for part, r0, r1 in table_chunks(bins.shape[1], len(chosen))
            ],
        )


def lay_out_tables(
    index: ComponentIndex,
    weights: CoalitionWeights,
    *,
    wanted: NDArray[np.int64] | None = None,
    max_cells: int | None = None,
    execution: Execution = DEFAULT_EXECUTION,
) -> ComponentTables:
    """Lay out the tables that fit: the smallest first, each within ``max_cells``, all within the total.

    With ``wanted``, only those components are considered. Budgets shrink with scikit-learn's ``working_memory``.
    """
    max_cells = scaled(budgets.table_cells) if max_cells is None else max_cells
    ensemble, players = weights.ensemble, weights.players
    n_bins, events = ensemble.grid.n_bins, _events(ensemble)
    slots_of = [
        np.flatnonzero(players.player_of_feature == p)
        for p in range(int(players.player_of_feature.max(initial=-1)) + 1)
    ]
    axes = [np.concatenate([slots_of[p] for p in members]) for members in index.sets]
    axis_ptr = np.concatenate([[0], np.cumsum([len(a) for a in axes])]).astype(np.int64)
    axis_feature = np.concatenate([*axes, np.empty(0, np.int64)]).astype(np.int64)
    axis_size = np.zeros(len(axis_feature), np.int64)
    conditions = _conditions_by_path_set(index, ensemble)

    def mark(chosen: NDArray[np.int64], map_ptr: NDArray[np.int64], maps: NDArray[np.int32]) -> None:
        """Find the sizes of axes or, where there are ``maps``, the cell of each bin."""
        execution.run(
            mark_axes,
            [
                (axis_ptr, axis_feature, index.source_ptr, index.source_path_set, *conditions)
                + (ensemble.conditions.feature, events[0], events[1], n_bins)
                + (chosen[a:b], axis_size, map_ptr, maps, len(maps) > 0)
                for a, b in weight_chunks(np.ones(len(chosen)), 32)
            ],
        )

    candidates = np.arange(len(axes)) if wanted is None else wanted
    mark(candidates, axis_size, np.zeros(0, np.int32))
    cells = np.full(len(axes), np.inf)
    for c in candidates:
        cells[c] = np.prod(axis_size[axis_ptr[c] : axis_ptr[c + 1]], dtype=np.float64)
    map_cells = np.array([n_bins[a].sum() for a in axes], dtype=np.int64)
    tabulated = _which_get_tables(cells * ensemble.n_outputs, map_cells, max_cells)
    chosen = np.flatnonzero(tabulated)

    map_size = np.where(np.repeat(tabulated, np.diff(axis_ptr)), n_bins[axis_feature], 0)
    map_ptr, maps = np.cumsum(map_size) - map_size, np.zeros(int(map_size.sum()), np.int32)
    if len(chosen):
        mark(chosen, map_ptr, maps)
    n_cells = np.where(tabulated, cells, 0).astype(np.int64)
    stride = np.ones(len(axis_feature), np.int64)
    for c in chosen:
        for a in range(axis_ptr[c + 1] - 2, axis_ptr[c] - 1, -1):
            stride[a] = stride[a + 1] * axis_size[a + 1]
    table_ptr = np.concatenate([[0], np.cumsum(n_cells * ensemble.n_outputs)])[:-1].astype(np.int64)
    return ComponentTables(
        tabulated, axis_ptr, axis_feature, axis_size, map_ptr, maps, stride, table_ptr, n_cells, np.empty(0)
    )


def _which_get_tables(
    cells: NDArray[np.float64], map_cells: NDArray[np.int64], max_cells: int
) -> NDArray[np.bool_]:
    """Which components get a table: the smallest first; the others are streamed."""
    tabulated = np.zeros(len(cells), dtype=bool)
    by_size = np.argsort(cells, kind="stable")
    used = np.cumsum(cells[by_size] + map_cells[by_size] / 2)
    fits = (used <= max(scaled(budgets.total_table_cells), max_cells)) & (cells[by_size] <= max_cells)
    tabulated[by_size[fits]] = True
    return tabulated


def warn_of_streaming(tables: ComponentTables) -> None:
    """Warn where components have no table."""
    tabulated = tables.tabulated
    if n_streamed := int((~tabulated).sum()):
        warn_user(
            f"{n_streamed:,} of {len(tabulated):,} components have too many cells for a table within the memory set "
            "aside for tables: they are computed leaf by leaf each time, to the same values, but slower. Lower "
            "max_interaction, or train on fewer bins (max_bin)",
            StreamedComponentsWarning,
        )


def fill_tables(
    tables: ComponentTables,
    index: ComponentIndex,
    weights: CoalitionWeights,
    execution: Execution = DEFAULT_EXECUTION,
) -> ComponentTables:
    """The tables with their values: every leaf is added at the corners of its box, then sums run along the axes."""
    ensemble, players, n_cells = weights.ensemble, weights.players, tables.n_cells
    tables = replace(tables, values=np.zeros(int(n_cells.sum()) * ensemble.n_outputs))
    chosen, events = np.flatnonzero(tables.tabulated), _events(ensemble)
    for leaves, coalition_start, fixed in weights.chunks(execution=execution):
        order, path_set_ptr = _leaves_by_path_set(index, leaves)
        execution.run(
            add_corners,
            [
                (
                    tables.axis_ptr,
                    tables.axis_feature,
                    index.source_ptr,
                    index.source_path_set,
                    index.source_mask,
                )
                + (path_set_ptr, order, weights.ranked, ensemble.leaf_ptr, ensemble.leaf_condition)
                + (players.condition_player, players.n_players, ensemble.conditions.feature)
                + (ensemble.value, ensemble.output, coalition_start, fixed, *weights.ranks, *events)
                + (tables.map_ptr, tables.maps, tables.stride, tables.table_ptr, n_cells)
                + (chosen[a:b], tables.values)
                for a, b in weight_chunks(np.ones(len(chosen)), 32)
            ],
            label="component tables",
        )
    layout = tables.axis_ptr, tables.axis_size, tables.stride, tables.table_ptr, n_cells
    execution.run(
        sum_corners,
        [
            (*layout, ensemble.n_outputs, chosen[a:b], tables.values)
            for a, b in weight_chunks(n_cells[chosen], budgets.table_cells)
        ],
    )
    return tables


def table_axes(
    tables: ComponentTables,
    component: int,
    ensemble: LeafEnsemble,
    names: list[str],
    categories: Mapping[int, NDArray[Any]],
) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
    """A component's table as users see it: missing last on every axis, categories one by one."""
    grid = ensemble.grid
    values = tables.table(component, ensemble.n_outputs)
    axes = []
    for i, a in enumerate(tables.axes(component)):
        used_feature = int(tables.axis_feature[a])
        n_bins = int(grid.n_bins[used_feature])
        feature = int(grid.features[used_feature])
        cells = tables.maps[tables.map_ptr[a] : tables.map_ptr[a] + n_bins]
        edges: NDArray[Any]
        if grid.categorical[used_feature]:
            first = np.arange(n_bins)
            codes = grid.cuts_of(used_feature).astype(np.int64)
            edges = categories[feature][codes] if feature in categories else codes
        else:
            # the bins that numbers reach where this component changes, then missing
            reached = cells[: grid.n_reached(used_feature)]
            first = np.append(np.unique(reached, return_index=True)[1], n_bins - 1)
            edges = grid.edges(used_feature)[first[1:-1] - 1]
        values = np.take(values, cells[first], axis=i)
        axes.append(Axis(names[feature], edges, bool(grid.categorical[used_feature]), len(first) - 1))
    return tuple(axes), values


def _events(ensemble: LeafEnsemble) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]:
    """The bins at which each condition begins and ends to hold."""
    n_bins = ensemble.grid.n_bins
    ptr = np.empty(len(ensemble.complement) + 1, np.int64)
    n = condition_events(ensemble.conditions, n_bins, ptr, np.empty(0, np.int32), np.empty(0, np.int8), False)
    bins, signs = np.empty(n, np.int32), np.empty(n, np.int8)
    condition_events(ensemble.conditions, n_bins, ptr, bins, signs, True)
    return ptr, bins, signs


def _conditions_by_path_set(
    index: ComponentIndex, ensemble: LeafEnsemble
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each path set's conditions begin, and the distinct conditions, sorted by feature."""
    n_used_features, n_conditions = len(ensemble.grid.features), len(ensemble.complement)
    key = index.path_set_of_leaf[ensemble.condition_leaf] * n_used_features + ensemble.condition_feature
    keys = np.unique(key * n_conditions + ensemble.leaf_condition)
    n_path_sets = len(index.path_set_players)
    return np.searchsorted(keys, np.arange(n_path_sets + 1) * n_used_features * n_conditions), keys % max(
        n_conditions, 1
    )


def _leaves_by_path_set(
    index: ComponentIndex, leaves: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The leaves sorted by path set, and where each path set begins."""
    path_set = index.path_set_of_leaf[leaves]
    order = np.argsort(path_set, kind="stable")
    return leaves[order], np.searchsorted(path_set[order], np.arange(len(index.path_set_players) + 1)).astype(
        np.int64
    )
