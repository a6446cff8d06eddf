r"""Collect the leaves of a model for a page: conditions, values, and the weights of small coalitions.

The page computes components from ``E_l(P \ V)`` for all sets V of few players of each leaf (see `skglex._leaves`). With
path-dependent weights these are products of one ratio per condition; with empirical weights they are shares of the
background, which are stored as counts where the rows count equally.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained
from skglex._leaves import PathDependent, RankedSubsets

# The page holds weights of triples, too, if there are at most so many weights. It holds none if those of pairs are too
# many.
_MOST_WEIGHTS, _MOST_OF_PAIRS = 5_000_000, 50_000_000
# Rows have equal weights if no count is further than this from an integer.
_ROUNDING = 1e-6


def leaf_arrays(view: Explained) -> dict[str, NDArray[Any]]:
    """Return the leaves as flat arrays."""
    ensemble = view.decomposition.ensemble
    conditions = ensemble.conditions
    none = np.iinfo(conditions.missing.dtype).max
    by_mask = conditions.mask >= 0
    arrays: dict[str, NDArray[Any]] = {
        "leafSize": np.diff(ensemble.leaf_ptr),
        "leafCondition": ensemble.leaf_condition,
        "leafValue": ensemble.value,
        "leafOutput": ensemble.output,
        "base": ensemble.base,
        "conditionColumn": conditions.feature,
        "conditionLow": np.where(by_mask, 0, conditions.lo),
        "conditionHigh": np.where(by_mask, 0, conditions.hi),
        "conditionMissing": conditions.missing != none,
        "conditionMask": conditions.mask + 1,
        "masks": conditions.masks,
        "columnBins": view.grid.n_bins,
    }
    if isinstance(view.decomposition.weighting, PathDependent) and ensemble.path_ratio is not None:
        arrays["pathRatio"] = ensemble.path_ratio
    return arrays


def coalition_arrays(view: Explained) -> tuple[int, dict[str, NDArray[Any]]]:
    """Return the largest order of the components that a page can compute without rows, and the weights for it.

    The order is 0 if the page cannot compute components: the leaves add up to no margin, or there are too many weights.
    """
    decomposition = view.decomposition
    if decomposition.without_margin is not None:
        return 0, {}
    if isinstance(decomposition.weighting, PathDependent):
        return 3, {}
    n_players = decomposition.players.n_players
    sizes = {order: _subsets(n_players, order) for order in (2, 3)}
    if sizes[2].sum() > _MOST_OF_PAIRS:
        return 0, {}
    order = 3 if sizes[3].sum() <= _MOST_WEIGHTS else 2
    weight = _ranked_weights(view, sizes[order], order)
    rows = view.background.in_memory()
    # Rows of equal weight, or of weights that are multiples of the least one, make counts.
    total = rows.total / float(rows.weight[rows.weight > 0].min())
    counts = weight * total
    if np.abs(counts - np.round(counts)).max(initial=0) < _ROUNDING:
        return order, {"weight": np.round(counts).astype(np.int64), "weightTotal": np.array([total])}
    return order, {"weight": weight, "weightTotal": np.array([1.0])}


def _subsets(n_players: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Return how many sets of up to ``order`` players each leaf has."""
    largest = int(n_players.max(initial=0))
    up_to = [sum(comb(k, n) for n in range(min(order, k) + 1)) for k in range(largest + 1)]
    return np.array(up_to, np.int64)[n_players]


def _ranked_weights(view: Explained, sizes: NDArray[np.int64], order: int) -> NDArray[np.float64]:
    """Return the weights of all leaves, one leaf after the other, by size and rank of the coalitions."""
    decomposition = view.decomposition
    games = decomposition.weights.games.with_tables_of(np.zeros(len(sizes), np.int64))
    leaves = np.arange(len(sizes))
    wanted = RankedSubsets(leaves, np.cumsum(sizes) - sizes, int(sizes.sum()), order)
    return decomposition.weighting.ranked_weights(games, wanted, view.execution)
