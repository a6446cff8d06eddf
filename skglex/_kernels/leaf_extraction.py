"""Turn binary trees into leaves: find which bins of which features reach each leaf."""

import numpy as np

from skglex._kernels.compilation import helper, kernel


@kernel
def measure_trees(left, right, roots, n_features):
    """Return the number of leaves, a bound of the number of leaf conditions, and the depth of the deepest node."""
    n_leaves, n_leaf_conditions, max_depth = 0, 0, 0
    stack = np.empty(left.shape[0] + 1, np.int64)
    depths = np.empty(left.shape[0] + 1, np.int64)
    for t in range(roots.shape[0] - 1):
        top = 0
        stack[0], depths[0] = roots[t], 0
        while top >= 0:
            node, depth = stack[top], depths[top]
            top -= 1
            if left[node] < 0:
                n_leaves += 1
                n_leaf_conditions += min(depth, n_features)
                max_depth = max(max_depth, depth)
            else:
                for child in (right[node], left[node]):
                    top += 1
                    stack[top], depths[top] = child, depth + 1
    return n_leaves, n_leaf_conditions, max_depth


@helper
def _copy_path(s, n_bins, n, path, new_path):
    """Copy a path's n conditions and insert one on used_feature s if there is none; return their number and its place.

    A condition has the columns used_feature, lo, hi, missing, mask and node. A new one holds for all bins.
    """
    at = 0
    while at < n and path[at, 0] < s:
        at += 1
    known = at < n and path[at, 0] == s
    shift = 0 if known else 1
    for i in range(n):
        j = i if i < at else i + shift
        for column in range(6):
            new_path[j, column] = path[i, column]
    if not known:
        new_path[at, 0], new_path[at, 1], new_path[at, 2] = s, 0, n_bins - 1
        new_path[at, 3], new_path[at, 4] = 1, -1
    return n + shift, at


@helper
def _add_mask(goes_left, is_left, n_bins, old, pool, size):
    """Append to ``pool`` the bins of mask ``old`` (-1: all) that a split sends to one side; return the pool."""
    if size + n_bins > pool.shape[0]:
        grown = np.empty(2 * (size + n_bins), np.uint8)
        for b in range(size):  # A slice assignment would take a second to compile.
            grown[b] = pool[b]
        pool = grown
    for b in range(n_bins):
        inside = (goes_left[b] != 0) == is_left
        if old >= 0 and pool[old + b] == 0:
            inside = False
        pool[size + b] = inside
    return pool


@kernel
def extract_leaves(trees, n_bins, max_depth, leaves):
    """Walk every tree depth first and write each leaf's conditions, sorted by feature; return the pool of masks.

    A numeric condition is the interval of bins ``[lo, hi)`` and whether missing belongs to it. A categorical one is a
    mask over the feature's bins in the pool.
    """
    left, right = trees.left, trees.right
    width = min(max_depth, n_bins.shape[0]) + 1
    # Row d of these holds the conditions of the path's node at depth d, so a child rewrites row d + 1 only.
    size = np.zeros(max_depth + 2, np.int64)
    path = np.empty((max_depth + 2, width, 6), np.int64)
    pool = np.empty(1024, np.uint8)
    pool_size = 0
    stack = np.empty(2 * max_depth + 4, np.int64)
    parents = np.empty(2 * max_depth + 4, np.int64)
    depths = np.empty(2 * max_depth + 4, np.int64)
    leaf, e = 0, 0
    leaves.ptr[0] = 0
    for t in range(trees.roots.shape[0] - 1):
        leaves.tree_ptr[t] = leaf
        top = 0
        stack[0], parents[0], depths[0] = trees.roots[t], -1, 0
        while top >= 0:
            node, parent, d = stack[top], parents[top], depths[top]
            top -= 1
            if parent >= 0:
                s, is_left = trees.used_feature[parent], left[parent] == node
                size[d], at = _copy_path(s, n_bins[s], size[d - 1], path[d - 1], path[d])
                if trees.mask[parent] < 0:
                    # A threshold outside the interval so far leaves an empty interval, not one that ends first.
                    lo, hi, end = path[d, at, 1], path[d, at, 2], trees.cut[parent] + 1
                    if is_left:
                        path[d, at, 2] = max(min(hi, end), lo)
                    else:
                        path[d, at, 1] = min(max(lo, end), hi)
                    if is_left != (trees.missing_left[parent] != 0):
                        path[d, at, 3] = 0
                else:
                    goes_left = trees.masks[trees.mask[parent] :]
                    pool = _add_mask(goes_left, is_left, n_bins[s], path[d, at, 4], pool, pool_size)
                    path[d, at, 4] = pool_size
                    pool_size += n_bins[s]
                path[d, at, 5] = node
                leaves.feature[node], leaves.lo[node], leaves.hi[node] = s, path[d, at, 1], path[d, at, 2]
                leaves.missing[node], leaves.mask[node] = path[d, at, 3] != 0, path[d, at, 4]
            else:
                size[0] = 0
            if left[node] < 0:
                for i in range(size[d]):
                    leaves.condition_node[e] = path[d, i, 5]
                    e += 1
                leaves.node[leaf] = node
                leaf += 1
                leaves.ptr[leaf] = e
            else:
                for child in (right[node], left[node]):
                    top += 1
                    stack[top], parents[top], depths[top] = child, node, d + 1
    leaves.tree_ptr[trees.roots.shape[0] - 1] = leaf
    return pool[:pool_size]


@kernel
def path_ratios(trees, cover_ratio, paths, condition_feature, n_features, out):
    """Write, for every leaf condition, the product of the cover ratios below the path's splits on its feature.

    ``cover_ratio`` is cover(node) / cover(parent) of every node.
    """
    ratio = np.ones(n_features)
    stack, depths = np.empty(trees.left.shape[0] + 1, np.int64), np.empty(trees.left.shape[0] + 1, np.int64)
    # The feature that the path's node at each depth multiplied, and its ratio before.
    feature, before = np.empty(trees.left.shape[0] + 1, np.int64), np.empty(trees.left.shape[0] + 1)
    parents = np.empty(trees.left.shape[0] + 1, np.int64)
    for t in range(trees.roots.shape[0] - 1):
        top, depth = 0, 0
        stack[0], parents[0], depths[0] = trees.roots[t], -1, 0
        while top >= 0:
            node, parent, d = stack[top], parents[top], depths[top]
            top -= 1
            while depth > 0 and depth >= d:
                ratio[feature[depth]] = before[depth]
                depth -= 1
            if parent >= 0:
                s = np.int64(trees.used_feature[parent])
                depth += 1
                feature[depth], before[depth] = s, ratio[s]
                ratio[s] *= cover_ratio[node]
            if trees.left[node] < 0:
                leaf = trees.leaf[node]
                for e in range(paths.ptr[leaf], paths.ptr[leaf + 1]):
                    out[e] = ratio[condition_feature[paths.condition[e]]]
            else:
                for child in (trees.right[node], trees.left[node]):
                    top += 1
                    stack[top], parents[top], depths[top] = child, node, d + 1
        ratio[:] = 1.0
