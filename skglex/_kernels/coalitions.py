r"""Compute the weights E(P \ V) of a leaf, for coalitions V of the players on its path P.

E(P \ V) is the weight with which the leaf's conditions outside V hold. It is what the leaf pays when the features of V
are fixed to values that meet their conditions and the others are averaged out. Coalitions are bit masks over the
leaf's players. A leaf holds the weights of all of them or, listed by rank, of the small ones only.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import leaf_pattern
from skglex._kernels.subsets import first_subset, last_subset, next_subset, subset_rank, sum_over_subsets


@kernel
def signed_weight(weight, mask, v, ranked, choose, offset):
    r"""Return (-1)^(|S| - |V|) E(P \ V) for a coalition V in S = ``mask``.

    ``weight`` begins at the leaf's weights; ``offset`` belongs to its number of players.
    """
    index = np.int64(v)
    if ranked:
        index = subset_rank(v, choose, offset)
    signed = weight[index]
    rest = mask ^ v
    while rest:
        signed = -signed
        rest &= rest - np.uint64(1)
    return signed


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
    player_ratio = np.empty(64)
    for i in range(wanted.leaves.shape[0]):
        leaf = wanted.leaves[i]
        k = players.n_players[leaf]
        multiply_ratios(leaf, paths, path_ratio, players, player_ratio)
        at = wanted.start[leaf]
        for n in range(min(wanted.max_order, k) + 1):
            v = first_subset(n)
            while True:
                product = 1.0
                for p in range(k):
                    if not (v >> np.uint64(p)) & np.uint64(1):
                        product *= player_ratio[p]
                out[at] = product
                at += 1
                if v == last_subset(n, k):
                    break
                v = next_subset(v)


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


@kernel
def sum_ranked_subsets(players, wanted, ranks, total, out):
    """Turn weights of rows that violate exactly B into shares of the rows that violate no player outside V.

    That is the sum over all B in V, one player after the other, by rank.
    """
    for i in range(wanted.leaves.shape[0]):
        leaf = wanted.leaves[i]
        k = players.n_players[leaf]
        weight, offset = out[wanted.start[leaf] :], ranks.offset[k]
        for p in range(k):
            bit = np.uint64(1) << np.uint64(p)
            rank = 0
            for n in range(min(wanted.max_order, k) + 1):
                v = first_subset(n)
                while True:
                    if v & bit:
                        weight[rank] += weight[subset_rank(v ^ bit, ranks.choose, offset)]
                    rank += 1
                    if v == last_subset(n, k):
                        break
                    v = next_subset(v)
        for rank in range(offset[min(wanted.max_order, k) + 1]):
            weight[rank] /= total
