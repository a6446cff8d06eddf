"""Tabulate the main effects and the pairs of all features at once, leaf by leaf, over the bins of the features.

Component by component, a leaf of k features would be visited k (k + 1) / 2 times, and each visit would be listed. With
very many pairs the lists would not fit in memory, but the tables do if features have few bins.
"""

import numpy as np

from skglex._kernels.arguments import LeafConditions
from skglex._kernels.compilation import helper, kernel


@helper
def _list_conditions(
    leaf, f0, f1, paths, positions, condition_feature, weight, ranked, events, layout, found
):
    """List the leaf's conditions on the features from f0 on; return their number, and how many are on those below f1.

    ``found`` receives of each the position of the player, the weight without it, the first bin of the feature, 1 if the
    condition holds in that bin, and the events in later bins.
    """
    n, n_first = 0, 0
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        condition = paths.condition[e]
        s, p = condition_feature[condition], np.int64(positions[e])
        if s < f0 or (s >= f1 and n_first == 0):
            continue
        n_first += s < f1
        first, last = events.ptr[condition], events.ptr[condition + 1]
        holds = first < last and events.bin[first] == 0
        found.position[n], found.weight[n] = p, weight[1 + p if ranked else 1 << p]
        found.column[n], found.holds[n] = layout.bin_ptr[s], 1.0 if holds else 0.0
        found.first[n], found.last[n] = first + holds, last
        n += 1
    return n, n_first


@kernel
def add_pair_corners(
    leaves, paths, positions, condition_feature, values, coalitions, events, layout, f0, f1, main, pairs
):
    """Add the corners of every leaf's boxes to the main effects and pairs whose first feature is ``f0 <= s < f1``.

    A corner of a box counts for the bins that are not below it: see `skglex._kernels.component_tables`. What the boxes
    of all coalitions have in a corner is added at once.
    """
    n_features, choose = layout.bin_ptr.shape[0] - 1, coalitions.ranks.choose
    found = LeafConditions(
        np.empty(n_features, np.int64),
        np.empty(n_features),
        np.empty(n_features, np.int64),
        np.empty(n_features),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
    )
    for q in range(leaves.shape[0]):
        leaf = leaves[q]
        weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
        n, n_first = _list_conditions(
            leaf, f0, f1, paths, positions, condition_feature, weight, ranked, events, layout, found
        )
        pair_rank = coalitions.ranks.offset[paths.ptr[leaf + 1] - paths.ptr[leaf], 2]
        for o in range(values.value.shape[1]):
            value, output = values.value[leaf, o], values.output[leaf] + o
            none, table = value * weight[0], pairs[output]
            for i in range(n_first):
                p, bin0 = found.position[i], found.column[i]
                of_i, in_i = value * found.weight[i], found.holds[i]
                row = layout.row_ptr[bin0]
                main[output, bin0] += of_i * in_i - none
                for x in range(found.first[i], found.last[i]):
                    main[output, bin0 + events.bin[x]] += of_i * events.sign[x]
                for j in range(i + 1, n):
                    r = found.position[j]
                    rank = pair_rank + choose[r, 2] + p if ranked else (1 << p) | (1 << r)
                    of_j, of_both, in_j = value * found.weight[j], value * weight[rank], found.holds[j]
                    at = row + found.column[j]
                    table[at] += none - of_i * in_i - (of_j - of_both * in_i) * in_j
                    for y in range(found.first[j], found.last[j]):
                        table[at + events.bin[y]] += events.sign[y] * (of_both * in_i - of_j)
                    for x in range(found.first[i], found.last[i]):
                        sign, at = events.sign[x], layout.row_ptr[bin0 + events.bin[x]] + found.column[j]
                        table[at] += sign * (of_both * in_j - of_i)
                        for y in range(found.first[j], found.last[j]):
                            table[at + events.bin[y]] += sign * events.sign[y] * of_both


@kernel
def sum_pair_corners(layout, f0, f1, main, pairs):
    """Turn corners into values, in place, for the pairs whose first feature is ``f0 <= s < f1``."""
    n_features, bin_ptr = layout.bin_ptr.shape[0] - 1, layout.bin_ptr
    for o in range(main.shape[0]):
        for s in range(f0, f1):
            start, stop = bin_ptr[s + 1], bin_ptr[n_features]
            for b in range(bin_ptr[s], bin_ptr[s + 1]):
                row = pairs[o, layout.row_ptr[b] + start : layout.row_ptr[b] + stop]
                for t in range(s + 1, n_features):
                    for c in range(bin_ptr[t] + 1 - start, bin_ptr[t + 1] - start):
                        row[c] += row[c - 1]
                if b > bin_ptr[s]:
                    main[o, b] += main[o, b - 1]
                    before = pairs[o, layout.row_ptr[b - 1] + start : layout.row_ptr[b - 1] + stop]
                    for c in range(stop - start):
                        row[c] += before[c]
