"""Tables of components over the bins, built from box corners, and their look-up."""

import numpy as np

from skglex._kernels._compile import njit
from skglex._kernels.patterns import BLOCK, violations


@njit(cache=True, nogil=True)
def condition_events(conditions, n_bins, event_ptr, event_bin, event_sign, fill):
    """List, per condition, the bins where membership begins (+1) or ends (-1); return their number."""
    n = 0
    for c in range(conditions.feature.shape[0]):
        event_ptr[c] = n
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
                if fill:
                    event_bin[n] = b
                    event_sign[n] = 1 if now else -1
                n += 1
                inside = now
            b = following
    event_ptr[conditions.feature.shape[0]] = n
    return n


@njit(cache=True, nogil=True)
def subset_rank(mask, choose, offset):
    """Position of a subset in the list by size, then by value (combinatorial number system)."""
    rank, n, position = 0, 0, 0
    while mask:
        if mask & np.uint64(1):
            n += 1
            rank += choose[position, n]
        mask >>= np.uint64(1)
        position += 1
    return offset[n] + rank


@njit(cache=True, nogil=True)
def mark_axes(
    axis_ptr,
    axis_feature,
    source_ptr,
    source_path_set,
    condition_ptr,
    pset_condition,
    feature,
    event_ptr,
    event_bin,
    n_bins,
    chosen,
    axis_size,
    map_ptr,
    maps,
    fill,
):
    """Find the cells of each component's axes: the bins at which any of its leaves begins or ends.

    The conditions of the leaves of each path set, ``pset_condition`` from ``condition_ptr``, are sorted by feature.
    Without ``fill`` only the number of cells per axis is written; with it ``maps`` takes, per axis of the
    chosen components, the cell of every bin.
    """
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for a in range(axis_ptr[c], axis_ptr[c + 1]):
            s = axis_feature[a]
            starts = np.zeros(n_bins[s], np.uint8)
            for k in range(source_ptr[c], source_ptr[c + 1]):
                lo, last = condition_ptr[source_path_set[k]], condition_ptr[source_path_set[k] + 1]
                hi = last
                while lo < hi:
                    mid = (lo + hi) >> 1
                    if feature[pset_condition[mid]] < s:
                        lo = mid + 1
                    else:
                        hi = mid
                while lo < last and feature[pset_condition[lo]] == s:
                    condition = pset_condition[lo]
                    for v in range(event_ptr[condition], event_ptr[condition + 1]):
                        starts[event_bin[v]] = 1
                    lo += 1
            cell = 0
            for b in range(1, n_bins[s]):
                cell += starts[b]
                if fill:
                    maps[map_ptr[a] + b] = cell
            if fill:
                maps[map_ptr[a]] = 0
            else:
                axis_size[a] = cell + 1


@njit(cache=True, nogil=True)
def add_corners(
    axis_ptr,
    axis_feature,
    source_ptr,
    source_path_set,
    source_mask,
    path_set_ptr,
    pset_leaf,
    ranked,
    leaf_ptr,
    leaf_condition,
    player,
    n_players,
    feature,
    value,
    output,
    coalition_start,
    fixed,
    choose,
    offset,
    event_ptr,
    event_bin,
    event_sign,
    map_ptr,
    maps,
    stride,
    table_ptr,
    n_cells,
    chosen,
    tables,
):
    """Add the corners of every leaf's boxes to the components' difference arrays.

    The term of leaf l for V in S is (-1)^(|S| - |V|) fixed[V] on the box of l's conditions on V.
    """
    corner = np.empty(64, np.int64)
    sign = np.empty(64, np.float64)
    # the leaf's conditions on the component's features: player's bit, stride, start of the bins' cells, events
    bit = np.empty(leaf_ptr.shape[0], np.uint64)
    along = np.empty((leaf_ptr.shape[0], 4), np.int64)
    for i in range(chosen.shape[0]):
        c = chosen[i]
        cells = n_cells[c]
        for k in range(source_ptr[c], source_ptr[c + 1]):
            mask = source_mask[k]
            path_set = source_path_set[k]
            for q in range(path_set_ptr[path_set], path_set_ptr[path_set + 1]):
                leaf = pset_leaf[q]
                start = coalition_start[leaf]
                n_own = 0
                for e in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
                    own = np.uint64(1) << np.uint64(player[e])
                    if mask & own:
                        condition = leaf_condition[e]
                        a = axis_ptr[c]
                        while axis_feature[a] != feature[condition]:
                            a += 1
                        bit[n_own] = own
                        along[n_own, 0], along[n_own, 1] = stride[a], map_ptr[a]
                        along[n_own, 2], along[n_own, 3] = event_ptr[condition], event_ptr[condition + 1]
                        n_own += 1
                v = mask
                while True:
                    # corners of the box of V, axis by axis
                    index = np.int64(v)
                    if ranked[leaf]:
                        index = subset_rank(v, choose, offset[n_players[leaf]])
                    coefficient = fixed[start + index]
                    rest = mask ^ v
                    while rest:
                        coefficient = -coefficient
                        rest &= rest - np.uint64(1)
                    corner[0], sign[0] = 0, coefficient
                    size = 1 if coefficient != 0.0 else 0
                    for j in range(n_own):
                        if not v & bit[j]:
                            continue
                        step, cell_of, first, last = along[j, 0], along[j, 1], along[j, 2], along[j, 3]
                        n = last - first
                        if size * n > corner.shape[0]:
                            longer, signs = np.empty(2 * size * n, np.int64), np.empty(2 * size * n)
                            for z in range(size):
                                longer[z], signs[z] = corner[z], sign[z]
                            corner, sign = longer, signs
                        # later events first, so that the first can overwrite in place
                        for w in range(n - 1, -1, -1):
                            shift = step * maps[cell_of + event_bin[first + w]]
                            for z in range(size):
                                corner[w * size + z] = corner[z] + shift
                                sign[w * size + z] = sign[z] * event_sign[first + w]
                        size *= n
                    for z in range(size):
                        for o in range(value.shape[1]):
                            cell = table_ptr[c] + (output[leaf] + o) * cells + corner[z]
                            tables[cell] += sign[z] * value[leaf, o]
                    if v == 0:
                        break
                    v = (v - np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def sum_corners(axis_ptr, axis_size, stride, table_ptr, n_cells, n_outputs, chosen, tables):
    """From corners to values: one running sum per axis, in place."""
    for i in range(chosen.shape[0]):
        c = chosen[i]
        table = tables[table_ptr[c] : table_ptr[c] + n_outputs * n_cells[c]]
        for a in range(axis_ptr[c], axis_ptr[c + 1]):
            # cells of the axes before this one (and of the outputs), of this one, and of those after
            inner, size = stride[a], axis_size[a]
            for start in range(0, table.shape[0], inner * size):
                for z in range(start + inner, start + inner * size):
                    table[z] += table[z - inner]


@njit(cache=True, nogil=True)
def look_up(
    bins,
    axis_ptr,
    axis_feature,
    map_ptr,
    maps,
    stride,
    table_ptr,
    n_cells,
    tables,
    n_outputs,
    chosen,
    column,
    r0,
    r1,
    out,
):
    """Write each chosen component's value at every row; output o of it goes to row ``column + o * step``."""
    cell = np.empty(BLOCK, np.int64)
    step = out.shape[0] // n_outputs
    for i in range(chosen.shape[0]):
        c = chosen[i]
        first, last = axis_ptr[c], axis_ptr[c + 1] - 1
        stride_0, m0, m1 = stride[first], maps[map_ptr[first] :], maps[map_ptr[last] :]
        # a component's table stays in cache for all rows of the chunk
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            b0, b1 = bins[axis_feature[first], start:stop], bins[axis_feature[last], start:stop]
            if last > first + 1:
                for r in range(n):
                    cell[r] = stride_0 * m0[b0[r]] + m1[b1[r]]
                for a in range(first + 1, last):
                    b, m = bins[axis_feature[a], start:stop], maps[map_ptr[a] :]
                    for r in range(n):
                        cell[r] += stride[a] * m[b[r]]
            for o in range(n_outputs):
                table = tables[table_ptr[c] + o * n_cells[c] :]
                target = out[column[i] + o * step, start:stop]
                # unsigned indices: no wrap-around to look out for
                if last == first:
                    for r in range(n):
                        target[r] = table[np.uint64(m0[b0[r]])]
                elif last == first + 1:
                    for r in range(n):
                        target[r] = table[np.uint64(stride_0 * m0[b0[r]] + m1[b1[r]])]
                else:
                    for r in range(n):
                        target[r] = table[np.uint64(cell[r])]


@njit(cache=True, nogil=True)
def distinct_patterns(pattern, n, table, used_feature, found):
    """Number the distinct patterns among the first n: ``used_feature[r]`` is row r's, ``found`` lists them.

    ``table`` is a hash table, larger than n, of a power of two of entries, -1 where free, as it is left again.
    """
    last, shift = table.shape[0] - 1, 64
    while (np.int64(1) << (64 - shift)) <= last:
        shift -= 1
    n_found = 0
    for r in range(n):
        p = pattern[r]
        h = np.int64((p * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
        while table[h] >= 0 and found[table[h]] != p:
            h = (h + 1) & last
        if table[h] < 0:
            table[h] = n_found
            found[n_found] = p
            n_found += 1
        used_feature[r] = table[h]
    for i in range(n_found):
        h = np.int64((found[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
        while table[h] >= 0:
            table[h] = -1
            h = (h + 1) & last
    return n_found


@njit(cache=True, nogil=True)
def stream_components(
    bins,
    conditions,
    leaves,
    leaf_ptr,
    leaf_condition,
    player,
    n_players,
    leaf_pset,
    ranked,
    value,
    output,
    coalition_start,
    fixed,
    choose,
    offset,
    item_ptr,
    item_mask,
    item_column,
    n_outputs,
    r0,
    r1,
    out,
):
    """Add the components that have no table, leaf by leaf: one vector per distinct pattern of a block.

    ``item_ptr`` lists, per set of path players, the components (mask and column) wanted from its leaves.
    """
    pattern = np.empty(BLOCK, np.uint64)
    used_feature = np.empty(BLOCK, np.int64)
    found = np.empty(BLOCK, np.uint64)
    table = np.full(4 * BLOCK, -1, np.int64)
    terms = np.empty(BLOCK, np.float64)
    step = out.shape[0] // n_outputs
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        n = stop - start
        for i in range(leaves.shape[0]):
            leaf = leaves[i]
            path_set = leaf_pset[leaf]
            if item_ptr[path_set] == item_ptr[path_set + 1]:
                continue
            first, last = leaf_ptr[leaf], leaf_ptr[leaf + 1]
            violations(bins, start, stop, conditions, leaf_condition, player, first, last, pattern)
            n_found = distinct_patterns(pattern, n, table, used_feature, found)
            f = fixed[coalition_start[leaf] :]
            for item in range(item_ptr[path_set], item_ptr[path_set + 1]):
                mask = item_mask[item]
                for d in range(n_found):
                    met = mask & ~found[d]
                    total = 0.0
                    v = met
                    while True:
                        index = np.int64(v)
                        if ranked[leaf]:
                            index = subset_rank(v, choose, offset[n_players[leaf]])
                        weight = f[index]
                        rest = mask ^ v
                        while rest:
                            weight = -weight
                            rest &= rest - np.uint64(1)
                        total += weight
                        if v == 0:
                            break
                        v = (v - np.uint64(1)) & met
                    terms[d] = total
                for o in range(value.shape[1]):
                    scale = value[leaf, o]
                    target = out[item_column[item] + (output[leaf] + o) * step, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[used_feature[r]]
