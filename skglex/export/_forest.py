"""Trees as nodes, for formats that know trees rather than leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.drop_splits import bound_nodes, side_by_side


@dataclass(frozen=True)
class Forest:
    """Binary trees as flat arrays over the nodes of all of them.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int64
    left, right : ndarray of shape (n_nodes,), int64
        Children; -1 for a leaf.
    split : ndarray of shape (n_nodes,), int64
        Which split an inner node makes: a number that the maker of the forest gives a meaning. -1 for a leaf,
        and for an inner node that makes none: both its subtrees count, their values are added.
    value : ndarray of shape (n_nodes, width), float64
        Values of the leaves; 0 for inner nodes.
    """

    roots: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    split: NDArray[np.int64]
    value: NDArray[np.float64]

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    def levels(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The nodes level by level, left before right, and the tree of each."""
        nodes, trees, levels = self.roots, np.arange(self.n_trees), []
        while len(nodes):
            levels.append((nodes, trees))
            inner = self.left[nodes] >= 0
            nodes = np.column_stack([self.left[nodes[inner]], self.right[nodes[inner]]]).ravel()
            trees = np.repeat(trees[inner], 2)
        return levels

    def leaves(self) -> NDArray[np.int64]:
        """The leaves of every tree depth first, left before right, tree after tree: the readers' order."""
        out, stack = [], self.roots[::-1].tolist()
        left, right = self.left.tolist(), self.right.tolist()
        while stack:
            node = stack.pop()
            if left[node] < 0:
                out.append(node)
            else:
                stack += (right[node], left[node])
        return np.array(out, dtype=np.int64)


def drop_removed_splits(forest: Forest) -> tuple[Forest, NDArray[np.int64]]:
    """An equal sum of ordinary trees: none has an inner node without a split.

    A tree becomes a few trees, and the number of nodes hardly grows: an inner node without a split goes, its
    subtrees stand side by side from there on, and what is above it is copied for the additional ones. Leaves
    that are left beside no other tree are added to the leaves of the trees there are.

    Returns
    -------
    forest : Forest
        Its trees are contiguous, level by level, so that siblings are neighbours. Splits keep their numbers.
    origin : ndarray of shape (n_trees,), int64
        For every tree the one that it comes from, not decreasing; every tree of ``forest`` has at least one.
    """
    order = np.concatenate([nodes for nodes, _ in forest.levels()] or [forest.roots])
    n_trees, bound = bound_nodes(order, forest.left, forest.right, forest.split, forest.roots)
    roots, origin = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64)
    left, right, split = (np.empty(bound, np.int64) for _ in range(3))
    value = np.empty((bound, forest.value.shape[1]))
    given = forest.left, forest.right, forest.split, forest.value, forest.roots
    n_trees, size = side_by_side(order, *given, roots, origin, left, right, split, value)
    raw = Forest(roots[:n_trees], left[:size], right[:size], split[:size], value[:size])
    return _by_level(raw), origin[:n_trees]


def _by_level(forest: Forest) -> Forest:
    """Number the nodes tree after tree, and within a tree level by level."""
    levels = forest.levels()
    nodes = np.concatenate([nodes for nodes, _ in levels] or [forest.roots])
    trees = np.concatenate([trees for _, trees in levels] or [forest.roots])
    nodes = nodes[np.argsort(trees, kind="stable")]
    position = np.append(np.full(len(forest.left), -1), -1)
    position[nodes] = np.arange(len(nodes))
    return Forest(
        roots=position[forest.roots],
        left=position[forest.left[nodes]],
        right=position[forest.right[nodes]],
        split=forest.split[nodes],
        value=forest.value[nodes],
    )
