"""Average components and margins over rows: as the rows are, and as if their features were independent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._importance import average_streamed
from skglex._decomposition._tables import leaves_by_path_set
from skglex._kernels.component_tables import cell_weights, mean_products
from skglex._leaves import Background, BackgroundLike, Grid, LeafEnsemble, Players
from skglex._utils import Execution, budgets, weight_chunks

if TYPE_CHECKING:
    from skglex._decomposition._decomposition import Decomposition
    from skglex._decomposition._listed_components import ListedComponents
    from skglex._decomposition._tables import ComponentTables


class RowMeans(NamedTuple):
    """Hold means over rows.

    Attributes
    ----------
    joint : ndarray of shape (n, n_outputs)
        Means over the rows.
    independent : ndarray of shape (n, n_outputs)
        Means if the players were independent, each with its distribution in the rows.
    """

    joint: NDArray[np.float64]
    independent: NDArray[np.float64]


def row_means(
    decomposition: Decomposition,
    listed: ListedComponents,
    player_of_feature: NDArray[np.int64],
    rows: BackgroundLike,
    execution: Execution,
) -> RowMeans:
    """Return the means of listed components over rows.

    A component with a table needs only the weight of the rows in each of its cells. The means of the others come from
    the leaves.

    Parameters
    ----------
    decomposition : Decomposition
    listed : ListedComponents
    player_of_feature : ndarray of shape (n_used_features,), int64
        Player that each of the grid's used_features belongs to.
    rows : BackgroundLike
    execution : Execution
    """
    tables, n_outputs = listed.tables(execution), listed.n_outputs
    joint, independent = np.zeros((2, len(listed), n_outputs))
    by_table, streamed = np.flatnonzero(tables.tabulated), np.flatnonzero(~tables.tabulated)
    # All cells of a batch are in memory at the same time.
    for a, b in weight_chunks(tables.layout.n_cells[by_table], budgets.pattern_table_size):
        batch = by_table[a:b]
        shares = rows.average(partial(_cell_shares, tables=tables, chosen=batch, execution=execution))
        ends = np.cumsum(tables.layout.n_cells[batch])
        for c, share in zip(batch, np.split(shares, ends[:-1])):
            sizes = _sizes_by_player(tables, int(c), player_of_feature)
            table = np.moveaxis(tables.table(int(c), n_outputs), -1, 0).reshape(n_outputs, *sizes)
            joint[c], independent[c] = _means_of_table(table, share.reshape(sizes))
    if len(streamed):
        joint[streamed] = rows.average(
            partial(average_streamed, listed, chosen=streamed, execution=execution, absolute=False)
        )
        independent[streamed] = _independent_means(decomposition, listed, streamed, rows, execution)
    return RowMeans(joint, independent)


def margin_means(
    ensemble: LeafEnsemble, players: Players, rows: BackgroundLike, execution: Execution
) -> RowMeans:
    """Return the mean margins over rows, of shape (1, n_outputs), from the share of the rows that reach each leaf."""
    everything = np.ones(len(ensemble.leaf_condition), dtype=bool)
    joint = rows.weighting.joint_weights(ensemble, everything, execution)
    probability = np.append(_player_probabilities(ensemble, players, rows, execution), 1.0)
    independent = np.multiply.reduceat(probability, ensemble.leaf_ptr[:-1])
    independent[np.diff(ensemble.leaf_ptr) == 0] = 1.0
    return RowMeans(*(ensemble.sum_leaves(weight)[None] for weight in (joint, independent)))


def _cell_shares(
    rows: Background, *, tables: ComponentTables, chosen: NDArray[np.int64], execution: Execution
) -> NDArray[np.float64]:
    """Return the share of the rows in every cell of the chosen components, one component after the other."""
    sizes = tables.layout.n_cells[chosen]
    out = np.zeros(int(sizes.sum()))
    start = np.cumsum(sizes) - sizes
    execution.run(
        cell_weights,
        [
            (rows.bins, rows.weight, tables.layout, chosen[i : i + 1], out[start[i] : start[i] + sizes[i]])
            for i in range(len(chosen))
        ],
        label="means over rows",
    )
    return out / rows.total


def _sizes_by_player(
    tables: ComponentTables, component: int, player_of_feature: NDArray[np.int64]
) -> list[int]:
    """Return the number of cells of each player of a component; the axes of a player are next to each other."""
    player = player_of_feature[tables.axis_features(component)]
    starts = np.flatnonzero(np.append(True, np.diff(player) != 0))
    sizes: list[int] = np.multiply.reduceat(tables.axis_sizes(component), starts).tolist()
    return sizes


def _means_of_table(
    table: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of a table, per output, by the shares of the cells and by their marginal shares."""
    joint = table.reshape(len(table), -1) @ share.ravel()
    if share.ndim == 1:
        return joint, joint
    independent = table
    for axis in range(share.ndim - 1, -1, -1):
        marginal = share.sum(axis=tuple(i for i in range(share.ndim) if i != axis))
        independent = independent @ marginal
    return joint, independent


def _independent_means(
    decomposition: Decomposition,
    listed: ListedComponents,
    chosen: NDArray[np.int64],
    rows: BackgroundLike,
    execution: Execution,
) -> NDArray[np.float64]:
    """Return the means of some components if the players were independent, from the leaves."""
    weights, index, axes = listed.weights, listed.index, listed.layout(execution).layout.axes
    ensemble, players = weights.games.ensemble, weights.games.players
    leaf_arrays = ensemble.paths, players.arrays, ensemble.conditions.feature, ensemble.leaf_values
    probability = _player_probabilities(ensemble, players, rows, execution)
    out = np.zeros((len(chosen), ensemble.n_outputs))
    for leaves, coalitions in weights.chunks(execution=execution):
        args = axes, index.sources, leaves_by_path_set(index, leaves), *leaf_arrays, coalitions, probability
        execution.run(mean_products, [(*args, chosen[i : i + 1], out[i : i + 1]) for i in range(len(chosen))])
    return out


def _player_probabilities(
    ensemble: LeafEnsemble, players: Players, rows: BackgroundLike, execution: Execution
) -> NDArray[np.float64]:
    """Return the share of the rows that meet the conditions of each leaf condition's player.

    All conditions of a player in a leaf but the first have 1 instead, so that their product is that of the players.
    """
    sizes = ensemble.grid.n_bins
    histograms = rows.average(partial(_histograms, grid=ensemble.grid))
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    out = _condition_probabilities(ensemble, histograms, ptr)[ensemble.leaf_condition]
    features_of = np.bincount(players.player_of_feature)
    leaf = ensemble.condition_leaf
    for player in np.flatnonzero(features_of > 1):
        has = players.condition_player_id == player
        # The conditions of a group hold together: its features depend on each other.
        joint = rows.weighting.joint_weights(ensemble, has, execution)
        first = np.unique(leaf[has], return_index=True)[1]
        positions = np.flatnonzero(has)
        out[positions] = 1.0
        out[positions[first]] = joint[leaf[positions[first]]]
    return out


def _histograms(rows: Background, *, grid: Grid) -> NDArray[np.float64]:
    """Return the share of the rows in every bin of every feature."""
    parts = [np.bincount(b, rows.weight, n) for b, n in zip(rows.bins, grid.n_bins)]
    return np.concatenate([*parts, np.empty(0)]) / rows.total


def _condition_probabilities(
    ensemble: LeafEnsemble, histograms: NDArray[np.float64], ptr: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of the rows that meet each condition."""
    conditions: Any = ensemble.conditions
    start, n_bins = ptr[conditions.feature], ensemble.grid.n_bins[conditions.feature]
    below = np.concatenate([[0.0], np.cumsum(histograms)])
    lo, hi = conditions.lo.astype(np.int64), conditions.hi.astype(np.int64)
    out = below[start + hi] - below[start + lo]
    out += np.where(conditions.missing == n_bins - 1, np.append(histograms, 0.0)[start + n_bins - 1], 0.0)
    for c in np.flatnonzero(conditions.mask >= 0):
        mask = conditions.masks[conditions.mask[c] :][: n_bins[c]]
        out[c] = histograms[start[c] :][: n_bins[c]][mask != 0].sum()
    return np.asarray(out)
