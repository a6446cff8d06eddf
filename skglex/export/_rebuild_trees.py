"""Rebuild binary trees from leaves that do not come from binary trees, such as those of a planted forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import LeafEnsemble
from skglex.export._debiased_forest import Forest, Splits

# Lower bound that marks an empty interval.
_NOWHERE = np.iinfo(np.int64).max


def rebuild_trees(
    ensemble: LeafEnsemble, removed: NDArray[np.bool_], value: NDArray[np.float64]
) -> tuple[Forest, Splits]:
    """Rebuild binary trees from the leaves, with new values and without splits on the removed features.

    The leaves of a tree are split by a condition that separates the first of them from the others. If the leaves are
    those of a binary tree in the readers' order (depth first), this gives such a tree again. If no condition separates
    them (the boxes of a random planted forest overlap), the split that decides most leaves is taken, and the undecided
    leaves become a tree beside it.

    Parameters
    ----------
    ensemble : LeafEnsemble
    removed : ndarray of shape (n_used_features,), bool
        Features that no split may use: inner nodes on them have no split.
    value : ndarray of shape (n_leaves, width), float64

    Returns
    -------
    forest : Forest
        See `Forest.split` for inner nodes without a split.
    splits : Splits
    """
    builder = _TreeBuilder(ensemble, removed)
    roots = [builder.build(t) for t in range(len(ensemble.tree_ptr) - 1)]
    values = np.zeros((len(builder.left), value.shape[1]))
    for node, leaves in builder.leaves.items():
        values[node] = value[leaves].sum(axis=0)
    forest = Forest(
        roots=np.array(roots, dtype=np.int64),
        left=np.array(builder.left, dtype=np.int64),
        right=np.array(builder.right, dtype=np.int64),
        split=np.array(builder.split, dtype=np.int64),
        value=values,
    )
    return forest, builder.splits


@dataclass
class _Box:
    """Describe the values that reach a node, by column.

    Attributes
    ----------
    lo, hi : ndarray of shape (n_columns,), int64
        Bins ``[lo, hi)`` of a numeric column.
    missing : ndarray of shape (n_columns,), bool
        Whether missing values of a numeric column reach the node.
    sets : dict of int to ndarray of shape (n_bins,), bool
        For each categorical column, the bins that reach the node.
    """

    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    missing: NDArray[np.bool_]
    sets: dict[int, NDArray[np.bool_]]

    def side(self, split: _Split, left: bool) -> _Box:
        """Return the values that reach the left or the right child."""
        lo, hi, missing, sets = self.lo.copy(), self.hi.copy(), self.missing.copy(), self.sets
        c = split.column
        if split.members is not None:
            sets = {**sets, c: sets[c] & (split.members if left else ~split.members)}
        elif left:
            hi[c] = min(hi[c], split.cut)
            missing[c] &= split.missing_left
        else:
            lo[c] = max(lo[c], split.cut)
            missing[c] &= not split.missing_left
        return _Box(lo, hi, missing, sets)


@dataclass
class _Split:
    """Describe a split of one column: by bins below ``cut``, or by a set of bins."""

    column: int
    cut: int = 0
    missing_left: bool = False
    members: NDArray[np.bool_] | None = None


class _TreeBuilder:
    """Build one tree after the other, with the nodes of all trees in flat lists."""

    def __init__(self, ensemble: LeafEnsemble, removed: NDArray[np.bool_]) -> None:
        self.ensemble = ensemble
        self.removed = removed
        self.condition_feature = ensemble.condition_feature
        self.splits = Splits()
        self.left: list[int] = []
        self.right: list[int] = []
        self.split: list[int] = []
        self.leaves: dict[int, NDArray[np.int64]] = {}

    def build(self, tree: int) -> int:
        """Build one tree; return its root."""
        reachable, box = self._unpack(tree)
        first_leaf = self.ensemble.tree_ptr[tree]
        root = self._node()
        todo = [(root, reachable, box)]
        while todo:
            node, rows, box = todo.pop()
            separation = self._separate(rows) if len(rows) > 1 else None
            if separation is not None:
                split, n_left = separation
                sides = rows[:n_left], rows[n_left:]
                rest = rows[:0]
            else:
                choice = self._decide(rows, box)
                if choice is None:  # No kept condition distinguishes the leaves.
                    self.leaves[node] = first_leaf + rows
                    continue
                split, sides, rest = choice
            if len(rest):
                both = self._node(), self._node()
                self.left[node], self.right[node] = both
                todo.append((both[1], rest, box))
                node = both[0]
            children = self._node(), self._node()
            self.left[node], self.right[node] = children
            if not self.kept[split.column]:
                todo += [(children[1], sides[1], box), (children[0], sides[0], box)]
                continue
            members = None if split.members is None else split.members.astype(np.uint8).tobytes()
            used_feature = int(self.used_features[split.column])
            self.split[node] = self.splits.number(
                used_feature, int(split.cut), bool(split.missing_left), members
            )
            todo += [(children[i], sides[i], box.side(split, i == 0)) for i in (1, 0)]
        return root

    def _node(self) -> int:
        """Add a node; return its number."""
        for column in (self.left, self.right, self.split):
            column.append(-1)
        return len(self.left) - 1

    def _unpack(self, tree: int) -> tuple[NDArray[np.int64], _Box]:
        """Lay out a tree's conditions as tables of leaves by columns, kept features first.

        Returns
        -------
        reachable : ndarray of int64
            Leaves whose conditions on kept features can hold.
        box : _Box
            All values.
        """
        ensemble, conditions, grid = self.ensemble, self.ensemble.conditions, self.ensemble.grid
        a, b = ensemble.tree_ptr[tree : tree + 2]
        entries = slice(ensemble.leaf_ptr[a], ensemble.leaf_ptr[b])
        condition, used_feature = ensemble.leaf_condition[entries], self.condition_feature[entries]
        row = np.repeat(np.arange(b - a), np.diff(ensemble.leaf_ptr[a : b + 1]))
        used_features = np.unique(used_feature)
        self.used_features = used_features[np.argsort(self.removed[used_features], kind="stable")]
        self.kept = ~self.removed[self.used_features]
        column = np.empty(len(grid.features), np.int64)
        column[self.used_features] = np.arange(len(used_features))
        column = column[used_feature]

        last = grid.n_bins[self.used_features] - 1
        shape = b - a, len(used_features)
        self.lo, self.hi = np.zeros(shape, np.int64), np.tile(last, (b - a, 1))
        self.missing = np.ones(shape, bool)
        self.sets = {
            c: np.ones((b - a, last[c] + 1), bool)
            for c in np.flatnonzero(grid.categorical[self.used_features]).tolist()
        }
        by_set = np.isin(column, list(self.sets))
        if (conditions.mask[condition[~by_set]] >= 0).any():
            raise ValueError(
                "cannot export a model that splits a numeric feature by a set of bins: expected intervals"
            )
        interval = row[~by_set], column[~by_set]
        ids = condition[~by_set]
        self.lo[interval], self.hi[interval] = conditions.lo[ids], conditions.hi[ids]
        self.missing[interval] = conditions.missing[ids] == last[interval[1]]
        for r, c, i in zip(*(a[by_set].tolist() for a in (row, column, condition))):
            bins = np.arange(last[c] + 1)
            if conditions.mask[i] >= 0:
                self.sets[c][r] = conditions.masks[conditions.mask[i] + bins] != 0
            else:
                self.sets[c][r] = (bins >= conditions.lo[i]) & (bins < conditions.hi[i])
                self.sets[c][r, -1] = conditions.missing[i] == last[c]
        empty = self.lo >= self.hi
        self.lo[empty], self.hi[empty] = _NOWHERE, 0
        met = (self.missing | ~empty)[:, self.kept].all(axis=1)
        for c, sets in self.sets.items():
            met &= sets.any(axis=1) | ~self.kept[c]
        box = _Box(
            np.zeros(len(used_features), np.int64),
            last.copy(),
            np.ones(len(used_features), bool),
            {c: np.ones(last[c] + 1, bool) for c in self.sets},
        )
        return np.flatnonzero(met), box

    def _separate(self, rows: NDArray[np.int64]) -> tuple[_Split, int] | None:
        """Return a split that sends the first leaves left and the others right, and the number of the first leaves."""
        highest = np.maximum.accumulate(self.hi[rows])[:-1]
        lowest = np.minimum.accumulate(self.lo[rows][::-1])[::-1][1:]
        before, after = _either_side(self.missing[rows])
        possible = (highest <= lowest) & ~(before & after)
        for c, sets in self.sets.items():
            left, right = _either_side(sets[rows])
            possible[:, c] = ~(left & right).any(axis=1)
        where = np.argwhere(possible.T)
        if not len(where):
            return None
        c, i = where[0]
        if c in self.sets:
            return _Split(c, members=_either_side(self.sets[c][rows])[0][i]), i + 1
        cut, missing_left = lowest[i, c], bool(before[i, c])
        if cut == _NOWHERE:  # Only missing values go right.
            cut = highest[i, c]
        return _Split(c, cut=cut, missing_left=missing_left), i + 1

    def _decide(
        self, rows: NDArray[np.int64], box: _Box
    ) -> tuple[_Split, tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]] | None:
        """Return the split that decides most leaves, the leaves of both its sides, and the undecided leaves."""
        best, most = None, (0, 0)
        for split, in_left, in_right in self._candidates(rows, box):
            score = int((in_left | in_right).sum()), 0
            if split.members is None and box.missing[split.column]:
                # Tie-break: prefer the direction that keeps missing values out of leaves they cannot reach.
                away = in_right if split.missing_left else in_left
                score = score[0], int((away & ~self.missing[rows, split.column]).sum())
            if score[0] and score > most:
                best, most = (split, in_left, in_right), score
        if best is None:
            return None
        split, in_left, in_right = best
        nowhere = in_left & in_right
        sides = rows[in_left & ~nowhere], rows[in_right & ~nowhere]
        return split, sides, rows[~(in_left | in_right)]

    def _candidates(
        self, rows: NDArray[np.int64], box: _Box
    ) -> list[tuple[_Split, NDArray[np.bool_], NDArray[np.bool_]]]:
        """Return all splits at a bound of a condition on a kept feature, with the leaves that go left, and right."""
        out = []
        for c in np.flatnonzero(self.kept).tolist():
            if c in self.sets:
                inside = self.sets[c][rows] & box.sets[c]
                for members in np.unique(inside[(inside != box.sets[c]).any(axis=1)], axis=0):
                    sides = (~(inside & ~members).any(axis=1), ~(inside & members).any(axis=1))
                    out.append((_Split(c, members=members), *sides))
                continue
            lo, hi = np.maximum(self.lo[rows, c], box.lo[c]), np.minimum(self.hi[rows, c], box.hi[c])
            empty, missing = lo >= hi, self.missing[rows, c] & box.missing[c]
            cuts = np.unique(np.concatenate([lo[~empty], hi[~empty]]))
            splits = [
                (cut, m) for cut in cuts[(cuts > box.lo[c]) & (cuts < box.hi[c])] for m in (True, False)
            ]
            if box.missing[c] and box.lo[c] < box.hi[c] and (~missing | empty).any():
                splits.append((np.int64(0), True))
            for cut, missing_left in splits:
                in_left = (empty | (hi <= cut)) & (~missing | missing_left)
                in_right = (empty | (lo >= cut)) & (~missing | (not missing_left))
                out.append((_Split(c, cut=cut, missing_left=missing_left), in_left, in_right))
        return out


def _either_side(flags: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return, for every gap between rows, the flags set in any row before it, and in any row after it."""
    before = np.logical_or.accumulate(flags)[:-1]
    after = np.logical_or.accumulate(flags[::-1])[::-1][1:]
    return before, after
