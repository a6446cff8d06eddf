"""Remove splits from trees: the subtrees of an inner node without a split stand side by side.

Below any node then lies a list of trees and a constant, whose sum counts. A node without a split joins the lists of
its sides and adds their constants. A node with a split becomes one node per pair of trees of its two sides. Where a
side has fewer trees, a leaf 0 takes their place, and the constant of a side goes into its first tree.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel


@kernel
def bound_nodes(order, left, right, split, roots):
    """Return how many trees, and how many nodes at most, `side_by_side` makes."""
    count = np.zeros(left.shape[0], np.int64)
    n_inner, n_trees = 0, 0
    for at in range(order.shape[0] - 1, -1, -1):
        node = order[at]
        if left[node] < 0:
            continue
        a, b = count[left[node]], count[right[node]]
        if split[node] < 0:
            count[node] = a + b
        else:
            count[node] = max(a, b, 1)
            n_inner += count[node]
    for root in roots:
        n_trees += max(count[root], 1)
    return n_trees, 2 * n_inner + n_trees


@helper
def _add_leaf(at, new_left, new_right, new_split, new_value):
    """Write a leaf of value 0."""
    new_left[at], new_right[at], new_split[at] = -1, -1, -1
    new_value[at] = 0.0


@helper
def _pair_trees(node, a, b, split, trees, constant, size, new_left, new_right, new_split, new_value):
    """Write one node per pair of trees of the sides a and b of a node; return the number of nodes so far.

    ``trees`` are the first and last tree below each node, and the tree that follows each in its list.
    """
    first, last, following = trees
    tree_a, tree_b = first[a], first[b]
    while True:
        begun = first[node] >= 0
        sides = (tree_a, tree_b)
        inner = size + (tree_a < 0) + (tree_b < 0)
        for side in range(2):
            tree, below = sides[side], (a, b)[side]
            if tree < 0:
                tree = size
                size += 1
                _add_leaf(tree, new_left, new_right, new_split, new_value)
            if not begun:
                new_value[tree] += constant[below]
            if side == 0:
                new_left[inner] = tree
            else:
                new_right[inner] = tree
        new_split[inner], new_value[inner] = split[node], 0.0
        size += 1
        if begun:
            following[last[node]] = inner
        else:
            first[node] = inner
        last[node] = inner
        if tree_a >= 0:
            tree_a = following[tree_a]
        if tree_b >= 0:
            tree_b = following[tree_b]
        if tree_a < 0 and tree_b < 0:
            return size


@kernel
def side_by_side(
    order, left, right, split, value, roots, new_root, new_origin, new_left, new_right, new_split, new_value
):
    """Replace every inner node without a split by both its subtrees, one beside the other.

    ``order`` has parents before children. Returns the number of trees and of nodes.
    """
    n, width = value.shape
    first, last = np.full(n, -1), np.full(n, -1)
    constant = np.zeros((n, width))
    following = np.full(new_left.shape[0], -1)
    size = 0
    for at in range(order.shape[0] - 1, -1, -1):
        node = order[at]
        if left[node] < 0:
            constant[node] = value[node]
            continue
        a, b = left[node], right[node]
        if split[node] < 0:
            constant[node] = constant[a] + constant[b]
            first[node], last[node] = first[a], last[b]
            if first[a] < 0:
                first[node] = first[b]
            elif first[b] < 0:
                last[node] = last[a]
            else:
                following[last[a]] = first[b]
        elif first[a] < 0 and first[b] < 0 and (constant[a] == constant[b]).all():
            constant[node] = constant[a]
        else:
            trees = first, last, following
            size = _pair_trees(
                node, a, b, split, trees, constant, size, new_left, new_right, new_split, new_value
            )
    n_trees = 0
    for t in range(roots.shape[0]):
        root = roots[t]
        tree = first[root]
        if tree < 0:
            tree = size
            size += 1
            _add_leaf(tree, new_left, new_right, new_split, new_value)
        new_value[tree] += constant[root]
        while tree >= 0:
            new_root[n_trees], new_origin[n_trees] = tree, t
            n_trees += 1
            tree = following[tree]
    # Constants that were added to inner nodes belong to their leaves. Children come before their parents.
    for node in range(size - 1, -1, -1):
        if new_left[node] >= 0:
            new_value[new_left[node]] += new_value[node]
            new_value[new_right[node]] += new_value[node]
            new_value[node] = 0.0
    return n_trees, size
