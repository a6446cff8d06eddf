"""Compute components without a table over the bins from the leaves, for the rows at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._pattern_tables import GroupTables, lay_out
from skglex._kernels.arguments import CoalitionArrays, StreamedComponents
from skglex._kernels.streaming import component_pattern_tables, stream_components, sum_orders
from skglex._leaves import CoalitionWeights, LeafGames
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, scaled, weight_chunks


def streaming(
    components: StreamedComponents,
    weights: CoalitionWeights,
    bins: NDArray[np.unsignedinteger],
    out: NDArray[Any],
    execution: Execution = DEFAULT_EXECUTION,
) -> Callable[[NDArray[np.int64], CoalitionArrays], None]:
    """Return a function that adds what some leaves, with their weights, give to components.

    It adds their values to their rows of each output's block of ``out``. With many rows, groups of leaves get pattern
    tables. Leaves whose coalitions are listed by rank, and all leaves with few rows, are solved for the patterns that
    occur.
    """
    games = weights.games
    ensemble, n_leaves = games.ensemble, games.ensemble.n_leaves
    n_columns = np.diff(components.ptr)[components.path_set_of_leaf]
    many_rows = bins.shape[1] > budgets.pattern_table_rows
    in_groups = ~weights.ranked if many_rows else np.zeros(n_leaves, dtype=bool)
    alone = (n_columns > 0) & ~in_groups
    leaf_arrays = ensemble.paths, games.players.arrays, ensemble.leaf_values

    def add(leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        in_tables = np.zeros(n_leaves, np.int64)
        in_tables[leaves] = np.where(in_groups[leaves], n_columns[leaves], 0)
        groups = np.searchsorted(games.groups.group_leaf, [leaves[0], leaves[-1] + 1])
        step = len(out) // ensemble.n_outputs
        for tables in _tables_of_groups(games, groups, in_tables, components, coalitions, step, execution):
            tables.add_to(out, games, bins, execution=execution, label="components")
        if not alone[leaves].any():
            return
        args = leaves[alone[leaves]], *leaf_arrays, coalitions, components, ensemble.n_outputs
        execution.run(
            stream_components,
            [(bins, ensemble.conditions, *args, r0, r1, out) for r0, r1 in row_chunks(bins.shape[1])],
            label="components",
        )

    return add


def sum_orders_of(
    weights: CoalitionWeights,
    usable: NDArray[np.uint64],
    bins: NDArray[np.unsignedinteger],
    n_orders: int,
    execution: Execution = DEFAULT_EXECUTION,
) -> NDArray[np.float64]:
    """Return the sum of all components of each order up to ``n_orders``: (n_outputs, n_orders, n_samples).

    ``usable`` holds the bit mask of the players of each leaf that components may have.
    """
    games = weights.games
    ensemble = games.ensemble
    out = np.zeros((ensemble.n_outputs * n_orders, bins.shape[1]))
    coefficient = _order_coefficients(games.players.largest, n_orders)
    leaf_arrays = ensemble.paths, games.players.arrays, ensemble.leaf_values
    for leaves, coalitions in weights.chunks(execution=execution):
        args = bins, ensemble.conditions, leaves, *leaf_arrays, coalitions, usable, coefficient
        execution.run(
            sum_orders, [(*args, r0, r1, out) for r0, r1 in row_chunks(bins.shape[1])], label="orders"
        )
    return out.reshape(ensemble.n_outputs, n_orders, bins.shape[1])


def _order_coefficients(largest: int, n_orders: int) -> NDArray[np.float64]:
    """Return (-1)^(q - v) C(k - v, q - v) at [k, q - 1, v], for 1 <= q <= n_orders."""
    out = np.zeros((largest + 1, n_orders, n_orders + 1))
    for k in range(largest + 1):
        for q in range(1, n_orders + 1):
            for v in range(min(q, k) + 1):
                out[k, q - 1, v] = (-1) ** (q - v) * comb(k - v, q - v)
    return out


def by_path_set(
    index: ComponentIndex, chosen: NDArray[np.int64], column: NDArray[np.int64]
) -> StreamedComponents:
    """List the chosen components by the path sets that they come from."""
    sources = index.sources
    n_sources = np.diff(sources.ptr)[chosen]
    source = np.concatenate([np.arange(*sources.ptr[c : c + 2]) for c in chosen])
    path_sets, path_set = index.path_sets, sources.path_set[source]
    order = np.argsort(path_set, kind="stable")
    ptr = np.searchsorted(path_set[order], np.arange(len(path_sets.players) + 1)).astype(np.int64)
    columns = np.repeat(column, n_sources)[order]
    return StreamedComponents(path_sets.of_leaf, ptr, sources.mask[source][order], columns)


def _tables_of_groups(
    games: LeafGames,
    between: NDArray[np.int64],
    n_columns: NDArray[np.int64],
    components: StreamedComponents,
    coalitions: CoalitionArrays,
    per_output: int,
    execution: Execution,
) -> Iterator[GroupTables]:
    """Yield tables of the groups ``between[0] <= g < between[1]``, with ``n_columns`` components per leaf."""
    ensemble, n_patterns = games.ensemble, games.groups.n_patterns[between[0] : between[1]]
    cost = games.sum_by_group(n_columns)[between[0] : between[1]] * n_patterns * ensemble.value.shape[1]
    for a, b in weight_chunks(cost, scaled(budgets.pattern_table_size)):
        first, last = between[0] + a, between[0] + b
        l0, l1 = games.leaves_of(first, last)
        leaf_ptr = np.zeros(ensemble.n_leaves + 1, np.int64)
        np.cumsum(n_columns[l0:l1], out=leaf_ptr[l0 + 1 : l1 + 1])
        component = np.arange(leaf_ptr[l1]) + np.repeat(
            components.ptr[components.path_set_of_leaf[l0:l1]] - leaf_ptr[l0:l1], n_columns[l0:l1]
        )
        tables, columns = lay_out(games, first, last, leaf_ptr, components.column[component], per_output)
        mask = components.mask[component].astype(np.int64)
        args = games.groups.leaf_bits(first, last), tables.tables, columns, mask
        leaf_arrays = ensemble.paths, games.players.arrays, ensemble.value
        execution.run(
            component_pattern_tables,
            [
                (*args, *leaf_arrays, coalitions, c, d)
                for c, d in weight_chunks(cost[a:b], scaled(budgets.pattern_table_size) / 16)
            ],
        )
        yield tables
