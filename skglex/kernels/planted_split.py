"""The best of a few thresholds of one feature within one leaf.

Features are codes: ``codes[k, i]`` counts the distinct values (or bins) of feature k below the one of row i, and a missing
value has the code ``n_codes[k]``. The few thresholds of a candidate cut the leaf into as many buckets, so that one pass
over the rows, without sorting them, is all a candidate costs.
"""

import numpy as np
from numba import njit

from skglex.kernels.planted_loss import additive_loss, child_update, is_additive, row_loss
from skglex.kernels.random_numbers import draw_distinct

# How a candidate's thresholds are chosen. The last two repeat the R package's deterministic mode, for tests: evenly
# spread in regression, the first few values (and never the largest) in classification.
RANDOM, EVEN, FIRST = 0, 1, 2

# Below this share of the codes, comparing with each threshold is cheaper than a table over all codes.
_SPARSE = 16

_ONE, _TWO, _FOUR, _SIX, _FIFTY_SIX, _LOW = (np.uint64(v) for v in (1, 2, 4, 6, 56, 63))
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)


@njit(cache=True, nogil=True)
def _popcount(x):
    x = x - ((x >> _ONE) & _M1)
    x = (x & _M2) + ((x >> _TWO) & _M2)
    x = (x + (x >> _FOUR)) & _M4
    return np.int64((x * _H01) >> _FIFTY_SIX)


@njit(cache=True, nogil=True)
def _choose(state, n_distinct, n_try, rule, out):
    """Choose positions among the sorted distinct values, never the smallest; return how many."""
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


@njit(cache=True, nogil=True)
def _draw_thresholds(state, local, n_rows, missing_code, n_try, rule, bits, out):
    """Choose thresholds among the leaf's distinct codes, found by marking them in a bit set; return how many."""
    n_words = (missing_code >> 6) + 1
    for w in range(n_words):
        bits[w] = 0
    for j in range(n_rows):
        value = np.uint64(local[j])
        bits[value >> _SIX] |= _ONE << (value & _LOW)
    last = np.uint64(missing_code)
    bits[last >> _SIX] &= ~(_ONE << (last & _LOW))
    n_distinct = 0
    for w in range(n_words):
        n_distinct += _popcount(bits[w])
    size = _choose(state, n_distinct, n_try, rule, out)
    seen = 0
    j = 0
    for w in range(n_words):
        if j == size:
            break
        word = bits[w]
        count = _popcount(word)
        while j < size and out[j] < seen + count:
            rest = word
            for _ in range(out[j] - seen):
                rest &= rest - _ONE
            lowest = rest & (~rest + _ONE)
            out[j] = 64 * w + _popcount(lowest - _ONE)
            j += 1
        seen += count
    return size


@njit(cache=True, nogil=True)
def _fill_buckets(local, n_rows, missing_code, thresholds, size, sparse, table):
    """Replace the codes by the number of thresholds at or below them; missing values get one bucket more."""
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


@njit(cache=True, nogil=True)
def _sum_buckets(rows, local, stats, n_buckets, sums, counts):
    n_stats = stats.shape[1]
    for b in range(n_buckets):
        counts[b] = 0
        for p in range(n_stats):
            sums[b, p] = 0.0
    if n_stats == 2:
        for j in range(rows.shape[0]):
            sums[local[j], 0] += stats[rows[j], 0]
            sums[local[j], 1] += stats[rows[j], 1]
            counts[local[j]] += 1
    else:
        for j in range(rows.shape[0]):
            for p in range(n_stats):
                sums[local[j], p] += stats[rows[j], p]
            counts[local[j]] += 1


@njit(cache=True, nogil=True)
def _sum_sides(rows, local, stats, t, missing_bucket, missing_left, sides):
    """Sum the two children in the order of their rows, so that ties fall as they do in the R package."""
    for p in range(stats.shape[1]):
        sides[0, p] = 0.0
        sides[1, p] = 0.0
        for j in range(rows.shape[0]):
            left = missing_left if local[j] == missing_bucket else local[j] <= t
            sides[0 if left else 1, p] += stats[rows[j], p]


@njit(cache=True, nogil=True)
def _loss_over_rows(loss, rows, local, t, missing_bucket, missing_left, updates, growths, target, score, stats):
    """Sum the row losses, a row being on the left if its bucket is at most ``t`` (or missing, and that goes left)."""
    total = 0.0
    for j in range(rows.shape[0]):
        bucket = local[j]
        left = missing_left if bucket == missing_bucket else bucket <= t
        side = 0 if left else 1
        total += row_loss(loss, rows[j], updates[side], growths[side], target, score, stats)
    return total


@njit(cache=True, nogil=True)
def sum_rows(rows, stats, out):
    for p in range(stats.shape[1]):
        out[p] = 0.0
        for j in range(rows.shape[0]):
            out[p] += stats[rows[j], p]


@njit(cache=True, nogil=True)
def unsplit_loss(loss, rows, delta, target, score, stats, sums, updates, growths):
    """The change of the loss if the leaf were updated as a whole: what a split has to beat to carry information."""
    n_outputs = target.shape[1]
    sum_rows(rows, stats, sums[0])
    if is_additive(loss):
        return additive_loss(loss, sums[0], n_outputs, delta, updates[0])
    child_update(loss, sums[0], n_outputs, delta, updates[0])
    for k in range(n_outputs):
        growths[0, k] = np.exp(updates[0, k])
    total = 0.0
    for j in range(rows.shape[0]):
        total += row_loss(loss, rows[j], updates[0], growths[0], target, score, stats)
    return total


@njit(cache=True, nogil=True)
def best_threshold(
    loss,
    rows,
    codes,
    missing_code,
    target,
    score,
    stats,
    split_try,
    rule,
    min_samples_leaf,
    delta,
    state,
    local,
    bits,
    table,
    thresholds,
    sums,
    right_sums,
    counts,
    sides,
    updates,
    growths,
):
    """Return (loss, threshold code, whether missing values go left) of the best threshold; the loss is inf if none is.

    ``codes`` are those of the feature; everything after ``state`` is scratch space.
    """
    n_rows = rows.shape[0]
    n_outputs = target.shape[1]
    n_stats = stats.shape[1]
    has_missing = False
    for j in range(n_rows):
        code = codes[rows[j]]
        local[j] = code
        has_missing |= code == missing_code
    sparse = n_rows * _SPARSE < missing_code
    size = _draw_thresholds(state, local, n_rows, missing_code, split_try, rule, bits, thresholds)
    best, best_code, best_missing_left = np.inf, np.int64(-1), False
    if size == 0 and not has_missing:
        return best, best_code, best_missing_left

    _fill_buckets(local, n_rows, missing_code, thresholds, size, sparse, table)
    missing_bucket = size + 1
    _sum_buckets(rows, local, stats, size + 2, sums, counts)
    for p in range(n_stats):
        right_sums[size, p] = 0.0
        for t in range(size - 1, -1, -1):
            right_sums[t, p] = right_sums[t + 1, p] + sums[t + 1, p]
        for t in range(1, size + 1):
            sums[t, p] += sums[t - 1, p]
    for t in range(1, size + 1):
        counts[t] += counts[t - 1]

    additive = is_additive(loss)
    # The last round separates the missing values from all others.
    for t in range(size + 1 if has_missing else size):
        for missing_left in range(2 if has_missing and t < size else 1):
            n_left = counts[t] + (counts[missing_bucket] if missing_left == 1 else 0)
            if n_left < min_samples_leaf or n_rows - n_left < min_samples_leaf:
                continue
            for p in range(n_stats):
                sides[0, p] = sums[t, p]
                sides[1, p] = right_sums[t, p]
                sides[1 - missing_left, p] += sums[missing_bucket, p]
            if rule != RANDOM:
                _sum_sides(rows, local, stats, t, missing_bucket, missing_left == 1, sides)
            if additive:
                value = additive_loss(loss, sides[0], n_outputs, delta, updates[0])
                value += additive_loss(loss, sides[1], n_outputs, delta, updates[0])
            else:
                for side in range(2):
                    child_update(loss, sides[side], n_outputs, delta, updates[side])
                    for k in range(n_outputs):
                        growths[side, k] = np.exp(updates[side, k])
                value = _loss_over_rows(
                    loss, rows, local, t, missing_bucket, missing_left == 1, updates, growths, target, score, stats
                )
            if value < best:
                best = value
                best_code = thresholds[t] if t < size else missing_code
                best_missing_left = missing_left == 1
    return best, best_code, best_missing_left
