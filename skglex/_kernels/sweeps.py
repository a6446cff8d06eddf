"""Compute components of two features without tables, for many rows: sweep over the bins of one feature.

A leaf adds a constant to boxes of bins. A corner of a box counts for every row whose two bins are not below it. The
sweep meets corners and rows in the order of their first bin, and sums what it has met by the second.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weight
from skglex._kernels.compilation import helper, inlined, kernel

_SHIFT = 5  # Sums of 32 bins, and of 32 times 32, make a sum up to a bin short.


@helper
def _conditions_on(one, other, begin, end, feature):
    """Return the positions of a leaf's conditions on two used_features, between ``begin`` and ``end``."""
    e0 = e1 = begin
    for e in range(begin, end):
        if feature[e] == one:
            e0 = e
        elif feature[e] == other:
            e1 = e
    return e0, e1


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
def _count_corners(c, one, other, output, sources, path_set_leaves, paths, values, events, n_bins, ptr):
    """Write where the corners of each first bin begin in a list by first bin, for the leaves of one output."""
    event_ptr, event_bin, feature, leaf_ptr, output_of = (
        events.ptr,
        events.bin,
        events.feature,
        paths.ptr,
        values.output,
    )
    first, n_first, n_second, leaves = events.first, n_bins[one], n_bins[other], path_set_leaves.item
    ptr[:] = 0
    for k in range(sources.ptr[c], sources.ptr[c + 1]):
        path_set = sources.path_set[k]
        for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
            leaf = leaves[q]
            if output_of[leaf] != output:
                continue
            e0, e1 = _conditions_on(one, other, leaf_ptr[leaf] - first, leaf_ptr[leaf + 1] - first, feature)
            n = 1  # The corner of the box that does not depend on the second feature.
            for j in range(event_ptr[e1], event_ptr[e1 + 1]):
                n += event_bin[j] < n_second
            for i in range(event_ptr[e0], event_ptr[e0 + 1]):
                if event_bin[i] < n_first:
                    ptr[event_bin[i] + 1] += n
    for b in range(ptr.shape[0] - 1):
        ptr[b + 1] += ptr[b]


@inlined
def _find_signed_weights(mask, p0, p1, scale, weight, ranked, choose, offset, signed):
    """Write the scaled weights of the coalitions of none, the first, the second, and both of a leaf's two players."""
    bit0, bit1 = np.uint64(1) << np.uint64(p0), np.uint64(1) << np.uint64(p1)
    for part in range(4):
        v = (bit0 if part & 1 else np.uint64(0)) | (bit1 if part & 2 else np.uint64(0))
        signed[part] = scale * signed_weight(weight, mask, v, ranked, choose, offset)


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


@inlined
def _place_corners(e0, e1, signed, event_ptr, event_bin, event_sign, at, second, value, single, some, many):
    """Write the corners of a leaf's boxes to the list by first bin, and add those at the first bin to the sums.

    A box that does not depend on a feature begins at its first bin.
    """
    first1, last1 = event_ptr[e1], event_ptr[e1 + 1]
    _add_at(0, signed[0], single, some, many)
    for j in range(first1, last1):
        if event_bin[j] < single.shape[0]:
            _add_at(np.int64(event_bin[j]), event_sign[j] * signed[2], single, some, many)
    for i in range(event_ptr[e0], event_ptr[e0 + 1]):
        if event_bin[i] >= at.shape[0]:
            continue
        place = at[event_bin[i]]
        second[place], value[place] = 0, event_sign[i] * signed[1]
        place += 1
        for j in range(first1, last1):
            if event_bin[j] < single.shape[0]:
                second[place], value[place] = event_bin[j], event_sign[i] * event_sign[j] * signed[3]
                place += 1
        at[event_bin[i]] = place


@helper
def _sweep(bins, ptr, second, value, row_ptr, of_row, single, some, many, out):
    """Meet corners and rows in the order of their first bin, and add to every row what was met up to its second."""
    for b in range(ptr.shape[0] - 1):
        for i in range(ptr[b], ptr[b + 1]):
            _add_at(np.int64(second[i]), value[i], single, some, many)
        for i in range(row_ptr[b], row_ptr[b + 1]):
            r = of_row[i]
            out[r] += _sum_to(np.int64(bins[r]), single, some, many)


@helper
def _range_of_outputs(leaves, output):
    """Return the lowest and the highest first output of some leaves; an empty range if there is no leaf."""
    lowest, highest = 0, -1
    for i in range(leaves.shape[0]):
        o = np.int64(output[leaves[i]])
        lowest, highest = (o, o) if i == 0 else (min(lowest, o), max(highest, o))
    return lowest, highest


@kernel
def number_events(events, number, ptr):
    """Replace the bin of each event by the number of bins below it that occur."""
    for c in range(events.feature.shape[0]):
        of_bin = number[ptr[events.feature[c]] :]
        for i in range(events.ptr[c], events.ptr[c + 1]):
            events.bin[i] = of_bin[events.bin[i]]


@kernel
def sweep_pairs(
    bins, features, sources, path_set_leaves, paths, players, values, coalitions, events, n_bins, chosen, out
):
    """Add the terms of some leaves to the components of two features in ``chosen``, for all rows.

    The component ``chosen[i, 0]`` has the used_features ``features[chosen[i, 0]]``; its first output is row
    ``chosen[i, 1]`` of ``out``, and the next one ``chosen[i, 2]`` rows further. Bins are numbered among the ``n_bins``
    that occur; events at a later bin concern no row.
    """
    width, signed, choose = values.value.shape[1], np.empty(4), coalitions.ranks.choose
    event_ptr, event_bin, event_sign, feature = events.ptr, events.bin, events.sign, events.feature
    leaf_ptr, leaves, first = paths.ptr, path_set_leaves.item, events.first
    lowest, highest = _range_of_outputs(leaves, values.output)
    for item in range(chosen.shape[0]):
        c, row, step = chosen[item, 0], chosen[item, 1], chosen[item, 2]
        one, other = features[c, 0], features[c, 1]
        row_ptr, of_row = _sort_by_bin(bins[one], n_bins[one])
        ptr, size = np.empty(n_bins[one] + 1, np.int64), n_bins[other]
        # Outputs are taken one by one; trees of several outputs add to different ones.
        for output in range(lowest, highest + 1):
            args = c, one, other, output, sources, path_set_leaves, paths, values, events, n_bins
            _count_corners(*args, ptr)
            second, value = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])
            for o in range(width):
                single = np.zeros(size)
                some, many = np.zeros((size >> _SHIFT) + 1), np.zeros((size >> (2 * _SHIFT)) + 1)
                at = ptr[:-1].copy()
                for k in range(sources.ptr[c], sources.ptr[c + 1]):
                    mask, path_set = sources.mask[k], sources.path_set[k]
                    for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
                        leaf = leaves[q]
                        if values.output[leaf] != output:
                            continue
                        begin, end = leaf_ptr[leaf] - first, leaf_ptr[leaf + 1] - first
                        e0, e1 = _conditions_on(one, other, begin, end, feature)
                        p0, p1 = players.position[e0 + first], players.position[e1 + first]
                        weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
                        offset, scale = (
                            coalitions.ranks.offset[players.n_players[leaf]],
                            values.value[leaf, o],
                        )
                        _find_signed_weights(mask, p0, p1, scale, weight, ranked, choose, offset, signed)
                        _place_corners(
                            e0,
                            e1,
                            signed,
                            event_ptr,
                            event_bin,
                            event_sign,
                            at,
                            second,
                            value,
                            single,
                            some,
                            many,
                        )
                target = out[row + (output + o) * step]
                _sweep(bins[other], ptr, second, value, row_ptr, of_row, single, some, many, target)
