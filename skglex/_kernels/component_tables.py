"""Build the tables of components over the bins from the corners of boxes, look them up, and average them.

The term of a leaf for V in S is a constant on the box of the leaf's conditions on V, and 0 elsewhere. It is added at
the corners of the box only, with alternating signs. One running sum per axis then turns corners into values, so a leaf
costs a few additions, whatever the number of bins.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weight
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK


@kernel
def condition_events(conditions, n_bins, events):
    """List, per condition, the bins where it begins (+1) or ceases (-1) to hold; return their number."""
    n = 0
    for c in range(conditions.feature.shape[0]):
        events.ptr[c] = n
        last = n_bins[conditions.feature[c]] - 1
        inside = False
        b = 0
        while b <= last:
            if conditions.mask[c] >= 0:
                now = conditions.masks[conditions.mask[c] + b] != 0
                following = b + 1
            else:
                lo, hi = np.int64(conditions.lo[c]), np.int64(conditions.hi[c])
                if b == last:
                    now = conditions.missing[c] == last
                else:
                    now = lo <= b < hi
                following = last
                if b < lo < following:
                    following = lo
                if b < hi < following:
                    following = hi
                if b == last:
                    following = last + 1
            if now != inside:
                events.bin[n] = b
                events.sign[n] = 1 if now else -1
                n += 1
                inside = now
            b = following
    events.ptr[conditions.feature.shape[0]] = n
    return n


@kernel
def map_bins(axes, sources, path_set_conditions, events, n_bins, chosen, size, map_ptr, maps):
    """Write the cell of every bin along each axis of the chosen components, and the axis's number of cells.

    A cell is a range of bins in which no leaf of the component begins or ends. Axes whose ``map_ptr`` is the same
    overwrite each other's cells, which is enough to find the sizes.
    """
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for a in range(axes.ptr[c], axes.ptr[c + 1]):
            s = axes.feature[a]
            starts = np.zeros(n_bins[s], np.uint8)
            for k in range(sources.ptr[c], sources.ptr[c + 1]):
                path_set = sources.path_set[k]
                lo, last = path_set_conditions.ptr[path_set], path_set_conditions.ptr[path_set + 1]
                hi = last
                while lo < hi:  # The conditions of a path set are sorted by feature.
                    mid = (lo + hi) >> 1
                    if events.feature[path_set_conditions.item[mid]] < s:
                        lo = mid + 1
                    else:
                        hi = mid
                while lo < last and events.feature[path_set_conditions.item[lo]] == s:
                    condition = path_set_conditions.item[lo]
                    for v in range(events.ptr[condition], events.ptr[condition + 1]):
                        starts[events.bin[v]] = 1
                    lo += 1
            cell = 0
            maps[map_ptr[a]] = 0
            for b in range(1, n_bins[s]):
                cell += starts[b]
                maps[map_ptr[a] + b] = cell
            size[a] = cell + 1


@helper
def _list_leaf_axes(c, begin, end, mask, position, feature, event_ptr, layout, bit, along):
    """List the leaf's conditions on component c's features; return their number and the most corners of a box.

    The leaf's conditions are those between ``begin`` and ``end`` of the arrays of conditions. Condition j has the
    player's bit ``bit[j]``; ``along[j]`` holds the stride of its axis, the start of the axis in ``layout.maps``, and
    its first and last event.
    """
    n, most = 0, 1
    for e in range(begin, end):
        player_bit = np.uint64(1) << np.uint64(position[e])
        if mask & player_bit:
            a = layout.axes.ptr[c]
            while layout.axes.feature[a] != feature[e]:
                a += 1
            first, last = event_ptr[e], event_ptr[e + 1]
            bit[n] = player_bit
            along[n, 0], along[n, 1], along[n, 2], along[n, 3] = (
                layout.stride[a],
                layout.map_ptr[a],
                first,
                last,
            )
            most *= max(1, last - first)
            n += 1
    return n, most


@helper
def _find_corners(v, n, bit, along, maps, event_bin, event_sign, coefficient, corner, sign):
    """Write the cells and the coefficients of the corners of the box of V, axis by axis; return their number."""
    corner[0], sign[0] = 0, coefficient
    size = 1
    for j in range(n):
        if not v & bit[j]:
            continue
        step, cell_of, first, last = along[j, 0], along[j, 1], along[j, 2], along[j, 3]
        # Later events come first, so that the first event can overwrite in place.
        for w in range(last - first - 1, -1, -1):
            shift = step * maps[cell_of + event_bin[first + w]]
            for z in range(size):
                corner[w * size + z] = corner[z] + shift
                sign[w * size + z] = sign[z] * event_sign[first + w]
        size *= last - first
    return size


@kernel
def add_corners(layout, components, leaves, paths, players, values, coalitions, events, tables):
    """Add the corners of the boxes of some leaves to the components' tables."""
    corner, sign = np.empty(64, np.int64), np.empty(64, np.float64)
    longest = 0
    for leaf in leaves:
        longest = max(longest, paths.ptr[leaf + 1] - paths.ptr[leaf])
    bit, along = np.empty(longest, np.uint64), np.empty((longest, 4), np.int64)
    value, output, choose = values.value, values.output, coalitions.ranks.choose
    maps, event_ptr, event_bin, event_sign = layout.maps, events.ptr, events.bin, events.sign
    feature, table_ptr, n_cells, first = events.feature, layout.table_ptr, layout.n_cells, events.first
    # Leaf by leaf, since what a leaf needs is spread over memory, and the tables of some components are not.
    for leaf in leaves:
        path_set = components.path_set_of_leaf[leaf]
        weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
        offset, begin, end = (
            coalitions.ranks.offset[players.n_players[leaf]],
            paths.ptr[leaf],
            paths.ptr[leaf + 1],
        )
        position, width = players.position[first:], value.shape[1]
        for item in range(components.ptr[path_set], components.ptr[path_set + 1]):
            mask, c = components.mask[item], components.column[item]
            n, most = _list_leaf_axes(
                c, begin - first, end - first, mask, position, feature, event_ptr, layout, bit, along
            )
            if most > corner.shape[0]:
                corner, sign = np.empty(2 * most, np.int64), np.empty(2 * most)
            table = table_ptr[c] + output[leaf] * n_cells[c]
            v = mask
            while True:
                coefficient = signed_weight(weight, mask, v, ranked, choose, offset)
                if coefficient != 0.0:
                    size = _find_corners(
                        v, n, bit, along, maps, event_bin, event_sign, coefficient, corner, sign
                    )
                    for o in range(width):
                        start = table + o * n_cells[c]
                        for z in range(size):
                            tables[start + corner[z]] += sign[z] * value[leaf, o]
                if v == 0:
                    break
                v = (v - np.uint64(1)) & mask


@kernel
def sum_corners(layout, n_outputs, chosen, tables):
    """Turn corners into values: one running sum per axis, in place."""
    for i in range(chosen.shape[0]):
        c = chosen[i]
        table = tables[layout.table_ptr[c] : layout.table_ptr[c] + n_outputs * layout.n_cells[c]]
        for a in range(layout.axes.ptr[c], layout.axes.ptr[c + 1]):
            # The table is (cells of earlier axes and outputs) x (cells of this axis) x (cells of later axes).
            inner, size = layout.stride[a], layout.size[a]
            for start in range(0, table.shape[0], inner * size):
                for z in range(start + inner, start + inner * size):
                    table[z] += table[z - inner]


@kernel
def look_up(bins, layout, tables, n_outputs, chosen, column, r0, r1, out):
    """Write each chosen component's value at every row; output o goes to row ``column + o * step`` of ``out``."""
    cell = np.empty(BLOCK, np.int64)
    step = out.shape[0] // n_outputs
    feature, map_ptr, maps, stride = layout.axes.feature, layout.map_ptr, layout.maps, layout.stride
    for i in range(chosen.shape[0]):
        c = chosen[i]
        first, last = layout.axes.ptr[c], layout.axes.ptr[c + 1] - 1
        stride_0, m0, m1 = stride[first], maps[map_ptr[first] :], maps[map_ptr[last] :]
        # The component's table stays in cache for all rows of the chunk.
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            b0, b1 = bins[feature[first], start:stop], bins[feature[last], start:stop]
            if last > first + 1:
                for r in range(n):
                    cell[r] = stride_0 * m0[b0[r]] + m1[b1[r]]
                for a in range(first + 1, last):
                    b, m = bins[feature[a], start:stop], maps[map_ptr[a] :]
                    for r in range(n):
                        cell[r] += stride[a] * m[b[r]]
            for o in range(n_outputs):
                table = tables[layout.table_ptr[c] + o * layout.n_cells[c] :]
                target = out[column[i] + o * step, start:stop]
                # An unsigned index needs no test for negative numbers.
                if last == first:
                    for r in range(n):
                        target[r] = table[np.uint64(m0[b0[r]])]
                elif last == first + 1:
                    for r in range(n):
                        target[r] = table[np.uint64(stride_0 * m0[b0[r]] + m1[b1[r]])]
                else:
                    for r in range(n):
                        target[r] = table[np.uint64(cell[r])]


@helper
def _add_cell_weights(bins, weight, layout, c, cell, cell_weight):
    """Add the weight of every row to its cell of component c; ``cell`` is work space for a block of rows."""
    for start in range(0, bins.shape[1], BLOCK):
        stop = min(start + BLOCK, bins.shape[1])
        n = stop - start
        cell[:n] = 0
        for a in range(layout.axes.ptr[c], layout.axes.ptr[c + 1]):
            b = bins[layout.axes.feature[a], start:stop]
            m = layout.maps[layout.map_ptr[a] :]
            s = layout.stride[a]
            for r in range(n):
                cell[r] += s * m[b[r]]
        w = weight[start:stop]
        for r in range(n):
            cell_weight[np.uint64(cell[r])] += w[r]


@kernel
def mean_absolute(bins, weight, layout, tables, chosen, out):
    """Write the weighted mean of ``|m|`` of each chosen component, per output, to ``out``.

    Each row adds its weight to one cell; the mean is then a sum over the cells of the table.
    """
    cell = np.empty(BLOCK, np.int64)
    total = weight.sum()
    for i in range(chosen.shape[0]):
        c = chosen[i]
        cell_weight = np.zeros(layout.n_cells[c])
        _add_cell_weights(bins, weight, layout, c, cell, cell_weight)
        for o in range(out.shape[1]):
            table = tables[layout.table_ptr[c] + o * layout.n_cells[c] :]
            mean = 0.0
            for z in range(cell_weight.shape[0]):
                mean += cell_weight[z] * abs(table[z])
            out[i, o] = mean / total


@kernel
def add_values(bins, layout, tables, n_outputs, chosen, row, factor, r0, r1, out):
    """Add multiples of the chosen components to sums at rows; output o's are at ``row + o * step`` of ``out``."""
    cell = np.empty(BLOCK, np.int64)
    step = out.shape[0] // n_outputs
    for i in range(chosen.shape[0]):
        c, scale = chosen[i], factor[i]
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            cell[:n] = 0
            for a in range(layout.axes.ptr[c], layout.axes.ptr[c + 1]):
                b = bins[layout.axes.feature[a], start:stop]
                m = layout.maps[layout.map_ptr[a] :]
                s = layout.stride[a]
                for r in range(n):
                    cell[r] += s * m[b[r]]
            for o in range(n_outputs):
                table = tables[layout.table_ptr[c] + o * layout.n_cells[c] :]
                target = out[row[i] + o * step, start:stop]
                for r in range(n):
                    target[r] += scale * table[np.uint64(cell[r])]


@kernel
def cell_weights(bins, weight, layout, chosen, out):
    """Add the weight of the rows in every cell of each chosen component to ``out``, one component after the other."""
    cell = np.empty(BLOCK, np.int64)
    start = 0
    for i in range(chosen.shape[0]):
        c = chosen[i]
        stop = start + layout.n_cells[c]
        _add_cell_weights(bins, weight, layout, c, cell, out[start:stop])
        start = stop


@kernel
def mean_products(sources, path_set_leaves, paths, players, values, coalitions, probability, chosen, out):
    """Write the mean of each chosen component, per output, if its features were independent, to ``out``.

    ``probability[e]`` is the probability that the conditions of the player of leaf condition e hold; it is 1 for all
    conditions of a player but one.
    """
    choose = coalitions.ranks.choose
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for k in range(sources.ptr[c], sources.ptr[c + 1]):
            mask, path_set = sources.mask[k], sources.path_set[k]
            for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
                leaf = path_set_leaves.item[q]
                weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
                offset = coalitions.ranks.offset[players.n_players[leaf]]
                v = mask
                while True:
                    mean = signed_weight(weight, mask, v, ranked, choose, offset)
                    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
                        if v & (np.uint64(1) << np.uint64(players.position[e])):
                            mean *= probability[e]
                    for o in range(values.value.shape[1]):
                        out[i, values.output[leaf] + o] += mean * values.value[leaf, o]
                    if v == 0:
                        break
                    v = (v - np.uint64(1)) & mask
