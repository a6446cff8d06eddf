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
    c, one, other, sources, path_set_leaves, paths, players, condition_feature, coalitions, events, corners
):
    """List the corners of all boxes of a component: leaf, coefficient and two bins; return their number.

    A box that does not depend on a feature begins at its first bin. ``corners`` is a tuple of arrays; with arrays of no
    entries, the corners are counted only.
    """
    leaf_of, weight_of, first_of, second_of = corners
    n, choose = 0, coalitions.ranks.choose
    members, signed = np.empty(2, np.int64), np.empty(4)
    guess0, guess1 = 0, 0
    for k in range(sources.ptr[c], sources.ptr[c + 1]):
        path_set = sources.path_set[k]
        for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
            leaf = path_set_leaves.item[q]
            e0 = condition_on(one, leaf, guess0, paths, condition_feature)
            e1 = condition_on(other, leaf, guess1, paths, condition_feature)
            guess0, guess1 = e0 - paths.ptr[leaf], e1 - paths.ptr[leaf]
            weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
            offset = coalitions.ranks.offset[players.n_players[leaf]]
            members[0], members[1] = players.position[e0], players.position[e1]
            signed_weights(weight, members, 2, ranked, choose, offset, signed)
            begin0, end0 = events.ptr[paths.condition[e0]], events.ptr[paths.condition[e0] + 1]
            begin1, end1 = events.ptr[paths.condition[e1]], events.ptr[paths.condition[e1] + 1]
            for part in range(4):
                coefficient = signed[part]
                if coefficient == 0.0:
                    continue
                for i in range(begin0 if part & 1 else 0, end0 if part & 1 else 1):
                    for j in range(begin1 if part & 2 else 0, end1 if part & 2 else 1):
                        if n < leaf_of.shape[0]:
                            sign0 = events.sign[i] if part & 1 else 1
                            sign1 = events.sign[j] if part & 2 else 1
                            leaf_of[n], weight_of[n] = leaf, coefficient * sign0 * sign1
                            first_of[n] = events.bin[i] if part & 1 else 0
                            second_of[n] = events.bin[j] if part & 2 else 0
                        n += 1
    return n


@kernel
def sweep_pairs(
    bins,
    features,
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

    The component ``chosen[i, 0]`` has the used_features ``features[chosen[i, 0]]``; its first output is row
    ``chosen[i, 1]`` of ``out``, and the next one ``chosen[i, 2]`` rows further.
    """
    width = values.value.shape[1]
    nothing = np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32), np.empty(0, np.int32)
    for item in range(chosen.shape[0]):
        c, row, step = chosen[item, 0], chosen[item, 1], chosen[item, 2]
        one, other = features[c, 0], features[c, 1]
        args = c, one, other, sources, path_set_leaves, paths, players, condition_feature, coalitions, events
        n = _list_corners(*args, nothing)
        corners = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)
        _list_corners(*args, corners)
        leaf_of, weight_of, first_of, second_of = corners
        n_bins = 1 + max(np.int64(bins[one].max()), np.int64(first_of.max()) if n > 0 else 0)
        n_other = 1 + max(np.int64(bins[other].max()), np.int64(second_of.max()) if n > 0 else 0)
        by_bin, of_corner = _sort_by_bin(first_of, n_bins)
        row_ptr, of_row = _sort_by_bin(bins[one], n_bins)
        lowest, highest = _range_of_outputs(leaf_of, values)
        for o in range(width):
            # Outputs are taken one by one; trees of several outputs add to different ones.
            for output in range(lowest, highest + 1):
                single = np.zeros(n_other)
                some, many = np.zeros((n_other >> _SHIFT) + 1), np.zeros((n_other >> (2 * _SHIFT)) + 1)
                target = out[row + (output + o) * step]
                for b in range(n_bins):
                    for i in range(by_bin[b], by_bin[b + 1]):
                        corner = of_corner[i]
                        if values.output[leaf_of[corner]] == output:
                            value = weight_of[corner] * values.value[leaf_of[corner], o]
                            _add_at(second_of[corner], value, single, some, many)
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
