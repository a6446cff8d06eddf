"""Solve leaves without kept tables: in clusters by state, by sums over subsets, or for the patterns that occur."""

import numpy as np

from skglex._kernels.arguments import SubsetWork
from skglex._kernels.clusters import (
    add_table_to_rows,
    clear_cluster,
    cluster_space,
    columns_of_leaf,
    count_background,
    find_codes,
    find_met_players,
    grow_cluster,
    weights_of_states,
)
from skglex._kernels.coalitions import multiply_ratios
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, violates, violations
from skglex._kernels.shapley import n_columns, solve_by_comparison, solve_by_quadrature
from skglex._kernels.subset_sums import (
    MOST_PLAYERS,
    add_from_sums,
    comparison_cost,
    fill_sums,
    rows_of_leaf,
    sums_are_cheaper,
    weights_of_ratios,
    weights_of_rows,
)
from skglex._kernels.subsets import count_members, distinct_patterns, sum_over_subsets


@helper
def _work_space(players, leaves, most_states, pairs):
    """Return empty arrays for the largest game among some leaves."""
    most, most_in_table = 0, 0
    for i in range(leaves.shape[0]):
        k = players.n_players[leaves[i]]
        most = max(most, k)
        if k <= MOST_PLAYERS:
            most_in_table = max(most_in_table, k)
    return SubsetWork(
        np.empty((3 if pairs else 1, 1 << most_in_table)),
        np.empty(1 << most_in_table),
        np.empty((most_in_table + 2, BLOCK)),
        count_members(most_in_table),
        np.empty(max(BLOCK, most_states), np.uint32),
        np.empty(max(BLOCK, most_states), np.uint16),
        np.empty(most, np.int64),
        np.empty(max(1, n_columns(most, pairs)), np.int64),
    )


@helper
def _list_players(leaf, paths, players, ids):
    """Write the players of a leaf, by position."""
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        ids[players.position[e]] = players.id[e]


@helper
def _add_terms(terms, number, rows, n_terms, stride, value, start, n, out):
    """Add a leaf's terms to the rows of ``out``; row r of the block has the terms ``terms[number[r]]``."""
    for o in range(value.shape[0]):
        v = value[o]
        for c in range(n_terms):
            target = out[rows[c] + o * stride]
            for r in range(n):
                target[start + r] += v * terms[number[r], c]


@helper
def _add_by_sums(work, bins, conditions, paths, values, players, layout, leaf, out):
    """Add what one leaf gives to every row, from the weights of its coalitions in ``work``."""
    n_rows, k = bins.shape[1], players.n_players[leaf]
    first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
    stride = rows_of_leaf(leaf, k, work.ids, values, layout, work.rows)
    fill_sums(work.weight, k, work.n_members, layout.pairs, work.sums)
    everyone = np.uint32((np.int64(1) << k) - 1)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        violations(
            bins, start, stop, conditions, paths.condition, players.position, first, last, work.pattern
        )
        for r in range(stop - start):
            work.pattern[r] ^= everyone
        met, value = work.pattern[: stop - start], values.value[leaf]
        add_from_sums(work, met, start, k, stride, value, layout.pairs, out)


@helper
def _add_to_cluster(work, space, table, n_rows, size, values, players, layout, leaf, out):
    """Add what one leaf of a cluster gives to each state, or to the rows if they are fewer than the states."""
    k, value = players.n_players[leaf], values.value[leaf]
    fill_sums(work.weight, k, work.n_members, layout.pairs, work.sums)
    if n_rows < size:
        for r in range(n_rows):
            work.pattern[r] = space.met_players[work.code[r]]
        stride = rows_of_leaf(leaf, k, work.ids, values, layout, work.rows)
        met = work.pattern[:n_rows]
        add_from_sums(work, met, 0, k, stride, value, layout.pairs, out)
        return
    columns_of_leaf(k, work.ids, layout, space, work.rows)
    stride = table.shape[0] // value.shape[0]
    add_from_sums(work, space.met_players[:size], 0, k, stride, value, layout.pairs, table)


@helper
def _table_of(n_players, size, width, layout, space):
    """Return a table of zeros for a cluster: a row per output and player, or pair, and a column per state."""
    n_rows = width * n_columns(n_players, layout.pairs)
    space.table[: n_rows * size] = 0.0
    return space.table[: n_rows * size].reshape((n_rows, size))


@helper
def _distinct_rows(
    bins, start, stop, conditions, paths, players, leaf, pattern, hashed, number, distinct, met
):
    """Write whether rows meet the conditions of each player of a leaf, 1 or 0; return the number of distinct rows.

    ``number`` receives the number of each row among the distinct ones. Rows of more players than a pattern has bits
    are not compared.
    """
    n, k = stop - start, players.n_players[leaf]
    first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
    if k <= 64:
        violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
        n = distinct_patterns(pattern, n, hashed, number, distinct)
        for d in range(n):
            for p in range(k):
                met[d, p] = 1.0 - np.float64((distinct[d] >> np.uint64(p)) & np.uint64(1))
        return n
    met[:n, :k] = 1.0
    for d in range(n):
        number[d] = d
        for e in range(first, last):
            if violates(bins, start + d, conditions, paths.condition[e]):
                met[d, players.position[e]] = 0.0
    return n


@helper
def _quadrature_cost(k, pairs):
    """Estimate the nanoseconds of one pattern by quadrature."""
    return 1.0 * ((k + 1) // 2) * k * (k if pairs else 3)


@kernel
def add_shapley_by_quadrature(
    bins, conditions, paths, values, players, path_ratio, rules, n_bins, most_states, layout, leaves, out
):
    """Add leaves' Shapley values or half interactions with path-dependent weights.

    Leaves are solved in clusters of at most ``most_states`` states, one by one, or by quadrature for single patterns.
    """
    n_rows, width = bins.shape[1], values.value.shape[1]
    work = _work_space(players, leaves, most_states, layout.pairs)
    space = cluster_space(conditions, n_bins, layout.n_players, most_states, True)
    most = work.ids.shape[0]
    pattern, distinct = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    number, hashed = np.empty(BLOCK, np.int64), np.full(4 * BLOCK, -1, np.int64)
    terms = np.empty((min(BLOCK, n_rows), work.rows.shape[0]))
    ratio, factor, after = np.empty(most), np.empty(most), np.empty(most + 1)
    met = np.empty((min(BLOCK, n_rows), most))
    i = 0
    while i < leaves.shape[0]:
        leaf = leaves[i]
        k = players.n_players[leaf]
        by_sums = sums_are_cheaper(k, n_rows, _quadrature_cost(k, layout.pairs), 0.0, layout.pairs)
        if by_sums:
            n_leaves, n_features, n_cluster, size = grow_cluster(
                leaves, i, conditions, paths, values, players, n_bins, layout, most_states, space
            )
            if n_rows < size:
                find_codes(bins, 0, n_rows, n_features, space, work.code)
            table = _table_of(n_cluster if n_rows >= size else 0, size, width, layout, space)
            for leaf in leaves[i : i + n_leaves]:
                k = players.n_players[leaf]
                _list_players(leaf, paths, players, work.ids)
                multiply_ratios(leaf, paths, path_ratio, players, ratio)
                weights_of_ratios(ratio, k, work.weight)
                find_met_players(leaf, k, conditions, paths, players, n_features, space)
                _add_to_cluster(work, space, table, n_rows, size, values, players, layout, leaf, out)
            if n_leaves > 0 and n_rows >= size:
                output = values.output[leaf]
                add_table_to_rows(table, bins, n_features, n_cluster, output, layout, space, work.code, out)
            clear_cluster(n_features, n_cluster, space)
            if n_leaves > 0:
                i += n_leaves
                continue
            leaf = leaves[i]
        i += 1
        k = players.n_players[leaf]
        _list_players(leaf, paths, players, work.ids)
        multiply_ratios(leaf, paths, path_ratio, players, ratio)
        if by_sums:
            weights_of_ratios(ratio, k, work.weight)
            _add_by_sums(work, bins, conditions, paths, values, players, layout, leaf, out)
            continue
        stride = rows_of_leaf(leaf, k, work.ids, values, layout, work.rows)
        half = (k + 1) // 2
        x, w = rules.nodes[half], rules.weights[half]
        for start in range(0, n_rows, BLOCK):
            stop = min(start + BLOCK, n_rows)
            n = stop - start
            n_distinct = _distinct_rows(
                bins, start, stop, conditions, paths, players, leaf, pattern, hashed, number, distinct, met
            )
            for d in range(n_distinct):
                solve_by_quadrature(ratio, k, met[d], x, w, half, layout.pairs, factor, after, terms[d])
            n_terms = n_columns(k, layout.pairs)
            _add_terms(terms, number, work.rows, n_terms, stride, values.value[leaf], start, n, out)


@helper
def _background_patterns(
    background, conditions, paths, players, leaf, table, pattern, number, distinct, shares
):
    """Find the distinct patterns of the background rows for a leaf, and their shares; return their number."""
    n_rows = background.share.shape[0]
    first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        block, ids, bits = pattern[start:stop], paths.condition, players.position
        violations(background.bins, start, stop, conditions, ids, bits, first, last, block)
    n_distinct = distinct_patterns(pattern, n_rows, table, number, distinct)
    shares[:n_distinct] = 0.0
    for r in range(n_rows):
        shares[number[r]] += background.share[r]
    return n_distinct


@kernel
def add_shapley_by_comparison(
    bins, conditions, paths, values, players, background, n_bins, most_states, layout, leaves, out
):
    """Add leaves' Shapley values or half interactions with empirical weights.

    Leaves are solved in clusters of at most ``most_states`` states, one by one, or pattern against pattern.
    """
    n_rows, width = bins.shape[1], values.value.shape[1]
    n_background = background.share.shape[0]
    work = _work_space(players, leaves, most_states, layout.pairs)
    space = cluster_space(conditions, n_bins, layout.n_players, most_states, True)
    length = 4 * BLOCK
    while length < 2 * n_background:
        length *= 2
    longest = max(BLOCK, n_background)
    pattern, distinct = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    number, hashed = np.empty(longest, np.int64), np.full(length, -1, np.int64)
    back_pattern, shares = np.empty(n_background, np.uint64), np.empty(n_background)
    terms = np.empty((min(BLOCK, n_rows), work.rows.shape[0]))
    i = 0
    while i < leaves.shape[0]:
        leaf = leaves[i]
        k = players.n_players[leaf]
        per_pattern, once = comparison_cost(k, n_background)
        by_sums = sums_are_cheaper(k, n_rows, per_pattern, once, layout.pairs)
        if by_sums:
            n_leaves, n_features, n_cluster, size = grow_cluster(
                leaves, i, conditions, paths, values, players, n_bins, layout, most_states, space
            )
            if n_leaves > 0:
                count_background(background, n_features, size, space, work.code, space.share)
            if n_rows < size:
                find_codes(bins, 0, n_rows, n_features, space, work.code)
            table = _table_of(n_cluster if n_rows >= size else 0, size, width, layout, space)
            for leaf in leaves[i : i + n_leaves]:
                k = players.n_players[leaf]
                _list_players(leaf, paths, players, work.ids)
                find_met_players(leaf, k, conditions, paths, players, n_features, space)
                weights_of_states(space.share, size, k, space, work.weight)
                sum_over_subsets(work.weight, k)
                _add_to_cluster(work, space, table, n_rows, size, values, players, layout, leaf, out)
            if n_leaves > 0 and n_rows >= size:
                output = values.output[leaf]
                add_table_to_rows(table, bins, n_features, n_cluster, output, layout, space, work.code, out)
            clear_cluster(n_features, n_cluster, space)
            if n_leaves > 0:
                i += n_leaves
                continue
            leaf = leaves[i]
        i += 1
        k = players.n_players[leaf]
        _list_players(leaf, paths, players, work.ids)
        if by_sums:
            weights_of_rows(background, conditions, paths, players, leaf, k, work.pattern, work.weight)
            _add_by_sums(work, bins, conditions, paths, values, players, layout, leaf, out)
            continue
        n_patterns = _background_patterns(
            background, conditions, paths, players, leaf, hashed, pattern, number, back_pattern, shares
        )
        stride = rows_of_leaf(leaf, k, work.ids, values, layout, work.rows)
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        for start in range(0, n_rows, BLOCK):
            stop = min(start + BLOCK, n_rows)
            n = stop - start
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, hashed, number, distinct)
            for d in range(n_distinct):
                violated, inverse = distinct[d], background.inverse
                solve_by_comparison(
                    shares, back_pattern, n_patterns, violated, k, inverse, layout.pairs, terms[d]
                )
            n_terms = n_columns(k, layout.pairs)
            _add_terms(terms, number, work.rows, n_terms, stride, values.value[leaf], start, n, out)
