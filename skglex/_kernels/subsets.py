"""List, rank and sum over the subsets of a leaf's players, by position or bit mask, and number those that occur."""

import numpy as np

from skglex._kernels.compilation import inlined, kernel

_BLOCK = 2048  # Numbers that stay in the processor's smallest cache.
_MANY = 1 << 61  # Two of these numbers can still be added.


@kernel
def binomials(k):
    """Return ``choose[p, i] = C(p, i)`` and ``offset[n]``, the number of subsets of k players with fewer than n.

    Numbers that are too large for any list are all the same.
    """
    choose = np.zeros((k + 1, k + 2), np.int64)
    choose[:, 0] = 1
    for p in range(1, k + 1):
        for i in range(1, p + 1):
            choose[p, i] = min(choose[p - 1, i - 1] + choose[p - 1, i], _MANY)
    offset = np.zeros(k + 2, np.int64)
    for n in range(k + 1):
        offset[n + 1] = min(offset[n] + choose[k, n], _MANY)
    return choose, offset


@kernel
def subset_rank(mask, choose, offset):
    """Return the position of a subset in the list by size, then by value (combinatorial number system)."""
    rank, n, position = 0, 0, 0
    while mask:
        if mask & np.uint64(1):
            n += 1
            rank += choose[position, n]
        mask >>= np.uint64(1)
        position += 1
    return offset[n] + rank


@kernel
def first_members(members, n):
    """Write the positions of the first n players."""
    for i in range(n):
        members[i] = i


@kernel
def next_members(members, n, k):
    """Move on to the next n of k players in the order of their bit masks; return False after the last ones."""
    for i in range(n):
        end = members[i + 1] if i + 1 < n else k
        if members[i] + 1 < end:
            members[i] += 1
            first_members(members, i)
            return True
    return False


@kernel
def sum_over_subsets(f, n_players):
    """Replace f[A] by the sum of f[B] over all B in A (zeta transform), in place."""
    size = 1 << n_players
    if n_players < 3:
        _add_halves(f, 0, size, 1, size)
        return
    # All small steps are done on one block, which stays in cache, before the next.
    block = min(size, _BLOCK)
    for start in range(0, size, block):
        for i in range(start, start + block, 8):
            f0, f1, f2, f3 = f[i], f[i + 1], f[i + 2], f[i + 3]
            f4, f5, f6, f7 = f[i + 4], f[i + 5], f[i + 6], f[i + 7]
            f1 += f0
            f3 += f2
            f5 += f4
            f7 += f6
            f2 += f0
            f3 += f1
            f6 += f4
            f7 += f5
            f[i + 1], f[i + 2], f[i + 3] = f1, f2, f3
            f[i + 4], f[i + 5], f[i + 6], f[i + 7] = f4 + f0, f5 + f1, f6 + f2, f7 + f3
        _add_halves(f, start, start + block, 8, block)
    _add_halves(f, 0, size, block, size)


@inlined
def _add_halves(f, start, stop, step, size):
    """Add each lower half of ``step`` numbers to the upper half after it, for steps that double up to ``size``."""
    while step < size:
        for at in range(start, stop, 2 * step):
            without, with_i = f[at : at + step], f[at + step : at + 2 * step]
            for a in range(step):
                with_i[a] += without[a]
        step *= 2


@kernel
def count_members(n_players):
    """Return the number of members of every subset."""
    counts = np.zeros(1 << n_players, np.uint8)
    for a in range(1, 1 << n_players):
        counts[a] = counts[a >> 1] + (a & 1)
    return counts


@kernel
def distinct_patterns(pattern, n, table, number, distinct):
    """Enumerate the distinct patterns among the first n, in order of first occurrence; return how many there are.

    ``number[r]`` receives the number of row r's pattern, ``distinct`` the patterns themselves. ``table`` is a hash
    table with more than n entries, a power of two, all -1. It is restored to that before the function returns.
    """
    last, shift = table.shape[0] - 1, 64
    while (np.int64(1) << (64 - shift)) <= last:
        shift -= 1
    n_distinct = 0
    for r in range(n):
        p = pattern[r]
        h = np.int64((p * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
        while table[h] >= 0 and distinct[table[h]] != p:
            h = (h + 1) & last
        if table[h] < 0:
            table[h] = n_distinct
            distinct[n_distinct] = p
            n_distinct += 1
        number[r] = table[h]
    for i in range(n_distinct):
        h = np.int64((distinct[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
        while table[h] >= 0:
            table[h] = -1
            h = (h + 1) & last
    return n_distinct
