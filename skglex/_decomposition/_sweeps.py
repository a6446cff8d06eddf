"""Compute components of two features without a table for many rows, by sweeps over the bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._tables import events_of, leaves_by_path_set
from skglex._kernels.arguments import Axes, CoalitionArrays
from skglex._kernels.sweeps import sweep_pairs
from skglex._leaves import CoalitionWeights
from skglex._utils import DEFAULT_EXECUTION, Execution

# Rows from which the sweep, which visits every corner of the leaves' boxes, beats solving the leaves for each row.
_ROWS = 16


def swept(index: ComponentIndex, axes: Axes, n_rows: int) -> NDArray[np.bool_]:
    """Return which components are swept: those of two features, if there are rows enough."""
    order = np.array([len(members) for members in index.sets], dtype=np.int64)
    return np.asarray((np.diff(axes.ptr) == 2) & (order == 2) & (n_rows >= _ROWS))


def sweeper(
    index: ComponentIndex,
    axes: Axes,
    weights: CoalitionWeights,
    chosen: NDArray[np.int64],
    column: NDArray[np.int64],
    bins: NDArray[np.unsignedinteger],
    out: NDArray[Any],
    execution: Execution = DEFAULT_EXECUTION,
) -> Callable[[NDArray[np.int64], CoalitionArrays], None]:
    """Return a function that adds the terms of some leaves, given their weights, to the components ``chosen``.

    These have the rows ``column`` of each output's block of ``out``.
    """
    ensemble, players = weights.games.ensemble, weights.games.players
    events = events_of(ensemble)
    features = np.zeros((len(index.sets), 2), np.int64)
    for c in chosen:
        features[c] = axes.feature[axes.ptr[c] : axes.ptr[c] + 2]
    step = np.full(len(chosen), len(out) // ensemble.n_outputs)
    items = np.column_stack([chosen, column, step])
    leaf_arrays = ensemble.paths, players.arrays, ensemble.conditions.feature, ensemble.leaf_values

    def sweep(leaves: NDArray[np.int64], coalitions: CoalitionArrays) -> None:
        path_set_leaves = leaves_by_path_set(index, leaves)
        args = bins, features, index.sources, path_set_leaves, *leaf_arrays, coalitions, events
        tasks = [(*args, items[i : i + 1], out) for i in range(len(items))]
        execution.run(sweep_pairs, tasks, label="components, pairs")

    return sweep
