"""Patterns: for a row and some leaves, the bit mask of the conditions that the row violates.

Leaves with common conditions form a *group*, which has one bit per distinct condition (a condition and its complement
share one). What a row gets from the leaves of a group depends on its pattern alone, so one table look-up per group
and row replaces the work leaf by leaf.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel
from skglex._kernels.vectors import add_four, add_three, add_two

BLOCK = 1024  # Rows whose bins, patterns and sums stay in cache together.
LONG_BLOCK = 4096  # Rows for which a group's table is loaded into cache.
APART = 24  # Numbers between the sums of two columns, so that these do not compete for the same lines of the cache.
SUMS = 1 << 19  # Sums of a long block that are held until all groups have added to them: 4 MB.
TOUCHED = 128  # Table entries of a single row that are fetched from memory at the same time.
SPARE = 3  # Numbers after the last table, because four columns are read at a time.
FEW_ROWS = 8  # Fewer rows than this are looked up one by one.


@kernel
def violations(bins, start, stop, conditions, ids, bits, first, last, pattern):
    """Set bit ``bits[e]`` of ``pattern[r]`` where row ``start + r`` violates condition ``ids[e]``."""
    n = stop - start
    zero = pattern.dtype.type(0)
    one = pattern.dtype.type(1)
    for r in range(n):
        pattern[r] = zero
    for e in range(first, last):
        c = ids[e]
        b = bins[conditions.feature[c], start:stop]
        bit = pattern.dtype.type(one << pattern.dtype.type(bits[e]))
        if conditions.mask[c] >= 0:
            mask = conditions.masks[conditions.mask[c] :]
            for r in range(n):
                if mask[b[r]] == 0:
                    pattern[r] |= bit
        else:
            lo = conditions.lo[c]
            width = b.dtype.type(conditions.hi[c] - lo)
            missing = conditions.missing[c]
            for r in range(n):
                # Bins below lo wrap around to large numbers, so one comparison tests both ends.
                out = (b.dtype.type(b[r] - lo) >= width) & (b[r] != missing)
                pattern[r] = pattern.dtype.type(pattern[r] | (bit if out else zero))


@helper
def violates(bins, r, conditions, c):
    """Return whether one row violates condition c; the same as `violations` for a block."""
    b = np.int64(bins[conditions.feature[c], r])
    if conditions.mask[c] >= 0:
        return conditions.masks[conditions.mask[c] + b] == 0
    lo = np.int64(conditions.lo[c])
    # There is no branch, because the processor cannot predict random bins. Below lo wraps around to far above.
    return (np.uint64(b - lo) >= np.uint64(conditions.hi[c] - lo)) & (b != conditions.missing[c])


@helper
def leaf_pattern(pattern, leaf_bits, players, first, last):
    """Translate a group's pattern to the violated players of the leaf with the conditions ``first <= e < last``."""
    violated = 0
    for e in range(first, last):
        if ((pattern >> leaf_bits.position[e]) & 1) != leaf_bits.flip[e]:
            violated |= 1 << players.position[e]
    return violated


@kernel
def group_leaves(paths, complement, leaf_kind, max_bits, group_of, bit, flip, first_of_bit, n_bits):
    """Join neighbouring leaves greedily while their distinct conditions fit ``max_bits``; return how many groups.

    ``leaf_kind`` (the tree's output) never differs within a group. Writes each leaf's group, each leaf condition's bit
    in it, whether that bit stands for the complement, and whether the condition is the first with that bit. A leaf
    with more conditions than fit gets a group of its own.
    """
    n_leaves = paths.ptr.shape[0] - 1
    bit_of = np.full(complement.shape[0], -1, np.int64)
    owner = np.full(complement.shape[0], -1, np.int64)
    group, used = -1, 0
    for leaf in range(n_leaves):
        first, last = paths.ptr[leaf], paths.ptr[leaf + 1]
        new = 0
        for e in range(first, last):
            c = paths.condition[e]
            other = complement[c]
            if not (owner[c] == group or (other >= 0 and owner[other] == group)):
                new += 1
        if group < 0 or used + new > max_bits or leaf_kind[leaf] != leaf_kind[leaf - 1]:
            group += 1
            used = 0
        for e in range(first, last):
            c = paths.condition[e]
            other = complement[c]
            first_of_bit[e] = False
            if owner[c] == group:
                bit[e], flip[e] = bit_of[c], False
            elif other >= 0 and owner[other] == group:
                bit[e], flip[e] = bit_of[other], True
            else:
                owner[c], bit_of[c] = group, used
                bit[e], flip[e], first_of_bit[e] = used, False, True
                used += 1
        group_of[leaf] = group
        n_bits[group] = used
    return group + 1


@kernel
def pattern_histogram(bins, weight, conditions, group_bits, g0, g1, histogram):
    """Add up the background's weights by pattern, for the groups ``g0 <= g < g1`` that have a table."""
    n = bins.shape[1]
    ptr, table_ptr = group_bits.ptr, group_bits.table_ptr
    ids, bits = group_bits.condition, group_bits.position
    pattern = np.empty(BLOCK, np.uint16)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for g in range(g0, g1):
            if table_ptr[g] == table_ptr[g + 1]:
                continue
            violations(bins, start, stop, conditions, ids, bits, ptr[g], ptr[g + 1], pattern)
            pattern_weight = histogram[table_ptr[g] - table_ptr[g0] :]
            for r in range(stop - start):
                pattern_weight[pattern[r]] += weight[start + r]


@kernel
def value_tables(leaf_bits, tables, paths, value, g0, g1):
    """Fill each group's table (patterns x outputs) with the sum of the leaves that the pattern reaches."""
    n_outputs = value.shape[1]
    for g in range(g0, g1):
        size = leaf_bits.table_ptr[g + 1] - leaf_bits.table_ptr[g]
        base = tables.value_ptr[g] - tables.value_ptr[g0]
        for leaf in range(leaf_bits.group_leaf[g], leaf_bits.group_leaf[g + 1]):
            # The leaf is reached by the patterns with the bits ``met`` among ``used``, whatever the other bits are.
            met, used = 0, 0
            for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
                used |= 1 << leaf_bits.position[e]
                met |= leaf_bits.flip[e] << leaf_bits.position[e]
            free = (size - 1) & ~used
            rest = free
            while True:
                for v in range(n_outputs):
                    tables.values[base + (met | rest) * n_outputs + v] += value[leaf, v]
                if rest == 0:
                    break
                rest = (rest - 1) & free


@helper
def _add_look_ups(table, row_at, column, start, n, out):
    """Add up to four neighbouring columns of a table, at the places ``row_at``, to n rows of ``out``.

    Return how many columns these are.
    """
    done, stop = 0, start + n
    first = out[column[0], start:stop]
    width = min(column.shape[0], 4)
    if width > 1:
        second = out[column[1], start:stop]
        third = out[column[min(2, width - 1)], start:stop]
        fourth = out[column[width - 1], start:stop]
        # The loops are apart, because a choice inside of one would be made for every row.
        if width == 4:
            for done in range(0, n - 3, 4):
                add_four(table, row_at, done, (first, second, third, fourth))
        elif width == 3:
            for done in range(0, n - 3, 4):
                add_three(table, row_at, done, (first, second, third))
        else:
            for done in range(0, n - 3, 4):
                add_two(table, row_at, done, (first, second))
        done = n & ~3
    for k in range(width):
        target = out[column[k], start:stop]
        for r in range(done, n):
            # An unsigned index needs no test for negative numbers.
            target[r] += table[np.uint64(row_at[r]) + np.uint64(k)]
    return width


@helper
def _rows_of_sums(n_columns, n_look_ups):
    """Return for how many rows the sums of all columns are held in cache; 0 if they do not fit, or do not pay."""
    rows = LONG_BLOCK
    while rows * n_columns > SUMS:
        rows >>= 1
    return rows if rows >= BLOCK and n_look_ups >= 4 * n_columns else 0


@kernel
def accumulate(bins, conditions, group_bits, tables, g0, g1, r0, r1, at, out):
    """Add each group's columns, looked up by pattern, to ``out`` (columns x rows).

    Row r is added to ``out[:, at + r]``. ``tables.values`` begins at the table of group ``g0``, and ``SPARE`` numbers
    follow the last table. Groups without a table add nothing.
    """
    ptr, ids, bits, table_ptr = (
        group_bits.ptr,
        group_bits.condition,
        group_bits.position,
        group_bits.table_ptr,
    )
    column_ptr, column, value_ptr, values = tables.column_ptr, tables.column, tables.value_ptr, tables.values
    if r1 - r0 < FEW_ROWS:
        # A row needs one entry of each table, and none is in cache. All places are therefore computed first. Reading
        # a block of entries before they are added lets the processor fetch many of them at the same time.
        place = np.empty(g1 - g0, np.int64)
        touched = np.empty(TOUCHED)
        violated = np.empty(conditions.feature.shape[0], np.uint8)
        all_first = ptr[g1] - ptr[g0] > violated.shape[0]
        for r in range(r0, r1):
            for c in range(violated.shape[0] if all_first else 0):
                violated[c] = violates(bins, r, conditions, c)
            for g in range(g0, g1):
                if table_ptr[g] == table_ptr[g + 1]:
                    place[g - g0] = -1
                    continue
                code = 0
                for e in range(ptr[g], ptr[g + 1]):
                    c = ids[e]
                    is_violated = violated[c] if all_first else np.uint8(violates(bins, r, conditions, c))
                    code |= np.int64(is_violated) << np.int64(bits[e])
                n_columns = column_ptr[g + 1] - column_ptr[g]
                place[g - g0] = value_ptr[g] - value_ptr[g0] + code * n_columns
            for b0 in range(g0, g1, TOUCHED):
                b1 = min(b0 + TOUCHED, g1)
                for g in range(b0, b1):
                    n_columns = column_ptr[g + 1] - column_ptr[g]
                    entry = place[g - g0]
                    if entry >= 0 and n_columns > 0:
                        touched[g - b0] = values[entry] + values[entry + n_columns - 1]
                for g in range(b0, b1):
                    entry = place[g - g0]
                    if entry >= 0:
                        for k in range(column_ptr[g], column_ptr[g + 1]):
                            out[column[k], at + r] += values[entry]
                            entry += 1
        return
    held = _rows_of_sums(out.shape[0], column_ptr[g1] - column_ptr[g0])
    size = min(held if held > 0 else LONG_BLOCK, r1 - r0)
    sums = np.empty((out.shape[0] if held > 0 else 0, size + APART))
    pattern, row_at = np.empty(size, np.uint16), np.empty(size, np.uint32)
    for start in range(r0, r1, size):
        stop = min(start + size, r1)
        n = stop - start
        for c in range(sums.shape[0]):
            for r in range(n):
                sums[c, r] = 0.0
        target, first_row = (sums, 0) if held > 0 else (out, at + start)
        for g in range(g0, g1):
            n_columns = column_ptr[g + 1] - column_ptr[g]
            if table_ptr[g] == table_ptr[g + 1] or n_columns == 0:
                continue
            violations(bins, start, stop, conditions, ids, bits, ptr[g], ptr[g + 1], pattern)
            for r in range(n):
                row_at[r] = pattern[r] * n_columns
            first = value_ptr[g] - value_ptr[g0]
            k = 0
            while k < n_columns:
                some = column[column_ptr[g] + k : column_ptr[g + 1]]
                k += _add_look_ups(values[first + k :], row_at, some, first_row, n, target)
        for c in range(sums.shape[0]):
            total = out[c, at + start : at + stop]
            for r in range(n):
                total[r] += sums[c, r]
