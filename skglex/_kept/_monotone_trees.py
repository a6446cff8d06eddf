"""Say whether every tree of an ensemble is monotone in a feature, which is enough for their sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import LeafEnsemble
from skglex._utils import budgets


def trees_are_monotone(ensemble: LeafEnsemble, used_feature: int, output: int, sign: int) -> bool | None:
    """Return whether each tree increases in a feature (decreases, with the sign -1).

    A tree increases exactly if no leaf has a larger value than another one that lies above it along the feature, and
    that some row reaches with the same other features. Missing values of the feature have no order.

    Returns
    -------
    bool, or None
        None if the leaves are not those of trees, or if there are too many to compare.
    """
    if ensemble.trees is None:
        return None
    starts = ensemble.tree_ptr
    tree_of_condition = np.searchsorted(starts, ensemble.condition_leaf, side="right") - 1
    trees = np.unique(tree_of_condition[ensemble.condition_feature == used_feature])
    n_leaves, n_conditions = np.diff(starts)[trees], np.diff(ensemble.leaf_ptr[starts])[trees]
    if (n_leaves.astype(np.float64) * n_conditions).sum() > budgets.compared_leaves:
        return None
    return all(_is_monotone(ensemble, int(tree), used_feature, output, sign) for tree in trees)


def _is_monotone(ensemble: LeafEnsemble, tree: int, used_feature: int, output: int, sign: int) -> bool:
    """Return whether one tree is monotone."""
    first, last = ensemble.tree_ptr[tree : tree + 2]
    column = output - ensemble.output[first:last]
    within = (column >= 0) & (column < ensemble.value.shape[1])
    value = np.where(within, ensemble.value[np.arange(first, last), np.where(within, column, 0)], 0.0)
    part = slice(*ensemble.leaf_ptr[[first, last]])
    leaf = np.repeat(np.arange(last - first), np.diff(ensemble.leaf_ptr[first : last + 1]))
    condition, feature = ensemble.leaf_condition[part], ensemble.condition_feature[part]
    together: NDArray[np.bool_] = np.asarray(
        sign * (value[:, None] - value) > 0
    )  # The first leaf has the larger value.
    for j in np.unique(feature):
        of_feature = feature == j
        holds = _holds(ensemble, int(j), len(value), leaf[of_feature], condition[of_feature])
        if j == used_feature:
            numbers = holds[:, :-1]
            first_bin, last_bin = numbers.argmax(axis=1), numbers.shape[1] - numbers[:, ::-1].argmax(axis=1)
            reached = np.asarray(numbers.any(axis=1))
            together &= (last_bin[:, None] <= first_bin) & reached[:, None] & reached
        else:
            together &= holds.astype(np.float32) @ holds.T.astype(np.float32) > 0
        if not together.any():
            return True
    return False


def _holds(
    ensemble: LeafEnsemble,
    used_feature: int,
    n_leaves: int,
    leaf: NDArray[np.int64],
    condition: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return in which bins of a feature each leaf holds, for the distinct combinations of bins."""
    conditions, n_bins = ensemble.conditions, int(ensemble.grid.n_bins[used_feature])
    kinds, of_leaf = np.unique(condition, return_inverse=True)
    bins = np.arange(n_bins)
    rows = np.ones((len(kinds) + 1, n_bins), dtype=bool)
    for row, kind in zip(rows, kinds):
        start = conditions.mask[kind]
        if start >= 0:
            row[:] = conditions.masks[start : start + n_bins] != 0
        else:
            row[:] = (bins >= conditions.lo[kind]) & (bins < conditions.hi[kind])
            row[-1] = conditions.missing[kind] == n_bins - 1
    # Bins that no condition tells apart from the one before are left out; the last is missing.
    distinct = np.append(True, (np.diff(rows.astype(np.int8), axis=1) != 0).any(axis=0))
    distinct[-1] = True
    kind_of_leaf = np.full(n_leaves, len(kinds))
    kind_of_leaf[leaf] = of_leaf
    return np.asarray(rows[:, distinct][kind_of_leaf])
