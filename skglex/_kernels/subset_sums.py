r"""Solve a leaf's game from sums over subsets: two tables for the Shapley values of all players, three for all pairs.

Let c(T) be E(P \ T), w(t) = t! (k - t - 1)! / k!, and M the set of the players whose conditions a row meets. With
U(M) = sum over non-empty T in M of w(|T| - 1) c(T) and S(M) = U(M) + sum over T in M of w(|T|) c(T), every player i
gets U(M) - S(M without i). Pairs have a third table; see `_add_pairs`.
"""

import numpy as np

from skglex._kernels.compilation import helper
from skglex._kernels.patterns import BLOCK, violations
from skglex._kernels.shapley import size_weights
from skglex._kernels.subsets import sum_over_subsets

# The largest game with tables: 2**20 numbers of 8 bytes each.
MOST_PLAYERS = 20
# Nanoseconds: of an entry of a table and each of its players, of the entry itself, and of a pattern of a row beside one
# of the background.
_ENTRY, _FILL, _COMPARISON = 0.12, 1.0, 2.0


@helper
def sums_are_cheaper(k, n_rows, other_cost, pairs):
    """Return whether tables of a game of k players are cheaper than ``other_cost`` for each pattern of a row."""
    if k > MOST_PLAYERS:
        return False
    size = 2.0**k
    tables = (4.0 if pairs else 3.0) * size * (k * _ENTRY + _FILL)
    return tables < min(float(n_rows), size) * other_cost


@helper
def comparison_cost(k, n_background):
    """Estimate the cost of one pattern beside all patterns of the background."""
    return min(float(n_background), 2.0**k) * _COMPARISON


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
            by_size[0, n], by_size[1, n] = u, u + h
    for i in range(3 if pairs else 2):
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
def add_from_sums(sums, met, start, k, rows, stride, value, pairs, out):
    """Add a leaf's Shapley values or half interactions to ``out[rows, start:]``, for patterns of players that are met.

    ``sums`` are the tables of `fill_sums`. Output o of pair or player c has the row ``rows[c] + o * stride``.
    """
    n = met.shape[0]
    terms, alone = np.empty(BLOCK), np.empty((k + 1 if pairs else 1, BLOCK))
    for first in range(0, n, BLOCK):
        part = met[first : first + BLOCK]
        if pairs:
            _add_pairs(sums, part, start + first, k, rows, stride, value, terms, alone, out)
        else:
            _add_players(sums, part, start + first, k, rows, stride, value, terms, alone, out)


@helper
def _bit(i, met):
    """Return bit i as a number of the type of the patterns."""
    return met.dtype.type(met.dtype.type(1) << met.dtype.type(i))


@helper
def _add_players(sums, met, start, k, rows, stride, value, terms, alone, out):
    """Add U(M) - S(M - i) to the row of every player i of ``out``."""
    whole, without, all_met = sums[0], sums[1], alone[0]
    n = met.shape[0]
    for r in range(n):
        all_met[r] = whole[met[r]]
    for i in range(k):
        rest = met.dtype.type(~_bit(i, met))
        for r in range(n):
            terms[r] = all_met[r] - without[met[r] & rest]
        for o in range(value.shape[0]):
            target, v = out[rows[i] + o * stride], value[o]
            for r in range(n):
                target[start + r] += v * terms[r]


@helper
def _add_pairs(sums, met, start, k, rows, stride, value, terms, alone, out):
    """Add (Y(M) - A(M - i) - A(M - j) + B(M - i - j)) / 2 to the row of every pair i < j of ``out``.

    With w(t) = t! (k - t - 2)! / (k - 1)!, and y, u, h the sums over T in M of w(|T| - 2), w(|T| - 1), w(|T|) times
    c(T): Y is y, A is y + u, B is y + 2 u + h.
    """
    whole, one, two, all_met = sums[0], sums[1], sums[2], alone[k]
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
