r"""Stream components that have no table over the bins: add the terms of their leaves, for some rows.

The term of a leaf in component S depends on the set A of the players in S whose conditions the row meets: it is
(-1)^|S| Z[A], with Z[A] the sum of (-1)^|V| E(P \ V) over V in A.
"""

import numpy as np

from skglex._kernels.arguments import ClusterBatch, ComponentTerms, ShapleyRows
from skglex._kernels.bitsets import count_ones
from skglex._kernels.clusters import clear_cluster, cluster_space, find_codes, find_met_players, grow_cluster
from skglex._kernels.coalitions import signed_weight
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, violations
from skglex._kernels.subsets import (
    count_members,
    distinct_patterns,
    first_subset,
    last_subset,
    next_subset,
    sum_over_subsets,
)

# Limits of the tables: entries of one, entries of those that exist together, their number, and states of one leaf.
_TABLE, _BATCH, _CLUSTERS, _MOST_STATES = 1 << 16, 1 << 20, 64, 1 << 12
# Rows whose sums stay in cache together, and numbers that the processor adds at a time without a remainder.
_LINES, _LANES = 256, 16
# Fewer leaves than this of one path set are added one by one. Lines of more terms than `_WIDE` cost more than the sums
# over subsets of the conditions that a row meets.
_FEW_LEAVES, _WIDE = 4, 112


@kernel
def add_components_by_state(
    bins, conditions, paths, players, values, coalitions, components, n_bins, most_states, step, leaves, out
):
    """Add the components of leaves that hold all of their coalitions, for many rows.

    ``leaves`` are sorted by path set. Leaves of one path set are joined in clusters (`skglex._kernels.clusters`) of at
    most ``most_states`` states. A cluster's table has a line of all terms per state. A row adds the lines of its
    states, which are contiguous numbers. Row c of output o is ``out[c + o * step]``.
    """
    most_players = players.id.max() + 1 if players.id.shape[0] > 0 else 0
    space = cluster_space(conditions, n_bins, most_players, max(most_states, _MOST_STATES), False)
    batch = ClusterBatch(
        np.empty((_CLUSTERS, bins.shape[1]), np.uint16), np.empty(_CLUSTERS + 1, np.int64), np.empty(_BATCH)
    )
    lines, sums = np.empty(0), np.empty(0)
    i = 0
    while i < leaves.shape[0]:
        leaf = leaves[i]
        path_set, output = components.path_set_of_leaf[leaf], values.output[leaf]
        last = i + 1
        while (
            last < leaves.shape[0]
            and components.path_set_of_leaf[leaves[last]] == path_set
            and values.output[leaves[last]] == output
        ):
            last += 1
        size = np.int64(1) << players.n_players[leaf]
        terms = _terms_of(components, path_set, values, output, step)
        needed = max(_LINES * terms.width, size * values.value.shape[1])
        if lines.shape[0] < needed:
            lines, sums = np.empty(needed), np.empty(needed)
        model = conditions, paths, players, values
        some = leaves[i:last]
        if last - i < _FEW_LEAVES:
            for leaf in some:
                _add_leaf(leaf, bins, *model, coalitions, terms, sums, out)
        elif terms.width > _WIDE:
            _add_subsets(some, bins, *model, coalitions, terms, lines, out)
        else:
            most = min(most_states, _TABLE // terms.width)
            _add_leaves(some, bins, model, coalitions, terms, n_bins, most, space, batch, lines, sums, out)
        i = last


@helper
def _terms_of(components, path_set, values, output, step):
    """List the terms of the leaves of a path set: a term per component and output."""
    first, last = components.ptr[path_set], components.ptr[path_set + 1]
    n, n_outputs = last - first, values.value.shape[1]
    mask, row = np.empty(n, np.int64), np.empty(n * n_outputs, np.int64)
    for c in range(n):
        mask[c] = components.mask[first + c]
        for o in range(n_outputs):
            row[o * n + c] = components.column[first + c] + (output + o) * step
    return ComponentTerms(mask, row, (n * n_outputs + _LANES - 1) // _LANES * _LANES)


@helper
def _signed_sums(leaf, players, coalitions, sums):
    """Write Z[A] for all sets A of a leaf's players."""
    k = players.n_players[leaf]
    n_members, weight = count_members(k), coalitions.weight[coalitions.start[leaf] :]
    for v in range(1 << k):
        sums[v] = -weight[v] if n_members[v] & 1 else weight[v]
    sum_over_subsets(sums, k)


@helper
def _sign(mask):
    """Return (-1) to the number of members."""
    return -1.0 if count_ones(np.uint64(mask)) & np.uint64(1) else 1.0


@helper
def _add_leaf(leaf, bins, conditions, paths, players, values, coalitions, terms, sums, out):
    """Add the terms of one leaf to every row: one look-up per term."""
    _signed_sums(leaf, players, coalitions, sums)
    n = terms.mask.shape[0]
    pattern = np.empty(BLOCK, np.uint32)
    for start in range(0, bins.shape[1], BLOCK):
        stop = min(start + BLOCK, bins.shape[1])
        ids, bits = paths.condition, players.position
        violations(bins, start, stop, conditions, ids, bits, paths.ptr[leaf], paths.ptr[leaf + 1], pattern)
        for c in range(n):
            mask, sign = np.uint32(terms.mask[c]), _sign(terms.mask[c])
            for o in range(values.value.shape[1]):
                target, scale = out[terms.row[o * n + c], start:stop], sign * values.value[leaf, o]
                for r in range(stop - start):
                    target[r] += scale * sums[mask & ~pattern[r]]


@helper
def _add_subsets(leaves, bins, conditions, paths, players, values, coalitions, terms, lines, out):
    r"""Add the terms of the leaves of one path set to every row, from sums over the leaves.

    The sum of v_l E_l(P \ T) over the leaves whose conditions on T hold is the value of the coalition T. A row meets
    few conditions of a leaf, and so adds to few coalitions. The components are the differences of these values.
    """
    k, n_outputs, n = players.n_players[leaves[0]], values.value.shape[1], terms.mask.shape[0]
    size, everyone = np.int64(1) << k, np.uint32((np.int64(1) << k) - 1)
    n_lines = max(1, min(_LINES, lines.shape[0] // (size * n_outputs)))
    pattern = np.empty(n_lines, np.uint32)
    for start in range(0, bins.shape[1], n_lines):
        stop = min(start + n_lines, bins.shape[1])
        lines[: (stop - start) * n_outputs * size] = 0.0
        for leaf in leaves:
            ids, bits, first, last = paths.condition, players.position, paths.ptr[leaf], paths.ptr[leaf + 1]
            violations(bins, start, stop, conditions, ids, bits, first, last, pattern)
            weight = coalitions.weight[coalitions.start[leaf] :]
            for o in range(n_outputs):
                value = values.value[leaf, o]
                for r in range(stop - start):
                    line, met = np.uint64((r * n_outputs + o) * size), np.uint64(everyone & ~pattern[r])
                    v = met
                    while v != 0:
                        lines[line + v] += value * weight[v]
                        v = (v - np.uint64(1)) & met
                    lines[line] += value * weight[0]
        for r in range((stop - start) * n_outputs):
            _differences(lines[r * size : (r + 1) * size], k)
        for c in range(n * n_outputs):
            target, at = out[terms.row[c]], (c // n) * size + terms.mask[c % n]
            for r in range(stop - start):
                target[start + r] += lines[r * n_outputs * size + at]


@helper
def _differences(values, k):
    """Turn the values of all coalitions of k players into their Moebius transform."""
    for i in range(k):
        size = 1 << i
        for first in range(size, 1 << k, 2 * size):
            for t in range(first, first + size):
                values[t] -= values[t - size]


@helper
def _add_leaves(leaves, bins, model, coalitions, terms, n_bins, most_states, space, batch, lines, sums, out):
    """Add the terms of the leaves of one path set to every row, cluster by cluster."""
    conditions, paths, players, values = model
    layout = ShapleyRows(space.player_slot.shape[0], False)
    n_rows, width, n_clusters, i = bins.shape[1], terms.width, 0, 0
    batch.first[0] = 0
    while i < leaves.shape[0]:
        n_leaves, n_features, n_cluster, size = grow_cluster(
            leaves, i, conditions, paths, values, players, n_bins, layout, most_states, space
        )
        if n_leaves == 0:
            _add_leaf(leaves[i], bins, *model, coalitions, terms, sums, out)
            i += 1
            continue
        if n_clusters == _CLUSTERS or batch.first[n_clusters] + size * width > _BATCH:
            _add_batch(batch, n_clusters, terms, lines, out)
            n_clusters = 0
        at = batch.first[n_clusters]
        table = batch.table[at : at + size * width]
        table[:] = 0.0
        for leaf in leaves[i : i + n_leaves]:
            _signed_sums(leaf, players, coalitions, sums)
            find_met_players(leaf, players.n_players[leaf], conditions, paths, players, n_features, space)
            _add_to_table(values.value[leaf], terms, space.met_players[:size], sums, table)
        for start in range(0, n_rows, BLOCK):
            stop = min(start + BLOCK, n_rows)
            find_codes(bins, start, stop, n_features, space, batch.code[n_clusters, start:stop])
        batch.first[n_clusters + 1] = at + size * width
        n_clusters += 1
        clear_cluster(n_features, n_cluster, space)
        i += n_leaves
    _add_batch(batch, n_clusters, terms, lines, out)


@helper
def _add_to_table(value, terms, met, sums, table):
    """Add the terms of one leaf to the lines of all states; ``met`` holds the players that each state meets."""
    n = terms.mask.shape[0]
    for c in range(n):
        mask, sign = terms.mask[c], _sign(terms.mask[c])
        for o in range(value.shape[0]):
            scale, at = sign * value[o], o * n + c
            for s in range(met.shape[0]):
                table[s * terms.width + at] += scale * sums[mask & np.int64(met[s])]


@helper
def _add_batch(batch, n_clusters, terms, lines, out):
    """Add the lines of some clusters of one path set to every row."""
    n_rows, width = out.shape[1], terms.width
    for start in range(0, n_rows, _LINES):
        n = min(_LINES, n_rows - start)
        lines[: n * width] = 0.0
        for i in range(n_clusters):
            code, table = batch.code[i, start : start + n], batch.table[batch.first[i] :]
            for r in range(n):
                line, added = lines[r * width : (r + 1) * width], table[code[r] * width :]
                for c in range(width):
                    line[c] += added[c]
        for c in range(terms.row.shape[0]):
            target = out[terms.row[c], start : start + n]
            for r in range(n):
                target[r] += lines[r * width + c]


@kernel
def stream_components(
    bins, conditions, leaves, paths, players, values, coalitions, components, n_outputs, r0, r1, out
):
    """Add components leaf by leaf: one vector of terms per distinct pattern of a block of rows."""
    pattern = np.empty(BLOCK, np.uint64)
    number = np.empty(BLOCK, np.int64)
    distinct = np.empty(BLOCK, np.uint64)
    table = np.full(4 * BLOCK, -1, np.int64)
    terms = np.empty(BLOCK, np.float64)
    step = out.shape[0] // n_outputs
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        n = stop - start
        for i in range(leaves.shape[0]):
            leaf = leaves[i]
            path_set = components.path_set_of_leaf[leaf]
            if components.ptr[path_set] == components.ptr[path_set + 1]:
                continue
            first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, table, number, distinct)
            weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
            choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
            for item in range(components.ptr[path_set], components.ptr[path_set + 1]):
                mask = components.mask[item]
                for d in range(n_distinct):
                    met = mask & ~distinct[d]
                    total = 0.0
                    v = met
                    while True:
                        total += signed_weight(weight, mask, v, ranked, choose, offset)
                        if v == 0:
                            break
                        v = (v - np.uint64(1)) & met
                    terms[d] = total
                for o in range(values.value.shape[1]):
                    scale = values.value[leaf, o]
                    target = out[components.column[item] + (values.output[leaf] + o) * step, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[number[r]]


@kernel
def sum_orders(
    bins, conditions, leaves, paths, players, values, coalitions, usable, coefficient, r0, r1, out
):
    r"""Add the sum of all components of each order leaf by leaf, without listing the components.

    The sets S of order q that contain V are C(k - |V|, q - |V|) in number. So the sum over all S of order q is the sum
    over V of (-1)^(q - |V|) C(k - |V|, q - |V|) E(P \ V), which ``coefficient[k, q - 1, |V|]`` holds. ``usable`` has
    the mask of the players of each leaf that components may have; k is their number.
    """
    n_orders = coefficient.shape[1]
    pattern, distinct = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    number, table = np.empty(BLOCK, np.int64), np.full(4 * BLOCK, -1, np.int64)
    terms, by_size = np.empty((n_orders, BLOCK)), np.empty(n_orders + 1)
    masks, sizes, weight = np.empty(64, np.uint64), np.empty(64, np.int64), np.empty(64)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        n_subsets, masks, sizes, weight = list_weights(
            leaf, n_orders, players, coalitions, usable, masks, sizes, weight
        )
        n_usable = 0
        for player in range(players.n_players[leaf]):
            n_usable += (usable[leaf] >> np.uint64(player)) & np.uint64(1)
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        for start in range(r0, r1, BLOCK):
            stop = min(start + BLOCK, r1)
            n = stop - start
            violations(bins, start, stop, conditions, paths.condition, players.position, first, last, pattern)
            n_distinct = distinct_patterns(pattern, n, table, number, distinct)
            for d in range(n_distinct):
                by_size[:] = 0.0
                for v in range(n_subsets):
                    if masks[v] & distinct[d] == 0:
                        by_size[sizes[v]] += weight[v]
                for q in range(n_orders):
                    total = 0.0
                    for size in range(q + 2):
                        total += coefficient[n_usable, q, size] * by_size[size]
                    terms[q, d] = total
            for o in range(values.value.shape[1]):
                scale = values.value[leaf, o]
                for q in range(n_orders):
                    target = out[(values.output[leaf] + o) * n_orders + q, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[q, number[r]]


@helper
def list_weights(leaf, n_orders, players, coalitions, usable, masks, sizes, weight):
    """List the usable coalitions of up to ``n_orders`` players of a leaf, with their sizes and weights."""
    k = players.n_players[leaf]
    start, ranked = coalitions.start[leaf], coalitions.ranked[leaf]
    most = coalitions.ranks.offset[k, min(n_orders, k) + 1]
    if most > masks.shape[0]:
        masks, sizes, weight = np.empty(2 * most, np.uint64), np.empty(2 * most, np.int64), np.empty(2 * most)
    n = 0
    rank = 0
    for size in range(min(n_orders, k) + 1):
        v, last = first_subset(size), last_subset(size, k)
        while True:
            if v & ~usable[leaf] == 0:
                masks[n], sizes[n] = v, size
                weight[n] = coalitions.weight[start + (rank if ranked else np.int64(v))]
                n += 1
            rank += 1
            if v == last:
                break
            v = next_subset(v)
    return n, masks, sizes, weight
