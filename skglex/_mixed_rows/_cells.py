"""Define cells at which features are set, and find where leaves begin and end to hold along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import FreeAxes
from skglex._leaves import Background, Grid, LeafEnsemble
from skglex._utils import budgets, scaled, weight_chunks


@dataclass(frozen=True)
class CellAxis:
    """List cells: values (in bins) at which some used_features are set together.

    `cell_axis` makes it. Along the axis, leaf l has the ends ``cell[ptr[s]:ptr[s + 1]]`` with ``s = run_set[l]``: where
    its conditions on the used_features begin (sign 1) and cease (sign -1) to hold.

    Attributes
    ----------
    used_features : ndarray of shape (n_free,), int64
    bins : ndarray of shape (n_free, n_cells)
    run_set : ndarray of shape (n_leaves,), int64
    ptr : ndarray of shape (n_run_sets + 1,), int64
    cell : ndarray, int64
    sign : ndarray, float64
    """

    used_features: NDArray[np.int64]
    bins: NDArray[np.unsignedinteger]
    run_set: NDArray[np.int64]
    ptr: NDArray[np.int64]
    cell: NDArray[np.int64]
    sign: NDArray[np.float64]

    @property
    def n_cells(self) -> int:
        """Return the number of cells."""
        return int(self.bins.shape[1])

    def holds_at(self, cell: int) -> NDArray[np.bool_]:
        """Return which leaves have no condition on the used_features that is violated at a cell."""
        sign = np.where(self.cell <= cell, self.sign, 0.0)
        total = np.concatenate([[0.0], np.cumsum(sign)])
        return np.asarray((total[self.ptr[1:]] - total[self.ptr[:-1]] > 0)[self.run_set])


def all_bins(grid: Grid, used_feature: int) -> NDArray[np.unsignedinteger]:
    """Return every bin of a used_feature as a cell, the bin of missing values last: shape (1, n_bins)."""
    return np.arange(grid.n_bins[used_feature], dtype=grid.dtype)[None]


def distinct_cells(
    background: Background, used_features: NDArray[np.int64]
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.float64]]:
    """Return the distinct combinations of bins of some used_features in the background, and the share of each.

    Returns
    -------
    bins : ndarray of shape (n_free, n_cells)
        Sorted by the first used_feature, then by the second, and so on.
    share : ndarray of shape (n_cells,)
        Shares of the background's weight; they add up to 1. A combination without weight is left out.
    """
    rows = np.flatnonzero(background.weight)
    bins = background.bins[np.ix_(used_features, rows)]
    if not len(used_features):
        return np.empty((0, 1), bins.dtype), np.ones(1)
    cells, of_row = np.unique(bins, axis=1, return_inverse=True)
    share = np.bincount(of_row.ravel(), background.weight[rows]) / background.total
    return np.ascontiguousarray(cells), share


def cell_axis(
    ensemble: LeafEnsemble, used_features: NDArray[np.int64], bins: NDArray[np.unsignedinteger]
) -> CellAxis:
    """Find where every leaf holds along the cells ``bins`` of some used_features.

    Parameters
    ----------
    ensemble : LeafEnsemble
    used_features : ndarray of shape (n_free,), int64
    bins : ndarray of shape (n_free, n_cells)
        Neighbouring cells should be similar: a leaf costs one addition per run of cells at which it holds.
    """
    used_features = np.asarray(used_features, dtype=np.int64)
    sets = ensemble.distinct_sets(np.isin(ensemble.condition_feature, used_features))
    size = np.diff(sets.ptr)
    # A set without conditions holds at all cells: it only begins, at the first one.
    none, some = np.flatnonzero(size == 0), np.flatnonzero(size)
    found_set, found_cell, found_sign = [none], [np.zeros(len(none), np.int64)], [np.ones(len(none))]
    position = {int(s): i for i, s in enumerate(used_features)}
    feature = ensemble.conditions.feature
    for first, last in weight_chunks((size[some] + 1) * bins.shape[1], scaled(budgets.pattern_table_size)):
        chosen = some[first:last]
        condition = sets.condition[sets.ptr[chosen[0]] : sets.ptr[chosen[-1] + 1]]
        distinct, inverse = np.unique(condition, return_inverse=True)
        at = np.array([position[int(s)] for s in feature[distinct]], dtype=np.int64)
        holds = _holds_at(ensemble, distinct, bins[at])[inverse]
        holds = np.logical_and.reduceat(holds, np.cumsum(size[chosen]) - size[chosen], axis=0)
        change = np.diff(holds.astype(np.int8), axis=1, prepend=np.int8(0))
        in_chunk, cell = np.nonzero(change)
        found_set.append(chosen[in_chunk])
        found_cell.append(cell)
        found_sign.append(change[in_chunk, cell].astype(np.float64))
    set_of_end = np.concatenate(found_set)
    order = np.argsort(set_of_end, kind="stable")
    return CellAxis(
        used_features=used_features,
        bins=bins,
        run_set=sets.of_leaf.astype(np.int64),
        ptr=np.concatenate([[0], np.cumsum(np.bincount(set_of_end, minlength=len(size)))]).astype(np.int64),
        cell=np.concatenate(found_cell)[order].astype(np.int64),
        sign=np.concatenate(found_sign)[order],
    )


def _holds_at(
    ensemble: LeafEnsemble, condition: NDArray[np.integer], bins: NDArray[np.unsignedinteger]
) -> NDArray[np.bool_]:
    """Return where conditions hold at the bins of their features: ``bins`` has one row per condition."""
    c = ensemble.conditions
    lo, hi, missing, mask = (part[condition][:, None] for part in (c.lo, c.hi, c.missing, c.mask))
    holds = ((bins >= lo) & (bins < hi)) | (bins == missing)
    by_mask = np.flatnonzero(mask[:, 0] >= 0)
    holds[by_mask] = c.masks[mask[by_mask] + bins[by_mask].astype(np.int64)] != 0
    return np.asarray(holds)


def join_axes(ensemble: LeafEnsemble, axes: Sequence[CellAxis]) -> FreeAxes:
    """Return the combinations of the cells of some axes for kernels, the cells of the last axis next to each other."""
    free = np.zeros(len(ensemble.grid.features), dtype=bool)
    touched = np.zeros(ensemble.n_leaves, dtype=bool)
    first = np.cumsum([0, *(len(axis.ptr) - 1 for axis in axes)])
    begin = np.cumsum([0, *(len(axis.cell) for axis in axes)])
    stride = np.cumprod([1, *(axis.n_cells for axis in axes[:0:-1])])[::-1]
    for axis in axes:
        free[axis.used_features] = True
    touched[ensemble.condition_leaf[free[ensemble.condition_feature]]] = True
    return FreeAxes(
        leaves=np.flatnonzero(touched),
        free=free,
        run_set=np.stack([axis.run_set + start for axis, start in zip(axes, first)]),
        ptr=np.concatenate([*(axis.ptr[:-1] + start for axis, start in zip(axes, begin)), begin[-1:]]),
        end=np.concatenate([axis.cell * step for axis, step in zip(axes, stride)]),
        sign=np.concatenate([axis.sign for axis in axes]),
        most_corners=int(np.prod([max(1, np.diff(axis.ptr).max(initial=1)) for axis in axes])),
    )
