"""Hold trees as nodes, for formats that consist of trees rather than leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.drop_splits import bound_nodes, side_by_side
from skglex._leaves import LeafEnsemble, Trees


@dataclass(frozen=True)
class Forest:
    """Hold binary trees as flat arrays over all nodes.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int64
    left, right : ndarray of shape (n_nodes,), int64
        Children; -1 for a leaf.
    split : ndarray of shape (n_nodes,), int64
        Number of the split of an inner node, whose meaning depends on who made the forest (see `Splits`). -1 for a
        leaf, and for an inner node without a split: the values of both its subtrees are added.
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
        """Return the number of trees."""
        return len(self.roots)

    def levels(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the nodes level by level, left before right, and the tree of each node."""
        nodes, trees, levels = self.roots, np.arange(self.n_trees), []
        while len(nodes):
            levels.append((nodes, trees))
            inner = self.left[nodes] >= 0
            nodes = np.column_stack([self.left[nodes[inner]], self.right[nodes[inner]]]).ravel()
            trees = np.repeat(trees[inner], 2)
        return levels

    def leaves(self) -> NDArray[np.int64]:
        """Return the leaves in the readers' order: tree after tree, depth first, left before right."""
        out, stack = [], self.roots[::-1].tolist()
        left, right = self.left.tolist(), self.right.tolist()
        while stack:
            node = stack.pop()
            if left[node] < 0:
                out.append(node)
            else:
                stack += (right[node], left[node])
        return np.array(out, dtype=np.int64)


@dataclass
class Splits:
    """Number the distinct splits of a forest.

    Attributes
    ----------
    used_feature : list of int
        Index into ``grid.features`` of the feature that a split compares.
    cut : list of int
        Bins below it go left, from 0 (no bin) to the missing bin (all other bins). Only if ``members`` is None.
    missing_left : list of bool
        Whether missing values go left. Only if ``members`` is None.
    members : list of bytes, or None
        For a categorical split, one byte per bin, the missing bin included: 1 if the bin goes left.
    """

    used_feature: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    members: list[bytes | None] = field(default_factory=list)
    _number: dict[tuple[int, int, bool, bytes | None], int] = field(default_factory=dict)

    def number(self, used_feature: int, cut: int, missing_left: bool, members: bytes | None = None) -> int:
        """Return the number of a split, a new number if there is no equal split yet."""
        key = used_feature, cut, missing_left, members
        if key not in self._number:
            self._number[key] = len(self.used_feature)
            for column, entry in zip((self.used_feature, self.cut, self.missing_left, self.members), key):
                column.append(entry)  # type: ignore[attr-defined]
        return self._number[key]


def forest_of_trees(
    ensemble: LeafEnsemble, trees: Trees, removed: NDArray[np.bool_], value: NDArray[np.float64]
) -> tuple[Forest, Splits]:
    """Return the trees that an ensemble's leaves come from, with new values and without splits on some features.

    Parameters
    ----------
    ensemble : LeafEnsemble
    trees : Trees
        The ensemble's trees.
    removed : ndarray of shape (n_used_features,), bool
        Features that no split may use: inner nodes on them have no split.
    value : ndarray of shape (n_leaves, width), float64

    Returns
    -------
    forest : Forest
    splits : Splits
    """
    splits = Splits()
    split = np.full(len(trees.left), -1)
    inner = np.flatnonzero(trees.left >= 0)
    for node in inner[~removed[trees.used_feature[inner]]].tolist():
        used_feature, start = int(trees.used_feature[node]), trees.mask[node]
        if start >= 0:
            goes_left = trees.masks[start : start + ensemble.grid.n_bins[used_feature]]
            split[node] = splits.number(used_feature, 0, False, (goes_left != 0).tobytes())
        else:
            # A node of the trees sends the bins b <= cut left, a split the bins b < cut.
            split[node] = splits.number(
                used_feature, int(trees.cut[node]) + 1, bool(trees.missing_left[node])
            )
    values = np.zeros((len(trees.left), value.shape[1]))
    is_leaf = trees.leaf >= 0
    values[is_leaf] = value[trees.leaf[is_leaf]]
    left, right = trees.left.astype(np.int64), trees.right.astype(np.int64)
    return Forest(trees.roots[:-1], left, right, split, values), splits


def drop_removed_splits(forest: Forest) -> tuple[Forest, NDArray[np.int64]]:
    """Return an equal sum of ordinary trees, in which all inner nodes have a split.

    A tree becomes a few trees, and the number of nodes hardly grows: an inner node without a split disappears, its
    subtrees become trees side by side, and the nodes above it are copied for each additional tree. A leaf that
    remains without a tree of its own is added to the leaves of another tree.

    Returns
    -------
    forest : Forest
        Its trees are contiguous, level by level, so that siblings are neighbours. Splits keep their numbers.
    origin : ndarray of shape (n_trees,), int64
        For every new tree the old tree that it comes from, in non-decreasing order. Every old tree has at least one.
    """
    order = np.concatenate([nodes for nodes, _ in forest.levels()] or [forest.roots])
    n_trees, bound = bound_nodes(order, forest.left, forest.right, forest.split, forest.roots)
    roots, origin = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64)
    left, right, split = (np.empty(bound, np.int64) for _ in range(3))
    value = np.empty((bound, forest.value.shape[1]))
    nodes = forest.left, forest.right, forest.split, forest.value, forest.roots
    n_trees, size = side_by_side(order, *nodes, roots, origin, left, right, split, value)
    raw = Forest(roots[:n_trees], left[:size], right[:size], split[:size], value[:size])
    return _by_level(raw), origin[:n_trees]


def _by_level(forest: Forest) -> Forest:
    """Enumerate the nodes tree after tree, and within a tree level by level."""
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
