"""Tables by pattern of what groups of leaves add to some columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.patterns import accumulate
from skglex._leaves import LeafEnsemble, PatternGroups
from skglex._utils import Execution, row_chunks


class GroupTables(NamedTuple):
    """Tables (patterns x columns) of the groups of leaves ``first <= g < last``.

    Group ``first + g`` adds to the rows ``column[column_ptr[g]:column_ptr[g + 1]]`` of the output, what its table
    says from ``values[value_ptr[g]]`` on.
    """

    first: int
    last: int
    column_ptr: NDArray[np.int64]
    column: NDArray[np.int64]
    value_ptr: NDArray[np.int64]
    values: NDArray[np.float64]

    def kernel_args(self, groups: PatternGroups) -> tuple[Any, ...]:
        """Where the groups' leaves, patterns, values and columns begin."""
        own = slice(self.first, self.last + 1)
        return groups.group_leaf[own], groups.table_ptr[own], self.value_ptr, self.column_ptr

    def add_to(
        self,
        out: NDArray[np.float64],
        ensemble: LeafEnsemble,
        groups: PatternGroups,
        bins: NDArray[np.unsignedinteger],
        execution: Execution,
        label: str = "",
    ) -> None:
        """Look the patterns of binned rows up and add the columns to ``out`` (columns x rows)."""
        condition, bit, entry_ptr, table_ptr = groups.kernel_args()
        own = slice(self.first, self.last + 1)
        args = condition, bit, entry_ptr[own], table_ptr[own], *self[2:], 0, self.last - self.first
        execution.run(
            accumulate,
            [(bins, ensemble.conditions, *args, r0, r1, out) for r0, r1 in row_chunks(bins.shape[1])],
            label=label,
        )


def lay_out(
    ensemble: LeafEnsemble,
    groups: PatternGroups,
    first: int,
    last: int,
    own_ptr: NDArray[np.int64],
    ids: NDArray[np.int64],
    per_output: int,
) -> tuple[GroupTables, NDArray[np.int64]]:
    """Empty tables for the columns ``ids[own_ptr[l]:own_ptr[l + 1]]`` of every leaf l of some groups.

    A group has the columns of all its leaves, for each of the outputs that they add to; those of output o lie
    ``per_output * o`` further. Also returns the position of each of ``ids`` among its group's columns.
    """
    width = ensemble.value.shape[1]
    group_leaf, table_ptr = groups.group_leaf[first : last + 1], groups.table_ptr[first : last + 1]
    n_groups = last - first
    group_of = np.repeat(np.arange(n_groups), np.diff(own_ptr[group_leaf]))
    keys, leaf_column = np.unique(group_of * per_output + ids, return_inverse=True)
    ptr = np.searchsorted(keys, np.arange(n_groups + 1) * per_output).astype(np.int64)
    columns, n_columns = keys % per_output, np.diff(ptr)
    column_ptr = np.concatenate([[0], np.cumsum(n_columns * width)])
    group = np.repeat(np.arange(n_groups), n_columns * width)
    position = np.arange(column_ptr[-1]) - column_ptr[group]
    safe = np.maximum(n_columns, 1)[group]
    output = ensemble.output[group_leaf[:-1]].astype(np.int64)[group] + position // safe
    column = columns[ptr[group] + position % safe] + per_output * output
    value_ptr = np.concatenate([[0], np.cumsum(n_columns * width * np.diff(table_ptr))])
    tables = GroupTables(first, last, column_ptr, column, value_ptr, np.zeros(value_ptr[-1]))
    return tables, leaf_column - ptr[group_of]
