"""Sums of leaves as functions of rows: the model's margin, also with some features averaged out."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.coalitions import value_tables
from skglex._kernels.patterns import accumulate
from skglex._kernels.traversal import pack_trees, traverse, traverse_levels
from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._patterns import PatternGroups, group_patterns
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, scaled, weight_chunks

# What the engines cost, in nanoseconds: a node that a row visits, alone or with others level by level; a leaf
# condition per row, and once per call.
_VISIT, _LEVEL, _CONDITION, _SETUP = 5.0, 3.1, 0.06, 40.0


class _Packed(NamedTuple):
    """Trees packed by `pack_trees`, and what a traverse through them costs."""

    nodes: NDArray[np.int32]
    root: NDArray[np.int64]
    masks: NDArray[np.uint8]
    missing: NDArray[np.int64]
    value: NDArray[np.float64]
    output: NDArray[np.int32]
    depth: NDArray[np.int64]
    visits: float

    @property
    def trees(self) -> tuple[Any, ...]:
        """The arguments of `traverse`."""
        return (*self[:6], int(self.depth.max(initial=0)))


class LeafSum:
    """The margin of an ensemble as a function of some of its features.

    Each leaf keeps its conditions on them, and its value is multiplied by the weight of its other conditions.
    Trees are walked where that is cheaper, else all leaves are summed by patterns (`skglex._leaves._patterns`).

    Parameters
    ----------
    ensemble : LeafEnsemble
    keep : ndarray of shape (n_used_features,), bool, optional
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

    def __call__(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """The sum at binned rows, base included: shape (n_outputs, n_samples)."""
        n_rows = bins.shape[1]
        out = np.repeat(self._ensemble.base[:, None], n_rows, axis=1)
        engine = self._engine(n_rows)
        if engine == "patterns":
            _sum_by_patterns(self._merged, self._groups, bins, out, execution)
            return out
        kernel, trees = (
            (traverse_levels, self._levels) if engine == "levels" else (traverse, self._packed.trees)
        )
        execution.run(kernel, [(bins, *trees, r0, r1, out) for r0, r1 in row_chunks(n_rows)])
        return out

    def _engine(self, n_rows: int) -> Literal["patterns", "traverse", "levels"]:
        """The cheapest way for so many rows."""
        trees = self._ensemble.trees
        if trees is None or len(trees.masks) > 1 << 29:  # packed nodes are 32-bit integers
            return "patterns"
        packed, n_conditions = self._packed, len(self._ensemble.leaf_condition)
        cost: dict[Literal["patterns", "traverse", "levels"], float] = {
            "patterns": n_conditions * (_CONDITION * n_rows + _SETUP),
            "traverse": packed.visits * _VISIT * n_rows,
        }
        if self._keep.all() and not len(trees.masks) and len(self._keep):
            cost["levels"] = float(packed.depth.sum()) * _LEVEL * n_rows
        return min(cost, key=lambda engine: cost[engine])

    @cached_property
    def _merged(self) -> LeafEnsemble:
        """The leaves without the other conditions; those that became the same are one."""
        if self._keep.all():
            return self._ensemble
        return self._ensemble.keep_conditions(self._keep[self._ensemble.condition_feature], self._value)

    @cached_property
    def _groups(self) -> PatternGroups:
        return group_patterns(self._merged, any_violation=True)

    @cached_property
    def _packed(self) -> _Packed:
        ensemble, trees = self._ensemble, self._ensemble.trees
        assert trees is not None
        n_trees = len(trees.roots) - 1
        nodes = np.empty((len(trees.left), 4), np.int32)
        root, depth, visits = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64), np.empty(n_trees)
        value = np.empty((ensemble.n_leaves, self._value.shape[1]))
        n_nodes, n_values = pack_trees(trees, ~self._keep, self._value, nodes, root, value, visits, depth)
        return _Packed(
            nodes[:n_nodes].copy(),
            root,
            trees.masks,
            ensemble.grid.n_bins - 1,
            value[:n_values].copy(),
            ensemble.output[ensemble.tree_ptr[:-1]],
            depth,
            float(visits.sum()),
        )

    @cached_property
    def _levels(self) -> tuple[Any, ...]:
        """The arguments of `traverse_levels`: leaves lead to themselves."""
        packed = self._packed
        leaf = packed.nodes[:, 0] < 0
        # nothing is left of a leaf's cut, and to the right is the leaf itself
        used_feature, cut, right, missing_left = np.where(leaf, 0, packed.nodes.T)
        right = 4 * np.where(leaf, np.arange(len(leaf)), right)
        nodes = np.column_stack([used_feature, np.where(leaf, 0, cut + 1), right, missing_left]).astype(
            np.uint32
        )
        value_of = packed.nodes[:, 1].copy()
        return nodes, value_of, packed.root, packed.depth, packed.missing, packed.value, packed.output


def _sum_by_patterns(
    ensemble: LeafEnsemble,
    groups: PatternGroups,
    bins: NDArray[np.unsignedinteger],
    out: NDArray[np.float64],
    execution: Execution,
) -> None:
    width = ensemble.value.shape[1]
    columns = ensemble.output[groups.group_leaf[:-1]].astype(np.int64)[:, None] + np.arange(width)
    column_ptr = width * np.arange(groups.n_groups + 1)
    value_ptr = width * groups.table_ptr
    leaves = ensemble.leaf_ptr, groups.bit, groups.flip, ensemble.value
    for first, last in weight_chunks(groups.n_patterns * width, scaled(budgets.pattern_table_size)):
        tables = np.zeros(value_ptr[last] - value_ptr[first])
        value_tables(groups.group_leaf, groups.table_ptr, value_ptr, *leaves, first, last, tables)
        execution.run(
            accumulate,
            [
                (bins, ensemble.conditions, *groups.kernel_args(), column_ptr, columns.ravel(), value_ptr)
                + (tables, first, last, r0, r1, out)
                for r0, r1 in row_chunks(bins.shape[1])
            ],
        )
