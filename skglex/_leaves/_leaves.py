"""Represent every model as a sum of leaves, each a box over the bins of its path's features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skglex._kernels.arguments import Conditions, LeafValues, Paths, Trees
from skglex._kernels.item_sets import are_equal, hash_sets
from skglex._kernels.leaf_extraction import path_ratios
from skglex._leaves._grid import Grid
from skglex._utils import without_cached


class ConditionSets(NamedTuple):
    """List distinct sets of conditions; set s is ``condition[ptr[s]:ptr[s + 1]]``.

    Attributes
    ----------
    ptr : ndarray of shape (n_sets + 1,), int64
    condition : ndarray, int32
    first : ndarray of shape (n_sets,), int64
        First leaf that has each set, in increasing order.
    of_leaf : ndarray of shape (n_leaves,), int64
        Set of every leaf.
    """

    ptr: NDArray[np.int64]
    condition: NDArray[np.int32]
    first: NDArray[np.int64]
    of_leaf: NDArray[np.int64]


@dataclass(frozen=True)
class LeafEnsemble:
    """Hold a tree ensemble as flat arrays, which never change.

    The margin at x is ``base`` plus the values of the leaves whose conditions all hold at x.

    Attributes
    ----------
    grid : Grid
    conditions : Conditions
    complement : ndarray of shape (n_conditions,), int32
        The condition that holds exactly where this one does not, -1 if no leaf has it.
    leaf_ptr : ndarray of shape (n_leaves + 1,), int64
        Leaf ``l`` has the conditions ``leaf_condition[leaf_ptr[l]:leaf_ptr[l + 1]]``, one per path feature,
        by used_feature.
    leaf_condition : ndarray of shape (n_leaf_conditions,), int32
    value : ndarray of shape (n_leaves, width), float64
        Margin that the leaf adds to the outputs ``output[l] .. output[l] + width - 1``.
    output : ndarray of shape (n_leaves,), int32
    tree_ptr : ndarray of shape (n_trees + 1,), int64
        Leaves of tree ``t``: ``tree_ptr[t]`` up to ``tree_ptr[t + 1]``.
    base : ndarray of shape (n_outputs,), float64
        Base score on the margin scale.
    trees : Trees, or None
        The trees that the leaves come from. None for boxes that no binary trees have as leaves.
    cover_ratio : ndarray of shape (n_nodes,), float64, or None
        cover(node) / cover(parent) of every node of the trees.
    ratio_of_boxes : ndarray of shape (n_leaf_conditions,), float64, or None
        The `path_ratio` of leaves that are no longer those of trees.
    """

    grid: Grid
    conditions: Conditions
    complement: NDArray[np.int32]
    leaf_ptr: NDArray[np.int64]
    leaf_condition: NDArray[np.int32]
    value: NDArray[np.float64]
    output: NDArray[np.int32]
    tree_ptr: NDArray[np.int64]
    base: NDArray[np.float64]
    trees: Trees | None = None
    cover_ratio: NDArray[np.float64] | None = None
    ratio_of_boxes: NDArray[np.float64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return without_cached(self)

    @property
    def n_leaves(self) -> int:
        """Return the number of leaves."""
        return len(self.leaf_ptr) - 1

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs of the margin."""
        return len(self.base)

    @property
    def condition_feature(self) -> NDArray[np.int32]:
        """Return the used_feature of every leaf condition."""
        return self.conditions.feature[self.leaf_condition]

    @property
    def condition_leaf(self) -> NDArray[np.int64]:
        """Return the leaf of every leaf condition."""
        return np.repeat(np.arange(self.n_leaves), np.diff(self.leaf_ptr))

    @property
    def paths(self) -> Paths:
        """Return every leaf's conditions for kernels."""
        return Paths(self.leaf_ptr, self.leaf_condition)

    @property
    def has_cover(self) -> bool:
        """Return whether there are path-dependent weights."""
        return self.cover_ratio is not None or self.ratio_of_boxes is not None

    @cached_property
    def path_ratio(self) -> NDArray[np.float64] | None:
        """Return the path-dependent weight of each leaf condition; None if the model has no cover.

        It is the product of cover(child) / cover(node) over the path's splits on the feature.
        """
        if self.trees is None or self.cover_ratio is None:
            return self.ratio_of_boxes
        out = np.empty(len(self.leaf_condition))
        n_features = len(self.grid.features)
        path_ratios(self.trees, self.cover_ratio, self.paths, self.conditions.feature, n_features, out)
        return out

    @property
    def leaf_values(self) -> LeafValues:
        """Return every leaf's values for kernels."""
        return LeafValues(self.value, self.output)

    def sum_leaves(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the base and the sum of all leaves, each with its weight: one number per output."""
        out, value = self.base.copy(), self.value * weight[:, None]
        np.add.at(out, self.output[:, None] + np.arange(value.shape[1]), value)
        return out

    def distinct_sets(self, keep: NDArray[np.bool_], kind: NDArray[np.int32] | None = None) -> ConditionSets:
        """Find the distinct sets of the leaves' conditions that are marked in ``keep``.

        Leaves of different ``kind`` never share a set.
        """
        counts = np.add.reduceat(np.append(keep, False).astype(np.int64), self.leaf_ptr[:-1])
        counts[np.diff(self.leaf_ptr) == 0] = 0
        leaf_ptr = np.concatenate([[0], np.cumsum(counts)])
        condition = self.leaf_condition[keep]
        kind = np.zeros(self.n_leaves, np.int32) if kind is None else kind
        # Hash each set of conditions as a 64-bit sum of random numbers. Collisions are detected below.
        code = np.random.default_rng(0).integers(2**63, size=len(self.complement) + 1, dtype=np.uint64)
        key = np.empty(self.n_leaves, np.uint64)
        hash_sets(leaf_ptr, condition, code, key)
        key += code[-1] * kind.astype(np.uint64)
        _, first, of_leaf = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first, of_leaf = first[order], rank[of_leaf]
        twin = first[of_leaf]
        if not ((kind[twin] == kind).all() and are_equal(leaf_ptr, condition, twin)):  # pragma: no cover
            raise RuntimeError("two different leaves have the same hash. Please report this model")
        is_first = np.zeros(self.n_leaves, dtype=bool)
        is_first[first] = True
        ptr = np.concatenate([[0], np.cumsum(counts[first])])
        return ConditionSets(
            ptr, np.ascontiguousarray(condition[np.repeat(is_first, counts)]), first, of_leaf
        )

    def keep_conditions(self, keep: NDArray[np.bool_], value: NDArray[np.float64]) -> LeafEnsemble:
        """Drop leaf conditions, give every leaf a new value and merge the leaves that became the same."""
        sets = self.distinct_sets(keep, self.output)
        merged = np.zeros((len(sets.first), self.value.shape[1]))
        np.add.at(merged, sets.of_leaf, value)
        return replace(
            self,
            leaf_ptr=sets.ptr,
            leaf_condition=sets.condition,
            value=merged,
            output=self.output[sets.first],
            tree_ptr=np.searchsorted(sets.first, self.tree_ptr),
            trees=None,
            cover_ratio=None,
            ratio_of_boxes=None,
        )

    def drop_conditions(self, dropped: NDArray[np.bool_], weight: NDArray[np.float64]) -> LeafEnsemble:
        """Drop leaf conditions, and multiply the value of every leaf by a weight; no leaves are merged."""
        counts = np.add.reduceat(np.append(~dropped, False).astype(np.int64), self.leaf_ptr[:-1])
        counts[np.diff(self.leaf_ptr) == 0] = 0
        return replace(
            self,
            leaf_ptr=np.concatenate([[0], np.cumsum(counts)]),
            leaf_condition=self.leaf_condition[~dropped],
            value=self.value * weight[:, None],
            trees=None,
            cover_ratio=None,
            ratio_of_boxes=None if self.path_ratio is None else self.path_ratio[~dropped],
        )

    def take_leaves(self, leaves: NDArray[np.int64]) -> LeafEnsemble:
        """Keep some leaves, in increasing order, and no trees."""
        counts = np.diff(self.leaf_ptr)
        kept = np.zeros(self.n_leaves, dtype=bool)
        kept[leaves] = True
        of_condition = np.repeat(kept, counts)
        return replace(
            self,
            leaf_ptr=np.concatenate([[0], np.cumsum(counts[leaves])]).astype(np.int64),
            leaf_condition=self.leaf_condition[of_condition],
            ratio_of_boxes=None if self.path_ratio is None else self.path_ratio[of_condition],
            value=self.value[leaves],
            output=self.output[leaves],
            tree_ptr=np.searchsorted(leaves, self.tree_ptr),
            trees=None,
            cover_ratio=None,
        )


def collect_conditions(
    grid: Grid,
    used_feature: NDArray[np.signedinteger],
    lo: NDArray[np.signedinteger],
    hi: NDArray[np.signedinteger],
    missing: NDArray[np.bool_],
    mask: NDArray[np.int64] | None = None,
    pool: NDArray[np.uint8] | None = None,
) -> tuple[Conditions, NDArray[np.int32], NDArray[np.int32]]:
    """Enumerate the distinct conditions among the conditions of all leaves.

    Parameters
    ----------
    grid : Grid
    used_feature, lo, hi, missing : ndarray of shape (n_leaf_conditions,)
        Each condition: bins ``[lo, hi)`` of a used_feature, and whether missing belongs to it.
    mask : ndarray of shape (n_leaf_conditions,), int64, optional
        Start of the condition's bins in ``pool``; -1 for an interval.
    pool : ndarray, uint8, optional
        For each condition with a mask, 1 or 0 per bin of its feature.

    Returns
    -------
    conditions : Conditions
        The distinct conditions.
    complement : ndarray of shape (n_conditions,), int32
        The condition that holds exactly where this one does not; -1 if there is none.
    leaf_condition : ndarray of shape (n_leaf_conditions,), int32
        Number of every leaf condition.
    """
    n_bins, dtype = grid.n_bins, grid.dtype
    none = np.iinfo(dtype).max
    by_mask = np.zeros(len(used_feature), dtype=bool) if mask is None else mask >= 0
    leaf_condition = np.empty(len(used_feature), dtype=np.int32)
    rows = ~by_mask if by_mask.any() else slice(None)
    intervals, complement, leaf_condition[rows] = _distinct_intervals(
        grid, used_feature[rows], lo[rows], hi[rows], missing[rows]
    )
    n_conditions, n_pool = len(complement), 0
    features, los, his, misses = ([part] for part in intervals)
    starts, chunks = [np.full(n_conditions, -1, np.int32)], [np.zeros(0, np.uint8)]
    complements = [complement]
    for s in np.unique(used_feature[by_mask]):
        assert mask is not None
        assert pool is not None
        of_feature = np.flatnonzero(by_mask & (used_feature == s))
        sets = pool[mask[of_feature][:, None] + np.arange(n_bins[s])]
        unique, inverse = np.unique(sets, axis=0, return_inverse=True)
        leaf_condition[of_feature] = n_conditions + inverse.ravel()
        position = {row.tobytes(): n_conditions + i for i, row in enumerate(unique)}
        complements.append(np.array([position.get((1 - row).tobytes(), -1) for row in unique]))
        m = len(unique)
        features.append(np.full(m, s))
        for part in (los, his):
            part.append(np.zeros(m, np.int64))
        misses.append(np.full(m, none))
        starts.append(n_pool + n_bins[s] * np.arange(m))
        chunks.append(unique.ravel())
        n_conditions, n_pool = n_conditions + m, n_pool + unique.size
    conditions = Conditions(
        feature=_join(features, np.int32),
        lo=_join(los, dtype),
        hi=_join(his, dtype),
        missing=_join(misses, dtype),
        mask=_join(starts, np.int32),
        masks=_join(chunks, np.uint8),
    )
    return conditions, _join(complements, np.int32), leaf_condition


def _distinct_intervals(
    grid: Grid,
    used_feature: NDArray[np.signedinteger],
    lo: NDArray[np.signedinteger],
    hi: NDArray[np.signedinteger],
    missing: NDArray[np.bool_],
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct intervals (feature, lo, hi, missing), their complements, and the number of each given one."""
    last, dtype = (grid.n_bins - 1).astype(np.int32), grid.dtype
    base = int(last.max(initial=1)) + 2
    # An empty interval must not end before it begins: unsigned widths would wrap around.
    keys, number = _distinct(_encode(used_feature, lo, np.maximum(lo, hi), missing, base))
    has_missing, code = keys % 2 == 1, keys // 2
    hi, code = (code % base).astype(dtype), code // base
    lo, feature = (code % base).astype(dtype), (code // base).astype(np.int32)
    del code
    complement = np.full(len(keys), -1, np.int32)
    # [0, h) and [h, end) are each other's complement if missing belongs to exactly one of them.
    some = np.flatnonzero((lo == 0) | (hi == last[feature]))
    begins, end = lo[some] == 0, last[feature[some]]
    start, stop = np.where(begins, hi[some], 0), np.where(begins, end, lo[some])
    other = _encode(feature[some], start, stop, ~has_missing[some], base)
    at = np.minimum(np.searchsorted(keys, other), max(len(keys) - 1, 0))
    found = keys[at] == other
    complement[some[found]] = at[found]
    bin_of_missing = np.where(has_missing, last[feature].astype(dtype), dtype(np.iinfo(dtype).max))
    return (feature, lo, hi, bin_of_missing), complement, number


def _join(parts: list[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """Concatenate arrays; a single one is not copied."""
    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).astype(dtype, copy=False)


def _encode(feature: Any, lo: Any, hi: Any, missing: Any, base: int) -> NDArray[np.int64]:
    """Return a number for each interval of bins."""
    key = feature.astype(np.int64)
    for part, size in ((lo, base), (hi, base), (missing, 2)):
        key *= size
        key += part
    return np.asarray(key)


def _distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct keys, increasing, and the number of each key among them.

    ``numpy.unique`` takes twice as much memory.
    """
    order = np.argsort(keys)
    keys = keys[order]
    begins = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    number = np.empty(len(keys), np.int32)
    number[order] = np.cumsum(begins, dtype=np.int32) - 1
    return keys[begins], number
