"""Hold the background as bit sets (`skglex._kernels.arguments.BitSets`): count the rows that violate few players.

The rows that meet a condition are one bit set or, for an interval, the difference of two. Intersections and unions of
bit sets handle 64 rows in one operation.
"""

import numpy as np

from skglex._kernels.compilation import helper, inlined, kernel

# Words whose bits are counted in the time of one call, and in the time that one player of one row takes.
_CALL, _VISIT = 80, 6
# Words that are not empty are moved together if they are at most one of so many.
_SPARSE = 2


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


@inlined
def _and_not(first, second, out):
    """Write the bits of ``first`` that are not in ``second``; return whether there are any."""
    found = np.uint64(0)
    for w in range(out.shape[0]):
        out[w] = first[w] & ~second[w]
        found |= out[w]
    return found != 0


@inlined
def _or_and_not(first, second, out):
    """Add the bits of ``first`` that are not in ``second`` to ``out``."""
    for w in range(out.shape[0]):
        out[w] |= first[w] & ~second[w]


@inlined
def _violate(met, every, one, two, three):
    """Add the rows that do not meet a player's conditions to those that violate at least one, two and three players."""
    for w in range(met.shape[0]):
        lost = ~met[w]
        three[w] |= two[w] & lost
        two[w] |= one[w] & lost
        one[w] |= every[w] & lost


@inlined
def _find_difference(first, second, out):
    """Write the bits of ``first`` that are not in ``second``; return the number of words with such bits."""
    n = 0
    for w in range(out.shape[0]):
        word = first[w] & ~second[w]
        out[w] = word
        n += word != 0
    return n


@inlined
def _move_together(rows, words):
    """Move the words that are not empty to the front, and write where they were."""
    n, n_words = 0, rows.shape[0]
    for start in range(0, n_words, 8):
        if start + 8 <= n_words:
            found = np.uint64(0)
            for i in range(8):
                found |= rows[np.uint64(start + i)]
            if found == 0:
                continue
        for w in range(start, min(start + 8, n_words)):
            word = rows[w]
            rows[np.uint64(n)], words[np.uint64(n)] = word, w
            n += word != 0


@helper
def _gather_words(n_players, words, met, row_of, out):
    """Write some words of the rows that meet the conditions of each player."""
    for p in range(n_players):
        rows, some = met[row_of[p]], out[p]
        for i in range(some.shape[0]):
            some[i] = rows[np.uint64(words[i])]


@inlined
def _count_and_not(first, second):
    """Return the number of bits of ``first`` that are not in ``second``."""
    n = np.int64(0)
    for w in range(first.shape[0]):
        n += np.int64(count_ones(first[w] & ~second[w]))
    return n


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
        _and_not(bits[hi], bits[lo], out)
        if conditions.missing[c] == last:
            lo, hi = row + below[last], row + below[last + 1]
            _or_and_not(bits[hi], bits[lo], out)
        return
    for w in range(out.shape[0]):
        out[w] = np.uint64(0)
    for b in range(last + 1):
        if conditions.masks[conditions.mask[c] + b]:
            lo, hi = row + below[b], row + below[b + 1]
            _or_and_not(bits[hi], bits[lo], out)


@helper
def _meet_players(leaf, n_players, conditions, paths, players, sets, current, met, row_of):
    """Fill ``met`` with the rows that meet the conditions of each player of a leaf; player p has row ``row_of[p]``.

    Row s holds the rows that meet the condition ``current[s]``. Neighbouring leaves share most conditions. The rows
    after those of the features are for players with several features.
    """
    n_used_features = current.shape[0]
    for p in range(n_players):
        row_of[p] = -1
    for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
        c = paths.condition[e]
        s = np.int64(conditions.feature[c])
        if current[s] != c:
            current[s] = c
            find_rows(c, conditions, sets, met[s])
        p = players.position[e]
        if row_of[p] < 0:
            row_of[p] = s
            continue
        # The player is a group of features: all of its conditions must hold.
        joint, one, other = met[n_used_features + p], met[row_of[p]], met[s]
        for w in range(joint.shape[0]):
            joint[w] = one[w] & other[w]
        row_of[p] = n_used_features + p


@helper
def _count_sets(n, k, met, row_of, choose, equal, left, pick, weight):
    """Add the rows in ``left[0]``, each of which violates n of k players, to the weights of those sets of players.

    Every row has the weight ``equal``. ``left[j]`` receives the rows that violate the first j players of a set.
    """
    pick[0, 0], pick[0, 1], j = 0, 0, 0
    while j >= 0:
        # The player of the set in turn, and the rank of the players before it.
        p, rank = pick[j, 0], pick[j, 1]
        if p > k - n + j:
            j -= 1
            continue
        pick[j, 0] = p + 1
        rank += choose[p, j + 1]
        if j == n - 1:
            weight[rank] += equal * np.float64(_count_and_not(left[j], met[row_of[p]]))
        elif _and_not(left[j], met[row_of[p]], left[j + 1]):
            j += 1
            pick[j, 0], pick[j, 1] = p + 1, rank


@helper
def _visit_rows(k, rows, met, row_of, choose, row_weight, weight):
    """Do the same as `_count_sets` row by row, for any weights; ``rows`` is the set of rows."""
    i, rank = np.zeros(64, np.int64), np.zeros(64, np.int64)
    for w in range(rows.shape[0]):
        near = rows[w]
        if near == 0:
            continue
        # The players come one after the other, and the rows of the word keep their sets.
        for p in range(k):
            lost = near & ~met[row_of[p], w]
            while lost:
                low = lost & (~lost + np.uint64(1))
                lost ^= low
                b = position_of(low)
                i[b] += 1
                rank[b] += choose[p, i[b]]
        while near:
            low = near & (~near + np.uint64(1))
            near ^= low
            b = position_of(low)
            weight[rank[b]] += row_weight[64 * w + b]
            i[b], rank[b] = 0, 0


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
    current = np.full(n_used_features, -1, np.int64)
    met = np.empty((n_used_features + most, n_words), np.uint64)
    row_of = np.empty(most, np.int64)
    # violated[j] is the set of the rows that violate at least j players of the leaf.
    top = min(max_order + 1, most)
    violated, left = np.zeros((top + 1, n_words), np.uint64), np.empty((top + 1, n_words), np.uint64)
    pick, none = np.empty((top + 1, 2), np.int64), np.zeros(n_words, np.uint64)
    # Where the words of the rows at hand are, the words there of the rows that meet each player, and their rows.
    words, near, every = np.empty(n_words, np.int64), np.empty(most * n_words, np.uint64), np.arange(most)
    for r in range(sets.n_rows):
        violated[0, r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        k = n_players[leaf]
        _meet_players(leaf, k, conditions, paths, players, sets, current, met, row_of)
        top = min(max_order + 1, k)
        for j in range(1, top + 1):
            for w in range(n_words):
                violated[j, w] = np.uint64(0)
        for p in range(k):
            if top == 3:
                _violate(met[row_of[p]], violated[0], violated[1], violated[2], violated[3])
                continue
            for j in range(min(top, p + 1), 0, -1):
                _or_and_not(violated[j - 1], met[row_of[p]], violated[j])
        offset = ranks.offset[k]
        for n in range(min(max_order, k) + 1):
            leaf_weight = out[wanted.start[leaf] + offset[n] :]
            size = _find_difference(violated[n], violated[n + 1] if n < k else none, left[0])
            n_rows = _count_and_not(left[0], none) if size > 0 else 0
            if n == 0 and equal > 0.0:
                leaf_weight[0] += equal * np.float64(n_rows)
            elif equal == 0.0 or (offset[n + 1] - offset[n]) * (size + _CALL) >= n_rows * k * _VISIT:
                _visit_rows(k, left[0], met, row_of, choose, weight, leaf_weight)
            elif _SPARSE * size > n_words:
                _count_sets(n, k, met, row_of, choose, equal, left, pick, leaf_weight)
            else:
                _move_together(left[0], words)
                some_met = near[: k * size].reshape(k, size)
                _gather_words(k, words, met, row_of, some_met)
                some_left = left.ravel()[: (n + 1) * size].reshape(n + 1, size)
                _count_sets(n, k, some_met, every, choose, equal, some_left, pick, leaf_weight)


@kernel
def add_leaves(sets, conditions, paths, values, start, out):
    """Add the value of every leaf to the rows of a block that meet all of its conditions.

    The block begins with row ``start`` of ``out``.

    Parameters
    ----------
    sets : BitSets
    conditions : Conditions
    paths : Paths
    values : LeafValues
    start : int
    out : ndarray of shape (n_outputs, n_rows), float64
    """
    n_used_features, n_words = sets.n_bins.shape[0], sets.bits.shape[1]
    current, met = np.full(n_used_features, -1, np.int64), np.empty((n_used_features, n_words), np.uint64)
    reached = np.empty(n_words, np.uint64)
    for leaf in range(paths.ptr.shape[0] - 1):
        for w in range(n_words):
            reached[w] = ~np.uint64(0)
        for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
            c = paths.condition[e]
            s = np.int64(conditions.feature[c])
            rows = met[s]
            if current[s] != c:
                current[s] = c
                find_rows(c, conditions, sets, rows)
            for w in range(n_words):
                reached[w] &= rows[w]
        for w in range(n_words):
            word = reached[w]
            while word:
                low = word & (~word + np.uint64(1))
                word ^= low
                r = 64 * w + position_of(low)
                if r < sets.n_rows:  # A leaf without conditions has all bits.
                    for o in range(values.value.shape[1]):
                        out[values.output[leaf] + o, start + r] += values.value[leaf, o]
