"""Solve leaves one by one: by tables of sums over subsets, or for the patterns that occur, whichever is cheaper."""

import numpy as np

from skglex._kernels.coalitions import multiply_ratios
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, violations
from skglex._kernels.shapley import solve_by_comparison, solve_by_quadrature
from skglex._kernels.subset_sums import (
    add_from_sums,
    comparison_cost,
    sums_are_cheaper,
    weights_of_ratios,
    weights_of_rows,
    work_space,
)
from skglex._kernels.subsets import distinct_patterns


@helper
def _largest_game(players, leaves):
    """Return the largest number of players of some leaves."""
    most = 0
    for i in range(leaves.shape[0]):
        most = max(most, players.n_players[leaves[i]])
    return most


@helper
def _list_players(leaf, paths, players, ids):
    """Write the players of a leaf, by position."""
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        ids[players.position[e]] = players.id[e]


@helper
def _add_terms(terms, number, ids, k, value, output, layout, start, n, out):
    """Add a leaf's terms to the rows of ``out``; row r of the block has the terms ``terms[number[r]]``."""
    for o in range(value.shape[0]):
        base = (output + o) * layout.n_players
        v = value[o]
        c = 0
        for p in range(k):
            if not layout.pairs:
                for r in range(n):
                    out[base + ids[p], start + r] += v * terms[number[r], p]
                continue
            for q in range(p + 1, k):
                row = (base + ids[p]) * layout.n_players + ids[q]
                for r in range(n):
                    out[row, start + r] += v * terms[number[r], c]
                c += 1


@kernel
def add_shapley_by_quadrature(
    bins, conditions, paths, values, players, path_ratio, rules, layout, leaves, r0, r1, out
):
    """Add leaves' Shapley values or half interactions with path-dependent weights, by quadrature."""
    pattern, distinct = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    number, table = np.empty(BLOCK, np.int64), np.full(4 * BLOCK, -1, np.int64)
    most = _largest_game(players, leaves)
    terms = np.empty((min(BLOCK, r1 - r0), most * (most - 1) // 2 if layout.pairs else most))
    ratio, factor, after = np.empty(most), np.empty(most), np.empty(most + 1)
    ids, work = np.empty(most, np.int64), work_space(players, leaves, layout.pairs)
    weight = work[1]
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = players.n_players[leaf]
        half = (k + 1) // 2
        x, w = rules.nodes[half], rules.weights[half]
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        _list_players(leaf, paths, players, ids)
        multiply_ratios(leaf, paths, path_ratio, players, ratio)
        steps = half * k * (k if layout.pairs else 3)
        if sums_are_cheaper(k, r1 - r0, 1.0 * steps, layout.pairs):
            weights_of_ratios(ratio, k, weight)
            add_from_sums(work, bins, conditions, paths, values, players, layout, leaf, ids, r0, r1, out)
            continue
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, table, number, distinct)
            for d in range(n_distinct):
                solve_by_quadrature(ratio, k, distinct[d], x, w, half, layout.pairs, factor, after, terms[d])
            _add_terms(terms, number, ids, k, values.value[leaf], values.output[leaf], layout, start, n, out)


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
    bins, conditions, paths, values, players, background, layout, leaves, r0, r1, out
):
    """Add leaves' Shapley values or half interactions with empirical weights, pattern against pattern."""
    n_background = background.share.shape[0]
    size = 4 * BLOCK
    while size < 2 * n_background:
        size *= 2
    longest = max(BLOCK, n_background)
    pattern, distinct = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    number, table = np.empty(longest, np.int64), np.full(size, -1, np.int64)
    back_pattern, shares = np.empty(n_background, np.uint64), np.empty(n_background)
    most = _largest_game(players, leaves)
    terms = np.empty((min(BLOCK, r1 - r0), most * (most - 1) // 2 if layout.pairs else most))
    ids, work = np.empty(most, np.int64), work_space(players, leaves, layout.pairs)
    weight, small_pattern = work[1], work[3]
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = players.n_players[leaf]
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        _list_players(leaf, paths, players, ids)
        if sums_are_cheaper(k, r1 - r0, comparison_cost(k, n_background), layout.pairs):
            weights_of_rows(background, conditions, paths, players, leaf, k, small_pattern, weight)
            add_from_sums(work, bins, conditions, paths, values, players, layout, leaf, ids, r0, r1, out)
            continue
        n_patterns = _background_patterns(
            background, conditions, paths, players, leaf, table, pattern, number, back_pattern, shares
        )
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, table, number, distinct)
            for d in range(n_distinct):
                violated, inverse = distinct[d], background.inverse
                solve_by_comparison(
                    shares, back_pattern, n_patterns, violated, k, inverse, layout.pairs, terms[d]
                )
            _add_terms(terms, number, ids, k, values.value[leaf], values.output[leaf], layout, start, n, out)
