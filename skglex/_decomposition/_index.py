"""List the components of a model, and the leaves that each of them comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import Sources
from skglex._leaves import Players
from skglex._utils import budgets


class TooManyComponents(ValueError):
    """Report that there are more components than the limit.

    Attributes
    ----------
    count : int
        Number of components.
    exact : bool
        Whether ``count`` is exact or a lower bound.
    """

    def __init__(self, count: int, exact: bool) -> None:
        super().__init__(count)
        self.count = count
        self.exact = exact


@dataclass(frozen=True)
class ComponentIndex:
    """List the components of a model, by order, then by feature position.

    Attributes
    ----------
    sets : list of tuple of int
        Players of each component.
    sources : Sources
        Path sets that each component comes from, and its players among those of the path set.
    path_set_of_leaf : ndarray of shape (n_leaves,), int64
        Each leaf's path set: the set of the players on its path.
    path_set_players : list of ndarray
        Players of each path set, increasing.
    """

    sets: list[tuple[int, ...]]
    sources: Sources
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
    """List all components up to an order: the subsets of the players on the leaves' paths.

    Parameters
    ----------
    players : Players
    leaf_ptr : ndarray of shape (n_leaves + 1,)
    max_order : int
    allowed : ndarray of shape (n_players_total,), bool, optional
        Only components of these players.
    limit : int
        Largest number of components.

    Raises
    ------
    TooManyComponents
        There are more than ``limit``.
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
        rows, of_path_set, masks = [], [], []
        for k, path_sets in by_size.items():
            if k < order:
                continue
            members = np.array([path_set_players[p][usable[p]] for p in path_sets])
            positions = np.array([usable[p] for p in path_sets]).astype(np.uint64)
            picks = np.array(list(combinations(range(k), order)))
            rows.append(members[:, picks].reshape(-1, order))
            bits = np.uint64(1) << positions[:, picks]
            masks.append(np.bitwise_or.reduce(bits, axis=2).ravel())
            of_path_set.append(np.repeat(path_sets, len(picks)))
        unique, inverse = _unique_rows(np.concatenate(rows))
        count += len(unique)
        if count <= limit:
            parts.append((len(sets) + inverse, np.concatenate(of_path_set), np.concatenate(masks)))
            sets += [tuple(row) for row in unique.tolist()]
    if count > limit:
        raise TooManyComponents(count, exact=True)
    return ComponentIndex(sets, _join_sources(parts, len(sets)), path_set_of_leaf, path_set_players)


def _join_sources(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]], n_components: int
) -> Sources:
    """Sort (component, path set, mask) by component."""
    component = np.concatenate([p[0] for p in parts]) if parts else np.empty(0, np.int64)
    path_set = np.concatenate([p[1] for p in parts]) if parts else np.empty(0, np.int64)
    mask = np.concatenate([p[2] for p in parts]) if parts else np.empty(0, np.uint64)
    order = np.argsort(component, kind="stable")
    ptr = np.searchsorted(component[order], np.arange(n_components + 1)).astype(np.int64)
    return Sources(ptr, path_set[order], mask[order])


def _path_sets(
    players: Players, leaf_ptr: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the number of every leaf's path set, and the players of the path sets."""
    n_leaves = len(leaf_ptr) - 1
    path_set_of_leaf = np.empty(n_leaves, np.int64)
    path_set_players: list[NDArray[np.int64]] = []
    # The first condition of a player in a leaf represents the player.
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
    """Return the distinct rows in lexicographic order, and the position of every row among them."""
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
