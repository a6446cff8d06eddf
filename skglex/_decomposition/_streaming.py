"""Components without a table over the bins: from the leaves, for the rows at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._pattern_tables import GroupTables, lay_out
from skglex._kernels.coalitions import component_tables
from skglex._kernels.component_tables import stream_components
from skglex._leaves import CoalitionWeights
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, scaled, weight_chunks


def add_streamed(
    index: ComponentIndex,
    weights: CoalitionWeights,
    bins: NDArray[np.unsignedinteger],
    chosen: NDArray[np.int64],
    column: NDArray[np.int64],
    out: NDArray[Any],
    execution: Execution = DEFAULT_EXECUTION,
) -> None:
    """Add the chosen components' values to the rows ``column`` of each output's block of ``out``."""
    ensemble, players = weights.ensemble, weights.players
    n_sources = np.diff(index.source_ptr)[chosen]
    source = np.concatenate([np.arange(*index.source_ptr[c : c + 2]) for c in chosen])
    path_set = index.source_path_set[source]
    order = np.argsort(path_set, kind="stable")
    item_ptr = np.searchsorted(path_set[order], np.arange(len(index.path_set_players) + 1)).astype(np.int64)
    items = item_ptr, index.source_mask[source][order], np.repeat(column, n_sources)[order]
    ranks = weights.ranks
    in_groups = (
        ~weights.ranked
        if bins.shape[1] > budgets.pattern_table_rows
        else np.zeros(ensemble.n_leaves, dtype=bool)
    )
    alone = (np.diff(item_ptr)[index.path_set_of_leaf] > 0) & ~in_groups
    for leaves, start, fixed in weights.chunks(execution=execution):
        n_items = np.zeros(ensemble.n_leaves, np.int64)
        n_items[leaves] = np.where(in_groups[leaves], np.diff(item_ptr)[index.path_set_of_leaf[leaves]], 0)
        groups = np.searchsorted(weights.groups.group_leaf, [leaves[0], leaves[-1] + 1])
        for tables in _tables_of_groups(
            weights, groups, n_items, index.path_set_of_leaf, items, start, fixed, out, execution
        ):
            tables.add_to(out, ensemble, weights.groups, bins, execution=execution, label="components")
        if not alone[leaves].any():
            continue
        execution.run(
            stream_components,
            [
                (bins, ensemble.conditions, leaves[alone[leaves]], ensemble.leaf_ptr)
                + (ensemble.leaf_condition, players.condition_player, players.n_players)
                + (index.path_set_of_leaf, weights.ranked, ensemble.value, ensemble.output)
                + (start, fixed, *ranks, *items, ensemble.n_outputs, r0, r1, out)
                for r0, r1 in row_chunks(bins.shape[1])
            ],
            label="components",
        )


def _tables_of_groups(
    weights: CoalitionWeights,
    between: NDArray[np.int64],
    n_items: NDArray[np.int64],
    path_set_of_leaf: NDArray[np.int64],
    items: tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]],
    start: NDArray[np.int64],
    fixed: NDArray[np.float64],
    out: NDArray[np.float64],
    execution: Execution,
) -> Iterator[GroupTables]:
    """Tables of the groups ``between[0] <= g < between[1]``, of ``n_items`` components per leaf."""
    ensemble, players, groups = weights.ensemble, weights.players, weights.groups
    item_ptr, item_mask, item_column = items
    per_group = np.add.reduceat(np.append(n_items, 0), groups.group_leaf[:-1])[between[0] : between[1]]
    cost = per_group * groups.n_patterns[between[0] : between[1]] * ensemble.value.shape[1]
    for a, b in weight_chunks(cost, scaled(budgets.pattern_table_size)):
        first, last = between[0] + a, between[0] + b
        l0, l1 = groups.group_leaf[first], groups.group_leaf[last]
        own_ptr = np.zeros(ensemble.n_leaves + 1, np.int64)
        np.cumsum(n_items[l0:l1], out=own_ptr[l0 + 1 : l1 + 1])
        item = np.arange(own_ptr[l1]) + np.repeat(
            item_ptr[path_set_of_leaf[l0:l1]] - own_ptr[l0:l1], n_items[l0:l1]
        )
        step = len(out) // ensemble.n_outputs
        tables, leaf_column = lay_out(ensemble, groups, first, last, own_ptr, item_column[item], step)
        own_mask = item_mask[item].astype(np.int64)
        execution.run(
            component_tables,
            [
                (*tables.kernel_args(groups), leaf_column, own_ptr, own_mask, ensemble.leaf_ptr)
                + (groups.bit, groups.flip, players.condition_player, players.n_players, ensemble.value)
                + (start, fixed, c, d, tables.values)
                for c, d in weight_chunks(cost[a:b], scaled(budgets.pattern_table_size) / 16)
            ],
        )
        yield tables
