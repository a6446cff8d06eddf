"""Compute components of two features that have no table, for many rows: by tables of their bins, or by sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._table_or_stream import choose_tables
from skglex._decomposition._tables import TableFilling, events_of, lay_out_points, leaves_by_path_set
from skglex._kernels.arguments import Axes, CoalitionArrays
from skglex._kernels.sweeps import sweep_pairs
from skglex._leaves import CoalitionWeights, number_bins
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled

# Rows from which the sweep, which visits every corner of the leaves' boxes, beats solving the leaves for each row.
_ROWS = 16
# Largest table of a component over the bins of some rows, as a share of the largest table over all bins.
_SHARE_OF_TABLE = 1 / 8


def swept(index: ComponentIndex, axes: Axes, n_rows: int) -> NDArray[np.bool_]:
    """Return which components `PairsOfRows` computes: those of two features, if there are rows enough."""
    order = np.array([len(members) for members in index.sets], dtype=np.int64)
    return np.asarray((np.diff(axes.ptr) == 2) & (order == 2) & (n_rows >= _ROWS))


class PairsOfRows:
    """Compute components of two features for many rows, without a table of all bins.

    Rows may be in few of the bins, as those of whole numbers are in a forest with random thresholds. A component then
    gets a table over the bins that occur, for this call. The others are swept.

    Parameters
    ----------
    index : ComponentIndex
    axes : Axes
    weights : CoalitionWeights
    chosen : ndarray of int64
        Positions of the components.
    column : ndarray of int64
        Rows of each output's block of ``out`` that the components are added to.
    bins : ndarray of shape (n_used_features, n_rows)
    out : ndarray of shape (n_outputs * n_columns, n_rows)
    execution : Execution
    """

    def __init__(
        self,
        index: ComponentIndex,
        axes: Axes,
        weights: CoalitionWeights,
        chosen: NDArray[np.int64],
        column: NDArray[np.int64],
        bins: NDArray[np.unsignedinteger],
        out: NDArray[Any],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> None:
        self._index, self._execution, self._bins, self._out = index, execution, bins, out
        self._games = weights.games
        features = axes.feature[axes.ptr[chosen, None] + np.arange(2)]
        occurring = dict(zip(np.unique(features).tolist(), number_bins(bins[np.unique(features)])[1]))
        n_cells = np.array(
            [(len(occurring[i]) + 1.0) * (len(occurring[j]) + 1.0) for i, j in features.tolist()]
        )
        n_outputs, most = self._games.ensemble.n_outputs, int(_SHARE_OF_TABLE * scaled(budgets.table_cells))
        fits = choose_tables(n_cells * n_outputs, np.zeros(len(chosen), np.int64), most)
        self._in_table, self._column = chosen[fits], column[fits]
        self._filling = None
        if fits.any():
            points = {s: occurring[s] for s in np.unique(features[fits]).tolist()}
            laid_out = lay_out_points(index, weights, axes, self._in_table, points)
            self._filling = TableFilling(laid_out, index, weights, execution)
        step = np.full(len(chosen), len(out) // n_outputs)
        self._swept = np.column_stack([chosen, column, step, features])[~fits]
        self._events = None if fits.all() else events_of(self._games.ensemble)

    def add(self, leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        """Add the terms of some leaves, given their weights."""
        if self._filling is not None:
            self._filling.add(leaves, coalitions)
        if self._events is not None:
            ensemble, players = self._games.ensemble, self._games.players.arrays
            leaf_arrays = ensemble.paths, players, ensemble.conditions.feature, ensemble.leaf_values
            by_path_set = leaves_by_path_set(self._index, leaves)
            n_bins, sources = ensemble.grid.n_bins, self._index.sources
            args = self._bins, n_bins, sources, by_path_set, *leaf_arrays, coalitions
            tasks = [
                (*args, self._events, self._swept[i : i + 1], self._out) for i in range(len(self._swept))
            ]
            self._execution.run(sweep_pairs, tasks, label="components, pairs")

    def finish(self) -> None:
        """Write the components that have tables, once all leaves are added."""
        if self._filling is not None:
            tables, n_outputs = self._filling.finish(), self._games.ensemble.n_outputs
            tables.look_up(self._bins, self._in_table, self._column, n_outputs, self._out, self._execution)
