r"""Shapley values and interactions of a leaf's game, for every pattern or for one.

The game pays E(P \ T) to a coalition T of players whose conditions the row meets, and 0 to any other. A pattern is the
bit mask of the players whose conditions the row violates.
"""

import numpy as np

from skglex._kernels.bitsets import count_ones
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, leaf_pattern
from skglex._kernels.subsets import count_members, sum_over_subsets


@helper
def n_columns(n_players, pairs):
    """Return the number of players, or of pairs of them."""
    return n_players * (n_players - 1) // 2 if pairs else n_players


@helper
def size_weights(k, order):
    """Return t! (k - t - order)! / (k - order + 1)! for t = 0 .. k - order."""
    w = np.zeros(k + 1)
    n = k - order + 1
    if n <= 0:
        return w
    w[0] = 1.0 / n
    for t in range(1, n):
        w[t] = w[t - 1] * t / (n - t)
    return w


@kernel
def shapley_values(weight, k, n_members, columns):
    r"""Write the Shapley value of every player for every pattern.

    With w(t) = t! (k - t - 1)! / k!, let h(T) = w(|T|) E(P \ T) and u(T) = w(|T| - 1) E(P \ T), each summed over the
    subsets of the set ``met`` of players whose conditions hold. A player i in ``met`` gets
    u(met) - u(met - i) - h(met - i), any other -h(met).
    """
    size = 1 << k
    w = size_weights(k, 1)
    h, u = np.zeros(size), np.zeros(size)
    for t in range(size):
        if n_members[t] < k:
            h[t] = w[n_members[t]] * weight[t]
        if n_members[t] > 0:
            u[t] = w[n_members[t] - 1] * weight[t]
    sum_over_subsets(h, k)
    sum_over_subsets(u, k)
    for violated in range(size):
        met = size - 1 - violated
        for i in range(k):
            if met & (1 << i):
                rest = met ^ (1 << i)
                columns[i, violated] = u[met] - u[rest] - h[rest]
            else:
                columns[i, violated] = -h[met]


@kernel
def shapley_pairs(weight, k, n_members, columns):
    r"""Write half the Shapley interaction index of every pair of players, for every pattern.

    As `shapley_values`, with w(t) = t! (k - t - 2)! / (k - 1)! and a third sum y(T) = w(|T| - 2) E(P \ T) for the sets
    that hold both players.
    """
    size = 1 << k
    w = size_weights(k, 2)
    h, u, y = np.zeros(size), np.zeros(size), np.zeros(size)
    for t in range(size):
        n = n_members[t]
        if n < k - 1:
            h[t] = w[n] * weight[t]
        if 0 < n < k:
            u[t] = w[n - 1] * weight[t]
        if n > 1:
            y[t] = w[n - 2] * weight[t]
    sum_over_subsets(h, k)
    sum_over_subsets(u, k)
    sum_over_subsets(y, k)
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


@kernel
def shapley_tables(leaf_bits, tables, columns, paths, players, value, start, weight, g0, g1, pairs):
    """Fill the groups' tables: the Shapley value (or half the interaction) of each column for each pattern.

    A group's table holds, for each pattern, the outputs one after the other, each with its columns. The coalition
    weights of leaf l begin at ``weight[start[l]]``. ``pairs`` is True for interactions and None for values: since that
    is a type of its own, only one of the two is compiled.
    """
    n_outputs = value.shape[1]
    for g in range(g0, g1):
        size = leaf_bits.table_ptr[g + 1] - leaf_bits.table_ptr[g]
        n_columns = (tables.column_ptr[g + 1] - tables.column_ptr[g]) // n_outputs
        for leaf in range(leaf_bits.group_leaf[g], leaf_bits.group_leaf[g + 1]):
            k = players.n_players[leaf]
            n_leaf_columns = columns.ptr[leaf + 1] - columns.ptr[leaf]
            if size == 0 or n_leaf_columns == 0:
                continue
            solved = np.empty((n_leaf_columns, 1 << k))
            if pairs is not None:
                shapley_pairs(weight[start[leaf] :], k, count_members(k), solved)
            else:
                shapley_values(weight[start[leaf] :], k, count_members(k), solved)
            violated = np.empty(size, np.int64)
            for p in range(size):
                violated[p] = leaf_pattern(p, leaf_bits, players, paths.ptr[leaf], paths.ptr[leaf + 1])
            for v in range(n_outputs):
                for c in range(n_leaf_columns):
                    column = v * n_columns + columns.position[columns.ptr[leaf] + c]
                    table = tables.values[tables.value_ptr[g] + column :]
                    for p in range(size):
                        table[p * n_columns * n_outputs] += value[leaf, v] * solved[c, violated[p]]


@kernel
def complete_interactions(pairs, n_players, diagonal, r0, r1, at, out):
    """Copy the pairs i < j to j < i, and write the diagonal, so that each row of a matrix sums to the Shapley value.

    ``out`` (outputs, players and players x rows) has row r in ``out[:, at + r]``, and pairs other than ``pairs`` are
    zero. ``diagonal`` holds the Shapley values and receives what remains of them.
    """
    size = n_players * n_players
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        for row in pairs:
            output, pair = row // size, row % size
            i, j = pair // n_players, pair % n_players
            one = diagonal[output * n_players + i, start:stop]
            other = diagonal[output * n_players + j, start:stop]
            value = out[row, at + start : at + stop]
            mirrored = out[output * size + j * n_players + i, at + start : at + stop]
            for r in range(stop - start):
                mirrored[r] = value[r]
                one[r] -= value[r]
                other[r] -= value[r]
        for row in range(diagonal.shape[0]):
            output, i = row // n_players, row % n_players
            target = out[output * size + i * (n_players + 1), at + start : at + stop]
            for r in range(stop - start):
                target[r] = diagonal[row, start + r]


@helper
def solve_by_quadrature(ratio, k, met, nodes, node_weights, n_nodes, pairs, factor, after, columns):
    """Write the Shapley values (or half the interactions) of the game prod a_j over T, prod w_j outside.

    With a_j = 1 where the condition of j holds (``met``), they are integrals over t of the product over the other
    players of t a_j + (1 - t) w_j. Gauss-Legendre nodes integrate these polynomials exactly. ``factor`` and ``after``
    are work space for the factors and the products of the factors from each player on.
    """
    columns[: n_columns(k, pairs)] = 0.0
    for q in range(n_nodes):
        t = nodes[q]
        after[k] = 1.0
        for j in range(k):
            factor[j] = t * met[j] + (1.0 - t) * ratio[j]
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
        di = met[i] - ratio[i]
        if not pairs:
            columns[i] *= di
            continue
        for j in range(i + 1, k):
            columns[c] *= 0.5 * di * (met[j] - ratio[j])
            c += 1


@helper
def value_weights(a, b, inverse):
    """Return what a player gains that only the explained row meets, and one that only the background row meets.

    Of the players at which the two rows disagree, the explained row meets a and the background row b. The gains are
    (a - 1)! b! / (a + b)! and -a! (b - 1)! / (a + b)!. ``inverse[n, i]`` is 1 / ((n + 1) C(n, i)).
    """
    up = inverse[a + b - 1, b] if a > 0 else 0.0
    down = -inverse[a + b - 1, a] if b > 0 else 0.0
    return up, down


@helper
def pair_weights(a, b, inverse):
    """Return half the interactions of two players.

    Both are met by the explained row alone, both by the background row alone, or one by each: see `value_weights`.
    There are at least two players.
    """
    n = a + b - 2
    both_row = 0.5 * inverse[n, b] if a > 1 else 0.0
    both_back = 0.5 * inverse[n, a] if b > 1 else 0.0
    mixed = -0.5 * inverse[n, a - 1] if a > 0 and b > 0 else 0.0
    return both_row, both_back, mixed


@helper
def solve_by_comparison(shares, patterns, n_patterns, violated, k, inverse, pairs, columns):
    """Write the Shapley values (or half the interactions) against each background pattern, weighted by its share.

    A background row takes part only where every condition is met by that row or by the explained row. ``inverse`` is
    that of `value_weights`.
    """
    columns[: n_columns(k, pairs)] = 0.0
    b = np.int64(count_ones(violated))
    for p in range(n_patterns):
        if patterns[p] & violated:
            continue
        only_row, only_back = patterns[p], violated
        a = np.int64(count_ones(only_row))
        if pairs:
            if a + b < 2:
                continue
            both_row, both_back, mixed = pair_weights(a, b, inverse)
            c = 0
            for i in range(k):
                for j in range(i + 1, k):
                    bi, bj = np.uint64(1) << np.uint64(i), np.uint64(1) << np.uint64(j)
                    if (only_row & bi) and (only_row & bj):
                        columns[c] += shares[p] * both_row
                    elif (only_back & bi) and (only_back & bj):
                        columns[c] += shares[p] * both_back
                    elif ((only_row | only_back) & bi) and ((only_row | only_back) & bj):
                        columns[c] += shares[p] * mixed
                    c += 1
        elif a + b > 0:
            up, down = value_weights(a, b, inverse)
            for i in range(k):
                bi = np.uint64(1) << np.uint64(i)
                if only_row & bi:
                    columns[i] += shares[p] * up
                elif only_back & bi:
                    columns[i] += shares[p] * down
