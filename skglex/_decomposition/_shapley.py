"""SHAP values and SHAP interaction values, straight from the leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._pattern_tables import GroupTables, lay_out
from skglex._kernels.coalitions import shapley_tables
from skglex._kernels.long_paths import stream_shapley
from skglex._leaves import MAX_TABLE_BITS, CoalitionWeights, PathDependent
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, scaled, weight_chunks

# What the ways cost, in nanoseconds: an entry of a table; a player at one node of the quadrature, for a row.
_ENTRY, _FACTOR = 4.0, 3.0
# Tasks over leaves, where there are too few rows to share out.
_LEAF_TASKS = 16


class ShapleySums:
    """Shapley values, or half the interactions of i < j, of all leaves as a function of binned rows.

    Every group of leaves has a table by pattern for each of its columns (players, or pairs of them). Where the
    tables would be too large, or too dear for the rows at hand, each leaf is solved for the patterns that occur.

    Parameters
    ----------
    weights : CoalitionWeights
    n_players : int
        Number of players in all.
    pairs : bool
        Interactions instead of values.
    """

    def __init__(self, weights: CoalitionWeights, n_players: int, *, pairs: bool) -> None:
        self._weights = weights
        self._n_players = n_players
        self._pairs = pairs
        self._kept: GroupTables | None = None
        self._direct = np.flatnonzero(weights.players.wide & self._has_columns)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    @property
    def _has_columns(self) -> NDArray[np.bool_]:
        """Which leaves add to any value."""
        return np.asarray(self._weights.players.n_players > self._pairs)

    @property
    def _per_output(self) -> int:
        return self._n_players**2 if self._pairs else self._n_players

    def __call__(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Values of shape (n_outputs, n_players, n_samples).

        Interactions have the shape (n_outputs, n_players, n_players, n_samples); only i < j is written.
        """
        ensemble, groups, leaves = self._weights.ensemble, self._weights.groups, self._direct
        n_rows = bins.shape[1]
        out = np.zeros((ensemble.n_outputs * self._per_output, n_rows))
        if self._without_tables(n_rows):
            leaves = np.flatnonzero(self._has_columns)
        else:
            for tables in self._tables(execution):
                tables.add_to(out, ensemble, groups, bins, execution=execution, label="SHAP values")
        if len(leaves):
            self._add_directly(leaves, bins, out, execution)
        shape = (self._n_players,) * (2 if self._pairs else 1)
        return out.reshape(ensemble.n_outputs, *shape, n_rows)

    # -- by table -----------------------------------------------------------------------------

    def _table_cost(self) -> NDArray[np.int64]:
        """Entries of each group's tables, at most, and of the weights that they are made from."""
        players, groups = self._weights.players, self._weights.groups
        n_bits = np.diff(groups.entry_ptr)
        n_columns = n_bits * (n_bits - 1) // 2 if self._pairs else n_bits
        n_coalitions = np.diff(players.coalition_ptr[groups.group_leaf])
        cost: NDArray[np.int64] = (
            groups.n_patterns * n_columns * self._weights.ensemble.value.shape[1] + n_coalitions
        )
        return cost

    def _without_tables(self, n_rows: int) -> bool:
        """Whether tables would cost more than to solve every leaf for the few rows there are."""
        if self._kept is not None or not isinstance(self._weights.weighting, PathDependent):
            return False
        total = self._table_cost().sum()
        k = self._weights.players.n_players
        factors = (k * (k + 1) // 2 + 10) * (k if self._pairs else 1)
        return bool(
            total > scaled(budgets.kept_table_size) and total * _ENTRY > factors.sum() * _FACTOR * n_rows
        )

    def _tables(self, execution: Execution) -> Iterator[GroupTables]:
        if self._kept is not None:
            yield self._kept
            return
        cost = self._table_cost()
        keep = cost.sum() <= scaled(budgets.kept_table_size)
        for first, last in weight_chunks(
            cost, scaled(budgets.kept_table_size if keep else budgets.pattern_table_size)
        ):
            tables = self._build(first, last, cost[first:last], execution)
            if keep:
                self._kept = tables
            yield tables

    def _build(self, first: int, last: int, cost: NDArray[np.int64], execution: Execution) -> GroupTables:
        ensemble, players, groups = self._weights.ensemble, self._weights.players, self._weights.groups
        own_ptr, ids = self._leaf_columns(groups.group_leaf[first], groups.group_leaf[last])
        tables, leaf_column = lay_out(ensemble, groups, first, last, own_ptr, ids, self._per_output)
        fixed, origin = self._weights.dense(first, last, execution=execution)
        execution.run(
            shapley_tables,
            [
                (*tables.kernel_args(groups), leaf_column, own_ptr)
                + (ensemble.leaf_ptr, groups.bit, groups.flip)
                + (
                    players.condition_player,
                    players.n_players,
                    ensemble.value,
                    players.coalition_ptr - origin,
                    fixed,
                )
                + (a, b, self._pairs, tables.values)
                for a, b in weight_chunks(cost, scaled(budgets.pattern_table_size) / 16)
            ],
        )
        return tables

    def _leaf_columns(self, l0: int, l1: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the columns of the leaves ``l0 <= l < l1`` begin (by leaf), and what they are.

        Players i, or pairs i * n_players + j with i < j.
        """
        ensemble, players = self._weights.ensemble, self._weights.players
        k = players.n_players
        n_own = k * (k - 1) // 2 if self._pairs else k
        own_ptr = np.concatenate([[0], np.cumsum(n_own)])
        own_ptr -= own_ptr[l0]
        start = np.cumsum(k) - k
        start -= start[l0] if l1 > l0 else 0
        entries = slice(ensemble.leaf_ptr[l0], ensemble.leaf_ptr[l1])
        leaf = np.repeat(np.arange(l0, l1), np.diff(ensemble.leaf_ptr[l0 : l1 + 1]))
        ids = np.empty(int(k[l0:l1].sum()), np.int64)
        ids[start[leaf] + players.condition_player[entries]] = players.condition_player_id[entries]
        if not self._pairs:
            return own_ptr, ids
        out = np.empty(int(n_own[l0:l1].sum()), np.int64)
        for size in np.unique(k[l0:l1]):
            leaves = l0 + np.flatnonzero(k[l0:l1] == size)
            i, j = np.triu_indices(size, 1)
            one, other = start[leaves][:, None] + i, start[leaves][:, None] + j
            out[own_ptr[leaves][:, None] + np.arange(len(i))] = ids[one] * self._n_players + ids[other]
        return own_ptr, out

    # -- leaf by leaf -------------------------------------------------------------------------

    def _add_directly(
        self,
        leaves: NDArray[np.int64],
        bins: NDArray[np.unsignedinteger],
        out: NDArray[np.float64],
        execution: Execution,
    ) -> None:
        ensemble, players = self._weights.ensemble, self._weights.players
        weighting: Any = self._weights.weighting
        k = int(players.n_players[leaves].max())
        n_rows = bins.shape[1]
        if not isinstance(weighting, PathDependent):
            back = weighting.background
            if (n := len(leaves) * n_rows * back.bins.shape[1]) > budgets.comparisons:
                raise ValueError(
                    f"{len(leaves):,} leaves split on more than {MAX_TABLE_BITS} features each: with empirical weights "
                    f"their SHAP values compare {n_rows:,} rows with {back.bins.shape[1]:,} background rows, "
                    f"{n:.2g} comparisons in all, more than the {budgets.comparisons:.0e} allowed. Pass fewer rows, set "
                    "n_background, or use weighting='path_dependent'"
                )
            ratio, nodes, node_weights = np.empty(0), np.empty((0, 0)), np.empty((0, 0))
            against = back.bins, back.weight / back.total, _inverse_binomials(k)
        else:
            assert ensemble.ratio is not None
            ratio = ensemble.ratio
            most = (k + 1) // 2
            nodes, node_weights = np.zeros((2, most + 1, most))
            for n in range(1, most + 1):
                x, w = np.polynomial.legendre.leggauss(n)
                nodes[n, :n], node_weights[n, :n] = (x + 1) / 2, w / 2
            against = np.empty((0, 0), bins.dtype), np.empty(0), np.empty((0, 0))
        path = ensemble.conditions, ensemble.leaf_condition, ensemble.leaf_ptr, players.condition_player
        game = players.condition_player_id, players.n_players, ratio, nodes, node_weights, *against
        args = bins, *path, *game, ensemble.value, ensemble.output, self._n_players, self._pairs
        rows = row_chunks(n_rows)
        tasks = [(*args, leaves, r0, r1, out) for r0, r1 in rows]
        # few rows leave nothing to share out but the leaves, whose sums are then added in a fixed order
        n_parts = min(_LEAF_TASKS, scaled(budgets.kept_table_size) // out.size) if len(rows) < 2 else 0
        parts = [np.zeros_like(out) for _ in range(n_parts)]
        if parts:
            shares = np.array_split(leaves, n_parts)
            tasks = [(*args, own, 0, n_rows, part) for own, part in zip(shares, parts)]
        execution.run(stream_shapley, tasks, label="SHAP values, deep leaves")
        for part in parts:
            out += part


def _inverse_binomials(k: int) -> NDArray[np.float64]:
    """1 / ((n + 1) C(n, i)) = i! (n - i)! / (n + 1)! for i <= n < k."""
    out = np.zeros((k + 1, k + 1))
    for n in range(k + 1):
        out[n, 0] = 1.0 / (n + 1)
        for i in range(1, n + 1):
            out[n, i] = out[n, i - 1] * i / (n - i + 1)
    return out
