"""The two weightings: with which weight a leaf's conditions hold when their features are averaged out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.bitsets import add_near_misses, fill_bits, rank_bins
from skglex._kernels.coalitions import coalitions_from_histogram, coalitions_from_ratios
from skglex._kernels.long_paths import binomials, ranked_from_ratios, sum_ranked_subsets
from skglex._kernels.patterns import pattern_histogram
from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._patterns import PatternGroups
from skglex._leaves._players import Players
from skglex._utils import Execution, budgets, scaled, weight_chunks


class BackgroundLike(Protocol):
    """What components are averaged over: rows in memory, or rows in the partitions of a Dask collection."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""

    @property
    def effective_rows(self) -> float:
        """Return how many rows of equal weight average as precisely."""

    @property
    def weighting(self) -> Weighting:
        """Return the weighting by shares of the rows."""

    def in_memory(self) -> Background:
        """Return the rows if they are in memory, else raise a ValueError that says what to pass."""

    def average(self, compute: Callable[[Background], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Average ``compute`` over the rows; rows in partitions combine one value per partition."""

    def changed_columns(self, compare: Callable[[Any, Any], NDArray[np.bool_]], X: Any) -> NDArray[np.bool_]:
        """Return where ``compare(rows, more_rows)`` is true for the rows before the preprocessing.

        ``X`` holds these rows if they are in memory, and ``more_rows`` is None then. Else ``rows`` is each of the
        partitions, and ``more_rows`` the next one.
        """


@dataclass(frozen=True)
class Background:
    """The binned background sample.

    Attributes
    ----------
    bins : ndarray of shape (n_used_features, n_rows)
    weight : ndarray of shape (n_rows,), float64
    """

    bins: NDArray[np.unsignedinteger]
    weight: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    @property
    def effective_rows(self) -> float:
        """How many rows of equal weight average as precisely."""
        return self.total**2 / float((self.weight**2).sum())

    def bit_sets(self, n_bins: NDArray[np.int64]) -> Iterator[tuple[Any, ...]]:
        """Blocks of rows as bit sets by bin, arguments of `add_near_misses`."""
        n_rows = self.bins.shape[1]
        bin_ptr = np.concatenate([[0], np.cumsum(n_bins + 1)]).astype(np.int64)
        size, budget = 1 << 16, scaled(budgets.bit_set_bytes)
        while size > 64 and (np.minimum(n_bins, size) + 1).sum() * min(size, n_rows) > 8 * budget:
            size >>= 1
        equal = float(self.weight[0]) if (self.weight == self.weight[0]).all() else 0.0
        rank, row_ptr = np.empty(bin_ptr[-1], np.int32), np.empty(len(bin_ptr), np.int64)
        for r0 in range(0, n_rows, size):
            r1 = min(r0 + size, n_rows)
            rank_bins(self.bins, r0, r1, n_bins, bin_ptr, rank, row_ptr)
            bits = np.empty((row_ptr[-1], -(-(r1 - r0) // 64)), np.uint64)
            fill_bits(self.bins, r0, r1, bin_ptr, rank, row_ptr, bits)
            yield r1 - r0, self.weight[r0:r1], equal, bin_ptr, rank, row_ptr, bits, n_bins

    @property
    def weighting(self) -> Empirical:
        return Empirical(self)

    def in_memory(self) -> Background:
        """Return the background itself."""
        return self

    def average(self, compute: Callable[[Background], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Average ``compute`` over the rows."""
        return compute(self)

    def changed_columns(self, compare: Callable[[Any, Any], NDArray[np.bool_]], X: Any) -> NDArray[np.bool_]:
        """Return where ``compare`` is true for the rows X."""
        return compare(X, None)


class RankedSubsets(NamedTuple):
    """Subsets to be listed by rank: those of some leaves with at most ``max_order`` players.

    Leaf l's begin at ``start[l]``; there are ``size`` in all.
    """

    leaves: NDArray[np.int64]
    start: NDArray[np.int64]
    size: int
    max_order: int


class Weighting(Protocol):
    """What a weighting has to know: E_l(U) for the sets U that are asked for."""

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        """E_l of the leaf conditions marked in ``averaged``: shape (n_leaves,)."""

    def table_weights(
        self, ensemble: LeafEnsemble, players: Players, groups: PatternGroups, first: int, last: int
    ) -> NDArray[np.float64]:
        """E_l(P minus V) for every V, for the leaves of groups ``first <= g < last`` that have tables."""

    def ranked_weights(
        self, ensemble: LeafEnsemble, players: Players, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        """E_l(P minus V) for the subsets V that are wanted, by rank."""


@dataclass(frozen=True)
class PathDependent:
    """Products of the model's own cover ratios."""

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        ratio = np.append(np.where(averaged, _ratio(ensemble), 1.0), 1.0)
        product = np.multiply.reduceat(ratio, ensemble.leaf_ptr[:-1])
        product[np.diff(ensemble.leaf_ptr) == 0] = 1.0
        return product

    def table_weights(
        self, ensemble: LeafEnsemble, players: Players, groups: PatternGroups, first: int, last: int
    ) -> NDArray[np.float64]:
        l0, l1 = groups.group_leaf[first], groups.group_leaf[last]
        out = np.empty(players.coalition_ptr[l1] - players.coalition_ptr[l0])
        path = ensemble.leaf_ptr, _ratio(ensemble), players.condition_player, players.n_players
        coalitions_from_ratios(*path, players.coalition_ptr, l0, l1, out)
        return out

    def ranked_weights(
        self, ensemble: LeafEnsemble, players: Players, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        leaves, start, size, max_order = wanted
        out = np.empty(size)
        path = ensemble.leaf_ptr, _ratio(ensemble), players.condition_player, players.n_players
        execution.run(
            ranked_from_ratios,
            [(*path, leaves[a:b], start, max_order, out) for a, b in _leaf_chunks(ensemble, leaves)],
        )
        return out


@dataclass(frozen=True)
class Empirical:
    """Shares of the background: the joint distribution."""

    background: Background

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        leaf_ptr, condition, _, set_of_leaf = ensemble.distinct_sets(averaged)
        sets = np.arange(len(leaf_ptr) - 1)
        out = np.zeros(len(sets))
        # one player, who has all of a set's conditions
        player, n_players = np.zeros(len(condition), np.uint8), (np.diff(leaf_ptr) > 0).astype(np.int64)
        path = leaf_ptr, condition, player, n_players
        ranks = binomial_ranks(1)
        tasks = [sets[a:b] for a, b in weight_chunks(np.diff(leaf_ptr) + 1, budgets.leaf_task)]
        for block in self.background.bit_sets(ensemble.grid.n_bins):
            execution.run(
                add_near_misses,
                [(*block, ensemble.conditions, *path, own, sets, 0, *ranks, out) for own in tasks],
            )
        return out[set_of_leaf] / self.background.total

    def table_weights(
        self, ensemble: LeafEnsemble, players: Players, groups: PatternGroups, first: int, last: int
    ) -> NDArray[np.float64]:
        back = self.background
        hist = np.zeros(groups.table_ptr[last] - groups.table_ptr[first])
        args: tuple[Any, ...] = (*groups.kernel_args(), first, last, hist)
        pattern_histogram(back.bins, back.weight, ensemble.conditions, *args)
        l0, l1 = groups.group_leaf[first], groups.group_leaf[last]
        out = np.empty(players.coalition_ptr[l1] - players.coalition_ptr[l0])
        path = ensemble.leaf_ptr, groups.bit, groups.flip, players.condition_player, players.n_players
        tables = groups.group_leaf, groups.table_ptr, hist, back.total
        coalitions_from_histogram(*tables, *path, players.coalition_ptr, first, last, out)
        return out

    def ranked_weights(
        self, ensemble: LeafEnsemble, players: Players, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        leaves, start, size, max_order = wanted
        out = np.zeros(size)
        ranks = binomial_ranks(int(players.n_players.max(initial=0)))
        path = ensemble.leaf_ptr, ensemble.leaf_condition, players.condition_player, players.n_players
        tasks = [leaves[a:b] for a, b in _leaf_chunks(ensemble, leaves)]
        for block in self.background.bit_sets(ensemble.grid.n_bins):
            execution.run(
                add_near_misses,
                [(*block, ensemble.conditions, *path, own, start, max_order, *ranks, out) for own in tasks],
            )
        execution.run(
            sum_ranked_subsets,
            [(players.n_players, own, start, max_order, *ranks, self.background.total, out) for own in tasks],
        )
        return out


def binomial_ranks(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Binomial coefficients up to k, and per number of players where the subsets of each size begin."""
    offset = np.zeros((k + 1, k + 2), np.int64)
    for n in range(k + 1):
        offset[n, : n + 2] = binomials(n)[1]
    return binomials(k)[0], offset


def _leaf_chunks(ensemble: LeafEnsemble, leaves: NDArray[np.int64]) -> list[tuple[int, int]]:
    return weight_chunks(np.diff(ensemble.leaf_ptr)[leaves] + 1, budgets.leaf_task)


def _ratio(ensemble: LeafEnsemble) -> NDArray[np.float64]:
    assert ensemble.ratio is not None  # the estimators refuse path-dependent weights without cover
    return ensemble.ratio


def coalition_weights(
    weighting: Weighting,
    ensemble: LeafEnsemble,
    players: Players,
    groups: PatternGroups,
    first: int,
    last: int,
    execution: Execution,
) -> NDArray[np.float64]:
    """``weighting.table_weights`` for many groups, in parallel over fixed chunks of them."""
    cost = groups.n_patterns[first:last] + np.diff(players.coalition_ptr[groups.group_leaf[first : last + 1]])
    parts = execution.run(
        weighting.table_weights,
        [
            (ensemble, players, groups, first + a, first + b)
            for a, b in weight_chunks(cost, scaled(budgets.pattern_table_size) // 64)
        ],
        label="weights",
    )
    return np.concatenate(parts)
