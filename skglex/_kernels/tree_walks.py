"""Compare rows with background rows along the trees: Shapley values for few rows of a large model, and mixed rows.

A row and a background row that disagree at a node lead to both children: on one way the node's player follows the row,
on the other the background row. Background rows that agree so far walk together. Trees are packed as
`skglex._kernels.traversal` says.
"""

import numpy as np

from skglex._kernels.arguments import WalkWork
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.shapley import pair_weights, value_weights

ROW, BACKGROUND = 1, 2  # What a decided player follows.
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
def goes_left(bin_, test):
    """Return whether a node sends a bin left.

    ``test`` holds what that depends on. Passing all arrays of the trees instead would take a third longer.
    """
    cut, how, masks, missing, last = test
    if how >= 2:
        return masks[(how >> 1) - 1 + (missing if bin_ == last else bin_)] != 0
    return ((bin_ + how) & last) <= cut


@helper
def move_apart(order, lo, hi, back, feature, test, left):
    """Move the background rows ``order[lo:hi]`` that a node does not send ``left`` to the end; return their start."""
    middle, end = lo, hi
    while middle < end:
        b = np.int64(back[order[middle], feature])
        if goes_left(b, test) == left:
            middle += 1
        else:
            end -= 1
            order[middle], order[end] = order[end], order[middle]
    return middle


@helper
def push(waiting, top, node, lo, hi, n_decided, player, side):
    """Let background rows wait at a node; return how many nodes wait then."""
    waiting[top, 0], waiting[top, 1], waiting[top, 2] = node, lo, hi
    waiting[top, 3], waiting[top, 4], waiting[top, 5] = n_decided, player, side
    return top + 1


@helper
def weight_of(order, lo, hi, share):
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
        a += side[decided[i]] == ROW
    n = layout.n_players
    if not layout.pairs:
        up, down = value_weights(a, n_decided - a, inverse)
        for i in range(n_decided):
            player = decided[i]
            weight = share * (up if side[player] == ROW else down)
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
                weight = both_row if side[one] == ROW else both_back
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
            top = push(waiting, 0, trees.root[tree], 0, n_background, 0, -1, 0)
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
                    test = nodes[node, 1], nodes[node, 3], trees.masks, trees.missing[feature], last
                    left = goes_left(np.int64(rows[r, feature]), test)
                    to = node + 1 if left else nodes[node, 2]
                    player = player_of_feature[feature]
                    if side[player] != ROW:
                        middle = move_apart(order, lo, hi, back, feature, test, left)
                        if middle < hi:
                            other = nodes[node, 2] if left else node + 1
                            if side[player] == BACKGROUND:
                                if middle > lo:
                                    top = push(waiting, top, other, middle, hi, n_decided, -1, 0)
                                else:
                                    to, middle = other, hi
                            else:
                                top = push(waiting, top, other, middle, hi, n_decided, player, BACKGROUND)
                                if middle > lo:
                                    top = push(waiting, top, to, middle, hi, n_decided, player, ROW)
                                else:
                                    side[player], decided[n_decided] = ROW, player
                                    n_decided, middle = n_decided + 1, hi
                            hi = middle
                    node = to
                    feature = nodes[node, 0]
                if n_decided > 0:
                    weight = weight_of(order, lo, hi, share)
                    first, leaf = trees.output[tree] * n_columns, value[nodes[node, 1]]
                    _add_leaf(weight, leaf, first, r, decided, side, n_decided, inverse, layout, row_sum, out)
            _flush(row_sum, trees.output[tree] * n_columns, r, out)
            while n_decided > 0:
                n_decided -= 1
                side[decided[n_decided]] = 0
    return n_steps


@helper
def _with_player(player, factor, begin, end, at, family, found, sign):
    """Write the sets ``found[begin:end]`` with one more player from position ``at`` on; return the end of the list."""
    for m in range(begin, end):
        if found[m] < family.with_player.shape[0]:
            larger = family.with_player[found[m], player]
            found[at], sign[at] = larger, factor * sign[m]
            at += larger >= 0
    return at


@helper
def _sum_over_subsets(family, out):
    """Turn what every set adds to its subsets into margins."""
    for player in range(family.with_player.shape[1]):
        for smaller in range(family.with_player.shape[0]):
            larger = family.with_player[smaller, player]
            if larger >= 0:
                for o in range(out.shape[0]):
                    for b in range(out.shape[2]):
                        out[o, larger, b] += out[o, smaller, b]


@helper
def _push_sets(waiting, top, node, lo, hi, n_decided, player, begin, end):
    """Let background rows wait at a node with a list of sets; ``player`` will follow the row, unless it is -1."""
    waiting[top, 6] = end
    return push(waiting, top, node, lo, hi, n_decided, player, begin)


@helper
def _walk_tree(tree, row, back, trees, family, work, out):
    """Add the leaves of one tree that background rows reach when few players follow the row.

    A leaf is reached by the sets that contain the players who follow the row, and none who follows the background row
    although they disagree. ``found`` holds these sets as differences: the first players alone, and with alternating
    signs their unions with sets of the others.
    """
    nodes, with_player, n_decided, top = trees.nodes, family.with_player, 0, 0
    waiting, order, side, decided, found, sign = work
    last = np.int64(2) ** (8 * back.itemsize) - 1
    node, lo, hi, begin, end = trees.root[tree], 0, order.shape[0], 0, 1
    found[0], sign[0] = 0, 1.0
    while True:
        feature = nodes[node, 0]
        while feature >= 0:
            test = nodes[node, 1], nodes[node, 3], trees.masks, trees.missing[feature], last
            player = family.player_of_feature[feature]
            left = goes_left(np.int64(row[feature]), test)
            own, other = (node + 1, nodes[node, 2]) if left else (nodes[node, 2], node + 1)
            follows = side[player] if player >= 0 else BACKGROUND
            middle = hi
            if follows != ROW:
                middle = move_apart(order, lo, hi, back, feature, test, left)
            if middle < hi:
                if middle > lo:
                    top = _push_sets(waiting, top, own, lo, middle, n_decided, -1, begin, end)
                if follows != BACKGROUND:
                    if found[begin] < with_player.shape[0] and with_player[found[begin], player] >= 0:
                        top = _push_sets(waiting, top, own, middle, hi, n_decided, player, begin, end)
                    side[player], decided[n_decided] = BACKGROUND, player
                    n_decided += 1
                    end = _with_player(player, -1.0, begin, end, end, family, found, sign)
                lo, own = middle, other
            node = own
            feature = nodes[node, 0]
        for o in range(trees.value.shape[1]):
            for m in range(begin, end):
                v, target = sign[m] * trees.value[nodes[node, 1], o], out[trees.output[tree] + o, found[m]]
                for i in range(lo, hi):
                    target[order[i]] += v
        while n_decided > (waiting[top - 1, 3] if top else 0):
            n_decided -= 1
            side[decided[n_decided]] = 0
        if top == 0:
            return
        top -= 1
        node, lo, hi, player = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 4]
        begin, end = waiting[top, 5], waiting[top, 6]
        if player >= 0:
            side[player], decided[n_decided] = ROW, player
            n_decided += 1
            begin, end = end, _with_player(player, 1.0, begin, end, end, family, found, sign)


@kernel
def mix_few_players(bins, back_bins, trees, family, depth, out):
    """Compute the margins of background rows in which the players of every set of a family take a row's values.

    Parameters
    ----------
    bins : ndarray of shape (n_used_features, 1)
        The row.
    back_bins : ndarray of shape (n_used_features, n_background)
    trees : PackedTrees
    family : SetFamily
    depth : int
        Number of splits on the longest path.
    out : ndarray of shape (n_outputs, n_sets, n_background)
        Receives the margins. It holds the base of the empty set, and zeros.
    """
    row, back = rows_of_bins(bins, trees.missing)[0], rows_of_bins(back_bins, trees.missing)
    n_players, n_differences = family.with_player.shape[1], (family.order + 1) * out.shape[1]
    work = WalkWork(
        np.empty((2 * depth + 2, 7), np.int64),
        np.arange(out.shape[2]),
        np.zeros(n_players, np.uint8),
        np.empty(n_players, np.int64),
        np.empty(n_differences, np.int64),
        np.empty(n_differences),
    )
    for tree in range(trees.root.shape[0]):
        _walk_tree(tree, row, back, trees, family, work, out)
    _sum_over_subsets(family, out)
