"""List the components of a model, and the leaves that each of them comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import NamedTuple

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
        super().__init__(
            f"the model has {'' if exact else 'at least '}{count:,} components, too many to list. Set max_interaction "
            "(2 gives main effects and pairs), restrict features, or join columns with feature_groups. Single "
            "components, SHAP values, SHAP interaction values and partial dependence are available regardless"
        )
        self.count = count
        self.exact = exact


class PathSets(NamedTuple):
    """List the distinct path sets: the sets of the players on the leaves' paths.

    Attributes
    ----------
    of_leaf : ndarray of shape (n_leaves,), int64
        Path set of every leaf.
    players : list of ndarray
        Players of each path set, increasing.
    """

    of_leaf: NDArray[np.int64]
    players: list[NDArray[np.int64]]

    def usable(self, allowed: NDArray[np.bool_] | None) -> list[NDArray[np.int64]]:
        """Return the positions of the allowed players in each path set."""
        if allowed is None:
            return [np.arange(len(members)) for members in self.players]
        return [np.flatnonzero(allowed[members]) for members in self.players]


@dataclass(frozen=True)
class ComponentIndex:
    """List the components of a model, by order, then by feature position.

    Attributes
    ----------
    sets : list of tuple of int
        Players of each component.
    sources : Sources
        Path sets that each component comes from, and its players among those of the path set.
    path_sets : PathSets
    """

    sets: list[tuple[int, ...]]
    sources: Sources
    path_sets: PathSets

    def only(self, members: tuple[int, ...]) -> ComponentIndex:
        """Return the index of one of the components."""
        position = self.sets.index(members)
        part = slice(*self.sources.ptr[position : position + 2])
        path_set, mask = self.sources.path_set[part], self.sources.mask[part]
        return replace(
            self, sets=[members], sources=Sources(np.array([0, len(mask)], np.int64), path_set, mask)
        )


def index_components(
    path_sets: PathSets, *, max_order: int, allowed: NDArray[np.bool_] | None, limit: int
) -> ComponentIndex:
    """List all components up to an order: the subsets of the path sets.

    Parameters
    ----------
    path_sets : PathSets
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
    usable = path_sets.usable(allowed)
    by_size = _by_size(usable)
    sets: list[tuple[int, ...]] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]] = []
    largest = max(by_size, default=0)
    count = 0
    for order in range(1, min(max_order, largest) + 1):
        n_listed = sum(len(same) * comb(k, order) for k, same in by_size.items())
        least = count + comb(largest, order)
        if n_listed > (
            budgets.counted_components if max(count, least) > limit else budgets.listed_components
        ):
            raise TooManyComponents(least, exact=False)
        rows, of_path_set, masks = [], [], []
        for k, same in by_size.items():
            if k < order:
                continue
            members = np.array([path_sets.players[p][usable[p]] for p in same])
            picks = np.array(list(combinations(range(k), order)))
            rows.append(members[:, picks].reshape(-1, order))
            masks.append(_masks(np.array([usable[p] for p in same]), picks))
            of_path_set.append(np.repeat(same, len(picks)))
        unique, inverse = _unique_rows(np.concatenate(rows))
        count += len(unique)
        if count <= limit:
            parts.append((len(sets) + inverse, np.concatenate(of_path_set), np.concatenate(masks)))
            sets += [tuple(row) for row in unique.tolist()]
    if count > limit:
        raise TooManyComponents(count, exact=True)
    return ComponentIndex(sets, _join_sources(parts, len(sets)), path_sets)


def _by_size(usable: list[NDArray[np.int64]]) -> dict[int, list[int]]:
    """Return the path sets with each number of usable players."""
    by_size: dict[int, list[int]] = {}
    for path_set, positions in enumerate(usable):
        by_size.setdefault(len(positions), []).append(path_set)
    return by_size


def _masks(positions: NDArray[np.int64], picks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the bit masks of the picked players of each path set."""
    bits = np.uint64(1) << positions.astype(np.uint64)[:, picks]
    return np.asarray(np.bitwise_or.reduce(bits, axis=2).ravel())


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


def path_sets_of(players: Players, leaf_ptr: NDArray[np.int64]) -> PathSets:
    """Find the distinct path sets of all leaves."""
    n_leaves = len(leaf_ptr) - 1
    path_set_of_leaf = np.empty(n_leaves, np.int64)
    path_set_players: list[NDArray[np.int64]] = []
    # The first condition of a player in a leaf represents the player.
    leaf = np.repeat(np.arange(n_leaves), np.diff(leaf_ptr))
    key = leaf * 256 + players.condition_player
    member = players.condition_player_id
    if not (key[1:] > key[:-1]).all():
        member = member[np.unique(key, return_index=True)[1]]
    del leaf, key
    start = np.cumsum(players.n_players) - players.n_players
    for k in np.unique(players.n_players):
        leaves = np.flatnonzero(players.n_players == k)
        unique, inverse = _unique_rows(member[start[leaves][:, None] + np.arange(k)])
        path_set_of_leaf[leaves] = len(path_set_players) + inverse
        path_set_players += list(unique)
    return PathSets(path_set_of_leaf, path_set_players)


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
