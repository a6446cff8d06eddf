"""Look up, by pattern, what groups of leaves add to each output column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import LeafColumns, PatternTables
from skglex._kernels.patterns import SPARE, accumulate
from skglex._leaves import LeafGames
from skglex._utils import Execution, row_chunks


class GroupTables(NamedTuple):
    """Hold the tables (patterns x columns) of the groups of leaves ``first <= g < last``.

    Attributes
    ----------
    first, last : int
    tables : PatternTables
        Group ``first + g`` is number g here.
    """

    first: int
    last: int
    tables: PatternTables

    def add_to(
        self,
        out: NDArray[np.float64],
        games: LeafGames,
        bins: NDArray[np.unsignedinteger],
        execution: Execution,
        label: str = "",
        at: int = 0,
    ) -> None:
        """Look up the patterns of binned rows, and add the columns to ``out`` (columns x rows), from row ``at`` on."""
        bits = games.groups.group_bits(self.first, self.last)
        args = games.ensemble.conditions, bits, self.tables, 0, self.last - self.first
        execution.run(
            accumulate, [(bins, *args, r0, r1, at, out) for r0, r1 in row_chunks(bins.shape[1])], label=label
        )


def lay_out(
    games: LeafGames,
    first: int,
    last: int,
    leaf_ptr: NDArray[np.int64],
    ids: NDArray[np.int64],
    per_output: int,
) -> tuple[GroupTables, LeafColumns]:
    """Return empty tables of the groups ``first <= g < last``, and where each leaf's columns are in them.

    Leaf l adds to the columns ``ids[leaf_ptr[l]:leaf_ptr[l + 1]]`` of each output that it has values for; those of
    output o come ``per_output * o`` later. A group has the columns of all its leaves.
    """
    ensemble, groups = games.ensemble, games.groups
    width = ensemble.value.shape[1]
    group_leaf, table_ptr = groups.group_leaf[first : last + 1], groups.table_ptr[first : last + 1]
    n_groups = last - first
    group_of = np.repeat(np.arange(n_groups), np.diff(leaf_ptr[group_leaf]))
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
    tables = PatternTables(column_ptr, column, value_ptr, np.zeros(value_ptr[-1] + SPARE))
    return GroupTables(first, last, tables), LeafColumns(leaf_ptr, leaf_column - ptr[group_of])
