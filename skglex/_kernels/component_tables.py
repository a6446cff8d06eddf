"""Build the tables of components over the bins from the corners of boxes, look them up, and average them.

The term of a leaf for V in S is a constant on the box of the leaf's conditions on V, and 0 elsewhere. It is added at
the corners of the box only, with alternating signs. One running sum per axis then turns corners into values, so a leaf
costs a few additions, whatever the number of bins.
"""

import numpy as np

from skglex._kernels.coalitions import signed_weights
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
def map_bins(
    axes, sources, path_set_conditions, condition_feature, events, n_bins, chosen, size, map_ptr, maps
):
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
                    if condition_feature[path_set_conditions.item[mid]] < s:
                        lo = mid + 1
                    else:
                        hi = mid
                while lo < last and condition_feature[path_set_conditions.item[lo]] == s:
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
def condition_on(used_feature, leaf, guess, paths, condition_feature):
    """Return the position of a leaf's condition on a used_feature, -1 if it has none.

    ``guess`` is its number among the leaf's conditions in another leaf, often of the same features.
    """
    lo, hi = paths.ptr[leaf], paths.ptr[leaf + 1]
    if lo + guess < hi and condition_feature[paths.condition[lo + guess]] == used_feature:
        return lo + guess
    while lo < hi:  # The conditions of a leaf are sorted by feature.
        mid = (lo + hi) >> 1
        if condition_feature[paths.condition[mid]] < used_feature:
            lo = mid + 1
        else:
            hi = mid
    found = lo < paths.ptr[leaf + 1] and condition_feature[paths.condition[lo]] == used_feature
    return lo if found else -1


@helper
def _list_members(c, leaf, axes, paths, players, condition_feature, guess, members, bit, at):
    """List the leaf's conditions on component c's features; return their number, and the number of players.

    Condition j is at ``at[j, 0]`` and belongs to axis ``at[j, 1]``. Its player has the bit ``bit[j]`` among the
    component's players, whose positions among those of the leaf are ``members``.
    """
    n, n_members = 0, 0
    for a in range(axes.ptr[c], axes.ptr[c + 1]):
        i = a - axes.ptr[c]
        e = condition_on(axes.feature[a], leaf, guess[i], paths, condition_feature)
        if e < 0:  # The leaf has conditions on other features of the player's group.
            continue
        guess[i] = e - paths.ptr[leaf]
        position = np.int64(players.position[e])
        # The axes of a player are neighbours.
        if n_members == 0 or members[n_members - 1] != position:
            members[n_members] = position
            n_members += 1
        bit[n] = 1 << (n_members - 1)
        at[n, 0], at[n, 1] = e, a
        n += 1
    return n, n_members


@helper
def _place_axes(n, at, layout, paths, events, along):
    """Write where conditions are in the tables; return the most corners of a box.

    ``along[j]`` holds the stride of condition j's axis, the start of the axis in ``layout.maps``, and the first and the
    last event of the condition.
    """
    most = 1
    for j in range(n):
        condition, a = paths.condition[at[j, 0]], at[j, 1]
        first, last = events.ptr[condition], events.ptr[condition + 1]
        along[j, 0], along[j, 1], along[j, 2], along[j, 3] = (
            layout.stride[a],
            layout.map_ptr[a],
            first,
            last,
        )
        most *= max(1, last - first)
    return most


@helper
def _most_axes(axes, chosen):
    """Return the largest number of axes of a component."""
    most = 0
    for i in range(chosen.shape[0]):
        most = max(most, axes.ptr[chosen[i] + 1] - axes.ptr[chosen[i]])
    return most


@helper
def _find_corners(v, n, bit, along, maps, events, coefficient, corner, sign):
    """Write the cells and the coefficients of the corners of the box of V, axis by axis; return their number."""
    corner[0], sign[0] = 0, coefficient
    size = 1
    for j in range(n):
        if not v & bit[j]:
            continue
        step, cell_of, first, last = along[j, 0], along[j, 1], along[j, 2], along[j, 3]
        # Later events come first, so that the first event can overwrite in place.
        for w in range(last - first - 1, -1, -1):
            shift = step * maps[cell_of + events.bin[first + w]]
            for z in range(size):
                corner[w * size + z] = corner[z] + shift
                sign[w * size + z] = sign[z] * events.sign[first + w]
        size *= last - first
    return size


@kernel
def add_corners(
    layout,
    sources,
    path_set_leaves,
    paths,
    players,
    condition_feature,
    values,
    coalitions,
    events,
    chosen,
    tables,
):
    """Add the corners of every leaf's boxes to the chosen components' tables."""
    corner = np.empty(64, np.int64)
    sign = np.empty(64, np.float64)
    longest = _most_axes(layout.axes, chosen)
    members, bit, guess = (
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.zeros(longest, np.int64),
    )
    at, along = np.empty((longest, 2), np.int64), np.empty((longest, 4), np.int64)
    signed = np.empty(2)
    value, output, choose = values.value, values.output, coalitions.ranks.choose
    for i in range(chosen.shape[0]):
        c = chosen[i]
        cells, table = layout.n_cells[c], tables[layout.table_ptr[c] :]
        for k in range(sources.ptr[c], sources.ptr[c + 1]):
            path_set = sources.path_set[k]
            for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
                leaf = path_set_leaves.item[q]
                n, n_members = _list_members(
                    c, leaf, layout.axes, paths, players, condition_feature, guess, members, bit, at
                )
                most = _place_axes(n, at, layout, paths, events, along)
                if 1 << n_members > signed.shape[0]:
                    signed = np.empty(1 << n_members)
                weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
                offset = coalitions.ranks.offset[players.n_players[leaf]]
                signed_weights(weight, members, n_members, ranked, choose, offset, signed)
                if most > corner.shape[0]:
                    corner, sign = np.empty(2 * most, np.int64), np.empty(2 * most)
                for v in range(1 << n_members):
                    if signed[v] != 0.0:
                        size = _find_corners(v, n, bit, along, layout.maps, events, signed[v], corner, sign)
                        for z in range(size):
                            for o in range(value.shape[1]):
                                cell = (output[leaf] + o) * cells + corner[z]
                                table[cell] += sign[z] * value[leaf, o]


@kernel
def add_main_corners(
    leaves, paths, positions, condition_feature, values, coalitions, events, component, layout, tables
):
    """Do the same as `add_corners` for main effects of single features, leaf by leaf.

    ``component`` holds the component of each used_feature, -1 if its main effect has no table.
    """
    for q in range(leaves.shape[0]):
        leaf = leaves[q]
        weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            condition, p = paths.condition[e], np.int64(positions[e])
            c = component[condition_feature[condition]]
            if c < 0:
                continue
            cell_of = layout.map_ptr[layout.axes.ptr[c]]
            for o in range(values.value.shape[1]):
                value = values.value[leaf, o]
                at = layout.table_ptr[c] + (values.output[leaf] + o) * layout.n_cells[c]
                tables[at] -= value * weight[0]
                of_player = value * weight[1 + p if ranked else 1 << p]
                for x in range(events.ptr[condition], events.ptr[condition + 1]):
                    tables[at + layout.maps[cell_of + events.bin[x]]] += of_player * events.sign[x]


@kernel
def name_pairs(members, chosen, sources, path_set_ptr, path_set_member, pair_ptr, component):
    """Write the components ``chosen``, each of two players, to the pairs of the path sets that they come from."""
    for i in range(chosen.shape[0]):
        for k in range(sources.ptr[chosen[i]], sources.ptr[chosen[i] + 1]):
            path_set = sources.path_set[k]
            first, p = path_set_ptr[path_set], 0
            while path_set_member[first + p] != members[i, 0]:
                p += 1
            q = p + 1
            while path_set_member[first + q] != members[i, 1]:
                q += 1
            component[pair_ptr[path_set] + q * (q - 1) // 2 + p] = chosen[i]


@helper
def _list_events(leaf, paths, players, events, first_player, stop, condition_of, begin, bins, signs):
    """List where the conditions of a leaf begin and cease to hold, those of position p from ``begin[p]`` on.

    Return the positions of the players ``first_player <= i < stop``.
    """
    lo, hi, n, k = 0, 0, 0, players.n_players[leaf]
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        p, player = np.int64(players.position[e]), players.id[e]
        condition_of[p] = paths.condition[e]
        if player < first_player:
            lo = max(lo, p + 1)
        if player < stop:
            hi = max(hi, p + 1)
    for p in range(k):
        begin[p] = n
        for v in range(events.ptr[condition_of[p]], events.ptr[condition_of[p] + 1]):
            bins[n], signs[n] = events.bin[v], events.sign[v]
            n += 1
    begin[k] = n
    return lo, hi


@helper
def _add_boxes(ends, terms, bins, signs, stride, cells, other_cells, table):
    """Add the corners of the boxes of two players.

    ``ends`` are the ends of the ranges of their events; ``terms`` belong to none, the one, the other and both of them.
    """
    none, one, other, both = terms
    y0, y1 = ends[2], ends[3]
    table[0] += none
    for y in range(y0, y1):
        table[other_cells[bins[y]]] += other * signs[y]
    for x in range(ends[0], ends[1]):
        row, of_both = stride * cells[bins[x]], both * signs[x]
        table[row] += one * signs[x]
        for y in range(y0, y1):
            table[row + other_cells[bins[y]]] += of_both * signs[y]


@kernel
def add_pair_corners(
    leaves, paths, players, pairs, values, coalitions, events, most_events, first_player, stop, tables
):
    """Do the same as `add_corners` for pairs of players of one feature each, leaf by leaf.

    The weights of a leaf are read in their order, and neighbouring leaves add to the same cells. The first player of a
    pair is ``first_player <= i < stop``. ``most_events`` is the largest number of events of a condition.
    """
    most, place, maps = 0, pairs.place, pairs.maps
    for i in range(leaves.shape[0]):
        most = max(most, players.n_players[leaves[i]])
    begin, condition_of = np.empty(most + 1, np.int64), np.empty(most, np.int64)
    bins, signs = np.empty(most * most_events, np.int64), np.empty(most * most_events)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k, ranked = players.n_players[leaf], coalitions.ranked[leaf]
        weight, offset = coalitions.weight[coalitions.start[leaf] :], coalitions.ranks.offset[k, 2]
        component = pairs.component[pairs.ptr[pairs.of_leaf[leaf]] :]
        lo, hi = _list_events(
            leaf, paths, players, events, first_player, stop, condition_of, begin, bins, signs
        )
        for q in range(lo + 1, k):
            pair, w_q = q * (q - 1) // 2 + lo, weight[1 + q if ranked else 1 << q]
            for p in range(lo, min(q, hi)):
                c, w_p = np.int64(component[pair]), weight[1 + p if ranked else 1 << p]
                both = weight[offset + pair if ranked else (1 << p) | (1 << q)]
                pair += 1
                if c < 0:
                    continue
                ends = begin[p], begin[p + 1], begin[q], begin[q + 1]
                for o in range(values.value.shape[1]):
                    v, at = values.value[leaf, o], place[c, 0] + (values.output[leaf] + o) * place[c, 1]
                    one_map, other_map, table = maps[place[c, 3] :], maps[place[c, 4] :], tables[at:]
                    terms = v * weight[0], -v * w_p, -v * w_q, v * both
                    _add_boxes(ends, terms, bins, signs, place[c, 2], one_map, other_map, table)


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
def mean_products(
    axes,
    sources,
    path_set_leaves,
    paths,
    players,
    condition_feature,
    values,
    coalitions,
    probability,
    chosen,
    out,
):
    """Write the mean of each chosen component, per output, if its features were independent, to ``out``.

    ``probability[e]`` is the probability that the conditions of the player of leaf condition e hold; it is 1 for all
    conditions of a player but one.
    """
    longest = _most_axes(axes, chosen)
    members, bit, guess = (
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.zeros(longest, np.int64),
    )
    at = np.empty((longest, 2), np.int64)
    signed, choose = np.empty(2), coalitions.ranks.choose
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for k in range(sources.ptr[c], sources.ptr[c + 1]):
            path_set = sources.path_set[k]
            for q in range(path_set_leaves.ptr[path_set], path_set_leaves.ptr[path_set + 1]):
                leaf = path_set_leaves.item[q]
                n, n_members = _list_members(
                    c, leaf, axes, paths, players, condition_feature, guess, members, bit, at
                )
                weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
                offset = coalitions.ranks.offset[players.n_players[leaf]]
                if 1 << n_members > signed.shape[0]:
                    signed = np.empty(1 << n_members)
                signed_weights(weight, members, n_members, ranked, choose, offset, signed)
                for v in range(1 << n_members):
                    mean = signed[v]
                    for j in range(n):
                        if v & bit[j]:
                            mean *= probability[at[j, 0]]
                    for o in range(values.value.shape[1]):
                        out[i, values.output[leaf] + o] += mean * values.value[leaf, o]
