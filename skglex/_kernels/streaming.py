r"""Stream components that have no table over the bins: add the terms of their leaves, for some rows.

The term of a leaf in component S depends on the set A of the players in S whose conditions the row meets: it is
(-1)^|S| Z[A], with Z[A] the sum of (-1)^|V| E(P \ V) over V in A.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weights
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, FEW_ROWS, leaf_pattern, violates, violations
from skglex._kernels.subsets import (
    count_members,
    distinct_patterns,
    first_members,
    next_members,
    sum_over_subsets,
)

# Leaves of more players than this are summed by order for one row after the other: few rows have equal patterns.
_MOST_IN_PATTERN = 24
_NO_BITS = np.zeros(1, np.uint8)  # The pattern of a single condition is 1 where a row violates it.
_FEW = 128  # Rows whose numbers for every player of a leaf stay in cache.


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


@helper
def _find_violated(bins, start, stop, conditions, paths, players, leaf, of_condition, violated):
    """Write 1 where a row violates a condition of a player of a leaf, else 0."""
    n = stop - start
    violated[: players.n_players[leaf], :n] = 0
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        rows = violated[players.position[e]]
        if n < FEW_ROWS:
            for r in range(n):
                rows[r] |= violates(bins, start + r, conditions, paths.condition[e])
            continue
        violations(bins, start, stop, conditions, paths.condition[e : e + 1], _NO_BITS, 0, 1, of_condition)
        for r in range(n):
            rows[r] |= of_condition[r]


@helper
def _met_members(members, violated, n_rows, met):
    """List the members that some row meets; return their number. No row meets a coalition with another member."""
    n = 0
    for i in range(members.shape[0]):
        rows, r = violated[members[i]], 0
        while r < n_rows and rows[r]:
            r += 1
        if r < n_rows:
            met[n] = members[i]
            n += 1
    return n


@helper
def _most_players(leaves, players):
    """Return the largest number of players of a leaf."""
    most = 0
    for i in range(leaves.shape[0]):
        most = max(most, players.n_players[leaves[i]])
    return most


@kernel
def stream_components(
    bins, conditions, leaves, paths, players, values, coalitions, components, n_outputs, r0, r1, out
):
    """Add components leaf by leaf: a table of terms by pattern, and one look-up per row."""
    step, most = out.shape[0] // n_outputs, _most_players(leaves, players)
    violated, of_condition = np.empty((most, BLOCK), np.uint8), np.empty(BLOCK, np.uint8)
    pattern, met, terms = np.empty(BLOCK, np.uint32), np.empty(most, np.int64), np.empty(2)
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        n_rows = stop - start
        for i in range(leaves.shape[0]):
            leaf = leaves[i]
            path_set = components.path_set_of_leaf[leaf]
            if components.ptr[path_set] == components.ptr[path_set + 1]:
                continue
            _find_violated(bins, start, stop, conditions, paths, players, leaf, of_condition, violated)
            weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
            choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
            for item in range(components.ptr[path_set], components.ptr[path_set + 1]):
                members = components.member[components.member_ptr[item] : components.member_ptr[item + 1]]
                n = _met_members(members, violated, n_rows, met)
                if 1 << n > terms.shape[0]:
                    terms = np.empty(1 << n)
                signed_weights(weight, met, n, ranked, choose, offset, terms)
                sum_over_subsets(terms[: 1 << n], n)
                pattern[:n_rows] = (1 << n) - 1
                for m in range(n):
                    rows = violated[met[m]]
                    for r in range(n_rows):
                        pattern[r] ^= np.uint32(rows[r]) << np.uint32(m)
                sign = -1.0 if (members.shape[0] - n) & 1 else 1.0
                for o in range(values.value.shape[1]):
                    scale = sign * values.value[leaf, o]
                    target = out[components.column[item] + (values.output[leaf] + o) * step, start:stop]
                    for r in range(n_rows):
                        target[r] += scale * terms[pattern[r]]


@kernel
def sum_orders(
    bins, conditions, leaves, paths, players, values, coalitions, usable, coefficient, r0, r1, out
):
    r"""Add the sum of all components of each order leaf by leaf, without listing the components.

    The sets S of order q that contain V are C(k - |V|, q - |V|) in number. So the sum over all S of order q is the sum
    over V of (-1)^(q - |V|) C(k - |V|, q - |V|) E(P \ V), which ``coefficient[k, q - 1, |V|]`` holds. ``usable`` says
    of each leaf condition whether components may have its player; k is the number of these players.
    """
    n_orders, most = coefficient.shape[1], _most_players(leaves, players)
    pattern, distinct = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    number, table = np.empty(BLOCK, np.int64), np.full(4 * BLOCK, -1, np.int64)
    terms, by_size = np.empty((n_orders, BLOCK)), np.empty((n_orders + 1, BLOCK))
    masks, sizes, weight = np.empty(64, np.uint64), np.empty(64, np.int64), np.empty(64)
    positions, members = np.empty(most, np.int64), np.empty(most, np.int64)
    violated, of_condition = np.empty((most, _FEW), np.uint8), np.empty(_FEW, np.uint8)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        n_usable = _list_usable(leaf, paths, players, usable, positions)
        by_row = players.n_players[leaf] > _MOST_IN_PATTERN
        n_subsets = 0
        if not by_row:
            n_subsets, masks, sizes, weight = list_weights(
                leaf, n_orders, players, coalitions, positions[:n_usable], members, masks, sizes, weight
            )
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        step = _FEW if by_row else BLOCK
        for start in range(r0, r1, step):
            stop = min(start + step, r1)
            n, n_distinct = stop - start, stop - start
            if by_row:
                _find_violated(bins, start, stop, conditions, paths, players, leaf, of_condition, violated)
                some = positions[:n_usable]
                _sum_by_size(leaf, players, coalitions, some, members, violated, n, terms[0], by_size)
                for r in range(n):
                    number[r] = r
            else:
                ids, bits = paths.condition, players.position
                violations(bins, start, stop, conditions, ids, bits, first, last, pattern)
                n_distinct = distinct_patterns(pattern, n, table, number, distinct)
                by_size[:, :n_distinct] = 0.0
                for d in range(n_distinct):
                    for v in range(n_subsets):
                        if masks[v] & distinct[d] == 0:
                            by_size[sizes[v], d] += weight[v]
            for d in range(n_distinct):
                for q in range(n_orders):
                    total = 0.0
                    for size in range(q + 2):
                        total += coefficient[n_usable, q, size] * by_size[size, d]
                    terms[q, d] = total
            for o in range(values.value.shape[1]):
                scale = values.value[leaf, o]
                for q in range(n_orders):
                    target = out[(values.output[leaf] + o) * n_orders + q, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[q, number[r]]


@helper
def _list_usable(leaf, paths, players, usable, positions):
    """List the players of a leaf that components may have, increasing; return their number."""
    k, n = players.n_players[leaf], 0
    positions[:k] = 0
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        if usable[e]:
            positions[players.position[e]] = 1
    for p in range(k):
        if positions[p]:
            positions[n] = p
            n += 1
    return n


@helper
def _sum_by_size(leaf, players, coalitions, positions, members, violated, n, total, by_size):
    r"""Sum E(P \ V) over the coalitions V of each size of which a row meets all conditions, for n rows.

    The coalitions that differ in their lowest player alone are neighbours, and summed together.
    """
    k = positions.shape[0]
    weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
    choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
    by_size[:, :n] = 0.0
    by_size[0, :n] = weight[0]
    for size in range(1, min(by_size.shape[0] - 1, k) + 1):
        first_members(members, size)
        more = True
        while more:
            end = members[1] if size > 1 else k
            others = 0
            for m in range(1, size):
                p = positions[members[m]]
                others += choose[p, m + 1] if ranked else 1 << p
            total[:n] = 0.0
            for lowest in range(end):
                p = positions[lowest]
                w, rows = weight[others + (offset[size] + p if ranked else 1 << p)], violated[p]
                for r in range(n):
                    total[r] += w * np.float64(1 - rows[r])
            for m in range(1, size):
                rows = violated[positions[members[m]]]
                for r in range(n):
                    total[r] *= np.float64(1 - rows[r])
            for r in range(n):
                by_size[size, r] += total[r]
            members[0] = end - 1
            more = next_members(members, size, k)


@helper
def list_weights(leaf, n_orders, players, coalitions, positions, members, masks, sizes, weight):
    """List the coalitions of up to ``n_orders`` of some players of a leaf, with their sizes and weights."""
    k = positions.shape[0]
    start, ranked = coalitions.start[leaf], coalitions.ranked[leaf]
    choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
    most = coalitions.ranks.offset[k, min(n_orders, k) + 1]
    if most > masks.shape[0]:
        masks, sizes, weight = np.empty(2 * most, np.uint64), np.empty(2 * most, np.int64), np.empty(2 * most)
    n = 0
    for size in range(min(n_orders, k) + 1):
        first_members(members, size)
        more = True
        while more:
            mask, rank = np.uint64(0), offset[size]
            for m in range(size):
                p = positions[members[m]]
                mask |= np.uint64(1) << np.uint64(p)
                rank += choose[p, m + 1]
            masks[n], sizes[n] = mask, size
            weight[n] = coalitions.weight[start + (rank if ranked else np.int64(mask))]
            n += 1
            more = next_members(members, size, k)
    return n, masks, sizes, weight
