"""Empirical weights: E_l(U) is the share of the background rows that meet the leaf's conditions on U."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import (
    BackgroundRows,
    Paths,
    PlayerArrays,
    RankedSubsets,
    ShapleyRows,
    SubsetRanks,
)
from skglex._kernels.bitsets import add_near_misses
from skglex._kernels.clusters import add_near_misses_by_state, coalitions_by_state
from skglex._kernels.coalitions import coalitions_from_histogram, sum_ranked_subsets
from skglex._kernels.long_paths import add_shapley_by_comparison
from skglex._kernels.near_miss_walks import add_near_misses_by_walks
from skglex._kernels.patterns import pattern_histogram
from skglex._kernels.subset_sums import MOST_PLAYERS
from skglex._kernels.tree_walks import add_shapley_by_walks
from skglex._leaves._games import LeafGames
from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._players import MASK_BITS
from skglex._leaves._weighting import inverse_binomials, most_states, split_leaves, subset_ranks
from skglex._utils import Execution, budgets, weight_chunks

if TYPE_CHECKING:
    from skglex._leaves._background import Background
    from skglex._leaves._leaf_sum import LeafSum

# Background rows from which the states of clusters may be counted, and the most states of one.
_ROWS_TO_COUNT, _MOST_STATES = 1536, 1 << 12
# Most players of a leaf that shares a cluster with others.
_SHARING_PLAYERS = 12
# Nanoseconds that a background row takes to pass a node with other rows, and that each leaf takes.
_WALK, _WALK_LEAF = 2.4, 1000.0
# Nanoseconds that a background row takes in the bit sets of a condition of a leaf.
_BIT = 0.005
# Fewest leaves that walks are considered for, and most sets of players that they distinguish.
_LEAVES_TO_WALK, _MOST_SETS = 256, 1 << 16
# Leaves of one task.
_LEAVES_PER_WALK = 1 << 14


@dataclass(frozen=True)
class Empirical:
    """Count the background rows that meet conditions: their joint distribution (see `Weighting`).

    Attributes
    ----------
    background : Background
    """

    background: Background

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        """Return E_l of the marked conditions (see `Weighting`)."""
        if averaged.all() and _is_deep(ensemble):
            return self._shares_of_leaves(ensemble, execution)
        sets = ensemble.distinct_sets(averaged)
        ids = np.arange(len(sets.first))
        out = np.zeros(len(ids))
        # One player has all conditions of a set. E_l is then the weight of the rows that violate no player.
        n_conditions = np.diff(sets.ptr)
        position, player = np.zeros(len(sets.condition), np.uint8), np.zeros(len(sets.condition), np.int32)
        args = (
            ensemble.conditions,
            Paths(sets.ptr, sets.condition),
            PlayerArrays(position, player, (n_conditions > 0).astype(np.int64)),
        )
        tasks = [
            RankedSubsets(ids[a:b], ids, len(ids), 0)
            for a, b in weight_chunks(n_conditions + 1, budgets.leaf_task)
        ]
        for block in self.background.bit_sets(ensemble.grid.n_bins):
            execution.run(add_near_misses, [(block, *args, part, subset_ranks(1), out) for part in tasks])
        return out[sets.of_leaf] / self.background.total

    def _shares_of_leaves(self, ensemble: LeafEnsemble, execution: Execution) -> NDArray[np.float64]:
        """Return the share of the background rows that reach each leaf of the trees."""
        n = ensemble.n_leaves
        # It does not matter which players a row violates. So all features are those of one player, and the leaves'
        # conditions are not needed.
        players = PlayerArrays(np.zeros(0, np.uint8), np.zeros(0, np.int32), np.ones(n, np.int64))
        of_feature, n_bins = np.zeros(len(ensemble.grid.features), np.int64), ensemble.grid.n_bins
        no_paths = Paths(np.zeros(n + 1, np.int64), np.zeros(0, np.int32))
        args = self.background.numbered_rows, ensemble.trees, of_feature, n_bins, no_paths, players
        out, wanted = np.zeros(n), RankedSubsets(np.arange(n), np.arange(n), n, 0)
        tasks = [(part, subset_ranks(1), _trees_of(ensemble, part)) for part in _split_trees(wanted)]
        execution.run(add_near_misses_by_walks, [(*args, *task, out) for task in tasks])
        return out / self.background.total

    def table_weights(self, games: LeafGames, first: int, last: int) -> NDArray[np.float64]:
        """Return the weights of all coalitions (see `Weighting`)."""
        ensemble, players, groups, background = games.ensemble, games.players, games.groups, self.background
        if background.n_rows >= _ROWS_TO_COUNT:
            l0, l1 = games.leaves_of(first, last)
            leaves = l0 + np.flatnonzero(np.diff(players.coalition_ptr[l0 : l1 + 1]))
            out = np.empty(games.n_coalitions(first, last))
            args = leaves, players.coalition_ptr, self._most_states, background.total, out
            coalitions_by_state(*self._rows_and_leaves(games), *args)
            return out
        histogram = np.zeros(groups.table_ptr[last] - groups.table_ptr[first])
        rows = background.bins, background.weight, ensemble.conditions
        pattern_histogram(*rows, groups.group_bits(), first, last, histogram)
        out = np.empty(games.n_coalitions(first, last))
        coalitions_from_histogram(
            groups.leaf_bits(),
            histogram,
            background.total,
            ensemble.paths,
            players.arrays,
            players.coalition_ptr,
            first,
            last,
            out,
        )
        return out

    @property
    def _most_states(self) -> int:
        return min(self.background.n_rows // 8, _MOST_STATES)

    def _rows_and_leaves(self, games: LeafGames) -> tuple[Any, ...]:
        """Return what kernels that count by state take first."""
        ensemble, players = games.ensemble, games.players
        rows = BackgroundRows(self.background.bins, self.background.weight, np.zeros((0, 0)))
        layout = ShapleyRows(int(players.player_of_feature.max(initial=-1)) + 1, False)
        leaf_arrays = ensemble.conditions, ensemble.paths, ensemble.leaf_values, players.arrays
        return rows, *leaf_arrays, ensemble.grid.n_bins, layout

    def ranked_weights(
        self, games: LeafGames, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        """Return the weights of small coalitions (see `Weighting`)."""
        ensemble, players, out = games.ensemble, games.players.arrays, np.zeros(wanted.size)
        ranks, background = subset_ranks(games.players.largest), self.background
        tasks = split_leaves(ensemble, wanted)
        by_bit_set, by_state = self._costs_of_counting(
            games.players.n_players[wanted.leaves],
            wanted.max_order,
            background.n_blocks(ensemble.grid.n_bins),
        )
        if self._walk_is_cheaper(games, wanted, np.minimum(by_bit_set, by_state).mean()):
            walks = [self._walk(games, part, ranks, out) for part in _split_trees(wanted)]
            execution.run(add_near_misses_by_walks, walks)
        else:
            self._count_leaves(games, wanted, by_state < by_bit_set, ranks, out, execution)
        total = background.total
        execution.run(sum_ranked_subsets, [(players, part, ranks, total, out) for part in tasks])
        return out

    def _count_leaves(
        self,
        games: LeafGames,
        wanted: RankedSubsets,
        by_state: NDArray[np.bool_],
        ranks: SubsetRanks,
        out: NDArray[np.float64],
        execution: Execution,
    ) -> None:
        """Count the background rows that violate few players of each leaf, in clusters or leaf by leaf."""
        ensemble, background = games.ensemble, self.background
        if by_state.any():
            args, states = self._rows_and_leaves(games), self._most_states
            tasks = split_leaves(ensemble, wanted._replace(leaves=wanted.leaves[by_state]))
            execution.run(add_near_misses_by_state, [(*args, part, ranks, states, out) for part in tasks])
        if not by_state.all():
            leaf_sets = ensemble.conditions, ensemble.paths, games.players.arrays
            tasks = split_leaves(ensemble, wanted._replace(leaves=wanted.leaves[~by_state]))
            for block in background.bit_sets(ensemble.grid.n_bins):
                execution.run(add_near_misses, [(block, *leaf_sets, part, ranks, out) for part in tasks])

    def _walk(
        self, games: LeafGames, wanted: RankedSubsets, ranks: SubsetRanks, out: NDArray[np.float64]
    ) -> tuple[Any, ...]:
        """Return the arguments of `add_near_misses_by_walks`."""
        ensemble, players = games.ensemble, games.players
        some_trees = np.unique(np.searchsorted(ensemble.tree_ptr, wanted.leaves, side="right") - 1)
        model = (
            ensemble.trees,
            players.player_of_feature,
            ensemble.grid.n_bins,
            ensemble.paths,
            players.arrays,
        )
        return self.background.numbered_rows, *model, wanted, ranks, some_trees, out

    def _costs_of_counting(
        self, n_players: NDArray[np.int64], max_order: int, n_blocks: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate the nanoseconds of each leaf: with bit sets, one pass per subset, and by the states of clusters.

        There are ``n_blocks`` blocks of bit sets.
        """
        n_rows, most = self.background.n_rows, int(n_players.max(initial=0))
        subsets = [
            sum(float(comb(k, size)) for size in range(min(max_order, k) + 1)) for k in range(most + 1)
        ]
        passes = (max_order + 1.0) * n_players + np.array(subsets)[n_players]
        # Rows that violate few players are visited one by one where that takes less, or where their weights differ.
        by_bit_set = np.full(len(n_players), 1500.0 * n_blocks + 2.0 * max(max_order, 1) * n_rows)
        if self.background.equal_weight > 0.0:
            by_pass = n_blocks * (500.0 + 8.0 * passes) + 0.002 * n_rows * passes
            by_bit_set = np.minimum(by_bit_set, by_pass)
        # A leaf of many players has too many states to share a cluster with others.
        shares = (n_players <= _SHARING_PLAYERS) & (n_rows >= _ROWS_TO_COUNT)
        by_state = np.where(shares, 6000.0 + 0.4 * n_rows, np.inf)
        return by_bit_set, by_state

    def _walk_is_cheaper(self, games: LeafGames, wanted: RankedSubsets, other: float) -> bool:
        """Return whether walks of the rows down the trees take less than ``other`` nanoseconds per leaf.

        That follows from the steps that a few rows take.
        """
        ensemble, n_rows, n_leaves = games.ensemble, self.background.n_rows, len(wanted.leaves)
        largest = games.players.largest
        n_sets = sum(comb(largest, size) for size in range(wanted.max_order + 1))
        if ensemble.trees is None or n_leaves < _LEAVES_TO_WALK or n_sets > _MOST_SETS:
            return False
        trees = _trees_of(ensemble, wanted)
        trees = trees[np.unique(np.linspace(0, len(trees) - 1, 3).astype(int))]
        of_tree = [slice(*np.searchsorted(wanted.leaves, ensemble.tree_ptr[t : t + 2])) for t in trees]
        some = wanted._replace(leaves=np.concatenate([wanted.leaves[part] for part in of_tree]))
        few = Empirical(self.background.few_rows)
        ranks = subset_ranks(largest)
        n_steps = add_near_misses_by_walks(*few._walk(games, some, ranks, np.zeros(wanted.size)))
        by_walk = _WALK * n_steps / few.background.n_rows / len(some.leaves)
        return bool(_WALK_LEAF + by_walk * n_rows < other)

    solves_leaves = True
    solves_any_path = False

    def shapley_kernel(
        self, games: LeafGames, leaves: NDArray[np.int64], n_rows: int
    ) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """Return the kernel that compares the patterns of rows with those of the background (see `Weighting`)."""
        ensemble, bins = games.ensemble, self.background.bins
        n_compared = int((games.players.n_players[leaves] > MOST_PLAYERS).sum())
        if (n := n_compared * n_rows * bins.shape[1]) > budgets.comparisons:
            raise ValueError(
                f"{n_compared:,} leaves split on more than {MOST_PLAYERS} features each. With empirical weights "
                f"their SHAP values compare {n_rows:,} rows with {bins.shape[1]:,} background rows: {n:.2g} "
                f"comparisons in all, more than the {budgets.comparisons:.0e} allowed. Pass fewer rows, set "
                "n_background, or use weighting='path_dependent'"
            )
        inverse = inverse_binomials(int(games.players.n_players[leaves].max()))
        rows = BackgroundRows(bins, self._share, inverse)
        leaf_arrays = ensemble.conditions, ensemble.paths, ensemble.leaf_values, games.players.arrays
        return add_shapley_by_comparison, (
            *leaf_arrays,
            rows,
            ensemble.grid.n_bins,
            most_states(n_rows, bins.shape[1]),
        )

    @property
    def _share(self) -> NDArray[np.float64]:
        return self.background.weight / self.background.total

    def shapley_walks(
        self, games: LeafGames, margins: LeafSum, bins: NDArray[np.unsignedinteger], layout: ShapleyRows
    ) -> tuple[Callable[..., Any], tuple[Any, ...], NDArray[np.int64]] | None:
        """Return the kernel that compares row with row along the trees, for few of them (see `Weighting`)."""
        background, n_rows = self.background, bins.shape[1]
        n_trees = len(games.ensemble.tree_ptr) - 1
        n_pairs = float(n_rows) * background.n_rows * n_trees
        by_leaf = _cost_by_leaf(games.players.n_players, n_rows, background.n_rows)
        if games.players.largest > MASK_BITS:  # There is no other way.
            by_leaf = np.inf
        step = _step_cost(background.n_rows)
        if not n_rows or n_pairs * step > by_leaf or (packed := margins.packed) is None:
            return None
        inverse = inverse_binomials(games.players.largest)
        model, depth = (packed.trees, games.players.player_of_feature), int(packed.depth.max(initial=0))
        # How many steps a walk has is measured on a few rows of some trees.
        some = [np.unique(np.linspace(0, n - 1, most).astype(int)) for n, most in ((n_trees, 8), (n_rows, 2))]
        few, rows = background.spread_rows(16), np.ascontiguousarray(bins[:, some[1]])
        lost = np.zeros((games.ensemble.n_outputs * layout.n_players ** (1 + layout.pairs), rows.shape[1]))
        sample = BackgroundRows(few.bins, few.weight, inverse)
        n_steps = add_shapley_by_walks(rows, *model, sample, depth, layout, some[0], lost)
        n_steps *= n_pairs / (len(some[0]) * len(some[1]) * few.n_rows)
        if by_leaf == np.inf and n_steps > budgets.comparisons:
            raise ValueError(
                f"SHAP values of {n_rows:,} rows beside {background.n_rows:,} background rows would take "
                f"{n_steps:.2g} steps along the trees, more than the {budgets.comparisons:.0e} allowed. Pass fewer "
                "rows, or set n_background"
            )
        args = *model, BackgroundRows(background.bins, self._share, inverse), depth
        return (add_shapley_by_walks, args, np.arange(n_trees)) if n_steps * step < by_leaf else None

    def prepare_copies(self, games: LeafGames, fill_tables: Callable[[], object]) -> None:
        """Do nothing: the background is part of every copy."""


def _trees_of(ensemble: LeafEnsemble, wanted: RankedSubsets) -> NDArray[np.int64]:
    """Return the trees of the leaves of a request."""
    return np.unique(np.searchsorted(ensemble.tree_ptr, wanted.leaves, side="right") - 1)


def _is_deep(ensemble: LeafEnsemble) -> bool:
    """Return whether a row walks down the trees sooner than it is in the bit sets of all leaves' conditions."""
    n_trees, n_leaves = len(ensemble.tree_ptr) - 1, ensemble.n_leaves
    depth = 1.5 * np.log2(max(n_leaves / max(n_trees, 1), 2))
    return ensemble.trees is not None and _WALK * depth * n_trees < _BIT * len(ensemble.leaf_condition)


def _split_trees(wanted: RankedSubsets) -> list[RankedSubsets]:
    """Split a request into tasks of some trees or, if they are large, parts of a tree."""
    chunks = weight_chunks(np.ones(len(wanted.leaves)), _LEAVES_PER_WALK)
    return [wanted._replace(leaves=wanted.leaves[a:b]) for a, b in chunks]


def _step_cost(n_background: int) -> float:
    """Estimate the nanoseconds that a background row takes to pass a node beside an explained row.

    Alone it takes more than among many.
    """
    return 6.0 + 120.0 / float(np.sqrt(max(n_background, 1)))


def _cost_by_leaf(n_players: NDArray[np.int64], n_rows: int, n_background: int) -> float:
    """Estimate the nanoseconds of solving all leaves, in clusters or pattern against pattern."""
    size = 2.0 ** np.minimum(n_players, MOST_PLAYERS)
    counting = np.where(n_players <= _SHARING_PLAYERS, 0.6, 3.0) * n_background
    by_sums = size * (0.4 * n_players + 3.0) + counting + min(n_rows, 500) * (n_players + 1.0)
    patterns = np.minimum(float(n_rows), size) * np.minimum(float(n_background), size)
    return float((1500.0 + np.minimum(by_sums, 2.0 * patterns + 3.0 * n_background)).sum())
