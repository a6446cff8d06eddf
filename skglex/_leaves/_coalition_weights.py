"""The weights E_l(P minus V) of all leaves, chunk by chunk within a bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._patterns import PatternGroups
from skglex._leaves._players import Players
from skglex._leaves._weighting import RankedSubsets, Weighting, binomial_ranks, coalition_weights
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled, weight_chunks

# List subsets by rank where that saves this factor over a table of all.
RANKED_GAIN = 4


class CoalitionWeights:
    """What each leaf pays when the players V are fixed, the others averaged out: E_l(P minus V).

    Parameters
    ----------
    ensemble : LeafEnsemble
    players : Players
    groups : PatternGroups
    weighting : Weighting
    max_order : int
        Largest V that is needed. Leaves that are too wide for a table hold only those, by rank.
    """

    def __init__(
        self,
        ensemble: LeafEnsemble,
        players: Players,
        groups: PatternGroups,
        weighting: Weighting,
        max_order: int,
    ) -> None:
        self.ensemble = ensemble
        self.players = players
        self.groups = groups
        self.weighting = weighting
        self.max_order = max_order
        self._kept: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    @cached_property
    def _subsets(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return _list_subsets(self.players, self.max_order)

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """Leaves that list only the subsets that are needed, by rank, instead of all by bit mask."""
        return self._subsets[1]

    @property
    def ranks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return binomial_ranks(int(self.players.n_players.max(initial=0)))

    def chunks(
        self, execution: Execution = DEFAULT_EXECUTION
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Yield leaves, where each leaf's weights start (by leaf), and the weights."""
        if self._kept is not None:
            yield self._kept
            return
        n_subsets, group_leaf = self._subsets[0], self.groups.group_leaf
        # only leaves that hold all of their subsets need tables
        in_table = np.where(self.ranked, 0, n_subsets)
        players = replace(self.players, coalition_ptr=np.concatenate([[0], np.cumsum(in_table)]))
        needed = np.add.reduceat(np.append(in_table, 0), group_leaf[:-1]) > 0
        n_patterns = np.where(needed, self.groups.n_patterns, 0)
        groups = replace(self.groups, table_ptr=np.concatenate([[0], np.cumsum(n_patterns)]))
        cost = np.add.reduceat(np.append(n_subsets, 0), group_leaf[:-1])
        plan = weight_chunks(cost, scaled(budgets.pattern_table_size))
        for first, last in plan:
            l0, l1 = group_leaf[first], group_leaf[last]
            fixed = coalition_weights(
                self.weighting, self.ensemble, players, groups, first, last, execution=execution
            )
            leaves = np.arange(l0, l1)
            start = np.zeros(self.ensemble.n_leaves, np.int64)
            start[l0:l1] = players.coalition_ptr[l0:l1] - players.coalition_ptr[l0]
            by_rank = leaves[self.ranked[l0:l1]]
            if len(by_rank):
                sizes = n_subsets[by_rank]
                start[by_rank] = np.cumsum(sizes) - sizes
                wanted = RankedSubsets(by_rank, start, int(sizes.sum()), self.max_order)
                ranked = self.weighting.ranked_weights(self.ensemble, players, wanted, execution)
                start[by_rank] += len(fixed)
                fixed = np.concatenate([fixed, ranked])
            chunk = leaves, start, fixed
            if len(plan) == 1:
                self._kept = chunk
            yield chunk

    def dense(
        self, first: int, last: int, execution: Execution = DEFAULT_EXECUTION
    ) -> tuple[NDArray[np.float64], int]:
        """Weights of the leaves of some groups that have tables, and the `Players.coalition_ptr` they start at."""
        if self._kept is not None and (self.ranked == self.players.wide).all():
            return self._kept[2], 0
        fixed = coalition_weights(
            self.weighting, self.ensemble, self.players, self.groups, first, last, execution=execution
        )
        return fixed, int(self.players.coalition_ptr[self.groups.group_leaf[first]])


def _list_subsets(players: Players, max_order: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """How many subsets each leaf holds weights of, and whether they are listed by rank."""
    k_max = int(players.n_players.max(initial=0))
    up_to = [sum(comb(k, n) for n in range(min(max_order, k) + 1)) for k in range(k_max + 1)]
    if (largest := max(up_to)) > budgets.subsets_per_leaf:
        raise ValueError(
            f"a leaf with {k_max} path features has {largest:,} subsets of at most {max_order} features, more "
            f"than the {budgets.subsets_per_leaf:,} that fit. Set max_interaction"
        )
    few = np.array([RANKED_GAIN * n <= 2**k for k, n in enumerate(up_to)])
    ranked = players.wide | few[players.n_players]
    in_table = np.diff(players.coalition_ptr)
    return np.where(ranked, np.array(up_to)[players.n_players], in_table), ranked
