"""Growing one family of a random planted forest, and predicting with the leaves of many."""

import numpy as np

from skglex._kernels.compilation import njit
from skglex._planted._kernels.loss import child_update, count_stats, is_additive, start_row, update_row
from skglex._planted._kernels.random_numbers import draw_weighted, next_below
from skglex._planted._kernels.split import FEW_CODES, RANDOM, best_threshold, is_lower, sum_rows, unsplit_loss

_BLOCK = 512


@njit(cache=True, nogil=True)
def _slot(features, size, k):
    """Where feature ``k`` stands, or would stand, among a tree's sorted features."""
    s = 0
    while s < size and features[s] < k:
        s += 1
    return s


@njit(cache=True, nogil=True)
def _grown_tree(tree_features, tree_size, n_trees, tree, k):
    """Number of the tree with the features of ``tree`` and ``k``; ``n_trees`` if there is none yet."""
    size = tree_size[tree]
    s = _slot(tree_features[tree], size, k)
    if s < size and tree_features[tree, s] == k:
        return tree
    # The row behind the last tree serves as scratch: it becomes the new tree if no other has these features.
    wanted = tree_features[n_trees]
    for i in range(size):
        wanted[i if i < s else i + 1] = tree_features[tree, i]
    wanted[s] = k
    tree_size[n_trees] = size + 1
    for other in range(n_trees):
        if tree_size[other] == size + 1:
            same = True
            for i in range(size + 1):
                same &= tree_features[other, i] == wanted[i]
            if same:
                return other
    return n_trees


@njit(cache=True, nogil=True)
def _copy_box(leaf, child, same_tree, s, size, n_codes, lo, hi, missing):
    """Give ``child`` the box of ``leaf``, with used_feature ``s`` opened for a new feature in another tree."""
    for i in range(size):
        to = i if same_tree or i < s else i + 1
        lo[child, to] = lo[leaf, i]
        hi[child, to] = hi[leaf, i]
        missing[child, to] = missing[leaf, i]
    if not same_tree:
        lo[child, s], hi[child, s], missing[child, s] = 0, n_codes, True


@njit(cache=True, nogil=True)
def _add_candidates(leaf, tree, tree_features, tree_size, max_interaction, n_features, pool, ages, n_pool):
    size = tree_size[tree]
    for k in range(n_features):
        s = _slot(tree_features[tree], size, k)
        if size < max_interaction or (s < size and tree_features[tree, s] == k):
            pool[n_pool, 0] = leaf
            pool[n_pool, 1] = k
            ages[n_pool] = 0
            n_pool += 1
    return n_pool


@njit(cache=True, nogil=True)
def _draw_rows(weight, bootstrap, state):
    """Return the drawn rows, each once, and their weights times how often they were drawn."""
    n_rows = weight.shape[0]
    drawn = weight.copy()
    if bootstrap:
        for i in range(n_rows):
            drawn[i] = 0.0
        for _ in range(n_rows):
            i = next_below(state, n_rows)
            drawn[i] += weight[i]
    rows = np.empty(n_rows, dtype=np.int32)
    size = 0
    for i in range(n_rows):
        if drawn[i] > 0:
            rows[size] = i
            size += 1
    return rows[:size], drawn


@njit(cache=True, nogil=True)
def _part_rows(rows, codes, missing_code, threshold, missing_left, scratch, out):
    """Write the left rows, then the right ones; return how many are left, and whether any is missing."""
    any_missing = False
    n_left, n_right = 0, 0
    for i in rows:
        code = codes[i]
        any_missing |= code == missing_code
        if missing_left if code == missing_code else code < threshold:
            out[n_left] = i
            n_left += 1
        else:
            scratch[n_right] = i
            n_right += 1
    for j in range(n_right):
        out[n_left + j] = scratch[j]
    return n_left, any_missing


@njit(cache=True, nogil=True)
def grow_family(
    codes,
    n_codes,
    y,
    sample_weight,
    loss,
    seed,
    max_interaction,
    n_splits,
    split_try,
    t_try,
    split_decay_rate,
    max_candidates,
    delete_leaves,
    bootstrap,
    min_samples_leaf,
    delta,
    epsilon,
    rule,
):
    """Grow one family on coded features; see ``docs/planted_forest.rst`` for the steps.

    Returns
    -------
    tree_features, tree_size : features of each tree, sorted, the first ``tree_size`` of each line
    leaf_tree, lo, hi, missing, values : tree of each leaf, its box in codes (in line with
        the tree's features), its value
    gains : per feature, how much its splits lowered the loss beyond updating their leaves as a whole
    """
    n_features, n_rows = codes.shape
    n_outputs = y.shape[1]
    n_stats = count_stats(loss, n_outputs)
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    rows, weight = _draw_rows(sample_weight, bootstrap and rule == RANDOM, state)

    target = y.copy()
    score = np.empty(y.shape)
    stats = np.empty((n_rows, n_stats))
    for i in rows:
        start_row(loss, i, weight[i], target, score, stats)

    width = max(1, min(max_interaction, n_features, n_splits))
    max_leaves = 1 + 2 * n_splits
    tree_features = np.empty((n_splits + 2, width), dtype=np.int64)
    tree_size = np.empty(n_splits + 2, dtype=np.int64)
    leaf_tree = np.empty(max_leaves, dtype=np.int64)
    leaf_start = np.empty(max_leaves, dtype=np.int64)
    leaf_rows = np.empty(max_leaves, dtype=np.int64)
    lo = np.empty((max_leaves, width), dtype=np.int64)
    hi = np.empty((max_leaves, width), dtype=np.int64)
    missing = np.empty((max_leaves, width), dtype=np.bool_)
    values = np.empty((max_leaves, n_outputs))
    gains = np.empty(n_features)
    for k in range(n_features):
        gains[k] = 0.0
    for q in range(n_outputs):
        values[0, q] = 0.0
    tree_size[0], leaf_tree[0], leaf_start[0] = 0, 0, 0

    capacity = n_features * max_leaves
    pool = np.empty((capacity, 2), dtype=np.int64)
    ages = np.empty(capacity, dtype=np.int64)
    keys = np.empty(capacity)
    order = np.empty(capacity)
    drawn = np.empty(min(max_candidates, capacity), dtype=np.int64)

    # All row lists stand one behind the other in one array, which doubles when it is full.
    arena = np.empty(4 * rows.shape[0], dtype=np.int32)
    used = 0
    for i in rows:
        arena[used] = i
        used += 1
    leaf_rows[0] = used
    # Typed numbers, so that no function is compiled a second time for a literal.
    n_trees, n_leaves, zero = np.int64(1), np.int64(1), np.int64(0)
    n_pool = _add_candidates(
        zero, zero, tree_features, tree_size, max_interaction, n_features, pool, ages, zero
    )

    most_codes = 0
    for k in range(n_features):
        most_codes = max(most_codes, n_codes[k] + 1)
    most_thresholds = min(split_try, most_codes) + 2
    local = np.empty(n_rows, dtype=np.int32)
    bits = np.empty((most_codes >> 6) + 1, dtype=np.uint64)
    table = np.empty(most_codes, dtype=np.int16)
    thresholds = np.empty(most_thresholds, dtype=np.int64)
    sums = np.empty((most_thresholds, n_stats))
    right_sums = np.empty((most_thresholds, n_stats))
    counts = np.empty(most_thresholds, dtype=np.int64)
    starts = np.empty(most_thresholds + 1, dtype=np.int64)
    code_sums = np.empty((min(most_codes, FEW_CODES), n_stats))
    code_counts = np.empty(min(most_codes, FEW_CODES), dtype=np.int64)
    sides = np.empty((2, n_stats))
    updates = np.empty((2, n_outputs))
    growths = np.empty((2, n_outputs))
    n_parts = 0 if is_additive(loss) else n_rows
    parts = np.empty((n_parts, n_outputs))
    part_weights = np.empty(n_parts)

    for _ in range(n_splits):
        n_drawn = max(1, min(int(np.ceil(t_try * n_pool)), max_candidates, n_pool))
        if rule != RANDOM or n_drawn == n_pool:
            for j in range(n_drawn):
                drawn[j] = j
        else:
            draw_weighted(state, ages, split_decay_rate, n_pool, n_drawn, keys, order, drawn)

        best, best_code, missing_left, winner = np.inf, np.int64(-1), False, -1
        for j in range(n_drawn):
            c = drawn[j]
            ages[c] += 1
            leaf, k = pool[c, 0], pool[c, 1]
            found, code, found_left = best_threshold(
                loss,
                arena[leaf_start[leaf] : leaf_start[leaf] + leaf_rows[leaf]],
                codes[k],
                np.int64(n_codes[k]),
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
                code_sums,
                code_counts,
                sums,
                right_sums,
                counts,
                starts,
                sides,
                updates,
                growths,
                parts,
                part_weights,
            )
            if is_lower(found, best, rule):
                best, best_code, missing_left, winner = found, code, found_left, c
        if winner < 0:
            continue
        ages[winner] = 0
        leaf, k = pool[winner, 0], pool[winner, 1]
        missing_code = n_codes[k]

        start, stop = leaf_start[leaf], leaf_start[leaf] + leaf_rows[leaf]
        if used + stop - start > arena.shape[0]:
            larger = np.empty(2 * arena.shape[0], dtype=np.int32)
            for j in range(used):
                larger[j] = arena[j]
            arena = larger
        unsplit = unsplit_loss(
            loss,
            arena[start:stop],
            delta,
            target,
            score,
            stats,
            sides[0],
            updates[0],
            growths[0],
            parts,
            part_weights,
        )
        gains[k] += max(0.0, unsplit - best)

        n_left, any_missing = _part_rows(
            arena[start:stop], codes[k], missing_code, best_code, missing_left, local, arena[used:]
        )
        n_right = stop - start - n_left
        if not any_missing:
            missing_left = n_left >= n_right
        middle = used + n_left
        for side in range(2):
            child_rows = arena[used:middle] if side == 0 else arena[middle : middle + n_right]
            sum_rows(child_rows, stats, sides[side])
            child_update(loss, sides[side], n_outputs, epsilon, updates[side])
            for i in child_rows:
                update_row(loss, i, weight[i], updates[side], target, score, stats)

        tree = leaf_tree[leaf]
        size = tree_size[tree]
        s = _slot(tree_features[tree], size, k)
        to = _grown_tree(tree_features, tree_size, n_trees, tree, k)
        if to == n_trees:
            n_trees += 1
        replaces = to == tree and delete_leaves
        left, right = n_leaves, leaf if replaces else n_leaves + 1
        n_leaves += 1 if replaces else 2

        for child in (left, right):
            if child != leaf:
                _copy_box(leaf, child, to == tree, s, size, missing_code, lo, hi, missing)
                leaf_tree[child] = to
            for q in range(n_outputs):
                values[child, q] = updates[0 if child == left else 1, q] + (
                    values[leaf, q] if replaces else 0.0
                )
        hi[left, s] = min(hi[left, s], best_code)
        lo[right, s] = max(lo[right, s], best_code)
        hi[right, s] = max(hi[right, s], lo[right, s])
        missing[left, s] &= missing_left
        missing[right, s] &= not missing_left
        leaf_start[left], leaf_rows[left] = used, n_left
        leaf_start[right], leaf_rows[right] = middle, n_right
        used = middle + n_right

        # A right child in its parent's place has the parent's candidates.
        first, second = (right, left) if to == tree else (left, right)
        for child in (first, second):
            if child == leaf:
                continue
            n_pool = _add_candidates(
                child, to, tree_features, tree_size, max_interaction, n_features, pool, ages, n_pool
            )

    if n_leaves == 1:
        # A family without a split predicts the best constant rather than 0.
        sum_rows(rows, stats, sides[0])
        child_update(loss, sides[0], n_outputs, epsilon, updates[0])
        for q in range(n_outputs):
            values[0, q] = updates[0, q]

    return (
        tree_features,
        tree_size,
        leaf_tree[:n_leaves],
        lo[:n_leaves],
        hi[:n_leaves],
        missing[:n_leaves],
        values[:n_leaves],
        gains,
    )


@njit(cache=True, nogil=True)
def add_leaves(X, leaf_ptr, feature, lo, hi, missing, values, out):
    """Add to ``out`` the value of every leaf whose box holds the row."""
    n_rows, n_features = X.shape
    n_outputs = values.shape[1]
    columns = np.empty((n_features, _BLOCK))
    inside = np.empty(_BLOCK, dtype=np.bool_)
    for start in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - start)
        for i in range(size):
            for k in range(n_features):
                columns[k, i] = X[start + i, k]
        for leaf in range(values.shape[0]):
            inside[:size] = True
            for c in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
                column = columns[feature[c]]
                low, high = lo[c], hi[c]
                # No comparison with NaN holds, so the two forms differ on missing values only.
                if missing[c]:
                    for i in range(size):
                        inside[i] &= not ((column[i] < low) | (column[i] >= high))
                else:
                    for i in range(size):
                        inside[i] &= (column[i] >= low) & (column[i] < high)
            for k in range(n_outputs):
                value = values[leaf, k]
                for i in range(size):
                    out[start + i, k] += value if inside[i] else 0.0
