"""Compare rows with background rows along the trees, for few rows of a large model.

A row and a background row that disagree at a node lead to both children: on one way the node's player follows the row,
on the other the background row. Background rows that agree so far walk together. Trees are packed as
`skglex._kernels.traversal` says.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel
from skglex._kernels.shapley import pair_weights, value_weights

_ROW, _BACKGROUND = 1, 2  # What a decided player follows.
_WIDE = 4  # Values of a leaf from which they are added up in one place.


@helper
def rows_of_bins(bins, missing):
    """Return bins row by row; the missing bin becomes the largest number of the bins' type."""
    n_features, n_rows = bins.shape
    out = np.empty((n_rows, n_features), bins.dtype)
    last = bins.dtype.type(np.int64(2) ** (8 * bins.itemsize) - 1)
    for s in range(n_features):
        for r in range(n_rows):
            out[r, s] = last if bins[s, r] == missing[s] else bins[s, r]
    return out


@helper
def _goes_left(bin_, feature, cut, how, trees, last):
    """Return whether a node sends a bin left."""
    if how >= 2:
        return trees.masks[(how >> 1) - 1 + (trees.missing[feature] if bin_ == last else bin_)] != 0
    return ((bin_ + how) & last) <= cut


@helper
def _push(waiting, top, node, lo, hi, n_decided, player, side):
    """Let background rows wait at a node; return how many nodes wait then."""
    waiting[top, 0], waiting[top, 1], waiting[top, 2] = node, lo, hi
    waiting[top, 3], waiting[top, 4], waiting[top, 5] = n_decided, player, side
    return top + 1


@helper
def _weight_of(order, lo, hi, share):
    """Return the share of the background rows ``order[lo:hi]``."""
    weight = 0.0
    for i in range(lo, hi):
        weight += share[order[i]]
    return weight


@helper
def _flush(row_sum, first, r, out):
    """Add the sums of one row to ``out``, and set them to zero."""
    n = row_sum.shape[0]
    for player in range(n):
        for o in range(row_sum.shape[1]):
            out[first + o * n + player, r] += row_sum[player, o]
            row_sum[player, o] = 0.0


@helper
def _add_leaf(share, value, first, r, decided, side, n_decided, inverse, layout, row_sum, out):
    """Add what a reached leaf gives to the players at which the rows disagree, or half the interactions of pairs.

    Of these players, a follow the explained row and b the background row. Values go to ``row_sum``, a row per player,
    if it has any, else to column r of ``out``.
    """
    a = 0
    for i in range(n_decided):
        a += side[decided[i]] == _ROW
    n = layout.n_players
    if not layout.pairs:
        up, down = value_weights(a, n_decided - a, inverse)
        for i in range(n_decided):
            player = decided[i]
            weight = share * (up if side[player] == _ROW else down)
            for o in range(value.shape[0]):
                if row_sum.shape[0] > 0:
                    row_sum[player, o] += weight * value[o]
                else:
                    out[first + o * n + player, r] += weight * value[o]
        return
    if n_decided < 2:
        return
    both_row, both_back, mixed = pair_weights(a, n_decided - a, inverse)
    for i in range(n_decided):
        for j in range(i):
            one, other = min(decided[i], decided[j]), max(decided[i], decided[j])
            if side[one] != side[other]:
                weight = mixed
            else:
                weight = both_row if side[one] == _ROW else both_back
            for o in range(value.shape[0]):
                out[first + (o * n + one) * n + other, r] += value[o] * share * weight


@kernel
def add_shapley_by_walks(bins, trees, player_of_feature, background, depth, layout, chosen, out):
    """Add Shapley values or half interactions of some trees with empirical weights; return the number of steps.

    A step takes one background row through one node. ``depth`` is the number of splits on the longest path.
    """
    nodes, value, share, inverse = trees.nodes, trees.value, background.share, background.inverse
    n_rows, n_background = bins.shape[1], share.shape[0]
    n_columns = layout.n_players * layout.n_players if layout.pairs else layout.n_players
    last = np.int64(2) ** (8 * bins.itemsize) - 1
    rows, back = rows_of_bins(bins, trees.missing), rows_of_bins(background.bins, trees.missing)
    order, side = np.arange(n_background), np.zeros(layout.n_players, np.uint8)
    decided = np.empty(depth + 1, np.int64)
    # What waits: a node, its background rows, how many players are decided, and the next one (-1: none) with its side.
    waiting = np.empty((3 * depth + 3, 6), np.int64)
    # Many values of a leaf are added up in one place first, since those of a row are far apart in `out`.
    by_vector = value.shape[1] >= _WIDE and not layout.pairs
    row_sum = np.zeros((layout.n_players if by_vector else 0, value.shape[1]))
    n_steps, n_decided = 0, 0
    for tree in chosen:
        for r in range(n_rows):
            top = _push(waiting, 0, trees.root[tree], 0, n_background, 0, -1, 0)
            while top > 0:
                top -= 1
                node, lo, hi = waiting[top, 0], waiting[top, 1], waiting[top, 2]
                while n_decided > waiting[top, 3]:
                    n_decided -= 1
                    side[decided[n_decided]] = 0
                player = waiting[top, 4]
                if player >= 0:
                    side[player], decided[n_decided] = waiting[top, 5], player
                    n_decided += 1
                feature = nodes[node, 0]
                while feature >= 0:
                    n_steps += hi - lo
                    cut, how = nodes[node, 1], nodes[node, 3]
                    left = _goes_left(np.int64(rows[r, feature]), feature, cut, how, trees, last)
                    to = node + 1 if left else nodes[node, 2]
                    player = player_of_feature[feature]
                    if side[player] != _ROW:
                        # The background rows that go the other way are moved to the end.
                        middle, end = lo, hi
                        while middle < end:
                            b = np.int64(back[order[middle], feature])
                            if _goes_left(b, feature, cut, how, trees, last) == left:
                                middle += 1
                            else:
                                end -= 1
                                order[middle], order[end] = order[end], order[middle]
                        if middle < hi:
                            other = nodes[node, 2] if left else node + 1
                            if side[player] == _BACKGROUND:
                                if middle > lo:
                                    top = _push(waiting, top, other, middle, hi, n_decided, -1, 0)
                                else:
                                    to, middle = other, hi
                            else:
                                top = _push(waiting, top, other, middle, hi, n_decided, player, _BACKGROUND)
                                if middle > lo:
                                    top = _push(waiting, top, to, middle, hi, n_decided, player, _ROW)
                                else:
                                    side[player], decided[n_decided] = _ROW, player
                                    n_decided, middle = n_decided + 1, hi
                            hi = middle
                    node = to
                    feature = nodes[node, 0]
                if n_decided > 0:
                    weight = _weight_of(order, lo, hi, share)
                    first, leaf = trees.output[tree] * n_columns, value[nodes[node, 1]]
                    _add_leaf(weight, leaf, first, r, decided, side, n_decided, inverse, layout, row_sum, out)
            _flush(row_sum, trees.output[tree] * n_columns, r, out)
            while n_decided > 0:
                n_decided -= 1
                side[decided[n_decided]] = 0
    return n_steps
