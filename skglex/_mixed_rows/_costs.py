"""Estimate how long mixed rows take, and say before work begins if that is long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import LeafEnsemble
from skglex._utils import warn_user
from skglex.exceptions import SlowComputationWarning

# Nanoseconds per margin at a cell: the leaf sums, the link and the mean. Longest duration that needs no warning.
_MARGIN, _LONG = 12.0, 60.0
# The same per tree, where the cells are values of several features: a leaf has as many ends as there are cells.
_TREE = 1.0
# Nanoseconds per condition of a leaf and row: conditions are looked up for 64 rows at one time. Per condition and grid.
_CONDITION, _GRID = 3.0 / 64, 100.0
# Nanoseconds of a walk down a tree of v nodes: v, v ** 3, and more nodes for each further player. Per set of players.
_NODE, _WALK, _FURTHER, _SET = 3.0, 0.14, 5.0, 6.0


def seconds_of_grids(
    ensemble: LeafEnsemble,
    n_rows: float,
    free: Sequence[NDArray[np.int64]],
    n_cells: Sequence[float],
    *,
    joint: bool = True,
) -> float:
    """Estimate how long the responses of rows at the cells of some grids take.

    Parameters
    ----------
    ensemble : LeafEnsemble
    n_rows : float
    free : sequence of ndarray
        The used_features of each grid.
    n_cells : sequence of float
        Number of cells of each grid.
    joint : bool
        Whether all features of a grid share one axis.
    """
    length = np.diff(ensemble.paths.ptr)
    n_features, n_trees = len(ensemble.grid.features), len(ensemble.tree_ptr) - 1
    of_feature = np.bincount(ensemble.condition_feature, length[ensemble.condition_leaf], n_features)
    total, nanoseconds = float(length.sum()), 0.0
    for used, cells in zip(free, n_cells):
        # A leaf that changes with two features is counted twice.
        conditions = min(of_feature[used].sum(), total)
        per_margin = _MARGIN + (_TREE * n_trees if joint and len(used) > 1 else 0.0)
        per_row = conditions * _CONDITION + cells * ensemble.n_outputs * per_margin
        nanoseconds += total * _GRID + n_rows * per_row
    return nanoseconds * 1e-9


def seconds_of_walks(visits: float, n_trees: int, order: int, share: float, n_margins: int) -> float:
    """Estimate how long a row and a background row take that walk down all trees together.

    Parameters
    ----------
    visits : float
        Nodes that one row visits, in all trees.
    n_trees : int
    order : int
        How many players may follow the row.
    share : float
        Share of the used_features that belong to such players.
    n_margins : int
        Number of sets of players, times the number of outputs.
    """
    mean = visits / max(n_trees, 1)
    walk = _NODE * mean
    if order:
        walk += _WALK * share * mean**3 * (share * mean / _FURTHER) ** (order - 1)
    return (n_trees * walk + n_margins * _SET) * 1e-9


def warn_of_grids(
    ensemble: LeafEnsemble,
    n_rows: float,
    free: Sequence[NDArray[np.int64]],
    n_cells: Sequence[float],
    what: str,
    *,
    joint: bool = True,
) -> None:
    """Warn if the responses of rows at the cells of some grids take longer than a minute; see `seconds_of_grids`."""
    seconds = seconds_of_grids(ensemble, n_rows, free, n_cells, joint=joint)
    warn_of_margins(seconds, what, n_rows * sum(n_cells) * ensemble.n_outputs)


def warn_of_margins(seconds: float, what: str, n_margins: float) -> None:
    """Warn if the responses of so many mixed rows take longer than a minute."""
    warn_of_seconds(seconds, f"{what} needs the response of {n_margins:.1e} mixed rows")


def warn_of_seconds(seconds: float, what: str) -> None:
    """Warn if work will take longer than a minute on one core."""
    if seconds > _LONG:
        duration = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        warn_user(
            f"{what}, which takes about {duration} on one core. Fewer rows or a smaller background "
            "(n_background) take less time, n_jobs uses more cores, and scale='margin' is much faster",
            SlowComputationWarning,
        )
