"""Compute components without a table over the bins from the leaves, for the rows at hand."""

from __future__ import annotations

from itertools import chain
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._shares import add_in_shares
from skglex._kernels.arguments import StreamedComponents
from skglex._kernels.streaming import add_components_by_state, stream_components, sum_orders
from skglex._leaves import CoalitionWeights, most_states
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks


def add_streamed(
    components: StreamedComponents,
    weights: CoalitionWeights,
    bins: NDArray[np.unsignedinteger],
    out: NDArray[Any],
    execution: Execution = DEFAULT_EXECUTION,
) -> None:
    """Add components' values to their rows of each output's block of ``out``.

    With many rows, the leaves of each path set are solved in clusters. Leaves whose coalitions are listed by rank, and
    all leaves with few rows, are solved for the patterns that occur.
    """
    games, n_rows = weights.games, bins.shape[1]
    ensemble, n_leaves = games.ensemble, games.ensemble.n_leaves
    has_components = np.diff(components.ptr)[components.path_set_of_leaf] > 0
    in_clusters = ~weights.ranked if n_rows > budgets.pattern_table_rows else np.zeros(n_leaves, dtype=bool)
    leaf_arrays = ensemble.paths, games.players.arrays, ensemble.leaf_values
    for leaves, coalitions in weights.chunks(execution=execution):
        args = *leaf_arrays, coalitions, components
        joined = leaves[(has_components & in_clusters)[leaves]]
        if len(joined):
            joined = joined[np.argsort(components.path_set_of_leaf[joined], kind="stable")]
            sizes = ensemble.grid.n_bins, most_states(n_rows), len(out) // ensemble.n_outputs
            by_state = ensemble.conditions, *args, *sizes
            add_in_shares(add_components_by_state, by_state, joined, bins, out, execution, "components")
        alone = leaves[(has_components & ~in_clusters)[leaves]]
        if len(alone):
            execution.run(
                stream_components,
                [
                    (bins, ensemble.conditions, alone, *args, ensemble.n_outputs, r0, r1, out)
                    for r0, r1 in row_chunks(n_rows)
                ],
                label="components",
            )


def sum_orders_of(
    weights: CoalitionWeights,
    usable: NDArray[np.bool_],
    bins: NDArray[np.unsignedinteger],
    n_orders: int,
    execution: Execution = DEFAULT_EXECUTION,
) -> NDArray[np.float64]:
    """Return the sum of all components of each order up to ``n_orders``: (n_outputs, n_orders, n_samples).

    ``usable`` says of each leaf condition whether components may have its player.
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
    ptr = np.searchsorted(path_set[order], np.arange(len(path_sets) + 1)).astype(np.int64)
    columns, path_set = np.repeat(column, n_sources)[order], path_set[order]
    of_set = [index.sets[c] for c in chosen.tolist()]
    set_sizes = np.array([len(members) for members in of_set], np.int64)
    first, flat = np.cumsum(set_sizes) - set_sizes, np.array([*chain.from_iterable(of_set)], np.int64)
    item = np.repeat(np.arange(len(chosen)), n_sources)[order]
    sizes = set_sizes[item]
    member = flat[np.repeat(first[item] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())]
    member = path_sets.positions(np.repeat(path_set, sizes), member)
    member_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return StreamedComponents(path_sets.of_leaf, ptr, member_ptr, member, columns)
