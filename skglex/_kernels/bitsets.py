"""The background as bit sets: which of its rows meet a condition, and which miss few of a leaf's conditions.

Bit ``r % 64`` of word ``r // 64`` stands for row r of a block of background rows.
"""

import numpy as np

from skglex._kernels._compile import njit


@njit(cache=True, nogil=True)
def rank_bins(bins, r0, r1, n_bins, bin_ptr, rank, row_ptr):
    """Number the bins that occur: ``rank[bin_ptr[s] + b]`` is how many bins of used_feature s below b do.

    Slot s has the rows ``row_ptr[s]`` up to ``row_ptr[s + 1]`` of the bit sets, one more than bins that occur.
    """
    row_ptr[0] = 0
    for s in range(n_bins.shape[0]):
        own = rank[bin_ptr[s] : bin_ptr[s] + n_bins[s] + 1]
        own[:] = 0
        for r in range(r0, r1):
            own[bins[s, r] + 1] = 1
        for b in range(n_bins[s]):
            own[b + 1] += own[b]
        row_ptr[s + 1] = row_ptr[s] + own[n_bins[s]] + 1


@njit(cache=True, nogil=True)
def fill_bits(bins, r0, r1, bin_ptr, rank, row_ptr, bits):
    """Let row ``row_ptr[s] + i`` be the set of the rows whose bin is among the i smallest of used_feature s."""
    bits[:] = 0
    for s in range(row_ptr.shape[0] - 1):
        for r in range(r0, r1):
            row = row_ptr[s] + rank[bin_ptr[s] + bins[s, r]] + 1
            bits[row, (r - r0) >> 6] |= np.uint64(1) << np.uint64((r - r0) & 63)
        for row in range(row_ptr[s] + 1, row_ptr[s + 1]):
            for w in range(bits.shape[1]):
                bits[row, w] |= bits[row - 1, w]


@njit(cache=True, nogil=True)
def _rows_meeting(c, conditions, n_bins, bin_ptr, rank, row_ptr, bits, out):
    """The set of the rows that meet condition c."""
    s = conditions.feature[c]
    below = rank[bin_ptr[s] :]
    row = row_ptr[s]
    last = n_bins[s] - 1
    if conditions.mask[c] < 0:
        lo, hi = row + below[conditions.lo[c]], row + below[conditions.hi[c]]
        for w in range(out.shape[0]):
            out[w] = bits[hi, w] & ~bits[lo, w]
        if conditions.missing[c] == last:
            lo, hi = row + below[last], row + below[last + 1]
            for w in range(out.shape[0]):
                out[w] |= bits[hi, w] & ~bits[lo, w]
        return
    for w in range(out.shape[0]):
        out[w] = np.uint64(0)
    for b in range(last + 1):
        if conditions.masks[conditions.mask[c] + b]:
            lo, hi = row + below[b], row + below[b + 1]
            for w in range(out.shape[0]):
                out[w] |= bits[hi, w] & ~bits[lo, w]


@njit(cache=True, nogil=True)
def count_ones(word):
    """Number of bits that are set in a 64-bit word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def add_near_misses(
    n_rows,
    weight,
    equal,
    bin_ptr,
    rank,
    row_ptr,
    bits,
    n_bins,
    conditions,
    leaf_ptr,
    leaf_condition,
    player,
    n_players,
    leaves,
    start,
    max_order,
    choose,
    offset,
    out,
):
    """Add the weights of a block of background rows to the set of players that they violate, by its rank.

    Only sets of at most ``max_order`` players count. Leaf l's begin at ``out[start[l]]``. ``equal`` is the weight
    of every row if they are the same, else 0.
    """
    n_used_features, n_words = n_bins.shape[0], bits.shape[1]
    most = 0
    for i in range(leaves.shape[0]):
        most = max(most, n_players[leaves[i]])
    held = np.full(n_used_features, -1, np.int64)  # neighbouring leaves share most of their conditions
    met = np.empty((n_used_features + most, n_words), np.uint64)
    row_of = np.empty(most, np.int64)
    # misses[j]: the rows that violate j players at least
    misses = np.zeros((min(max_order + 1, most) + 1, n_words), np.uint64)
    for r in range(n_rows):
        misses[0, r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = n_players[leaf]
        row_of[:k] = -1
        for e in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
            c = leaf_condition[e]
            s = np.int64(conditions.feature[c])
            if held[s] != c:
                held[s] = c
                _rows_meeting(c, conditions, n_bins, bin_ptr, rank, row_ptr, bits, met[s])
            p = player[e]
            if row_of[p] < 0:
                row_of[p] = s
            else:  # several features that count as one player
                for w in range(n_words):
                    met[n_used_features + p, w] = met[row_of[p], w] & met[s, w]
                row_of[p] = n_used_features + p
        top = min(max_order + 1, k)
        for j in range(1, top + 1):
            for w in range(n_words):
                misses[j, w] = np.uint64(0)
        for p in range(k):
            q = row_of[p]
            for j in range(min(top, p + 1), 0, -1):
                for w in range(n_words):
                    misses[j, w] |= misses[j - 1, w] & ~met[q, w]
        own = out[start[leaf] :]
        ranks = offset[k]
        for w in range(n_words):
            near = misses[0, w]
            if k > max_order:
                near &= ~misses[max_order + 1, w]
            if equal > 0.0:
                none = near if k == 0 else near & ~misses[1, w]
                own[0] += equal * np.float64(count_ones(none))
                near ^= none
            while near:
                low = near & (~near + np.uint64(1))
                near ^= low
                n, position = 0, 0
                for p in range(k):
                    if not met[row_of[p], w] & low:
                        n += 1
                        position += choose[p, n]
                own[ranks[n] + position] += weight[64 * w + np.int64(count_ones(low - np.uint64(1)))]
