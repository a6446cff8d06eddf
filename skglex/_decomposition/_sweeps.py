"""Compute components of two features without a table for many rows, by sweeps over the bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._tables import leaf_events, leaves_by_path_set
from skglex._kernels.arguments import Axes, CoalitionArrays
from skglex._kernels.sweeps import number_events, sweep_pairs
from skglex._leaves import LeafGames, number_bins
from skglex._utils import DEFAULT_EXECUTION, Execution

# Rows from which the sweep, which visits every corner of the leaves' boxes, beats solving the leaves for each row.
_ROWS = 16


def swept(index: ComponentIndex, axes: Axes, n_rows: int) -> NDArray[np.bool_]:
    """Return which components are swept: those of two features, if there are rows enough."""
    order = np.array([len(members) for members in index.sets], dtype=np.int64)
    return np.asarray((np.diff(axes.ptr) == 2) & (order == 2) & (n_rows >= _ROWS))


def sweeping(
    index: ComponentIndex,
    axes: Axes,
    games: LeafGames,
    chosen: NDArray[np.int64],
    column: NDArray[np.int64],
    bins: NDArray[np.unsignedinteger],
    out: NDArray[Any],
    execution: Execution = DEFAULT_EXECUTION,
) -> Callable[[NDArray[np.int64], CoalitionArrays], None]:
    """Return a function that adds what some leaves, with their weights, give to components.

    It adds the components ``chosen`` to the rows ``column`` of each output's block of ``out``.
    """
    ensemble, players = games.ensemble, games.players
    features = np.zeros((len(index.sets), 2), np.int64)
    for c in chosen:
        features[c] = axes.feature[axes.ptr[c] : axes.ptr[c] + 2]
    step = np.full(len(chosen), len(out) // ensemble.n_outputs)
    items = np.column_stack([chosen, column, step])
    # Sums over the bins that occur fit into a smaller cache.
    numbers, occurring = number_bins(bins)
    n_occurring = np.array([len(some) for some in occurring], np.int64)
    n_bins = ensemble.grid.n_bins
    number = [np.searchsorted(some, np.arange(n)).astype(np.int32) for some, n in zip(occurring, n_bins)]
    number_of_bin, ptr = np.concatenate(number), np.cumsum(n_bins) - n_bins

    def add(leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        events = leaf_events(ensemble, leaves)
        number_events(events, number_of_bin, ptr)
        path_set_leaves = leaves_by_path_set(index, leaves)
        args = features, index.sources, path_set_leaves, ensemble.paths, players.arrays, ensemble.leaf_values
        tasks = [
            (numbers, *args, coalitions, events, n_occurring, items[i : i + 1], out)
            for i in range(len(items))
        ]
        execution.run(sweep_pairs, tasks, label="components, pairs")

    return add
