"""From leaves back to trees."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import LeafEnsemble
from skglex.export._forest import Forest

# Where the interval of a leaf begins that has none (missing at most).
_NOWHERE = np.iinfo(np.int64).max


@dataclass
class Splits:
    """The distinct splits of a forest, by number.

    Attributes
    ----------
    used_feature : list of int
        Slot of the grid that a split looks at.
    cut : list of int
        The bins below it go left, where ``members`` is None. From 0 (none) to the missing bin (all others).
    missing_left : list of bool
    members : list of bytes, or None
        For a categorical split, one byte per bin, the missing one included: 1 if it goes left.
    """

    used_feature: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    members: list[bytes | None] = field(default_factory=list)
    _number: dict[tuple[int, int, bool, bytes | None], int] = field(default_factory=dict)

    def number(self, used_feature: int, cut: int, missing_left: bool, members: bytes | None = None) -> int:
        """Number of a split, a new one if there is none like it."""
        key = used_feature, cut, missing_left, members
        if key not in self._number:
            self._number[key] = len(self.used_feature)
            for column, entry in zip((self.used_feature, self.cut, self.missing_left, self.members), key):
                column.append(entry)  # type: ignore[attr-defined]
        return self._number[key]


def rebuild_trees(
    ensemble: LeafEnsemble, removed: NDArray[np.bool_], value: NDArray[np.float64]
) -> tuple[Forest, Splits]:
    """Trees whose leaves are those of an ensemble, with other values and blind to some used_features.

    The leaves of a tree are split where one of their conditions separates the first of them from the others;
    the order of the readers (depth first) brings the trees back that were read. Where no condition separates
    them (the boxes of a random planted forest, which overlap), the split that decides most leaves is taken,
    and the others stand beside it.

    Parameters
    ----------
    ensemble : LeafEnsemble
    removed : ndarray of shape (n_used_features,), bool
        Slots that no split may look at: an inner node on one of them makes no split.
    value : ndarray of shape (n_leaves, width)

    Returns
    -------
    forest : Forest
        Without base and outputs; see `Forest.split` for nodes that make no split.
    splits : Splits
    """
    grower = _TreeBuilder(ensemble, removed)
    roots = [grower.grow(t) for t in range(len(ensemble.tree_ptr) - 1)]
    values = np.zeros((len(grower.left), value.shape[1]))
    for node, leaves in grower.leaves.items():
        values[node] = value[leaves].sum(axis=0)
    forest = Forest(
        roots=np.array(roots, dtype=np.int64),
        left=np.array(grower.left, dtype=np.int64),
        right=np.array(grower.right, dtype=np.int64),
        split=np.array(grower.split, dtype=np.int64),
        value=values,
    )
    return forest, grower.splits


@dataclass
class _Box:
    """What the splits above leave of each column: bins ``[lo, hi)``, missing or not; or a set of bins."""

    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    missing: NDArray[np.bool_]
    sets: dict[int, NDArray[np.bool_]]

    def side(self, split: _Split, left: bool) -> _Box:
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
    column: int
    cut: int = 0
    missing_left: bool = False
    members: NDArray[np.bool_] | None = None


class _TreeBuilder:
    """Grows one tree after the other; the nodes of all are kept in flat lists."""

    def __init__(self, ensemble: LeafEnsemble, removed: NDArray[np.bool_]) -> None:
        self.ensemble = ensemble
        self.removed = removed
        self.condition_feature = ensemble.condition_feature
        self.splits = Splits()
        self.left: list[int] = []
        self.right: list[int] = []
        self.split: list[int] = []
        self.leaves: dict[int, NDArray[np.int64]] = {}

    def grow(self, tree: int) -> int:
        """Grow one tree; returns its root."""
        reachable, box = self._unpack(tree)
        first_leaf = self.ensemble.tree_ptr[tree]
        root = self._node()
        todo = [(root, reachable, box)]
        while todo:
            node, rows, box = todo.pop()
            found = self._separate(rows) if len(rows) > 1 else None
            if found is not None:
                split, n_left = found
                sides = rows[:n_left], rows[n_left:]
                rest = rows[:0]
            else:
                choice = self._decide(rows, box)
                if choice is None:  # nothing is left to ask
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
        for column in (self.left, self.right, self.split):
            column.append(-1)
        return len(self.left) - 1

    def _unpack(self, tree: int) -> tuple[NDArray[np.int64], _Box]:
        """Lay out a tree's conditions, leaves by columns (kept used_features first); say which can be reached."""
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
            raise ValueError("cannot export a model with sets of bins on a numeric feature")
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
        """A split that sends the first leaves left and the others right, and the number of the former."""
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
        if cut == _NOWHERE:  # nothing but missing goes right
            cut = highest[i, c]
        return _Split(c, cut=cut, missing_left=missing_left), i + 1

    def _decide(
        self, rows: NDArray[np.int64], box: _Box
    ) -> tuple[_Split, tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]] | None:
        """The split that decides most leaves: those on its sides, and those that it does not decide."""
        best, most = None, (0, 0)
        for split, in_left, in_right in self._candidates(rows, box):
            score = int((in_left | in_right).sum()), 0
            if split.members is None and box.missing[split.column]:
                # better if it also turns missing away from leaves that do not take it
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
        """Splits on kept used_features at a condition that does not hold everywhere, and which leaves they decide."""
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
    """For every gap between rows: which flags are set in a row before it, and which in one after it."""
    before = np.logical_or.accumulate(flags)[:-1]
    after = np.logical_or.accumulate(flags[::-1])[::-1][1:]
    return before, after
