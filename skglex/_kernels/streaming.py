r"""Stream components that have no table over the bins: add the terms of their leaves, for some rows.

The term of a leaf in component S depends on the set A of the players in S whose conditions the row meets: it is
(-1)^|S| Z[A], with Z[A] the sum of (-1)^|V| E(P \ V) over V in A.
"""

import numpy as np

from skglex._kernels.arguments import ClusterBatch, ComponentTerms, ShapleyRows
from skglex._kernels.bitsets import count_ones
from skglex._kernels.clusters import clear_cluster, cluster_space, find_codes, find_met_players, grow_cluster
from skglex._kernels.coalitions import signed_weights
from skglex._kernels.compilation import helper, kernel
from skglex._kernels.patterns import BLOCK, FEW_ROWS, violates, violations
from skglex._kernels.subsets import (
    count_members,
    distinct_patterns,
    first_members,
    next_members,
    sum_over_subsets,
)

# Limits of the tables: entries of one, entries of those that exist together, their number, and states of one leaf.
_TABLE, _BATCH, _CLUSTERS, _MOST_STATES = 1 << 16, 1 << 20, 64, 1 << 12
# Rows whose sums stay in cache together, and numbers that the processor adds at a time without a remainder.
_LINES, _LANES = 256, 16
# Fewer leaves than this of one path set are added one by one. Lines of more terms than `_WIDE` cost more than the sums
# over subsets of the conditions that a row meets.
_FEW_LEAVES, _WIDE = 4, 112

# Leaves of more players than this are summed by order for one row after the other: few rows have equal patterns.
_MOST_IN_PATTERN = 24
_NO_BITS = np.zeros(1, np.uint8)  # The pattern of a single condition is 1 where a row violates it.
_FEW = 128  # Rows whose numbers for every player of a leaf stay in cache.


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
        mask[c] = 0
        for member in components.member[
            components.member_ptr[first + c] : components.member_ptr[first + c + 1]
        ]:
            mask[c] |= 1 << member
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


@helper
def _find_violated(bins, start, stop, conditions, paths, players, leaf, of_condition, violated):
    """Write 1 where a row violates a condition of a player of a leaf, else 0."""
    n = stop - start
    violated[: players.n_players[leaf], :n] = 0
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        rows = violated[players.position[e]]
        if n < FEW_ROWS:
            for r in range(n):
                rows[r] |= violates(bins, start + r, conditions, paths.condition[e])
            continue
        violations(bins, start, stop, conditions, paths.condition[e : e + 1], _NO_BITS, 0, 1, of_condition)
        for r in range(n):
            rows[r] |= of_condition[r]


@helper
def _met_members(members, violated, n_rows, met):
    """List the members that some row meets; return their number. No row meets a coalition with another member."""
    n = 0
    for i in range(members.shape[0]):
        rows, r = violated[members[i]], 0
        while r < n_rows and rows[r]:
            r += 1
        if r < n_rows:
            met[n] = members[i]
            n += 1
    return n


@helper
def _most_players(leaves, players):
    """Return the largest number of players of a leaf."""
    most = 0
    for i in range(leaves.shape[0]):
        most = max(most, players.n_players[leaves[i]])
    return most


@kernel
def stream_components(
    bins, conditions, leaves, paths, players, values, coalitions, components, n_outputs, r0, r1, out
):
    """Add components leaf by leaf: a table of terms by pattern, and one look-up per row."""
    step, most = out.shape[0] // n_outputs, _most_players(leaves, players)
    violated, of_condition = np.empty((most, BLOCK), np.uint8), np.empty(BLOCK, np.uint8)
    pattern, met, terms = np.empty(BLOCK, np.uint32), np.empty(most, np.int64), np.empty(2)
    for start in range(r0, r1, BLOCK):
        stop = min(start + BLOCK, r1)
        n_rows = stop - start
        for i in range(leaves.shape[0]):
            leaf = leaves[i]
            path_set = components.path_set_of_leaf[leaf]
            if components.ptr[path_set] == components.ptr[path_set + 1]:
                continue
            _find_violated(bins, start, stop, conditions, paths, players, leaf, of_condition, violated)
            weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
            choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
            for item in range(components.ptr[path_set], components.ptr[path_set + 1]):
                members = components.member[components.member_ptr[item] : components.member_ptr[item + 1]]
                n = _met_members(members, violated, n_rows, met)
                if 1 << n > terms.shape[0]:
                    terms = np.empty(1 << n)
                signed_weights(weight, met, n, ranked, choose, offset, terms)
                sum_over_subsets(terms[: 1 << n], n)
                pattern[:n_rows] = (1 << n) - 1
                for m in range(n):
                    rows = violated[met[m]]
                    for r in range(n_rows):
                        pattern[r] ^= np.uint32(rows[r]) << np.uint32(m)
                sign = -1.0 if (members.shape[0] - n) & 1 else 1.0
                for o in range(values.value.shape[1]):
                    scale = sign * values.value[leaf, o]
                    target = out[components.column[item] + (values.output[leaf] + o) * step, start:stop]
                    for r in range(n_rows):
                        target[r] += scale * terms[pattern[r]]


@kernel
def sum_orders(
    bins, conditions, leaves, paths, players, values, coalitions, usable, coefficient, r0, r1, out
):
    r"""Add the sum of all components of each order leaf by leaf, without listing the components.

    The sets S of order q that contain V are C(k - |V|, q - |V|) in number. So the sum over all S of order q is the sum
    over V of (-1)^(q - |V|) C(k - |V|, q - |V|) E(P \ V), which ``coefficient[k, q - 1, |V|]`` holds. ``usable`` says
    of each leaf condition whether components may have its player; k is the number of these players.
    """
    n_orders, most = coefficient.shape[1], _most_players(leaves, players)
    pattern, distinct = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    number, table = np.empty(BLOCK, np.int64), np.full(4 * BLOCK, -1, np.int64)
    terms, by_size = np.empty((n_orders, BLOCK)), np.empty((n_orders + 1, BLOCK))
    masks, sizes, weight = np.empty(64, np.uint64), np.empty(64, np.int64), np.empty(64)
    positions, members = np.empty(most, np.int64), np.empty(most, np.int64)
    violated, of_condition = np.empty((most, _FEW), np.uint8), np.empty(_FEW, np.uint8)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        n_usable = _list_usable(leaf, paths, players, usable, positions)
        by_row = players.n_players[leaf] > _MOST_IN_PATTERN
        n_subsets = 0
        if not by_row:
            n_subsets, masks, sizes, weight = list_weights(
                leaf, n_orders, players, coalitions, positions[:n_usable], members, masks, sizes, weight
            )
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        step = _FEW if by_row else BLOCK
        for start in range(r0, r1, step):
            stop = min(start + step, r1)
            n, n_distinct = stop - start, stop - start
            if by_row:
                _find_violated(bins, start, stop, conditions, paths, players, leaf, of_condition, violated)
                some = positions[:n_usable]
                _sum_by_size(leaf, players, coalitions, some, members, violated, n, terms[0], by_size)
                for r in range(n):
                    number[r] = r
            else:
                ids, bits = paths.condition, players.position
                violations(bins, start, stop, conditions, ids, bits, first, last, pattern)
                n_distinct = distinct_patterns(pattern, n, table, number, distinct)
                by_size[:, :n_distinct] = 0.0
                for d in range(n_distinct):
                    for v in range(n_subsets):
                        if masks[v] & distinct[d] == 0:
                            by_size[sizes[v], d] += weight[v]
            for d in range(n_distinct):
                for q in range(n_orders):
                    total = 0.0
                    for size in range(q + 2):
                        total += coefficient[n_usable, q, size] * by_size[size, d]
                    terms[q, d] = total
            for o in range(values.value.shape[1]):
                scale = values.value[leaf, o]
                for q in range(n_orders):
                    target = out[(values.output[leaf] + o) * n_orders + q, start:stop]
                    for r in range(n):
                        target[r] += scale * terms[q, number[r]]


@helper
def _list_usable(leaf, paths, players, usable, positions):
    """List the players of a leaf that components may have, increasing; return their number."""
    k, n = players.n_players[leaf], 0
    positions[:k] = 0
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        if usable[e]:
            positions[players.position[e]] = 1
    for p in range(k):
        if positions[p]:
            positions[n] = p
            n += 1
    return n


@helper
def _sum_by_size(leaf, players, coalitions, positions, members, violated, n, total, by_size):
    r"""Sum E(P \ V) over the coalitions V of each size of which a row meets all conditions, for n rows.

    The coalitions that differ in their lowest player alone are neighbours, and summed together.
    """
    k = positions.shape[0]
    weight, ranked = coalitions.weight[coalitions.start[leaf] :], coalitions.ranked[leaf]
    choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
    by_size[:, :n] = 0.0
    by_size[0, :n] = weight[0]
    for size in range(1, min(by_size.shape[0] - 1, k) + 1):
        first_members(members, size)
        more = True
        while more:
            end = members[1] if size > 1 else k
            others = 0
            for m in range(1, size):
                p = positions[members[m]]
                others += choose[p, m + 1] if ranked else 1 << p
            total[:n] = 0.0
            for lowest in range(end):
                p = positions[lowest]
                w, rows = weight[others + (offset[size] + p if ranked else 1 << p)], violated[p]
                for r in range(n):
                    total[r] += w * np.float64(1 - rows[r])
            for m in range(1, size):
                rows = violated[positions[members[m]]]
                for r in range(n):
                    total[r] *= np.float64(1 - rows[r])
            for r in range(n):
                by_size[size, r] += total[r]
            members[0] = end - 1
            more = next_members(members, size, k)


@helper
def list_weights(leaf, n_orders, players, coalitions, positions, members, masks, sizes, weight):
    """List the coalitions of up to ``n_orders`` of some players of a leaf, with their sizes and weights."""
    k = positions.shape[0]
    start, ranked = coalitions.start[leaf], coalitions.ranked[leaf]
    choose, offset = coalitions.ranks.choose, coalitions.ranks.offset[players.n_players[leaf]]
    most = coalitions.ranks.offset[k, min(n_orders, k) + 1]
    if most > masks.shape[0]:
        masks, sizes, weight = np.empty(2 * most, np.uint64), np.empty(2 * most, np.int64), np.empty(2 * most)
    n = 0
    for size in range(min(n_orders, k) + 1):
        first_members(members, size)
        more = True
        while more:
            mask, rank = np.uint64(0), offset[size]
            for m in range(size):
                p = positions[members[m]]
                mask |= np.uint64(1) << np.uint64(p)
                rank += choose[p, m + 1]
            masks[n], sizes[n] = mask, size
            weight[n] = coalitions.weight[start + (rank if ranked else np.int64(mask))]
            n += 1
            more = next_members(members, size, k)
    return n, masks, sizes, weight
