"""Compute components of two features without tables, for many rows: sweep over the bins of one feature.

A leaf adds a constant to boxes of bins. A corner of a box counts for every row whose two bins are not below it. The
sweep meets corners and rows in the order of their first bin, and sums what it has met by the second. Components that
share the first feature are swept together, because they come from the same leaves.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel
from skglex._kernels.near_miss_walks import with_room

_SHIFT = 5  # Sums of 32 bins, and of 32 times 32, make a sum up to a bin short.
# Sums of one component begin at a multiple of this.
_BLOCK = 1 << (2 * _SHIFT)


@helper
def _sum_to(start, bin_, single, some, many):
    """Return the sum of the entries of one component, which begin at ``start``, up to a bin."""
    # Three sums need not wait for each other. An unsigned index needs no test for negative numbers.
    first, second, third, place = 0.0, 0.0, 0.0, np.uint64(start + bin_)
    block, super_block = place >> np.uint64(_SHIFT), place >> np.uint64(2 * _SHIFT)
    for i in range(np.uint64(start >> (2 * _SHIFT)), super_block):
        first += many[i]
    for i in range(super_block << np.uint64(_SHIFT), block):
        second += some[i]
    for i in range(block << np.uint64(_SHIFT), place + np.uint64(1)):
        third += single[i]
    return first + second + third


@helper
def _add_at(place, value, single, some, many):
    """Add to an entry, and to the sums that it is part of."""
    place = np.uint64(place)
    single[place] += value
    some[place >> np.uint64(_SHIFT)] += value
    many[place >> np.uint64(2 * _SHIFT)] += value


@helper
def _list_corners(
    leaves,
    first_player,
    output,
    o,
    model,
    coalitions,
    events,
    slot_of_player,
    width,
    constant,
    at_first,
    sums,
):
    """List the corners that depend on both features, leaf by leaf; add the others to sums.

    The corners of a leaf have the place of the second bin among the sums, and a value. The first feature's events have
    their bin, and the position of the leaf in the list or, where the condition ceases to hold, its complement.
    """
    paths, players, values, origin = model
    ptr, n = np.zeros(leaves.shape[0] + 1, np.int64), 0
    place, value = np.empty(1024, np.int32), np.empty(1024)
    event_bin, event_leaf, n_events = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        ptr[i + 1] = n
        if values.output[leaf] != output:
            continue
        v, k, ranked = values.value[leaf, o], players.n_players[leaf], coalitions.ranked[leaf]
        weight, offset = coalitions.weight[coalitions.start[leaf] :], coalitions.ranks.offset[k, 2]
        begin, end = paths.ptr[leaf], paths.ptr[leaf + 1]
        first = begin
        while players.id[first] != first_player:
            first += 1
        p, x0, x1 = (
            np.int64(players.position[first]),
            events.ptr[first - origin],
            events.ptr[first - origin + 1],
        )
        none, one = v * weight[0], -v * weight[1 + p if ranked else 1 << p]
        event_bin = with_room(event_bin, n_events, n_events + x1 - x0)
        event_leaf = with_room(event_leaf, n_events, n_events + x1 - x0)
        for x in range(x0, x1):
            event_bin[n_events], event_leaf[n_events] = events.bin[x], i if events.sign[x] > 0 else ~i
            n_events += 1
        for e in range(begin, end):
            slot = slot_of_player[players.id[e]]
            if slot < 0:
                continue
            q, y0, y1 = np.int64(players.position[e]), events.ptr[e - origin], events.ptr[e - origin + 1]
            other = -v * weight[1 + q if ranked else 1 << q]
            both = v * weight[offset + q * (q - 1) // 2 + p if ranked else (1 << p) | (1 << q)]
            constant[slot] += none
            for x in range(x0, x1):
                at_first[events.bin[x], slot] += one * events.sign[x]
            place, value = with_room(place, n, n + y1 - y0), with_room(value, n, n + y1 - y0)
            for y in range(y0, y1):
                place[n], value[n] = slot * width + events.bin[y], both * events.sign[y]
                _add_at(place[n], other * events.sign[y], sums[0], sums[1], sums[2])
                n += 1
        ptr[i + 1] = n
    return ptr, place, value, event_bin[:n_events], event_leaf


@kernel
def sweep_pairs(bins, n_bins, leaves, paths, players, values, coalitions, events, first, chosen, step, out):
    """Add the terms of some leaves to components of two features that have the first one in common, for all rows.

    Every leaf has the first player, and at least one of the others, which have larger numbers.

    Parameters
    ----------
    bins : ndarray of shape (n_used_features, n_rows)
    n_bins : ndarray of shape (n_used_features,), int64
    leaves : ndarray of int64
    paths : Paths
    players : PlayerArrays
    values : LeafValues
    coalitions : CoalitionArrays
    events : Events
        Of the leaf conditions, one after the other.
    first : tuple of int
        The first player, its used_feature, and the leaf condition that ``events`` begin with.
    chosen : ndarray of shape (n_components, 3), int64
        The other player, its used_feature, and the row of ``out`` of the first output.
    step : int
        Rows of ``out`` between the outputs of a component.
    out : ndarray of shape (n_columns, n_rows)
    """
    first_player, feature, origin = first
    n, most, last = chosen.shape[0], 0, -1
    for player in chosen[:, 0]:
        last = max(last, player)
    slot_of_player = np.full(max(last, players.id.max()) + 1, -1, np.int64)
    for slot in range(n):
        slot_of_player[chosen[slot, 0]] = slot
        most = max(most, n_bins[chosen[slot, 1]])
    width = (most + _BLOCK - 1) // _BLOCK * _BLOCK
    row_ptr, of_row = _sort_by_bin(bins[feature], n_bins[feature])
    lowest, highest = _range_of_outputs(leaves, values)
    for o in range(values.value.shape[1]):
        # Outputs are taken one by one; trees of several outputs add to different ones.
        for output in range(lowest, highest + 1):
            # What holds for all rows, and what is added from a bin of the first feature on.
            constant, at_first = np.zeros(n), np.zeros((n_bins[feature], n))
            single, some = np.zeros(n * width), np.zeros(n * width >> _SHIFT)
            many = np.zeros(n * width >> (2 * _SHIFT))
            sums = single, some, many
            ptr, place, value, event_bin, event_leaf = _list_corners(
                leaves,
                first_player,
                output,
                o,
                (paths, players, values, origin),
                coalitions,
                events,
                slot_of_player,
                width,
                constant,
                at_first,
                sums,
            )
            event_ptr, order = _sort_by_bin(event_bin, n_bins[feature])
            for b in range(n_bins[feature]):
                for j in range(event_ptr[b], event_ptr[b + 1]):
                    i, sign = np.int64(event_leaf[order[j]]), 1.0
                    if i < 0:
                        i, sign = ~i, -1.0
                    for c in range(ptr[i], ptr[i + 1]):
                        _add_at(place[c], sign * value[c], single, some, many)
                for slot in range(n):
                    constant[slot] += at_first[b, slot]
                for j in range(row_ptr[b], row_ptr[b + 1]):
                    r = of_row[j]
                    for slot in range(n):
                        bin_ = np.int64(bins[chosen[slot, 1], r])
                        total = constant[slot] + _sum_to(slot * width, bin_, single, some, many)
                        out[chosen[slot, 2] + (output + o) * step, r] += total


@helper
def _range_of_outputs(leaves, values):
    """Return the lowest and the highest first output of some leaves; an empty range if there is no leaf."""
    lowest, highest = 0, -1
    for i in range(leaves.shape[0]):
        output = np.int64(values.output[leaves[i]])
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
