r"""Stream components that have no table over the bins: add the terms of their leaves, for some rows.

The term of a leaf in component S depends on the set A of the players in S whose conditions the row meets: it is
(-1)^|S| Z[A], with Z[A] the sum of (-1)^|V| E(P \ V) over V in A.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weight
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, leaf_pattern, violations
from skglex._kernels.subsets import (
    count_members,
    distinct_patterns,
    first_subset,
    last_subset,
    next_subset,
    sum_over_subsets,
)


@kernel
def component_pattern_tables(
    leaf_bits, tables, columns, column_mask, paths, players, value, coalitions, g0, g1
):
    """Fill the groups' tables: the term of each leaf in each column's component, for each pattern.

    ``column_mask`` holds the component's players among those of the leaf. Tables are laid out as in
    `skglex._kernels.shapley.shapley_tables`.
    """
    n_outputs = value.shape[1]
    for g in range(g0, g1):
        size = leaf_bits.table_ptr[g + 1] - leaf_bits.table_ptr[g]
        n_columns = (tables.column_ptr[g + 1] - tables.column_ptr[g]) // n_outputs
        for leaf in range(leaf_bits.group_leaf[g], leaf_bits.group_leaf[g + 1]):
            if size == 0 or columns.ptr[leaf] == columns.ptr[leaf + 1]:
                continue
            k = players.n_players[leaf]
            n_members = count_members(k)
            weight = coalitions.weight[coalitions.start[leaf] :]
            z = np.empty(1 << k)
            for v in range(1 << k):
                z[v] = -weight[v] if n_members[v] & 1 else weight[v]
            sum_over_subsets(z, k)
            for p in range(size):
                met = ~leaf_pattern(p, leaf_bits, players, paths.ptr[leaf], paths.ptr[leaf + 1])
                for v in range(n_outputs):
                    at = tables.value_ptr[g] + (p * n_outputs + v) * n_columns
                    for i in range(columns.ptr[leaf], columns.ptr[leaf + 1]):
                        mask = column_mask[i]
                        sign = -value[leaf, v] if n_members[mask] & 1 else value[leaf, v]
                        tables.values[at + columns.position[i]] += sign * z[mask & met]


@kernel
def stream_components(
    bins, conditions, leaves, paths, players, values, coalitions, components, n_outputs, r0, r1, out
):
    """Add components leaf by leaf: one vector of terms per distinct pattern of a block of rows."""
    pattern = np.empty(BLOCK, np.uint64)
    number = np.empty(BLOCK, np.int64)
    distinct = np.empty(BLOCK, np.uint64)
    table = np.full(4 * BLOCK, -1, np.int64)
    terms = np.empty(BLOCK, np.float64)
    step = out.shape[0] // n_outputs
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        n = stop - start
        for i in range(leaves.shape[0]):
            leaf = leaves[i]
            path_set = components.path_set_of_leaf[leaf]
            if components.ptr[path_set] == components.ptr[path_set + 1]:
                continue
            first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, table, number, distinct)
            weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
            choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
            for item in range(components.ptr[path_set], components.ptr[path_set + 1]):
                mask = components.mask[item]
                for d in range(n_distinct):
                    met = mask & ~distinct[d]
                    total = 0.0
                    v = met
                    while True:
                        total += signed_weight(weight, mask, v, ranked, choose, offset)
                        if v == 0:
                            break
                        v = (v - np.uint64(1)) & met
                    terms[d] = total
                for o in range(values.value.shape[1]):
                    scale = values.value[leaf, o]
                    target = out[components.column[item] + (values.output[leaf] + o) * step, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[number[r]]


@kernel
def sum_orders(
    bins, conditions, leaves, paths, players, values, coalitions, usable, coefficient, r0, r1, out
):
    r"""Add the sum of all components of each order leaf by leaf, without listing the components.

    The sets S of order q that contain V are C(k - |V|, q - |V|) in number. So the sum over all S of order q is the sum
    over V of (-1)^(q - |V|) C(k - |V|, q - |V|) E(P \ V), which ``coefficient[k, q - 1, |V|]`` holds. ``usable`` has
    the mask of the players of each leaf that components may have; k is their number.
    """
    n_orders = coefficient.shape[1]
    pattern, distinct = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    number, table = np.empty(BLOCK, np.int64), np.full(4 * BLOCK, -1, np.int64)
    terms, by_size = np.empty((n_orders, BLOCK)), np.empty(n_orders + 1)
    masks, sizes, weight = np.empty(64, np.uint64), np.empty(64, np.int64), np.empty(64)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        n_subsets, masks, sizes, weight = list_weights(
            leaf, n_orders, players, coalitions, usable, masks, sizes, weight
        )
        n_usable = 0
        for player in range(players.n_players[leaf]):
            n_usable += (usable[leaf] >> np.uint64(player)) & np.uint64(1)
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, table, number, distinct)
            for d in range(n_distinct):
                by_size[:] = 0.0
                for v in range(n_subsets):
                    if masks[v] & distinct[d] == 0:
                        by_size[sizes[v]] += weight[v]
                for q in range(n_orders):
                    total = 0.0
                    for size in range(q + 2):
                        total += coefficient[n_usable, q, size] * by_size[size]
                    terms[q, d] = total
            for o in range(values.value.shape[1]):
                scale = values.value[leaf, o]
                for q in range(n_orders):
                    target = out[(values.output[leaf] + o) * n_orders + q, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[q, number[r]]


@helper
def list_weights(leaf, n_orders, players, coalitions, usable, masks, sizes, weight):
    """List the usable coalitions of up to ``n_orders`` players of a leaf, with their sizes and weights."""
    k = players.n_players[leaf]
    start, ranked = coalitions.start[leaf], coalitions.ranked[leaf]
    most = coalitions.ranks.offset[k, min(n_orders, k) + 1]
    if most > masks.shape[0]:
        masks, sizes, weight = np.empty(2 * most, np.uint64), np.empty(2 * most, np.int64), np.empty(2 * most)
    n = 0
    rank = 0
    for size in range(min(n_orders, k) + 1):
        v, last = first_subset(size), last_subset(size, k)
        while True:
            if v & ~usable[leaf] == 0:
                masks[n], sizes[n] = v, size
                weight[n] = coalitions.weight[start + (rank if ranked else np.int64(v))]
                n += 1
            rank += 1
            if v == last:
                break
            v = next_subset(v)
    return n, masks, sizes, weight
