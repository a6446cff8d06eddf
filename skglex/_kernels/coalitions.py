r"""Compute the weights E(P \ V) of a leaf, for coalitions V of the players on its path P.

E(P \ V) is the weight with which the leaf's conditions outside V hold. It is what the leaf pays when the features of V
are fixed to values that meet their conditions and the others are averaged out. A leaf holds the weights of all
coalitions, by bit mask, or only those of the small ones, by rank, for any number of players.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import leaf_pattern
from skglex._kernels.subsets import first_members, next_members, sum_over_subsets


@kernel
def signed_weights(weight, members, n, ranked, choose, offset, out):
    r"""Write (-1)^(|S| - |V|) E(P \ V) for every coalition V in the set S of n players.

    ``members`` are the positions of S among the leaf's players, increasing. Bit i of the number of V stands for player
    ``members[i]``. ``weight`` begins at the leaf's weights; ``offset`` belongs to its number of players.
    """
    if 1 <= n <= 2:  # Most components are main effects and pairs.
        p, q = np.int64(members[0]), np.int64(members[n - 1])
        sign = 1.0 if n == 2 else -1.0
        out[0], out[1] = sign * weight[0], -sign * weight[1 + p if ranked else 1 << p]
        if n == 2:
            out[2] = -weight[1 + q if ranked else 1 << q]
            out[3] = weight[offset[2] + choose[q, 2] + p if ranked else (1 << p) | (1 << q)]
        return
    for v in range(1 << n):
        index, size = 0, 0
        for i in range(n):
            if (v >> i) & 1:
                size += 1
                index += choose[members[i], size] if ranked else 1 << np.int64(members[i])
        if ranked:
            index += offset[size]
        out[v] = -weight[index] if (n - size) & 1 else weight[index]


# -- path-dependent weights -------------------------------------------------------------------


@helper
def multiply_ratios(leaf, paths, path_ratio, players, product):
    """Write the product of the ratios of each player's conditions."""
    product[: players.n_players[leaf]] = 1.0
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        product[players.position[e]] *= path_ratio[e]


@kernel
def coalitions_from_ratios(paths, path_ratio, players, coalition_ptr, first, last, out):
    """Multiply the ratios of the conditions that are averaged out, for every coalition."""
    player_ratio = np.empty(64)
    for leaf in range(first, last):
        size = coalition_ptr[leaf + 1] - coalition_ptr[leaf]
        if size == 0:
            continue
        weight = out[coalition_ptr[leaf] - coalition_ptr[first] :]
        full = size - 1
        multiply_ratios(leaf, paths, path_ratio, players, player_ratio)
        weight[full] = 1.0
        # From the full coalition downwards: average out the lowest player that is not in V.
        for v in range(full - 1, -1, -1):
            low = 0
            while (v >> low) & 1:
                low += 1
            weight[v] = weight[v | (1 << low)] * player_ratio[low]


@kernel
def ranked_from_ratios(paths, path_ratio, players, wanted, out):
    """Multiply the ratios of the players outside V, for every V of at most ``max_order`` players, by rank."""
    most = 0
    for i in range(wanted.leaves.shape[0]):
        most = max(most, players.n_players[wanted.leaves[i]])
    player_ratio, members = np.empty(most), np.empty(most, np.int64)
    # The product of the ratios of the players a <= p < b.
    between = np.ones((most + 1, most + 1))
    for i in range(wanted.leaves.shape[0]):
        leaf = wanted.leaves[i]
        k = players.n_players[leaf]
        multiply_ratios(leaf, paths, path_ratio, players, player_ratio)
        for a in range(k):
            for b in range(a, k):
                between[a, b + 1] = between[a, b] * player_ratio[b]
        at = wanted.start[leaf]
        for n in range(min(wanted.max_order, k) + 1):
            first_members(members, n)
            more = True
            while more:
                product, start = 1.0, 0
                for m in range(n):
                    product *= between[start, members[m]]
                    start = members[m] + 1
                out[at] = product * between[start, k]
                at += 1
                more = next_members(members, n, k)


# -- empirical weights ------------------------------------------------------------------------


@kernel
def coalitions_from_histogram(leaf_bits, histogram, total, paths, players, coalition_ptr, g0, g1, out):
    """Sum the shares of the background rows whose violated players all lie in V, for every coalition V."""
    origin = coalition_ptr[leaf_bits.group_leaf[g0]]
    table_ptr = leaf_bits.table_ptr
    for g in range(g0, g1):
        size = table_ptr[g + 1] - table_ptr[g]
        pattern_weight = histogram[table_ptr[g] - table_ptr[g0] :]
        for leaf in range(leaf_bits.group_leaf[g], leaf_bits.group_leaf[g + 1]):
            n_coalitions = coalition_ptr[leaf + 1] - coalition_ptr[leaf]
            if n_coalitions == 0:
                continue
            weight = out[coalition_ptr[leaf] - origin : coalition_ptr[leaf + 1] - origin]
            weight[:] = 0.0
            first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
            for p in range(size):
                if pattern_weight[p] != 0.0:
                    weight[leaf_pattern(p, leaf_bits, players, first, last)] += pattern_weight[p]
            sum_over_subsets(weight, players.n_players[leaf])
            for v in range(n_coalitions):
                weight[v] /= total


@helper
def _ranks_with_and_without(p, others, n, choose):
    """Return the position of n players, and of these with player p, among the subsets of their size.

    ``others`` are the positions of the n players if p were none of the players.
    """
    without, with_p, n_below = 0, 0, 0
    for i in range(n):
        if others[i] < p:
            without += choose[others[i], i + 1]
            with_p += choose[others[i], i + 1]
            n_below += 1
        else:
            without += choose[others[i] + 1, i + 1]
            with_p += choose[others[i] + 1, i + 2]
    return without, with_p + choose[p, n_below + 1]


@helper
def _sum_pairs(weight, k):
    """Sum over the subsets of pairs and of single players, by rank."""
    at = 1 + k
    for j in range(k):
        with_j = weight[0] + weight[1 + j]
        for i in range(j):
            weight[at + i] += with_j + weight[1 + i]
        at += j
    for i in range(k):
        weight[1 + i] += weight[0]


@kernel
def sum_ranked_subsets(players, wanted, ranks, total, out):
    """Turn weights of rows that violate exactly B into shares of the rows that violate no player outside V.

    That is the sum over all B in V, one player after the other, by rank.
    """
    others = np.empty(wanted.max_order + 1, np.int64)
    for i in range(wanted.leaves.shape[0]):
        leaf = wanted.leaves[i]
        k = players.n_players[leaf]
        weight, offset = out[wanted.start[leaf] :], ranks.offset[k]
        if wanted.max_order == 2:  # Most weights are of this order.
            _sum_pairs(weight, k)
        for p in range(k if wanted.max_order != 2 else 0):
            for n in range(min(wanted.max_order, k)):
                first_members(others, n)
                more = True
                while more:
                    without, with_p = _ranks_with_and_without(p, others, n, ranks.choose)
                    weight[offset[n + 1] + with_p] += weight[offset[n] + without]
                    more = next_members(others, n, k - 1)
        for rank in range(offset[min(wanted.max_order, k) + 1]):
            weight[rank] /= total
