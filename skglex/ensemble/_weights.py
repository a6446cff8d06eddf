"""The two weightings: with which weight a leaf's conditions hold when their features are averaged out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skglex._parallel import run, weight_chunks
from skglex.ensemble._leaves import LeafEnsemble
from skglex.ensemble._patterns import TABLE_BUDGET, PatternGroups
from skglex.ensemble._players import Players
from skglex.kernels.games import fixed_from_histogram, fixed_from_ratios
from skglex.kernels.patterns import joint_weight, pattern_histogram
from skglex.kernels.wide import ranked_from_background, ranked_from_ratios


@dataclass(frozen=True)
class Background:
    """The binned background sample.

    Attributes
    ----------
    bins : ndarray of shape (n_slots, n_rows)
    weight : ndarray of shape (n_rows,), float64
    """

    bins: NDArray[np.unsignedinteger]
    weight: NDArray[np.float64]

    @property
    def total(self) -> float:
        return float(self.weight.sum())


class Weighting(Protocol):
    """What a weighting has to know: E_l(U) for the sets U that are asked for."""

    def joint(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], n_jobs: int | None
    ) -> NDArray[np.float64]:
        """E_l of the leaf conditions marked in ``averaged``: shape (n_leaves,)."""

    def fixed(
        self, ensemble: LeafEnsemble, players: Players, groups: PatternGroups, first: int, last: int
    ) -> NDArray[np.float64]:
        """E_l(P minus V) for every V, for the leaves of groups ``first <= g < last`` that have tables."""

    def ranked(
        self, ensemble: LeafEnsemble, players: Players, leaf: int, max_order: int, n_subsets: int
    ) -> NDArray[np.float64]:
        """E_l(P minus V) of one leaf for every V with at most ``max_order`` players, by rank."""


@dataclass(frozen=True)
class PathDependent:
    """Products of the model's own cover ratios."""

    def joint(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], n_jobs: int | None
    ) -> NDArray[np.float64]:
        ratio = np.append(np.where(averaged, _ratio(ensemble), 1.0), 1.0)
        product = np.multiply.reduceat(ratio, ensemble.leaf_ptr[:-1])
        product[np.diff(ensemble.leaf_ptr) == 0] = 1.0
        return product

    def fixed(
        self, ensemble: LeafEnsemble, players: Players, groups: PatternGroups, first: int, last: int
    ) -> NDArray[np.float64]:
        l0, l1 = groups.group_leaf[first], groups.group_leaf[last]
        out = np.empty(players.fixed_ptr[l1] - players.fixed_ptr[l0])
        fixed_from_ratios(
            ensemble.leaf_ptr,
            _ratio(ensemble),
            players.entry_player,
            players.n_players,
            players.fixed_ptr,
            l0,
            l1,
            out,
        )
        return out

    def ranked(
        self, ensemble: LeafEnsemble, players: Players, leaf: int, max_order: int, n_subsets: int
    ) -> NDArray[np.float64]:
        entries = slice(ensemble.leaf_ptr[leaf], ensemble.leaf_ptr[leaf + 1])
        ratio = np.ones(players.n_players[leaf])
        np.multiply.at(ratio, players.entry_player[entries], _ratio(ensemble)[entries])
        out = np.empty(n_subsets)
        ranked_from_ratios(ratio, max_order, out)
        return out


@dataclass(frozen=True)
class Empirical:
    """Shares of the background: the joint distribution."""

    background: Background

    def joint(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], n_jobs: int | None
    ) -> NDArray[np.float64]:
        counts = np.add.reduceat(np.append(averaged, False).astype(np.int64), ensemble.leaf_ptr[:-1])
        counts[np.diff(ensemble.leaf_ptr) == 0] = 0
        leaf_ptr = np.concatenate([[0], np.cumsum(counts)])
        condition = np.ascontiguousarray(ensemble.leaf_condition[averaged])
        out = np.empty(ensemble.n_leaves)
        back = self.background
        run(
            joint_weight,
            [
                (back.bins, back.weight, ensemble.conditions, condition, leaf_ptr, first, last, out)
                for first, last in weight_chunks(np.ones(ensemble.n_leaves), 1024)
            ],
            n_jobs=n_jobs,
        )
        return out / back.total

    def fixed(
        self, ensemble: LeafEnsemble, players: Players, groups: PatternGroups, first: int, last: int
    ) -> NDArray[np.float64]:
        back = self.background
        hist = np.zeros(groups.table_ptr[last] - groups.table_ptr[first])
        args: tuple[Any, ...] = (*groups.kernel_args(), first, last, hist)
        pattern_histogram(back.bins, back.weight, ensemble.conditions, *args)
        l0, l1 = groups.group_leaf[first], groups.group_leaf[last]
        out = np.empty(players.fixed_ptr[l1] - players.fixed_ptr[l0])
        fixed_from_histogram(
            groups.group_leaf,
            groups.table_ptr,
            hist,
            back.total,
            ensemble.leaf_ptr,
            groups.bit,
            groups.flip,
            players.entry_player,
            players.n_players,
            players.fixed_ptr,
            first,
            last,
            out,
        )
        return out

    def ranked(
        self, ensemble: LeafEnsemble, players: Players, leaf: int, max_order: int, n_subsets: int
    ) -> NDArray[np.float64]:
        back = self.background
        out = np.zeros(n_subsets)
        ranked_from_background(
            back.bins,
            back.weight,
            back.total,
            ensemble.conditions,
            ensemble.leaf_condition,
            players.entry_player,
            ensemble.leaf_ptr[leaf],
            ensemble.leaf_ptr[leaf + 1],
            players.n_players[leaf],
            max_order,
            out,
        )
        return out


def _ratio(ensemble: LeafEnsemble) -> NDArray[np.float64]:
    assert ensemble.ratio is not None  # the estimators refuse path-dependent weights without cover
    return ensemble.ratio


def fixed_weights(
    weighting: Weighting,
    ensemble: LeafEnsemble,
    players: Players,
    groups: PatternGroups,
    first: int,
    last: int,
    *,
    n_jobs: int | None,
    verbose: int = 0,
) -> NDArray[np.float64]:
    """``weighting.fixed`` for many groups, in parallel over fixed chunks of them."""
    cost = groups.n_patterns[first:last] + np.diff(players.fixed_ptr[groups.group_leaf[first : last + 1]])
    parts = run(
        weighting.fixed,
        [
            (ensemble, players, groups, first + a, first + b)
            for a, b in weight_chunks(cost, TABLE_BUDGET // 64)
        ],
        n_jobs=n_jobs,
        verbose=verbose,
        label="weights",
    )
    return np.concatenate(parts)
