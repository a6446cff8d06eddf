"""Tabulate components over the bins that their leaves distinguish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._streaming import by_path_set
from skglex._decomposition._table_or_stream import choose_tables
from skglex._kernels.arguments import (
    Axes,
    CoalitionArrays,
    Conditions,
    Events,
    PathSetItems,
    TableLayout,
)
from skglex._kernels.component_tables import (
    add_corners,
    condition_events,
    look_up,
    map_bins,
    sum_corners,
)
from skglex._leaves import CoalitionWeights, LeafEnsemble, Players
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled, table_chunks, weight_chunks
from skglex.components import Axis

# Components whose axes or tables one task works on.
_COMPONENTS_PER_TASK = 32


@dataclass(frozen=True)
class ComponentTables:
    """Hold dense tables of some of the components.

    Attributes
    ----------
    tabulated : ndarray of shape (n_components,), bool
        Which components have a table. The axes of the others have no cells.
    layout : TableLayout
    values : ndarray, float64
        Empty until `TableFilling`.
    """

    tabulated: NDArray[np.bool_]
    layout: TableLayout
    values: NDArray[np.float64]

    def axes(self, component: int) -> slice:
        """Return the positions of a component's axes in the layout."""
        ptr = self.layout.axes.ptr
        return slice(int(ptr[component]), int(ptr[component + 1]))

    def axis_features(self, component: int) -> NDArray[np.int64]:
        """Return the used_feature of each of a component's axes."""
        return self.layout.axes.feature[self.axes(component)]

    def axis_sizes(self, component: int) -> NDArray[np.int64]:
        """Return the number of cells along each of a component's axes."""
        return self.layout.size[self.axes(component)]

    def table(self, component: int, n_outputs: int) -> NDArray[np.float64]:
        """Return a component's values over the cells, the outputs last."""
        start = self.layout.table_ptr[component]
        flat = self.values[start : start + n_outputs * self.layout.n_cells[component]]
        return np.moveaxis(flat.reshape(n_outputs, *self.axis_sizes(component)), 0, -1)

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
        execution.run(
            look_up,
            [
                (bins, self.layout, self.values, n_outputs, chosen[part], column[part], r0, r1, out)
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
    ensemble = weights.games.ensemble
    n_bins = ensemble.grid.n_bins
    axes = _list_axes(index, weights.games.players)
    conditions = _conditions_by_path_set(index, ensemble)
    args = axes, index.sources, conditions, events_of(ensemble.conditions, n_bins), n_bins
    component = np.repeat(np.arange(len(index.sets)), np.diff(axes.ptr))

    candidates = np.arange(len(index.sets)) if wanted is None else wanted
    size = np.zeros(len(axes.feature), np.int64)
    # Sizes come first: the cells of the bins are kept for those components only that get a table.
    no_ptr, longest = np.zeros(len(size), np.int64), int(n_bins.max(initial=0))
    execution.run(
        map_bins, [(*args, part, size, no_ptr, np.empty(longest, np.int32)) for part in _parts(candidates)]
    )
    cells = np.full(len(index.sets), np.inf)
    for c in candidates:
        cells[c] = np.prod(size[axes.ptr[c] : axes.ptr[c + 1]], dtype=np.float64)
    map_cells = np.bincount(component, n_bins[axes.feature], len(index.sets)).astype(np.int64)
    tabulated = choose_tables(cells * ensemble.n_outputs, map_cells, max_cells)

    map_size = np.where(tabulated[component], n_bins[axes.feature], 0)
    map_ptr, maps = np.cumsum(map_size) - map_size, np.zeros(int(map_size.sum()), np.int32)
    chosen = np.flatnonzero(tabulated)
    execution.run(map_bins, [(*args, part, size, map_ptr, maps) for part in _parts(chosen)])
    stride = np.ones(len(axes.feature), np.int64)
    for c in chosen:
        for a in range(axes.ptr[c + 1] - 2, axes.ptr[c] - 1, -1):
            stride[a] = stride[a + 1] * size[a + 1]
    n_cells = np.where(tabulated, cells, 0).astype(np.int64)
    table_ptr = np.concatenate([[0], np.cumsum(n_cells * ensemble.n_outputs)])[:-1].astype(np.int64)
    layout = TableLayout(axes, size, stride, map_ptr, maps, table_ptr, n_cells)
    return ComponentTables(tabulated, layout, np.empty(0))


class TableFilling:
    """Compute the values of tables: add every leaf at the corners of its boxes, then sum along the axes.

    Parameters
    ----------
    tables : ComponentTables
        Tables without values.
    index : ComponentIndex
    ensemble : LeafEnsemble
    players : Players
    execution : Execution
    """

    def __init__(
        self,
        tables: ComponentTables,
        index: ComponentIndex,
        ensemble: LeafEnsemble,
        players: Players,
        execution: Execution,
    ) -> None:
        self._tables = replace(tables, values=np.zeros(int(tables.layout.n_cells.sum()) * ensemble.n_outputs))
        self._ensemble, self._players, self._execution = ensemble, players, execution
        self._chosen = np.flatnonzero(tables.tabulated)
        self._parts = [by_path_set(index, part, part) for part in _parts(self._chosen)]

    def add(self, leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        """Add some leaves, with their weights."""
        ensemble, layout = self._ensemble, self._tables.layout
        leaf_arrays = ensemble.paths, self._players.arrays, ensemble.leaf_values
        args = leaves, *leaf_arrays, coalitions, leaf_events(ensemble, leaves)
        self._execution.run(
            add_corners,
            [(layout, part, *args, self._tables.values) for part in self._parts],
            label="component tables",
        )

    def finish(self) -> ComponentTables:
        """Return the tables, after all leaves have been added."""
        layout, chosen = self._tables.layout, self._chosen
        cells = weight_chunks(layout.n_cells[chosen], budgets.table_cells)
        n_outputs, values = self._ensemble.n_outputs, self._tables.values
        self._execution.run(sum_corners, [(layout, n_outputs, chosen[a:b], values) for a, b in cells])
        return self._tables


def table_axes(
    tables: ComponentTables,
    component: int,
    ensemble: LeafEnsemble,
    names: list[str],
    categories: Mapping[int, NDArray[Any]],
) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
    """Return a component's table as users see it: missing last on every axis, categories one by one."""
    grid, layout = ensemble.grid, tables.layout
    values = tables.table(component, ensemble.n_outputs)
    axes = []
    start = tables.axes(component).start
    for i, used_feature in enumerate(tables.axis_features(component).tolist()):
        n_bins = int(grid.n_bins[used_feature])
        feature = int(grid.features[used_feature])
        cells = layout.maps[layout.map_ptr[start + i] :][:n_bins]
        edges: NDArray[Any]
        if grid.categorical[used_feature]:
            first = np.arange(n_bins)
            codes = grid.cuts_of(used_feature).astype(np.int64)
            edges = categories[feature][codes] if feature in categories else codes
        else:
            # Keep the bins with numbers at which this component changes, then missing. Two thresholds between the same
            # two float32 numbers have equal edges, and no number is between them.
            changes = np.unique(cells[: grid.n_reached(used_feature)], return_index=True)[1]
            edges = grid.edges(used_feature)[changes[1:] - 1]
            last_of_equal = np.append(np.diff(edges) > 0, np.ones(min(len(edges), 1), dtype=bool))
            edges = edges[last_of_equal]
            first = np.concatenate([changes[:1], changes[1:][last_of_equal], [n_bins - 1]])
        values = np.take(values, cells[first], axis=i)
        axes.append(Axis(names[feature], edges, bool(grid.categorical[used_feature]), len(first) - 1))
    return tuple(axes), values


def _parts(components: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [components[i : i + _COMPONENTS_PER_TASK] for i in range(0, len(components), _COMPONENTS_PER_TASK)]


def _list_axes(index: ComponentIndex, players: Players) -> Axes:
    """List the used_features of every component's players."""
    n_players = int(players.player_of_feature.max(initial=-1)) + 1
    features_of = [np.flatnonzero(players.player_of_feature == p) for p in range(n_players)]
    axes = [np.concatenate([features_of[p] for p in members]) for members in index.sets]
    ptr = np.concatenate([[0], np.cumsum([len(a) for a in axes])]).astype(np.int64)
    return Axes(ptr, np.concatenate([*axes, np.empty(0, np.int64)]).astype(np.int64))


def events_of(conditions: Conditions, n_bins: NDArray[np.int64], first: int = 0) -> Events:
    """Find the bins at which each condition begins and ends to hold."""
    # An interval begins and ends once, and may begin again at missing. A mask may change at every bin.
    most = int(np.where(conditions.mask >= 0, n_bins[conditions.feature], 3).sum())
    ptr = np.empty(len(conditions.feature) + 1, np.int64)
    events = Events(first, conditions.feature, ptr, np.empty(most, np.int32), np.empty(most, np.int8))
    condition_events(conditions, n_bins, events)
    return events


def leaf_events(ensemble: LeafEnsemble, leaves: NDArray[np.int64]) -> Events:
    """Find the bins at which the conditions of a range of leaves begin and end to hold, leaf by leaf.

    A kernel then finds what it needs of a leaf in one place.
    """
    first, last = ensemble.leaf_ptr[leaves[0]], ensemble.leaf_ptr[leaves[-1] + 1]
    number, conditions = ensemble.leaf_condition[first:last], ensemble.conditions
    part = conditions._replace(
        feature=conditions.feature[number],
        lo=conditions.lo[number],
        hi=conditions.hi[number],
        missing=conditions.missing[number],
        mask=conditions.mask[number],
    )
    return events_of(part, ensemble.grid.n_bins, int(first))


def _conditions_by_path_set(index: ComponentIndex, ensemble: LeafEnsemble) -> PathSetItems:
    """List the distinct conditions of the leaves of each path set, sorted by feature."""
    n_used_features, n_conditions = len(ensemble.grid.features), len(ensemble.complement)
    key = index.path_sets.of_leaf[ensemble.condition_leaf] * n_used_features + ensemble.condition_feature
    keys = np.unique(key * n_conditions + ensemble.leaf_condition)
    starts = np.arange(len(index.path_sets.players) + 1) * n_used_features * n_conditions
    return PathSetItems(np.searchsorted(keys, starts), keys % max(n_conditions, 1))


def leaves_by_path_set(index: ComponentIndex, leaves: NDArray[np.int64]) -> PathSetItems:
    """List the leaves of each path set."""
    path_set = index.path_sets.of_leaf[leaves]
    order = np.argsort(path_set, kind="stable")
    ptr = np.searchsorted(path_set[order], np.arange(len(index.path_sets.players) + 1))
    return PathSetItems(ptr.astype(np.int64), leaves[order])
