r"""Solve path-dependent games tree by tree: blocks of rows walk down all ways of a tree together.

The game of a leaf pays the product of one factor per player. With Gauss-Legendre nodes t, the factor of player j is
f_j(t) = t x_j + (1 - t) r_j, where x_j is 1 if the row meets the conditions of j, and r_j is the cover ratio. The
Shapley value of player i is the integral of v F g_i, and half the interaction of i and j is half the integral of
v F g_i g_j, where v is the leaf's value, F the product of all factors, and g_i = (x_i - r_i) / f_i.

A split changes the factor and the g of one player only. So F is updated from node to node on the way down. On the way
up, v F is summed over the leaves below a node, and the change of g at the node is multiplied by this sum: the changes
on the way to a leaf add up to the g of the leaf. (Yu, Xu, Albarghouthi, Singh, Trivedi and Peng, "Linear TreeShap",
NeurIPS 2022, do the same with polynomials.)
"""

import numpy as np

from skglex._kernels.arguments import OpenEdges, TreeEdges
from skglex._kernels.compilation import helper, inlined, kernel

# Most rows of a block, whose products at a few nodes stay in cache, and most numbers that are held for it.
_ROWS, _NUMBERS = 128, 1 << 22


@helper
def _list_edges(trees, tree, player_of_feature, waiting, edges):
    """List the nodes of a tree depth first, each with the edge that leads to it; return their number and the depth."""
    n, top, deepest = 0, 0, 0
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = trees.roots[tree], -1, 0, 0
    while top >= 0:
        node, parent, depth, is_left = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3]
        top -= 1
        edges.node[n], edges.parent[n], edges.depth[n], edges.is_left[n] = node, parent, depth, is_left
        edges.player[n] = player_of_feature[trees.used_feature[parent]] if parent >= 0 else -1
        deepest = max(deepest, depth)
        n += 1
        if trees.left[node] >= 0:
            for side in range(2):
                top += 1
                child = trees.left[node] if side else trees.right[node]
                waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3] = (
                    child,
                    node,
                    depth + 1,
                    side,
                )
    return n, deepest


@helper
def _find_ratios(n, cover_ratio, edges, path, earlier, last):
    """Write the cover ratio of each edge's player before and after it; return the most players on a path.

    ``path`` holds the edges on the way to a node by depth, ``earlier`` the depth of the edge before of the same player,
    and ``last`` that of the last edge of each player; 0 for none.
    """
    most, on_path, depth = 1, 0, 0
    last[:] = 0
    for i in range(1, n):
        while depth >= edges.depth[i]:
            last[edges.player[path[depth]]] = earlier[depth]
            on_path -= earlier[depth] == 0
            depth -= 1
        depth, player = edges.depth[i], edges.player[i]
        path[depth], earlier[depth] = i, last[player]
        on_path += earlier[depth] == 0
        edges.ratio[i, 0] = edges.ratio[path[last[player]], 1] if last[player] > 0 else 1.0
        edges.ratio[i, 1] = edges.ratio[i, 0] * cover_ratio[edges.node[i]]
        last[player] = depth
        most = max(most, on_path)
    return most


@helper
def _fill_factors(n, nodes, half, edges):
    """Write how each edge changes the product at every node t, and g before and after it, for rows that meet."""
    for i in range(1, n):
        before, after = edges.ratio[i, 0], edges.ratio[i, 1]
        for q in range(half):
            t = nodes[q]
            f, met = t + (1.0 - t) * before, t + (1.0 - t) * after
            edges.factor[i, q, 0], edges.factor[i, q, 1] = met / f, (1.0 - t) * after / f
            edges.factor[i, q, 2], edges.factor[i, q, 3] = (1.0 - before) / f, (1.0 - after) / met


@helper
def _open_edges(depth, half, width, rows, last):
    """Return empty arrays for the edges on the way to a node."""
    return OpenEdges(
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.bool_),
        np.empty((depth + 1, rows), np.int64),
        np.zeros(depth + 1, np.bool_),
        np.empty((depth + 1, half, rows)),
        np.empty((depth + 1, width, half, rows)),
        np.empty((half, rows)),
        np.empty((2, rows)),
        last,
    )


@inlined
def _find_met(parent, is_left, bins, start, n, last_bin, trees, before, after):
    """Write which rows that meet a player's conditions so far meet them after an edge, 1 or 0; return if any does."""
    some, mask, cut = 0, np.int64(trees.mask[parent]), np.int64(trees.cut[parent])
    if mask >= 0:
        for r in range(n):
            after[r] = before[r] & np.int64((trees.masks[mask + bins[start + r]] != 0) == (is_left != 0))
            some |= after[r]
    else:
        # The bin of missing values is the last one. Without branches, some rows are tested at a time.
        missing_left = np.int64(trees.missing_left[parent] != 0)
        for r in range(n):
            b = np.int64(bins[start + r])
            left = np.int64(b <= cut) | (missing_left & np.int64(b == last_bin))
            after[r] = before[r] & np.int64(left == is_left)
            some |= after[r]
    return some != 0


@inlined
def _multiply(depth, n, rho, before, after, factor, product):
    """Multiply the products at the end of an edge."""
    for q in range(product.shape[1]):
        met, missed, above, here = factor[q, 0], factor[q, 1], product[depth - 1, q], product[depth, q]
        for r in range(n):
            here[r] = above[r] * (met if after[r] != 0 else (missed if before[r] != 0 else rho))


@inlined
def _add_leaf(depth, n, rho, v, is_left, before, after, factor, product, above, below):
    """Write value times product at a leaf, and add it to the sums above it, which the left child begins."""
    for q in range(product.shape[1]):
        met, missed, not_met = v * factor[q, 0], v * factor[q, 1], v * rho
        parent, here, single = product[depth - 1, q], below[q], above[q]
        for r in range(n):
            here[r] = parent[r] * (met if after[r] != 0 else (missed if before[r] != 0 else not_met))
            single[r] = here[r] + (0.0 if is_left else single[r])


@inlined
def _add_value_of_leaf(depth, start, n, rho, v, is_left, of_leaf):
    """Do the same without writing what is at the leaf, and add to the Shapley value of the edge's player."""
    unmet, before, after, factor, product, above, sums, target = of_leaf
    of_player = sums[0]
    of_player[:n] = 0.0
    for q in range(product.shape[1]):
        g, met, missed, not_met = factor[q, 2], v * factor[q, 0], v * factor[q, 1], v * rho
        change_met, change_missed = met * (factor[q, 3] - g), missed * (unmet[q] - g)
        parent, single = product[depth - 1, q], above[q]
        for r in range(n):
            x = parent[r]
            of_player[r] += x * (change_met if after[r] != 0 else change_missed)
            x *= met if after[r] != 0 else (missed if before[r] != 0 else not_met)
            single[r] = x + (0.0 if is_left else single[r])
    for r in range(n):
        target[start + r] += of_player[r] if before[r] != 0 else 0.0


@inlined
def _add_value(start, n, unmet, before, after, below, factor, sums, target):
    """Add the sum below an edge, times the change of g there, to the Shapley value of the edge's player."""
    of_player = sums[0]
    of_player[:n] = 0.0
    for q in range(below.shape[0]):
        g, here = factor[q, 2], below[q]
        met, missed = factor[q, 3] - g, unmet[q] - g
        for r in range(n):
            of_player[r] += here[r] * (met if after[r] != 0 else missed)
    for r in range(n):
        target[start + r] += of_player[r] if before[r] != 0 else 0.0


@inlined
def _add_sums(n, is_left, above, below):
    """Add the sums below an edge to those above it, which the left child begins."""
    for q in range(below.shape[0]):
        single, here = above[q], below[q]
        for r in range(n):
            single[r] = here[r] + (0.0 if is_left else single[r])


@inlined
def _find_changes(n, unmet, before, after, below, factor, change, of_unmet):
    """Write the sum below an edge times the change of g there, and what a player gets whose conditions a row misses.

    Where a row misses a player's conditions, g is -1 / (1 - t), whoever the player is.
    """
    of_unmet[:n] = 0.0
    for q in range(below.shape[0]):
        g, g_unmet, single, here = factor[q, 2], unmet[q], below[q], change[q]
        met, missed = factor[q, 3] - g, g_unmet - g
        for r in range(n):
            changed = single[r] * (met if after[r] != 0 else missed)
            changed = changed if before[r] != 0 else 0.0
            here[r] = changed
            of_unmet[r] += changed * g_unmet


@inlined
def _add_pair(start, n, met, factor, change, sums, target):
    """Add an edge's changes times g of another player on the path to half their interaction."""
    of_pair, of_unmet = sums[0], sums[1]
    of_pair[:n] = 0.0
    for q in range(change.shape[0]):
        g, here = factor[q, 3], change[q]
        for r in range(n):
            of_pair[r] += here[r] * g
    for r in range(n):
        target[start + r] += 0.5 * (of_pair[r] if met[r] != 0 else of_unmet[r])


@helper
def _solve_rows(start, n, bins, trees, cover_ratio, value, n_bins, rule, edges, open_edges, layout, out):
    """Add what one tree gives to a block of rows."""
    weights, unmet, n_nodes = rule
    node, parent, depth_of, is_left, player_of, _, factor = edges
    edge, earlier, is_last, met, some_met, product, total, change, sums, last = open_edges
    width, n_players, pairs = value.shape[1], layout.n_players, layout.pairs
    n_columns = n_players * n_players if pairs else n_players
    for q in range(product.shape[1]):
        product[0, q, :n] = weights[q]
    met[0, :n], some_met[0] = 1, True
    last[:], depth, leaf = 0, 0, -1
    for i in range(1, n_nodes + 1):
        next_depth = depth_of[i] if i < n_nodes else 1
        while depth >= next_depth:
            e, past = edge[depth], earlier[depth]
            player, before, after = player_of[e], met[past], met[depth]
            # A player whose conditions a row has missed before has the same g ever after.
            for o in range(width if some_met[past] and (pairs or leaf < 0) else 0):
                below = total[depth, o]
                if not pairs:
                    target = out[o * n_columns + player]
                    _add_value(start, n, unmet, before, after, below, factor[e], sums, target)
                    continue
                _find_changes(n, unmet, before, after, below, factor[e], change, sums[1])
                for d in range(1, depth):
                    other = player_of[edge[d]]
                    if is_last[d] and other != player:
                        column = min(player, other) * n_players + max(player, other)
                        target = out[o * n_columns + column]
                        _add_pair(start, n, met[d], factor[edge[d]], change, sums, target)
            is_last[depth], is_last[past], last[player] = False, past > 0, past
            for o in range(width if leaf < 0 else 0):
                _add_sums(n, is_left[e] != 0, total[depth - 1, o], total[depth, o])
            depth, leaf = depth - 1, -1
        if i == n_nodes:
            break
        depth, player, s = next_depth, player_of[i], np.int64(trees.used_feature[parent[i]])
        past = last[player]
        edge[depth], earlier[depth], last[player] = i, past, depth
        is_last[past], is_last[depth] = False, True
        before, after, rho = met[past], met[depth], cover_ratio[node[i]]
        some_met[depth] = _find_met(
            parent[i], is_left[i], bins[s], start, n, n_bins[s] - 1, trees, before, after
        )
        leaf = np.int64(trees.leaf[node[i]])
        if leaf < 0:
            _multiply(depth, n, rho, before, after, factor[i], product)
            continue
        for o in range(width):
            v, above, left = value[leaf, o], total[depth - 1, o], is_left[i] != 0
            if pairs:
                below = total[depth, o]
                _add_leaf(depth, n, rho, v, left, before, after, factor[i], product, above, below)
            else:
                target = out[o * n_columns + player]
                of_leaf = unmet, before, after, factor[i], product, above, sums, target
                _add_value_of_leaf(depth, start, n, rho, v, left, of_leaf)


@kernel
def add_shapley_by_products(
    bins, trees, cover_ratio, values, player_of_feature, n_bins, rules, layout, chosen, out
):
    """Add the Shapley values, or half the interactions, of the chosen trees with path-dependent weights.

    Parameters
    ----------
    bins : ndarray of shape (n_used_features, n_rows)
    trees : Trees
    cover_ratio : ndarray of shape (n_nodes,), float64
        cover(node) / cover(parent), not zero.
    values : LeafValues
    player_of_feature : ndarray of shape (n_used_features,), int64
    n_bins : ndarray of shape (n_used_features,), int64
    rules : QuadratureRules
        Up to half as many nodes as there are players on a path.
    layout : ShapleyRows
    chosen : ndarray of int64
    out : ndarray of shape (n_outputs * n_values, n_rows), float64
    """
    n_rows, width, most_nodes, n_players = bins.shape[1], values.value.shape[1], 1, 1
    for tree in chosen:
        most_nodes = max(most_nodes, trees.roots[tree + 1] - trees.roots[tree])
    for player in player_of_feature:
        n_players = max(n_players, player + 1)
    waiting, last = np.empty((most_nodes + 1, 4), np.int64), np.empty(n_players, np.int64)
    edges = TreeEdges(
        np.empty(most_nodes, np.int64),
        np.empty(most_nodes, np.int64),
        np.empty(most_nodes, np.int64),
        np.empty(most_nodes, np.int64),
        np.empty(most_nodes, np.int64),
        np.empty((most_nodes, 2)),
        np.empty((most_nodes, rules.nodes.shape[1], 4)),
    )
    unmet = np.empty(rules.nodes.shape[1])
    for tree in chosen:
        n, depth = _list_edges(trees, tree, player_of_feature, waiting, edges)
        path, earlier = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
        half = (_find_ratios(n, cover_ratio, edges, path, earlier, last) + 1) // 2
        _fill_factors(n, rules.nodes[half], half, edges)
        for q in range(half):
            unmet[q] = -1.0 / (1.0 - rules.nodes[half, q])
        rows = min(n_rows, max(1, min(_ROWS, _NUMBERS // ((depth + 1) * (width + 1) * half))))
        open_edges, rule = _open_edges(depth, half, width, rows, last), (rules.weights[half], unmet, n)
        per_output = layout.n_players * layout.n_players if layout.pairs else layout.n_players
        of_tree = out[values.output[trees.leaf[edges.node[n - 1]]] * per_output :]
        for start in range(0, n_rows, rows):
            m = min(rows, n_rows - start)
            args = bins, trees, cover_ratio, values.value, n_bins, rule, edges, open_edges, layout, of_tree
            _solve_rows(start, m, *args)
