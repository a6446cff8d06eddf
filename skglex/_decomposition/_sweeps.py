"""Compute components of two features that have no table, for many rows: by tables of their bins, or by sweeps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._table_or_stream import choose_tables
from skglex._decomposition._tables import TableFilling, events_of, lay_out_points
from skglex._kernels.arguments import Axes, CoalitionArrays, Events
from skglex._kernels.sweeps import sweep_pairs
from skglex._leaves import CoalitionWeights, number_bins
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled

# Rows from which the sweep, which visits every corner of the leaves' boxes, beats solving the leaves for each row.
_ROWS = 16
# Largest table of a component over the bins of some rows, as a share of the largest table over all bins.
_SHARE_OF_TABLE = 1 / 8
# Most components that are swept together.
_SWEPT = 16


class _Swept(NamedTuple):
    """Hold components of two players that are swept together.

    Attributes
    ----------
    player, feature : int
        The first player, and its used_feature.
    others : ndarray of shape (n_components, 3), int64
        The other player, its used_feature, and the row of the results.
    has_leaves : ndarray of shape (n_path_sets,), bool
        Whether the leaves of a path set belong to one of the components.
    """

    player: int
    feature: int
    others: NDArray[np.int64]
    has_leaves: NDArray[np.bool_]


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
        self._swept = _share_first_players(index, chosen[~fits], column[~fits], features[~fits])
        self._step = len(out) // n_outputs
        self._events = None if fits.all() else events_of(self._games.ensemble)

    def add(self, leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        """Add the terms of some leaves, given their weights."""
        if self._filling is not None:
            self._filling.add(leaves, coalitions)
        if self._events is not None:
            ensemble, path_set = self._games.ensemble, self._index.path_sets.of_leaf[leaves]
            origin, end = ensemble.leaf_ptr[leaves[0]], ensemble.leaf_ptr[leaves[-1] + 1]
            # In the order of the leaves, the events of their conditions are read one after the other.
            events = _events_of(ensemble.leaf_condition[origin:end], self._events)
            leaf_arrays = ensemble.paths, self._games.players.arrays, ensemble.leaf_values
            tasks = []
            for part in self._swept:
                args = self._bins, ensemble.grid.n_bins, leaves[part.has_leaves[path_set]], *leaf_arrays
                first = part.player, part.feature, int(origin)
                tasks.append((*args, coalitions, events, first, part.others, self._step, self._out))
            self._execution.run(sweep_pairs, tasks, label="components, pairs")

    def finish(self) -> None:
        """Write the components that have tables, once all leaves are added."""
        if self._filling is not None:
            tables, n_outputs = self._filling.finish(), self._games.ensemble.n_outputs
            tables.look_up(self._bins, self._in_table, self._column, n_outputs, self._out, self._execution)


def _events_of(condition: NDArray[np.int32], events: Events) -> Events:
    """Return the events of some conditions, one after the other."""
    counts = np.diff(events.ptr)[condition]
    ptr = np.concatenate([[0], np.cumsum(counts)])
    at = np.repeat(events.ptr[condition] - ptr[:-1], counts) + np.arange(ptr[-1])
    return Events(ptr, events.bin[at], events.sign[at])


def _share_first_players(
    index: ComponentIndex,
    chosen: NDArray[np.int64],
    column: NDArray[np.int64],
    features: NDArray[np.int64],
) -> list[_Swept]:
    """Group components by their first player; few at a time, because they have sums over all bins."""
    members = np.array([index.sets[c] for c in chosen.tolist()], np.int64).reshape(-1, 2)
    found = []
    for player in np.unique(members[:, 0]).tolist():
        of_player = np.flatnonzero(members[:, 0] == player)
        for start in range(0, len(of_player), _SWEPT):
            part = of_player[start : start + _SWEPT]
            others = np.column_stack([members[part, 1], features[part, 1], column[part]])
            has_leaves = np.zeros(len(index.path_sets), np.bool_)
            for c in chosen[part].tolist():
                has_leaves[index.sources.path_set[slice(*index.sources.ptr[c : c + 2])]] = True
            found.append(_Swept(player, int(features[part[0], 0]), others, has_leaves))
    return found
