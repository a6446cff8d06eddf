"""Sum SHAP values and SHAP interaction values over the leaves; no component is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._pattern_tables import GroupTables, lay_out
from skglex._decomposition._shares import add_in_shares
from skglex._kernels.arguments import ShapleyRows
from skglex._kernels.shapley import shapley_tables
from skglex._leaves import CoalitionWeights, LeafSum
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled, weight_chunks, without_cached


class ShapleySums:
    """Compute Shapley values, or half the interactions of i < j, of all leaves at binned rows.

    In a model whose tables can be kept between calls, every group of leaves has a table by pattern for each of its
    columns (players, or pairs of them). Otherwise, and for leaves with long paths, the weighting solves the leaves anew
    in each call, in clusters (see `skglex._kernels.clusters`).

    Parameters
    ----------
    weights : CoalitionWeights
    margins : LeafSum
        The sum of the same leaves.
    n_players : int
        Number of players in all.
    pairs : bool
        Whether to compute interactions instead of values.
    """

    def __init__(self, weights: CoalitionWeights, margins: LeafSum, n_players: int, *, pairs: bool) -> None:
        self._weights = weights
        self._margins = margins
        self._games = weights.games
        self._n_players = n_players
        self._pairs = pairs
        self._cached: GroupTables | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**without_cached(self), "_cached": None}

    def __call__(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return values of shape (n_outputs, n_players, n_samples).

        Interactions have the shape (n_outputs, n_players, n_players, n_samples), of which only i < j is written.
        """
        n_rows, n_outputs = bins.shape[1], self._games.ensemble.n_outputs
        out = np.zeros((n_outputs * self._per_output, n_rows))
        self.add_to(out, 0, bins, execution)
        shape = (self._n_players,) * (2 if self._pairs else 1)
        return out.reshape(n_outputs, *shape, n_rows)

    def add_to(
        self,
        out: NDArray[np.float64],
        at: int,
        bins: NDArray[np.unsignedinteger],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> None:
        """Add the values to ``out``, of shape (n_outputs * n_players ** (1 or 2), n_rows), from row ``at`` on."""
        part = out[:, at : at + bins.shape[1]]
        leaves = self._has_columns
        walks, reason = None, self._refused
        if not self._keeps_tables or reason:
            walks = self._weights.weighting.shapley_walks(self._games, self._margins, bins, self._layout)
        if walks is None and reason:
            raise ValueError(reason)
        if walks is not None:
            self._add_anew(*walks, bins, part, execution)
            n_leaves = np.diff(self._games.ensemble.tree_ptr)
            remains = ~np.isin(np.arange(len(n_leaves)), walks[2])
            leaves = leaves & np.repeat(remains, n_leaves)
        elif self._keeps_tables or not self._weights.weighting.solves_leaves:
            leaves = leaves & self._games.players.long_path
            for tables in self._tables(execution):
                tables.add_to(out, self._games, bins, execution=execution, label="SHAP values", at=at)
        if leaves.any():
            chosen = np.flatnonzero(leaves)
            kernel = self._weights.weighting.shapley_kernel(self._games, chosen, bins.shape[1])
            self._add_anew(*kernel, chosen, bins, part, execution)

    @property
    def only_tables(self) -> bool:
        """Return whether all leaves have tables that are kept, so that nothing else is held for the rows."""
        return self._keeps_tables and not self._games.players.long_path.any()

    @property
    def columns(self) -> NDArray[np.int64]:
        """Return which rows of ``out`` of `add_to` may be other than zero, in ascending order."""
        if self._cached is not None and self.only_tables:
            return np.unique(self._cached.tables.column)
        columns = np.arange(self._games.ensemble.n_outputs * self._per_output)
        if not self._pairs:
            return columns
        i, j = np.divmod(columns % self._per_output, self._n_players)
        return np.asarray(columns[i < j])

    @property
    def _refused(self) -> str | None:
        """Return why leaf by leaf the values cannot be computed; None if they can."""
        if self._weights.weighting.solves_any_path:
            return None
        what = "SHAP interaction values" if self._pairs else "SHAP values"
        return self._games.players.refused(
            f"{what} with empirical weights of boxes that are not leaves of trees"
        )

    @property
    def _has_columns(self) -> NDArray[np.bool_]:
        """Return which leaves add to any value."""
        return np.asarray(self._games.players.n_players > self._pairs)

    @property
    def _layout(self) -> ShapleyRows:
        return ShapleyRows(self._n_players, self._pairs)

    @property
    def _per_output(self) -> int:
        return self._n_players**2 if self._pairs else self._n_players

    # -- by table -----------------------------------------------------------------------------

    @cached_property
    def _table_cost(self) -> NDArray[np.int64]:
        """Return a bound of the entries of each group's tables and of the weights that they are made from."""
        players, groups = self._games.players, self._games.groups
        n_bits = groups.n_bits
        n_columns = n_bits * (n_bits - 1) // 2 if self._pairs else n_bits
        n_coalitions = np.diff(players.coalition_ptr[groups.group_leaf])
        width = self._games.ensemble.value.shape[1]
        cost: NDArray[np.int64] = groups.n_patterns * n_columns * width + n_coalitions
        return cost

    @cached_property
    def _keeps_tables(self) -> bool:
        """Return whether the tables of all groups are kept between calls."""
        return bool(self._table_cost.sum() <= scaled(budgets.kept_table_size))

    def _tables(self, execution: Execution) -> Iterator[GroupTables]:
        if self._cached is not None:
            yield self._cached
            return
        cost, keep = self._table_cost, self._keeps_tables
        limit = scaled(budgets.kept_table_size if keep else budgets.pattern_table_size)
        for first, last in weight_chunks(cost, limit):
            tables = self._build(first, last, cost[first:last], execution)
            if keep:
                self._cached = tables
            yield tables

    def _build(self, first: int, last: int, cost: NDArray[np.int64], execution: Execution) -> GroupTables:
        """Compute the tables of some groups."""
        games, ensemble = self._games, self._games.ensemble
        leaf_ptr, ids = self._leaf_columns(*games.leaves_of(first, last))
        tables, columns = lay_out(games, first, last, leaf_ptr, ids, self._per_output)
        weights = self._weights.all_coalitions(games, first, last, execution=execution)
        args = games.groups.leaf_bits(first, last), tables.tables, columns
        leaf_arrays = ensemble.paths, games.players.arrays, ensemble.value
        execution.run(
            shapley_tables,
            [
                (*args, *leaf_arrays, *weights, a, b, self._pairs or None)
                for a, b in weight_chunks(cost, scaled(budgets.pattern_table_size) / 16)
            ],
        )
        return tables

    def _leaf_columns(self, l0: int, l1: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the columns of the leaves ``l0 <= l < l1`` begin (by leaf), and what they are.

        Columns are players i, or pairs i * n_players + j with i < j.
        """
        ensemble, players = self._games.ensemble, self._games.players
        k = players.n_players
        n_columns = k * (k - 1) // 2 if self._pairs else k
        leaf_ptr = np.concatenate([[0], np.cumsum(n_columns)])
        leaf_ptr -= leaf_ptr[l0]
        start = np.cumsum(k) - k
        start -= start[l0] if l1 > l0 else 0
        conditions = slice(ensemble.leaf_ptr[l0], ensemble.leaf_ptr[l1])
        leaf = np.repeat(np.arange(l0, l1), np.diff(ensemble.leaf_ptr[l0 : l1 + 1]))
        ids = np.empty(int(k[l0:l1].sum()), np.int64)
        ids[start[leaf] + players.condition_player[conditions]] = players.condition_player_id[conditions]
        if not self._pairs:
            return leaf_ptr, ids
        out = np.empty(int(n_columns[l0:l1].sum()), np.int64)
        for size in np.unique(k[l0:l1]):
            leaves = l0 + np.flatnonzero(k[l0:l1] == size)
            i, j = np.triu_indices(size, 1)
            one, other = start[leaves][:, None] + i, start[leaves][:, None] + j
            out[leaf_ptr[leaves][:, None] + np.arange(len(i))] = ids[one] * self._n_players + ids[other]
        return leaf_ptr, out

    def _add_anew(
        self,
        kernel: Callable[..., Any],
        args: tuple[Any, ...],
        items: NDArray[np.int64],
        bins: NDArray[np.unsignedinteger],
        out: NDArray[np.float64],
        execution: Execution,
    ) -> None:
        """Add what leaves, or trees, give to ``out``, without kept tables."""
        add_in_shares(kernel, (*args, self._layout), items, bins, out, execution, "SHAP values, deep leaves")
