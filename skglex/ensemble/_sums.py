"""Sums of leaves as functions of rows: the model's margin, also with some features averaged out."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._memory import scaled
from skglex._parallel import row_chunks, run, weight_chunks
from skglex.ensemble._leaves import LeafEnsemble
from skglex.ensemble._patterns import TABLE_BUDGET, PatternGroups, group_patterns
from skglex.kernels.games import value_tables
from skglex.kernels.patterns import accumulate
from skglex.kernels.walk import pack_trees, walk

# What the engines cost, in nanoseconds: a node that a row visits; a leaf condition per row, and once per call.
_VISIT, _CONDITION, _SETUP = 2.5, 0.05, 60.0


class _Packed(NamedTuple):
    nodes: NDArray[np.int32]
    root: NDArray[np.int64]
    masks: NDArray[np.uint8]
    missing: NDArray[np.int64]
    value: NDArray[np.float64]
    output: NDArray[np.int32]
    max_depth: int


class LeafSum:
    """The margin of an ensemble as a function of some of its features.

    Each leaf keeps its conditions on them, and its value is multiplied by the weight of its other conditions.
    Trees are walked where that is cheaper, else all leaves are summed by patterns (`skglex.ensemble._patterns`).

    Parameters
    ----------
    ensemble : LeafEnsemble
    keep : ndarray of shape (n_slots,), bool, optional
        Slots whose conditions are kept. Default: all.
    weight : ndarray of shape (n_leaves,), optional
        Weight of each leaf's other conditions.
    """

    def __init__(
        self,
        ensemble: LeafEnsemble,
        keep: NDArray[np.bool_] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        self._ensemble = ensemble
        self._keep = np.ones(len(ensemble.grid.features), dtype=bool) if keep is None else keep
        self._value = ensemble.value if weight is None else ensemble.value * weight[:, None]

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("_ensemble", "_keep", "_value")}

    @property
    def n_outputs(self) -> int:
        return self._ensemble.n_outputs

    def __call__(self, bins: NDArray[np.unsignedinteger], n_jobs: int | None = None) -> NDArray[np.float64]:
        """The sum at binned rows, base included: shape (n_outputs, n_samples)."""
        n_rows = bins.shape[1]
        out = np.repeat(self._ensemble.base[:, None], n_rows, axis=1)
        if self._walks(n_rows):
            tasks = [(bins, *self._packed[0], r0, r1, out) for r0, r1 in row_chunks(n_rows)]
            run(walk, tasks, n_jobs=n_jobs)
        else:
            _sum_by_patterns(
                self._merged, group_patterns(self._merged, 10, any_violation=True), bins, out, n_jobs
            )
        return out

    def _walks(self, n_rows: int) -> bool:
        trees = self._ensemble.trees
        if trees is None or len(trees.masks) > 1 << 29:  # packed nodes are 32-bit integers
            return False
        visits, n_conditions = self._packed[1], len(self._ensemble.leaf_condition)
        return visits * _VISIT * n_rows < n_conditions * (_CONDITION * n_rows + _SETUP)

    @cached_property
    def _merged(self) -> LeafEnsemble:
        """The leaves without the other conditions; those that became the same are one."""
        if self._keep.all():
            return self._ensemble
        return self._ensemble.keep_entries(self._keep[self._ensemble.entry_slot], self._value)

    @cached_property
    def _packed(self) -> tuple[_Packed, float]:
        """The trees as `walk` takes them, and how many nodes a row is expected to visit."""
        ensemble, trees = self._ensemble, self._ensemble.trees
        assert trees is not None
        n_trees = len(trees.roots) - 1
        nodes = np.empty((len(trees.left), 4), np.int32)
        root, visits = np.empty(n_trees, np.int64), np.empty(n_trees)
        value = np.empty((ensemble.n_leaves, self._value.shape[1]))
        n_nodes, n_values = pack_trees(trees, ~self._keep, self._value, nodes, root, value, visits)
        output = ensemble.output[ensemble.tree_ptr[:-1]]
        missing = ensemble.grid.n_bins - 1
        depth = int(np.diff(ensemble.tree_ptr).max(initial=0))  # a tree is no deeper than it has leaves
        packed = _Packed(
            nodes[:n_nodes].copy(), root, trees.masks, missing, value[:n_values].copy(), output, depth
        )
        return packed, float(visits.sum())


def _sum_by_patterns(
    ensemble: LeafEnsemble,
    groups: PatternGroups,
    bins: NDArray[np.unsignedinteger],
    out: NDArray[np.float64],
    n_jobs: int | None,
) -> None:
    width = ensemble.value.shape[1]
    columns = ensemble.output[groups.group_leaf[:-1]].astype(np.int64)[:, None] + np.arange(width)
    column_ptr = width * np.arange(groups.n_groups + 1)
    value_ptr = width * groups.table_ptr
    for first, last in weight_chunks(groups.n_patterns * width, scaled(TABLE_BUDGET)):
        tables = np.zeros(value_ptr[last] - value_ptr[first])
        value_tables(
            groups.group_leaf,
            groups.table_ptr,
            value_ptr,
            ensemble.leaf_ptr,
            groups.bit,
            groups.flip,
            ensemble.value,
            first,
            last,
            tables,
        )
        run(
            accumulate,
            [
                (bins, ensemble.conditions, *groups.kernel_args(), column_ptr, columns.ravel(), value_ptr)
                + (tables, first, last, r0, r1, out)
                for r0, r1 in row_chunks(bins.shape[1])
            ],
            n_jobs=n_jobs,
        )
