"""Assign the conditions of every leaf to players: the features, or groups of features, that share its value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import PlayerArrays
from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._patterns import MAX_TABLE_BITS

# Bits of the masks that hold any subset of a leaf's players.
MASK_BITS = 64


@dataclass(frozen=True)
class Players:
    """Describe who takes part in each leaf's game.

    Attributes
    ----------
    player_of_feature : ndarray of shape (n_used_features,), int64
        Player that each of the grid's used_features belongs to.
    condition_player : ndarray of shape (n_leaf_conditions,), uint8 or uint16
        Position of every leaf condition's player among the players of its leaf.
    condition_player_id : ndarray of shape (n_leaf_conditions,), int32
        The player itself.
    n_players : ndarray of shape (n_leaves,), int64
    coalition_ptr : ndarray of shape (n_leaves + 1,), int64
        Running sum of 2**n_players, where a leaf with a long path counts 0.
    """

    player_of_feature: NDArray[np.int64]
    condition_player: NDArray[np.unsignedinteger]
    condition_player_id: NDArray[np.int32]
    n_players: NDArray[np.int64]
    coalition_ptr: NDArray[np.int64]

    @property
    def long_path(self) -> NDArray[np.bool_]:
        """Return which leaves have too many conditions for a table of all coalitions."""
        return np.asarray(np.diff(self.coalition_ptr) == 0)

    @property
    def largest(self) -> int:
        """Return the largest number of players of a leaf."""
        return int(self.n_players.max(initial=0))

    def refused(self, what: str) -> str | None:
        """Return why something that needs subsets of all players cannot be computed; None if it can."""
        if self.largest <= MASK_BITS:
            return None
        return (
            f"a tree splits on {self.largest} features along one path, and {what} need at most {MASK_BITS}. "
            "Components, importances, partial dependence, FeatureRemover, SHAP values of trees and path-dependent "
            "SHAP interaction values are available regardless. Train shallower trees, or join features with "
            "feature_groups"
        )

    @property
    def arrays(self) -> PlayerArrays:
        """Return the arrays for kernels."""
        return PlayerArrays(self.condition_player, self.condition_player_id, self.n_players)


def assign_players(ensemble: LeafEnsemble, player_of_feature: NDArray[np.int64]) -> Players:
    """Enumerate the players of every leaf, by increasing player.

    Parameters
    ----------
    ensemble : LeafEnsemble
    player_of_feature : ndarray of shape (n_used_features,), int64
    """
    condition_player_id = player_of_feature.astype(np.int32)[ensemble.conditions.feature][
        ensemble.leaf_condition
    ]
    n_players = np.diff(ensemble.leaf_ptr)
    dtype = np.uint8 if n_players.max(initial=0) <= 256 else np.uint16
    if one_feature_each(player_of_feature):
        # Positions are differences of numbers that are long in a large forest. Their last bits are enough.
        number = np.resize(np.arange(np.iinfo(dtype).max + 1).astype(dtype), len(condition_player_id))
        position = number - np.repeat(ensemble.leaf_ptr[:-1].astype(dtype), n_players)
    else:
        leaf, n = ensemble.condition_leaf, int(player_of_feature.max(initial=0)) + 1
        keys, inverse = np.unique(leaf * n + condition_player_id, return_inverse=True)
        n_players = np.bincount(keys // n, minlength=ensemble.n_leaves)
        position = (inverse - (np.cumsum(n_players) - n_players)[leaf]).astype(dtype)
    long_path = np.diff(ensemble.leaf_ptr) > MAX_TABLE_BITS
    sizes = np.where(long_path, 0, 1 << np.minimum(n_players, MAX_TABLE_BITS))
    return Players(
        player_of_feature=player_of_feature,
        condition_player=position,
        condition_player_id=condition_player_id,
        n_players=n_players,
        coalition_ptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )


def one_feature_each(player_of_feature: NDArray[np.int64]) -> bool:
    """Return whether the players are single features, in their order.

    The conditions of a leaf, which are sorted by feature, are then its players.
    """
    return bool((np.diff(player_of_feature) > 0).all())
