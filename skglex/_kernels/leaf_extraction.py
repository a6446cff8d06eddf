"""From binary trees to leaves: which bins of which features reach each leaf."""

import numpy as np

from skglex._kernels._compile import njit


@njit(cache=True, nogil=True)
def measure_trees(left, right, roots, n_features):
    """Count the leaves, bound the leaf conditions and find the deepest node of all trees."""
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


@njit(cache=True, nogil=True)
def extract_leaves(
    trees,
    share,
    n_bins,
    max_depth,
    leaf_node,
    tree_ptr,
    leaf_ptr,
    condition_feature,
    entry_lo,
    entry_hi,
    entry_missing,
    entry_mask,
    entry_ratio,
):
    """Walk every tree depth first and write each leaf's conditions, sorted by feature.

    A numeric condition is the interval of bins ``[lo, hi)`` and whether missing belongs to it. A
    categorical one is an inclusion mask over the feature's bins, returned in a pool that
    ``entry_mask`` points into (-1: numeric). ``entry_ratio`` is the product of the nodes' ``share``,
    cover(child) / cover(node), over the path's splits on that feature.
    """
    roots, left, right, used_feature, cut = (
        trees.roots,
        trees.left,
        trees.right,
        trees.used_feature,
        trees.cut,
    )
    n_used_features = n_bins.shape[0]
    width = min(max_depth, n_used_features) + 1
    # Row d of these holds the conditions of the path's node at depth d: a child rewrites row d + 1 only.
    size = np.zeros(max_depth + 2, np.int64)
    p_slot = np.empty((max_depth + 2, width), np.int64)
    p_lo = np.empty((max_depth + 2, width), np.int64)
    p_hi = np.empty((max_depth + 2, width), np.int64)
    p_missing = np.empty((max_depth + 2, width), np.uint8)
    p_mask = np.empty((max_depth + 2, width), np.int64)
    p_ratio = np.empty((max_depth + 2, width), np.float64)
    pool = np.empty(1024, np.uint8)
    pool_size = 0

    stack = np.empty(2 * max_depth + 4, np.int64)
    parents = np.empty(2 * max_depth + 4, np.int64)
    depths = np.empty(2 * max_depth + 4, np.int64)
    leaf, entry = 0, 0
    leaf_ptr[0] = 0
    for t in range(roots.shape[0] - 1):
        tree_ptr[t] = leaf
        top = 0
        stack[0], parents[0], depths[0] = roots[t], -1, 0
        while top >= 0:
            node, parent, d = stack[top], parents[top], depths[top]
            top -= 1
            if parent >= 0:
                s = used_feature[parent]
                is_left = left[parent] == node
                n = size[d - 1]
                # position of the split's feature among the sorted path features
                pos = 0
                while pos < n and p_slot[d - 1, pos] < s:
                    pos += 1
                known = pos < n and p_slot[d - 1, pos] == s
                shift = 0 if known else 1
                for i in range(n):
                    j = i if i < pos else i + shift
                    p_slot[d, j] = p_slot[d - 1, i]
                    p_lo[d, j] = p_lo[d - 1, i]
                    p_hi[d, j] = p_hi[d - 1, i]
                    p_missing[d, j] = p_missing[d - 1, i]
                    p_mask[d, j] = p_mask[d - 1, i]
                    p_ratio[d, j] = p_ratio[d - 1, i]
                size[d] = n + shift
                if not known:
                    p_slot[d, pos], p_lo[d, pos], p_hi[d, pos] = s, 0, n_bins[s] - 1
                    p_missing[d, pos], p_mask[d, pos], p_ratio[d, pos] = 1, -1, 1.0
                if trees.mask[parent] < 0:
                    # a threshold beyond those above it leaves the interval empty, not turned around
                    if is_left:
                        p_hi[d, pos] = max(min(p_hi[d, pos], cut[parent] + 1), p_lo[d, pos])
                    else:
                        p_lo[d, pos] = min(max(p_lo[d, pos], cut[parent] + 1), p_hi[d, pos])
                    if is_left != (trees.missing_left[parent] != 0):
                        p_missing[d, pos] = 0
                else:
                    nb = n_bins[s]
                    if pool_size + nb > pool.shape[0]:
                        grown = np.empty(2 * (pool_size + nb), np.uint8)
                        for b in range(pool_size):  # a slice assignment would take a second to compile
                            grown[b] = pool[b]
                        pool = grown
                    old = p_mask[d, pos]
                    for b in range(nb):
                        inside = (trees.masks[trees.mask[parent] + b] != 0) == is_left
                        if old >= 0 and pool[old + b] == 0:
                            inside = False
                        pool[pool_size + b] = inside
                    p_mask[d, pos] = pool_size
                    pool_size += nb
                p_ratio[d, pos] *= share[node]
            else:
                size[0] = 0
            if left[node] < 0:
                for i in range(size[d]):
                    condition_feature[entry], entry_ratio[entry] = p_slot[d, i], p_ratio[d, i]
                    entry_lo[entry], entry_hi[entry] = p_lo[d, i], p_hi[d, i]
                    entry_missing[entry], entry_mask[entry] = p_missing[d, i], p_mask[d, i]
                    entry += 1
                leaf_node[leaf] = node
                leaf += 1
                leaf_ptr[leaf] = entry
            else:
                for child in (right[node], left[node]):
                    top += 1
                    stack[top], parents[top], depths[top] = child, node, d + 1
    tree_ptr[roots.shape[0] - 1] = leaf
    return pool[:pool_size]
