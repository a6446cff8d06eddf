"""Count the background rows that violate few players of each leaf: all rows walk down a tree together.

The rows at a node are listed by the set of players that they violate on the way there. At a split on a player outside
of a row's set, the row goes to its own child, and, with the player in its set, to the other child as well; sets of more
than ``max_order`` players are dropped. At a split on a player of its set, a row goes both ways. So the leaves below a
node share the work that is done above it.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel

# Kinds of nodes: no wanted leaf is at or below an empty one.
_EMPTY, _SPLIT, _LEAF = 0, 1, 2
# Columns of a node: its kind and, for a split, its children, and which of the bins that occur go right: from a first
# one up to an end. A leaf has its number in the ensemble instead.
_KIND, _LEFT, _RIGHT, _FIRST, _END = range(5)


@helper
def _list_sets(n_slots, max_order):
    """List the sets of at most ``max_order`` slots.

    Return their sizes, their members, and the position of every set with one more slot, -1 for none. The sets of the
    first slots come first.
    """
    size, members = np.zeros(1, np.int64), np.zeros((1, max_order), np.int64)
    n = 1
    for slot in range(n_slots):
        found = n
        for s in range(found):
            if size[s] == max_order:
                continue
            if n == size.shape[0]:
                longer, wider = np.zeros(2 * n, np.int64), np.zeros((2 * n, max_order), np.int64)
                longer[:n], wider[:n] = size, members
                size, members = longer, wider
            members[n, : size[s]] = members[s, : size[s]]
            members[n, size[s]], size[n] = slot, size[s] + 1
            n += 1
    joined = np.full((n, n_slots), -1, np.int32)
    place = 1
    for slot in range(n_slots):
        for s in range(place):
            if size[s] < max_order:
                joined[s, slot] = place
                place += 1
    for s in range(1, n):
        last = members[s, size[s] - 1]
        without = 0  # The set without its last member.
        for i in range(size[s] - 1):
            without = joined[without, members[s, i]]
        for slot in range(last):
            if joined[without, slot] >= 0 and size[s] < max_order:
                joined[s, slot] = joined[joined[without, slot], last]
        for i in range(size[s]):
            joined[s, members[s, i]] = s
    return size[:n], members[:n], joined


@helper
def _mark_leaves(root, stop, trees, leaves, at, parent, nodes):
    """Mark the wanted leaves of a tree and the nodes above them; return the position of the next wanted leaf."""
    first, last = np.iinfo(np.int32).max, -1
    for node in range(root, stop):
        nodes[node - root, _KIND] = _EMPTY
        leaf = np.int64(trees.leaf[node])
        if leaf >= 0:
            first, last = min(first, leaf), max(last, leaf)
        else:
            parent[trees.left[node] - root] = parent[trees.right[node] - root] = node - root
    parent[0] = -1
    of_leaf = np.empty(last - first + 1, np.int32)
    for node in range(root, stop):
        if trees.leaf[node] >= 0:
            of_leaf[trees.leaf[node] - first] = node - root
    while at < leaves.shape[0] and leaves[at] <= last:
        node = np.int64(of_leaf[leaves[at] - first])
        nodes[node, _KIND], nodes[node, _LEFT] = _LEAF, leaves[at]
        node = np.int64(parent[node])
        while node >= 0 and nodes[node, _KIND] == _EMPTY:
            nodes[node, _KIND] = _SPLIT
            node = np.int64(parent[node])
        at += 1
    return at


@helper
def _state_splits(root, stop, trees, rows, n_bins, nodes):
    """Write the splits of a tree in terms of the bins that occur."""
    for node in range(root, stop):
        i = node - root
        if nodes[i, _KIND] != _SPLIT:
            continue
        s = trees.used_feature[node]
        lo, end = rows.ptr[s], rows.ptr[s + 1]
        # The last bin is that of missing values. It matters only if it occurs.
        hi = end - (trees.missing_left[node] and end > lo and rows.occurring[end - 1] == n_bins[s] - 1)
        nodes[i, _END] = hi - rows.ptr[s]
        while lo < hi:
            middle = (lo + hi) >> 1
            if rows.occurring[middle] <= trees.cut[node]:
                lo = middle + 1
            else:
                hi = middle
        # The bins that a split by category sends right need not be neighbours.
        nodes[i, _FIRST] = -1 if trees.mask[node] >= 0 else lo - rows.ptr[s]
        nodes[i, _LEFT], nodes[i, _RIGHT] = trees.left[node] - root, trees.right[node] - root


@helper
def _part_rows(arena, lo, hi, column, first, end, left, right):
    """Write the rows ``arena[lo:hi]`` that go left, and those that go right, to two places; return their ends."""
    one, to_left, to_right = np.uint64(1), np.uint64(left), np.uint64(right)
    for i in range(np.uint64(lo), np.uint64(hi)):
        row = arena[i]
        # The difference of a bin below the first one is a large number without sign.
        goes_right = np.uint64(np.uint64(np.int64(column[row]) - first) < np.uint64(end - first))
        # Both are written, and one is kept: a branch would often be mispredicted.
        arena[to_left], arena[to_right] = row, row
        to_left += one - goes_right
        to_right += goes_right
    return np.int64(to_left), np.int64(to_right)


@helper
def _part_rows_at(arena, lo, hi, node, s, trees, rows, left, right):
    """Do the same at a split by category."""
    for i in range(lo, hi):
        row = arena[i]
        bin_ = rows.occurring[rows.ptr[s] + rows.bins[s, row]]
        if trees.masks[trees.mask[node] + bin_]:
            arena[left] = row
            left += 1
        else:
            arena[right] = row
            right += 1
    return left, right


@helper
def _count_right(arena, lo, hi, column, first, end):
    """Return the number of the rows ``arena[lo:hi]`` that go right."""
    n = 0
    for i in range(np.uint64(lo), np.uint64(hi)):
        n += np.uint64(np.int64(column[arena[i]]) - first) < np.uint64(end - first)
    return n


@helper
def _weight_of(arena, lo, hi, weight, equal):
    """Return the weight of the rows ``arena[lo:hi]``."""
    if equal > 0.0:
        return equal * (hi - lo)
    total = 0.0
    for i in range(lo, hi):
        total += weight[arena[i]]
    return total


@helper
def _rank_of(s, size, members, position, choose, offset):
    """Return the rank of a set among the subsets of a leaf's players; a slot has the player ``position[slot]``."""
    rank = offset[size[s]]
    for i in range(size[s]):
        n, p = 1, position[members[s, i]]
        for j in range(size[s]):
            n += position[members[s, j]] < p
        rank += choose[p, n]
    return rank


@helper
def _n_rows_of(first, last, lists):
    """Return the number of rows in some lists."""
    n = 0
    for k in range(first, last):
        n += lists[k, 2] - lists[k, 1]
    return n


@helper
def _push(waiting, n, node, n_slots, first, last, top):
    """Let a node wait with its lists; return how many nodes wait then."""
    waiting[n, 0], waiting[n, 1], waiting[n, 2], waiting[n, 3], waiting[n, 4] = (
        node,
        n_slots,
        first,
        last,
        top,
    )
    return n + 1


@helper
def _pop(waiting, n):
    """Return a node that waited, its lists, and the end of the rows in use."""
    return waiting[n, 0], waiting[n, 2], waiting[n, 3], waiting[n, 4]


@helper
def _sizes(some_trees, trees, leaves, n_players, player_of_feature):
    """Return the largest number of nodes of some trees, the largest of players of some leaves, and that of players."""
    n_nodes, most, n = 0, 1, 0
    for player in player_of_feature:
        n = max(n, player + 1)
    for t in some_trees:
        n_nodes = max(n_nodes, trees.roots[t + 1] - trees.roots[t])
    for leaf in leaves:
        most = max(most, n_players[leaf])
    return n_nodes, most, n


@helper
def with_room(numbers, n, needed):
    """Return an array that holds the first n rows of another one, and has at least as many rows as are needed."""
    if needed <= numbers.shape[0]:
        return numbers
    longer = np.empty((2 * needed,) + numbers.shape[1:], numbers.dtype)
    longer[:n] = numbers[:n]
    return longer


@helper
def _split_lists(first, last, slot, joined, node, counts_only, column, arena, top, lists):
    """Split the rows of the lists whose set lacks a slot; return the end of the rows in use, and the number of steps.

    The columns of a list are its set, its rows ``arena[lo:hi]`` and, where it is split, those that go left and right.
    """
    n_steps, begin, end = 0, np.int64(node[_FIRST]), np.int64(node[_END])
    for k in range(first, last):
        if joined[lists[k, 0], slot] != lists[k, 0]:
            n_steps += lists[k, 2] - lists[k, 1]
    left, right = top, top + n_steps + 1
    for k in range(first, last):
        lo, hi = lists[k, 1], lists[k, 2]
        if joined[lists[k, 0], slot] == lists[k, 0]:
            continue
        if counts_only:
            middle = hi - _count_right(arena, lo, hi, column, begin, end)
            lists[k, 3], lists[k, 4], lists[k, 5], lists[k, 6] = lo, middle, middle, hi
            continue
        lists[k, 3], lists[k, 5] = left, right
        left, right = _part_rows(arena, lo, hi, column, begin, end, left, right)
        lists[k, 4], lists[k, 6] = left, right
    return (top if counts_only else right + 1), n_steps


@helper
def _split_lists_at(first, last, slot, joined, node, trees, rows, arena, top, lists):
    """Do the same at a split by category."""
    n_steps, s = 0, np.int64(trees.used_feature[node])
    for k in range(first, last):
        if joined[lists[k, 0], slot] != lists[k, 0]:
            n_steps += lists[k, 2] - lists[k, 1]
    left, right = top, top + n_steps
    for k in range(first, last):
        if joined[lists[k, 0], slot] == lists[k, 0]:
            continue
        lists[k, 3], lists[k, 5] = left, right
        left, right = _part_rows_at(arena, lists[k, 1], lists[k, 2], node, s, trees, rows, left, right)
        lists[k, 4], lists[k, 6] = left, right
    return right, n_steps


@helper
def _rank_sets(first, last, slot, size, members, joined, position, choose, offset, lists):
    """Write the ranks of the sets of some lists among the subsets of a leaf's players, without and with a slot."""
    for k in range(first, last):
        s = lists[k, 0]
        lists[k, 7] = _rank_of(s, size, members, position, choose, offset)
        with_slot = np.int64(joined[s, slot])
        if with_slot == s or with_slot < 0:
            lists[k, 8] = -1
        else:
            lists[k, 8] = _rank_of(with_slot, size, members, position, choose, offset)


@helper
def _pass_to_leaf(first, last, slot, side, joined, arena, weight, equal, lists, out):
    """Add the weights of the lists of a node to its left (0) or right (1) child, a leaf."""
    own, other = 3 + 2 * side, 5 - 2 * side
    for k in range(first, last):
        lo, hi = lists[k, own], lists[k, own + 1]
        if joined[lists[k, 0], slot] == lists[k, 0]:
            lo, hi = lists[k, 1], lists[k, 2]
        if lo < hi:
            out[lists[k, 7]] += _weight_of(arena, lo, hi, weight, equal)
        lo, hi = lists[k, other], lists[k, other + 1]
        if lists[k, 8] >= 0 and lo < hi:
            out[lists[k, 8]] += _weight_of(arena, lo, hi, weight, equal)


@helper
def _pass_on(first, last, end, slot, side, joined, arena, top, where, lists):
    """Append the lists of the left (0) or right (1) child of a node; return the ends of the lists and of the rows.

    ``where`` is -1 for every set, and is so again afterwards. Rows are copied only where two lists are joined.
    """
    own, other = 3 + 2 * side, 5 - 2 * side
    for k in range(first, last):
        if joined[lists[k, 0], slot] == lists[k, 0]:
            where[lists[k, 0]] = end
            lists[end, 0], lists[end, 1], lists[end, 2] = lists[k, 0], lists[k, 1], lists[k, 2]
            end += 1
    for k in range(first, last):
        s = lists[k, 0]
        with_slot = joined[s, slot]
        if with_slot == s:
            continue
        if lists[k, own] < lists[k, own + 1]:
            lists[end, 0], lists[end, 1], lists[end, 2] = s, lists[k, own], lists[k, own + 1]
            end += 1
        if with_slot < 0 or lists[k, other] == lists[k, other + 1]:
            continue
        at = where[with_slot]
        if at < 0:
            lists[end, 0], lists[end, 1], lists[end, 2] = with_slot, lists[k, other], lists[k, other + 1]
            end += 1
            continue
        start = top
        for lo, hi in ((lists[at, 1], lists[at, 2]), (lists[k, other], lists[k, other + 1])):
            for i in range(lo, hi):
                arena[top] = arena[i]
                top += 1
        lists[at, 1], lists[at, 2] = start, top
    for k in range(first, last):
        if joined[lists[k, 0], slot] == lists[k, 0]:
            where[lists[k, 0]] = -1
    return end, top


@kernel
def add_near_misses_by_walks(
    rows, trees, player_of_feature, n_bins, paths, players, wanted, ranks, some_trees, out
):
    """Do the same as `skglex._kernels.bitsets.add_near_misses`; return the number of steps.

    A step takes one row of one list through one node. ``wanted.leaves`` are leaves of ``some_trees``; both increase.
    """
    n_rows, n_steps, at = rows.bins.shape[1], 0, 0
    n_nodes, most, n = _sizes(some_trees, trees, wanted.leaves, players.n_players, player_of_feature)
    nodes, parent = np.empty((n_nodes, 5), np.int32), np.empty(n_nodes, np.int32)
    size_of, members, joined = _list_sets(most, wanted.max_order)
    where, weight, equal = np.full(size_of.shape[0], -1, np.int64), rows.weight, rows.equal
    slot_of, player_of_slot = np.full(n, -1, np.int64), np.empty(most, np.int64)
    position, choose = np.empty(most, np.int64), ranks.choose
    arena, lists = np.empty(8 * n_rows, np.uint32), np.empty((64, 9), np.int64)
    # What waits: a node, how many slots are in use there, its lists, and the end of the rows in use.
    waiting = np.empty((64, 5), np.int64)
    for r in range(n_rows):
        arena[r] = r
    for t in some_trees:
        root, stop = trees.roots[t], trees.roots[t + 1]
        at = _mark_leaves(root, stop, trees, wanted.leaves, at, parent, nodes)
        _state_splits(root, stop, trees, rows, n_bins, nodes)
        slot_of[:], n_slots, n_waiting = -1, 0, 0
        if nodes[0, _KIND] == _LEAF:
            out[wanted.start[nodes[0, _LEFT]]] += _weight_of(arena, 0, n_rows, weight, equal)
        elif nodes[0, _KIND] == _SPLIT:
            lists[0, 0], lists[0, 1], lists[0, 2] = 0, 0, n_rows
            n_waiting = _push(waiting, 0, 0, 0, 0, 1, n_rows)
        while n_waiting > 0:
            n_waiting -= 1
            i, first, last, top = _pop(waiting, n_waiting)
            while n_slots > waiting[n_waiting, 1]:
                n_slots -= 1
                slot_of[player_of_slot[n_slots]] = -1
            feature, end = trees.used_feature[root + i], last
            player = player_of_feature[feature]
            if slot_of[player] < 0:
                slot_of[player], player_of_slot[n_slots] = n_slots, player
                n_slots += 1
            slot = slot_of[player]
            arena = with_room(arena, top, top + 4 * _n_rows_of(first, last, lists) + 2)
            lists = with_room(lists, last, last + 4 * (last - first))
            waiting = with_room(waiting, n_waiting, n_waiting + 2)
            if nodes[i, _FIRST] >= 0:
                inner = nodes[nodes[i, _LEFT], _KIND] == _SPLIT or nodes[nodes[i, _RIGHT], _KIND] == _SPLIT
                args = (
                    slot,
                    joined,
                    nodes[i],
                    equal > 0.0 and not inner,
                    rows.bins[feature],
                    arena,
                    top,
                    lists,
                )
                top, steps = _split_lists(first, last, *args)
            else:
                args = slot, joined, root + i, trees, rows, arena, top, lists
                top, steps = _split_lists_at(first, last, *args)
            n_steps += steps
            for side in range(2):
                child = np.int64(nodes[i, _LEFT + side])
                kind, begin = nodes[child, _KIND], end
                if kind == _LEAF:
                    leaf = np.int64(nodes[child, _LEFT])
                    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
                        position[slot_of[players.id[e]]] = players.position[e]
                    offset, of_leaf = ranks.offset[players.n_players[leaf]], out[wanted.start[leaf] :]
                    _rank_sets(first, last, slot, size_of, members, joined, position, choose, offset, lists)
                    _pass_to_leaf(first, last, slot, side, joined, arena, weight, equal, lists, of_leaf)
                elif kind == _SPLIT:
                    end, top = _pass_on(first, last, end, slot, side, joined, arena, top, where, lists)
                    if end > begin:
                        n_waiting = _push(waiting, n_waiting, child, n_slots, begin, end, top)
    return n_steps
