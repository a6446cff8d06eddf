"""Walking trees: for a row, down to the leaf it reaches; at nodes on features that are averaged out, both ways."""

import numpy as np

from skglex._kernels._compile import njit

_LEAF, _BOTH = -1, -2
_BLOCK = 256  # rows that traverse a tree while it is in cache


@njit(cache=True, nogil=True)
def pack_trees(trees, free, leaf_value, nodes, root, value, visits, depth):
    """Write the trees node by node, depth first, a left child right after its parent.

    A node is (used_feature, cut + missing_left, right child, 2 * (1 + start of its mask) + missing_left), a leaf (-1, row of
    ``value``), a node that splits on a used_feature marked in ``free`` (-2, 0, right child, 0): both its children count.
    Where these are leaves, one leaf stands for all. Returns the numbers of nodes and leaves; ``visits`` takes the
    nodes that a row is expected to visit, if it goes either way as often as there are leaves, ``depth`` the splits on
    the longest path.
    """
    n_all = trees.left.shape[0]
    order = np.empty(n_all, np.int64)
    stack = np.empty(n_all + 1, np.int64)
    number = np.empty(n_all, np.int64)
    n_leaves = np.empty(n_all)
    expected = np.empty(n_all)
    single = np.empty(n_all, np.bool_)
    below = np.zeros(n_all, np.int64)
    width = leaf_value.shape[1]
    total = np.empty((n_all, width))
    at, n_values = 0, 0
    for t in range(trees.roots.shape[0] - 1):
        top, n = 0, 0
        stack[0] = trees.roots[t]
        while top >= 0:  # parents before their children, left before right
            node = stack[top]
            top -= 1
            order[n] = node
            n += 1
            if trees.left[node] >= 0:
                stack[top + 1], stack[top + 2] = trees.right[node], trees.left[node]
                top += 2
        for i in range(n - 1, -1, -1):
            node = order[i]
            left, right = trees.left[node], trees.right[node]
            if left < 0:
                single[node], n_leaves[node], expected[node] = True, 1.0, 1.0
                for o in range(width):
                    total[node, o] = leaf_value[trees.leaf[node], o]
                continue
            n_leaves[node] = n_leaves[left] + n_leaves[right]
            both = free[trees.used_feature[node]]
            single[node] = both and single[left] and single[right]
            below[node] = 0 if single[node] else 1 + max(below[left], below[right])
            if single[node]:
                expected[node] = 1.0
                for o in range(width):
                    total[node, o] = total[left, o] + total[right, o]
            elif both:
                expected[node] = 1.0 + expected[left] + expected[right]
            else:
                share = n_leaves[left] / n_leaves[node]
                expected[node] = 1.0 + share * expected[left] + (1.0 - share) * expected[right]
        visits[t], depth[t] = expected[order[0]], below[order[0]]
        root[t] = at
        top = 0
        stack[0] = order[0]
        # once more from the root; a right child tells its parent where it came to lie
        parent = order  # no longer needed: as a stack of packed parents
        parent[0] = -1
        while top >= 0:
            node, above = stack[top], parent[top]
            top -= 1
            number[node] = at
            if above >= 0:
                nodes[above, 2] = at
            nodes[at, 2], nodes[at, 3] = 0, 0
            if single[node]:
                nodes[at, 0], nodes[at, 1] = _LEAF, n_values
                for o in range(width):
                    value[n_values, o] = total[node, o]
                n_values += 1
            else:
                if free[trees.used_feature[node]]:
                    nodes[at, 0], nodes[at, 1] = _BOTH, 0
                else:
                    nodes[at, 0], nodes[at, 1] = (
                        trees.used_feature[node],
                        trees.cut[node] + trees.missing_left[node],
                    )
                    nodes[at, 3] = 2 * (1 + trees.mask[node]) + trees.missing_left[node]
                stack[top + 1], parent[top + 1] = trees.right[node], at
                stack[top + 2], parent[top + 2] = trees.left[node], -1
                top += 2
            at += 1
    return at, n_values


@njit(cache=True, nogil=True)
def traverse(bins, nodes, root, masks, missing, value, output, max_depth, r0, r1, out):
    """Add what rows ``r0 <= r < r1`` reach to ``out`` (outputs x rows), tree by tree."""
    n_used_features, width = bins.shape[0], value.shape[1]
    stack = np.empty(max_depth + 2, np.int64)
    row = np.empty((_BLOCK, n_used_features), np.int64)
    # missing counts as -1 where it goes left, as the largest bin of all where it goes right: (b + left) & last <= cut
    last = np.int64(2) ** (8 * bins.itemsize) - 1
    for start in range(r0, r1, _BLOCK):
        n = min(start + _BLOCK, r1) - start
        for s in range(n_used_features):
            for r in range(n):
                b = np.int64(bins[s, start + r])
                row[r, s] = last if b == missing[s] else b
        for t in range(root.shape[0]):
            for r in range(n):
                top = 0
                stack[0] = root[t]
                while top >= 0:
                    node = stack[top]
                    top -= 1
                    s = nodes[node, 0]
                    while s != _LEAF:
                        right = nodes[node, 2]
                        if s == _BOTH:
                            top += 1
                            stack[top] = right
                            node += 1
                        else:
                            b, how = row[r, s], nodes[node, 3]
                            left = ((b + how) & last) <= nodes[node, 1]
                            if how >= 2:
                                left = masks[(how >> 1) - 1 + (missing[s] if b == last else b)] != 0
                            node = node + 1 if left else right
                        s = nodes[node, 0]
                    for o in range(width):
                        out[output[t] + o, start + r] += value[nodes[node, 1], o]


@njit(cache=True, nogil=True)
def traverse_levels(bins, nodes, value_of, root, depth, missing, value, output, r0, r1, out):
    """As `traverse`, for trees without categories or nodes that are followed both ways: all rows a level at a time.

    Nodes are (used_feature, cut + 1 + missing_left, 4 * right child, missing_left). A leaf leads to itself, so every row takes
    as many steps as the tree is deep, without a branch. Its value is row ``value_of[node]`` of ``value``.
    """
    n_used_features, width = bins.shape[0], value.shape[1]
    # flat, with unsigned indices: there is no wrap-around to look out for
    row, node = np.empty(_BLOCK * n_used_features, np.uint32), nodes.ravel()
    at = np.empty(_BLOCK, np.uint32)
    last = np.uint32(np.int64(2) ** (8 * bins.itemsize) - 1)
    for start in range(r0, r1, _BLOCK):
        n = min(start + _BLOCK, r1) - start
        for s in range(n_used_features):
            for r in range(n):
                b = np.uint32(bins[s, start + r])
                row[r * n_used_features + s] = last if b == missing[s] else b
        for t in range(root.shape[0]):
            at[:n] = 4 * root[t]
            for _ in range(depth[t]):
                for r in range(n):
                    k = np.uint64(at[r])
                    b = row[np.uint64(r * n_used_features) + np.uint64(node[k])]
                    left = np.uint32(np.uint32(b + node[k + np.uint64(3)]) & last) < node[k + np.uint64(1)]
                    at[r] = np.uint32(k + np.uint64(4)) if left else node[k + np.uint64(2)]
            for o in range(width):
                for r in range(n):
                    out[output[t] + o, start + r] += value[value_of[at[r] >> 2], o]
