"""Players: the features, or groups of features, that share out a leaf's value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skglex.ensemble._leaves import LeafEnsemble
from skglex.ensemble._patterns import MAX_TABLE_BITS

# Leaf conditions and patterns of wide leaves are bits of a 64-bit integer.
MAX_PLAYERS = 64


@dataclass(frozen=True)
class Players:
    """Who takes part in each leaf's game.

    Attributes
    ----------
    of_slot : ndarray of shape (n_slots,), int64
        Player that each of the grid's slots belongs to.
    entry_player : ndarray of shape (n_entries,), uint8
        Position of every leaf condition's player among the players of its leaf.
    entry_id : ndarray of shape (n_entries,), int64
        The player itself.
    n_players : ndarray of shape (n_leaves,), int64
    fixed_ptr : ndarray of shape (n_leaves + 1,), int64
        Running sum of 2**n_players, leaves that are too wide for tables counting 0.
    """

    of_slot: NDArray[np.int64]
    entry_player: NDArray[np.uint8]
    entry_id: NDArray[np.int64]
    n_players: NDArray[np.int64]
    fixed_ptr: NDArray[np.int64]

    @property
    def wide(self) -> NDArray[np.bool_]:
        return np.asarray(np.diff(self.fixed_ptr) == 0)


def assign_players(ensemble: LeafEnsemble, of_slot: NDArray[np.int64]) -> Players:
    """Number the players of every leaf, by increasing player."""
    entry_id = of_slot[ensemble.entry_slot]
    leaf = ensemble.entry_leaf
    n = int(of_slot.max(initial=0)) + 1
    keys, inverse = np.unique(leaf * n + entry_id, return_inverse=True)
    n_players = np.bincount(keys // n, minlength=ensemble.n_leaves)
    start = np.cumsum(n_players) - n_players
    position = inverse - start[leaf]
    if n_players.max(initial=0) > MAX_PLAYERS:
        raise ValueError(
            f"a tree splits on {n_players.max()} features along one path; at most {MAX_PLAYERS} can be told "
            "apart. Train shallower trees, or join features with feature_groups"
        )
    wide = np.diff(ensemble.leaf_ptr) > MAX_TABLE_BITS
    sizes = np.where(wide, 0, 1 << np.minimum(n_players, MAX_TABLE_BITS))
    return Players(
        of_slot=of_slot,
        entry_player=position.astype(np.uint8),
        entry_id=entry_id,
        n_players=n_players,
        fixed_ptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )
