"""Solve path-dependent games in parts of eight players, for paths of any length.

The Shapley value of player i is an integral of a product: of x_i - r_i, and of t x_j + (1 - t) r_j for every other
player j, where x_j is 1 if the row meets the conditions of j, and r_j is the cover ratio. Gauss-Legendre nodes t serve
all players alike. So the factors of eight players are multiplied once for each of their 256 patterns and each node,
and a row multiplies what its patterns point to.
"""

import numpy as np

from skglex._kernels.arguments import PartWork
from skglex._kernels.compilation import helper
from skglex._kernels.patterns import BLOCK, violations

# Players of a part. The loop over rows spells this number out.
_PART = 8
# From this number of rows on, the tables of the parts are cheaper than one game after the other.
_FEW_ROWS = 200


@helper
def solves_by_parts(k, n_rows, pairs):
    """Return whether the Shapley values of a game of k players are computed by parts."""
    return not pairs and (n_rows >= _FEW_ROWS or k > 64)


@helper
def quadrature_cost(k, n_rows, pairs):
    """Estimate the nanoseconds of one pattern by quadrature."""
    half = (k + 1) // 2
    if solves_by_parts(k, n_rows, pairs):
        return 0.35 * half * _PART * ((k + _PART - 1) // _PART) + 45.0
    return 1.0 * half * k * (k if pairs else 3)


@helper
def part_work(most_players, most_conditions, n_rows, pairs):
    """Return empty arrays for the largest game that is solved by parts; none if there is no such game."""
    if not solves_by_parts(most_players, n_rows, pairs):
        most_players = 0
    n_parts, half = (most_players + _PART - 1) // _PART, (most_players + 1) // 2
    size = (1 << _PART) if n_parts > 0 else 0
    n = min(BLOCK, n_rows) if n_parts > 0 else 0
    return PartWork(
        np.empty((n_parts, size, half)),
        np.empty((n_parts, size, half, _PART)),
        np.empty((n_parts + 1, half)),
        np.empty((n_parts, BLOCK if n_parts > 0 else 0), np.uint8),
        np.empty((n, n_parts * _PART)),
        np.zeros(n_parts + 1, np.int64),
        np.empty(most_conditions, np.int64),
        np.empty(most_conditions, np.uint8),
    )


@helper
def _sort_conditions(paths, players, leaf, n_parts, work):
    """Sort the conditions of a leaf by the part that their player is in."""
    n = 0
    for part in range(n_parts):
        work.ptr[part] = n
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            if players.position[e] // _PART == part:
                work.condition[n], work.bit[n] = paths.condition[e], players.position[e] % _PART
                n += 1
    work.ptr[n_parts] = n


@helper
def _fill_parts(ratio, k, nodes, n_nodes, work):
    """Fill the tables: for each pattern and node the product of all factors, and without each of them times x - r."""
    factor, after = np.empty(_PART), np.ones(_PART + 1)
    for part in range((k + _PART - 1) // _PART):
        first = part * _PART
        n = min(_PART, k - first)
        for violated in range(1 << n):
            for q in range(n_nodes):
                t = nodes[q]
                after[n] = 1.0
                for j in range(n - 1, -1, -1):
                    met = 0.0 if (violated >> j) & 1 else 1.0
                    factor[j] = t * met + (1.0 - t) * ratio[first + j]
                    after[j] = after[j + 1] * factor[j]
                work.product[part, violated, q] = after[0]
                without, before = work.without[part, violated, q], 1.0
                without[n:] = 0.0
                for j in range(n):
                    met = 0.0 if (violated >> j) & 1 else 1.0
                    without[j] = before * after[j + 1] * (met - ratio[first + j])
                    before *= factor[j]


@helper
def _solve_rows(n, n_parts, node_weights, n_nodes, work):
    """Write the Shapley values of the rows of a block, from their patterns."""
    rest, after = work.rest, work.rest[n_parts]
    for r in range(n):
        # rest[part] is the product of the parts before it, and later also of those after it.
        for q in range(n_nodes):
            rest[0, q] = node_weights[q]
        for part in range(n_parts - 1):
            product = work.product[part, np.int64(work.pattern[part, r])]
            for q in range(n_nodes):
                rest[part + 1, q] = rest[part, q] * product[q]
        after[:n_nodes] = 1.0
        for part in range(n_parts - 1, -1, -1):
            violated = np.int64(work.pattern[part, r])
            product, without = work.product[part, violated], work.without[part, violated]
            before = rest[part]
            # Eight sums stay in registers.
            s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for q in range(n_nodes):
                other = before[q] * after[q]
                after[q] *= product[q]
                s0 += other * without[q, 0]
                s1 += other * without[q, 1]
                s2 += other * without[q, 2]
                s3 += other * without[q, 3]
                s4 += other * without[q, 4]
                s5 += other * without[q, 5]
                s6 += other * without[q, 6]
                s7 += other * without[q, 7]
            terms = work.terms[r, part * _PART : (part + 1) * _PART]
            terms[0], terms[1], terms[2], terms[3] = s0, s1, s2, s3
            terms[4], terms[5], terms[6], terms[7] = s4, s5, s6, s7


@helper
def add_by_parts(leaf, ratio, bins, conditions, paths, values, players, rules, rows, stride, work, out):
    """Add a leaf's Shapley values to ``out``; output o of player i has the row ``rows[i] + o * stride``."""
    n_rows, k = bins.shape[1], players.n_players[leaf]
    n_parts, half = (k + _PART - 1) // _PART, (k + 1) // 2
    value = values.value[leaf]
    _sort_conditions(paths, players, leaf, n_parts, work)
    _fill_parts(ratio, k, rules.nodes[half], half, work)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        for part in range(n_parts):
            first, last = work.ptr[part], work.ptr[part + 1]
            pattern = work.pattern[part]
            violations(bins, start, stop, conditions, work.condition, work.bit, first, last, pattern)
        _solve_rows(stop - start, n_parts, rules.weights[half], half, work)
        for o in range(value.shape[0]):
            v = value[o]
            for i in range(k):
                target = out[rows[i] + o * stride]
                for r in range(stop - start):
                    target[start + r] += v * work.terms[r, i]
