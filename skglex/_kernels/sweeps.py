"""Compute components of two features without tables, for many rows: sweep over the bins of one feature.

A leaf adds a constant to boxes of bins. A corner of a box counts for every row whose two bins are not below it. The
sweep meets corners and rows in the order of their first bin, and sums what it has met by the second.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weights
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.component_tables import condition_on

_SHIFT = 5  # Sums of 32 bins, and of 32 times 32, make a sum up to a bin short.


@helper
def _sum_to(bin_, single, some, many):
    """Return the sum of the entries up to a bin."""
    total = 0.0
    block, super_block = bin_ >> _SHIFT, bin_ >> (2 * _SHIFT)
    for i in range(super_block):
        total += many[i]
    for i in range(super_block << _SHIFT, block):
        total += some[i]
    for i in range(block << _SHIFT, bin_ + 1):
        total += single[i]
    return total


@helper
def _add_at(bin_, value, single, some, many):
    """Add to an entry, and to the sums that it is part of."""
    single[bin_] += value
    some[bin_ >> _SHIFT] += value
    many[bin_ >> (2 * _SHIFT)] += value


@helper
def _list_corners(
    item, sources, path_set_leaves, paths, players, condition_feature, coalitions, events, place, corners
):
    """List the corners of all boxes of a component by their first bin: leaf, coefficient and second bin.

    A box that does not depend on a feature begins at its first bin. ``place`` holds where the next corner of each first
    bin belongs. With arrays of no entries in the tuple ``corners``, it receives the number of corners of each.
    """
    leaf_of, weight_of, second_of = corners
    members, signed, choose = np.empty(2, np.int64), np.empty(4), coalitions.ranks.choose
    guess0, guess1 = 0, 0
    for k in range(sources.ptr[item[0]], sources.ptr[item[0] + 1]):
        path_set = sources.path_set[k]
        for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
            leaf = path_set_leaves.item[q]
            e0 = condition_on(item[3], leaf, guess0, paths, condition_feature)
            e1 = condition_on(item[4], leaf, guess1, paths, condition_feature)
            guess0, guess1 = e0 - paths.ptr[leaf], e1 - paths.ptr[leaf]
            begin0, end0 = events.ptr[paths.condition[e0]], events.ptr[paths.condition[e0] + 1]
            begin1, end1 = events.ptr[paths.condition[e1]], events.ptr[paths.condition[e1] + 1]
            if leaf_of.shape[0] == 0:
                place[0] += 1 + end1 - begin1
                for i in range(begin0, end0):
                    place[events.bin[i]] += 1 + end1 - begin1
                continue
            weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
            members[0], members[1] = players.position[e0], players.position[e1]
            offset = coalitions.ranks.offset[players.n_players[leaf]]
            signed_weights(weight, members, 2, ranked, choose, offset, signed)
            for part in range(4):
                for i in range(begin0 if part & 1 else 0, end0 if part & 1 else 1):
                    first = events.bin[i] if part & 1 else 0
                    sign0 = events.sign[i] if part & 1 else 1
                    for j in range(begin1 if part & 2 else 0, end1 if part & 2 else 1):
                        sign = sign0 * events.sign[j] if part & 2 else sign0
                        n = place[first]
                        leaf_of[n], weight_of[n] = leaf, signed[part] * sign
                        second_of[n] = events.bin[j] if part & 2 else 0
                        place[first] += 1


@kernel
def sweep_pairs(
    bins,
    n_bins,
    sources,
    path_set_leaves,
    paths,
    players,
    condition_feature,
    values,
    coalitions,
    events,
    chosen,
    out,
):
    """Add the terms of some leaves to the components of two features in ``chosen``, for all rows.

    The component ``chosen[i, 0]`` has the used_features ``chosen[i, 3:5]``; its first output is row ``chosen[i, 1]`` of
    ``out``, and the next one ``chosen[i, 2]`` rows further.
    """
    width = values.value.shape[1]
    nothing = np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32)
    for item in range(chosen.shape[0]):
        row, step, one, other = chosen[item, 1], chosen[item, 2], chosen[item, 3], chosen[item, 4]
        model = sources, path_set_leaves, paths, players, condition_feature, coalitions, events
        by_bin = np.zeros(n_bins[one] + 1, np.int64)
        _list_corners(chosen[item], *model, by_bin[1:], nothing)
        for b in range(n_bins[one]):
            by_bin[b + 1] += by_bin[b]
        n = by_bin[n_bins[one]]
        corners = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32)
        _list_corners(chosen[item], *model, by_bin[:-1].copy(), corners)
        leaf_of, weight_of, second_of = corners
        row_ptr, of_row = _sort_by_bin(bins[one], n_bins[one])
        lowest, highest = _range_of_outputs(leaf_of, values)
        for o in range(width):
            # Outputs are taken one by one; trees of several outputs add to different ones.
            for output in range(lowest, highest + 1):
                single = np.zeros(n_bins[other])
                some = np.zeros((n_bins[other] >> _SHIFT) + 1)
                many = np.zeros((n_bins[other] >> (2 * _SHIFT)) + 1)
                target = out[row + (output + o) * step]
                for b in range(n_bins[one]):
                    for i in range(by_bin[b], by_bin[b + 1]):
                        if values.output[leaf_of[i]] == output:
                            value = weight_of[i] * values.value[leaf_of[i], o]
                            _add_at(second_of[i], value, single, some, many)
                    for i in range(row_ptr[b], row_ptr[b + 1]):
                        r = of_row[i]
                        target[r] += _sum_to(np.int64(bins[other, r]), single, some, many)


@helper
def _range_of_outputs(leaf_of, values):
    """Return the lowest and the highest first output of some leaves; an empty range if there is no leaf."""
    lowest, highest = 0, -1
    for i in range(leaf_of.shape[0]):
        output = np.int64(values.output[leaf_of[i]])
        lowest, highest = (output, output) if i == 0 else (min(lowest, output), max(highest, output))
    return lowest, highest


@helper
def _sort_by_bin(bin_of, n_bins):
    """Return where the items of each bin begin in a list by bin, and the list."""
    ptr = np.zeros(n_bins + 1, np.int64)
    for i in range(bin_of.shape[0]):
        ptr[bin_of[i] + 1] += 1
    for b in range(n_bins):
        ptr[b + 1] += ptr[b]
    at, items = ptr[:-1].copy(), np.empty(bin_of.shape[0], np.int32)
    for i in range(bin_of.shape[0]):
        items[at[bin_of[i]]] = i
        at[bin_of[i]] += 1
    return ptr, items
