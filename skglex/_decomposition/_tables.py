"""Tabulate components over the bins that their leaves distinguish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._table_or_stream import choose_tables
from skglex._kernels.arguments import (
    Axes,
    CoalitionArrays,
    Events,
    PairsOfPathSets,
    PathSetItems,
    TableLayout,
)
from skglex._kernels.component_tables import (
    add_corners,
    add_main_corners,
    add_pair_corners,
    condition_events,
    look_up,
    map_bins,
    name_pairs,
    sum_corners,
)
from skglex._leaves import CoalitionWeights, LeafEnsemble, Players
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled, table_chunks, weight_chunks
from skglex.components import Axis

# Components whose axes or tables one task works on.
_COMPONENTS_PER_TASK = 32
# Leaf conditions that are sorted at one time.
_SORTED = 1 << 20


@dataclass(frozen=True)
class ComponentTables:
    """Hold dense tables of some of the components.

    Attributes
    ----------
    tabulated : ndarray of shape (n_components,), bool
        Which components have a table. The axes of the others have no cells.
    layout : TableLayout
    values : ndarray, float64
        Empty until `fill_tables`.
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
    axes, events = _list_axes(index, weights.games.players), events_of(ensemble)
    component = np.repeat(np.arange(len(index.sets)), np.diff(axes.ptr))

    candidates = np.arange(len(index.sets)) if wanted is None else wanted
    main = _of_single_features(index, axes, 1)
    others = candidates[~main[candidates]]
    conditions = (
        _conditions_by_path_set(index, ensemble) if len(others) else PathSetItems(*np.zeros((2, 1), int))
    )
    args = axes, index.sources, conditions, ensemble.conditions.feature, events, n_bins
    size = np.zeros(len(axes.feature), np.int64)
    cell_of_bin, of_main = _cells_of_bins(ensemble, events), axes.ptr[:-1][main]
    size[of_main] = [cell_of_bin[s][-1] + 1 for s in axes.feature[of_main]]
    # Sizes come first: the cells of the bins are kept for those components only that get a table.
    no_ptr, longest = np.zeros(len(size), np.int64), int(n_bins.max(initial=0))
    execution.run(
        map_bins, [(*args, part, size, no_ptr, np.empty(longest, np.int32)) for part in _parts(others)]
    )
    cells = np.full(len(index.sets), np.inf)
    for c in candidates:
        cells[c] = np.prod(size[axes.ptr[c] : axes.ptr[c + 1]], dtype=np.float64)
    map_cells = np.bincount(component, n_bins[axes.feature], len(index.sets)).astype(np.int64)
    tabulated = choose_tables(cells * ensemble.n_outputs, map_cells, max_cells)

    map_size = np.where(tabulated[component], n_bins[axes.feature], 0)
    map_ptr, maps = np.cumsum(map_size) - map_size, np.zeros(int(map_size.sum()), np.int32)
    chosen = np.flatnonzero(tabulated)
    execution.run(map_bins, [(*args, part, size, map_ptr, maps) for part in _parts(chosen[~main[chosen]])])
    for a in axes.ptr[chosen[main[chosen]]]:
        maps[map_ptr[a] : map_ptr[a] + map_size[a]] = cell_of_bin[axes.feature[a]]
    stride = np.ones(len(axes.feature), np.int64)
    for c in chosen:
        for a in range(axes.ptr[c + 1] - 2, axes.ptr[c] - 1, -1):
            stride[a] = stride[a + 1] * size[a + 1]
    n_cells = np.where(tabulated, cells, 0).astype(np.int64)
    table_ptr = np.concatenate([[0], np.cumsum(n_cells * ensemble.n_outputs)])[:-1].astype(np.int64)
    layout = TableLayout(axes, size, stride, map_ptr, maps, table_ptr, n_cells)
    return ComponentTables(tabulated, layout, np.empty(0))


def lay_out_points(
    index: ComponentIndex,
    weights: CoalitionWeights,
    axes: Axes,
    chosen: NDArray[np.int64],
    points: Mapping[int, NDArray[np.int64]],
) -> ComponentTables:
    """Lay out tables of the chosen components at some bins of their features, and one more cell per axis.

    The corner of a leaf's box counts from the first of these bins that is not before it. The last cell along an axis
    holds the corners after all of them.

    Parameters
    ----------
    index : ComponentIndex
    weights : CoalitionWeights
    axes : Axes
    chosen : ndarray of int64
    points : mapping of int to ndarray of int64
        Increasing bins of each used_feature of these components.
    """
    n_bins = weights.games.ensemble.grid.n_bins
    n_axes, n_sets = len(axes.feature), len(index.sets)
    size, stride, map_ptr = np.zeros(n_axes, np.int64), np.ones(n_axes, np.int64), np.zeros(n_axes, np.int64)
    maps = {s: np.searchsorted(bins, np.arange(n_bins[s])).astype(np.int32) for s, bins in points.items()}
    start = dict(zip(maps, np.cumsum([0, *map(len, maps.values())]).tolist()))
    n_cells = np.zeros(n_sets, np.int64)
    for c in chosen.tolist():
        own = range(axes.ptr[c], axes.ptr[c + 1])
        for a in own:
            size[a], map_ptr[a] = len(points[axes.feature[a]]) + 1, start[axes.feature[a]]
        for a in own[-2::-1]:
            stride[a] = stride[a + 1] * size[a + 1]
        n_cells[c] = np.prod(size[own])
    n_values = n_cells * weights.games.ensemble.n_outputs
    flat = np.concatenate([*maps.values(), np.empty(0, np.int32)])
    layout = TableLayout(axes, size, stride, map_ptr, flat, np.cumsum(n_values) - n_values, n_cells)
    return ComponentTables(n_cells > 0, layout, np.empty(0))


class TableFilling:
    """Compute the values of tables: add every leaf at the corners of its boxes, then sum along the axes.

    Parameters
    ----------
    tables : ComponentTables
        Laid out, without values.
    index : ComponentIndex
    weights : CoalitionWeights
    execution : Execution
    """

    def __init__(
        self, tables: ComponentTables, index: ComponentIndex, weights: CoalitionWeights, execution: Execution
    ) -> None:
        self._index, self._ensemble, self._execution = index, weights.games.ensemble, execution
        self._players, layout = weights.games.players.arrays, tables.layout
        self._tables = replace(tables, values=np.zeros(int(layout.n_cells.sum()) * self._ensemble.n_outputs))
        self._chosen, self._events = np.flatnonzero(tables.tabulated), events_of(self._ensemble)
        main, self._pairs, self._others = _by_kind(index, layout.axes, self._chosen)
        self._main = np.full(len(self._ensemble.grid.features), -1)
        self._main[layout.axes.feature[layout.axes.ptr[main]]] = main
        self._located = _pairs_of_path_sets(index, layout, self._pairs)
        self._most_events = int(np.diff(self._events.ptr).max(initial=0))
        self._shares = _shares(index, self._pairs, execution.n_threads)

    def add(self, leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        """Add some leaves, given their weights."""
        ensemble, layout, values = self._ensemble, self._tables.layout, self._tables.values
        paths, players, feature = ensemble.paths, self._players, ensemble.conditions.feature
        terms = ensemble.leaf_values, coalitions, self._events
        if (self._main >= 0).any():
            of_main = leaves, paths, players.position, feature, *terms, self._main, layout
            self._execution.run(add_main_corners, [(*of_main, values)])
        if len(self._pairs):
            of_pairs = leaves, paths, players, self._located, *terms, self._most_events
            self._execution.run(add_pair_corners, [(*of_pairs, *share, values) for share in self._shares])
        if len(self._others):
            by_path_set = leaves_by_path_set(self._index, leaves)
            of_others = layout, self._index.sources, by_path_set, paths, players, feature
            self._execution.run(
                add_corners,
                [(*of_others, *terms, part, values) for part in _parts(self._others)],
                label="component tables",
            )

    def finish(self) -> ComponentTables:
        """Return the tables, once all leaves are added."""
        layout, n_outputs = self._tables.layout, self._ensemble.n_outputs
        parts = weight_chunks(layout.n_cells[self._chosen], budgets.table_cells)
        tasks = [(layout, n_outputs, self._chosen[a:b], self._tables.values) for a, b in parts]
        self._execution.run(sum_corners, tasks)
        return self._tables


def fill_tables(
    tables: ComponentTables,
    index: ComponentIndex,
    weights: CoalitionWeights,
    execution: Execution = DEFAULT_EXECUTION,
    also: Callable[[NDArray[np.int64], CoalitionArrays], None] | None = None,
) -> ComponentTables:
    """Compute the values of tables (see `TableFilling`).

    ``also`` is called with some leaves and their weights, until all leaves had their turn: making weights takes long.
    """
    filling = TableFilling(tables, index, weights, execution)
    for leaves, coalitions in weights.chunks(execution=execution):
        filling.add(leaves, coalitions)
        if also is not None:
            also(leaves, coalitions)
    return filling.finish()


def table_axes(
    tables: ComponentTables,
    component: int,
    ensemble: LeafEnsemble,
    names: list[str],
    categories: Mapping[int, NDArray[Any]],
) -> tuple[tuple[Axis, ...], list[NDArray[np.int32]]]:
    """Return the axes of a component's table as users see it, and the cell of the table in each of their bins.

    Missing values are last on every axis, and categories are one by one.
    """
    grid, layout = ensemble.grid, tables.layout
    axes, cells_of_axes = [], []
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
        cells_of_axes.append(cells[first])
        axes.append(Axis(names[feature], edges, bool(grid.categorical[used_feature]), len(first) - 1))
    return tuple(axes), cells_of_axes


def _parts(components: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [components[i : i + _COMPONENTS_PER_TASK] for i in range(0, len(components), _COMPONENTS_PER_TASK)]


def _list_axes(index: ComponentIndex, players: Players) -> Axes:
    """List the used_features of every component's players."""
    n_players = int(players.player_of_feature.max(initial=-1)) + 1
    features_of = [np.flatnonzero(players.player_of_feature == p) for p in range(n_players)]
    axes = [np.concatenate([features_of[p] for p in members]) for members in index.sets]
    ptr = np.concatenate([[0], np.cumsum([len(a) for a in axes])]).astype(np.int64)
    return Axes(ptr, np.concatenate([*axes, np.empty(0, np.int64)]).astype(np.int64))


def _of_single_features(index: ComponentIndex, axes: Axes, order: int) -> NDArray[np.bool_]:
    """Return which components are those of so many players, each of one feature."""
    orders = np.array([len(members) for members in index.sets], dtype=np.int64)
    return np.asarray((orders == order) & (np.diff(axes.ptr) == order))


def _by_kind(
    index: ComponentIndex, axes: Axes, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the main effects of features, the pairs of features whose leaves can be looked up, and the others."""
    is_main, is_pair = (_of_single_features(index, axes, order)[chosen] for order in (1, 2))
    if _pair_ptr(index)[-1] > budgets.listed_components:
        # Only some of the features on long paths are of interest.
        is_pair[:] = False
    return chosen[is_main], chosen[is_pair], chosen[~(is_main | is_pair)]


def _pair_ptr(index: ComponentIndex) -> NDArray[np.int64]:
    """Return the running sum of the numbers of pairs of all path sets."""
    sizes = index.path_sets.sizes
    return np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)])


def _pairs_of_path_sets(
    index: ComponentIndex, layout: TableLayout, chosen: NDArray[np.int64]
) -> PairsOfPathSets:
    """Locate the tables of the chosen components, each of two features, by the pairs of every path set."""
    path_sets, axis = index.path_sets, layout.axes.ptr[chosen]
    ptr = _pair_ptr(index)
    place = np.zeros((len(index.sets), 5), np.int64)
    where = layout.stride[axis], layout.map_ptr[axis], layout.map_ptr[axis + 1]
    place[chosen] = np.column_stack([layout.table_ptr[chosen], layout.n_cells[chosen], *where])
    component = np.full(ptr[-1] if len(chosen) else 0, -1, np.int32)
    members = np.array([index.sets[c] for c in chosen.tolist()], np.int64).reshape(-1, 2)
    name_pairs(members, chosen, index.sources, path_sets.ptr, path_sets.member, ptr, component)
    return PairsOfPathSets(path_sets.of_leaf, ptr, component, place, layout.maps)


def _shares(index: ComponentIndex, pairs: NDArray[np.int64], n_shares: int) -> list[tuple[int, int]]:
    """Divide the first players of pairs, by the number of path sets that have these pairs.

    Each share visits all leaves. What a component gets, and in which order, does not depend on the shares.
    """
    first = np.array([index.sets[c][0] for c in pairs.tolist()], np.int64)
    total = np.cumsum(np.bincount(first, np.diff(index.sources.ptr)[pairs]))
    ends = np.searchsorted(total, np.linspace(0, total.max(initial=0), n_shares + 1)[1:]) + 1
    return [part for part in pairwise([0, *ends.tolist()]) if part[0] < part[1]]


def _cells_of_bins(ensemble: LeafEnsemble, events: Events) -> list[NDArray[np.int64]]:
    """Return the cell of every bin of each feature; conditions of leaves begin or end where a cell begins."""
    n_bins, feature = ensemble.grid.n_bins, ensemble.conditions.feature
    bin_ptr = np.concatenate([[0], np.cumsum(n_bins)])
    used = np.zeros(len(feature), dtype=bool)
    used[ensemble.leaf_condition] = True
    condition = np.repeat(np.arange(len(feature)), np.diff(events.ptr))
    starts = np.zeros(bin_ptr[-1], np.int64)
    starts[(bin_ptr[feature[condition]] + events.bin[: len(condition)])[used[condition]]] = 1
    starts[bin_ptr[:-1]] = 0
    return [np.cumsum(part) for part in np.split(starts, bin_ptr[1:-1])]


def events_of(ensemble: LeafEnsemble) -> Events:
    """Find the bins at which each condition begins and ends to hold."""
    conditions, n_bins = ensemble.conditions, ensemble.grid.n_bins
    # An interval begins and ends once, and may begin again at missing. A mask may change at every bin.
    most = int(np.where(conditions.mask >= 0, n_bins[conditions.feature], 3).sum())
    ptr = np.empty(len(conditions.feature) + 1, np.int64)
    events = Events(ptr, np.empty(most, np.int32), np.empty(most, np.int8))
    condition_events(conditions, n_bins, events)
    return events


def _conditions_by_path_set(index: ComponentIndex, ensemble: LeafEnsemble) -> PathSetItems:
    """List the distinct conditions of the leaves of each path set, sorted by feature."""
    n_used_features, n_conditions = len(ensemble.grid.features), len(ensemble.complement)
    counts = np.diff(ensemble.leaf_ptr)
    parts = [np.empty(0, np.int64)]
    for first, last in weight_chunks(counts, _SORTED):
        condition = ensemble.leaf_condition[ensemble.leaf_ptr[first] : ensemble.leaf_ptr[last]]
        key = np.repeat(index.path_sets.of_leaf[first:last], counts[first:last]) * n_used_features
        key = (key + ensemble.conditions.feature[condition]) * n_conditions + condition
        parts.append(_sorted_unique(key))
    keys = _sorted_unique(np.concatenate(parts))
    starts = np.arange(len(index.path_sets) + 1) * n_used_features * n_conditions
    return PathSetItems(np.searchsorted(keys, starts), keys % max(n_conditions, 1))


def _sorted_unique(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys, increasing; the keys themselves are sorted in place."""
    keys.sort()
    return np.asarray(keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]])


def leaves_by_path_set(index: ComponentIndex, leaves: NDArray[np.int64]) -> PathSetItems:
    """List the leaves of each path set."""
    path_set = index.path_sets.of_leaf[leaves]
    order = np.argsort(path_set, kind="stable")
    ptr = np.searchsorted(path_set[order], np.arange(len(index.path_sets) + 1))
    return PathSetItems(ptr.astype(np.int64), leaves[order])
