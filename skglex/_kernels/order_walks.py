"""Sum all components of each order at rows, from walks down the trees beside background rows.

A row and a background row reach a leaf together if a players follow the row and b others the background row. The leaf
is then in the terms of every component that has the a players, j of the b others, and no further player: with the sign
(-1)^j. So it adds its value C(b, j) (-1)^j times to the order a + j.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel
from skglex._kernels.tree_walks import BACKGROUND, ROW, goes_left, move_apart, push, rows_of_bins, weight_of


@helper
def _walk_tree(tree, row, back, share, trees, player_of_feature, signed, work, out):
    """Add the leaves of one tree that a row and background rows reach together; return the number of steps."""
    nodes, n_orders = trees.nodes, signed.shape[0] - 1
    waiting, order, side, decided = work
    n_decided, n_own, top, n_steps = 0, 0, 0, 0
    last = np.int64(2) ** (8 * back.itemsize) - 1
    node, lo, hi = trees.root[tree], 0, order.shape[0]
    while True:
        feature = nodes[node, 0]
        while feature >= 0:
            n_steps += hi - lo
            test = nodes[node, 1], nodes[node, 3], trees.masks, trees.missing[feature], last
            player = player_of_feature[feature]
            left = goes_left(np.int64(row[feature]), test)
            own, other = (node + 1, nodes[node, 2]) if left else (nodes[node, 2], node + 1)
            follows = side[player] if player >= 0 else BACKGROUND
            middle = hi
            if follows != ROW:
                middle = move_apart(order, lo, hi, back, feature, test, left)
            if middle < hi:
                if middle > lo:
                    top = push(waiting, top, own, lo, middle, n_decided, -1, 0)
                if follows != BACKGROUND:
                    if n_own < n_orders:
                        top = push(waiting, top, own, middle, hi, n_decided, player, ROW)
                    side[player], decided[n_decided] = BACKGROUND, player
                    n_decided += 1
                lo, own = middle, other
            node = own
            feature = nodes[node, 0]
        if n_decided > 0:
            weight = weight_of(order, lo, hi, share)
            for o in range(trees.value.shape[1]):
                value, at = weight * trees.value[nodes[node, 1], o], (trees.output[tree] + o) * n_orders - 1
                for q in range(max(n_own, 1), n_orders + 1):
                    out[at + q] += value * signed[q - n_own, n_decided - n_own]
        while n_decided > (waiting[top - 1, 3] if top else 0):
            n_decided -= 1
            n_own -= side[decided[n_decided]] == ROW
            side[decided[n_decided]] = 0
        if top == 0:
            return n_steps
        top -= 1
        node, lo, hi, player = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 4]
        if player >= 0:
            side[player], decided[n_decided] = ROW, player
            n_decided, n_own = n_decided + 1, n_own + 1


@kernel
def sum_orders_by_walks(bins, back_bins, share, trees, player_of_feature, signed, depth, out):
    """Add the sum of all components of each order up to a largest one; return the number of steps.

    A step takes one background row through one node.

    Parameters
    ----------
    bins, back_bins : ndarray of shape (n_used_features, n_rows) and (n_used_features, n_background)
    share : ndarray of shape (n_background,), float64
    trees : PackedTrees
    player_of_feature : ndarray of shape (n_used_features,), int64
        -1 for features that no component may have.
    signed : ndarray of shape (n_orders + 1, most_players + 1), float64
        (-1)^j C(b, j) at [j, b].
    depth : int
        Number of splits on the longest path.
    out : ndarray of shape (n_rows, n_outputs * n_orders), float64
    """
    rows, back = rows_of_bins(bins, trees.missing), rows_of_bins(back_bins, trees.missing)
    most = player_of_feature.max() + 1 if player_of_feature.shape[0] > 0 else 0
    work = (
        np.empty((2 * depth + 2, 6), np.int64),
        np.arange(share.shape[0]),
        np.zeros(most, np.uint8),
        np.empty(depth + 1, np.int64),
    )
    n_steps = 0
    for tree in range(trees.root.shape[0]):
        for r in range(rows.shape[0]):
            n_steps += _walk_tree(tree, rows[r], back, share, trees, player_of_feature, signed, work, out[r])
    return n_steps
