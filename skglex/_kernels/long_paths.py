"""Leaves with too many path features for a table of patterns: only the patterns that occur are looked at."""

import numpy as np

from skglex._kernels._compile import njit
from skglex._kernels.bitsets import count_ones
from skglex._kernels.component_tables import distinct_patterns, subset_rank
from skglex._kernels.patterns import BLOCK, violations


@njit(cache=True, nogil=True)
def binomials(k):
    """choose[p, i] = C(p, i) and offset[n] = number of subsets of k players with fewer than n."""
    choose = np.zeros((k + 1, k + 2), np.int64)
    choose[:, 0] = 1
    for p in range(1, k + 1):
        for i in range(1, p + 1):
            choose[p, i] = choose[p - 1, i - 1] + choose[p - 1, i]
    offset = np.zeros(k + 2, np.int64)
    for n in range(k + 1):
        offset[n + 1] = offset[n] + choose[k, n]
    return choose, offset


@njit(cache=True, nogil=True)
def _next_subset(v):
    """The next larger integer with as many bits (Gosper)."""
    low = v & (~v + np.uint64(1))
    ripple = v + low
    return ripple | (((v ^ ripple) // low) >> np.uint64(2))


@njit(cache=True, nogil=True)
def ranked_from_ratios(leaf_ptr, ratio, player, n_players, leaves, start, max_order, out):
    """The products of the ratios of the players outside V, for every |V| <= max_order, by rank.

    Leaf l's begin at ``out[start[l]]``.
    """
    own = np.empty(64)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = n_players[leaf]
        own[:k] = 1.0
        for e in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
            own[player[e]] *= ratio[e]
        at = start[leaf]
        for n in range(min(max_order, k) + 1):
            v = _first_subset(n)
            while True:
                product = 1.0
                for p in range(k):
                    if not (v >> np.uint64(p)) & np.uint64(1):
                        product *= own[p]
                out[at] = product
                at += 1
                if v == _last_subset(n, k):
                    break
                v = _next_subset(v)


@njit(cache=True, nogil=True)
def _first_subset(n):
    return ~np.uint64(0) if n == 64 else (np.uint64(1) << np.uint64(n)) - np.uint64(1)


@njit(cache=True, nogil=True)
def _last_subset(n, k):
    return np.uint64(0) if n == 0 else _first_subset(n) << np.uint64(k - n)


@njit(cache=True, nogil=True)
def sum_ranked_subsets(n_players, leaves, start, max_order, choose, offset, total, out):
    """From the weight of the rows that violate exactly B to the share of those that violate no player outside V.

    The sum over all B in V, one player after the other.
    """
    for i in range(leaves.shape[0]):
        k = n_players[leaves[i]]
        own = out[start[leaves[i]] :]
        for p in range(k):
            bit = np.uint64(1) << np.uint64(p)
            rank = 0
            for n in range(min(max_order, k) + 1):
                v = _first_subset(n)
                while True:
                    if v & bit:
                        own[rank] += own[subset_rank(v ^ bit, choose, offset[k])]
                    rank += 1
                    if v == _last_subset(n, k):
                        break
                    v = _next_subset(v)
        for rank in range(offset[k, min(max_order, k) + 1]):
            own[rank] /= total


@njit(cache=True, nogil=True)
def _product_shapley(ratio, k, violated, nodes, node_weights, n_nodes, pairs, factor, after, columns):
    """Shapley values (or half the interaction indices) of the game prod a_j over T, prod w_j outside.

    With a_j = 1 where j's condition holds, they are integrals over t of the product over the other players
    of t a_j + (1 - t) w_j, polynomials that Gauss-Legendre nodes integrate exactly.
    """
    columns[: k * (k - 1) // 2 if pairs else k] = 0.0
    for q in range(n_nodes):
        t = nodes[q]
        after[k] = 1.0
        for j in range(k):
            met = 0.0 if (violated >> np.uint64(j)) & np.uint64(1) else 1.0
            factor[j] = t * met + (1.0 - t) * ratio[j]
        for j in range(k - 1, -1, -1):
            after[j] = after[j + 1] * factor[j]
        before = node_weights[q]
        c = 0
        for i in range(k):
            if pairs:
                between = before
                for j in range(i + 1, k):
                    columns[c] += between * after[j + 1]
                    between *= factor[j]
                    c += 1
            else:
                columns[i] += before * after[i + 1]
            before *= factor[i]
    c = 0
    for i in range(k):
        di = (0.0 if (violated >> np.uint64(i)) & np.uint64(1) else 1.0) - ratio[i]
        if not pairs:
            columns[i] *= di
            continue
        for j in range(i + 1, k):
            dj = (0.0 if (violated >> np.uint64(j)) & np.uint64(1) else 1.0) - ratio[j]
            columns[c] *= 0.5 * di * dj
            c += 1


@njit(cache=True, nogil=True)
def _background_shapley(shares, patterns, n_patterns, violated, k, inverse, pairs, columns):
    """Shapley values (or half the interactions) against each background pattern, weighted by its share.

    A background row plays only where every condition is met by it or by the explained row. With ``a``
    players met by the explained row alone and ``b`` by the background row alone, a player of the first kind
    gets (a - 1)! b! / (a + b)!, one of the second -a! (b - 1)! / (a + b)!.
    ``inverse[n, i]`` is 1 / ((n + 1) C(n, i)).
    """
    columns[: k * (k - 1) // 2 if pairs else k] = 0.0
    b = np.int64(count_ones(violated))
    for p in range(n_patterns):
        if patterns[p] & violated:
            continue
        only_row, only_back = patterns[p], violated
        a = np.int64(count_ones(only_row))
        if pairs:
            n = a + b - 2
            if n < 0:
                continue
            both_row = inverse[n, b] if a > 1 else 0.0
            both_back = inverse[n, a] if b > 1 else 0.0
            mixed = -inverse[n, a - 1] if a > 0 and b > 0 else 0.0
            c = 0
            for i in range(k):
                for j in range(i + 1, k):
                    bi, bj = np.uint64(1) << np.uint64(i), np.uint64(1) << np.uint64(j)
                    if (only_row & bi) and (only_row & bj):
                        columns[c] += 0.5 * shares[p] * both_row
                    elif (only_back & bi) and (only_back & bj):
                        columns[c] += 0.5 * shares[p] * both_back
                    elif ((only_row | only_back) & bi) and ((only_row | only_back) & bj):
                        columns[c] += 0.5 * shares[p] * mixed
                    c += 1
        elif a + b > 0:
            up = inverse[a + b - 1, b] if a > 0 else 0.0
            down = inverse[a + b - 1, a] if b > 0 else 0.0
            for i in range(k):
                bi = np.uint64(1) << np.uint64(i)
                if only_row & bi:
                    columns[i] += shares[p] * up
                elif only_back & bi:
                    columns[i] -= shares[p] * down


@njit(cache=True, nogil=True)
def stream_shapley(
    bins,
    conditions,
    leaf_condition,
    leaf_ptr,
    player,
    condition_player_id,
    n_players,
    ratio,
    nodes,
    node_weights,
    background,
    weight,
    inverse,
    value,
    output,
    n_ids,
    pairs,
    leaves,
    r0,
    r1,
    out,
):
    """Add leaves' Shapley values or interactions, solved for the patterns that occur in a block of rows.

    With path-dependent weights ``ratio`` counts, and quadratures of n nodes are in row n of ``nodes``; with
    empirical ones the bins of the ``background`` (else without rows) and the rows' shares ``weight``.
    Player i of output o goes to row ``o * n_ids + i`` of ``out``, a pair to ``(o * n_ids + i) * n_ids + j``.
    """
    n_back = background.shape[1]
    size = 4 * BLOCK
    while size < 2 * n_back:
        size *= 2
    longest = max(BLOCK, n_back)
    pattern, found = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    used_feature, table = np.empty(longest, np.int64), np.full(size, -1, np.int64)
    back_pattern, shares = np.empty(n_back, np.uint64), np.empty(n_back)
    most = 0
    for i in range(leaves.shape[0]):
        most = max(most, n_players[leaves[i]])
    terms = np.empty((min(BLOCK, r1 - r0), most * (most - 1) // 2 if pairs else most))
    own, factor, after = np.empty(most), np.empty(most), np.empty(most + 1)
    ids = np.empty(most, np.int64)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = n_players[leaf]
        first, last = leaf_ptr[leaf], leaf_ptr[leaf + 1]
        own[:k] = 1.0
        for e in range(first, last):
            ids[player[e]] = condition_player_id[e]
            if n_back == 0:
                own[player[e]] *= ratio[e]
        n_patterns = 0
        if n_back > 0:
            for start in range(0, n_back, BLOCK):
                stop = min(start + BLOCK, n_back)
                path = pattern[start:stop]
                violations(background, start, stop, conditions, leaf_condition, player, first, last, path)
            n_patterns = distinct_patterns(pattern, n_back, table, used_feature, back_pattern)
            shares[:n_patterns] = 0.0
            for r in range(n_back):
                shares[used_feature[r]] += weight[r]
        half = (k + 1) // 2
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            violations(bins, start, stop, conditions, leaf_condition, player, first, last, pattern)
            n_found = distinct_patterns(pattern, n, table, used_feature, found)
            for d in range(n_found):
                if n_back > 0:
                    _background_shapley(
                        shares, back_pattern, n_patterns, found[d], k, inverse, pairs, terms[d]
                    )
                else:
                    x, w = nodes[half], node_weights[half]
                    _product_shapley(own, k, found[d], x, w, half, pairs, factor, after, terms[d])
            for o in range(value.shape[1]):
                base = (output[leaf] + o) * n_ids
                v = value[leaf, o]
                c = 0
                for p in range(k):
                    if not pairs:
                        for r in range(n):
                            out[base + ids[p], start + r] += v * terms[used_feature[r], p]
                        continue
                    for q in range(p + 1, k):
                        row = (base + ids[p]) * n_ids + ids[q]
                        for r in range(n):
                            out[row, start + r] += v * terms[used_feature[r], c]
                        c += 1
