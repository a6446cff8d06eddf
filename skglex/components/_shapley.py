"""SHAP values and SHAP interaction values, straight from the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._parallel import row_chunks, run, weight_chunks
from skglex.ensemble._fixed import FixedWeights
from skglex.ensemble._patterns import TABLE_BUDGET
from skglex.ensemble._weights import Empirical
from skglex.kernels.games import shapley_tables
from skglex.kernels.patterns import accumulate
from skglex.kernels.wide import background_patterns, stream_shapley


def add_shapley(
    weights: FixedWeights,
    bins: NDArray[np.unsignedinteger],
    out: NDArray[np.float64],
    *,
    pairs: bool,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> None:
    """Add Shapley values (interactions of i < j with ``pairs``) of all leaves at binned rows to ``out``.

    ``out`` has shape (n_outputs, n_players, n_samples), with ``pairs`` (n_outputs, n_players, n_players,
    n_samples); only its upper triangle is written.
    """
    ensemble, players, groups = weights.ensemble, weights.players, weights.groups
    n_players = out.shape[1]
    rows = out.reshape(-1, bins.shape[1])
    per_output = n_players**2 if pairs else n_players
    width = ensemble.value.shape[1]

    k = players.n_players
    own_ptr, leaf_ids = _leaf_columns(weights, n_players, pairs)
    # each group's columns are those of all its leaves
    group_of = np.repeat(np.arange(groups.n_groups), np.diff(own_ptr[groups.group_leaf]))
    keys, leaf_column = np.unique(group_of * per_output + leaf_ids, return_inverse=True)
    column_ptr = np.searchsorted(keys, np.arange(groups.n_groups + 1) * per_output).astype(np.int64)
    leaf_column -= column_ptr[group_of]
    columns = keys % per_output
    # each group's columns once per output of its leaves
    n_columns = np.diff(column_ptr)
    group_output = ensemble.output[groups.group_leaf[:-1]].astype(np.int64)
    wide_ptr = np.concatenate([[0], np.cumsum(n_columns * width)])
    group = np.repeat(np.arange(groups.n_groups), n_columns * width)
    position = np.arange(wide_ptr[-1]) - wide_ptr[group]
    safe = np.maximum(n_columns, 1)[group]
    target = columns[column_ptr[group] + position % safe] + per_output * (
        group_output[group] + position // safe
    )
    value_ptr = np.concatenate([[0], np.cumsum(n_columns * width * groups.n_patterns)])

    cost = np.diff(value_ptr) + np.diff(players.fixed_ptr[groups.group_leaf])
    entry = groups.bit, groups.flip, players.entry_player, k
    for first, last in weight_chunks(cost, TABLE_BUDGET):
        tables = np.zeros(value_ptr[last] - value_ptr[first])
        fixed, origin = weights.dense(first, last, n_jobs=n_jobs)
        run(
            shapley_tables,
            [
                (groups.group_leaf, groups.table_ptr, value_ptr - value_ptr[first], column_ptr, leaf_column)
                + (own_ptr, ensemble.leaf_ptr, *entry, ensemble.value, players.fixed_ptr - origin, fixed)
                + (first + a, first + b, pairs, tables)
                for a, b in weight_chunks(cost[first:last], TABLE_BUDGET / 16)
            ],
            n_jobs=n_jobs,
        )
        run(
            accumulate,
            [
                (bins, ensemble.conditions, *groups.kernel_args(), wide_ptr, target, value_ptr)
                + (tables, first, last, r0, r1, rows)
                for r0, r1 in row_chunks(bins.shape[1])
            ],
            n_jobs=n_jobs,
            verbose=verbose,
            label="SHAP values",
        )
    for leaf in np.flatnonzero(players.wide):
        _add_wide_leaf(weights, int(leaf), bins, rows, n_players, pairs, n_jobs)


def _leaf_columns(
    weights: FixedWeights, n_players: int, pairs: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each leaf's columns begin, and what they are: players i, or pairs i * n_players + j with i < j."""
    players = weights.players
    k = players.n_players
    start = np.cumsum(k) - k
    ids = np.empty(int(k.sum()), np.int64)
    ids[start[weights.ensemble.entry_leaf] + players.entry_player] = players.entry_id
    n_own = k * (k - 1) // 2 if pairs else k
    own_ptr = np.concatenate([[0], np.cumsum(n_own)])
    if not pairs:
        return own_ptr, ids
    out = np.empty(own_ptr[-1], np.int64)
    for size in np.unique(k):
        leaves = np.flatnonzero(k == size)
        i, j = np.triu_indices(size, 1)
        first, second = start[leaves][:, None] + i, start[leaves][:, None] + j
        out[own_ptr[leaves][:, None] + np.arange(len(i))] = ids[first] * n_players + ids[second]
    return own_ptr, out


def _add_wide_leaf(
    weights: FixedWeights,
    leaf: int,
    bins: NDArray[np.unsignedinteger],
    rows: NDArray[np.float64],
    n_players: int,
    pairs: bool,
    n_jobs: int | None,
) -> None:
    """One leaf whose patterns are too many for a table: solve only those that occur."""
    ensemble, players = weights.ensemble, weights.players
    first, last = ensemble.leaf_ptr[leaf], ensemble.leaf_ptr[leaf + 1]
    k = int(players.n_players[leaf])
    if k < 1 + pairs:
        return
    ids = np.empty(k, np.int64)
    ids[players.entry_player[first:last]] = players.entry_id[first:last]
    if pairs:
        i, j = np.triu_indices(k, 1)
        column = ids[i] * n_players + ids[j]
    else:
        column = ids
    per_output = n_players**2 if pairs else n_players
    outputs = ensemble.output[leaf] + np.arange(ensemble.value.shape[1])
    path = ensemble.conditions, ensemble.leaf_condition, players.entry_player, first, last
    if isinstance(weights.weighting, Empirical):
        back = weights.weighting.background
        of_row = np.empty(back.bins.shape[1], np.uint64)
        background_patterns(back.bins, *path, of_row)
        patterns, inverse = np.unique(of_row, return_inverse=True)
        shares = np.bincount(inverse, back.weight) / back.total
        game: tuple[Any, ...] = np.empty(0), np.empty(0), np.empty(0), shares, patterns, _inverse_binomials(k)
    else:
        ratio = np.ones(k)
        assert ensemble.ratio is not None
        np.multiply.at(ratio, players.entry_player[first:last], ensemble.ratio[first:last])
        nodes, node_weights = np.polynomial.legendre.leggauss((k + 1) // 2)
        none = np.empty(0), np.empty(0, np.uint64), np.empty((0, 0))
        game = ratio, (nodes + 1) / 2, node_weights / 2, *none
    run(
        stream_shapley,
        [
            (bins, *path, k, *game, ensemble.value[leaf], pairs)
            + (column[None, :] + per_output * outputs[:, None], r0, r1, rows)
            for r0, r1 in row_chunks(bins.shape[1])
        ],
        n_jobs=n_jobs,
    )


def _inverse_binomials(k: int) -> NDArray[np.float64]:
    """1 / ((n + 1) C(n, i)) = i! (n - i)! / (n + 1)! for i <= n < k."""
    out = np.zeros((k + 1, k + 1))
    for n in range(k + 1):
        out[n, 0] = 1.0 / (n + 1)
        for i in range(1, n + 1):
            out[n, i] = out[n, i - 1] * i / (n - i + 1)
    return out
