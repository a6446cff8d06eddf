"""Sum leaves at rows: the model's margin, also with some features averaged out."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import LevelTrees, PackedTrees, PatternTables
from skglex._kernels.bitsets import add_leaves
from skglex._kernels.patterns import SPARE, accumulate, value_tables
from skglex._kernels.traversal import pack_trees, traverse, traverse_levels
from skglex._leaves._background import Background
from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._patterns import PatternGroups, group_patterns
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, scaled, weight_chunks

# Cost of the engines in nanoseconds: per node that a row visits, alone or with others level by level; per leaf
# condition and row, and per leaf condition once a call.
_VISIT, _LEVEL, _CONDITION, _SETUP = 5.0, 3.1, 0.06, 40.0


class _Packed(NamedTuple):
    """Hold packed trees, the depth of each, and how many nodes a row visits in all."""

    trees: PackedTrees
    depth: NDArray[np.int64]
    visits: float


class LeafSum:
    """Compute the margin of an ensemble as a function of some of its features.

    Each leaf keeps its conditions on them, and its value is multiplied by the weight of its other conditions.
    Rows walk the trees where that is cheaper; otherwise all leaves are summed by patterns.

    Parameters
    ----------
    ensemble : LeafEnsemble
    keep : ndarray of shape (n_used_features,), bool, optional
        Used_features whose conditions are kept. Default: all.
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
        """Return the number of outputs of the margin."""
        return self._ensemble.n_outputs

    def __call__(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return the sum at binned rows, base included: shape (n_outputs, n_samples)."""
        n_rows = bins.shape[1]
        out = np.repeat(self._ensemble.base[:, None], n_rows, axis=1)
        engine = self._engine(n_rows)
        if engine == "patterns":
            _sum_by_patterns(self._merged, self._groups, bins, out, execution)
            return out
        chunks = row_chunks(n_rows)
        if engine == "levels":
            execution.run(traverse_levels, [(bins, self._levels, r0, r1, out) for r0, r1 in chunks])
        else:
            packed = self.packed
            assert packed is not None
            args = packed.trees, int(packed.depth.max(initial=0))
            execution.run(traverse, [(bins, *args, r0, r1, out) for r0, r1 in chunks])
        return out

    def _engine(self, n_rows: int) -> Literal["patterns", "traverse", "levels"]:
        """Choose the cheapest way for so many rows."""
        packed, n_conditions = self.packed, len(self._ensemble.leaf_condition)
        if packed is None:
            return "patterns"
        cost: dict[Literal["patterns", "traverse", "levels"], float] = {
            "patterns": n_conditions * (_CONDITION * n_rows + _SETUP),
            "traverse": packed.visits * _VISIT * n_rows,
        }
        if self._keep.all() and not len(packed.trees.masks) and len(self._keep):
            cost["levels"] = float(packed.depth.sum()) * _LEVEL * n_rows
        return min(cost, key=lambda engine: cost[engine])

    @cached_property
    def _merged(self) -> LeafEnsemble:
        """Drop the other conditions, and merge leaves that become the same."""
        if self._keep.all():
            return self._ensemble
        return self._ensemble.keep_conditions(self._keep[self._ensemble.condition_feature], self._value)

    @cached_property
    def _groups(self) -> PatternGroups:
        return group_patterns(self._merged, any_violation=True)

    @cached_property
    def packed(self) -> _Packed | None:
        """Return the packed trees; None if there are none, or too many bins of categories for 32-bit numbers."""
        ensemble, trees = self._ensemble, self._ensemble.trees
        if trees is None or len(trees.masks) > 1 << 29:
            return None
        n_trees = len(trees.roots) - 1
        nodes = np.empty((len(trees.left), 4), np.int32)
        root, depth, visits = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64), np.empty(n_trees)
        value = np.empty((ensemble.n_leaves, self._value.shape[1]))
        n_nodes, n_values = pack_trees(trees, ~self._keep, self._value, nodes, root, value, visits, depth)
        packed = PackedTrees(
            nodes=nodes if n_nodes == len(nodes) else nodes[:n_nodes].copy(),
            root=root,
            masks=trees.masks,
            missing=ensemble.grid.n_bins - 1,
            # Leaves and packed leaves are in the same order, unless some were joined.
            value=self._value if n_values == len(value) else value[:n_values].copy(),
            output=ensemble.output[ensemble.tree_ptr[:-1]],
        )
        return _Packed(packed, depth, float(visits.sum()))

    @cached_property
    def _levels(self) -> LevelTrees:
        """Let leaves lead to themselves."""
        packed = self.packed
        assert packed is not None
        trees = packed.trees
        leaf = trees.nodes[:, 0] < 0
        # Nothing is left of a leaf's cut, and to the right is the leaf itself.
        used_feature, cut, right, missing_left = np.where(leaf, 0, trees.nodes.T)
        right = 4 * np.where(leaf, np.arange(len(leaf)), right)
        nodes = np.column_stack([used_feature, np.where(leaf, 0, cut + 1), right, missing_left])
        return LevelTrees(
            nodes=nodes.astype(np.uint32),
            value_row=trees.nodes[:, 1].copy(),
            root=trees.root,
            depth=packed.depth,
            missing=trees.missing,
            value=trees.value,
            output=trees.output,
        )


def sum_leaves(ensemble: LeafEnsemble, bins: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
    """Return the margin at binned rows from the leaves' conditions, without the trees: shape (n_outputs, n_samples).

    It is quick where a row meets the conditions of few leaves, such as one in each tree.
    """
    n_rows, start = bins.shape[1], 0
    out = np.repeat(ensemble.base[:, None], n_rows, axis=1)
    for block in Background(bins, np.ones(n_rows)).bit_sets(ensemble.grid.n_bins):
        add_leaves(block, ensemble.conditions, ensemble.paths, ensemble.leaf_values, start, out)
        start += block.n_rows
    return out


def _sum_by_patterns(
    ensemble: LeafEnsemble,
    groups: PatternGroups,
    bins: NDArray[np.unsignedinteger],
    out: NDArray[np.float64],
    execution: Execution,
) -> None:
    """Add all leaves to ``out``, a bounded number of pattern tables at a time."""
    width = ensemble.value.shape[1]
    columns = ensemble.output[groups.group_leaf[:-1]].astype(np.int64)[:, None] + np.arange(width)
    column_ptr = width * np.arange(groups.n_groups + 1)
    value_ptr = width * groups.table_ptr
    bits, leaf_bits = groups.group_bits(), groups.leaf_bits()
    for first, last in weight_chunks(groups.n_patterns * width, scaled(budgets.pattern_table_size)):
        values = np.zeros(value_ptr[last] - value_ptr[first] + SPARE)
        tables = PatternTables(column_ptr, columns.ravel(), value_ptr, values)
        value_tables(leaf_bits, tables, ensemble.paths, ensemble.value, first, last)
        execution.run(
            accumulate,
            [
                (bins, ensemble.conditions, bits, tables, first, last, r0, r1, 0, out)
                for r0, r1 in row_chunks(bins.shape[1])
            ],
        )
