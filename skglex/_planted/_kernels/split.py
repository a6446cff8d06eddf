"""Find the best of a few thresholds of one feature within one leaf.

Features are codes: ``codes[k, i]`` is the number of distinct values (or bins) of feature k below the value of row
i. A missing value has the code ``n_codes[k]``. The few thresholds of a candidate cut the leaf into buckets. One
pass over the rows sums the statistics per bucket, so the rows need not be sorted.
"""

import numpy as np

from skglex._kernels.bitsets import count_ones
from skglex._kernels.compilation import helper, inlined, kernel
from skglex._planted._kernels.arguments import FEW_CODES
from skglex._planted._kernels.loss import (
    LOG_LOSS,
    SQUARED_ERROR,
    additive_loss,
    child_update,
    gather_row,
    is_additive,
    span_loss,
)
from skglex._planted._kernels.random_numbers import draw_distinct

# Rules for choosing a candidate's thresholds. The last two repeat the deterministic mode of the R package for
# tests: evenly spread values in regression, the first few values except the largest in classification.
RANDOM, EVEN, FIRST = 0, 1, 2

# If a leaf has fewer rows than this fraction of the codes, comparing each row with each threshold is cheaper than
# filling a table over all codes.
_SPARSE = 16
_TIE = 1e-9

_ONE, _SIX, _LOW = (np.uint64(v) for v in (1, 6, 63))


@kernel
def is_lower(loss, best, rule):
    """Return whether a loss is lower than the best one by more than rounding error, so that equal splits tie."""
    return loss < best - _TIE * abs(best) if rule == RANDOM and best < np.inf else loss < best


@helper
def _draw_positions(state, n_distinct, n_try, rule, out):
    """Choose positions among the sorted distinct values except the smallest; return the number of positions."""
    n_free = n_distinct - 2 if rule == FIRST else n_distinct - 1
    size = min(n_try, n_free)
    if size < 1:
        return 0
    if rule == RANDOM:
        draw_distinct(state, n_free, size, out)
    for j in range(size):
        if rule == FIRST:
            out[j] = j
        elif rule == EVEN:
            out[j] = (j + 1) * n_free // (size + 1)
            if j > 0 and out[j] < out[j - 1]:
                out[j] = out[j - 1]
        out[j] += 1
    return size


@helper
def _draw_thresholds(state, local, n_rows, missing_code, n_try, rule, bits, out):
    """Choose thresholds among the leaf's distinct codes, found by a bit set; return the number of thresholds."""
    n_words = (missing_code >> 6) + 1
    for w in range(n_words):
        bits[w] = 0
    for j in range(n_rows):
        value = np.uint64(local[j])
        bits[value >> _SIX] |= _ONE << (value & _LOW)
    last = np.uint64(missing_code)
    bits[last >> _SIX] &= ~(_ONE << (last & _LOW))
    n_distinct = np.int64(0)
    for w in range(n_words):
        n_distinct += np.int64(count_ones(bits[w]))
    size = _draw_positions(state, n_distinct, n_try, rule, out)
    seen = 0
    j = 0
    for w in range(n_words):
        if j == size:
            break
        word = bits[w]
        count = np.int64(count_ones(word))
        while j < size and out[j] < seen + count:
            rest = word
            for _ in range(out[j] - seen):
                rest &= rest - _ONE
            lowest = rest & (~rest + _ONE)
            out[j] = 64 * w + np.int64(count_ones(lowest - _ONE))
            j += 1
        seen += count
    return size


@helper
def _sum_groups(rows, groups, by_row, stats, n_groups, sums, counts):
    """Sum statistics and count rows per group.

    ``groups`` has one entry per training row if ``by_row``, otherwise one per element of ``rows``.
    """
    n_stats = stats.shape[1]
    for b in range(n_groups):
        counts[b] = 0
        for p in range(n_stats):
            sums[b, p] = 0.0
    for j in range(rows.shape[0]):
        i = rows[j]
        b = groups[i if by_row else j]
        counts[b] += 1
        if n_stats == 2:
            sums[b, 0] += stats[i, 0]
            sums[b, 1] += stats[i, 1]
        else:
            for p in range(n_stats):
                sums[b, p] += stats[i, p]


@inlined
def _sum_codes(rows, codes, missing_code, stats, n_try, state, code_sums, code_counts, out, sums, counts):
    """Draw thresholds and sum the buckets from sums per code; return the number of thresholds.

    This needs a single pass over the rows, but pays off only for few codes.
    """
    n_stats = stats.shape[1]
    _sum_groups(rows, codes, True, stats, missing_code + 1, code_sums, code_counts)
    n_distinct = np.int64(0)
    for code in range(missing_code):
        n_distinct += code_counts[code] > 0
    size = _draw_positions(state, n_distinct, n_try, RANDOM, out)
    for b in range(size + 2):
        counts[b] = 0
        for p in range(n_stats):
            sums[b, p] = 0.0
    seen, bucket = 0, 0
    for code in range(missing_code + 1):
        if code == missing_code:
            bucket = size + 1
        elif code_counts[code] > 0:
            if bucket < size and seen == out[bucket]:
                out[bucket] = code
                bucket += 1
            seen += 1
        counts[bucket] += code_counts[code]
        for p in range(n_stats):
            sums[bucket, p] += code_sums[code, p]
    return size


@helper
def _fill_buckets(local, n_rows, missing_code, thresholds, size, sparse, table):
    """Replace each code by its bucket, the number of thresholds at or below it.

    Missing values get the last bucket, ``size + 1``.
    """
    if sparse:
        for j in range(n_rows):
            bucket = size + 1
            if local[j] != missing_code:
                bucket = 0
                for t in range(size):
                    bucket += local[j] >= thresholds[t]
            local[j] = bucket
        return
    start = 0
    for t in range(size + 1):
        stop = thresholds[t] if t < size else missing_code
        for code in range(start, stop):
            table[code] = t
        start = stop
    table[missing_code] = size + 1
    for j in range(n_rows):
        local[j] = table[local[j]]


@inlined
def _sum_buckets(
    rows, codes, missing_code, stats, parameters, state, local, bits, table, thresholds, sums, counts
):
    """Choose thresholds and sum the buckets from the rows; return the number of thresholds."""
    n_rows = rows.shape[0]
    for j in range(n_rows):
        local[j] = codes[rows[j]]
    n_try, rule = parameters.split_try, parameters.rule
    size = _draw_thresholds(state, local, n_rows, missing_code, n_try, rule, bits, thresholds)
    _fill_buckets(local, n_rows, missing_code, thresholds, size, n_rows * _SPARSE < missing_code, table)
    _sum_groups(rows, local, False, stats, size + 2, sums, counts)
    return size


@inlined
def _sum_from_both_ends(size, sums, right_sums, counts):
    """Turn sums per bucket into sums left of each threshold, and write the sums right of each threshold."""
    for p in range(sums.shape[1]):
        right_sums[size, p] = 0.0
        for t in range(size - 1, -1, -1):
            right_sums[t, p] = right_sums[t + 1, p] + sums[t + 1, p]
        for t in range(1, size + 1):
            sums[t, p] += sums[t - 1, p]
    for t in range(1, size + 1):
        counts[t] += counts[t - 1]


@helper
def _sum_sides(rows, local, stats, t, missing_bucket, missing_left, sides):
    """Sum the statistics of both children in row order, so that ties are broken as in the R package."""
    for p in range(stats.shape[1]):
        sides[0, p] = 0.0
        sides[1, p] = 0.0
        for j in range(rows.shape[0]):
            left = missing_left if local[j] == missing_bucket else local[j] <= t
            sides[0 if left else 1, p] += stats[rows[j], p]


@helper
def _gather_by_bucket(loss, rows, local, counts, starts, data, parts, part_weights):
    """Gather the rows by bucket, so that each side of a threshold is one range; return their present loss."""
    starts[0] = 0
    for b in range(counts.shape[0]):
        starts[b + 1] = starts[b] + counts[b]
    present = 0.0
    for j in range(rows.shape[0]):
        b = local[j]
        present += gather_row(loss, rows[j], starts[b], data, parts, part_weights)
        starts[b] += 1
    for b in range(counts.shape[0] - 1, -1, -1):
        starts[b + 1] = starts[b]
    starts[0] = 0
    return present


@helper
def _side_loss(loss, sums, delta, start, stop, more_start, more_stop, parts, part_weights, update, growth):
    """Return the loss of one child, from its sums or from its rows, which are two ranges of the gathered rows."""
    n_outputs = update.shape[0]
    if is_additive(loss):
        return additive_loss(loss, sums, n_outputs, delta, update)
    child_update(loss, sums, n_outputs, delta, update)
    linear = 0.0
    for k in range(n_outputs):
        growth[k] = np.exp(update[k])
        if loss == LOG_LOSS:
            linear += update[k] * sums[2 + k]
    total = span_loss(loss, start, stop, parts, part_weights, update, growth)
    return total + span_loss(loss, more_start, more_stop, parts, part_weights, update, growth) - linear


@kernel
def sum_rows(rows, stats, out):
    """Sum the statistics of the rows."""
    for p in range(stats.shape[1]):
        out[p] = 0.0
        for j in range(rows.shape[0]):
            out[p] += stats[rows[j], p]


@helper
def _lowest_squared_error(left, right, counts, size, n_rows, min_samples_leaf):
    """Return the lowest loss and its threshold for squared error without missing values.

    `_lowest_loss` covers this most frequent case too, but takes three times as long.
    """
    best, best_t = np.inf, 0
    for t in range(size):
        if counts[t] < min_samples_leaf or n_rows - counts[t] < min_samples_leaf:
            continue
        left_square, right_square = 0.0, 0.0
        for p in range(1, left.shape[1]):
            left_square += left[t, p] * left[t, p]
            right_square += right[t, p] * right[t, p]
        value = -(left_square / left[t, 0] + right_square / right[t, 0])
        if is_lower(value, best, RANDOM):
            best, best_t = value, t
    return best, best_t


@kernel
def unsplit_loss(rows, data, parameters, scratch):
    """Return the change of the loss if the leaf were updated as a whole, which a split should improve on."""
    loss, n_rows, sums = parameters.loss, rows.shape[0], scratch.sides[0]
    parts, part_weights = scratch.parts, scratch.part_weights
    sum_rows(rows, data.stats, sums)
    present = 0.0
    if not is_additive(loss):
        for j in range(n_rows):
            present += gather_row(loss, rows[j], j, data, parts, part_weights)
    zero = np.int64(0)
    update, growth = scratch.updates[0], scratch.growths[0]
    total = _side_loss(
        loss, sums, parameters.delta, zero, n_rows, zero, zero, parts, part_weights, update, growth
    )
    return total - present


@inlined
def _lowest_loss(rows, missing_code, size, present, stats, parameters, scratch):
    """Compare the children at all thresholds; return loss, code and missing_left of the best one."""
    n_rows, n_stats = rows.shape[0], stats.shape[1]
    sums, right_sums, counts, sides = scratch.sums, scratch.right_sums, scratch.counts, scratch.sides
    loss, min_samples_leaf = parameters.loss, parameters.min_samples_leaf
    best, best_code, best_missing_left = np.inf, np.int64(-1), False
    missing_bucket = size + 1
    n_known = counts[size]
    has_missing = counts[missing_bucket] > 0
    # The last round separates the missing values from all other values.
    for t in range(size + 1 if has_missing else size):
        for missing_left in range(2 if has_missing and t < size else 1):
            n_left = counts[t] + (n_rows - n_known if missing_left == 1 else 0)
            if n_left < min_samples_leaf or n_rows - n_left < min_samples_leaf:
                continue
            for p in range(n_stats):
                sides[0, p] = sums[t, p]
                sides[1, p] = right_sums[t, p]
                sides[1 - missing_left, p] += sums[missing_bucket, p]
            if parameters.rule != RANDOM:
                _sum_sides(rows, scratch.local, stats, t, missing_bucket, missing_left == 1, sides)
            value = -present
            for side in range(2):
                start, stop = (np.int64(0), counts[t]) if side == 0 else (counts[t], n_known)
                value += _side_loss(
                    loss,
                    sides[side],
                    parameters.delta,
                    start,
                    stop,
                    n_known if missing_left != side else n_rows,
                    n_rows,
                    scratch.parts,
                    scratch.part_weights,
                    scratch.updates[side],
                    scratch.growths[side],
                )
            if is_lower(value, best, parameters.rule):
                best = value
                best_code = scratch.thresholds[t] if t < size else missing_code
                best_missing_left = missing_left == 1
    return best, best_code, best_missing_left


@kernel
def best_threshold(rows, codes, missing_code, data, parameters, state, scratch):
    """Return the loss and the code of the best threshold, and whether missing values go left of it.

    Parameters
    ----------
    rows : ndarray of shape (n_leaf_rows,), int32
        Rows of the leaf.
    codes : ndarray of shape (n_samples,), int32
        Codes of the feature.
    missing_code : int
        Code of missing values.
    data, parameters, state, scratch
        The arguments of `grow_family`.

    Returns
    -------
    loss : float
        Change of the loss; infinite if no threshold is allowed.
    code : int
        Codes below it go left.
    missing_left : bool
    """
    n_rows, stats = rows.shape[0], data.stats
    loss, random = parameters.loss, parameters.rule == RANDOM
    local, thresholds = scratch.local, scratch.thresholds
    sums, right_sums, counts = scratch.sums, scratch.right_sums, scratch.counts
    additive = is_additive(loss)
    # Pass single arrays instead of ``scratch``: each call updates the reference count of every array in a tuple.
    if additive and random and missing_code < FEW_CODES and missing_code * 4 < n_rows:
        n_try, code_sums, code_counts = parameters.split_try, scratch.code_sums, scratch.code_counts
        size = _sum_codes(
            rows, codes, missing_code, stats, n_try, state, code_sums, code_counts, thresholds, sums, counts
        )
    else:
        bits, table = scratch.bits, scratch.table
        size = _sum_buckets(
            rows, codes, missing_code, stats, parameters, state, local, bits, table, thresholds, sums, counts
        )
    has_missing = counts[size + 1] > 0
    if size == 0 and (not has_missing or counts[0] == 0):
        return np.inf, np.int64(-1), False

    present = 0.0
    if not additive:
        buckets, starts = counts[: size + 2], scratch.starts
        present = _gather_by_bucket(
            loss, rows, local, buckets, starts, data, scratch.parts, scratch.part_weights
        )
    _sum_from_both_ends(size, sums, right_sums, counts)
    if loss == SQUARED_ERROR and random and not has_missing:
        min_samples_leaf = parameters.min_samples_leaf
        best, t = _lowest_squared_error(sums, right_sums, counts, size, n_rows, min_samples_leaf)
        return best, thresholds[t], False
    return _lowest_loss(rows, missing_code, size, present, stats, parameters, scratch)
