"""Hold the background as bit sets (`skglex._kernels.arguments.BitSets`): count the rows that violate few players.

The rows that meet a condition are one bit set or, for an interval, the difference of two. Intersections and unions of
bit sets handle 64 rows in one operation.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel


@kernel
def rank_bins(bins, r0, r1, n_bins, bin_ptr, rank, row_ptr):
    """Enumerate the bins that occur: ``rank[bin_ptr[s] + b]`` counts those of used_feature s below b.

    Used_feature s has the rows ``row_ptr[s]`` up to ``row_ptr[s + 1]`` of the bit sets, one more than bins that occur.
    """
    row_ptr[0] = 0
    for s in range(n_bins.shape[0]):
        below = rank[bin_ptr[s] : bin_ptr[s] + n_bins[s] + 1]
        below[:] = 0
        for r in range(r0, r1):
            below[bins[s, r] + 1] = 1
        for b in range(n_bins[s]):
            below[b + 1] += below[b]
        row_ptr[s + 1] = row_ptr[s] + below[n_bins[s]] + 1


@kernel
def fill_bits(bins, r0, r1, bin_ptr, rank, row_ptr, bits):
    """Write to row ``row_ptr[s] + i`` the set of the rows whose bin is among the i smallest of used_feature s."""
    bits[:] = 0
    for s in range(row_ptr.shape[0] - 1):
        for r in range(r0, r1):
            row = row_ptr[s] + rank[bin_ptr[s] + bins[s, r]] + 1
            bits[row, (r - r0) >> 6] |= np.uint64(1) << np.uint64((r - r0) & 63)
        for row in range(row_ptr[s] + 1, row_ptr[s + 1]):
            for w in range(bits.shape[1]):
                bits[row, w] |= bits[row - 1, w]


@kernel
def count_ones(word):
    """Return the number of bits that are set in a 64-bit word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


# Where a bit is in a word, by the six upper bits of its product with a constant in which they all differ.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, np.int64)
_POSITION[[(int(_DE_BRUIJN) << bit) % 2**64 >> 58 for bit in range(64)]] = np.arange(64)


@helper
def position_of(bit):
    """Return the position of the only bit that is set in a 64-bit word."""
    return _POSITION[(bit * _DE_BRUIJN) >> np.uint64(58)]


@kernel
def find_rows(c, conditions, sets, out):
    """Write the set of the rows that meet condition c."""
    s = conditions.feature[c]
    below = sets.rank[sets.bin_ptr[s] :]
    row = sets.row_ptr[s]
    last = sets.n_bins[s] - 1
    bits = sets.bits
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


@kernel
def add_near_misses(sets, conditions, paths, players, wanted, ranks, out):
    """Add the weight of each background row of a block to the set of players that it violates.

    Only sets of at most ``wanted.max_order`` players count. The sets of a leaf are listed by rank.
    """
    n_used_features, n_words = sets.n_bins.shape[0], sets.bits.shape[1]
    leaves, max_order, n_players = wanted.leaves, wanted.max_order, players.n_players
    weight, equal, choose = sets.weight, sets.equal, ranks.choose
    most = 0
    for i in range(leaves.shape[0]):
        most = max(most, n_players[leaves[i]])
    # Row s of ``met`` holds the rows that meet the condition current[s]. Neighbouring leaves share most conditions.
    current = np.full(n_used_features, -1, np.int64)
    met = np.empty((n_used_features + most, n_words), np.uint64)
    row_of = np.empty(most, np.int64)
    n_violated, position = np.zeros(64, np.int64), np.zeros(64, np.int64)
    # violated[j] is the set of the rows that violate at least j players of the leaf.
    violated = np.zeros((min(max_order + 1, most) + 1, n_words), np.uint64)
    for r in range(sets.n_rows):
        violated[0, r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = n_players[leaf]
        row_of[:k] = -1
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            c = paths.condition[e]
            s = np.int64(conditions.feature[c])
            if current[s] != c:
                current[s] = c
                find_rows(c, conditions, sets, met[s])
            p = players.position[e]
            if row_of[p] < 0:
                row_of[p] = s
            else:  # The player is a group of features: all of its conditions must hold.
                for w in range(n_words):
                    met[n_used_features + p, w] = met[row_of[p], w] & met[s, w]
                row_of[p] = n_used_features + p
        top = min(max_order + 1, k)
        for j in range(1, top + 1):
            for w in range(n_words):
                violated[j, w] = np.uint64(0)
        for p in range(k):
            q = row_of[p]
            for j in range(min(top, p + 1), 0, -1):
                for w in range(n_words):
                    violated[j, w] |= violated[j - 1, w] & ~met[q, w]
        leaf_weight, offset = out[wanted.start[leaf] :], ranks.offset[k]
        for w in range(n_words):
            near = violated[0, w]
            if k > max_order:
                near &= ~violated[max_order + 1, w]
            if equal > 0.0:  # Rows of equal weight that violate nothing are counted, not visited.
                none = near if k == 0 else near & ~violated[1, w]
                leaf_weight[0] += equal * np.float64(count_ones(none))
                near ^= none
            if near == 0:
                continue
            # The players come one after the other, and the rows of the word keep their sets.
            for p in range(k):
                lost = near & ~met[row_of[p], w]
                while lost:
                    low = lost & (~lost + np.uint64(1))
                    lost ^= low
                    b = position_of(low)
                    n_violated[b] += 1
                    position[b] += choose[p, n_violated[b]]
            while near:
                low = near & (~near + np.uint64(1))
                near ^= low
                b = position_of(low)
                leaf_weight[offset[n_violated[b]] + position[b]] += weight[64 * w + b]
                n_violated[b], position[b] = 0, 0
