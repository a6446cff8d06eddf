"""Write tables of components as trees, for formats that consist of trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skglex._kept import Term, TermSum
from skglex._leaves import Grid, LeafEnsemble
from skglex.export._debiased_forest import Forest, Splits, drop_removed_splits, forest_of_trees
from skglex.export._rebuild_trees import rebuild_trees

_Bins = NDArray[np.int64]
_Sides = list[tuple[int, NDArray[np.bool_]]]


@dataclass(frozen=True)
class TreeSum:
    """Hold ordinary trees, whose inner nodes all have a split, and the outputs that they add to.

    Attributes
    ----------
    forest : Forest
        The nodes of a tree are contiguous.
    splits : Splits
    output : ndarray of shape (n_trees,), int64
        The output that the first value of each tree's leaves is added to.
    """

    forest: Forest
    splits: Splits
    output: NDArray[np.int64]


def trees_of_ensemble(
    ensemble: LeafEnsemble, removed: NDArray[np.bool_], value: NDArray[np.float64]
) -> TreeSum:
    """Return the trees of an ensemble, with new values of its leaves and without splits on some features."""
    if ensemble.trees is not None:
        whole, splits = forest_of_trees(ensemble, ensemble.trees, removed, value)
    else:
        whole, splits = rebuild_trees(ensemble, removed, value)
    forest, origin = drop_removed_splits(whole)
    output = ensemble.output[ensemble.tree_ptr[:-1]][origin]
    return TreeSum(forest, splits, output.astype(np.int64))


def trees_of_sum(terms: TermSum, *, one_output: bool) -> tuple[NDArray[np.float64], list[TreeSum]]:
    """Return a sum of components as trees: those of its tables, and those of the model if there is a remainder.

    Parameters
    ----------
    terms : TermSum
    one_output : bool
        Whether the trees of a table add to a single output each.

    Returns
    -------
    base : ndarray of shape (n_outputs,)
        What is added to the trees.
    trees : list of TreeSum
    """
    grid, base, tables, trees = terms.grid, terms.intercept, terms.terms, []
    if terms.kept is None or terms.kept.rest is None:
        terms.require_complete("this export")
    elif not terms.complete:
        ensemble, rest = terms.view.source.ensemble, terms.kept.rest
        nothing = np.zeros(len(grid.features), dtype=bool)
        trees = [trees_of_ensemble(ensemble, nothing, ensemble.value)]
        base, tables = ensemble.base + (base - rest.intercept), terms.kept.changes
    if not one_output:
        forest, splits = trees_of_terms(tables, grid)
        return base, [*trees, TreeSum(forest, splits, np.zeros(forest.n_trees, np.int64))]
    for o in range(terms.n_outputs):
        forest, splits = trees_of_terms([replace(t, values=t.values[..., o : o + 1]) for t in tables], grid)
        trees.append(TreeSum(forest, splits, np.full(forest.n_trees, o)))
    return base, trees


def trees_of_terms(terms: Iterable[Term], grid: Grid) -> tuple[Forest, Splits]:
    """Return a tree for each term: its leaves are the cells of the table, joined where their values are equal.

    Splits go left on missing values, and on categories that have no bin of their own, wherever both sides are
    possible. So they can be written in formats that send missing values left or right, but do not ask for them.

    Parameters
    ----------
    terms : iterable of Term
        Their values have the width of the leaves.
    grid : Grid
        The bins of the model's features, in which splits are stated.

    Returns
    -------
    forest : Forest
    splits : Splits
    """
    builder = _Builder(grid)
    width = 1
    roots = []
    for term in terms:
        width = term.values.shape[-1]
        roots.append(builder.build(term))
    values = np.zeros((len(builder.left), width))
    for node, value in builder.leaves.items():
        values[node] = value
    forest = Forest(
        roots=np.array(roots, dtype=np.int64),
        left=np.array(builder.left, dtype=np.int64),
        right=np.array(builder.right, dtype=np.int64),
        split=np.array(builder.split, dtype=np.int64),
        value=values,
    )
    return forest, builder.splits


class _Builder:
    """Build one tree after the other, with the nodes of all trees in flat lists."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.splits = Splits()
        self.left: list[int] = []
        self.right: list[int] = []
        self.split: list[int] = []
        self.leaves: dict[int, NDArray[np.float64]] = {}

    def build(self, term: Term) -> int:
        """Build one tree; return its root."""
        self.axes = term.axes
        self.used = [int(np.searchsorted(self.grid.features, column)) for column in term.columns]
        self.edges = [self.grid.edges(j) for j in self.used]
        root = self._node()
        todo = [(root, term.values, [np.arange(axis.n_bins) for axis in self.axes])]
        while todo:
            node, values, bins = todo.pop()
            axis = next((i for i in range(len(bins)) if (values != values.take([0], axis=i)).any()), None)
            if axis is None:
                self.leaves[node] = values.reshape(-1, values.shape[-1])[0]
                continue
            slices = np.moveaxis(values, axis, 0).reshape(len(bins[axis]), -1)
            divide = self._divide_names if self.axes[axis].categorical else self._divide_numbers
            for child, side in divide(node, axis, bins[axis], slices):
                part = [*bins[:axis], bins[axis][side], *bins[axis + 1 :]]
                todo.append((child, values.compress(side, axis=axis), part))
        return root

    def _node(self) -> int:
        """Add a node; return its number."""
        for column in (self.left, self.right, self.split):
            column.append(-1)
        return len(self.left) - 1

    def _fork(self, node: int, split: int) -> tuple[int, int]:
        """Give a node a split; return its children."""
        self.split[node] = split
        self.left[node], self.right[node] = self._node(), self._node()
        return self.left[node], self.right[node]

    def _divide_numbers(self, node: int, i: int, bins: _Bins, slices: NDArray[np.float64]) -> _Sides:
        """Split a node on a numeric axis; return its children, and which of its bins reach each.

        Parameters
        ----------
        node, i : int
            The node and the axis.
        bins : ndarray of int64
            The bins along the axis that reach the node: neighbours, then the missing bin, if it reaches the node.
        slices : ndarray of shape (len(bins), ...), float64
            The values in each of them.
        """
        used, last = self.used[i], self.axes[i].missing - 1
        missing = bins > last
        present = bins[~missing]
        changes = np.flatnonzero((slices[1 : len(present)] != slices[: len(present) - 1]).any(axis=1)) + 1
        if len(changes):
            first_right = present[changes[len(changes) // 2]]
            left, right = self._fork(node, self.splits.number(used, self._cut(i, first_right), True))
            return [(right, (bins >= first_right) & ~missing), (left, (bins < first_right) | missing)]
        # Only the missing values differ. A split that all numbers pass on the same side separates them.
        if present[-1] < last:
            left, right = self._fork(node, self.splits.number(used, self._cut(i, present[-1] + 1), False))
            return [(right, missing), (left, ~missing)]
        if present[0] > 0:
            left, right = self._fork(node, self.splits.number(used, self._cut(i, present[0]), True))
            return [(right, ~missing), (left, missing)]
        # There is no such split, since all numbers reach the node. The second of two equal splits has one.
        cut = self._cut(i, 1) if last else 1
        left, right = self._fork(node, self.splits.number(used, cut, True))
        inner_left, inner_right = self._fork(left, self.splits.number(used, cut, False))
        return [(right, ~missing), (inner_right, missing), (inner_left, ~missing)]

    def _cut(self, i: int, first_right: int) -> int:
        """Return the number of bins of the grid below a bin of a numeric axis."""
        return int(np.searchsorted(self.edges[i], self.axes[i].edges[first_right - 1])) + 1

    def _divide_names(self, node: int, i: int, bins: _Bins, slices: NDArray[np.float64]) -> _Sides:
        """Split a node on a categorical axis; parameters as in `_divide_numbers`."""
        n_named = self.axes[i].missing - 1
        members = np.ones(n_named + 2, dtype=np.uint8)
        named = bins < n_named
        if named.any():
            _, kind = np.unique(slices[named], axis=0, return_inverse=True)
            goes_right = np.zeros(len(bins), dtype=bool)
            # Equal categories stay together. If all are equal, they leave those without a bin of their own.
            goes_right[named] = kind.ravel() >= (kind.max() + 1) // 2
            members[bins[goes_right]] = 0
        else:
            # Missing values go right with the named categories, of which none reaches the node.
            members[:] = 0
            members[n_named] = 1
            goes_right = bins > n_named
        left, right = self._fork(node, self.splits.number(self.used[i], 0, False, members.tobytes()))
        return [(right, goes_right), (left, ~goes_right)]
