"""Compute Shapley values of the game in which some players are never fixed, but always averaged out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.patterns import violations
from skglex._leaves import Background, LeafEnsemble, PathDependent, Weighting, assign_players
from skglex._utils import Execution

if TYPE_CHECKING:
    from skglex._decomposition._decomposition import Decomposition


def shapley_parts(
    decomposition: Decomposition, averaged: Sequence[int], execution: Execution
) -> list[Decomposition]:
    """Return decompositions whose Shapley values add up to those of the game without some players.

    The Shapley value of k is then the sum of m_S / |S| over all S that hold k and none of these players. The leaves
    lose their conditions on the players. With path-dependent weights, each leaf's value is multiplied by the weight of
    these conditions. With empirical weights, the leaves with the same conditions are averaged over the background rows
    that meet them.
    """
    if not len(averaged):
        return [decomposition]
    ensemble = decomposition.ensemble
    dropped = np.isin(decomposition.players.condition_player_id, averaged)
    if isinstance(decomposition.weighting, PathDependent):
        weight = decomposition.weighting.joint_weights(ensemble, dropped, execution)
        return [_part(decomposition, ensemble.drop_conditions(dropped, weight), decomposition.weighting)]
    background = decomposition.weighting.background.in_memory()  # type: ignore[attr-defined]
    sets = ensemble.distinct_sets(dropped)
    rows_of = [
        _rows_that_meet(ensemble, sets.condition[a:b], background)
        for a, b in zip(sets.ptr[:-1], sets.ptr[1:])
    ]
    share = np.array([rows.total for rows in rows_of]) / background.total
    others = ensemble.drop_conditions(dropped, share[sets.of_leaf])
    order = np.argsort(sets.of_leaf, kind="stable")
    leaves_of = np.split(order, np.searchsorted(sets.of_leaf[order], np.arange(1, len(rows_of))))
    return [
        _part(decomposition, others.take_leaves(leaves), rows.weighting)
        for leaves, rows in zip(leaves_of, rows_of)
        if rows.n_rows
    ]


def _rows_that_meet(
    ensemble: LeafEnsemble, conditions: NDArray[np.int32], background: Background
) -> Background:
    """Return the background rows that meet all of some conditions, without those of weight zero."""
    violated = np.zeros(background.n_rows, np.uint16)
    n, bits = len(conditions), np.zeros(len(conditions), np.uint8)
    violations(background.bins, 0, background.n_rows, ensemble.conditions, conditions, bits, 0, n, violated)
    met = (violated == 0) & (background.weight > 0)
    return Background(np.ascontiguousarray(background.bins[:, met]), background.weight[met])


def _part(decomposition: Decomposition, ensemble: LeafEnsemble, weighting: Weighting) -> Decomposition:
    """Return the decomposition of some leaves, with the same players."""
    players = assign_players(ensemble, decomposition.players.player_of_feature)
    return type(decomposition)(ensemble, players, decomposition.n_players, weighting, 1)
