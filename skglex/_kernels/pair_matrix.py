"""Tabulate the main effects and the pairs of all features at once, leaf by leaf, over the bins of the features.

Component by component, a leaf of k features would be visited k (k + 1) / 2 times, and each visit would be listed. With
very many pairs the lists would not fit in memory, but the tables do if features have few bins.

Neighbouring leaves share most of their conditions. So a pair of conditions is *open* from the first to the last of
some neighbouring leaves that have both; what these leaves add is summed, and written once. Open conditions are in the
order in which they will be closed, the last one first.
"""

import numpy as np

from skglex._kernels.arguments import OpenConditions, OpenSums
from skglex._kernels.compilation import helper, inlined, kernel


@helper
def _last_leaves(leaves, paths, n_conditions):
    """Return, for all conditions of the leaves, the last of the next leaves that have it without a gap."""
    start = paths.ptr[leaves[0]]
    last = np.empty(paths.ptr[leaves[-1] + 1] - start, np.int64)
    seen, end = np.full(n_conditions, -1, np.int64), np.empty(n_conditions, np.int64)
    for number in range(leaves.shape[0] - 1, -1, -1):
        for e in range(paths.ptr[leaves[number]], paths.ptr[leaves[number] + 1]):
            c = paths.condition[e]
            if seen[c] != number + 1:
                end[c] = number
            seen[c] = number
            last[e - start] = end[c]
    return last


@helper
def _open(c, last_leaf, n_kept, n_open, condition_feature, events, opened):
    """Insert a condition behind the first ``n_kept`` open ones, sorted by the last leaf that has it."""
    q = n_open
    while q > n_kept and opened.last_leaf[q - 1] < last_leaf:
        opened.condition[q], opened.feature[q] = opened.condition[q - 1], opened.feature[q - 1]
        opened.last_leaf[q], opened.holds[q] = opened.last_leaf[q - 1], opened.holds[q - 1]
        opened.first[q], opened.last[q] = opened.first[q - 1], opened.last[q - 1]
        q -= 1
    first, last = events.ptr[c], events.ptr[c + 1]
    holds = first < last and events.bin[first] == 0
    opened.condition[q], opened.feature[q], opened.last_leaf[q] = c, condition_feature[c], last_leaf
    opened.holds[q], opened.first[q], opened.last[q] = 1.0 if holds else 0.0, first + holds, last


@inlined
def _write_pair(one, other, none, of_i, of_j, of_both, opened, events, layout, table):
    """Add the corners of a pair of conditions to its table."""
    i, j = one, other
    if opened.feature[i] > opened.feature[j]:
        i, j, of_i, of_j = j, i, of_j, of_i
    a, b = opened.feature[i], opened.feature[j]
    step = layout.bin_ptr[a + 1] - layout.bin_ptr[a]
    start = layout.start[a] + layout.bin_ptr[b] * step
    in_i, in_j = opened.holds[i], opened.holds[j]
    table[start] += none - of_i * in_i - (of_j - of_both * in_i) * in_j
    for x in range(opened.first[i], opened.last[i]):
        table[start + events.bin[x]] += events.sign[x] * (of_both * in_j - of_i)
    for y in range(opened.first[j], opened.last[j]):
        sign, at = events.sign[y], start + events.bin[y] * step
        table[at] += sign * (of_both * in_i - of_j)
        for x in range(opened.first[i], opened.last[i]):
            table[at + events.bin[x]] += sign * events.sign[x] * of_both


@helper
def _close(n_kept, n_open, output, opened, sums, events, layout, f0, f1, main, pairs):
    """Write what the open conditions from ``n_kept`` on have summed, and set it to zero."""
    for q in range(n_open - 1, n_kept - 1, -1):
        f = opened.feature[q]
        for o in range(sums.none.shape[0]):
            none, of_q, table = sums.none[o, q], sums.single[o, q], main[output + o]
            if f0 <= f < f1:
                bin0 = layout.bin_ptr[f]
                table[bin0] += of_q * opened.holds[q] - none
                for x in range(opened.first[q], opened.last[q]):
                    table[bin0 + events.bin[x]] += of_q * events.sign[x]
            of_other, of_both = sums.other[o, q], sums.both[o, q]
            for p in range(q):
                if f0 <= min(f, opened.feature[p]) < f1:
                    _write_pair(
                        q, p, none, of_q, of_other[p], of_both[p], opened, events, layout, pairs[output + o]
                    )
            sums.none[o, q], sums.single[o, q] = 0.0, 0.0
            of_other[:q], of_both[:q] = 0.0, 0.0


@helper
def _add_leaf(value, n_open, place, weight, ranked, pair_rank, single, none, other, both):
    """Add one leaf's value, times the weights of its coalitions, to the sums of its conditions and pairs."""
    for q in range(n_open):
        a = place[q]
        none[q] += value * weight[0]
        single[q] += value * weight[1 + a if ranked else 1 << a]
        of_other, of_both = other[q], both[q]
        for p in range(q):
            b = place[p]
            low, high = min(a, b), max(a, b)
            # The rank of a pair among all pairs is C(high, 2) + low.
            rank = pair_rank + (high * (high - 1) >> 1) + low if ranked else (1 << a) | (1 << b)
            of_other[p] += value * weight[1 + b if ranked else 1 << b]
            of_both[p] += value * weight[rank]


@kernel
def add_pair_corners(
    leaves, paths, positions, condition_feature, values, coalitions, events, layout, f0, f1, main, pairs
):
    """Add the corners of every leaf's boxes to the main effects and pairs whose first feature is ``f0 <= s < f1``.

    A corner of a box counts for the bins that are not below it: see `skglex._kernels.component_tables`. What the boxes
    of all coalitions have in a corner is added at once.
    """
    most, n_conditions, width = 0, condition_feature.shape[0], values.value.shape[1]
    for leaf in leaves:
        most = max(most, paths.ptr[leaf + 1] - paths.ptr[leaf])
    if most == 0:
        return
    last_leaf, start = _last_leaves(leaves, paths, n_conditions), paths.ptr[leaves[0]]
    opened = OpenConditions(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    sums = OpenSums(
        np.zeros((width, most)),
        np.zeros((width, most)),
        np.zeros((width, most, most)),
        np.zeros((width, most, most)),
    )
    # The last leaf that has a condition, the position of its player there, and whether it is open.
    holder, position = np.full(n_conditions, -1, np.int64), np.empty(n_conditions, np.int64)
    is_open, place = np.zeros(n_conditions, np.bool_), np.empty(most, np.int64)
    n_open, output = 0, 0
    for number in range(leaves.shape[0]):
        leaf = leaves[number]
        of_leaf = range(paths.ptr[leaf], paths.ptr[leaf + 1])
        for e in of_leaf:
            holder[paths.condition[e]], position[paths.condition[e]] = number, positions[e]
        n_kept = 0
        while (
            n_kept < n_open and holder[opened.condition[n_kept]] == number and values.output[leaf] == output
        ):
            n_kept += 1
        _close(n_kept, n_open, output, opened, sums, events, layout, f0, f1, main, pairs)
        for c in opened.condition[n_kept:n_open]:
            is_open[c] = False
        n_open, output = n_kept, values.output[leaf]
        for e in of_leaf:
            c = paths.condition[e]
            if not is_open[c]:
                _open(c, last_leaf[e - start], n_kept, n_open, condition_feature, events, opened)
                is_open[c] = True
                n_open += 1
        for q in range(n_open):
            place[q] = position[opened.condition[q]]
        weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
        pair_rank = coalitions.ranks.offset[n_open, 2]
        for o in range(width):
            parts = sums.single[o], sums.none[o], sums.other[o], sums.both[o]
            _add_leaf(values.value[leaf, o], n_open, place, weight, ranked, pair_rank, *parts)
    _close(0, n_open, output, opened, sums, events, layout, f0, f1, main, pairs)


@kernel
def sum_pair_corners(layout, f0, f1, main, pairs):
    """Turn corners into values, in place, for the pairs whose first feature is ``f0 <= s < f1``."""
    n_features, bin_ptr = layout.bin_ptr.shape[0] - 1, layout.bin_ptr
    for o in range(main.shape[0]):
        for s in range(f0, f1):
            step = bin_ptr[s + 1] - bin_ptr[s]
            for b in range(bin_ptr[s] + 1, bin_ptr[s + 1]):
                main[o, b] += main[o, b - 1]
            for t in range(s + 1, n_features):
                for c in range(bin_ptr[t], bin_ptr[t + 1]):
                    at = layout.start[s] + c * step
                    for x in range(at + 1, at + step):
                        pairs[o, x] += pairs[o, x - 1]
                for c in range(bin_ptr[t] + 1, bin_ptr[t + 1]):
                    at = layout.start[s] + c * step
                    for x in range(at, at + step):
                        pairs[o, x] += pairs[o, x - step]
