r"""Compute the weights E_l(P \ V) of all leaves, chunk by chunk within a bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import CoalitionArrays, RankedSubsets
from skglex._leaves._games import LeafGames
from skglex._leaves._players import Players
from skglex._leaves._weighting import Weighting, subset_ranks
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled, weight_chunks, without_cached

# List subsets by rank where that saves this factor over a table of all subsets.
RANKED_GAIN = 4


class CoalitionWeights:
    r"""Compute the weight E_l(P \ V) of every leaf for each coalition V of players that are held fixed.

    Parameters
    ----------
    games : LeafGames
    weighting : Weighting
    max_order : int
        Largest coalition that components need. Where that saves memory, leaves hold only these, by rank.
    """

    def __init__(self, games: LeafGames, weighting: Weighting, max_order: int) -> None:
        self.games = games
        self.weighting = weighting
        self.max_order = max_order
        self._cached: tuple[NDArray[np.int64], CoalitionArrays] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**without_cached(self), "_cached": None}

    @cached_property
    def _subsets(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return _count_subsets(self.games.players, self.max_order)

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """Return which leaves hold only the subsets that components need, by rank."""
        return self._subsets[1]

    @property
    def _plan(self) -> list[tuple[int, int]]:
        """Return the groups whose weights are in memory at one time."""
        return weight_chunks(self.games.sum_by_group(self._subsets[0]), scaled(budgets.pattern_table_size))

    def chunks(
        self, execution: Execution = DEFAULT_EXECUTION
    ) -> Iterator[tuple[NDArray[np.int64], CoalitionArrays]]:
        """Yield some leaves and their weights, until all leaves had their turn."""
        if self._cached is not None:
            yield self._cached
            return
        n_subsets, plan = self._subsets[0], self._plan
        # Leaves that hold all of their subsets have tables, the others list theirs by rank.
        games = self.games.with_tables_of(np.where(self.ranked, 0, n_subsets))
        ranks = subset_ranks(games.players.largest)
        for first, last in execution.track(plan, len(plan), "components, by leaves"):
            l0, l1 = games.leaves_of(first, last)
            weight = _table_weights(self.weighting, games, first, last, execution)
            leaves = np.arange(l0, l1)
            start = np.zeros(len(n_subsets), np.int64)
            start[l0:l1] = games.players.coalition_ptr[l0:l1] - games.players.coalition_ptr[l0]
            by_rank = leaves[self.ranked[l0:l1]]
            if len(by_rank):
                sizes = n_subsets[by_rank]
                start[by_rank] = np.cumsum(sizes) - sizes
                wanted = RankedSubsets(by_rank, start, int(sizes.sum()), self.max_order)
                ranked = self.weighting.ranked_weights(games, wanted, execution)
                start[by_rank] += len(weight)
                weight = np.concatenate([weight, ranked])
            chunk = leaves, CoalitionArrays(start, weight, self.ranked, ranks)
            if len(plan) == 1:
                self._cached = chunk
            yield chunk

    def all_coalitions(
        self, games: LeafGames, first: int, last: int, execution: Execution = DEFAULT_EXECUTION
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return where each leaf's weights start, and the weights of all coalitions of the leaves of some groups.

        Only leaves that have tables in ``games`` have weights.
        """
        players = games.players
        if games is self.games and (kept := self._keep_all(execution)) is not None:
            return players.coalition_ptr, kept
        weight = _table_weights(self.weighting, games, first, last, execution)
        return players.coalition_ptr - players.coalition_ptr[games.leaves_of(first, last)[0]], weight

    def _keep_all(self, execution: Execution) -> NDArray[np.float64] | None:
        """Return the weights of all coalitions, which components need too; None if these are others, or too many."""
        if self._cached is None and not self.ranked.any() and len(self._plan) == 1:
            list(self.chunks(execution))
        if self._cached is None or (self.ranked != self.games.players.long_path).any():
            return None
        return self._cached[1].weight

    def of_no_player(self, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64] | None:
        """Return E_l(P) of every leaf if components need all coalitions, whose weights are then kept; else None."""
        if self.ranked.any() or (weight := self._keep_all(execution)) is None:
            return None
        return weight[self.games.players.coalition_ptr[:-1]]


def _table_weights(
    weighting: Weighting, games: LeafGames, first: int, last: int, execution: Execution
) -> NDArray[np.float64]:
    """Return ``weighting.table_weights`` for many groups, in parallel over fixed chunks of them."""
    coalition_ptr = games.players.coalition_ptr[games.groups.group_leaf[first : last + 1]]
    cost = games.groups.n_patterns[first:last] + np.diff(coalition_ptr)
    chunks = weight_chunks(cost, scaled(budgets.pattern_table_size) // 64)
    parts = execution.run(
        weighting.table_weights, [(games, first + a, first + b) for a, b in chunks], label="weights"
    )
    return np.concatenate(parts)


def _count_subsets(players: Players, max_order: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many subsets each leaf holds weights of, and whether they are listed by rank."""
    k_max = players.largest
    up_to = [sum(comb(k, n) for n in range(min(max_order, k) + 1)) for k in range(k_max + 1)]
    if (largest := max(up_to)) > budgets.subsets_per_leaf:
        raise ValueError(
            f"a leaf with {k_max} path features has {largest:,} subsets of at most {max_order} features, more "
            f"than the {budgets.subsets_per_leaf:,} that fit in memory. Set max_interaction"
        )
    few = np.array([RANKED_GAIN * n <= 2**k for k, n in enumerate(up_to)])
    ranked = players.long_path | few[players.n_players]
    in_table = np.diff(players.coalition_ptr)
    return np.where(ranked, np.array(up_to)[players.n_players], in_table), ranked
