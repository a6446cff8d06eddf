r"""Solve a leaf's game from sums over subsets: one table for the Shapley values of all players, three for all pairs.

Let c(T) be E(P \ T), w(t) = t! (k - t - 1)! / k!, and M the set of the players whose conditions a row meets. With
U(M) = sum over non-empty T in M of w(|T| - 1) c(T) and S(M) = U(M) + sum over T in M of w(|T|) c(T), every player i
gets U(M) - S(M without i). U needs no table, because the values of all players add up to what the row has beyond the
average: 1 - c({}) if it meets all conditions, else -c({}). Pairs have three tables; see `_add_pairs`.
"""

import numpy as np

from skglex._kernels.compilation import helper
from skglex._kernels.patterns import BLOCK, violations
from skglex._kernels.shapley import size_weights
from skglex._kernels.subsets import sum_over_subsets

# The largest game with tables: 2**22 numbers of 8 bytes each.
MOST_PLAYERS = 22
# Nanoseconds: of an entry of a table and each of its players, of the entry itself, and of a pattern of a row beside one
# of the background.
_ENTRY, _FILL, _COMPARISON, _PATTERN = 0.12, 1.0, 2.0, 3.0


@helper
def sums_are_cheaper(k, n_rows, per_pattern, once, pairs):
    """Return whether tables of a game of k players are cheaper than another way.

    It costs ``per_pattern`` nanoseconds for each pattern of a row, and takes ``once`` nanoseconds more than tables to
    prepare.
    """
    if k > MOST_PLAYERS:
        return False
    size = 2.0**k
    tables = (4.0 if pairs else 3.0) * size * (k * _ENTRY + _FILL)
    return tables < min(float(n_rows), size) * per_pattern + once


@helper
def comparison_cost(k, n_background):
    """Estimate the cost of one pattern beside all patterns of the background, and of finding these for one leaf.

    In a cluster, the background is counted once for many leaves.
    """
    return min(float(n_background), 2.0**k) * _COMPARISON, _PATTERN * n_background


@helper
def fill_sums(weight, k, n_members, pairs, sums):
    """Fill the first 2**k entries of each table from the weights c(T) of all coalitions."""
    order = 2 if pairs else 1
    w = size_weights(k, order)
    by_size = np.zeros((3, k + 1))
    for n in range(k + 1):
        h = w[n] if n <= k - order else 0.0
        u = w[n - 1] if 0 < n <= k - order + 1 else 0.0
        y = w[n - 2] if pairs and n > 1 else 0.0
        if pairs:
            by_size[0, n], by_size[1, n], by_size[2, n] = y, y + u, y + 2.0 * u + h
        else:
            by_size[0, n] = u + h
    for i in range(sums.shape[0]):
        table = sums[i]
        for t in range(1 << k):
            table[t] = by_size[i, n_members[t]] * weight[t]
        sum_over_subsets(table, k)


@helper
def weights_of_rows(background, conditions, paths, players, leaf, k, pattern, weight):
    """Write c(T) for all coalitions T: the share of the background rows that violate no player outside of T."""
    n_rows = background.share.shape[0]
    first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
    weight[: 1 << k] = 0.0
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        ids, bits = paths.condition, players.position
        violations(background.bins, start, stop, conditions, ids, bits, first, last, pattern)
        for r in range(stop - start):
            weight[pattern[r]] += background.share[start + r]
    sum_over_subsets(weight, k)


@helper
def weights_of_ratios(ratio, k, weight):
    """Write c(T) for all coalitions T: the product of the cover ratios of the players outside of T."""
    weight[0] = 1.0
    for j in range(k):
        size = 1 << j
        for t in range(size):
            weight[size + t] = weight[t]
            weight[t] *= ratio[j]


@helper
def rows_of_leaf(leaf, k, ids, values, layout, rows):
    """Write the rows of the output array that belong to a leaf's players, or pairs of them, in its first output.

    Return the distance of the rows of the next output.
    """
    n = layout.n_players
    stride = n * n if layout.pairs else n
    first, c = values.output[leaf] * stride, 0
    for i in range(k):
        if not layout.pairs:
            rows[i] = first + ids[i]
            continue
        for j in range(i + 1, k):
            rows[c] = first + min(ids[i], ids[j]) * n + max(ids[i], ids[j])
            c += 1
    return stride


@helper
def add_from_sums(work, met, start, k, stride, value, pairs, out):
    """Add a leaf's Shapley values or half interactions to ``out[rows, start:]``, for patterns of players that are met.

    ``work`` holds the tables that `fill_sums` makes. Output o of pair or player c has the row
    ``work.rows[c] + o * stride``.
    """
    for first in range(0, met.shape[0], BLOCK):
        part = met[first : first + BLOCK]
        if pairs:
            _add_pairs(work, part, start + first, k, stride, value, out)
        else:
            _add_players(work, part, start + first, k, stride, value, out)


@helper
def _bit(i, met):
    """Return bit i as a number of the type of the patterns."""
    return met.dtype.type(met.dtype.type(1) << met.dtype.type(i))


@helper
def _add_players(work, met, start, k, stride, value, out):
    """Add U(M) - S(M - i) to the row of every player i of ``out``."""
    table, weight, rows, alone = work.sums[0], work.weight, work.rows, work.alone
    everyone = (np.int64(1) << k) - 1
    u, n = alone[k], met.shape[0]
    for r in range(n):
        u[r] = (weight[everyone] if met[r] == everyone else 0.0) - weight[0]
    for i in range(k):
        rest = met.dtype.type(~_bit(i, met))
        for r in range(n):
            alone[i, r] = table[met[r] & rest]
            u[r] += alone[i, r]
    for r in range(n):
        u[r] /= k
    for i in range(k):
        for o in range(value.shape[0]):
            target, v = out[rows[i] + o * stride], value[o]
            for r in range(n):
                target[start + r] += v * (u[r] - alone[i, r])


@helper
def _add_pairs(work, met, start, k, stride, value, out):
    """Add (Y(M) - A(M - i) - A(M - j) + B(M - i - j)) / 2 to the row of every pair i < j of ``out``.

    With w(t) = t! (k - t - 2)! / (k - 1)!, and y, u, h the sums over T in M of w(|T| - 2), w(|T| - 1), w(|T|) times
    c(T): Y is y, A is y + u, B is y + 2 u + h.
    """
    whole, one, two = work.sums[0], work.sums[1], work.sums[2]
    rows, alone, all_met, terms = work.rows, work.alone, work.alone[k], work.alone[k + 1]
    n = met.shape[0]
    for r in range(n):
        all_met[r] = whole[met[r]]
    for i in range(k):
        rest = met.dtype.type(~_bit(i, met))
        for r in range(n):
            alone[i, r] = one[met[r] & rest]
    c = 0
    for i in range(k):
        for j in range(i + 1, k):
            rest = met.dtype.type(~(_bit(i, met) | _bit(j, met)))
            for r in range(n):
                terms[r] = 0.5 * (all_met[r] - alone[i, r] - alone[j, r] + two[met[r] & rest])
            for o in range(value.shape[0]):
                target, v = out[rows[c] + o * stride], value[o]
                for r in range(n):
                    target[start + r] += v * terms[r]
            c += 1
