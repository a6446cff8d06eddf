"""Tabulate the main effects and the pairs of all features at once, leaf by leaf, over the bins of the features.

Component by component, a leaf of k features would be visited k (k + 1) / 2 times, and each visit would be listed. With
very many pairs the lists would not fit in memory, but the tables do if features have few bins.
"""

import numpy as np

from skglex._kernels.compilation import kernel


@kernel
def add_pair_corners(
    leaves, paths, positions, condition_feature, values, coalitions, events, layout, f0, f1, main, pairs
):
    """Add the corners of every leaf's boxes to the main effects and pairs whose first feature is ``f0 <= s < f1``.

    A corner of a box counts for the bins that are not below it: see `skglex._kernels.component_tables`.
    """
    value, choose = values.value, coalitions.ranks.choose
    for q in range(leaves.shape[0]):
        leaf = leaves[q]
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
        offset = coalitions.ranks.offset[last - first]
        for i in range(first, last):
            s, p = condition_feature[paths.condition[i]], np.int64(positions[i])
            if not f0 <= s < f1:
                continue
            begin0, end0 = events.ptr[paths.condition[i]], events.ptr[paths.condition[i] + 1]
            bin0, of_i = layout.bin_ptr[s], weight[1 + p if ranked else 1 << p]
            for o in range(value.shape[1]):
                v, output = value[leaf, o], values.output[leaf] + o
                main[output, bin0] -= v * weight[0]
                for x in range(begin0, end0):
                    main[output, bin0 + events.bin[x]] += v * of_i * events.sign[x]
            for j in range(i + 1, last):
                r = np.int64(positions[j])
                of_j = weight[1 + r if ranked else 1 << r]
                of_both = weight[offset[2] + choose[r, 2] + p if ranked else (1 << p) | (1 << r)]
                begin1, end1 = events.ptr[paths.condition[j]], events.ptr[paths.condition[j] + 1]
                column = layout.bin_ptr[condition_feature[paths.condition[j]]]
                for o in range(value.shape[1]):
                    v, table = value[leaf, o], pairs[values.output[leaf] + o]
                    row = layout.row_ptr[bin0] + column
                    table[row] += v * weight[0]
                    for y in range(begin1, end1):
                        table[row + events.bin[y]] -= v * of_j * events.sign[y]
                    for x in range(begin0, end0):
                        row, signed = layout.row_ptr[bin0 + events.bin[x]] + column, v * events.sign[x]
                        table[row] -= signed * of_i
                        for y in range(begin1, end1):
                            table[row + events.bin[y]] += signed * of_both * events.sign[y]


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
