"""Solve neighbouring leaves together: a cluster of leaves asks few questions of a row, and most rows answer alike.

A *state* of a cluster says which conditions of its leaves a row meets. On each feature the conditions divide the bins
into few states, and the states of all features are numbered together. All leaves are solved once for every state; a row
then costs one look-up per player of the cluster, whatever the number of leaves. The background, too, is counted once
per cluster.
"""

import numpy as np

from skglex._kernels.arguments import ClusterSpace
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK
from skglex._kernels.shapley import n_columns
from skglex._kernels.subsets import count_members, subset_rank, sum_over_subsets

# Limits of one cluster: its features, its conditions on one feature, the entries of its table (one megabyte), and its
# states, which are 16-bit numbers.
_FEATURES, _CONDITIONS, _TABLE, _CODES = 48, 24, 1 << 17, 1 << 16


@helper
def cluster_space(conditions, n_bins, n_players, capacity, with_table):
    """Return the arrays that hold one cluster, with or without a table."""
    cells = 3 * _CONDITIONS + 1
    most_bins = 0
    if conditions.masks.shape[0] > 0:
        for s in range(n_bins.shape[0]):
            most_bins = max(most_bins, n_bins[s])
    return ClusterSpace(
        np.full(n_bins.shape[0], -1, np.int64),
        np.empty(_FEATURES, np.int64),
        np.zeros(_FEATURES, np.int64),
        np.empty((_FEATURES, _CONDITIONS), np.int64),
        np.zeros(_FEATURES, np.bool_),
        np.empty((_FEATURES, cells), np.int64),
        np.empty((_FEATURES, max(cells, most_bins)), np.uint16),
        np.zeros(_FEATURES, np.int64),
        np.ones(_FEATURES, np.int64),
        np.ones(_FEATURES, np.int64),
        np.empty((_FEATURES, 64), np.uint64),
        np.full(n_players, -1, np.int64),
        np.empty(64, np.int64),
        np.empty(capacity, np.uint32),
        np.empty(capacity, np.float64),
        np.empty(_TABLE if with_table else 0, np.float64),
    )


@helper
def _meets(bin_, conditions, c):
    """Return whether a bin meets condition c."""
    if conditions.mask[c] >= 0:
        return conditions.masks[conditions.mask[c] + bin_] != 0
    inside = np.int64(conditions.lo[c]) <= bin_ < np.int64(conditions.hi[c])
    return inside or bin_ == np.int64(conditions.missing[c])


@helper
def _find_states(f, conditions, n_bins, space):
    """Divide the bins of a cluster's feature into states; return whether there are at most 64.

    ``first_bin`` receives where the meaning of a bin may change, ``state`` the state from there on. For a feature with
    masks, ``state`` has an entry for each bin.
    """
    n_conditions, last_bin = space.n_conditions[f], n_bins[space.feature[f]] - 1
    masked = False
    for i in range(n_conditions):
        masked |= conditions.mask[space.condition[f, i]] >= 0
    space.masked[f] = masked
    n_cells = 1
    cuts = space.first_bin[f]
    if masked:
        n_cells = last_bin + 1
    else:
        cuts[0] = 0
        for i in range(n_conditions):
            c = space.condition[f, i]
            for part in range(3):
                cut = np.int64(conditions.lo[c])
                if part == 1:
                    cut = np.int64(conditions.hi[c])
                elif part == 2:
                    cut = np.int64(conditions.missing[c])
                if cut > last_bin:
                    continue
                place = n_cells
                while place > 0 and cuts[place - 1] > cut:
                    place -= 1
                if cuts[place - 1] == cut:
                    continue
                for j in range(n_cells, place, -1):
                    cuts[j] = cuts[j - 1]
                cuts[place] = cut
                n_cells += 1
    n_states = 0
    met = space.met[f]
    for cell in range(n_cells):
        bin_ = cell if masked else cuts[cell]
        holds = np.uint64(0)
        for i in range(n_conditions):
            if _meets(bin_, conditions, space.condition[f, i]):
                holds |= np.uint64(1) << np.uint64(i)
        state = 0
        while state < n_states and met[state] != holds:
            state += 1
        if state == n_states:
            if n_states == 64:
                return False
            met[state] = holds
            n_states += 1
        space.state[f, cell] = state
    space.n_cells[f] = n_cells
    space.n_states[f] = n_states
    return True


@helper
def _position_of(f, c, space):
    """Return the position of condition c among the cluster's conditions on a feature, or -1."""
    for i in range(space.n_conditions[f]):
        if space.condition[f, i] == c:
            return i
    return -1


@helper
def _add_conditions(leaf, n_features, conditions, paths, n_bins, space):
    """Add a leaf's conditions to the cluster; return its number of features, or -1 if they do not fit."""
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        c = paths.condition[e]
        feature = conditions.feature[c]
        f = space.slot[feature]
        if f < 0:
            if n_features == _FEATURES:
                return -1
            f = n_features
            space.slot[feature], space.feature[f], space.n_conditions[f] = f, feature, 0
            n_features += 1
        if _position_of(f, c, space) >= 0:
            continue
        if space.n_conditions[f] == _CONDITIONS:
            return -1
        space.condition[f, space.n_conditions[f]] = c
        space.n_conditions[f] += 1
        if not _find_states(f, conditions, n_bins, space):
            return -1
    return n_features


@helper
def _add_players(leaf, n_cluster, paths, players, space):
    """Add a leaf's players to the cluster; return its number of players, or -1 if there are more than 64."""
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        player = players.id[e]
        if space.player_slot[player] < 0:
            if n_cluster == space.player.shape[0]:
                return -1
            space.player_slot[player], space.player[n_cluster] = n_cluster, player
            n_cluster += 1
    return n_cluster


@helper
def _n_states(n_features, space):
    """Set the strides that number the states of all features together; return how many there are."""
    size = 1.0
    for f in range(n_features):
        if size < 1e9:
            space.stride[f] = np.int64(size)
        size *= space.n_states[f]
    return size


@helper
def clear_cluster(n_features, n_players, space):
    """Forget the features and the players of a cluster."""
    for f in range(n_features):
        space.slot[space.feature[f]] = -1
    for p in range(n_players):
        space.player_slot[space.player[p]] = -1


@helper
def grow_cluster(leaves, start, conditions, paths, values, players, n_bins, layout, most_states, space):
    """Join leaves from ``leaves[start]`` on while they have at most ``most_states`` states.

    Return the number of leaves, and of their features, players and states. The first leaf may have as many states as
    there is space for, and each leaf as many coalitions; no leaf joins if the first has more. If the space has a table,
    it needs a column per player, or per pair.
    """
    width = values.value.shape[1]
    n_leaves, n_features, n_players, size = 0, 0, 0, 1
    kept = np.empty(_FEATURES, np.int64)
    for i in range(start, leaves.shape[0]):
        leaf = leaves[i]
        if n_leaves > 0 and values.output[leaf] != values.output[leaves[start]]:
            break
        for f in range(n_features):  # To assign one slice to another would take two seconds to compile.
            kept[f] = space.n_conditions[f]
        new_features = _add_conditions(leaf, n_features, conditions, paths, n_bins, space)
        new_players = _add_players(leaf, n_players, paths, players, space)
        fits = new_features >= 0 and new_players >= 0
        if fits:
            new_size = _n_states(new_features, space)
            capacity = space.met_players.shape[0]
            # Contradictory conditions leave few states, so that the coalitions may be more than the states.
            fits = new_size <= (most_states if n_leaves > 0 else capacity)
            fits &= 2.0 ** players.n_players[leaf] <= capacity
            if fits and space.table.shape[0] > 0:
                fits = new_size * n_columns(new_players, layout.pairs) * width <= space.table.shape[0]
        if not fits:
            _take_back(leaf, n_features, n_players, conditions, paths, players, n_bins, space, kept)
            break
        n_leaves, n_features, n_players, size = n_leaves + 1, new_features, new_players, np.int64(new_size)
    _n_states(n_features, space)
    return n_leaves, n_features, n_players, size


@helper
def _take_back(leaf, n_features, n_players, conditions, paths, players, n_bins, space, kept):
    """Remove what a leaf that does not fit has added to the cluster."""
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        feature, player = conditions.feature[paths.condition[e]], players.id[e]
        f = space.slot[feature]
        if f >= n_features:
            space.slot[feature] = -1
        elif f >= 0 and space.n_conditions[f] > kept[f]:
            space.n_conditions[f] = kept[f]
            _find_states(f, conditions, n_bins, space)
        if space.player_slot[player] >= n_players:
            space.player_slot[player] = -1


@helper
def find_codes(bins, start, stop, n_features, space, code):
    """Write the number of the state of the rows ``start <= r < stop``."""
    n = stop - start
    code[:n] = 0
    for f in range(n_features):
        b = bins[space.feature[f], start:stop]
        stride = space.stride[f]
        if space.masked[f]:
            state = space.state[f]
            for r in range(n):
                code[r] += np.uint16(stride * state[b[r]])
            continue
        before = np.int64(0)
        for cell in range(space.n_cells[f]):
            number = stride * np.int64(space.state[f, cell])
            # Unsigned numbers wrap around, so a step may also be downwards.
            step = np.uint16((number - before) & 0xFFFF)
            before = number
            if step == 0:
                continue
            cut = b.dtype.type(space.first_bin[f, cell])
            for r in range(n):
                code[r] += step if b[r] >= cut else np.uint16(0)


@helper
def count_background(background, n_features, size, space, code, share):
    """Write the share of the background rows that is in each state."""
    share[:size] = 0.0
    n_rows = background.share.shape[0]
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        find_codes(background.bins, start, stop, n_features, space, code)
        for r in range(stop - start):
            share[code[r]] += background.share[start + r]


@helper
def columns_of_leaf(k, ids, layout, space, rows):
    """Write the columns of the cluster's table that belong to a leaf's players, or pairs of them."""
    c = 0
    for i in range(k):
        a = space.player_slot[ids[i]]
        if not layout.pairs:
            rows[i] = a
            continue
        for j in range(i + 1, k):
            b = space.player_slot[ids[j]]
            low, high = min(a, b), max(a, b)
            rows[c] = high * (high - 1) // 2 + low
            c += 1


@helper
def find_met_players(leaf, k, conditions, paths, players, n_features, space):
    """Write for each state the players of a leaf whose conditions it meets."""
    index, bit = np.full(_FEATURES, -1, np.int64), np.zeros(_FEATURES, np.uint32)
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        f = space.slot[conditions.feature[paths.condition[e]]]
        index[f] = _position_of(f, paths.condition[e], space)
        bit[f] = np.uint32(1) << np.uint32(players.position[e])
    met = space.met_players
    met[0] = np.uint32((np.int64(1) << k) - 1)
    size = 1
    for f in range(n_features):
        # State 0 comes last, since the others are made from what is there.
        for state in range(space.n_states[f] - 1, -1, -1):
            lost = np.uint32(0)
            if index[f] >= 0 and not (space.met[f, state] >> np.uint64(index[f])) & np.uint64(1):
                lost = bit[f]
            kept, at = ~lost, state * size
            for t in range(size):
                met[at + t] = met[t] & kept
        size *= space.n_states[f]


@helper
def weights_of_states(share, size, k, space, weight):
    """Write c(T) for all coalitions T: the share of the background rows that violate no player outside of T."""
    n = 1 << k
    weight[:n] = 0.0
    met, everyone = space.met_players, np.uint32(n - 1)
    for s in range(size):
        if share[s] != 0.0:
            weight[met[s] ^ everyone] += share[s]


@helper
def add_table_to_rows(table, bins, n_features, n_players, output, layout, space, code, out):
    """Add the columns of a cluster's table, by state, to the rows of ``out``."""
    n_rows = bins.shape[1]
    per_value = n_columns(n_players, layout.pairs)
    per_output = layout.n_players * layout.n_players if layout.pairs else layout.n_players
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        find_codes(bins, start, stop, n_features, space, code)
        for o in range(table.shape[0] // per_value):
            c = 0
            for j in range(n_players):
                for i in range(j if layout.pairs else 1):
                    row = space.player[j]
                    if layout.pairs:
                        low, high = min(space.player[i], row), max(space.player[i], row)
                        row = low * layout.n_players + high
                    target = out[(output + o) * per_output + row, start:stop]
                    column = table[o * per_value + c]
                    for r in range(stop - start):
                        target[r] += column[code[r]]
                    c += 1


@helper
def _rank_masks(k, max_order, ranks, rank):
    """Write the rank of every subset of k players that has at most ``max_order`` members, else -1."""
    n_members = count_members(k)
    for mask in range(1 << k):
        rank[mask] = -1
        if n_members[mask] <= max_order:
            rank[mask] = subset_rank(np.uint64(mask), ranks.choose, ranks.offset[k])


@kernel
def coalitions_by_state(
    background,
    conditions,
    paths,
    values,
    players,
    n_bins,
    layout,
    leaves,
    coalition_ptr,
    most_states,
    total,
    out,
):
    """Do the same as `skglex._kernels.coalitions.coalitions_from_histogram`, for clusters of leaves.

    ``background.share`` holds the weights of the rows. Leaves with a table have at most 12 conditions, so each fits.
    """
    space = cluster_space(conditions, n_bins, layout.n_players, _CODES, False)
    code, i = np.empty(BLOCK, np.uint16), 0
    while i < leaves.shape[0]:
        n_leaves, n_features, n_cluster, size = grow_cluster(
            leaves, i, conditions, paths, values, players, n_bins, layout, most_states, space
        )
        count_background(background, n_features, size, space, code, space.share)
        for leaf in leaves[i : i + n_leaves]:
            k = players.n_players[leaf]
            weight = out[coalition_ptr[leaf] - coalition_ptr[leaves[0]] :]
            find_met_players(leaf, k, conditions, paths, players, n_features, space)
            weights_of_states(space.share, size, k, space, weight)
            sum_over_subsets(weight[: 1 << k], k)
            for v in range(1 << k):
                weight[v] /= total
        clear_cluster(n_features, n_cluster, space)
        i += n_leaves


@kernel
def add_near_misses_by_state(
    background, conditions, paths, values, players, n_bins, layout, wanted, ranks, most_states, out
):
    """Do the same as `skglex._kernels.bitsets.add_near_misses`, for clusters of leaves.

    ``background.share`` holds the weights of the rows. The cost of a leaf grows with its states, that of a cluster with
    the rows. The leaves have at most 12 conditions, so each fits.
    """
    space = cluster_space(conditions, n_bins, layout.n_players, _CODES, False)
    code, most = np.empty(BLOCK, np.uint16), 0
    while (2 << most) <= _CODES:
        most += 1
    rank, ranked = np.empty((most + 1, 1 << most), np.int32), np.zeros(most + 1, np.bool_)
    max_order, i = wanted.max_order, 0
    while i < wanted.leaves.shape[0]:
        n_leaves, n_features, n_cluster, size = grow_cluster(
            wanted.leaves, i, conditions, paths, values, players, n_bins, layout, most_states, space
        )
        count_background(background, n_features, size, space, code, space.share)
        for leaf in wanted.leaves[i : i + n_leaves]:
            k = players.n_players[leaf]
            if not ranked[k]:
                ranked[k] = True
                _rank_masks(k, max_order, ranks, rank[k])
            find_met_players(leaf, k, conditions, paths, players, n_features, space)
            weight, everyone = out[wanted.start[leaf] :], np.uint32((1 << k) - 1)
            for s in range(size):
                place = rank[k, space.met_players[s] ^ everyone]
                if place >= 0:
                    weight[place] += space.share[s]
        clear_cluster(n_features, n_cluster, space)
        i += n_leaves
