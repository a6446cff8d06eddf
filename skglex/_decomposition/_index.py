"""Which components a model has, and which leaves each of them comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import Players
from skglex._utils import budgets


class TooManyComponents(ValueError):
    """More components than asked for at most; ``count`` of them at least."""

    def __init__(self, count: int, exact: bool) -> None:
        super().__init__(count)
        self.count = count
        self.exact = exact


@dataclass(frozen=True)
class ComponentIndex:
    """The components of a model, by order, then by feature position.

    Attributes
    ----------
    sets : list of tuple of int
        Players of each component.
    source_ptr, source_path_set, source_mask : ndarray
        Component ``c`` comes from the leaves of the path sets ``source_path_set[s]``, s from ``source_ptr[c]``, as
        the subset ``source_mask[s]`` (bit i: the set's i-th player).
    path_set_of_leaf : ndarray of shape (n_leaves,), int64
        Each leaf's path set: the set of its path's players.
    path_set_players : list of ndarray
    """

    sets: list[tuple[int, ...]]
    source_ptr: NDArray[np.int64]
    source_path_set: NDArray[np.int64]
    source_mask: NDArray[np.uint64]
    path_set_of_leaf: NDArray[np.int64]
    path_set_players: list[NDArray[np.int64]]


def index_components(
    players: Players,
    leaf_ptr: NDArray[np.int64],
    *,
    max_order: int,
    allowed: NDArray[np.bool_] | None,
    limit: int,
) -> ComponentIndex:
    """List all components up to an order: the subsets of the leaves' path players.

    Parameters
    ----------
    players : Players
    leaf_ptr : ndarray of shape (n_leaves + 1,)
    max_order : int
    allowed : ndarray of shape (n_players_total,), bool, optional
        Only components of these players.
    limit : int
        Raise `TooManyComponents` beyond this number.
    """
    path_set_of_leaf, path_set_players = _path_sets(players, leaf_ptr)
    usable = [
        np.flatnonzero(allowed[members]) if allowed is not None else np.arange(len(members))
        for members in path_set_players
    ]
    by_size: dict[int, list[int]] = {}
    for path_set, positions in enumerate(usable):
        by_size.setdefault(len(positions), []).append(path_set)

    sets: list[tuple[int, ...]] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]] = []
    largest = max(by_size, default=0)
    count = 0
    for order in range(1, min(max_order, largest) + 1):
        n_listed = sum(len(path_sets) * comb(k, order) for k, path_sets in by_size.items())
        least = count + comb(largest, order)
        if n_listed > (
            budgets.counted_components if max(count, least) > limit else budgets.listed_components
        ):
            raise TooManyComponents(least, exact=False)
        rows, of_pset, masks = [], [], []
        for k, path_sets in by_size.items():
            if k < order:
                continue
            members = np.array([path_set_players[p][usable[p]] for p in path_sets])
            positions = np.array([usable[p] for p in path_sets]).astype(np.uint64)
            picks = np.array(list(combinations(range(k), order)))
            rows.append(members[:, picks].reshape(-1, order))
            bits = np.uint64(1) << positions[:, picks]
            masks.append(np.bitwise_or.reduce(bits, axis=2).ravel())
            of_pset.append(np.repeat(path_sets, len(picks)))
        unique, inverse = _unique_rows(np.concatenate(rows))
        count += len(unique)
        if count <= limit:
            parts.append((len(sets) + inverse, np.concatenate(of_pset), np.concatenate(masks)))
            sets += [tuple(row) for row in unique.tolist()]
    if count > limit:
        raise TooManyComponents(count, exact=True)
    component = np.concatenate([p[0] for p in parts]) if parts else np.empty(0, np.int64)
    order_by = np.argsort(component, kind="stable")
    return ComponentIndex(
        sets=sets,
        source_ptr=np.searchsorted(component[order_by], np.arange(len(sets) + 1)).astype(np.int64),
        source_path_set=np.concatenate([p[1] for p in parts])[order_by] if parts else np.empty(0, np.int64),
        source_mask=np.concatenate([p[2] for p in parts])[order_by] if parts else np.empty(0, np.uint64),
        path_set_of_leaf=path_set_of_leaf,
        path_set_players=path_set_players,
    )


def _path_sets(
    players: Players, leaf_ptr: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Number the distinct sets of path players."""
    n_leaves = len(leaf_ptr) - 1
    path_set_of_leaf = np.empty(n_leaves, np.int64)
    path_set_players: list[NDArray[np.int64]] = []
    # a player's first condition in its leaf stands for it
    leaf = np.repeat(np.arange(n_leaves), np.diff(leaf_ptr))
    order = np.lexsort((players.condition_player, leaf))
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = (leaf[order][1:] != leaf[order][:-1]) | np.diff(
        players.condition_player[order].astype(int)
    ).astype(bool)
    member = players.condition_player_id[order][keep]
    start = np.cumsum(players.n_players) - players.n_players
    for k in np.unique(players.n_players):
        leaves = np.flatnonzero(players.n_players == k)
        unique, inverse = _unique_rows(member[start[leaves][:, None] + np.arange(k)])
        path_set_of_leaf[leaves] = len(path_set_players) + inverse
        path_set_players += list(unique)
    return path_set_of_leaf, path_set_players


def _unique_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows in lexicographic order, and the position of every row among them."""
    base = int(rows.max(initial=0)) + 1
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    if base ** rows.shape[1] < 2**62:
        key = np.zeros(len(rows), np.int64)
        for column in rows.T:
            key = key * base + column
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return rows[first], inverse
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    return unique, inverse.ravel()
