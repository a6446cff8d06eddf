r"""Stream components that have no table over the bins: add the terms of their leaves, for some rows.

The term of a leaf in component S depends on the set A of the players in S whose conditions the row meets: it is
(-1)^|S| Z[A], with Z[A] the sum of (-1)^|V| E(P \ V) over V in A.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weight
from skglex._kernels.compilation import kernel
from skglex._kernels.patterns import BLOCK, leaf_pattern, violations
from skglex._kernels.subsets import count_members, distinct_patterns, sum_over_subsets


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
