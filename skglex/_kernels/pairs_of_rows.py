"""Compare pairs of rows: Shapley values and interactions of the difference of their margins.

The game of a pair pays the margin of the row whose features are those of the first row for the players in a coalition,
and those of the second row for all others. A leaf takes part only if no player of its path is violated by both rows.
"""

import numpy as np

from skglex._kernels.bitsets import count_ones
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, violates, violations
from skglex._kernels.shapley import pair_weights, value_weights

FEW_PAIRS = 8  # Fewer pairs than this are compared one by one.


@helper
def _add_players(up, down, players, paths, leaf, value, output, inverse, layout, r, out):
    """Add the leaf's Shapley values: ``up`` are the players that only the first row meets, ``down`` the others."""
    gain, loss = value_weights(np.int64(count_ones(up)), np.int64(count_ones(down)), inverse)
    left = up | down
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        bit = np.uint64(1) << np.uint64(players.position[e])
        if left & bit:
            left ^= bit
            share = gain if up & bit else loss
            for o in range(value.shape[0]):
                out[(output + o) * layout.n_players + players.id[e], r] += share * value[o]


@helper
def _add_interactions(up, down, players, paths, leaf, value, output, inverse, layout, r, out):
    """Add half of the leaf's Shapley interaction indices of all pairs of players in ``up`` and ``down``."""
    a, b = np.int64(count_ones(up)), np.int64(count_ones(down))
    if a + b < 2:
        return
    both_up, both_down, mixed = pair_weights(a, b, inverse)
    left = up | down
    last = paths.ptr[leaf + 1]
    for e in range(paths.ptr[leaf], last):
        bit = np.uint64(1) << np.uint64(players.position[e])
        if not left & bit:
            continue
        left ^= bit
        others = left
        for f in range(e + 1, last):
            other = np.uint64(1) << np.uint64(players.position[f])
            if not others & other:
                continue
            others ^= other
            if (up & bit) and (up & other):
                share = both_up
            elif (down & bit) and (down & other):
                share = both_down
            else:
                share = mixed
            i, j = players.id[e], players.id[f]
            column = min(i, j) * layout.n_players + max(i, j)
            for o in range(value.shape[0]):
                out[(output + o) * layout.n_players**2 + column, r] += share * value[o]


@helper
def _add_leaf(up, down, players, paths, leaf, values, inverse, layout, r, out):
    """Add a leaf that a pair reaches to the pair's Shapley values, or to its interactions."""
    value, output = values.value[leaf], values.output[leaf]
    if layout.pairs:
        _add_interactions(up, down, players, paths, leaf, value, output, inverse, layout, r, out)
    else:
        _add_players(up, down, players, paths, leaf, value, output, inverse, layout, r, out)


@helper
def _compare_pair(bins, other, conditions, paths, values, players, inverse, layout, r, out):
    """Compare one pair of rows, leaf by leaf; a leaf is left as soon as both rows violate one of its players."""
    n_conditions = conditions.feature.shape[0]
    violated = np.empty((2, n_conditions), np.uint8)
    for c in range(n_conditions):
        violated[0, c] = violates(bins, r, conditions, c)
        violated[1, c] = violates(other, r, conditions, c)
    for leaf in range(paths.ptr.shape[0] - 1):
        down, up = np.uint64(0), np.uint64(0)
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            c, position = paths.condition[e], np.uint64(players.position[e])
            down |= np.uint64(violated[0, c]) << position
            up |= np.uint64(violated[1, c]) << position
            if up & down:
                break
        if not up & down and up | down:
            _add_leaf(up, down, players, paths, leaf, values, inverse, layout, r, out)


@kernel
def compare_rows(bins, other, conditions, paths, values, players, inverse, layout, r0, r1, out):
    """Add the Shapley values, or half the interactions, of the pairs ``r0 <= r < r1`` to ``out`` (columns x pairs).

    Row r of ``bins`` is compared with row r of ``other``.
    """
    if r1 - r0 < FEW_PAIRS:
        for r in range(r0, r1):
            _compare_pair(bins, other, conditions, paths, values, players, inverse, layout, r, out)
        return
    down, up = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    ids, bits = paths.condition, players.position
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        for leaf in range(paths.ptr.shape[0] - 1):
            first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
            violations(bins, start, stop, conditions, ids, bits, first, last, down)
            violations(other, start, stop, conditions, ids, bits, first, last, up)
            for r in range(stop - start):
                if not up[r] & down[r] and up[r] | down[r]:
                    _add_leaf(up[r], down[r], players, paths, leaf, values, inverse, layout, start + r, out)
