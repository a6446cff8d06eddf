"""The weights E_l(P minus V) of all leaves, chunk by chunk within a bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._parallel import run, weight_chunks
from skglex.ensemble._leaves import LeafEnsemble
from skglex.ensemble._patterns import TABLE_BUDGET, PatternGroups
from skglex.ensemble._players import Players
from skglex.ensemble._weights import Weighting, fixed_weights
from skglex.kernels.wide import binomials

# Refuse to list more subsets than this for one leaf (0.8 GB).
MAX_SUBSETS = 100_000_000


class FixedWeights:
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

    @property
    def ranks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Binomial coefficients, and per number of players where the subsets of each size begin."""
        k = int(self.players.n_players.max(initial=0))
        choose = binomials(k)[0]
        offset = np.zeros((k + 1, k + 2), np.int64)
        for n in range(k + 1):
            offset[n, : n + 2] = binomials(n)[1]
        return choose, offset

    def chunks(
        self, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Yield leaves, where each leaf's weights start (by leaf), and the weights."""
        if self._kept is not None:
            yield self._kept
            return
        players, group_leaf = self.players, self.groups.group_leaf
        n_subsets = np.diff(players.fixed_ptr)
        for leaf in np.flatnonzero(players.wide):
            k = int(players.n_players[leaf])
            n_subsets[leaf] = sum(comb(k, n) for n in range(min(self.max_order, k) + 1))
        if n_subsets.max(initial=0) > MAX_SUBSETS:
            raise ValueError(
                f"a leaf with {players.n_players.max()} path features has {n_subsets.max():,} subsets of at "
                f"most {self.max_order} features, more than the {MAX_SUBSETS:,} that fit. Set max_interaction"
            )
        cost = np.add.reduceat(np.append(n_subsets, 0), group_leaf[:-1])
        plan = weight_chunks(cost, TABLE_BUDGET)
        for first, last in plan:
            l0, l1 = group_leaf[first], group_leaf[last]
            fixed = fixed_weights(
                self.weighting,
                self.ensemble,
                players,
                self.groups,
                first,
                last,
                n_jobs=n_jobs,
                verbose=verbose,
            )
            leaves = np.arange(l0, l1)
            start = np.zeros(self.ensemble.n_leaves, np.int64)
            start[l0:l1] = players.fixed_ptr[l0:l1] - players.fixed_ptr[l0]
            wide = leaves[players.wide[l0:l1]]
            if len(wide):
                parts = run(
                    self.weighting.ranked,
                    [
                        (self.ensemble, players, int(leaf), self.max_order, int(n_subsets[leaf]))
                        for leaf in wide
                    ],
                    n_jobs=n_jobs,
                    verbose=verbose,
                    label="weights, deep leaves",
                )
                sizes = n_subsets[wide]
                start[wide] = len(fixed) + np.cumsum(sizes) - sizes
                fixed = np.concatenate([fixed, *parts])
            chunk = leaves, start, fixed
            if len(plan) == 1:
                self._kept = chunk
            yield chunk

    def dense(self, first: int, last: int, *, n_jobs: int | None = None) -> tuple[NDArray[np.float64], int]:
        """Weights of the leaves of some groups that have tables, and the `Players.fixed_ptr` they start at."""
        if self._kept is not None:
            return self._kept[2], 0
        fixed = fixed_weights(
            self.weighting, self.ensemble, self.players, self.groups, first, last, n_jobs=n_jobs
        )
        return fixed, int(self.players.fixed_ptr[self.groups.group_leaf[first]])
