"""Add the leaves that rows reach when some features take other values, or the values of another row.

A leaf whose conditions are on free features in part is reached by a row at those cells where these conditions hold,
provided that the row meets the other conditions. Cells are written as differences: the value where the leaf begins to
hold, minus the value where it ends. Cumulative sums along every axis turn them into margins.
"""

import numpy as np

from skglex._kernels.bitsets import find_rows, position_of
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import violations
from skglex._kernels.subsets import sum_over_subsets


@helper
def _find_corners(axes, leaf, cell, sign):
    """Write the corners of the cells at which a leaf holds; return their number."""
    n = 1
    cell[0], sign[0] = 0, 1.0
    for a in range(axes.run_set.shape[0]):
        first = axes.ptr[axes.run_set[a, leaf]]
        n_ends = axes.ptr[axes.run_set[a, leaf] + 1] - first
        # The first block of the list is overwritten last.
        for k in range(n_ends - 1, -1, -1):
            for i in range(n):
                cell[k * n + i] = cell[i] + axes.end[first + k]
                sign[k * n + i] = sign[i] * axes.sign[first + k]
        n *= n_ends
    return n


@helper
def _keep_rows(sets, conditions, c, current, met, rows):
    """Keep the rows that meet condition c; neighbouring leaves share most conditions."""
    s = np.int64(conditions.feature[c])
    if current[s] != c:
        current[s] = c
        find_rows(c, conditions, sets, met[s])
    for w in range(rows.shape[0]):
        rows[w] &= met[s, w]


@helper
def _list_rows(rows, some, at, out, inside):
    """Write the positions of the rows in a bit set, counted from ``at``; return their number.

    ``inside`` receives 1 for rows that are in the bit set ``some`` too, else 0.
    """
    n = 0
    for w in range(rows.shape[0]):
        word = rows[w]
        while word:
            low = word & (~word + np.uint64(1))
            word ^= low
            bit = position_of(low)
            out[n] = at + 64 * w + bit
            inside[n] = np.float64((some[w] >> np.uint64(bit)) & np.uint64(1))
            n += 1
    return n


@kernel
def add_free_leaves(sets, conditions, paths, values, axes, at, margin, out):
    """Add leaves with conditions on free features to a block of rows, at all cells.

    Parameters
    ----------
    sets : BitSets
        The rows.
    conditions, paths, values : Conditions, Paths, LeafValues
    axes : FreeAxes
    at : int
        Position of the block's first row in ``margin`` and ``out``.
    margin : ndarray of shape (n_outputs, n_rows)
        The margin of the rows as they are. The leaves are subtracted from it, so that the others remain.
    out : ndarray of shape (n_outputs, n_cells, n_rows)
        Receives differences.
    """
    n_used_features, n_words = sets.n_bins.shape[0], sets.bits.shape[1]
    value, width = values.value, values.value.shape[1]
    current = np.full(n_used_features, -1, np.int64)
    met = np.empty((n_used_features, n_words), np.uint64)
    everyone, rest = np.zeros(n_words, np.uint64), np.empty(n_words, np.uint64)
    cell, sign = np.empty(axes.most_corners, np.int64), np.empty(axes.most_corners)
    own, reached, inside = (
        np.empty(n_words, np.uint64),
        np.empty(sets.n_rows, np.uint32),
        np.empty(sets.n_rows),
    )
    for r in range(sets.n_rows):
        everyone[r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    for i in range(axes.leaves.shape[0]):
        leaf = axes.leaves[i]
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        for w in range(n_words):
            rest[w] = everyone[w]
        for e in range(first, last):
            c = paths.condition[e]
            if not axes.free[conditions.feature[c]]:
                _keep_rows(sets, conditions, c, current, met, rest)
        for w in range(n_words):
            own[w] = rest[w]
        for e in range(first, last):
            c = paths.condition[e]
            if axes.free[conditions.feature[c]]:
                _keep_rows(sets, conditions, c, current, met, own)
        n_reached = _list_rows(rest, own, at, reached, inside)
        if n_reached == 0:
            continue
        n_corners = _find_corners(axes, leaf, cell, sign)
        for o in range(width):
            for k in range(n_corners):
                # The rows of one cell lie next to each other, so that memory is written in order.
                target, v = out[values.output[leaf] + o, cell[k]], sign[k] * value[leaf, o]
                for r in range(n_reached):
                    target[reached[r]] += v
            target = margin[values.output[leaf] + o]
            for r in range(n_reached):
                target[reached[r]] -= value[leaf, o] * inside[r]


@kernel
def violated_players(bins, conditions, paths, condition_player, r0, r1, out):
    """Write the bit mask of the players that every row violates, for every leaf, to ``out`` (leaves x rows)."""
    for leaf in range(paths.ptr.shape[0] - 1):
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        violations(bins, r0, r1, conditions, paths.condition, condition_player, first, last, out[leaf])


@kernel
def rows_by_player(masks, paths, condition_player, out):
    """Write, for every leaf condition, which of up to 64 rows meet all conditions of its player in the leaf.

    ``masks`` is what `violated_players` wrote for these rows.
    """
    for leaf in range(paths.ptr.shape[0] - 1):
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            word = np.uint64(0)
            for r in range(masks.shape[1]):
                if not (np.int64(masks[leaf, r]) >> condition_player[e]) & 1:
                    word |= np.uint64(1) << np.uint64(r)
            out[e] = word


@helper
def _add_signed(target, start, mask, size, v):
    """Add v to ``start``, and with alternating signs to its unions with all subsets of a mask."""
    subset = mask
    while True:
        target[start | subset] += -v if size[subset] & 1 else v
        if subset == 0:
            break
        subset = (subset - 1) & mask


@kernel
def mix_pair(violated, back_violated, back_rows, paths, condition_player, values, base, size, up, out):
    """Compute the margins of one row mixed with up to 64 background rows, for every coalition of players.

    The players of the coalition take the values of the row, the others those of the background row. A leaf is reached
    by the coalitions that contain the players whom the background row violates, and none whom the row violates.

    Parameters
    ----------
    violated : ndarray of shape (n_leaves,)
        Bit masks of the players that the row violates.
    back_violated : ndarray of shape (n_leaves, n_background)
        The same for the background rows.
    back_rows : ndarray of shape (n_leaf_conditions,), uint64
        Result of `rows_by_player` for the background rows.
    paths : Paths
    condition_player : ndarray of shape (n_leaf_conditions,), uint8
    values : LeafValues
    base : ndarray of shape (n_outputs,)
    size : ndarray of shape (2**n_players,), uint8
        Number of members of every coalition.
    up : ndarray of shape (n_outputs, n_background, 2**n_players)
        Work space.
    out : ndarray of shape (n_outputs, n_background, 2**n_players)
        Receives the margins.
    """
    n_background, full, n_players = back_violated.shape[1], size.shape[0] - 1, size[-1]
    everyone = ~np.uint64(0) >> np.uint64(64 - n_background)
    value, width = values.value, values.value.shape[1]
    up[:], out[:] = 0.0, 0.0
    for leaf in range(paths.ptr.shape[0] - 1):
        without, word = np.int64(violated[leaf]), everyone
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            if (without >> condition_player[e]) & 1:
                word &= back_rows[e]
        while word:
            low = word & (~word + np.uint64(1))
            word ^= low
            r = position_of(low)
            inside = np.int64(back_violated[leaf, r])
            for o in range(width):
                # Of the two sets, the smaller one is resolved into signed subsets. ``out`` counts absent players.
                if size[without] <= size[inside]:
                    _add_signed(up[values.output[leaf] + o, r], inside, without, size, value[leaf, o])
                else:
                    _add_signed(out[values.output[leaf] + o, r], without, inside, size, value[leaf, o])
    for o in range(base.shape[0]):
        for r in range(n_background):
            present, absent = up[o, r], out[o, r]
            sum_over_subsets(present, n_players)
            sum_over_subsets(absent, n_players)
            for v in range(full // 2 + 1):
                one, other = present[v] + absent[full - v], present[full - v] + absent[v]
                absent[v], absent[full - v] = base[o] + one, base[o] + other
