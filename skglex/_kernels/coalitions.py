"""Each leaf as a game between the features of its path, solved for every pattern.

``fixed[V]`` is the weight with which a leaf's conditions outside ``V`` hold, E(P minus V): what the leaf pays
when the features in ``V`` are fixed to values that meet their conditions and the others are averaged out.
Subsets are bit masks over the leaf's players (path features, or groups of them); a pattern is the mask of the
players whose conditions are violated.
"""

import numpy as np

from skglex._kernels._compile import njit


@njit(cache=True, nogil=True)
def _leaf_pattern(pattern, bit, flip, player, first, last):
    """Translate a group's pattern to the violated players of one leaf."""
    violated = 0
    for e in range(first, last):
        if ((pattern >> bit[e]) & 1) != flip[e]:
            violated |= 1 << player[e]
    return violated


@njit(cache=True, nogil=True)
def _sum_over_subsets(f, n_players):
    """Replace f[A] by the sum of f[B] over B in A (zeta transform), in place."""
    for i in range(n_players):
        step = 1 << i
        for a in range(1 << n_players):
            if a & step:
                f[a] += f[a ^ step]


@njit(cache=True, nogil=True)
def coalitions_from_ratios(leaf_ptr, ratio, player, n_players, coalition_ptr, first, last, fixed):
    """Path-dependent weights: the product of the ratios of the conditions averaged out."""
    for leaf in range(first, last):
        size = coalition_ptr[leaf + 1] - coalition_ptr[leaf]
        if size == 0:
            continue
        f = fixed[coalition_ptr[leaf] - coalition_ptr[first] :]
        full = size - 1
        player_ratio = np.ones(n_players[leaf])
        for e in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
            player_ratio[player[e]] *= ratio[e]
        f[full] = 1.0
        # from all fixed downwards: release the lowest player that is not in V
        for v in range(full - 1, -1, -1):
            low = 0
            while (v >> low) & 1:
                low += 1
            f[v] = f[v | (1 << low)] * player_ratio[low]


@njit(cache=True, nogil=True)
def coalitions_from_histogram(
    group_leaf, table_ptr, hist, total, leaf_ptr, bit, flip, player, n_players, coalition_ptr, g0, g1, fixed
):
    """Empirical weights: the share of the background whose violated players all lie in V."""
    origin = coalition_ptr[group_leaf[g0]]
    for g in range(g0, g1):
        size = table_ptr[g + 1] - table_ptr[g]
        h = hist[table_ptr[g] - table_ptr[g0] :]
        for leaf in range(group_leaf[g], group_leaf[g + 1]):
            n_coalitions = coalition_ptr[leaf + 1] - coalition_ptr[leaf]
            if n_coalitions == 0:
                continue
            f = fixed[coalition_ptr[leaf] - origin : coalition_ptr[leaf + 1] - origin]
            f[:] = 0.0
            for p in range(size):
                if h[p] != 0.0:
                    f[_leaf_pattern(p, bit, flip, player, leaf_ptr[leaf], leaf_ptr[leaf + 1])] += h[p]
            _sum_over_subsets(f, n_players[leaf])
            for v in range(n_coalitions):
                f[v] /= total


@njit(cache=True, nogil=True)
def value_tables(group_leaf, table_ptr, value_ptr, leaf_ptr, bit, flip, value, g0, g1, tables):
    """Fill each group's table (patterns x outputs) with the sum of the leaves that the pattern reaches."""
    n_outputs = value.shape[1]
    for g in range(g0, g1):
        size = table_ptr[g + 1] - table_ptr[g]
        base = value_ptr[g] - value_ptr[g0]
        for leaf in range(group_leaf[g], group_leaf[g + 1]):
            # the patterns in which the leaf's own bits say "met", whatever the other bits
            met, own = 0, 0
            for e in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
                own |= 1 << bit[e]
                met |= flip[e] << bit[e]
            free = (size - 1) & ~own
            rest = free
            while True:
                for v in range(n_outputs):
                    tables[base + (met | rest) * n_outputs + v] += value[leaf, v]
                if rest == 0:
                    break
                rest = (rest - 1) & free


@njit(cache=True, nogil=True)
def _shapley_weights(k, order):
    """t! (k - t - order)! / (k - order + 1)! for t = 0 .. k - order."""
    w = np.zeros(k + 1)
    n = k - order + 1
    if n <= 0:
        return w
    w[0] = 1.0 / n
    for t in range(1, n):
        w[t] = w[t - 1] * t / (n - t)
    return w


@njit(cache=True, nogil=True)
def _count_bits(n_players):
    counts = np.zeros(1 << n_players, np.int64)
    for a in range(1, 1 << n_players):
        counts[a] = counts[a >> 1] + (a & 1)
    return counts


@njit(cache=True, nogil=True)
def _shapley(fixed, k, n_bits, columns):
    """Shapley value of every player for every set ``met`` of players whose conditions hold.

    With w(t) = t! (k - t - 1)! / k!, h(T) = w(|T|) fixed[T] and u(T) = w(|T| - 1) fixed[T], each summed over
    the subsets of ``met``: a player in it gets u(met) - u(met - i) - h(met - i), any other -h(met).
    """
    size = 1 << k
    w = _shapley_weights(k, 1)
    h, u = np.zeros(size), np.zeros(size)
    for t in range(size):
        if n_bits[t] < k:
            h[t] = w[n_bits[t]] * fixed[t]
        if n_bits[t] > 0:
            u[t] = w[n_bits[t] - 1] * fixed[t]
    _sum_over_subsets(h, k)
    _sum_over_subsets(u, k)
    for violated in range(size):
        met = size - 1 - violated
        for i in range(k):
            if met & (1 << i):
                rest = met ^ (1 << i)
                columns[i, violated] = u[met] - u[rest] - h[rest]
            else:
                columns[i, violated] = -h[met]


@njit(cache=True, nogil=True)
def _shapley_interactions(fixed, k, n_bits, columns):
    """Half the Shapley interaction index of every pair of players, for every pattern.

    As for the Shapley value, with w(t) = t! (k - t - 2)! / (k - 1)! and a third sum y(T) = w(|T| - 2) fixed[T]
    for the sets that hold both players.
    """
    size = 1 << k
    w = _shapley_weights(k, 2)
    h, u, y = np.zeros(size), np.zeros(size), np.zeros(size)
    for t in range(size):
        n = n_bits[t]
        if n < k - 1:
            h[t] = w[n] * fixed[t]
        if 0 < n < k:
            u[t] = w[n - 1] * fixed[t]
        if n > 1:
            y[t] = w[n - 2] * fixed[t]
    _sum_over_subsets(h, k)
    _sum_over_subsets(u, k)
    _sum_over_subsets(y, k)
    for violated in range(size):
        met = size - 1 - violated
        c = 0
        for i in range(k):
            bi = 1 << i
            for j in range(i + 1, k):
                bj = 1 << j
                if (met & bi) and (met & bj):
                    mi, mj, mij = met ^ bi, met ^ bj, met ^ bi ^ bj
                    total = y[met] - y[mi] - y[mj] + y[mij] - u[mi] - u[mj] + 2 * u[mij] + h[mij]
                elif (met & bi) or (met & bj):
                    rest = met & ~(bi | bj)
                    total = h[rest] - u[met] + u[rest]
                else:
                    total = h[met]
                columns[c, violated] = 0.5 * total
                c += 1


@njit(cache=True, nogil=True)
def shapley_tables(
    group_leaf,
    table_ptr,
    value_ptr,
    column_ptr,
    leaf_column,
    own_ptr,
    leaf_ptr,
    bit,
    flip,
    player,
    n_players,
    value,
    coalition_ptr,
    fixed,
    g0,
    g1,
    pairs,
    tables,
):
    """Fill each group's tables: the Shapley value (or interaction) of each column for each pattern.

    A group's table holds, for each pattern, the outputs one after the other, each with its columns.
    """
    n_outputs = value.shape[1]
    for g in range(g0, g1):
        size = table_ptr[g + 1] - table_ptr[g]
        n_columns = (column_ptr[g + 1] - column_ptr[g]) // n_outputs
        for leaf in range(group_leaf[g], group_leaf[g + 1]):
            k = n_players[leaf]
            n_own = own_ptr[leaf + 1] - own_ptr[leaf]
            if size == 0 or n_own == 0:
                continue
            own = np.empty((n_own, 1 << k))
            f = fixed[coalition_ptr[leaf] :]
            n_bits = _count_bits(k)
            if pairs:
                _shapley_interactions(f, k, n_bits, own)
            else:
                _shapley(f, k, n_bits, own)
            violated = np.empty(size, np.int64)
            for p in range(size):
                violated[p] = _leaf_pattern(p, bit, flip, player, leaf_ptr[leaf], leaf_ptr[leaf + 1])
            for v in range(n_outputs):
                for c in range(n_own):
                    column = v * n_columns + leaf_column[own_ptr[leaf] + c]
                    table = tables[value_ptr[g] + column :]
                    for p in range(size):
                        table[p * n_columns * n_outputs] += value[leaf, v] * own[c, violated[p]]


@njit(cache=True, nogil=True)
def component_tables(
    group_leaf,
    table_ptr,
    value_ptr,
    column_ptr,
    leaf_column,
    own_ptr,
    own_mask,
    leaf_ptr,
    bit,
    flip,
    player,
    n_players,
    value,
    coalition_start,
    fixed,
    g0,
    g1,
    tables,
):
    """Fill each group's table: the term of its leaves in each column's component, for each pattern.

    Leaf l's term for the players S (``own_mask``), A of them met, is (-1)^|S| Z[A] with Z[A] the sum of
    (-1)^|V| fixed[V] over V in A. Laid out as in `shapley_tables`.
    """
    n_outputs = value.shape[1]
    for g in range(g0, g1):
        size = table_ptr[g + 1] - table_ptr[g]
        n_columns = (column_ptr[g + 1] - column_ptr[g]) // n_outputs
        for leaf in range(group_leaf[g], group_leaf[g + 1]):
            if size == 0 or own_ptr[leaf] == own_ptr[leaf + 1]:
                continue
            k = n_players[leaf]
            n_bits = _count_bits(k)
            z = np.empty(1 << k)
            for v in range(1 << k):
                z[v] = (
                    -fixed[coalition_start[leaf] + v] if n_bits[v] & 1 else fixed[coalition_start[leaf] + v]
                )
            _sum_over_subsets(z, k)
            for p in range(size):
                met = ~_leaf_pattern(p, bit, flip, player, leaf_ptr[leaf], leaf_ptr[leaf + 1])
                for v in range(n_outputs):
                    at = value_ptr[g] + (p * n_outputs + v) * n_columns
                    for i in range(own_ptr[leaf], own_ptr[leaf + 1]):
                        sign = -value[leaf, v] if n_bits[own_mask[i]] & 1 else value[leaf, v]
                        tables[at + leaf_column[i]] += sign * z[own_mask[i] & met]
