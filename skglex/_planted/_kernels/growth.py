"""Grow one family of a random planted forest.

The features are codes; the docstring of the module ``split`` defines them. One array, the arena, holds the row
numbers of all leaves, leaf after leaf. It doubles when it is full. Rows of replaced leaves stay in it.
"""

import numpy as np

from skglex._kernels.compilation import helper, inlined, kernel
from skglex._planted._kernels.arguments import CANDIDATES, LEAVES, ROWS, TREES
from skglex._planted._kernels.loss import child_update, start_row, update_row
from skglex._planted._kernels.random_numbers import draw_weighted, next_below
from skglex._planted._kernels.split import RANDOM, best_threshold, is_lower, sum_rows, unsplit_loss


@helper
def _find_feature(features, size, k):
    """Return the position of feature ``k``, or the place to insert it, among a tree's sorted features."""
    s = 0
    while s < size and features[s] < k:
        s += 1
    return s


@helper
def _find_tree(family, tree, k):
    """Return the number of the tree with the features of ``tree`` and ``k``; add the tree if it is new."""
    tree_features, tree_size = family.tree_features, family.tree_size
    n_trees, size = family.sizes[TREES], tree_size[tree]
    s = _find_feature(tree_features[tree], size, k)
    if s < size and tree_features[tree, s] == k:
        return tree
    # Write the features behind the last tree: if no tree has the same ones, they already are the new tree.
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
    family.sizes[TREES] += 1
    return n_trees


@helper
def _copy_box(family, leaf, child, same_tree, s, n_codes):
    """Copy the box of ``leaf`` to ``child``; in another tree, insert the whole range of codes at position ``s``."""
    lo, hi, missing = family.lo, family.hi, family.missing
    for i in range(family.tree_size[family.leaf_tree[leaf]]):
        to = i if same_tree or i < s else i + 1
        lo[child, to] = lo[leaf, i]
        hi[child, to] = hi[leaf, i]
        missing[child, to] = missing[leaf, i]
    if not same_tree:
        lo[child, s], hi[child, s], missing[child, s] = 0, n_codes, True


@helper
def _add_candidates(leaf, family, max_interaction):
    """Add one candidate for each feature on which the leaf may be split."""
    tree = family.leaf_tree[leaf]
    size = family.tree_size[tree]
    features = family.tree_features[tree]
    n_pool = family.sizes[CANDIDATES]
    for k in range(family.gains.shape[0]):
        s = _find_feature(features, size, k)
        if size < max_interaction or (s < size and features[s] == k):
            family.pool[n_pool, 0] = leaf
            family.pool[n_pool, 1] = k
            family.ages[n_pool] = 0
            n_pool += 1
    family.sizes[CANDIDATES] = n_pool


@inlined
def _draw_rows(sample_weight, bootstrap, state, weight):
    """Return the distinct drawn rows; write sample weight times number of draws to ``weight``."""
    n_rows = weight.shape[0]
    for i in range(n_rows):
        weight[i] = 0.0 if bootstrap else sample_weight[i]
    if bootstrap:
        for _ in range(n_rows):
            i = next_below(state, n_rows)
            weight[i] += sample_weight[i]
    rows = np.empty(n_rows, dtype=np.int32)
    size = 0
    for i in range(n_rows):
        if weight[i] > 0:
            rows[size] = i
            size += 1
    return rows[:size]


@inlined
def _draw_candidates(state, family, parameters, scratch):
    """Choose the candidates to try next, and increase their ages; return the number of candidates."""
    n_pool, drawn = family.sizes[CANDIDATES], scratch.drawn
    n_drawn = max(1, min(int(np.ceil(parameters.t_try * n_pool)), parameters.max_candidates, n_pool))
    if parameters.rule != RANDOM or n_drawn == n_pool:
        for j in range(n_drawn):
            drawn[j] = j
    else:
        decay = parameters.split_decay_rate
        draw_weighted(state, family.ages, decay, n_pool, n_drawn, scratch.keys, scratch.order, drawn)
    for j in range(n_drawn):
        family.ages[drawn[j]] += 1
    return n_drawn


@inlined
def _best_candidate(codes, n_codes, arena, data, family, parameters, state, scratch):
    """Return the candidate with the best threshold (-1 if no candidate has one), loss, code and missing_left."""
    best, best_code, best_missing_left, winner = np.inf, np.int64(-1), False, np.int64(-1)
    for j in range(_draw_candidates(state, family, parameters, scratch)):
        c = scratch.drawn[j]
        leaf, k = family.pool[c, 0], family.pool[c, 1]
        start = family.leaf_start[leaf]
        rows = arena[start : start + family.leaf_rows[leaf]]
        loss, code, missing_left = best_threshold(
            rows, codes[k], n_codes[k], data, parameters, state, scratch
        )
        if is_lower(loss, best, parameters.rule):
            best, best_code, best_missing_left, winner = loss, code, missing_left, c
    return winner, best, best_code, best_missing_left


@inlined
def _reserve(arena, used, size):
    """Return the arena, doubled if ``size`` more rows do not fit behind the first ``used`` ones."""
    if used + size <= arena.shape[0]:
        return arena
    larger = np.empty(2 * arena.shape[0], dtype=np.int32)
    for j in range(used):
        larger[j] = arena[j]
    return larger


@helper
def _part_rows(rows, codes, missing_code, threshold, missing_left, scratch, out):
    """Write the left rows, then the right rows; return the number of left rows and whether any value is missing."""
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


@inlined
def _update_child(rows, data, parameters, sums, update):
    """Compute the update of a child with these rows, and apply it to the rows."""
    sum_rows(rows, data.stats, sums)
    child_update(parameters.loss, sums, update.shape[0], parameters.epsilon, update)
    for i in rows:
        update_row(parameters.loss, i, update, data)


@inlined
def _plant_children(leaf, k, n_codes, code, missing_left, n_left, n_right, family, parameters, updates):
    """Add the two children of a leaf and their candidates; the children's rows are the next ones in the arena."""
    tree = family.leaf_tree[leaf]
    s = _find_feature(family.tree_features[tree], family.tree_size[tree], k)
    to = _find_tree(family, tree, k)
    # The right child takes the place of a leaf that is replaced.
    replaces = to == tree and parameters.delete_leaves
    left = family.sizes[LEAVES]
    right = leaf if replaces else left + 1
    family.sizes[LEAVES] += 1 if replaces else 2

    values = family.values
    for child in (left, right):
        if child != leaf:
            _copy_box(family, leaf, child, to == tree, s, n_codes)
            family.leaf_tree[child] = to
        for q in range(values.shape[1]):
            values[child, q] = updates[0 if child == left else 1, q] + (values[leaf, q] if replaces else 0.0)
    lo, hi, missing = family.lo, family.hi, family.missing
    hi[left, s] = min(hi[left, s], code)
    lo[right, s] = max(lo[right, s], code)
    hi[right, s] = max(hi[right, s], lo[right, s])
    missing[left, s] &= missing_left
    missing[right, s] &= not missing_left
    used = family.sizes[ROWS]
    family.leaf_start[left], family.leaf_rows[left] = used, n_left
    family.leaf_start[right], family.leaf_rows[right] = used + n_left, n_right
    family.sizes[ROWS] += n_left + n_right

    first, second = (right, left) if to == tree else (left, right)
    for child in (first, second):
        # A right child that replaces its parent inherits the parent's candidates.
        if child != leaf:
            _add_candidates(child, family, parameters.max_interaction)


@kernel
def grow_family(codes, n_codes, sample_weight, data, family, parameters, state, scratch):
    """Grow one family on coded features; ``docs/explain/planted_forest.rst`` describes the steps.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples), int32
    n_codes : ndarray of shape (n_features,), int64
    sample_weight : ndarray of shape (n_samples,), float64
    data : RowArrays
        Only the target must be filled.
    family : Family
        A family without splits. It is grown in place.
    parameters : Parameters
    state : ndarray of shape (1,), uint64
        State of the random number generator.
    scratch : Scratch
    """
    rows = _draw_rows(sample_weight, parameters.bootstrap, state, data.weight)
    for i in rows:
        start_row(parameters.loss, i, data)
    n_rows = rows.shape[0]
    arena = np.empty(4 * n_rows, dtype=np.int32)
    for j in range(n_rows):
        arena[j] = rows[j]
    family.leaf_rows[0] = family.sizes[ROWS] = n_rows
    _add_candidates(np.int64(0), family, parameters.max_interaction)

    for _ in range(parameters.n_splits):
        winner, loss, code, missing_left = _best_candidate(
            codes, n_codes, arena, data, family, parameters, state, scratch
        )
        if winner < 0:
            continue
        family.ages[winner] = 0
        leaf, k = family.pool[winner, 0], family.pool[winner, 1]
        start, size = family.leaf_start[leaf], family.leaf_rows[leaf]
        used = family.sizes[ROWS]
        arena = _reserve(arena, used, size)
        leaf_rows, child_rows = arena[start : start + size], arena[used : used + size]
        family.gains[k] += max(0.0, unsplit_loss(leaf_rows, data, parameters, scratch) - loss)
        n_left, any_missing = _part_rows(
            leaf_rows, codes[k], n_codes[k], code, missing_left, scratch.local, child_rows
        )
        n_right = size - n_left
        if not any_missing:
            missing_left = n_left >= n_right
        sides, updates = scratch.sides, scratch.updates
        _update_child(child_rows[:n_left], data, parameters, sides[0], updates[0])
        _update_child(child_rows[n_left:], data, parameters, sides[1], updates[1])
        _plant_children(leaf, k, n_codes[k], code, missing_left, n_left, n_right, family, parameters, updates)

    if family.sizes[LEAVES] == 1:
        # A family without a split predicts the best constant rather than 0.
        _update_child(rows, data, parameters, scratch.sides[0], family.values[0])
