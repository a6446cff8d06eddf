r"""Walk trees: go down to the leaf that a row reaches, and both ways at nodes on features that are averaged out.

`pack_trees` writes the nodes depth first, a left child right after its parent, four int32 numbers each:

=========  ==============================  =================  ===========  ===================================
Node       Column 0                        Column 1           Column 2     Column 3
=========  ==============================  =================  ===========  ===================================
split      used_feature                    cut + missing_left right child  2 * (1 + mask) + missing_left
averaged   -2: both children count         0                  right child  0
leaf       -1                              row of ``value``   0            0
=========  ==============================  =================  ===========  ===================================

``mask`` is the start of a categorical split's bins in ``masks``, -1 for a threshold. The missing bin counts as the
largest number of the bins' type. Adding ``missing_left`` wraps it around to 0 where it goes left, so that the test
``(bin + missing_left) <= cut + missing_left`` sends missing values the right way without a branch of its own.

`traverse_levels` takes nodes of four uint32 numbers, whose leaves lead to themselves:

=========  ===================  ======================  ====================  ============
Node       Column 0             Column 1                Column 2              Column 3
=========  ===================  ======================  ====================  ============
split      used_feature         cut + 1 + missing_left  4 * right child       missing_left
leaf       0                    0: nothing is less      4 * the node itself   0
=========  ===================  ======================  ====================  ============
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel

_LEAF, _BOTH = -1, -2
_BLOCK = 256  # Rows that walk a tree while it is in cache.


@helper
def _summarise(trees, root, free, leaf_value, order, stack, single, total, n_leaves, expected, below):
    """Compute, from the leaves of a tree up, what `pack_trees` needs of every node.

    ``single``: whether all splits below are averaged out, so that one leaf of value ``total`` replaces the node;
    ``expected``: nodes that a row visits on average; ``below``: splits on the longest path. They are counted from the
    root. ``order`` receives the nodes, parents before their children.
    """
    top, n = 0, 0
    stack[0] = root
    while top >= 0:
        node = stack[top]
        top -= 1
        order[n] = node
        n += 1
        if trees.left[node] >= 0:
            stack[top + 1], stack[top + 2] = trees.right[node], trees.left[node]
            top += 2
    for i in range(n - 1, -1, -1):
        node = order[i]
        at, left, right = node - root, trees.left[node] - root, trees.right[node] - root
        if trees.left[node] < 0:
            single[at], n_leaves[at], expected[at], below[at] = True, 1.0, 1.0, 0
            for o in range(total.shape[1]):
                total[at, o] = leaf_value[trees.leaf[node], o]
            continue
        n_leaves[at] = n_leaves[left] + n_leaves[right]
        both = free[trees.used_feature[node]]
        single[at] = both and single[left] and single[right]
        below[at] = 0 if single[at] else 1 + max(below[left], below[right])
        if single[at]:
            expected[at] = 1.0
            for o in range(total.shape[1]):
                total[at, o] = total[left, o] + total[right, o]
        elif both:
            expected[at] = 1.0 + expected[left] + expected[right]
        else:
            left_part = n_leaves[left] / n_leaves[at]
            expected[at] = 1.0 + left_part * expected[left] + (1.0 - left_part) * expected[right]


@kernel
def pack_trees(trees, free, leaf_value, nodes, root, value, visits, depth):
    """Pack trees for `traverse`; return the numbers of nodes and of leaves.

    Nodes that split on a used_feature marked in ``free`` lead both ways. Where they have leaves below them only, one
    leaf replaces them all. ``visits`` receives the number of nodes of each tree that a row is expected to visit, if
    it goes either way in proportion to the leaves there, ``depth`` the number of splits on the longest path.
    """
    most = 0
    for t in range(trees.roots.shape[0] - 1):
        most = max(most, trees.roots[t + 1] - trees.roots[t])
    order, stack = np.empty(most, np.int64), np.empty(most + 1, np.int64)
    # The packed parent of a right child on the stack, which receives the child's number; else -1.
    parent = np.empty(most + 1, np.int64)
    n_leaves, expected = np.empty(most), np.empty(most)
    single, below = np.empty(most, np.bool_), np.empty(most, np.int64)
    total = np.empty((most, leaf_value.shape[1]))
    at, n_values = 0, 0
    for t in range(trees.roots.shape[0] - 1):
        root_of_tree = trees.roots[t]
        _summarise(
            trees, root_of_tree, free, leaf_value, order, stack, single, total, n_leaves, expected, below
        )
        visits[t], depth[t], root[t] = expected[0], below[0], at
        top = 0
        stack[0], parent[0] = root_of_tree, -1
        while top >= 0:
            node, above = stack[top], parent[top]
            top -= 1
            if above >= 0:
                nodes[above, 2] = at
            nodes[at, 2], nodes[at, 3] = 0, 0
            if single[node - root_of_tree]:
                nodes[at, 0], nodes[at, 1] = _LEAF, n_values
                for o in range(total.shape[1]):
                    value[n_values, o] = total[node - root_of_tree, o]
                n_values += 1
            else:
                if free[trees.used_feature[node]]:
                    nodes[at, 0], nodes[at, 1] = _BOTH, 0
                else:
                    missing_left = trees.missing_left[node]
                    nodes[at, 0], nodes[at, 1] = trees.used_feature[node], trees.cut[node] + missing_left
                    nodes[at, 3] = 2 * (1 + trees.mask[node]) + missing_left
                stack[top + 1], parent[top + 1] = trees.right[node], at
                stack[top + 2], parent[top + 2] = trees.left[node], -1
                top += 2
            at += 1
    return at, n_values


@kernel
def traverse(bins, trees, max_depth, r0, r1, out):
    """Add the leaves that rows ``r0 <= r < r1`` reach to ``out`` (outputs x rows), tree by tree."""
    nodes, missing, masks, value = trees.nodes, trees.missing, trees.masks, trees.value
    n_used_features, width = bins.shape[0], value.shape[1]
    stack = np.empty(max_depth + 2, np.int64)
    row = np.empty((_BLOCK, n_used_features), np.int64)
    last = np.int64(2) ** (8 * bins.itemsize) - 1
    for start in range(r0, r1, _BLOCK):
        n = min(start + _BLOCK, r1) - start
        for s in range(n_used_features):
            for r in range(n):
                b = np.int64(bins[s, start + r])
                row[r, s] = last if b == missing[s] else b
        for t in range(trees.root.shape[0]):
            for r in range(n):
                top = 0
                stack[0] = trees.root[t]
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
                        out[trees.output[t] + o, start + r] += value[nodes[node, 1], o]


@kernel
def traverse_levels(bins, trees, r0, r1, out):
    """Add the leaves that rows reach, for trees without categories or averaged nodes: all rows a level at a time.

    A leaf leads to itself, so every row takes as many steps as the tree is deep, without a branch.
    """
    missing, value, value_row = trees.missing, trees.value, trees.value_row
    n_used_features, width = bins.shape[0], value.shape[1]
    # Flat arrays and unsigned indices need no test for negative numbers.
    row, node = np.empty(_BLOCK * n_used_features, np.uint32), trees.nodes.ravel()
    at = np.empty(_BLOCK, np.uint32)
    last = np.uint32(np.int64(2) ** (8 * bins.itemsize) - 1)
    for start in range(r0, r1, _BLOCK):
        n = min(start + _BLOCK, r1) - start
        for s in range(n_used_features):
            for r in range(n):
                b = np.uint32(bins[s, start + r])
                row[r * n_used_features + s] = last if b == missing[s] else b
        for t in range(trees.root.shape[0]):
            at[:n] = 4 * trees.root[t]
            for _ in range(trees.depth[t]):
                for r in range(n):
                    k = np.uint64(at[r])
                    b = row[np.uint64(r * n_used_features) + np.uint64(node[k])]
                    left = np.uint32(np.uint32(b + node[k + np.uint64(3)]) & last) < node[k + np.uint64(1)]
                    at[r] = np.uint32(k + np.uint64(4)) if left else node[k + np.uint64(2)]
            for o in range(width):
                for r in range(n):
                    out[trees.output[t] + o, start + r] += value[value_row[at[r] >> 2], o]
